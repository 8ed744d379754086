"""From an encoded log to its `Uncertainty`: rows in order, samples with cut-offs of their own, shuffles."""

from typing import Any

import numpy as np

from parzax import _checks
from parzax.importance import Encoded, Importance
from parzax.importance.draws import METHODS
from parzax.importance.resample import Ranked
from parzax.observations import Observations, level_weight
from parzax.results.estimator import GridEstimator
from parzax.results.replicates import replicates
from parzax.results.uncertainty import Uncertainty, shuffles_for

# Roundings by which a variance may differ from the same counts' in another place of the program.
_SAME = 1e-5
# Shuffles that nobody asked for, beyond those without which nothing could be above chance.
_MOST_SHUFFLES = 2000
# Shuffles of the page and of the command line, at least.
SHUFFLES = 1000
# Rows that weights may stand for.
_MOST_ROWS = 1 << 24


def check_resampling(
    n_resamples: Any, n_shuffles: Any, key: Any, method: str, n_parameters: int
) -> tuple[int, int]:
    """How many samples and shuffles; errors name what is wrong.

    By default there are as many shuffles as samples, or twice as many as p-values of so many parameters need.
    """
    for name, n in (("n_resamples", n_resamples), ("n_shuffles", n_shuffles)):
        if n is not None and (isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0):
            raise ValueError(f"{name} must be an integer of at least 0, got {n!r}.")
    _checks.one_of("resampling", method, tuple(METHODS))
    n_samples = int(n_resamples)
    if n_shuffles is None:
        n_shuffles = shuffles_by_default(n_samples, n_parameters) if n_samples else 0
    n_shuffles = int(n_shuffles)
    if (n_samples or n_shuffles) and key is not None:
        _checks.check_key(key)
    return n_samples, n_shuffles


def shuffles_by_default(n_samples: int, n_parameters: int) -> int:
    """As many as samples, and enough for p-values of so many parameters."""
    least = shuffles_for(n_parameters)
    return max(n_samples, least, min(2 * least, _MOST_SHUFFLES))


def uncertainty(
    key: Any,
    obs: Observations,
    losses: np.ndarray,
    encoded: Encoded,
    found: Importance,
    estimator: GridEstimator,
    *,
    uniform: bool,
    n_samples: int,
    n_shuffles: int,
    method: str,
) -> Uncertainty:
    """Samples and shuffles of s logs, in ascending order of levels.

    Args:
        key: a typed key.
        obs: the log.
        losses: (s, n), NaN where not usable.
        encoded, found: of the log, s seeds; levels in ascending order.
        estimator, uniform: as in `parzax.results.sweep`.
        n_samples, n_shuffles, method: see `parzax.results.replicates`.
    """
    codes, counts, layout = encoded.codes, found.counts, encoded.layout
    if obs.weight is not None:
        losses, codes = _repeated(losses, obs.weight.reshape(losses.shape), codes)
    levels = [*sorted(encoded.levels), encoded.region]
    rows = _ordered(losses, codes, method, levels, encoded.grid.optuna_rounding)
    size, usable = (np.asarray(x, np.int64) for x in (rows.size, rows.usable))
    drawn = replicates(
        key, rows, np.rint(counts).astype(np.int64), n_samples=n_samples, n_shuffles=n_shuffles,
        method=method, layout=layout, divergence=estimator.divergence, uniform=uniform,
    )  # fmt: skip
    # Every row is in one column of the first parameter.
    n_set = counts[..., : layout.n_codes[0]].sum(axis=-1)
    fewer = np.minimum(n_set[:, :-1], n_set[:, -1:] - n_set[:, :-1])
    # Of m of n rows without replacement deviations are sqrt((n - m) / m) of those of n new rows.
    spread = np.sqrt(size / np.maximum(usable - size, 1)) if method == "half-sampling" else np.ones(len(size))
    p_value = _p_values(found.variance, drawn.shuffled)
    return Uncertainty(
        np.moveaxis(drawn.sampled, 1, 0), found.variance, found.share, p_value, spread, usable, fewer,
        n_shuffles, method, balance=estimator.balance,
    )  # fmt: skip


def _p_values(variance: np.ndarray, shuffled: np.ndarray) -> np.ndarray:
    """(s, q, d) from (s, b, q, d); NaN without shuffles, and where nothing ever varies."""
    if not shuffled.shape[1]:
        return np.full(variance.shape, np.nan)
    reached = (shuffled >= variance[:, None] - _SAME * np.abs(variance[:, None])).sum(axis=1)
    p = (1 + reached) / (shuffled.shape[1] + 1)
    return np.where((shuffled == 0).all(axis=1) & (variance == 0), np.nan, p)


def _ordered(
    losses: np.ndarray, codes: np.ndarray, method: str, levels: list[float], optuna_rounding: bool
) -> Ranked:
    """The rows of s logs by loss, best first, NaN and padding last."""
    s, _, padded = codes.shape
    order = np.empty((s, padded), np.int64)
    order[:, : losses.shape[1]] = np.argsort(losses, axis=1, kind="stable")
    order[:, losses.shape[1] :] = np.arange(losses.shape[1], padded)
    ranked = np.full((s, padded), np.nan)
    ranked[:, : losses.shape[1]] = np.take_along_axis(losses, order[:, : losses.shape[1]], axis=1)
    starts = np.ones((s, padded), bool)
    starts[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    first_tied = np.maximum.accumulate(np.where(starts, np.arange(padded), 0), axis=1)
    usable = (~np.isnan(losses)).sum(axis=1)
    size = usable // 2 if method == "half-sampling" else usable
    after = _level_after(size, levels, padded, raw=optuna_rounding)
    codes, *rest = np.take_along_axis(codes, order[:, None], axis=2), first_tied, after, size, usable
    return Ranked(codes, *(x.astype(np.int32) for x in rest))


def _level_after(size: np.ndarray, levels: list[float], padded: int, *, raw: bool) -> np.ndarray:
    """(s, padded + 1) the first set of a row of which so many rows of a sample of ``size`` are better."""
    known: dict[int, np.ndarray] = {}
    for n in set(size.tolist()):
        needed = [level_weight(level, float(n), raw=raw) for level in levels]
        known[n] = np.searchsorted(needed, np.arange(padded + 1), side="right")
    return np.stack([known[n] for n in size.tolist()])


def _repeated(losses: np.ndarray, weight: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of weight w as w rows; without those of weight 0."""
    if (weight != np.floor(weight)).any():
        raise ValueError(
            "resampling needs weights that are whole numbers, as a row of weight 2 is two rows; leave the "
            "weights out, or set n_resamples=0."
        )
    times = weight.astype(np.int64)
    totals = times.sum(axis=1)
    longest = int(totals.max(initial=0))
    if longest > _MOST_ROWS:
        raise ValueError(
            f"the weights stand for {longest} rows, too many to resample (at most {_MOST_ROWS}); divide "
            "them, or set n_resamples=0."
        )
    n = 1 << max(longest - 1, 0).bit_length()
    s, d, _ = codes.shape
    new_losses = np.full((s, n), np.nan)
    new_codes = np.zeros((s, d, n), codes.dtype)
    for i in range(s):
        index = np.repeat(np.arange(losses.shape[1]), times[i])
        new_losses[i, : len(index)] = losses[i, index]
        new_codes[i, :, : len(index)] = codes[i][:, index]
    return new_losses, new_codes
