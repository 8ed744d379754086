"""What a parameter explains of membership in the target, by least squares and loops (NumPy, float64).

Nothing here knows of orthonormal functions or of products over cells: every resolution is a design matrix,
its fit a least-squares solution, its leverages the diagonal of the hat matrix.
"""

import math
from fractions import Fraction

import numpy as np

CELLS = (3, 4, 6, 8, 12, 24, 48, 96)
DEGREES = 2, 4, 8
SMOOTHNESS = 4.0
LEAST = 0.2
TEMPERATURE = 8.0
CHANCE_ROWS = 3.0


def group_of(cell: int, n_cells: int, n_groups: int) -> int:
    """The group that holds the middle of a cell; of two, the one nearer to the middle of all."""
    place = (Fraction(cell) + Fraction(1, 2)) * n_groups / n_cells
    if place.denominator > 1 or 2 * place == n_groups:
        return math.floor(place)
    return int(place) if 2 * place < n_groups else int(place) - 1


def designs(region: np.ndarray, kind: str) -> list[np.ndarray]:
    """Design matrices (cells, functions) of all resolutions of a grid with such counts."""
    n_cells = len(region)
    if kind == "categorical":
        return [np.eye(n_cells)]
    out, sizes = [], []
    for wanted in (*(k for k in CELLS if k < n_cells), n_cells):
        n_groups = wanted - 1 if n_cells % 2 and wanted % 2 == 0 else wanted
        if n_groups not in sizes:
            sizes.append(n_groups)
            groups = [group_of(b, n_cells, n_groups) for b in range(n_cells)]
            out.append(np.eye(n_groups)[groups])
    return out + [np.polynomial.legendre.legvander(ranks(region), m) for m in DEGREES if spread(region, m)]


def ranks(region: np.ndarray) -> np.ndarray:
    """The share of rows below the middle of each cell, from -1 to 1."""
    below = [sum(region[:b]) + region[b] / 2 for b in range(len(region))]
    return np.array(below) / sum(region) * 2 - 1


def spread(region: np.ndarray, degree: int) -> bool:
    """Whether x p_k, x of standard deviation 1, has at least 0.2 of p_k+1 for all k below the degree.

    p_k are orthonormal polynomials of the ranks: columns of Q in a QR decomposition.
    """
    here, x = region > 0, ranks(region)
    if np.count_nonzero(here) <= degree + 1:  # the cells themselves
        return False
    root = np.sqrt(region[here])
    q, _ = np.linalg.qr(np.polynomial.legendre.legvander(x[here], degree) * root[:, None])
    x = x[here] / np.sqrt(sum(region * x**2) / sum(region))
    return all(abs(q[:, k + 1] @ (x * q[:, k])) > LEAST for k in range(degree))


def fit(design: np.ndarray, region: np.ndarray) -> tuple[np.ndarray, int]:
    """Hat matrix of the cells, H such that H t are the fitted means of counts t; and its rank."""
    here = region > 0
    root = np.sqrt(region[here])[:, None]
    matrix = design[here] * root
    rank = int(np.linalg.matrix_rank(matrix))
    hat = np.zeros((len(region), len(region)))
    hat[np.ix_(here, here)] = matrix @ np.linalg.pinv(matrix) / root / root.T
    return hat, rank


def divergence(
    target: np.ndarray, region: np.ndarray, kind: str, debias: bool = True, uniform: bool = False
) -> float:
    """The estimate of D_PE(p_T || p_R) that `parzax.divergence.Explained` makes of counts per cell."""
    n_t, n, occupied = target.sum(), region.sum(), np.count_nonzero(region)
    if n_t == 0 or occupied <= 1 or (n_t == n and not uniform):
        return 0.0
    m = n_t if uniform else min(n_t, n - n_t)
    part = m**4 / (m**4 + CHANCE_ROWS**4) if debias else 0.0
    found = (of_uniform if uniform else of_region)(target, region, kind, part)
    counted = [row for row in found if row[2] > (1 if kind == "categorical" else min(2, occupied - 1))]
    if not counted:
        return 0.0
    if kind == "categorical":
        return counted[0][0]
    least, best = min(row[1] for row in found), min(row[1] for row in counted)
    scale = 1.0 if uniform else max(least / n, 1e-3 * n_t / n * (1 - n_t / n))
    weights = [prior * math.exp(-(row[1] - best) / (2 * TEMPERATURE * scale)) for *row, prior in counted]
    weights = [w / sum(weights) for w in weights]
    mean = sum(w * row[0] for w, row in zip(weights, counted, strict=True))
    # What the choice of a resolution adds: one that happens to explain more weighs more.
    for w, (_, _, own, per_function, _) in zip(weights, counted, strict=True):
        added = shared(own, own, n, uniform) - sum(
            v * shared(own, row[2], n, uniform) for v, row in zip(weights, counted, strict=True)
        )
        mean -= part * w * added / TEMPERATURE * per_function
    return mean


def shared(own: int, other: int, n: float, uniform: bool) -> float:
    """Covariance of what two resolutions explain by chance, by how fast the other's error falls with it."""
    both = min(own, other) - 1
    if uniform:
        return both
    return both * (n - max(own, other)) / (n - own) * (n / (n - other)) ** 2


def most_functions(n: float) -> float:
    """Functions of a number that are of use to predict n rows from each other."""
    if n >= 40:
        return n / 2
    return max(3, n - 20 if n >= 30 else n / 3)


def of_region(target: np.ndarray, region: np.ndarray, kind: str, part: float) -> list[tuple]:
    """Of all resolutions: divergence, error of the rows left out, rank, chance per function, prior."""
    n_t, n = target.sum(), region.sum()
    mean, out = n_t / n, []
    for design in designs(region, kind):
        hat, rank = fit(design, region)
        if not 1 < rank <= n - 2 or (_smooth(design) and rank < design.shape[1]):
            continue
        if kind == "numeric" and rank > most_functions(n):
            continue
        fitted, leverage = hat @ target, np.diag(hat)
        explained = sum(region[b] * (fitted[b] - mean) ** 2 for b in range(len(region)))
        error = 0.0
        for b in np.flatnonzero(region > 0):
            for membership, rows in ((1.0, target[b]), (0.0, region[b] - target[b])):
                if leverage[b] > 1 - 1e-4:  # by the mean of all others
                    error += rows * ((membership - mean) * n / max(n - 1, 1)) ** 2
                else:
                    error += rows * ((membership - fitted[b]) / (1 - leverage[b])) ** 2
        per_row = (n_t * (1 - mean) - explained) / (n - rank)
        scale = n / n_t**2
        above = scale * (explained - part * (rank - 1) * per_row)
        out.append((above, error, rank, scale * per_row, _prior(design)))
    return out


def of_uniform(target: np.ndarray, region: np.ndarray, kind: str, part: float) -> list[tuple]:
    """The same against the uniform density, by pairs of target rows.

    With K(x, x') = sum_j f_j(x) f_j(x') of functions that are orthonormal under the uniform density the
    estimate of the target's ratio to it is the mean of K(., x_i); its integrated squared error, but for a
    constant, is the mean of K(x_i, x_j) over all pairs less twice that over pairs of different rows.
    """
    size, n_t, out = len(target), target.sum(), []
    uniform = np.full(size, 1 / size)
    for design in designs(uniform, kind):
        kernel, rank = fit(design, uniform)
        if rank < 2 or (_smooth(design) and rank < design.shape[1]):
            continue
        own, pairs = float(target @ np.diag(kernel)), float(target @ kernel @ target)
        value = (pairs - n_t**2) / n_t**2 - part * (rank - 1) / n_t
        out.append((value, (pairs - 2 * (pairs - own)) / n_t, rank, 1 / n_t, _prior(design)))
    return out


def _smooth(design: np.ndarray) -> bool:
    return bool((design != np.round(design)).any())


def _prior(design: np.ndarray) -> float:
    return SMOOTHNESS if _smooth(design) else 1.0


def left_out(design: np.ndarray, cells: np.ndarray, member: np.ndarray) -> float:
    """Sum of squared errors of each row's prediction by a least-squares fit to all others."""
    error = 0.0
    for i in range(len(cells)):
        others = np.arange(len(cells)) != i
        matrix = design[cells[others]]
        reachable = np.linalg.matrix_rank(np.vstack([matrix, design[cells[i]]])) == np.linalg.matrix_rank(
            matrix
        )
        if reachable:
            predicted = design[cells[i]] @ np.linalg.lstsq(matrix, member[others], rcond=None)[0]
        else:
            predicted = member[others].mean()
        error += (member[i] - predicted) ** 2
    return error
