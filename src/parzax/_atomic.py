"""Files that are there when they are complete, and not before."""

import os
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: bytes | memoryview) -> None:
    """Write a file, which replaces an older one when it is complete and on the disk.

    A killed process leaves a file beside it that ends in ``.part``.
    """
    part = Path(f"{os.fspath(path)}.{os.urandom(4).hex()}.part")
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
