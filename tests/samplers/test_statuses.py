"""Settings that only compiled code knows: a status where they are none, and never NaN."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

from .tables import add, empty

S = px.Status
SPACE = px.Space({"x": px.Float(0, 1), "n": px.Int(0, 3), "k": px.Categorical(["a", "b"])})
X = np.stack([np.linspace(0, 1, 12), np.arange(12) % 4, np.arange(12) % 2], axis=1)
KEY = jax.random.key(0)
RULES = {
    "constant": px.bandwidth.Constant,
    "scott": lambda value: px.bandwidth.Scott(value, value),
    "scott of steps": lambda value: px.bandwidth.Scott(value, value, discrete_minimum=None),
    "neighbours": lambda value: px.bandwidth.Neighbours(value, value),
}
# One scale for all kernels of a group, and one for each.
FAST = ("constant",)
NAMES = [pytest.param(name, marks=[] if name in FAST else [pytest.mark.slow]) for name in RULES]
VALUES = {0.0: S.INVALID_BANDWIDTH, -0.1: S.INVALID_BANDWIDTH, np.nan: S.INVALID_BANDWIDTH, 0.2: S.OK}


@pytest.mark.parametrize("name", NAMES)
def test_a_traced_bandwidth_that_is_none_has_a_status(name):
    """Of an estimator: the width of the range stands for it."""
    space, x = px.Space({name: SPACE[name] for name in ("x", "n")}), jnp.asarray(X[:, :2])

    @eqx.filter_jit
    def outcome(value, rule):
        pe = px.ParzenEstimator.fit(space, x, bandwidth=rule(value))
        return pe.status, pe.log_prob(x), pe.sample(KEY, (3,)), pe.scale

    wide = outcome(jnp.asarray(1.0), px.bandwidth.Constant)
    for value, status in VALUES.items():
        found, logs, draws, scale = outcome(jnp.asarray(value), RULES[name])
        assert S(int(found)) == status, value
        assert np.isfinite(logs).all()
        assert np.isfinite(draws).all()
        if status:
            np.testing.assert_array_equal(scale, wide[3])
            np.testing.assert_array_equal(logs, wide[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_sampler_with_such_a_bandwidth_has_a_status(name):
    """And suggestions of the space; one that is fine has none."""

    @eqx.filter_jit
    def outcome(state, value):
        sampler = px.tpe(SPACE, bandwidth=RULES[name](value), n_startup=2)

        def total(x):
            scores = sampler.score_of(state, x)
            return scores.sum(), scores

        slope, scores = jax.grad(total, has_aux=True)(jnp.asarray(X, jnp.float32))
        return sampler.status(state), scores, sampler.ask(KEY, state), slope

    plain, rows = px.tpe(SPACE), (X, np.arange(12.0)[:, None], np.zeros((12, 0)))
    told = add(plain, empty(plain, 16), *(jnp.asarray(part, jnp.float32) for part in rows), False)
    for value, status in VALUES.items():
        found, *parts = outcome(told, jnp.asarray(value))
        assert S(int(found)) == status, value
        assert all(np.isfinite(part).all() for part in parts), value
