"""A sample of the rows of Parquet files, which shows what their columns are."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from parzax import _checks
from parzax.lens.tables.parquet import ROW, Block, ParquetFiles, read_batches

# Number of row groups in a sample.
_GROUPS = 64


@dataclass(frozen=True)
class Sample:
    """First rows of some row groups, and all of them as a pyarrow table."""

    blocks: tuple[Block, ...]
    table: Any

    @classmethod
    def of(cls, files: ParquetFiles, n: int) -> "Sample":
        """A sample of n rows or fewer, half of them of the first row group.

        The table has the columns of all files. A column is null in rows of files without it. ValueError for
        types of a column that do not go together.
        """
        import pyarrow as pa

        schema = files.schemas[0]
        for path, other in zip(files.paths, files.schemas, strict=True):
            problem = f"{str(path)!r} differs from {str(files.paths[0])!r}; write all files with one schema"
            with _checks.explain(problem):
                schema = pa.unify_schemas([schema, other], promote_options="permissive")
        chosen = files.groups[:: max(1, len(files.groups) // _GROUPS)]
        rest = max(1, n // 2 // max(len(chosen) - 1, 1))
        blocks = []
        for group in chosen:
            wanted = n - rest * (len(chosen) - 1) if group is chosen[0] else rest
            if group.n:
                batch = next(read_batches(group, None, wanted)).slice(0, wanted)
                blocks.append(Block(group.path, group.first_row, batch))
        tables = [schema.empty_table(), *(pa.Table.from_batches([block.batch]) for block in blocks)]
        return cls(tuple(blocks), pa.concat_tables(tables, promote_options="permissive"))

    @contextmanager
    def explain(self) -> Iterator[None]:
        """Turn a ValueError about a row of the table into one with the file, and the row in the file."""
        try:
            yield
        except ValueError as error:
            if (row := ROW.search(str(error))) is None:
                raise
            ends = np.cumsum([block.batch.num_rows for block in self.blocks])
            number = min(int(np.searchsorted(ends, int(row[1]), "right")), len(ends) - 1)
            block = self.blocks[number]
            start = block.batch.num_rows - int(ends[number])
            with block._replace(first_row=block.first_row + start).explain():
                raise
