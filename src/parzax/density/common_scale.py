"""Mixtures of several groups of the same rows, for rules that give a group one scale per regime."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax._numerics import exp2, in_two_rounds
from parzax.density import log_kernels
from parzax.density.basis import Basis, Regimes, SmallDiscrete
from parzax.density.densities import AbstractDensities
from parzax.density.evaluation import in_blocks
from parzax.density.fitting import Settings, by_parameter, normalised, slot_scales
from parzax.density.forms import LOG2_E, shift_of
from parzax.density.large_discrete import LogMasses, large_discrete_logs, log_masses
from parzax.density.mixture import KernelMixture
from parzax.density.sampling import uniforms
from parzax.kernels.bandwidth import FixedTop
from parzax.space import INACTIVE, Points

# Log-mass of an empty cell, as a multiple of -log(finfo.max).
_EMPTY = 8.0


class LinearTerms(NamedTuple):
    """Terms of some regimes in log kernel - log anchor at j points: features @ centres + ``added``."""

    features: Float[Array, "g j f"]  # features of the points, times factors from each group's scale
    centres: Float[Array, "f n"]  # coefficients of the rows, the same for all groups
    added: Float[Array, "g ... n"] | None
    anchor: Float[Array, " j"]  # log density of the wide kernels


class CommonScale(AbstractDensities):
    """g mixtures with the wide prior, one for each group of the n rows; each is like a `KernelMixture`.

    All kernels of a group have the same scale in a regime. The log of a product kernel is then a product of
    point features, which include the scale of the group, and row coefficients (places and one-hot values),
    which are the same for all groups.
    """

    basis: Basis  # its form must be "product"
    rows: Points  # absent rows have regime -1
    scale: Float[Array, "#g s"]  # (1, s) if all groups share a scale; exponentials are then computed once
    weight: Float[Array, "g n"]  # the weights and the prior weight of a group sum to 1
    prior_weight: Float[Array, " g"]
    joint: bool = eqx.field(static=True)  # whether a candidate's parameters come from one component

    @classmethod
    def fit(
        cls,
        basis: Basis,
        rows: Points,
        masks: Bool[Array, "g n"],
        mixture_weight: Float[Array, "g n"] | None,
        settings: Settings,
        order: Int[Array, "d n"] | None,
        joint: bool,
    ) -> "CommonScale":
        """Fit scales and weights of g groups.

        The bandwidth rule must have ``one_scale``, and the prior weight must be at least 1e-3.
        """
        (_, top, prior_weight), dtype = settings, rows.unit.dtype
        present = masks.any(axis=0)[:, None]
        rows = eqx.tree_at(lambda r: r.regime, rows, jnp.where(present, rows.regime, INACTIVE))
        frequency = masks.astype(dtype)

        def scales(weight: Float[Array, " n"]) -> Float[Array, " s"]:
            return slot_scales(basis, rows, weight, settings, order)[0][0]

        fixed = isinstance(top, FixedTop) and not len(basis.numeric)
        scale = scales(frequency[0])[None] if fixed else jax.vmap(scales)(frequency)
        weight = frequency if mixture_weight is None else frequency * mixture_weight
        return cls(basis, rows, scale, *normalised(weight, jnp.asarray(prior_weight, dtype)), joint)

    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        """See `AbstractDensities`. Points are evaluated in blocks."""
        basis, rows = self.basis, self.rows
        parts = [prepare_continua(part, rows, self.scale) for part in basis.products]
        parts += [prepare_small_discrete(part, rows, self.scale) for part in basis.small]

        def masses(scale: Float[Array, " s"]) -> tuple[LogMasses, ...]:
            return log_masses(basis, rows, by_parameter(basis, rows, scale[None]), len(at), scale)

        block = partial(self._block, parts, jax.vmap(masses)(self.scale))
        return in_blocks(block, at, len(self.scale) * len(rows))

    def _block(
        self, parts: list[Callable[[Points], LinearTerms]], large: tuple[LogMasses, ...], at: Points
    ) -> Float[Array, "g j"]:
        g, n, dtype = len(self.scale), len(self.rows), self.scale.dtype
        shift = shift_of(dtype)
        terms = [part(at) for part in parts]
        features = [jnp.zeros((g, len(at), 0), dtype), *(term.features for term in terms)]
        centres = [jnp.zeros((0, n), dtype), *(term.centres for term in terms)]
        features = jnp.concatenate(features, axis=-1).reshape(g * len(at), -1)
        ratio = log_kernels.matmul(features, jnp.concatenate(centres)).reshape(g, len(at), n)
        anchor = sum((term.anchor for term in terms), jnp.zeros(len(at), dtype))
        for term in terms:
            ratio = ratio if term.added is None else ratio + term.added
        if large:
            logs, anchors = jax.vmap(lambda masses: large_discrete_logs(self.basis, masses, at))(large)
            ratio, anchor = ratio + logs, anchor + anchors[0]
        ratio = LOG2_E * (ratio - shift)
        present = (self.rows.regime != INACTIVE).any(axis=-1)
        ratio = jnp.where(present[None, None], ratio, -4.0 * LOG2_E * shift)
        if g == 1:
            kernels = log_kernels.matmul(exp2(ratio[0]), self.weight.T).T
        else:
            kernels = jnp.einsum("gjn,gn->gj", exp2(ratio), self.weight, precision="highest")
        prior = self.prior_weight[:, None] * math.exp(-shift)
        return anchor[None] + shift + jnp.log(kernels + prior)

    def sample(self, key: PRNGKeyArray, n: int) -> Points:
        g = len(self.weight)
        drawn = uniforms(key, g * n, self.basis, self.scale.dtype, joint=self.joint)
        levels, places = (x.reshape(g, n, -1) for x in drawn)
        scale = jnp.broadcast_to(self.scale, (g, self.scale.shape[-1]))

        def sample_group(weight: Array, prior: Array, scale: Array, levels: Array, places: Array) -> Points:
            group = KernelMixture(self.rows, scale[None], weight, prior, ())
            return group.from_uniforms(self.basis, levels, places)

        points = jax.vmap(sample_group)(self.weight, self.prior_weight, scale, levels, places)
        return jax.tree.map(lambda a: a.reshape(g * n, -1), points)

    def first(self, n: int) -> "CommonScale":
        weights = self.weight[:n], self.prior_weight[:n]
        return CommonScale(self.basis, self.rows, self.scale[:n], *weights, self.joint)


def prepare_continua(
    part: Regimes, rows: Points, scale: Float[Array, "g s"]
) -> Callable[[Points], LinearTerms]:
    """Function that returns the terms of continuous regimes with product kernels."""
    family, n, k, dtype = part.family, len(rows), part.n_always, scale.dtype
    h, present, n_values = scale[:, part.slot], part.here(rows).T, jnp.asarray(part.n_values)
    place = jnp.where(present, part.by_regime(rows.unit), 0.5)

    def constants(h: Array, place: Array, n_values: Array) -> Float[Array, "g n"]:
        over_rows = jax.vmap(lambda place, h: family.around(place, h, n_values).constant(), in_axes=(0, None))
        return jax.vmap(over_rows, in_axes=(None, 0))(place, h)

    wide = log_kernels.wide_kernels(part, dtype)
    wide_linear, wide_constant = jax.vmap(partial(log_kernels.linear_form, part))(wide)
    constant = jax.vmap(constants)(h.T, place, n_values) - wide_constant[:, None, None]
    always = log_kernels.sum_of_first(constant, k)[:, None]
    sometimes = jnp.where(present[k:, None], constant[k:], 0)
    weights = log_kernels.vmap_twice(family.weights, h)
    centres = jax.vmap(jax.vmap(family.centres, out_axes=-1))(place)
    centres = jnp.where(present[:, None], centres, 0).reshape(-1, n)
    centres = jnp.concatenate([centres, jnp.ones((1, n), dtype), present[k:].astype(dtype)])

    def terms(at: Points) -> LinearTerms:
        inside = part.here(at)
        features = log_kernels.vmap_twice(family.features, part.columns(at.unit))
        features = jnp.where(inside[..., None], features, 0)
        linear = (features * wide_linear[None]).sum(axis=-1)
        scaled = features[None] * weights[:, None]
        # Terms that depend only on the point are summed into one column for all always active parameters.
        by_point = scaled[..., -1] - linear[None]
        columns = [scaled[..., :-1].reshape(len(scale), len(at), -1), *_merge_always(by_point, k)]
        added = always
        if k < len(part):
            here = inside[:, k:].astype(dtype)
            added = added + jnp.einsum("js,sgn->gjn", here, sometimes, precision="highest")
        anchor = (linear + jnp.where(inside, wide_constant[None], 0)).sum(axis=-1)
        return LinearTerms(jnp.concatenate(columns, axis=-1), centres, added, anchor)

    return terms


def prepare_small_discrete(
    part: SmallDiscrete, rows: Points, scale: Float[Array, "g s"]
) -> Callable[[Points], LinearTerms]:
    """Function that returns the terms of discrete regimes with few values."""
    family, k, dtype = part.family, part.n_always, scale.dtype
    place, n_values = jnp.asarray(part.place), jnp.asarray(part.n_values)[part.regime_of]
    lower, upper = jnp.asarray(part.lower), jnp.asarray(part.upper)
    wide = jax.tree.map(lambda a: a[part.regime_of], log_kernels.wide_kernels(part, dtype))
    h = part.repeated(scale[:, part.slot])
    settings = (jnp.broadcast_to(x, h.shape) for x in (place, h, n_values))
    kernels = log_kernels.vmap_twice(family.around, *settings)
    one_hot, present = part.has(rows).astype(dtype).T, part.here(rows).astype(dtype).T
    if family.exchangeable:
        after = (part.number + 1) % n_values
        other = jnp.arange(len(place), dtype=part.number.dtype) - part.number + after
        same, others = _masses(kernels, lower, upper), _masses(kernels, lower[other], upper[other])
        anchors = _masses(wide, lower, upper)
        centres = jnp.concatenate([one_hot, jnp.ones((1, len(rows)), dtype), present[k:]])
        by_regime = jnp.asarray(part.repeat).T

        def terms(at: Points) -> LinearTerms:
            has = part.has(at).astype(dtype)
            ratios = others - anchors[None]
            by_point = jnp.einsum("jf,gf,fk->gjk", has, ratios, by_regime, precision="highest")
            columns = [has[None] * (same - others)[:, None], *_merge_always(by_point, k)]
            anchor = log_kernels.matmul(has, anchors)
            return LinearTerms(jnp.concatenate(columns, axis=-1), centres, None, anchor)

        return terms
    # The wide kernels are appended to the kernels of all groups, so the code for masses is compiled once.
    pairs = jax.tree.map(
        lambda x, last: jnp.concatenate([x[:, part.pair_with].reshape(-1), last]), kernels, wide
    )
    ends = (jnp.concatenate([*(len(h) * [end[part.pair_of]]), end]) for end in (lower, upper))
    logs = in_two_rounds(lambda cells: _masses(*cells), (pairs, *ends))
    anchors, masses = logs[-len(place) :], logs[: -len(place)].reshape(len(h), -1)
    # Without the barrier XLA would compute a mass again for each entry that is read below.
    masses = jax.lax.optimization_barrier(masses - anchors[part.pair_of][None])
    start = jnp.asarray(part.pairs_from + part.number)[None]

    def table_terms(at: Points) -> LinearTerms:
        inside = part.repeated(part.here(at).astype(dtype)) > 0
        value = part.repeated(part.columns(at.index).astype(dtype)).astype(jnp.int32)
        features = jnp.where(inside[None], masses[:, start + value * n_values[None]], 0)
        return LinearTerms(features, one_hot, None, log_kernels.matmul(part.has(at).astype(dtype), anchors))

    return table_terms


def _merge_always(by_point: Float[Array, "g j k"], n_always: int) -> tuple[Array, Array]:
    """Sum of the columns of the first ``n_always`` regimes as one column, and the other columns."""
    return by_point[..., :n_always].sum(axis=-1, keepdims=True), by_point[..., n_always:]


def _masses(kernels: Any, lower: Array, upper: Array) -> Float[Array, "*g f"]:
    """log masses of f cells, each under its kernel; with a leading axis of groups if the kernels have one.

    -inf is replaced by a finite number that is just low enough for the exponential of any sum to be 0. A
    lower number would cost digits in differences.
    """
    over_cells = jax.vmap(lambda kernel, low, high: kernel.log_mass(low, high))
    if jax.tree.leaves(kernels)[0].ndim == 2:
        over_cells = jax.vmap(over_cells, in_axes=(0, None, None))
    logs = over_cells(kernels, lower, upper)
    return jnp.maximum(logs, -_EMPTY * math.log(float(jnp.finfo(logs.dtype).max)))
