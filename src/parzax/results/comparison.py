"""Do two logs give different importances? Differences, and how sure they are."""

import math
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from parzax import _checks
from parzax._words import plural, visible
from parzax.observations import Observations
from parzax.results.base import Readable, ReadTable, attributes
from parzax.results.labels import short_names
from parzax.results.ped_anova import cond_ped_anova
from parzax.results.result import ImportanceResult
from parzax.results.uncertainty import holm

_SHOWN = 30
# Nominal coverage of intervals, and half the width of a normal one in standard errors.
_LEVEL, _NORMAL = 0.9, 1.6448536269514722


@dataclass(frozen=True, eq=False)
class Comparison(Readable):
    """Importances of two logs of one space, and their differences.

    Attributes:
        first, second: the results; (..., q, d) arrays as ever.
        difference: (q, d) importance in the second log less that in the first, means over seeds; NaN where
            one of them has none at that level.
        interval: (q, d, 2) ends of the interval of the difference.
        p_value: (q, d) of no difference, two-sided; NaN where there is none.
        level: nominal coverage of the intervals.
    """

    first: ImportanceResult
    second: ImportanceResult
    difference: np.ndarray
    interval: np.ndarray
    p_value: np.ndarray
    level: float = _LEVEL

    # Parameter names, in the order of the last axis of `difference`; (q,) levels as asked.
    names, target_quantile = attributes("names", "target_quantile", of="first")

    @property
    def differs(self) -> np.ndarray:
        """(q, d) whether the p-value, adjusted for the parameters of a level (Holm 1979), is at most 0.1.

        Of two logs of one search any parameter differs in at most one comparison of ten.
        """
        return holm(self.p_value) <= 1 - self.level

    def __repr__(self) -> str:
        size = f"{plural(len(self.target_quantile), 'level')}, {len(self.names)} parameters"
        return f"Comparison({size}; {int(self.differs.sum())} of {self.difference.size} differ)"

    def _table(self) -> ReadTable:
        """The first level, largest difference first."""
        ours, others = (result.over_seeds()[0][0] for result in (self.first, self.second))
        short = short_names([visible(name) for name in self.names], 40)
        rows = [["parameter", "first", "second", "difference", f"{100 * self.level:g} % interval", ""]]
        for j in np.argsort(-np.abs(np.nan_to_num(self.difference[0])), kind="stable")[:_SHOWN]:
            low, high = self.interval[0, j]
            ends = "" if np.isnan(low) else f"{low:+.2f} to {high:+.2f}"
            said = "differs" if self.differs[0, j] else ""
            change = "-" if np.isnan(self.difference[0, j]) else f"{self.difference[0, j]:+.3f}"
            numbers = f"{ours[j]:.3f}", f"{others[j]:.3f}", change
            rows.append([short[visible(self.names[j])], *numbers, ends, said])
        return ReadTable(f"importance at level {self.target_quantile[0]:g}", rows, (0, 5), self._notes())

    def _notes(self) -> list[str]:
        sizes = (f"{np.min(result.n_region):g}" for result in (self.first, self.second))
        lines = [f"rows: {' and '.join(sizes)}"]
        if self.differs[0].any():
            lines.append("differs: adjusted for all parameters (Holm), each interval is by itself")
        left = len(self.names) - _SHOWN
        if left > 0:
            lines.append(f"{left} parameters with smaller differences are not shown")
        if len(self.target_quantile) > 1:
            lines.append(
                f"the first of {len(self.target_quantile)} levels; all are in difference and interval"
            )
        for name, result in (("first", self.first), ("second", self.second)):
            lines += [f"{name}: {sentence}" for sentence in result.advice()]
        return lines


def compare(
    first: Observations,
    second: Observations | None = None,
    target_quantile: Any = 0.1,
    region_quantile: float = 1.0,
    *,
    n_resamples: int = 1000,
    key: Any = None,
    **options: Any,
) -> Comparison:
    """Compare the importances of two logs, or of the first and the second half of one.

    The difference of importances (Eq. 8 of arXiv 2601.20800) at every level, with intervals: of single logs
    from recentred half-samples, as of `Uncertainty`, drawn for each log by itself; of logs with several seeds
    each, difference ± 1.64 standard errors.

    Args:
        first, second: logs of one space. Without a second the rows of the first are halved, in their order:
            does the search find other things important later on?
        target_quantile, region_quantile, options: as of `cond_ped_anova`, for both.
        n_resamples: how many half-samples of each.
        key: a typed key; ``jax.random.key(0)`` by default.

    Raises:
        ValueError: different spaces; fewer than four rows to halve; as `cond_ped_anova`.

    >>> import numpy as np, parzax as px
    >>> x = np.random.default_rng(0).uniform(size=(400, 2))
    >>> space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
    >>> loss = np.where(np.arange(400) < 200, x[:, 0], x[:, 1])
    >>> found = px.compare(px.Observations.from_arrays(space, x, loss), target_quantile=0.2)
    >>> found.difference.round().tolist(), found.differs.tolist()
    ([[-1.0, 1.0]], [[True, True]])
    """
    for name, obs in (("first", first), ("second", second)):
        if not isinstance(obs, Observations) and not (name == "second" and obs is None):
            raise TypeError(f"{name} must be parzax.Observations, got {type(obs).__name__}.")
    if second is None:
        first, second = _halves(first)
    if first.space != second.space:
        raise ValueError(
            f"the logs have different spaces, {list(first.space.names)} and {list(second.space.names)}, or "
            "other domains of these; read both with one space=."
        )
    key = jax.random.key(0) if key is None else key
    _checks.check_key(key)
    keys = jax.random.split(key)

    def analysed(obs: Observations, own_key: Any) -> ImportanceResult:
        single = math.prod(obs.batch_shape) == 1
        sampled = {"n_resamples": n_resamples, "n_shuffles": 0, "key": own_key} if single else {}
        return cond_ped_anova(obs, target_quantile, region_quantile, **sampled, **options)

    before, after = analysed(first, keys[0]), analysed(second, keys[1])
    known = ((before.seeds_counted > 0) & (after.seeds_counted > 0))[:, None]
    difference = np.where(known, after.over_seeds()[0] - before.over_seeds()[0], np.nan)
    interval, p = _interval(before, after, difference)
    interval, p = np.where(known[..., None], interval, np.nan), np.where(known, p, np.nan)
    return Comparison(before, after, difference, interval, p)


def _interval(
    first: ImportanceResult, second: ImportanceResult, difference: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(q, d, 2) ends and (q, d) p-values: of differences of draws, or from standard errors."""
    draws = [_draws(result) for result in (first, second)]
    if draws[0] is not None and draws[1] is not None:
        between, tail = draws[1] - draws[0], (1 - _LEVEL) / 2
        ends = np.quantile(between, [tail, 1 - tail], axis=0)
        beyond = np.minimum((between <= 0).sum(axis=0), (between >= 0).sum(axis=0))
        p = np.minimum(2 * (1 + beyond) / (len(between) + 1), 1)
        return np.moveaxis(ends, 0, -1).astype(difference.dtype), p
    errors = [
        result.over_seeds()[1] if own is None else own.std(axis=0)
        for result, own in zip((first, second), draws, strict=True)
    ]
    error = np.hypot(*errors)
    ends = np.stack([difference - _NORMAL * error, difference + _NORMAL * error], axis=-1)
    away = np.where(error > 0, np.abs(difference) / np.where(error > 0, error, 1), np.inf)
    away = np.where(difference == 0, 0, away)
    return ends, np.vectorize(math.erfc, otypes=[float])(away / math.sqrt(2))


def _draws(result: ImportanceResult) -> np.ndarray | None:
    known = result.uncertainty
    if known is None or not known.n_resamples:
        return None
    return known.importances.reshape(known.n_resamples, *result.importance.shape[-2:])


def _halves(obs: Observations) -> tuple[Observations, Observations]:
    usable = ~np.isnan(obs.losses).all(axis=-1) & (obs.weight is None or obs.weight > 0)
    n = int(usable.sum(axis=-1).min(initial=obs.n))
    if n < 4:
        raise ValueError(f"a log of {n} usable rows has no halves to compare; give a second one.")
    early = np.cumsum(usable, axis=-1) <= usable.sum(axis=-1, keepdims=True) // 2
    return obs.select(early), obs.select(~early)
