"""Mixtures of product kernels as one matrix product.

The log of a product kernel is a sum over parameters. Most terms are linear in features of the point: c and
c^2 for a continuous coordinate c, and one indicator per value of a small discrete domain. The logs of all
kernels at all points are therefore one matrix product: point features times kernel coefficients.

The product gives log kernel - log anchor, where the anchor is the wide kernel. If row and point are in
different regimes of a parameter, the kernel is the prior. The prior is the anchor unless the user gives
another density, so this term is 0. Discrete regimes with many values are not in the product;
`parzax.density.large_discrete` adds them.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from parzax._numerics import in_two_rounds
from parzax.density.basis import Basis, Regimes
from parzax.density.prior import UserPrior
from parzax.kernels import AbstractKernel
from parzax.space import Points

# log(0) is replaced by minus this fraction of the largest float, because 0 * -inf would be NaN.
_LOWEST = 0.125


def _log_of_zero(x: Array) -> float:
    """A finite stand-in for log(0): its exponential is 0, and sums and products of it stay finite."""
    return -_LOWEST * float(jnp.finfo(x.dtype).max)


def finite(x: Float[Array, "*n"], n_slots: int) -> Float[Array, "*n"]:
    """Replace -inf by the finite stand-in for log(0), divided by the number of slots."""
    return jnp.where(jnp.isneginf(x), _log_of_zero(x) / n_slots, x)


def restored(x: Float[Array, "*n"], n_slots: int) -> Float[Array, "*n"]:
    """Put back -inf where a sum contains the stand-in of `finite`."""
    return jnp.where(x < _log_of_zero(x) / (2 * n_slots), -jnp.inf, x)


def matmul(a: Float[Array, "a b"], b: Float[Array, "b ..."]) -> Float[Array, "a ..."]:
    """Matrix product in full precision, also on accelerators."""
    return jnp.matmul(a, b, precision="highest")


def vmap_twice(function: Any, *arrays: Any) -> Any:
    """Apply a function of scalars to every entry of (n, k) arrays, or of trees of such arrays."""
    return jax.vmap(jax.vmap(function))(*arrays)


def kernels_of(part: Regimes, unit: Float[Array, "n d"], scale: Float[Array, "n d"]) -> AbstractKernel:
    """The kernels of n rows in k regimes, (k, n)."""
    n_values = jnp.broadcast_to(jnp.asarray(part.n_values)[:, None], (len(part), len(unit)))
    return vmap_twice(part.family.around, part.by_regime(unit), part.by_regime(scale), n_values)


def wide_kernels(part: Regimes, dtype: Any) -> AbstractKernel:
    """The wide kernels of k regimes, (k,)."""
    family = part.family
    return jax.vmap(lambda n: family.around(*family.wide(n, dtype), n))(jnp.asarray(part.n_values))


def with_wide(part: Regimes, kernels: AbstractKernel, dtype: Any) -> AbstractKernel:
    """The wide kernels followed by (k, n) kernels, (k, 1 + n), so the code for masses is compiled once."""
    wide = wide_kernels(part, dtype)
    return jax.tree.map(lambda first, x: jnp.concatenate([first[:, None], x], axis=-1), wide, kernels)


def kernel_coefficients(
    basis: Basis, rows: Points, scale: Float[Array, "n d"], priors: tuple[UserPrior, ...], pairwise: bool
) -> tuple[Float[Array, "f n"], Float[Array, " f"]]:
    """Coefficients of the `point_features`: for log kernel - log anchor, and for log anchor.

    With ``pairwise`` they leave continuous regimes out, which are then evaluated pair by pair.
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
        # The constants of always active parameters are summed into one constant per kernel.
        constants = jnp.where(inside, constants - wide_constant[:, None], 0)
        constant = constant + sum_of_first(constants, k)
        anchor = anchor + wide_constant[:k].sum()
        pieces.append((constants[k:], wide_constant[k:]))
    for part in basis.small:
        kernels = with_wide(part, kernels_of(part, rows.unit, scale), dtype)
        values = tuple(jnp.asarray(x) for x in (part.regime_of, part.lower, part.upper))
        masses = finite(in_two_rounds(partial(_masses_of_values, kernels), values), basis.n_slots)
        inside = part.repeated(part.here(rows).astype(dtype)).T > 0
        pieces.append((jnp.where(inside, masses[:, 1:] - masses[:, :1], 0), masses[:, 0]))
    # A kernel of another regime is replaced by the user's prior.
    pieces += [((~prior.here(rows))[None].astype(dtype), jnp.zeros(1, dtype)) for prior in priors]
    pieces.append((constant[None], anchor[None]))
    kernels, anchors = zip(*pieces, strict=True)
    return jnp.concatenate(kernels), jnp.concatenate(anchors)


def _masses_of_values(kernels: AbstractKernel, values: tuple[Array, Array, Array]) -> Float[Array, "f n"]:
    """log masses of f values, given by regime and cell, under the (k, n) kernels of their regimes."""

    def log_masses(regime: Int[Array, ""], lower: Array, upper: Array) -> Float[Array, " n"]:
        of_regime = jax.tree.map(lambda a: a[regime], kernels)
        return jax.vmap(lambda kernel: kernel.log_mass(lower, upper))(of_regime)

    return jax.vmap(log_masses)(*values)


def point_features(
    basis: Basis, at: Points, priors: tuple[UserPrior, ...], pairwise: bool
) -> Float[Array, "j f"]:
    """Features of j points, (j, f); the last feature is 1."""
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
    """log prior - log anchor at j points; only regimes with a user's prior contribute."""
    out = jnp.zeros(len(at.unit), at.unit.dtype)
    for prior in priors:
        unit, index = at.unit[:, prior.parameter], at.index[:, prior.parameter]
        difference = prior.log_prob(unit, index) - prior.log_wide(unit, index)
        out = out + jnp.where(prior.here(at), finite(difference, n_slots), 0)
    return out


def sum_of_first(x: Float[Array, "s ..."], k: int) -> Float[Array, "..."]:
    """The sum of the first k entries.

    Indexing keeps XLA from fusing the sum with the computation of its terms, which is several times slower
    on CPUs.
    """
    return x[np.arange(k)].sum(axis=0)


def pair_logs(
    part: Regimes, kernels: AbstractKernel, present: Bool[Array, "n k"], at: Points
) -> tuple[Float[Array, "j n"], Float[Array, " j"]]:
    """Sum of log kernel - log anchor over k continuous regimes, for (k, n) kernels, and sum of log anchor."""
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
    """Coefficients of the features of a product kernel, and its constant."""
    centres, weights = part.family.centres(kernel.place), part.family.weights(kernel.scale)
    return weights * jnp.append(centres, jnp.ones(1, centres.dtype)), kernel.constant()
