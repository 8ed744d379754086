"""Evaluation of a mixture at many points, in blocks of points; `parzax.parzen.forms` says in which form."""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax._numerics import exp2, masked_logsumexp
from parzax.kernels import AbstractKernel
from parzax.parzen import terms
from parzax.parzen.basis import Basis, Regimes
from parzax.parzen.forms import Form, shift_of, unit_of
from parzax.parzen.many import ManyTerms, many_logs
from parzax.parzen.prior import UserPrior
from parzax.space import Points

# Pairs of point and kernel in one block: 2 MiB in float32, what a core keeps close.
BLOCK = 1 << 19
# The same of the difference form, whose intermediates are many.
_DIFFERENCE_BLOCK = 1 << 17


class Prepared(eqx.Module):
    """A mixture prepared for evaluation: what depends on the kernels alone is computed, once.

    As the mixture, which makes it, it knows no space; every method is given the basis it was prepared with.
    """

    coefficients: Float[Array, "f n"]  # of the kernels, times log2(e) in the product form
    anchor: Float[Array, " f"]  # coefficients of the wide kernels
    # Kernels of continua that are evaluated pair by pair, and which rows are in them.
    pairs: tuple[tuple[AbstractKernel, Bool[Array, "n k"]], ...]
    many: tuple[ManyTerms, ...]
    weight: Float[Array, " n"]
    prior_weight: Float[Array, ""]
    priors: tuple[UserPrior, ...]
    form: Form = eqx.field(static=True)

    def log_prob(self, basis: Basis, at: Points) -> Float[Array, " j"]:
        """log density in unit coordinates of (j,) valid points, in blocks with a rematerialised gradient."""
        by_pairs = self.pairs or any(own.table is None for own in self.many)
        pairs = _DIFFERENCE_BLOCK if by_pairs else BLOCK
        n_features, n_kernels = self.coefficients.shape
        return in_blocks(partial(self._block, basis), at, max(1, pairs // max(n_kernels, n_features, 1)))

    def _block(self, basis: Basis, at: Points) -> Float[Array, " j"]:
        if self.form != "product":
            return self.log_sum(basis, at, self.weight[None])
        ratio, anchor = self.logs(basis, at)
        prior, shift = terms.prior_ratio(basis.n_slots, at, self.priors), shift_of(ratio.dtype)
        # A product with the weights, not a sum: the exponentials are then one plain pass.
        kernels = terms.matmul(exp2(ratio), self.weight)
        return anchor + shift + jnp.log(kernels + self.prior_weight * jnp.exp(prior - shift))

    def log_sum(self, basis: Basis, at: Points, weight: Float[Array, "#j n"]) -> Float[Array, " j"]:
        """log density, as in the forms beside "product", with weights of the kernels for every point."""
        ratio, anchor = self.logs(basis, at)
        prior = terms.prior_ratio(basis.n_slots, at, self.priors)[:, None]
        prior_weight = jnp.broadcast_to(self.prior_weight, (len(weight), 1))
        logs, weight = (jnp.concatenate(x, axis=1) for x in ((ratio, prior), (weight, prior_weight)))
        return terms.restored(anchor + masked_logsumexp(logs, weight, axis=-1), basis.n_slots)

    def logs(self, basis: Basis, at: Points) -> tuple[Float[Array, "j n"], Float[Array, " j"]]:
        """log kernel - log anchor, plus the constants of the form, in its unit; and the anchor.

        The anchor is the log density of the wide kernels: 0 for inactive parameters and single values.
        """
        values = terms.features(basis, at, self.priors, self.form == "difference")
        unit = unit_of(self.form)
        ratio = terms.matmul(values, self.coefficients)
        anchor = terms.matmul(values, self.anchor[:, None])[:, 0]
        continua = zip(pairwise(basis, self.form), self.pairs, strict=True)
        sums = [terms.pair_logs(part, *kernels, at) for part, kernels in continua]
        if self.many:
            sums.append(many_logs(basis.many, self.many, at, basis.n_slots))
        for logs, anchors in sums:
            ratio, anchor = ratio + unit * logs, anchor + anchors
        return ratio, anchor


def pairwise(basis: Basis, form: Form) -> tuple[Regimes, ...]:
    """Regimes that are evaluated pair by pair."""
    return (*basis.products, *basis.pairs) if form == "difference" else basis.pairs


def in_blocks(function: Callable[[Points], Array], points: Points, block: int) -> Float[Array, "... j"]:
    """function(points), its last axis as long as there are points, at most ``block`` of them at once.

    The gradient of a block is rematerialised: memory is that of one block, forwards and backwards.
    """
    n_points = len(points)
    if n_points <= block:
        return function(points)
    n_blocks = -(-n_points // block)
    block = -(-n_points // n_blocks)
    padding = n_blocks * block - n_points
    blocks = jax.tree.map(
        lambda x: jnp.pad(x, ((0, padding), (0, 0)), mode="edge").reshape(n_blocks, block, -1), points
    )
    found = jnp.moveaxis(jax.lax.map(jax.checkpoint(lambda part: function(part)), blocks), 0, -2)
    return found.reshape(*found.shape[:-2], n_blocks * block)[..., :n_points]
