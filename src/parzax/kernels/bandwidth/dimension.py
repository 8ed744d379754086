"""Scott's exponent for the number of parameters, whatever the spread of the rows."""

from typing import final

import equinox as eqx
import jax.numpy as jnp

from parzax.kernels.bandwidth.rule import (
    Bandwidth,
    Setting,
    check_settings,
    clip,
    lower_clip,
    magic_clip,
    with_magic_clip,
)


@final
class Dimension(Bandwidth):
    """The dimension rule with its clips; made by ``dimension``."""

    magnitude: Setting
    minimum: Setting
    maximum: Setting
    discrete_minimum: Setting | None
    consider_magic_clip: bool = eqx.field(static=True)
    count_prior: bool = eqx.field(static=True)

    def _lowest(self):
        return with_magic_clip(self.minimum) if self.consider_magic_clip else self.minimum

    def _scale(self, position, frequency, prior_position, n_parameters, n_values, order):
        observed = frequency.sum()
        size = observed + (self.count_prior and prior_position is not None)
        scale = jnp.asarray(self.magnitude, position.dtype) * jnp.maximum(size, 1) ** (
            -1 / (n_parameters + 4)
        )
        lower = lower_clip(self.minimum, self.discrete_minimum, n_values, position.dtype)
        if self.consider_magic_clip:
            lower = jnp.maximum(lower, magic_clip(observed, prior_position))
        return clip(scale, lower, self.maximum)


def dimension(
    magnitude: Setting = 0.2,
    minimum: Setting = 1e-12,
    maximum: Setting = 1.0,
    *,
    discrete_minimum: Setting | None = None,
    consider_magic_clip: bool = True,
    count_prior: bool = False,
) -> Dimension:
    """magnitude * max(n, 1)^(-1 / (D + 4)), clipped: one scale for all rows and parameters.

    The defaults are those of Optuna 2.2 to 4 with ``multivariate=True``, which Optuna 5 replaced by
    ``neighbours``. n is the total weight, so a row of weight w equals w rows.

    Args:
        magnitude: scale of a single row, in units of the range.
        minimum: smallest scale without the magic clip, in units of the range.
        maximum: largest scale, in units of the range.
        discrete_minimum: smallest scale of a discrete parameter, in steps; None: no other than
            ``minimum``.
        consider_magic_clip: no scale below 1 / min(100, n + 2), or n + 1 without a prior kernel.
        count_prior: n counts the prior kernel. With 0.01 and 0.5 as clips, ``discrete_minimum`` 1 and
            no magic clip, this is the "optuna" heuristic of the authors' parzen-estimator (which takes
            the range without the outer half steps).

    Returns:
        A rule; see ``Bandwidth`` for how it is called.

    Raises:
        ValueError: a setting that is not positive, or minimum > maximum.

    >>> import jax.numpy as jnp
    >>> print(f"{dimension()(jnp.zeros(100), jnp.ones(100), n_parameters=6)[0]:.4f}")
    0.1262
    """
    check_settings(
        "dimension",
        magnitude=magnitude,
        minimum=minimum,
        maximum=maximum,
        discrete_minimum=discrete_minimum,
    )
    return Dimension(magnitude, minimum, maximum, discrete_minimum, consider_magic_clip, count_prior)
