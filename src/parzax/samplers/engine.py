"""One engine for TPE, constrained TPE and multi-objective TPE: a state, ask, tell."""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax.acquisition import constrained_score, log_ratio, naive_product
from parzax.kernels import FixedTop, OptunaTop
from parzax.kernels.bandwidth import Bandwidth
from parzax.parzen.points import Points, points
from parzax.samplers.candidates import distinct, uniform
from parzax.samplers.densities import Densities
from parzax.samplers.groups import CountRule, Groups, groups
from parzax.space import Space

Score = Literal["ratio", "relative", "naive"]


class State(eqx.Module):
    """What a sampler knows, padded to a capacity; a pytree, the carry of a scan.

    Attributes:
        x: (n, d) native values; NaN in absent rows.
        points: the same on the kernel axes.
        objectives: (n, m) losses, minimised; NaN for pending rows.
        constraints: (n, c) values, satisfied where <= 0; NaN where not measured.
        count: number of rows told; rows beyond the capacity are dropped and set ``overflow``.
        overflow: whether a row was dropped.
    """

    x: Float[Array, "n d"]
    points: Points
    objectives: Float[Array, "n m"]
    constraints: Float[Array, "n c"]
    count: Int[Array, ""]
    overflow: Bool[Array, ""]

    @property
    def present(self) -> Bool[Array, " n"]:
        """Which rows exist."""
        return jnp.arange(len(self.x)) < self.count


class Sampler(eqx.Module):
    """Settings of the engine; `parzax.tpe`, `c_tpe`, `mo_tpe` and `optuna_tpe` are presets of it.

    Numeric settings of the bandwidth rule, ``top`` and the count rule are leaves, so that they can be traced
    and vmapped over.

    Attributes:
        space: static.
        n_objectives, n_constraints: static.
        count_rule: how many rows are good.
        bandwidth: rule of the numeric kernels.
        top: rule of the categorical kernels.
        prior_weight: weight of the prior kernel.
        score: "ratio" (TPE), "relative" (c-TPE) or "naive" (product of ratios); static.
        n_startup: rows before which suggestions are drawn at random; static.
        n_candidates: candidates per density; static.
        joint: whether a candidate's parameters come from one component, or each from its own; static.
        epsilon: probability of a random suggestion.
    """

    space: Space = eqx.field(static=True)
    n_objectives: int = eqx.field(static=True)
    n_constraints: int = eqx.field(static=True)
    count_rule: CountRule
    bandwidth: Bandwidth
    top: FixedTop | OptunaTop
    prior_weight: float = eqx.field(static=True)
    score: Score = eqx.field(static=True)
    n_startup: int = eqx.field(static=True)
    n_candidates: int = eqx.field(static=True)
    joint: bool = eqx.field(static=True)
    epsilon: float | Float[Array, ""]

    def init(self, capacity: int) -> State:
        """An empty state for up to ``capacity`` rows."""
        if isinstance(capacity, bool) or not isinstance(capacity, int) or capacity < 1:
            raise ValueError(f"capacity must be a whole number of at least 1, got {capacity!r}.")
        x = jnp.full((capacity, len(self.space)), jnp.nan)
        return State(
            x=x,
            points=points(self.space, x),
            objectives=jnp.full((capacity, self.n_objectives), jnp.nan),
            constraints=jnp.full((capacity, self.n_constraints), jnp.nan),
            count=jnp.zeros((), jnp.int32),
            overflow=jnp.zeros((), bool),
        )

    def tell(self, state: State, x: Any, objectives: Any, constraints: Any = None) -> State:
        """Add rows.

        Args:
            state: from `init` or `tell`.
            x: (n, d) native values, NaN where inactive.
            objectives: (n, m), or (n,) for one; minimised. NaN marks a pending or failed row: it is bad.
            constraints: (n, c), or (n,) for one; satisfied where <= 0.

        Returns:
            The new state. Rows beyond the capacity are dropped, with ``overflow``.
        """
        x = jnp.atleast_2d(jnp.asarray(x, state.x.dtype))
        n = len(x)
        objectives = _columns("objectives", objectives, n, self.n_objectives, state.x.dtype)
        constraints = _columns("constraints", constraints, n, self.n_constraints, state.x.dtype)
        if x.shape[1] != len(self.space):
            raise ValueError(f"x must have shape (n, {len(self.space)}), got {x.shape}.")
        rows = state.count + jnp.arange(n)
        encoded = points(self.space, x)

        def put(old: Array, new: Array) -> Array:
            return old.at[rows].set(new.astype(old.dtype), mode="drop")

        return State(
            x=put(state.x, x),
            points=jax.tree.map(put, state.points, encoded),
            objectives=put(state.objectives, objectives),
            constraints=put(state.constraints, constraints),
            count=jnp.minimum(state.count + n, len(state.x)),
            overflow=state.overflow | (state.count + n > len(state.x)),
        )

    def ask(self, key: jax.Array, state: State, n: int = 1, candidates: Any = None) -> Float[Array, "{n} d"]:
        """Suggest configurations.

        Args:
            key: consumed.
            state: what is known.
            n: how many, static. Suggestions of one call differ from each other wherever the candidates do.
            candidates: (j, d) pool to choose from instead of sampled candidates.

        Returns:
            (n, d) native values, NaN where inactive.
        """
        start, draw, choose, pick = jax.random.split(key, 4)
        pool = None if candidates is None else jnp.asarray(candidates, state.x.dtype)
        if pool is not None and (pool.ndim != 2 or pool.shape[1] != len(self.space) or len(pool) < n):
            raise ValueError(
                f"candidates must have shape (j, {len(self.space)}) with j >= {n}, got {pool.shape}."
            )
        random = self._random(start, n, pool, state.x.dtype)

        def suggest(_: Any) -> Array:
            return self._suggest(draw, state, n, pool)

        suggested = jax.lax.cond(state.count < self.n_startup, lambda _: random, suggest, None)
        by_chance = jax.random.uniform(choose, (n, 1)) < self.epsilon
        return jnp.where(by_chance, self._random(pick, n, pool, state.x.dtype), suggested)

    def score_of(self, state: State, candidates: Float[Array, "j d"]) -> Float[Array, " j"]:
        """The acquisition function at candidates; differentiable in them; -inf outside the space."""
        own = groups(self, state)
        at = points(self.space, candidates)
        score = self._score(own, Densities.fit(self, state, own.both), at)
        return jnp.where(at.valid.all(axis=-1), score, -jnp.inf)

    def _random(self, key: jax.Array, n: int, pool: Array | None, dtype: Any) -> Array:
        if pool is not None:
            return pool[jax.random.choice(key, len(pool), (n,), replace=False)]
        return uniform(key, self.space, n, dtype)

    def _suggest(self, key: jax.Array, state: State, n: int, pool: Array | None) -> Array:
        own = groups(self, state)
        densities = Densities.fit(self, state, own.both)
        if pool is None:
            drawn = densities.first(1 + self.n_constraints).sample(key, max(self.n_candidates, n), self.joint)
            pool = jnp.reshape(drawn, (-1, len(self.space)))
        at = points(self.space, pool)
        score = jnp.where(at.valid.all(axis=-1), self._score(own, densities, at), -jnp.inf)
        return pool[distinct(pool, score, n)]

    def _score(self, own: Groups, densities: Densities, at: Points) -> Float[Array, " j"]:
        logs_below, logs_above = jnp.split(densities.log_prob(at), 2)
        if self.score == "relative":
            return constrained_score(logs_below, logs_above, own.gamma)
        if self.score == "naive":
            return naive_product(logs_below, logs_above)
        return log_ratio(logs_below[0], logs_above[0])


def _columns(name: str, values: Any, n: int, width: int, dtype: Any) -> Array:
    if values is None:
        if width:
            raise ValueError(f"{name} must have shape ({n}, {width}), got None.")
        return jnp.zeros((n, 0), dtype)
    values = jnp.asarray(values, dtype)
    values = values.reshape(n, 1) if values.ndim <= 1 and width == 1 and values.size == n else values
    if values.shape != (n, width):
        raise ValueError(f"{name} must have shape ({n}, {width}), got {values.shape}.")
    return values
