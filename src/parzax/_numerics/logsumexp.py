"""Log-sum-exp of the same terms under several sets of weights."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

# Largest exponents, as shares of the log of the largest float: of a term of weight 0, and, above the last
# term of a row, of any term. The last term is shifted so that terms above and below it fill the range.
_LARGEST_EXPONENT, ANCHORED_RANGE, _SHIFT = 0.9, 1.2, 0.25


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def weighted_logsumexp(
    x: Float[Array, "j n"], weight: Float[Array, "*g n"], anchored: bool = False
) -> Float[Array, "*g j"]:
    """log sum_n w_gn exp(x_jn) of finite terms; -inf where all weights of a set are 0.

    The largest term of a set is factored out of its sum, which is a matrix product with the weights. With
    ``anchored`` the last term is factored out of all sums, so each exponential is computed once and no pass
    over the terms is needed to find the largest. Every set then must have a weight of the last term, and no
    term may exceed it by more than `ANCHORED_RANGE` of the log of the largest float.

    Derivatives of every order are finite. The derivative with respect to a weight that is 0 is the one-sided
    one, and where all weights of a set are 0 it is 0.
    """
    if anchored:
        common = x[:, -1] + _SHIFT * float(np.log(jnp.finfo(x.dtype).max))
    elif weight.ndim > 1:
        return jax.vmap(weighted_logsumexp, in_axes=(None, 0))(x, weight)
    else:
        x = jnp.where(weight > 0, x, -jnp.inf)
        common = x.max(axis=-1, initial=-float(jnp.finfo(x.dtype).max))
    exponentials = jnp.exp(x - common[:, None])
    # In this order of the factors XLA does not transpose the exponentials.
    sums = jnp.moveaxis(jnp.tensordot(exponentials, weight, (1, -1), precision="highest"), 0, -1)
    some = (weight > 0).any(axis=-1, keepdims=True)
    return jnp.where(some, jnp.log(sums) + jnp.broadcast_to(common, sums.shape), -jnp.inf)


@weighted_logsumexp.defjvp
def _derivative(anchored: bool, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x, weight), (dx, dweight) = primals, tangents
    out = weighted_logsumexp(x, weight, anchored)
    some = out > -jnp.inf
    shape = (*out.shape, x.shape[-1])
    x, dx, weight, dweight = (
        jnp.broadcast_to(a, shape) for a in (x, dx, weight[..., None, :], dweight[..., None, :])
    )
    exponent = x - jnp.where(some, out, 0)[..., None]
    # A term without weight may be larger than the sum; the limit keeps the product with its weight finite.
    most = _LARGEST_EXPONENT * np.log(np.finfo(x.dtype).max)
    terms = jnp.where(some[..., None], jnp.exp(jnp.minimum(exponent, most)), 0)
    return out, (terms * (weight * dx + dweight)).sum(axis=-1)
