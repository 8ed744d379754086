"""Best feasible value against evaluations, over runs."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from parzax.plotting._matplotlib import GREY, axes_or_new, figure_of, font_points, headroom_for, note, tidy
from parzax.plotting._runs import Named, named_runs
from parzax.samplers import Trace

# Of a regret of 0, on a log axis: this far below the least that is above 0.
_BELOW_ALL = 0.3
# An optimum may be above what was found by this share, for rounding in float32.
_ROUNDING = 1e-5


class _Curve(NamedTuple):
    """What is drawn of one sampler: (n,) each, +inf where most runs have no feasible row yet."""

    own: Named
    median: np.ndarray
    low: np.ndarray
    high: np.ndarray


def convergence(
    traces: Trace | Mapping[str, Trace],
    *,
    objective: int = 0,
    optimum: Any = None,
    log: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The best feasible value so far against the number of evaluations.

    A line is the median over runs, its band reaches from the lower to the upper quartile; a single run is a
    line. A run without a feasible row counts with an infinite value: so the median begins (at a dot) where
    half of the runs have one, a band is open at the top while the upper quartile is infinite, and the
    legend says how many runs never found one.

    Args:
        traces: from `parzax.optimize` or `parzax.optimize_many`, all leading axes are runs; or a mapping from
            names to such traces.
        objective: which, for runs with several.
        optimum: least feasible value, to be subtracted: a number, or (m,) as ``problem.feasible_optimum``. A
            regret of 0 stands at the lower edge of a log axis.
        log: whether the vertical axis is logarithmic; by default where an optimum is given.
        ax: where to draw; a new figure by default.

    Returns:
        The Axes. Without runs, evaluations or feasible rows a sentence says so.

    Raises:
        TypeError: what is no trace; ``ax`` of the wrong type.
        ValueError: an empty mapping, an objective that is not there, an optimum above what was found, or
            values below 0 on a log axis.
    """
    runs = named_runs(traces)
    for own in runs:
        m = own.objectives.shape[-1]
        if isinstance(objective, bool) or not isinstance(objective, int) or not 0 <= objective < m:
            raise ValueError(f"objective must be a whole number below {m}, got {objective!r}.")
    least = None if optimum is None else _optimum(optimum, objective)
    log = least is not None if log is None else log
    curves = [_curve(own, objective, least) for own in runs]
    drawn = [values[np.isfinite(values)] for curve in curves for values in curve[1:]]
    shown = np.concatenate(drawn)
    if log and least is None and (shown <= 0).any():
        raise ValueError(f"log: there are values of {shown.min():g}; give optimum=, or log=False.")
    own_figure = ax is None
    ax = axes_or_new(ax, 6.0, 3.8)
    bottom, top = _limits(shown, log)
    if log:
        ax.set_yscale("log")
    ax.set_ylim(bottom, top)
    ax.set_xlim(1, max(2, *(len(curve.median) for curve in curves)))
    ax.set_xlabel("evaluations")
    zero = log and least is not None and bool((shown == 0).any())
    ax.set_ylabel(_label(runs, least is not None, zero))
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    tidy(ax)
    handles = [_draw(ax, curve, bottom, top) for curve in curves]
    if own_figure:
        figure_of(ax).draw_without_rendering()  # how much room a legend needs depends on the layout
    headroom_for(ax, _legend(ax, curves, handles))
    _draw_bands(ax, curves)
    if not shown.size:
        empty = not any(own.objectives.size for own in runs)
        note(ax, "There are no evaluations." if empty else "No run has a feasible row.", y=0.4)
    return ax


def _optimum(optimum: Any, objective: int) -> float:
    values = np.asarray(optimum, np.float64).reshape(-1)
    if values.size != 1 and objective >= values.size:
        raise ValueError(f"optimum must be a number, or one per objective, got {optimum!r}.")
    value = float(values[0] if values.size == 1 else values[objective])
    if not np.isfinite(value):
        raise ValueError(f"optimum must be finite, got {optimum!r}.")
    return value


def _curve(own: Named, objective: int, optimum: float | None) -> _Curve:
    value = own.objectives[..., objective]
    best = np.minimum.accumulate(np.where(own.feasible, value, np.inf), axis=-1)
    if optimum is not None:
        found = best.min(initial=np.inf)
        if found < optimum - _ROUNDING * max(1.0, abs(optimum)):
            whose = f" of {own.name}" if own.name else ""
            raise ValueError(f"optimum = {optimum:g} is above the least feasible value{whose}, {found:g}.")
        best = np.maximum(best - optimum, 0)
    return _Curve(own, *(_quantile(best, q) for q in (0.5, 0.25, 0.75)))


def _quantile(values: np.ndarray, q: float) -> np.ndarray:
    """Quantile over runs, by linear interpolation; infinite where one of the neighbours is."""
    if not len(values):
        return np.full(values.shape[1], np.inf)
    ordered = np.sort(values, axis=0)
    at = q * (len(values) - 1)
    lower, upper = ordered[int(np.floor(at))], ordered[int(np.ceil(at))]
    share = at - np.floor(at)
    # Not lower + share * (upper - lower), which is NaN for infinities.
    return lower if share == 0 else (1 - share) * lower + share * upper


def _limits(shown: np.ndarray, log: bool) -> tuple[float, float]:
    """Ends of the vertical axis for what is drawn."""
    if log:
        positive = shown[shown > 0]
        if not positive.size:
            return 1e-3, 1.0
        low, high = float(positive.min()), float(positive.max())
        low = low * _BELOW_ALL if (shown == 0).any() else low / (high / low) ** 0.05 / 1.05
        return low, high * (high / low) ** 0.05 * 1.05
    if not shown.size:
        return 0.0, 1.0
    low, high = float(shown.min()), float(shown.max())
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 0.05
    return low - margin, high + margin


def _draw(ax: Axes, curve: _Curve, bottom: float, top: float) -> Line2D:
    """The line, and a dot where it begins; a regret of 0 is brought to the lower edge."""
    own, at = curve.own, np.arange(1, len(curve.median) + 1)
    median = np.where(np.isfinite(curve.median), np.maximum(curve.median, bottom), np.nan)
    (line,) = ax.plot(
        at,
        median,
        color=own.colour,
        linestyle=own.dash,
        linewidth=1.8,
        drawstyle="steps-post",
        label=own.name,
    )
    there = np.flatnonzero(~np.isnan(median))
    if there.size and there[0] > 0:
        ax.plot(at[there[0]], median[there[0]], "o", color=own.colour, markersize=4.5, clip_on=False)
    return line


def _draw_bands(ax: Axes, curves: list[_Curve]) -> None:
    """From the lower to the upper quartile, and to the upper edge where that is infinite."""
    for own, _, low, high in curves:
        if len(own.objectives) > 1:
            at, some = np.arange(1, len(low) + 1), np.isfinite(low).tolist()
            low, high = (np.clip(values, *ax.get_ylim()) for values in (low, high))
            ax.fill_between(at, low, high, where=some, step="post", color=own.colour, alpha=0.2, linewidth=0)


def _legend(ax: Axes, curves: list[_Curve], handles: list[Line2D]) -> Legend | None:
    """Names, worst at the end on top as the lines are, how many runs failed, and what a dot is."""
    entries = []
    for curve, handle in zip(curves, handles, strict=True):
        own, n = curve.own, len(curve.own.objectives)
        never = int((~own.feasible.any(axis=-1)).sum())
        failed = f"nothing feasible in {never} of {n} runs" if never and n > 1 else ""
        failed += ", no median" if failed and 2 * never > n else ""
        failed = "nothing feasible" if never and n == 1 else failed
        text = ": ".join(part for part in (own.name, failed) if part)
        last = curve.median[-1] if curve.median.size else np.inf
        if text:
            entries.append((last, handle, text))
    entries = [(handle, text) for _, handle, text in sorted(entries, key=lambda entry: -entry[0])]
    if any(line.get_marker() == "o" for line in ax.lines):
        words = "half of the runs have a feasible row"
        words = words if any(len(c.own.objectives) > 1 for c in curves) else "first feasible row"
        entries.append((Line2D([], [], color=GREY, marker="o", markersize=4.5, linestyle=""), words))
    if not entries:
        return None
    return ax.legend(*zip(*entries, strict=True), loc="upper right", fontsize=font_points(ax, 0.9))


def _label(runs: list[Named], regret: bool, zero: bool) -> str:
    counts = sorted({len(own.objectives) for own in runs})
    value = "best feasible value" if any(own.constrained for own in runs) else "best value"
    value += " - optimum" * regret + " (0: lower edge)" * zero
    if counts[-1] <= 1:
        return value
    many = f"{counts[0]}" if len(counts) == 1 else f"{max(counts[0], 1)} to {counts[-1]}"
    return f"{value}\n(median and quartiles of {many} runs)"
