"""The smoothing that mixes the densities of source tasks with those of a target."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from parzax.meta.densities import TaskMixtures
from parzax.meta.sources import Sources
from parzax.meta.weights import AbstractTaskWeights, check_weights
from parzax.parzen import AbstractDensities, AbstractSmoothing, Smoothing
from parzax.parzen.basis import Basis
from parzax.space import Space
from parzax.split import SplitRows, State


class MixedSmoothing(AbstractSmoothing):
    """Densities that are mixtures over tasks (arXiv 2212.06751), by a rule of weights."""

    own: Smoothing  # the target's
    sources: Sources
    most: int = eqx.field(static=True)  # candidates of all groups and tasks together, at most
    weights: AbstractTaskWeights

    def __check_init__(self) -> None:
        """Raise for densities of the target that are not made of kernels: tasks are compared by theirs."""
        if not isinstance(self.own, Smoothing):
            raise TypeError(f"own must be a parzax.parzen.Smoothing, got {self.own!r}.")
        check_weights(self.weights)

    def basis(self, space: Space, dtype: Any) -> Basis:
        self.sources.check_precision(dtype)
        return self.own.basis(space, dtype)

    def fit(
        self, basis: Basis, state: State, split: SplitRows
    ) -> tuple[AbstractDensities, Float[Array, " c1"]]:
        own, _ = self.own.fit(basis, state, split)
        groups = range(len(split.below))
        found = [self.weights(self.own, self.sources, basis, state, split, i) for i in groups]
        weight = jnp.stack([one.below for one in found] + [one.above for one in found])
        log_weight = jnp.where(weight > 0, jnp.log(jnp.where(weight > 0, weight, 1)), -jnp.inf)
        densities = self.sources.below + self.sources.above, log_weight, self.most, self.own.joint
        return TaskMixtures(basis, own, *densities), jnp.stack([one.gamma for one in found])

    def status(self, basis: Basis, state: State, split: SplitRows) -> Int[Array, ""]:
        """That of the target's own densities."""
        return self.own.status(basis, state, split)
