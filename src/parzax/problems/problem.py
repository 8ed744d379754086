"""Problem: a function to be minimised, its search space, and how many values it gives."""

import abc
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax.space import Space

Evaluation = tuple[Float[Array, " m"], Float[Array, " c"]]


class AbstractProblem(eqx.Module):
    """What can be optimised: a pure function of a key and one configuration, on a search space.

    A problem is a pytree whose leaves are the numbers it depends on (thresholds, tables, shifts), so
    `jax.vmap` goes over problems of one shape as it does over keys.

    Attributes:
        space: d parameters; this, both numbers and the name are static.
        n_objectives: m.
        n_constraints: c, each feasible where it is <= 0.
        name: for titles and tables.
        feasible_optimum: (m,) the smallest feasible value of each objective, None where it is not known. With
            several objectives it is the ideal point, which no one configuration need reach.
    """

    space: eqx.AbstractVar[Space]
    n_objectives: eqx.AbstractVar[int]
    n_constraints: eqx.AbstractVar[int]
    name: eqx.AbstractVar[str]
    feasible_optimum: eqx.AbstractVar[Any]

    def __call__(self, key: PRNGKeyArray, x: Any) -> Evaluation:
        """Evaluate one configuration; pure, and `jax.jit` and `jax.vmap` apply.

        Args:
            key: a typed key (`jax.random.key`); noise comes from it alone.
            x: (d,) native values, NaN where inactive, categories as codes.

        Returns:
            Objectives (m,), minimised or maximised as the sampler's directions say, and constraints (c,),
            feasible where <= 0.

        Raises:
            ValueError, TypeError: while tracing, for a key, an x or results of another shape or kind.
        """
        _checks.check_key(key)
        x = _checks.floating_array("x", x)
        if x.shape != (len(self.space),):
            expected = f"shape ({len(self.space)},)"
            raise ValueError(f"x must have {expected}, got {x.shape}; use jax.vmap for a batch.")
        return self._evaluate(key, x)

    @abc.abstractmethod
    def _evaluate(self, key: PRNGKeyArray, x: Float[Array, " d"]) -> Evaluation:
        """Objectives and constraints of a checked configuration."""


class Problem(AbstractProblem):
    """A function of your own as a problem.

    Args:
        fn: ``fn(key, x)`` for one configuration x (d,) in native units (NaN where inactive, categories as
            codes) gives the objectives, or a tuple (objectives, constraints). They have shapes (m,) and (c,);
            a scalar stands for shape (1,). It must be pure and traceable by JAX. A callable that is a pytree
            (an `equinox.Module`, ``jax.tree_util.Partial(f, threshold)``) has its arrays as leaves of the
            problem, so that they can be traced and batched; any other callable is static.
        space, n_objectives, n_constraints, feasible_optimum: as of `AbstractProblem`; m >= 1, c >= 0.
        name: for titles; the function's name if not given.

    Raises:
        ValueError, TypeError: for arguments of another kind; and when called, while tracing, where ``fn``
            gives other shapes than it should.

    >>> import jax, jax.numpy as jnp
    >>> import parzax as px
    >>> space = px.Space({"x": px.Float(-1, 1), "y": px.Float(-1, 1)})
    >>> problem = px.Problem(lambda key, x: (jnp.sum(x**2), 0.5 - x[0]), space, n_constraints=1)
    >>> [part.tolist() for part in problem(jax.random.key(0), jnp.array([0.5, 0.0]))]
    [[0.25], [0.0]]
    """

    fn: Callable[..., Any]
    feasible_optimum: Any
    space: Space = eqx.field(static=True)
    n_objectives: int = eqx.field(static=True)
    n_constraints: int = eqx.field(static=True)
    name: str = eqx.field(static=True)

    def __init__(
        self,
        fn: Callable[..., Any],
        space: Space,
        n_objectives: int = 1,
        n_constraints: int = 0,
        *,
        name: str | None = None,
        feasible_optimum: Any = None,
    ) -> None:
        if not callable(fn):
            raise TypeError(f"fn must be a function of (key, x), got {fn!r}.")
        _checks.instance("space", space, Space, "a parzax.Space")
        _checks.instance("name", name, str | None, "a string")
        # A bare function is no leaf that JAX can trace; as the static part of a Partial it is none.
        self.fn = jax.tree_util.Partial(fn) if jax.tree_util.all_leaves([fn]) else fn
        self.space = space
        self.n_objectives = _checks.whole_number("n_objectives", n_objectives, 1)
        self.n_constraints = _checks.whole_number("n_constraints", n_constraints, 0)
        self.name = str(getattr(fn, "__name__", type(fn).__name__)) if name is None else name
        best = feasible_optimum
        self.feasible_optimum = best if best is None else _vector("feasible_optimum", best, n_objectives)

    def _evaluate(self, key: PRNGKeyArray, x: Float[Array, " d"]) -> Evaluation:
        result = self.fn(key, x)
        if not isinstance(result, tuple):
            result = (result, ()) if self.n_constraints == 0 else (result,)
        if len(result) != 2:
            given = f"n_constraints = {self.n_constraints}; it gave {len(result)} value(s)"
            hint = "Several objectives belong in one array."
            raise ValueError(f"fn must give (objectives, constraints), as {given}. {hint}")
        objectives = _vector("the objectives of fn", result[0], self.n_objectives)
        constraints = _vector("the constraints of fn", result[1], self.n_constraints)
        # No constraints are of no dtype of their own.
        return objectives, constraints if self.n_constraints else constraints.astype(objectives.dtype)


def _vector(name: str, value: Any, size: int) -> Array:
    array = _checks.floating_array(name, value)
    array = array[None] if array.shape == () and size == 1 else array
    if array.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {array.shape}.")
    return array
