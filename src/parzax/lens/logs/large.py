"""Logs beyond memory: Polars' streaming engine reads the rows, which are counted in blocks."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax._checks import Direction
from parzax.importance import Counts, Grid
from parzax.importance.levels import checked_cutoffs, checked_levels
from parzax.lens._words import listed
from parzax.lens.logs.columns import Column
from parzax.lens.logs.counting import BlockCounter
from parzax.lens.logs.cutoffs import find_cutoffs
from parzax.lens.logs.labels import encode_columns
from parzax.lens.run.progress import is_shown, progress_bar
from parzax.lens.tables.files import find_files
from parzax.lens.tables.formats import bare_name
from parzax.lens.tables.table import suggest
from parzax.space import Categorical, Float, Int, Space

# Rows of a block, which fits a cache.
_BLOCK = 1 << 16
_ROW = re.compile(r"\brow (\d+)")


class UnfitRowError(ValueError):
    """A row of a large log that does not fit what is asked of it."""


def count(
    frame: Any,
    space: Space,
    target: str,
    levels: Any,
    region: float = 1.0,
    *,
    directions: Direction | Sequence[Direction] = "minimize",
    grid: Grid | None = None,
    cutoffs: Any = None,
    progress: bool | None = None,
) -> Counts:
    """Count the rows of a log that need not fit into memory; Polars' streaming engine reads it.

    Cut-offs are exact: passes over the objective find them, and one pass over all columns counts the rows.
    Parts of a log can be counted in separate calls with the same ``cutoffs``; `Counts.merge` adds them up.

    Args:
        frame: a Parquet file, a folder, a pattern such as ``"big/*.parquet"``, a list of these, or a
            `polars.LazyFrame` (also a `polars.DataFrame`).
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
        TypeError, ValueError: a missing column; an objective that is no number; a file that is damaged, or
            named twice; a row with an objective that does not fit the space, with file, row and column; unfit
            ``cutoffs``.
        ImportError: without polars (``pip install 'parzax[large]'``).
    """
    grid = Grid() if grid is None else grid
    _checks.instance("grid", grid, Grid, "a parzax.Grid")
    _checks.instance("space", space, Space, "a parzax.Space")
    _checks.instance("target", target, str, "a column name")
    (direction,) = _checks.directions(directions, 1)
    target_levels, region = checked_levels(levels, region)
    parts, shown = scan(frame), is_shown(progress)
    columns, labels = _find_columns(parts, space, target)
    n, status = count_rows_of(parts), np.zeros(len(target_levels), np.int32)

    def read(what: str, names: Sequence[str]) -> Iterator[tuple[str, int, Any]]:
        done = 0
        with progress_bar(n, what, shown) as update:
            for part, lazy in parts.items():
                for first, batch in _batches(part, lazy, target, direction, names, labels):
                    yield part, first, batch
                    done += batch.height
                    update(done)

    def fold(new_state: Callable[[], Any], add: Callable[[Any, np.ndarray], None]) -> list[Any]:
        state = new_state()
        for _, _, batch in read("rows ranked", ()):
            losses = batch["loss"].to_numpy()
            add(state, losses[~np.isnan(losses)])
        return [state]

    if cutoffs is None:
        cutoffs, _, status, _ = find_cutoffs(fold, [*target_levels, region], raw=grid.optuna_rounding)
        status = status[:-1]
    counter = BlockCounter(space, grid, cutoffs := checked_cutoffs(cutoffs, target_levels.tolist()))
    histogram = counter.zeros()
    for part, first, batch in read("rows counted", columns):
        losses = batch["loss"].to_numpy()
        try:
            values = _native_values(batch, space, columns, labels, ~np.isnan(losses))
            counter.add(histogram, values, losses)
        except ValueError as error:
            text = _ROW.sub(lambda row, first=first: f"row {int(row[1]) + first}", str(error), count=1)
            raise UnfitRowError(f"{part!r}: {text}") from error
    return replace(
        Counts.from_histogram(histogram, space, target_levels, region, grid, cutoffs), status=status
    )


def scan(frame: Any) -> dict[str, Any]:
    """Name -> `polars.LazyFrame` of each Parquet file that ``frame`` names, or of the frame itself."""
    pl = _checks.optional("polars", "Counting large logs", "large")
    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        return {"the frame": frame.lazy()}
    several: Any = [frame] if isinstance(frame, (str, Path)) else frame
    if not isinstance(several, Sequence) or not all(isinstance(path, (str, Path)) for path in several):
        raise TypeError(f"frame must be a polars frame, a path, a pattern or a list of paths, got {frame!r}.")
    files = [file for path in several for file in find_files(Path(path))]
    if not files:
        raise ValueError("frame must name at least one file, got an empty list.")
    real = [file.resolve() for file in files]
    if twice := [str(file) for i, file in enumerate(files) if real[i] in real[:i]]:
        raise ValueError(f"{twice[0]!r} is named twice, so its rows would count twice; name it once.")
    return {str(file): pl.scan_parquet(file, glob=False) for file in files}


def count_rows_of(parts: dict[str, Any], target: str | None = None, direction: str = "minimize") -> int:
    """Number of rows of all parts, or of those whose target is neither missing nor the worst infinity."""
    import polars as pl

    rows = pl.len()
    if target is not None:
        values = pl.col(target).cast(pl.Float64)
        rows = (values.is_not_nan() & (values != (np.inf if direction == "minimize" else -np.inf))).sum()
    total = 0
    for part, lazy in parts.items():
        with _readable(part):
            total += lazy.select(rows).collect(engine="streaming").item()
    return total


def widen(space: Space, parts: dict[str, Any]) -> Space:
    """The space with bounds of numbers that hold all rows."""
    import polars as pl

    domains: dict[str, Any] = {name: space[name][0] for name in space.names}
    columns, labels = _find_columns(parts, space, None)
    numeric = {name: c for name, c in zip(space.names, columns, strict=True) if c not in labels}
    values = [pl.col(column).cast(pl.Float64).fill_nan(None) for column in numeric.values()]
    ends = [f(x).alias(f"{i} {f.__name__}") for f in (pl.Expr.min, pl.Expr.max) for i, x in enumerate(values)]
    rows = [lazy.select(ends).collect(engine="streaming").row(0) for lazy in parts.values()]
    lows, highs = np.array(rows, float).reshape(len(rows), 2, len(numeric)).swapaxes(0, 1)
    for i, name in enumerate(numeric):
        domain = domains[name]
        low, high = np.nanmin([domain.low, *lows[:, i]]), np.nanmax([domain.high, *highs[:, i]])
        # A row with a fraction in a column of whole numbers is refused when it is counted.
        if isinstance(domain, Float | Int) and not (domain.has_integers and (low % 1 or high % 1)):
            kind = int if domain.has_integers else float
            domains[name] = replace(domain, low=kind(low), high=kind(high), log=domain.log and low > 0)
    return Space(domains)


def _find_columns(
    parts: dict[str, Any], space: Space, target: str | None
) -> tuple[tuple[str, ...], dict[str, list[str]]]:
    """The column of each parameter, and the different labels of columns that do not hold numbers alone."""
    import polars as pl

    columns, texts = (), set()
    for part, lazy in parts.items():
        with _readable(part):
            schema = lazy.collect_schema()
        names = schema.names()
        if not columns:
            bare = {name: [c for c in names if bare_name(c) == name] for name in space.names}
            columns = tuple(name if name in names else (*bare[name], name)[0] for name in space.names)
        if absent := [name for name in (*columns, target) if name is not None and name not in names]:
            raise ValueError(
                f"{part!r} has no column {listed(absent)}; {suggest(absent, names, 'there are')}"
            )
        for name in columns:
            kind = schema[name]
            if kind.is_nested() or kind.is_temporal() or kind == pl.Binary:
                problem = f"holds {kind}, neither numbers nor labels; write it as numbers or text"
                raise ValueError(f"{part!r}: column {name!r} {problem}.")
        if target is not None and not schema[target].is_numeric():
            problem = f"is of type {schema[target]}; write the objective as numbers"
            raise ValueError(f"{part!r}: column {target!r} {problem}.")
        texts |= {name for name in columns if not schema[name].is_numeric()}
    texts |= {c for c, ds in zip(columns, space.domains, strict=True) if isinstance(ds[0], Categorical)}
    labels = {}
    for name in sorted(texts):
        text = pl.concat([lazy.select(pl.col(name).cast(pl.String)) for lazy in parts.values()])
        unique = text.drop_nulls().unique().collect(engine="streaming")
        labels[name] = sorted(unique.to_series().to_list())
    return columns, labels


def _batches(
    part: str, lazy: Any, target: str, direction: str, columns: Sequence[str], labels: dict[str, list[str]]
) -> Iterator[tuple[int, Any]]:
    """The first row of each block of a part, and the block: losses, and numbers or codes of labels."""
    import polars as pl

    loss = pl.col(target).cast(pl.Float64)
    loss = -loss if direction == "maximize" else loss
    expressions = [pl.when(loss < np.inf).then(loss).fill_null(np.nan).alias("loss")]
    for i, column in enumerate(columns):
        value = pl.col(column)
        if column in labels:
            codes = range(len(labels[column]))
            text = value.cast(pl.String).replace_strict(labels[column], codes, default=-1)
            value = text.fill_null(-1)
        expressions.append(value.cast(pl.Float64).fill_null(np.nan).alias(f"column {i}"))
    first = 0
    with _readable(part):
        for batch in lazy.select(expressions).collect_batches(chunk_size=_BLOCK, engine="streaming"):
            yield first, batch
            first += batch.height


def _native_values(
    batch: Any, space: Space, names: Sequence[str], labels: dict[str, list[str]], used: np.ndarray
) -> list[np.ndarray]:
    """Native values of the parameters in a block, d arrays (n,)."""
    arrays = [batch[f"column {i}"].to_numpy() for i in range(len(names))]
    if not labels:
        return arrays
    rows, columns = np.arange(batch.height), {}
    for parameter, name, array in zip(space.names, names, arrays, strict=True):
        text = {"labels": tuple(labels[name]), "index": array.astype(int)} if name in labels else {}
        columns[parameter] = Column(name, rows, **(text or {"numbers": array}), filters=False)
    return [*encode_columns(space, columns, used, {})[0].T]


def _readable(name: str) -> Any:
    """Errors of Polars in a damaged file become a ValueError that names it."""
    from polars.exceptions import PolarsError

    problem = f"{name!r} cannot be read as parquet; it is damaged, truncated or another kind of file"
    return _checks.explain(problem, (PolarsError, OSError))
