"""What is made in one precision and used in the other, and keys of either kind."""

import functools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted

import parzax as px

SPACE = px.Space({"x": px.Float(0, 1), "n": px.Int(0, 3), "k": px.Categorical(["a", "b"])})
X = np.stack([np.linspace(0, 1, 12), np.arange(12) % 4, np.arange(12) % 2], axis=1)
LOSS = (X[:, 0] - 0.3) ** 2
KEY = jax.random.key(0)
SAMPLER = adjusted(px.tpe, n_startup=2)(SPACE)


def _fitted() -> px.ParzenEstimator:
    return px.ParzenEstimator.fit(SPACE, X)


def _told() -> px.samplers.State:
    return SAMPLER.tell(SAMPLER.init(16), X, LOSS)


# What is done with an estimator, and with a state.
OF_ESTIMATORS = {
    "log_prob": lambda pe: pe.log_prob(X),
    "log_prob of an array of JAX": lambda pe: pe.log_prob(jnp.asarray(X)),
    "sample": lambda pe: pe.sample(KEY, (3,)),
    "marginal": lambda pe: pe.marginal("x").log_prob(X[:, :1]),
    "conditional": lambda pe: pe.conditional({"n": 1}).log_prob(X[:, [0, 2]]),
}
OF_STATES = {
    "tell": lambda state: SAMPLER.tell(state, X[:1], LOSS[:1]).losses,
    "ask": lambda state: SAMPLER.ask(KEY, state, 2),
    "ask with a pool": lambda state: SAMPLER.ask(KEY, state, 2, X),
    "score_of": lambda state: SAMPLER.score_of(state, X),
    "status": lambda state: SAMPLER.status(state),
    "best": lambda state: SAMPLER.best(state).x,
    "grow": lambda state: SAMPLER.grow(state, 64).x,
}
FAST = {"log_prob", "tell"}
ALL = {"estimators": (_fitted, OF_ESTIMATORS), "states": (_told, OF_STATES)}


@pytest.mark.parametrize("kind", ALL)
def test_of_float64_outside(kind):
    """Refused, with the remedy: JAX would cut it off to float32 without a word."""
    make, uses = ALL[kind]
    with jax.enable_x64(True):
        made = make()
    message = r"made in float64, but is used in float32; make and use it inside jax.enable_x64"
    for use in uses.values():
        with pytest.raises(ValueError, match=message):
            use(made)


CASES = [
    pytest.param(make, use, id=name, marks=[] if name in FAST else [pytest.mark.slow])
    for make, uses in ALL.values()
    for name, use in uses.items()
]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "use"), CASES)
def test_of_float64_inside(make, use):
    with jax.enable_x64(True):
        use(make())


@pytest.mark.parametrize("use", OF_STATES.values(), ids=OF_STATES)
def test_states_of_float32_inside(use):
    """Refused: losses that are told in float64 would tie in it without a word."""
    state = _told()
    with jax.enable_x64(True), pytest.raises(ValueError, match="made in float32, but is used in float64"):
        use(state)


@pytest.mark.parametrize(("make", "use"), [case for case in CASES if case.values[0] is _fitted])
def test_of_float32_inside(make, use):
    """An estimator stays what it is, and its answers are those of outside."""
    made = make()
    wanted = use(made)
    with jax.enable_x64(True):
        found = use(made)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)


OTHER = px.Observations.from_arrays(SPACE, X, (X[:, 0] - 0.4) ** 2)
META = {
    "ask": lambda sampler, state: sampler.ask(KEY, state),
    "score_of": lambda sampler, state: sampler.score_of(state, X),
    "similarities": px.samplers.similarities,
}


@pytest.mark.slow
@pytest.mark.parametrize("inside", [True, False])
def test_sources_of_another_precision(inside):
    """Refused with the remedy, whichever is made inside; with a state of their own precision they serve."""
    with jax.enable_x64(inside):
        rules = {"task_weights": px.meta.Stacking(), "gamma": px.gamma.Linear(0.3)}
        sampler = adjusted(px.meta_learn_tpe, n_startup=2, **rules)(SPACE, [OTHER])
        state = sampler.tell(sampler.init(16), X, LOSS)
        assert np.isfinite(sampler.score_of(state, X)).all()
    with jax.enable_x64(not inside):
        state = SAMPLER.tell(SAMPLER.init(16), X, LOSS)  # sources that do not fit are refused by `tell` too
        for use in META.values():
            with pytest.raises(
                ValueError, match=r"made in float.*used in float.* inside jax.enable_x64\(True\), or both out"
            ):
                use(sampler, state)


@pytest.mark.filterwarnings("error:Explicitly requested dtype")
@pytest.mark.parametrize("inside", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_first_suggestions_of_another_precision(inside):
    """The best rows of the sources serve states of either, in the state's own."""
    space = px.Space({"x": SPACE["x"]})
    with jax.enable_x64(inside):
        start = px.meta_learn_tpe(space, [OTHER]).start
    with jax.enable_x64(not inside):
        # The other parts do not matter; these are compiled fastest.
        sampler = replace(adjusted(px.papers.tpe, n_startup=5, n_candidates=3)(space), start=start)
        state = sampler.init(16)
        x = sampler.ask(KEY, state, 3)
        assert x.dtype == state.x.dtype
        assert len(np.unique(np.asarray(x), axis=0)) == 3
        best = OTHER.values[np.argsort(OTHER.losses[:, 0])[:5], :1]
        assert (np.abs(np.asarray(x)[:, None] - best[None]).max(axis=-1).min(axis=1) < 1e-6).all()


@functools.cache
def _estimator() -> px.ParzenEstimator:
    return _fitted()


LEGACY = {
    "ask": lambda key: SAMPLER.ask(key, SAMPLER.init(4)),
    "sample": lambda key: _estimator().sample(key, (3,)),
    "optimize": lambda key: px.optimize(key, SAMPLER, px.Problem(lambda key, x: x[0], SPACE), 3),
    "a problem": lambda key: px.Problem(lambda key, x: x[0], SPACE)(key, jnp.asarray(X[0])),
}


@pytest.mark.parametrize("name", LEGACY)
def test_untyped_keys_are_refused_alike(name):
    """Catches a legacy key that one place takes and another refuses; compiled code is no different."""
    message = r"^key must be a typed key such as jax.random.key\(0\), got an array of dtype uint32"
    for call in (LEGACY[name], jax.jit(LEGACY[name])):
        with pytest.raises(TypeError, match=message):
            call(jax.random.PRNGKey(0))
