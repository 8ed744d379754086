"""Checks of folders to which files will be written."""

import tempfile
from contextlib import suppress
from pathlib import Path


def can_write_in(folder: Path) -> bool:
    """Whether a file can be made in a folder: tried, since permissions alone do not say it."""
    with suppress(OSError), tempfile.TemporaryFile(dir=folder):
        return True
    return False
