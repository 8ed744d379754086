"""Scales that do not look where the rows are: a constant, and Scott's exponent for their number."""

from dataclasses import KW_ONLY
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp

from parzax.kernels.bandwidth.rule import NUMBER, AbstractBandwidth, AbstractClipped, Setting, check_settings


@final
class Constant(AbstractBandwidth):
    """A scale that does not depend on the rows, unclipped.

    Attributes:
        scale: positive, in units of the range, of the parameter's own regime; one number, or an array (d,)
            with one for each parameter of the space.

    >>> import jax.numpy as jnp, parzax as px
    >>> print(px.bandwidth.constant(0.1)(jnp.array([0.3, 0.9]), jnp.ones(2)))
    [0.1 0.1]
    """

    one_scale: ClassVar[bool] = True
    scale: Setting

    def __check_init__(self) -> None:
        check_settings(self)

    @property
    def smallest(self) -> float | None:
        return float(self.scale) if isinstance(self.scale, NUMBER) else None

    def scales(self, position, frequency, prior_position, n_parameters, n_values, order):
        return jnp.asarray(self.scale, position.dtype)


@final
class Dimension(AbstractClipped):
    """magnitude * max(n, 1)^(-1 / (D + 4)), clipped: one scale for all rows and parameters.

    The defaults are those of Optuna 2.2 to 4 with ``multivariate=True``, which Optuna 5 replaced by
    ``neighbours``. n is the total weight, so a row of weight w equals w rows.

    Attributes:
        magnitude: scale of a single row, in units of the range.
        minimum, maximum: smallest scale without the magic clip and largest one, in units of the
            range; ValueError unless 0 < minimum <= maximum.
        discrete_minimum: smallest scale of a discrete parameter, in steps; None: ``minimum`` serves both.
        consider_magic_clip: no scale below 1 / min(100, n + 2), or n + 1 without a prior kernel.
        count_prior: n counts the prior kernel. With 0.01 and 0.5 as clips, ``discrete_minimum`` 1 and
            no magic clip, this is the "optuna" heuristic of the authors' parzen-estimator (which takes
            the range without the outer half steps).

    >>> import jax.numpy as jnp, parzax as px
    >>> print(f"{px.bandwidth.dimension()(jnp.zeros(100), jnp.ones(100), n_parameters=6)[0]:.4f}")
    0.1262
    """

    one_scale: ClassVar[bool] = True
    magnitude: Setting = 0.2
    minimum: Setting = 1e-12
    maximum: Setting = 1.0
    _: KW_ONLY
    discrete_minimum: Setting | None = None
    consider_magic_clip: bool = eqx.field(static=True, default=True)
    count_prior: bool = eqx.field(static=True, default=False)

    def scales(self, position, frequency, prior_position, n_parameters, n_values, order):
        observed = frequency.sum()
        size = jnp.maximum(observed + int(self.count_prior and prior_position is not None), 1)
        scale = jnp.asarray(self.magnitude, position.dtype) * size ** (-1 / (n_parameters + 4))
        return self.clipped(scale, self.lower(observed, prior_position, n_values))
