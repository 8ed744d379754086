"""Columns of a table of any kind: numbers, or labels."""

import decimal
import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# A longer text is not a label.
MAX_LABEL = 10_000


@dataclass(frozen=True)
class Column:
    """One column of a table: numbers, or labels of any type.

    Attributes:
        name: as in the table.
        rows: (n,) row of the table of each entry, for error messages.
        numbers: (n,) float64, NaN where missing; None for a column of labels.
        whole: whether the column's own type is an integer.
        promoted: whether it may be integers that became floats because of gaps (pandas does that).
        labels: n Python values, None where missing; None for a column of numbers.
    """

    name: str
    rows: np.ndarray
    numbers: np.ndarray | None = None
    whole: bool = False
    promoted: bool = False
    labels: list[Any] | None = None

    def take(self, keep: np.ndarray) -> "Column":
        """The entries where ``keep`` (n,) is true."""
        if keep.all():
            return self
        return replace(
            self,
            rows=self.rows[keep],
            numbers=None if self.numbers is None else self.numbers[keep],
            labels=None if self.labels is None else [x for x, k in zip(self.labels, keep, strict=True) if k],
        )

    def missing(self) -> np.ndarray:
        """(n,) mask of the entries without a value."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        assert self.labels is not None
        return np.fromiter((x is None for x in self.labels), bool, len(self.labels))

    def as_numbers(self) -> np.ndarray:
        """(n,) float64, NaN where missing; text is read as a number where all of it is one.

        Raises:
            ValueError: naming row and column of the first entry that is no number.
        """
        if self.numbers is not None:
            return self.numbers
        assert self.labels is not None
        return np.array([self._number(i, x) for i, x in enumerate(self.labels)], dtype=np.float64)

    def _number(self, i: int, value: Any) -> float:
        if value is None:
            return np.nan
        try:
            if isinstance(value, (numbers.Real, decimal.Decimal)):
                return float(value)
            # float() also reads "1_000", which is more likely a label.
            if isinstance(value, str) and "_" not in value:
                return float(value)
        except (ValueError, OverflowError):
            pass
        raise ValueError(f"{self.where(i)}: {short(value)} is not a number.")

    def distinct(self) -> tuple[list[Any], np.ndarray]:
        """The different values, in order of appearance, and (n,) the index of each entry's, -1 where missing.

        Values of different types stay apart (True, 1 and 1.0).
        """
        if self.numbers is not None:
            missing = np.isnan(self.numbers)
            found, first, inverse = np.unique(self.numbers[~missing], return_index=True, return_inverse=True)
            order = np.argsort(first)
            rank = np.empty_like(order)
            rank[order] = np.arange(len(order))
            index = np.full(len(self.numbers), -1)
            index[~missing] = rank[inverse]
            return [int(x) if self.whole else float(x) for x in found[order]], index
        assert self.labels is not None
        seen: dict[tuple[type, Any], int] = {}
        index = np.full(len(self.labels), -1)
        for i, value in enumerate(self.labels):
            if value is not None:
                try:
                    index[i] = seen.setdefault((value.__class__, value), len(seen))
                except TypeError:
                    raise ValueError(
                        f"{self.where(i)} holds a {type(value).__name__}; write such choices as text."
                    ) from None
        for value in seen:
            if isinstance(value[1], str) and len(value[1]) > MAX_LABEL:
                row = int(np.argmax(index == seen[value]))
                raise ValueError(
                    f"{self.where(row)} holds a text of {len(value[1])} characters, which is no label."
                )
        return [value for _, value in seen], index

    def where(self, i: int) -> str:
        """Name entry ``i`` for an error message."""
        return f"column {self.name!r}, row {int(self.rows[i])}"


def open_table(df: Any) -> Any:
    """The table as an eager narwhals DataFrame.

    Raises:
        ImportError: without narwhals.
        TypeError: for anything that is no table.
        ValueError: for repeated or unnamed columns, or no rows.
    """
    try:
        import narwhals as nw
    except ImportError as error:
        raise ImportError(
            "Reading tables needs narwhals; install it with pip install 'parzax[dataframe]'."
        ) from error
    if type(df).__module__.startswith("pandas") and not all(isinstance(c, str) for c in df.columns):
        raise ValueError("the table's column names must be plain strings (no multi-index, no numbers).")
    names = df.column_names if type(df).__module__.startswith("pyarrow") else getattr(df, "columns", ())
    check_unique([name for name in names if isinstance(name, str)])
    try:
        table = nw.from_native(df)
    except TypeError as error:
        raise TypeError(
            f"df must be a table (pandas, polars, pyarrow, ...), got {type(df).__name__}."
        ) from error
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    if not isinstance(table, nw.DataFrame):
        raise TypeError(f"df must be a table, got {type(df).__name__}.")
    if not table.columns:
        raise ValueError("the table has no columns.")
    if len(table) == 0:
        raise ValueError(f"the table has no rows; its columns are {listed(table.columns)}.")
    return table


def read_column(table: Any, name: str) -> Column:
    """One column of an opened table.

    Raises:
        ValueError: for dates, durations, lists and other types that are neither numbers nor labels.
    """
    import narwhals as nw

    series = table.get_column(name)
    dtype, rows = series.dtype, np.arange(len(series))
    if dtype.is_numeric():
        values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
        missing, whole = np.isnan(values), dtype.is_integer()
        promoted = not whole and bool(missing.any() and (missing | (values == np.floor(values))).all())
        return Column(name, rows, numbers=values, whole=whole, promoted=promoted)
    if dtype.is_temporal() or dtype.is_nested() or dtype == nw.Binary:
        raise ValueError(
            f"column {name!r} holds {dtype}, which is neither a number nor a label; "
            "convert it, drop it, or name the parameters' columns params_*."
        )
    labels = series.to_list()
    null = np.asarray(series.is_null().to_numpy(), dtype=bool)
    if dtype not in (nw.Boolean, nw.String, nw.Categorical, nw.Enum):
        labels = [_plain(x) for x in labels]
        null = null | [x is None or (isinstance(x, float) and x != x) for x in labels]
    if null.any():
        labels = [None if n else x for x, n in zip(labels, null, strict=True)]
    return Column(name, rows, labels=labels)


def listed(names: Sequence[str], limit: int = 20) -> str:
    """Names for an error message, shortened."""
    text = ", ".join(short(name) for name in names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def short(value: Any) -> str:
    """The value's repr for an error message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def check_unique(names: Sequence[str]) -> None:
    """Refuse a name that appears twice."""
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = next(name for name in names if name in seen or seen.add(name))
        raise ValueError(f"column {short(twice)} appears more than once.")
