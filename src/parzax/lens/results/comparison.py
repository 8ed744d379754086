"""Differences between the importances of two logs, with intervals and p-values."""

import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from parzax import _checks
from parzax._words import plural
from parzax.lens.logs import Observations
from parzax.lens.logs.groups import find_groups
from parzax.lens.logs.report import LEARNED
from parzax.lens.results.base import Readable, ReadTable, attributes
from parzax.lens.results.labels import short_labels
from parzax.lens.results.ped_anova import cond_ped_anova
from parzax.lens.results.result import ImportanceResult
from parzax.lens.results.sweep import checked_key
from parzax.lens.results.targets import usable_rows
from parzax.lens.results.uncertainty import holm

_SHOWN = 30
# Nominal coverage of intervals, and the half-width of a normal interval in standard errors.
_LEVEL, _NORMAL = 0.9, 1.6448536269514722


@dataclass(frozen=True, eq=False)
class Comparison(Readable):
    """Importances of two logs of one space, and their differences.

    Attributes:
        first, second: the results of the two logs, with (..., q, d) arrays.
        difference: (q, d) importance in the second log minus importance in the first, means over seeds; NaN
            where one of the logs has no importance at that level.
        interval: (q, d, 2) ends of the interval of the difference.
        p_value: (q, d) two-sided p-value of the null hypothesis of no difference; NaN where undefined.
        level: nominal coverage of the intervals.
    """

    first: ImportanceResult
    second: ImportanceResult
    difference: np.ndarray
    interval: np.ndarray
    p_value: np.ndarray
    level: float = _LEVEL

    # Names in the order of the last axis of `difference`, and (q,) requested levels.
    names, target_quantile = attributes("names", "target_quantile", of="first")

    @property
    def differs(self) -> np.ndarray:
        """(q, d) whether the p-value, adjusted for the parameters of a level (Holm 1979), is at most 0.1.

        If both logs come from the same search, at most one comparison in ten reports any difference.
        """
        return holm(self.p_value) <= 1 - self.level

    def __repr__(self) -> str:
        size = f"{plural(len(self.target_quantile), 'level')}, {plural(len(self.names), 'parameter')}"
        return f"Comparison({size}; {int(self.differs.sum())} of {self.difference.size} differ)"

    @property
    def usual_level(self) -> int:
        """Index of the level that is shown: `ImportanceResult.usual_level` of the smaller log."""
        return min((self.first, self.second), key=lambda result: np.min(result.n_region)).usual_level

    def to_columns(self) -> dict[str, np.ndarray]:
        """Columns with one entry per level and parameter: importances, their difference and its interval."""
        low, high = np.moveaxis(self.interval, -1, 0)
        columns = {"target_quantile": self.target_quantile[:, None]}
        columns |= {"parameter": np.array(self.names, object)}
        columns |= {"first": self.first.over_seeds()[0], "second": self.second.over_seeds()[0]}
        columns |= {"difference": self.difference, "difference_low": low, "difference_high": high}
        columns |= {"p_value": self.p_value, "differs": self.differs}
        return {name: np.broadcast_to(x, self.difference.shape).flatten() for name, x in columns.items()}

    def _table(self) -> ReadTable:
        """A table of the usual level, with the largest difference first."""
        level = self.usual_level
        shares = (
            np.where(result.seeds_counted[level] > 0, result.over_seeds()[0][level], np.nan)
            for result in (self.first, self.second)
        )
        first, second = (["-" if np.isnan(x) else f"{x:.3f}" for x in of_log] for of_log in shares)
        labels = short_labels(self.names, 40)
        rows = [("parameter", "first", "second", "difference", f"{100 * self.level:g} % interval", "")]
        for j in np.argsort(-np.abs(np.nan_to_num(self.difference[level])), kind="stable")[:_SHOWN]:
            change, (low, high) = self.difference[level, j], self.interval[level, j]
            difference = "-" if np.isnan(change) else f"{change:+.3f}"
            ends = "" if np.isnan(low) else f"{low:+.2f} to {high:+.2f}"
            differs = "differs" if self.differs[level, j] else ""
            rows.append((labels[j], first[j], second[j], difference, ends, differs))
        title = f"importance at level {self.target_quantile[level]:g}"
        return ReadTable(title, list(zip(*rows, strict=True)), ("parameter", ""), self._notes())

    def _notes(self) -> list[str]:
        sizes = (f"{np.min(result.n_region):g}" for result in (self.first, self.second))
        lines = [f"rows: {' and '.join(sizes)}"]
        reports = [result.report for result in (self.first, self.second)]
        lines += filter(None, (report.level for report in reports))
        if np.isnan(self.difference[self.usual_level]).all():
            lines.append("nothing can be compared: one of the logs has no importances at this level")
        elif np.isnan(self.p_value[self.usual_level]).all():
            lines.append("nothing says how sure this is: that needs half-samples, or several seeds")
        else:
            differs, ends = self.differs[self.usual_level], self.interval[self.usual_level]
            word, limit = ('"differs"', "at most") if differs.any() else ("no parameter differs", "above")
            lines.append(f"{word}: p, adjusted for all parameters (Holm), is {limit} {1 - self.level:g}")
            if (~differs & (np.sign(ends).prod(axis=-1) > 0)).any():
                lines.append("an interval without 0 is not enough, as it is of one parameter by itself")
        if (left := len(self.names) - _SHOWN) > 0:
            lines.append(f"not shown: {plural(left, 'parameter')} with smaller differences")
        if (q := len(self.target_quantile)) > 1:
            lines.append(f"one of {q} levels; all are in difference and interval")
        for name, result in (("first", self.first), ("second", self.second)):
            sentences = [result.report.groups, *result.advice()]
            lines += [f"{name}: {sentence}" for sentence in filter(None, sentences)]
        return lines + [LEARNED] * any(report.learned for report in reports)


def compare(
    first: Observations,
    second: Observations | None = None,
    target_quantile: Any = None,
    region_quantile: float = 1.0,
    *,
    n_resamples: int = 1000,
    key: Any = None,
    **options: Any,
) -> Comparison:
    """Compare the importances of two logs, or of the first and the second half of one.

    The result has the difference of importances (Eq. 8 of arXiv 2601.20800) at every level, with intervals.
    For single logs an interval comes from recentred half-samples, as in `Uncertainty`, drawn separately for
    each log. For logs with several seeds it is the difference ± 1.64 standard errors.

    Args:
        first, second: logs of one space. Without a second log, the first and the second half of the rows are
            compared: this shows whether importances change during a search. Rows that belong together in a
            group (see `parzax.Observations.from_arrays`) are in the half of the group's first row.
        target_quantile, region_quantile, options: as in `cond_ped_anova`, for both logs. If no level is
            given, it is chosen for the smaller log.
        n_resamples: number of half-samples of each log. With 0, intervals and p-values are NaN.
        key: a typed key; ``jax.random.key(0)`` by default.

    Raises:
        ValueError: different spaces; fewer than four rows to halve; as `cond_ped_anova`.

    >>> import numpy as np, parzax as px
    >>> x = np.random.default_rng(0).uniform(size=(400, 2))
    >>> space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
    >>> loss = np.where(np.arange(400) < 200, x[:, 0], x[:, 1])
    >>> comparison = px.compare(px.Observations.from_arrays(space, x, loss), target_quantile=0.2)
    >>> comparison.difference.round().tolist(), comparison.differs.tolist()
    ([[-1.0, 1.0]], [[True, True]])
    """
    _checks.instance("first", first, Observations, "parzax.Observations")
    if second is None:
        first, second = _halves(first)
    _checks.instance("second", second, Observations, "parzax.Observations")
    if not first.space.agrees_with(second.space):
        names = f"{list(first.space.names)} and {list(second.space.names)}, or other domains of these"
        raise ValueError(f"the logs have different spaces, {names}; read both with one space=.")
    logs, keys, results = (first, second), jax.random.split(checked_key(key)), {}
    # If no level is given, the level chosen for the smaller log is used for both.
    for i in sorted(range(2), key=lambda i: logs[i].n):
        single = math.prod(logs[i].batch_shape) == 1
        sampled = {"n_resamples": n_resamples, "n_shuffles": 0, "key": keys[i]} if single else {}
        results[i] = cond_ped_anova(logs[i], target_quantile, region_quantile, **sampled, **options)
        target_quantile = results[i].target_quantile
    before, after = results[0], results[1]
    undefined = ((before.seeds_counted == 0) | (after.seeds_counted == 0))[:, None]
    difference = after.over_seeds()[0] - before.over_seeds()[0]
    interval, p = _interval(before, after, difference)
    interval, p = np.where(undefined[..., None], np.nan, interval), np.where(undefined, np.nan, p)
    return Comparison(before, after, np.where(undefined, np.nan, difference), interval, p)


def _interval(
    first: ImportanceResult, second: ImportanceResult, difference: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, d, 2) ends of intervals and (q, d) p-values, from differences of draws or from standard errors."""
    logs, shape = (first, second), (-1, *difference.shape)
    before, after = (log.uncertainty and log.uncertainty.importances.reshape(shape) for log in logs)
    if before is not None and after is not None:
        between, tail = after - before, (1 - _LEVEL) / 2
        ends = np.quantile(between, [tail, 1 - tail], axis=0)
        beyond = np.minimum((between <= 0).sum(axis=0), (between >= 0).sum(axis=0))
        p = np.minimum(2 * (1 + beyond) / (len(between) + 1), 1)
        return np.moveaxis(ends, 0, -1).astype(difference.dtype), p
    draws = (before, after)
    errors = (log.over_seeds()[1] if x is None else x.std(axis=0) for log, x in zip(logs, draws, strict=True))
    error = np.hypot(*errors)
    ends = difference[..., None] + np.array([-_NORMAL, _NORMAL], error.dtype) * error[..., None]
    away = np.where(error > 0, np.abs(difference) / np.where(error > 0, error, 1), np.inf)
    # NaN where the standard error is not known: no test is possible.
    away = np.where(np.isnan(error), np.nan, np.where(difference == 0, 0, away))
    return ends, np.vectorize(math.erfc, otypes=[float])(away / math.sqrt(2))


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
