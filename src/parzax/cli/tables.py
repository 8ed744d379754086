"""CSV, TSV, JSON lines, Parquet, Feather and Arrow files, by pyarrow, polars or pandas, whichever is there.

Of text also with semicolons and decimal commas, in UTF-16, and packed with gzip.
"""

import codecs
import gzip
import io
import re
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from parzax.observations.spelling import SURELY_COMMA

SEPARATORS = {".csv": ",", ".tsv": "\t"}
LINES = (".jsonl", ".ndjson")
PARQUET = (".parquet", ".pq")
COLUMNAR = (*PARQUET, ".feather", ".arrow", ".ipc")
MAX_COLUMNS = 100_000
# What a packed file may hold.
_MAX_UNPACKED = 1 << 31
# A longer row is not a row of a log.
_MAX_ROW = 1 << 26
_NULLS = ["", "NaN", "nan", "NA", "N/A", "<NA>", "null", "NULL"]


class Text(NamedTuple):
    """How the numbers of a table in text are written."""

    separator: str
    decimal: str


def kind_of(path: Path) -> str:
    """The ending that says what a file is: that before ``.gz``, if it is packed."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


def read_table(path: Path) -> Any:
    """A pyarrow, polars or pandas table; ValueError for a file that is none."""
    suffix, text = kind_of(path), None
    readers = {"pyarrow": _with_pyarrow, "polars": _with_polars, "pandas": _with_pandas}
    read = next((reader for library, reader in readers.items() if find_spec(library)), None)
    if read is None:
        raise ImportError(
            f"reading {suffix} files needs pyarrow, polars or pandas; pip install 'parzax[dataframe]'."
        )
    with path.open("rb") as packed, _unpacked(path, packed) as file:
        if suffix in SEPARATORS or suffix in LINES:
            head = file.readline(1 << 24)
            if b"\0" in head[:8192] + file.read(8192):
                raise ValueError(f"{str(path)!r} is not a text file.")
            file.seek(0)
        try:
            if suffix in SEPARATORS:
                text = _written(file, suffix)
                _check_width(file.readline(1 << 24).count(text.separator.encode()) + 1)
                file.seek(0)
            return read(file, suffix, text)
        except Exception as error:  # each library has its own errors for a damaged file
            if isinstance(error, ImportError) or str(error).startswith(repr(str(path))):
                raise
            message = (str(error) or type(error).__name__).rstrip(".")
            if "straddling" in message:
                message = f"a row is longer than {_MAX_ROW >> 20} MiB"
            raise ValueError(f"{str(path)!r} cannot be read as {suffix[1:]}: {message}.") from error


def _unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    """The file, unpacked and in UTF-8."""
    if path.suffix.lower() == ".gz":
        try:
            content = gzip.GzipFile(fileobj=file).read(_MAX_UNPACKED)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{str(path)!r} cannot be unpacked: {error}.") from error
        if len(content) == _MAX_UNPACKED:
            raise ValueError(f"{str(path)!r} holds more than {_MAX_UNPACKED >> 30} GiB; unpack it first.")
        file = io.BytesIO(content)
    start = file.read(2)
    file.seek(0)
    if start not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return file
    try:
        return io.BytesIO(file.read().decode("utf-16").encode())
    except UnicodeDecodeError as error:
        raise ValueError(f"{str(path)!r} begins as UTF-16 but is not: {error}.") from error


def _written(file: BinaryIO, suffix: str) -> Text:
    """From the first lines: what parts the names in the header, and commas in numbers that are no lists."""
    header, *lines = [file.readline(1 << 24).decode(errors="replace") for _ in range(50)]
    file.seek(0)
    names = re.sub(r'"[^"]*"', "", header)
    usual = SEPARATORS[suffix]
    separator = max((usual, ";", "\t", ","), key=lambda own: (names.count(own), own == usual))
    cells = [cell.strip(' "') for line in lines for cell in line.strip().split(separator)]
    points = any(re.fullmatch(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", cell) for cell in cells)
    comma = separator != "," and not points and any(SURELY_COMMA.fullmatch(cell) for cell in cells)
    return Text(separator, "," if comma else ".")


def _with_pyarrow(file: BinaryIO, suffix: str, text: Text | None) -> Any:
    import pyarrow

    # One block as far as possible: types are inferred from the first one.
    block = min(max(file.seek(0, io.SEEK_END) + 1, 1 << 20), _MAX_ROW)
    file.seek(0)
    if suffix in LINES:
        from pyarrow import json

        return json.read_json(file, read_options=json.ReadOptions(block_size=block))
    if text is not None:
        from pyarrow import csv

        return csv.read_csv(
            file,
            read_options=csv.ReadOptions(block_size=block),
            parse_options=csv.ParseOptions(delimiter=text.separator, newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                null_values=_NULLS, strings_can_be_null=True, decimal_point=text.decimal
            ),
        )
    if suffix in PARQUET:
        from pyarrow import parquet

        with parquet.ParquetFile(file) as columns:
            _check_width(columns.metadata.num_columns)
            return columns.read()
    try:
        return pyarrow.ipc.open_file(file).read_all()
    except pyarrow.ArrowInvalid:
        file.seek(0)
        return pyarrow.ipc.open_stream(file).read_all()


def _with_polars(file: BinaryIO, suffix: str, text: Text | None) -> Any:
    import polars

    if suffix in LINES:
        return polars.read_ndjson(file, infer_schema_length=None)
    if text is not None:
        how: Any = {"separator": text.separator, "decimal_comma": text.decimal == ","}
        return polars.read_csv(file, null_values=_NULLS, infer_schema_length=None, **how)
    return polars.read_parquet(file) if suffix in PARQUET else polars.read_ipc(file)


def _with_pandas(file: BinaryIO, suffix: str, text: Text | None) -> Any:
    import pandas

    if suffix in LINES:
        return pandas.read_json(file, lines=True, precise_float=True)
    if text is not None:
        # Before version 3.1 pandas rounds decimals roughly in the last place, unless it is asked not to.
        inexact = tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1)
        exact: Any = {"float_precision": "round_trip"} if inexact else {}
        how: Any = {"sep": text.separator, "decimal": text.decimal, **exact}
        return pandas.read_csv(file, na_values=_NULLS, keep_default_na=False, **how)
    return pandas.read_parquet(file) if suffix in PARQUET else pandas.read_feather(file)


def _check_width(n_columns: int) -> None:
    if n_columns > MAX_COLUMNS:
        raise ValueError(
            f"it has {n_columns} columns, more than {MAX_COLUMNS}; keep those of the parameters."
        )
