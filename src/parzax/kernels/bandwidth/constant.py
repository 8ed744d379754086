"""One scale, chosen beforehand."""

from typing import final

import jax.numpy as jnp

from parzax.kernels.bandwidth.rule import Bandwidth, Setting, check_settings


@final
class Constant(Bandwidth):
    """The same scale for every kernel; made by ``constant``."""

    scale: Setting

    def _lowest(self):
        return self.scale

    def _scale(self, position, frequency, prior_position, n_parameters, n_values, order):
        return jnp.asarray(self.scale, position.dtype)


def constant(scale: Setting) -> Constant:
    """A scale that does not depend on the rows, unclipped.

    Args:
        scale: in units of the range, of the parameter's own regime.

    Returns:
        A rule; see ``Bandwidth`` for how it is called.

    Raises:
        ValueError: a scale that is not positive.

    >>> import jax.numpy as jnp
    >>> print(constant(0.1)(jnp.array([0.3, 0.9]), jnp.ones(2)))
    [0.1 0.1]
    """
    check_settings("constant", scale=scale)
    return Constant(scale)
