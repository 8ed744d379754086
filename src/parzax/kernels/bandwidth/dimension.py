"""Rules that ignore where the rows are: a constant scale, and a power of the number of rows."""

from dataclasses import KW_ONLY
from typing import ClassVar, final

import equinox as eqx
import jax.numpy as jnp

from parzax.kernels.bandwidth.rule import NUMBER, AbstractBandwidth, AbstractClipped, Setting, check_settings


@final
class Constant(AbstractBandwidth):
    """The same scale for every kernel; it does not depend on the rows and is not clipped.

    Attributes:
        scale: positive, in units of the range that the parameter has in its regime; one number, or an array
            (d,) with one number per parameter of the space.

    >>> import jax.numpy as jnp, parzax as px
    >>> print(px.bandwidth.Constant(0.1)(jnp.array([0.3, 0.9]), jnp.ones(2)))
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

    n is the total weight, so a row of weight w equals w rows. D is the number of parameters. The defaults
    are those of Optuna 2.2 to 4 with ``multivariate=True``; Optuna 5 uses `Neighbours` instead.

    Attributes:
        minimum, maximum, discrete_minimum, consider_magic_clip: see `AbstractClipped`.
        magnitude: scale of a single row, in units of the range.
        count_prior: whether n counts the prior kernel. With True, clips 0.01 and 0.5, ``discrete_minimum`` 1
            and no magic clip, the rule is the "optuna" heuristic of the authors' package parzen-estimator,
            except that the range in that package leaves out the outer half steps.

    >>> import jax.numpy as jnp, parzax as px
    >>> print(f"{px.bandwidth.Dimension()(jnp.zeros(100), jnp.ones(100), n_parameters=6)[0]:.4f}")
    0.1262
    """

    one_scale: ClassVar[bool] = True
    _: KW_ONLY
    magnitude: Setting = 0.2
    count_prior: bool = eqx.field(static=True, default=False)

    def scales(self, position, frequency, prior_position, n_parameters, n_values, order):
        observed = frequency.sum()
        size = jnp.maximum(observed + int(self.count_prior and prior_position is not None), 1)
        scale = jnp.asarray(self.magnitude, position.dtype) * size ** (-1 / (n_parameters + 4))
        return self.clipped(scale, self.lower(observed, prior_position, n_values))
