"""Rows of a growing log in the state of a sampler: one compiled program per sampler and capacity."""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from parzax.adapters._order import Order
from parzax.observations import capacity
from parzax.samplers import Sampler, State
from parzax.samplers.rounding import violations

# Below this many rows a state of another size would be one more compilation for little.
_LEAST_CAPACITY = 256
# What float32 holds, and the differences of.
_LARGEST = 1e38


class Row(NamedTuple):
    """One evaluation.

    Attributes:
        x: (d,) in the sampler's space.
        loss: the sort key of one objective, or the m losses of several; None for what counts as bad.
        constraints: (c,) values, satisfied where <= 0; NaN where not measured.
    """

    x: np.ndarray
    loss: tuple[float, ...] | None
    constraints: tuple[float, ...] = ()


class Rows:
    """The rows that stay, as the state of a sampler that grows with them.

    A call of the compiled program adds the rows since the last one to the state, those that may still change
    (pending ones) to a copy of it, and asks. The state has room for 256, 1024, 4096 and then twice as many
    rows each time, so that a study of 1000 trials compiles twice; the program is shared by all objects with
    an equal sampler.
    """

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self._settings = Settings(sampler)
        self._rows: list[Row] = []
        self._order = Order()
        self._state: State | None = None
        self._told = 0

    def append(self, row: Row) -> None:
        """Add a row that will not change."""
        self._rows.append(row)

    def ask(self, pending: Sequence[Row], seed: int, *stream: int) -> np.ndarray:
        """One suggestion, (d,) in the sampler's space.

        Args:
            pending: rows that count in this call only.
            seed: of the random key, with
            *stream: two whole numbers, folded into it.
        """
        needed = len(self._rows) + len(pending)
        dtype = jnp.result_type(float)
        if self._state is None or needed > len(self._state.x) or self._state.x.dtype != dtype:
            self._state, self._told = self._empty(needed), 0
        added = [*self._rows[self._told :], *pending]
        if self.sampler.n_objectives == 1 and self._order.add(
            row.loss for row in added if row.loss is not None
        ):
            # What was told before has other labels now.
            self._told, added = 0, [*self._rows, *pending]
        n, size = len(added), len(self._state.x)
        x = np.zeros((size, len(self.sampler.space)), dtype)
        losses = np.zeros((size, self.sampler.n_objectives), dtype)
        constraints = np.zeros((size, self.sampler.n_constraints), dtype)
        if n:
            x[:n] = [row.x for row in added]
            for i, row in enumerate(added):
                losses[i] = self._objectives(row)
            given = np.array([row.constraints for row in added], np.float64).reshape(n, -1)
            constraints[:n] = violations(given, np.float32)
        self._state, suggestion = advance(
            self._settings,
            self._settings.arrays,
            self._state,
            np.bool_(self._told == 0),
            (x, losses, constraints),
            np.int32(n - len(pending)),
            np.int32(n),
            np.array([number % 2**32 for number in (seed, *stream)], np.uint32),
        )
        self._told = len(self._rows)
        return np.asarray(suggestion, np.float64)

    def _empty(self, needed: int) -> State:
        """A state of sufficient size; its contents do not matter when nothing was told."""
        size = max(_LEAST_CAPACITY, capacity(needed))
        shapes = eqx.filter_eval_shape(self.sampler.init, size)
        return jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), shapes)

    def _objectives(self, row: Row) -> Any:
        if row.loss is None:
            return np.nan
        if self.sampler.n_objectives == 1:
            return self._order.label(row.loss)
        return np.clip(row.loss, -_LARGEST, _LARGEST)


class Settings:
    """A sampler as a static argument of `jax.jit`, hashed once (`equinox.filter_jit` does at every call).

    Attributes:
        arrays: the leaves that are arrays.
    """

    def __init__(self, sampler: Sampler) -> None:
        self.arrays, self._rest = eqx.partition(
            sampler, lambda leaf: isinstance(leaf, (jax.Array, np.ndarray))
        )
        leaves, treedef = jax.tree.flatten(self._rest)
        self._key = (tuple(leaves), treedef)
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Settings) and self._key == other._key)

    def sampler(self, arrays: Sampler) -> Sampler:
        """The sampler with its arrays."""
        return eqx.combine(arrays, self._rest)


@partial(jax.jit, static_argnums=0)
def advance(
    settings: Settings,
    arrays: Sampler,
    state: State,
    fresh: Any,
    added: tuple[Any, Any, Any],
    n_stay: Any,
    n: Any,
    seeds: Any,
) -> tuple[State, jax.Array]:
    """Tell the first ``n_stay`` of the added rows for good and the next up to ``n`` for now, and ask."""
    sampler = settings.sampler(arrays)
    x, losses, constraints = added
    state = jax.tree.map(lambda a, b: jnp.where(fresh, a, b), sampler.init(len(x)), state)

    def tell(i: jax.Array, state: State) -> State:
        return sampler.tell(state, x[i][None], losses[i][None], constraints[i][None])

    state = jax.lax.fori_loop(0, n_stay, tell, state)
    for_now = jax.lax.fori_loop(n_stay, n, tell, state)
    key = jax.random.key(seeds[0])
    for number in seeds[1:]:
        key = jax.random.fold_in(key, number)
    return state, sampler.ask(key, for_now)[0]
