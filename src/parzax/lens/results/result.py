"""A result: numbers by level and entry, with four views: text, notebook table, JSON, columns.

`AbstractResult` makes the views; `ImportanceResult` is the result of `parzax.cond_ped_anova`, and
`InteractionResult` that of `parzax.interactions`.
"""

import abc
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from importlib.util import find_spec
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Shaped

from parzax import _checks
from parzax._compile import compiled
from parzax._words import plural, visible
from parzax.divergence import AbstractDivergence, Explained, RegimeCounts
from parzax.importance import Grid, Importance, Interactions
from parzax.importance.estimate import How
from parzax.importance.flags import LOW_DATA_ROWS
from parzax.importance.layout import Block, cell_values, layout
from parzax.importance.variance import compute_shares
from parzax.kernels import AbstractKernel
from parzax.lens._html import table as html_table
from parzax.lens._words import join_names
from parzax.lens.logs import ImportReport
from parzax.lens.results.replicates import SIGNIFICANCE, Replicates
from parzax.lens.results.texts import (
    NAMED,
    columns_of,
    interval_text,
    join_some,
    mean_text,
    p_text,
    percent,
    short_names,
    shorten,
    size_text,
    value_text,
    values_text,
)
from parzax.space import Categorical, Domain, In, Int, Numeric, Ordinal, Space, Varying
from parzax.space.conditions import repr_as_call
from parzax.status import NOT_COMPARED, OF_LEVELS, Status, drop_consequences, set_bits

# An importance interval is narrow enough if its half-width is at most this value.
TOLERANCE = 0.1
# Margins fall as 1 / sqrt(rows) only with more rows than this in the target and outside it. With fewer rows
# nothing is extrapolated.
_FEW_ROWS = 20
# A property holds for the result if at least this share of the seeds has it.
MOST_SEEDS = 0.5
# The level that is shown, or one near it.
USUAL_LEVEL = 0.1
_BACKENDS = ("pandas", "polars", "pyarrow")
_ROWS, _LEVELS, _NAMES = 30, 6, 3  # most rows and levels of a table, and names beside a status
_LEFT = ("parameter", "pair", "remarks")  # columns of words, flush left
# What an answer says of a parameter; see `ImportanceResult.verdicts`.
VERDICTS = ("matters", "cannot tell yet", "does not matter")
MATTERS, UNDECIDED, NEGLIGIBLE = range(3)
# A parameter does not matter if the interval of its importance ends at most here.
_SMALL = 0.05
# Importances of rows that a search chose may be off by this much.
_LEARNED_ERROR = 0.3
# Standard errors to either side of a mean that make its interval.
NORMAL = 1.6448536269514722
_NEAR_HALF = 0.4  # with half of the rows in the target, hardly more are in it than at this level
LEARNED = f"a search that learns chose these rows: shares may be off by {_LEARNED_ERROR}, whatever p says"
NO_LEVEL = "no level was given"  # how the fact about a level that was chosen begins
MAY_LEARN = "less sure if a search that learns (such as TPE) chose the rows"
# Parameters with one of these statuses, or at a level with one of them, are not compared with chance.
_NOT_TESTED = int(NOT_COMPARED | Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS)
# Parameters with one of these statuses may matter more than their importance says.
_MISLEADING = Status.CROWDED, Status.NOT_IN_TARGET
# Statuses of pairs whose interaction is undefined.
_UNDEFINED = Status.NEVER_TOGETHER | Status.UNIDENTIFIABLE | Status.NO_DATA
_PAIR_NAME = 20  # longest name of a parameter in the label of a pair
_TEXT = 120  # number of characters of good values in a line


class ByName(np.ndarray):
    """An array of a result: ``array["lr"]`` is its part along the last axis for one parameter."""

    names: tuple[str, ...] = ()

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, str) and self.names:
            item = ..., self.names.index(_checks.one_of("the parameter", item, self.names))
        return np.asarray(self)[item]


def attributes(*names: str, of: str = "estimates") -> Any:
    """Properties that return the attributes ``names`` of a field of the result."""

    def attribute(name: str) -> Any:
        return cached_property(lambda self: getattr(getattr(self, of), name))

    return map(attribute, names)


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

    def to_html(self, notes: Sequence[str]) -> str:
        """The table as HTML, for notebooks, with notes below."""
        left = [i for i, (header, *_) in enumerate(self.columns) if header in _LEFT]
        return html_table(self.title, list(zip(*self.columns, strict=True)), left, notes)


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

    n_target, n_region, status = attributes("n_target", "n_region", "status")
    variance, importance, p_value = attributes("variance", "importance", "p_value")

    coverage: ClassVar[float] = 0.9  # nominal coverage of intervals
    kind: ClassVar[str]  # what an entry is, as the header of a table
    shown: ClassVar[str] = "importance"  # column of `cells` that a table of several levels shows

    @cached_property
    @abc.abstractmethod
    def is_defined(self) -> np.ndarray:
        """(..., q, e) whether the importance is defined; if not, tables show "-", and a status says why."""

    @cached_property
    @abc.abstractmethod
    def above(self) -> np.ndarray:
        """(q, e) entries above chance; entries above 0 where this was not tested."""

    @abc.abstractmethod
    def cells(self, level: int) -> dict[str, list[str]]:
        """Header -> one text per entry: the columns of the table of the ``level``-th level."""

    @abc.abstractmethod
    def details(self) -> list[str]:
        """How the numbers of the table were made, a line each."""

    @abc.abstractmethod
    def _sentences(self, level: int) -> tuple[str, str, str]:
        """What mattered, how sure that is, and what to do next, at a level with importances."""

    @abc.abstractmethod
    def _columns(self) -> dict[str, np.ndarray]:
        """The columns of `to_columns` from the entry to the status, broadcastable to (..., q, e)."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Parameter names, in the order of the space."""
        return self.space.names

    @cached_property
    def entries(self) -> tuple[Any, ...]:
        """The e parameters, or pairs, in the order of the arrays' last axis."""
        return self.names

    @cached_property
    def labels(self) -> list[str]:
        """The entries as short texts, all different."""
        return short_names(self.entries, 40)

    @cached_property
    def p_adjusted(self) -> np.ndarray:
        """(..., q, e) p-values, adjusted for the number of entries (Holm 1979)."""
        return holm(self.p_value)

    @property
    def above_chance(self) -> np.ndarray:
        """(..., q, e) whether the adjusted p-value is at most 0.05."""
        return np.asarray(self.p_adjusted <= SIGNIFICANCE)

    @cached_property
    def _over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        return mean_and_error(self.by_seed(self.importance), self.by_seed(self.is_defined))

    @cached_property
    def mean(self) -> np.ndarray:
        """(q, e) mean of the importance over the seeds that have one; 0 where none has."""
        return self._over_seeds[0]

    @cached_property
    def standard_error(self) -> np.ndarray:
        """(q, e) standard error of ``mean`` over the seeds; NaN where fewer than two count."""
        return self._over_seeds[1]

    @cached_property
    def usual_level(self) -> int:
        """Index of the level that tables, pictures and the page show first, see `pick_level`."""
        return pick_level(self.levels, self.n_target, self.n_region)

    @cached_property
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
        return self.mean_over_seeds(self.status & int(bit) != 0)

    @cached_property
    def usual_status(self) -> np.ndarray:
        """(q, e) status bits that are set in most seeds, without those that follow from others."""
        bits = (int(bit) * (self.share_of_seeds(bit) >= MOST_SEEDS) for bit in Status if bit)
        return drop_consequences(np.asarray(sum(bits), np.int64))

    @cached_property
    def has_mean(self) -> np.ndarray:
        """(q, e) whether the importance is defined in any seed."""
        return np.asarray(self.by_seed(self.is_defined).any(axis=0))

    @cached_property
    def verdicts(self) -> np.ndarray:
        """(q, e) index in `VERDICTS` for each entry: 0 if it is above chance, else 1."""
        return np.where(self.above, MATTERS, UNDECIDED)

    def order(self, level: int | None = None) -> list[int]:
        """Indices of the entries at a level: by verdict, then by mean importance."""
        level = self.usual_level if level is None else level
        return np.lexsort((-self.mean[level], self.verdicts[level], ~self.has_mean[level])).tolist()

    def ranking(self, level: int | None = None) -> list[Any]:
        """The entries in their `order` at the ``level``-th level, by default `usual_level`."""
        return [self.entries[j] for j in self.order(level)]

    def sentences(self, level: int | None = None) -> list[str]:
        """What to do next, what mattered, and how sure that is, at a level (by default `usual_level`)."""
        level = self.usual_level if level is None else level
        if self.has_mean[level].any():
            mattered, sure, step = self._sentences(level)
        else:
            mattered = f"nothing can be said about {self.best_rows(level)}"
            sure = "there is nothing to be sure of"
            advice = next((bit.advice for bit in self._level_bits(level)), Status.ALL_ZERO.advice)
            step = f"{advice[0].lower()}{advice[1:].rstrip('.')}"
        if self.report.unread:
            mattered += f"; left out, although it may matter: {join_some(map(repr, self.report.unread))}"
        return [f"Do next: {step}.", f"What mattered: {mattered}.", f"How sure: {sure}."]

    def best_rows(self, level: int) -> str:
        """The target in words: "the best 10 % (30 of 300 rows, smallest loss)"."""
        row = "feasible row" if self.report.dropped.get("not feasible") else "row"
        target, region = size_text(self.n_target[..., level]), plural(size_text(self.n_region), row)
        of = f"{target} of {'the best ' * (self.region < 1)}{region}"
        return f"the best {percent(self.levels[level])} ({of}, {self.goal})"

    def _level_bits(self, level: int) -> Status:
        """Statuses of a level as a whole."""
        return Status(int(np.bitwise_or.reduce(self.usual_status[level]))) & OF_LEVELS

    def _level_facts(self, level: int) -> list[str]:
        """What is unusual about a level that has importances."""
        return [bit.fact for bit in self._level_bits(level) & ~Status.ALL_ZERO]

    def _p_cells(self, level: int, n_draws: int) -> list[str]:
        """The texts of the adjusted p-values of a single log at a level."""
        p, adjusted = (self.by_seed(x)[0, level] for x in (self.p_value, self.p_adjusted))
        return [p_text(*pair, n_draws) for pair in zip(p, adjusted, strict=True)]

    def _mean_cells(self, level: int) -> list[str]:
        """The texts of the importances at a level."""
        mean = np.where(self.has_mean[level], self.mean[level], np.nan)
        return list(map(mean_text, mean, self.standard_error[level]))

    def _facts(self, level: int) -> list[list[str]]:
        """What is unusual about each entry at a level, apart from chance."""
        bits = self.usual_status[level] & ~int(self._level_bits(level) | Status.NOT_ABOVE_CHANCE)
        return [[bit.fact for bit in Status(int(of_entry))] for of_entry in bits]

    def table(self, level: int | None = None) -> ReadTable:
        """The table of one level; of several levels if none is given and the result has several.

        In a column per level an importance in brackets does not matter, or cannot be told yet.
        """
        shown, columns = self.order(level)[:_ROWS], {self.kind: self.labels}
        if level is None and len(self.levels) > 1:
            ascending = np.argsort(self.levels, kind="stable")
            places = np.linspace(0, len(ascending) - 1, _LEVELS).round().astype(int)
            kept = ascending[np.unique(np.append(places, ascending.tolist().index(self.usual_level)))]
            sure = self.above | (self.mean == 0)
            title = f"{self.shown} by level" + " (in brackets: may be chance)" * (not sure[kept].all())
            for i in kept:
                pairs = zip(self.cells(i)[self.shown], sure[i], strict=True)
                columns[f"{self.levels[i]:g}"] = [text if one else f"({text})" for text, one in pairs]
        else:
            i = self.usual_level if level is None else level
            title, columns = f"{self.shown} at level {self.levels[i]:g}", columns | self.cells(i)
        chosen = {header: [texts[j] for j in shown] for header, texts in columns.items()}
        return ReadTable(title, [[header, *texts] for header, texts in chosen.items() if any(texts)])

    def advice(self, level: int | None = None) -> list[str]:
        """A sentence for each status bit set at a level, or at any; of parameters their names come first."""
        rows = slice(None) if level is None else [level]
        labels, status = self.labels, self.by_seed(self.status)[:, rows]

        lines = []
        for bit in set_bits(status):
            is_set = (status & int(bit) != 0).any(axis=0)
            named = join_names([labels[j] for j in np.flatnonzero(is_set.any(axis=0))], _NAMES)
            at, q = int(is_set.any(axis=1).sum()), len(is_set)
            place = ", ".join([named] * (not bit & OF_LEVELS) + [f"{at} of {q} levels"] * (at < q))
            lines.append(f"{bit.name}{place and f' ({place})'}: {bit.advice}")
        return lines

    def notes(self, *, verbose: bool = False) -> list[str]:
        """Lines below the table: which rows were read; ``verbose`` adds how, and advice on statuses."""
        every = self.report.lines(self.n_seeds)
        lines = every if verbose else [line for line in every if not line.startswith("inferred: ")]
        more, left = len(every) - len(lines), len(self.entries) - _ROWS
        rest = [f"{plural(more, 'thing')} inferred: --verbose lists {'it' if more == 1 else 'them'}"] * (
            more > 0
        )
        rest += [f"{plural(left, f'more {self.kind}')} in to_dataframe()"] * (left > 0)
        if verbose:
            return [*self.details(), *lines, *rest, *self.facts, *self.advice()]
        facts = [fact for fact in self.facts if NO_LEVEL not in fact]
        return ["; ".join([*lines, *facts, *rest])]

    def text(self, *, verbose: bool = False) -> str:
        """Sentences, table and notes for a terminal; ``verbose`` adds how everything was computed.

        The answer for six parameters has at most twelve lines.
        """
        table, several = self.table(), len(self.levels) > 1
        lines = [*self.sentences(), "", *[table.title] * several, *table.to_lines()]
        if several and verbose:
            table = self.table(self.usual_level)
            lines += ["", table.title, *table.to_lines()]
        return "\n".join(map(visible, [*lines, *[""] * verbose, *self.notes(verbose=verbose)]))

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        lines = "".join(f"<div>{escape(visible(line))}</div>" for line in self.sentences())
        return lines + self.table().to_html(self.notes())

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
        columns |= {"level": self.levels[:, None], **self._columns()}
        columns |= {"n_target": self.n_target[..., None], "n_region": self.n_region[..., None, None]}
        columns["status"] = self.status
        columns = {name: np.broadcast_to(x, shape).flatten() for name, x in columns.items()}
        names = [Status(bits).name if bits else "" for bits in columns["status"].tolist()]
        return columns | {"status_names": np.array(names, dtype=object)}

    def to_dataframe(self, backend: str | None = None) -> Any:
        """One row per seed, level and parameter (or pair of parameters).

        The first columns are seed (if there is a seed axis) and level. A result of importances adds
        parameter, verdict, importance, variance, standard, inter, unweighted, the ends of intervals
        (importance_low, importance_high, variance_low, variance_high), p_value and p_adjusted; they are NaN
        where nothing was sampled or shuffled. A result of interactions adds first, second, importance,
        variance, joint, main_first, main_second, p_value, p_adjusted and n_active. The last columns are
        n_target, n_region, status and status_names.

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


@dataclass(frozen=True)
class Method:
    """How importances are computed: arguments of `parzax.cond_ped_anova`."""

    divergence: AbstractDivergence = Explained()
    grid: Grid = Grid()
    reference: str = "region"

    @property
    def balance(self) -> bool:
        """Whether importances subtract negative variances from positive ones; Optuna's do not."""
        return not self.grid.of_reference

    @property
    def how(self) -> How:
        """Divergence, reference, balance, and whether 1/d stands where nothing is positive, as in Optuna."""
        return self.divergence, self.reference, self.balance, not self.balance


class GoodValues(NamedTuple):
    """Values that are more frequent in the target than in the region, for one regime of one parameter.

    Attributes:
        parameter: name of the parameter.
        regime: number of the regime's domain.
        values: ends (low, high) of a range of numbers, both included; or choices, the best first. If bounds
            move (`parzax.Varying`), the ends are places between the bounds, from 0 to 1.
        target: share of the target's rows in this regime that have such values.
        region: share of the region's rows in this regime that have such values.
    """

    parameter: str
    regime: int
    values: tuple[Any, ...]
    target: float
    region: float


class RegimeDensity(NamedTuple):
    """Densities of one regime of one parameter on its grid.

    Attributes:
        domain: the regime's domain.
        values: (g,) native value at the centre of each cell, or the choices; where bounds move
            (`parzax.Varying`), places between them, 0 at the lower and 1 at the upper one.
        target: (..., q, g) p_T, mass per cell.
        region: (..., q, g) p_R, mass per cell.
        ratio: (..., q, g) p_T / p_R; above 1 where good configurations are over-represented.
        rows: (..., q + 1, g) rows (weight) per cell of the target sets, and of the region last.
    """

    domain: Domain
    values: list
    target: np.ndarray
    region: np.ndarray
    ratio: np.ndarray
    rows: np.ndarray


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ImportanceResult(AbstractResult):
    """Importances at q levels for d parameters, with the counts and densities from which they were computed.

    Leading axes "..." are the seeds of the observations; all arrays are NumPy. `print` and notebooks show
    what mattered, how sure that is and what to do next, and a table.

    Attributes:
        estimates: `parzax.importance.Importance`, in NumPy; its attributes are those of the result too.
            A debiased ``variance`` may be negative; for importances it counts as 0, and other variances are
            reduced in return. If bounds move, ``divergence`` is a mean over pools with similar bounds,
            weighted so that Eq. 11 gives the sum over the pools.
        space: the search space.
        levels: (q,) requested levels.
        region: level of the region.
        report: how the log was read.
        goal: what the best rows have, such as "smallest loss".
        facts: sentences on how the result was computed.
        method: how it was computed: divergence, grid and reference.
        replicates: `parzax.lens.results.replicates.Replicates`, samples and shuffles of the log; its arrays
            are attributes of the result too. Without samples the ends of intervals are NaN, without shuffles
            the p-values.
        learned: function that returns whether the order of the rows shows a search that learns.
        remark: a part of the first sentence: that a surrogate answers, or why it does not.
    """

    estimates: Importance
    replicates: Replicates
    method: Method = field(default_factory=Method)
    learned: Callable[[], bool] = field(default_factory=lambda: bool)
    remark: str = ""

    kind: ClassVar[str] = "parameter"
    replicates_are: ClassVar[str] = "resamples"
    further_rows: ClassVar[str] = "more rows"

    inter, unweighted, divergence, counts = attributes("inter", "unweighted", "divergence", "counts")
    regime_target, regime_region = attributes("regime_target", "regime_region")
    sampled, p_value, spread = attributes("sampled", "p_value", "spread", of="replicates")
    n_rows, n_shuffles = attributes("n_rows", "n_shuffles", of="replicates")

    @property
    def n_resamples(self) -> int:
        """Number of samples, b."""
        return len(self.sampled)

    @property
    def importance(self) -> np.ndarray:
        """(..., q, d) importances (Eq. 8); ``importance["lr"]`` has those of one parameter."""
        array = self.estimates.importance.view(ByName)
        array.names = self.names
        return array

    @property
    def objective(self) -> str:
        """What the losses are called, such as "val_loss"."""
        return "the objective" if self.goal.startswith("by ") else self.goal.split(" ", 1)[1]

    @property
    def alpha(self) -> np.ndarray:
        """(..., q, d, k) probability of each regime in the target, "inactive" last."""
        return self.regime_target / _divisor(self.n_target)[..., None, None]

    @property
    def beta(self) -> np.ndarray:
        """(..., q, d, k) probability of each regime in the region, the same at every level."""
        share = self.regime_region / _divisor(self.n_region)[..., None, None]
        return np.broadcast_to(share[..., None, :, :], self.regime_target.shape)

    @property
    def standard(self) -> np.ndarray:
        """(..., q, d) standard local marginal variance, within + inter (Eq. 17)."""
        return self.variance + self.inter

    @cached_property
    def has_importance(self) -> np.ndarray:
        """(..., q) whether any parameter has an importance at this level; if not, a status says why."""
        return np.asarray((self.importance > 0).any(axis=-1))

    @cached_property
    def is_defined(self) -> np.ndarray:
        """(..., q, d) whether the importance is defined; if not, tables show "-" and JSON has null.

        It is undefined at levels where no parameter has an importance (`has_importance`), and for parameters
        whose rows cannot be compared (UNIDENTIFIABLE).
        """
        return self.has_importance[..., None] & (self.status & int(Status.UNIDENTIFIABLE) == 0)

    @property
    def seeds_counted(self) -> np.ndarray:
        """(q,) number of seeds that ``mean`` counts at each level: those that have an importance."""
        return self.by_seed(self.has_importance).sum(axis=0)

    @property
    def regime_importance(self) -> np.ndarray:
        """(..., q, d, k) each regime's part of the importance of each parameter, "inactive" last (always 0).

        Regime i adds (n_T/n_R)^2 alpha_i^2 / beta_i D_i to the variance (Eq. 11, arXiv 2601.20800). Its part
        of the importance is proportional to this term; debiased divergences below 0 count as 0. The parts
        sum over k to the importance. The exception is an importance that is positive only by convention (1/d
        on Optuna's grid): its parts are 0.
        """
        # n_T and n_R are the same in all regimes of a parameter, so they cancel. A regime without rows in the
        # region has none in the target either.
        term = np.square(self.alpha) * np.maximum(self.divergence, 0) / _divisor(self.beta)
        return self.importance[..., None] * term / _divisor(term.sum(axis=-1, keepdims=True))

    @cached_property
    def _over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        # A seed without any importance at a level does not count there. With 1/d by convention every seed
        # counts.
        return mean_and_error(self.by_seed(self.importance), self.by_seed(self.has_importance))

    @cached_property
    def above(self) -> np.ndarray:
        """(q, d) parameters with an importance that are above chance.

        A single log decides by its p-values, if it was tested. Otherwise a parameter is above chance if its
        variance is not below that of a random target in most seeds. If the order of the rows shows a search
        that learns, the interval of the importance must lie above 0.3 too.
        """
        chance = self.usual_status & int(Status.NOT_ABOVE_CHANCE) != 0
        if self.n_seeds == 1:
            chance |= self.by_seed(self.p_adjusted)[0] > SIGNIFICANCE
        return (self.mean > 0) & ~chance & ((self._mean_interval[0] > _LEARNED_ERROR) | (not self.learned()))

    @cached_property
    def verdicts(self) -> np.ndarray:
        """(q, d) index in `VERDICTS` of what the result says of each parameter.

        It matters if it is `above` chance. It does not matter if the interval of its importance ends at 0.05
        or lower, provided that more than twenty rows are on both sides of the cut-off, no status makes the
        importance doubtful, and no search that learns chose the rows. Otherwise more rows would have to tell.
        """
        doubtful = self.usual_status & ~int(Status.NOT_ABOVE_CHANCE | Status.TIED_CUTOFF) != 0
        enough = self.by_seed(self.n_fewer).sum(axis=0)[:, None] > _FEW_ROWS
        small = (self._mean_interval[1] <= _SMALL) & self.has_mean & enough & ~doubtful
        other = np.where(small & (not self.learned()), NEGLIGIBLE, UNDECIDED)
        return np.where(self.above, MATTERS, other)

    @cached_property
    def _mean_interval(self) -> np.ndarray:
        """(2, q, d) ends of the interval of ``mean``.

        They are those of a single log, or by the standard error of seeds. A single log without resamples has
        wider ones, by the number of rows in the target or outside it.
        """
        if self.n_seeds == 1 and self.n_resamples:
            return np.moveaxis(self.by_seed(self.importance_interval)[0], -1, 0)
        error = self.standard_error
        if self.n_seeds == 1:
            error = 1 / np.sqrt(np.maximum(self.by_seed(self.n_fewer)[0, :, None], 1))
        return self.mean + np.array([-NORMAL, NORMAL])[:, None, None] * error

    @cached_property
    def gates(self) -> dict[int, int]:
        """Number of a parameter -> that of its gate, as "wd (0 or number)" is the gate of "wd"."""
        return {
            j: self.space.index(condition.parent)
            for j, (name, (domain, *_)) in enumerate(zip(self.names, self.space.domains, strict=True))
            for condition in domain.conditions
            if isinstance(condition, In) and condition.parent.startswith(f"{name} (")
        }

    @cached_property
    def n_fewer(self) -> np.ndarray:
        """(..., q) rows in the target, or in the region outside it if there are fewer."""
        return np.minimum(self.n_target, self.n_region[..., None] - self.n_target)

    @property
    def variance_draws(self) -> np.ndarray:
        """(b, ..., q, d) variances that other logs of this size might have.

        v + spread (v* - m), where v is the variance of the log and m the mean of the middle three fifths of
        the v*.
        """
        return self._recentred(self.variance, self.sampled)

    @property
    def importance_draws(self) -> np.ndarray:
        """(b, ..., q, d) importances (Eq. 8) that other logs might have, in [0, 1], centred as variances."""
        return np.clip(self._recentred(self.importance, self._shares), 0, 1)

    @cached_property
    def variance_interval(self) -> np.ndarray:
        """(..., q, d, 2) ends of the intervals of the variances; debiased variances may be negative.

        An interval holds the variance of the log, and 0 where the parameter is not above chance.
        """
        return self._interval(self.variance_draws, self.variance, self.p_adjusted > SIGNIFICANCE)

    @cached_property
    def importance_interval(self) -> np.ndarray:
        """(..., q, d, 2) ends of the intervals of the importances.

        An interval contains the importance of the log. It also contains 0 if the parameter is not above
        chance, because another log may then give it no importance. In tests (docs/uncertainty.md) intervals
        had the nominal coverage for importances of at least 5 %.
        """
        return self._interval(self.importance_draws, self.importance, self.p_adjusted > SIGNIFICANCE)

    def top(self, r: int = 1) -> np.ndarray:
        """(..., q, d) share of the draws in which a parameter is among the ``r`` with the highest variance.

        If variances are equal, the first parameter in the order of the space ranks higher. A parameter whose
        variance is 0 or less is never counted. The share is NaN without samples.
        """
        r = _checks.whole_number("r", r, 1)
        if not len(self.sampled):
            return np.full(self.variance.shape, np.nan)
        draws = self.variance_draws
        rank = np.argsort(np.argsort(-draws, axis=-1, kind="stable"), axis=-1)
        return ((rank < r) & (draws > 0)).mean(axis=0)

    @cached_property
    def margin(self) -> np.ndarray:
        """(..., q) half the width of the widest interval of an importance; NaN where there is none."""
        widths = np.diff(self.importance_interval)[..., 0]
        return np.where(self.has_importance, widths.max(axis=-1) / 2, np.nan)

    def rows_needed(self, tolerance: float = TOLERANCE) -> np.ndarray:
        """(..., q) total number of rows at which `margin` would be ``tolerance``.

        The number is extrapolated: `margin` is assumed proportional to 1 / sqrt(rows). If the margin is at
        most ``tolerance`` already, the number is at most the present number of rows. With few rows margins do
        not follow this law, so the number is NaN if ten rows or fewer are in the target or outside it. If the
        margin is above ``tolerance``, this limit is 20 rows instead of ten.
        """
        if not 0 < tolerance < 1:
            raise ValueError(f"tolerance must lie between 0 and 1, got {tolerance!r}.")
        least = np.where(self.margin <= tolerance, LOW_DATA_ROWS, _FEW_ROWS)
        needed = np.asarray(self.n_rows)[..., None] * np.square(self.margin / tolerance)
        return np.where(self.n_fewer > least, needed, np.nan)

    @cached_property
    def _shares(self) -> np.ndarray:
        """(b, ..., q, d) importances of the samples, not recentred."""
        return compute_shares(self.sampled, self.method.balance, False)

    def _recentred(self, estimate: np.ndarray, sampled: np.ndarray) -> np.ndarray:
        if not len(sampled):
            return sampled
        spread = self.spread.reshape(*self.spread.shape, *(1,) * (estimate.ndim - self.spread.ndim))
        # The distribution is skewed: intervals around its mean are too short on one side, and around its
        # median on the other. So the mean leaves out a fifth of the samples at either end.
        cut = len(sampled) // 5
        middle = np.sort(sampled, axis=0)[cut : len(sampled) - cut].mean(axis=0)
        return estimate + spread.astype(estimate.dtype) * (sampled - middle)

    def _interval(self, draws: np.ndarray, estimate: np.ndarray, chance: np.ndarray) -> np.ndarray:
        """(..., 2) quantiles of the draws, extended to contain the estimate, and also 0 where ``chance``."""
        if not len(draws):
            return np.full((*estimate.shape, 2), np.nan)
        low, high = np.quantile(draws, [(1 - self.coverage) / 2, (1 + self.coverage) / 2], axis=0)
        held = np.stack([estimate, np.where(chance, 0, estimate)])
        ends = np.minimum(low, held.min(axis=0)), np.maximum(high, held.max(axis=0))
        return np.stack(ends, axis=-1).astype(self.variance.dtype)

    def cells(self, level: int) -> dict[str, list[str]]:
        """Importance, interval, p, active rows and remarks of each parameter at a level."""
        columns = {"importance": self._mean_cells(level)}
        if self.n_seeds == 1:
            ends = self.by_seed(self.importance_interval)[0, level]
            ends = np.where(self.has_mean[level, :, None], ends, np.nan)
            columns[f"{percent(self.coverage)} interval"] = [interval_text(*pair) for pair in ends]
            columns["p"] = self._p_cells(level, self.n_shuffles)
        n_active = self.by_seed(self.regime_region[..., :-1].sum(axis=-1))
        columns["rows"] = [size_text(column) for column in n_active.T]
        tested = self.usual_status[level] & _NOT_TESTED == 0
        remarks = zip(self.verdicts[level], tested, self._facts(level), strict=True)
        texts = [[VERDICTS[i]] * bool(i != MATTERS and one) + facts for i, one, facts in remarks]
        for j, gate in self.gates.items():
            in_all = f"{self.labels[j]} in all: {value_text(self.mean[level, [j, gate]].sum())}"
            texts[j], texts[gate] = [in_all, *texts[j]], [in_all, *texts[gate]]
        columns["remarks"] = list(map("; ".join, texts))
        return columns

    def _sentences(self, level: int) -> tuple[str, str, str]:
        labels, mean = short_names(self.names, 40), self.mean[level]
        tested = self.usual_status[level] & _NOT_TESTED == 0
        above, undecided, negligible = (
            [j for j in self.order(level) if self.verdicts[level, j] == i and (tested[j] or i == MATTERS)]
            for i in range(len(VERDICTS))
        )
        named = [f"{labels[j]} ({value_text(mean[j])})" for j in above]
        mattered = join_some(named) if above else "no parameter is above chance"
        mattered += f" for being among {self.best_rows(level)}{self.remark}"
        idle, open_ = (join_some(labels[j] for j in group) for group in (negligible, undecided))
        mattered += f"; not {idle}" * bool(idle) + f"; cannot tell yet about {open_}" * bool(open_)
        steps = [self._values_to_try(level, labels, above)]
        if negligible:
            steps.append(f"leave {idle} as {'it is' if len(negligible) == 1 else 'they are'}")
        steps.append(self._more(level, above))
        step = "; ".join(filter(None, steps)) or "stop here: nothing is open"
        return mattered, self._sureness(level, labels, above), step

    def _sureness(self, level: int, labels: list[str], above: list[int]) -> str:
        """How sure the first sentence is, and what is unusual about the parameters that it names."""
        parts = []
        if self.n_seeds > 1:
            parts.append(f"± is the standard error of {plural(int(self.seeds_counted[level]), 'seed')}")
        elif self.n_resamples:
            if above and len(labels) > 1:
                often = percent(round(float(self.by_seed(self.top())[0, level, above[0]]), 2))
                parts.append(
                    f"{labels[above[0]]} comes first in {often} of {self.n_resamples} {self.replicates_are}"
                )
            parts.append(f"intervals are up to {2 * self.by_seed(self.margin)[0, level]:.2f} wide")
        else:
            parts.append("unknown, as the rows were not resampled")
        if len(labels) == 1:
            parts.append("a single parameter has an importance of 1, whether it matters or not")
        parts += self._level_facts(level)
        facts = self._facts(level)
        parts += [f"{labels[j]}: {fact}" for j in above[:NAMED] for fact in facts[j]]
        for bit in _MISLEADING:
            of_others = np.flatnonzero(self.usual_status[level] & int(bit))
            names = [labels[j] for j in of_others.tolist() if j not in above[:NAMED] and j not in self.gates]
            if names:
                parts.append(f"{join_some(names)}: {bit.fact}")
        return "; ".join(parts + self._caveats())

    @property
    def _may_ask_surrogate(self) -> bool:
        """Whether a surrogate may answer: not for seeds, feasible rows, fronts and Optuna's numbers."""
        one_order = self.n_seeds == 1 and not self.goal.startswith("by ")
        all_rows = not self.report.dropped.get("not feasible")
        return one_order and all_rows and not self.remark and not self.method.grid.of_reference

    def _caveats(self) -> list[str]:
        """What the search that chose the rows means for the importances."""
        hint = " (then ask a surrogate of them: --surrogate yes)" * self._may_ask_surrogate
        return [LEARNED if self.learned() else MAY_LEARN + hint]

    def _values_to_try(self, level: int, labels: list[str], above: list[int]) -> str:
        """The good values of the first parameters that matter; "" if there are none."""
        values: dict[int, list[str]] = {}
        for good in self.good_values(level):
            j = self.names.index(good.parameter)
            if j in above[:NAMED] and round(good.target, 2) > round(good.region, 2):
                values.setdefault(j, []).append(values_text(good.values, self.space.domains[j][good.regime]))
        ranges = [f"{labels[j]} {' or '.join(texts)}" for j, texts in values.items()]
        return f"try {', '.join(ranges)}" if ranges else ""

    def _more(self, level: int, above: list[int]) -> str:
        """How to find out more; "" where intervals are narrow, or several seeds have an answer."""
        if self.n_seeds == 1 and not self.n_shuffles:
            return "resample the rows, for intervals and p-values: n_resamples=500 (--resamples 500)"
        if not above:
            can_ask = len(self.levels) == 1 and bool(self.levels[level] < _NEAR_HALF)
            asked = [" about the better half (level 0.5)"] * can_ask
            asked += [" a surrogate of the rows (--surrogate yes)"] * self._may_ask_surrogate
            return self._add_rows(level) + (", or ask" + " or".join(asked)) * bool(asked)
        wide = self.n_seeds == 1 and self.by_seed(self.margin)[0, level] > TOLERANCE
        return self._add_rows(level) if wide else ""

    def _add_rows(self, level: int) -> str:
        """How many rows a log lacks for narrow intervals, or for any that can be relied on."""
        if self.n_seeds > 1:
            return "add rows"
        needed, n_fewer = (self.by_seed(x)[0, level] for x in (self.rows_needed(), self.n_fewer))
        least, why = "about", f"would make intervals {2 * TOLERANCE:g} wide"
        if np.isnan(needed):
            needed, least = self.n_rows * (_FEW_ROWS + 1) / max(n_fewer, 1), "at least"
            side = "best" if n_fewer == self.by_seed(self.n_target)[0, level] else "others"
            why = f"are needed for intervals to rely on, as only {size_text(n_fewer)} are among the {side}"
        lacking = max(float(needed - self.n_rows), 1.0)
        step = 10 ** max(len(str(int(lacking))) - 2, 0)
        more = math.ceil(lacking / step) * step  # rounded up to two figures
        return f"{least} {more} {self.further_rows} {why}"

    def details(self) -> list[str]:
        """How the numbers of the table were made, a line each."""
        method, dtype = self.method, self.variance.dtype
        divergence, grid = repr_as_call(method.divergence), repr_as_call(method.grid)
        against = "the region" if method.reference == "region" else "the uniform density"
        lines = [
            "importance: by conditional PED-ANOVA (arXiv 2601.20800, Eq. 8); those of a level add up to 1",
            f"compared with {against}: {divergence} on {grid}, {dtype}",
        ]
        if self.n_resamples:
            samples = f"{percent(self.coverage)}, from {self.n_resamples} samples of the rows (half-sampling)"
            lines.append(f"interval: {samples}; it holds 0 where p is above 0.05")
        if self.n_shuffles:
            shuffles = f"{self.n_shuffles} shuffles of the losses"
            lines.append(f"p: of no effect, by {shuffles}, adjusted for the parameters of a level (Holm)")
        return lines

    def density(self, name: str) -> list[RegimeDensity]:
        """p_T, p_R and their ratio on the grid, per regime of parameter ``name``: which values are good.

        The densities are masses per cell at every level, smoothed by a kernel; `parzax.divergence.Explained`
        compares unsmoothed counts instead. If a set has no rows in the regime, its density is the prior. If
        bounds move, values are places between them, from 0 to 1, and the rows of all pools are joined.
        """
        if name not in self._densities:
            j = self.space.index(name)
            self._densities[name] = [self._density(j, i) for i in range(len(self.space.domains[j]))]
        return self._densities[name]

    @cached_property
    def _densities(self) -> dict[str, list[RegimeDensity]]:
        return {}

    def _density(self, j: int, regime: int) -> RegimeDensity:
        """The density of one regime of the ``j``-th parameter."""
        grid, dtype, domain = self.method.grid, self.importance.dtype, self.space.domains[j][regime]
        blocks = layout(self.space, grid).blocks
        block, *pools = (block for block in blocks if (block.parameter, block.regime) == (j, regime))
        counts, values = self._counts_of(block), cell_values(domain, grid)
        if pools and (pooled := self._counts_of(*pools)).any():
            block, counts, values = pools[0], pooled, np.linspace(0, 1, pools[0].n_cells).tolist()
        shape = (*counts.shape[:-2], counts.shape[-2] - 1, counts.shape[-1])
        if block.family is None:  # a single value: mass 1 in the only cell
            target = region = np.ones(shape, dtype)
        else:
            how = self.method.divergence, block.family, self.method.reference == "uniform"
            # The densities get the precision of the result, which may differ from the caller's setting.
            with jax.enable_x64(dtype == np.float64):
                densities = _densities(counts.reshape(-1, *counts.shape[-2:]), *how)
            target, region = (np.asarray(density).reshape(shape) for density in densities)
        return RegimeDensity(domain, values, target, region, target / region, counts)

    def _counts_of(self, *blocks: Block) -> np.ndarray:
        """(..., q + 1, g) counts of the cells of blocks of one size, added up."""
        columns = [self.counts[..., block.start : block.start + block.n_cells] for block in blocks]
        return np.sum(columns, axis=0, dtype=self.counts.dtype)

    def good_values(self, level: int | None = None) -> list[GoodValues]:
        """The values of each parameter that are over-represented among the best rows, see `GoodValues`.

        They are those of the ``level``-th level (by default `usual_level`), the most important parameter
        first: the values whose share of the target's density exceeds their share of the region's by most. The
        densities are averaged over the seeds. For a number they are a contiguous range, for a category any
        set of choices. Regimes without rows in the target, parameters of a single value, and importances that
        are not defined, 0 or not above chance are left out.

        >>> import numpy as np, parzax as px
        >>> x = np.random.default_rng(0).uniform(size=(1000, 1))
        >>> obs = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), x, (x[:, 0] - 0.3) ** 2)
        >>> (good,) = px.cond_ped_anova(obs, 0.2).good_values()
        >>> good.parameter, [round(float(end), 1) for end in good.values], good.target > 0.9
        ('x', [0.2, 0.4], True)
        """
        level, good = self.usual_level if level is None else level, []
        rows = self.mean_over_seeds(self.regime_target)[level]
        for j in self.order(level):
            shown = self.above[level, j] and self.has_mean[level, j]
            for regime, density in enumerate(self.density(self.names[j]) if shown else ()):
                if rows[j, regime] > 0 and len(density.values) > 1:
                    masses = (self.mean_over_seeds(x)[level] for x in (density.target, density.region))
                    values, cells = _best_values(density.domain, density.values, *masses)
                    counts = self.by_seed(density.rows).sum(axis=0)[[level, -1]]
                    target, region = (counts[:, cells].sum(axis=1) / counts.sum(axis=1)).tolist()
                    good.append(GoodValues(self.names[j], regime, values, target, region))
        return good

    def __getattr__(self, name: str) -> Any:
        if name in ("effects", "next_space", "next_steps") and not hasattr(type(self), name):
            how = "surrogate=px.surrogate.GaussianProcess(), or --surrogate yes"
            raise AttributeError(f"{name} needs a surrogate: {how}.")
        return self.__getattribute__(name)  # raises what has failed

    def _columns(self) -> dict[str, np.ndarray]:
        columns = {"parameter": np.array(self.names, dtype=object)}
        columns["verdict"] = np.array(VERDICTS, dtype=object)[self.verdicts]
        for name in ("importance", "variance", "standard", "inter", "unweighted"):
            columns[name] = getattr(self, name)
        ends = {"importance": self.importance_interval, "variance": self.variance_interval}
        columns |= {f"{name}_low": x[..., 0] for name, x in ends.items()}
        columns |= {f"{name}_high": x[..., 1] for name, x in ends.items()}
        return columns | {"p_value": self.p_value, "p_adjusted": self.p_adjusted}

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values; see `AbstractResult.to_dict`. The good values are of the level shown.

        ``surrogate`` is None, or has its number of draws and its leave-one-out quality.
        """
        good_values = [good._asdict() for good in self.good_values()]
        return super().to_dict() | {"good_values": good_values, "surrogate": None}


@dataclass(frozen=True, eq=False, repr=False)
class InteractionResult(AbstractResult):
    """Interactions of p pairs of parameters at q levels; leading axes "..." are the observations' seeds.

    Attributes:
        estimates: `parzax.importance.Interactions`, in NumPy. Its arrays are attributes of the result too;
            ``pairs`` are pairs of names here. ``importance`` can be compared across pairs, levels and logs:
            for independent parameters, the importances of single parameters, of pairs and of higher orders
            sum to 1. ``main`` is computed on coarser cells than in `parzax.cond_ped_anova`, and only from
            rows in which both parameters are active.
        space: the search space, d parameters.
        levels: (q,) requested levels.
        region: level of the region.
        report: how the log was read.
        goal: what the best rows have, such as "smallest loss".
        facts: sentences on how the result was computed.
    """

    estimates: Interactions

    kind: ClassVar[str] = "pair"

    joint, main, regime_variance = attributes("joint", "main", "regime_variance")
    n_active, n_draws = attributes("n_active", "n_draws")

    @cached_property
    def entries(self) -> tuple[tuple[str, str], ...]:
        """The p pairs of names."""
        return tuple((self.names[a], self.names[b]) for a, b in self.estimates.pairs)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The p pairs of names."""
        return self.entries

    @cached_property
    def is_defined(self) -> np.ndarray:
        """(..., q, p) whether the interaction of a pair is defined; if not, a status says why."""
        return (self.status & int(_UNDEFINED)) == 0

    @cached_property
    def labels(self) -> list[str]:
        """The pairs as short texts, all different."""
        names = short_names(self.names, _PAIR_NAME)
        return [f"{names[a]} × {names[b]}" for a, b in self.estimates.pairs]

    @cached_property
    def above(self) -> np.ndarray:
        """(q, p) pairs above chance in more than half of the seeds; without draws, those above 0."""
        if not self.n_draws:
            return self.mean > 0
        return self.mean_over_seeds(self.above_chance) > MOST_SEEDS

    def matrix(self, level: int | None = None) -> np.ndarray:
        """(d, d) symmetric: mean importance at a level, as in `ranking`.

        It is NaN on the diagonal, for pairs that were not requested, and for pairs that are defined in no
        seed.
        """
        level = self.usual_level if level is None else level
        return self.to_matrix(np.where(self.has_mean[level], self.mean[level], np.nan))

    def to_matrix(self, values: np.ndarray) -> np.ndarray:
        """(d, d) symmetric matrix of one value per pair; NaN for the diagonal and other pairs."""
        out = np.full((len(self.names),) * 2, np.nan)
        first, second = np.array(self.estimates.pairs, int).reshape(-1, 2).T
        out[first, second] = out[second, first] = values
        return out

    def _columns(self) -> dict[str, np.ndarray]:
        first, second = np.array(self.pairs, dtype=object).reshape(-1, 2).T
        columns = {name: getattr(self, name) for name in ("importance", "variance", "joint")}
        columns |= {"main_first": self.main[..., 0], "main_second": self.main[..., 1]}
        columns |= {"p_value": self.p_value, "p_adjusted": self.p_adjusted}
        return {"first": first, "second": second, **columns, "n_active": self.n_active[..., None, :]}

    def _level_bits(self, level: int) -> Status:
        """Statuses of a level as a whole, which has few rows if it has so for every pair."""
        bits = super()._level_bits(level)
        return bits if have_few_rows(self.n_target, self.n_region)[level] else bits & ~Status.LOW_DATA

    def cells(self, level: int) -> dict[str, list[str]]:
        """Importance, p, rows with both parameters active and remarks of each pair at a level."""
        columns = {"importance": self._mean_cells(level)}
        if self.n_seeds == 1:
            columns["p"] = self._p_cells(level, self.n_draws)
        columns["rows"] = [size_text(column) for column in self.by_seed(self.n_active).T]
        return columns | {"remarks": ["; ".join(facts) for facts in self._facts(level)]}

    def sentences(self, level: int | None = None) -> list[str]:
        """What to do next, which pairs interact, and how sure that is; by default at the `usual_level`."""
        if not self.pairs:
            return ["What mattered: there are no pairs, as the space has a single parameter."]
        return super().sentences(level)

    def _sentences(self, level: int) -> tuple[str, str, str]:
        labels, mean, order = self.labels, self.mean[level], self.order(level)
        named = [f"{labels[j]} ({value_text(mean[j])})" for j in order if self.above[level, j]]
        mattered = f"{join_some(named)} together" if named else "no pair is above chance"
        if self.n_seeds > 1:
            sure = f"± is the standard error of {plural(self.n_seeds, 'seed')}"
        elif self.n_draws:
            sure = f"p-values are adjusted for {plural(len(labels), 'pair')}"
        else:
            sure = "not tested against chance"
        sure = "; ".join([sure, *self._level_facts(level), MAY_LEARN])
        both = f"look at both parameters of {labels[order[0]]} together"
        step = both if named else "tune each parameter by itself, or add rows to see weaker pairs"
        return f"{mattered} for being among {self.best_rows(level)}", sure, step

    def details(self) -> list[str]:
        """How the numbers of the table were made, a line each."""
        share = "importance: share of the variance of being in the target that only both together explain"
        draws = f"by {plural(self.n_draws, 'draw')}, adjusted for the pairs of a level (Holm)"
        p = [f"p: of no interaction, {draws}"] * (self.n_draws > 0)
        return [share, "rows: rows in which both are active", *p]


def _best_values(
    domain: Domain, values: list, target: np.ndarray, region: np.ndarray
) -> tuple[tuple[Any, ...], Any]:
    """The good values of one regime, and the cells of the grid that contain them."""
    excess = target - region
    if isinstance(domain, Categorical):
        chosen = np.flatnonzero(excess > 0)
        chosen = chosen[np.argsort(-target[chosen] / np.maximum(region[chosen], 1e-300), kind="stable")]
        return tuple(values[i] for i in chosen), chosen
    # The contiguous cells with the largest sum, as the largest difference of two running sums; rounded, so
    # that of equal ones those with the fewest cells at either end are taken in any precision.
    running = np.round(np.concatenate([[0.0], np.cumsum(excess)]), 5)
    if domain.is_circle:
        # All cells sum to 0, so the best arc goes from the smallest running sum to the largest.
        start, stop = int(np.argmin(running[:-1])), int(np.argmax(running[1:])) + 1
        cells = np.arange(start, stop + len(values) * (stop <= start)) % len(values)
        return _ends(domain, values, start, stop), cells
    lowest = np.minimum.accumulate(running[:-1])
    stop = int(np.argmax(running[1:] - lowest)) + 1
    start = stop - 1 - int(np.argmin(running[:stop][::-1]))
    return _ends(domain, values, start, stop), slice(start, stop)


def _ends(domain: Domain, values: list, start: int, stop: int) -> tuple[Any, Any]:
    """The ends of a range of cells: midway to the next cell on the domain's axis, or listed numbers."""
    if isinstance(domain, Ordinal):
        return float(values[start]), float(values[stop - 1])
    # If bounds move, values are places between them, not values on the domain's axis.
    log = getattr(domain, "log", False) and not isinstance(domain, Varying)
    centres = np.log(values) if log else np.asarray(values, np.float64)
    middles = (centres[1:] + centres[:-1]) / 2
    edges = [values[0], *(np.exp(middles) if log else middles), values[-1]]
    if isinstance(domain, Numeric) and domain.periodic:
        edges[0], edges[-1] = domain.low, domain.high
    low, high = edges[start], edges[stop]
    if isinstance(domain, Int):
        low, high = int(np.ceil(low - 1e-9)), int(np.floor(high + 1e-9))
        return low, high if domain.periodic else max(low, high)
    return float(low), float(high)


def good_text(good: GoodValues, domains: Sequence[Domain]) -> str:
    """ "0.2 to 0.4 (80 % of the best, 20 % of all)"; "" if both rounded shares are equal.

    For one of several domains, or a parameter with conditions, shares are of its rows: "80 % of the best
    where it is active, 20 % of all there".
    """
    if round(good.target, 2) <= round(good.region, 2):
        return ""
    target, region = (percent(round(share, 2)) for share in (good.target, good.region))
    part = " on this domain" if len(domains) > 1 else " where it is active" * bool(domains[0].conditions)
    shares = f"{target} of the best{part}, {region} of all{' there' * bool(part)}"
    return f"{shorten(values_text(good.values, domains[good.regime]), _TEXT)} ({shares})"


def pick_level(levels: np.ndarray, n_target: np.ndarray, n_region: np.ndarray) -> int:
    """Index of the level nearest to 0.1 that leaves more than ten rows in the target and outside it.

    If no level does, it is the index of the level whose target is nearest to half of the region. A row that
    ties with the cut-off is in the target, and a row of weight w counts w times. With several seeds, a level
    is not used if half of the seeds or more have too few rows there.

    Args:
        levels: (q,) target quantiles.
        n_target: (..., q) rows in each target.
        n_region: (...,) rows in the region.

    >>> int(pick_level(np.array([0.1, 0.2, 0.5]), np.array([6, 12, 30]), np.array(60)))
    1
    """
    few = have_few_rows(n_target, n_region)
    if not few.all():
        return int(np.where(few, np.inf, np.abs(levels - USUAL_LEVEL)).argmin())
    share = (n_target / np.maximum(n_region, 1)[..., None]).reshape(-1, len(levels)).mean(axis=0)
    return int(np.lexsort((np.abs(levels - 0.5), np.abs(share - 0.5)))[0])


def have_few_rows(n_target: np.ndarray, n_region: np.ndarray) -> np.ndarray:
    """(q,) whether half of the seeds or more have ten rows or fewer in the target, or outside it."""
    few = np.minimum(n_target, n_region[..., None] - n_target) <= LOW_DATA_ROWS
    return few.reshape(-1, few.shape[-1]).mean(axis=0) >= MOST_SEEDS


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


def holm(p: np.ndarray) -> np.ndarray:
    """p-values (..., d) adjusted for d tests, max over j <= i of (d - j + 1) p_(j), at most 1 (Holm 1979).

    NaN stands for a test that was not made: it stays NaN and is not counted in d.

    >>> holm(np.array([0.01, 0.04, np.nan, 0.03])).tolist()
    [0.03, 0.06, nan, 0.06]
    """
    order = np.argsort(p, axis=-1, kind="stable")  # NaN comes last
    ranked = np.take_along_axis(p, order, axis=-1)
    tests = (~np.isnan(p)).sum(axis=-1, keepdims=True)
    steps = ranked * np.maximum(tests - np.arange(p.shape[-1]), 1)
    adjusted = np.where(np.isnan(ranked), np.nan, np.minimum(np.maximum.accumulate(steps, axis=-1), 1))
    return np.take_along_axis(adjusted, np.argsort(order, axis=-1), axis=-1)


def _divisor(total: np.ndarray) -> np.ndarray:
    """``total``, with 1 in place of 0, to divide by."""
    return np.where(total > 0, total, 1)


@compiled
def _densities(
    counts: Shaped[Any, "s q1 g"],
    divergence: AbstractDivergence,
    kernel: type[AbstractKernel],
    uniform: bool,
) -> tuple[Float[Array, "s q g"], Float[Array, "s q g"]]:
    return jax.vmap(lambda sets: divergence.densities(RegimeCounts(sets, kernel, uniform=uniform)))(counts)
