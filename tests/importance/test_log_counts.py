"""`Counts`: counts of the parts of a log add up to those of the log, and `estimate` takes them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.importance import cell_starts, estimate

LEVELS, GRID = [0.5, 0.1, 0.25], px.Grid(max_cells=12)
SPACE = px.Space(
    {
        "x": px.Float(1e-4, 1, log=True),
        "k": px.Int(1, 40),
        "c": px.Categorical(["a", "b"]),
        "y": (px.Float(-2, 3, when=px.In("c", ["a"])), px.Float(0, 1, when=px.Between("k", 1, 20))),
    }
)


count = px.importance.Counts.of


def count_rows(space, x, losses, cutoffs, levels, region=1.0, grid=GRID):
    """Counts of a part of a log, whose cut-offs are given."""
    return count(px.encode(space, x, losses, levels, region, grid=grid, cutoffs=cutoffs))


def rows(n=400, seed=0):
    """A log with ties, inactive values, and rows without a loss."""
    rng = np.random.default_rng(seed)
    x, k, c = 10 ** rng.uniform(-4, 0, n), rng.integers(1, 41, n), rng.integers(0, 2, n)
    y = np.where(c == 0, rng.uniform(-2, 3, n), np.where(k < 20, rng.uniform(0, 1, n), np.nan))
    loss = np.round(np.log(x) ** 2 + np.nan_to_num(y), 1)
    loss[::50] = np.nan
    return np.stack([x, k, c, y], axis=1), loss


X, LOSS = rows()
ENCODED = px.encode(SPACE, X, LOSS, LEVELS, 0.9, grid=GRID, groups=np.arange(len(X)))
ALONE = replace(ENCODED, groups=None)


def cutoffs_by_loop():
    """The largest loss of each set, by sorting."""
    ranked = np.sort(LOSS[~np.isnan(LOSS)])
    return ranked[[int(np.ceil(round(q * len(ranked), 9))) - 1 for q in (*LEVELS, 0.9)]]


def counts_by_loop():
    """(q + 1, w) counts, row by row, in the columns of the layout."""
    counts = np.zeros((len(LEVELS) + 1, ENCODED.layout.n_columns), int)
    for codes, loss in zip(ENCODED.codes.T, LOSS, strict=True):
        for row, cutoff in enumerate(cutoffs_by_loop()):
            for offset, code in zip(ENCODED.layout.offsets, codes, strict=True):
                counts[row, offset + int(code)] += loss <= cutoff
    return counts


def test_counts_and_estimates_of_a_log():
    """Catches a wrong order of the levels, other columns, and estimates other than those of the rows."""
    log = count(ALONE)
    assert log.counts.dtype == np.int32
    assert (log.counts == counts_by_loop()).all()
    for one, other in zip(jax.tree.leaves(estimate(log)), jax.tree.leaves(estimate(ALONE)), strict=True):
        assert isinstance(one, np.ndarray)
        np.testing.assert_array_equal(one, other)
    huge = replace(log, counts=log.counts.astype(np.int64) << 24)
    share = estimate(huge).importance
    assert huge.counts.max() > 2**31
    assert np.isfinite(share).all()
    # Chance matters less with more rows, so only the largest share is compared.
    assert share.argmax() == estimate(log).importance.argmax()


def test_parts_in_any_order():
    """Shards of an encoded log, and blocks with given cut-offs, add up to it to the last bit."""
    shards = [
        count(replace(ALONE, codes=ALONE.codes[:, part], level=ALONE.level[part], rank=ALONE.rank[part]))
        for part in np.array_split(np.random.default_rng(0).permutation(len(X)), 5)
    ]
    blocks = [
        count_rows(SPACE, X[part], LOSS[part], cutoffs_by_loop(), LEVELS, 0.9, GRID)
        for part in np.array_split(np.arange(len(X)), 7)
    ]
    for parts in (shards, blocks):
        for order in (parts, parts[::-1]):
            merged = order[0].merge(*order[1:])
            assert merged.counts.dtype == np.int64
            assert (merged.counts == counts_by_loop()).all()
    assert (shards[0].merge(*shards[1:]).status == ALONE.status).all()


@pytest.mark.slow
def test_blocks_on_a_device():
    """The same counts from JAX arrays, under jit and vmap; traced rows outside the space set a status."""
    with jax.enable_x64(True):
        x, loss, cutoffs = jnp.asarray(X), jnp.asarray(LOSS), jnp.asarray(cutoffs_by_loop())

        @jax.jit
        @jax.vmap
        def by_block(x, loss):
            return count_rows(SPACE, x, loss, cutoffs, LEVELS, 0.9, GRID)

        blocks = by_block(x.reshape(4, 100, -1), loss.reshape(4, 100))
        assert (np.asarray(blocks.counts).sum(axis=0) == counts_by_loop()).all()
        assert not blocks.status.any()
        parts = [jax.tree.map(lambda a, i=i: a[i], blocks) for i in range(4)]
        assert (np.asarray(parts[3].merge(*parts[:3]).counts) == counts_by_loop()).all()
        assert (jax.jit(estimate)(parts[0]).counts == parts[0].counts).all()
        bad = by_block(x.at[151, 1].set(99.0).reshape(4, 100, -1), loss.reshape(4, 100))
        invalid = np.asarray(bad.status & int(px.Status.INVALID_ROWS) > 0)
        assert invalid.all(axis=1).tolist() == [False, True, False, False]
        with pytest.raises(ValueError, match="row 151 is not a configuration"):
            count_rows(SPACE, x.at[151, 1].set(99.0), loss, cutoffs, LEVELS, 0.9, GRID)


def test_a_table_of_any_engine():
    """A group-by of cells by `cell_starts`; catches another numbering of cells or levels."""
    starts, ascending = cell_starts(SPACE, GRID), np.sort(cutoffs_by_loop())
    used = ~np.isnan(LOSS)
    level = np.searchsorted(ascending, LOSS[used])
    table = {"parameter": [], "level": [], "cell": [], "count": []}
    for name, column in zip(SPACE.names, X[used].T, strict=True):
        of_domain = [np.searchsorted(s, column, side="right") for s in starts[name]]
        sizes = [len(s) + 1 for s in starts[name]]
        cell = of_domain[0]
        if name == "y":  # the cells of its two domains, then "inactive"
            second = sizes[0] + of_domain[1]
            cell = np.where(X[used, 2] == 0, cell, np.where(np.isnan(column), sum(sizes), second))
        pairs, n = np.unique(np.stack([level, cell]), axis=1, return_counts=True)
        table["parameter"] += [name] * len(n)
        table["level"] += pairs[0].tolist()
        table["cell"] += pairs[1].tolist()
        table["count"] += n.tolist()
    log = px.importance.Counts.from_table(SPACE, LEVELS, 0.9, **table, cutoffs=cutoffs_by_loop(), grid=GRID)
    assert (log.counts == counts_by_loop()).all()
    assert (log.cutoffs == cutoffs_by_loop()).all()
    i = table["parameter"].index("y")
    for change, message in (
        ({"count": [-1] * len(table["count"])}, "count must not be negative, nor 2.63 in total, got -1"),
        ({"count": np.full(len(table["count"]), 2**63, np.uint64)}, "count must not be .* 2.63 in total"),
        ({"count": [2**61] * len(table["count"])}, "count must not be .* 2.63 in total"),
        (
            {"cell": np.array(table["cell"]) + (np.array(table["parameter"]) == "x")},
            r"'x' has .* rows in its last cell, 12 .* always active",
        ),
        ({"cell": np.array(table["cell"]) + 100}, "cell: 'x' has 13 cells"),
        ({"parameter": ["z"] * len(table["count"])}, "the space has no 'z'"),
        ({"level": np.array(table["level"], float)}, "level must be one whole number"),
        (
            {name: column[:i] + column[i + 1 :] for name, column in table.items()},
            "'x' has .* rows by level, and 'y' has",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            px.importance.Counts.from_table(SPACE, LEVELS, 0.9, **table | change, grid=GRID)


def test_parts_that_do_not_belong_together():
    """Each difference has an error that names it."""
    cutoffs = cutoffs_by_loop()
    log = count_rows(SPACE, X, LOSS, cutoffs, LEVELS, 0.9, GRID)
    other = px.Space({**{name: SPACE[name] for name in ("k", "c", "y")}, "x": px.Float(1e-4, 1)})
    for part, name in (
        (count_rows(SPACE, X, LOSS, cutoffs, LEVELS, 0.9, px.Grid()), "grid"),
        (count_rows(SPACE, X, LOSS, cutoffs, [0.6, 0.1, 0.25], 0.9, GRID), "levels"),
        (count_rows(SPACE, X, LOSS, cutoffs, LEVELS, 0.95, GRID), "region"),
        (count_rows(SPACE, X, LOSS, cutoffs + 1, LEVELS, 0.9, GRID), "cutoffs"),
        (replace(log, cutoffs=None), "cutoffs"),
        (count_rows(other, X[:, [1, 2, 3, 0]], LOSS, cutoffs, LEVELS, 0.9, GRID), "spaces"),
        (replace(log, space=None, counts=log.counts[:, 1:]), "spaces"),
    ):
        with pytest.raises(ValueError, match=f"differ in {name}|different {name}"):
            log.merge(part)
    with pytest.raises(TypeError, match=r"others must be parzax\.importance\.Counts"):
        log.merge(ENCODED)
    with pytest.raises(ValueError, match="NaN"):
        count_rows(SPACE, X, LOSS, [*cutoffs[:-1], np.nan], LEVELS, 0.9, GRID)
    with pytest.raises(ValueError, match="cutoffs must ascend"):
        count_rows(SPACE, X, LOSS, cutoffs[::-1], LEVELS, 0.9, GRID)
    with pytest.raises(ValueError, match="encoded has groups"):
        count(ENCODED)
    with pytest.raises(ValueError, match="outside Int"):
        count_rows(SPACE, np.where(np.arange(4) == 1, 41.0, X), LOSS, cutoffs, LEVELS, 0.9, GRID)


def many(n_times):
    """The counts of a log that has each row n times."""
    log = count_rows(SPACE, X, LOSS, cutoffs_by_loop(), LEVELS, 0.9, GRID)
    return replace(log, counts=log.counts.astype(np.int64) * n_times)


@pytest.mark.parametrize("double", [False, True])
def test_more_rows_than_32_bits_hold(double):
    """3e9 rows of which no cell has 2^31; catches sums over cells that wrap."""
    log, large = many(1), many(8_000_000)
    assert large.counts[-1].max() < 2**31 < large.counts[-1, : log.layout.n_codes[0]].sum()
    with jax.enable_x64(double):
        one, other = estimate(log), estimate(large)
    np.testing.assert_allclose(other.n_region, one.n_region * 8e6, rtol=1e-6)
    np.testing.assert_array_equal(other.importance.argmax(axis=1), one.importance.argmax(axis=1))
    assert (other.importance.max(axis=1) > 0.2).all()


def test_sums_of_parts_never_wrap():
    """Counts that 32 bits do not hold: on the host in 64 bits, else an error."""
    large = many(2**31 // 400)
    on_device = replace(
        large, counts=jnp.asarray(large.counts, jnp.int32), cutoffs=jnp.asarray(large.cutoffs)
    )
    cutoffs = np.asarray(on_device.cutoffs)
    host = replace(many(2**40), cutoffs=cutoffs)
    for parts in ((host, on_device), (on_device, host)):
        summed = parts[0].merge(*parts[1:]).counts
        assert summed.dtype == np.int64
        assert (summed == host.counts + large.counts).all()
    wide = replace(on_device, counts=on_device.counts * 2)
    with pytest.raises(ValueError, match="32 bits do not hold"):
        wide.merge(*[wide] * 8)


def test_columns_of_fewer_bits():
    """float32 and float16 values are counted as their float64 values, also on a log axis."""
    space = px.Space({"x": px.Float(1e-4, 1, log=True)})
    starts = cell_starts(space)["x"][0]
    for dtype in (np.float32, np.float16):
        near = np.clip(starts.astype(dtype)[:, None] * (1 + np.arange(-3, 4) * np.finfo(dtype).eps), 1e-4, 1)
        x = near.astype(dtype).reshape(-1)
        x = x[(x >= 1e-4) & (x <= 1)]
        narrow, wide = (
            px.encode(space, one[:, None], np.arange(len(x), dtype=float), [0.1]).codes
            for one in (x, x.astype(np.float64))
        )
        np.testing.assert_array_equal(narrow, wide)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_device_arrays_of_fewer_bits(dtype):
    """They are counted as `px.encode` encodes them, as wider floats."""
    rng = np.random.default_rng(3)
    space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
    x, loss = jnp.asarray(rng.uniform(size=(50, 2)), dtype), jnp.asarray(rng.uniform(size=50), dtype)
    log = count(px.encode(space, x, loss, [0.2], 0.9))
    again = count_rows(space, x, loss, jnp.sort(loss)[jnp.array([9, 44])], [0.2], 0.9, px.Grid())
    np.testing.assert_array_equal(again.counts, log.counts)
    assert again.counts.sum() > 0


def test_cutoffs_on_a_device():
    """JAX cut-offs have the checks of NumPy's; traced ones only that of their shape."""
    x, loss, cutoffs = jnp.asarray(X), jnp.asarray(LOSS), jnp.asarray(cutoffs_by_loop())
    call = lambda cutoffs: count_rows(SPACE, x, loss, cutoffs, LEVELS, 0.9, GRID)  # noqa: E731
    for wrong, message in (
        (cutoffs.at[0].set(jnp.nan), "NaN"),
        (cutoffs[::-1], "ascend"),
        (cutoffs[:1], "shape"),
    ):
        with pytest.raises(ValueError, match=message):
            call(wrong)
    with pytest.raises(ValueError, match="shape"):
        jax.jit(call)(cutoffs[:2])
