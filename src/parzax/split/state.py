"""What a sampler has seen: rows padded to a capacity, and the orders that its densities need."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax._checks import is_traced
from parzax.space import INACTIVE, Points


class State(eqx.Module):
    """Rows seen so far; a pytree, the carry of a scan.

    Orders are updated by each row instead of sorted anew: with n rows a new one costs n comparisons.

    Attributes:
        x: (n, d) native values; NaN in absent rows.
        points: the same on the axes.
        objectives: (n, m) losses, minimised; NaN for pending and for constraint-only rows.
        constraints: (n, c) values, satisfied where <= 0; NaN where not measured.
        constraint_only: (n,) rows that speak of some constraints alone, see `parzax.samplers.Sampler`.
        before: (n,) number of evaluated rows before each one, by the first objective; earlier ones first
            among equals.
        feasible_before: (n,) the same of feasible rows.
        repeated: (n,) evaluated rows that an earlier one equals, configuration and objectives alike; with
            several objectives alone, where a front of copies would fall below as a whole.
        order: (d, n) indices of the rows by unit coordinate, for each parameter.
        count: number of rows; rows beyond the capacity are dropped and set ``overflow``.
        overflow: whether a row was dropped.
    """

    x: Float[Any, "n d"]
    points: Points
    objectives: Float[Any, "n m"]
    constraints: Float[Any, "n c"]
    constraint_only: Bool[Any, " n"]
    before: Int[Any, " n"]
    feasible_before: Int[Any, " n"]
    repeated: Bool[Any, " n"]
    order: Int[Any, "d n"]
    count: Int[Any, ""]
    overflow: Bool[Any, ""]

    @classmethod
    def empty(
        cls, n_parameters: int, n_objectives: int, n_constraints: int, capacity: int, dtype: Any
    ) -> "State":
        """No rows; arrays of NumPy, which cost no compilation."""
        n, shape = capacity, (capacity, n_parameters)
        fills = np.int32(INACTIVE), np.asarray(0.5, dtype), np.int32(0), np.bool_(False)
        return cls(
            x=np.full(shape, np.nan, dtype),
            points=Points(*(np.full(shape, fill) for fill in fills)),
            objectives=np.full((n, n_objectives), np.nan, dtype),
            constraints=np.full((n, n_constraints), np.nan, dtype),
            constraint_only=np.zeros(n, bool),
            before=np.zeros(n, np.int32),
            feasible_before=np.zeros(n, np.int32),
            repeated=np.zeros(n, bool),
            order=np.tile(np.arange(n, dtype=np.int32), (n_parameters, 1)),
            count=np.zeros((), np.int32),
            overflow=np.zeros((), bool),
        )

    @property
    def capacity(self) -> int:
        """Number of rows there is room for."""
        return self.x.shape[-2]

    @property
    def present(self) -> Bool[Any, " n"]:
        """Which rows exist."""
        return jnp.arange(self.capacity, dtype=jnp.int32) < self.count

    @property
    def usable(self) -> Bool[Any, " n"]:
        """Which rows exist and are configurations of the space; others are in no group."""
        return self.present & self.points.valid.all(axis=-1)

    @property
    def evaluated(self) -> Bool[Any, " n"]:
        """Which usable rows have all their objectives: neither pending nor constraint-only ones."""
        return self.usable & ~jnp.isnan(self.objectives).any(axis=-1)

    @property
    def feasible(self) -> Bool[Any, " n"]:
        """Which evaluated rows satisfy all constraints."""
        return self.evaluated & (self.constraints <= 0).all(axis=-1)

    def add(
        self,
        x: Float[Any, "k d"],
        points: Points,
        objectives: Float[Any, "k m"],
        constraints: Float[Any, "k c"],
        constraint_only: Bool[Any, " k"],
    ) -> "State":
        """The state with k more rows, whose numbers take its dtype."""
        x, objectives, constraints = (jnp.asarray(a, self.x.dtype) for a in (x, objectives, constraints))
        k, n = len(x), self.capacity
        evaluated = points.valid.all(axis=-1) & ~jnp.isnan(objectives).any(axis=-1)
        feasible = evaluated & (constraints <= 0).all(axis=-1)
        # Rows that do not fit count for nothing.
        new = jnp.arange(k, dtype=jnp.int32)
        fits = self.count + new < n
        evaluated, feasible = evaluated & fits, feasible & fits
        old_loss, own_loss, loss = self.objectives[:, :1], objectives[:, :1], objectives[None, :, 0]
        # [i, r]: whether the new row r is before the old row i; earlier rows come first among equals.
        ahead, behind = old_loss > loss, old_loss <= loss
        among = (own_loss < loss) | ((own_loss == loss) & (new[:, None] < new[None]))

        def before(old: Array, old_counts: Array, new_counts: Array) -> Array:
            own = (behind & old_counts[:, None]).sum(axis=0) + (among & new_counts[:, None]).sum(axis=0)
            return self._put(old + (ahead & new_counts[None]).sum(axis=1, dtype=old.dtype), own)

        return State(
            x=self._put(self.x, x),
            points=jax.tree.map(self._put, self.points, points),
            objectives=self._put(self.objectives, objectives),
            constraints=self._put(self.constraints, constraints),
            constraint_only=self._put(self.constraint_only, constraint_only),
            before=before(self.before, self.evaluated, evaluated),
            feasible_before=before(self.feasible_before, self.feasible, feasible),
            repeated=self._put(self.repeated, self._repeats(points, objectives, evaluated)),
            order=self._ordered(points.unit),
            count=jnp.minimum(self.count + k, n).astype(jnp.int32),
            overflow=self.overflow | (self.count + k > n),
        )

    def grown(self, capacity: int) -> "State":
        """The same rows with room for more, on the host if known there; ValueError for less than there is."""
        if capacity < self.capacity:
            raise ValueError(f"capacity must be at least {self.capacity}, got {capacity}.")
        traced = is_traced(self)
        sizes = self.x.shape[1], self.objectives.shape[1], self.constraints.shape[1]
        larger = State.empty(*sizes, capacity, self.x.dtype)

        def over(large: np.ndarray, small: Any) -> Any:
            where = tuple(map(slice, small.shape))
            if traced:
                return jnp.asarray(large, small.dtype).at[where].set(small)
            out = large.astype(small.dtype)
            out[where] = small
            return out

        return jax.tree.map(over, larger, self)

    def _repeats(
        self, points: Points, objectives: Float[Array, "k m"], evaluated: Bool[Array, " k"]
    ) -> Bool[Array, " k"]:
        """Which of k new rows equal an earlier evaluated one."""
        k = len(objectives)
        if objectives.shape[-1] == 1:
            return jnp.zeros(k, bool)
        own = points.regime, points.index, points.unit, objectives
        theirs = self.points.regime, self.points.index, self.points.unit, self.objectives
        old = (same_rows(theirs, own) & self.evaluated[:, None]).any(axis=0)
        earlier = jnp.arange(k)[:, None] < jnp.arange(k)[None]
        return evaluated & (old | (same_rows(own, own) & earlier & evaluated[:, None]).any(axis=0))

    def _put(self, rows: Any, new: Any) -> Any:
        """New rows after the last one, as far as there is room."""
        new = new.astype(rows.dtype)
        if len(new) != 1:
            where = self.count + jnp.arange(len(new), dtype=jnp.int32)
            return jnp.asarray(rows).at[where].set(new, mode="drop")
        last = jnp.minimum(self.count, self.capacity - 1)
        old = jax.lax.dynamic_slice_in_dim(rows, last, len(new))
        new = jnp.where(self.count < self.capacity, new, old)
        return jax.lax.dynamic_update_slice_in_dim(rows, new, last, axis=0)

    def _ordered(self, new: Float[Array, "k d"]) -> Int[Array, "d n"]:
        """Orders with the new rows in their places."""
        unit, n = self.points.unit, self.capacity
        if len(new) != 1:
            unit = self._put(unit, new)
            present = jnp.arange(n, dtype=jnp.int32) < self.count + len(new)
            return jnp.argsort(jnp.where(present[:, None], unit, jnp.inf), axis=0).T.astype(jnp.int32)
        place = (self.present[:, None] & (unit <= new)).sum(axis=0, dtype=jnp.int32)[:, None]
        k = jnp.arange(n, dtype=jnp.int32)[None]
        shifted = jnp.concatenate([self.order[:, :1], self.order[:, :-1]], axis=1)
        moved = jnp.where(k < place, self.order, jnp.where(k == place, self.count, shifted))
        # Absent rows stand behind in the order of their numbers; with no room left nothing moves.
        return jnp.where((k <= self.count) & (self.count < n), moved, self.order)


def same_rows(first: Any, second: Any) -> Bool[Array, "n k"]:
    """[i, j]: whether row i of all arrays of one tree equals row j of those of another."""
    pairs = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=True)
    equal = [(a[:, None] == b.astype(a.dtype)[None]).all(axis=-1) for a, b in pairs]
    return jnp.stack(equal).all(axis=0)


# --- rounding to the dtype of the device, and what it must not change ----------------------------


def resolved(objectives: np.ndarray, dtype: Any) -> np.ndarray:
    """Objectives of a log that is complete, (n, m), as numbers that ``dtype`` tells apart; NaN stays.

    One objective counts by its order alone, and becomes places. Of several, one whose values rounding would
    merge, or that overflow, is measured from its smallest value in units of its range: ranks and crowding
    distances stay the same.
    """
    if objectives.shape[1] == 1:
        places = np.unique(objectives, return_inverse=True)[1].reshape(objectives.shape)
        return np.where(np.isnan(objectives), np.nan, places)
    out = np.array(objectives, np.float64)
    for column in out.T:
        finite = np.isfinite(column)
        values = column[finite]
        with np.errstate(over="ignore"):
            rounded = values.astype(dtype)
        if len(np.unique(rounded)) < len(np.unique(values)) or not np.isfinite(rounded).all():
            # Halved, so that no difference overflows.
            above = values / 2 - values.min() / 2
            column[finite] = above / (above.max() or 1)
    return out


def violations(constraints: np.ndarray, dtype: Any) -> np.ndarray:
    """Constraint values in which a violation that ``dtype`` would round to 0 stays one."""
    return np.where(constraints > 0, np.maximum(constraints, float(np.finfo(dtype).tiny)), constraints)
