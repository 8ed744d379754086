"""What a session sends to the device: labels of losses, and a program that adds rows to a state and asks."""

from bisect import bisect_left
from collections.abc import Iterable
from functools import reduce
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt32

from parzax._programs import program
from parzax.parzen.basis import Basis
from parzax.samplers.strategy import Strategy
from parzax.space import Points
from parzax.split import State

# Beside 0 float32 has room for ever smaller numbers, which devices take for 0.
_LEAST_GAP = 2.0**-20
_STATE = jax.tree.structure(State.empty(1, 1, 1, 1, np.float32))


class Order:
    """A label for every key, ascending with the keys; equal keys have equal labels.

    A sampler of one objective looks at the order of its losses alone. Losses in float64, or pairs such as
    Optuna's order of pruned trials, therefore go to the device as labels, which float32 holds exactly
    whatever the losses are: 10^6 + 10^-3 and 10^6 stay apart. A new key gets a label halfway between its
    neighbours'; where there is no room left, all labels are spread anew.
    """

    def __init__(self) -> None:
        self._keys: list[Any] = []
        self._labels: list[float] = []

    def add(self, keys: Iterable[Any]) -> bool:
        """Give labels to new keys; whether the labels of the old ones changed."""
        crowded = False
        for key in keys:
            place = bisect_left(self._keys, key)
            if place < len(self._keys) and self._keys[place] == key:
                continue
            if 0 < place < len(self._keys):
                below, above = self._labels[place - 1 : place + 1]
                new = float(np.float32((below + above) / 2))
                crowded |= not below < new < above or above - below < _LEAST_GAP
            else:  # beyond an end, or the first of all
                new = self._labels[-1] + 1 if place else self._labels[0] - 1 if self._labels else 0.0
            self._keys.insert(place, key)
            self._labels.insert(place, new)
        if crowded:
            self._labels = [float(place) for place in range(len(self._keys))]
        return crowded

    def label(self, key: Any) -> float:
        """The label of a key that was added."""
        return self._labels[bisect_left(self._keys, key)]


class Program:
    """A strategy and a basis as a static argument, hashed once; ``arrays`` is what is data."""

    def __init__(self, strategy: Strategy, basis: Basis, dtype: Any) -> None:
        leaves, structure = jax.tree.flatten((strategy, basis))
        # None, which is never a leaf, stands for an array.
        rest = tuple(None if isinstance(leaf, (jax.Array, np.ndarray)) else leaf for leaf in leaves)
        data = (leaf for leaf, own in zip(leaves, rest, strict=True) if own is None)
        # Floats in the dtype, those of NumPy converted on the host.
        self.arrays = [jax.device_put(a.astype(dtype) if a.dtype.kind == "f" else a) for a in data]
        self._static = structure, rest
        self._hash = hash(self._static)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Program) and self._static == other._static)

    def __reduce__(self) -> tuple[Any, ...]:
        """As what is static, under which programs are stored."""
        return tuple, (self.combined([None] * self._static[1].count(None)),)

    def combined(self, arrays: list[Any]) -> tuple[Strategy, Basis]:
        """The strategy and the basis with arrays."""
        data, (structure, rest) = iter(arrays), self._static
        return jax.tree.unflatten(structure, [next(data) if leaf is None else leaf for leaf in rest])


# A study of normal length does not earn back what a better program costs.
@program(size="middling")
def advance(
    program: Program,
    arrays: list[Any],
    leaves: list[Any],
    floats: Float[Any, "n w"],
    whole: Int[Any, "n v"],
    counts: Int[Any, "2"],
    numbers: UInt32[Any, " k"],
) -> tuple[list[Any], Points]:
    """Add rows to a state's leaves, ``counts`` of them for good and in all, and ask.

    ``floats`` are values, places, losses and constraints, ``whole`` regimes and numbers of values;
    ``numbers`` are the seed, and what is folded into it.
    """
    strategy, basis = program.combined(arrays)
    state = jax.tree.unflatten(_STATE, leaves)
    d, m = state.x.shape[1], state.objectives.shape[1]
    yes, no = jnp.ones((1, d), bool), jnp.zeros(1, bool)

    def add(i: Array, state: State) -> State:
        own, number = (jax.lax.dynamic_slice_in_dim(a, i, 1) for a in (floats, whole))
        at = Points(number[:, :d], own[:, d : 2 * d], number[:, d:], yes)
        return state.add(own[:, :d], at, own[:, 2 * d : 2 * d + m], own[:, 2 * d + m :], no)

    state = jax.lax.fori_loop(0, counts[0], add, state)
    for_now = jax.lax.fori_loop(counts[0], counts[1], add, state)
    key = reduce(jax.random.fold_in, numbers[1:], jax.random.key(numbers[0]))
    return jax.tree.leaves(state), strategy.ask(basis, key, for_now)
