"""Importance as lines: against the level gamma', and against the weights of two objectives."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from parzax import _checks
from parzax.importance import importance as relative_importance
from parzax.lens.plotting import _arguments, _axes, _text
from parzax.lens.plotting._parameters import get_edges
from parzax.lens.results import ImportanceResult
from parzax.lens.results.base import MOST_SEEDS
from parzax.lens.results.result import seeds_with_data
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
    parameters: int | str | Sequence[str] = 7,
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
    averaged over the seeds that have an importance at the level (see `ImportanceResult.over_seeds`), raw
    variances over all seeds except those with NO_DATA; the label of the axis says if seeds are left out.
    Hatched bands cover the levels where some seed has the status LOW_DATA, where most seeds have
    REGIME_BOUNDARY for a line, and where all seeds have ALL_ZERO or SAME_SETS. A single level is drawn as
    points.
    Lines have a gap where they are undefined (`ImportanceResult.is_defined`). The names are written to the
    right of the last level.

    Args:
        result, ax: as in all pictures.
        parameters: the parameters to draw, or their number: those with the largest importances (mean over the
            levels), and the sum of the others in grey. Lines that are 0 everywhere are among the others.
        quantity: "importance"; or the raw "variance" (within regimes), "standard", "inter" or
            "unweighted", the ablations.
        normalise: whether to normalise the quantity at each level, as importances are, to compare them.
    """
    _arguments.check_result(result)
    _checks.one_of("quantity", quantity, _QUANTITIES)
    ranking, shares = _arguments.rank_overall(result), normalise or quantity == "importance"
    n_positive = int((result.over_seeds()[0] > 0).any(axis=0).sum())
    parts = _arguments.choose_parts(result, parameters, ranking, max(n_positive, 1))
    data = result.by_seed(getattr(result, quantity).astype(np.float64))
    if normalise and quantity != "importance":
        data = relative_importance(data, balance=result.method.balance)
    counts = (data > 0).any(axis=-1) if shares else seeds_with_data(result.status)
    defined = result.by_seed(result.is_defined) if shares else np.ones(data.shape, bool)
    sampled = _arguments.get_uncertainty(result) if quantity == "importance" else None
    order = np.argsort(result.levels, kind="stable")
    levels = np.asarray(result.levels, dtype=np.float64)[order]
    ax = _axes.get_axes(ax, 6.4, 3.8)
    lines, short = [], _text.shorten_names(result.names)
    for name, columns, look in parts:
        sums = [x[order] for x in _arguments.sum_part(data, counts, columns, sampled)]
        usable = (counts & defined[..., columns].any(axis=-1)).any(axis=0)[order]
        line = _draw_line(ax, levels, usable, sums, label=_text.escape(name), **look)
        lines.append((short.get(name, name), *line))
    ax.margins(0.03)
    low, high = ax.get_ylim()
    if shares:  # ribbons may reach beyond the possible values
        low, high = max(low, -0.015), min(high, 1.015) if data.any() else 1.0
    ax.set(xlim=np.clip(ax.get_xlim(), 0, 1), ylim=(low, high))
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    if len(levels) == 1:
        ax.set_xticks(levels)
    alone = [columns[0] for _, columns, _ in parts if len(columns) == 1]
    entries = _draw_bands(ax, result, order, alone, bool(data.any()))
    if not data.any():
        _axes.write_note(ax, "No parameter has a positive variance\nat any of these levels.")
    # A target level is a share of all rows, also if the region is smaller.
    within = "" if result.region == 1 else f"; region γ = {result.region:g}"
    ax.set_xlabel(f"target quantile γ′ (best share of all rows{within})")
    share = "share of " if normalise and quantity != "importance" else ""
    ax.set_ylabel(share + _QUANTITIES[quantity] + _arguments.describe_spread(counts, sampled))
    _axes.tidy(ax)
    _axes.add_key(ax, entries)
    _axes.name_lines(ax, lines)
    return ax


def _draw_line(
    ax: Axes, x: np.ndarray, usable: np.ndarray, sums: Sequence[np.ndarray], **look: Any
) -> tuple[np.ndarray, dict[str, Any]]:
    """Draw the mean of a part where it is ``usable``, with a ribbon; ``sums`` are from `sum_part`.

    The line is thin and grey where it is not above chance. At a single place it is a point with a whisker.
    Returns its heights, and the look of its name.
    """
    mean, low, high, sure = sums
    mean = np.where(usable, mean, np.nan)
    drawn, low, high = (np.where(sure, values, np.nan) for values in (mean, low, high))
    finite = np.isfinite(drawn)
    # A single level between two gaps would be invisible as a line.
    alone = finite & ~np.append(finite[1:], False) & ~np.append(False, finite[:-1])
    marked = finite if len(x) <= _FEW_LEVELS else alone
    ax.plot(x, drawn, linewidth=1.8, marker="o", markersize=4, markevery=marked.tolist(), **look)
    if not sure.all():
        ax.plot(x, mean, linewidth=0.9, color=_UNSURE, zorder=1.5, marker="o" if len(x) == 1 else None)
    if len(x) == 1:
        _axes.draw_whiskers(ax, x, mean, yerr=np.maximum([mean - low, high - mean], 0))
    _axes.draw_ribbon(ax, x, low, high, look["color"])
    shown = {"color": look["color"] if sure.any() else _NEVER_SURE, "linestyle": look["linestyle"]}
    return mean, shown


def _draw_bands(
    ax: Axes, result: ImportanceResult, order: np.ndarray, drawn: list[int], anything: bool
) -> list[_axes.Entry]:
    """Hatch levels, in the ``order`` of the lines, half-way to their neighbours; return entries for the key.

    Levels get a band if they are rough in some seed, or empty in every seed. A level at a boundary between
    regimes gets a band if most seeds have this status for a ``drawn`` parameter.
    """

    def share(bit: Status, columns: Any = slice(None)) -> np.ndarray:
        return result.share_of_seeds(bit)[:, columns].max(axis=1, initial=0)[order]

    # At levels where ties make the target as large as the region, nothing was compared with chance.
    same, all_zero = share(Status.SAME_SETS) == 1, share(Status.ALL_ZERO) == 1
    entries: list[_axes.Entry] = []
    for flagged, words, hatch in (
        (share(Status.LOW_DATA) > 0, "few rows: rough", "////"),
        (share(Status.REGIME_BOUNDARY, drawn) >= MOST_SEEDS, "cut-off between regimes", "||"),
        (all_zero & ~same & anything, "nothing above chance", "...."),
        (same & anything, "ties: all rows in the target", "\\\\\\\\"),
    ):
        if flagged.any():
            look = {"facecolor": ("0.5", 0.12), "edgecolor": "0.75", "linewidth": 0, "zorder": 0}
            place = {"fill": True, "transform": ax.get_xaxis_transform()}
            edges = get_edges(result.levels[order])
            entries.append((ax.stairs(flagged, edges, hatch=hatch, **place, **look), words))
    return entries


def importance_over_weights(
    results: Mapping[float, ImportanceResult],
    *,
    level: int | float | None = None,
    parameters: int | str | Sequence[str] = 7,
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
        parameters: the parameters to draw, or their number: those with the largest importances (mean over the
            weights), and the sum of the others in grey.

    Raises:
        TypeError, ValueError: for ``results`` of another type, and unknown parameters or levels.
    """
    wanted = "a dictionary weight -> parzax.ImportanceResult"
    _checks.instance("results", results, Mapping, wanted)
    weights, ordered = np.array(sorted(results), float), [results[weight] for weight in sorted(results)]
    if not ordered:
        raise ValueError(f"results must be {wanted}, got none.")
    # All results have the same levels and names.
    first = _arguments.check_result(ordered[0])
    index = _arguments.find_level(first, level)
    overall = np.mean([result.over_seeds()[0][index] for result in ordered], axis=0)
    ranking = [first.names[j] for j in np.argsort(-overall, kind="stable")]
    data, defined = (
        np.stack([result.by_seed(getattr(result, name))[:, index] for result in ordered], axis=1)
        for name in ("importance", "is_defined")
    )
    ax = _axes.get_axes(ax, 6.4, 3.8)
    lines, short = [], _text.shorten_names(first.names)
    for name, columns, look in _arguments.choose_parts(first, parameters, ranking):
        counts = defined[..., columns].any(axis=-1)
        sums = _arguments.sum_part(data, counts, columns)
        line = _draw_line(ax, weights, counts.any(axis=0), sums, label=_text.escape(name), **look)
        lines.append((short.get(name, name), *line))
    objectives = first.report.objectives or ("first objective", "second objective")
    one, other = (_text.shorten_name(name, 22) for name in objectives[:2])
    ax.set(xlabel=f"weight of {other} (the rest: {one})", ylim=(0, None))
    ax.set_ylabel(_arguments.label_level(first, index) + _arguments.describe_spread(data.any(axis=-1)))
    _axes.tidy(ax)
    _axes.name_lines(ax, lines)
    return ax
