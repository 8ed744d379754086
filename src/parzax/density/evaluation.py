"""Evaluation of a mixture at many points, in blocks. `parzax.density.forms` explains the forms."""

import math
from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax._numerics import exp2, masked_logsumexp
from parzax.density.basis import Basis, Regimes
from parzax.density.forms import Form, shift_of, unit_of
from parzax.density.large_discrete import LogMasses, large_discrete_logs
from parzax.density.log_kernels import matmul, pair_logs, point_features, prior_ratio, restored
from parzax.density.prior import UserPrior
from parzax.kernels import AbstractKernel
from parzax.space import Points

# Number of (point, kernel) pairs per block: on a CPU (2 MiB in float32, which fits a core's cache) and on
# other platforms. The key says whether each pair needs many intermediate values.
_PAIRS = {False: (1 << 19, 1 << 26), True: (1 << 17, 1 << 22)}

# log kernel - log anchor of n kernels at j points (j, n), and log anchor (j,); see `Prepared.logs`.
Logs = tuple[Float[Array, "j n"], Float[Array, " j"]]


class Prepared(eqx.Module):
    """A mixture prepared for evaluation: everything that depends only on the kernels is computed once.

    Like the mixture it does not store the space: every method takes the basis that was used to prepare it.
    """

    coefficients: Float[Array, "f n"]  # coefficients of the kernels, times log2(e) in the product form
    anchor: Float[Array, " f"]  # coefficients of the wide kernels
    # Kernels of continuous regimes that are evaluated pair by pair, with a mask of the rows in each regime.
    pairs: tuple[tuple[AbstractKernel, Bool[Array, "n k"]], ...]
    large: tuple[LogMasses, ...]
    weight: Float[Array, " n"]
    prior_weight: Float[Array, ""]
    priors: tuple[UserPrior, ...]
    form: Form = eqx.field(static=True)

    @property
    def is_pairwise(self) -> bool:
        """Whether some regimes are evaluated pair by pair."""
        return bool(self.pairs) or any(masses.table is None for masses in self.large)

    def log_prob(self, basis: Basis, at: Points) -> Float[Array, " j"]:
        """log density in unit coordinates at j valid points. Blocks are recomputed for the gradient."""

        def block(at: Points) -> Float[Array, " j"]:
            return self.log_density(basis, at, self.logs(basis, at))

        return in_blocks(block, at, max(self.coefficients.shape), self.is_pairwise)

    def log_density(self, basis: Basis, at: Points, logs: Logs) -> Float[Array, " j"]:
        """log density at j points, from the `logs` of the kernels there."""
        if self.form != "product":
            return self.log_sum(basis, at, logs, self.weight[None])
        ratio, anchor = logs
        prior, shift = prior_ratio(basis.n_slots, at, self.priors), shift_of(ratio.dtype)
        # A matrix product with the weights: XLA then computes the exponentials in one simple pass.
        kernels = matmul(exp2(ratio), self.weight)
        return anchor + shift + jnp.log(kernels + self.prior_weight * jnp.exp(prior - shift))

    def log_sum(
        self, basis: Basis, at: Points, logs: Logs, weight: Float[Array, "#j n"]
    ) -> Float[Array, " j"]:
        """`log_density` for given weights of the kernels, one set for all points or one per point.

        It uses logsumexp, as all forms except "product" do.
        """
        ratio, anchor = logs
        prior = prior_ratio(basis.n_slots, at, self.priors)[:, None]
        prior_weight = jnp.broadcast_to(self.prior_weight, (len(weight), 1))
        terms, weight = (jnp.concatenate(x, axis=1) for x in ((ratio, prior), (weight, prior_weight)))
        return restored(anchor + masked_logsumexp(terms, weight, axis=-1), basis.n_slots)

    def logs(self, basis: Basis, at: Points) -> Logs:
        """log kernel - log anchor, with the shift and the base of the logarithm of the form; and log anchor.

        The anchor is the product of the wide kernels over the active parameters. A parameter with a single
        value contributes the factor 1.
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
    """Continuous regimes that are evaluated pair by pair."""
    return (*basis.products, *basis.pairs) if form == "difference" else basis.pairs


def in_blocks(
    function: Callable[[Points], Array], points: Points, n_kernels: int, pairwise: bool = False
) -> Float[Array, "... j"]:
    """Evaluate function(points) in blocks of points; the last axis of the result is that of the points.

    The block size depends on the platform and limits the number of points times ``n_kernels``. The limit is
    lower if the function is ``pairwise``, because each pair then needs many intermediate values.
    """
    on_cpu, elsewhere = (max(1, pairs // max(n_kernels, 1)) for pairs in _PAIRS[pairwise])
    if len(points) <= on_cpu:
        return function(points)
    cpu, default = (partial(_map_blocks, function, block) for block in (on_cpu, elsewhere))
    return jax.lax.platform_dependent(points, cpu=cpu, default=default)


def _map_blocks(function: Callable[[Points], Array], block: int, points: Points) -> Float[Array, "... j"]:
    """Evaluate function(points) for at most ``block`` points at once.

    Each block is recomputed for its gradient, so only one block is in memory, forwards and backwards. The
    axis of points is divided into a few equal parts, and each block takes points from every part. An axis
    that is sharded over a power of two of devices therefore stays sharded, without communication.
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
