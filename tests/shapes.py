"""The type checker of the import hook: beartype, for annotations that have a shape.

What is no array (a name, a key of an option, a mapping) is left to the package's own checks, whose messages
are tested; pyright reads those annotations.
"""

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

import equinox as eqx
from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray

# A whole number is a float, as to every type checker.
_beartype = beartype(conf=BeartypeConf(is_pep484_tower=True))


def checked(function: Callable) -> Callable:
    """``function`` with the shapes and dtypes of its annotations verified at every call."""
    try:
        hints = typing.get_type_hints(function)
    except NameError:  # a name for type checkers only
        hints = dict(inspect.get_annotations(function))
    shapes = {name: hint for name, hint in hints.items() if _has_shape(hint)}
    if not shapes:
        return function
    function.__annotations__ = shapes
    verified = _beartype(function)
    if function.__name__ != "__init__":
        return verified

    # JAX rebuilds a registered dataclass by calling it, with masks or markers for leaves; Equinox does not.
    @functools.wraps(verified)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        (verified if isinstance(self, eqx.Module) else function)(self, *args, **kwargs)

    return init


def _has_shape(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, AbstractArray):
        return True
    return any(_has_shape(part) for part in typing.get_args(hint))
