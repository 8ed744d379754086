"""Empirical attainment surfaces of runs with two objectives."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from parzax._checks import quantile
from parzax.pareto import attainment_surface
from parzax.plotting._matplotlib import GREY, axes_or_new, font_points, note, tidy
from parzax.plotting._runs import Named, named_runs
from parzax.samplers import Trace

Staircase = tuple[np.ndarray, np.ndarray]


def attainment(
    traces: Trace | Mapping[str, Trace],
    levels: Sequence[float] = (0.25, 0.5, 0.75),
    *,
    objectives: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """What shares of the runs have attained, for two objectives (Fonseca and Fleming 1996).

    At level 0.5 half of the runs (rounded up) have a point that is at least as good in both objectives as
    any point on or above the staircase. The middle level is a thick line, the others are thin, and the space
    between the outer ones is filled. Only feasible rows count.

    Args:
        traces: from `parzax.optimize` or `parzax.optimize_many`, all leading axes are runs; or a mapping from
            names to such traces.
        levels: shares of the runs in (0, 1].
        objectives: which two, for runs with more.
        ax: where to draw; a new figure by default.

    Returns:
        The Axes. A surface that too few runs attain is not drawn, and the legend says so; without any a
        sentence does.

    Raises:
        TypeError: what is no trace; ``ax`` of the wrong type.
        ValueError: an empty mapping, a level outside (0, 1], or no two objectives.
    """
    runs = named_runs(traces)
    if isinstance(levels, (str, float, int)) or not len(levels):
        raise ValueError(f"levels must be a list of shares in (0, 1], got {levels!r}.")
    shares = sorted({quantile("levels", level) for level in levels})
    pair = _pair(objectives, min(own.objectives.shape[-1] for own in runs))
    surfaces = [_surfaces(own, pair, shares) for own in runs]
    ax = axes_or_new(ax, 5.2, 4.2)
    corners = [np.stack(stairs, axis=-1) for own in surfaces for stairs in own if len(stairs[0])]
    if corners:
        low, high = (end(np.concatenate(corners), axis=0) for end in (np.min, np.max))
        margin = np.where(high > low, 0.06 * (high - low), 0.05 * np.abs(high) + 1e-3)
        low, high = low - margin, high + 2 * margin
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        for own, stairs in zip(runs, surfaces, strict=True):
            _draw(ax, own, stairs, high)
        _legend(ax, runs, surfaces, shares)
    else:
        empty = not any(own.objectives.size for own in runs)
        note(ax, "There are no evaluations." if empty else "Too few runs have feasible rows.", y=0.5)
    first, second = (f"objective {j + 1}" for j in pair)
    ax.set(xlabel=first, ylabel=second)
    tidy(ax)
    return ax


def _pair(objectives: Any, m: int) -> tuple[int, int]:
    if m < 2:
        raise ValueError("traces must have two objectives or more, as those of px.mo_tpe; one has 1.")
    pair = tuple(objectives)
    if len(pair) != 2 or pair[0] == pair[1] or not all(isinstance(j, int) and 0 <= j < m for j in pair):
        raise ValueError(f"objectives must be two different whole numbers below {m}, got {objectives!r}.")
    return pair


def _surfaces(own: Named, pair: tuple[int, int], shares: list[float]) -> list[Staircase]:
    """Corners of the staircase of every level, from left to right; none where too few runs attain it."""
    losses, mask = _fronts(own.objectives[..., pair], own.feasible)
    n = len(losses)
    if not mask.any():
        return [(np.zeros(0), np.zeros(0)) for _ in shares]
    counts = jnp.asarray([max(int(np.ceil(round(share * n, 9))), 1) for share in shares])
    found = jax.vmap(lambda count: attainment_surface(losses, count, mask))(counts)
    x, y = (np.asarray(a, np.float64) for a in (found.x, found.y))
    keep = np.asarray(found.corner) & np.isfinite(x) & np.isfinite(y)
    return [(x[i][keep[i]], y[i][keep[i]]) for i in range(len(shares))]


def _fronts(losses: np.ndarray, mask: np.ndarray) -> tuple[jax.Array, jax.Array]:
    """The non-dominated points of every run, padded; the others do not matter, and memory grows with them."""
    x, y = (np.where(mask, losses[..., j], np.inf) for j in range(2))
    order = np.lexsort((y, x), axis=-1)
    y_sorted = np.take_along_axis(y, order, axis=-1)
    before = np.minimum.accumulate(y_sorted, axis=-1)
    front = np.ones(y.shape, bool)
    front[..., 1:] = y_sorted[..., 1:] < before[..., :-1]
    front &= np.take_along_axis(mask, order, axis=-1)
    # A power of two, so that few programs serve all pictures.
    width = 1 << int(max(front.sum(axis=-1).max(initial=0), 1) - 1).bit_length()
    chosen = np.argsort(~front, axis=-1, kind="stable")[..., :width]
    pad = width - chosen.shape[-1]
    points = np.take_along_axis(losses, np.take_along_axis(order, chosen, axis=-1)[..., None], axis=-2)
    there = np.take_along_axis(front, chosen, axis=-1)
    points = np.pad(np.where(there[..., None], points, 0.0), ((0, 0), (0, pad), (0, 0)))
    return jnp.asarray(points), jnp.asarray(np.pad(there, ((0, 0), (0, pad))))


def _draw(ax: Axes, own: Named, stairs: list[Staircase], ends: np.ndarray) -> None:
    """Lines to the upper and right edges, and the band between the first and the last level."""
    middle = (len(stairs) - 1) // 2
    for i, (x, y) in enumerate(stairs):
        if not len(x):
            continue
        x, y = np.concatenate([x[:1], x, ends[:1]]), np.concatenate([ends[1:], y, y[-1:]])
        (line,) = ax.plot(x, y, color=own.colour, linestyle=own.dash, drawstyle="steps-post")
        if i == middle:
            line.set(linewidth=2.0, label=own.name or "_runs")
        else:
            line.set(linewidth=0.8, alpha=0.8)
    if len(stairs) > 1 and len(stairs[0][0]):
        at = np.unique(np.concatenate([stairs[0][0], stairs[-1][0], ends[:1]]))
        best, worst = (_height(part, at, ends[1]) for part in (stairs[0], stairs[-1]))
        ax.fill_between(at, best, worst, step="post", color=own.colour, alpha=0.18, linewidth=0)


def _height(stairs: Staircase, at: np.ndarray, top: float) -> np.ndarray:
    """Height of a staircase at ``at``; the upper edge to the left of it."""
    step = np.searchsorted(stairs[0], at, side="right")
    return np.minimum(np.concatenate([[top], stairs[1]])[step], top)


def _legend(ax: Axes, runs: list[Named], surfaces: list[list[Staircase]], shares: list[float]) -> None:
    """Names with the levels that are missing, and what lines and bands mean."""
    entries: list[tuple[Any, str]] = []
    for own, stairs in zip(runs, surfaces, strict=True):
        missing = [f"{share:g}" for share, (x, _) in zip(shares, stairs, strict=True) if not len(x)]
        lost = f"not attained at {', '.join(missing)}" if missing else ""
        text = ": ".join(part for part in (own.name, lost) if part)
        if text:
            entries.append((Line2D([], [], color=own.colour, linestyle=own.dash, linewidth=2.0), text))
    if any(len(own.objectives) > 1 for own in runs):
        middle = shares[(len(shares) - 1) // 2]
        entries.append((Line2D([], [], color=GREY, linewidth=2.0), f"attained by {middle:.0%} of runs"))
        if len(shares) > 1:
            words = f"{shares[0]:.0%} to {shares[-1]:.0%}"
            entries.append((Patch(facecolor=GREY, alpha=0.3), words))
    if entries:
        handles, texts = zip(*entries, strict=True)
        ax.legend(handles, texts, loc="upper right", fontsize=font_points(ax, 0.9), framealpha=0.85)
