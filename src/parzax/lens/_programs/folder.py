"""A private folder of small files with a limited total size."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Largest total size in bytes. Above it the least recently used files are removed until a fifth is free.
_MOST = 256 * 2**20


class Folder:
    """Files by name. Reading and writing fail silently, because the files only save time.

    A file is read only if the user owns both folder and file, and nobody else has rights to the folder. The
    folder is opened first, and files are opened relative to it, so that it cannot be exchanged in between.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str) -> bytes | None:
        """The content of a file, which is marked as used now; None if there is no such file."""
        with suppress(OSError), self._opened() as folder:
            number = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            with open(number, "rb") as file:
                status = os.fstat(number)
                if not _is_private(status) or not stat.S_ISREG(status.st_mode):
                    return None
                with suppress(OSError):
                    os.utime(number)
                return file.read()
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file. It is written under another name first, so that nobody can read half a file."""
        with suppress(OSError):
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(OSError), self._opened() as folder:
            draft = f"{name}.{os.getpid()}.{os.urandom(4).hex()}"
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                with open(os.open(draft, flags, 0o600, dir_fd=folder), "wb") as file:
                    file.write(content)
                os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise
            _shrink(folder)

    def remove(self, name: str) -> None:
        """Remove a file that is damaged."""
        with suppress(OSError), self._opened() as folder:
            os.unlink(name, dir_fd=folder)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        number = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not _is_private(os.fstat(number)):
                raise PermissionError(f"{self._path} is owned by, or open to, another user")
            yield number
        finally:
            os.close(number)


def _is_private(status: os.stat_result) -> bool:
    return status.st_uid == os.getuid() and not status.st_mode & 0o077


def _shrink(folder: int) -> None:
    files = []
    for name in os.listdir(folder):
        with suppress(OSError):
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
            files.append((status.st_mtime, status.st_size, name))
    total = sum(size for _, size, _ in files)
    if total <= _MOST:
        return
    for _, size, name in sorted(files):
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        total -= size
        if total <= 0.8 * _MOST:
            return
