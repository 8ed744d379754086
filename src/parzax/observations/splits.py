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


def order_of(loss: Float[Array, " n"], present: Bool[Array, " n"]) -> Int[Array, " n"]:
    """Indices of the rows by loss, lowest first; pending rows (NaN) after all others, absent ones last.

    Equal losses keep the order of the rows.
    """
    last = jnp.where(present, jnp.where(jnp.isnan(loss), 1, 0), 2)
    return jnp.lexsort((jnp.where(last == 0, loss, 0), last))


def positions(order: Int[Array, " n"]) -> Int[Array, " n"]:
    """Place of each row in ``order``."""
    return jnp.zeros_like(order).at[order].set(jnp.arange(len(order), dtype=order.dtype), unique_indices=True)


def top_split(
    position: Int[Array, " n"], present: Bool[Array, " n"], count: Int[Array, ""]
) -> Bool[Array, " n"]:
    """The ``count`` first rows.

    Args:
        position: (n,) place of each row by loss (or by rank), see `positions`.
        present: (n,) rows that exist.
        count: how many are good.
    """
    return present & (position < count)


def feasible_split(
    position: Int[Array, " n"],
    present: Bool[Array, " n"],
    feasible: Bool[Array, " n"],
    count: Int[Array, ""],
) -> Bool[Array, " n"]:
    """All rows up to the ``count``-th feasible one, in order of loss (c-TPE, arXiv 2211.14411).

    With fewer feasible rows everything present is good, as in the authors' code (the paper says so for none):
    the share is then 1 and the objective drops out of the score.
    """
    usable = feasible & present
    by_place = jnp.zeros(len(position) + 1, jnp.int32).at[position].set(usable.astype(jnp.int32))[:-1]
    found = jnp.cumsum(by_place)
    # The place of the count-th feasible row; beyond the end where there are fewer.
    cut = jnp.sum(found < count)
    return present & ((position <= cut) | (usable.sum() < count))


def constraint_split(value: Float[Array, " n"], present: Bool[Array, " n"]) -> Bool[Array, " n"]:
    """The rows that satisfy one constraint, value <= 0; without any, all rows at the smallest value.

    The rule for none satisfied is the paper's main text (its code takes one of the minima, its appendix too);
    NaN (not measured) is never good, and where nothing is measured nothing is.
    """
    known = present & ~jnp.isnan(value)
    satisfied = known & (value <= 0)
    lowest = jnp.min(jnp.where(known, value, jnp.inf))
    return jnp.where(satisfied.any(), satisfied, known & (value == lowest))


def _ceil(x: Float[Array, ""]) -> Int[Array, ""]:
    # A product such as 0.07 * 100 may come out above the whole number that it is.
    return jnp.ceil(x * (1 - 4 * jnp.finfo(x.dtype).eps)).astype(jnp.int32)
