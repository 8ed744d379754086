"""Programs kept on disk for the command and the adapters: JAX's persistent cache, in a folder of parzax.

docs/compilation.md says what is kept and why that is safe.
"""

import hashlib
import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache
from platformdirs import user_cache_path

# Largest total size of the folder in bytes; above it the files used least recently are removed.
_MOST = 256 * 2**20
_FOLDER = "jax_compilation_cache_dir"
# JAX's limits below which a program is not kept; all are kept here.
_LIMITS = "jax_persistent_cache_min_compile_time_secs", "jax_persistent_cache_min_entry_size_bytes"

_lock = threading.Lock()
_n_open = 0  # number of `keep_programs` contexts that are open, in all threads
_before: dict[str, Any] = {}  # the values of JAX's settings that were changed when the first of them opened


@contextmanager
def keep_programs() -> Iterator[None]:
    """Read programs that are needed inside from the user's cache folder, or compile and keep them there.

    JAX's settings are restored when the last such context closes. A persistent cache that JAX uses already is
    left as it is. Nothing is kept with ``PARZAX_NO_CACHE=1``, or in a folder to which others have access.
    """
    global _n_open
    config: Any = jax.config
    with _lock:
        folder = None if _n_open or getattr(config, _FOLDER) else _private_folder()
        if folder is not None:
            settings = dict.fromkeys(_LIMITS, -1) | {_FOLDER: str(folder)}
            _before.update({name: getattr(config, name) for name in settings})
            _update(settings)
        _n_open += 1
    try:
        yield
    finally:
        with _lock:
            _n_open -= 1
            if not _n_open and _before:
                _update(_before)
                _before.clear()
                reset_cache()


def _update(settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        jax.config.update(name, value)


def _private_folder() -> Path | None:
    """The folder for this kind of processor, if it belongs to the user alone; None if nothing can be kept."""
    if os.environ.get("PARZAX_NO_CACHE", "0") not in ("", "0") or not hasattr(os, "getuid"):
        return None
    # An executable may not run on another processor, and home folders may be shared between machines.
    processor = f"{platform.machine()} {platform.processor()}"
    with suppress(OSError), open("/proc/cpuinfo") as file:
        features = {line for line in file if line.startswith(("model name", "flags", "Features", "CPU part"))}
        processor += "".join(sorted(features))
    folder = user_cache_path("parzax") / "programs" / hashlib.sha256(processor.encode()).hexdigest()[:16]
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        if status.st_uid == os.getuid() and not status.st_mode & 0o077 and not folder.is_symlink():
            _shrink(folder)
            return folder
    return None


def _shrink(folder: Path) -> None:
    """Remove the files used least recently until a fifth of the room is free, if there is too little."""
    files = [(entry.stat(), entry.path) for entry in os.scandir(folder)]
    files.sort(key=lambda file: max(file[0].st_atime, file[0].st_mtime))
    total = sum(status.st_size for status, _ in files)
    target = total if total <= _MOST else 0.8 * _MOST
    for status, path in files:
        if total <= target:
            return
        with suppress(OSError):
            os.unlink(path)
        total -= status.st_size
