"""Valid configurations in samplers: no suggestion is invalid, and what is always valid changes no bit."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

DOMAINS = {
    "low": px.Float(0, 1),
    "high": px.Float(1e-3, 1, log=True),
    "kind": px.Categorical(["a", "b", "c"]),
    "depth": px.Int(1, 9, when=px.In("kind", ["a", "b"])),
}
RULES = [
    px.valid.Ordered("low", "high"),
    px.valid.Forbidden([px.In("kind", ["a"]), px.Between("depth", 4)]),
    lambda p: (p["low"] + p["high"] < 0.5) | (p["kind"] == "c") & (p["low"] < 0.01),
]
PLAIN, SPACE = px.Space(DOMAINS), px.Space(DOMAINS, RULES)
GRID = {"a": px.Int(1, 6), "b": px.Int(1, 6), "c": px.Categorical(["x", "y"])}
SMALL = px.Space(GRID, [px.valid.Ordered("a", "b", strict=True), px.valid.Sum(["a", "b"], high=7)])
KEY = jax.random.key(0)


def is_valid(x):
    """The rules of `SPACE` once more, in NumPy."""
    low, high, kind, depth = np.moveaxis(np.asarray(x), -1, 0)
    return (low <= high) & ~((kind == 0) & (depth >= 4)) & ((low + high < 0.5) | (kind == 2) & (low < 0.01))


def loss(key, x):
    """Best where nothing is valid: a search without rules ends there."""
    return (x[0] - 1) ** 2 + (x[1] - 0.1) ** 2 + 0.1 * (x[2] - 1) ** 2 - 0.01 * jnp.nan_to_num(x[3])


def small_loss(key, x):
    return (x[0] - 6) ** 2 + (x[1] - 1) ** 2 + x[2]


SAMPLERS = {True: px.tpe(SPACE), False: px.tpe(PLAIN)}
X = PLAIN.sample(jax.random.key(5), 40)
LOSSES = jax.vmap(loss, (None, 0))(KEY, X)


@functools.cache
def told(rows: str = "all"):
    """A state with the rows `X`, or the valid ones among them."""
    chosen = is_valid(X) if rows == "valid" else np.full(len(X), True)
    return SAMPLERS[True].tell(SAMPLERS[True].init(), X[chosen], LOSSES[chosen])


def test_every_suggestion_of_a_run_is_valid():
    """It learns, too: the best valid loss is about 0.57."""
    trace = px.optimize(KEY, SAMPLERS[True], loss, 64)
    assert is_valid(trace.x).all()
    assert trace.best_losses()[-1] < 0.65


@pytest.mark.slow
def test_a_small_space_is_searched_to_its_last_valid_configuration():
    """Nine pairs and two choices, each evaluated once; then some of them again."""
    sampler = px.tpe(SMALL, start=px.samplers.RandomStart(0))
    trace = px.optimize(KEY, sampler, small_loss, 22)
    assert SMALL.allows(trace.x).all()
    assert len(np.unique(trace.x[:18], axis=0)) == 18 == round(SMALL.valid_share * 72)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("x64", [False, True])
def test_what_is_always_valid_changes_no_bit(n, x64):
    always = px.Space(DOMAINS, [lambda p: p["low"] + p["high"] < 3, px.valid.Sum(["low", "high"], high=2)])
    with jax.enable_x64(x64):
        traces = [px.optimize(KEY, px.tpe(space), loss, 36, n_parallel=n) for space in (PLAIN, always)]
    np.testing.assert_array_equal(*(trace.x for trace in traces))


def test_scores_are_those_of_the_densities_where_a_configuration_is_valid():
    at, state = PLAIN.sample(jax.random.key(6), 200), told()
    score, plain = (SAMPLERS[ruled].score_of(state, at) for ruled in (True, False))
    valid = is_valid(at)
    np.testing.assert_array_equal(score[valid], plain[valid])
    assert (score[~valid] == -jnp.inf).all()


@pytest.mark.slow
def test_derivatives_of_scores_are_those_of_the_densities():
    at = PLAIN.sample(jax.random.key(6), 200)
    at = at[is_valid(at)]
    slopes = [jax.grad(lambda x, s=s: s.score_of(told(), x).sum())(at) for s in SAMPLERS.values()]
    np.testing.assert_array_equal(*slopes)
    assert np.isfinite(slopes[0][:, :2]).all()


def test_members_of_a_pool():
    n_valid = int(is_valid(X).sum())
    for state in (SAMPLERS[True].init(), told()):
        x = SAMPLERS[True].ask(KEY, state, n_valid, X[::-1])
        assert is_valid(x).all()
        assert len(np.unique(x, axis=0)) == n_valid
    with pytest.raises(ValueError, match=f"only {n_valid} of 40 rows are valid, and n is {n_valid + 1}"):
        SAMPLERS[True].ask(KEY, told(), n_valid + 1, np.asarray(X))


@pytest.mark.slow
def test_rows_that_are_not_valid_are_rows_but_not_repeated():
    sampler, best = SAMPLERS[True], np.array([[0.75, 0.125, 1, 9.0]])
    assert px.Status(int(sampler.status(told("valid")))) == px.Status.OK
    state = sampler.tell(told("valid"), best, [-5.0])
    assert px.Status(int(sampler.status(state))) == px.Status.NOT_ALLOWED
    found = sampler.best(state)
    np.testing.assert_array_equal(found.x[found.mask], best)
    asked = np.nan_to_num(sampler.ask(KEY, state, 2, confirm=True))
    assert is_valid(asked).all()
    assert (asked[:, None] == np.nan_to_num(state.x)[None]).all(axis=-1).any(axis=1).all()


def test_where_the_good_density_is_hardly_valid_candidates_are_random():
    """All good rows are invalid and close to each other, so draws from their density hardly ever help."""
    domains = {name: px.Float(0, 1) for name in "abc"}
    space = px.Space(domains, px.valid.Sum(list("abc"), high=0.4))
    sampler, rng = px.tpe(space), np.random.default_rng(0)
    x = np.concatenate([0.9 + 0.01 * rng.random((20, 3)), 0.8 * rng.random((40, 3))])
    state = sampler.tell(sampler.init(), x, -x.sum(axis=1))
    asked = [sampler.ask(key, state)[0] for key in jax.random.split(KEY, 10)]
    assert (np.sum(asked, axis=-1) <= 0.4 + 1e-6).all()


def test_a_problem_with_other_rules_is_refused():
    with pytest.raises(ValueError, match=r"problem.space is Space[^$]*valid=\[Ordered"):
        px.optimize(KEY, SAMPLERS[False], px.Problem(loss, SPACE), 3)


@pytest.mark.slow
def test_every_suggestion_is_valid_in_batches_of_many_runs():
    """With random suggestions among the others, and repeats."""
    sampler = px.tpe(SPACE, proposal=px.samplers.Proposal(epsilon=0.2))
    traces = px.optimize_many(jax.random.split(KEY, 4), sampler, loss, 48, n_parallel=8, n_confirm=2)
    assert is_valid(traces.x).all()
    with jax.enable_x64(True):
        assert is_valid(px.optimize(jax.random.key(1), px.tpe(SPACE), loss, 24).x).all()


@pytest.mark.slow
def test_lanes_of_a_batch_are_as_alone():
    """One lane may need more draws than another."""
    keys, state = jax.random.split(jax.random.key(1), 3), told()
    asked = jax.jit(jax.vmap(lambda key: SAMPLERS[True].ask(key, state, 2)))(keys)
    assert is_valid(asked).all()
    np.testing.assert_array_equal(asked[1], SAMPLERS[True].ask(keys[1], state, 2))


@pytest.mark.slow
def test_sources_start_only_with_valid_rows():
    log = px.Observations.from_arrays(PLAIN, np.asarray(X), np.asarray(LOSSES))
    sampler = px.meta_learn_tpe(SPACE, [log])
    assert is_valid(sampler.ask(KEY, sampler.init(), 5)).all()


@pytest.mark.slow
def test_a_session_suggests_valid_rows():
    session = px.adapters.Session(SAMPLERS[True])
    for i in range(16):
        x = session.ask(i)
        assert is_valid(x)
        session.tell([px.adapters.Row(x, (float(loss(None, x)),))])
