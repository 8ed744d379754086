"""Where names of lines stand: beside the line where there is room, else in a column without overlaps."""

import numpy as np

_NEAR = 2.0  # points between a line and its name
_CLEAR = 4.0  # points that other lines, and names, keep away from a name at least
_ENOUGH = 24.0  # more room than this is not better
_HIGH = 12.0  # points of room that the top is worth more than the bottom
_SAMPLES = 240


def beside(
    x: np.ndarray, lines: np.ndarray, widths: np.ndarray, height: float, top: float
) -> list[tuple[float, float] | None]:
    """For each line the middle of a free place for its name, all in points; None where there is none.

    Args:
        x: (q,) ascending places of the levels.
        lines: (n, q) heights; NaN is a gap.
        widths: (n,) of the names.
        height: of all names.
        top: names stay below.
    """
    grid = np.linspace(x[0], x[-1], _SAMPLES)
    fine = np.stack([np.interp(grid, x, line) for line in lines])
    out: list[tuple[float, float] | None] = [None] * len(lines)
    boxes: list[tuple[float, float, float, float]] = []
    # Those with the most room choose first: the highest.
    for i in sorted(range(len(lines)), key=lambda i: -np.nanmax(lines[i], initial=-np.inf)):
        best, chosen = 0.0, []
        for middle in grid[::4]:
            left, right = middle - widths[i] / 2, middle + widths[i] / 2
            if left < x[0] or right > x[-1]:
                continue
            inside = (grid >= left) & (grid <= right)
            own, others = fine[i, inside], np.delete(fine[:, inside], i, axis=0)
            if np.isnan(own).any():
                continue
            for low in (own.max() + _NEAR, own.min() - _NEAR - height):
                box = (left, right, low, low + height)
                room = _room(box, others, boxes)
                # A name beside a steep piece of its line is far from most of it; where the line is high it
                # says most.
                score = min(room, _ENOUGH) - 0.5 * np.ptp(own) + _HIGH * own.mean() / top
                if room >= _CLEAR and low >= 0 and low + height <= top and score > best:
                    best, out[i], chosen = score, (middle, low + height / 2), [box]
        boxes += chosen
    return out


def _room(
    box: tuple[float, float, float, float], others: np.ndarray, boxes: list[tuple[float, float, float, float]]
) -> float:
    """How far the next line or name is, up or down; negative where it is in the box."""
    left, right, low, high = box
    lines = others[~np.isnan(others)]
    away = [np.maximum(low - lines, lines - high).min(initial=np.inf)]
    away += [max(low - d, c - high) for a, b, c, d in boxes if a - _CLEAR < right and left < b + _CLEAR]
    return float(min(away))


def spread(wanted: np.ndarray, gap: float, low: float, high: float) -> np.ndarray:
    """Positions at least ``gap`` apart, or what fits, within [low, high], as near to ``wanted`` as can be."""
    # Least squares under the order of wanted: less the gaps below it, the k-th position is the isotonic
    # regression, max over i <= k of min over j >= k of the mean of i to j.
    n = len(wanted)
    gap = min(gap, (high - low) / max(n - 1, 1))
    order, below = np.argsort(wanted, kind="stable"), gap * np.arange(n)
    total = np.append(0, np.cumsum(wanted[order] - below))
    i, j = np.ogrid[:n, :n]
    mean = (total[j + 1] - total[i]) / np.maximum(j + 1 - i, 1)  # of i to j, where i <= j
    least = np.minimum.accumulate(mean[:, ::-1], axis=1)[:, ::-1]
    level = np.maximum.accumulate(least, axis=0).diagonal()
    out = np.empty(n)
    out[order] = np.clip(level, low, high - gap * (n - 1)) + below
    return out
