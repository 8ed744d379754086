"""Pairs of parameters, their slots, and the columns in which slots are counted; static."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Shaped

from parzax import _checks
from parzax.importance.layout import Block, Layout


class Slot(NamedTuple):
    """Two regimes, one of each parameter of the ``pair``-th pair: the rows that are active in both."""

    pair: int
    regimes: tuple[int, int]


@dataclass(frozen=True)
class PairLayout:
    """Which pairs and slots are counted; hashable, static under jit.

    Attributes:
        layout: of the single parameters.
        pairs: indices of both parameters of each pair.
        slots: the slots, in the order of the pairs.
    """

    layout: Layout
    pairs: tuple[tuple[int, int], ...]
    slots: tuple[Slot, ...]

    @property
    def parameters(self) -> Int[np.ndarray, "2 p"]:
        """Indices of the first and of the second parameter of each pair."""
        return np.array(self.pairs, np.int32).reshape(-1, 2).T

    @property
    def of_pair(self) -> Int[np.ndarray, " r"]:
        """The pair of each slot."""
        return np.array([slot.pair for slot in self.slots], np.int32)

    @property
    def n_slots(self) -> Int[np.ndarray, " p"]:
        """Number of slots of each pair."""
        return np.bincount(self.of_pair, minlength=len(self.pairs)).astype(np.int32)

    @property
    def first_slot(self) -> Int[np.ndarray, " p"]:
        """The first slot of each pair, where it has one."""
        return (np.cumsum(self.n_slots) - self.n_slots).astype(np.int32)

    @property
    def regime_of_column(self) -> Int[np.ndarray, " w"]:
        """The regime of each column of ``layout``; the last number for columns that are in no slot."""
        regime = np.full(self.layout.n_columns, self.layout.n_regimes - 1, np.int32)
        for block in cell_blocks(self.layout):
            regime[block.start : block.start + block.n_cells] = block.regime
        return regime

    @property
    def slot_of_regimes(self) -> Int[np.ndarray, "p k k"]:
        """Number of the slot within its pair, by the regimes of both; ``n_slots`` where there is none."""
        k, first = self.layout.n_regimes, self.first_slot
        table = np.broadcast_to(self.n_slots[:, None, None], (len(self.pairs), k, k)).copy()
        for number, (pair, regimes) in enumerate(self.slots):
            table[(pair, *regimes)] = number - first[pair]
        return table

    def columns(self, n_cells: int) -> tuple[Layout, Int[np.ndarray, " c"]]:
        """Columns for slots of ``n_cells`` each, one more per pair for other rows; and those of the slots."""
        widths = self.n_slots * n_cells + 1
        ends = np.cumsum(widths)
        of_slots = np.delete(np.arange(ends[-1]), ends - 1)
        return Layout((), tuple((ends - widths).tolist()), int(ends[-1])), of_slots

    def pair_sums(self, x: Shaped[Array, "r *b"]) -> Shaped[Array, "p *b"]:
        """Sums over the slots of each pair, in their own dtype."""
        n_slots = self.n_slots
        number = np.arange(n_slots.max(initial=1))[None]
        at = np.where(number < n_slots[:, None], self.first_slot[:, None] + number, len(x))
        padded = jnp.concatenate([x, jnp.zeros((1, *x.shape[1:]), x.dtype)])
        return padded[jnp.asarray(at)].sum(axis=1, dtype=x.dtype)


def pair_layout(layout: Layout, pairs: Any, together: Bool[np.ndarray, "b b"] | None = None) -> PairLayout:
    """The slots of pairs; ``pairs`` are indices, or None for all.

    Args:
        layout: of the single parameters.
        pairs: (first, second) indices, or None for all of them.
        together: which two of `cell_blocks` have rows in common; others make no slot. All by default.

    Raises:
        TypeError, ValueError: for what is not a pair of two parameters, and for a pair given twice.
    """
    d, chosen = len(layout.offsets), []
    if pairs is not None and (isinstance(pairs, str) or not isinstance(pairs, Iterable)):
        raise TypeError(f"pairs must be None or pairs of indices such as ((0, 1),), got {pairs!r}.")
    for pair in combinations(range(d), 2) if pairs is None else pairs:
        if isinstance(pair, str) or len(pair) != 2:
            raise ValueError(f"pairs must hold pairs of indices such as (0, 1), got {pair!r}.")
        first, second = (_checks.whole_number("pairs", index, 0, d - 1) for index in pair)
        if first == second:
            raise ValueError(f"pairs: {(first, second)} is one parameter; a pair needs two.")
        chosen.append((first, second))
    if len({frozenset(pair) for pair in chosen}) < len(chosen):
        raise ValueError("pairs holds a pair twice (in either order).")
    blocks: dict[int, list[tuple[int, Block]]] = {j: [] for j in range(d)}
    for number, block in enumerate(cell_blocks(layout)):
        blocks[block.parameter].append((number, block))
    slots = [
        Slot(number, (first.regime, second.regime))
        for number, (a, b) in enumerate(chosen)
        for (i, first), (k, second) in product(blocks[a], blocks[b])
        if together is None or together[i, k]
    ]
    return PairLayout(layout, tuple(chosen), tuple(slots))


def cell_blocks(layout: Layout) -> list[Block]:
    """The regimes that have cells: not those of a single value, nor those whose bounds move."""
    return [block for block in layout.blocks if block.family is not None and not block.varying]
