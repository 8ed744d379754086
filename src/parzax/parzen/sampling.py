"""Ancestral sampling from a mixture: a component, then each parameter given its parents."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics import open_uniform, unit_normal_quantile
from parzax.kernels import AitchisonAitken
from parzax.parzen.points import Points, Slot, applies, slots
from parzax.parzen.prior import NativePrior, Prior
from parzax.space import INACTIVE, Space


def uniforms(
    key: jax.Array, n: int, space: Space, dtype: Any, *, joint: bool
) -> tuple[Float[Array, "{n} k"], Float[Array, "{n} s"]]:
    """What n draws need: a number per component that is drawn, and one per slot; all independent."""
    n_components = 1 if joint else len(space)
    both = open_uniform(key, (n, n_components + len(slots(space))), dtype)
    return both[:, :n_components], both[:, n_components:]


def sample_one(
    components: Float[Array, " k"],
    levels: Float[Array, " s"],
    key: jax.Array | None,
    *,
    space: Space,
    kernels: Points,
    scale: Float[Array, "n d"] | Float[Array, " s"],
    running_weight: Float[Array, " n"],
    prior_weight: Float[Array, ""],
    priors: tuple[Prior, ...],
) -> Float[Array, " d"]:
    """One configuration in native units, NaN where inactive, from its `uniforms`.

    Args:
        components: (1,) for one component for all parameters, as the density has it, or (d,), one for each.
        levels: (s,) one per slot.
        key: for priors of the user's; None without them.
        space: static.
        kernels: (n, d) rows.
        scale: (n, d) of every kernel, or (s,) one per slot for all.
        running_weight: (n,) cumulative mixture weights.
        prior_weight: the prior's.
        priors: the prior of each slot.
    """
    dtype = scale.dtype
    row, from_prior = _components(components, running_weight, prior_weight)
    columns = jnp.arange(len(space))
    own = jax.tree.map(lambda x: jnp.broadcast_to(x[row, columns], len(space))[None], kernels)
    parameters = jnp.array([slot.parameter for slot in slots(space)])
    own_scale = scale if scale.ndim == 1 else jnp.broadcast_to(scale[row, columns], len(space))[parameters]
    near = jnp.stack([own.regime[0, s.parameter] == s.regime for s in slots(space)])
    near &= ~jnp.broadcast_to(from_prior, len(space))[parameters]
    drawn = _draws(levels, near, key, slots(space), priors, own, own_scale)
    return ancestral(space, drawn, dtype)


def ancestral(space: Space, drawn: list[Array], dtype: Any) -> Float[Array, " d"]:
    """Native values, parents first, from one draw per slot: a unit coordinate, or the number of a value.

    A parameter takes the draw of the regime that its parents' values give it, and is NaN where none applies.
    """
    regime: list[Any] = [jnp.asarray(INACTIVE, jnp.int32)] * len(space)
    index: list[Any] = [jnp.asarray(0, jnp.int32)] * len(space)
    value: list[Any] = [jnp.asarray(jnp.nan, dtype)] * len(space)
    by_slot = {(slot.parameter, slot.regime): (slot, x) for slot, x in zip(slots(space), drawn, strict=True)}
    for name in space.order:
        j = space.index(name)
        for i, domain in reversed(list(enumerate(space[name]))):
            slot, x = by_slot[j, i]
            inside = applies(space, domain, regime, index, value, jnp)
            regime[j] = jnp.where(inside, i, regime[j])
            if slot.axis.kind == "continuous":
                native = slot.axis.native_at(x, jnp)
            else:
                index[j] = jnp.where(inside, x, index[j])
                native = slot.axis.native(x, dtype, jnp)
            value[j] = jnp.where(inside, native, value[j])
    return jnp.stack(value)


def _components(
    level: Float[Array, " k"], running_weight: Float[Array, " n"], prior_weight: Float[Array, ""]
) -> tuple[Int[Array, " k"], Bool[Array, " k"]]:
    """Rows drawn by weight, and where it is the prior instead."""
    total = running_weight[-1] + prior_weight
    # Below the total, so that without a prior the row is one that has weight.
    level = jnp.minimum(level * total, jnp.nextafter(total, 0))
    row = _first_above(running_weight, level)
    return jnp.minimum(row, len(running_weight) - 1), row >= len(running_weight)


def _first_above(running: Float[Array, " n"], level: Float[Array, " k"]) -> Int[Array, " k"]:
    """Index of the first element above each level, n where none is: `jnp.searchsorted` from the right.

    Two rounds of counting, first over the last elements of blocks and then within one block: a dozen times
    faster than a binary search where whole batches of searches are compiled together.
    """
    n = len(running)
    size = 1 << ((n - 1).bit_length() + 1) // 2
    blocks = jnp.pad(running, (0, -n % size), mode="edge").reshape(-1, size)
    block = (blocks[:, -1] <= level[..., None]).sum(axis=-1)
    inside = (blocks[jnp.minimum(block, len(blocks) - 1)] <= level[..., None]).sum(axis=-1)
    return jnp.where(block < len(blocks), block * size + inside, n)


def _draws(
    levels: Float[Array, " s"],
    near: Bool[Array, " s"],
    key: jax.Array | None,
    own_slots: tuple[Slot, ...],
    priors: tuple[Prior, ...],
    own: Points,
    own_scale: Float[Array, " s"],
) -> list[Array]:
    """A draw per slot, as if it applied: from the kernel or, where it is not ``near``, the prior.

    All truncated normals are one quantile function of arrays, which is compiled once.
    """
    out: list[Any] = [jnp.asarray(0, jnp.int32)] * len(own_slots)
    normal = [s for s, slot in enumerate(own_slots) if slot.axis.kind in ("continuous", "stepped")]
    if normal:
        parameters = jnp.array([own_slots[s].parameter for s in normal])
        which = jnp.array(normal)
        # The wide kernel is centred on the axis and as wide as it. A user's prior is drawn from below.
        wide = ~near[which] & jnp.array([not isinstance(priors[s], NativePrior) for s in normal])
        loc = jnp.where(wide, 0.5, own.unit[0, parameters])
        scale = jnp.where(wide, 1, own_scale[which])
        unit = unit_normal_quantile(levels[which], loc, scale)
        for x, s in zip(unit, normal, strict=True):
            axis = own_slots[s].axis
            out[s] = x if axis.kind == "continuous" else axis.index_at(x, jnp)
    for s, (slot, prior) in enumerate(zip(own_slots, priors, strict=True)):
        if slot.axis.kind == "categorical":
            kernel = AitchisonAitken(own.index[0, slot.parameter], own_scale[s], slot.axis.n_values)
            if not isinstance(prior, NativePrior):
                kernel = jax.tree.map(lambda a, b, s=s: jnp.where(near[s], a, b), kernel, prior)
            out[s] = kernel.quantile(levels[s])
        if isinstance(prior, NativePrior):
            assert key is not None
            out[s] = jnp.where(near[s], out[s], prior.sample(jax.random.fold_in(key, s)))
    return out
