"""Programs: what compiles anew, what an earlier process left, and what is never read."""

import os
import pickle
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from caches import jax_cache, programs_in

from parzax.lens import _programs
from parzax.lens._programs import disk, effort
from parzax.lens._programs.folder import Folder
from parzax.lens._programs.programs import CachedJit
from parzax.space import Float, Space

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
    return sorted(folder.iterdir()) if folder.exists() else []


def fresh() -> CachedJit:
    """As in a new process: nothing in memory."""
    return _programs.program(scaled)


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
    own.clear()
    own(x, 2.0)
    assert len(TRACES) == 7


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
    assert own.n_compiled == 0


def test_errors_are_the_functions_own_and_do_not_stay():
    """A function that raises raises, every time, and can be called again."""
    fails = [True]

    def function(x):
        if fails[0]:
            raise ValueError("as it says")
        return x

    own = _programs.program(function)
    for _ in range(2):
        with pytest.raises(ValueError, match="as it says"):
            own(np.ones(2, np.float32))
    fails[0] = False
    assert own(np.ones(2, np.float32)).tolist() == [1, 1]


def test_threads_compile_once():
    """Several threads that ask for the same program wait for one compilation."""
    TRACES.clear()
    own, x, together = fresh(), np.ones(5, np.float32), threading.Barrier(4)

    def call(_):
        together.wait()
        return np.asarray(own(x, 7.0)["out"])

    with ThreadPoolExecutor(4) as pool:
        assert all((found == 7).all() for found in pool.map(call, range(4)))
    assert len(TRACES) == 1


def test_prepared_on_shapes():
    """What was compiled on shapes serves the arrays; catches another kind for the same shapes."""
    TRACES.clear()
    own = fresh()
    own.prepare(jax.ShapeDtypeStruct((4,), np.float32), 2.0)
    assert len(TRACES) == 1
    own(np.ones(4, np.float32), 2.0)
    own(jnp.ones(4), 2.0)
    assert len(TRACES) == 1


def test_found_on_disk(cache):
    """A second process traces nothing, and gives the same bits and the same structure."""
    x = np.linspace(0, 1, 7, dtype=np.float32)
    first = fresh()(x, 2.5, {"a": x})
    assert len(TRACES) == len(files(cache)) == 1
    second = fresh()(x, 2.5, {"a": x})
    assert len(TRACES) == 1
    assert second["said"] == "as it was"
    assert second.keys() == first.keys()
    np.testing.assert_array_equal(first["out"], second["out"])
    fresh()(x, 3.5, {"a": x})
    assert len(TRACES) == len(files(cache)) == 2


@pytest.mark.parametrize(
    "surroundings",
    [("_software", ("another version",)), ("_processor", ("another one",))],
    ids=["software", "processor"],
)
def test_what_is_from_elsewhere_is_not_found(cache, monkeypatch, surroundings):
    """Other versions, sources and processors have other names."""
    fresh()(np.ones(2, np.float32), 2.0)
    name, value = surroundings
    monkeypatch.setattr(disk, name, lambda: value)
    fresh()(np.ones(2, np.float32), 2.0)
    assert len(TRACES) == len(files(cache)) == 2


def test_options_are_part_of_the_name(cache, monkeypatch):
    """An executable compiled with other options is another one."""
    fresh()(np.ones(2, np.float32), 2.0)
    monkeypatch.setenv("PARZAX_COMPILE", "large")
    fresh()(np.ones(2, np.float32), 2.0)
    assert len(files(cache)) == 2


def test_turned_off(cache, monkeypatch):
    """PARZAX_NO_CACHE=1 neither reads nor writes."""
    monkeypatch.setenv("PARZAX_NO_CACHE", "1")
    fresh()(np.ones(2, np.float32), 2.0)
    assert not cache.exists()


def test_beside_the_cache_of_jax(cache, tmp_path):
    """What JAX's cache has loaded cannot be stored again; catches entries that fail when they are called."""
    x, least = np.ones(3, np.float32), "jax_persistent_cache_min_compile_time_secs"
    before = getattr(jax.config, least)
    jax.config.update(least, 0.0)
    try:
        with jax_cache(str(tmp_path / "jax")):
            for _ in range(3):
                assert fresh()(x, 4.0)["out"].tolist() == [4, 4, 4]
                jax.clear_caches()
    finally:
        jax.config.update(least, before)
    assert not cache.exists()
    assert fresh()(x, 4.0)["out"].tolist() == [4, 4, 4]
    assert fresh()(x, 4.0)["out"].tolist() == [4, 4, 4]
    assert len(TRACES) == 4


@pytest.mark.parametrize("damage", ["short", "changed", "empty", "other"])
def test_damaged_entries_are_replaced(cache, damage):
    """Truncated, altered and foreign files: compiled anew, and stored anew."""
    x = np.ones(3, np.float32)
    fresh()(x, 2.0)
    (path,) = files(cache)
    good = path.read_bytes()
    bad = {"short": good[:-1], "changed": good[:-1] + bytes([good[-1] ^ 1]), "empty": b"",
           "other": pickle.dumps("something")}  # fmt: skip
    path.write_bytes(bad[damage])
    assert fresh()(x, 2.0)["out"].tolist() == [2, 2, 2]
    assert len(TRACES) == 2
    assert len(path.read_bytes()) > 100
    fresh()(x, 2.0)
    assert len(TRACES) == 2


def test_own_folder_alone(cache):
    """The folder is made for the user alone; one that others may write to is neither read nor written."""
    x = np.ones(3, np.float32)
    fresh()(x, 2.0)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files(cache))
    cache.chmod(0o770)
    fresh()(x, 2.0)
    fresh()(x, 3.0)
    assert (len(TRACES), len(files(cache))) == (3, 1)
    cache.chmod(0o700)
    fresh()(x, 2.0)
    assert len(TRACES) == 3


def test_a_folder_of_somebody_else(cache, monkeypatch):
    """What another user owns is not read, whatever its mode."""
    x = np.ones(3, np.float32)
    fresh()(x, 2.0)
    own = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: own + 1)
    fresh()(x, 2.0)
    assert len(TRACES) == 2


def test_links_are_not_followed(cache, tmp_path):
    """Neither a folder nor a file that is a link elsewhere."""
    x = np.ones(3, np.float32)
    fresh()(x, 2.0)
    (path,) = files(cache)
    elsewhere = tmp_path / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    fresh()(x, 2.0)
    assert len(TRACES) == 2
    moved = tmp_path / "moved"
    cache.rename(moved)
    cache.symlink_to(moved)
    fresh()(x, 2.0)
    assert len(TRACES) == 3


def test_folder_is_bounded(tmp_path, monkeypatch):
    """The files not used for longest go; catches a folder that grows without end."""
    monkeypatch.setattr("parzax.lens._programs.folder._MOST", 1000)
    folder = Folder(tmp_path / "own")
    for i in range(20):
        folder.write(f"f{i}", bytes(100))
        os.utime(tmp_path / "own" / f"f{i}", (i, i)) if (tmp_path / "own" / f"f{i}").exists() else None
    left = {path.name for path in (tmp_path / "own").iterdir()}
    assert sum(path.stat().st_size for path in (tmp_path / "own").iterdir()) <= 1000
    assert "f19" in left
    assert "f0" not in left


def test_functions_that_may_change_are_not_stored(cache):
    """A user's function among the arguments: compiled in every process, as its name says too little."""

    def double(x):
        return 2 * x

    own = _programs.program(lambda function, x: function(x))
    assert own(double, np.ones(2, np.float32)).tolist() == [2, 2]
    assert files(cache) == []


@pytest.mark.slow
def test_a_space_is_named_alike_in_every_process(cache, tmp_path):
    """Equal spaces have equal names whatever the hashes; catches a name that no other process finds."""
    program = (
        "import numpy as np, sys; from parzax.lens._programs import disk; from parzax.space import *\n"
        "space = Space({'c': Categorical(['a', 'b']), 'x': Float(0, 1, when=In('c', ['a']))})\n"
        "if sys.argv[1] == '1': hash(space), [d.axis for own in space.domains for d in own]\n"
        "print(disk.entry('name', lambda: space, ()).name)"
    )
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
    found = {
        subprocess.run(
            [sys.executable, "-c", program, looked], env={**env, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True, cwd=tmp_path,
        ).stdout
        for looked, seed in (("0", "1"), ("1", "2"))
    }  # fmt: skip
    assert len(found) == 1
    entry = disk.entry("name", lambda: Space({"y": Float(0, 1)}), ())
    assert entry is not None
    assert entry.name not in found


def test_spaces_survive_a_pickle():
    """A loaded space equals the one that was saved, and so does its hash."""
    space = Space({"y": Float(0, 1), "z": Float(1, 2, log=True)})
    again = pickle.loads(pickle.dumps(space))
    assert again == space
    assert hash(again) == hash(space)


def test_settings_of_jax_stay(cache):
    """No call leaves a global setting of JAX behind."""
    before = dict(jax.config.values)
    fresh()(np.ones(2, np.float32), 2.0)
    assert dict(jax.config.values) == before


def test_unknown_options_are_left_out(monkeypatch):
    """An XLA that does not know an option compiles without it."""
    known = effort.OPTIONS["small"]
    monkeypatch.setitem(effort.OPTIONS, "small", {"xla_of_the_future": True, **known})
    assert fresh()(np.ones(2, np.float32), 2.0)["out"].tolist() == [2, 2]


def test_options_asked_for(monkeypatch):
    """PARZAX_COMPILE overrules; what is none is refused by name."""
    monkeypatch.setenv("PARZAX_COMPILE", "large")
    assert fresh()(np.ones(2, np.float32), 2.0)["out"].tolist() == [2, 2]
    monkeypatch.setenv("PARZAX_COMPILE", "fast")
    with pytest.raises(ValueError, match="PARZAX_COMPILE must be one of small, middling, large, auto, got"):
        fresh()(np.ones(2, np.float32), 2.0)


def test_weight_by_the_arguments(monkeypatch):
    """What a program says of its work may be functions of the arguments, and decides as plain numbers do."""
    seen = []

    def compiled(lowered, size, weight, library):
        seen.append((size, weight, library))
        return lowered.compile()

    monkeypatch.setattr(effort, "compiled", compiled)
    own = CachedJit(scaled, weight=lambda x, by: 1 + by, library=lambda x, by: by / 4)
    for by in (0.5, 2.0):
        own(np.ones(2, np.float32), by)
    assert seen == [("auto", 1.5, 0.125), ("auto", 3.0, 0.5)]


@pytest.mark.parametrize(("library", "size"), [(0.0, "middling"), (0.999, "small")])
def test_what_a_library_does_needs_no_options(library, size):
    """Products of matrices are many operations, and compile with the options of few."""
    x = np.ones((200, 200), np.float32)
    lowered = jax.jit(lambda x: x @ x).lower(x)
    assert effort._decided(lowered, "auto", 1.0, library) == size


@pytest.mark.slow
def test_several_devices(tmp_path):
    """A second process on a machine of two devices; catches an executable that is loaded for all of them."""
    program = (
        "import numpy as np, parzax as px\n"
        "x = np.linspace(0, 1, 40)[:, None]\n"
        "obs = px.Observations.from_arrays(px.Space({'x': px.Float(0, 1)}), x, x[:, 0])\n"
        "print(px.cond_ped_anova(obs, 0.3).importance.tolist())"
    )
    own = {"XDG_CACHE_HOME": str(tmp_path), "PARZAX_NO_CACHE": "0", "JAX_PLATFORMS": "cpu",
           "XLA_FLAGS": "--xla_force_host_platform_device_count=2"}  # fmt: skip
    env = {**os.environ, **own}
    env.pop("JAX_COMPILATION_CACHE_DIR", None)
    said = [
        subprocess.run(
            [sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True, cwd=tmp_path
        ).stdout
        for _ in range(2)
    ]
    assert said == ["[[1.0]]\n"] * 2
    assert len(files(tmp_path / "parzax" / "programs")) == 1


def test_an_executable_that_fails_is_compiled_anew(cache, monkeypatch):
    """At its first call; catches an entry that breaks every process after it."""
    x = np.ones(3, np.float32)
    fresh()(x, 2.0)
    read = disk.Entry.read

    def broken(*_):
        raise jax.errors.JaxRuntimeError("no such function")

    def failing(self):
        found = read(self)
        return None if found is None else (broken, found[1])

    monkeypatch.setattr(disk.Entry, "read", failing)
    own = fresh()
    for _ in range(2):
        assert own(x, 2.0)["out"].tolist() == [2, 2, 2]
    assert len(TRACES) == 2
    assert files(cache) == []


def test_sources_that_changed_under_the_process(cache, monkeypatch):
    """Nothing is kept where a source is younger than its import: it may not be what was compiled."""
    disk._software.cache_clear()
    monkeypatch.setattr(disk, "_IMPORTED", 0.0)
    try:
        fresh()(np.ones(3, np.float32), 2.0)
    finally:
        disk._software.cache_clear()
    assert not cache.exists()


def test_a_mesh_is_left_to_jax():
    """Under a mesh it is an ordinary function, so that no program remembers one."""
    own, x = fresh(), np.ones(3, np.float32)
    with jax.set_mesh(jax.make_mesh((1,), ("i",))):
        assert own(x, 2.0)["out"].tolist() == [2, 2, 2]
    assert own.n_compiled == 0
