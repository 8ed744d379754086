"""Programs: what compiles anew, and what the command and the adapters keep for the next process."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from caches import jax_cache, programs_in

from parzax import _compile
from parzax._compile import Compiled, compiled
from parzax.lens import _programs
from parzax.lens._programs import keep_programs

TRACES: list[tuple] = []


def scaled(x: jax.Array, by: float, tree: dict | None = None) -> dict:
    """What is tested with: an array, a static number, and a structure."""
    TRACES.append((x.shape, by))
    rest = 0 if tree is None else tree["a"].sum()
    return {"out": x * by + rest, "said": "as it was", "by": by}


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty folder for executables."""
    TRACES.clear()
    with programs_in(tmp_path, monkeypatch) as folder:
        yield folder


def files(folder: Path) -> list[Path]:
    """The programs in the folder, without the times of their last use."""
    return sorted(path for path in folder.rglob("*-cache") if path.is_file())


def fresh() -> Compiled:
    """As in a new process: nothing in memory."""
    return compiled(scaled)


def test_compiles_once_per_kind():
    """Shapes, dtypes, structures and static values compile anew; other numbers do not."""
    TRACES.clear()
    own, x = fresh(), np.ones(3, np.float32)
    for args in ((x, 2.0), (x + 1, 2.0), (jnp.asarray(x), 2.0)):
        found = own(*args)
        np.testing.assert_array_equal(found["out"], 2 * np.asarray(args[0]))
        assert (found["said"], found["by"]) == ("as it was", 2.0)
    assert own.n_compiled == len(TRACES) == 1
    own(x, 3.0)
    own(np.ones(4, np.float32), 2.0)
    own(x.astype(np.int32), 2)
    own(x, 2.0, {"a": x})
    own(x, 2.0, tree={"a": x})
    assert own.n_compiled == len(TRACES) == 6


def test_precision_is_that_of_the_call():
    """A NumPy array is float32 or float64, as JAX computes; catches a program of the other precision."""
    own, x = fresh(), np.ones(2)
    assert own(x, 2.0)["out"].dtype == np.float32
    with jax.enable_x64(True):
        assert own(x, 2.0)["out"].dtype == np.float64
    assert own(x, 2.0)["out"].dtype == np.float32


def test_part_of_another_program():
    """Under jit, vmap, grad and disable_jit it is an ordinary function."""
    own, x = fresh(), jnp.arange(3.0)
    np.testing.assert_array_equal(jax.jit(lambda x: own(x, 2.0)["out"])(x), 2 * x)
    np.testing.assert_array_equal(jax.vmap(lambda x: own(x, 2.0)["out"])(x), 2 * x)
    assert jax.grad(lambda x: own(x, 2.0)["out"].sum())(x).tolist() == [2, 2, 2]
    # Nothing traced goes in, but a program is traced around it.
    np.testing.assert_array_equal(jax.jit(lambda y: y + own(np.ones(3, np.float32), 2.0)["out"])(x), x + 2)
    with jax.disable_jit():
        np.testing.assert_array_equal(own(x, 2.0)["out"], 2 * x)


def test_errors_are_the_functions_own_and_do_not_stay():
    """A function that raises raises, every time, and can be called again."""
    fails = [True]

    def function(x):
        if fails[0]:
            raise ValueError("as it says")
        return x

    own = compiled(function)
    for _ in range(2):
        with pytest.raises(ValueError, match="as it says"):
            own(np.ones(2, np.float32))
    fails[0] = False
    assert own(np.ones(2, np.float32)).tolist() == [1, 1]


def call_anew() -> None:
    """What a new process does: trace, then read the program or compile it."""
    jax.clear_caches()
    with keep_programs():
        assert fresh()(np.ones(2, np.float32), 2.0)["out"].tolist() == [2, 2]


def test_what_is_kept_is_read(cache):
    """Catches a program that is kept under another name the second time, and a folder open to others."""
    call_anew()
    kept = {path: path.read_bytes() for path in files(cache)}
    assert kept
    call_anew()
    assert {path: path.read_bytes() for path in files(cache)} == kept
    folders = {path.parent for path in kept}
    assert all(folder.stat().st_mode & 0o077 == 0 for folder in folders)


def test_settings_of_jax_stay(cache):
    """Contexts of several threads leave JAX as it was, and outside of them nothing is kept."""
    before = dict(jax.config.values)
    with keep_programs(), ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda _: call_anew(), range(4)))
    with pytest.raises(ValueError, match="of the program"), keep_programs():
        raise ValueError("of the program")
    assert dict(jax.config.values) == before
    n_files = len(files(cache))
    compiled(lambda x: x - 7)(np.ones(2, np.float32))
    assert len(files(cache)) == n_files


def test_turned_off(cache, monkeypatch):
    """PARZAX_NO_CACHE=1 neither reads nor writes."""
    monkeypatch.setenv("PARZAX_NO_CACHE", "1")
    call_anew()
    assert not cache.exists()


def test_a_cache_of_the_user_is_used(cache, tmp_path):
    """Catches programs that are kept in two places, or in the wrong one."""
    with jax_cache(str(tmp_path / "theirs")):
        call_anew()
        assert jax.config.jax_compilation_cache_dir == str(tmp_path / "theirs")
    assert not cache.exists()


@pytest.mark.parametrize("spoil", ["mode", "link"])
def test_a_folder_of_others_is_not_used(cache, tmp_path, spoil):
    """Whoever can write to the folder can run code as the user."""
    call_anew()
    (folder,) = cache.iterdir()
    n_files = len(files(cache))
    if spoil == "mode":
        folder.chmod(0o777)
    else:
        folder.rename(tmp_path / "elsewhere")
        folder.symlink_to(tmp_path / "elsewhere")
    jax.clear_caches()
    with keep_programs():
        compiled(lambda x: x - 3)(np.ones(2, np.float32))
    assert len(files(tmp_path)) == n_files


def test_the_folder_is_bounded(tmp_path, monkeypatch):
    """The files that were used least recently go first."""
    monkeypatch.setattr(_programs, "_MOST", 1000)
    for i in range(10):
        (tmp_path / f"{i}-cache").write_bytes(bytes(100))
        os.utime(tmp_path / f"{i}-cache", (i, i))
    _programs._shrink(tmp_path)
    assert len(files(tmp_path)) == 10
    (tmp_path / "new-cache").write_bytes(bytes(100))
    _programs._shrink(tmp_path)
    assert [path.name for path in files(tmp_path)] == [f"{i}-cache" for i in range(3, 10)] + ["new-cache"]


@pytest.mark.slow
def test_the_next_process_reads(tmp_path):
    """Catches programs whose names depend on the process, as hashes of strings do."""
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path), "PARZAX_NO_CACHE": "0", "JAX_PLATFORMS": "cpu"}
    env.pop("JAX_COMPILATION_CACHE_DIR", None)
    code = (
        "import numpy as np, parzax as px\n"
        "space = px.Space({'x': px.Float(0, 1), 'k': px.Categorical(['a', 'b'])})\n"
        "px.adapters.Session(px.tpe(space)).ask(0)\n"
    )
    kept = []
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], env=env, check=True)
        kept.append({path.name for path in files(tmp_path)})
    assert kept[0]
    assert kept[0] == kept[1]


def test_unknown_options_are_left_out(monkeypatch):
    """An XLA that does not know an option compiles without it."""
    known = _compile.OPTIONS["small"]
    monkeypatch.setitem(_compile.OPTIONS, "small", {"xla_of_the_future": True, **known})
    assert fresh()(np.ones(2, np.float32), 2.0)["out"].tolist() == [2, 2]


def test_options_asked_for(monkeypatch):
    """PARZAX_COMPILE overrules; what is none is refused by name."""
    monkeypatch.setenv("PARZAX_COMPILE", "large")
    assert fresh()(np.ones(2, np.float32), 2.0)["out"].tolist() == [2, 2]
    monkeypatch.setenv("PARZAX_COMPILE", "fast")
    with pytest.raises(ValueError, match="PARZAX_COMPILE must be one of small, middling, large, auto, got"):
        fresh()(np.ones(2, np.float32), 2.0)
