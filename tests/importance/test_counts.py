"""Counts per level and cell against a loop over rows."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.importance.counts import sweep_counts
from parzax.importance.layout import Block, Layout
from parzax.kernels import TruncatedNormal


def _loop(codes, level, weight, n_levels, n_cells):
    out = np.zeros((n_levels + 1, n_cells))
    for code, first, w in zip(codes, level, weight, strict=True):
        for row in range(n_levels + 1):
            out[row, code] += w * (first <= row)
    return out


def _rows(seed, n=200, n_levels=3, n_cells=7):
    rng = np.random.default_rng(seed)
    return rng.integers(0, n_cells, n), rng.integers(0, n_levels + 3, n)


def test_level_counts_against_a_loop():
    """Nested sets, region last, rows at q + 1 and beyond nowhere: catches an off-by-one."""
    codes, level = _rows(0)
    mine = px.level_counts(codes, level, n_levels=3, n_cells=7)
    assert mine.dtype == jnp.int32
    np.testing.assert_array_equal(mine, _loop(codes, level, np.ones(200), 3, 7))
    assert (np.diff(mine, axis=0) >= 0).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32])
def test_narrow_codes(dtype):
    """level * n_cells + code exceeds 255: catches arithmetic in the narrow type of the codes."""
    rng = np.random.default_rng(1)
    codes, level = rng.integers(0, 200, 300).astype(dtype), rng.integers(0, 101, 300).astype(np.uint8)
    mine = px.level_counts(jnp.asarray(codes), jnp.asarray(level), n_levels=99, n_cells=200)
    np.testing.assert_array_equal(mine, _loop(codes, level, np.ones(300), 99, 200))


def test_weights_keep_their_type():
    """Integer weights give exact integers past 2^24, floats give floats: catches counting in float32."""
    codes, level = _rows(2)
    weight = np.random.default_rng(2).integers(0, 2**22, 200)
    mine = px.level_counts(codes, level, jnp.asarray(weight), n_levels=3, n_cells=7)
    assert jnp.issubdtype(mine.dtype, jnp.integer)
    assert mine.max() > 2**24
    np.testing.assert_array_equal(mine, _loop(codes, level, weight, 3, 7))
    real = weight / 7
    with jax.enable_x64(True):
        mine = px.level_counts(codes, level, jnp.asarray(real), n_levels=3, n_cells=7)
        np.testing.assert_allclose(mine, _loop(codes, level, real, 3, 7), rtol=1e-13)


def test_no_rows_and_no_levels():
    """n = 0 counts nothing; the smallest q and g work."""
    empty = jnp.zeros(0, jnp.int32)
    assert px.level_counts(empty, empty, n_levels=2, n_cells=3).tolist() == [[0] * 3] * 3
    assert px.level_counts(jnp.array([0]), jnp.array([0]), n_levels=1, n_cells=1).tolist() == [[1], [1]]


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
    wanted = px.grid_density(np.asarray(counts, np.float64))
    np.testing.assert_allclose(px.grid_density(counts), wanted, rtol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, jnp.asarray], ids=["NumPy", "JAX"])
def test_counts_of_large_weights(make):
    """Sums beyond int32 become floats on the host: catches negative counts."""
    codes, level = np.array([0, 0, 1]), np.zeros(3, int)
    for weight in ([2**30] * 3, *([[3 * 2**30, 3 * 2**30, 1]] if make is np.asarray else [])):
        mine = px.level_counts(codes, level, make(weight), n_levels=1, n_cells=2)
        np.testing.assert_allclose(mine, [[weight[0] + weight[1], weight[2]]] * 2, rtol=1e-6)


@pytest.mark.parametrize("wide", [2**31, 2**32, 2**32 + 1, 2**40, -(2**32)])
def test_codes_and_levels_beyond_int32(wide):
    """They are outside the grid, or beyond the levels: catches a 0 that 2^32 wraps round to."""
    near, far = np.array([0, 1]), np.array([wide, 1])
    count = functools.partial(px.level_counts, n_levels=1, n_cells=2)
    np.testing.assert_array_equal(count(far, np.zeros(2, int)), [[0, 1], [0, 1]])
    np.testing.assert_array_equal(count(near, far * [1, 0]), [[0, 1], [0, 1]])


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
        px.grid_density(bad)
    with pytest.raises((ValueError, TypeError), match=r"^weight"):
        px.level_counts(np.zeros(3, int), np.zeros(3, int), bad, n_levels=1, n_cells=2)
    if bad.dtype.kind == "c":
        with pytest.raises(TypeError, match="counts must hold real numbers"):
            jax.jit(px.grid_density)(bad)
    elif bad.dtype.kind == "f":
        # Compiled code cannot raise, and says NaN.
        assert np.isnan(jax.jit(px.grid_density)(bad)).all()
