"""Units of work, each kept in a file: both cores work, and a run that was killed goes on where it was."""

import gc
import hashlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import jax
import numpy as np

import parzax

Arrays = dict[str, np.ndarray]
# What a unit that passed its limit has in place of arrays: that limit, in seconds.
LIMIT = "limit"
MOST_MAPS = 25_000


@dataclass(frozen=True)
class Unit:
    """Some minutes of work: a function of a module, and what it is called with.

    Attributes:
        name: names its file, such as "curves/activation-disjoint".
        function: "module:function", which returns arrays by name; equal arguments give equal arrays, but for
            times.
        arguments: by name; plain values.
        needs: packages without which the unit cannot run.
        cost: seconds, about; the longest begin first.
        alone: after all others, with nothing beside it, since it measures time.
        limit: seconds after which it is given up, where the system has alarms; its arrays are then `LIMIT`.
    """

    name: str
    function: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    needs: str | tuple[str, ...] | None = None
    cost: float = 1.0
    alone: bool = False
    limit: float | None = None


def run(
    units: Sequence[Unit],
    folder: Path,
    *,
    resume: bool,
    say: Callable[[str], None],
    only: Sequence[str] = ("",),
) -> dict[str, Arrays]:
    """The arrays of all units by name, from their files where ``resume`` finds them.

    A unit is left out, and is ``{}``, if its package is missing, or if it has no file yet and its name
    contains none of the texts ``only``. Warns where the code is not that of the files.
    """
    if not resume and folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    code, own = folder / "code", _code()
    if code.is_file() and code.read_text(encoding="utf-8") != own:
        print(f"{folder} has parts of another state of the code; run without --resume", file=sys.stderr)
    else:
        code.write_text(own, encoding="utf-8")
    found: dict[str, Arrays] = {}
    left: list[Unit] = []
    for unit in units:
        path = _path(folder, unit)
        if any(find_spec(name) is None for name in _packages(unit)):
            found[unit.name] = {}
        elif path.is_file():
            found[unit.name] = _load(path)
        elif not any(text in unit.name for text in only):
            found[unit.name] = {}
        else:
            left.append(unit)
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
    whole, start, done = sum(unit.cost for unit in left), time.perf_counter(), 0.0
    for alone in (False, True):
        own = sorted((unit for unit in left if unit.alone is alone), key=lambda unit: -unit.cost)
        n = max(min(len(own), 1 if alone else n_cores), 1)
        for unit, arrays in _all(own, folder, n):
            found[unit.name] = arrays
            done += unit.cost
            took = time.perf_counter() - start
            say(f"{len(found)} of {len(units)} parts, about {took * (whole - done) / done:.0f} s left")
    return {unit.name: found[unit.name] for unit in units}


def _code() -> str:
    """A number for the code of the package and of the benchmarks."""
    digest = hashlib.sha256()
    for root in (Path(parzax.__file__).parent, Path(__file__).parents[2]):
        for path in sorted(root.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _packages(unit: Unit) -> tuple[str, ...]:
    return (unit.needs,) if isinstance(unit.needs, str) else unit.needs or ()


def _all(units: Sequence[Unit], folder: Path, n: int) -> Iterator[tuple[Unit, Arrays]]:
    """As they are done, by so many processes."""
    with ProcessPoolExecutor(n, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(_work, unit, folder): unit for unit in units}
        for future in as_completed(waiting):
            unit = waiting[future]
            try:
                yield unit, future.result()
            except Exception as error:
                pool.shutdown(cancel_futures=True)
                raise RuntimeError(f"{unit.name}: {error}") from error


def clock(folder: Path, seconds: float, *, resume: bool) -> float:
    """Seconds that a run took, with those before it was killed; kept beside its parts."""
    path = folder / "seconds"
    before = float(path.read_text(encoding="utf-8")) if resume and path.is_file() else 0.0
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{before + seconds:.1f}\n", encoding="utf-8")
    return before + seconds


def _work(unit: Unit, folder: Path) -> Arrays:
    module, function = unit.function.split(":")
    work = getattr(import_module(module), function)
    try:
        with _alarm(unit.limit):
            arrays = work(**unit.arguments)
    except _OverLimit:
        arrays = {LIMIT: np.array(unit.limit)}
    path = _path(folder, unit)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A file is whole or not there.
    part = path.with_suffix(f".{os.getpid()}.part")
    with part.open("wb") as file:
        np.savez_compressed(file, **arrays)
    part.replace(path)
    _forget_programs()
    return _load(path)


def _forget_programs() -> None:
    """Before the kernel's memory maps run out (65530 by default): each compiled program keeps several."""
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


class _OverLimit(BaseException):  # peers catch every Exception
    """An alarm."""


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    """Raises `_OverLimit` in the block after so many seconds."""
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return

    def over(*_: object) -> None:
        raise _OverLimit

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _path(folder: Path, unit: Unit) -> Path:
    return folder / f"{unit.name}.npz"


def _load(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as data:
        return dict(data)


def progress(text: str) -> None:
    """A line that is written over, on a terminal; else nothing."""
    if sys.stderr.isatty():
        print(f"\r{text:72}", end="", file=sys.stderr, flush=True)
