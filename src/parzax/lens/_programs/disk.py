"""Executables from earlier processes, stored in the user's cache folder.

An entry is a pickle with a checksum. Its name is a hash of everything that the executable depends on, so an
entry with the right name is valid, and no other entry is opened. docs/compilation.md says what is stored and
why it is safe.
"""

import functools
import hashlib
import io
import os
import pickle
import platform
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple, cast

import equinox
import jax
import jaxlib.version
import numpy as np
from jax.experimental import serialize_executable

from parzax.lens._programs import effort
from parzax.lens._programs.folder import Folder

# First bytes of every file; a new file layout gets a new number.
_FORMAT = b"parzax 1\n"
# Packages whose functions and classes are determined by the package version. A function of the user may
# change without changing its name.
_STABLE = {"parzax", "jax", "jaxlib", "numpy", "equinox", "jaxtyping", "builtins", "collections", "copyreg",
           "functools", "operator", "types", "typing", "datetime", "decimal", "enum", "_codecs"}  # fmt: skip

_IMPORTED = time.time()


class Entry(NamedTuple):
    """The file of one executable, which may not exist yet."""

    folder: Folder
    name: str

    def remove(self) -> None:
        """Delete the file."""
        self.folder.remove(self.name)

    def read(self) -> tuple[Callable[..., Any], Any] | None:
        """The executable, which maps arrays to a list of arrays, and the structure of its result; or None."""
        content = self.folder.read(self.name)
        if content is None:
            return None
        head, body = content[: len(_FORMAT) + 32], content[len(_FORMAT) + 32 :]
        try:
            if head != _FORMAT + hashlib.sha256(body).digest():
                raise ValueError("the file is damaged")
            payload, n_arrays, n_out, out = pickle.loads(body)
            taken, given = jax.tree.structure(((0,) * n_arrays, {})), jax.tree.structure([0] * n_out)
            # only the first device, because the default would be all devices
            where = {"execution_devices": jax.local_devices()[:1]}
            return serialize_executable.deserialize_and_load(payload, taken, given, **where), out
        except Exception:  # after any error the program is compiled again
            self.remove()
            return None

    def write(self, compiled: jax.stages.Compiled, out: Any) -> None:
        """Store the executable, if it can be serialized."""
        with suppress(Exception):  # if storing fails, only time is lost
            payload, taken, given = serialize_executable.serialize(compiled)
            content = payload, taken.num_leaves, given.num_leaves, out
            body = _pickled(content)
            self.folder.write(self.name, _FORMAT + hashlib.sha256(body).digest() + body)


def entry(name: str, skeleton: Callable[[], Any], context: tuple[Any, ...]) -> Entry | None:
    """The file of a program with these arguments, or None if it must not be stored.

    ``PARZAX_NO_CACHE=1`` disables storing. Nothing is stored in these cases, where it would not be safe: the
    system has no file owners; a function or class is from outside parzax and could change without changing
    its name; sources are missing or newer than the import; a default device is set; JAX's compilation cache
    is on, because an executable from that cache loses its functions when it is stored.
    """
    folder, config, options = _folder(), cast(Any, jax.config), effort.asked()
    if folder is None or config.jax_default_device is not None:
        return None
    if config.jax_enable_compilation_cache and config.jax_compilation_cache_dir:
        return None
    try:
        asked = _pickled((name, skeleton(), str(context)), by_value=True)
        surroundings = _software(), _processor(), options
    except Exception:  # pickling may raise any error from an object's methods
        return None
    if not surroundings[0]:
        return None
    return Entry(folder, hashlib.sha256(asked + repr((*surroundings, _devices())).encode()).hexdigest())


def _folder() -> Folder | None:
    if os.environ.get("PARZAX_NO_CACHE", "0") not in ("", "0") or not hasattr(os, "getuid"):
        return None
    base = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # there is no home folder
        return Folder((Path(base) if base else Path.home() / ".cache") / "parzax" / "programs")
    return None


class _Pickler(pickle.Pickler):
    """A pickler that refuses functions and classes that can change without changing their names."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, (type, FunctionType, BuiltinFunctionType)):
            module = obj.__module__ or ""
            if module.partition(".")[0] not in _STABLE:
                raise pickle.PicklingError(f"{module}.{obj.__qualname__} may change")
        return NotImplemented


def _pickled(content: Any, by_value: bool = False) -> bytes:
    """A pickle. With ``by_value`` equal contents give equal pickles, even if one shares objects inside."""
    file = io.BytesIO()
    pickler = _Pickler(file, protocol=5)
    pickler.fast = by_value
    pickler.dump(content)
    return file.getvalue()


def _devices() -> Any:
    """Devices and XLA options, which an executable depends on."""
    kinds = [(d.platform, d.device_kind, getattr(d, "compute_capability", "")) for d in jax.local_devices()]
    platform_version = getattr(jax.local_devices()[0].client, "platform_version", "")
    return kinds, platform_version, jax.device_count(), os.environ.get("XLA_FLAGS", "")


@functools.cache
def _software() -> tuple[str, ...]:
    """Package versions and a hash of the sources; empty if a source file is newer than the import."""
    versions = (jax.__version__, jaxlib.version.__version__, np.__version__, equinox.__version__, sys.version)
    source, root = hashlib.sha256(), Path(__file__).parent.parent
    paths = sorted(root.rglob("*.py"))
    for path in paths:
        if path.stat().st_mtime > _IMPORTED:
            return ()
        source.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return (*versions, source.hexdigest()) if paths else ()


@functools.cache
def _processor() -> tuple[str, ...]:
    """Model, features and number of cores, because an executable may not run on another processor."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    lines: set[str] = set()
    with suppress(OSError), open("/proc/cpuinfo") as file:
        kept = ("model name", "flags", "Features", "CPU part", "CPU implementer")
        lines = {line for line in file if line.startswith(kept)}
    return platform.machine(), platform.processor(), str(cores), *sorted(lines)
