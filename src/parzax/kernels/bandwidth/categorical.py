"""Rules for the bandwidth of categorical kernels: a fixed one, and Optuna's."""

import abc
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from parzax import _checks
from parzax.kernels.shapes import Count, Scalar


def _probability(top: Any) -> Any:
    """A number in (0, 1], or an array (d,) of such; an array of JAX, which may be traced, as it is."""
    top = _checks.plain(top)
    if isinstance(top, bool) or not isinstance(top, (int, float, np.ndarray, jax.Array)):
        raise TypeError(f"top must be a number or parzax.bandwidth.optuna_top(), got {top!r}.")
    if not isinstance(top, jax.Array) and not np.all((top > 0) & (top <= 1)):
        raise ValueError(f"top must lie in (0, 1], got {top!r}.")
    return top


class CategoricalBandwidth(eqx.Module):
    """A rule for the bandwidth of a categorical kernel: the probability of all other categories."""

    @abc.abstractmethod
    def __call__(self, n_kernels: Scalar, prior_weight: Scalar, n_choices: Count) -> Scalar:
        """Bandwidth in [0, 1], for that many kernels (the prior counted as one) and choices C."""


@final
class FixedTop(CategoricalBandwidth):
    """The papers' rule: every kernel gives its own category ``top`` (0.8 in c-TPE, 0.9 in meta-learning TPE).

    A number for all parameters, or an array (d,) with one for each parameter of the space (those of numbers
    do not count).

    Raises:
        TypeError, ValueError: for what is no number in (0, 1].
    """

    top: Float[ArrayLike, "*d"] = eqx.field(default=0.8, converter=_probability)

    def __call__(self, n_kernels: Scalar, prior_weight: Scalar, n_choices: Count) -> Scalar:
        """1 - top; a traced top outside [0, 1] counts as the nearer end."""
        return 1 - jnp.clip(jnp.asarray(self.top, n_kernels.dtype), 0, 1)


@final
class OptunaTop(CategoricalBandwidth):
    """Optuna 5's rule: each category gets prior_weight / n and the own one 1 more, normalised.

    n is the number of kernels.
    """

    def __call__(self, n_kernels: Scalar, prior_weight: Scalar, n_choices: Count) -> Scalar:
        """(C - 1) a / (1 + C a), a = prior_weight / n."""
        share, n = prior_weight / n_kernels, n_choices.astype(n_kernels.dtype)
        return (n - 1) * share / (1 + n * share)


def as_categorical_bandwidth(given: Any) -> CategoricalBandwidth:
    """A rule, or a number as a `FixedTop`; TypeError or ValueError for neither."""
    return given if isinstance(given, CategoricalBandwidth) else FixedTop(given)
