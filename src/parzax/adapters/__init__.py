"""Adapters to other libraries, and their common code; an adapter needs its extra and loads on first use."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from parzax.lens.run.session import Row as Row
from parzax.lens.run.session import Session as Session

if _TYPE_CHECKING:
    from parzax.adapters import configspace as configspace
    from parzax.adapters import numpyro as numpyro
    from parzax.adapters import optuna as optuna


def __getattr__(name: str) -> _Any:
    # The names of the adapters, which are also the names of their extras.
    if name not in ("configspace", "numpyro", "optuna"):
        raise AttributeError(f"module 'parzax.adapters' has no attribute {name!r}")
    try:
        return _import_module(f"parzax.adapters.{name}")
    except ModuleNotFoundError as error:
        remedy = f"install it with pip install 'parzax[{name}]'."
        raise ModuleNotFoundError(f"parzax.adapters.{name} needs {error.name}; {remedy}") from error
