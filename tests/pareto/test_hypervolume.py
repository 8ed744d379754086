"""Hypervolume against cells, moocore and exact numbers, and its laws."""

import jax
import jax.numpy as jnp
import moocore
import numpy as np
import pytest
from reference import pareto as reference

from pareto.tables import N, holed, tables
from parzax.pareto import hypervolume

# "wide" has boxes of 1e300 beside some of 1: the cells of the loop overflow. Infinite ones are tried below.
NAMES = [name for name in tables(1) if name not in ("infinities", "subnormal", "huge", "wide")]


def corner(m):
    return np.linspace(0.8, 1.2, m)


@pytest.mark.parametrize("m", [1, 2, 3])
def test_equal_loops_and_moocore(m, x64):
    """Catches a box counted twice or a slab left out. 1e-12 is promised in float64, 1e-5 in float32."""
    dtype, rtol = (np.float64, 1e-13) if x64 else (np.float32, 2e-6)
    for name in NAMES:
        losses, ref = tables(m, dtype)[name], corner(m).astype(dtype)
        ours = float(hypervolume(jnp.asarray(losses), jnp.asarray(ref)))
        wide, ref = losses.astype(np.float64), ref.astype(np.float64)
        np.testing.assert_allclose(ours, reference.volume(wide, ref), rtol=rtol, err_msg=name)
        if m > 1:
            inside = np.minimum(wide, ref)
            np.testing.assert_allclose(ours, moocore.hypervolume(inside, ref=ref), rtol=rtol, err_msg=name)
        np.testing.assert_allclose(hypervolume(wide, ref), ours, rtol=rtol, err_msg=name)


@pytest.mark.parametrize("m", [2, 3])
def test_many_rows(m, double, record_property):
    """Catches loss of digits in long sums: 1e-12 of moocore's on fronts of 500 rows."""
    worst = 0.0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        losses = rng.exponential(size=(500, m)) ** rng.uniform(0.3, 3)
        losses /= np.linalg.norm(losses, axis=1, keepdims=True)
        ref = rng.uniform(1, 100, m)
        theirs = moocore.hypervolume(losses, ref=ref)
        worst = max(worst, abs(float(hypervolume(jnp.asarray(losses), jnp.asarray(ref))) / theirs - 1))
    record_property(
        "tried", f"hypervolume, {m} objectives: largest relative difference to moocore {worst:.1e}"
    )
    assert worst < 1e-12


def test_host_with_more_objectives():
    """Catches a wrong sign or scale on the way to moocore."""
    rng = np.random.default_rng(0)
    losses, mask = holed(rng.uniform(size=(10, 4)))
    there = losses[mask]
    expected = reference.volume(there, np.full(4, 0.9))
    np.testing.assert_allclose(hypervolume(losses, np.full(4, 0.9), mask), expected, rtol=1e-13)
    scaled = hypervolume(losses * 1e200, np.full(4, 0.9e200), mask)
    assert scaled == np.inf
    few = np.ldexp(losses, [600, 600, -600, -600])
    ref = np.ldexp(np.full(4, 0.9), [600, 600, -600, -600])
    np.testing.assert_allclose(hypervolume(few, ref, mask), expected, rtol=1e-13)


@pytest.mark.parametrize("m", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_laws(m, double):
    """Catches a volume that depends on order, padding, duplicates, dominated rows, units, jit or vmap."""
    losses, mask = holed(tables(m)["random"])
    losses, mask, ref = jnp.asarray(losses), jnp.asarray(mask), jnp.asarray(corner(m))
    value = float(hypervolume(losses, ref, mask))
    new = np.random.default_rng(0).permutation(N)
    assert float(hypervolume(losses[new], ref, mask[new])) == pytest.approx(value, rel=1e-14)
    padded = jnp.where(mask[:, None], losses, -jnp.inf)
    assert float(hypervolume(padded, ref, mask)) == value
    kept = losses[np.flatnonzero(mask)]
    fewer = jnp.concatenate([kept, jnp.repeat(kept[:1], N - len(kept), axis=0) + 0.5])
    assert float(hypervolume(fewer, ref)) == pytest.approx(value, rel=1e-14)
    units = 2.0 ** jnp.arange(m, dtype=float)
    assert float(hypervolume(losses * units[None], ref * units, mask)) == value * float(jnp.prod(units))
    assert float(jax.jit(hypervolume)(losses, ref, mask)) == value
    batch = jax.vmap(hypervolume, (0, None, 0))(
        jnp.stack([losses, losses[new]]), ref, jnp.stack([mask, mask[new]])
    )
    np.testing.assert_allclose(batch, value, rtol=1e-14)


@pytest.mark.parametrize("m", [pytest.param(2, marks=pytest.mark.slow), 3])
def test_gradient(m, double):
    """Catches NaN from padding; the derivative of a volume is the face that the row shows."""
    losses, mask = holed(tables(m)["near a front"])
    losses, mask, ref = jnp.asarray(losses), jnp.asarray(mask), jnp.asarray(corner(m))
    slope = np.asarray(jax.jit(jax.grad(hypervolume))(losses, ref, mask))
    assert np.isfinite(slope).all()
    assert not slope[~np.asarray(mask)].any()
    row, step = int(np.argmin(slope.sum(axis=1))), 1e-6
    value = [float(hypervolume(losses.at[row, 0].add(d), ref, mask)) for d in (step, -step)]
    assert slope[row, 0] == pytest.approx((value[0] - value[1]) / (2 * step), rel=1e-6)


@pytest.mark.usefixtures("as_installed")
def test_errors_name_the_argument():
    """Catches a fourth objective that would be left out, and a reference that would be broadcast."""
    with pytest.raises(ValueError, match="at most 3 objectives in JAX, got 4; give NumPy arrays"):
        hypervolume(jnp.zeros((3, 4)), jnp.ones(4))
    for convert in (jnp.asarray, np.asarray):
        with pytest.raises(ValueError, match=r"reference \(m,\)"):
            hypervolume(convert(np.zeros((3, 2))), convert(np.ones(3)))
    with pytest.raises(ValueError, match=r"mask must have shape \(3,\)"):
        hypervolume(np.zeros((3, 2)), np.ones(2), np.ones(2))
