"""The interface of divergences: how far the target's density is from the region's, from counts per cell."""

import abc
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Shaped

from parzax import _checks
from parzax._numerics import divisor, total
from parzax.divergence.density import smoothed
from parzax.kernels import AbstractKernel
from parzax.kernels.kernel import uniform_on_grid


class RegimeCounts(NamedTuple):
    """Rows per cell of one regime of one parameter.

    Attributes:
        sets: rows of each of q target sets, and of the region last.
        kernel: the kernel family of the domain.
        n_cells: number of cells without padding; None where there is no padding.
        uniform: whether the uniform density of the domain replaces the region's density.
    """

    sets: Shaped[Array, "q1 g"]
    kernel: type[AbstractKernel]
    n_cells: Int[Array, ""] | None = None
    uniform: bool = False

    @property
    def target(self) -> Shaped[Array, "q g"]:
        """Rows of the target sets."""
        return self.sets[:-1]

    @property
    def region(self) -> Shaped[Array, " g"]:
        """Rows of the region."""
        return self.sets[-1]

    def uniform_density(self, dtype: Any) -> Float[Array, " g"]:
        """The uniform density of the domain."""
        return uniform_on_grid(self.sets.shape[1], self.n_cells, dtype)


class AbstractDivergence(abc.ABC):
    """An estimator of D_PE(p_T || p_R), Eq. 6 of arXiv 2601.20800, within one regime of one parameter.

    A subclass is a frozen dataclass. Its fields are settings, static under `jax.jit`: a divergence is a
    pytree without leaves. A new one needs no edit of the package (`tests/extending/test_divergence.py`).

    Attributes:
        min_rows: regimes with fewer rows in the region are left out of the sum over regimes.
        constant_is_zero: whether a region that occupies a single cell has divergence 0 by definition.
    """

    min_rows: int
    constant_is_zero: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        jax.tree_util.register_static(cls)

    def __post_init__(self) -> None:
        """Convert ``min_rows`` to a Python number, or raise."""
        _checks.convert_fields(self, _checks.whole_number, "min_rows", least=0)

    @abc.abstractmethod
    def estimate(self, counts: RegimeCounts) -> Float[Array, " q"]:
        """Estimates of D_PE, one per level; callers ignore those of empty targets. Pure and unbatched."""

    def densities(self, counts: RegimeCounts) -> tuple[Float[Array, "q g"], Float[Array, "q g"]]:
        """p_T and p_R per cell and level, smoothed for pictures; ``counts`` have no padding.

        Both have the bandwidth of the target, and the prior has the share 1 / (n_R + 1) of both.
        """
        dtype = jnp.result_type(float)
        region = counts.region.astype(dtype)
        n_region = total(region)
        if counts.uniform:
            region = n_region * counts.uniform_density(dtype)

        def densities(target: Float[Array, " g"]) -> tuple[Float[Array, " g"], Float[Array, " g"]]:
            n_target = total(target)
            # An empty target has no bandwidth; the region's bandwidth shows its density best.
            like = jnp.where(n_target > 0, target, counts.region.astype(dtype))
            how = 0.0, False, dtype, like
            prior = jnp.where(n_target > 0, n_target / divisor(n_region), 1)
            p_target = smoothed(target, counts.n_cells, counts.kernel, prior, *how)
            return p_target, smoothed(region, counts.n_cells, counts.kernel, 1.0, *how)

        return jax.vmap(densities)(counts.target.astype(dtype))


def regime_divergence(divergence: AbstractDivergence, counts: RegimeCounts) -> Float[Array, " q"]:
    """`AbstractDivergence.estimate` with the cases in which it is 0 by definition.

    It is exactly 0 if the target is empty, or equals the region (unless ``uniform``). With
    ``constant_is_zero`` it is also 0 if the region occupies a single cell.
    """
    n_target, n_region = jax.vmap(total)(counts.target), total(counts.region)
    zero = n_target == 0
    if divergence.constant_is_zero:
        zero |= total((counts.region > 0).astype(jnp.int32)) <= 1
    if not counts.uniform:
        zero |= n_target == n_region
    return jnp.where(zero, 0, divergence.estimate(counts))
