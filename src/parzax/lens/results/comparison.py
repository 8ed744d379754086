"""Differences between the importances of two logs, with intervals and p-values."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from parzax._words import plural
from parzax.lens._waiting import says_that_it_compiles
from parzax.lens.logs import Observations
from parzax.lens.logs.groups import find_groups
from parzax.lens.logs.observations import checked_log
from parzax.lens.results.analysis import checked_key, cond_ped_anova
from parzax.lens.results.result import LEARNED, NORMAL, AbstractResult, ImportanceResult, attributes
from parzax.lens.results.targets import usable_rows
from parzax.lens.results.texts import interval_text, join_some, mean_text, percent, size_text


class Differences(NamedTuple):
    """Arrays of a comparison: differences (q, d), their intervals (q, d, 2), p-values, statuses, sizes."""

    variance: np.ndarray
    interval: np.ndarray
    p_value: np.ndarray
    status: np.ndarray
    n_target: np.ndarray
    n_region: np.ndarray


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Comparison(AbstractResult):
    """Differences between the importances of two logs of one space.

    Attributes:
        estimates: `Differences`; their arrays are attributes of the result too: ``difference`` (importance in
            the second log minus importance in the first, means over seeds; NaN where one of the logs has no
            importance at that level), ``interval`` (of the difference), and ``p_value`` (two-sided, of no
            difference; NaN where undefined).
        space: the search space.
        levels: (q,) requested levels.
        region: level of the region.
        report: how the first log was read.
        goal: what the best rows have, such as "smallest loss".
        facts: sentences on how the result was computed, and on the second log.
        first, second: the results of the two logs, with (..., q, d) arrays.
    """

    estimates: Differences
    first: ImportanceResult
    second: ImportanceResult

    kind: ClassVar[str] = "parameter"
    shown: ClassVar[str] = "difference"

    difference, interval = attributes("variance", "interval")

    @cached_property
    def is_defined(self) -> np.ndarray:
        """(q, d) whether both logs have an importance at the level."""
        return ~np.isnan(self.difference)

    @property
    def differs(self) -> np.ndarray:
        """(q, d) whether the p-value, adjusted for the parameters of a level (Holm 1979), is at most 0.1.

        If both logs come from the same search, at most one comparison in ten reports any difference.
        """
        return np.asarray(self.p_adjusted <= 1 - self.coverage)

    @cached_property
    def above(self) -> np.ndarray:
        """(q, d) `differs`."""
        return self.differs

    @cached_property
    def _over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        # Sizes of the differences, by which entries are ordered; their errors are in ``interval``.
        return np.abs(np.nan_to_num(self.difference)), np.full(self.difference.shape, np.nan)

    def cells(self, level: int) -> dict[str, list[str]]:
        """Both importances, their difference, its interval and whether it differs, at a level."""
        columns = {}
        for name, result in (("first", self.first), ("second", self.second)):
            mean = np.where(result.seeds_counted[level] > 0, result.mean[level], np.nan)
            columns[name] = list(map(mean_text, mean))
        columns["difference"] = ["-" if np.isnan(x) else _signed(x) for x in self.difference[level]]
        ends = self.interval[level]
        columns[f"{percent(self.coverage)} interval"] = [interval_text(*pair) for pair in ends]
        return columns | {"remarks": ["differs" if x else "" for x in self.differs[level]]}

    def best_rows(self, level: int) -> str:
        """The target in words: "the best 10 % (smallest loss)"."""
        return f"the best {percent(self.levels[level])} ({self.goal})"

    def _sentences(self, level: int) -> tuple[str, str, str]:
        labels, change = self.labels, self.difference[level]
        named = [f"{labels[j]} ({_signed(change[j])})" for j in self.order(level) if self.differs[level, j]]
        if named:
            mattered, step = f"{join_some(named)} changed", "tune anew what changed"
        else:
            mattered = "no parameter's importance changed beyond chance"
            step = "treat the logs as alike, or add rows to see smaller changes"
        if np.isnan(self.p_value[level]).all():
            sure = "unknown: it takes resamples, or several seeds"
        else:
            rows = " with ".join(plural(size_text(log.n_region), "row") for log in (self.first, self.second))
            sure = f"compares {rows}; p-values are adjusted for {plural(len(labels), 'parameter')}"
        if self.first.learned() or self.second.learned():
            sure += f"; {LEARNED}"
        return f"{mattered}, for being among {self.best_rows(level)}", sure, step

    def details(self) -> list[str]:
        """How the numbers of the table were made, a line each."""
        least = f"p, adjusted for the parameters of a level (Holm), is at most {1 - self.coverage:.1g}"
        return [*self.first.details(), f"interval: of one parameter by itself; differs: {least}"]

    def _columns(self) -> dict[str, np.ndarray]:
        low, high = np.moveaxis(self.interval, -1, 0)
        columns = {"parameter": np.array(self.names, object)}
        columns |= {"first": self.first.mean, "second": self.second.mean}
        columns |= {"difference": self.difference, "difference_low": low, "difference_high": high}
        return columns | {"p_value": self.p_value, "differs": self.differs}


@says_that_it_compiles
def compare(
    first: Observations,
    second: Observations | None = None,
    levels: Any = None,
    *,
    n_resamples: int = 1000,
    key: Any = None,
    **options: Any,
) -> Comparison:
    """Compare the importances of two logs, or of the first and the second half of one.

    The result has the difference of importances (Eq. 8 of arXiv 2601.20800) at every level, with intervals.
    For single logs an interval comes from recentred half-samples, `ImportanceResult.importance_draws`, drawn
    separately for each log. For logs with several seeds it is the difference ± 1.64 standard errors.

    Args:
        first, second: logs of one space. Without a second log, the first and the second half of the rows are
            compared: this shows whether importances change during a search. Rows that belong together in a
            group (see `parzax.Observations.from_arrays`) are in the half of the group's first row.
        levels, options: as in `cond_ped_anova`, for both logs, whose rows alone are read. If no level is
            given, it is chosen for the smaller log.
        n_resamples: number of half-samples of each log. With 0, intervals and p-values are NaN.
        key: a typed key; ``jax.random.key(0)`` by default.

    Raises:
        ValueError: different spaces; fewer than four rows to halve; as `cond_ped_anova`.

    >>> import numpy as np, parzax as px
    >>> x = np.random.default_rng(0).uniform(size=(400, 2))
    >>> space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
    >>> loss = np.where(np.arange(400) < 200, x[:, 0], x[:, 1])
    >>> comparison = px.compare(px.Observations.from_arrays(space, x, loss), levels=0.2)
    >>> comparison.difference.round().tolist(), comparison.differs.tolist()
    ([[-1.0, 1.0]], [[True, True]])
    """
    checked_log("first", first)
    if second is None:
        first, second = _halves(first)
    checked_log("second", second)
    if not first.space.agrees_with(second.space):
        names = f"{list(first.space.names)} and {list(second.space.names)}, or other domains of these"
        raise ValueError(f"the logs have different spaces, {names}; read both with one space=.")
    logs, keys, results = (first, second), jax.random.split(checked_key(key)), {}
    # If no level is given, the level chosen for the smaller log is used for both.
    for i in sorted(range(2), key=lambda i: logs[i].n):
        single = math.prod(logs[i].batch_shape) == 1
        sampled = {"n_resamples": n_resamples if single else 0, "n_shuffles": 0, "key": keys[i]}
        results[i] = cond_ped_anova(logs[i], levels, surrogate=None, **sampled, **options)
        levels = results[i].levels
    before, after = results[0], results[1]
    undefined = ((before.seeds_counted == 0) | (after.seeds_counted == 0))[:, None]
    difference = after.mean - before.mean
    interval, p = _interval(before, after, difference)
    interval, p = np.where(undefined[..., None], np.nan, interval), np.where(undefined, np.nan, p)
    smaller = min(before, after, key=lambda result: np.min(result.n_region))
    status = np.bitwise_or(*(result.usual_status for result in (before, after)))
    sizes = smaller.n_target, smaller.n_region
    estimates = Differences(np.where(undefined, np.nan, difference), interval, p, status, *sizes)
    facts = [f"second: {after.report.lines(after.n_seeds)[0]}"] * (after.report is not before.report)
    facts += [f"first: {fact}" for fact in before.facts] + [f"second: {fact}" for fact in after.facts]
    about = {name: getattr(before, name) for name in ("space", "levels", "region", "report", "goal")}
    return Comparison(estimates=estimates, **about, facts=tuple(facts), first=before, second=after)


def _interval(
    first: ImportanceResult, second: ImportanceResult, difference: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, d, 2) ends of intervals and (q, d) p-values, from differences of draws or from standard errors."""
    logs, shape = (first, second), (-1, *difference.shape)
    before, after = (log.importance_draws.reshape(shape) if log.n_resamples else None for log in logs)
    if before is not None and after is not None:
        between, tail = after - before, (1 - first.coverage) / 2
        ends = np.quantile(between, [tail, 1 - tail], axis=0)
        beyond = np.minimum((between <= 0).sum(axis=0), (between >= 0).sum(axis=0))
        p = np.minimum(2 * (1 + beyond) / (len(between) + 1), 1)
        return np.moveaxis(ends, 0, -1).astype(difference.dtype), p
    draws = (before, after)
    errors = (log.standard_error if x is None else x.std(axis=0) for log, x in zip(logs, draws, strict=True))
    error = np.hypot(*errors)
    ends = difference[..., None] + np.array([-NORMAL, NORMAL], error.dtype) * error[..., None]
    away = np.where(error > 0, np.abs(difference) / np.where(error > 0, error, 1), np.inf)
    # NaN where the standard error is not known: no test is possible.
    away = np.where(np.isnan(error), np.nan, np.where(difference == 0, 0, away))
    return ends, np.vectorize(math.erfc, otypes=[float])(away / math.sqrt(2))


def _signed(x: float) -> str:
    """A difference with two decimals; 0 is not negative."""
    return f"{round(float(x), 2) + 0.0:+.2f}"


def _halves(obs: Observations) -> tuple[Observations, Observations]:
    """Split groups of rows into those that begin early and the others; each row may be a separate group."""
    usable, groups = usable_rows(obs).reshape(math.prod(obs.batch_shape), obs.n), find_groups(obs)
    early = np.zeros(usable.shape, bool)
    for i, rows in enumerate(usable):
        labels = np.flatnonzero(rows) if groups is None else groups[i, rows]
        first, number = np.unique(labels, return_index=True, return_inverse=True)[1:]
        if len(first) < 4:
            n = plural(len(first), "usable row" if groups is None else "group")
            raise ValueError(f"a log of {n} has no halves to compare; give a second one.")
        early[i, rows] = np.isin(first, np.sort(first)[: len(first) // 2])[number]
    early = early.reshape(obs.losses.shape[:-1])
    return obs.select(early), obs.select(~early)
