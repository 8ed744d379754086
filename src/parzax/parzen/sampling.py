"""Ancestral sampling from a mixture: a component, then each parameter given its parents."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax.parzen.points import Points, applies, slots
from parzax.parzen.prior import NativePrior, Prior
from parzax.parzen.product import kernels_of
from parzax.space import INACTIVE, Space


def sample_one(
    key: jax.Array,
    space: Space,
    kernels: Points,
    scale: Float[Array, "n d"],
    running_weight: Float[Array, " n"],
    prior_weight: Float[Array, ""],
    priors: tuple[Prior, ...],
    joint: bool,
) -> Float[Array, " d"]:
    """One configuration in native units, NaN where inactive.

    Args:
        key: consumed.
        space: static.
        kernels, scale: the kernels.
        running_weight: (n,) cumulative mixture weights.
        prior_weight: the prior's.
        priors: the prior of each slot.
        joint: one component for all parameters, as the density has it, or one for each; static.
    """
    which, *keys = jax.random.split(key, 1 + len(space))
    dtype = scale.dtype
    total = running_weight[-1] + prior_weight
    # Below the total, so that without a prior the row is one that has weight.
    level = jax.random.uniform(which, (1 if joint else len(space),), dtype) * total
    level = jnp.minimum(level, jnp.nextafter(total, 0))
    row = jnp.searchsorted(running_weight, level, side="right")
    from_prior = jnp.broadcast_to(row >= len(running_weight), len(space))
    row = jnp.broadcast_to(jnp.minimum(row, len(running_weight) - 1), len(space))
    columns = jnp.arange(len(space))
    own = jax.tree.map(lambda x: x[row, columns][None], kernels)
    own_scale = scale[row, columns][None]
    regime: list[Any] = [jnp.asarray(INACTIVE, jnp.int32)] * len(space)
    index: list[Any] = [jnp.asarray(0, jnp.int32)] * len(space)
    value: list[Any] = [jnp.asarray(jnp.nan, dtype)] * len(space)
    by_slot = {
        (slot.parameter, slot.regime): (slot, prior) for slot, prior in zip(slots(space), priors, strict=True)
    }
    for name in space.order:
        j = space.index(name)
        branch = jax.random.split(keys[j], len(space[name]))
        for i, domain in reversed(list(enumerate(space[name]))):
            slot, prior = by_slot[j, i]
            inside = applies(space, domain, regime, index, value, jnp)
            drawn: Any = jnp.asarray(0, jnp.int32)
            if prior is not None:
                near = (own.regime[0, j] == i) & ~from_prior[j]
                kernel = jax.tree.map(lambda a: a[0], kernels_of(slot, own, own_scale))
                drawn = _draw(branch[i], near, kernel, prior)
            regime[j] = jnp.where(inside, i, regime[j])
            if slot.axis.kind == "continuous":
                native = slot.axis.native_at(drawn, jnp)
            else:
                index[j] = jnp.where(inside, drawn, index[j])
                native = slot.axis.native(drawn, dtype, jnp)
            value[j] = jnp.where(inside, native, value[j])
    return jnp.stack(value)


def _draw(key: jax.Array, near: Bool[Array, ""], kernel: Any, prior: Any) -> Array:
    """From the kernel or, where it is not ``near``, the prior: one draw where both are of one family."""
    if isinstance(prior, NativePrior):
        around, wide = jax.random.split(key)
        return jnp.where(near, kernel.sample(around), prior.sample(wide))
    return jax.tree.map(lambda own, other: jnp.where(near, own, other), kernel, prior).sample(key)
