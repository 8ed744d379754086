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
        compiled = jax.jit(exp2)(jnp.asarray(x))
        with mpmath.workdps(30):
            true = [mpmath.power(2, float(v)) for v in x]
            errors = [float(abs(mpmath.mpf(float(g)) / t - 1)) for g, t in zip(compiled, true, strict=True)]
        worst = max(errors) / np.finfo(dtype).eps
        record_property(
            "tried", f"2^x at {len(x)} points, {np.dtype(dtype).name}: worst error {worst:.2f} eps"
        )
        assert compiled.dtype == dtype
        assert worst < 2
        if dtype is np.float64:
            eager = exp2(jnp.asarray(x[:50]))
            np.testing.assert_allclose(eager, compiled[:50], rtol=4 * np.finfo(dtype).eps)


def test_ends_of_the_range(x64):
    info = np.finfo(np.float64 if x64 else np.float32)
    low, high = -float(info.maxexp - 1), float(info.maxexp)
    x = jnp.asarray([-jnp.inf, -1e30, low - 0.4, 0.0, high, 1e30, jnp.inf, jnp.nan])
    compiled = jax.jit(exp2)
    np.testing.assert_array_equal(compiled(x), [0, 0, 0, 1, np.inf, np.inf, np.inf, np.nan], strict=False)
    assert float(compiled(jnp.asarray(low + 1))) == float(info.tiny)


def test_slope(x64):
    x = np.append(np.linspace(-20, 20, 41), -1e9)
    slope, curvature = (jax.jit(jax.vmap(f))(x) for f in (jax.grad(exp2), jax.grad(jax.grad(exp2))))
    np.testing.assert_allclose(slope[:-1], np.log(2) * 2.0 ** x[:-1], rtol=1e-6)
    np.testing.assert_allclose(curvature[:-1], np.log(2) ** 2 * 2.0 ** x[:-1], rtol=1e-6)
    assert slope[-1] == 0
