"""Cells of pairs of parameters, on the host: how many, which rows are in which, and where they are counted.

Two regimes, one of each parameter, are a *slot*: the rows that are active in both, on a grid of their own.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np

from parzax.observations import Observations
from parzax.results.pairs.arrays import Slot
from parzax.space import Categorical, Domain, Numeric, Varying

# A grid has about this many of the region's rows per cell, and at least so many of its own; along each axis
# an even number of cells.
_ROWS_PER_CELL, _FEWEST_PER_CELL, _FEWEST, _MOST = 15, 5, 4, 10
# Categories have cells of their own up to this many times the cells of numbers, given so many rows per cell.
_MORE_LABELS, _ROWS_PER_LABEL_CELL = 2, 8
# Cells are of equal width where each of them has this part of an even share of the rows.
_LEAST_SHARE = 0.5
# A place that is this near to a border, in cells, is on it.
_ROUNDING = 1e-9
ELSEWHERE = 255  # code of rows that are not in a regime


class Size(NamedTuple):
    """Most cells along an axis, of numbers and of categories."""

    numbers: int
    labels: int


class PairCells(NamedTuple):
    """Codes by column, and which two columns make a slot.

    Attributes:
        codes: (s, c, rows) uint8 cell of every row; ELSEWHERE outside the column's regime, and for padding.
        columns: (s, r, 2) int32 columns of both parameters of every slot.
        slots: the r slots, those of a pair one after the other.
        width: more than the largest code.
        n_active: (s, p) weight of the region's rows in which both parameters of a pair are active.
    """

    codes: np.ndarray
    columns: np.ndarray
    slots: tuple[Slot, ...]
    width: int
    n_active: np.ndarray


def grid_size(n: float, n_region: float) -> Size:
    """Cells for n rows of a region of ``n_region``: the even floor of sqrt(n_region / 15), from 4 to 10.

    Fewer where that would leave less than 5 rows per cell, so that regimes are seen as sharply as the whole
    where they can be. For categories twice that where there are rows enough.

    >>> grid_size(100, 100), grid_size(1000, 1000), grid_size(200, 1000)
    (Size(numbers=4, labels=4), Size(numbers=8, labels=16), Size(numbers=6, labels=6))
    """
    whole = min(n_region / _ROWS_PER_CELL, n / _FEWEST_PER_CELL)
    cells = int(np.clip(2 * (int(whole**0.5) // 2), _FEWEST, _MOST))
    return Size(cells, cells * (_MORE_LABELS if n >= _ROWS_PER_LABEL_CELL * cells**2 else 1))


def pair_cells(
    obs: Observations, pairs: np.ndarray, in_region: np.ndarray, weight: np.ndarray | None, rows: int
) -> PairCells:
    """The cells of (p, 2) pairs of parameters, by their indices, of a log.

    Args:
        obs: the log.
        pairs: indices of both parameters.
        in_region: (s, n) rows that decide about the cells.
        weight: (s, n) frequency weights or None.
        rows: number of rows to pad to.
    """
    s, n = in_region.shape
    values, regime = (x.reshape(s, n, len(obs.space)) for x in (obs.values, obs.regime))
    mass = in_region * (1.0 if weight is None else weight)
    wanted = np.unique(pairs)
    blocks = [
        (j, i) for j in wanted.tolist() for i, own in enumerate(obs.space.domains[j]) if _has_cells(own)
    ]
    together = _together(regime, mass, blocks)
    number = {block: i for i, block in enumerate(blocks)}
    slots, both = [], []
    for p, (a, b) in enumerate(pairs.tolist()):
        for i, k in product(range(len(obs.space.domains[a])), range(len(obs.space.domains[b]))):
            if (a, i) in number and (b, k) in number:
                first, second = number[a, i], number[b, k]
                if together[:, first, second].any():
                    slots.append(Slot(p, (i, k)))
                    both.append((first, second))
    of_slots = np.array(both, np.int64).reshape(-1, 2)
    rows_of = together[:, of_slots[:, 0], of_slots[:, 1]]
    sizes = [
        [grid_size(x, whole) for x in own]
        for own, whole in zip(rows_of.tolist(), mass.sum(axis=1).tolist(), strict=True)
    ]
    known = sorted({size for own in sizes for size in own})
    at = np.array([[known.index(size) for size in own] for own in sizes], np.int64).reshape(s, -1)
    columns = (of_slots[None] * len(known) + at[..., None]).astype(np.int32)
    codes = np.full((s, max(len(blocks) * len(known), 1), rows), ELSEWHERE, np.uint8)
    for seed in range(s):
        for column in np.unique(columns[seed]).tolist():
            (j, i), size = blocks[column // len(known)], known[column % len(known)]
            here = in_region[seed] & (regime[seed, :, j] == i) & (mass[seed] > 0)
            cells = axis_cells(obs.space.domains[j][i], values[seed, here, j], mass[seed, here], size)
            codes[seed, column, np.flatnonzero(here)] = cells
    actives = [(j, None) for j in range(len(obs.space))]
    n_active = _together(regime, mass, actives)[:, pairs[:, 0], pairs[:, 1]]
    domains = [obs.space.domains[j][i] for j, i in blocks]
    width = max((_width(own, size) for own in domains for size in known), default=1)
    return PairCells(codes, columns, tuple(slots), width, n_active)


def axis_cells(domain: Domain, values: np.ndarray, weight: np.ndarray, size: Size) -> np.ndarray:
    """The cell of each of (n,) values of one regime, all of them active.

    Values have cells of their own while they fit; otherwise the rarest categories share the last cell, and
    numbers are in cells of equal width on the domain's axis, or of equal numbers of rows where those would be
    too uneven. What lies between two cells goes to that nearer to the middle.
    """
    known, inverse = np.unique(values, return_inverse=True)
    mass = np.bincount(inverse, weight, minlength=len(known))
    exchangeable = isinstance(domain, Categorical)
    most = size.labels if exchangeable else size.numbers
    if len(known) <= most:
        of_value = np.arange(len(known))
    elif exchangeable:
        of_value = np.full(len(known), most - 1)
        of_value[np.argsort(-mass, kind="stable")[: most - 1]] = np.arange(most - 1)
    else:
        of_value = _cut(*_twice_the_place(domain, known), most)
        if np.bincount(of_value, mass, minlength=most).min() < _LEAST_SHARE * mass.sum() / most:
            # The middle of the ranks that a value has.
            of_value = _cut(2 * np.cumsum(mass) - mass, 2 * mass.sum(), most)
    return of_value[inverse]


def _twice_the_place(domain: Domain, values: np.ndarray) -> tuple[np.ndarray, float]:
    """Twice the places of values on the axis, and twice its length; whole numbers where these are even."""
    if domain.n_values is None or (isinstance(domain, Numeric) and domain.log):
        return 2 * np.asarray(domain.axis.unit(values), np.float64), 2.0
    return 2.0 * domain.axis.index(values) + 1, 2.0 * domain.n_values


def _cut(twice: np.ndarray, whole: float, n: int) -> np.ndarray:
    """Which n-th of ``whole`` half of each is in; between two, that nearer to the middle."""
    at = n * twice / whole
    # Logarithms miss a border by rounding.
    at = np.where(np.abs(at - np.rint(at)) < _ROUNDING, np.rint(at), at)
    lower, upper = np.floor(at), np.ceil(at) - 1
    return np.clip(np.where(2 * twice <= whole, lower, upper), 0, n - 1).astype(np.int64)


def _has_cells(domain: Domain) -> bool:
    return not isinstance(domain, Varying) and domain.n_values != 1


def _width(domain: Domain, size: Size) -> int:
    most = size.labels if isinstance(domain, Categorical) else size.numbers
    return min(most, domain.n_values or most)


def _together(regime: np.ndarray, mass: np.ndarray, blocks: list[Any]) -> np.ndarray:
    """(s, b, b) weight of the rows in each two of the regimes (of any, for None)."""
    out = np.zeros((len(regime), len(blocks), len(blocks)))
    for seed, (own, weight) in enumerate(zip(regime, mass, strict=True)):
        columns = [own[:, j] >= 0 if i is None else own[:, j] == i for j, i in blocks]
        if columns:
            member = np.stack(columns, axis=1).astype(np.float64)
            out[seed] = (member * weight[:, None]).T @ member
    return out
