"""Log-sum-exp of the same terms under several sets of weights."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_LOG2_E = float(np.log2(np.e))
# Largest exponent of a term of weight 0, as a share of the log of the largest float.
_LARGEST_EXPONENT = 0.9


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def weighted_logsumexp(
    x: Float[Array, "j n"], weight: Float[Array, "*g n"], common: bool = False
) -> Float[Array, "*g j"]:
    """log sum_n w_gn exp(x_jn) of finite terms; -inf where all weights of a set are 0.

    The largest term of a set is factored out of its sum, which is a matrix product with the weights. With
    ``common`` the largest term of all sets is: each exponential is then computed once, and a sum that is less
    than the smallest normal float times this term is lost. Derivatives of every order are finite. The
    derivative with respect to a weight that is 0 is the one-sided one, and where all weights of a set are 0
    it is 0.
    """
    if weight.ndim > 1 and not common:
        return jax.vmap(weighted_logsumexp, in_axes=(None, 0))(x, weight)
    some = (weight > 0).any(axis=-1)
    sets = tuple(range(weight.ndim - 1))
    exponent = jnp.where((weight > 0).any(axis=sets), x, -jnp.inf) * _LOG2_E
    largest = exponent.max(axis=-1, initial=-float(jnp.finfo(x.dtype).max))
    sums = jnp.matmul(weight, jnp.exp2(exponent - largest[:, None]).T, precision="highest")
    return jnp.where(some[..., None], (largest + jnp.log2(sums)) / _LOG2_E, -jnp.inf)


@weighted_logsumexp.defjvp
def _derivative(common: bool, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x, weight), (dx, dweight) = primals, tangents
    out = weighted_logsumexp(x, weight, common)
    some = out > -jnp.inf
    exponent = x - jnp.where(some, out, 0)[..., None]
    # A term without weight may be larger than the sum; the limit keeps the product with its weight finite.
    most = _LARGEST_EXPONENT * np.log(np.finfo(x.dtype).max)
    terms = jnp.where(some[..., None], jnp.exp(jnp.minimum(exponent, most)), 0)
    return out, (terms * (weight[..., None, :] * dx + dweight[..., None, :])).sum(axis=-1)
