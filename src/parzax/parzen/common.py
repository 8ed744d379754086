"""Mixtures of groups of the same rows, where a group's kernels share one scale per regime."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax._numerics import exp2, in_two_rounds
from parzax.kernels.bandwidth import FixedTop
from parzax.parzen import terms
from parzax.parzen.basis import Basis, Regimes, Values
from parzax.parzen.densities import AbstractDensities
from parzax.parzen.evaluation import in_blocks
from parzax.parzen.fitting import Settings, of_regime, slot_scales
from parzax.parzen.forms import LOG2_E, shift_of
from parzax.parzen.many import ManyTerms, many_logs, many_terms_of_one_scale
from parzax.parzen.sampling import components, drawn_points, uniforms
from parzax.space import INACTIVE, Points

# Of the log of the largest float, that of no mass at all.
_NOTHING = 8.0


class Term(NamedTuple):
    """What some regimes add to log kernel - log anchor at j points: features times centres, and ``added``."""

    features: Float[Array, "g j f"]  # of the points under each group's scale
    centres: Float[Array, "f n"]  # of the rows, the same for all groups
    added: Float[Array, "g ... n"] | None
    anchor: Float[Array, " j"]  # log density of the wide kernels


class CommonScale(AbstractDensities):
    """g mixtures with the wide prior, as `KernelMixture` has them, over groups of n rows.

    With one scale per group what depends on a group moves from the kernels to the points: the log of a
    product kernel is again linear in features, whose coefficients (the rows' places and one-hot values) all
    groups share.
    """

    basis: Basis  # its product form holds
    rows: Points  # absent ones have regime -1
    scale: Float[Array, "#g s"]  # (1, s) where all groups have the same: exponentials are computed once
    weight: Float[Array, "g n"]  # with the prior's a group's sum to 1
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
        """Scales and weights of groups, for a rule with ``one_scale`` and a prior of weight 1e-3 or more."""
        (_, top, prior_weight), dtype = settings, rows.unit.dtype
        present = masks.any(axis=0)[:, None]
        rows = eqx.tree_at(lambda r: r.regime, rows, jnp.where(present, rows.regime, INACTIVE))
        frequency = masks.astype(dtype)

        def scales(weight: Float[Array, " n"]) -> Float[Array, " s"]:
            return slot_scales(basis, rows, weight, settings, order)[0][0]

        fixed = isinstance(top, FixedTop) and not len(basis.numeric)
        scale = scales(frequency[0])[None] if fixed else jax.vmap(scales)(frequency)
        weight = frequency if mixture_weight is None else frequency * mixture_weight
        total = weight.sum(axis=-1)
        anchor = jnp.where(total > 0, jnp.asarray(prior_weight, dtype), 1)
        whole = total + anchor
        return cls(basis, rows, scale, weight / whole[:, None], anchor / whole, joint)

    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        """See `AbstractDensities`; in blocks of points."""
        basis, own = self.basis, (self.rows, self.scale)
        parts = [of_continua(part, *own) for part in basis.products]
        parts += [of_values(part, *own) for part in basis.values]
        if basis.many:
            parts.append(of_many(basis, *own, len(at)))
        return in_blocks(lambda at: self._block(parts, at), at, len(self.scale) * len(self.rows))

    def _block(self, parts: list[Callable[[Points], Term]], at: Points) -> Float[Array, "g j"]:
        (g, _), n, shift = self.scale.shape, len(self.rows), shift_of(self.scale.dtype)
        found = [part(at) for part in parts]
        features = jnp.concatenate([term.features for term in found], axis=-1)
        centres = jnp.concatenate([term.centres for term in found])
        ratio = terms.matmul(features.reshape(g * len(at), -1), centres).reshape(g, len(at), n)
        anchor = sum((term.anchor for term in found), jnp.zeros(len(at), ratio.dtype))
        for term in found:
            ratio = ratio if term.added is None else ratio + term.added
        ratio = LOG2_E * (ratio - shift)
        present = (self.rows.regime != INACTIVE).any(axis=-1)
        ratio = jnp.where(present[None, None], ratio, -4.0 * LOG2_E * shift)
        if g == 1:
            kernels = terms.matmul(exp2(ratio[0]), self.weight.T).T
        else:
            kernels = jnp.einsum("gjn,gn->gj", exp2(ratio), self.weight, precision="highest")
        prior = self.prior_weight[:, None] * math.exp(-shift)
        return anchor[None] + shift + jnp.log(kernels + prior)

    def sample(self, key: PRNGKeyArray, n: int) -> Points:
        g = len(self.weight)
        level, places = uniforms(key, g * n, self.basis, self.scale.dtype, joint=self.joint)
        scale = jnp.broadcast_to(self.scale, (g, self.scale.shape[-1]))

        def one(level: Array, places: Array, weight: Array, prior: Array, scale: Array) -> Points:
            running = jnp.cumsum(weight)
            row, from_prior = jax.vmap(lambda own: components(own, running, prior))(level)
            return drawn_points(self.basis, places, self.rows, row, from_prior, scale[None])

        level, places = (x.reshape(g, n, -1) for x in (level, places))
        drawn = jax.vmap(one)(level, places, self.weight, self.prior_weight, scale)
        return jax.tree.map(lambda a: a.reshape(g * n, -1), drawn)

    def first(self, n: int) -> "CommonScale":
        weights = self.weight[:n], self.prior_weight[:n]
        return CommonScale(self.basis, self.rows, self.scale[:n], *weights, self.joint)


def of_continua(part: Regimes, rows: Points, scale: Float[Array, "g s"]) -> Callable[[Points], Term]:
    """Continua of product kernels."""
    family, n, k, dtype = part.family, len(rows), part.n_always, scale.dtype
    h, present, n_values = scale[:, part.slot], part.here(rows).T, jnp.asarray(part.n_values)
    place = jnp.where(present, part.by_regime(rows.unit), 0.5)

    def constants(h: Array, place: Array, n_values: Array) -> Float[Array, "g n"]:
        one = jax.vmap(lambda place, h: family.around(place, h, n_values).constant(), in_axes=(0, None))
        return jax.vmap(one, in_axes=(None, 0))(place, h)

    wide_linear, wide_constant = jax.vmap(partial(terms.linear_of, part))(terms.wide_of(part, dtype))
    constant = jax.vmap(constants)(h.T, place, n_values) - wide_constant[:, None, None]
    always = terms.sum_of_first(constant, k)[:, None]
    theirs = jnp.where(present[k:, None], constant[k:], 0)
    weights = terms.over(family.weights, h)
    centres = jax.vmap(jax.vmap(family.centres, out_axes=-1))(place)
    centres = jnp.where(present[:, None], centres, 0).reshape(-1, n)
    centres = jnp.concatenate([centres, jnp.ones((1, n), dtype), present[k:].astype(dtype)])

    def term(at: Points) -> Term:
        inside = part.here(at)
        values = jnp.where(inside[..., None], terms.over(family.features, part.columns(at.unit)), 0)
        linear = (values * wide_linear[None]).sum(axis=-1)
        scaled = values[None] * weights[:, None]
        # Parameters that are always active have one column together of what the point alone decides.
        alone = scaled[..., -1] - linear[None]
        columns = [scaled[..., :-1].reshape(len(scale), len(at), -1)]
        columns += [alone[..., :k].sum(axis=-1, keepdims=True), alone[..., k:]]
        added = always
        if k < len(part):
            both = inside[:, k:].astype(dtype)
            added = added + jnp.einsum("js,sgn->gjn", both, theirs, precision="highest")
        anchor = (linear + jnp.where(inside, wide_constant[None], 0)).sum(axis=-1)
        return Term(jnp.concatenate(columns, axis=-1), centres, added, anchor)

    return term


def of_values(part: Values, rows: Points, scale: Float[Array, "g s"]) -> Callable[[Points], Term]:
    """Regimes of few values."""
    family, k, dtype = part.family, part.n_always, scale.dtype
    place, n_values = jnp.asarray(part.place), jnp.asarray(part.n_values)[part.of]
    wide = jax.tree.map(lambda a: a[part.of], terms.wide_of(part, dtype))
    h = part.repeated(scale[:, part.slot])
    kernels = terms.over(family.around, *(jnp.broadcast_to(x, h.shape) for x in (place, h, n_values)))
    one_hot, present = part.has(rows).astype(dtype).T, part.here(rows).astype(dtype).T
    if family.exchangeable:
        after = (part.number + 1) % n_values
        other = jnp.arange(len(place), dtype=part.number.dtype) - part.number + after
        same = _masses(kernels, part.lower, part.upper)
        others = _masses(kernels, jnp.asarray(part.lower)[other], jnp.asarray(part.upper)[other])
        anchors = _masses(wide, part.lower, part.upper)
        centres = jnp.concatenate([one_hot, jnp.ones((1, len(rows)), dtype), present[k:]])
        by_regime = jnp.asarray(part.repeat).T

        def term(at: Points) -> Term:
            has = part.has(at).astype(dtype)
            alone = jnp.einsum("jf,gf,fk->gjk", has, others - anchors[None], by_regime, precision="highest")
            columns = [has[None] * (same - others)[:, None]]
            columns += [alone[..., :k].sum(axis=-1, keepdims=True), alone[..., k:]]
            return Term(jnp.concatenate(columns, axis=-1), centres, None, terms.matmul(has, anchors))

        return term
    # The kernels of all groups and, last, the wide ones, so that their masses are compiled once.
    pairs = jax.tree.map(
        lambda own, last: jnp.concatenate([own[:, part.pair_with].reshape(-1), last]), kernels, wide
    )
    cells = ((jnp.asarray(end), jnp.asarray(end)[part.pair_of]) for end in (part.lower, part.upper))
    ends = (jnp.concatenate([*(len(h) * [own]), last]) for last, own in cells)
    logs = in_two_rounds(lambda one: _masses(*one), (pairs, *ends))
    anchors, masses = logs[-len(place) :], logs[: -len(place)].reshape(len(h), -1)
    # Computed once: a look-up would compute it anew for every entry that it reads.
    masses = jax.lax.optimization_barrier(masses - anchors[part.pair_of][None])
    start = jnp.asarray(part.pairs_from + part.number)[None]

    def of_table(at: Points) -> Term:
        has = part.has(at).astype(dtype)
        inside = part.repeated(part.here(at).astype(dtype)) > 0
        value = part.repeated(part.columns(at.index).astype(dtype)).astype(jnp.int32)
        features = jnp.where(inside[None], masses[:, start + value * n_values[None]], 0)
        return Term(features, one_hot, None, terms.matmul(has, anchors))

    return of_table


def of_many(
    basis: Basis, rows: Points, scale: Float[Array, "g s"], n_points: int
) -> Callable[[Points], Term]:
    """Regimes of many values."""
    n_slots, g = basis.n_slots, len(scale)

    def prepared(scale: Float[Array, " s"]) -> tuple[ManyTerms, ...]:
        by_row = of_regime(basis, rows, scale[None])
        return tuple(
            many_terms_of_one_scale(part, rows, scale, by_row, n_slots, n_points) for part in basis.many
        )

    own = jax.vmap(prepared)(scale)

    def term(at: Points) -> Term:
        added, anchor = jax.vmap(lambda own: many_logs(basis.many, own, at, n_slots))(own)
        features, centres = (jnp.zeros(shape, scale.dtype) for shape in ((g, len(at), 0), (0, len(rows))))
        return Term(features, centres, added, anchor[0])

    return term


def _masses(kernels: Any, lower: Any, upper: Any) -> Float[Array, "*g f"]:
    """log masses of f cells, each under its kernel, of every group if there are some.

    -inf is replaced by what makes the exponential of any sum 0, and no more, so that differences stay exact.
    """
    one = jax.vmap(lambda kernel, low, high: kernel.log_mass(low, high))
    if jax.tree.leaves(kernels)[0].ndim == 2:
        one = jax.vmap(one, in_axes=(0, None, None))
    logs = one(kernels, jnp.asarray(lower), jnp.asarray(upper))
    return jnp.maximum(logs, -_NOTHING * math.log(float(jnp.finfo(logs.dtype).max)))
