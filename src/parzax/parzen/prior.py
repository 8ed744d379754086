"""The prior density of each regime: the wide kernel, or a density of the user's in native units."""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float

from parzax.kernels import AitchisonAitken, Axis, DiscreteNormal, TruncatedNormal
from parzax.parzen.points import slots
from parzax.space import Space

# Points of the integral of a user's density; narrower peaks than their spacing are not seen well.
_MIDPOINTS = 4096
_MASS_ERROR, _INTEGRAL_ERROR = 1e-3, 0.02


@runtime_checkable
class Density(Protocol):
    """A density of one parameter in native units (codes of categories), written with jax.numpy.

    ``log_prob`` is elementwise: the log density of a continuous parameter, the log mass of a discrete one,
    normalised over the domain. ``sample`` draws native values within it. In a pytree, as every equinox module
    is, arrays may be traced and batched; of any other object they are constants.
    """

    def log_prob(self, x: Array) -> Array:
        """log density or log mass of native values."""
        ...

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Array:
        """Native values."""
        ...


class _Opaque(eqx.Module):
    """A density that is no pytree: one constant for compiled code."""

    density: Any = eqx.field(static=True)

    def log_prob(self, x: Array) -> Array:
        return self.density.log_prob(x)

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Array:
        return self.density.sample(key, shape)


class NativePrior(eqx.Module):
    """A user's density on a kernel axis: the contract of a kernel."""

    density: Any
    axis: Axis = eqx.field(static=True)
    dtype: Any = eqx.field(static=True)

    def log_prob(self, where: Array) -> Float[Array, "..."]:
        """log density at unit coordinates, or log mass of numbers of values."""
        if self.axis.kind == "continuous":
            x = self.axis.native_at(where, jnp)
            return self.density.log_prob(x) - self.axis.log_jacobian(x, jnp)
        return self.density.log_prob(self.axis.native(where, self.dtype, jnp))

    def log_masses(self) -> Float[Array, " c"]:
        """log mass of every value."""
        return self.log_prob(jnp.arange(self.axis.n_values))

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Array:
        """Unit coordinates, or numbers of values."""
        x = jnp.asarray(self.density.sample(key, shape), self.dtype)
        return self.axis.unit(x, jnp) if self.axis.kind == "continuous" else self.axis.index(x, jnp)


Prior = TruncatedNormal | DiscreteNormal | AitchisonAitken | NativePrior | None


def wide_kernel(axis: Axis, dtype: Any) -> TruncatedNormal | DiscreteNormal | AitchisonAitken:
    """A normal in the middle of the axis and as wide as it; uniform over categories."""
    if axis.kind == "categorical":
        n = axis.n_values
        return AitchisonAitken(jnp.zeros((), jnp.int32), jnp.asarray((n - 1) / n, dtype), n)
    normal = wide_normal(dtype)
    return DiscreteNormal(normal.loc, normal.scale, axis) if axis.kind == "stepped" else normal


def wide_normal(dtype: Any) -> TruncatedNormal:
    """`wide_kernel` of every continuous axis."""
    return TruncatedNormal(jnp.asarray(0.5, dtype), jnp.asarray(1.0, dtype))


def priors(space: Space, given: Mapping[str, Any] | None, dtype: Any) -> tuple[Prior, ...]:
    """One prior per slot, None where a domain has a single value.

    Args:
        space: the search space.
        given: name -> `Density`, or one per domain; parameters left out have the wide kernel.
        dtype: floating dtype.

    Raises:
        ValueError, TypeError: unknown names, a wrong number of densities, or things that are none.
    """
    given = {} if given is None else given
    for name, own in given.items():
        if name not in space:
            raise ValueError(f"prior: no parameter {name!r}; the space has {', '.join(space.names)}.")
        listed = own if isinstance(own, Sequence) else (own,)
        if len(listed) != len(space[name]):
            raise ValueError(f"prior: {name!r} has {len(space[name])} domains, got {len(listed)} densities.")
        if not all(isinstance(density, Density) for density in listed):
            raise TypeError(f"prior: {name!r} must have log_prob and sample, got {own!r}.")
    out: list[Prior] = []
    for slot in slots(space):
        own = given.get(space.names[slot.parameter])
        if slot.axis.kind == "point":
            out.append(None)
        elif own is None:
            out.append(wide_kernel(slot.axis, dtype))
        else:
            density = own[slot.regime] if isinstance(own, Sequence) else own
            density = _Opaque(density) if jax.tree_util.all_leaves([density]) else density
            out.append(NativePrior(density, slot.axis, dtype))
    return tuple(out)


def check_masses(space: Space, given: Mapping[str, Any] | None, dtype: Any) -> None:
    """Look at what densities of the user's integrate to over their domains; traced ones are not looked at.

    Raises:
        ValueError: masses of discrete values that do not sum to 1.

    Warns:
        UserWarning: a density whose integral by the midpoint rule is not 1.
    """
    if not given or any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(dict(given))):
        return
    for slot, prior in zip(slots(space), priors(space, given, dtype), strict=True):
        if not isinstance(prior, NativePrior):
            continue
        continuous = slot.axis.kind == "continuous"
        with jax.ensure_compile_time_eval():
            if continuous:
                logs = prior.log_prob((jnp.arange(_MIDPOINTS) + 0.5) / _MIDPOINTS) - math.log(_MIDPOINTS)
            else:
                logs = prior.log_masses()
            mass = float(jnp.exp(logs).sum())
        name, domain = space.names[slot.parameter], space.domains[slot.parameter][slot.regime]
        found = f"prior: the density of {name!r} has mass {mass:.4g} on {domain!r}"
        if not continuous and not abs(mass - 1) < _MASS_ERROR:
            raise ValueError(f"{found}; divide its masses by their sum.")
        if continuous and not abs(mass - 1) < _INTEGRAL_ERROR:
            warnings.warn(
                f"{found} (midpoint rule, {_MIDPOINTS} points): truncate it to the domain and normalise it, "
                "or densities will not integrate to 1.",
                stacklevel=4,
            )
