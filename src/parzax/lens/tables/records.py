"""Nested records, from JSON or cells of a table, as columns: ``config/lr`` is ``lr`` within ``config``."""

import ast
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from parzax.lens._words import listed
from parzax.lens.logs.columns import Column
from parzax.lens.tables.formats import FORMATS
from parzax.lens.tables.table import Table

# Keys of the record that Weights & Biases makes of each value of a configuration.
_WRAPPED = {"value", "desc"}
# Advice for a document that holds no records.
_REMEDY = 'write one record per trial, such as {"lr": 0.1, "loss": 0.3}, or export the trials as CSV'


def flatten(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A record without nesting; a list becomes its JSON text, which is a label.

    >>> flatten({"loss": 0.3, "config": {"lr": 0.1, "opt": {"name": "adam"}, "layers": [64, 32]}})
    {'loss': 0.3, 'config/lr': 0.1, 'config/opt/name': 'adam', 'config/layers': '[64, 32]'}
    """
    flat: dict[str, Any] = {}
    for key, value in record.items():
        name = f"{prefix}{key}"
        if prefix == "config/" and isinstance(value, Mapping) and {"value"} <= value.keys() <= _WRAPPED:
            value = value["value"]
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{name}/")
        else:
            flat[name] = json.dumps(value, default=str) if isinstance(value, (list, tuple)) else value
    return flat


def to_table(records: Sequence[Mapping[str, Any]]) -> Table:
    """A table with one row per record; keys that a record lacks are missing values."""
    flat = [flatten(record) for record in records]
    names = list(dict.fromkeys(name for row in flat for name in row))
    rows = np.arange(len(flat))
    return Table(names, len(flat), lambda name: to_column(name, rows, [row.get(name) for row in flat]))


def to_column(name: str, rows: np.ndarray, values: Sequence[Any]) -> Column:
    """A column of Python values: numbers if all values are numbers, else labels; None and NaN are missing."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in present):
        numbers = np.array([np.nan if value is None else value for value in values], np.float64)
        return Column(name, rows, numbers=numbers, integers=all(isinstance(x, int) for x in present))
    missing = [isinstance(value, float) and value != value for value in values]
    return Column.of_labels(name, rows, [None if x else y for x, y in zip(missing, values, strict=True)])


def stack_tables(tables: Sequence[Table]) -> Table:
    """One table with the rows of several tables; columns that a table lacks are missing values."""
    if len(tables) == 1:
        return tables[0]
    n = sum(table.n for table in tables)
    names = list(dict.fromkeys(name for table in tables for name in table.names))

    def read(name: str) -> Column:
        parts = (_to_values(t.read(name)) if name in t.names else [None] * t.n for t in tables)
        return to_column(name, np.arange(n), [value for part in parts for value in part])

    return Table(names, n, read)


def _to_values(column: Column) -> list[Any]:
    """A column as Python values, None where missing."""
    if column.index is not None:
        return [None if i < 0 else column.labels[i] for i in column.index.tolist()]
    kind = int if column.integers else float
    return [None if x != x else kind(x) for x in column.numbers.tolist()]


def read_documents(documents: Iterable[Any]) -> list[Mapping[str, Any]]:
    """The records of JSON documents: each document has a tool's shape, is a list of records, or is a record.

    ValueError for any other document.
    """
    documents, records = list(documents), []
    readers = [form.records for form in FORMATS if form.records is not None]
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


class _Literals(ast.NodeTransformer):
    """Turns nan and inf into numbers, np.float64(0.5) into what it holds, and other names into text."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Constant(float(node.id) if node.id.lower() in ("nan", "inf", "infinity") else node.id)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Constant(ast.unparse(node))

    def visit_Call(self, node: ast.Call) -> ast.AST:
        wraps_one = len(node.args) == 1 and not node.keywords
        return self.visit(node.args[0]) if wraps_one else ast.Constant(ast.unparse(node))


def _read_repr(text: str) -> Any:
    """The value of Python's repr, of which nothing is executed; ValueError for another text."""
    return ast.literal_eval(_Literals().visit(ast.parse(text.strip(), mode="eval")))


def parse_cell(value: Any) -> Any:
    """The value of a cell; text that is a dictionary in JSON or in Python's repr becomes the dictionary."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    for read in (json.loads, _read_repr):
        try:
            return read(value)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return value
