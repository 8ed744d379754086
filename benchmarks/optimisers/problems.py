"""What a suite is made of: cases, and groups of them that share a space and therefore programs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from jaxtyping import Array, Float, PRNGKeyArray

import parzax as px

# The half by which settings may be chosen, and the one that is looked at when they are.
CHOICE, KEPT = "choice", "kept"
HALVES = CHOICE, KEPT


@dataclass(frozen=True)
class Case:
    """One problem.

    Attributes:
        name: such as "bbob-05d/f01 sphere".
        half: `CHOICE` or `KEPT`, named before anything was run.
        shared: a pytree of arrays, the same for all runs.
        own: a pytree whose leaves have a leading axis of runs, () where runs do not differ.
    """

    name: str
    half: str
    shared: Any
    own: Any = ()


@dataclass(frozen=True)
class Group:
    """Cases of one space.

    Attributes:
        name, space: of all of them.
        cases: in order.
        loss: ``loss(shared, own, key, x)``, what a sampler is told of native values x (d,).
        regret: ``regret(shared, own, x)``, how far x is from the optimum, without noise; at least 0.
    """

    name: str
    space: px.Space
    cases: tuple[Case, ...]
    loss: Callable[[Any, Any, PRNGKeyArray, Float[Array, " d"]], Array]
    regret: Callable[[Any, Any, Float[Array, " d"]], Array]

    def of(self, half: str) -> tuple[Case, ...]:
        """The cases of a half."""
        return tuple(case for case in self.cases if case.half == half)


def alternately(n: int) -> list[str]:
    """Halves of n cases in their order: the first is for choosing, the second is kept, and so on."""
    return [HALVES[i % 2] for i in range(n)]


def run(own: Any, index: int) -> Any:
    """What a case has for one run."""
    return jax.tree.map(lambda leaf: leaf[index], own)
