"""Adapters to other libraries; each submodule needs its extra and loads on first use."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from parzax.adapters import configspace as configspace
    from parzax.adapters import optuna as optuna

_EXTRAS = {"optuna": "optuna", "configspace": "configspace"}


def __getattr__(name: str) -> _Any:
    if name not in _EXTRAS:
        raise AttributeError(f"module 'parzax.adapters' has no attribute {name!r}")
    try:
        return _import_module(f"parzax.adapters.{name}")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"parzax.adapters.{name} needs {error.name}; "
            f"install it with pip install 'parzax[{_EXTRAS[name]}]'."
        ) from error
