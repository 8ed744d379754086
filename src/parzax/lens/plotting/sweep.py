"""Importance as lines: against the level gamma', and against the weights of two objectives."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from parzax import _checks
from parzax.importance import importance as relative_importance
from parzax.lens.plotting import _arguments, _axes, _text
from parzax.lens.results import ImportanceResult
from parzax.lens.results.result import MOST_SEEDS, mean_and_error, seeds_with_data
from parzax.lens.results.uncertainty import Uncertainty
from parzax.status import Status

_QUANTITIES = {
    "importance": "importance",
    "variance": "within-regime variance",
    "standard": "standard variance",
    "inter": "inter-regime variance",
    "unweighted": "unweighted variance",
}
_FEW_LEVELS = 12  # up to this many levels are marked one by one
# greys of pieces of a line that are not above chance, and of names of lines that never are
_UNSURE, _NEVER_SURE = "0.75", "0.5"


def importance_sweep(
    result: ImportanceResult,
    *,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 7,
    quantity: str = "importance",
    normalise: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Importance against the target quantile, one line per parameter.

    If a single log has an uncertainty (`parzax.cond_ped_anova` with ``n_resamples``), the ribbon is its
    interval, and a line is thin and grey where it is not above chance. The label of the axis says what the
    ribbon is. p-values are not adjusted for the number of levels: among many levels, some show noise above
    chance.
    With several seeds a line is the mean, and its ribbon is one standard error to either side. Shares are
    averaged over the seeds that have an importance at the level (see `ImportanceResult.mean`), raw
    variances over all seeds except those with NO_DATA; the label of the axis says if seeds are left out.
    Hatched bands cover the levels where some seed has the status LOW_DATA, where most seeds have
    REGIME_BOUNDARY for a line, and where all seeds have ALL_ZERO or SAME_SETS. A single level is drawn as
    points.
    Lines have a gap where they are undefined (`ImportanceResult.is_defined`). The names are written beside
    the lines if there is room, else to the right of the last level.

    Args:
        result, ax: as in all pictures.
        parameters: names of the only parameters to draw; by default the ``max_parameters`` most important
            (mean over the levels), and the sum of the others in grey.
        max_parameters: the largest number of lines, not counting the sum of the others.
        quantity: "importance"; or the raw "variance" (within regimes), "standard", "inter" or
            "unweighted", the ablations.
        normalise: whether to normalise the quantity at each level, as importances are, to compare them.
    """
    _arguments.check_result(result)
    _checks.one_of("quantity", quantity, _QUANTITIES)
    ranking = _arguments.rank_overall(result)
    names, most = _arguments.choose_names(result, parameters, max_parameters, ranking)
    if parameters is None:
        # Lines that are 0 everywhere are merged, since they would only hide others.
        most = max(1, min(most, int((result.mean > 0).any(axis=0).sum())))
    order = np.argsort(result.levels, kind="stable")
    levels = np.asarray(result.levels, dtype=np.float64)[order]
    data, counts = (x[:, order] for x in _select_data(result, quantity, normalise))
    shares = normalise or quantity == "importance"
    defined = result.by_seed(result.is_defined)[:, order] if shares else np.ones(data.shape, bool)
    by_samples = result.sampled if result.n_seeds == 1 and quantity == "importance" else None
    ax = _axes.get_axes(ax, 6.4, 3.8)
    lines, short = [], _text.shorten_names(result.names)
    for name, columns, look in _arguments.split_names(result, names, most, ranking):
        values, usable = data[..., columns].sum(axis=-1), counts & defined[..., columns].any(axis=-1)
        ends, above = None, np.ones(len(levels), bool)
        if by_samples is not None:
            ends = [end[order] for end in by_samples.interval_of(slice(None), columns)]
            # An importance of 0 is not above chance, whether it was tested or not.
            above = by_samples.any_above_chance(slice(None), columns)[order] & (values[0] > 0)
        mean = _draw_line(ax, levels, values, counts, usable, above, ends, label=_text.escape(name), **look)
        look = look if above.any() else look | {"color": _NEVER_SURE}
        lines.append((mean, short.get(name, name), look["color"]))
    span, region = max(float(np.ptp(levels)), 0.1), result.region
    right = min(region, float(levels[-1]) + 0.04 * span)
    ax.set_xlim(max(0.0, float(levels[0]) - 0.04 * span), right)
    _set_y_limits(ax, data, shares)
    _set_ticks(ax, levels)
    alone = [result.names.index(name) for name in names[:most]]
    bands = _find_bands(result, order, alone, anything=bool(data.any()))
    entries = [_draw_band(ax, levels, *band) for band in bands]
    if not data.any():
        _axes.write_note(ax, "No parameter has a positive variance\nat any of these levels.")
    # A target level is a share of all rows, also if the region is smaller.
    within = "" if region == 1 else f"; region γ = {region:g}"
    ax.set_xlabel(f"target quantile γ′ (best share of all rows{within})")
    share = "share of " if normalise and quantity != "importance" else ""
    ax.set_ylabel(share + _QUANTITIES[quantity] + _describe_spread(by_samples, counts))
    _axes.tidy(ax)
    _axes.add_key(ax, entries)
    _axes.name_lines(ax, levels, lines)
    return ax


def _select_data(result: ImportanceResult, quantity: str, normalise: bool) -> tuple[np.ndarray, np.ndarray]:
    """The (s, q, d) values to draw, and (s, q) whether a seed counts at a level."""
    data = result.by_seed(getattr(result, quantity).astype(np.float64))
    if not normalise and quantity != "importance":
        return data, seeds_with_data(result.status)
    data = relative_importance(data, balance=result.method.balance) if normalise else data
    return data, np.asarray((data > 0).any(axis=-1))


def _draw_line(
    ax: Axes, x: np.ndarray, values: Any, counts: Any, usable: Any, sure: Any, ends: Any = None, **look: Any
) -> np.ndarray:
    """Draw and return the mean of (s, q) values where ``counts``, NaN where no seed is ``usable``.

    The line is grey where it is not ``sure``. Its ribbon has the given ``ends``, by default one standard
    error to either side. A single level is a point with a whisker.
    """
    mean, error = mean_and_error(values, counts)
    mean = np.where(usable.any(axis=0), mean, np.nan)
    low, high = (mean - error, mean + error) if ends is None else ends
    if len(x) == 1:
        away = np.maximum(np.abs(np.stack([low, high]) - mean), 0)
        whisker = away if np.isfinite(away).any() else None
        look |= {} if sure[0] else {"color": _UNSURE}
        ax.errorbar(x, mean, yerr=whisker, fmt="o", capsize=3, **look)
        return mean
    drawn = np.isfinite(mean) & sure
    # A single level between two gaps would be invisible as a line.
    alone = drawn & ~np.append(drawn[1:], False) & ~np.append(False, drawn[:-1])
    marked = drawn if len(x) <= _FEW_LEVELS else alone
    marks = {"marker": "o", "markersize": 4, "markevery": marked.tolist()} if marked.any() else {}
    ax.plot(x, np.where(sure, mean, np.nan), linewidth=1.8, **marks, **look)
    if not sure.all():
        ax.plot(x, mean, linewidth=0.9, color=_UNSURE, zorder=1.5)
    _axes.draw_ribbon(ax, x, np.where(sure, low, np.nan), np.where(sure, high, np.nan), look["color"])
    return mean


def _describe_spread(by_samples: Uncertainty | None, counts: np.ndarray) -> str:
    """Words for the label of the axis: what ribbons are, or how many seeds count if not always all."""
    n_counted = np.unique(counts.sum(axis=0))
    n_counted = n_counted[n_counted > 0]
    if by_samples is not None and by_samples.n_resamples:
        return f", {100 * by_samples.level:g} % interval\n(of one log, by resampling)"
    if n_counted.size and n_counted[0] < len(counts):
        span = "-".join(map(str, np.unique(n_counted[[0, -1]])))
        return f"\n(mean of {span} of {len(counts)} seeds)"
    return f"\n(mean ± standard error of {len(counts)} seeds)" if len(counts) > 1 else ""


def _set_y_limits(ax: Axes, data: np.ndarray, shares: bool) -> None:
    """Show all lines; shares begin at 0 and end at 1."""
    low, high = ax.get_ylim() if data.any() else (0.0, 1.0)
    low = 0.0 if shares or data.min() >= 0 else low
    high = min(high, 1.0) if shares else high
    # Margins separate lines at 0 from the axis, and keep points at 1 inside it.
    ax.set_ylim(low - 0.015 * (high - low), high + 0.015 * (high - low))
    ax.yaxis.set_major_locator(MaxNLocator(5))


def _set_ticks(ax: Axes, levels: np.ndarray) -> None:
    """Ticks at the levels if they are few, labelled if there is room; otherwise at round numbers."""
    if len(levels) > _FEW_LEVELS:
        ax.xaxis.set_major_locator(MaxNLocator(6))
        return
    gap, labels, last = 0.06 * np.ptp(ax.get_xlim()), [], -np.inf
    for level in levels:
        labels.append(f"{level:g}" if level - last >= gap else "")
        last = level if labels[-1] else last
    ax.set_xticks(levels, labels)


def _find_bands(
    result: ImportanceResult, order: np.ndarray, drawn: list[int], *, anything: bool
) -> list[tuple[Any, str, str]]:
    """Masks of the levels that get a band, each with its words and its hatch.

    Levels get a band if they are rough in some seed, or empty in every seed. A level at a boundary between
    regimes gets a band if most seeds have this status for a ``drawn`` parameter.
    """

    def share(bit: Status, columns: Any = slice(None)) -> np.ndarray:
        return result.share_of_seeds(bit)[:, columns].max(axis=1, initial=0)[order]

    # At levels where ties make the target as large as the region, nothing was compared with chance.
    same, all_zero = share(Status.SAME_SETS) == 1, share(Status.ALL_ZERO) == 1
    bands = [
        (share(Status.LOW_DATA) > 0, "few rows: rough", "////"),
        (share(Status.REGIME_BOUNDARY, drawn) >= MOST_SEEDS, "cut-off between regimes", "||"),
        (all_zero & ~same & anything, "nothing above chance", "...."),
        (same & anything, "ties: all rows in the target", "\\\\\\\\"),
    ]
    return [band for band in bands if band[0].any()]


def _draw_band(ax: Axes, levels: np.ndarray, flagged: np.ndarray, words: str, hatch: str) -> _axes.Entry:
    """Hatch the flagged ``levels`` (ascending); return the entry for the key."""
    # A band reaches half-way to the neighbouring levels; at the outermost levels, to the ends of the axis.
    left, right = ax.get_xlim()
    ends = np.concatenate([[left], (levels[1:] + levels[:-1]) / 2, [right]])
    changes = np.flatnonzero(np.diff(flagged.astype(int), prepend=0, append=0))
    look = {"hatch": hatch, "facecolor": ("0.5", 0.12), "edgecolor": "0.75", "linewidth": 0}
    for start, stop in ends[changes].reshape(-1, 2).tolist():
        ax.axvspan(start, stop, zorder=0, **look)
    return Patch(**look), words


def importance_over_weights(
    results: Mapping[float, ImportanceResult],
    *,
    level: int | float | None = None,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 7,
    ax: Axes | None = None,
) -> Axes:
    """Importance against the weight of the second of two objectives, one line per parameter.

    At the left end only the first objective counts, at the right end only the second. A line is a parameter's
    importance for the weighted combinations. With several seeds it is the mean over the seeds that have an
    importance, and its ribbon is one standard error to either side. Lines have a gap where they are undefined
    (`ImportanceResult.is_defined`).

    Args:
        results: weight of the second objective -> result, such as
            ``{w: px.cond_ped_anova(obs, objective=[1 - w, w]) for w in np.linspace(0, 1, 11)}``.
        level, ax: as in all pictures.
        parameters: names of the only parameters to draw; by default the ``max_parameters`` most important
            (mean over the weights), and the sum of the others in grey.
        max_parameters: the largest number of lines, not counting the sum of the others.

    Raises:
        TypeError, ValueError: for ``results`` of another type, and unknown parameters or levels.
    """
    wanted = "a dictionary weight -> parzax.ImportanceResult"
    _checks.instance("results", results, Mapping, wanted)
    weights, ordered = np.array(sorted(results), float), [results[weight] for weight in sorted(results)]
    if not ordered:
        raise ValueError(f"results must be {wanted}, got none.")
    # All results have the same levels and names.
    one = _arguments.check_result(ordered[0])
    index = _arguments.find_level(one, level).number
    overall = np.mean([result.mean[index] for result in ordered], axis=0)
    ranking = [one.names[j] for j in np.argsort(-overall, kind="stable")]
    names, most = _arguments.choose_names(one, parameters, max_parameters, ranking)
    short, entries = _text.shorten_names(one.names), []
    levels = [_arguments.Level(result, index) for result in ordered]
    importance = np.stack([level.by_seed(level.result.importance) for level in levels], axis=1)
    defined = np.stack([level.by_seed(level.result.is_defined) for level in levels], axis=1) > 0
    ax = _axes.get_axes(ax, 6.4, 3.8)
    for name, columns, look in _arguments.split_names(one, names, most, ranking):
        counts, values = defined[..., columns].any(axis=-1), importance[..., columns].sum(axis=-1)
        sure = np.ones(len(weights), bool)
        _draw_line(ax, weights, values, counts, counts, sure, label=_text.escape(name), **look)
        entries.append((_axes.make_handle(linewidth=1.8, **look), short.get(name, name)))
    objectives = one.report.objectives or ("first objective", "second objective")
    first, second = (_text.shorten_name(name, 22) for name in objectives[:2])
    ax.set(xlabel=f"weight of {second} (the rest: {first})", ylim=(0, None))
    ax.set_ylabel(levels[0].label("", "mean ± standard error, {}"))
    _axes.tidy(ax)
    _axes.add_key(ax, entries)
    return ax
