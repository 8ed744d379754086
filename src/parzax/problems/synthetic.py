"""The synthetic conditional problems of "Conditional PED-ANOVA" (arXiv 2601.20800), as random search in JAX.

In each, one active numeric parameter (or a sum of two) is the objective, and conditions on further
parameters choose which: so what matters, and at which level, is known beforehand. All are minimised.
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
        name: for titles and tables.
        space: the `parzax.Space` with d parameters.
        sample: ``sample(key, n)`` draws n configurations uniformly: values (n, d) in native units, NaN
            where inactive, and objectives (n,), in JAX's default float type. Pure; n is static; `jax.vmap`
            over keys gives seeds. ``n = 0`` gives empty arrays.
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
    x, y = ((-5.0, 2.0), (-2.0, 5.0)) if overlap else ((-5.0, -2.0), (2.0, 5.0))
    space = Space(
        {
            "c": FloatDomain(0, 1),
            "x": FloatDomain(*x, when=(Between("c", high=0.5),)),
            "y": FloatDomain(*y, when=(Between("c", low=0.5),)),
        }
    )

    def sample(key: PRNGKeyArray, n: int) -> Sample:
        c, u, v = jax.random.uniform(key, (3, n))
        low = c < 0.5
        return _log(c, _active(low, u, x), _active(~low, v, y))

    return SyntheticProblem(f"activation-{'overlap' if overlap else 'disjoint'}", space, sample)


def regime_dependent() -> SyntheticProblem:
    """f = x + y, both always active, on domains that c chooses (arXiv 2601.20800).

    c < 0.5: x in [-7, -2], y in [-5, -2]; otherwise x in [2, 7], y in [2, 5].
    """
    first, second = (Between("c", high=0.5),), (Between("c", low=0.5),)
    space = Space(
        {
            "c": FloatDomain(0, 1),
            "x": (FloatDomain(-7, -2, when=first), FloatDomain(2, 7, when=second)),
            "y": (FloatDomain(-5, -2, when=first), FloatDomain(2, 5, when=second)),
        }
    )

    def sample(key: PRNGKeyArray, n: int) -> Sample:
        c, u, v = jax.random.uniform(key, (3, n))
        x = jnp.where(c < 0.5, _between(u, -7, -2), _between(u, 2, 7))
        y = jnp.where(c < 0.5, _between(v, -5, -2), _between(v, 2, 5))
        return jnp.stack([c, x, y], axis=-1), x + y

    return SyntheticProblem("regime-dependent-domain", space, sample)


def nested() -> SyntheticProblem:
    """Conditions two levels deep; f is the active one of x, y, z (appendix of arXiv 2601.20800).

    c0 < 0.75: c1 is active; c1 < 0.5 gives x in [-7, -4], otherwise y in [-3, 0]. c0 >= 0.75: z in [2, 5].
    """
    inner = Between("c0", high=0.75)
    space = Space(
        {
            "c0": FloatDomain(0, 1),
            "c1": FloatDomain(0, 1, when=(inner,)),
            "x": FloatDomain(-7, -4, when=(inner, Between("c1", high=0.5))),
            "y": FloatDomain(-3, 0, when=(inner, Between("c1", low=0.5))),
            "z": FloatDomain(2, 5, when=(Between("c0", low=0.75),)),
        }
    )

    def sample(key: PRNGKeyArray, n: int) -> Sample:
        c0, c1, u, v, w = jax.random.uniform(key, (5, n))
        deep, low = c0 < 0.75, c1 < 0.5
        x, y, z = (
            _active(deep & low, u, (-7, -4)),
            _active(deep & ~low, v, (-3, 0)),
            _active(~deep, w, (2, 5)),
        )
        values, objective = _log(c0, x, y, z)
        c1 = jnp.where(deep, c1, jnp.nan)
        return jnp.insert(values, 1, c1, axis=-1), objective

    return SyntheticProblem("nested-conditions", space, sample)


def three_way() -> SyntheticProblem:
    """Three branches, two of them domains of one parameter (appendix of arXiv 2601.20800).

    c < 1/3: x in [-7, -4]; c < 2/3: x in [-3, 0]; otherwise y in [4, 7]; f is the active one.
    """
    third, two_thirds = 1 / 3, 2 / 3
    space = Space(
        {
            "c": FloatDomain(0, 1),
            "x": (
                FloatDomain(-7, -4, when=(Between("c", high=third),)),
                FloatDomain(-3, 0, when=(Between("c", low=third, high=two_thirds),)),
            ),
            "y": FloatDomain(4, 7, when=(Between("c", low=two_thirds),)),
        }
    )

    def sample(key: PRNGKeyArray, n: int) -> Sample:
        c, u, v = jax.random.uniform(key, (3, n))
        x = jnp.where(c < third, _between(u, -7, -4), _active(c < two_thirds, u, (-3, 0)))
        return _log(c, x, _active(c >= two_thirds, v, (4, 7)))

    return SyntheticProblem("three-way-branching", space, sample)


def _between(u: Array, low: float, high: float) -> Array:
    return low + u * (high - low)


def _active(where: Array, u: Array, bounds: tuple[float, float]) -> Array:
    return jnp.where(where, _between(u, *bounds), jnp.nan)


def _log(c: Array, *branches: Array) -> Sample:
    """Columns side by side, and the objective: the one active branch of each row."""
    active = jnp.stack(branches, axis=-1)
    return jnp.stack([c, *branches], axis=-1), jnp.nansum(active, axis=-1)
