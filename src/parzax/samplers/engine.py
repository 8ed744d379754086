"""One engine for TPE, constrained TPE and multi-objective TPE: a state, ask, tell."""

from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float, Int

from parzax import _checks
from parzax.acquisition import constrained_score, log_ratio, naive_product
from parzax.kernels import FixedTop, OptunaTop
from parzax.kernels.bandwidth import Bandwidth
from parzax.parzen.points import Points, points
from parzax.samplers.arguments import (
    as_array,
    as_columns,
    check_width,
    kept_violations,
    refuse_outside,
    refuse_unmeasured,
)
from parzax.samplers.candidates import apart, different, fillers, may_repeat, rank_of, uniform
from parzax.samplers.densities import Densities, densities
from parzax.samplers.fronts import Ties
from parzax.samplers.groups import CountRule, good_count, groups, up_to_feasible
from parzax.samplers.meta import TaskMixtures, with_sources
from parzax.samplers.refine import native, uphill
from parzax.samplers.similar import similarities
from parzax.samplers.sources import Sources
from parzax.samplers.state import State
from parzax.samplers.warm import from_pool
from parzax.space import Space
from parzax.status import Status

Score = Literal["ratio", "relative", "naive"]
# At least so many candidates go uphill; two that end this close on every axis are the same suggestion.
_LEAST_CLIMBING, _APART = 8, 1e-3


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
        n_startup: rows before which suggestions are drawn at random, those of `augment` not counted; static.
        n_candidates: candidates per density; static.
        joint: whether a candidate's parameters come from one component, or each from its own; static.
        epsilon: probability of a random suggestion.
        forget: whether older rows weigh less (`parzax.observations.ages.ramp_weights`); static.
        every_minimum: what is good where no row satisfies a constraint: all rows at the smallest value, or
            the first of them; static.
        gradient_steps: steps uphill from the 8 (or n) best candidates, in continuous coordinates; static.
        ties: which rows of a front are good where not all are: "crowding" or "hypervolume"; static.
        sources: densities of other tasks (`parzax.meta_learn_tpe`), None without.
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
    forget: bool = eqx.field(static=True, default=False)
    every_minimum: bool = eqx.field(static=True, default=False)
    gradient_steps: int = eqx.field(static=True, default=0)
    ties: Ties = eqx.field(static=True, default="crowding")
    sources: Sources | None = None

    def init(self, capacity: int) -> State:
        """An empty state for up to ``capacity`` rows."""
        capacity = _checks.whole_number("capacity", capacity, 1)
        return State.empty(self.space, self.n_objectives, self.n_constraints, capacity)

    def grow(self, state: State, capacity: int) -> State:
        """The same rows with room for up to ``capacity``.

        Raises:
            ValueError: a capacity below the state's.
        """
        return state.grown(self.space, _checks.whole_number("capacity", capacity, 1))

    def tell(self, state: State, x: Any, objectives: Any, constraints: Any = None) -> State:
        """Add rows.

        Args:
            state: from `init` or `tell`.
            x: (n, d) native values, NaN where inactive.
            objectives: (n, m), or (n,) for one; minimised. NaN marks a pending or failed row: it is bad.
                They are rounded to the state's dtype: losses that float32 cannot tell apart become ties,
                and earlier rows win. Give ranks instead, or make the state inside `jax.enable_x64`.
            constraints: (n, c), or (n,) for one; satisfied where <= 0. On the host a violation too small
                for the dtype stays one; `jax.jit` rounds its arguments before they are seen.

        Returns:
            The new state. Rows beyond the capacity are dropped, with ``overflow``.

        Raises:
            TypeError, ValueError: for arrays of another shape, and (on the host) for rows outside the space
                and constraints that are NaN although the objectives are known; in compiled code such rows
                are in no group or not feasible, and `status` says so.
        """
        x = jnp.atleast_2d(as_array("x", x, state.x.dtype))
        n = len(x)
        objectives = as_columns("objectives", objectives, n, self.n_objectives, state.x.dtype)
        constraints = kept_violations(constraints, state.x.dtype)
        constraints = as_columns("constraints", constraints, n, self.n_constraints, state.x.dtype)
        check_width(x, self.space)
        refuse_outside("x", x, self.space)
        refuse_unmeasured(objectives, constraints)
        return _run(self, "_add", state, x, objectives, constraints, False)

    def augment(self, state: State, x: Any, constraints: Any) -> State:
        """Add rows of which only constraints are known: knowledge augmentation (c-TPE, arXiv 2211.14411).

        A constraint whose value is known in a row takes it into its split, its densities and its share; the
        objective and the other constraints do not see it.

        Args:
            state: from `init` or `tell`.
            x: (n, d) native values.
            constraints: (n, c), NaN where not known.

        Raises:
            TypeError, ValueError: as of `tell`; a sampler without constraints.
        """
        if not self.n_constraints:
            raise ValueError(
                "augment adds rows of which only constraints are known, but this sampler has none "
                "(n_constraints=0); use tell."
            )
        x = jnp.atleast_2d(as_array("x", x, state.x.dtype))
        check_width(x, self.space)
        constraints = kept_violations(constraints, state.x.dtype)
        constraints = as_columns("constraints", constraints, len(x), self.n_constraints, state.x.dtype)
        refuse_outside("x", x, self.space)
        nothing = jnp.full((len(x), self.n_objectives), jnp.nan, state.x.dtype)
        return _run(self, "_add", state, x, nothing, constraints, True)

    def _add(self, state: State, x: Array, objectives: Array, constraints: Array, extra: bool) -> State:
        return state.add(self.space, x, objectives, constraints, extra)

    def status(self, state: State) -> Int[Array, ""]:
        """What is unusual about a state: bits of `parzax.Status`.

        NO_DATA before the first told row, NONE_FEASIBLE and FEW_FEASIBLE where every row is good because too
        few are feasible (not with the naive score, whose good rows are counted whatever their constraints),
        UNMEASURED for told rows with a NaN constraint, CAPACITY_EXCEEDED for dropped rows,
        INVALID_ROWS for rows outside the space.
        """
        return _run(self, "_status", state)

    def _status(self, state: State) -> Int[Array, ""]:
        told, feasible = state.told, state.feasible
        n_feasible, (count, _) = feasible.sum(), good_count(self, state)
        by_feasible = up_to_feasible(self)
        bits = {
            Status.NO_DATA: ~told.any(),
            Status.NONE_FEASIBLE: by_feasible & told.any() & (n_feasible == 0),
            Status.FEW_FEASIBLE: by_feasible & (n_feasible > 0) & (n_feasible < count),
            Status.UNMEASURED: (told & jnp.isnan(state.constraints).any(axis=-1)).any(),
            Status.CAPACITY_EXCEEDED: state.overflow,
            Status.INVALID_ROWS: (state.present & ~state.points.valid.all(axis=-1)).any(),
        }
        set_bits = jnp.stack([jnp.where(bit, int(flag), 0) for flag, bit in bits.items()])
        return set_bits.sum().astype(jnp.int32)

    def ask(self, key: jax.Array, state: State, n: int = 1, candidates: Any = None) -> Float[Array, "{n} d"]:
        """Suggest configurations.

        Args:
            key: consumed.
            state: what is known.
            n: how many, static. Suggestions of one call differ from each other wherever the space, or the
                pool, has so many configurations; with fewer all of them appear.
            candidates: (j, d) pool to choose from instead of sampled candidates.

        Returns:
            (n, d) native values, NaN where inactive.

        Raises:
            TypeError, ValueError: for a key that is no typed key, an ``n`` below 1, and a pool of another
                shape, with fewer than ``n`` members, or (on the host) with members outside the space; in
                compiled code these come after all others.
        """
        _checks.check_key(key)
        n = _checks.whole_number("n", n, 1)
        pool = None if candidates is None else as_array("candidates", candidates, state.x.dtype)
        if pool is not None:
            if pool.ndim != 2 or pool.shape[1] != len(self.space) or len(pool) < n:
                raise ValueError(
                    f"candidates must have shape (j, {len(self.space)}) with j >= n = {n}, got {pool.shape}."
                )
            refuse_outside("candidates", pool, self.space)
        return _run(self, "_ask", key, state, n, pool)

    def _ask(self, key: jax.Array, state: State, n: int, pool: Array | None) -> Array:
        # A batch has a key more; the others are those of a single suggestion.
        start, draw, choose, pick, *more = jax.random.split(key, 4 if n == 1 else 5)
        suggested = jax.lax.cond(
            self._starting(state),
            lambda: self._first(start, state, n, pool),
            lambda: self._suggest(draw, state, n, pool, *more),
        )
        if isinstance(self.epsilon, (int, float)) and self.epsilon == 0:
            return suggested
        by_chance = jax.random.uniform(choose, (n, 1)) < self.epsilon
        if self.sources is not None and pool is None:
            # The first suggestions are rows of the sources, not by chance.
            by_chance &= ~self._starting(state)
        at_random = self._random(pick, n, pool, state.x.dtype)
        mixed = jnp.where(by_chance, at_random, suggested)
        if n == 1 or not (pool is not None or may_repeat(self.space)):
            return mixed
        # One may be drawn and suggested: then another suggestion takes its place.
        return self._different(jnp.concatenate([mixed, suggested, at_random]), n)

    def similarities(self, state: State) -> Float[Array, " t"]:
        """s_m: how similar the task of a state is to every source task, by their good rows.

        0 for a task without good rows, which counts for nothing; `parzax.tasks.task_kernel` makes of the
        others' what the tasks' densities weigh.

        Raises:
            ValueError: a sampler without sources; `parzax.meta_learn_tpe` makes one that has some.
        """
        if self.sources is None:
            raise ValueError("this sampler has no source tasks; parzax.meta_learn_tpe makes one that has.")
        return _run(self, "_similarities", state)

    def _similarities(self, state: State) -> Float[Array, " t"]:
        assert self.sources is not None
        return similarities(self, self.sources, state, groups(self, state))

    def score_of(self, state: State, candidates: Float[Array, "j d"]) -> Float[Array, " j"]:
        """The acquisition function at candidates; differentiable in them; -inf outside the space."""
        candidates = as_array("candidates", candidates, state.x.dtype)
        if candidates.ndim != 2 or candidates.shape[1] != len(self.space):
            raise ValueError(f"candidates must have shape (j, {len(self.space)}), got {candidates.shape}.")
        return _run(self, "_score_of", state, candidates)

    def _score_of(self, state: State, candidates: Array) -> Float[Array, " j"]:
        at = points(self.space, candidates)
        return jnp.where(at.valid.all(axis=-1), self._scorer(state)[1](at), -jnp.inf)

    def _first(self, key: jax.Array, state: State, n: int, pool: Array | None) -> Array:
        """At random, or from the best rows of other tasks."""
        if pool is not None or self.sources is None:
            return self._random(key, n, pool, state.x.dtype)
        draw, choose = jax.random.split(key)
        other = self._random(draw, n, None, state.x.dtype)
        chosen = from_pool(choose, self.sources.warm, state.x, other)
        if n == 1 or not may_repeat(self.space):
            return chosen
        # What was drawn may be one of the chosen rows.
        return self._different(jnp.concatenate([chosen, other]), n)

    def _starting(self, state: State) -> Array:
        """Whether suggestions are still drawn at random: pending and failed rows count, extra ones do not."""
        return state.count - (state.extra & state.present).sum() < self.n_startup

    def _random(self, key: jax.Array, n: int, pool: Array | None, dtype: Any) -> Array:
        if pool is not None:
            drawn = pool[jax.random.permutation(key, len(pool))]
            # Members outside the space come after all others.
            valid = points(self.space, drawn).valid.all(axis=-1)
            drawn = drawn[jnp.argsort(~valid, stable=True)][: n if n == 1 else len(pool)]
        elif n > 1 and may_repeat(self.space):
            first, rest = jax.random.split(key)
            parts = uniform(first, self.space, n, dtype), fillers(rest, self.space, n, dtype)
            drawn = jnp.concatenate(parts)
        else:
            return uniform(key, self.space, n, dtype)
        return drawn if n == 1 else self._different(drawn, n)

    def _different(self, rows: Array, n: int) -> Array:
        """The first n rows that differ."""
        return rows[different(self.space, points(self.space, rows), jnp.arange(len(rows)), n)]

    def _suggest(
        self, key: jax.Array, state: State, n: int, pool: Array | None, more: jax.Array | None = None
    ) -> Array:
        fitted, score = self._scorer(state)
        sampled, n_drawn = pool is None, 0
        if pool is None:
            good = fitted.first(1 + self.n_constraints)
            good = good.with_room(n) if isinstance(good, TaskMixtures) else good
            drawn = good.sample(key, max(self.n_candidates, n), self.joint)
            pool = jnp.reshape(drawn, (-1, len(self.space)))
            n_drawn = len(pool)
            if more is not None and may_repeat(self.space):
                pool = jnp.concatenate([pool, fillers(more, self.space, n, state.x.dtype)])
        at = points(self.space, pool)
        scores = jnp.where(at.valid.all(axis=-1), score(at), -jnp.inf)
        climbing = sampled and self.gradient_steps > 0
        if n == 1 and not climbing:
            return pool[jnp.argmax(scores)[None]]
        # What was drawn from the good groups comes before what fills the batch.
        filling = jnp.arange(len(pool)) >= n_drawn if sampled else jnp.zeros(len(pool), bool)
        place = rank_of(jnp.lexsort((-scores, filling)))
        if not climbing:
            return pool[different(self.space, at, place, n)]
        n_climbing = min(max(n, _LEAST_CLIMBING), len(pool))
        low = at[different(self.space, at, place, n_climbing)]
        high, value = uphill(self.space, score, low, self.gradient_steps)
        if n == 1:
            return native(self.space, high[jnp.argmax(value)[None]])
        return native(self.space, apart(self.space, low, high, value, n, _APART))

    def _scorer(self, state: State) -> tuple[Densities | TaskMixtures, Callable[[Points], Array]]:
        """Densities of all groups, and the acquisition function of encoded candidates."""
        own = groups(self, state)
        fitted, gamma = densities(self, state, own.both), own.gamma
        if self.sources is not None:
            fitted, gamma = with_sources(self, self.sources, state, own, fitted)

        def score(at: Points) -> Float[Array, " j"]:
            below, above = jnp.split(fitted.log_prob(at), 2)
            if self.score == "relative":
                return constrained_score(below, above, gamma)
            if self.score == "naive":
                return naive_product(below, above)
            return log_ratio(below[0], above[0])

        return fitted, score


@eqx.filter_jit
def _compiled(sampler: Sampler, method: str, *arguments: Any) -> Any:
    return getattr(sampler, method)(*arguments)


def _run(sampler: Sampler, method: str, *arguments: Any) -> Any:
    """A method by name; as one compiled program where it is not part of another already."""
    traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((sampler, arguments)))
    return getattr(sampler, method)(*arguments) if traced else _compiled(sampler, method, *arguments)
