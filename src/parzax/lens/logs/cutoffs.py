"""Cut-offs of level sets of a log that is too large to sort: a histogram of the leading bits, refined."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from parzax._numerics import float_of_key, ordered_key
from parzax.importance.levels import level_weights
from parzax.status import Status

# Bits of a loss; bits that the first histogram reads; and later ones, which have a row per cut-off.
_BITS, _FIRST, _MORE = 64, 22, 12
# The losses that share their leading bits with a cut-off are sorted once there are no more than this.
_MOST_SORTED = 1 << 23
# Largest table of levels, which fits a cache.
_LARGEST_TABLE = 1 << 17

# ``fold(new_state, add)`` calls ``add(state, losses)`` for every block of losses, in float64 without NaN, and
# returns the states, one for each thread.
Fold = Callable[[Callable[[], Any], Callable[[Any, np.ndarray], None]], list[Any]]


class Cutoffs(NamedTuple):
    """Cut-offs of a log, in the order in which their levels were given."""

    values: np.ndarray  # (m,) float64 loss of the last row of each set
    sizes: np.ndarray  # (m,) rows of each set, ties included
    status: np.ndarray  # (m,) int32 bits NO_DATA, ALL_EQUAL and TIED_CUTOFF
    n: int  # rows with a loss


def find_cutoffs(fold: Fold, levels: Sequence[float], *, raw: bool = False) -> Cutoffs:
    """The exact cut-offs of `parzax.importance.levels.level_sets`, in memory that does not grow with the log.

    Each pass over the losses reads further bits of those that share their leading bits with a cut-off, until
    all bits are read, or few such losses are left, which are sorted.

    Args:
        fold: makes a pass over the losses.
        levels: (m,) levels in (0, 1].
        raw: whether sizes are rounded as in Optuna, see `level_weights`.

    If there is no loss, the cut-offs are -inf and the status is NO_DATA.
    """
    bits, offset = _BITS, 1 << (_FIRST - 1)

    def leading(key: np.ndarray) -> np.ndarray:
        return (key >> (bits - _FIRST)) + offset

    def count_leading(histogram: np.ndarray, losses: np.ndarray) -> None:
        bins = leading(ordered_key(losses))
        first = bins.min(initial=2 * offset)
        # Losses differ in few of their leading bits, so a block has a short histogram.
        counts = np.bincount(bins - first)
        histogram[first : first + len(counts)] += counts

    histogram = np.sum(fold(lambda: np.zeros(2 * offset, np.int64), count_leading), axis=0)
    if not (n := int(histogram.sum())):
        nothing = np.zeros(len(levels), np.int32)
        return Cutoffs(nothing - np.inf, nothing, nothing | int(Status.NO_DATA), 0)
    # The best and the worst loss show whether all are equal.
    needed = np.array([*level_weights(tuple(levels), np.float64(n), True, raw), 1, n]).astype(np.int64)
    bins, below, inside = _locate(histogram[None], np.zeros(len(needed), int), needed)
    has_cutoff = np.zeros(2 * offset, bool)
    has_cutoff[bins] = True
    prefix, depth = bins - offset, _FIRST

    def match(losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keys of the losses that begin with one of the prefixes, and the numbers of these prefixes."""
        key = ordered_key(losses)
        key = key[has_cutoff[leading(key)]]
        number = np.searchsorted(prefixes[:-1], key >> (bits - depth))
        begins = prefixes[number] == key >> (bits - depth)
        return key[begins], number[begins]

    def count_next(histogram: np.ndarray, losses: np.ndarray) -> None:
        key, number = match(losses)
        digit = (key >> (bits - depth - width)) & ((1 << width) - 1)
        histogram += np.bincount(number << width | digit, minlength=len(histogram))

    while depth < bits:
        prefixes, first, row = np.unique(prefix, return_index=True, return_inverse=True)
        if inside[first].sum() <= _MOST_SORTED:
            parts = fold(list, lambda part, losses: part.append(match(losses)[0]))
            keys = np.sort(np.concatenate([keys for part in parts for keys in part]))
            start = np.searchsorted(keys, prefix << (bits - depth))
            prefix = keys[start + needed - below - 1]
            first, end = (np.searchsorted(keys, prefix, side) for side in ("left", "right"))
            below, inside = below + first - start, end - first
            break
        width = min(_MORE, bits - depth)
        states = fold(partial(np.zeros, len(prefixes) << width, np.int64), count_next)
        counts = np.sum(states, axis=0).reshape(len(prefixes), -1)
        digit, before, inside = _locate(counts, row, needed - below)
        prefix, below, depth = prefix << width | digit, below + before, depth + width
    tied = np.where(below + inside > needed, np.int32(Status.TIED_CUTOFF), np.int32(0))
    few = Status.NO_DATA if n < 2 else Status.ALL_EQUAL if prefix[-2] == prefix[-1] else 0
    return Cutoffs(float_of_key(prefix[:-2]), (below + inside)[:-2], tied[:-2] | int(few), n)


def _locate(
    histogram: np.ndarray, row: np.ndarray, number: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bin of the ``number``-th entry of rows of a histogram, and the entries before it and in it."""
    upto = histogram.cumsum(axis=1)
    bins = np.array([np.searchsorted(upto[i], k) for i, k in zip(row, number, strict=True)])
    inside = histogram[row, bins]
    return bins, upto[row, bins] - inside, inside


class LevelTable:
    """The first level set of each loss: the number of ascending cut-offs below it, from its leading bits.

    Only losses that share them with a cut-off are searched for; a search of all takes ten times as long.
    """

    def __init__(self, cutoffs: np.ndarray) -> None:
        self._keys, self._shift = ordered_key(cutoffs), _BITS - _FIRST - 2
        while (int(self._keys[-1]) >> self._shift) - (int(self._keys[0]) >> self._shift) > _LARGEST_TABLE:
            self._shift += 1
        first, last = (int(key) >> self._shift for key in self._keys[[0, -1]])
        self._first = first - 1
        starts = np.arange(first - 1, last + 3) << self._shift
        level = np.searchsorted(self._keys, starts)
        # The levels in a bin go from that of its first key to that of the first key of the next bin.
        self._level = np.where(level[:-1] == level[1:], level[:-1], -1)

    def find(self, losses: np.ndarray) -> np.ndarray:
        """(n,) first level set of each loss; the number of cut-offs for losses above all, and NaN."""
        key = ordered_key(losses)
        bins = np.clip((key >> self._shift) - self._first, 0, len(self._level) - 1)
        level = self._level[bins]
        unsure = np.flatnonzero(level < 0)
        level[unsure] = np.searchsorted(self._keys, key[unsure])
        return level
