"""Problem: a function to optimise, with its search space and its numbers of objectives and constraints."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax._words import plural
from parzax.space import Space

Evaluation = tuple[Float[Array, " m"], Float[Array, " c"]]

_ARGUMENTS = "Write def fn(key, x) with a vector x, or def fn(key, params) for parzax.Problem.from_params."
_SEVERAL = 'px.tpe(space, directions=["minimize", "maximize"])'
# What to write instead of a line of fn, by words in its error.
_REMEDIES = {
    "TracerBoolConversionError": "Instead of if, and, max write jnp.where(condition, a, b), &, jnp.maximum.",
    "TracerIntegerConversionError": "Instead of range(n) write jax.lax.fori_loop(0, n, body, first).",
    "TracerArrayConversionError": "Instead of functions of NumPy (np.) write those of JAX (jnp.).",
    "ConcretizationTypeError": "Leave out float, int and .item, and write functions of JAX (jnp.).",
    "NonConcreteBooleanIndexError": "Instead of x[mask] write jnp.where(mask, x, 0.0).",
    "Shapes must": "A shape cannot depend on params: take the largest and a mask, jnp.arange(largest) < n.",
    "Choice": 'Compare a category with a text, write parzax.choose(params["act"], ...), or take its .code.',
    "choose()": 'Name the choices: parzax.choose(params["act"], relu=jax.nn.relu, tanh=jnp.tanh).',
    "'dict' object has no attribute": 'params is a dict: write params["name"].',
    "Tracer": "JAX traces fn, so params have no values yet: use functions of JAX (jnp., jax.lax.) alone.",
    **dict.fromkeys(("string indexing", "key<", "is 0-dimensional, but"), ""),
}
# Arguments of the space and of the sampler that somebody may give to a run or a problem.
VALID = {"valid": "px.Space(domains, valid=...)"}
DIRECTIONS = dict.fromkeys(("direction", "directions", "maximize"), 'px.tpe(space, directions="maximize")')


def _as_pytree(fn: Callable[..., Any]) -> Callable[..., Any]:
    _checks.instance("fn", fn, Callable, "a function of (key, x)", "; px.Problem(fn, space)")
    # JAX cannot trace a leaf that is a plain function. In a Partial the function is static, not a leaf.
    if not jax.tree_util.all_leaves([fn]):
        return fn
    try:
        hash(fn)
    except TypeError:
        return jax.tree_util.Partial(lambda *args, **options: fn(*args, **options))
    return jax.tree_util.Partial(fn)


class Problem(eqx.Module):
    """A pure function of a key and one configuration, on a search space.

    A problem is a pytree whose leaves are the numbers that it depends on (thresholds, tables, shifts), so
    `jax.vmap` works over problems of equal shape, as it does over keys.

    Args:
        fn: function ``fn(key, x)`` of one configuration x (d,) in native units (NaN where inactive,
            categories as codes). It returns the losses (m,), or a tuple of losses (m,) and constraints (c,);
            a number stands for shape (1,). It must be pure and traceable by JAX. If it is a pytree (an
            `equinox.Module`, ``jax.tree_util.Partial(f, threshold)``), its arrays are leaves of the problem,
            which can be traced and batched. Any other callable is static.
        space: search space with d parameters, static; None is that of the sampler that the problem is given
            to.
        n_objectives: m, at least 1; static.
        n_constraints: c; static. A constraint is satisfied if it is <= 0.
        name: name for titles and tables, by default that of the function; static.
        feasible_optimum: (m,) smallest feasible value of each objective; None if it is unknown. With several
            objectives it is the ideal point, which a single configuration may not reach.

    Raises:
        ValueError, TypeError: invalid arguments; in a call, while tracing, if ``fn`` returns other shapes.

    >>> import jax, jax.numpy as jnp
    >>> import parzax as px
    >>> space = px.Space({"x": px.Float(-1, 1), "y": px.Float(-1, 1)})
    >>> problem = px.Problem(lambda key, x: (jnp.sum(x**2), 0.5 - x[0]), space, n_constraints=1)
    >>> [part.tolist() for part in problem(jax.random.key(0), jnp.array([0.5, 0.0]))]
    [[0.25], [0.0]]
    """

    fn: Callable[..., Any] = eqx.field(converter=_as_pytree)
    space: Any = eqx.field(static=True, default=None)
    n_objectives: int = eqx.field(static=True, default=1)
    n_constraints: int = eqx.field(static=True, default=0)
    name: Any = eqx.field(static=True, default=None, kw_only=True)
    feasible_optimum: Any = eqx.field(default=None, kw_only=True)
    # What fn takes after the key: "x", "params", or params and "active".
    takes: str = eqx.field(static=True, default="x", kw_only=True)

    def __post_init__(self) -> None:
        """Check the arguments, and give the problem a name."""
        _checks.instance("space", self.space, Space | None, "a parzax.Space", "; px.Problem(fn, space)")
        _checks.instance("name", self.name, str | None, "a string")
        self.n_objectives = _checks.whole_number("n_objectives", self.n_objectives, 1)
        self.n_constraints = _checks.whole_number("n_constraints", self.n_constraints, 0)
        if self.name is None:
            fn = self.fn.func if isinstance(self.fn, jax.tree_util.Partial) else self.fn
            self.name = str(getattr(fn, "__name__", type(fn).__name__))
        best = self.feasible_optimum
        if best is not None:
            self.feasible_optimum = _vector("feasible_optimum", best, self.n_objectives)

    @classmethod
    @_checks.known_arguments(DIRECTIONS | VALID)
    def from_params(
        cls,
        fn: Callable[..., Any],
        space: Any,
        n_objectives: int = 1,
        n_constraints: int = 0,
        *,
        name: str | None = None,
        feasible_optimum: Any = None,
    ) -> "Problem":
        """A problem whose function takes named values: ``fn(key, params)`` or ``fn(key, params, active)``.

        Args:
            fn: ``params`` is what `parzax.Space.unflatten` gives: a dict of scalars by name, or the pytree of
                the domains. Categories compare with their choices (``params["act"] == "relu"``; see
                `parzax.choose`), and inactive parameters have the lowest value of their first domain.
                ``active`` has a boolean for each parameter, in the same structure. It is passed if ``fn`` has
                an argument of this name. ``fn`` returns what the function of a `Problem` returns.
            space: a `parzax.Space`, a dict of domains, or another pytree of domains
                (`parzax.Space.from_tree`). ``problem.space`` is the space.
            n_objectives, n_constraints, name, feasible_optimum: as in `Problem`.

        Raises:
            TypeError, ValueError: as in `Problem`; KeyError in a call if ``fn`` uses a name that the space
                does not have.

        >>> import jax
        >>> import parzax as px
        >>> def loss(key, params):
        ...     return (params["lr"] - 0.1) ** 2 + 0.01 * abs(params["units"] - 32)
        >>> problem = px.Problem.from_params(loss, {"lr": px.Float(0, 1), "units": px.Int(8, 64)})
        >>> trace = px.optimize(jax.random.key(0), px.tpe(problem.space), problem, 64, n_parallel=8)
        >>> trace.x.shape
        (64, 2)
        """
        _checks.instance("fn", fn, Callable, "a function of (key, params) or (key, params, active)")
        if not isinstance(space, Space):
            space = Space.from_tree(space)
        parameters: Any = ()
        with suppress(TypeError, ValueError):
            parameters = inspect.signature(fn).parameters
        takes = "active" if "active" in parameters else "params"
        about = {"name": name, "feasible_optimum": feasible_optimum, "takes": takes}
        return cls(fn, space, n_objectives, n_constraints, **about)

    def __call__(self, key: PRNGKeyArray, x: Any) -> Evaluation:
        """Evaluate one configuration; pure, jit- and vmap-able.

        Args:
            key: a typed key (`jax.random.key`), the only source of noise.
            x: (d,) native values, NaN where inactive, categories as codes.

        Returns:
            Losses (m,), which the sampler minimises (or maximises, by its directions), and constraints (c,),
            satisfied if <= 0.

        Raises:
            ValueError, TypeError: while tracing, if the key, x or the results have another shape or type.
        """
        _checks.check_key(key)
        x = _checks.floating_array("x", x)
        d = len(self.space) if self.space else "d"
        _checks.check_shape("x", x, d, hint="; use jax.vmap for a batch")
        m, c = self.n_objectives, self.n_constraints
        result = self._evaluate(key, x)
        if not isinstance(result, tuple):
            result = (result, ()) if c == 0 else (result,)
        if len(result) != 2:
            given = f"n_constraints = {c}; it gave {plural(len(result), 'value')}"
            hint = "Several objectives belong in one array, such as jnp.stack([a, b])."
            raise ValueError(f"fn must return (losses, constraints), because {given}. {hint}")
        if c == 0 and any(map(jnp.size, jax.tree.leaves(result[1]))):
            hint = (
                "Return the losses alone, those of several objectives in one array, such as "
                f"jnp.stack([a, b]), for {_SEVERAL}; or give the sampler and the problem n_constraints=."
            )
            raise ValueError(f"the second value of fn is for constraints, but n_constraints is 0. {hint}")
        if any(getattr(leaf, "dtype", None) == jnp.bool_ for leaf in jax.tree.leaves(result[1])):
            example = "return a number that is <= 0 where they are satisfied, such as size - limit"
            raise TypeError(f"the constraints of fn must be numbers, got booleans; {example}.")
        wanted = (
            f"one number, or write {_SEVERAL}"
            if m == 1
            else f"{m} numbers in one array, such as jnp.stack([a, b])"
        )
        losses = _vector("the losses of fn", result[0], m, f"; n_objectives is {m}, so return {wanted}")
        constraints = _vector("the constraints of fn", result[1], c, f"; n_constraints is {c}")
        # An empty array of constraints gets the dtype of the losses.
        return losses, constraints if c else constraints.astype(losses.dtype)

    def _evaluate(self, key: PRNGKeyArray, x: Float[Array, " d"]) -> Any:
        """The result of fn for a configuration whose shape was checked."""
        params = x if self.takes == "x" else self.space.unflatten(x)
        options = {"active": self.space.active(x)} if self.takes == "active" else {}
        try:
            return call_traced(self.fn, _ARGUMENTS, key, params, **options)
        except KeyError as error:
            missing = error.args[0] if error.args else None
            in_tree = getattr(self.space, "structure", None) is not None
            if self.takes == "x" or not isinstance(missing, str) or (missing in self.space and not in_tree):
                raise
            names = ", ".join(map(repr, self.space.names))
            hint = "; params has the structure of the domains" * in_tree
            raise KeyError(f"fn looks up {missing!r}, but the parameters are {names}{hint}.") from error


def call_traced(fn: Callable[..., Any], arguments: str, *args: Any, **options: Any) -> Any:
    """Call a user's function while JAX traces it: the error for what cannot be traced says what to write.

    ``arguments`` says how the function is written.
    """
    try:
        return fn(*args, **options)
    except (TypeError, IndexError, AttributeError) as error:
        text, trace = f"{type(error).__name__}: {error}", cast(TracebackType, error.__traceback__)
        remedies = [remedy or arguments for words, remedy in _REMEDIES.items() if words in text]
        # Without a frame of fn, the call did not fit its arguments.
        remedies += [arguments] * (trace.tb_next is None)
        if not remedies:
            raise
        # The last line says what to do; the user's own line stays in the traceback.
        explained = TypeError(f"{str(error).splitlines()[0]}\n{remedies[0]}")
        raise explained.with_traceback(trace.tb_next) from None


def bind(problem: Any, space: Space, n_objectives: int, n_constraints: int) -> Any:
    """A problem with its space: a function, or a `Problem` without a space, gets that of the sampler."""
    if isinstance(problem, Problem):
        return replace(problem, space=space if problem.space is None else problem.space)
    _checks.instance("problem", problem, Callable, "a function of (key, x) or a parzax.Problem")
    return Problem(fn=problem, space=space, n_objectives=n_objectives, n_constraints=n_constraints)


def _vector(name: str, value: Any, size: int, hint: str = "") -> Array:
    array = _checks.floating_array(name, value)
    array = array[None] if array.shape == () and size == 1 else array
    if size == 1 and array.shape != (1,):
        raise ValueError(f"{name} must be one number, got an array of shape {array.shape}{hint}.")
    _checks.check_shape(name, array, size, hint=hint)
    return array
