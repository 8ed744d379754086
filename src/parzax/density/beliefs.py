"""The beliefs about all parameters of a space as arrays: densities in cells of every axis."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax._numerics import to_device
from parzax.density.basis import Basis
from parzax.space import Frame, Points

# Largest share of the beliefs, and the number of rows that their share is proportional to later.
_MOST, _FADING = 0.5, 10.0


class Beliefs(eqx.Module):
    """Beliefs about good values, as ratios to another density, constant in c cells of each of s regimes.

    A regime of at most c values has a cell for each value; any other regime has cells of equal widths. The
    other density is uniform on the axes; `relative_to` replaces it by the wide kernels.
    """

    log_ratio: Float[Array, "s c"]  # 0 in the regimes without a belief, and where it is uniform
    masses: Float[Array, "s c"]  # masses of the other density in the cells
    edges: Float[Array, "s c1"]  # ends of the cells on the axis; 1 where a regime has fewer cells
    by_value: Bool[Array, " s"]  # whether the cells of a regime are its values

    @staticmethod
    def share(n_rows: Int[Array, ""] | int, dtype: Any) -> Float[Array, ""]:
        """Share of the beliefs in the prior after n rows: min(1/2, 10 / n).

        It fades as in piBO (Hvarfner et al. 2022, arXiv 2204.11051), which raises beliefs to the power
        beta / n. The other half makes a wrong belief cheaper (docs/studies/beliefs.md).
        """
        return jnp.minimum(_MOST, _FADING / jnp.maximum(n_rows, 1).astype(dtype))

    def relative_to(self, basis: Basis, dtype: Any) -> "Beliefs":
        """The beliefs times the wide kernels, normalised."""
        cells = to_device(self, dtype)
        lower, upper = cells.edges[:, :-1], cells.edges[:, 1:]
        masses = jnp.zeros(lower.shape, dtype)
        for part in basis.groups:
            slot, n_values = part.slot, jnp.asarray(part.n_values)
            wide = jax.vmap(lambda n, family=part.family: family.around(*family.wide(n, dtype), n))
            over_cells = jax.vmap(part.family.log_mass, in_axes=(None, 0, 0))
            logs = jax.vmap(over_cells)(wide(n_values), lower[slot], upper[slot])
            masses = masses.at[slot].set(jnp.exp(logs))
        masses = jnp.where(upper > lower, masses, 0)
        total = (masses * jnp.exp(cells.log_ratio)).sum(axis=-1)
        log_ratio = cells.log_ratio - jnp.log(total / masses.sum(axis=-1))[:, None]
        return replace(cells, log_ratio=log_ratio, masses=masses)

    def log_ratio_at(self, frame: Frame, at: Points) -> Float[Array, " j"]:
        """log ratio at j points: the sum over the active parameters."""
        n_cells = self.log_ratio.shape[-1]
        cell = jnp.floor(frame.spread(at.unit) * n_cells).astype(at.index.dtype)
        cell = jnp.where(self.by_value[None], frame.spread(at.index), cell)
        ratios = jnp.take_along_axis(self.log_ratio.T, jnp.clip(cell, 0, n_cells - 1), axis=0)
        return jnp.where(frame.here(at), ratios, 0).sum(axis=-1)

    def put_into(self, rows: Points, key: PRNGKeyArray, frame: Frame, n_rows: Int[Array, ""]) -> Points:
        """Random rows, of which a share comes from the beliefs instead, where the space allows it."""
        chance, draw = jax.random.split(jax.random.fold_in(key, 1))
        levels = jax.random.uniform(draw, (len(rows), len(self.by_value)), rows.unit.dtype)
        believed = jax.random.uniform(chance, (len(rows), 1)) < self.share(n_rows, jnp.float32)
        drawn = frame.at(self.draw(levels))
        believed &= frame.allowed(drawn)[:, None]
        return jax.tree.map(lambda one, other: jnp.where(believed, one, other), drawn, rows)

    def draw(self, levels: Float[Array, "n s"]) -> Float[Array, "n s"]:
        """Places on the axes drawn from the beliefs, given uniform levels."""
        running = jnp.cumsum(self.masses * jnp.exp(self.log_ratio), axis=-1)
        running = jnp.pad(running / running[:, -1:], ((0, 0), (1, 0))).astype(levels.dtype)
        return jax.vmap(jnp.interp, (1, 0, 0), 1)(levels, running, self.edges.astype(levels.dtype))
