"""Errors of reading a file, and checks of folders to which files will be written."""

import tempfile
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path

# Errors of reading a damaged or foreign npz file. NotImplementedError stands for an unknown compression.
UNREADABLE = (
    OSError, EOFError, KeyError, TypeError, ValueError, AttributeError, IndexError, MemoryError,
    OverflowError, NotImplementedError, RecursionError, SyntaxError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def can_write_in(folder: Path) -> bool:
    """Whether a file can be made in a folder: tried, since permissions alone do not say it."""
    with suppress(OSError), tempfile.TemporaryFile(dir=folder):
        return True
    return False
