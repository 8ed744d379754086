"""The folder of stored logs, tables and printed numbers, where there is one."""

import os
from pathlib import Path


def folder() -> Path | None:
    """What PARZAX_DATA names; an error if that is no folder."""
    text = os.environ.get("PARZAX_DATA")
    if not text:
        return None
    path = Path(text)
    if not path.is_dir():
        raise FileNotFoundError(f"PARZAX_DATA={text!r} is no folder; unset it or correct it.")
    return path
