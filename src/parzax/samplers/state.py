"""What a sampler knows: rows padded to a capacity, and the orders that its densities need."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax.parzen.points import Points, check_dtype, points
from parzax.space import Space


class State(eqx.Module):
    """Rows seen so far; a pytree, the carry of a scan.

    Orders are updated by each row instead of sorted anew: with n rows a new one costs n comparisons.

    Attributes:
        x: (n, d) native values; NaN in absent rows.
        points: the same on the kernel axes.
        objectives: (n, m) losses, minimised; NaN for pending and for extra rows.
        constraints: (n, c) values, satisfied where <= 0; NaN where not measured.
        extra: (n,) rows that speak of some constraints alone (see `Sampler.augment`).
        before: (n,) number of told rows before each one, by the first objective; earlier ones first among
            equals.
        feasible_before: (n,) the same of feasible rows.
        repeated: (n,) told rows that an earlier one equals, configuration and objectives alike; with several
            objectives alone, where a front of copies would be good as a whole.
        order: (d, n) indices of the rows by unit coordinate, for each parameter.
        count: number of rows; rows beyond the capacity are dropped and set ``overflow``.
        overflow: whether a row was dropped.
    """

    x: Float[Array, "n d"]
    points: Points
    objectives: Float[Array, "n m"]
    constraints: Float[Array, "n c"]
    extra: Bool[Array, " n"]
    before: Int[Array, " n"]
    feasible_before: Int[Array, " n"]
    repeated: Bool[Array, " n"]
    order: Int[Array, "d n"]
    count: Int[Array, ""]
    overflow: Bool[Array, ""]

    @classmethod
    def empty(cls, space: Space, n_objectives: int, n_constraints: int, capacity: int) -> "State":
        """No rows."""
        dtype = jnp.result_type(float)
        check_dtype(space, dtype, native=True, arrays=False)
        x = jnp.full((capacity, len(space)), jnp.nan, dtype)
        rows = jnp.arange(capacity, dtype=jnp.int32)
        return cls(
            x=x,
            points=points(space, x),
            objectives=jnp.full((capacity, n_objectives), jnp.nan, dtype),
            constraints=jnp.full((capacity, n_constraints), jnp.nan, dtype),
            extra=jnp.zeros(capacity, bool),
            before=jnp.zeros(capacity, jnp.int32),
            feasible_before=jnp.zeros(capacity, jnp.int32),
            repeated=jnp.zeros(capacity, bool),
            order=jnp.tile(rows, (len(space), 1)),
            count=jnp.zeros((), jnp.int32),
            overflow=jnp.zeros((), bool),
        )

    @property
    def capacity(self) -> int:
        """Number of rows there is room for."""
        return self.x.shape[-2]

    @property
    def present(self) -> Bool[Array, " n"]:
        """Which rows exist."""
        return jnp.arange(self.capacity) < self.count

    @property
    def usable(self) -> Bool[Array, " n"]:
        """Which rows exist and are configurations of the space; others are in no group."""
        return self.present & self.points.valid.all(axis=-1)

    @property
    def told(self) -> Bool[Array, " n"]:
        """Which usable rows have all their objectives: neither pending nor extra."""
        return self.usable & ~jnp.isnan(self.objectives).any(axis=-1)

    @property
    def feasible(self) -> Bool[Array, " n"]:
        """Which told rows satisfy all constraints."""
        return self.told & (self.constraints <= 0).all(axis=-1)

    def add(
        self,
        space: Space,
        x: Float[Array, "k d"],
        objectives: Float[Array, "k m"],
        constraints: Float[Array, "k c"],
        extra: bool = False,
    ) -> "State":
        """The state with k more rows."""
        return self.add_points(x, points(space, x), objectives, constraints, extra)

    def add_points(
        self,
        x: Float[Array, "k d"],
        new: Points,
        objectives: Float[Array, "k m"],
        constraints: Float[Array, "k c"],
        extra: bool | Bool[Array, " k"] = False,
    ) -> "State":
        """`add` of rows that are encoded already."""
        k, n = len(x), self.capacity
        told = new.valid.all(axis=-1) & ~jnp.isnan(objectives).any(axis=-1)
        feasible = told & (constraints <= 0).all(axis=-1)
        # Rows that do not fit count for nothing.
        fits = self.count + jnp.arange(k) < n
        told, feasible = told & fits, feasible & fits
        old_loss, loss = self.objectives[:, 0], objectives[:, 0]
        # [i, r]: whether the new row r is before the old row i; earlier rows come first among equals.
        ahead = loss < old_loss[:, None]
        behind = old_loss[:, None] <= loss
        among = (loss[:, None] < loss) | ((loss[:, None] == loss) & (jnp.arange(k)[:, None] < jnp.arange(k)))

        def before(old: Array, old_counts: Array, new_counts: Array) -> Array:
            own = (behind & old_counts[:, None]).sum(axis=0) + (among & new_counts[:, None]).sum(axis=0)
            return self._put(old + (ahead & new_counts).sum(axis=1, dtype=old.dtype), own)

        return State(
            x=self._put(self.x, x),
            points=jax.tree.map(self._put, self.points, new),
            objectives=self._put(self.objectives, objectives),
            constraints=self._put(self.constraints, constraints),
            extra=self._put(self.extra, jnp.broadcast_to(jnp.asarray(extra), (k,))),
            before=before(self.before, self.told, told),
            feasible_before=before(self.feasible_before, self.feasible, feasible),
            repeated=self._put(self.repeated, self._repeats(x, objectives, told)),
            order=self._ordered(new.unit),
            count=jnp.minimum(self.count + k, n),
            overflow=self.overflow | (self.count + k > n),
        )

    def grown(self, space: Space, capacity: int) -> "State":
        """The same rows with room for more."""
        if capacity < self.capacity:
            raise ValueError(f"capacity must be at least {self.capacity}, got {capacity}.")
        larger = State.empty(space, self.objectives.shape[1], self.constraints.shape[1], capacity)

        def over(large: Array, small: Array) -> Array:
            return large.astype(small.dtype).at[tuple(slice(size) for size in small.shape)].set(small)

        return jax.tree.map(over, larger, self)

    def _repeats(self, x: Array, objectives: Array, told: Array) -> Bool[Array, " k"]:
        """Which of k new rows equal an earlier told one."""
        k = len(x)
        if objectives.shape[-1] == 1:
            return jnp.zeros(k, bool)
        x, objectives = x.astype(self.x.dtype), objectives.astype(self.objectives.dtype)

        def same(theirs: Array, their_objectives: Array) -> Array:
            equal = (theirs[:, None] == x) | (jnp.isnan(theirs)[:, None] & jnp.isnan(x))
            return equal.all(axis=-1) & (their_objectives[:, None] == objectives).all(axis=-1)

        old = (same(self.x, self.objectives) & self.told[:, None]).any(axis=0)
        earlier = jnp.arange(k)[:, None] < jnp.arange(k)
        return told & (old | (same(x, objectives) & earlier & told[:, None]).any(axis=0))

    def _put(self, rows: Array, new: Any) -> Array:
        """New rows after the last one, as far as there is room."""
        new = new.astype(rows.dtype)
        if len(new) != 1:
            return rows.at[self.count + jnp.arange(len(new))].set(new, mode="drop")
        last = jnp.minimum(self.count, self.capacity - 1)
        old = jax.lax.dynamic_slice_in_dim(rows, last, len(new))
        new = jnp.where(self.count < self.capacity, new, old)
        return jax.lax.dynamic_update_slice_in_dim(rows, new, last, axis=0)

    def _ordered(self, new: Float[Array, "k d"]) -> Int[Array, "d n"]:
        """Orders with the new rows in their places."""
        unit, n = self.points.unit, self.capacity
        if len(new) != 1:
            unit = self._put(unit, new)
            present = jnp.arange(n) < self.count + len(new)
            return jnp.argsort(jnp.where(present[:, None], unit, jnp.inf), axis=0).T.astype(jnp.int32)
        place = (self.present[:, None] & (unit <= new)).sum(axis=0)[:, None]
        k = jnp.arange(n)
        shifted = jnp.concatenate([self.order[:, :1], self.order[:, :-1]], axis=1)
        moved = jnp.where(k < place, self.order, jnp.where(k == place, self.count, shifted))
        # Absent rows stand behind in the order of their numbers; with no room left nothing moves.
        return jnp.where((k <= self.count) & (self.count < n), moved, self.order).astype(jnp.int32)
