"""Open files as tables: CSV, TSV, Parquet, Feather and Arrow by pyarrow; JSON by Python.

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
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from glob import glob
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from parzax import _checks
from parzax.lens._files import UNREADABLE
from parzax.lens._words import listed
from parzax.lens.logs.columns import COMMA, SURELY_COMMA
from parzax.lens.tables import formats
from parzax.lens.tables.table import Table, open_table, stack_tables, to_table

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
    documents = [document for file in paths for document in _read(file, _read_json)]
    with _checks.explain(f"{str(path)!r} cannot be read as a log"):
        table = to_table(_find_records(documents))
        if not table.columns:
            raise ValueError("it holds no record with named values")
    return table


def _with_parameters(path: Path, table: Table) -> Table:
    """The table, with the parameters that its tool writes into a second file next to it."""
    form = next((form for form in formats.FORMATS if form.beside and form.file == path.name), None)
    if form is None or form.step not in table.columns or any(map(form.parameter_of, table.columns)):
        return table
    beside = path.parent / str(form.beside)
    if not beside.is_file():
        lack = f"{str(path)!r} lacks the parameters of its run"
        raise ValueError(f"{lack}; put the file {form.beside!r} of {form.name} into the same folder.")
    (parameters,) = _read(beside, _read_json)
    constants = to_table([{"config": parameters, "trial_id": path.parent.name}] * table.n)
    return Table(constants.columns | table.columns, table.n)


# --- the content of a file -----------------------------------------------------------------------


def _read(path: Path, read: Callable[[BinaryIO], Any]) -> Any:
    """Read a file by ``read``; errors name the file."""
    with path.open("rb") as packed, _unpacked(path, packed) as file:
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
            if isinstance(error, UnicodeDecodeError):
                message = f"it is not in UTF-8 ({error}); save it in UTF-8, from a spreadsheet as CSV UTF-8"
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


def _read_text(file: BinaryIO) -> bytes:
    """The content of a text file in UTF-8; it may be in UTF-16 instead, or begin with a byte order mark."""
    content = file.read()
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16").encode()
    if b"\0" in content[:8192]:
        raise ValueError("it is not a text file; export the log as CSV")
    content.decode()  # raises for another encoding
    return content.removeprefix(codecs.BOM_UTF8)


def _read_csv(file: BinaryIO) -> Table:
    """The table in a text file; every column is read as text first, as a data frame of text would be."""
    from pyarrow import csv as arrow_csv
    from pyarrow import string

    content = _read_text(file)
    start = io.BytesIO(content)
    header, *lines = [start.readline(1 << 24).decode(errors="replace") for _ in range(50)]
    separator = max(",;\t", key=re.sub(r'"[^"]*"', "", header).count)
    if (n_columns := header.count(separator) + 1) > MAX_COLUMNS:
        limit = f"more than {MAX_COLUMNS}"
        raise ValueError(f"it has {n_columns} columns, {limit}; keep only the columns of parameters.")
    names = next(csv.reader(io.TextIOWrapper(io.BytesIO(content), "utf-8", newline=""), delimiter=separator))
    # One block if possible, so that a row may be long.
    reading = arrow_csv.ReadOptions(block_size=min(max(len(content) + 1, 1 << 20), _MAX_ROW))
    parsing = arrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    types = dict.fromkeys(names, string())
    converting = arrow_csv.ConvertOptions(null_values=_NULLS, strings_can_be_null=True, column_types=types)
    table = arrow_csv.read_csv(io.BytesIO(content), reading, parsing, converting)
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


# --- JSON ----------------------------------------------------------------------------------------

# Advice for a document that holds no records.
_REMEDY = 'write one record per trial, such as {"lr": 0.1, "loss": 0.3}, or export the trials as CSV'


def _read_json(file: BinaryIO) -> list[Any]:
    """The single JSON document of a file, or one document per line."""
    content = _read_text(file)
    with suppress(json.JSONDecodeError):
        return [json.loads(content)]
    documents, lines = [], content.splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            documents += [json.loads(line)] if line.strip() else []
        except json.JSONDecodeError as error:
            # a last line that is cut off: the writer was stopped, or is writing now
            if number == len(lines) > 1:
                break
            raise ValueError(f"line {number}: {error}") from error
    return documents


def _find_records(documents: Sequence[Any]) -> list[Mapping[str, Any]]:
    """The records of JSON documents: each document has a tool's shape, is a list of records, or is a record.

    ValueError for any other document.
    """
    records: list[Mapping[str, Any]] = []
    readers = [form.records for form in formats.FORMATS if form.records is not None]
    for document in documents:
        of_tool = (rows for read in readers if (rows := read(document)) is not None)
        records += next(of_tool, None) or _general_records(document, alone=len(documents) == 1)
    return records


def _general_records(document: Any, alone: bool) -> list[Mapping[str, Any]]:
    """The records of a document that no tool's shape fits; each of several documents is one record."""
    if isinstance(document, Mapping):
        if not alone:
            return [document]
        if (rows := _read_columns(document) if document else []) is not None:
            return rows
        lists = [value for value in document.values() if _is_rows(value)]
        if len(lists) == 1:  # such as {"trials": [...]}
            return lists[0]
        raise ValueError(f"it holds a single record, with the names {listed(list(document), 6)}; {_REMEDY}")
    if not _is_rows(document):
        raise ValueError(f"it holds a {type(document).__name__}, not records with named values; {_REMEDY}")
    return document


def _read_columns(document: Mapping[str, Any]) -> list[Mapping[str, Any]] | None:
    """The records of a document that holds columns, or numbered records; None for any other document.

    The columns are as pandas writes them: the values of each, in a list or by the numbers of their rows, or
    "columns" (all names) and "data" (all rows).
    """
    if {"columns", "data"} <= document.keys():
        return [dict(zip(document["columns"], row, strict=True)) for row in document["data"]]
    parts: list[Any] = [dict(enumerate(x)) if isinstance(x, list) else x for x in document.values()]
    if len(parts) < 2 or not all(isinstance(x, Mapping) and x.keys() == parts[0].keys() for x in parts):
        return None
    if all(name.isdigit() for name in document) or not all(str(row).isdigit() for row in parts[0]):
        return parts  # {"0": {...}, "1": {...}}
    return [{name: part[row] for name, part in zip(document, parts, strict=True)} for row in parts[0]]


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, Mapping) for row in value)
