"""Runs: the best feasible value against evaluations, and attainment surfaces of two objectives."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from parzax import _checks
from parzax._words import plural
from parzax.lens.plotting import _axes
from parzax.lens.plotting._arguments import Look, check_runs, choose_look, get_signs
from parzax.lens.results.texts import size_text
from parzax.samplers import Trace

_BELOW_ALL = 0.3  # on a log axis, a regret of 0 is drawn at this factor times the smallest positive regret
_ROUNDING = 1e-5  # an optimum may exceed the best value by this share, for rounding in float32
_HUGE = 1e300  # stands for infinity where values are interpolated


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
    line. The value of a run without a feasible row is infinite. So the median begins when half of the runs
    have a feasible row, and a band is open at the top while the upper quartile is infinite. The key says how
    many runs never had a feasible row. Without feasible rows a sentence says so.

    Args:
        traces, ax: as in all pictures.
        objective: index of the objective.
        optimum: best feasible value, to draw the distance to it: a number, or (m,) as
            ``problem.feasible_optimum``. A regret of 0 is drawn at the lower edge of a log axis.
        log: whether the vertical axis is logarithmic. By default it is if an optimum is given; without one
            the distance to the best value of all runs is drawn on a log axis if a line would be flat: if a
            fifth of the evaluations makes 95 % of the improvement of its median.

    Raises:
        ValueError: for an empty mapping, an unknown objective, an optimum that a run surpasses, or, with
            ``log=True`` and no optimum, values of 0 or less.
    """
    runs = check_runs(traces)
    fewest = min(trace.losses.shape[-1] for trace in runs.values())
    objective = _checks.whole_number("objective", objective, 0, fewest - 1)
    regret = optimum is not None
    if regret:
        with _checks.explain("optimum must be a number, or one per objective"):
            optimum = _checks.real_number("optimum", np.broadcast_to(optimum, fewest)[objective])
    lines = {name: _find_quartiles(trace, objective, optimum, name) for name, trace in runs.items()}
    reached = None if regret or log is not None else _find_reached(runs, lines, objective)
    if reached is not None:
        lines = {name: np.abs(quartiles - reached) for name, quartiles in lines.items()}
        optimum, regret = reached, True
    log = regret if log is None else log
    drawn = np.concatenate([values[np.isfinite(values)] for values in lines.values()])
    if log and not regret and (drawn <= 0).any():
        raise ValueError(f"log: there are values of {drawn.min():g}; give optimum=, or log=False.")
    ax = _axes.get_axes(ax, 6.0, 3.8)
    ax.set_yscale("log" if log else "linear")
    heights = drawn[drawn > 0] if log else drawn
    ax.update_datalim(np.stack([np.ones_like(heights), heights], axis=-1))
    ax.autoscale_view()
    low, high = ax.get_ylim()
    low *= _BELOW_ALL if log and 0 in drawn else 1
    ax.set(xlim=(1, max(2, *(values.shape[1] for values in lines.values()))), ylim=(low, high))
    if log:
        _axes.set_log_scale(ax.yaxis, low, high)
    constrained = any(trace.constraints.shape[-1] for trace in runs.values())
    value = "best feasible value" if constrained else "best value"
    value = f"|{value} - optimum|" if regret else value
    value = value if reached is None else f"|best value - {reached:.4g}|, the best of all runs"
    n_runs = np.array([len(trace.losses) for trace in runs.values()])
    spread = f"\n(median and quartiles of {size_text(n_runs)} runs)" if n_runs.max() > 1 else ""
    ax.set(xlabel="evaluations", ylabel=value + spread)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    looks, entries = {name: choose_look(i) | {"label": name} for i, name in enumerate(runs)}, []
    # Names stand in the order of the ends of lines.
    for name in sorted(lines, key=lambda name: -lines[name][1, -1] if lines[name].size else -np.inf):
        n, never = len(runs[name].losses), int((~_find_feasible(runs[name]).any(axis=-1)).sum())
        remark = f"nothing feasible in {never} of {plural(n, 'run')}" if never else ""
        entries += _name_runs(name, remark, looks[name])
        _draw_quartiles(ax, lines[name], n > 1, looks[name])
    _axes.add_key(ax, entries, "0 is at the lower edge" if log and 0 in drawn else "")
    if not drawn.size:
        _axes.write_note(ax, "No run has a feasible row.", y=0.4)
    return ax


def _name_runs(name: str, remark: str, look: Look) -> list[Artist]:
    """The entry of a key for the runs of one sampler, with a remark; [] if there is nothing to say."""
    words = ": ".join(filter(None, (name, remark)))
    return [_axes.make_handle(linewidth=2.0, **look | {"label": words})] if words else []


def _find_feasible(trace: Trace) -> np.ndarray:
    """(s, n) whether a row satisfies all constraints and has all objectives."""
    return np.asarray(trace.feasible & ~np.isnan(trace.losses).any(axis=-1))


def _find_quartiles(trace: Trace, objective: int, optimum: float | None, name: str) -> np.ndarray:
    """(3, n) better quartile, median and worse quartile over runs of the best value so far, or of the regret.

    They are infinite where too many runs have no feasible row yet.
    """
    sign = float(get_signs(trace)[objective])
    value = np.where(_find_feasible(trace), sign * trace.losses[..., objective], np.inf)
    # Without runs there is one that has no feasible row.
    best = np.minimum.accumulate(value if len(value) else np.full((1, value.shape[1]), np.inf), axis=-1)
    if optimum is not None:
        least = best.min(initial=np.inf)
        if least < sign * optimum - _ROUNDING * max(1.0, abs(optimum)):
            whose = f" of {name}" if name else ""
            beyond = "above the least" if sign > 0 else "below the largest"
            raise ValueError(f"optimum = {optimum:g} is {beyond} feasible value{whose}, {sign * least:g}.")
        best, sign = np.maximum(best - sign * optimum, 0), 1.0
    quartiles = np.quantile(np.minimum(best, _HUGE), (0.25, 0.5, 0.75), axis=0)
    return sign * np.where(quartiles >= 0.1 * _HUGE, np.inf, quartiles)


def _find_reached(runs: Mapping[str, Trace], lines: Mapping[str, np.ndarray], objective: int) -> float | None:
    """The best value of all runs, if a line of values would be flat after a fifth of the evaluations."""
    sign = float(get_signs(next(iter(runs.values())))[objective])
    losses = [sign * trace.losses[_find_feasible(trace)][:, objective] for trace in runs.values()]
    reached = sign * float(np.concatenate(losses).min(initial=np.inf))
    gaps = [np.abs(line[1] - reached) for line in lines.values() if np.isfinite(line[1, :1]).all()]
    flat = any(gap.size and gap[0] > 0 and gap[gap.size // 5] <= 0.05 * gap[0] for gap in gaps)
    return reached if flat else None


def _draw_quartiles(ax: Axes, quartiles: np.ndarray, several: bool, look: Look) -> None:
    """Draw the line and the band; values of 0 are at the lower edge."""
    (bottom, top), x = ax.get_ylim(), np.arange(1, quartiles.shape[1] + 1)
    better, median, worse = quartiles
    y = np.where(np.isfinite(median), np.maximum(median, bottom), np.nan)
    ax.plot(x, y, linewidth=1.8, drawstyle="steps-post", **look)
    if several:
        # If the worse quartile is infinite, the band reaches the edge.
        area = {"step": "post", "color": look["color"], "alpha": 0.2, "linewidth": 0}
        ends = np.clip(better, bottom, top), np.clip(worse, bottom, top)
        ax.fill_between(x, *ends, where=np.isfinite(better).tolist(), **area)


def attainment(
    traces: Trace | Mapping[str, Trace],
    levels: Sequence[float] = (0.25, 0.5, 0.75),
    *,
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

    Raises:
        ValueError: for an empty mapping, a level outside (0, 1], or a trace without exactly two objectives.
        ImportError: without moocore (the extra ``parzax[pareto]``).
    """
    runs = check_runs(traces)
    if isinstance(levels, (str, float, int)) or not len(levels):
        raise ValueError(f"levels must be a list of shares in (0, 1], got {levels!r}.")
    shares = sorted({_checks.quantile("levels", level) for level in levels})
    if wrong := {trace.losses.shape[-1] for trace in runs.values()} - {2}:
        raise ValueError(f"traces must have two objectives, as from px.mo_tpe; one has {min(wrong)}.")
    stairs = [_find_stairs(trace, shares) for trace in runs.values()]
    ax = _axes.get_axes(ax, 5.2, 4.2)
    ax.set(xlabel="objective 1", ylabel="objective 2")
    corners = np.concatenate([corners for by_share in stairs for corners in by_share])
    if not len(corners):
        _axes.write_note(ax, "Too few runs have feasible rows.")
        return ax
    ax.update_datalim(corners)
    ax.margins(0.08)
    ax.autoscale_view()
    low, high = np.transpose([ax.get_xlim(), ax.get_ylim()])
    ax.autoscale(enable=False)  # lines end at the edges
    worst = np.where(get_signs(next(iter(runs.values()))) > 0, high, low)
    entries: list[Artist] = []
    for i, (name, by_share) in enumerate(zip(runs, stairs, strict=True)):
        missing = [f"{share:g}" for share, one in zip(shares, by_share, strict=True) if not len(one)]
        remark = f"not attained at {', '.join(missing)}" if missing else ""
        entries += _name_runs(name, remark, choose_look(i))
        _draw_stairs(ax, by_share, worst, choose_look(i))
    band = f", band: {shares[0]:.0%} to {shares[-1]:.0%}" if len(shares) > 1 else ""
    sentence = f"thick line: attained by {shares[(len(shares) - 1) // 2]:.0%} of the runs{band}"
    _axes.add_key(ax, entries, sentence if any(len(trace.losses) > 1 for trace in runs.values()) else "")
    return ax


def _find_stairs(trace: Trace, shares: list[float]) -> list[np.ndarray]:
    """For every share of the runs, the (k, 2) corners of its staircase, left to right; k is 0 if too few."""
    signs = get_signs(trace)
    points = [rows[keep] for rows, keep in zip(signs * trace.losses, _find_feasible(trace), strict=True)]
    stairs = []
    for share in shares:
        corners = attained_corners(points, max(math.ceil(round(share * len(points), 9)), 1))
        stairs.append(signs * corners[np.isfinite(corners).all(axis=1)])
    return stairs


def attained_corners(runs: Sequence[np.ndarray], level: int) -> np.ndarray:
    """(k, 2) lower left corners of the region that at least ``level`` of the runs attain, left to right.

    A run, (n, 2) points without NaN, both objectives minimised, attains (x, y) if it has a point with first
    objective at most x and second objective at most y (Fonseca and Fleming 1996).
    """
    moocore = _checks.optional("moocore", "An attainment surface", "pareto")
    reaching = [points for points in runs if len(points)]
    if level > len(reaching):
        return np.empty((0, 2))
    run = np.repeat(np.arange(len(reaching)), list(map(len, reaching)))
    share = 100 * level / len(reaching)
    return moocore.eaf(np.concatenate(reaching), sets=run, percentiles=[share])[:, :2]


def _draw_stairs(ax: Axes, stairs: list[np.ndarray], ends: np.ndarray, look: Look) -> None:
    """Draw staircases up to the worse edges (``ends``), and the band between the first and the last level."""
    steps = []
    for i, corners in enumerate(stairs):
        x, y = np.repeat(corners, 2, axis=0).T
        steps.append(np.stack([np.append(x, ends[0]), np.append(ends[1], y)]))
        if len(corners):
            middle = i == (len(stairs) - 1) // 2
            ax.plot(*steps[-1], linewidth=2.0 if middle else 0.8, alpha=1 if middle else 0.8, **look)
    if len(stairs) > 1 and len(stairs[0]):
        band = np.concatenate([steps[0], steps[-1][:, ::-1]], axis=1)
        ax.fill(*band, color=look["color"], alpha=0.18, linewidth=0)
