"""Hyperopt's rule: neighbour distances with the prior's centre among the neighbours."""

from typing import ClassVar, final

import jax.numpy as jnp

from parzax.kernels.bandwidth.neighbours import neighbour_distance
from parzax.kernels.bandwidth.rule import (
    Bandwidth,
    Setting,
    check_settings,
    clip,
    magic_clip,
    with_magic_clip,
    with_prior,
)


@final
class Hyperopt(Bandwidth):
    """Hyperopt's distances with their clips; made by ``hyperopt``."""

    one_scale: ClassVar[bool] = False
    minimum: Setting
    maximum: Setting

    def _lowest(self):
        return with_magic_clip(self.minimum)

    def _scale(self, position, frequency, prior_position, n_parameters, n_values, order):
        # The prior comes first: among equal rows Hyperopt inserts it in front.
        rows, present = with_prior(position, frequency, prior_position)
        distance = neighbour_distance(rows, present > 0, endpoints=False)[-position.shape[0] :]
        # A single observation gets half the prior's scale, wherever it lies.
        distance = jnp.where((frequency > 0).sum() > 1, distance, 0.5)
        lower = jnp.asarray(self.minimum, position.dtype)
        lower = jnp.maximum(lower, magic_clip(frequency.sum(), prior_position))
        return clip(distance, lower, self.maximum)


def hyperopt(minimum: Setting = 1e-12, maximum: Setting = 1.0) -> Hyperopt:
    """Hyperopt's bandwidths (Bergstra et al. 2011; ``adaptive_parzen_normal`` of hyperopt 0.3).

    sigma_(i) = max(x_(i) - x_(i-1), x_(i+1) - x_(i)) over the sorted rows and the prior's centre, which
    comes first among equals; the outermost ones reach to their only neighbour. A single observation has
    0.5. Then clipped to [1 / min(100, n + 2), 1]. Quantised parameters are treated alike.

    Rows are neighbours whatever their weight, and n is the total weight; see ``neighbours``.

    Args:
        minimum: smallest scale besides the magic clip, in units of the range.
        maximum: largest scale, in units of the range.

    Returns:
        A rule; see ``Bandwidth`` for how it is called.

    Raises:
        ValueError: a setting that is not positive, or minimum > maximum.

    >>> import jax.numpy as jnp
    >>> print(hyperopt()(jnp.array([0.1, 0.7, 0.9]), jnp.ones(3)).round(3))
    [0.4 0.2 0.2]
    """
    check_settings("hyperopt", minimum=minimum, maximum=maximum)
    return Hyperopt(minimum, maximum)
