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
    kind = jax.devices()[0].device_kind
    print(f"parzax {px.__version__}, jax {jax.__version__}, {kind}, Python {platform.python_version()}")
    return options


def verdict(failed: list[str]) -> int:
    """Print the claims that do not hold, and return 1 if there are any."""
    print()
    for text in failed:
        print(f"does not hold: {text}")
    print("all claims hold" if not failed else f"{len(failed)} claims do not hold")
    return 1 if failed else 0


def run(description: str | None, jobs: Callable[[bool], Iterator[list[Row]]], argv: list[str] | None) -> int:
    """Run the jobs, print their rows, and return 1 if one of them does not hold.

    Args:
        description: docstring of the command; its first line is the help.
        jobs: ``jobs(quick)`` gives lists of rows, as they are measured.
        argv: arguments; those of the process when None.
    """
    options = begin(description, "fewer repeats, without the longest rows", argv)
    rows: list[Row] = []
    for found in jobs(options.quick):
        rows += found
        if sys.stderr.isatty():
            print(f"\r{len(rows)} rows done ...", end="", file=sys.stderr, flush=True)
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows], indent=1))
    failed = [row for row in rows if not row.holds]
    for row in failed:
        print(f"below {SLACK} of the promise, or different: {row.work}, {row.bits} bits, {row.peer}")
    return 1 if failed else 0
