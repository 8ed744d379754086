"""Logs beyond memory: Polars' streaming engine reads blocks of rows, which are encoded and counted."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax._checks import Direction
from parzax.importance import Counts, Grid, encode
from parzax.importance.encode import check_encodable
from parzax.importance.levels import checked_levels, level_weights
from parzax.lens._words import listed
from parzax.lens.logs.labels import encode_columns
from parzax.lens.run.progress import is_shown, progress_bar
from parzax.lens.tables.files import find_files
from parzax.lens.tables.formats import bare_name
from parzax.lens.tables.names import suggest
from parzax.lens.tables.table import open_table
from parzax.space import Categorical, Space
from parzax.status import Status

# Rows of a block, which fits a cache.
_BLOCK = 1 << 17
# Column of the losses, beside those of the parameters.
_LOSS = "parzax: loss"
_ROW = re.compile(r"\brow (\d+)")
_GRID = Grid()


def count(
    frame: Any,
    space: Space,
    target: str,
    levels: Any,
    region: float = 1.0,
    *,
    directions: Direction | Sequence[Direction] = "minimize",
    grid: Grid = _GRID,
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
        progress: whether to show a bar on stderr; None shows one on a terminal.

    Returns:
        `parzax.importance.Counts`, equal to ``Counts.of(encoded)`` of all rows in memory. Repeated
        configurations count separately. With ``cutoffs`` the status is 0, as in `parzax.encode`.

    Raises:
        TypeError, ValueError: a missing column; an objective that is no number; a file that is
            damaged; a row with an objective that does not fit the space, with file, row and column; unfit
            ``cutoffs``; a space that `parzax.encode` does not take.
        ImportError: without polars (``pip install 'parzax[large]'``).
    """
    check_encodable(space, grid)
    (direction,) = _checks.directions(directions, 1)
    target_levels, region = checked_levels(levels, region)
    pl, parts, shown = _polars(), scan(frame), is_shown(progress)
    numbers = pl.selectors.numeric().cast(pl.Float64).fill_null(np.nan)
    columns, loss = find_columns(parts, space, target), loss_of(target, direction)
    n, status = total(parts, pl.len()), np.zeros(len(target_levels), np.int32)

    def read(what: str, columns: dict[str, str]) -> Iterator[tuple[str, int, np.ndarray, Any]]:
        """Of each block of rows the part, the number of its first row, the losses and the other columns."""
        with progress_bar(n, what, shown) as update:
            done, values = 0, [pl.col(column).alias(name) for name, column in columns.items()]
            for part, lazy in parts.items():
                first, selected = 0, lazy.select(loss, *values).with_columns(numbers)
                with _readable(part):
                    for block in selected.collect_batches(chunk_size=_BLOCK):
                        yield part, first, block[_LOSS].to_numpy(), block[:, 1:]
                        first, done = first + block.height, done + block.height
                        update(done)

    if cutoffs is None:
        losses, end = np.empty(n), 0
        for _, _, block_losses, _ in read("rows ranked", {}):
            losses[end : (end := end + len(block_losses))] = block_losses
        losses.sort()
        ranked = losses[: np.searchsorted(losses, np.nan)]
        cutoffs, status = find_cutoffs(ranked, (*target_levels, region), grid.optuna_rounding)

    def count_block(losses: np.ndarray, values: np.ndarray) -> Counts:
        """Counts of a block, padded to one length for all blocks by rows without a loss."""
        if pad := _BLOCK - len(losses):
            losses = np.pad(losses, (0, pad), constant_values=np.nan)
            values = np.pad(values, ((0, pad), (0, 0)))
        return Counts.of(encode(space, values, losses, target_levels, region, grid=grid, cutoffs=cutoffs))

    counts = count_block(np.zeros(0), np.zeros((0, len(space))))
    for part, first, losses, block in read("rows counted", columns):
        try:
            counts = counts.merge(count_block(losses, _native_values(block, space, ~np.isnan(losses))))
        except ValueError as error:
            text = _ROW.sub(lambda row, first=first: f"row {int(row[1]) + first}", str(error), count=1)
            raise ValueError(f"{part!r}: {text}") from error
    return replace(counts, status=status, space=space)


def find_cutoffs(
    ranked: np.ndarray, levels: tuple[float, ...], optuna_rounding: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Cut-offs of (q + 1,) levels, the region's last, and the (q,) status of `parzax.Encoded`.

    ``ranked`` are the ascending losses of the usable rows. Without any the cut-offs are -inf.
    """
    if not (n := len(ranked)):
        return np.full(len(levels), -np.inf), np.full(len(levels) - 1, int(Status.NO_DATA), np.int32)
    needed = level_weights(levels, np.float64(n), True, optuna_rounding).astype(np.int64)
    cutoffs = ranked[needed - 1]
    tied = np.searchsorted(ranked, cutoffs[:-1], "right") > needed[:-1]
    few = Status.NO_DATA if n < 2 else Status.ALL_EQUAL if ranked[0] == ranked[-1] else 0
    return cutoffs, np.where(tied, np.int32(Status.TIED_CUTOFF), np.int32(0)) | np.int32(few)


def scan(frame: Any) -> dict[str, Any]:
    """Name -> `polars.LazyFrame` of each Parquet file that ``frame`` names, or of the frame itself."""
    pl = _polars()
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        return {"the frame": frame.lazy()}
    several: Any = [frame] if isinstance(frame, (str, Path)) else frame
    if not isinstance(several, Sequence) or not all(isinstance(path, (str, Path)) for path in several):
        raise TypeError(f"frame must be a polars frame, a path, a pattern or a list of paths, got {frame!r}.")
    files = dict.fromkeys(file.resolve() for path in several for file in find_files(Path(path)))
    if not files:
        raise ValueError("frame must name at least one file, got an empty list.")
    return {str(file): pl.scan_parquet(file, glob=False) for file in files}


def total(parts: dict[str, Any], number: Any) -> int:
    """Sum over all parts of a polars expression that is one number."""
    return sum(lazy.select(number).collect(engine="streaming").item() for lazy in parts.values())


def loss_of(target: str, direction: str) -> Any:
    """Polars expression of the loss of each row; NaN where the objective is missing or the worst infinity."""
    pl = _polars()
    loss = pl.col(target).cast(pl.Float64)
    loss = -loss if direction == "maximize" else loss
    return pl.when(loss < np.inf).then(loss).fill_null(np.nan).alias(_LOSS)


def find_columns(parts: dict[str, Any], space: Space, target: str) -> dict[str, str]:
    """Parameter -> its column; ValueError for a part that lacks one, or has a column of another kind."""
    columns: dict[str, str] = {}
    for part, lazy in parts.items():
        with _readable(part):
            kinds = lazy.collect_schema()
        bare = {bare_name(name): name for name in reversed(kinds.names())}
        columns = columns or {name: name if name in kinds else bare.get(name, name) for name in space.names}
        if absent := [name for name in (*columns.values(), target) if name not in kinds]:
            hint = suggest(absent, kinds.names(), "there are")
            raise ValueError(f"{part!r} has no column {listed(absent)}; {hint}")
        for name in (*columns.values(), target):
            if kinds[name].is_nested() or (name == target and not kinds[name].is_numeric()):
                plain = "numbers" if name == target else "numbers or labels"
                raise ValueError(f"{part!r}: column {name!r} is of type {kinds[name]}; write {plain}.")
    return columns


def _native_values(block: Any, space: Space, used: np.ndarray) -> np.ndarray:
    """(n, d) native values of the rows of a block, of which those ``used`` (n,) must fit the space."""
    has_choices = any(isinstance(domain, Categorical) for domains in space.domains for domain in domains)
    if not has_choices and all(kind.is_numeric() for kind in block.dtypes):
        return block.to_numpy()
    return encode_columns(space, open_table(block).columns, used)


def _readable(part: str) -> Any:
    """Errors of Polars in a damaged file become a ValueError that names it."""
    problem = f"{part!r} cannot be read as parquet; it is damaged, truncated or another kind of file"
    return _checks.explain(problem, (_polars().exceptions.PolarsError, OSError))


def _polars() -> Any:
    return _checks.optional("polars", "Counting large logs", "large")
