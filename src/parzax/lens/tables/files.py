"""Open data frames and files as tables: CSV, TSV, Parquet, Feather and Arrow by pyarrow; JSON by Python.

A text file may have semicolons and decimal commas, and may be in UTF-16. Any file may be compressed. A
folder, or a pattern such as ``runs/*.csv``, stands for all its files, which must be of one kind.
"""

import bz2
import codecs
import csv
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from glob import glob
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from parzax import _checks
from parzax.lens._files import UNREADABLE
from parzax.lens._words import listed
from parzax.lens.logs.columns import COMMA, SURELY_COMMA, Column
from parzax.lens.tables import formats
from parzax.lens.tables.records import parse_cell, read_documents, stack_tables, to_column, to_table
from parzax.lens.tables.table import Table, check_unique

# Kind of a file by its ending; for a compressed file, by the ending before ".gz" and the like.
KINDS = {
    ".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet",
    ".pq": "parquet", ".feather": "ipc", ".arrow": "ipc", ".ipc": "ipc",
}  # fmt: skip
MAX_COLUMNS = 100_000
# Largest size, in bytes, of a compressed file once it is unpacked.
_MAX_UNPACKED = 1 << 31
# A longer row is not a row of a log.
_MAX_ROW = 1 << 26
_NULLS = ["", "NaN", "nan", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL"]


def _open_zip(file: BinaryIO) -> Any:
    """Open the file in an archive that holds a single file."""
    archive = zipfile.ZipFile(file)
    if len(names := archive.namelist()) != 1:
        raise ValueError(f"it holds {len(names)} files; unpack it and give the folder")
    return archive.open(names[0])


# Functions that unpack a file, by its ending.
_PACKERS: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".zip": _open_zip}


def kind_of(path: Path) -> str:
    """The ending that says what a file is; for a compressed file, the ending before ".gz" and the like."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() if suffix in _PACKERS else suffix


def find_files(path: Path) -> list[Path]:
    """The files of a table: one file, all tables of one kind in a folder, or the files of a pattern.

    A pattern is a path such as ``runs/*.csv``. In a folder, files that a tool writes for each trial are
    looked for at any depth. ValueError if no file is found, or if a folder holds tables of several kinds.
    """
    if path.is_dir():
        for form in formats.FORMATS:
            if form.file and (paths := sorted(path.rglob(form.file))):
                return paths
        paths = sorted(file for file in path.iterdir() if file.is_file() and kind_of(file) in KINDS)
        if len(kinds := {kind_of(file) for file in paths}) > 1:
            some = f"{' and '.join(sorted(kinds))} files"
            raise ValueError(f"{str(path)!r} holds {some}; give a pattern, such as {str(path / '*.csv')!r}.")
    else:
        paths = [path] if path.exists() else sorted(map(Path, glob(str(path), recursive=True)))
    if not paths:
        raise ValueError(f"there is no {'table in' if path.is_dir() else 'file'} {str(path)!r}.")
    for file in paths:
        if not file.is_file() or file.stat().st_size == 0:
            raise ValueError(f"{str(file)!r} is {'empty' if file.is_file() else 'not a file'}.")
    return paths


def read_table(path: Path) -> Table:
    """The table in a file, a folder or the files of a pattern; ValueError for anything else."""
    paths = find_files(path)
    if (suffix := kind_of(paths[0])) not in KINDS:
        raise ValueError(f"{str(path)!r} is not a table: its ending must be one of {', '.join(KINDS)}.")
    if (kind := KINDS[suffix]) != "json":
        _checks.optional("pyarrow", f"Reading {suffix} files", "dataframe")
        return stack_tables([_with_parameters(file, _read(file, _READERS[kind])) for file in paths])
    documents = [document for file in paths for document in _read(file, _json_documents)]
    with _checks.explain(f"{str(path)!r} cannot be read as a log"):
        table = to_table(read_documents(documents))
        if not table.names:
            raise ValueError("it holds no record with named values")
    return table


def _with_parameters(path: Path, table: Table) -> Table:
    """The table, with the parameters that its tool writes into a second file next to it."""
    form = next((form for form in formats.FORMATS if form.beside and form.file == path.name), None)
    if form is None or form.step not in table.names or any(map(form.parameter_of, table.names)):
        return table
    beside = path.parent / str(form.beside)
    if not beside.is_file():
        lack = f"{str(path)!r} lacks the parameters of its run"
        raise ValueError(f"{lack}; put the file {form.beside!r} of {form.name} into the same folder.")
    (parameters,) = _read(beside, _json_documents)
    constants = to_table([{"config": parameters, "trial_id": path.parent.name}] * table.n)
    names = [name for name in constants.names if name not in table.names]
    return Table(
        [*table.names, *names], table.n, lambda name: (table if name in table.names else constants).read(name)
    )


# --- the content of a file -----------------------------------------------------------------------


def _read(path: Path, read: Callable[[BinaryIO], Any]) -> Any:
    """Read a file by ``read``; errors name the file."""
    with path.open("rb") as packed, _unpacked(path, packed) as content:
        file = _in_utf8(path, content) if KINDS[kind_of(path)] in ("csv", "json") else content
        try:
            return read(file)
        except Exception as error:  # each library has its own errors for a damaged file
            if isinstance(error, ImportError):
                raise
            message = (str(error) or type(error).__name__).rstrip(".")
            cells = re.search(r"Expected (\d+) columns, got (\d+)", message)
            if cells and int(cells[1]) < int(cells[2]):
                remedy = "delete what stands above the names, and put text that holds separators into quotes"
                message += f"; the first line must name all columns: {remedy}"
            if "straddling" in message:
                message = f"a row is longer than {_MAX_ROW >> 20} MiB"
            raise ValueError(f"{str(path)!r} cannot be read as {kind_of(path)[1:]}: {message}.") from error


def _unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    """The content of a file, unpacked."""
    if (unpack := _PACKERS.get(path.suffix.lower())) is None:
        return file
    # An encrypted archive raises a RuntimeError.
    with _checks.explain(f"{str(path)!r} cannot be unpacked", (*UNREADABLE, RuntimeError)):
        content = unpack(file).read(_MAX_UNPACKED)
    if len(content) == _MAX_UNPACKED:
        raise ValueError(f"{str(path)!r} holds more than {_MAX_UNPACKED >> 30} GiB; unpack it first.")
    return io.BytesIO(content)


def _in_utf8(path: Path, file: BinaryIO) -> BinaryIO:
    """A text file, checked to be in UTF-8, or translated from UTF-16."""
    start = file.read(8192)
    file.seek(0)
    if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        with _checks.explain(f"{str(path)!r} begins as UTF-16 but is not", UnicodeDecodeError):
            return io.BytesIO(file.read().decode("utf-16").encode())
    if b"\0" in start:
        raise ValueError(f"{str(path)!r} is not a text file; export the log as CSV.")
    remedy = "save it in UTF-8, from a spreadsheet as CSV UTF-8"
    with _checks.explain(f"{str(path)!r} is not in UTF-8; {remedy}", UnicodeDecodeError):
        for _ in codecs.iterdecode(iter(lambda: file.read(1 << 20), b""), "utf-8"):
            pass
    file.seek(0)
    return file


def _json_documents(file: BinaryIO) -> list[Any]:
    """The single JSON document of a file, or one document per line."""
    text = file.read().decode("utf-8-sig")
    with suppress(json.JSONDecodeError):
        return [json.loads(text)]
    documents, lines = [], text.splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            documents += [json.loads(line)] if line.strip() else []
        except json.JSONDecodeError as error:
            # a last line that is cut off: the writer was stopped, or is writing now
            if number == len(lines) > 1:
                break
            raise ValueError(f"line {number}: {error}") from error
    return documents


def _read_csv(file: BinaryIO) -> Table:
    """The table in a text file; every column is read as text first, as a data frame of text would be."""
    from pyarrow import csv as arrow_csv
    from pyarrow import string

    header, *lines = [file.readline(1 << 24).decode(errors="replace") for _ in range(50)]
    separator = max(",;\t", key=re.sub(r'"[^"]*"', "", header).count)
    if (n_columns := header.count(separator) + 1) > MAX_COLUMNS:
        limit = f"more than {MAX_COLUMNS}"
        raise ValueError(f"it has {n_columns} columns, {limit}; keep only the columns of parameters.")
    file.seek(0)
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    names = next(csv.reader(text, delimiter=separator))
    text.detach()
    # One block if possible, so that a row may be long.
    block = min(max(file.seek(0, io.SEEK_END) + 1, 1 << 20), _MAX_ROW)
    file.seek(0)
    reading = arrow_csv.ReadOptions(block_size=block)
    parsing = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    types = dict.fromkeys(names, string())
    converting = arrow_csv.ConvertOptions(null_values=_NULLS, strings_can_be_null=True, column_types=types)
    table = arrow_csv.read_csv(file, reading, parsing, converting)
    cells = [cell.strip(' "') for line in lines for cell in line.strip().split(separator)]
    points = any(re.fullmatch(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?", cell) for cell in cells)
    commas = separator != "," and not points and any(map(SURELY_COMMA.fullmatch, cells))
    return open_table(_with_points(table) if commas else table)


def _with_points(table: Any) -> Any:
    """The table with decimal points, in columns of numbers with decimal commas."""
    compute: Any = import_module("pyarrow.compute")
    for i, name in enumerate(table.column_names):
        column = table.column(i)
        if compute.all(compute.match_substring_regex(column, rf"^(?:{COMMA.pattern}|[+-]?\d+)$")).as_py():
            bare = compute.replace_substring(column, ".", "")
            table = table.set_column(i, name, compute.replace_substring(bare, ",", "."))
    return table


def _read_parquet(file: BinaryIO) -> Table:
    from pyarrow import parquet

    return open_table(parquet.read_table(file))


def _read_ipc(file: BinaryIO) -> Table:
    from pyarrow import ArrowInvalid, ipc

    with suppress(ArrowInvalid):
        return open_table(ipc.open_file(file).read_all())
    file.seek(0)
    return open_table(ipc.open_stream(file).read_all())


_READERS: dict[str, Callable[[BinaryIO], Table]] = {
    "csv": _read_csv, "parquet": _read_parquet, "ipc": _read_ipc
}  # fmt: skip


# --- data frames ---------------------------------------------------------------------------------

# Columns whose text may be a record, as in files with tables of Weights & Biases.
_NESTED = ("config", "summary", "params", "hyperparameters")
# Columns with more different plain numbers are read at once.
_MANY = 256


def open_table(df: Any) -> Table:
    """A data frame (pandas, polars, pyarrow, anything narwhals reads) as a table; a `Table` as it is.

    Cells that hold records become columns.
    """
    if isinstance(df, Table):
        return df
    nw = _checks.optional("narwhals", "Reading tables", "dataframe")
    library = type(df).__module__.partition(".")[0]
    names = getattr(df, "column_names" if library == "pyarrow" else "columns", ())
    if library == "pandas" and not all(isinstance(name, str) for name in names):
        raise ValueError("the table's column names must be plain strings (no multi-index, no numbers).")
    check_unique([name for name in names if isinstance(name, str)])
    frame = nw.from_native(df, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    _checks.instance("df", frame, nw.DataFrame, "a table (pandas, polars, pyarrow, ...)")
    if not frame.columns:
        raise ValueError("the table has no columns.")
    if len(frame) == 0:
        raise ValueError(f"the table has no rows; its columns are {listed(frame.columns)}.")
    records = {name: _records_in(name, frame.get_column(name), nw) for name in frame.columns}
    parts = {name: to_table(cells) for name, cells in records.items() if cells}
    part_of = {column: part for part in parts.values() for column in part.names}
    names = [column for name in frame.columns for column in (parts[name].names if name in parts else (name,))]
    check_unique(names)

    def read(name: str) -> Column:
        return part_of[name].read(name) if name in part_of else _column(name, frame.get_column(name), nw)

    return Table(names, len(frame), read)


def _records_in(name: str, series: Any, nw: Any) -> list[dict[str, Any]]:
    """A column of records as {name: record}, None where a cell is empty; [] for any other column."""
    if not isinstance(series.dtype, nw.Struct):
        if series.dtype != nw.Object and not (series.dtype == nw.String and name in _NESTED):
            return []
        first = series.drop_nulls().head(1).to_list()
        if not first or not isinstance(parse_cell(first[0]), Mapping):
            return []
    cells = map(parse_cell, series.to_list())
    return [{name: cell if isinstance(cell, Mapping) else None} for cell in cells]


def _column(name: str, series: Any, nw: Any) -> Column:
    """A narwhals series as a column; dates, times and the like are labels, by their text."""
    dtype, rows = series.dtype, np.arange(len(series))
    if dtype.is_numeric():
        values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        missing = np.isnan(values)
        # pandas turns integers with gaps into floats.
        promoted = bool(missing.any() and (missing | (values == np.floor(values))).all())
        return Column(name, rows, numbers=values, integers=dtype.is_integer() or promoted)
    if dtype == nw.String:
        return _text_column(name, series.to_arrow())
    cells = zip(series.to_list(), series.is_null().to_list(), strict=True)
    values = [None if missing else x.item() if isinstance(x, np.generic) else x for x, missing in cells]
    if dtype in (nw.Categorical, nw.Enum):
        return Column.of_labels(name, rows, values, categories=True)
    return to_column(name, rows, values)


def _text_column(name: str, array: Any) -> Column:
    """A pyarrow array of text as a column: booleans, many different plain numbers, or labels.

    Numbers in text are labels here, which `parse_numbers` reads; it takes long for many.
    """
    from pyarrow import ArrowInvalid, ChunkedArray, float64, string

    compute: Any = import_module("pyarrow.compute")
    array = array.combine_chunks() if isinstance(array, ChunkedArray) else array
    codes, rows = array.cast(string()).dictionary_encode(), np.arange(len(array))
    texts, index = codes.dictionary, codes.indices.fill_null(-1).to_numpy().astype(np.int64)
    if len(texts) > _MANY and not compute.any(compute.match_substring_regex(texts, r"^[+-]?0\d")).as_py():
        with suppress(ArrowInvalid):
            numbers = texts.cast(float64()).to_numpy()
            if len(np.unique(numbers)) == len(texts):
                whole = compute.all(compute.match_substring_regex(texts, r"^[+-]?\d+$")).as_py()
                return Column(name, rows, numbers=np.append(numbers, np.nan)[index], integers=bool(whole))
    labels = texts.to_pylist()
    if labels and {label.lower() for label in labels} <= {"true", "false"}:
        flags = [label.lower() == "true" for label in labels]
        return Column.of_labels(name, rows, [None if i < 0 else flags[i] for i in index])
    return Column(name, rows, labels=tuple(labels), index=index)
