"""Meta-learning TPE: scores against loops, limits, similarity of small tasks exactly, first suggestions."""

import dataclasses
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from reference import meta as oracle
from reference import tpe
from samplers.tables import SPACE_OF, Table, candidates, score_of, searching_alike, table, told

import parzax as px

SETTINGS = tpe.Settings(rule="linear", quantile=0.1, whole_front=True, minimum=0.1, top=0.9)


def observations(space: px.Space, data) -> px.Observations:
    """A table as a log: constraint-only rows have NaN objectives, pending ones are left out."""
    pending = np.isnan(data.losses).any(axis=-1) & ~data.constraint_only
    known = np.where(np.isnan(data.constraints), 1.0, data.constraints)
    return px.Observations.from_arrays(
        space,
        data.x[~pending],
        data.losses[~pending],
        constraints=known[~pending] if known.size else None,
    )


# The paper's own weights and candidates.
paper = px.papers.authors_meta_learn_tpe


@cache
def sources(space: str, m: int, c: int) -> tuple:
    return tuple(table(space, data, m, c, seed) for data, seed in (("random", 4), ("few values", 5)))


def meta(space: str, m: int = 1, c: int = 0, logs=None, **options) -> px.samplers.Sampler:
    own = SPACE_OF[space]
    logs = [observations(own, t) for t in sources(space, m, c)] if logs is None else logs
    return adjusted(paper, n_samples=200, **options)(own, logs, m, c)


def _alike(sampler, state):
    split, smoothing = sampler.split(state), sampler.smoothing
    groups = range(1 + sampler.n_constraints)
    return [smoothing.sources.similarities(state, split, i) for i in groups]


_alike_compiled = eqx.filter_jit(_alike)


def alike(sampler, state):
    """The similarities of every group."""
    return _alike_compiled(searching_alike(sampler), state)


@eqx.filter_jit
def _judged(sampler, state, at):
    return _alike(sampler, state), sampler.score_of(state, at)


def judged(sampler, state, at):
    """`alike` and `score_of`: the scores need the similarities, which are compiled once for both."""
    return _judged(searching_alike(sampler), state, at)


CASES = [
    ("categories", 1, 0, False),
    pytest.param("conditional", 1, 0, True, marks=pytest.mark.slow),
    pytest.param("mixed", 2, 0, False, marks=pytest.mark.slow),
    pytest.param("mixed", 1, 2, True, marks=pytest.mark.slow),
    pytest.param("categories", 2, 1, True, marks=pytest.mark.slow),
]  # fmt: skip


@pytest.mark.parametrize(("space", "m", "c", "double"), CASES)
def test_scores(space, m, c, double, record_property):
    """Catches a wrong weight, group, density, share or sum; the similarities are those found."""
    worst = {}
    with jax.enable_x64(double):
        sampler = meta(space, m, c, eta=None)
        settings = dataclasses.replace(SETTINGS, score="relative" if c else "ratio")
        at = jnp.asarray(candidates(space))
        for data in ("random", "ties", "pending", "one row", "none") + (("nothing feasible",) if c else ()):
            own = table(space, data, m, c)
            state = told(sampler, own)
            s, found = judged(sampler, state, at)
            s, found = [np.asarray(x, float) for x in s], np.asarray(found, float)
            wanted = oracle.scores(
                settings, SPACE_OF[space], [own, *sources(space, m, c)], s, candidates(space)
            )
            worst[data] = np.abs(found - wanted).max()
    assert max(worst.values()) <= (1e-10 if double else 2e-3), worst
    record_property("tried", f"meta scores, {space}, {m}, {c}: {max(worst.values()):.1e}")


@pytest.mark.slow
def test_limits():
    """With nothing in the sources, or no similarity, the score is MO-TPE's."""
    space = SPACE_OF["mixed"]
    own = table("mixed", "random", 2)
    plain = px.mo_tpe(space, 2)
    at = jnp.asarray(candidates("mixed"), jnp.float32)
    wanted = np.asarray(score_of(plain, told(plain, own), at))
    nothing = px.Observations.from_arrays(space, own.x[:1], np.full((1, 2), np.nan))
    # Both with as much room for rows, and all parameters: they share what is compiled.
    empty = adjusted(paper, n_samples=100, eta=None)(space, [nothing], 2)
    np.testing.assert_allclose(score_of(empty, told(empty, own), at), wanted, atol=2e-4)
    assert "0 rows" in empty.smoothing.sources.report[0]
    far, better = own.x[:8].copy(), own._replace(x=np.where(np.arange(4) == 2, 0.0, own.x))
    far[:, 2] = 2.0  # another category in every row
    disjoint = adjusted(paper, n_samples=100, eta=None)(
        space, [px.Observations.from_arrays(space, far, own.losses[:8])], 2
    )
    state = told(disjoint, better)
    assert float(alike(disjoint, state)[0][0]) == 0
    plain_score = np.asarray(score_of(plain, told(plain, better), at))
    np.testing.assert_allclose(score_of(disjoint, state, at), plain_score, atol=2e-4)


@pytest.mark.slow
def test_the_target_wins_with_its_rows():
    """N_1 to infinity: the score approaches the target's own, as its share of all rows approaches 1."""
    space = px.Space({"x": px.Float(0, 1), "c": px.Categorical(["a", "b"])})
    rng = np.random.default_rng(0)

    def log(n: int, centre: float) -> tuple[np.ndarray, np.ndarray]:
        x = np.stack([rng.uniform(size=n), rng.integers(0, 2, n)], axis=1)
        return x, (x[:, 0] - centre) ** 2

    source = px.Observations.from_arrays(space, *log(20, 0.8))
    sampler, plain = adjusted(paper, n_samples=100)(space, [source]), px.mo_tpe(space, 1)
    at = jnp.asarray([[0.1, 0], [0.5, 1], [0.8, 0], [0.95, 1.0]])
    gaps = []
    for n in (20, 2000):
        x, y = log(n, 0.3)
        own = tuple(s.tell(s.init(2048), jnp.asarray(x), jnp.asarray(y)) for s in (sampler, plain))
        gaps.append(np.abs(score_of(sampler, own[0], at) - score_of(plain, own[1], at)).max())
    assert gaps[1] < min(0.1 * gaps[0], 0.05), gaps


@pytest.mark.slow
def test_log_densities_of_minus_800(record_property):
    """60 coordinates, no prior, candidates far from all rows: finite scores that are right in both dtypes."""
    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(60)})
    rng = np.random.default_rng(0)
    x = 0.05 * rng.random((60, 60))
    own, other = (Table(x[k], x[k].sum(axis=1)[:, None], np.zeros((30, 0)), np.zeros(30, bool)) for k in (
        slice(30), slice(30, 60)
    ))  # fmt: skip
    at = np.concatenate(
        [np.full((3, 60), 0.98) - np.arange(3)[:, None] / 50, 0.6 + 0.1 * rng.random((5, 60))]
    )
    settings = dataclasses.replace(SETTINGS, prior_weight=0.0)
    for double in (False, True):
        with jax.enable_x64(double):
            sampler = meta_of(space, [observations(space, other)], eta=None, prior_weight=0.0)
            state = told(sampler, own)
            logs, s, found = densities_at(sampler, state, jnp.asarray(at, state.x.dtype))
            wanted = oracle.scores(settings, space, [own, other], [np.asarray(s, float)], at)
            assert np.asarray(logs).max() < -800
            assert np.asarray(logs).min() < -2500
            worst = np.abs(np.asarray(found) - wanted).max()
            assert worst <= (1e-10 if double else 3e-3)
            record_property("tried", f"log densities to {np.asarray(logs).min():.0f}, error {worst:.1e}")


def meta_of(space: px.Space, logs, **options) -> px.samplers.Sampler:
    return adjusted(paper, n_samples=200, **options)(space, logs)


@eqx.filter_jit
def densities_at(sampler, state, at):
    """Of the groups below and above, the similarities, and the scores."""
    basis = sampler.smoothing.basis(sampler.space, at.dtype)
    densities, _ = sampler.smoothing.fit(basis, state, sampler.split(state))
    return (
        densities.log_prob(basis, basis.frame.encode(at)),
        px.samplers.similarities(sampler, state),
        sampler.score_of(state, at),
    )
