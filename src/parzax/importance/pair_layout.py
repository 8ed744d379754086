"""Pairs of parameters, their slots, and the columns in which slots are counted; static."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Shaped

from parzax import _checks
from parzax.importance.layout import Block, Layout


class Slot(NamedTuple):
    """Two regimes, one of each parameter of the ``pair``-th pair: the rows that are active in both."""

    pair: int
    regimes: tuple[int, int]


@dataclass(frozen=True)
class PairLayout:
    """Pairs of indices of parameters; hashable, static under jit."""

    layout: Layout
    pairs: tuple[tuple[int, int], ...]

    @property
    def blocks(self) -> list[list[Block]]:
        """The regimes with cells of each parameter."""
        blocks, parameters = cell_blocks(self.layout), range(len(self.layout.offsets))
        return [[block for block in blocks if block.parameter == j] for j in parameters]

    @property
    def slots(self) -> tuple[Slot, ...]:
        """All slots, those of a pair one after the other."""
        both = enumerate((self.blocks[a], self.blocks[b]) for a, b in self.pairs)
        return tuple(Slot(i, (a.regime, b.regime)) for i, blocks in both for a, b in product(*blocks))

    @property
    def first_slot(self) -> Int[np.ndarray, " p1"]:
        """The first slot of each pair, and the number of slots."""
        of_pair = [slot.pair for slot in self.slots]
        return np.searchsorted(of_pair, np.arange(len(self.pairs) + 1)).astype(np.int32)

    @property
    def block_of_column(self) -> Int[np.ndarray, " w"]:
        """Which of the `blocks` of its parameter holds each column of ``layout``; their number for none."""
        n_columns = self.layout.n_codes
        number = np.repeat([len(blocks) for blocks in self.blocks], n_columns).astype(np.int32)
        for blocks in self.blocks:
            for i, block in enumerate(blocks):
                number[block.start : block.start + block.n_cells] = i
        return number

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


def pair_layout(layout: Layout, pairs: Any, names: Any = None) -> PairLayout:
    """Pairs of ``names`` of parameters, of indices by default; None, or "all", is all pairs.

    Raises:
        TypeError, ValueError: for what is not a pair of two parameters, and for a pair given twice.
    """
    names, chosen = range(len(layout.offsets)) if names is None else names, []
    if pairs is None or isinstance(pairs, str):
        _checks.one_of("pairs", pairs, (None, "all"))
        return PairLayout(layout, tuple(combinations(range(len(names)), 2)))
    _checks.instance("pairs", pairs, Iterable, '"all" or a list of pairs of parameters')
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
    if not chosen:
        raise ValueError('pairs is empty; give at least one, or "all".')
    return PairLayout(layout, tuple(chosen))


def cell_blocks(layout: Layout) -> list[Block]:
    """The regimes that have cells: not those of a single value, nor those whose bounds move."""
    return [block for block in layout.blocks if block.family is not None and not block.varying]


def is_exchangeable(block: Block) -> bool:
    """Whether its cells are categories."""
    return block.family is not None and block.family.exchangeable
