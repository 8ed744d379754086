"""First answers: ``python -m benchmarks.first [--quick] [--json FILE] [--against CHECKOUT [TASK ...]]``.

Every row is a process of its own on one core: processor seconds of the first answer, imports apart, over
those of ``import jax`` in the same process. "Cold" begins with an empty cache folder, "warm" is the one
after it, which finds its executables there. Exits with status 1 if a row takes more than its limit; the goal
is what we mean to reach. Bytecode is there already (the first of several tries writes it).

``--against`` prints processor seconds of first answers with nothing kept, beside those of another checkout.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import command

# Machines are noisy: a row fails above this multiple of its limit.
SLACK = 1.5
HERE = Path(__file__).parent


@dataclass
class Limit:
    """What a first answer may take, in multiples of ``import jax``: goals, and what is promised."""

    goal: tuple[float, float | None]
    promised: tuple[float, float | None]
    in_quick: bool = True


# Task of benchmarks.first_tasks -> cold and warm. The command and the Optuna sampler keep programs; calls of
# the library keep nothing, so they have no warm time.
LIMITS = {
    "import parzax": Limit((0.25, None), (0.25, None)),
    "import parzax, and use every name": Limit((0.25, None), (1.0, None)),
    "importance, 3 parameters, 1 level": Limit((1.0, None), (2.5, None)),
    "importance, 20 parameters, 20 levels": Limit((1.0, None), (4.5, None)),
    "importance, 1000 parameters": Limit((2.0, None), (4.5, None), in_quick=False),
    "tpe, 6 floats": Limit((1.5, None), (1.5, None)),
    "tpe, 15 mixed and conditional": Limit((4.0, None), (3.0, None), in_quick=False),
    "first ask after 50 rows, 6 floats": Limit((3.0, None), (3.5, None)),
    "first ask after 50 rows, 15 mixed": Limit((6.0, None), (10.5, None), in_quick=False),
    "estimator: fit, log_prob, sample": Limit((1.5, None), (3.5, None)),
    "optimize, 200 evaluations, c-TPE": Limit((3.0, None), (11.0, None), in_quick=False),
    "meta_learn_tpe, 100 sources": Limit((1.5, None), (6.0, None)),
    "paper_meta_learn_tpe, 100 sources": Limit((8.0, None), (30.0, None), in_quick=False),
    "Optuna sampler, longest wait": Limit((1.5, 0.3), (5.0, 1.5)),
    "command line, a study": Limit((4.0, 2.0), (14.0, 6.0)),  # with intervals: one more program
    # 1000 trials of 20 parameters, 49 levels.
    "command line, a page": Limit((12.0, 7.0), (20.0, 12.0), in_quick=False),
}

# The trial from which on our sampler has taken less processor time than Optuna's.
AHEAD = {
    "6 floats": Limit((500, 300), (1000, 500)),
    "conditional": Limit((300, 150), (1000, 600)),
}


# Tasks of `compare`.
COMPARED = (
    "importance, 3 parameters, 1 level",
    "importance, 20 parameters, 20 levels",
    "importance, 200 parameters",
    "first ask after 50 rows, 6 floats",
)
_ADDED = """
import sys
from benchmarks import first_tasks
first_tasks.TASKS.setdefault("importance, 200 parameters", lambda: first_tasks.importance(200, 1))
first_tasks.main(sys.argv[1], "--profile" in sys.argv[2:])
"""


def seconds(
    task: str, cache: str, *options: str, root: Path = HERE.parent, **settings: str
) -> dict[str, Any]:
    """What a process of its own says of the task and of ``import jax``, in the checkout ``root``."""
    own = {"XDG_CACHE_HOME": cache, "JAX_PLATFORMS": "cpu", "PARZAX_NO_CACHE": "0", "MPLBACKEND": "Agg"}
    # With bytecode, as everybody's second process has it: without, `import jax` takes four times as long.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    env.pop("JAX_COMPILATION_CACHE_DIR", None)
    if root != HERE.parent:
        own["PYTHONPATH"] = f"{root / 'src'}{os.pathsep}{root}"
    found = subprocess.run(
        [sys.executable, "-c", _ADDED, task, *options], cwd=root,
        env=env | own | settings, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if found.returncode:
        raise RuntimeError(f"{task}: {found.stderr}")
    return json.loads(found.stdout.splitlines()[-1])


def measure(task: str, cache: str) -> float:
    """The task in a process of its own, in multiples of ``import jax``."""
    found = seconds(task, cache)
    return found["task"] / found["jax"]


def row(task: str, tries: int) -> tuple[float, float | None]:
    """Cold and warm, the smallest of some tries each: nothing makes a process faster than it is.

    Where one is above its limit then, up to two tries more: a machine has bad minutes, and the first process
    on a new one reads its packages from the disk.
    """
    cold, warm = np.inf, None if LIMITS[task].goal[1] is None else np.inf
    for number in range(tries + 2):
        if number >= tries:
            if not above(task, (cold, warm)):
                break
            print(f"{task}: {cold:.2f}x, {warm or 0:.2f}x; measured again", flush=True)
        with tempfile.TemporaryDirectory() as cache:
            cold = min(cold, measure(task, cache))
            if warm is not None:
                warm = min(warm, measure(task, cache))
    return cold, warm


def above(task: str, found: tuple[float, float | None]) -> list[str]:
    """What of cold and warm is above its limit, in words."""
    return [
        f"{task}, {name}: {own:.2f}x import jax, {most:g}x is promised"
        for name, own, most in zip(("cold", "warm"), found, LIMITS[task].promised, strict=True)
        if own is not None and most is not None and own > SLACK * most
    ]


def crossing(own: np.ndarray, theirs: np.ndarray) -> float:
    """The trial from which on we have taken less; infinite if none."""
    found = float(np.flatnonzero(own >= theirs).max(initial=-1) + 2)
    return found if found <= len(theirs) else np.inf


def ahead(space: str) -> tuple[float, float]:
    """The trial from which on a study has taken less with our sampler than with Optuna's, cold and warm.

    Processor time from the start of the process, imports and compilation included; infinite if at none of
    1000.
    """
    with tempfile.TemporaryDirectory() as cache:
        ours = [np.array(seconds(f"study, parzax, {space}", cache)["task"]) for _ in range(2)]
        theirs = np.array(seconds(f"study, optuna, {space}", cache)["task"])
    cold, warm = (crossing(own, theirs) for own in ours)
    return cold, warm


def compare(other: Path, tasks: list[str], tries: int = 3) -> int:
    """Print processor seconds in another checkout and in this one; 1 if a first answer takes more here.

    Each figure is a median of processes in turn, in which nothing is kept: of the answer alone, and of the
    process with its imports.
    """
    print(
        f"{'':40s} {'answer, other':>14s} {'here':>6s} {'ratio':>6s}   {'process, other':>14s} {'here':>6s}"
    )
    above = []
    for task in tasks or COMPARED:
        spent = np.zeros((tries, 2, 2))
        for number in range(tries):
            for i, root in enumerate((other.resolve(), HERE.parent)):
                with tempfile.TemporaryDirectory() as cache:
                    begun = _children_seconds()
                    spent[number, i, 0] = seconds(task, cache, root=root, PARZAX_NO_CACHE="1")["task"]
                    spent[number, i, 1] = _children_seconds() - begun
        (answer_other, process_other), (answer, process) = np.median(spent, axis=0)
        ratio = answer / answer_other
        cells = f"{answer_other:14.2f} {answer:6.2f} {ratio:6.2f}   {process_other:14.2f} {process:6.2f}"
        print(f"{task:40s} {cells}", flush=True)
        if ratio > 1:
            above.append(task)
    return command.verdict([f"{task}: more than in {other}" for task in above])


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main(argv: list[str] | None = None) -> int:
    """Print the rows; 1 where one is above its limit."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--against", nargs="+")
    choice, argv = parser.parse_known_args(argv)
    if choice.against:
        return compare(Path(choice.against[0]), choice.against[1:])
    options = command.begin(__doc__, "one try each, without the longest", argv)
    print(f"{'':40s} {'cold':>7s} {'goal':>6s} {'limit':>6s}  {'warm':>7s} {'goal':>6s} {'limit':>6s}")
    failed, figures = [], {}
    for task, limit in LIMITS.items():
        if options.quick and not limit.in_quick:
            continue
        figures[task] = found = row(task, 1 if options.quick else 3)
        cells = [f"{task:40s}"]
        failed += above(task, found)
        for own, goal, most in zip(found, limit.goal, limit.promised, strict=True):
            if own is None or goal is None or most is None:
                continue
            cells.append(f"{own:6.2f}x {goal:5.2f}x {most:5.2f}x ")
        print(" ".join(cells), flush=True)
    if not options.quick:
        for space, limit in AHEAD.items():
            name = f"Optuna sampler, ahead from trial, {space}"
            figures[name] = found = ahead(space)
            print(
                f"{name:52s} "
                + "   ".join(f"{x:5.0f} (goal {g})" for x, g in zip(found, limit.goal, strict=True))
            )
            failed += [
                f"{name}: {x:.0f}"
                for x, most in zip(found, limit.promised, strict=True)
                if x > (most or np.inf)
            ]
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return command.verdict(failed)


if __name__ == "__main__":
    sys.exit(main())
