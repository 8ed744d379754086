"""Around the arrays: logs, tables, results, pictures, the page, the command, long runs on the host."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parzax.lens import cli as cli
    from parzax.lens import logs as logs
    from parzax.lens import page as page
    from parzax.lens import plotting as plotting
    from parzax.lens import problems as problems
    from parzax.lens import results as results
    from parzax.lens import run as run
    from parzax.lens import similarity as similarity
    from parzax.lens import tables as tables
    from parzax.lens.tables.large import count as count

_PACKAGES = {"cli", "logs", "page", "plotting", "problems", "results", "run", "similarity", "tables"}


def __getattr__(name: str) -> Any:  # imported on use: the command starts fast
    if name in _PACKAGES:
        return import_module(f"parzax.lens.{name}")
    if name == "count":
        return import_module("parzax.lens.tables.large").count
    raise AttributeError(f"module 'parzax.lens' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, "count"} - {"Any", "TYPE_CHECKING", "import_module"})
