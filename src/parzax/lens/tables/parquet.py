"""Parquet files of one schema, read block by block in a few threads, in memory that they do not determine."""

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from parzax import _checks
from parzax.lens.run.progress import progress_bar
from parzax.lens.tables.columns import Column, check_unique, listed
from parzax.lens.tables.files import find_files
from parzax.lens.tables.roles import suggest

# Rows that a thread decodes at once; and the largest number of threads.
_BLOCK, _MOST_THREADS = 1 << 16, 8
# Seconds between two reports of the progress.
_TICK = 0.2
# The number of a row in an error message.
ROW = re.compile(r"\brow (\d+)")


class RowGroup(NamedTuple):
    """A row group: its file, its number there, the number of its first row in the file, its rows."""

    path: Path
    footer: Any  # of the file; kept, because reading it for each of many row groups takes long
    number: int
    first_row: int
    n: int


class UnfitRowError(ValueError):
    """A row of a file that does not fit what is asked of it."""


class Block(NamedTuple):
    """Rows of a row group: a pyarrow record batch, and where it begins."""

    path: Path
    first_row: int
    batch: Any

    def numbers(self, name: str) -> np.ndarray | None:
        """A column of numbers, NaN where missing, in its type; None for other columns."""
        import pyarrow as pa

        array = self.batch.column(name)
        array = array.cast(pa.float64()) if pa.types.is_decimal(array.type) else array
        return array.to_numpy(zero_copy_only=False) if is_number(array.type) else None

    @contextmanager
    def explain(self) -> Iterator[None]:
        """Turn a ValueError about a row of the block into one with the file, and the row in the file."""
        try:
            yield
        except ValueError as error:
            text = ROW.sub(lambda row: f"row {int(row[1]) + self.first_row}", str(error), count=1)
            raise UnfitRowError(f"{str(self.path)!r}: {text}") from error

    def column(self, name: str) -> Column:
        """A column of numbers or labels."""
        numbers, rows = self.numbers(name), np.arange(self.batch.num_rows)
        if numbers is not None:
            integers = numbers.dtype.kind in "iu"
            return Column(name, rows, numbers=np.asarray(numbers, np.float64), integers=integers)
        array = self.batch.column(name)
        array = array if hasattr(array, "dictionary") else array.dictionary_encode()
        index = array.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
        return Column(name, rows, labels=tuple(array.dictionary.to_pylist()), index=index, filters=False)


@dataclass(frozen=True)
class ParquetFiles:
    """The row groups of some Parquet files, whose columns in use have the same types in all files."""

    paths: tuple[Path, ...]
    footers: tuple[Any, ...]
    schemas: tuple[Any, ...]
    groups: tuple[RowGroup, ...]

    @classmethod
    def open(cls, paths: str | Path | Sequence[str | Path]) -> "ParquetFiles":
        """Read the footers of all files; ``paths`` is a file, a folder, a pattern, or several of them.

        ValueError for a file that is missing, named twice, truncated or no Parquet file.
        """
        one = not isinstance(paths, Sequence) or isinstance(paths, str)
        several: Any = [paths] if one else paths
        files: list[Path] = []
        for path in several:
            _checks.instance("paths", path, (str, os.PathLike), "a path, a pattern or a list of them")
            files += find_files(Path(path))
        if not files:
            raise ValueError("paths must name at least one file, got an empty list.")
        real = [file.resolve() for file in files]
        if twice := [str(file) for i, file in enumerate(files) if real[i] in real[:i]]:
            raise ValueError(f"{twice[0]!r} is named twice, so its rows would count twice; name it once.")
        footers, schemas, groups = [], [], []
        for file in files:
            with _open(file) as parquet:
                footers.append(footer := parquet.metadata)
                schemas.append(parquet.schema_arrow)
            with _checks.explain(repr(str(file))):
                check_unique(schemas[-1].names)
            first_row = 0
            for number in range(footer.num_row_groups):
                n = footer.row_group(number).num_rows
                groups.append(RowGroup(file, footer, number, first_row, n))
                first_row += n
        return cls(tuple(files), tuple(footers), tuple(schemas), tuple(groups))

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(group.n for group in self.groups)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise ValueError for a column that a file lacks, or has in another type than the first file.

        Also for a column that holds neither numbers nor labels.
        """
        for file, schema in zip(self.paths, self.schemas, strict=True):
            if absent := [name for name in names if name not in schema.names]:
                hint = suggest(absent, schema.names, "there are")
                raise ValueError(f"{str(file)!r} has no column {listed(absent)}; {hint}")
            for name in names:
                types = schema.field(name).type, self.schemas[0].field(name).type
                if types[0] != types[1]:
                    of_types = f"is of type {types[0]}, and in {str(self.paths[0])!r} it is {types[1]}"
                    problem = f"column {name!r} {of_types}; write all files with one schema"
                    raise ValueError(f"{str(file)!r}: {problem}.")
                if _is_unreadable(types[0]):
                    problem = f"holds {types[0]}, neither numbers nor labels; write it as numbers or text"
                    raise ValueError(f"{str(file)!r}: column {name!r} {problem}.")

    def extremes(self, names: Sequence[str], shown: bool = False) -> dict[str, tuple[float, float]]:
        """Smallest and largest number of each column; (inf, -inf) for a column without any.

        They are in the footers. Columns for which a footer has no finite ones are read. ValueError for an
        infinite number, with its row.
        """
        ends = {name: pair for name in names if (pair := self._stated_extremes(name))}
        unstated = [name for name in names if name not in ends]

        def add(pairs: np.ndarray, block: Block) -> None:
            for pair, name in zip(pairs, unstated, strict=True):
                with block.explain():
                    column = block.column(name)
                    values = column.as_numbers()
                    if (infinite := np.isinf(values)).any():
                        where = f"{column.where(infinite.argmax())} is {values[infinite][0]}"
                        raise ValueError(f"{where}; leave out such rows, or the column.")
                pair[:] = np.fmin.reduce(values, initial=pair[0]), np.fmax.reduce(values, initial=pair[1])

        if unstated:
            nothing = np.array([[np.inf, -np.inf]] * len(unstated))
            with progress_bar(self.n, "rows searched for bounds", shown) as update:
                states = np.array(self.fold(self.groups, unstated, nothing.copy, add, update))
            lows, highs = states[:, :, 0].min(axis=0), states[:, :, 1].max(axis=0)
            ends |= zip(unstated, zip(lows.tolist(), highs.tolist(), strict=True), strict=True)
        return ends

    def _stated_extremes(self, name: str) -> tuple[float, float] | None:
        """Smallest and largest number of a column by the footers; None unless all state finite ones."""
        low, high = np.inf, -np.inf
        for footer, schema in zip(self.footers, self.schemas, strict=True):
            if not is_number(schema.field(name).type):
                return None
            # A footer numbers the leaves of nested columns too, whose paths are longer than their names.
            leaves = map(footer.schema.column, range(footer.num_columns))
            column = next(i for i, leaf in enumerate(leaves) if leaf.path == leaf.name == name)
            for number in range(footer.num_row_groups):
                chunk = footer.row_group(number).column(column)
                statistics = chunk.statistics
                if statistics is not None and statistics.null_count == chunk.num_values:
                    continue
                if statistics is None or not statistics.has_min_max:
                    return None
                low, high = min(low, float(statistics.min)), max(high, float(statistics.max))
        return None if np.isinf([low, high]).any() else (low, high)

    def fold(
        self,
        groups: Sequence[RowGroup],
        columns: Sequence[str],
        new_state: Callable[[], Any],
        add: Callable[[Any, Block], None],
        update: Callable[[int], None],
    ) -> list[Any]:
        """Call ``add(state, block)`` for all blocks of some row groups; return the states, one per thread.

        A thread takes one row group after another. ``update`` is told the number of rows done. ValueError if
        the files have other numbers of rows than their footers say.
        """
        n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        n_threads = max(1, min(len(groups), n_cores, _MOST_THREADS))
        states, finished, lock = deque(new_state() for _ in range(n_threads)), 0, Lock()
        n, shown_at = sum(group.n for group in groups), time.monotonic()

        def work(group: RowGroup) -> None:
            nonlocal finished, shown_at
            state, first = states.popleft(), group.first_row
            try:
                for batch in read_batches(group, columns, _BLOCK, threads=n_threads < n_cores):
                    add(state, Block(group.path, first, batch))
                    first += batch.num_rows
                    with lock:
                        finished += batch.num_rows
                        if finished == n or time.monotonic() >= shown_at + _TICK:
                            shown_at = time.monotonic()
                            update(finished)
            finally:
                states.append(state)

        with ThreadPoolExecutor(n_threads) as pool:
            # After an error, `map` cancels the row groups that no thread has begun.
            list(pool.map(work, groups))
        if finished != n:
            problem = f"{finished} rows were read, and by the footers there are {n}; write the files again"
            raise ValueError(f"{str(groups[0].path)!r} and the files after it: {problem}.")
        return list(states)


def is_number(of_type: Any) -> bool:
    """Whether a pyarrow type is one of numbers."""
    import pyarrow as pa

    return pa.types.is_floating(of_type) or pa.types.is_integer(of_type) or pa.types.is_decimal(of_type)


def _is_unreadable(of_type: Any) -> bool:
    """Whether a pyarrow type is neither one of numbers nor one of labels."""
    import pyarrow as pa

    kinds = pa.types.is_nested, pa.types.is_temporal, pa.types.is_binary, pa.types.is_large_binary
    return any(is_kind(of_type) for is_kind in kinds)


def read_batches(
    group: RowGroup, columns: Sequence[str] | None, size: int, threads: bool = False
) -> Iterator[Any]:
    """Record batches of a row group, of ``size`` rows or fewer; None reads all columns."""
    with _open(group.path, group.footer) as parquet, _readable(group.path):
        names = None if columns is None else list(columns)
        yield from parquet.iter_batches(size, row_groups=[group.number], columns=names, use_threads=threads)


def _open(path: Path, footer: Any = None) -> Any:
    parquet = _checks.optional("pyarrow.parquet", "Reading Parquet files", "dataframe")
    with _readable(path):
        return parquet.ParquetFile(path, metadata=footer, pre_buffer=False)


def _readable(path: Path) -> Any:
    """Errors of pyarrow in a damaged file become a ValueError that names it."""
    problem = f"{str(path)!r} cannot be read as parquet; it is damaged, truncated or another kind of file"
    return _checks.explain(problem, (OSError, ValueError, RuntimeError))
