"""Bandwidth rules as plain float64 loops over rows, on an axis where the range has length 1.

Rows are what is present, each written out as often as it was seen; a prior kernel stands at ``prior``, or
nowhere when that is None.
"""

import math

import numpy as np
from scipy import optimize


def scott(rows, prior=0.5, minimum=0.01, maximum=0.5, magic=False):
    """1.059 min(IQR / 1.34, sd) n^(-1/5) over rows and the prior's centre."""
    values = np.array([*rows, *([] if prior is None else [prior])], float)
    if magic:
        minimum = max(minimum, _magic(len(rows), prior))
    if len(values) < 2:
        return min(minimum, maximum)
    first, third = np.percentile(values, [25, 75])
    spread = min((third - first) / 1.34, values.std(ddof=1))
    return min(max(1.059 * spread * len(values) ** -0.2, minimum), maximum)


def normal_reference(rows, n_parameters, minimum=0.01, maximum=0.5):
    """1.06 sd n^(-1/(D + 4)) over rows."""
    values = np.array(rows, float)
    spread = values.std() if len(values) else 0.0
    return min(max(1.06 * spread * max(len(values), 1) ** (-1 / (n_parameters + 4)), minimum), maximum)


def distances(rows, endpoints):
    """Distance to the farther neighbour; rows are ordered by value, then by place."""
    order = sorted(range(len(rows)), key=lambda i: (rows[i], i))
    result = np.zeros(len(rows))
    for rank, i in enumerate(order):
        lower = rows[order[rank - 1]] if rank > 0 else 0.0
        upper = rows[order[rank + 1]] if rank + 1 < len(rows) else 1.0
        sides = [rows[i] - lower, upper - rows[i]]
        if not endpoints and len(rows) > 1:
            if rank == 0:
                sides = sides[1:]
            elif rank == len(rows) - 1:
                sides = sides[:1]
        result[i] = max(sides)
    return result


def _magic(n, prior):
    return 1 / min(100, 1 + n + (prior is not None))


def neighbours(rows, prior=0.5, endpoints=False, magic=True, maximum=1.0):
    """Optuna 5."""
    result = distances(list(rows), endpoints)
    return np.clip(result, _magic(len(rows), prior) if magic else 1e-12, maximum)


def leave_one_out(scale, rows, prior=0.5, prior_weight=1.0, n_values=None):
    """Sum over rows of the log density at each row under the mixture of the others."""
    total = 0.0
    for i, x in enumerate(rows):
        terms = [_log_kernel(x, m, scale, n_values) for j, m in enumerate(rows) if j != i]
        weights = [1.0] * len(terms)
        if prior is not None:
            terms.append(_log_kernel(x, prior, 1.0, n_values))
            weights.append(prior_weight)
        largest = max(terms)
        summed = sum(w * math.exp(t - largest) for w, t in zip(weights, terms, strict=True))
        total += largest + math.log(summed / sum(weights))
    return total


def _log_kernel(x, centre, scale, n_values):
    """Truncated normal at x, or its mass on the cell of x over the cell's width."""
    inside = 1 - _tail(centre / scale) - _tail((1 - centre) / scale)
    if n_values is None:
        z = (x - centre) / scale
        return -0.5 * z * z - math.log(scale * math.sqrt(2 * math.pi) * inside)
    # Seen from the side on which the cell lies, so that a far one is a difference of small tails.
    distance, half = abs(x - centre), 0.5 / n_values
    mass = (_tail((distance - half) / scale) - _tail((distance + half) / scale)) / inside
    return math.log(mass * n_values) if mass > 0 else -math.inf


def _tail(z):
    return 0.5 * math.erfc(z / math.sqrt(2))


def best_leave_one_out(rows, minimum=0.01, maximum=0.5, **options):
    """Brute force over 60 scales, then SciPy's bounded search beside the best of them."""
    grid = np.geomspace(minimum, maximum, 60)
    values = [leave_one_out(h, rows, **options) for h in grid]
    k = int(np.argmax(values))
    low, high = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
    found = optimize.minimize_scalar(
        lambda h: -leave_one_out(h, rows, **options), bounds=(low, high), method="bounded"
    )
    return max((-found.fun, found.x), (values[k], grid[k]))
