"""The rows that a sampler has seen, padded to a capacity, with the sort orders that its densities need."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax.space import INACTIVE, Points


class State(eqx.Module):
    """Rows seen so far: a pytree that can be the carry of a scan.

    Adding one row updates the sort orders with n comparisons each. Adding several rows sorts all rows again.

    Attributes:
        x: (n, d) native values; NaN in absent rows.
        points: the rows in unit coordinates.
        losses: (n, m), minimised; NaN in pending and in constraint-only rows.
        constraints: (n, c) values, satisfied if <= 0; NaN if not measured.
        constraint_only: (n,) mask of rows that have values of constraints but no losses, see
            `parzax.samplers.Sampler.augment`.
        order: (d, n) row indices sorted by unit coordinate, for each parameter.
        loss_order: (m, n) row indices sorted by each objective; rows without losses come last.
        first: (n,) index of the first row with the same native values, which may be the row itself.
        count: number of rows; rows beyond the capacity are dropped and set ``overflow``.
        overflow: whether a row was dropped.
    """

    x: Float[Any, "n d"]
    points: Points
    losses: Float[Any, "n m"]
    constraints: Float[Any, "n c"]
    constraint_only: Bool[Any, " n"]
    order: Int[Any, "d n"]
    loss_order: Int[Any, "m n"]
    first: Int[Any, " n"]
    count: Int[Any, ""]
    overflow: Bool[Any, ""]

    @classmethod
    def empty(
        cls, n_parameters: int, n_objectives: int, n_constraints: int, capacity: int, dtype: Any
    ) -> "State":
        """A state without rows; its arrays are NumPy arrays, which need no compilation."""
        n, shape = capacity, (capacity, n_parameters)
        fills = np.int32(INACTIVE), np.asarray(0.5, dtype), np.int32(0), np.bool_(False)
        numbers = np.arange(n, dtype=np.int32)
        return cls(
            x=np.full(shape, np.nan, dtype),
            points=Points(*(np.full(shape, fill) for fill in fills)),
            losses=np.full((n, n_objectives), np.nan, dtype),
            constraints=np.full((n, n_constraints), np.nan, dtype),
            constraint_only=np.zeros(n, bool),
            order=np.tile(numbers, (n_parameters, 1)),
            loss_order=np.tile(numbers, (n_objectives, 1)),
            first=numbers,
            count=np.zeros((), np.int32),
            overflow=np.zeros((), bool),
        )

    @property
    def capacity(self) -> int:
        """Largest number of rows that fit."""
        return self.x.shape[-2]

    @property
    def present(self) -> Bool[Any, " n"]:
        """Mask of the rows that exist."""
        return jnp.arange(self.capacity, dtype=jnp.int32) < self.count

    @property
    def usable(self) -> Bool[Any, " n"]:
        """Mask of the rows that exist and are configurations of the space; other rows are in no group."""
        return self.present & self.points.valid.all(axis=-1)

    @property
    def evaluated(self) -> Bool[Any, " n"]:
        """Mask of the usable rows with all losses, which excludes pending and constraint-only rows."""
        return self.usable & ~jnp.isnan(self.losses).any(axis=-1)

    @property
    def feasible(self) -> Bool[Any, " n"]:
        """Mask of the evaluated rows that satisfy all constraints."""
        return self.evaluated & (self.constraints <= 0).all(axis=-1)

    def add(
        self,
        x: Float[Any, "k d"],
        points: Points,
        losses: Float[Any, "k m"],
        constraints: Float[Any, "k c"],
        constraint_only: Bool[Any, " k"],
    ) -> "State":
        """The state with k more rows; values are cast to its dtype."""
        x, losses, constraints = (jnp.asarray(a, self.x.dtype) for a in (x, losses, constraints))
        k, n = len(x), self.capacity
        count = self.count + k
        larger = replace(
            self,
            x=self._put(self.x, x),
            points=jax.tree.map(self._put, self.points, points),
            losses=self._put(self.losses, losses),
            constraints=self._put(self.constraints, constraints),
            constraint_only=self._put(self.constraint_only, constraint_only),
            count=jnp.minimum(count, n).astype(jnp.int32),
            overflow=self.overflow | (count > n),
        )
        unit, loss = larger.points.unit, jnp.where(jnp.isnan(larger.losses), jnp.inf, larger.losses)
        if k == 1:
            order, loss_order = self._inserted(self.order, unit), self._inserted(self.loss_order, loss)
            equal = self.present & ((self.x == x) | (jnp.isnan(self.x) & jnp.isnan(x))).all(axis=-1)
            first = jnp.where(equal, jnp.arange(n, dtype=jnp.int32), self.count).min(keepdims=True)
            first = self._put(self.first, first)
        else:
            order, loss_order = larger.sort_rows(unit), larger.sort_rows(loss)
            first = first_equal(larger.x, larger.present).astype(jnp.int32)
            first = jnp.minimum(first, jnp.arange(n, dtype=jnp.int32))
        return replace(larger, order=order, loss_order=loss_order, first=first)

    def first_among(self, counted: Bool[Array, " n"]) -> Int[Array, " n"]:
        """Index of the first counted row with the same native values; n in rows that are not counted."""
        n, number = self.capacity, jnp.arange(self.capacity, dtype=jnp.int32)
        first = jnp.full(n, n, jnp.int32).at[self.first].min(jnp.where(counted, number, n))
        return jnp.where(counted, first[self.first], n)

    def sort_rows(self, keys: Float[Array, "n k"]) -> Int[Array, "k n"]:
        """Rows by each of k keys, the smallest first, absent ones last; by losses it is TPE's sort."""
        return jnp.argsort(jnp.where(self.present[:, None], keys, jnp.inf), axis=0).T.astype(jnp.int32)

    def resized(self, capacity: int) -> "State":
        """The same rows with another capacity, which is at least `count`; leading axes of runs are kept."""
        sizes = self.x.shape[-1], self.losses.shape[-1], self.constraints.shape[-1]

        return jax.tree.map(fit_rows, State.empty(*sizes, capacity, self.x.dtype), self)

    def _put(self, rows: Any, new: Any) -> Any:
        """Write new rows after the last row; rows beyond the capacity are dropped."""
        new = new.astype(rows.dtype)
        if len(new) != 1:
            where = self.count + jnp.arange(len(new), dtype=jnp.int32)
            return jnp.asarray(rows).at[where].set(new, mode="drop")
        last = jnp.minimum(self.count, self.capacity - 1)
        old = jax.lax.dynamic_slice_in_dim(rows, last, len(new))
        new = jnp.where(self.count < self.capacity, new, old)
        return jax.lax.dynamic_update_slice_in_dim(rows, new, last, axis=0)

    def _inserted(self, order: Int[Array, "k n"], keys: Float[Array, "n k"]) -> Int[Array, "k n"]:
        """Sort orders with one new row, whose key is at `count`, inserted at its place."""
        new = jax.lax.dynamic_slice_in_dim(keys, self.count, 1)
        place = (self.present[:, None] & (keys <= new)).sum(axis=0, dtype=jnp.int32)[:, None]
        k = jnp.arange(self.capacity, dtype=jnp.int32)[None]
        shifted = jnp.concatenate([order[:, :1], order[:, :-1]], axis=1)
        moved = jnp.where(k < place, order, jnp.where(k == place, self.count, shifted))
        # Absent rows come last, in the order of their indices. If the state is full, nothing changes.
        return jnp.where((k <= self.count) & (self.count < self.capacity), moved, order)


def fit_rows(empty: np.ndarray, rows: Any) -> Array:
    """An array without rows, which ``rows`` fill as far as they fit; leading axes of runs are kept."""
    runs, kept = rows.shape[: rows.ndim - empty.ndim], jnp.asarray(rows)[(..., *map(slice, empty.shape))]
    new = jnp.broadcast_to(jnp.asarray(empty, rows.dtype), (*runs, *empty.shape))
    return kept if kept.shape == new.shape else jax.lax.dynamic_update_slice(new, kept, (0,) * new.ndim)


def first_equal(arrays: Any, counted: Bool[Array, " n"]) -> Int[Array, " n"]:
    """Index of the first counted row that equals each counted row in all arrays of a tree; n in other rows.

    The rows are sorted. NaN equals NaN.
    """

    def split_groups(group: Array, column: Array) -> tuple[Array, None]:
        order = jnp.lexsort((column, group))
        ordered = group[order], column[order]
        pairs = [(a[1:], a[:-1]) for a in ordered]
        differs = jnp.stack([(a != b) & ((a == a) | (b == b)) for a, b in pairs]).any(axis=0)
        return jnp.zeros_like(group).at[order[1:]].set(jnp.cumsum(differs, dtype=group.dtype)), None

    # Rows of one group are equal in all columns that were compared so far.
    group = (~counted).astype(jnp.int32)
    for array in jax.tree.leaves(arrays):
        group, _ = jax.lax.scan(split_groups, group, array.T)
    number = jnp.arange(len(group), dtype=group.dtype)
    first = jnp.full_like(group, len(group)).at[group].min(jnp.where(counted, number, len(group)))
    return jnp.where(counted, first[group], len(group))


# --- comparisons that must survive rounding to the dtype of the device ---------------------------


def resolved(losses: np.ndarray, dtype: Any) -> np.ndarray:
    """Objectives (n, m) of a complete log, transformed so that ``dtype`` can tell them apart; NaN stays NaN.

    A single objective matters only by its order, so it is replaced by ranks. With several losses, an
    objective is rescaled to [0, 1] if rounding would merge some of its values or if they overflow. Ranks and
    crowding distances do not change.
    """
    if losses.shape[1] == 1:
        places = np.unique(losses, return_inverse=True)[1].reshape(losses.shape)
        return np.where(np.isnan(losses), np.nan, places)
    out = np.array(losses, np.float64)
    for column in out.T:
        finite = np.isfinite(column)
        values = column[finite]
        with np.errstate(over="ignore"):
            rounded = values.astype(dtype)
        if len(np.unique(rounded)) < len(np.unique(values)) or not np.isfinite(rounded).all():
            # Values are halved, so that no difference overflows.
            above = values / 2 - values.min() / 2
            column[finite] = above / (above.max() or 1)
    return out


def violations(constraints: Any, dtype: Any) -> Any:
    """Constraint values where a violation that ``dtype`` would round to 0 stays positive.

    JAX arrays are cast to ``dtype``.
    """
    tiny = float(np.finfo(dtype).tiny)
    if not isinstance(constraints, jax.Array):
        return np.where(constraints > 0, np.maximum(constraints, tiny), constraints)
    wide = constraints if constraints.dtype.itemsize > 4 else constraints.astype(dtype)
    # A device may treat subnormal numbers as 0, so their bits decide whether they are positive.
    positive = jax.lax.bitcast_convert_type(wide, jnp.dtype(f"int{8 * wide.dtype.itemsize}")) > 0
    return jnp.where(positive, jnp.maximum(wide, tiny), wide).astype(dtype)
