"""A result and its views: sentences and a table for reading, columns, JSON."""

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import numpy as np

from parzax import _checks
from parzax._html import table as html_table
from parzax._words import join_names, plural, visible
from parzax.lens._words import columns_of
from parzax.lens.logs import ImportReport
from parzax.lens.results.default_level import MOST_SEEDS as MOST_SEEDS
from parzax.lens.results.default_level import pick_level
from parzax.lens.results.labels import short_labels
from parzax.space import Space
from parzax.status import OF_LEVELS, Status, describe

_BACKENDS = ("pandas", "polars", "pyarrow")
_ROWS, _LEVELS, _NAMES = 30, 6, 3  # most rows and levels of a table, and names beside a status
_LEFT = ("parameter", "pair", "remarks")  # columns of words, flush left


class ReadTable(NamedTuple):
    """A table for reading: a title, and columns that start with their header."""

    title: str
    columns: Sequence[Sequence[str]]

    def to_lines(self) -> list[str]:
        """The table as lines of text without the title, for a terminal."""
        columns = []
        for column in self.columns:
            width = max(map(columns_of, column))
            gaps = [" " * (width - columns_of(x)) for x in column]
            pairs = zip(column, gaps, strict=True)
            columns.append([x + gap if column[0] in _LEFT else gap + x for x, gap in pairs])
        return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]

    def to_html(self) -> str:
        """The table as HTML, for notebooks."""
        left = [i for i, (header, *_) in enumerate(self.columns) if header in _LEFT]
        return html_table(self.title, list(zip(*self.columns, strict=True)), left)


@dataclass(frozen=True, eq=False, repr=False)
class AbstractResult(abc.ABC):
    """Numbers at q levels for e entries (parameters, or pairs); leading axes "..." are the log's seeds.

    Attributes:
        estimates: the arrays, in NumPy; they are attributes of the result too.
        space: the search space.
        levels: (q,) requested levels.
        region: level of the region.
        report: how the log was read.
        goal: what the best rows have, such as "smallest loss".
        facts: sentences on how the result was computed.
    """

    estimates: Any
    space: Space
    levels: np.ndarray
    region: float
    report: ImportReport
    goal: str = "smallest loss"
    facts: tuple[str, ...] = ()

    kind: ClassVar[str]  # what an entry is, as the header of a table
    shown: ClassVar[str] = "importance"  # column of `cells` that a table of several levels shows

    @property
    @abc.abstractmethod
    def entries(self) -> tuple[Any, ...]:
        """The e parameters, or pairs, in the order of the arrays' last axis."""

    @property
    @abc.abstractmethod
    def is_defined(self) -> np.ndarray:
        """(..., q, e) whether the importance is defined; if not, tables show "-", and a status says why."""

    @cached_property
    @abc.abstractmethod
    def above(self) -> np.ndarray:
        """(q, e) entries above chance; entries above 0 where this was not tested."""

    @abc.abstractmethod
    def over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        """(q, e) mean and standard error of the importance over the seeds that have one."""

    @abc.abstractmethod
    def cells(self, level: int) -> dict[str, list[str]]:
        """Header -> one text per entry: the columns of the table of the ``level``-th level."""

    @abc.abstractmethod
    def sentences(self, level: int | None = None) -> list[str]:
        """What mattered, how sure that is, and what to do next, at the ``level``-th level."""

    @abc.abstractmethod
    def details(self) -> list[str]:
        """How the numbers of the table were made, a line each."""

    @abc.abstractmethod
    def _columns(self) -> dict[str, np.ndarray]:
        """The columns of `to_columns` from the entry to the status, broadcastable to (..., q, e)."""

    @property
    def names(self) -> tuple[str, ...]:
        """Parameter names, in the order of the space."""
        return self.space.names

    @property
    def labels(self) -> list[str]:
        """The entries as short texts, all different."""
        return short_labels(self.entries, 40)

    @property
    def usual_level(self) -> int:
        """Index of the level that tables, pictures and the page show first, see `pick_level`."""
        return pick_level(self.levels, self.estimates.n_target, self.estimates.n_region)

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
        """(q, e) share of the seeds in which ``bit`` is set."""
        return self.mean_over_seeds(self.estimates.status & int(bit) != 0)

    @cached_property
    def usual_status(self) -> np.ndarray:
        """(q, e) status bits that are set in most seeds."""
        bits = (int(bit) * (self.share_of_seeds(bit) >= MOST_SEEDS) for bit in Status if bit)
        return np.asarray(sum(bits), np.int64)

    def is_above(self, level: int) -> np.ndarray:
        """(e,) `above` at the ``level``-th level."""
        return self.above[level]

    def order(self, level: int | None = None) -> list[int]:
        """Indices of the entries at a level: those above chance first, then by mean importance."""
        level = self.usual_level if level is None else level
        defined = self.by_seed(self.is_defined)[:, level].any(axis=0)
        return np.lexsort((-self.over_seeds()[0][level], ~self.above[level], ~defined)).tolist()

    def ranking(self, level: int | None = None) -> list[Any]:
        """The entries in their `order` at the ``level``-th level, by default `usual_level`."""
        return [self.entries[j] for j in self.order(level)]

    def table(self, level: int | None = None) -> ReadTable:
        """The table of one level; of several levels if none is given and the result has several.

        In a column per level an importance in brackets is not above chance.
        """
        shown = self.order(level)[:_ROWS]
        labels = self.labels
        if level is None and len(self.levels) > 1:
            ascending = np.argsort(self.levels, kind="stable")
            places = np.linspace(0, len(ascending) - 1, _LEVELS).round().astype(int)
            kept = ascending[np.unique(np.append(places, ascending.tolist().index(self.usual_level)))]
            title, columns = f"{self.shown} by level", {}
            for i in kept:
                texts, above = self.cells(i)[self.shown], self.above[i] | (self.over_seeds()[0][i] == 0)
                columns[f"{self.levels[i]:g}"] = [
                    x if sure else f"({x})" for x, sure in zip(texts, above, strict=True)
                ]
        else:
            i = self.usual_level if level is None else level
            title, columns = f"{self.shown} at level {self.levels[i]:g}", self.cells(i)
        chosen = [[header, *(texts[j] for j in shown)] for header, texts in columns.items()]
        return ReadTable(title, [[self.kind, *(labels[j] for j in shown)], *filter(_has_text, chosen)])

    def advice(self, level: int | None = None) -> list[str]:
        """A sentence for each status bit set at a level, or at any; of parameters their names come first."""
        rows = slice(None) if level is None else [level]
        labels, status = self.labels, self.by_seed(self.estimates.status)[:, rows]

        def where(bit: Status) -> str:
            is_set = (status & int(bit) != 0).any(axis=0)
            named = join_names([labels[j] for j in np.flatnonzero(is_set.any(axis=0))], _NAMES)
            at, q = int(is_set.any(axis=1).sum()), len(is_set)
            return ", ".join([named] * (not bit & OF_LEVELS) + [f"{at} of {q} levels"] * (at < q))

        return describe(status, where)

    def notes(self, *, verbose: bool = False) -> list[str]:
        """Lines below the table: how the log was read, and advice for what is unusual."""
        every = self.report.lines(self.n_seeds)
        lines = every if verbose else [line for line in every if not line.startswith("inferred: ")]
        more, left = len(every) - len(lines), len(self.entries) - _ROWS
        rest = [f"{plural(more, 'thing')} inferred: --verbose lists them"] * (more > 0)
        rest += [f"{plural(left, f'more {self.kind}')} in to_dataframe()"] * (left > 0)
        if verbose:
            return [*self.details(), *lines, *rest, *self.facts, *self.advice()]
        advice = [line for line in self.advice(self.usual_level) if not line.startswith("NOT_ABOVE_CHANCE")]
        return ["; ".join([*lines, *rest]), *self.facts, *advice]

    def text(self, *, verbose: bool = False) -> str:
        """Sentences, table and notes for a terminal; ``verbose`` adds how everything was computed."""
        table, several = self.table(), len(self.levels) > 1
        lines = [*self.sentences(), "", *[table.title] * several, *table.to_lines()]
        if several and verbose:
            table = self.table(self.usual_level)
            lines += ["", table.title, *table.to_lines()]
        return "\n".join(map(visible, [*lines, *[""] * verbose, *self.notes(verbose=verbose)]))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        above, below = (
            "".join(f"<div>{escape(visible(line))}</div>" for line in lines)
            for lines in (self.sentences(), self.notes())
        )
        return above + self.table().to_html() + below

    def __repr__(self) -> str:
        """How many entries there are, and which comes first."""
        level, ranking = self.usual_level, self.ranking()
        at = f" at {self.levels[level]:g}"
        first = f"; first{at}: {ranking[0]!r}" if self.above[level].any() else f"; none above chance{at}"
        size = [plural(self.n_seeds, "seed")] * (self.estimates.variance.ndim > 2)
        size += [plural(len(self.levels), "level"), plural(len(ranking), self.kind)]
        return f"{type(self).__name__}({', '.join(size)}{first * bool(ranking)})"

    def to_columns(self) -> dict[str, np.ndarray]:
        """The columns of `to_dataframe`, as arrays with one entry per row."""
        shape = self.estimates.variance.shape
        seeds = np.arange(self.n_seeds).reshape(*shape[:-2], 1, 1)
        columns = {"seed": seeds} if len(shape) > 2 else {}
        columns |= {"level": self.levels[:, None], **self._columns(), "status": self.estimates.status}
        columns = {name: np.broadcast_to(x, shape).flatten() for name, x in columns.items()}
        names = [Status(bits).name if bits else "" for bits in columns["status"].tolist()]
        return columns | {"status_names": np.array(names, dtype=object)}

    def to_dataframe(self, backend: str | None = None) -> Any:
        """One row per seed, level and parameter (or pair of parameters).

        The first columns are seed (if there is a seed axis) and level. A result of importances adds
        parameter, importance, variance, standard, inter, unweighted, the ends of intervals (importance_low,
        importance_high, variance_low, variance_high), p_value and p_adjusted; they are NaN where nothing was
        sampled or shuffled. A result of interactions adds first, second, importance, variance, joint,
        main_first, main_second, p_value, p_adjusted and n_active. The last columns are n_target, n_region,
        status and status_names.

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

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values: sentences, settings, notes, and one record per row of `to_dataframe`.

        Numbers that are not defined are None.
        """
        columns = self.to_columns()
        columns[self.shown] = np.where(self.is_defined.flatten(), columns[self.shown], np.nan)
        columns = {name: np.where(x != x, np.array(None), x).tolist() for name, x in columns.items()}
        return {
            "sentences": self.sentences(),
            "level_shown": float(self.levels[self.usual_level]),
            "region": self.region,
            "details": self.details(),
            "report": self.report.lines(self.n_seeds),
            "facts": list(self.facts),
            "advice": self.advice(),
            "records": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
        }


def _has_text(column: Sequence[str]) -> bool:
    return any(column[1:])


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
