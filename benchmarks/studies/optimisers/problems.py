"""What a suite is made of: cases, and groups of them that share a space and therefore programs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
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


# Objectives (m,) and constraints (c,), satisfied where <= 0.
Values = tuple[Float[Array, " m"], Float[Array, " c"]]


@dataclass(frozen=True)
class Group:
    """Cases of one space.

    Attributes:
        name, space: of all of them.
        cases: in order.
        evaluate: ``evaluate(shared, own, key, x)``, what a sampler is told of native values x (d,).
        gaps: ``gaps(shared, own, x, objectives, constraints)`` of n evaluations in order: how far what was
            found by each of them is from the best there is, (n,), at least 0; without noise it never rises.
        n_objectives, n_constraints: m and c.
    """

    name: str
    space: px.Space
    cases: tuple[Case, ...]
    evaluate: Callable[[Any, Any, PRNGKeyArray, Float[Array, " d"]], Values]
    gaps: Callable[[Any, Any, Float[Array, "n d"], Float[Array, "n m"], Float[Array, "n c"]], Array]
    n_objectives: int = 1
    n_constraints: int = 0

    def of(self, half: str) -> tuple[Case, ...]:
        """The cases of a half."""
        return tuple(case for case in self.cases if case.half == half)


def of_one_loss(
    name: str,
    space: px.Space,
    cases: tuple[Case, ...],
    loss: Callable[[Any, Any, PRNGKeyArray, Float[Array, " d"]], Array],
    regret: Callable[[Any, Any, Float[Array, " d"]], Array],
) -> Group:
    """Cases whose gap is the ``regret(shared, own, x)``, without noise, of the smallest loss so far."""

    def evaluate(shared: Any, own: Any, key: PRNGKeyArray, x: Array) -> Values:
        value = loss(shared, own, key, x)
        return value[None], jnp.zeros(0, value.dtype)

    def gaps(shared: Any, own: Any, x: Array, objectives: Array, _constraints: Array) -> Array:
        return of_best(jax.lax.map(lambda one: regret(shared, own, one), x), objectives[:, 0])

    return Group(name, space, cases, evaluate, gaps)


def of_best(regrets: Array, losses: Array) -> Array:
    """The regret (n,) of the smallest loss (n,) so far; a failed evaluation, NaN, is none."""
    losses = jnp.where(jnp.isnan(losses), jnp.inf, losses)
    index = jnp.arange(len(losses))
    better = losses < jnp.concatenate([jnp.full(1, jnp.inf, losses.dtype), jax.lax.cummin(losses)[:-1]])
    return regrets[jax.lax.cummax(jnp.where(better, index, 0))]


def alternately(n: int) -> list[str]:
    """Halves of n cases in their order: the first is for choosing, the second is kept, and so on."""
    return [HALVES[i % 2] for i in range(n)]


def run(own: Any, index: int) -> Any:
    """What a case has for one run."""
    return jax.tree.map(lambda leaf: leaf[index], own)
