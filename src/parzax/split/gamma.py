"""Gamma rules: how many of N rows fall into the group below (arXiv 2304.11127)."""

import abc
import math
from typing import Any, final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from parzax import _checks


class AbstractGamma(eqx.Module):
    """A rule for the number of rows below, N^(l) = ceil(gamma(N) N)."""

    @abc.abstractmethod
    def __call__(self, n: Int[Array, ""]) -> Int[Array, ""]:
        """Number of rows below among n."""

    @abc.abstractmethod
    def most(self, n: int) -> int:
        """A bound on the number of rows below among up to n; n itself where none is known."""


@final
class Linear(AbstractGamma):
    """ceil(beta N), or floor(beta N) of one row or more; made by `linear`."""

    beta: float | Float[Array, ""]
    down: bool = eqx.field(static=True, default=False)

    def __call__(self, n: Int[Array, ""]) -> Int[Array, ""]:
        share = jnp.asarray(self.beta, float) * n.astype(float)
        if self.down:
            return jnp.minimum(jnp.maximum(_floor(share), 1), n.astype(jnp.int32))
        return _ceil(share)

    def most(self, n: int) -> int:
        return math.ceil(self.beta * n) if isinstance(self.beta, (int, float)) else n


@final
class Sqrt(AbstractGamma):
    """ceil(beta sqrt(N)); made by `sqrt`."""

    beta: float | Float[Array, ""]

    def __call__(self, n: Int[Array, ""]) -> Int[Array, ""]:
        below = _ceil(jnp.asarray(self.beta, float) * jnp.sqrt(n.astype(float)))
        return jnp.minimum(below, n.astype(jnp.int32))

    def most(self, n: int) -> int:
        return min(math.ceil(self.beta * math.sqrt(n)), n) if isinstance(self.beta, (int, float)) else n


@final
class Optuna(AbstractGamma):
    """min(ceil(N / 10), 25), Optuna's; made by `optuna`."""

    def __call__(self, n: Int[Array, ""]) -> Int[Array, ""]:
        return jnp.minimum(-(-n // 10), 25).astype(jnp.int32)

    def most(self, n: int) -> int:
        return min(n, 25)


def linear(beta: Float[ArrayLike, ""] = 0.1, *, down: bool = False) -> Linear:
    """gamma(N) = beta: a fixed share of the rows, as in meta-learning TPE.

    ``beta`` lies in (0, 1], or TypeError or ValueError is raised; it may be traced. ``down`` rounds down, as
    the papers print it, but to no less than one row; the authors' code rounds up, and so does the default.

    >>> import jax.numpy as jnp
    >>> int(linear(0.07)(jnp.array(100)))
    7
    >>> [int(linear(0.1, down=down)(jnp.array(25))) for down in (False, True)]
    [3, 2]
    """
    return Linear(_beta(beta, 1.0), _checks.flag("down", down))


def sqrt(beta: Float[ArrayLike, ""] = 0.25) -> Sqrt:
    """gamma(N) = beta / sqrt(N): the smaller a share, the more rows there are, as in Hyperopt and c-TPE.

    ``beta`` lies above 0, or TypeError or ValueError is raised; it may be traced.

    >>> import jax.numpy as jnp
    >>> int(sqrt()(jnp.array(100)))
    3
    """
    return Sqrt(_beta(beta, math.inf))


def optuna() -> Optuna:
    """A tenth of the rows, 25 at most."""
    return Optuna()


def _beta(beta: Any, largest: float) -> float | Float[Array, ""]:
    beta = _checks.plain(beta)
    value = _checks.scalar("beta", beta)
    if value is not None and not 0 < value <= largest:
        limits = "in (0, 1]" if largest == 1 else "above 0"
        raise ValueError(f"beta must lie {limits}, got {beta!r}.")
    return beta


def _floor(x: Float[Array, ""]) -> Int[Array, ""]:
    return jnp.floor(x * (1 + 4 * float(jnp.finfo(x.dtype).eps))).astype(jnp.int32)


def _ceil(x: Float[Array, ""]) -> Int[Array, ""]:
    # A product such as 0.07 * 100 may come out above the whole number that it is.
    return jnp.ceil(x * (1 - 4 * float(jnp.finfo(x.dtype).eps))).astype(jnp.int32)
