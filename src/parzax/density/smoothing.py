"""Smoothing: fit the densities of the groups of a split."""

import abc
from functools import partial
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax.density.ages import AbstractAges, Equal
from parzax.density.basis import Basis, Families, basis_of, families_of
from parzax.density.common_scale import CommonScale
from parzax.density.densities import AbstractDensities, Separate
from parzax.density.fitting import Settings, by_parameter, check_rules, normalised, slot_scales
from parzax.density.forms import LEAST_PRIOR
from parzax.density.mixture import KernelMixture
from parzax.kernels.bandwidth import AbstractBandwidth, CategoricalBandwidth, as_categorical_bandwidth
from parzax.kernels.bandwidth.categorical import OptunaTop
from parzax.kernels.bandwidth.neighbours import FEW, Neighbours
from parzax.space import Points, Space
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
    ) -> tuple[AbstractDensities, Float[Array, " c1"]]:
        """Fit densities to the groups below, then to the groups above; also return the shares gamma.

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
        ages: rule for the weights of older rows: `parzax.ages.Equal`, or `Ramp` as in Optuna and Hyperopt.
        joint: whether all parameters of a candidate come from one component, as in Optuna. With False a new
            component is drawn for each parameter, as in the papers' code; static.
        kernels: kernel classes other than the defaults, a dict by parameter name; static.
    """

    bandwidth: AbstractBandwidth = Neighbours()
    top: CategoricalBandwidth = eqx.field(default=OptunaTop(), converter=as_categorical_bandwidth)
    prior_weight: float | Float[Array, ""] = eqx.field(default=1.0, converter=_checks.plain)
    ages: AbstractAges = Equal()
    joint: bool = eqx.field(static=True, default=True, converter=partial(_checks.flag, "joint"))
    kernels: Families = eqx.field(static=True, default=(), converter=lambda given: tuple(dict(given).items()))

    def __check_init__(self) -> None:
        """Raise for invalid settings."""
        check_rules(self.bandwidth, self.prior_weight)
        _checks.instance("ages", self.ages, AbstractAges, "a rule of parzax.ages")

    def basis(self, space: Space, dtype: Any) -> Basis:
        safe = isinstance(self.prior_weight, (int, float)) and self.prior_weight >= LEAST_PRIOR
        families = families_of(space, dict(self.kernels))
        return basis_of(space, dtype, families, self.bandwidth.smallest, safe)

    def fit(
        self, basis: Basis, state: State, split: SplitRows
    ) -> tuple[AbstractDensities, Float[Array, " c1"]]:
        """See `AbstractSmoothing`. Groups are fitted together if the rule has one scale, else one by one."""
        rows, masks, order, dtype = state.points, split.masks, state.order, state.x.dtype
        ages = self.mixture_weights(split, dtype)
        if self.bandwidth.one_scale and basis.form == "product":
            groups = CommonScale.fit(basis, rows, masks, ages, self.settings, order, self.joint)
            return groups, split.gamma
        weight = masks.astype(dtype)
        fit_groups = jax.vmap(partial(self.mixture, basis, rows), in_axes=(0, 0, None))
        if split.most == weight.shape[1]:
            return Separate(basis, (fit_groups(weight, ages, order),), self.joint), split.gamma
        # The objective's group below has few rows, so shorter arrays suffice.
        index, present = first_rows(masks[0], split.most)
        age, later = jax.tree.map(lambda a: a[0, index], ages), jax.tree.map(lambda a: a[1:], ages)
        # Rules compare few rows in pairs, which is faster than an order.
        below_order = None if split.most <= FEW else first_orders(order, masks[0], split.most)
        below = self.mixture(basis, rows[index], present.astype(dtype), age, below_order)
        batches = jax.tree.map(lambda a: a[None], below), fit_groups(weight[1:], later, order)
        return Separate(basis, batches, self.joint), split.gamma

    @property
    def settings(self) -> Settings:
        """The rules of numeric and of categorical kernels, and the prior's weight."""
        return self.bandwidth, self.top, self.prior_weight

    def mixture_weights(self, split: SplitRows, dtype: Any) -> Float[Array, "c2 n"] | None:
        """Weights of the rows in their groups, by age and merit; None for equal weights."""
        ages = jax.vmap(lambda mask: self.ages(mask, dtype))(split.masks)
        if split.merit is None:
            return ages
        ages = jnp.ones(split.masks.shape, dtype) if ages is None else ages
        return ages.at[0].multiply(split.merit)

    def status(self, basis: Basis, state: State, split: SplitRows) -> Int[Array, ""]:
        """The bit INVALID_BANDWIDTH, if a bandwidth of some group is not positive and finite."""

        def positive(mask: Bool[Array, " n"]) -> Bool[Array, ""]:
            return slot_scales(basis, state.points, mask.astype(state.x.dtype), self.settings, state.order)[1]

        return jnp.where(jax.vmap(positive)(split.masks).all(), 0, jnp.int32(Status.INVALID_BANDWIDTH))

    def mixture(
        self,
        basis: Basis,
        rows: Points,
        weight: Float[Array, " n"],
        ages: Float[Array, " n"] | None = None,
        order: Int[Array, "d n"] | None = None,
    ) -> KernelMixture:
        """The mixture of one group. The weight is 0 or 1, and 0 in rows outside the space."""
        scale = by_parameter(basis, rows, slot_scales(basis, rows, weight, self.settings, order)[0])
        mixed, prior = weight if ages is None else weight * ages, jnp.asarray(self.prior_weight, weight.dtype)
        return KernelMixture(rows, scale, *normalised(mixed, prior), ())
