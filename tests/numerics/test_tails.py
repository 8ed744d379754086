"""Tail arithmetic against mpmath."""

import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from parzax._numerics import mills_ratio, unit_cell_tails, upper_tail

POINTS = np.concatenate([np.linspace(0, 12, 500), np.geomspace(1e-6, 1e4, 200)])


def _upper_tail(x: float) -> mpmath.mpf:
    return mpmath.erfc(mpmath.mpf(x) / mpmath.sqrt(2)) / 2


def _mills(x: float) -> mpmath.mpf:
    return mpmath.exp(mpmath.mpf(x) ** 2 / 2) * mpmath.sqrt(2 * mpmath.pi) * _upper_tail(x)


def test_mills_ratio(x64):
    """Catches a wrong coefficient or a transposed digit: the polynomial is good to a few ulps everywhere."""
    x = POINTS.astype(np.float64 if x64 else np.float32)
    mine = np.asarray(mills_ratio(jnp.asarray(x)), dtype=np.float64)
    with mpmath.workdps(40):
        error = [abs(float(a / _mills(float(b)) - 1)) for a, b in zip(mine.tolist(), x, strict=True)]
    # A few roundings on top of the interpolants' 3e-16 and 1.7e-7.
    assert max(error) <= (2e-15 if x64 else 1e-6)


def test_upper_tail(x64):
    """Catches a wrong scale or a lost tail; in float32 rounding x^2/2 costs x^2/2 ulps."""
    x = POINTS[POINTS <= 12].astype(np.float64 if x64 else np.float32)
    mine = np.asarray(upper_tail(jnp.asarray(x)), dtype=np.float64)
    eps = float(np.finfo(x.dtype).eps)
    with mpmath.workdps(40):
        for a, b in zip(mine.tolist(), x.tolist(), strict=True):
            assert a == pytest.approx(float(_upper_tail(b)), rel=(8 + b * b) * eps)


def test_unit_cell_tails_telescope(double):
    """Catches an edge half a cell off: the masses of all cells around a centre add up to 1."""
    tails = unit_cell_tails(jnp.asarray(2.5), 60)
    masses = jnp.concatenate([1 - 2 * tails[:1], tails[:-1] - tails[1:]])
    assert float(masses[0] + 2 * masses[1:].sum()) == pytest.approx(1.0, abs=1e-12)
