"""Names of lines: beside the line if there is room, else in a column to the right, without overlaps."""

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.transforms import Affine2D
from scipy.optimize import isotonic_regression

from parzax.lens.plotting import _axes

_NEAR = 2.0  # distance in points between a line and its name
_CLEAR = 4.0  # least distance in points between a name and other lines or names
_ENOUGH = 24.0  # room in points: a place with more room than this is not better
# preference for high places: one at the top counts as if it had this much more room (in points) than one at
# the bottom
_HIGH = 12.0
_SAMPLES = 240

Place = tuple[float, float]


class Line(NamedTuple):
    """A line: its (q,) heights (NaN is a gap), name, colour and dashes."""

    heights: np.ndarray
    name: str
    look: dict[str, Any]


def name_lines(ax: Axes, x: np.ndarray, lines: list[Line], limits: Place, top: float) -> None:
    """Write the names of lines over ``x``: beside the line if there is room, and below ``top``.

    The axis shows ``limits``, plus the space that the other names need on the right.
    """
    size, names = _axes.get_font_size(ax, 0.95), [line.name for line in lines]
    # Places are chosen for the narrowest case, in which all names need room on the right.
    _set_limits(ax, limits, names)
    free = [None] * len(lines)
    to_points = ax.transScale + ax.transLimits + Affine2D().scale(*_axes.get_size(ax))
    if len(x) > 1:
        # A gap is NaN, which would make its place along the axis NaN too.
        tops = to_points.transform(np.column_stack([x, np.full(len(x), top)]))
        points = [to_points.transform(np.column_stack([x, line.heights])) for line in lines]
        widths = [_axes.measure_text(ax, size, name) for name in names]
        free = find_places(tops[:, 0], np.stack(points)[..., 1], widths, 1.1 * size, tops[0, 1])
    for line, place in zip(lines, free, strict=True):
        if place is not None:
            at = to_points.inverted().transform(place)
            look = {"ha": "center", "va": "center", "fontsize": size, "color": line.look["color"]}
            ax.text(at[0], at[1], line.name, **look)
    rest = [line for line, place in zip(lines, free, strict=True) if place is None]
    _set_limits(ax, limits, [line.name for line in rest])
    _name_ends(ax, x, rest, limits[1], top)


def _set_limits(ax: Axes, limits: Place, names: list[str]) -> None:
    """Show ``limits`` and, beyond them, a space as wide as the names, but less than half of the axis."""
    (left, right), size = limits, _axes.get_font_size(ax, 0.95)
    needed = _axes.measure_text(ax, size, *names) + 1.5 * size if names else 0.0
    share = min(needed / _axes.get_size(ax)[0], 0.45)
    ax.set_xlim(left, right + (right - left) * share / (1 - share))


def _name_ends(ax: Axes, x: np.ndarray, lines: list[Line], right: float, top: float) -> None:
    """Write names right of ``right``, below ``top``, without overlaps; strokes join names and line ends."""
    size, bottom = _axes.get_font_size(ax, 0.95), ax.get_ylim()[0]
    unit = size / _axes.get_size(ax) * [np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())]
    ends = []
    for line in lines:
        # The stroke begins at the last point of the line, or at 0 if it has none.
        last = np.flatnonzero(np.isfinite(line.heights))[-1:]
        ends.append((x[last[0]], line.heights[last[0]]) if len(last) else (x[-1], 0.0))
    gap = 1.2 * unit[1]
    heights = spread(np.array([y for _, y in ends]), gap, bottom + gap / 2, top - gap / 3)
    for end, line, height in zip(ends, lines, heights, strict=True):
        stroke = {"arrowstyle": "-", "linewidth": 0.7, "shrinkA": 2, "shrinkB": 2, "relpos": (0, 0.5)}
        look = {"va": "center", "fontsize": size, "color": line.look["color"]}
        place = right + 1.1 * unit[0], height
        ax.annotate(line.name, end, place, arrowprops=stroke | line.look, **look)


def find_places(x: np.ndarray, lines: np.ndarray, widths: Any, height: float, top: float) -> list[Any]:
    """For each line, the middle of a free place for its name, in points; None if no place is free.

    Args:
        x: (q,) ascending places of the levels.
        lines: (n, q) heights; NaN is a gap.
        widths: (n,) widths of the names.
        height: height of every name.
        top: names stay below this height.
    """
    grid = np.linspace(x[0], x[-1], _SAMPLES)
    fine = np.stack([np.interp(grid, x, line) for line in lines])
    places: list[Place | None] = [None] * len(lines)
    boxes = []
    # The highest lines have the most room, so they choose first.
    for i in sorted(range(len(lines)), key=lambda i: -np.nanmax(lines[i], initial=-np.inf)):
        best, chosen = 0.0, []
        for middle in grid[::4]:
            left, right = middle - widths[i] / 2, middle + widths[i] / 2
            inside = (grid >= left) & (grid <= right)
            line, others = fine[i, inside], np.delete(fine[:, inside], i, axis=0)
            if left < x[0] or right > x[-1] or np.isnan(line).any():
                continue
            near = [box for box in boxes if box[0] - _CLEAR < right and left < box[1] + _CLEAR]
            bottoms, tops = (np.append(others, [box[end] for box in near]) for end in (2, 3))
            for low in (line.max() + _NEAR, line.min() - _NEAR - height):
                high = low + height
                room = np.nanmin(np.maximum(low - tops, bottoms - high), initial=np.inf)
                # Penalise steep pieces, where a name is far from most of its line; prefer high places.
                score = min(room, _ENOUGH) - 0.5 * np.ptp(line) + _HIGH * line.mean() / top
                if room >= _CLEAR and low >= 0 and high <= top and score > best:
                    best, places[i], chosen = score, (middle, low + height / 2), [(left, right, low, high)]
        boxes += chosen
    return places


def spread(wanted: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """Positions in [low, high], near ``wanted`` and at least ``gap`` apart (less if there is no room)."""
    # Least squares that keep the order of ``wanted``: subtract the gaps below each position, then do an
    # isotonic regression.
    n = len(wanted)
    gap = min(gap, (high - low) / max(n - 1, 1))
    order, below = np.argsort(wanted, kind="stable"), gap * np.arange(n)
    level = isotonic_regression(wanted[order] - below).x if n else wanted
    positions = np.empty(n)
    positions[order] = np.clip(level, low, high - gap * (n - 1)) + below
    return positions
