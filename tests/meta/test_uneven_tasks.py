"""Tasks of different lengths, without objectives, constraints or parameters; many tasks; candidates."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from reference import meta as oracle
from reference import tpe
from samplers.tables import SPACE_OF, Table, add, candidates, empty, searching_alike, table, told

import parzax as px
from parzax.meta.comparison import over_tasks

from .test_sampler import SETTINGS, alike, judged, observations, paper

NAN = np.nan


# --- scores of uneven tasks ----------------------------------------------------------------------


def first(own: Table, n: int) -> Table:
    return Table(*(part[:n] for part in own))


def lacking_constraints(own: Table) -> Table:
    return own._replace(constraints=np.full_like(own.constraints, NAN))


def constraints_alone(own: Table) -> Table:
    return own._replace(losses=np.full_like(own.losses, NAN), constraint_only=np.ones(len(own.x), bool))


def log_of(space: px.Space, own: Table, lacking: bool = False, missing=()) -> px.Observations:
    kept = [j for j in range(len(space)) if j not in missing]
    names = [space.names[j] for j in kept]
    return px.Observations.from_arrays(
        px.Space({name: space[name][0] for name in names}),
        own.x[:, kept],
        own.losses,
        constraints=None if lacking or not own.constraints.size else own.constraints,
    )


# Those with two constraints have two tasks with as many rows at most, and share what is compiled.
UNEVEN = {
    "lengths": (0, lambda t: [first(t[0], 7), t[1], first(t[2], 13)], (), {}),
    "lengths, constraints": (2, lambda t: [first(t[0], 11), t[1]], (), {}),
    "lacks constraints": (2, lambda t: [t[1], lacking_constraints(first(t[0], 20))], (2,), {}),
    "constraints alone": (2, lambda t: [t[1], constraints_alone(first(t[0], 25))], (), {}),
    "lacks a parameter": (0, lambda t: t[:2], (), {2: (0,)}),
    "lacks two, constraints": (1, lambda t: [t[0], first(t[1], 17)], (), {1: (2,), 2: (0, 1)}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", UNEVEN)
def test_scores_of_uneven_tasks(case, record_property, double):
    """Catches rows that are padding, shares of tasks without rows, and parameters that are not there."""
    c, make, lacking, missing = UNEVEN[case]
    space = SPACE_OF["mixed"]
    own = table("mixed", "random", 1, c)
    others = make(
        [table("mixed", data, 1, c, 4 + i) for i, data in enumerate(("random", "few values", "random"))]
    )
    logs = [log_of(space, t, m in lacking, missing.get(m, ())) for m, t in enumerate(others, 1)]
    settings = dataclasses.replace(SETTINGS, score="relative" if c else "ratio")
    sampler = adjusted(paper, n_samples=200, eta=None)(space, logs, 1, c)
    state = told(sampler, own)
    at = candidates("mixed")
    s, found = judged(sampler, state, jnp.asarray(at))
    wanted = oracle.scores(settings, space, [own, *others], [np.asarray(x) for x in s], at, lacking, missing)
    worst = np.abs(np.asarray(found) - wanted).max()
    record_property("tried", f"scores of uneven tasks, {case}: {worst:.1e}")
    assert worst <= 1e-10


# --- which tasks are similar, by the most important parameters -----------------------------------

DISCRETE = px.Space(
    {
        "a": px.Categorical(["p", "q", "r"]),
        "k": px.Int(0, 5),
        "z": px.Int(1, 4, when=px.In("a", ["p", "q"])),
        "b": px.Categorical([0, 1]),
    }
)


def discrete(n: int, seed: int) -> Table:
    """A task with a best configuration, and weights of the parameters, of its own."""
    rng = np.random.default_rng(seed)
    x = np.stack(
        [rng.integers(0, 3, n), rng.integers(0, 6, n), rng.integers(1, 5, n), rng.integers(0, 2, n)], 1
    )
    x = x.astype(float)
    best, weight = x[0], rng.dirichlet(np.full(4, 0.5))
    gap = np.abs(x - best) @ weight + 1e-3 * rng.random(n)
    x[:, 2] = np.where(x[:, 0] == 2, NAN, x[:, 2])
    return Table(x, gap[:, None], np.zeros((n, 0)), np.zeros(n, bool))


def below(own: Table) -> list[int]:
    return tpe.groups(SETTINGS, own.x, own.losses, own.constraints, own.constraint_only)[0].below


def in_tens(sampler: px.samplers.Sampler, own: Table) -> px.samplers.State:
    """The state after all rows, ten at a time: one program, whatever their number."""
    state = empty(sampler, 256)
    for i in range(0, len(own.x), 10):
        parts = (jnp.asarray(part[i : i + 10], state.x.dtype) for part in own[:3])
        state = add(sampler, state, *parts, False)
    return state


@functools.cache
def sampler_of_three() -> px.samplers.Sampler:
    logs = [observations(DISCRETE, discrete(n, seed)) for n, seed in ((50, 1), (120, 2), (90, 3))]
    return adjusted(paper, eta=2.5, n_samples=4000)(DISCRETE, logs)


@pytest.mark.slow
def test_similarities_by_the_most_important_parameters():
    """The whole rule as loops: importance in every task, how many, with their parents, sums over values."""
    others = [discrete(n, seed) for n, seed in ((50, 1), (120, 2), (90, 3))]

    def importance(own: Table) -> np.ndarray:
        return oracle.importance(DISCRETE, own.x, below(own), range(len(own.x)))

    of_sources, n_columns = [importance(t) for t in others], set()
    for n, seed in ((20, 5), (30, 6), (30, 5), (60, 7), (70, 10), (160, 6), (160, 11)):
        own = discrete(n, seed)
        found = np.asarray(alike(sampler_of_three(), in_tens(sampler_of_three(), own))[0])
        columns = oracle.kept(DISCRETE, [importance(own), *of_sources], len(below(own)), 2.5)
        n_columns.add(len(columns))
        wanted = [
            oracle.similarity(DISCRETE, own.x[below(own)], t.x[below(t)], columns) if columns else 1.0
            for t in others
        ]
        np.testing.assert_allclose(found, wanted, atol=0.04, err_msg=f"{n} rows")
    assert {0, 1} < n_columns


# --- many tasks ----------------------------------------------------------------------------------


def test_blocks_of_tasks():
    """Eleven are evaluated eight at a time; what fills the second block is in no answer."""
    a, b = jnp.arange(11.0), {"c": jnp.arange(22.0).reshape(11, 2)}
    found = over_tasks(lambda a, b: (a * b["c"], a), a, b)
    np.testing.assert_array_equal(found[0], a[:, None] * b["c"])
    np.testing.assert_array_equal(found[1], a)


@pytest.mark.slow
def test_eleven_tasks_of_different_lengths(double):
    """Each has the density and the similarity that it has as the only source."""
    space, own = SPACE_OF["mixed"], table("mixed", "random")
    logs = [observations(space, first(table("mixed", "random", seed=20 + n), 30 - 2 * n)) for n in range(11)]
    sampler = adjusted(paper, n_samples=200, eta=None)(space, logs)

    @eqx.filter_jit
    def inside(sampler, state, at):
        sources, basis = sampler.smoothing.sources, sampler.smoothing.basis(space, at.dtype)
        at = basis.frame.encode(at)
        densities = over_tasks(lambda one: one.log_prob(basis, at), sources.densities)[:, 0]
        similarities = px.samplers.similarities(sampler, state)
        return jnp.swapaxes(densities, 0, 1), similarities, sources.n_rows[:, 0, 0]

    at = jnp.asarray(candidates("mixed"))
    densities, s, n_rows = inside(searching_alike(sampler), told(sampler, own), at)
    assert n_rows.tolist() == [3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 1]
    for m in (0, 5, 7, 8, 10):
        alone = adjusted(paper, n_samples=200, eta=None)(space, [logs[m]])
        wanted = inside(searching_alike(alone), told(alone, own), at)
        for many, one in zip(densities, wanted[0], strict=True):
            np.testing.assert_allclose(many[m], one[0], rtol=1e-10)
        assert float(s[m]) == pytest.approx(float(wanted[1][0]), abs=1e-10)


# --- candidates ----------------------------------------------------------------------------------

OWN = px.Space({"task": px.Categorical(range(4)), "x": px.Float(0, 1)})
SIZES = (20, 30, 60, 100)  # rows below: 2, which keep no parameter, so that all are alike; 3, 6, 10


def of_one(task: int) -> Table:
    n = SIZES[task]
    x = np.stack([np.full(n, task), np.linspace(0, 1, n)], 1)
    return Table(x, x[:, 1:], np.zeros((n, 0)), np.zeros(n, bool))


@eqx.filter_jit
def first_candidates(sampler, state):
    """Native values of the candidates for the objective."""
    basis = sampler.smoothing.basis(sampler.space, state.x.dtype)
    densities, _ = sampler.smoothing.fit(basis, state, sampler.split(state))
    return basis.frame.decode(densities.below.sample(jax.random.key(0), basis, sampler.n_candidates))


def drawn(most: int) -> np.ndarray:
    """Candidates per task: rows of a task are of a category of its own, and kernels stay there."""
    logs = [observations(OWN, of_one(task)) for task in (1, 2, 3)]
    sampler = adjusted(paper, top=1.0, prior_weight=0.0, n_samples=50)(OWN, logs, max_candidates=most)

    x = np.asarray(first_candidates(sampler, told(sampler, of_one(0))))
    assert ((x[:, 1] >= 0) & (x[:, 1] <= 1)).all()
    return np.bincount(x[:, 0].astype(int), minlength=4)


@pytest.mark.slow
def test_candidates_come_from_every_task():
    """100 of each as long as there is room, else in proportion to N_m k(1, m)."""
    np.testing.assert_array_equal(drawn(1024), 100)
    found = drawn(105)
    assert found.sum() == 105
    assert (np.abs(found - 105 * np.array([2, 3, 6, 10]) / 21) <= 1).all(), found


@pytest.mark.slow
def test_candidates_of_a_conditional_space():
    for most, n in ((1024, 300), (60, 60)):
        logs = [observations(SPACE_OF["conditional"], table("conditional", "random", seed=s)) for s in (4, 5)]
        sampler = adjusted(paper, eta=None, n_samples=50)(SPACE_OF["conditional"], logs, max_candidates=most)
        x = np.asarray(first_candidates(sampler, told(sampler, table("conditional", "random"))))
        assert x.shape == (n, len(sampler.space))
        assert sampler.space.frame().encode(x).valid.all()


# --- transformations -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("estimate", ["balanced", "uniform", "overlap"])
def test_compiled_is_eager_and_vmap_is_a_loop(estimate):
    space = SPACE_OF["categories"]
    logs = [observations(space, table("categories", "random", seed=s)) for s in (4, 5)]
    sampler = adjusted(paper, estimate=estimate, n_samples=100)(space, logs)
    states = [told(sampler, table("categories", data)) for data in ("random", "ties", "few values", "none")]
    at = jnp.asarray(candidates("categories"), jnp.float32)

    def whole(sampler, key, state):
        found = sampler.score_of(state, at), px.samplers.similarities(sampler, state)
        # To a suggestion an estimate is nothing but its similarities.
        return (*found, sampler.ask(key, state)) if estimate == "balanced" else found

    one = eqx.filter_jit(whole)
    keys = jax.random.split(jax.random.key(0), len(states))
    looped = [one(sampler, key, state) for key, state in zip(keys, states, strict=True)]
    eager = whole(sampler, keys[0], states[0])
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    mapped = eqx.filter_vmap(one, in_axes=(None, 0, 0))(sampler, keys, together)
    for i, part in enumerate(eager):
        np.testing.assert_allclose(part, looped[0][i], atol=1e-4)
        np.testing.assert_allclose(mapped[i], jnp.stack([parts[i] for parts in looped]), atol=1e-4)
