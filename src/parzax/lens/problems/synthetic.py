"""The activation problem of "Conditional PED-ANOVA" (arXiv 2601.20800), as random search in JAX.

Two numeric parameters are conditional on a third parameter, and the objective is the value of the active one.
It is known in advance which parameter matters at which level. The objective is minimised.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax.space import Between, Space
from parzax.space import Float as FloatDomain

Sample = tuple[Float[Array, "n d"], Float[Array, " n"]]


class SyntheticProblem(NamedTuple):
    """A search space and a random search on it.

    Attributes:
        name: name for titles and tables.
        space: the `parzax.Space` with d parameters.
        sample: ``sample(key, n)`` draws n configurations uniformly. It returns values (n, d) in native units,
            NaN where inactive, and objectives (n,), in JAX's default float type. It is pure, and n is static;
            use `jax.vmap` over keys for several seeds. ``n = 0`` gives empty arrays.
    """

    name: str
    space: Space
    sample: Callable[[PRNGKeyArray, int], Sample]


def activation(*, overlap: bool = False) -> SyntheticProblem:
    """c < 0.5 activates x, and f = x; otherwise y is active, and f = y (arXiv 2601.20800, main text).

    c is uniform on [0, 1]; x on [-5, -2] and y on [2, 5], or with ``overlap`` on [-5, 2] and [-2, 5].

    >>> import jax
    >>> values, objective = activation().sample(jax.random.key(0), 4)
    >>> values.shape, objective.shape
    ((4, 3), (4,))
    """
    (x_low, x_high), (y_low, y_high) = ((-5, 2), (-2, 5)) if overlap else ((-5, -2), (2, 5))
    parameters = {
        "c": FloatDomain(0, 1),
        "x": FloatDomain(x_low, x_high, when=Between("c", high=0.5)),
        "y": FloatDomain(y_low, y_high, when=Between("c", low=0.5)),
    }

    def sample(key: PRNGKeyArray, n: int) -> Sample:
        c, x, y = jax.random.uniform(key, (3, n))
        x, y = x_low + x * (x_high - x_low), y_low + y * (y_high - y_low)
        columns = [c, jnp.where(c < 0.5, x, jnp.nan), jnp.where(c < 0.5, jnp.nan, y)]
        return jnp.stack(columns, axis=-1), jnp.where(c < 0.5, x, y)

    return SyntheticProblem(f"activation-{'overlap' if overlap else 'disjoint'}", Space(parameters), sample)
