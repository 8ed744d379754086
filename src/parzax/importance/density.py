"""Densities behind a result, on the grid of each regime: which values are good."""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Shaped

from parzax.importance.regime import level_densities
from parzax.observations import cell_values, layout
from parzax.parzen import GridEstimator
from parzax.space import Domain

if TYPE_CHECKING:
    from parzax.importance.result import ImportanceResult


class RegimeDensity(NamedTuple):
    """Densities of one regime of one parameter on its grid.

    Attributes:
        domain: the regime's domain.
        values: (g,) native value at the centre of each cell, or the choices.
        target: (..., q, g) p_T, mass per cell.
        region: (..., q, g) p_R, mass per cell.
        ratio: (..., q, g) p_T / p_R; above 1 where good configurations are over-represented.
    """

    domain: Domain
    values: list
    target: np.ndarray
    region: np.ndarray
    ratio: np.ndarray


def regime_densities(result: "ImportanceResult", name: str) -> list[RegimeDensity]:
    """p_T, p_R and their ratio per regime of parameter ``name``; see `ImportanceResult.density`."""
    estimator, uniform = result.estimator, result.reference == "uniform"
    j, out = result.space.index(name), []
    for slot in layout(result.space, estimator.grid).slots:
        if slot.parameter != j:
            continue
        counts = result.counts[..., slot.start : slot.start + slot.n_cells]
        flat = counts.reshape(-1, *counts.shape[-2:])
        shape = (*counts.shape[:-2], counts.shape[-2] - 1, slot.n_cells)
        # In the precision of the result, whatever the caller's is now.
        with jax.enable_x64(result.importance.dtype == np.float64):
            densities = _densities(flat, kind=slot.kind, estimator=estimator, uniform=uniform)
        target, region = (np.asarray(density).reshape(shape) for density in densities)
        domain = result.space[name][slot.regime]
        values = cell_values(domain, estimator.grid)
        out.append(RegimeDensity(domain, values, target, region, target / region))
    return out


@partial(jax.jit, static_argnames=("kind", "estimator", "uniform"))
def _densities(
    counts: Shaped[Array, "s q1 g"], *, kind: str, estimator: GridEstimator, uniform: bool
) -> tuple[Float[Array, "s q g"], Float[Array, "s q g"]]:
    """p_T and p_R of (s, q + 1, g) counts; a regime without a grid has mass 1 in its only cell."""
    dtype = jnp.result_type(float)
    if kind not in ("numeric", "categorical"):
        ones = jnp.ones_like(counts[:, :-1], dtype)
        return ones, ones
    one = partial(level_densities, kind=kind, estimator=estimator, uniform=uniform, dtype=dtype)
    return jax.vmap(one)(counts)
