"""The contract of the bandwidth rules of mixture estimators, and what the rules share."""

import abc
import math
import re
from dataclasses import fields
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Shaped

from parzax._checks import flag, is_traced, vectors
from parzax.kernels.shapes import Scalar

if TYPE_CHECKING:
    from typing import ClassVar as AbstractClassVar
else:
    from equinox import AbstractClassVar

# The prior kernel is as wide as the range under every rule, in Optuna, Hyperopt and the authors' code alike.
PRIOR_SCALE = 1.0

NUMBER = (int, float, np.integer, np.floating)

# A numeric setting: a number, or an array that may be traced and vmapped over; (d,) for one per parameter.
Setting = Shaped[ArrayLike, "*d"]


class AbstractBandwidth(eqx.Module):
    """A rule that gives each kernel of one parameter, in one regime, its scale.

    Positions and scales live on the kernel axis: the range of the parameter has length 1. For a stepped
    parameter the range reaches half a step beyond both ends, so that a domain of m values has steps of
    1/m. The prior kernel's scale is ``PRIOR_SCALE`` whatever the rule.

    A rule is a pytree: its numeric settings are leaves, so that they can be traced and another array does
    not compile again; its switches are static. A setting is one number for all parameters, or an array (d,)
    with one for each parameter of the space, in its order (those of categories do not count). To vmap over a
    setting, make the rule inside. Your own rule defines ``one_scale``, `smallest` and `scales`
    (`tests/extending/test_bandwidth.py`).

    Attributes:
        one_scale: whether all kernels of a parameter have the same scale.
    """

    one_scale: AbstractClassVar[bool]

    def __call__(
        self,
        position: Float[Array, " n"],
        weight: Shaped[Array, " n"],
        *,
        prior_position: float | Scalar | None = 0.5,
        n_parameters: int | Int[Array, ""] = 1,
        n_values: int | Int[Array, ""] | None = None,
        order: Int[Array, " n"] | None = None,
    ) -> Float[Array, " n"]:
        """Scales of the kernels.

        Args:
            position: (n,) centres on the kernel axis, in [0, 1]; arbitrary in absent rows.
            weight: (n,) how often each row was seen, or a mask; 0 or False where the row is absent, and
                negative and NaN weights count as 0. Mixture weights, such as those by age, do not belong
                here.
            prior_position: centre of the prior kernel; None where the mixture has none.
            n_parameters: D, parameters of the product kernel.
            n_values: values of a discrete domain; None or 0 for a continuous one.
            order: (n,) indices of the rows by position, absent ones anywhere; None to have them sorted.

        Returns:
            (n,) positive finite scales in units of the range and in the dtype of ``position``, in absent
            rows too. jit- and vmap-able, with finite gradients.

        Raises:
            ValueError: arrays that are not vectors of one length; a setting for each parameter, which only
                estimators and samplers take.
        """
        vectors(position=position, weight=weight)
        for leaf in jax.tree.leaves(self):
            if jnp.ndim(leaf):
                raise ValueError(
                    f"{_public_name(self)}: a setting has shape {jnp.shape(leaf)}, but one parameter has one "
                    "number; ParzenEstimator.fit and samplers take one for each parameter."
                )
        dtype = position.dtype
        frequency = weight.astype(dtype)
        present = frequency > 0
        if prior_position is not None:
            prior_position = jnp.asarray(prior_position, dtype)
        scale = self.scales(
            # Made finite, so that whatever stands in absent rows reaches no gradient.
            jnp.where(present, position, 0),
            jnp.where(present, frequency, 0),
            prior_position,
            jnp.asarray(n_parameters, dtype),
            None if n_values is None else jnp.asarray(n_values, dtype),
            order,
        )
        return jnp.broadcast_to(scale, position.shape).astype(dtype)

    @property
    @abc.abstractmethod
    def smallest(self) -> float | None:
        """Lower bound on the scales of continuous parameters; None where it is unknown, as in a traced rule.

        It decides how densities are evaluated, see `parzax.parzen.forms`.
        """

    @abc.abstractmethod
    def scales(
        self,
        position: Float[Array, " n"],
        frequency: Float[Array, " n"],
        prior_position: Scalar | None,
        n_parameters: Scalar,
        n_values: Scalar | None,
        order: Int[Array, " n"] | None,
    ) -> Float[Array, "*#n"]:
        """The rule, on rows whose positions and frequencies are 0 where absent; one scale or (n,)."""


class AbstractClipped(AbstractBandwidth):
    """A rule whose scales are kept within clips."""

    minimum: eqx.AbstractVar[Setting]  # smallest scale
    maximum: eqx.AbstractVar[Setting]  # largest scale
    # The smallest scale of a discrete parameter, in steps; None for the minimum.
    discrete_minimum: eqx.AbstractVar[Setting | None]
    consider_magic_clip: eqx.AbstractVar[bool]  # whether the magic clip raises both; static

    def __check_init__(self) -> None:
        check_settings(self)

    @property
    def smallest(self) -> float | None:
        low, high = self.minimum, self.maximum
        if not (isinstance(low, NUMBER) and isinstance(high, NUMBER)):
            return None
        return float(min(max(low, 0.01) if self.consider_magic_clip else low, high))

    def lower(self, size: Scalar, prior_position: Scalar | None, n_values: Scalar | None) -> Scalar:
        """The lower clip, for rows of total weight ``size``."""
        lower = jnp.asarray(self.minimum, size.dtype)
        if n_values is not None and self.discrete_minimum is not None:
            steps = jnp.asarray(self.discrete_minimum, size.dtype) / jnp.maximum(n_values, 1)
            lower = jnp.where(n_values > 0, steps, lower)
        if self.consider_magic_clip:
            # Bergstra's magic clip, the prior kernel counted.
            kernels = size + int(prior_position is not None)
            lower = jnp.maximum(lower, 1 / jnp.minimum(100, 1 + kernels))
        return lower

    def clipped(self, scale: Float[Array, "*n"], lower: Scalar) -> Float[Array, "*n"]:
        """Scales within the clips; as in numpy.clip, the upper one wins where it lies below the lower."""
        return jnp.minimum(jnp.maximum(scale, lower), jnp.asarray(self.maximum, scale.dtype))


def check_settings(rule: AbstractBandwidth) -> None:
    """Raise unless settings whose values are known are positive and minimum <= maximum.

    Traced settings pass. Static settings are switches.
    """
    name, settings = _public_name(rule), {}
    for field in fields(rule):
        label, value = f"{name}: {field.name}", getattr(rule, field.name)
        if field.metadata.get("static"):
            flag(label, value)
            continue
        if isinstance(value, (bool, str, bytes, list, tuple)):
            raise TypeError(f"{label} must be a number or an array with one per parameter, got {value!r}.")
        if isinstance(value, (*NUMBER, np.ndarray, jax.Array)) and not is_traced(value):
            settings[field.name] = value = np.asarray(value)
            if not ((value > 0) & (value < math.inf)).all():
                raise ValueError(f"{label} must be positive and finite, got {value.tolist()!r}.")
    low, high = settings.get("minimum", np.array(0.0)), settings.get("maximum", np.array(math.inf))
    if np.any(low > high):
        raise ValueError(f"{name}: minimum {low.tolist()!r} must not exceed maximum {high.tolist()!r}.")


def _public_name(rule: AbstractBandwidth) -> str:
    """``leave_one_out`` for `LeaveOneOut`."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", type(rule).__name__).lower()
