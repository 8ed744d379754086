"""The normal reference rule, which the texts of the TPE papers name."""

from typing import final

import jax.numpy as jnp

from parzax._numerics import divisor
from parzax.kernels.bandwidth.rule import AbstractOneScale
from parzax.kernels.bandwidth.scott import deviation


@final
class NormalReference(AbstractOneScale):
    """The normal reference rule: 1.06 sd n^(-1/(D + 4)), clipped, with sd of the rows (ddof 0).

    n is the total weight of the rows, without the prior's centre, and D the number of parameters. It is the
    rule "normal_reference" of statsmodels, which BOHB uses (Falkner et al. 2018) and which the texts of c-TPE
    and meta-learning TPE name; their code has `Scott`.

    Attributes:
        minimum, maximum, discrete_minimum, consider_magic_clip: see `AbstractClipped`.

    >>> import jax.numpy as jnp, parzax as px
    >>> x = jnp.array([0.1, 0.4, 0.6, 0.7])
    >>> print(px.bandwidth.NormalReference()(x, jnp.ones(4), n_parameters=2).round(3))
    [0.193 0.193 0.193 0.193]
    """

    def scales(self, position, frequency, prior_position, n_parameters, n_values, order):
        size = divisor(frequency.sum())
        # `deviation` has ddof 1.
        spread = deviation(position, frequency) * jnp.sqrt(jnp.maximum(size - 1, 0) / size)
        width = 1.06 * spread * size ** (-1 / (n_parameters + 4))
        return self.clipped(width, self.lower(size, prior_position, n_values))
