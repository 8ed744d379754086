"""Pairs of parameters, their slots, and the columns in which slots are counted; static."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Shaped

from parzax.importance.layout import Block, Layout


class Slot(NamedTuple):
    """Two regimes, one of each parameter of the ``pair``-th pair: the rows that are active in both."""

    pair: int
    regimes: tuple[int, int]


@dataclass(frozen=True)
class PairLayout:
    """Pairs of indices of parameters, and their slots in the order of the pairs; static under jit."""

    layout: Layout
    pairs: tuple[tuple[int, int], ...]
    slots: tuple[Slot, ...]

    @property
    def first_slot(self) -> Int[np.ndarray, " p1"]:
        """The first slot of each pair, and the number of slots."""
        of_pair = [slot.pair for slot in self.slots]
        return np.searchsorted(of_pair, np.arange(len(self.pairs) + 1)).astype(np.int32)

    def numbers(self) -> tuple[Int[np.ndarray, " w"], Int[np.ndarray, "p k k"]]:
        """The regime of each column of ``layout``, and the number within its pair of the slot of two regimes.

        The last regime is for columns in no slot; no slot has the number ``n`` of a pair with n slots.
        """
        k, first = self.layout.n_regimes, self.first_slot
        regime = np.full(self.layout.n_columns, k - 1, np.int32)
        for block in cell_blocks(self.layout):
            regime[block.start : block.start + block.n_cells] = block.regime
        slot = np.tile(np.diff(first)[:, None, None], (1, k, k))
        for number, (pair, regimes) in enumerate(self.slots):
            slot[(pair, *regimes)] = number - first[pair]
        return regime, slot

    def columns(self, n_cells: int) -> tuple[Layout, Int[np.ndarray, " c"]]:
        """Columns for slots of ``n_cells``, with one more per pair for other rows; and which are of slots."""
        widths = np.diff(self.first_slot) * n_cells + 1
        ends = np.cumsum(widths)
        of_slots = np.delete(np.arange(ends[-1]), ends - 1)
        return Layout((), tuple((ends - widths).tolist()), int(ends[-1])), of_slots

    def pair_sums(self, x: Shaped[Array, " r *b"]) -> Shaped[Array, " p *b"]:
        """Sums over the slots of each pair, in their own dtype."""
        begin, end = self.first_slot[:-1, None], self.first_slot[1:, None]
        slot = begin + np.arange((end - begin).max(initial=1))[None]
        padded = jnp.concatenate([x, jnp.zeros((1, *x.shape[1:]), x.dtype)])
        return padded[jnp.asarray(np.where(slot < end, slot, len(x)))].sum(axis=1, dtype=x.dtype)


def pair_layout(
    layout: Layout, pairs: Any, names: Any = None, together: Bool[np.ndarray, "b b"] | None = None
) -> PairLayout:
    """The slots of pairs; None, or "all", is all pairs.

    Args:
        layout: of the single parameters.
        pairs: pairs of names.
        names: of the parameters; their indices by default.
        together: which two of `cell_blocks` have rows in common; others make no slot. All by default.

    Raises:
        TypeError, ValueError: for what is not a pair of two parameters, and for a pair given twice.
    """
    names, chosen = range(len(layout.offsets)) if names is None else names, []
    if pairs is None or (isinstance(pairs, str) and pairs == "all"):
        pairs, chosen = (), list(combinations(range(len(names)), 2))
    elif isinstance(pairs, str) or not isinstance(pairs, Iterable):
        raise TypeError(f'pairs must be "all" or a list of pairs of parameters, got {pairs!r}.')
    elif not (pairs := list(pairs)):
        raise ValueError('pairs is empty; give at least one, or "all".')
    for pair in pairs:
        if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
            raise ValueError(f"pairs must hold pairs of parameters such as {tuple(names[:2])}, got {pair!r}.")
        for name in pair:
            if name not in names:
                known = ", ".join(map(repr, names))
                raise ValueError(f"pairs: no parameter {name!r} (in {tuple(pair)!r}); there are {known}.")
        chosen.append((names.index(pair[0]), names.index(pair[1])))
        if chosen[-1][0] == chosen[-1][1]:
            raise ValueError(f"pairs: {tuple(pair)!r} is one parameter; a pair needs two.")
        if len({frozenset(own) for own in chosen}) < len(chosen):
            raise ValueError(f"pairs holds {tuple(pair)!r} twice (in either order).")
    blocks = list(enumerate(cell_blocks(layout)))
    of_parameter = [[own for own in blocks if own[1].parameter == j] for j in range(len(names))]
    slots = [
        Slot(number, (first.regime, second.regime))
        for number, (a, b) in enumerate(chosen)
        for (i, first), (k, second) in product(of_parameter[a], of_parameter[b])
        if together is None or together[i, k]
    ]
    return PairLayout(layout, tuple(chosen), tuple(slots))


def cell_blocks(layout: Layout) -> list[Block]:
    """The regimes that have cells: not those of a single value, nor those whose bounds move."""
    return [block for block in layout.blocks if block.family is not None and not block.varying]


def is_exchangeable(block: Block) -> bool:
    """Whether its cells are categories."""
    return block.family is not None and block.family.exchangeable
