"""Domains whose bounds move, as loops over rows: places between bounds, and pools of rows with like bounds.

Written from the definition, without the library. With these, rows of such a domain are rows of as many fixed
domains [0, 1] as there are pools, which `reference.grid.analyse` takes.
"""

import math

import numpy as np


def place(x: float, low: float, high: float, log: bool = False, step: float | None = None) -> float:
    """(x - low) / (high - low) on the axis; of steps, the centre of the value's cell of all cells."""
    if step is not None:
        n_values = math.floor((high - low) / step + 1e-6) + 1
        low, high = low - step / 2, low + (n_values - 1) * step + step / 2
        if n_values == 1:
            return math.nan
    elif low == high:
        return math.nan
    if log:
        x, low, high = math.log(x), math.log(low), math.log(high)
    return min(max((x - low) / (high - low), 0.0), 1.0)


def ends(low: float, high: float, log: bool = False, step: float | None = None) -> tuple[float, float]:
    """Ends of the range on the axis."""
    if step is not None:
        low, high = low - step / 2, low + math.floor((high - low) / step + 1e-6) * step + step / 2
    return (math.log(low), math.log(high)) if log else (low, high)


def part(x: list[float], weight: list[float], n: int) -> list[int]:
    """Which of n parts of equal weight each number is in, by the middle of the weight of its equals."""
    total, out = sum(weight), []
    for own in x:
        below = sum(w for other, w in zip(x, weight, strict=True) if other < own)
        equal = sum(w for other, w in zip(x, weight, strict=True) if other == own)
        out.append(min(int((below + equal / 2) / total * n), n - 1))
    return out


def pools(ranges: list[tuple[float, float]], weight: list[float], how: str, most: int = 8) -> list[int]:
    """The pool of each row, by the "width" or "middle" of its range, or "both": middles within widths."""
    n = min(max(math.floor(sum(weight) ** (1 / 3) / 2 + 0.5 + 1e-12), 1), max(most - 1, 1))
    width = [b - a for a, b in ranges]
    middle = [a / 2 + b / 2 for a, b in ranges]
    if how == "middle":
        return part(middle, weight, n)
    if how == "width":
        out = part(width, weight, n)
        rows = [i for i, at in enumerate(out) if at == min(out)]
        own = [width[i] for i in rows]
        if most > 1 and sum(weight[i] for i in rows) >= 100 and max(own) > 2 * min(own):
            halves = part(own, [weight[i] for i in rows], 2)
            out = [at + 1 for at in out]
            for i, half in zip(rows, halves, strict=True):
                out[i] += half - 1
        return out
    n_widths = math.isqrt(n)
    outer, out = part(width, weight, n_widths), [0] * len(width)
    for own in set(outer):
        rows = [i for i, at in enumerate(outer) if at == own]
        inner = part([middle[i] for i in rows], [weight[i] for i in rows], n // n_widths)
        for i, at in zip(rows, inner, strict=True):
            out[i] = own * (n // n_widths) + at
    return out


def shares(loss: str, levels: list[float], n_grid: int = 4000) -> np.ndarray:
    """(q,) share of x of the importance of x ~ U(0, c) and c ~ U(0, 1), by integration.

    With infinitely many rows every bound is a regime of its own. Then x and c explain all of membership, of
    which c explains Var(P(target | c)) and x, of like c, the rest: E[p (1 - p)] over gamma' (1 - gamma').
    """
    c = (np.arange(n_grid) + 0.5) / n_grid
    out = []
    for level in levels:
        low, high = 0.0, 1.0
        for _ in range(60):  # the cut-off, by bisection
            t = (low + high) / 2
            low, high = (t, high) if _inside(loss, c, t).mean() < level else (low, t)
        p = _inside(loss, c, t)
        out.append((p * (1 - p)).mean() / (level * (1 - level)))
    return np.array(out)


def _inside(loss: str, c: np.ndarray, t: float) -> np.ndarray:
    """P(loss <= t | c)."""
    if loss == "x":
        return np.minimum(t / c, 1)
    return np.full_like(c, t) if loss == "x/c" else (c <= t).astype(float)
