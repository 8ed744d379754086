"""Gamma rules: the number of rows in the group below, out of N rows (arXiv 2304.11127)."""

import abc
import math
from functools import partial
from typing import final

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from parzax import _checks

_beta = partial(_checks.setting, "beta", above=0)


class AbstractGamma(eqx.Module):
    """A rule for the number of rows in the group below: N^(l) = ceil(gamma(N) N)."""

    @abc.abstractmethod
    def __call__(self, n: Int[Array, ""]) -> Int[Array, ""]:
        """Number of rows in the group below, out of n."""

    @abc.abstractmethod
    def most(self, n: int) -> int:
        """An upper bound on the number of rows below for up to n rows; n if no smaller bound is known."""


@final
class Linear(AbstractGamma):
    """gamma(N) = beta: a fixed share of the rows, as in meta-learning TPE.

    Attributes:
        beta: in (0, 1]; TypeError or ValueError otherwise. It may be traced.
        down: True rounds down, as the papers write, but to at least one row. False (the default) rounds up,
            as the authors' code does. Static.

    >>> import jax.numpy as jnp
    >>> int(Linear(0.07)(jnp.array(100)))
    7
    >>> [int(Linear(0.1, down=down)(jnp.array(25))) for down in (False, True)]
    [3, 2]
    """

    beta: float | Float[Array, ""] = eqx.field(default=0.1, converter=partial(_beta, most=1))
    down: bool = eqx.field(static=True, default=False, converter=partial(_checks.flag, "down"), kw_only=True)

    def __call__(self, n: Int[Array, ""]) -> Int[Array, ""]:
        share = jnp.asarray(self.beta, float) * n.astype(float)
        if self.down:
            below = jnp.floor(share * (1 + 4 * float(jnp.finfo(share.dtype).eps))).astype(jnp.int32)
            return jnp.minimum(jnp.maximum(below, 1), n.astype(jnp.int32))
        return _ceil(share)

    def most(self, n: int) -> int:
        return math.ceil(self.beta * n) if isinstance(self.beta, (int, float)) else n


@final
class Sqrt(AbstractGamma):
    """gamma(N) = beta / sqrt(N), as in Hyperopt and c-TPE: the share falls as the number of rows grows.

    ``beta`` must be above 0; TypeError or ValueError otherwise. It may be traced.

    >>> import jax.numpy as jnp
    >>> int(Sqrt()(jnp.array(100)))
    3
    """

    beta: float | Float[Array, ""] = eqx.field(default=0.25, converter=_beta)

    def __call__(self, n: Int[Array, ""]) -> Int[Array, ""]:
        below = _ceil(jnp.asarray(self.beta, float) * jnp.sqrt(n.astype(float)))
        return jnp.minimum(below, n.astype(jnp.int32))

    def most(self, n: int) -> int:
        return min(math.ceil(self.beta * math.sqrt(n)), n) if isinstance(self.beta, (int, float)) else n


@final
class Optuna(AbstractGamma):
    """Optuna's rule: a tenth of the rows, but at most 25."""

    def __call__(self, n: Int[Array, ""]) -> Int[Array, ""]:
        return jnp.minimum(-(-n // 10), 25).astype(jnp.int32)

    def most(self, n: int) -> int:
        return min(n, 25)


def _ceil(x: Float[Array, ""]) -> Int[Array, ""]:
    # A product such as 0.07 * 100 can be rounded to slightly more than an integer.
    return jnp.ceil(x * (1 - 4 * float(jnp.finfo(x.dtype).eps))).astype(jnp.int32)
