"""Base classes of the bandwidth rules of mixture estimators."""

import abc
import math
from dataclasses import KW_ONLY, fields
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Shaped

from parzax._checks import flag, is_traced, vectors
from parzax.kernels.shapes import Scalar

NUMBER = (int, float, np.integer, np.floating)

# A numeric setting: a number, or an array, which may be traced or mapped over; (d,) has one per parameter.
Setting = Shaped[ArrayLike, "*d"]


class AbstractBandwidth(eqx.Module):
    """A rule for the scales of the kernels of one parameter in one regime.

    Positions and scales are on the kernel axis, where the range of the parameter has length 1. The range of a
    stepped parameter extends half a step beyond both ends, so a domain of m values has steps of 1/m. Rows on
    a circle are unrolled: it is cut where their variance is smallest, and their middle is at 1/2. On an open
    axis twice the rows' interquartile range stands for the range, around the middle of the quartiles. The
    prior kernel is as wide as the range under every rule, as in Optuna, Hyperopt and the authors' code.

    A rule is a pytree. Its numeric settings are leaves: they can be traced, and a new array does not cause a
    new compilation. Its switches are static. A setting is one number for all parameters, or an array (d,)
    with one number per parameter, in the order of the space; the entries of categorical parameters are
    ignored. To vmap over a setting, build the rule inside the mapped function. A new rule defines `scales`;
    `tests/extending/test_bandwidth.py` has an example.

    Attributes:
        one_scale: whether all kernels of a parameter have the same scale; False by default.
    """

    one_scale: ClassVar[bool] = False

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
            position: (n,) centres on the kernel axis, in [0, 1]; absent rows may hold any value.
            weight: (n,) how often each row was seen, or a mask; 0 or False marks an absent row, and negative
                and NaN weights count as 0. Mixture weights, for example by age, do not belong here.
            prior_position: centre of the prior kernel; None if the mixture has no prior kernel.
            n_parameters: D, the number of parameters of the product kernel.
            n_values: number of values of a discrete domain; None or 0 for a continuous domain.
            order: (n,) row indices sorted by position, with absent rows anywhere; None sorts the rows here.

        Returns:
            (n,) scales in units of the range, in the dtype of ``position``. They are positive and finite,
            also in absent rows. jit- and vmap-able, with finite gradients.

        Raises:
            ValueError: arrays that are not vectors of the same length; or a setting with one number per
                parameter, which only estimators and samplers accept.
        """
        vectors(position=position, weight=weight)
        for leaf in jax.tree.leaves(self):
            if jnp.ndim(leaf):
                problem = f"a setting has shape {jnp.shape(leaf)}, but a single parameter needs one number"
                remedy = "only ParzenEstimator.fit and samplers take one per parameter"
                raise ValueError(f"{type(self).__name__}: {problem}; {remedy}.")
        dtype = position.dtype
        frequency = weight.astype(dtype)
        present = frequency > 0
        if prior_position is not None:
            prior_position = jnp.asarray(prior_position, dtype)
        scale = self.scales(
            # Absent rows may hold NaN or inf; 0 keeps these out of the gradients.
            jnp.where(present, position, 0),
            jnp.where(present, frequency, 0),
            prior_position,
            jnp.asarray(n_parameters, dtype),
            None if n_values is None else jnp.asarray(n_values, dtype),
            order,
        )
        return jnp.broadcast_to(scale, position.shape).astype(dtype)

    @property
    def smallest(self) -> float | None:
        """Lower bound on the scales of continuous parameters; None if it is unknown, as in a traced rule.

        It decides how densities are evaluated, see `parzax.density.basis.loses_digits`.
        """
        return None

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
        """Scales of n rows, as one scale or (n,). Absent rows have position 0 and frequency 0."""


class AbstractClipped(AbstractBandwidth):
    """A rule whose scales are clipped to a smallest and a largest scale.

    Attributes:
        minimum, maximum: smallest scale (without the magic clip) and largest scale, in units of the range;
            ValueError unless 0 < minimum <= maximum.
        discrete_minimum: smallest scale of a discrete parameter, in steps; None uses ``minimum``.
        consider_magic_clip: keep every scale at or above 1 / min(100, n + 2); without a prior kernel,
            1 / min(100, n + 1).

    The defaults are Optuna's.
    """

    minimum: Setting = 1e-12
    maximum: Setting = 1.0
    _: KW_ONLY
    discrete_minimum: Setting | None = None
    consider_magic_clip: bool = eqx.field(static=True, default=True)

    @property
    def smallest(self) -> float | None:
        low, high = self.minimum, self.maximum
        if not (isinstance(low, NUMBER) and isinstance(high, NUMBER)):
            return None
        return float(min(max(low, 0.01) if self.consider_magic_clip else low, high))

    def __check_init__(self) -> None:
        check_settings(self)

    def lower(self, size: Scalar, prior_position: Scalar | None, n_values: Scalar | None) -> Scalar:
        """The smallest allowed scale for rows of total weight ``size``."""
        lower = jnp.asarray(self.minimum, size.dtype)
        if n_values is not None and self.discrete_minimum is not None:
            steps = jnp.asarray(self.discrete_minimum, size.dtype) / jnp.maximum(n_values, 1)
            lower = jnp.where(n_values > 0, steps, lower)
        if self.consider_magic_clip:
            # Bergstra's magic clip; the number of kernels includes the prior.
            kernels = size + int(prior_position is not None)
            lower = jnp.maximum(lower, 1 / jnp.minimum(100, 1 + kernels))
        return lower

    def clipped(self, scale: Float[Array, "*n"], lower: Scalar) -> Float[Array, "*n"]:
        """Clipped scales. If the upper clip is below the lower one, the upper clip wins, as in numpy.clip."""
        return jnp.minimum(jnp.maximum(scale, lower), jnp.asarray(self.maximum, scale.dtype))


class AbstractOneScale(AbstractClipped):
    """A clipped rule with one scale for all kernels of a parameter. The defaults are those of the papers."""

    one_scale: ClassVar[bool] = True
    minimum: Setting = 0.01
    maximum: Setting = 0.5
    _: KW_ONLY
    discrete_minimum: Setting | None = 1.0
    consider_magic_clip: bool = eqx.field(static=True, default=False)


def check_settings(rule: AbstractBandwidth) -> None:
    """Raise for a concrete setting out of range, and for a switch that is neither True nor False.

    Settings are positive and finite, and minimum <= maximum. Traced ones are not checked.
    """
    name, settings = type(rule).__name__, {}
    for field in fields(rule):
        label, value = f"{name}: {field.name}", getattr(rule, field.name)
        if field.metadata.get("static"):
            flag(label, value)
        elif isinstance(value, (bool, str, bytes, list, tuple)):
            raise TypeError(f"{label} must be a number or an array with one per parameter, got {value!r}.")
        elif isinstance(value, (*NUMBER, np.ndarray, jax.Array)) and not is_traced(value):
            settings[field.name] = value = np.asarray(value)
            if not ((value > 0) & (value < math.inf)).all():
                raise ValueError(f"{label} must be positive and finite, got {value.tolist()!r}.")
    low, high = settings.get("minimum", np.array(0.0)), settings.get("maximum", np.array(math.inf))
    if np.any(low > high):
        raise ValueError(f"{name}: minimum {low.tolist()!r} must not exceed maximum {high.tolist()!r}.")
