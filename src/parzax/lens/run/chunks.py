"""Long work in chunks: one program for all chunks, and one file per chunk, so that a killed run resumes."""

import hashlib
import io
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from operator import getitem
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from parzax import _checks
from parzax._atomic import write_whole
from parzax._mesh import with_auto_axes
from parzax._progress import is_shown, progress_bar
from parzax.lens._files import UNREADABLE, can_write_in


def map_chunks(
    function: Callable[..., Any],
    arrays: tuple[Any, ...],
    size: int,
    *,
    folder: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Any:
    """Apply ``function`` to chunks of the leading axis in sequence, compiling once.

    Without ``folder`` the work starts again when the process is killed. With ``folder`` each finished chunk
    is a file there, and the next call with the same arguments computes only the chunks that have no file.

    Args:
        function: a pure function of JAX arrays, such as ``jax.vmap(one_study)``. It is compiled here. Row i
            of its answer must depend on row i of ``arrays`` alone.
        arrays: the arguments of ``function``: a tuple of pytrees of NumPy or JAX arrays (n, ...).
        size: rows per chunk. The last chunk is filled up with copies of the last row, whose answers are
            dropped, so one program computes all chunks.
        folder: where to keep the chunks. It is made if it does not exist. It may hold chunks of other work:
            other arrays, another ``size`` or program, or another version of JAX or parzax, are other files.
            Host callbacks are not compared, so changing one goes unnoticed.
        progress: whether to show a progress bar on stderr; None shows one on a terminal and in a notebook.

    Returns:
        The pytree of answers, with leading axis n, as NumPy arrays. On the same kind of device the answer of
        a resumed call equals that of an uninterrupted one to the last bit. If n is 0, the arrays are empty.

    Raises:
        ValueError: arrays of different lengths; answers without the leading axis of the chunk.
        OSError: a chunk cannot be written, such as on a full disk. Earlier chunks are kept.

    A damaged file is replaced: its chunk is computed again.

    >>> import jax.numpy as jnp
    >>> import numpy as np
    >>> import parzax as px
    >>> px.lens.run.map_chunks(jnp.square, (np.arange(5.0),), 2)
    array([ 0.,  1.,  4.,  9., 16.], dtype=float32)
    """
    size = _checks.whole_number("size", size, 1)
    _checks.instance("arrays", arrays, tuple, "a tuple of arguments", ", not a tuple; write (x,)")
    _checks.on_host("arrays", arrays)
    lengths = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(arrays)}
    if len(lengths) != 1 or () in lengths:
        raise ValueError(f"arrays must have one leading axis of the same length, got lengths {lengths}.")
    (n,) = lengths.pop()
    compiled = jax.jit(function)
    example = jax.tree.map(lambda a: jax.ShapeDtypeStruct((size, *a.shape[1:]), a.dtype), arrays)
    like = jax.eval_shape(compiled, *example)
    shapes = [leaf.shape for leaf in jax.tree.leaves(like)]
    if not shapes or any(shape[:1] != (size,) for shape in shapes):
        raise ValueError(f"function must answer {size} rows with arrays ({size}, ...), got shapes {shapes}.")
    chunks = None
    if folder is not None:
        chunks = Chunks(folder, arrays, size, compiled.lower(*example).as_text())
    return run_chunks(compiled, arrays, n, like, chunks, what="rows", shown=is_shown(progress))


def run_chunks(
    call: Callable[..., Any],
    arrays: tuple[Any, ...],
    n: int,
    like: Any,
    chunks: "Chunks | None",
    *,
    what: str,
    shown: bool,
) -> Any:
    """The loop of `map_chunks`. ``like`` holds the shapes and dtypes of the answer of a chunk."""
    leaves, structure = jax.tree.flatten(like)
    size = leaves[0].shape[0]
    answers = [np.empty((n, *leaf.shape[1:]), leaf.dtype) for leaf in leaves]
    with progress_bar(n, what, shown and n > 0, "compiling") as update:
        for i, start in enumerate(range(0, n, size)):
            end = min(start + size, n)
            parts = None if chunks is None else chunks.get(i)
            if parts is None:
                rows = np.minimum(np.arange(start, start + size), n - 1)
                part = jax.tree.map(lambda a, rows=rows: with_auto_axes(getitem)(a, rows), arrays)
                chunk = jax.device_get(jax.tree.leaves(call(*part)))
                parts = {str(j): leaf[: end - start] for j, leaf in enumerate(chunk)}
                if chunks is not None:
                    chunks.put(i, parts)
            for j, answer in enumerate(answers):
                # A file holds the bytes of a bfloat16 array, but not its dtype.
                answer[start:end] = parts[str(j)].view(answer.dtype)
            update(end)
    return jax.tree.unflatten(structure, answers)


class Chunks:
    """Files of the chunks of one piece of work in a folder, without pickle.

    The name of a file begins with a digest of the work, so a folder may hold chunks of several pieces of
    work. A file appears under its name when it is complete. Files that end in ``.part`` were left by killed
    processes, and can be deleted.

    Args:
        folder: where the files are. It is made if it does not exist.
        work: what determines the answers, such as ``digest(paths)``. The versions of JAX and parzax are
            added.

    OSError if the folder cannot be made, or no file can be written into it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     chunks = Chunks(folder, "seed 0")
    ...     chunks.put(0, {"counts": np.arange(3)})
    ...     chunks.get(0), chunks.get(1)
    ({'counts': array([0, 1, 2])}, None)
    """

    def __init__(self, folder: str | os.PathLike[str], *work: Any) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        if not can_write_in(self.folder):
            raise PermissionError(f"no chunk can be written into folder={str(folder)!r}; give another one.")
        # Not `import parzax`, because that module imports the layers below this one.
        self._name = digest(work, sys.modules["parzax"].__version__, jax.__version__)[:16]

    def path(self, i: int) -> Path:
        """The file of chunk i."""
        return self.folder / f"{self._name}_{i:06d}.npz"

    def get(self, i: int) -> dict[str, np.ndarray] | None:
        """The arrays of chunk i, or None if its file does not exist or is damaged."""
        # Read here, because np.load does not close a truncated file.
        with (
            suppress(*UNREADABLE),
            np.load(io.BytesIO(self.path(i).read_bytes()), allow_pickle=False) as file,
        ):
            return dict(file)
        return None

    def put(self, i: int, arrays: Mapping[str, Any]) -> None:
        """Write the file of chunk i.

        OSError if it cannot be written, such as on a full disk; the files of other chunks are kept.
        """
        path, content = self.path(i), io.BytesIO()
        members: dict[str, Any] = {name: _plain(array) for name, array in arrays.items()}
        np.savez(content, **members)
        try:
            write_whole(path, content.getbuffer())
        except OSError as error:
            problem = f"{error.strerror}; chunk {i} is not kept, but all earlier ones are"
            raise OSError(error.errno, problem, str(path)) from error


def digest(*trees: Any) -> str:
    """SHA-256 of the shapes, dtypes and bytes of arrays, numbers and strings.

    >>> digest("a", 1.5)[:8] == digest("a", np.float64(1.5))[:8]
    True
    """
    sha = hashlib.sha256()
    for leaf in jax.tree.leaves(trees):
        if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            sha.update(str(leaf.dtype).encode())
            leaf = jax.random.key_data(leaf)
        array = _plain(leaf)
        sha.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return sha.hexdigest()


def _plain(values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.hasobject:
        raise TypeError(f"must be an array, a number or a string, got {values!r}.")
    return array
