"""Around the arrays: logs, tables, results, pictures, the page, the command, long runs on the host."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "count":
        from parzax.lens.logs.large import count  # imported on use: the command starts fast

        return count
    raise AttributeError(f"module 'parzax.lens' has no attribute {name!r}")
