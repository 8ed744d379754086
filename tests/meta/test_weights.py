"""What a source weighs that has no rows, nothing feasible, or not all parameters; batches."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from samplers.tables import SPACE_OF, candidates, empty, score_of, table, told

import parzax as px

from .test_sampler import paper

NAN = np.nan
SPACE = SPACE_OF["categories"]


def log(own, space: px.Space = SPACE, **options) -> px.Observations:
    return px.Observations.from_arrays(space, own.x, own.losses, **options)


@eqx.filter_jit
def alike(sampler, state):
    return px.samplers.similarities(sampler, state)


@pytest.mark.slow
def test_a_task_without_rows_weighs_nothing():
    """Scores stay the same with one more, and its similarity is 0."""
    some, own = log(table("categories", "random", seed=4)), table("categories", "random")
    nothing = px.Observations.from_arrays(SPACE, [[0, 0]], [NAN])
    one, two = (adjusted(paper, n_samples=100)(SPACE, logs) for logs in ([some], [some, nothing]))
    at, state = jnp.asarray(candidates("categories"), jnp.float32), told(one, own)
    np.testing.assert_allclose(score_of(two, state, at), score_of(one, state, at), atol=1e-5)
    assert float(score_of(one, state, at).std()) > 0.1
    np.testing.assert_allclose(alike(two, state), [float(alike(one, state)[0]), 0], atol=1e-6)


def test_the_kernel_counts_tasks_with_rows():
    s = jnp.asarray([1.0, 0.5, 1.0])
    found = px.meta.task_kernel(s, jnp.asarray([True, True, False]))
    np.testing.assert_allclose(found, [*np.asarray(px.meta.task_kernel(s[:2])), 0])


@pytest.mark.slow
def test_a_task_with_too_few_feasible_rows():
    """Nothing, or 2 rows of 30: no group of the objective, both of the constraint; said in the report."""
    tables = [table("categories", "random", seed=seed) for seed in range(3)]
    least = [np.arange(30.0) + 1, np.arange(30.0) - 1, np.arange(30.0) - 2]
    logs = [log(t, constraints=c) for t, c in zip(tables, least, strict=True)]
    sampler = adjusted(paper, n_samples=50, eta=None)(SPACE, logs, 1, 1)
    sources = sampler.smoothing.sources
    objective, constraint = sources.n_rows[:, 0], sources.n_rows[:, 1]
    np.testing.assert_array_equal(objective[:2], 0)
    assert float(objective[2, 0]) >= 3
    assert float(objective[2].sum()) == 30
    np.testing.assert_array_equal(constraint[:, 0], [1, 2, 3])
    said = [line.endswith("too few are feasible: its objectives do not count") for line in sources.report]
    assert said == [True, True, False]
    own = table("categories", "random", 1, 1)
    found = alike(sampler, told(sampler, own))
    assert found[:2].tolist() == [0, 0]
    assert float(found[2]) > 0


@pytest.mark.slow
@pytest.mark.parametrize("estimate", ["balanced", "uniform", "overlap"])
def test_a_parameter_that_a_task_lacks(estimate):
    """The same rows without it are the same task, by what it has; by another parameter alone it is none."""
    space = px.Space({"x": px.Float(0, 1), "z": px.Float(0, 1)})
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(60, 2))
    loss = (x[:, 0] - 0.3) ** 2 + 1e-3 * x[:, 1]
    whole = px.Observations.from_arrays(space, x, loss)
    only = [
        px.Observations.from_arrays(px.Space({name: space[name]}), x[:, [j]], y)
        for j, name, y in ((0, "x", loss), (1, "z", rng.uniform(size=60)))
    ]
    found = {}
    for eta in (None, 2.5):  # 6 rows below: compared by both, or by x alone
        sampler = adjusted(paper, n_samples=200, eta=eta, estimate=estimate)(space, [whole, *only])
        state = sampler.tell(sampler.init(64), x, loss)
        found[eta] = np.asarray(alike(sampler, state))
    np.testing.assert_allclose(found[None][:2], 1, atol=1e-3)
    assert found[None][2] < 0.9
    np.testing.assert_allclose(found[2.5], [1, 1, 0], atol=1e-3)


@pytest.mark.slow
def test_a_fresh_batch_differs():
    """All six configurations, whichever of them are rows of the source."""
    sampler = adjusted(paper, n_samples=50)(SPACE, [log(table("categories", "random", seed=4))])
    state = empty(sampler, 8)
    for seed in range(8):
        assert len(np.unique(sampler.ask(jax.random.key(seed), state, 6), axis=0)) == 6


@pytest.mark.slow
def test_a_batch_larger_than_the_number_of_candidates():
    """Catches suggestions that are repeated since there are no more candidates."""
    space = px.Space({"x": px.Float(0, 1)})
    x = np.random.default_rng(0).uniform(size=(30, 1))
    own = px.Observations.from_arrays(space, x, x[:, 0])
    sampler = adjusted(paper, n_samples=50, epsilon=0.0)(space, [own], max_candidates=10)
    state = sampler.tell(sampler.init(64), x, x[:, 0])
    found = eqx.filter_jit(lambda sampler, key, state: sampler.ask(key, state, 25))(
        sampler, jax.random.key(0), state
    )
    assert len(np.unique(found)) == 25


def three_logs() -> list[px.Observations]:
    return [log(table("categories", "random", seed=seed)) for seed in (4, 5, 6)]


@pytest.mark.slow
def test_naive_weights():
    """eta = inf: every task counts alike, k = 1 / T, however many rows there are; one program with others."""
    logs = three_logs()
    naive, some, all_of_them = (
        adjusted(paper, n_samples=50, eta=e)(SPACE, logs) for e in (np.inf, 2.5, None)
    )
    state = told(naive, table("categories", "random"))
    found = alike(naive, state)
    np.testing.assert_array_equal(found, np.ones(3))
    np.testing.assert_allclose(px.meta.task_kernel(found), np.full(4, 1 / 4))
    size = alike._cached._cache_size() if hasattr(alike, "_cached") else None
    assert (np.asarray(alike(all_of_them, state)) < 1).all()
    alike(some, state)
    if size is not None:
        assert alike._cached._cache_size() == size
    assert jax.tree.structure(naive) == jax.tree.structure(some) == jax.tree.structure(all_of_them)


@pytest.mark.parametrize(("down", "least"), [(True, 30), pytest.param(False, 21, marks=pytest.mark.slow)])
def test_when_tasks_are_compared_first(down, least):
    """The number in floor(log_2.5 n) as floor(gamma N), 30 rows as in the paper, and as ceil(gamma N), 21."""
    rule = px.gamma.Linear(0.1, down=down)
    sampler = adjusted(paper, n_samples=50, n_good=rule)(SPACE, three_logs())
    own = [table("categories", "random", seed=seed) for seed in (1, 2)]
    x, losses = (np.concatenate([getattr(t, name) for t in own]) for name in ("x", "losses"))

    @eqx.filter_jit
    def after(n):
        state = sampler.init(64)
        mask = jnp.arange(len(x)) < n
        return sampler.tell(
            state, jnp.where(mask[:, None], x, x[0]), jnp.where(mask[:, None], losses, jnp.nan)
        )

    found = [float(alike(sampler, after(jnp.asarray(n)))[0]) for n in range(1, 45)]
    assert next(n for n, s in enumerate(found, 1) if s < 1) == least
