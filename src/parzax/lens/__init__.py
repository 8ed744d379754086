"""Around the arrays: logs, tables, results, pictures, the page, the command, long runs on the host."""

from importlib import import_module
from typing import Any

# Loaded when they are first used, so that the command starts fast; `__init__.pyi` is for type checkers.
_PACKAGES = {"cli", "logs", "page", "plotting", "results", "run", "similarity", "tables"}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"parzax.lens.{name}")
    if name == "count":
        return import_module("parzax.lens.tables.large").count
    raise AttributeError(f"module 'parzax.lens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_PACKAGES, "count"])
