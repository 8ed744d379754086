"""Mixtures of product kernels as one matrix product.

The log of a product kernel is a sum over parameters, and most of its terms are linear in functions of the
point: c and c^2 of a continuous coordinate, one indicator per value of a short list. So the logs of all
kernels at all points are one product, of features of the points and coefficients of the kernels.

What is multiplied is log kernel minus the log of the wide kernel, the anchor: a kernel whose regime a point
does not share stands for the prior there, which is the anchor itself unless the user gave another.
Regimes of many values are left out of the product: rows of a table, or pair by pair.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from parzax.kernels import AbstractKernel
from parzax.parzen.basis import Basis, Regimes
from parzax.parzen.prior import UserPrior
from parzax.space import Points

# This share of the largest float stands for the log of 0, where -inf would turn 0 * -inf into NaN.
_LOWEST = 0.125


def _log_of_zero(x: Array) -> float:
    """A number so low that its exponential is 0, which sums and products leave finite."""
    return -_LOWEST * float(jnp.finfo(x.dtype).max)


def finite(x: Float[Array, "*n"], n_slots: int) -> Float[Array, "*n"]:
    """The log of zero, shared among the regimes, in place of -inf."""
    return jnp.where(jnp.isneginf(x), _log_of_zero(x) / n_slots, x)


def restored(x: Float[Array, "*n"], n_slots: int) -> Float[Array, "*n"]:
    """-inf again where sums have what `finite` put in its place."""
    return jnp.where(x < _log_of_zero(x) / (2 * n_slots), -jnp.inf, x)


def matmul(a: Float[Array, "a b"], b: Float[Array, "b ..."]) -> Float[Array, "a ..."]:
    """A product in full precision, on accelerators too."""
    return jnp.matmul(a, b, precision="highest")


def vmap_twice(function: Any, *arrays: Any) -> Any:
    """function of every entry of (n, k) arrays, or trees of them; unbatched where it is written."""
    return jax.vmap(jax.vmap(function))(*arrays)


def kernels_of(part: Regimes, unit: Float[Array, "n d"], scale: Float[Array, "n d"]) -> AbstractKernel:
    """The kernels of all rows in some regimes, (k, n)."""
    n_values = jnp.broadcast_to(jnp.asarray(part.n_values)[:, None], (len(part), len(unit)))
    return vmap_twice(part.family.around, part.by_regime(unit), part.by_regime(scale), n_values)


def wide_kernels(part: Regimes, dtype: Any) -> AbstractKernel:
    """The wide kernels of some regimes, (k,)."""
    family = part.family
    return jax.vmap(lambda n: family.around(*family.wide(n, dtype), n))(jnp.asarray(part.n_values))


def with_wide(part: Regimes, kernels: AbstractKernel, dtype: Any) -> AbstractKernel:
    """The wide kernels and (k, n) others, (k, 1 + n): their masses are compiled once."""
    wide = wide_kernels(part, dtype)
    return jax.tree.map(lambda first, x: jnp.concatenate([first[:, None], x], axis=-1), wide, kernels)


def kernel_coefficients(
    basis: Basis, rows: Points, scale: Float[Array, "n d"], priors: tuple[UserPrior, ...], pairwise: bool
) -> tuple[Float[Array, "f n"], Float[Array, " f"]]:
    """Coefficients of the `point_features`, of log kernel minus log anchor and of log anchor.

    ``pairwise`` leaves continua out, to be evaluated pair by pair.
    """
    n, dtype = len(scale), scale.dtype
    pieces = []
    constant, anchor = jnp.zeros(n, dtype), jnp.zeros((), dtype)
    for part in () if pairwise else basis.products:
        wide_linear, wide_constant = jax.vmap(partial(linear_form, part))(wide_kernels(part, dtype))
        over_rows = jax.vmap(partial(linear_form, part), out_axes=-1)
        linear, constants = jax.vmap(over_rows)(kernels_of(part, rows.unit, scale))
        inside, k = part.here(rows).T, part.n_always
        linear = jnp.where(inside[:, None], linear - wide_linear[..., None], 0)
        pieces.append((linear.reshape(-1, n), wide_linear.reshape(-1)))
        # The constants of parameters that are always active are one of the kernel's.
        constants = jnp.where(inside, constants - wide_constant[:, None], 0)
        constant = constant + sum_of_first(constants, k)
        anchor = anchor + wide_constant[:k].sum()
        pieces.append((constants[k:], wide_constant[k:]))
    for part in basis.small:
        kernels = with_wide(part, kernels_of(part, rows.unit, scale), dtype)
        kernels = jax.tree.map(lambda a, p=part: matmul(p.repeat.T, finite(a, basis.n_slots)), kernels)
        log_mass = jax.vmap(lambda kernel, low, high: kernel.log_mass(low, high), in_axes=(0, None, None))
        masses = jax.vmap(log_mass)(kernels, jnp.asarray(part.lower), jnp.asarray(part.upper))
        masses = finite(masses, basis.n_slots)
        inside = part.repeated(part.here(rows).astype(dtype)).T > 0
        pieces.append((jnp.where(inside, masses[:, 1:] - masses[:, :1], 0), masses[:, 0]))
    # Kernels of other regimes than a prior's stand for it.
    pieces += [((~prior.here(rows))[None].astype(dtype), jnp.zeros(1, dtype)) for prior in priors]
    pieces.append((constant[None], anchor[None]))
    kernels, anchors = zip(*pieces, strict=True)
    return jnp.concatenate(kernels), jnp.concatenate(anchors)


def point_features(
    basis: Basis, at: Points, priors: tuple[UserPrior, ...], pairwise: bool
) -> Float[Array, "j f"]:
    """Functions of the points; the last one is 1."""
    n, dtype = len(at.unit), at.unit.dtype
    columns = []
    for part in () if pairwise else basis.products:
        inside, features = part.here(at), vmap_twice(part.family.features, part.columns(at.unit))
        columns.append(jnp.where(inside[..., None], features, 0).reshape(n, -1))
        columns.append(inside[:, part.n_always :].astype(dtype))
    columns += [part.has(at).astype(dtype) for part in basis.small]
    columns += [prior_ratio(basis.n_slots, at, (prior,))[:, None] for prior in priors]
    return jnp.concatenate([*columns, jnp.ones((n, 1), dtype)], axis=-1)


def prior_ratio(n_slots: int, at: Points, priors: tuple[UserPrior, ...]) -> Float[Array, " j"]:
    """log prior - log anchor: 0 but for the regimes with a prior of the user's."""
    out = jnp.zeros(len(at.unit), at.unit.dtype)
    for prior in priors:
        unit, index = at.unit[:, prior.parameter], at.index[:, prior.parameter]
        difference = prior.log_prob(unit, index) - prior.log_wide(unit, index)
        out = out + jnp.where(prior.here(at), finite(difference, n_slots), 0)
    return out


def sum_of_first(x: Float[Array, "s ..."], k: int) -> Float[Array, "..."]:
    """The sum of the first k entries.

    Read by their numbers: XLA on CPUs merges a sum with what is summed, which is then several times slower.
    """
    return x[np.arange(k)].sum(axis=0)


def pair_logs(
    part: Regimes, kernels: AbstractKernel, present: Bool[Array, "n k"], at: Points
) -> tuple[Float[Array, "j n"], Float[Array, " j"]]:
    """Sums over some continua of log kernel - log anchor, for (k, n) kernels, and of log anchor."""
    place, here = part.columns(at.unit), part.here(at)

    def log_density(kernel: Any, x: Array) -> Array:
        return kernel.log_density(x)

    over_kernels = jax.vmap(log_density, in_axes=(0, None))
    logs = jax.vmap(jax.vmap(over_kernels, in_axes=(None, 0)))(kernels, place.T)
    wide = jax.vmap(jax.vmap(log_density, in_axes=(None, 0)))(wide_kernels(part, place.dtype), place.T)
    shared = here.T[..., None] & present.T[:, None]
    ratio = jnp.where(shared, logs - wide[..., None], 0).sum(axis=0)
    return ratio, jnp.where(here.T, wide, 0).sum(axis=0)


def linear_form(part: Regimes, kernel: Any) -> tuple[Float[Array, " f"], Float[Array, ""]]:
    """Coefficients of the features of a product kernel, and the constant."""
    centres, weights = part.family.centres(kernel.place), part.family.weights(kernel.scale)
    return weights * jnp.append(centres, jnp.ones(1, centres.dtype)), kernel.constant()
