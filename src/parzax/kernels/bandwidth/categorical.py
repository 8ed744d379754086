"""Bandwidth rules for categorical kernels: a fixed bandwidth, and Optuna's rule."""

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
    """Check that a number or array (d,) lies in (0, 1]. JAX arrays, which may be traced, are not checked."""
    top = _checks.plain(top)
    if isinstance(top, bool) or not isinstance(top, (int, float, np.ndarray, jax.Array)):
        raise TypeError(f"top must be a number or parzax.bandwidth.OptunaTop(), got {top!r}.")
    if not isinstance(top, jax.Array) and not np.all((top > 0) & (top <= 1)):
        raise ValueError(f"top must lie in (0, 1], got {top!r}.")
    return top


class CategoricalBandwidth(eqx.Module):
    """A rule for the bandwidth of a categorical kernel: the probability of all other categories."""

    @abc.abstractmethod
    def __call__(self, n_kernels: Scalar, prior_weight: Scalar, n_choices: Count) -> Scalar:
        """Bandwidth in [0, 1] for ``n_kernels`` kernels, the prior included, and C = ``n_choices``."""


@final
class FixedTop(CategoricalBandwidth):
    """The papers' rule: every kernel gives its category the probability ``top``.

    c-TPE uses 0.8, meta-learning TPE uses 0.9.

    ``top`` is one number for all parameters, or an array (d,) with one number per parameter of the space; the
    entries of numeric parameters are ignored.

    Raises:
        TypeError: ``top`` is neither a number nor an array.
        ValueError: ``top`` is outside (0, 1].
    """

    top: Float[ArrayLike, "*d"] = eqx.field(default=0.8, converter=_probability)

    def __call__(self, n_kernels: Scalar, prior_weight: Scalar, n_choices: Count) -> Scalar:
        """The bandwidth 1 - top. A traced ``top`` outside [0, 1] is clipped."""
        return 1 - jnp.clip(jnp.asarray(self.top, n_kernels.dtype), 0, 1)


@final
class OptunaTop(CategoricalBandwidth):
    """Optuna 5's rule, for n kernels and C choices.

    Before normalisation each category has weight prior_weight / n, and the kernel's category has 1 more.
    """

    def __call__(self, n_kernels: Scalar, prior_weight: Scalar, n_choices: Count) -> Scalar:
        """(C - 1) a / (1 + C a) with a = prior_weight / n."""
        share, n = prior_weight / n_kernels, n_choices.astype(n_kernels.dtype)
        return (n - 1) * share / (1 + n * share)


def as_categorical_bandwidth(given: Any) -> CategoricalBandwidth:
    """The given rule, or `FixedTop` of a given number; TypeError or ValueError for anything else."""
    return given if isinstance(given, CategoricalBandwidth) else FixedTop(given)
