"""Base classes of results: names, levels, seeds, tables for reading and data frames."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from parzax import _checks
from parzax._html import table as html_table
from parzax._words import plural, visible
from parzax.lens._words import columns_of
from parzax.lens.logs import ImportReport
from parzax.lens.results.default_level import MOST_SEEDS as MOST_SEEDS
from parzax.lens.results.default_level import pick_level
from parzax.space import Space
from parzax.status import Status, describe, status_names

_BACKENDS = ("pandas", "polars", "pyarrow")


class ReadTable(NamedTuple):
    """A table for reading: columns that start with their header, left-aligned headers, and notes."""

    title: str
    columns: Sequence[Sequence[str]]
    left: tuple[str, ...]
    notes: Sequence[str]

    def to_text(self) -> str:
        """The table as lines of text, for a terminal."""
        columns = []
        for column in self.columns:
            width = max(map(columns_of, column))
            gaps = [" " * (width - columns_of(x)) for x in column]
            pairs = zip(column, gaps, strict=True)
            columns.append([x + gap if column[0] in self.left else gap + x for x, gap in pairs])
        lines = ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]
        return "\n".join(map(visible, [self.title, *lines, "", *self.notes]))

    def to_html(self) -> str:
        """The table as HTML, for notebooks."""
        left = [i for i, (header, *_) in enumerate(self.columns) if header in self.left]
        return html_table(self.title, list(zip(*self.columns, strict=True)), left, self.notes)


class Readable(abc.ABC):
    """A result that ``print`` and notebooks show as a table."""

    @abc.abstractmethod
    def _table(self) -> ReadTable: ...

    def __str__(self) -> str:
        return self._table().to_text()

    def _repr_html_(self) -> str:
        return self._table().to_html()


@dataclass(frozen=True, eq=False)
class AbstractResult(Readable):
    """Numbers at q levels for parameters, or pairs of them; leading axes "..." are the observations' seeds.

    Attributes:
        estimates: the arrays, in NumPy; they are attributes of the result too.
        space: the search space.
        target_quantile: (q,) requested levels.
        region_quantile: level of the region.
        report: how the log was read.
    """

    estimates: Any
    space: Space
    target_quantile: np.ndarray
    region_quantile: float
    report: ImportReport

    @abc.abstractmethod
    def _columns(self) -> dict[str, np.ndarray]:
        """The columns of `to_columns` from level to status, in shapes that broadcast to (..., q, d)."""

    @abc.abstractmethod
    def is_above(self, level: int) -> np.ndarray:
        """(d,) entries with an importance at the ``level``-th level that is not within chance."""

    @abc.abstractmethod
    def over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        """(q, d) mean and standard error of the importance over the seeds that have one."""

    @abc.abstractmethod
    def ranking(self, level: int | None = None) -> list[Any]:
        """Parameters, or pairs, at the ``level``-th level: those above chance first, then by importance."""

    @property
    def usual_level(self) -> int:
        """Index of the level that tables, pictures and the page show first, see `pick_level`."""
        return pick_level(self.target_quantile, self.estimates.n_target, self.estimates.n_region)

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names, in the order of the space."""
        return self.space.names

    @property
    def n_seeds(self) -> int:
        """Number of seeds (1 without a seed axis)."""
        return int(np.prod(self.estimates.variance.shape[:-2], dtype=int))

    def by_seed(self, array: np.ndarray) -> np.ndarray:
        """(s, *) a (..., *) array with its seed axes merged into one, of length 1 without seed axes."""
        return array.reshape(self.n_seeds, *array.shape[self.estimates.variance.ndim - 2 :])

    def mean_over_seeds(self, array: np.ndarray) -> np.ndarray:
        """Mean of a (..., *) array over all its seed axes, in float64."""
        return self.by_seed(array).mean(axis=0, dtype=np.float64)

    def share_of_seeds(self, bit: Status) -> np.ndarray:
        """(q, d) share of the seeds in which ``bit`` is set."""
        return self.mean_over_seeds(self.estimates.status & int(bit) != 0)

    def to_columns(self) -> dict[str, np.ndarray]:
        """The columns of `to_dataframe`, as arrays with one entry per row."""
        shape = self.estimates.variance.shape
        seeds = np.arange(self.n_seeds).reshape(*shape[:-2], 1, 1)
        columns = {"seed": seeds} if len(shape) > 2 else {}
        columns |= {"target_quantile": self.target_quantile[:, None], **self._columns()}
        columns = {name: np.broadcast_to(x, shape).flatten() for name, x in columns.items()}
        names = [status_names(bits) for bits in columns["status"].tolist()]
        return columns | {"status_names": np.array(names, dtype=object)}

    def to_dataframe(self, backend: str | None = None) -> Any:
        """One row per seed, level and parameter (or pair of parameters).

        The first columns are seed (if there is a seed axis) and target_quantile. A result of importances adds
        parameter, importance, variance, standard, inter and unweighted; with an ``uncertainty`` also the ends
        of intervals (importance_low, importance_high, variance_low, variance_high), p_value and p_adjusted. A
        result of interactions adds first, second, importance, variance, joint, main_first, main_second,
        p_value, p_adjusted and n_active. The last columns are n_target, n_region, status and status_names.

        Args:
            backend: "pandas", "polars" or "pyarrow"; by default the first of these that is installed.

        Raises:
            ValueError: for another backend.
            ImportError: without narwhals (the extra ``parzax[dataframe]``), or without the backend.
        """
        backends = _BACKENDS if backend is None else (_checks.one_of("backend", backend, _BACKENDS),)
        nw = _checks.optional("narwhals", "to_dataframe", "dataframe")
        data = {name: x.tolist() if x.dtype == object else x for name, x in self.to_columns().items()}
        installed: list[Any] = [name for name in backends if find_spec(name) is not None]
        if not installed:
            needed, package = backend or "pandas, polars or pyarrow", backend or "pyarrow"
            raise ImportError(f"to_dataframe needs {needed}; install it with pip install {package}.")
        return nw.from_dict(data, backend=installed[0]).to_native()

    def advice(self) -> list[str]:
        """One sentence of advice for each status bit that is set anywhere in the result."""
        return describe(self.estimates.status)

    def _described(self, entries: str) -> str:
        """The text of ``repr``: how many ``entries`` there are, and which comes first."""
        level = self.usual_level
        ranking, above, mean = self.ranking(level), self.is_above(level), self.over_seeds()[0][level]
        seeds = f"{plural(self.n_seeds, 'seed')}, " if self.estimates.variance.ndim > 2 else ""
        at = f" at {self.target_quantile[level]:g}"
        most = f"; none above chance{at}" * bool(ranking)
        if above.any():
            first = "most important" if above[mean.argmax()] else "first above chance"
            most = f"; {first}{at}: {ranking[0]!r}"
        levels = plural(len(self.target_quantile), "level")
        return f"{type(self).__name__}({seeds}{levels}, {plural(len(ranking), entries)}{most})"


def attributes(*names: str, of: str = "estimates") -> Any:
    """Properties that return the attributes ``names`` of the result's field ``of``."""

    def attribute(name: str) -> property:
        return property(lambda self: getattr(getattr(self, of), name), doc=f"``{of}.{name}``.")

    return map(attribute, names)


def mean_and_error(x: np.ndarray, counts: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard error over axis 0, the seeds for which ``counts`` is true; by default all seeds.

    The mean is 0 if no seed counts, the standard error NaN if fewer than two do. The variance divides by
    n - 1.

    >>> mean, error = mean_and_error(np.array([1.0, 0.0, 0.5]), np.array([True, False, True]))
    >>> float(mean), float(error)
    (0.75, 0.25)
    """
    counts = np.ones(len(x), dtype=bool) if counts is None else counts
    counts = counts.reshape(*counts.shape, *(1,) * (x.ndim - counts.ndim))
    n = counts.sum(axis=0).astype(x.dtype)
    mean = np.where(counts, x, 0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(counts, np.square(x - mean), 0).sum(axis=0)
    error = np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1))
    return mean, np.where(n > 1, error, np.nan)


def size_text(n: np.ndarray) -> str:
    """Sizes of sets as one number, or as their range if they differ: "30", "28-31".

    Weighted rows, and rows that count as one together, may add up to "about 10".
    """
    shown = np.round(n) if np.min(n) >= 1 else n
    low, high = np.min(shown), np.max(shown)
    about = "" if np.allclose(shown, n) else "about "
    texts = [f"{size:.0f}" if size == np.rint(size) else f"{size:.6g}" for size in (float(low), float(high))]
    return about + "-".join(dict.fromkeys(texts))


def mean_text(mean: Any, error: Any) -> str:
    """A mean over seeds with three decimals, and its standard error if there is one."""
    return f"{mean:.3f}" if np.isnan(error) else f"{mean:.3f} ± {error:.3f}"
