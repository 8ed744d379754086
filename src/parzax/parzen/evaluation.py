"""Evaluation of a mixture at many points, in blocks of points; `parzax.parzen.forms` says in which form."""

import math
from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax._numerics import exp2, masked_logsumexp
from parzax.kernels import AbstractKernel
from parzax.parzen.basis import Basis, Regimes
from parzax.parzen.forms import Form, shift_of, unit_of
from parzax.parzen.large_discrete import LogMasses, large_discrete_logs
from parzax.parzen.log_kernels import matmul, pair_logs, point_features, prior_ratio, restored
from parzax.parzen.prior import UserPrior
from parzax.space import Points

# Pairs of point and kernel per block, on a CPU (2 MiB in float32, a core's cache) and elsewhere. The key is
# whether each pair has many intermediates.
_PAIRS = {False: (1 << 19, 1 << 24), True: (1 << 17, 1 << 22)}


class Prepared(eqx.Module):
    """A mixture prepared for evaluation: what depends on the kernels alone is computed, once.

    Like the mixture it knows no space: every method takes the basis with which it was prepared.
    """

    coefficients: Float[Array, "f n"]  # of the kernels, times log2(e) in the product form
    anchor: Float[Array, " f"]  # coefficients of the wide kernels
    # Kernels of continua that are evaluated pair by pair, and which rows are in them.
    pairs: tuple[tuple[AbstractKernel, Bool[Array, "n k"]], ...]
    large: tuple[LogMasses, ...]
    weight: Float[Array, " n"]
    prior_weight: Float[Array, ""]
    priors: tuple[UserPrior, ...]
    form: Form = eqx.field(static=True)

    def log_prob(self, basis: Basis, at: Points) -> Float[Array, " j"]:
        """log density in unit coordinates of (j,) valid points, in blocks with a rematerialised gradient."""
        is_pairwise = bool(self.pairs) or any(masses.table is None for masses in self.large)
        return in_blocks(partial(self._block, basis), at, max(self.coefficients.shape), is_pairwise)

    def _block(self, basis: Basis, at: Points) -> Float[Array, " j"]:
        if self.form != "product":
            return self.log_sum(basis, at, self.weight[None])
        ratio, anchor = self.logs(basis, at)
        prior, shift = prior_ratio(basis.n_slots, at, self.priors), shift_of(ratio.dtype)
        # A product with the weights, not a sum: the exponentials are then one plain pass.
        kernels = matmul(exp2(ratio), self.weight)
        return anchor + shift + jnp.log(kernels + self.prior_weight * jnp.exp(prior - shift))

    def log_sum(self, basis: Basis, at: Points, weight: Float[Array, "#j n"]) -> Float[Array, " j"]:
        """log density with weights of the kernels for every point, computed as in all forms but "product"."""
        ratio, anchor = self.logs(basis, at)
        prior = prior_ratio(basis.n_slots, at, self.priors)[:, None]
        prior_weight = jnp.broadcast_to(self.prior_weight, (len(weight), 1))
        logs, weight = (jnp.concatenate(x, axis=1) for x in ((ratio, prior), (weight, prior_weight)))
        return restored(anchor + masked_logsumexp(logs, weight, axis=-1), basis.n_slots)

    def logs(self, basis: Basis, at: Points) -> tuple[Float[Array, "j n"], Float[Array, " j"]]:
        """log kernel - log anchor, plus the constants of the form, in its unit; and the anchor.

        The anchor is the log density of the wide kernels: 0 for inactive parameters and single values.
        """
        features = point_features(basis, at, self.priors, self.form == "difference")
        ratio = matmul(features, self.coefficients)
        anchor = matmul(features, self.anchor[:, None])[:, 0]
        continua = zip(pairwise(basis, self.form), self.pairs, strict=True)
        sums = [pair_logs(part, *kernels, at) for part, kernels in continua]
        if self.large:
            sums.append(large_discrete_logs(basis, self.large, at))
        for logs, anchors in sums:
            ratio, anchor = ratio + unit_of(self.form) * logs, anchor + anchors
        return ratio, anchor


def pairwise(basis: Basis, form: Form) -> tuple[Regimes, ...]:
    """Regimes that are evaluated pair by pair."""
    return (*basis.products, *basis.pairs) if form == "difference" else basis.pairs


def in_blocks(
    function: Callable[[Points], Array], points: Points, n_kernels: int, pairwise: bool = False
) -> Float[Array, "... j"]:
    """function(points), whose last axis is that of the points, in blocks of a size that suits the platform.

    The number of points times ``n_kernels`` is limited in a block, and more so where the function is
    ``pairwise``: then each pair has many intermediates.
    """
    on_cpu, elsewhere = (max(1, pairs // max(n_kernels, 1)) for pairs in _PAIRS[pairwise])
    if len(points) <= on_cpu:
        return function(points)
    cpu, default = (partial(_map_blocks, function, block) for block in (on_cpu, elsewhere))
    return jax.lax.platform_dependent(points, cpu=cpu, default=default)


def _map_blocks(function: Callable[[Points], Array], block: int, points: Points) -> Float[Array, "... j"]:
    """function(points) of at most ``block`` points at once.

    The gradient of a block is rematerialised: memory is that of one block, forwards and backwards. Every
    block takes points from each of a few equal parts of the axis. So an axis that is sharded over a power of
    two of devices stays sharded, without communication.
    """
    n_points = len(points)
    if n_points <= block:
        return function(points)
    n_parts = math.gcd(n_points, 1 << min(6, max(block.bit_length() - 4, 0)))
    length = n_points // n_parts
    n_blocks = -(-length // (block // n_parts))
    size = -(-length // n_blocks)

    def split(x: Array) -> Array:
        parts = x.reshape(n_parts, length, -1)
        parts = jnp.pad(parts, ((0, 0), (0, n_blocks * size - length), (0, 0)), mode="edge")
        blocks = jnp.moveaxis(parts.reshape(n_parts, n_blocks, size, -1), 1, 0)
        return blocks.reshape(n_blocks, n_parts * size, -1)

    out = jax.lax.map(jax.checkpoint(lambda at: function(at)), jax.tree.map(split, points))
    out = jnp.moveaxis(out.reshape(*out.shape[:-1], n_parts, size), 0, -2)
    return out.reshape(*out.shape[:-2], -1)[..., :length].reshape(*out.shape[:-3], n_points)
