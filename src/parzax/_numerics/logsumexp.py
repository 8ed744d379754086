"""Log-sum-exp of the same terms under several sets of weights."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from parzax._numerics.arrays import masked_logsumexp
from parzax._numerics.exponential import exp2

_LOG2_E = float(np.log2(np.e))
# Smallest sum, as a multiple of the largest term, that is not lost: its share of the exponents of the dtype.
_LOST = 0.7
# Largest exponent of a term of weight 0, as a share of the log of the largest float.
_LARGEST_EXPONENT = 0.9


@jax.custom_jvp
def weighted_logsumexp(x: Float[Array, "j n"], weight: Float[Array, "*g n"]) -> Float[Array, "*g j"]:
    """log sum_n w_gn exp(x_jn) of finite terms; -inf where all weights of a set are 0.

    Derivatives of every order are finite. The derivative with respect to a weight that is 0 is the one-sided
    one, and where all weights of a set are 0 it is 0.
    """
    return jax.lax.platform_dependent(x, weight, cpu=_by_product, default=_by_set)


def _by_set(x: Float[Array, "j n"], weight: Float[Array, "*g n"]) -> Float[Array, "*g j"]:
    return masked_logsumexp(x, weight[..., None, :], axis=-1)


def _by_product(x: Float[Array, "j n"], weight: Float[Array, "*g n"]) -> Float[Array, "*g j"]:
    """One exponential for all sets, and a matrix product with the weights.

    If the sum of some set is lost below the largest term of the other sets, all sums are computed set by set.
    """
    exponent = x * _LOG2_E
    largest = exponent.max(axis=-1)
    sums = jnp.matmul(weight, exp2(exponent - largest[:, None]).T, precision="highest")
    some = (weight > 0).any(axis=-1)[..., None]
    is_lost = (some & (sums < 2.0 ** (_LOST * np.finfo(x.dtype).minexp))).any()
    logs = jnp.log2(jnp.where(sums > 0, sums, 1))
    value = jnp.where(some, (largest + logs) / _LOG2_E, -jnp.inf)

    def again(state: tuple[Array, Array]) -> tuple[Array, Array]:
        # XLA would compute this before the loop if it did not depend on the state.
        return jnp.zeros((), bool), _by_set(jnp.where(state[0], x, 0), weight)

    # A loop of at most one round: a batch of sums takes it only if one of them is lost.
    return jax.lax.while_loop(lambda state: state[0], again, (is_lost, value))[1]


@weighted_logsumexp.defjvp
def _derivative(primals: Any, tangents: Any) -> tuple[Array, Array]:
    (x, weight), (dx, dweight) = primals, tangents
    out = weighted_logsumexp(x, weight)
    some = out > -jnp.inf
    exponent = x - jnp.where(some, out, 0)[..., None]
    # A term without weight may be larger than the sum; the limit keeps the product with its weight finite.
    most = _LARGEST_EXPONENT * np.log(np.finfo(x.dtype).max)
    terms = jnp.where(some[..., None], jnp.exp(jnp.minimum(exponent, most)), 0)
    change = weight[..., None, :] * dx + dweight[..., None, :]
    return out, (terms * change).sum(axis=-1)
