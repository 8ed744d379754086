"""Divergences between densities on a grid."""

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from parzax._checks import real_array, vectors
from parzax._numerics import cell_sum


def pearson_divergence(p: Float[ArrayLike, " g"], q: Float[ArrayLike, " g"]) -> Float[Array, ""]:
    """D_PE(p || q) = sum_b q_b (p_b / q_b - 1)^2, the Pearson (chi-squared) divergence.

    Conditional PED-ANOVA, arXiv 2601.20800, Eq. 6 (Section 3.3).

    Args:
        p, q: (g,) masses per cell, linear, each summing to 1.

    Returns:
        A scalar >= 0. Cells where both are 0 count 0; infinite where q is 0 and p is not, NaN where a mass is
        NaN. Gradients are finite wherever the value is. Pure, unbatched, jit- and vmap-able.

    >>> import jax.numpy as jnp
    >>> float(pearson_divergence(jnp.array([1.0, 0.0]), jnp.array([0.5, 0.5])))
    1.0
    """
    p, q = real_array("p", p), real_array("q", q)
    vectors(p=p, q=q)
    positive = q > 0
    safe = jnp.where(positive, q, 1)
    absent = jnp.where((p == 0) & (q == 0), 0, jnp.nan)
    absent = jnp.where((p > 0) & (q == 0), jnp.inf, absent)
    terms = jnp.where(positive, jnp.square(p - q) / safe, absent)
    return cell_sum(terms)
