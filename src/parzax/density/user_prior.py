"""Densities from the user that replace the wide kernel as prior."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from parzax import _checks
from parzax.density.basis import Families, check_name, usual_family
from parzax.kernels import AbstractKernel
from parzax.space import Axis, Cells, Domain, Points, Space, stack_axes

# Number of midpoints for the integral of a user's density. Peaks narrower than their spacing may be missed.
_MIDPOINTS = 4096
_MASS_ERROR, _INTEGRAL_ERROR = 1e-3, 0.02


class _Opaque(eqx.Module):
    """A density that is not a pytree; compiled code treats it as a constant."""

    density: Any = eqx.field(static=True)

    def log_prob(self, x: Array) -> Array:
        return self.density.log_prob(x)

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Array:
        return self.density.sample(key, shape)


class UserPrior(eqx.Module):
    """A user's density on the axis of one regime."""

    density: Any  # with ``log_prob`` and ``sample`` in native units
    axis: Axis
    family: type[AbstractKernel] = eqx.field(static=True)  # kernel family in this regime
    slot: int = eqx.field(static=True)
    parameter: int = eqx.field(static=True)
    regime: int = eqx.field(static=True)

    def log_prob(self, unit: Float[Array, " j"], index: Int[Array, " j"]) -> Float[Array, " j"]:
        """log density in the unit coordinate, or log mass of a discrete value."""
        return self.density.log_prob(self.axis.native(unit, index)) - self.axis.log_jacobian(unit)

    def log_wide(self, unit: Float[Array, " j"], index: Int[Array, " j"]) -> Float[Array, " j"]:
        """log density or log mass of the wide kernel, which the user's density replaces."""
        n_values = jnp.asarray(self.axis.n_values)
        wide = self.family.around(*self.family.wide(n_values, unit.dtype), n_values)
        if isinstance(self.axis, Cells):
            cells = *self.axis.cell(index, unit.dtype), self.axis.width(index, unit.dtype)
            return jax.vmap(wide.log_mass_of_cell)(*cells)
        return jax.vmap(wide.log_density)(unit)

    def sample(self, key: jax.Array, dtype: Any) -> Float[Array, ""]:
        """A place on the axis, drawn from the density."""
        x = jnp.asarray(self.density.sample(key, ()), dtype)
        return self.axis.place(x, self.axis.index(x))

    def here(self, at: Points) -> Array:
        """(j,) mask of the points in this regime."""
        return at.regime[:, self.parameter] == self.regime


def user_priors(
    space: Space, given: Mapping[str, Any] | None, dtype: Any, families: Families = ()
) -> tuple[UserPrior, ...]:
    """The user's priors, from name -> density, or a tuple with one density per domain.

    Raises ValueError for an unknown name, a wrong number of densities and masses of a discrete domain whose
    sum is not 1, TypeError for an object without ``log_prob`` and ``sample``. Warns (UserWarning) if the
    integral of a continuous density, by the midpoint rule, is not 1. Traced densities are not integrated.
    """
    by_name = {}
    for name, densities in (given or {}).items():
        check_name("prior: ", name, space)
        by_name[name] = by_regime = densities if isinstance(densities, Sequence) else (densities,)
        n_domains, n_given = len(space[name]), len(by_regime)
        if n_given != n_domains:
            raise ValueError(f"prior: {name!r} needs one density per domain ({n_domains}), got {n_given}.")
        if not all(hasattr(density, method) for density in by_regime for method in ("log_prob", "sample")):
            raise TypeError(f"prior: {name!r} must have log_prob and sample, got {densities!r}.")
    priors = []
    for s, (parameter, regime, domain) in enumerate(space.slots):
        name = space.names[parameter]
        if name in by_name and domain.axis.is_open:
            raise ValueError(f"prior: {name!r} is {domain!r}, whose prior is a wide normal; leave it out.")
        if name in by_name and domain.n_values != 1:
            density = by_name[name][regime]
            if jax.tree_util.all_leaves([density]):
                density = _Opaque(density)
            axis = jax.tree.map(lambda a: a[0], stack_axes([domain.axis], np.dtype(dtype)))
            family = dict(families).get(name, usual_family(domain))
            priors.append(UserPrior(density, axis, family, s, parameter, regime))
            if not _checks.is_traced(priors[-1]):
                _check_mass(priors[-1], name, domain, dtype)
    return tuple(priors)


def _check_mass(prior: UserPrior, name: str, domain: Domain, dtype: Any) -> None:
    """Check that a density integrates to 1 over its domain, see `user_priors`."""
    n = int(prior.axis.n_values)
    points = n or _MIDPOINTS
    with jax.ensure_compile_time_eval():
        place = (jnp.arange(points, dtype=dtype) + 0.5) / points
        logs = prior.log_prob(place, jnp.arange(points, dtype=jnp.int32))
        mass = float(jnp.exp(logs).sum()) / (1 if n else points)
    mass_of = f"prior: the density of {name!r} has mass {mass:.4g}, not 1, on {domain!r}"
    if n and not abs(mass - 1) < _MASS_ERROR:
        raise ValueError(f"{mass_of}; divide its masses by their sum.")
    if not n and not abs(mass - 1) < _INTEGRAL_ERROR:
        warnings.warn(
            f"{mass_of} (midpoint rule, {_MIDPOINTS} points): truncate it to the domain and normalise "
            "it, or densities will not integrate to 1.",
            stacklevel=_checks.outside(),
        )
