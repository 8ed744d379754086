"""Work in chunks: the answers of one call, kept in files, whatever ends the process in between."""

import errno
import io
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.lens.run.chunks import Chunks, digest

X = np.random.default_rng(0).normal(size=(23, 3)).astype(np.float32)
SRC = Path(__file__).parents[1] / "src"


def summary(x, scale):
    return {
        "sum": x.sum(axis=1) * scale["a"].astype(x.dtype),
        "rows": x.astype(jnp.bfloat16),
        "positive": x > 0,
    }


ARGUMENTS = (X, {"a": jnp.arange(23)})


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def assert_equal(one, other):
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("size", [1, 5, 23, 40])
def test_chunks_are_the_rows_of_one_call(size, tmp_path):
    """With and without a folder; catches a last chunk that is not trimmed, and a dtype lost in a file."""
    expected = jax.device_get(summary(*ARGUMENTS))
    folder = tmp_path / "new" / "folder"
    for where in (None, folder, folder):
        assert_equal(px.lens.run.map_chunks(summary, ARGUMENTS, size, folder=where), expected)
    assert [name[-10:] for name in files(folder)] == [f"{i:06d}.npz" for i in range(-(-23 // size))]


def test_keys_and_no_rows(tmp_path):
    """Typed keys are arrays too; no rows give empty arrays of the right shapes."""
    keys = jax.random.split(jax.random.key(0), 7)
    draw = jax.vmap(lambda key: jax.random.normal(key, (2,)))
    for folder in (None, tmp_path, tmp_path):
        answer = px.lens.run.map_chunks(draw, (keys,), 3, folder=folder)
        np.testing.assert_array_equal(answer, draw(keys))
    others = jax.random.split(jax.random.key(1), 7)
    np.testing.assert_array_equal(px.lens.run.map_chunks(draw, (others,), 3, folder=tmp_path), draw(others))
    assert px.lens.run.map_chunks(draw, (keys[:0],), 3).shape == (0, 2)


def test_a_damaged_file_is_computed_again(tmp_path):
    """Truncated anywhere, with a byte changed, or no archive at all; other chunks are read."""
    answer = px.lens.run.map_chunks(summary, ARGUMENTS, 9, folder=tmp_path)
    other, path, _ = sorted(tmp_path.iterdir())
    content, before = path.read_bytes(), other.stat().st_mtime_ns
    changed = bytearray(content)
    changed[200] ^= 1
    array = io.BytesIO()
    np.save(array, X)
    cut = b"", content[:10], content[: len(content) // 2], content[:-1]
    for damaged in (*cut, bytes(changed), b"text", array.getvalue()):
        path.write_bytes(damaged)
        assert_equal(px.lens.run.map_chunks(summary, ARGUMENTS, 9, folder=tmp_path), answer)
        assert len(np.load(path).files) == 3
    assert other.stat().st_mtime_ns == before


def scaled(factor):
    return lambda x: x * x.dtype.type(factor)


def test_other_work_is_kept_apart(tmp_path):
    """A value, a shape, the size, or a constant within the function; catches an answer of other work."""
    changed = X.copy()
    changed[22, 2] = np.nextafter(changed[22, 2], np.inf)
    n_files = 0
    for factor, x, size in (
        (2, X, 9),
        (2, X.copy(), 9),
        (2, changed, 9),
        (2, X[:22], 9),
        (2, X, 8),
        (3, X, 9),
    ):
        answer = px.lens.run.map_chunks(scaled(factor), (x,), size, folder=tmp_path)
        np.testing.assert_array_equal(answer, np.float32(factor) * x)
        n_files += 3 if x is X or len(x) < 23 or x is changed else 0
        assert len(files(tmp_path)) == n_files


def test_closed_over_arrays_are_compared(tmp_path):
    """Tables in a closure, also in one that is jitted; catches a text of the program without constants."""
    table = np.random.default_rng(1).normal(size=1000)

    def call(table):
        inner = jax.jit(lambda x: x + jnp.asarray(table, x.dtype)[None, :3])
        px.lens.run.map_chunks(lambda x: inner(x), (X,), 9, folder=tmp_path)
        return len(files(tmp_path))

    assert (call(table), call(table.copy())) == (3, 3)
    assert call(table + np.r_[1e-3, np.zeros(999)]) == 6


def test_errors(tmp_path):
    """Each names the argument and the remedy."""
    with pytest.raises(
        TypeError, match=r"arrays must be a tuple of arguments, got ndarray, not a tuple; write \(x,\)"
    ):
        px.lens.run.map_chunks(summary, X, 5)
    with pytest.raises(ValueError, match="arrays must have one leading axis of the same length"):
        px.lens.run.map_chunks(summary, (X, {"a": np.arange(22)}), 5)
    with pytest.raises(ValueError, match="arrays must have one leading axis"):
        px.lens.run.map_chunks(summary, (X, {"a": np.float32(0)}), 5)
    with pytest.raises(ValueError, match="size must be a whole number of at least 1, got 0"):
        px.lens.run.map_chunks(summary, ARGUMENTS, 0)
    with pytest.raises(
        ValueError, match=r"function must answer 5 rows with arrays \(5, ...\), got shapes \[\(3,\)\]"
    ):
        px.lens.run.map_chunks(lambda x: x.sum(axis=0), (X,), 5)
    with pytest.raises(TypeError, match="progress must be True or False"):
        px.lens.run.map_chunks(summary, ARGUMENTS, 5, progress="yes")
    with pytest.raises(TypeError, match="must be an array, a number or a string"):
        digest(tmp_path)
    with pytest.raises(TypeError, match="must be an array, a number or a string"):
        Chunks(tmp_path).put(0, {"a": np.array([tmp_path])})
    with pytest.raises(TypeError, match="arrays is traced, but its values are needed"):
        jax.jit(lambda x: px.lens.run.map_chunks(summary, (x, {"a": x[:, 0]}), 5))(X)
    assert files(tmp_path) == []


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    """It is refused before the work."""
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(OSError, match=r"File exists: '.*file'"):
        Chunks(file)
    chunks = Chunks(tmp_path)

    def refuse(*arguments, **options):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(PermissionError, match=r"no chunk can be written into folder=.* give another one"):
        Chunks(tmp_path)
    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError, match="chunk 0 is not kept, but all earlier ones are"):
        chunks.put(0, {"x": X})


def test_the_bar_of_a_resumed_call(tmp_path, capsys):
    """Rows of chunks that are read count too; the bar ends at all rows."""
    px.lens.run.map_chunks(summary, ARGUMENTS, 5, folder=tmp_path)
    for path in sorted(tmp_path.iterdir())[2:4]:
        path.unlink()
    px.lens.run.map_chunks(summary, ARGUMENTS, 5, folder=tmp_path, progress=True)
    counts = [int(count) for count in re.findall(r"\| (\d+)/23 \[", capsys.readouterr().err)]
    assert counts[-1] == 23
    assert set(counts) <= {0, 5, 10, 15, 20, 23}


# Chunks of three rows, each of which takes the given number of seconds; prints chunk numbers as they begin.
WORK = """
import sys, time
import numpy as np
from parzax.lens.run.chunks import Chunks, run_chunks
n, size, seconds, folder = int(sys.argv[1]), 3, float(sys.argv[2]), sys.argv[3]
import jax
def call(rows):
    print(int(rows[0]) // size, flush=True)
    time.sleep(seconds)
    return np.random.default_rng(int(rows[0])).normal(size=(size, 2000))
like = jax.ShapeDtypeStruct((size, 2000), np.float64)
answer = run_chunks(call, (np.arange(n),), n, like, Chunks(folder, n), what="rows", shown=False)
np.save(folder + ".npy", answer)
print("done", flush=True)
"""


def start(script, *arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(SRC), "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **pipes, **options)


def killed_and_resumed(folder, kills, n):
    """Kill the work at random times after a chunk has begun; return how often each chunk began."""
    rng, begun = np.random.default_rng(kills), []
    for _ in range(kills):
        process = start(WORK, n, 0.02, folder)
        assert process.stdout is not None
        line = process.stdout.readline()
        time.sleep(rng.uniform(0, 0.06))
        process.send_signal(signal.SIGKILL)
        begun += [line.strip(), *process.stdout.read().split()]
        process.communicate()
        if "done" in begun:
            break
    out, err = start(WORK, n, 0.0, folder).communicate(timeout=120)
    assert out.split()[-1] == "done", err
    return begun + out.split()


@pytest.mark.parametrize("kills", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_killed_at_any_point(kills, tmp_path):
    """SIGKILL in computing and in writing: the same bytes, at most one chunk again for each kill."""
    n = 9 * kills
    begun = killed_and_resumed(tmp_path / "killed", kills, n)
    expected = [np.random.default_rng(first).normal(size=(3, 2000)) for first in range(0, n, 3)]
    np.testing.assert_array_equal(np.load(tmp_path / "killed.npy"), np.concatenate(expected))
    numbers = [int(word) for word in begun if word != "done"]
    assert sorted(set(numbers)) == list(range(3 * kills))
    assert len(numbers) - len(set(numbers)) <= kills
    # In order, and never back by more than the chunk in progress.
    assert all(b - a in (0, 1) for a, b in itertools.pairwise(numbers))


def test_a_full_disk(tmp_path):
    """A limit of the file size stands for it: a named error, no half file, and the rest later."""
    limited = """
    import resource, sys
    import numpy as np
    from parzax.lens.run.chunks import Chunks
    resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))
    chunks = Chunks(sys.argv[1])
    chunks.put(0, {"x": np.zeros(1000)})
    for n in (2000, 200_000):
        try:
            chunks.put(1, {"x": np.zeros(n)})
        except OSError as error:
            print(type(error).__name__, error)
    """
    out, err = start(limited, tmp_path).communicate(timeout=120)
    message = "OSError [Errno 27] File too large; chunk 1 is not kept, but all earlier ones are"
    assert [line.startswith(message) for line in out.splitlines()] == [True, True], out + err
    chunks = Chunks(tmp_path)
    assert files(tmp_path) == [chunks.path(0).name]
    np.testing.assert_array_equal(chunks.get(0)["x"], np.zeros(1000))
    assert chunks.get(1) is None
