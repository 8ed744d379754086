"""Powers of two against mpmath, and at the ends of the range."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from parzax._numerics import exp2


@pytest.mark.parametrize(("dtype", "lowest"), [(np.float32, -126), (np.float64, -1022)])
def test_powers_against_mpmath(dtype, lowest, record_property):
    with jax.enable_x64(dtype is np.float64):
        rng = np.random.default_rng(0)
        x = np.concatenate(
            [rng.uniform(lowest, -lowest + 1, 3000), rng.uniform(-1, 1, 1000), np.arange(lowest, 100) / 2]
        )
        x = x[x >= lowest].astype(dtype)
        compiled, eager = jax.jit(exp2)(jnp.asarray(x)), exp2(jnp.asarray(x[:50]))
        with mpmath.workdps(30):
            true = [mpmath.power(2, float(v)) for v in x]
            errors = [float(abs(mpmath.mpf(float(g)) / t - 1)) for g, t in zip(compiled, true, strict=True)]
        worst = max(errors) / np.finfo(dtype).eps
        record_property(
            "tried", f"2^x at {len(x)} points, {np.dtype(dtype).name}: worst error {worst:.2f} eps"
        )
        assert compiled.dtype == dtype
        assert worst < 2
        np.testing.assert_allclose(eager, compiled[:50], rtol=4 * np.finfo(dtype).eps)


def test_ends_of_the_range(x64):
    info = np.finfo(np.float64 if x64 else np.float32)
    low, high = -float(info.maxexp - 1), float(info.maxexp)
    x = jnp.asarray([-jnp.inf, -1e30, low - 0.4, 0.0, high, 1e30, jnp.inf, jnp.nan])
    for function in (exp2, jax.jit(exp2)):
        np.testing.assert_array_equal(function(x), [0, 0, 0, 1, np.inf, np.inf, np.inf, np.nan], strict=False)
    assert float(exp2(jnp.asarray(low + 1))) == float(info.tiny)


def test_slope(x64):
    x = jnp.linspace(-20, 20, 41)
    np.testing.assert_allclose(jax.vmap(jax.grad(exp2))(x), np.log(2) * 2.0**x, rtol=1e-6)
    np.testing.assert_allclose(jax.vmap(jax.grad(jax.grad(exp2)))(x), np.log(2) ** 2 * 2.0**x, rtol=1e-6)
    assert jax.grad(lambda v: exp2(v))(-1e9) == 0
