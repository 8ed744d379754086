"""Tail arithmetic against mpmath."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from parzax._numerics import tails

hazard = jax.jit(tails.hazard)
upper_tail = jax.jit(tails.upper_tail)

POINTS = np.concatenate([np.linspace(0, 12, 500), np.geomspace(1e-6, 1e4, 200)])


def _upper_tail(x: float) -> mpmath.mpf:
    return mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2


def _density(x: float) -> mpmath.mpf:
    return mpmath.exp(-(mpmath.mpf(x) ** 2) / 2) / mpmath.sqrt(2 * mpmath.pi)


def test_hazard(both):
    """Catches a wrong coefficient or a transposed digit: the polynomial is good to a few ulps everywhere."""
    x = POINTS.astype(np.float64 if both else np.float32)
    mine = np.asarray(hazard(jnp.asarray(x)), dtype=np.float64)
    with mpmath.workdps(40):
        true = [_density(float(b)) / _upper_tail(float(b)) for b in x]
        error = [abs(float(a / b - 1)) for a, b in zip(mine.tolist(), true, strict=True)]
    # A few roundings on top of the interpolants' 1.1e-16 and 5.7e-8.
    assert max(error) <= (2e-15 if both else 1e-6)
    assert float(hazard(jnp.asarray(np.inf, x.dtype))) == np.inf


def test_upper_tail(x64):
    """Catches a wrong scale or a lost tail; in float32 rounding x^2/2 costs x^2/2 ulps."""
    x = POINTS[POINTS <= 12].astype(np.float64 if x64 else np.float32)
    mine = np.asarray(upper_tail(jnp.asarray(x)), dtype=np.float64)
    eps = float(np.finfo(x.dtype).eps)
    with mpmath.workdps(40):
        for a, b in zip(mine.tolist(), x.tolist(), strict=True):
            assert a == pytest.approx(float(_upper_tail(b)), rel=(8 + b * b) * eps)
