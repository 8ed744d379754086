"""Configurations that were evaluated several times: their means, the best of them, what to evaluate again."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax._compile import compiled
from parzax._numerics.arrays import somewhere
from parzax.pareto import non_domination_rank
from parzax.split import State
from parzax.split.state import first_equal

# Bounds of a mean loss, in standard errors: the best configuration has the smallest upper bound, and the one
# with the smallest lower bound is evaluated again.
N_ERRORS = 1.0
# Number of repeats, evaluated or not, without any difference in the loss after which there are no more.
_MOST_EQUAL = 3
# A search that repeats by itself does so when it has a multiple of so many rows: with noise; and while it
# does not know whether there is noise.
_EVERY, _EVERY_UNKNOWN = 5, 20
# Noise counts if it is larger than this share of the difference between the median loss and the best one.
_LEAST_NOISE = 1e-3


class Best(NamedTuple):
    """The best configurations among the n rows of a state: one for one objective, the front for several.

    Attributes:
        x: (n, d) native values.
        losses: (n, m) means over the evaluations of a configuration, in the sampler's directions.
        constraints: (n, c) means of the values, satisfied if <= 0.
        mask: (n,) True in the first evaluated row of each best configuration. In all other rows the arrays
            above are NaN.
    """

    x: Float[Array, "n d"]
    losses: Float[Array, "n m"]
    constraints: Float[Array, "n c"]
    mask: Bool[Array, " n"]


class Means(NamedTuple):
    """Means over the evaluations of each configuration, in the first of its rows.

    Attributes:
        n_evaluations: (n,) number of evaluations; 0 in all other rows.
        losses: (n, m) means.
        constraints: (n, c) mean values; NaN counts as +inf.
        noise: (m,) standard deviation of an evaluation, pooled over configurations; 0 without repeats.
        n_repeats: evaluations beyond the first one of their configuration.
    """

    n_evaluations: Int[Array, " n"]
    losses: Float[Array, "n m"]
    constraints: Float[Array, "n c"]
    noise: Float[Array, " m"]
    n_repeats: Int[Array, ""]

    @property
    def feasible(self) -> Bool[Array, " n"]:
        """Mask of the configurations whose mean constraint values are all <= 0."""
        return (self.n_evaluations > 0) & (self.constraints <= 0).all(axis=-1)

    def best(self) -> tuple[Int[Array, ""], Bool[Array, ""]]:
        """Row of the feasible configuration with the smallest upper bound, and whether there is one.

        The bound is that of the first objective, mean + noise / sqrt(n_evaluations). So a single lucky
        evaluation does not win against a confirmed mean that is nearly as good.
        """
        # Less the noise, so that the bound of a single evaluation is its loss, to the last bit.
        count = jnp.maximum(self.n_evaluations, 1).astype(self.noise.dtype)
        bound = self.losses[:, 0] - N_ERRORS * self.noise[0] * (1 - jax.lax.rsqrt(count))
        ranked = jnp.where(self.feasible, bound, jnp.inf)
        at_best = self.feasible & (ranked == ranked.min())
        return jnp.argmax(at_best).astype(jnp.int32), at_best.any()


def average(
    first: Int[Array, " n"],
    losses: Float[Array, "n m"],
    constraints: Float[Array, "n c"],
    evaluated: Bool[Array, " n"],
) -> Means:
    """Means over the evaluated rows of each configuration; ``first`` as from `first_equal`."""
    n, m = losses.shape
    mask = evaluated[:, None]
    count = jnp.zeros(n, jnp.int32).at[first].add(evaluated.astype(jnp.int32), mode="drop")
    values = jnp.concatenate([losses, constraints], axis=1)
    values = jnp.where(mask & ~jnp.isnan(values), values, jnp.inf)
    lowest = jnp.full_like(values, jnp.inf).at[first].min(values, mode="drop")
    # Differences to the smallest value: means of equal values are exact, in any order.
    base = lowest.at[first].get(mode="clip")
    above = jnp.where(mask & (values != base), values - base, 0)
    share = above / jnp.maximum(count, 1).astype(values.dtype).at[first].get(mode="clip")[:, None]
    means = lowest + jnp.zeros_like(values).at[first].add(share, mode="drop")
    means = jnp.where(jnp.isnan(means), jnp.inf, means)
    rest = values[:, :m] - means.at[first].get(mode="clip")[:, :m]
    rest = jnp.where(mask & jnp.isfinite(rest), rest, 0)
    n_repeats = evaluated.sum(dtype=jnp.int32) - (count > 0).sum(dtype=jnp.int32)
    # Scaled, so that squares do not overflow.
    scale = jnp.abs(rest).max(axis=0, keepdims=True)
    squares = ((rest / jnp.where(scale > 0, scale, 1)) ** 2).sum(axis=0)
    noise = scale[0] * jnp.sqrt(squares / jnp.maximum(n_repeats, 1).astype(values.dtype))
    return Means(count, means[:, :m], means[:, m:], noise, n_repeats)


def signed(directions: tuple[str, ...], values: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """Flip the sign of maximised objectives: turns their values into losses, and back."""
    signs = np.array([-1 if direction == "maximize" else 1 for direction in directions])
    return values * signs.astype(values.dtype)[None]


def has_differences(state: State) -> Bool[Array, ""]:
    """Whether evaluations of a configuration differ."""
    first = state.first_among(state.evaluated)
    return (state.evaluated[:, None] & (state.losses != state.losses.at[first].get(mode="clip"))).any()


def as_configurations(state: State, differs: bool | None = None) -> tuple[State, Any]:
    """The state for splits, and whether evaluations of a configuration differ by more than their last digits.

    Without such noise only the first evaluation of a configuration is in a group. With noise all evaluations
    of a configuration are, with its mean losses and mean constraint values. If the caller knows that none
    ``differs``, nothing of the latter is compiled.
    """
    evaluated, losses = state.evaluated, state.losses
    first = state.first_among(evaluated)

    def averaged() -> tuple[Array, Array, Array, Array]:
        half = evaluated.sum(dtype=jnp.int32) // 2
        median = jnp.take_along_axis(losses, state.loss_order[:, half][None], axis=0)[0]
        means = average(first, losses, state.constraints, evaluated)
        spread = median - means.losses.min(axis=0)
        noise = (means.noise > _LEAST_NOISE * jnp.where(jnp.isfinite(spread), spread, 0)).any()
        averages = (part.at[first].get(mode="clip") for part in (means.losses, means.constraints))
        mean, limits = (
            jnp.where(noise & evaluated[:, None], average, told)
            for average, told in zip(averages, (losses, state.constraints), strict=True)
        )
        order = state.sort_rows(jnp.where(jnp.isnan(mean), jnp.inf, mean))
        return noise, mean, limits, jnp.where(noise, order, state.loss_order)

    unchanged = jnp.zeros((), bool), losses, state.constraints, state.loss_order
    noise, mean, limits, order = unchanged
    if differs is not False:
        differences = somewhere(has_differences(state))
        noise, mean, limits, order = jax.lax.cond(differences, averaged, lambda: unchanged)
    copies = evaluated & (first < jnp.arange(state.capacity, dtype=first.dtype)) & jnp.logical_not(noise)
    mean = jnp.where(copies[:, None], jnp.nan, mean)
    only = state.constraint_only | copies
    return replace(state, losses=mean, constraints=limits, loss_order=order, constraint_only=only), noise


@compiled
def mark_best(
    x: Float[Array, "n d"],
    losses: Float[Array, "n m"],
    constraints: Float[Array, "n c"],
    evaluated: Bool[Array, " n"],
) -> tuple[Means, Bool[Array, " n"]]:
    """Means, and a mask of the first evaluation of each best configuration."""
    means = average(first_equal(x, evaluated), losses, constraints, evaluated)
    if losses.shape[1] > 1:
        return means, (non_domination_rank(means.losses, means.feasible) == 0) & means.feasible
    row, exists = means.best()
    return means, exists & (jnp.arange(len(x), dtype=row.dtype) == row)


@compiled
def best_rows(directions: tuple[str, ...], state: State) -> Best:
    """The best configurations of a state; see `parzax.samplers.Sampler.best`."""
    means, mask = mark_best(state.x, state.losses, state.constraints, state.evaluated)
    rows = state.x, signed(directions, means.losses), means.constraints
    x, losses, constraints = (jnp.where(mask[:, None], part, jnp.nan) for part in rows)
    return Best(x, losses, constraints, mask)


def n_until_repeat(count: int) -> int:
    """How many more rows a search without noise has before it may repeat a configuration; 0 if it may now."""
    return -count % _EVERY_UNKNOWN


def choose_repeats(
    state: State,
    confirm: bool | Bool[Array, "*n"],
    n: int,
    find_allowed: Callable[[], Bool[Array, " rows"]],
    by_itself: bool | Bool[Array, ""],
    noise: bool | Bool[Array, ""],
) -> tuple[Bool[Array, " {n}"], Int[Array, " {n}"]]:
    """Which of the next n suggestions evaluate a configuration again, and the rows of the configurations.

    The first goes to the feasible configuration with the smallest lower bound, mean - noise / sqrt(number of
    evaluations), where pending and failed evaluations count; the others go to the next ones. With several
    objectives these bounds are ranked by non-domination. While no difference was seen, those with the fewest
    evaluations come first, and there are at most three repeats. No suggestion repeats if no configuration is
    feasible and in a row of the mask that ``find_allowed`` returns, or where ``confirm`` (one flag, or one
    for each) is False and the search does not repeat ``by_itself``: after 20 rows, to see whether there is
    ``noise``; after 20 more if none was seen and losses of different configurations are equal, as those of
    one may then be by chance; and with noise at every fifth row, but not with several objectives, as too many
    configurations are on the front.
    """
    number = state.count + jnp.arange(n, dtype=state.count.dtype)

    def due(every: Any) -> Int[Array, ""]:
        """How many of the suggestions follow a multiple of so many rows."""
        return (number % every == 0).sum(dtype=number.dtype)

    def choose() -> tuple[Bool[Array, " n"], Int[Array, " n"]]:
        dtype, told = state.x.dtype, state.usable & ~state.constraint_only
        first = state.first_among(told)
        means = average(first, state.losses, state.constraints, state.evaluated)
        n_told = jnp.zeros(state.capacity, dtype).at[first].add(told.astype(dtype), mode="drop")
        error = means.noise[None] * jax.lax.rsqrt(jnp.maximum(n_told, 1))[:, None]
        bound = means.losses - N_ERRORS * error
        several = state.losses.shape[1] > 1
        merit = non_domination_rank(bound, means.feasible) if several else bound[:, 0]
        differs, i = (means.noise > 0).any(), jnp.arange(n)
        eligible = means.feasible & find_allowed()
        keys = n_told, merit, jnp.where(differs, 0, n_told), ~eligible
        order = jnp.lexsort(keys).astype(jnp.int32)
        rows = order.at[i].get(mode="clip")
        n_repeats = told.sum(dtype=jnp.int32) - (n_told > 0).sum(dtype=jnp.int32)
        again = eligible[rows] & (i < len(order)) & (differs | (n_repeats + i < _MOST_EQUAL))
        ranked = state.loss_order[0]
        loss, same = state.losses[ranked, 0], first[ranked]
        equal = ((loss[1:] == loss[:-1]) & (same[1:] != same[:-1])).any()
        unknown = jnp.minimum(due(_EVERY_UNKNOWN), 1 + equal.astype(n_repeats.dtype) - n_repeats)
        n_due = jnp.where(noise, 0 if several else due(_EVERY), unknown)
        return again & (confirm | (by_itself & (i < n_due))), rows

    # Most steps compute no means.
    is_due = due(jnp.where(noise, _EVERY, _EVERY_UNKNOWN)) > 0
    some = jnp.any(confirm) | (by_itself & is_due)
    none = jnp.zeros(n, bool), jnp.zeros(n, jnp.int32)
    return jax.lax.cond(somewhere(some), choose, lambda: none)


def incumbents(
    x: Float[Array, "n d"], losses: Float[Array, "n 1"], constraints: Float[Array, "n c"]
) -> Int[Array, " n"]:
    """The best row after each of n evaluations, by `Means.best`; -1 while there is none."""
    evaluated, number = ~jnp.isnan(losses[:, 0]), jnp.arange(len(x))
    first = first_equal(x, evaluated)

    def best(last: Int[Array, ""]) -> Int[Array, ""]:
        row, exists = average(first, losses, constraints, evaluated & (number <= last)).best()
        return jnp.where(exists, row, -1)

    return jax.lax.map(best, number)
