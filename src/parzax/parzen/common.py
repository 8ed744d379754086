"""Mixtures of groups of the same rows, where a group's kernels share one scale per regime of a parameter."""

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics import exp2, log_normal_mass, log_unit_mass
from parzax.kernels import AitchisonAitken, DiscreteNormal, FixedTop, OptunaTop, TruncatedNormal
from parzax.kernels.bandwidth import Bandwidth
from parzax.parzen.evaluation import BLOCK, LOG2_E, in_blocks, shift_of
from parzax.parzen.fitting import slot_scales
from parzax.parzen.points import Points, Slot, slots
from parzax.parzen.prior import priors, wide_kernel
from parzax.parzen.product import anchor_log_prob, here, is_discrete, is_indicated, log_of_zero
from parzax.parzen.sampling import sample_one, uniforms
from parzax.space import Space


class CommonScale(eqx.Module):
    """g mixtures with the wide prior, as `ParzenEstimator` has them, over groups of n rows.

    With one scale per group what depends on a group moves from the kernels to the points: the log of a
    product kernel is again linear in features, c^2 and c / h^2 of a continuous coordinate and a column of a
    C x C table of log masses, whose coefficients (the rows' coordinates and one-hot values) all groups share.

    Attributes:
        rows: (n, d) points; absent ones have regime -1.
        scale: (g, s) one per slot; (1, s) where all groups have the same, whose exponentials are then
            computed once.
        weight: (g, n) mixture weights.
        prior_weight: (g,) the prior's; all weights of a group sum to 1.
        space: static.
    """

    rows: Points
    scale: Float[Array, "#g s"]
    weight: Float[Array, "g n"]
    prior_weight: Float[Array, " g"]
    space: Space = eqx.field(static=True)

    @classmethod
    def fit(
        cls,
        space: Space,
        rows: Points,
        masks: Bool[Array, "g n"],
        *,
        bandwidth: Bandwidth,
        top: FixedTop | OptunaTop,
        prior_weight: float,
        mixture_weight: Float[Array, "g n"] | None = None,
        order: Int[Array, "d n"] | None = None,
    ) -> "CommonScale":
        """Scales and weights of the groups; the counterpart of `ParzenEstimator.fit_points`.

        Args:
            space: the search space.
            rows: (n, d) encoded rows.
            masks: (g, n) which rows are in a group.
            bandwidth: a rule with ``one_scale``.
            top: rule of the categories.
            prior_weight: at least 1e-3.
            mixture_weight: (g, n) weights that do not enter the bandwidth.
            order: (d, n) indices of the rows by unit coordinate, which saves sorting them.
        """
        dtype = rows.unit.dtype
        present = masks.any(axis=0)
        rows = eqx.tree_at(lambda r: r.regime, rows, jnp.where(present[:, None], rows.regime, -1))
        frequency = masks.astype(dtype)
        fixed = isinstance(top, FixedTop) and all(
            slot.axis.kind in ("categorical", "point") for slot in slots(space)
        )

        def scales(weight: Array) -> Array:
            return jnp.stack(slot_scales(space, rows, weight, bandwidth, top, prior_weight, True, order))

        scale = scales(frequency[0])[None] if fixed else jax.vmap(scales)(frequency)
        weight = frequency if mixture_weight is None else frequency * mixture_weight
        total = weight.sum(axis=-1)
        anchor = jnp.where(total > 0, jnp.asarray(prior_weight, dtype), 1)
        whole = total + anchor
        return cls(rows, scale, weight / whole[:, None], anchor / whole, space)

    def log_prob(self, at: Points) -> Float[Array, "g j"]:
        """log densities of all groups in unit coordinates, at (j,) valid points, in blocks of them."""
        constants = self._constants()
        pairs_of_a_point = len(self.scale) * max(len(self.rows.unit), 1)
        return in_blocks(partial(self._block, constants), at, max(1, BLOCK // pairs_of_a_point))

    def _block(self, constants: Float[Array, "#g n s"], at: Points) -> Float[Array, "g j"]:
        shift = shift_of(self.scale.dtype)
        features, coefficients, constant = self._linear(at, constants)
        ratio = LOG2_E * (jnp.matmul(features, coefficients.T, precision="highest") + constant - shift)
        ratio = jnp.where((self.rows.regime >= 0).any(axis=-1), ratio, -4.0 * LOG2_E * shift)
        if len(self.scale) == 1:
            kernels = jnp.matmul(exp2(ratio[0]), self.weight.T, precision="highest").T
        else:
            kernels = jnp.einsum("gjn,gn->gj", exp2(ratio), self.weight, precision="highest")
        prior = self.prior_weight * math.exp(-shift)
        return anchor_log_prob(slots(self.space), at) + shift + jnp.log(kernels + prior[:, None])

    def sample(self, key: jax.Array, n: int, joint: bool) -> Float[Array, "g {n} d"]:
        """n draws from every group, in native units."""
        g, dtype = len(self.weight), self.scale.dtype
        components, levels = uniforms(key, g * n, self.space, dtype, joint=joint)
        own = priors(self.space, None, dtype)

        def draw(component: Array, level: Array, running: Array, prior: Array, scale: Array) -> Array:
            return sample_one(
                component,
                level,
                None,
                space=self.space,
                kernels=self.rows,
                scale=scale,
                running_weight=running,
                prior_weight=prior,
                priors=own,
            )

        by_group = jax.vmap(jax.vmap(draw, in_axes=(0, 0, None, None, None)))
        return by_group(
            components.reshape(g, n, -1),
            levels.reshape(g, n, -1),
            jnp.cumsum(self.weight, axis=-1),
            self.prior_weight,
            jnp.broadcast_to(self.scale, (g, self.scale.shape[-1])),
        )

    def first(self, n: int) -> "CommonScale":
        """The first n groups."""
        return CommonScale(self.rows, self.scale[:n], self.weight[:n], self.prior_weight[:n], self.space)

    def _linear(
        self, at: Points, constants: Float[Array, "#g n s"]
    ) -> tuple[Float[Array, "#g j f"], Float[Array, "n f"], Any]:
        """Features, coefficients and what is added: their sum is log kernel - log anchor, (g, j, n)."""
        dtype = self.scale.dtype
        columns, coefficients, added = self._continuous(at, constants)
        for s, slot in enumerate(slots(self.space)):
            if not is_discrete(slot):
                continue
            inside, present = here(slot, at), here(slot, self.rows)
            if is_indicated(slot):
                # A product and not a look-up: XLA would compute the table anew for every element read.
                value = at.index[:, slot.parameter, None] == jnp.arange(slot.axis.n_values)
                one_hot = (value & inside[:, None]).astype(dtype)
                columns.append(jnp.matmul(one_hot, _table(slot, self.scale[:, s]), precision="highest"))
                own = self.rows.index[:, slot.parameter, None] == jnp.arange(slot.axis.n_values)
                coefficients.append((own & present[:, None]).astype(dtype))
            else:
                pairs = jax.vmap(partial(_pairs, slot, self.rows, at))(self.scale[:, s])
                added = added + jnp.where(inside[:, None] & present, pairs, 0)
        return jnp.concatenate(columns, axis=-1), jnp.concatenate(coefficients, axis=-1), added

    def _constants(self) -> Float[Array, "#g n s"]:
        """What kernels of continuous slots have without any point."""
        own = [(s, slot) for s, slot in enumerate(slots(self.space)) if slot.axis.kind == "continuous"]
        h = self.scale[:, np.array([s for s, _ in own], dtype=int)][:, None]
        unit, regime = (
            a[:, np.array([slot.parameter for _, slot in own], dtype=int)]
            for a in (self.rows.unit, self.rows.regime)
        )
        present = regime == np.array([slot.regime for _, slot in own], dtype=int)
        m = jnp.where(present, unit, 0.5)
        dtype = self.scale.dtype
        wide = log_unit_mass(jnp.asarray(0.5, dtype), jnp.asarray(1.0, dtype))
        constant = wide - jnp.log(h) - log_unit_mass(m, h)
        return constant - 0.5 * jnp.square(m - 0.5) / jnp.square(h)

    def _continuous(self, at: Points, constant: Array) -> tuple[list[Array], list[Array], Any]:
        """The same of all continuous slots at once."""
        g, n_points, dtype = len(self.scale), len(at.unit), self.scale.dtype
        own = [(s, slot) for s, slot in enumerate(slots(self.space)) if slot.axis.kind == "continuous"]
        if not own:
            return [jnp.zeros((g, n_points, 0), dtype)], [jnp.zeros((len(self.rows.unit), 0), dtype)], 0.0
        j = np.array([slot.parameter for _, slot in own])
        regime = np.array([slot.regime for _, slot in own])
        always = np.array([slot.always for _, slot in own])
        h = self.scale[:, np.array([s for s, _ in own])]
        inside, present = at.regime[:, j] == regime, self.rows.regime[:, j] == regime
        c, m = at.unit[:, j] - 0.5, jnp.where(present, self.rows.unit[:, j], 0.5) - 0.5
        precision = 1 / jnp.square(h)
        square = jnp.where(inside, jnp.square(c) * (0.5 - 0.5 * precision)[:, None], 0)
        linear = jnp.where(inside, c * precision[:, None], 0)
        # Parameters that are always active have one column of squares together, and nothing to look at.
        columns = [linear, square[..., always].sum(axis=-1, keepdims=True), square[..., ~always]]
        coefficients = [m, jnp.ones_like(m[:, :1]), present[:, ~always].astype(dtype)]
        added = constant[..., always].sum(axis=-1)[:, None, :]
        if not always.all():
            theirs = jnp.where(present, constant, 0)[..., ~always]
            both = inside[:, ~always].astype(dtype)
            added = added + jnp.einsum("js,gns->gjn", both, theirs, precision="highest")
        return columns, coefficients, added


def _table(slot: Slot, scale: Float[Array, " g"]) -> Float[Array, "g c c"]:
    """log mass of every value under a kernel at every value (last axis), minus the anchor's."""
    axis, dtype = slot.axis, scale.dtype
    anchor = wide_kernel(axis, dtype)
    assert not isinstance(anchor, TruncatedNormal)
    values = np.arange(axis.n_values)
    if axis.kind == "categorical":
        kernels = jax.vmap(lambda h: AitchisonAitken(jnp.asarray(0), h, axis.n_values).log_masses())(scale)
        masses = jnp.where(np.eye(axis.n_values, dtype=bool), kernels[:, :1, None], kernels[:, -1:, None])
    else:
        # The cells and centres are constants: in float64, whatever the dtype.
        centre = axis.unit(axis.native(values, np.float64, np), np)
        lower, upper = (end[:, None] - centre for end in axis.cell(values, np.float64, np))
        width = scale[:, None, None]
        inside = log_normal_mass(jnp.asarray(lower, dtype) / width, jnp.asarray(upper, dtype) / width)
        masses = inside - log_unit_mass(jnp.asarray(centre, dtype), scale[:, None])[:, None, :]
    return _finite(masses - anchor.log_masses()[:, None])


def _pairs(slot: Slot, rows: Points, at: Points, scale: Float[Array, ""]) -> Float[Array, "j n"]:
    """log kernel - log anchor of every pair of point and row."""
    number = at.index[:, slot.parameter, None]
    if slot.axis.kind == "categorical":
        kernels: Any = AitchisonAitken(rows.index[:, slot.parameter], scale, slot.axis.n_values)
    else:
        kernels = DiscreteNormal(rows.unit[:, slot.parameter], scale, slot.axis)
    return _finite(kernels.log_prob(number) - wide_kernel(slot.axis, scale.dtype).log_prob(number))


def _finite(x: Float[Array, "..."]) -> Float[Array, "..."]:
    # Low enough for an exponential of 0 in any sum of others, which products leave finite.
    return jnp.maximum(x, 1e-3 * log_of_zero(x.dtype))
