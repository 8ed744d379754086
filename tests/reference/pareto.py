"""Loops over rows and fronts, hypervolume by inclusion and exclusion of cells, greedy choice, attainment."""

import math

import numpy as np

ABSENT = 2**30


def dominates(q, p) -> bool:
    return all(a <= b for a, b in zip(q, p, strict=True)) and any(a < b for a, b in zip(q, p, strict=True))


def ranks(losses: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Peel fronts off; then rows with a NaN, then absent ones."""
    rank = np.full(len(losses), ABSENT)
    left = {i for i in range(len(losses)) if mask[i] > 0 and not np.isnan(losses[i]).any()}
    front = 0
    while left:
        best = {i for i in left if not any(dominates(losses[j], losses[i]) for j in left)}
        rank[list(best)] = front
        left -= best
        front += 1
    for i in range(len(losses)):
        if mask[i] > 0 and np.isnan(losses[i]).any():
            rank[i] = front
    return rank


def crowding(losses: np.ndarray, rank: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Deb's loop, front by front; see the docstring of the function for the rules on ties and infinities."""
    n, m = losses.shape
    distance = np.zeros(n)
    proper = [i for i in range(n) if mask[i] > 0 and not np.isnan(losses[i]).any()]
    for front in {int(rank[i]) for i in proper}:
        rows = [i for i in proper if rank[i] == front]
        if len(rows) == 1:
            distance[rows] = math.inf
            continue
        for j in range(m):
            order = [i for *_, i in sorted((*losses[i, j:], *losses[i, :j], i) for i in rows)]
            f = [losses[i, j] for i in order]
            if f[0] == f[-1]:
                continue
            finite = [v for v in f if math.isfinite(v)]
            width = finite[-1] - finite[0] if finite else 0.0
            distance[order[0]] = distance[order[-1]] = math.inf
            for k in range(1, len(order) - 1):
                if f[k + 1] == f[k - 1]:
                    continue
                gap = f[k + 1] - f[k - 1]
                distance[order[k]] += gap if gap == math.inf else gap / width if width > 0 else 0.0
    return distance


def volume(losses: np.ndarray, reference: np.ndarray) -> float:
    """Sum of the cells of the grid through all rows that some row dominates."""
    rows = [p for p in losses if not np.isnan(p).any() and (p < reference).all()]
    if not rows:
        return 0.0
    m = len(reference)
    axes = [np.unique([*(p[j] for p in rows), reference[j]]) for j in range(m)]
    covered = np.zeros([len(axis) - 1 for axis in axes], bool)
    for p in rows:
        covered[tuple(slice(int(np.searchsorted(axes[j], p[j])), None) for j in range(m))] = True
    cells = covered.astype(float)
    for j in range(m):
        cells *= np.diff(axes[j]).reshape([-1 if k == j else 1 for k in range(m)])
    return math.fsum(cells.ravel())


def greedy(losses: np.ndarray, reference: np.ndarray, size: int) -> list[int]:
    """Rows in the order of greedy choice; ties in lexicographic order, then by number; NaN last.

    Rows with infinite boxes come first; in what is infinite of them they then cover all others.
    """
    n = len(losses)
    nan = np.isnan(losses).any(axis=1)
    order = sorted(range(n), key=lambda i: (bool(nan[i]), () if nan[i] else tuple(losses[i]), i))
    endless = np.isneginf(losses).any(axis=1) & (losses < reference).all(axis=1)
    chosen = [i for i in order if endless[i]][:size]
    least = np.where(np.isfinite(losses), losses, reference).min(axis=0, initial=0)
    losses = np.where(np.isneginf(losses), least, losses)
    for _ in range(min(size, n) - len(chosen)):
        now = volume(losses[chosen], reference)
        gains = {i: volume(losses[[*chosen, i]], reference) - now for i in order if i not in chosen}
        top = max(gains.values())
        chosen.append(next(i for i in gains if gains[i] >= top - 1e-12 * max(top, now)))
    return chosen


def attainment(losses: np.ndarray, level: int, mask: np.ndarray) -> list[tuple[float, float]]:
    """Lower left corners of what at least ``level`` runs attain, from left to right."""
    runs = [
        [p for p, there in zip(run, here, strict=True) if there > 0 and not np.isnan(p).any()]
        for run, here in zip(losses, mask, strict=True)
    ]
    corners, last = [], None
    for x in sorted({p[0] for run in runs for p in run}):
        best = []
        for run in runs:
            reached = [p[1] for p in run if p[0] <= x]
            if reached:
                best.append(min(reached))
        if len(best) >= level:
            y = sorted(best)[level - 1]
            if last is None or y < last:
                corners.append((float(x), float(y)))
                last = y
    return corners
