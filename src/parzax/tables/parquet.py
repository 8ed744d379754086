"""Parquet files of one schema, read block by block in a few threads, in memory that they do not determine."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from parzax import _checks
from parzax.tables.columns import Column, listed
from parzax.tables.files import find_files
from parzax.tables.roles import suggest

# Rows that a thread decodes at once; and the largest number of threads.
_BLOCK, _MOST_THREADS = 1 << 16, 8
# Seconds between two looks at the progress.
_TICK = 0.2


class RowGroup(NamedTuple):
    """A row group: its file, its number there, the number of its first row in the file, its rows."""

    path: Path
    number: int
    first_row: int
    n: int


class Block(NamedTuple):
    """Rows of a row group: a pyarrow record batch, and where it begins."""

    path: Path
    first_row: int
    batch: Any

    def numbers(self, name: str) -> np.ndarray | None:
        """A column of numbers, NaN where missing, in its type; None for other columns."""
        import pyarrow as pa

        array = self.batch.column(name)
        is_number = pa.types.is_floating(array.type) or pa.types.is_integer(array.type)
        return array.to_numpy(zero_copy_only=False) if is_number else None

    def column(self, name: str) -> Column:
        """A column of numbers or labels, for errors with the number of each row in the file."""
        numbers, rows = self.numbers(name), self.first_row + np.arange(self.batch.num_rows)
        if numbers is not None:
            integers = numbers.dtype.kind in "iu"
            return Column(name, rows, numbers=np.asarray(numbers, np.float64), integers=integers)
        array = self.batch.column(name)
        array = array if hasattr(array, "dictionary") else array.dictionary_encode()
        index = array.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.intp)
        return Column(name, rows, labels=tuple(array.dictionary.to_pylist()), index=index)


@dataclass(frozen=True)
class ParquetFiles:
    """The row groups of some Parquet files, whose columns in use have the same types in all files."""

    paths: tuple[Path, ...]
    schema: Any
    groups: tuple[RowGroup, ...]

    @classmethod
    def open(cls, path: str | Path | Sequence[str | Path]) -> "ParquetFiles":
        """Read the ends of all files; ``path`` is a file, a folder, a pattern, or several of them.

        ValueError for a file that is missing, truncated or no Parquet file.
        """
        paths = [path] if isinstance(path, (str, Path)) else list(path)
        files = tuple(file for one in paths for file in find_files(Path(one)))
        groups, schema = [], None
        for file in files:
            with _open(file) as parquet:
                first_row, schema = 0, parquet.schema_arrow if schema is None else schema
                for number in range(parquet.num_row_groups):
                    n = parquet.metadata.row_group(number).num_rows
                    groups.append(RowGroup(file, number, first_row, n))
                    first_row += n
        return cls(files, schema, tuple(groups))

    @property
    def n(self) -> int:
        """Number of rows."""
        return sum(group.n for group in self.groups)

    def check_columns(self, names: Sequence[str]) -> None:
        """Raise ValueError for a column that a file lacks, or has in another type than the first file."""
        for file in self.paths:
            with _open(file) as parquet:
                schema = parquet.schema_arrow
            if absent := [name for name in names if name not in schema.names]:
                hint = suggest(absent, schema.names, "there are")
                raise ValueError(f"{str(file)!r} has no column {listed(absent)}; {hint}")
            for name in names:
                types = schema.field(name).type, self.schema.field(name).type
                if types[0] != types[1]:
                    of_types = f"is of type {types[0]}, and in {str(self.paths[0])!r} it is {types[1]}"
                    problem = f"column {name!r} {of_types}; write all files with one schema"
                    raise ValueError(f"{str(file)!r}: {problem}.")

    def extremes(self, name: str) -> tuple[float, float] | None:
        """Smallest and largest value of a column, by the statistics of the files; None if one has none."""
        ends: list[tuple[float, float]] = []
        for file in self.paths:
            with _open(file) as parquet:
                column = parquet.schema_arrow.names.index(name)
                for number in range(parquet.num_row_groups):
                    chunk = parquet.metadata.row_group(number).column(column)
                    statistics = chunk.statistics
                    if statistics is None or not statistics.has_min_max:
                        if statistics is not None and statistics.null_count == chunk.num_values:
                            continue
                        return None
                    ends.append((float(statistics.min), float(statistics.max)))
        lows, highs = zip(*ends, strict=True) if ends else ((), ())
        return (min(lows), max(highs)) if ends else None

    def head(self, n: int) -> Any:
        """A pyarrow table of n rows or fewer: first rows of row groups, half of them of the first one."""
        import pyarrow as pa

        chosen = self.groups[:: max(1, len(self.groups) // 64)]
        rest = max(1, n // 2 // max(len(chosen) - 1, 1))
        batches = []
        for group in chosen:
            wanted = n - rest * (len(chosen) - 1) if group is chosen[0] else rest
            batches += [next(_batches(group, None, wanted)).slice(0, wanted)] if group.n else []
        return pa.Table.from_batches(batches)

    def fold(
        self,
        groups: Sequence[RowGroup],
        columns: Sequence[str],
        new_state: Callable[[], Any],
        add: Callable[[Any, Block], None],
        update: Callable[[int], None],
    ) -> list[Any]:
        """Call ``add(state, block)`` for all blocks of some row groups; return the states, one per thread.

        A thread takes one row group after another. ``update`` is told the number of rows done.
        """
        n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        n_threads = max(1, min(len(groups), n_cores, _MOST_THREADS))
        waiting, done = deque(groups), deque()

        def work() -> Any:
            state = new_state()
            while waiting:
                with suppress(IndexError):  # another thread has taken the last row group
                    group = waiting.popleft()
                    first = group.first_row
                    for batch in _batches(group, columns, _BLOCK, threads=n_threads < n_cores):
                        add(state, Block(group.path, first, batch))
                        first += batch.num_rows
                        done.append(batch.num_rows)
            return state

        with ThreadPoolExecutor(n_threads) as pool:
            try:
                futures = [pool.submit(work) for _ in range(n_threads)]
                running, finished = set(futures), 0
                while running:
                    over, running = wait(running, _TICK, FIRST_EXCEPTION)
                    finished += sum(done.popleft() for _ in range(len(done)))
                    update(finished)
                    for future in over:
                        future.result()
            finally:
                waiting.clear()  # after an error the other threads end with their row group
        return [future.result() for future in futures]


def _batches(
    group: RowGroup, columns: Sequence[str] | None, size: int, threads: bool = False
) -> Iterator[Any]:
    with _open(group.path) as parquet, _readable(group.path):
        names = None if columns is None else list(columns)
        yield from parquet.iter_batches(size, row_groups=[group.number], columns=names, use_threads=threads)


def _open(path: Path) -> Any:
    parquet = _checks.optional("pyarrow.parquet", "Reading Parquet files", "dataframe")
    with _readable(path):
        return parquet.ParquetFile(path, pre_buffer=False)


def _readable(path: Path) -> Any:
    """Errors of pyarrow in a damaged file become a ValueError that names it."""
    problem = f"{str(path)!r} cannot be read as parquet; it is damaged, truncated or another kind of file"
    return _checks.explain(problem, (OSError, ValueError, RuntimeError))
