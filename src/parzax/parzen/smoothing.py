"""Smoothing: from the rows of a split to the densities of its groups."""

import abc
from functools import partial
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax import _checks
from parzax.kernels.bandwidth import AbstractBandwidth, CategoricalBandwidth, as_categorical_bandwidth
from parzax.parzen.ages import AbstractAges, Equal
from parzax.parzen.basis import Basis, Families, basis_of, families_of
from parzax.parzen.common_scale import CommonScale
from parzax.parzen.densities import AbstractDensities, Separate
from parzax.parzen.fitting import Settings, check_rules, fit_rows, slot_scales
from parzax.parzen.forms import LEAST_PRIOR
from parzax.parzen.mixture import KernelMixture
from parzax.space import Points, Space
from parzax.split import SplitRows, State, first_rows
from parzax.status import Status


class AbstractSmoothing(eqx.Module):
    """A method that makes densities of the groups of a split."""

    @abc.abstractmethod
    def basis(self, space: Space, dtype: Any) -> Basis:
        """The arrays of a space that these densities need."""

    @abc.abstractmethod
    def fit(
        self, basis: Basis, state: State, split: SplitRows
    ) -> tuple[AbstractDensities, Float[Array, " c1"]]:
        """Densities of the groups below, then of those above; and the share gamma of each group below.

        Args:
            basis: of the space, as `basis` has it.
            state: n rows.
            split: masks of c + 1 groups below and above, and their shares.
        """

    def status(self, basis: Basis, state: State, split: SplitRows) -> Int[Array, ""]:
        """What is unusual about these densities: bits of `parzax.Status`."""
        return jnp.zeros((), jnp.int32)


@final
class Smoothing(AbstractSmoothing):
    """Kernels around the rows of each group, and a prior.

    Attributes:
        bandwidth, top: rules of the numeric and of the categorical kernels; the latter also as a number.
        prior_weight: weight of the prior kernel, in rows; static.
        ages: how much older rows count.
        joint: whether a candidate's parameters come from one component, as in Optuna, or each from its own,
            as in the papers; static.
        families: of kernels, by parameter, that are not the usual ones; static.
    """

    bandwidth: AbstractBandwidth
    top: CategoricalBandwidth = eqx.field(converter=as_categorical_bandwidth)
    prior_weight: float = eqx.field(static=True, default=1.0, converter=_checks.plain)
    ages: AbstractAges = Equal()
    joint: bool = eqx.field(static=True, default=False, converter=partial(_checks.flag, "joint"))
    families: Families = eqx.field(static=True, default=())

    def __check_init__(self) -> None:
        """Raise for invalid settings."""
        check_rules(self.bandwidth, self.prior_weight)
        _checks.instance("ages", self.ages, AbstractAges, "a rule of parzax.ages")

    def basis(self, space: Space, dtype: Any) -> Basis:
        safe = self.prior_weight >= LEAST_PRIOR
        families = families_of(space, dict(self.families))
        return basis_of(space, dtype, families, self.bandwidth.smallest, safe)

    def fit(
        self, basis: Basis, state: State, split: SplitRows
    ) -> tuple[AbstractDensities, Float[Array, " c1"]]:
        """See `AbstractSmoothing`: all groups together where kernels have one scale, else group by group."""
        rows, masks, order, dtype = state.points, split.masks, state.order, state.x.dtype
        ages = self.mixture_weights(split, dtype)
        if self.bandwidth.one_scale and basis.form == "product":
            groups = CommonScale.fit(basis, rows, masks, ages, self.settings, order, self.joint)
            return groups, split.gamma
        weight = masks.astype(dtype)
        fit_groups = jax.vmap(partial(self.mixture, basis, rows), in_axes=(0, 0, None))
        if split.most == weight.shape[1]:
            return Separate(basis, (fit_groups(weight, ages, order),), self.joint), split.gamma
        # Few rows of many: their arrays are short.
        index, present = first_rows(masks[0], split.most)
        age, later = jax.tree.map(lambda a: a[0, index], ages), jax.tree.map(lambda a: a[1:], ages)
        below = self.mixture(basis, rows[index], present.astype(dtype), age)
        batches = jax.tree.map(lambda a: a[None], below), fit_groups(weight[1:], later, order)
        return Separate(basis, batches, self.joint), split.gamma

    @property
    def settings(self) -> Settings:
        """The rules of numeric and of categorical kernels, and the prior's weight."""
        return self.bandwidth, self.top, self.prior_weight

    def mixture_weights(self, split: SplitRows, dtype: Any) -> Float[Array, "c2 n"] | None:
        """How much each row counts in its group, by age and merit; None: all alike."""
        ages = jax.vmap(lambda mask: self.ages(mask, dtype))(split.masks)
        if split.merit is None:
            return ages
        ages = jnp.ones(split.masks.shape, dtype) if ages is None else ages
        return ages.at[0].multiply(split.merit)

    def status(self, basis: Basis, state: State, split: SplitRows) -> Int[Array, ""]:
        """INVALID_BANDWIDTH."""

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
        """The mixture of one group, whose rows have a weight above 0."""
        return fit_rows(basis, rows, weight, ages, self.settings, order)[0]
