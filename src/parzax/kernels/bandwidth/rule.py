"""What every bandwidth rule of a mixture estimator is, and what the rules share."""

import abc
import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, Int, Shaped

from parzax._checks import vectors

# Scott's constant (4/3)^(1/5), as the papers round it.
SCOTT = 1.059
# A normal's interquartile range in standard deviations.
IQR_OF_NORMAL = 1.34
# The prior kernel is as wide as the range under every rule, in Optuna, Hyperopt and the authors' code alike.
PRIOR_SCALE = 1.0

_NUMBER = (int, float, np.integer, np.floating)

# A numeric setting: a number, or an array that may be traced and vmapped over.
Setting = float | Shaped[Array, ""]


class Bandwidth(eqx.Module):
    """A rule that gives each kernel of one parameter, in one regime, its scale.

    Positions and scales live on the kernel axis: the range of the parameter has length 1. For a stepped
    parameter the range reaches half a step beyond both ends, so that a domain of m values has steps of
    1/m. The prior kernel's scale is ``PRIOR_SCALE`` whatever the rule.

    ``one_scale`` says whether all kernels of a parameter have the same one.

    A rule is a pytree: its numeric settings are leaves, so that they can be traced and another array does
    not compile again; its switches are static. To vmap over a setting, make the rule inside.
    """

    one_scale: ClassVar[bool] = True

    def __call__(
        self,
        position: Float[Array, " n"],
        weight: Shaped[Array, " n"],
        *,
        prior_position: float | Float[Array, ""] | None = 0.5,
        n_parameters: int | Int[Array, ""] = 1,
        n_values: int | Int[Array, ""] | None = None,
        order: Int[Array, " n"] | None = None,
    ) -> Float[Array, " n"]:
        """Scales of the kernels.

        Args:
            position: (n,) centres on the kernel axis, in [0, 1]; arbitrary in absent rows.
            weight: (n,) how often each row was seen, or a mask; 0 or False where the row is absent (as
                negative and NaN weights are taken to say). Mixture weights, such as those by age, do not
                belong here.
            prior_position: centre of the prior kernel; None where the mixture has none.
            n_parameters: D, parameters of the product kernel.
            n_values: values of a discrete domain; None or 0 for a continuous one.
            order: (n,) indices of the rows by position, absent ones anywhere; None to have them sorted.

        Returns:
            (n,) positive finite scales in units of the range and in the dtype of ``position``, in absent
            rows too. jit- and vmap-able, with finite gradients.

        Raises:
            ValueError: arrays that are not vectors of one length, a setting that is not a single number.
        """
        vectors(position=position, weight=weight)
        for leaf in jax.tree.leaves(self):
            if jnp.ndim(leaf):
                raise ValueError(
                    f"{type(self).__name__.lower()}: a setting has shape {jnp.shape(leaf)}, but all "
                    "parameters share one number; use jax.vmap to go over several."
                )
        dtype = position.dtype
        frequency = weight.astype(dtype)
        present = frequency > 0
        if prior_position is not None:
            prior_position = jnp.asarray(prior_position, dtype)
        scale = self._scale(
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
    def smallest(self) -> float | None:
        """No scale of a continuous parameter is below this; None where a setting is traced."""
        lower, upper = self._lowest(), getattr(self, "maximum", math.inf)
        known = isinstance(lower, _NUMBER) and isinstance(upper, _NUMBER)
        return float(min(lower, upper)) if known else None

    def _lowest(self) -> Any:
        return getattr(self, "minimum", None)

    @abc.abstractmethod
    def _scale(
        self,
        position: Float[Array, " n"],
        frequency: Float[Array, " n"],
        prior_position: Float[Array, ""] | None,
        n_parameters: Float[Array, ""],
        n_values: Float[Array, ""] | None,
        order: Int[Array, " n"] | None,
    ) -> Float[Array, "*#n"]:
        """The rule, on rows whose positions and frequencies are 0 where absent; one scale or (n,)."""


def with_prior(
    position: Float[Array, " n"], frequency: Float[Array, " n"], prior_position: Float[Array, ""] | None
) -> tuple[Float[Array, " m"], Float[Array, " m"]]:
    """Rows with the prior's centre in front, as a row seen once."""
    if prior_position is None:
        return position, frequency
    centre = prior_position[None]
    return jnp.concatenate([centre, position]), jnp.concatenate([jnp.ones_like(centre), frequency])


def lower_clip(
    minimum: Setting, discrete_minimum: Setting | None, n_values: Float[Array, ""] | None, dtype: Any
) -> Float[Array, ""]:
    """``minimum``, or ``discrete_minimum`` steps where the domain is discrete."""
    lower = jnp.asarray(minimum, dtype)
    if n_values is None or discrete_minimum is None:
        return lower
    steps = jnp.asarray(discrete_minimum, dtype) / jnp.maximum(n_values, 1)
    return jnp.where(n_values > 0, steps, lower)


def magic_clip(size: Float[Array, ""], prior_position: Float[Array, ""] | None) -> Float[Array, ""]:
    """Bergstra's magic clip 1 / min(100, 1 + kernels), the prior kernel counted."""
    kernels = size + (prior_position is not None)
    return 1 / jnp.minimum(100, 1 + kernels)


def with_magic_clip(minimum: Setting) -> Any:
    """The lower clip where the magic clip is at its smallest."""
    return max(minimum, 0.01) if isinstance(minimum, _NUMBER) else minimum


def clip(scale: Float[Array, "..."], lower: Float[Array, ""], upper: Setting) -> Float[Array, "..."]:
    """Scales within the clips; as in numpy.clip, the upper one wins where it lies below the lower."""
    return jnp.minimum(jnp.maximum(scale, lower), jnp.asarray(upper, scale.dtype))


def check_settings(rule: str, **settings: Any) -> None:
    """Raise unless the settings whose values are known are positive and minimum <= maximum.

    Traced settings pass, and so do batches.
    """
    settings = {name: _known(value) for name, value in settings.items()}
    for name, value in settings.items():
        if isinstance(value, (bool, str, bytes)):
            raise TypeError(f"{rule}: {name} must be a number, got {value!r}.")
        if isinstance(value, _NUMBER) and not 0 < value < math.inf:
            raise ValueError(f"{rule}: {name} must be positive and finite, got {value!r}.")
    low, high = settings.get("minimum"), settings.get("maximum")
    if isinstance(low, _NUMBER) and isinstance(high, _NUMBER) and low > high:
        raise ValueError(f"{rule}: minimum {low!r} must not exceed maximum {high!r}.")


def _known(setting: Any) -> Any:
    """The number in an array that holds one and is not traced."""
    array = isinstance(setting, (np.ndarray, jax.Array)) and not isinstance(setting, Tracer)
    return setting.item() if array and setting.ndim == 0 else setting
