"""Categories by name in traced code: a `Choice` compares with names, and `choose` has a branch for each."""

from collections.abc import Mapping
from functools import partial, reduce
from operator import or_
from typing import Any, NoReturn

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from parzax import _checks
from parzax.space.conditions import choice_key
from parzax.space.domains import Categorical


class Choice(eqx.Module):
    """Values of a categorical parameter, as `parzax.Space.unflatten` gives them; a pytree of one array.

    ``choice == "relu"`` gives booleans (...,), also in compiled code, and raises if the parameter has no such
    choice. `parzax.choose` has a branch for each choice. A `Choice` is no number, so arithmetic raises.

    >>> import jax, parzax as px
    >>> space = px.Space({"act": px.Categorical(["relu", "tanh"])})
    >>> jax.jit(lambda x: space.unflatten(x)["act"] == "tanh")(jax.numpy.array([1.0]))
    Array(True, dtype=bool)
    """

    name: str = eqx.field(static=True)
    domains: tuple[Categorical, ...] = eqx.field(static=True, repr=False)
    # Places in the choices of all domains, one domain after the other.
    place: Int[Any, "..."]

    @property
    def code(self) -> Int[Any, "..."]:
        """The integer code of the choice in its domain, (...,)."""
        codes = np.concatenate([np.arange(len(domain.choices)) for domain in self.domains])
        return self.place.__array_namespace__().asarray(codes, self.place.dtype)[self.place]

    @property
    def keys(self) -> list[tuple[str, str]]:
        """The identity of the choice at each place."""
        return [key for domain in self.domains for key in domain.codes]

    def key_of(self, choice: Any) -> tuple[str, str]:
        """The identity of a choice; ValueError if the parameter does not have it."""
        if choice_key(choice) not in self.keys:
            names = [str(choice) for domain in self.domains for choice in domain.choices]
            raise ValueError(f"{self.name!r} has no choice {choice!r}; {_checks.suggest(choice, names)}")
        return choice_key(choice)

    def __eq__(self, other: Any) -> Bool[Any, "..."]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if isinstance(other, Choice):
            return reduce(or_, [self._has(key) & other._has(key) for key in dict.fromkeys(self.keys)])
        return self._has(self.key_of(other))

    def __ne__(self, other: Any) -> Bool[Any, "..."]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return ~(self == other)

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self.name!r} is a Choice, neither true nor false; compare it with a choice.")

    def _has(self, key: tuple[str, str]) -> Bool[Any, "..."]:
        places = [place for place, other in enumerate(self.keys) if other == key]
        return reduce(or_, [self.place == place for place in places], self.place < 0)


def choose(choice: Any, branches: Mapping[Any, Any] | None = None, /, **by_name: Any) -> Any:
    """One of several functions or values, by the choice of a categorical parameter.

    Args:
        choice: a `parzax.space.Choice`, such as ``params["act"]`` in the function of
            `parzax.Problem.from_params`; or a plain choice, such as "relu".
        branches: a mapping of choices to branches, for choices that are no Python names, such as 16.
        by_name: a branch for each other choice. All branches are functions, or all are values: numbers,
            arrays, or pytrees of equal structure.

    Returns:
        For values: the value of the choice, with the leading axes of a batch of choices. For functions: a
        function of their arguments, as in ``choose(choice, relu=jax.nn.relu, tanh=jnp.tanh)(x)``. It calls
        `jax.lax.switch`, so results must have equal shapes and dtypes; for a batch of choices use `jax.vmap`.

    Raises:
        ValueError: a choice without a branch, or a branch for what is no choice of the parameter.
        TypeError: ``choice`` is neither a `parzax.space.Choice` nor a plain choice.

    >>> import jax, jax.numpy as jnp, parzax as px
    >>> def loss(key, params):
    ...     return px.choose(params["act"], relu=jax.nn.relu, tanh=jnp.tanh)(params["x"])
    >>> domains = {"act": px.Categorical(["relu", "tanh"]), "x": px.Float(-1, 1)}
    >>> px.Problem.from_params(loss, domains)(jax.random.key(0), jnp.array([0.0, -0.5]))[0]
    Array([0.], dtype=float32)
    """
    given = {**(branches or {}), **by_name}
    if not isinstance(choice, Choice):
        _checks.instance("choice", choice, str | float | int | None, "a category, such as params['act']")
        return given[_checks.one_of("choice", choice, given)]
    by_key = {choice.key_of(option): branch for option, branch in given.items()}
    if missing := [name for kind, name in choice.keys if (kind, name) not in by_key]:
        raise ValueError(f"choose has no branch for {', '.join(missing)} of {choice.name!r}; give it one.")
    ordered = [by_key[key] for key in choice.keys]
    if all(map(callable, ordered)):
        return partial(jax.lax.switch, choice.place, ordered)
    return jax.tree.map(lambda *values: jnp.stack(values)[choice.place], *ordered)
