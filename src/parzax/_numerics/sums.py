"""Sums over cells, and sums and differences of numbers given by their logarithms."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num, Shaped

from parzax._numerics.dtypes import as_floats
from parzax._numerics.hazard import log1m


def cell_sum(x: Float[Array, " g"]) -> Float[Array, ""]:
    """Sum over the cells, as a product with ones.

    XLA's CPU backend merges a plain reduction with all that produced its operand, which turns the
    convolution before it into scalar code, eight times slower; it leaves a product alone.
    """
    return jnp.dot(x, jnp.ones(x.shape, x.dtype), precision="highest")


def total(counts: Shaped[Array, " g"]) -> Shaped[Array, ""]:
    """Sum of counts in their own dtype; NumPy's promotion to int64 would halve the speed."""
    if jnp.issubdtype(counts.dtype, jnp.floating):
        return cell_sum(counts)
    return counts.sum(dtype=counts.dtype)


def divisor(total: Shaped[Array, "..."]) -> Shaped[Array, "..."]:
    """A total to divide by: 1 where it is 0, where what is divided is 0 too."""
    return jnp.where(total > 0, total, 1)


def log_diff_exp(a: Num[Array, "..."] | float, b: Num[Array, "..."] | float) -> Float[Array, "..."]:
    """log(exp(a) - exp(b)) for a >= b, elementwise, without overflow.

    a + log(1 - exp(-d)), d = a - b, by expm1 for d < log 2 and by log1p above (Maechler, "Accurately
    computing log(1 - exp(-|a|))", 2012). The derivatives are 1/(1 - exp(-d)) and -exp(-d)/(1 - exp(-d)).

    It is -inf where a = b, both -inf included, NaN where a < b and where both are +inf. There the
    derivatives are 0: the true ones at a = b are +inf and -inf, which would turn a masked-out entry into NaN.
    """
    return _compiled_log_diff_exp(*as_floats(a, b))


@jax.custom_jvp
def _log_diff_exp(a: Float[Array, "..."], b: Float[Array, "..."]) -> Float[Array, "..."]:
    positive, d = _gap(a, b)
    small = d < 0.6931
    log_complement = jnp.where(
        small, jnp.log(-jnp.expm1(-jnp.where(small, d, 1))), log1m(jnp.exp(-jnp.where(small, 1, d)))
    )
    equal = (a == b) & (a < jnp.inf)
    return jnp.where(positive, a + log_complement, jnp.where(equal, -jnp.inf, jnp.nan))


@_log_diff_exp.defjvp
def _log_diff_exp_jvp(primals, tangents):
    (a, b), (da, db) = primals, tangents
    positive, d = _gap(a, b)
    complement = -jnp.expm1(-d)
    slope_a = jnp.where(positive, 1 / complement, 0)
    slope_b = jnp.where(positive, jnp.exp(-d) / complement, 0)
    return _log_diff_exp(a, b), slope_a * da - slope_b * db


# Outside of jit, a hundred operations would be dispatched one by one.
_compiled_log_diff_exp = jax.jit(_log_diff_exp)


def _gap(a: Float[Array, "..."], b: Float[Array, "..."]) -> tuple[Bool[Array, "..."], Float[Array, "..."]]:
    """Where a > b, and a - b there, 1 elsewhere."""
    positive = a - b > 0
    return positive, jnp.where(positive, a - b, 1)


def masked_logsumexp(
    x: Float[Array, "..."],
    weight: Num[Array, "..."] | Bool[Array, "..."],
    axis: int | tuple[int, ...] | None = None,
) -> Float[Array, "..."]:
    """log sum_i w_i exp(x_i) along the axis, where an entry of weight 0 does not exist.

    Whatever x holds at an entry of weight 0, NaN and infinity included, value and gradients ignore it, and
    its own derivatives with respect to x_i and w_i are 0. With nothing left the value is -inf and all
    derivatives are 0. The largest x_i + log w_i is taken out of the sum.

    Args:
        x: logarithms.
        weight: at least 0, or a mask; broadcast against x. Negative and NaN weights give NaN.
        axis: axes to sum over; all of them by default.
    """
    weight = jnp.broadcast_to(jnp.asarray(weight), x.shape).astype(x.dtype)
    present = (weight != 0) & (x != -jnp.inf)
    terms = jnp.where(present, x, 0) + jnp.log(jnp.where(present, weight, 1))
    top = jnp.max(jnp.where(present, terms, -jnp.inf), axis=axis, keepdims=True, initial=-jnp.inf)
    top = jax.lax.stop_gradient(jnp.where(jnp.isfinite(top), top, 0))
    total = jnp.sum(jnp.where(present, jnp.exp(jnp.where(present, terms - top, 0)), 0), axis=axis)
    top = jnp.squeeze(top, axis=axis)
    empty = total == 0
    return jnp.where(empty, -jnp.inf, top + jnp.log(jnp.where(empty, 1, total)))
