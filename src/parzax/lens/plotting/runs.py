"""Runs: the best feasible value against evaluations, and attainment surfaces of two objectives."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from parzax import _checks
from parzax.lens.plotting import _axes
from parzax.lens.plotting._arguments import SamplerRuns, check_runs
from parzax.pareto import attainment_surface, non_domination_rank
from parzax.samplers import Trace

Stairs = list[np.ndarray]
_BELOW_ALL = 0.3  # on a log axis, a regret of 0 is drawn at this factor times the smallest positive regret
_ROUNDING = 1e-5  # an optimum may exceed the best value by this share, for rounding in float32
_MARGIN = 0.05  # share of the axis above and below the data
_DOT = 4.5  # size of the dot at which a line begins, in points


class _Curve(NamedTuple):
    """The lines of one sampler, (n,) each; infinite where too many runs have no feasible row yet."""

    runs: SamplerRuns
    median: np.ndarray
    better: np.ndarray
    worse: np.ndarray

    @property
    def begins_late(self) -> bool:
        """Whether the median is finite, but not from the first evaluation on."""
        return bool(np.isfinite(self.median).any() and np.isinf(self.median[0]))


def convergence(
    traces: Trace | Mapping[str, Trace],
    *,
    objective: int = 0,
    optimum: Any = None,
    log: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The best feasible value so far against the number of evaluations.

    A line is the median over runs, and its band goes from the lower to the upper quartile; a single run is a
    line. The value of a run without a feasible row is infinite. So the median begins (at a dot) when half of
    the runs have a feasible row, and a band is open at the top while the upper quartile is infinite. The
    key says how many runs never had a feasible row. Without runs, evaluations or feasible rows a sentence
    says so.

    Args:
        traces, ax: as in all pictures.
        objective: index of the objective.
        optimum: best feasible value, to draw the distance to it: a number, or (m,) as
            ``problem.feasible_optimum``. A regret of 0 is drawn at the lower edge of a log axis.
        log: whether the vertical axis is logarithmic; by default only if an optimum is given.

    Raises:
        ValueError: for an empty mapping, an unknown objective, an optimum that a run surpasses, or, with
            ``log=True`` and no optimum, values of 0 or less.
    """
    samplers = check_runs(traces)
    fewest = min(runs.objectives.shape[-1] for runs in samplers)
    objective = _checks.whole_number("objective", objective, 0, fewest - 1)
    best_possible = None if optimum is None else _check_optimum(optimum, objective)
    regret = best_possible is not None
    log = regret if log is None else log
    curves = [_make_curve(runs, objective, best_possible) for runs in samplers]
    drawn = np.concatenate([values[np.isfinite(values)] for curve in curves for values in curve[1:4]])
    if log and not regret and (drawn <= 0).any():
        raise ValueError(f"log: there are values of {drawn.min():g}; give optimum=, or log=False.")
    ax = _axes.get_axes(ax, 6.0, 3.8)
    limits = _choose_limits(drawn, log)
    if log:
        _axes.set_log_scale(ax.yaxis, *limits)
    ax.set_ylim(limits)
    ax.set(xlim=(1, max(2, *(len(curve.median) for curve in curves))), xlabel="evaluations")
    ax.set_ylabel(_write_label(samplers, objective, regret, zero=log and bool((drawn == 0).any())))
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    _axes.tidy(ax)
    for curve in curves:
        _draw_curve(ax, curve)
    _axes.add_key(ax, _name_curves(curves))
    if not drawn.size:
        _write_emptiness(ax, samplers, "No run has a feasible row.", y=0.4)
    return ax


def _write_emptiness(ax: Axes, samplers: list[SamplerRuns], text: str, y: float) -> None:
    """Write a sentence that says why nothing is drawn: ``text``, or that there are no evaluations."""
    empty = not any(runs.objectives.size for runs in samplers)
    _axes.write_note(ax, "There are no evaluations." if empty else text, y=y)


def _check_optimum(optimum: Any, objective: int) -> float:
    values = np.asarray(optimum, np.float64).reshape(-1)
    if values.size != 1 and objective >= values.size:
        raise ValueError(f"optimum must be a number, or one per objective, got {optimum!r}.")
    return _checks.real_number("optimum", values[0] if values.size == 1 else values[objective])


def _make_curve(runs: SamplerRuns, objective: int, optimum: float | None) -> _Curve:
    sign = float(runs.signs[objective])
    value = np.where(runs.feasible, sign * runs.objectives[..., objective], np.inf)
    best = np.minimum.accumulate(value, axis=-1)
    if optimum is not None:
        least = best.min(initial=np.inf)
        if least < sign * optimum - _ROUNDING * max(1.0, abs(optimum)):
            whose = f" of {runs.name}" if runs.name else ""
            beyond = "above the least" if sign > 0 else "below the largest"
            raise ValueError(f"optimum = {optimum:g} is {beyond} feasible value{whose}, {sign * least:g}.")
        best, sign = np.maximum(best - sign * optimum, 0), 1.0
    return _Curve(runs, *(sign * _quantile(best, q) for q in (0.5, 0.25, 0.75)))


def _quantile(values: np.ndarray, q: float) -> np.ndarray:
    """Quantile over runs, by linear interpolation; infinite where one of the two neighbours is infinite."""
    if not len(values):
        return np.full(values.shape[1], np.inf)
    row, share = divmod(q * (len(values) - 1), 1)
    lower, upper = np.sort(values, axis=0)[[int(row), int(row) + (share > 0)]]
    # The formula lower + share * (upper - lower) would be NaN for infinite values.
    return (1 - share) * lower + share * upper if share else lower


def _choose_limits(drawn: np.ndarray, log: bool) -> tuple[float, float]:
    """Ends of the vertical axis for the drawn values; on a log axis 0 is drawn at the lower end."""
    heights = np.log10(drawn[drawn > 0]) if log else drawn
    if not heights.size:
        return (1e-3, 1.0) if log else (0.0, 1.0)
    low, high = float(heights.min()), float(heights.max())
    margin = _MARGIN * (high - low or abs(high) or 1.0)
    low += np.log10(_BELOW_ALL) if log and (drawn == 0).any() else -margin
    high += margin
    return (10**low, 10**high) if log else (low, high)


def _write_label(samplers: list[SamplerRuns], objective: int, regret: bool, zero: bool) -> str:
    counts = sorted({len(runs.objectives) for runs in samplers})
    value = "best feasible value" if any(runs.constrained for runs in samplers) else "best value"
    if regret:
        maximised = all(runs.signs[objective] < 0 for runs in samplers)
        value = f"optimum - {value}" if maximised else f"{value} - optimum"
    value += " (0: lower edge)" * zero
    if counts[-1] <= 1:
        return value
    span = f"{counts[0]}" if len(counts) == 1 else f"{max(counts[0], 1)} to {counts[-1]}"
    return f"{value}\n(median and quartiles of {span} runs)"


def _draw_curve(ax: Axes, curve: _Curve) -> None:
    """Draw the line, a dot where it starts (if later than the runs), and the band; 0 is at the lower edge."""
    runs, (bottom, top), x = curve.runs, ax.get_ylim(), np.arange(1, len(curve.median) + 1)
    y = np.where(np.isfinite(curve.median), np.maximum(curve.median, bottom), np.nan)
    ax.plot(x, y, linewidth=1.8, drawstyle="steps-post", label=runs.name, **runs.look)
    colour = runs.look["color"]
    if curve.begins_late:
        first = np.isnan(y).argmin()
        ax.plot(x[first], y[first], "o", color=colour, markersize=_DOT, clip_on=False)
    if len(runs.objectives) > 1:
        # If the worse quartile is infinite, the band reaches the edge.
        low, high = (np.clip(values, bottom, top) for values in (curve.better, curve.worse))
        area = {"step": "post", "color": colour, "alpha": 0.2, "linewidth": 0}
        ax.fill_between(x, low, high, where=np.isfinite(curve.better).tolist(), **area)


def _name_curves(curves: list[_Curve]) -> list[_axes.Entry]:
    """Entries of the key: names in the order of line ends, runs without a feasible row, and the dot."""
    entries = []
    for curve in sorted(curves, key=lambda curve: -curve.median[-1] if curve.median.size else -np.inf):
        n = len(curve.runs.objectives)
        never = int((~curve.runs.feasible.any(axis=-1)).sum())
        failed = f"nothing feasible in {never} of {n} runs" + ", no median" * (2 * never > n)
        entries += curve.runs.make_entries("" if not never else "nothing feasible" if n == 1 else failed)
    if any(curve.begins_late for curve in curves):
        several = any(len(curve.runs.objectives) > 1 for curve in curves)
        words = "half of the runs have a feasible row" if several else "first feasible row"
        entries.append((_axes.make_handle(marker="o", markersize=_DOT, color=_axes.GREY), words))
    return entries


def attainment(
    traces: Trace | Mapping[str, Trace],
    levels: Sequence[float] = (0.25, 0.5, 0.75),
    *,
    objectives: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """Attainment surfaces of shares of the runs, for two objectives (Fonseca and Fleming 1996).

    At level 0.5 every point on or beyond the staircase is attained by at least half of the runs: each of
    these runs has a row that is at least as good in both objectives. The middle level is a thick line, the
    other levels are thin lines, and the space between the outermost lines is filled. Only feasible rows
    count. A surface that too few runs attain is not drawn, and the key says so; if no surface is drawn, a
    sentence says why.

    Args:
        traces, ax: as in all pictures.
        levels: shares of the runs in (0, 1].
        objectives: indices of two objectives.

    Raises:
        ValueError: for an empty mapping, a level outside (0, 1], a trace with fewer than two objectives, or
            ``objectives`` that are not two different indices.
    """
    samplers = check_runs(traces)
    if isinstance(levels, (str, float, int)) or not len(levels):
        raise ValueError(f"levels must be a list of shares in (0, 1], got {levels!r}.")
    shares = sorted({_checks.quantile("levels", level) for level in levels})
    m = min(runs.objectives.shape[-1] for runs in samplers)
    if m < 2:
        raise ValueError("every trace must have two objectives or more, as from px.mo_tpe; one has fewer.")
    pair = [_checks.whole_number("objectives", j, 0, m - 1) for j in objectives]
    if len(set(pair)) < 2 or len(pair) > 2:
        raise ValueError(f"objectives must be two different ones, got {objectives!r}.")
    stairs = [_find_stairs(runs, pair, shares) for runs in samplers]
    ax = _axes.get_axes(ax, 5.2, 4.2)
    corners = np.concatenate([corners for by_share in stairs for corners in by_share])
    if len(corners):
        low, high = corners.min(axis=0), corners.max(axis=0)
        margin = np.where(high > low, 0.06 * (high - low), 0.05 * np.abs(high) + 1e-3)
        minimised = samplers[0].signs[pair] > 0
        low, high = low - np.where(minimised, 1, 2) * margin, high + np.where(minimised, 2, 1) * margin
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        for runs, by_share in zip(samplers, stairs, strict=True):
            _draw_stairs(ax, runs, by_share, np.where(minimised, high, low))
    else:
        _write_emptiness(ax, samplers, "Too few runs have feasible rows.", y=0.5)
    ax.set(xlabel=f"objective {pair[0] + 1}", ylabel=f"objective {pair[1] + 1}")
    _axes.tidy(ax)
    if len(corners):
        _axes.add_key(ax, _name_stairs(samplers, stairs, shares))
    return ax


def _find_stairs(runs: SamplerRuns, pair: list[int], shares: list[float]) -> Stairs:
    """For every share of the runs, the (k, 2) corners of its staircase, left to right; k is 0 if too few."""
    losses = (runs.signs * runs.objectives)[..., pair]
    points = [rows[feasible] for rows, feasible in zip(losses, runs.feasible, strict=True)]
    # Dominated rows are left out, since memory grows with the total number of rows.
    fronts = [np.unique(rows[non_domination_rank(rows) == 0], axis=0) for rows in points]
    # Fronts are padded by NaN to a power of two, so that few programs serve all pictures.
    longest = max(map(len, fronts), default=0)
    padded = np.full((len(fronts), 1 << max(longest - 1, 0).bit_length(), 2), np.nan)
    for row, front in zip(padded, fronts, strict=True):
        row[: len(front)] = front
    stairs = []
    for share in shares:
        count = max(math.ceil(round(share * len(fronts), 9)), 1)
        surface = attainment_surface(jnp.asarray(padded), count)
        corners = np.stack([surface.x, surface.y], axis=-1).astype(np.float64)
        corners = corners[np.asarray(surface.corner) & np.isfinite(corners).all(axis=-1)]
        stairs.append(runs.signs[pair] * corners)
    return stairs


def _draw_stairs(ax: Axes, runs: SamplerRuns, stairs: Stairs, ends: np.ndarray) -> None:
    """Draw staircases up to the worse edges (``ends``), and the band between the first and the last level."""
    steps = []
    for i, corners in enumerate(stairs):
        x, y = np.repeat(corners, 2, axis=0).T
        steps.append(np.stack([np.append(x, ends[0]), np.append(ends[1], y)]))
        if len(corners):
            middle = i == (len(stairs) - 1) // 2
            width, alpha, name = (2.0, 1.0, runs.name) if middle else (0.8, 0.8, "")
            ax.plot(*steps[-1], label=name, linewidth=width, alpha=alpha, **runs.look)
    if len(stairs) > 1 and len(stairs[0]):
        band = np.concatenate([steps[0], steps[-1][:, ::-1]], axis=1)
        ax.fill(*band, color=runs.look["color"], alpha=0.18, linewidth=0)


def _name_stairs(samplers: list[SamplerRuns], stairs: list[Stairs], shares: list[float]) -> list[_axes.Entry]:
    """Entries of the key: names (with levels that too few runs attain), and what lines and bands mean."""
    entries: list[_axes.Entry] = []
    for runs, by_share in zip(samplers, stairs, strict=True):
        missing = [f"{share:g}" for share, corners in zip(shares, by_share, strict=True) if not len(corners)]
        entries += runs.make_entries(f"not attained at {', '.join(missing)}" if missing else "")
    if any(len(runs.objectives) > 1 for runs in samplers):
        middle = shares[(len(shares) - 1) // 2]
        line = _axes.make_handle(color=_axes.GREY, linewidth=2.0)
        entries.append((line, f"attained by {middle:.0%} of runs"))
        if len(shares) > 1:
            words = f"{shares[0]:.0%} to {shares[-1]:.0%}"
            entries.append((Patch(facecolor=_axes.GREY, alpha=0.3), words))
    return entries
