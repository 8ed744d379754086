"""Counts per level and cell against a loop over rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.importance.counts import sweep_counts
from parzax.importance.layout import Block, Layout
from parzax.kernels import TruncatedNormal


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("way", ["one scatter", "by column", "pairs on an accelerator"])
def test_sweep_counts_are_level_counts_of_each_column(weighted, way, monkeypatch):
    """All ways of counting, chosen by size and platform, agree with the loop: catches an offset of one."""
    if way == "pairs on an accelerator":
        monkeypatch.setattr(jax.lax, "platform_dependent", lambda *args, cpu, default: default(*args))
    widths, n = (4, 1, 9), 100 if way == "one scatter" else 50000
    blocks, offsets, column = [], [], 0
    for parameter, width in enumerate(widths):
        offsets.append(column)
        blocks.append(Block(parameter, 0, 0, TruncatedNormal, False, width, column))
        column += width + 1
    where = Layout(tuple(blocks), tuple(offsets), column)
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, width + 1, (2, n)) for width in widths], axis=1).astype(np.uint8)
    level = rng.integers(0, 4, (2, n)).astype(np.uint8)
    weight = rng.integers(0, 3, (2, n)) if weighted else None
    mine = jax.jit(lambda c, f, w: sweep_counts(c, f, w, place=(0, 1), layout=where))(codes, level, weight)
    own = np.ones((2, n), int) if weight is None else weight
    for seed in range(2):
        for j, (start, width) in enumerate(zip(offsets, widths, strict=True)):
            expected = np.zeros((3, width + 1))
            for row in range(3):
                inside = level[seed] <= row
                expected[row] = np.bincount(codes[seed, j], weights=own[seed] * inside, minlength=width + 1)
            np.testing.assert_array_equal(mine[seed, :, start : start + width + 1], expected)
    assert jnp.issubdtype(mine.dtype, jnp.integer)


# --- numbers that int32 does not hold, and what is no count -----------------------------------


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    "counts",
    [
        np.array([2**31 - 1, 0, 5]),
        np.array([2**40, 2**31, 5]),
        np.array([2**63 + 1, 0, 5], np.uint64),
        [2**40, 0, 5],
        np.array([200, 100, 250], np.uint8),
        jnp.array([2**31 - 1, 2**31 - 1, 5]),
        jnp.array([200, 100, 250], jnp.uint8),
    ],
    ids=str,
)
@pytest.mark.some(3)
def test_densities_of_large_counts(counts):
    """Shares count, so the density is that of the same counts in floats: catches a sum that wraps round."""
    wanted = px.divergence.grid_density(np.asarray(counts, np.float64))
    np.testing.assert_allclose(px.divergence.grid_density(counts), wanted, rtol=1e-5)


REFUSED = {
    "negative": [-1, 5, 0],
    "negative floats": [-0.5, 5.0, 0.0],
    "NaN": [np.nan, 1.0, 2.0],
    "infinite": [np.inf, 1.0, 2.0],
    "complex": [1 + 1j, 5, 0],
    "labels": ["a", "b", "c"],
    "masked": np.ma.array([1, 2, 3], mask=[0, 1, 0]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_count(name):
    """Refused as counts and as weights, with the argument named: catches NaN and masks that count for 0."""
    bad = REFUSED[name] if name == "masked" else np.array(REFUSED[name])
    with pytest.raises((ValueError, TypeError), match=r"^counts"):
        px.divergence.grid_density(bad)
    space, rows = px.Space({"x": px.Float(0, 1)}), np.full((3, 1), 0.5)
    with pytest.raises((ValueError, TypeError), match=r"^weight"):
        px.encode(space, rows, np.arange(3.0), 0.5, weight=bad)
    if bad.dtype.kind == "c":
        with pytest.raises(TypeError, match="counts must hold real numbers"):
            jax.jit(px.divergence.grid_density)(bad)
    elif bad.dtype.kind == "f":
        # Compiled code cannot raise, and says NaN.
        assert np.isnan(jax.jit(px.divergence.grid_density)(bad)).all()
