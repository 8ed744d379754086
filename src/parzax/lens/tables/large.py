"""Logs beyond memory: Polars' streaming engine reads blocks of rows, which are encoded and counted."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax._checks import Direction
from parzax._progress import is_shown, progress_bar
from parzax.importance import Counts, Encoded, Grid, encode
from parzax.importance.levels import level_weights
from parzax.lens.logs.labels import encode_columns
from parzax.lens.tables.files import find_files
from parzax.lens.tables.formats import bare_name
from parzax.lens.tables.names import named_columns
from parzax.lens.tables.table import open_table
from parzax.space import Space
from parzax.status import Status

pl = _checks.optional("polars", "Counting large logs", "large")
# Rows of a block, which fits a cache; and rows that say what the columns are.
_BLOCK, _SAMPLE = 1 << 17, 1 << 17
# Column of the losses, beside those of the parameters.
_LOSS = "parzax: loss"


def count(
    frame: Any,
    space: Space,
    target: str,
    levels: Any,
    region: float = 1.0,
    *,
    directions: Direction | Sequence[Direction] = "minimize",
    grid: Grid = Grid(),
    cutoffs: Any = None,
    progress: bool | None = None,
) -> Counts:
    """Count the rows of a log that need not fit into memory; Polars' streaming engine reads it.

    One pass over the objective, which is sorted in memory (8 bytes per row), finds the exact cut-offs, and
    one pass over all columns counts the rows. With ``cutoffs`` there is no first pass, so parts of a log of
    any size can be counted in separate calls; `Counts.merge` adds them up.

    Args:
        frame: a Parquet file, a folder, a pattern such as ``"big/*.parquet"``, a list of these (a file
            that is named twice counts once), or a `polars.LazyFrame` (also a `polars.DataFrame`).
        space: the search space. Its parameters are columns of the same names, or with a tool's prefix
            (``params_x``). A missing value means inactive, or the choice None.
        target: column of the objective. Rows with a missing or infinite objective are left out, except
            infinity in the good direction.
        levels, region, grid: as in `parzax.encode`.
        directions: "minimize" or "maximize".
        cutoffs: (q + 1,) losses as in `parzax.encode`; None finds those of this log.
        progress: whether to show a bar on stderr; None shows one on a terminal and in a notebook.

    Returns:
        `parzax.importance.Counts`, equal to ``Counts.of(encoded)`` of all rows in memory. Repeated
        configurations count separately. With ``cutoffs`` the status is 0, as in `parzax.encode`.

    Raises:
        TypeError, ValueError: a missing column; an objective that is no number; a file that is
            damaged; a row with an objective that does not fit the space, with file, row and column; unfit
            ``cutoffs``; a space that `parzax.encode` does not take.
        ImportError: without polars (``pip install 'parzax[large]'``).
    """
    empty = encode(space, np.zeros((0, len(space))), np.zeros(0), levels, region, grid=grid)
    (direction,) = _checks.directions(directions, 1)
    parts, shown = _select(scan(frame), space, target, direction), is_shown(progress)
    ends, status = _find_cutoffs(parts, empty) if cutoffs is None else (cutoffs, np.zeros_like(empty.status))
    # All blocks have one shape: rows without a loss fill up the last one of a part.
    losses, values = np.full(_BLOCK, np.nan), np.full((_BLOCK, len(space)), np.nan, order="F")

    def count_block() -> Counts:
        return Counts.of(encode(space, values, losses, levels, region, grid=grid, cutoffs=ends))

    counts, done = count_block(), 0
    n_rows = sum(lazy.select(pl.len()).collect().item() for lazy in parts.values())
    with progress_bar(n_rows, "rows counted", shown) as update:
        for part, lazy in parts.items():
            with _checks.explain(f"{part!r} cannot be read as parquet", pl.exceptions.PolarsError):
                for i, block in enumerate(lazy.collect_batches(chunk_size=_BLOCK)):
                    n = block.height
                    losses[:n], losses[n:] = block[_LOSS], np.nan
                    with _checks.explain(f"{part!r}, after {i * _BLOCK} rows"):
                        columns = open_table(block).columns
                        values[:n] = encode_columns(space, columns, ~np.isnan(losses[:n]))
                        counts = counts.merge(count_block())
                    update(done := done + n)
    return replace(counts, status=status, space=space)


def _find_cutoffs(parts: dict[str, Any], empty: Encoded) -> tuple[np.ndarray, np.ndarray]:
    """Cut-offs of the levels and of the region, and the (q,) status of `parzax.Encoded`.

    ``empty`` has the settings, and no rows. All losses are sorted. Without any the cut-offs are -inf.
    """
    losses = [_collect(part, lazy.select(pl.col(_LOSS).drop_nulls())) for part, lazy in parts.items()]
    levels, ranked = (*empty.levels, empty.region), pl.concat(losses)[_LOSS].to_numpy(writable=True)
    if not (n := len(ranked)):
        return np.full(len(levels), -np.inf), empty.status
    ranked.sort()
    needed = level_weights(levels, np.float64(n), True, empty.grid.level_size).astype(np.int64)
    cutoffs = ranked[needed - 1]
    tied = np.searchsorted(ranked, cutoffs[:-1], "right") > needed[:-1]
    few = Status.NO_DATA if n < 2 else Status.ALL_EQUAL if ranked[0] == ranked[-1] else 0
    return cutoffs, np.where(tied, np.int32(Status.TIED_CUTOFF), np.int32(0)) | np.int32(few)


def scan(frame: Any) -> dict[str, Any]:
    """Name -> `polars.LazyFrame` of each Parquet file that ``frame`` names, or of the frame itself."""
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        return {"the frame": frame.lazy()}
    paths = [frame] if isinstance(frame, (str, Path)) else frame
    _checks.instance("frame", paths, Sequence, "a polars frame, a path, a pattern or a list of paths")
    files = [file.resolve() for path in paths for file in find_files(Path(path))]
    if not files:
        raise ValueError("frame must name at least one file, got an empty list.")
    return {str(file): pl.scan_parquet(file, glob=False) for file in files}


def sample(parts: dict[str, Any]) -> tuple[Any, Any]:
    """All parts as one frame, and some of its rows: the first of each part and the ends of each column."""
    log = pl.concat(parts.values(), how="diagonal_relaxed")
    heads = [_collect(part, lazy.head(max(1, _SAMPLE // len(parts)))) for part, lazy in parts.items()]
    rows = pl.concat(heads, how="diagonal_relaxed")
    numbers = pl.selectors.numeric().cast(pl.Float64).fill_nan(None)
    ends = pl.concat([log.select(numbers.min()), log.select(numbers.max())]).collect(engine="streaming")
    beyond = [pl.col(name) == end for name in ends.columns for end in {*ends[name]} - {None, *rows[name]}]
    others = log.filter(pl.any_horizontal(pl.lit(False), *beyond)).collect(engine="streaming")
    return log, pl.concat([rows, others], how="diagonal_relaxed")


def loss_of(target: str, direction: str) -> Any:
    """Polars expression of the losses; null where the objective is missing or the worst infinity."""
    loss = pl.col(target).cast(pl.Float64) * (-1 if direction == "maximize" else 1)
    return pl.when(loss < np.inf).then(loss).alias(_LOSS)


def _select(parts: dict[str, Any], space: Space, target: str, direction: str) -> dict[str, Any]:
    """The losses of all parts, and the values of all parameters by their names."""
    selected = {}
    for part, lazy in parts.items():
        kinds = _collect(part, lazy.head(0)).schema
        plain = {name: name for name, kind in kinds.items() if not kind.is_nested()}
        columns = {bare_name(name): name for name in reversed(plain)} | plain
        named_columns(f"{part!r}, numbers or labels", space.names, columns)
        named_columns(f"{part!r}, numbers", target, [name for name in plain if kinds[name].is_numeric()])
        values = (pl.col(columns[name]).alias(name) for name in space.names)
        selected[part] = lazy.select(loss_of(target, direction), *values)
    return selected


def _collect(part: str, lazy: Any) -> Any:
    """The rows of a part; an error in a damaged file names it."""
    with _checks.explain(f"{part!r} cannot be read as parquet", pl.exceptions.PolarsError):
        return lazy.collect(engine="streaming")
