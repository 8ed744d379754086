"""The rule of a constant scale."""

from typing import ClassVar, final

import jax.numpy as jnp

from parzax.kernels.bandwidth.rule import NUMBER, AbstractBandwidth, Setting, check_settings


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
