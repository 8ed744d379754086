"""CSV, TSV, Parquet, Feather and Arrow files, read by whichever of pyarrow, polars and pandas is there."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

SEPARATORS = {".csv": ",", ".tsv": "\t"}
COLUMNAR = (".parquet", ".pq", ".feather", ".arrow", ".ipc")
MAX_COLUMNS = 100_000
# A longer row is not a row of a log.
_MAX_ROW = 1 << 26
_NULLS = ["", "NaN", "nan", "NA", "N/A", "<NA>", "null", "NULL"]


def read_table(path: Path) -> Any:
    """A pyarrow, polars or pandas table.

    Raises:
        ValueError: for files that are no such table.
        ImportError: if none of the three libraries is installed.
    """
    suffix = path.suffix.lower()
    try:
        if suffix in SEPARATORS:
            return _read_text(path, SEPARATORS[suffix])
        return _read_columnar(path, suffix)
    except ImportError:
        raise
    except Exception as error:  # each library has its own errors for a damaged file
        if isinstance(error, ValueError) and str(error).startswith(repr(str(path))):
            raise
        message = (str(error) or type(error).__name__).rstrip(".")
        if "straddling" in message:
            message = f"a row is longer than {_MAX_ROW >> 20} MiB"
        raise ValueError(f"{str(path)!r} cannot be read as {suffix[1:]}: {message}.") from error


def _read_text(path: Path, separator: str) -> Any:
    with path.open("rb") as file:
        head = file.readline(1 << 24)
        sample = head[:8192] + file.read(8192)
    if b"\0" in sample:
        raise ValueError(f"{str(path)!r} is not a text file.")
    _check_width(path, head.count(separator.encode()) + 1)

    def with_pyarrow() -> Any:
        from pyarrow import csv

        # One block as far as possible: types are inferred from the first one.
        block = min(max(path.stat().st_size + 1, 1 << 20), _MAX_ROW)
        return csv.read_csv(
            path,
            read_options=csv.ReadOptions(block_size=block),
            parse_options=csv.ParseOptions(delimiter=separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(null_values=_NULLS, strings_can_be_null=True),
        )

    def with_polars() -> Any:
        import polars

        return polars.read_csv(path, separator=separator, null_values=_NULLS, infer_schema_length=None)

    def with_pandas() -> Any:
        import pandas

        return pandas.read_csv(path, sep=separator, na_values=_NULLS, keep_default_na=False)

    return _first_installed(path, with_pyarrow, with_polars, with_pandas)


def _read_columnar(path: Path, suffix: str) -> Any:
    parquet = suffix in (".parquet", ".pq")

    def with_pyarrow() -> Any:
        import pyarrow

        if parquet:
            from pyarrow import parquet as reader

            with reader.ParquetFile(path) as file:
                _check_width(path, file.metadata.num_columns)
                return file.read()
        with pyarrow.memory_map(str(path)) as source:
            try:
                return pyarrow.ipc.open_file(source).read_all()
            except pyarrow.ArrowInvalid:
                pass
        with pyarrow.memory_map(str(path)) as source:
            return pyarrow.ipc.open_stream(source).read_all()

    def with_polars() -> Any:
        import polars

        return polars.read_parquet(path) if parquet else polars.read_ipc(path)

    def with_pandas() -> Any:
        import pandas

        return pandas.read_parquet(path) if parquet else pandas.read_feather(path)

    return _first_installed(path, with_pyarrow, with_polars, with_pandas)


def _first_installed(path: Path, *readers: Callable[[], Any]) -> Any:
    for read in readers:
        try:
            return read()
        except ImportError:
            continue
    raise ImportError(
        f"reading {path.suffix} files needs pyarrow, polars or pandas; pip install 'parzax[dataframe]'."
    )


def _check_width(path: Path, n_columns: int) -> None:
    if n_columns > MAX_COLUMNS:
        raise ValueError(
            f"{str(path)!r} has {n_columns} columns, more than {MAX_COLUMNS}; keep those of the parameters."
        )
