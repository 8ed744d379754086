"""Good and bad groups of the TPE family: how many rows are good, and which."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int


def sqrt_count(n: Int[Array, ""]) -> Int[Array, ""]:
    """ceil(sqrt(n) / 4), the papers' number of good rows (arXiv 2304.11127)."""
    return _ceil(jnp.sqrt(jnp.asarray(n, float)) / 4)


def linear_count(n: Int[Array, ""], quantile: Any) -> Int[Array, ""]:
    """ceil(quantile n)."""
    return _ceil(jnp.asarray(quantile, float) * n)


def optuna_count(n: Int[Array, ""]) -> Int[Array, ""]:
    """min(ceil(n / 10), 25), Optuna's number of good rows."""
    return jnp.minimum(-(-jnp.asarray(n) // 10), 25)


def split_by_order(
    order: Int[Array, " n"], present: Bool[Array, " n"], counted: Bool[Array, " n"], count: Int[Array, ""]
) -> Bool[Array, " n"]:
    """All rows up to the ``count``-th one that counts.

    With every row counted these are the ``count`` best; with the feasible ones it is c-TPE's split (arXiv
    2211.14411). With fewer of them everything present is good, as in the authors' code (the paper says so for
    none): the share is then 1 and the objective drops out of the score.

    Args:
        order: (n,) indices of the rows, best first.
        present: (n,) rows that exist.
        counted: (n,) rows that count.
        count: how many of them are good.
    """
    own = (counted & present)[order].astype(jnp.int32)
    before = jnp.zeros_like(own).at[order].set(jnp.cumsum(own) - own, unique_indices=True)
    return present & (before < count)


def constraint_split(
    value: Float[Array, " n"], present: Bool[Array, " n"], *, every_minimum: bool = False
) -> Bool[Array, " n"]:
    """The rows that satisfy one constraint, value <= 0; without any, the first row at the smallest value.

    Args:
        value: (n,) NaN where not measured: never good, and where nothing is measured nothing is.
        present: (n,) rows that exist.
        every_minimum: without a satisfied row take all rows at the smallest value, as c-TPE's main text says
            (arXiv 2211.14411; its appendix and the authors' code take one). In a discrete space the repeats
            of one configuration then outweigh everything else, and a run may never leave it.
    """
    known = present & ~jnp.isnan(value)
    satisfied = known & (value <= 0)
    lowest = known & (value == jnp.min(jnp.where(known, value, jnp.inf)))
    if not every_minimum:
        lowest &= jnp.arange(len(value)) == jnp.argmax(lowest)
    return jnp.where(satisfied.any(), satisfied, lowest)


def _ceil(x: Float[Array, ""]) -> Int[Array, ""]:
    # A product such as 0.07 * 100 may come out above the whole number that it is.
    return jnp.ceil(x * (1 - 4 * jnp.finfo(x.dtype).eps)).astype(jnp.int32)
