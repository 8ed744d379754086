"""Count the rows of Parquet files: exact cut-offs in passes over the losses, then one pass over the rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax.importance import Counts, Grid
from parzax.importance.levels import checked_cutoffs, checked_levels
from parzax.lens.logs.counting import BlockCounter
from parzax.lens.logs.cutoffs import Cutoffs, find_cutoffs
from parzax.lens.logs.labels import encode_columns
from parzax.lens.run.chunks import Chunks, digest
from parzax.lens.run.progress import is_shown, progress_bar
from parzax.lens.tables.columns import listed
from parzax.lens.tables.parquet import Block, ParquetFiles, RowGroup, is_number
from parzax.lens.tables.roles import bare_name, suggest
from parzax.space import Categorical, Float, Int, Space

# Rows of a part that is one file of a folder for resuming.
_PART = 1 << 23


def count_parquet(
    paths: Any,
    space: Space,
    target: str,
    levels: Any,
    region: float = 1.0,
    *,
    direction: str = "minimize",
    grid: Grid | None = None,
    cutoffs: Any = None,
    folder: str | Path | None = None,
    progress: bool | None = None,
) -> Counts:
    """Count the rows of a log in Parquet files, in memory that does not grow with the number of rows.

    Cut-offs are exact. The first pass, over the objective, brackets them. The second pass resolves losses
    near the cut-offs; the third counts rows. Row groups are read in a few threads. If ``cutoffs`` are given,
    only the third pass is made. The parts of a log can then be counted in separate calls, and `Counts.merge`
    adds up their counts.

    Args:
        paths: a file, a folder, a pattern such as ``"big/*.parquet"``, or a list of these.
        space: the search space. Its parameters are columns of the same names, or with a tool's prefix
            (``params_x``). A missing value means inactive, or the choice None.
        target: column of the objective. Rows with a missing or infinite objective are left out, except
            infinity in the good direction.
        levels, region, grid: as in `parzax.encode`.
        direction: "minimize" or "maximize".
        cutoffs: (q + 1,) losses as in `parzax.encode`. If the files are only a part of a log, pass the
            `parzax.Counts.cutoffs` of that log. None finds the cut-offs of the files.
        folder: where to keep the cut-offs and the counts of every 8 million rows or so. After a kill, the
            same call resumes and returns the same counts.
        progress: whether to show a bar on stderr; None shows one on a terminal.

    Returns:
        `parzax.Counts`, equal to ``count(encoded)`` of all rows in memory. Repeated configurations count
        separately. With ``cutoffs`` the status is 0, as in `parzax.encode`.

    Raises:
        TypeError, ValueError: a missing column or one whose type differs between files; an objective that is
            no number; a file that is damaged, or named twice; a row with an objective that does not fit the
            space, with file, row and column; unfit ``cutoffs``; a ``folder`` of other work.
        OSError: a part cannot be written into ``folder``; the parts before it are kept.
        ImportError: without pyarrow (``pip install 'parzax[dataframe]'``).
    """
    files, grid = ParquetFiles.open(paths), Grid() if grid is None else grid
    _checks.instance("grid", grid, Grid, "a parzax.Grid")
    target_levels, region = checked_levels(levels, region)
    log = ParquetLog.of(files, space, target, direction, grid)
    if cutoffs is not None:
        cutoffs = checked_cutoffs(cutoffs, target_levels.tolist())
    work = log.work(target_levels, region, cutoffs=None if cutoffs is None else cutoffs.tolist())
    chunks = None if folder is None else Chunks(folder, work)
    log = replace(log, chunks=chunks, shown=is_shown(progress))
    if cutoffs is None:
        sets = log.find_cutoffs([*target_levels, region])
    else:
        sets = Cutoffs(cutoffs, np.zeros(0), np.zeros(len(cutoffs), np.int32), 0)
    return log.count(sets, target_levels, region)


@dataclass(frozen=True)
class ParquetLog:
    """Files of a log, its space, and the columns: of each parameter, and of the objective."""

    files: ParquetFiles
    space: Space
    columns: tuple[str, ...]
    target: str
    direction: str
    grid: Grid
    chunks: Chunks | None = None
    shown: bool = False

    @classmethod
    def of(cls, files: ParquetFiles, space: Any, target: Any, direction: Any, grid: Grid) -> "ParquetLog":
        """Check the arguments, and find the column of each parameter."""
        _checks.instance("space", space, Space, "a parzax.Space")
        _checks.instance("target", target, str, "a column name")
        (direction,) = _checks.directions(direction, 1)
        names = files.schemas[0].names
        bare = {name: [c for c in names if bare_name(c) == name] for name in space.names if name not in names}
        if absent := [name for name, fitting in bare.items() if len(fitting) != 1]:
            hint = suggest(absent, names, "there are")
            raise ValueError(f"{str(files.paths[0])!r} has no column {listed(absent)}; {hint}")
        columns = tuple(name if name in names else bare[name][0] for name in space.names)
        files.check_columns([*columns, target])
        if not is_number(of_type := files.schemas[0].field(target).type):
            problem = f"column {target!r} is of type {of_type}; write the objective as numbers"
            raise ValueError(f"{str(files.paths[0])!r}: {problem}.")
        return cls(files, space, columns, target, direction, grid)

    def widened(self) -> "ParquetLog":
        """The log with bounds of numbers that hold all rows."""
        domains: dict[str, Any] = {name: self.space[name][0] for name in self.space.names}
        column_of = dict(zip(self.space.names, self.columns, strict=True))
        names = [name for name, domain in domains.items() if isinstance(domain, (Float, Int))]
        ends = self.files.extremes([column_of[name] for name in names], self.shown)
        for name in names:
            domain, (low, high) = domains[name], ends[column_of[name]]
            low, high = min(domain.low, low), max(domain.high, high)
            # A row with a fraction in a column of whole numbers is refused when it is counted.
            if not domain.has_integers or (low == int(low) and high == int(high)):
                domains[name] = replace(domain, low=low, high=high, log=domain.log and low > 0)
        return replace(self, space=Space(domains))

    def work(self, levels: np.ndarray, region: float, **settings: Any) -> dict[str, str | int]:
        """What determines the counts, for `parzax.lens.run.chunks.Chunks`."""
        states = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in self.files.paths]
        settings = {"levels": levels.tolist(), "region": region, "grid": self.grid, "part": _PART, **settings}
        return {
            "files": digest(states),
            "space": digest(self.space.to_json(), self.columns),
            "target": self.target,
            "direction": self.direction,
            **{name: str(setting) for name, setting in settings.items()},
        }

    def find_cutoffs(self, levels: Sequence[float]) -> Cutoffs:
        """The cut-offs of (m,) levels; chunk 0 keeps them."""
        if self.chunks is not None and (stored := self.chunks.get(0)) is not None:
            return Cutoffs(stored["values"], stored["sizes"], stored["status"], int(stored["n"]))

        def fold(new_state: Any, add: Any) -> list[Any]:
            def add_block(state: Any, block: Block) -> None:
                losses = self._losses(block)
                add(state, losses[~np.isnan(losses)])

            with progress_bar(self.files.n, "rows ranked", self.shown, rate=True) as update:
                return self.files.fold(self.files.groups, [self.target], new_state, add_block, update)

        cutoffs = find_cutoffs(fold, levels, raw=self.grid.optuna_rounding)
        if self.chunks is not None:
            self.chunks.put(0, cutoffs._asdict())
        return cutoffs

    def count(self, cutoffs: Cutoffs, levels: np.ndarray, region: float) -> Counts:
        """The counts of all rows, for the cut-offs of (q,) levels and the region's."""
        counter, columns = BlockCounter(self.space, self.grid, cutoffs.values), [*self.columns, self.target]

        def add(histogram: np.ndarray, block: Block) -> None:
            losses = self._losses(block)
            with block.explain():
                counter.add(histogram, self._values(block, ~np.isnan(losses)), losses)

        histogram, done, missing = counter.zeros(), 0, []
        for number, groups in enumerate(_parts(self.files, _PART if self.chunks else self.files.n), start=1):
            if self.chunks is not None and (stored := self.chunks.get(number)) is not None:
                histogram += stored["counts"]
                done += sum(group.n for group in groups)
            else:
                missing.append((number, groups))
        with progress_bar(self.files.n, "rows counted", self.shown, first=done, rate=True) as update:
            for number, groups in missing:
                advance = partial(lambda before, rows: update(before + rows), done)
                counts = np.sum(self.files.fold(groups, columns, counter.zeros, add, advance), axis=0)
                if self.chunks is not None:
                    self.chunks.put(number, {"counts": counts})
                histogram += counts
                done += sum(group.n for group in groups)
        counts = Counts.from_histogram(histogram, self.space, levels, region, self.grid, cutoffs.values)
        return replace(counts, status=cutoffs.status[:-1])

    def _losses(self, block: Block) -> np.ndarray:
        """(n,) losses, lower is better; NaN in rows that are left out."""
        losses = np.asarray(block.numbers(self.target), np.float64)
        losses = -losses if self.direction == "maximize" else losses
        return losses if losses.max(initial=0) < np.inf else np.where(losses < np.inf, losses, np.nan)

    def _values(self, block: Block, used: np.ndarray) -> list[np.ndarray]:
        """Native values of the parameters, d arrays (n,)."""
        numbers = [block.numbers(name) for name in self.columns]
        any_labels = any(isinstance(domains[0], Categorical) for domains in self.space.domains)
        if any_labels or any(column is None for column in numbers):
            columns = dict(zip(self.space.names, map(block.column, self.columns), strict=True))
            return [*encode_columns(self.space, columns, used, {})[0].T]
        return [column for column in numbers if column is not None]


def _parts(files: ParquetFiles, n: int) -> list[list[RowGroup]]:
    """Row groups one after the other, in parts of about n rows."""
    starts = np.cumsum([0, *(group.n for group in files.groups)])[:-1]
    pairs = groupby(zip(starts // max(n, 1), files.groups, strict=True), key=itemgetter(0))
    return [[group for _, group in part] for _, part in pairs]
