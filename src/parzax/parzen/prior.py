"""The prior density of each regime: the wide kernel, or a density of the user's in native units."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from parzax.kernels import AitchisonAitken, Axis, DiscreteNormal, TruncatedNormal
from parzax.parzen.points import slots
from parzax.space import Space


@runtime_checkable
class Density(Protocol):
    """A density of one parameter in native units (codes of categories); a pytree, as every equinox module is.

    ``log_prob`` is elementwise: the log density of a continuous parameter, the log mass of a discrete one,
    normalised over the domain. ``sample`` draws native values.
    """

    def log_prob(self, x: Array) -> Array:
        """log density or log mass of native values."""
        ...

    def sample(self, key: jax.Array, shape: tuple[int, ...] = ()) -> Array:
        """Native values."""
        ...


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
    half, one = jnp.asarray(0.5, dtype), jnp.asarray(1.0, dtype)
    if axis.kind == "categorical":
        n = axis.n_values
        return AitchisonAitken(jnp.zeros((), jnp.int32), jnp.asarray((n - 1) / n, dtype), n)
    return DiscreteNormal(half, one, axis) if axis.kind == "stepped" else TruncatedNormal(half, one)


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
            out.append(NativePrior(density, slot.axis, dtype))
    return tuple(out)
