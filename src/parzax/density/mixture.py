"""Mixtures of product kernels in unit coordinates."""

import abc
import math
from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from parzax._numerics import open_uniform, weighted_logsumexp
from parzax._numerics.logsumexp import relative_to_last
from parzax.density.basis import Basis
from parzax.density.cut import CutRows, quantile_within
from parzax.density.log_kernels import LogKernels, Tables, in_blocks, log_kernels, restored, tables_of
from parzax.density.prior import Beliefs
from parzax.space import INACTIVE, Points

Wide = tuple[Float[Array, " d"], Float[Array, " d"]]


class AbstractMixture(eqx.Module):
    """One density, or one for each of several groups of rows, in the unit coordinates of a space.

    The groups of a sampler are those of the objective and of each constraint, below and above: (c + 1, 2).
    """

    @abc.abstractmethod
    def log_prob(self, basis: Basis, at: Points) -> Float[Array, "*g j"]:
        """log densities of all groups at j valid points."""

    @abc.abstractmethod
    def sample(self, key: PRNGKeyArray, basis: Basis, n: int) -> Points:
        """At least n draws from each group, (k, d); the draws of one group are adjacent."""

    @property
    @abc.abstractmethod
    def below(self) -> "AbstractMixture":
        """The densities of the groups below, (c + 1,), which samplers draw candidates from."""


class Mixture(AbstractMixture):
    """p(x) = sum_n w_n prod_d k_nd(x_d) + w_0 prod_d q_d(x_d), with n kernels and a prior q.

    Several groups of the rows are several densities with the same kernels and other weights, (*g, n). Leading
    axes of all fields are further densities, with other kernels. The mixture stores no names and no bounds;
    every method takes the `Basis` of the space.
    """

    rows: Points  # places of the kernels; absent rows hold arbitrary finite values
    scale: Float[Array, "*b n d"]  # bandwidth on the axis; for categories, probability of all others
    weight: Float[Array, "*g n"]  # 0 for rows that are not in the group
    prior_weight: Float[Array, "*g"]  # it and the weights of the rows sum to 1
    # Beliefs, by which the prior is multiplied in a part of its weight; leading axes as those of the scale.
    beliefs: Beliefs | None = None
    belief_weight: Float[Array, "*g"] | None = None
    wide: Wide | None = None  # of open axes: places and scales of the wide kernels; None if there are none
    tables: Tables | None = None  # masses of discrete values, and coefficients; see `prepared`
    coefficients: Float[Array, "f n1"] | None = None
    # Whether all parameters of a draw come from one component; else each comes from a component of its own.
    joint: bool = eqx.field(static=True, default=True)
    # Whether the numbers that choose the components of n draws are spread evenly, one in each n-th of [0, 1].
    stratified: bool = eqx.field(static=True, default=False)
    # Whether the prior has so much weight, and kernels so small peaks, that it is factored out of all sums.
    anchored: bool = eqx.field(static=True, default=False)

    def log_prob(
        self, basis: Basis, at: Points, weight: Float[Array, "*g j n1"] | None = None
    ) -> Float[Array, "*g j"]:
        """log p(x) at j points: log-sum-exp over rows of summed log kernels; the prior is the last row.

        ``weight`` replaces the weights of the rows and of the prior, with other weights for each point.
        """
        if self.scale.ndim > 2:
            return jax.vmap(lambda one, weight: one.log_prob(basis, at, weight))(self, weight)
        anchored = self.anchored and weight is None
        log_kernels, pairwise, _ = self.log_kernels(basis, at.unit.shape[0], anchored)
        if weight is not None:
            of_point = jax.vmap(lambda x, weight: weighted_logsumexp(x[None], weight)[..., 0], (0, -2), -1)
            return restored(of_point(log_kernels(at), weight), basis.n_slots)
        beliefs, believed = self.beliefs, self.belief_weight
        prior_weight = self.prior_weight if believed is None else self.prior_weight - believed
        weights = jnp.concatenate([self.weight, prior_weight[..., None]], axis=-1)
        # XLA would compute terms of pairs again for the last one, which costs more than to find the largest.
        anchored &= not pairwise or weights.ndim > 1

        def log_sum_at(at: Points) -> Float[Array, "*g j"]:
            logs = relative_to_last(log_kernels(at)) if anchored and pairwise else log_kernels(at)
            log_sum = weighted_logsumexp(logs, weights, anchored)
            if beliefs is None or believed is None:
                return log_sum
            log_belief = jnp.broadcast_to(logs[:, -1] + beliefs.log_ratio_at(basis.frame, at), log_sum.shape)
            log_weight = jnp.where(believed > 0, jnp.log(jnp.where(believed > 0, believed, 1)), -jnp.inf)
            return jnp.logaddexp(log_sum, log_weight[..., None] + log_belief)

        return restored(in_blocks(log_sum_at, at, self.weight.shape[-1], pairwise), basis.n_slots)

    def with_beliefs(self, basis: Basis, beliefs: Beliefs, n_rows: Int[Array, ""]) -> "Mixture":
        """The densities of a sampler's groups, with beliefs in the objective's density below."""
        weight, first = self.prior_weight, (0,) * self.prior_weight.ndim
        believed = jnp.zeros_like(weight).at[first].set(weight[first] * beliefs.share(n_rows, weight.dtype))
        beliefs, batch = beliefs.relative_to(basis, weight.dtype), self.scale.shape[:-2]
        beliefs = jax.tree.map(lambda a: jnp.broadcast_to(a, (*batch, *a.shape)), beliefs)
        return replace(self, beliefs=beliefs, belief_weight=believed)

    def log_kernels(
        self, basis: Basis, n_points: Any, anchored: bool = False
    ) -> tuple[LogKernels, bool, Float[Array, "f n1"]]:
        """See `parzax.density.log_kernels`; the rows are followed by one without values: the prior."""
        kernels = self.kernels()
        tables = tables_of(basis, *kernels, n_points) if self.tables is None else self.tables
        # Pair by pair the product has other features.
        coefficients = None if basis.pairwise or anchored != self.anchored else self.coefficients
        return log_kernels(basis, *kernels, tables, coefficients, anchored)

    def prepared(self, basis: Basis) -> "Mixture":
        """The same density, which keeps what depends on the kernels alone for further calls of `log_prob`."""
        kept = replace(self, tables=tables_of(basis, *self.kernels(), math.inf))
        product = replace(basis, pairwise=False)
        return replace(kept, coefficients=kept.log_kernels(product, math.inf, self.anchored)[2])

    def kernels(self) -> tuple[Points, Float[Array, "n1 d"]]:
        """Places and scales of the kernels of all rows, and of the prior."""
        prior = jax.tree.map(lambda a: jnp.zeros_like(a[:1]), (self.rows, self.scale))
        if self.wide is not None:
            place, width = self.wide
            prior = replace(prior[0], unit=place[None]), width[None]
        rows, scale = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), (self.rows, self.scale), prior)
        return replace(rows, regime=rows.regime.at[-1].set(INACTIVE)), scale

    def left_out(self, basis: Basis, at: Points) -> Float[Array, "*g n"]:
        """log density at n points, where point i is evaluated without kernel i (leave one out).

        Scales and prior do not change. If kernel i is absent, the full mixture is used. The value is -inf if
        neither the prior nor another kernel has density at the point.
        """
        others = jnp.where(jnp.eye(self.weight.shape[-1], dtype=bool), 0, self.weight[..., None, :])
        prior = jnp.broadcast_to(self.prior_weight[..., None, None], (*others.shape[:-1], 1))
        rest = 1 - self.weight
        log_prob = self.log_prob(basis, at, jnp.concatenate([others, prior], axis=-1))
        return log_prob - jnp.log(jnp.where(rest > 0, rest, 1))

    def sample(self, key: PRNGKeyArray, basis: Basis, n: int) -> Points:
        """n draws from each density, (g * n, d): a component by weight, then a place in every regime."""
        shape, n_components = self.weight.shape[:-1], 1 if self.joint else basis.n_parameters
        levels = open_uniform(key, (*shape, n, n_components + basis.n_slots), self.scale.dtype)
        draws = partial(_draws, basis, self.stratified)
        for axis in reversed(range(len(shape))):
            draws = jax.vmap(draws, in_axes=(0 if axis < self.scale.ndim - 2 else None, 0, 0))
        kernels = self.rows, self.scale, self.beliefs, self.wide
        points = draws(kernels, (self.weight, self.prior_weight, self.belief_weight), levels)
        return jax.tree.map(lambda a: a.reshape(-1, a.shape[-1]), points)

    @property
    def below(self) -> "Mixture":
        """See `AbstractMixture`; the last axis of groups has a group below and a group above."""
        first = (slice(None),) * (self.prior_weight.ndim - 1) + (0,)
        of_groups = self.weight, self.prior_weight, self.belief_weight
        weight, prior_weight, believed = jax.tree.map(lambda a: a[first], of_groups)
        return replace(self, weight=weight, prior_weight=prior_weight, belief_weight=believed)


def _draws(
    basis: Basis, stratified: bool, kernels: Any, weights: Any, levels: Float[Array, "k cs"]
) -> Points:
    """k points from one density; they satisfy the conditions of the space.

    Args:
        basis: basis of the space.
        stratified: see `Mixture`.
        kernels: the fields ``rows``, ``scale``, ``beliefs`` and ``wide`` of a mixture.
        weights: its fields ``weight``, ``prior_weight`` and ``belief_weight``.
        levels: uniform numbers: one for the component, or one for the component of each parameter; then one
            for each slot.
    """
    (rows, scale, beliefs, of_open), (weight, prior_weight, belief_weight) = kernels, weights
    frame, dtype, n = basis.frame, levels.dtype, len(levels)
    level, levels = levels[:, : -basis.n_slots], levels[:, -basis.n_slots :]
    if stratified:
        level = (jnp.arange(n, dtype=dtype)[:, None] + level) / n
    running = jnp.cumsum(weight)
    total = running[-1] + prior_weight
    # It stays below the total, so that without a prior the drawn row has positive weight.
    reached = jnp.minimum(level * total, jnp.nextafter(jax.lax.stop_gradient(total), jnp.zeros((), dtype)))
    row = jax.vmap(partial(_first_above, running))(reached)
    row, level = (jnp.broadcast_to(x, (n, basis.n_parameters)) for x in (row, level))
    columns = jnp.arange(basis.n_parameters)[None]
    # The prior comes after the rows, and has no values.
    regime = rows.regime.at[row, columns].get(mode="fill", fill_value=INACTIVE)
    near = frame.spread(regime) == frame.regime[None]
    unit, width = (frame.spread(x.at[row, columns].get(mode="clip")) for x in (rows.unit, scale))
    cut = [rows.lower, rows.upper] if isinstance(rows, CutRows) else []
    cut = [frame.spread(x.at[row, columns].get(mode="clip")) for x in cut]
    places = jnp.full(levels.shape, 0.5, dtype)
    for part in basis.groups:
        slot, n_values = part.slot, jnp.asarray(part.n_values)
        wide = jax.vmap(lambda n, family=part.family: family.wide(n, dtype))(n_values)
        if part.is_open and of_open is not None:
            wide = tuple(x[part.parameter] for x in of_open)
        kernel = (
            jnp.where(near[:, slot], x[:, slot], prior[None])
            for x, prior in zip((unit, width), wide, strict=True)
        )
        ends = tuple(x[:, slot] for x in cut)
        quantile: Any = partial(quantile_within, part.family) if ends else part.family.quantile
        quantiles = jax.vmap(jax.vmap(quantile), in_axes=(0, 0, 0, None, *(0 for _ in ends)))
        places = places.at[:, slot].set(quantiles(levels[:, slot], *kernel, n_values, *ends))
    if beliefs is not None:
        # The prior has the highest levels, and the beliefs have the highest of these.
        places = jnp.where(frame.spread(level >= 1 - belief_weight), beliefs.draw(levels), places)
    return frame.at(places)


def _first_above(running: Float[Array, " n"], level: Float[Array, " k"]) -> Int[Array, " k"]:
    """Index of the first element above each level, or n: `jnp.searchsorted` with side="right".

    The search counts twice: over the last elements of blocks, then within one block. For batches of searches
    this is about twelve times faster than a binary search.
    """
    n = len(running)
    size = 1 << ((n - 1).bit_length() + 1) // 2
    blocks = jnp.pad(running, (0, -n % size), mode="edge").reshape(-1, size)
    block = (blocks[None, :, -1] <= level[:, None]).sum(axis=-1)
    inside = (blocks[jnp.minimum(block, len(blocks) - 1)] <= level[:, None]).sum(axis=-1)
    return jnp.where(block < len(blocks), block * size + inside, n)
