"""Smoothing: fit the densities of the groups of a split."""

import abc
from dataclasses import replace
from functools import partial
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax.density.ages import AbstractAges
from parzax.density.basis import Basis, Families, basis_of, families_of
from parzax.density.fitting import (
    Settings,
    by_parameter,
    check_rules,
    is_anchored,
    normalised,
    slot_scales,
)
from parzax.density.mixture import AbstractMixture, Mixture
from parzax.kernels.bandwidth import (
    AbstractBandwidth,
    CategoricalBandwidth,
    Constant,
    FixedTop,
    Neighbours,
    OptunaTop,
)
from parzax.kernels.bandwidth.categorical import as_categorical_bandwidth
from parzax.kernels.bandwidth.neighbours import FEW
from parzax.space import INACTIVE, Points, Space
from parzax.split import SplitRows, State, first_orders, first_rows
from parzax.status import Status


class AbstractSmoothing(eqx.Module):
    """A method that fits densities to the groups of a split."""

    @abc.abstractmethod
    def basis(self, space: Space, dtype: Any) -> Basis:
        """The arrays of a space that the densities need."""

    @abc.abstractmethod
    def fit(
        self, basis: Basis, state: State, split: SplitRows
    ) -> tuple[AbstractMixture, Float[Array, " c1"]]:
        """Densities of the groups, (c + 1, 2), and the shares gamma.

        Args:
            basis: basis of the space, from the method `basis`.
            state: state with n rows.
            split: masks of c + 1 groups below and c + 1 groups above, and the share of each group below.
        """

    def status(self, basis: Basis, state: State, split: SplitRows) -> Int[Array, ""]:
        """Bits of `parzax.Status` that say what is unusual about the densities."""
        return jnp.zeros((), jnp.int32)


@final
class Smoothing(AbstractSmoothing):
    """Densities with one kernel per row of a group, and a prior; the defaults are those of `parzax.tpe`.

    Attributes:
        bandwidth: rule of `parzax.bandwidth` for numeric kernels.
        top: rule of `parzax.bandwidth` for categorical kernels, or the probability that an Aitchison-Aitken
            kernel gives to its category.
        prior_weight: weight of the prior kernel, in rows. It may be a JAX array, whose value is not checked.
        ages: rule for the weights of older rows, `parzax.ages.Ramp` in Optuna and Hyperopt; None for equal
            weights, as in the papers.
        joint: whether all parameters of a candidate come from one component, as in Optuna. With False a new
            component is drawn for each parameter, as in the papers' code; static.
        kernels: kernel classes other than the defaults, a dict by parameter name; static.
    """

    bandwidth: AbstractBandwidth = Neighbours()
    top: CategoricalBandwidth = eqx.field(default=OptunaTop(), converter=as_categorical_bandwidth)
    prior_weight: float | Float[Array, ""] = eqx.field(default=1.0, converter=_checks.plain)
    ages: AbstractAges | None = None
    joint: bool = eqx.field(static=True, default=True, converter=partial(_checks.flag, "joint"))
    kernels: Families = eqx.field(static=True, default=(), converter=lambda given: tuple(dict(given).items()))

    def __check_init__(self) -> None:
        """Raise for invalid settings."""
        check_rules(self.bandwidth, self.prior_weight)
        _checks.instance("ages", self.ages, AbstractAges | None, "a rule of parzax.ages")

    def basis(self, space: Space, dtype: Any) -> Basis:
        return basis_of(space, dtype, families_of(space, dict(self.kernels)), self.bandwidth.smallest)

    def fit(self, basis: Basis, state: State, split: SplitRows) -> tuple[Mixture, Float[Array, " c1"]]:
        """See `AbstractSmoothing`. Groups share their kernels if no scale depends on the rows."""
        is_constant = isinstance(self.bandwidth, Constant) or all(one.categorical for one in basis.groups)
        if isinstance(self.top, FixedTop) and is_constant:
            return self.mixture(basis, state.points, *_groups(split), state.order), split.gamma
        return self.mixtures(basis, state, split), split.gamma

    def mixtures(self, basis: Basis, state: State, split: SplitRows) -> Mixture:
        """The densities of all groups, (c + 1, 2); below and above of the same values share their kernels."""
        # The number of the objective's rows below is bounded, that of a constraint's is not.
        most = split.most if len(split.below) == 1 else None
        fit = partial(self.mixture, basis, state.points, order=state.order, most=most)
        return jax.vmap(fit)(*_groups(split))

    def mixture(
        self,
        basis: Basis,
        rows: Points,
        masks: Bool[Array, "*g n"],
        weights: Float[Array, "*g n"] | None = None,
        order: Int[Array, "d n"] | None = None,
        most: int | None = None,
    ) -> Mixture:
        """The densities of one group of rows, (n,), or of one below and the others above, (2, n).

        Several such pairs, (c + 1, 2, n), have the scales of the last group. Each row has one kernel.
        ``weights`` of the rows replace 1 for each row of a group; those by age multiply them. ``most`` is the
        largest number of rows below; None if it is not known.
        """
        dtype, groups = rows.unit.dtype, masks.reshape(-1, masks.shape[-1])
        weight = masks.astype(dtype)

        def scales_of(rows: Points, weight: Float[Array, " n"], order: Any) -> Float[Array, "n d"]:
            scales, _ = slot_scales(basis, rows, weight, self.settings, order)
            return by_parameter(basis, rows, scales)

        scale = scales_of(rows, weight.reshape(groups.shape)[-1], order)
        if masks.ndim == 2 and most is not None and not self.bandwidth.one_scale:
            # Rules that compare rows are faster in arrays that are just long enough for the rows below.
            index, present = first_rows(groups[0], most)
            orders = None if order is None or most <= FEW else first_orders(order, groups[0], most)
            below = scales_of(rows[index], present.astype(dtype), orders)
            scale = scale.at[jnp.where(present, index, len(rows))].set(below, mode="drop")
        elif masks.ndim == 2:
            scale = jnp.where(groups[0][:, None], scales_of(rows, weight[0], order), scale)
        weight = weight if weights is None else weights
        if self.ages is not None:
            weight = weight * jax.vmap(partial(self.ages, dtype=dtype))(groups).reshape(weight.shape)
        rows = replace(rows, regime=jnp.where(groups.any(axis=0)[:, None], rows.regime, INACTIVE))
        normal = normalised(weight, jnp.asarray(self.prior_weight, dtype))
        anchored = is_anchored(basis, self.prior_weight)
        return Mixture(rows, scale, *normal, joint=self.joint, anchored=anchored)

    @property
    def settings(self) -> Settings:
        """The rules of numeric and of categorical kernels, and the prior's weight."""
        return self.bandwidth, self.top, self.prior_weight

    def status(self, basis: Basis, state: State, split: SplitRows) -> Int[Array, ""]:
        """The bit INVALID_BANDWIDTH, if a bandwidth of some group is not positive and finite."""

        def positive(mask: Bool[Array, " n"]) -> Bool[Array, ""]:
            return slot_scales(basis, state.points, mask.astype(state.x.dtype), self.settings, state.order)[1]

        return jnp.where(jax.vmap(positive)(split.masks).all(), 0, jnp.int32(Status.INVALID_BANDWIDTH))


def _groups(split: SplitRows) -> tuple[Bool[Array, "c1 2 n"], Float[Array, "c1 2 n"] | None]:
    """Masks of the groups, and weights of the rows; the objective comes first."""
    masks, weights = jnp.stack([split.below, split.above], axis=1), split.weights
    return masks, None if weights is None else masks.astype(weights.dtype).at[0].set(weights)
