"""The synthetic conditional problems of "Conditional PED-ANOVA" (arXiv 2601.20800), as random search in JAX.

In each, one active numeric parameter (or a sum of two) is the objective, and conditions on further
parameters choose which: so what matters, and at which level, is known beforehand. All are minimised.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax.space import Between, Space
from parzax.space import Float as FloatDomain

Sample = tuple[Float[Array, "n d"], Float[Array, " n"]]


class SyntheticProblem(NamedTuple):
    """A search space, and a random search on it: ``sample(key, n)`` draws n configurations uniformly.

    It returns values (n, d) in native units, NaN where inactive, and objectives (n,).
    """

    name: str
    space: Space
    sample: Callable[[PRNGKeyArray, int], Sample]


def activation(*, overlap: bool = False) -> SyntheticProblem:
    """c < 0.5 activates x, and f = x; otherwise y is active, and f = y (arXiv 2601.20800, main text).

    c is uniform on [0, 1]; x on [-5, -2] and y on [2, 5], or with ``overlap`` on [-5, 2] and [-2, 5].
    """
    x, y = ((-5, 2), (-2, 5)) if overlap else ((-5, -2), (2, 5))
    parameters = {
        "c": [FloatDomain(0, 1)],
        "x": [FloatDomain(*x, when=Between("c", high=0.5))],
        "y": [FloatDomain(*y, when=Between("c", low=0.5))],
    }
    return _problem(f"activation-{'overlap' if overlap else 'disjoint'}", parameters)


def regime_dependent() -> SyntheticProblem:
    """f = x + y, both always active, on domains that c chooses (arXiv 2601.20800).

    c < 0.5: x in [-7, -2], y in [-5, -2]; otherwise x in [2, 7], y in [2, 5].
    """
    first, second = Between("c", high=0.5), Between("c", low=0.5)
    x = (FloatDomain(-7, -2, when=first), FloatDomain(2, 7, when=second))
    y = (FloatDomain(-5, -2, when=first), FloatDomain(2, 5, when=second))
    return _problem("regime-dependent-domain", {"c": [FloatDomain(0, 1)], "x": x, "y": y})


def nested() -> SyntheticProblem:
    """Conditions two levels deep; f is the active one of x, y, z (appendix of arXiv 2601.20800).

    c0 < 0.75: c1 is active; c1 < 0.5 gives x in [-7, -4], otherwise y in [-3, 0]. c0 >= 0.75: z in [2, 5].
    """
    inner = Between("c0", high=0.75)
    parameters = {
        "c0": [FloatDomain(0, 1)],
        "c1": [FloatDomain(0, 1, when=inner)],
        "x": [FloatDomain(-7, -4, when=(inner, Between("c1", high=0.5)))],
        "y": [FloatDomain(-3, 0, when=(inner, Between("c1", low=0.5)))],
        "z": [FloatDomain(2, 5, when=Between("c0", low=0.75))],
    }
    return _problem("nested-conditions", parameters)


def three_way() -> SyntheticProblem:
    """Three branches, two of them domains of one parameter (appendix of arXiv 2601.20800).

    c < 1/3: x in [-7, -4]; c < 2/3: x in [-3, 0]; otherwise y in [4, 7]; f is the active one.
    """
    first, second = Between("c", high=1 / 3), Between("c", low=1 / 3, high=2 / 3)
    x = (FloatDomain(-7, -4, when=first), FloatDomain(-3, 0, when=second))
    y = FloatDomain(4, 7, when=Between("c", low=2 / 3))
    return _problem("three-way-branching", {"c": [FloatDomain(0, 1)], "x": x, "y": [y]})


def _problem(name: str, parameters: Mapping[str, Sequence[FloatDomain]]) -> SyntheticProblem:
    """Uniform on every active domain; the objective is the sum of what no condition depends on."""
    space = Space(parameters)
    choosing = {parent for own in parameters for parent in space.parents(own)}

    def sample(key: PRNGKeyArray, n: int) -> Sample:
        columns: dict[str, Array] = {}
        draws = jax.random.uniform(key, (len(parameters), n))
        for (own, domains), u in zip(parameters.items(), draws, strict=True):
            columns[own] = jnp.full_like(u, jnp.nan)
            for domain in domains:
                active = jnp.ones(n, bool)
                for condition in domain.conditions:
                    assert isinstance(condition, Between)
                    parent = columns[condition.parent]
                    active &= (parent >= condition.low) & (parent < condition.high)
                value = domain.low + u * (domain.high - domain.low)
                columns[own] = jnp.where(active, value, columns[own])
        added = [column for own, column in columns.items() if own not in choosing]
        return jnp.stack(list(columns.values()), axis=-1), jnp.nansum(jnp.stack(added), axis=0)

    return SyntheticProblem(name, space, sample)


PROBLEMS = (activation(), activation(overlap=True), regime_dependent(), nested(), three_way())
