"""Bandwidth rules as plain float64 loops over rows, on an axis where the range has length 1.

Rows are what is present, each written out as often as it was seen; a prior kernel stands at ``prior``, or
nowhere when that is None.
"""

import numpy as np


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
