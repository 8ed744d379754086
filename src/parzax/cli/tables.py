"""CSV, TSV, JSON lines, Parquet, Feather and Arrow files, by pyarrow, polars or pandas, whichever is there.

Text may have semicolons and decimal commas, be in UTF-16, and be packed with gzip.
"""

import codecs
import gzip
import io
import re
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO

from parzax import _checks
from parzax.observations.spelling import SURELY_COMMA

# Formats by the ending of a file, before ``.gz`` if it is packed.
FORMATS = {
    ".csv": "csv", ".tsv": "csv", ".jsonl": "ndjson", ".ndjson": "ndjson", ".parquet": "parquet",
    ".pq": "parquet", ".feather": "ipc", ".arrow": "ipc", ".ipc": "ipc",
}  # fmt: skip
MAX_COLUMNS = 100_000
# The most that a packed file may hold.
_MAX_UNPACKED = 1 << 31
# A longer row is not a row of a log.
_MAX_ROW = 1 << 26
_NULLS = ["", "NaN", "nan", "NA", "N/A", "<NA>", "null", "NULL"]


def kind_of(path: Path) -> str:
    """The ending that says what a file is: that before ``.gz``, if it is packed."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix == ".gz" else suffix


def read_table(path: Path) -> Any:
    """A pyarrow, polars or pandas table; ValueError for a file that is not one."""
    suffix = kind_of(path)
    readers = {"pyarrow": _with_pyarrow, "polars": _with_polars, "pandas": _with_pandas}
    read = next((reader for library, reader in readers.items() if find_spec(library)), None)
    if read is None:
        remedy = "pip install 'parzax[dataframe]'"
        raise ImportError(f"reading {suffix} files needs pyarrow, polars or pandas; {remedy}.")
    with path.open("rb") as packed, _unpacked(path, packed) as file:
        form = FORMATS[suffix]
        if form in ("csv", "ndjson"):
            head = file.readline(1 << 24)
            if b"\0" in head[:8192] + file.read(8192):
                raise ValueError(f"{str(path)!r} is not a text file.")
            file.seek(0)
        try:
            return read(file, form, *(_separator_and_point(file, suffix) if form == "csv" else ("", "")))
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
        with _checks.explain(f"{str(path)!r} cannot be unpacked", (OSError, EOFError, zlib.error)):
            content = gzip.GzipFile(fileobj=file).read(_MAX_UNPACKED)
        if len(content) == _MAX_UNPACKED:
            raise ValueError(f"{str(path)!r} holds more than {_MAX_UNPACKED >> 30} GiB; unpack it first.")
        file = io.BytesIO(content)
    start = file.read(2)
    file.seek(0)
    if start not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return file
    with _checks.explain(f"{str(path)!r} begins as UTF-16 but is not", UnicodeDecodeError):
        return io.BytesIO(file.read().decode("utf-16").encode())


def _separator_and_point(file: BinaryIO, suffix: str) -> tuple[str, str]:
    """The separator of a header's names, and the decimal point of the numbers in the first lines."""
    header, *lines = [file.readline(1 << 24).decode(errors="replace") for _ in range(50)]
    file.seek(0)
    names = re.sub(r'"[^"]*"', "", header)
    usual = "\t" if suffix == ".tsv" else ","
    separator = max((usual, ";", "\t", ","), key=lambda sign: (names.count(sign), sign == usual))
    _check_width(header.count(separator) + 1)
    cells = [cell.strip(' "') for line in lines for cell in line.strip().split(separator)]
    points = any(re.fullmatch(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", cell) for cell in cells)
    comma = separator != "," and not points and any(SURELY_COMMA.fullmatch(cell) for cell in cells)
    return separator, "," if comma else "."


def _with_pyarrow(file: BinaryIO, form: str, separator: str, point: str) -> Any:
    from pyarrow import ArrowInvalid, csv, ipc, json

    # One block as far as possible: types are inferred from the first one.
    block = min(max(file.seek(0, io.SEEK_END) + 1, 1 << 20), _MAX_ROW)
    file.seek(0)
    if form == "ndjson":
        return json.read_json(file, read_options=json.ReadOptions(block_size=block))
    if form == "csv":
        reading = csv.ReadOptions(block_size=block)
        parsing = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
        converting = csv.ConvertOptions(null_values=_NULLS, strings_can_be_null=True, decimal_point=point)
        return csv.read_csv(file, reading, parsing, converting)
    if form == "parquet":
        from pyarrow import parquet

        with parquet.ParquetFile(file) as columns:
            _check_width(columns.metadata.num_columns)
            return columns.read()
    try:
        return ipc.open_file(file).read_all()
    except ArrowInvalid:
        file.seek(0)
        return ipc.open_stream(file).read_all()


def _with_polars(file: BinaryIO, form: str, separator: str, point: str) -> Any:
    import polars

    options: dict[str, Any] = {"infer_schema_length": None} if form in ("csv", "ndjson") else {}
    if form == "csv":
        options |= {"separator": separator, "decimal_comma": point == ",", "null_values": _NULLS}
    return getattr(polars, f"read_{form}")(file, **options)


def _with_pandas(file: BinaryIO, form: str, separator: str, point: str) -> Any:
    import pandas

    options: dict[str, Any] = {"lines": True, "precise_float": True} if form == "ndjson" else {}
    if form == "csv":
        options = {"sep": separator, "decimal": point, "na_values": _NULLS, "keep_default_na": False}
        # Before version 3.1 pandas rounds decimals roughly in the last place, unless it is asked not to.
        if tuple(map(int, pandas.__version__.split(".")[:2])) < (3, 1):
            options["float_precision"] = "round_trip"
    name = {"ndjson": "json", "ipc": "feather"}.get(form, form)
    return getattr(pandas, f"read_{name}")(file, **options)


def _check_width(n_columns: int) -> None:
    if n_columns > MAX_COLUMNS:
        limit = f"more than {MAX_COLUMNS}"
        raise ValueError(f"it has {n_columns} columns, {limit}; keep those of the parameters.")
