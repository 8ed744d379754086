"""Arguments of the command ``parzax``, and how it fails: one line, status 2, nothing written."""

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import jax

import parzax
from parzax.cli.demo import run_demo
from parzax.cli.importance import run_importance
from parzax.cli.writing import KINDS

_MAX_MESSAGE = 600


class _UsageError(Exception):
    """Arguments that do not parse."""


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # A later option must not change what a shortened one means.
        super().__init__(*args, **(kwargs | {"allow_abbrev": False}))

    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: arguments without the program's name; those of the process if not given.

    Returns:
        The exit status: 0, or 2 after one line ``parzax: error: ...`` on stderr. Nothing is written then.
    """
    try:
        args = _parser().parse_args(argv)
        _enable_compilation_cache()
        # What a user should know is printed as notes; the rest is chatter of libraries.
        logging.getLogger("jax").setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output (`| head`) has gone; do not complain again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("parzax: error: interrupted", file=sys.stderr)
        return 2
    except Exception as error:  # whatever goes wrong in a file from outside is one line
        print(f"parzax: error: {_one_line(error)}", file=sys.stderr)
        return 2
    return 0


def _one_line(error: Exception) -> str:
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    line = " ".join(str(text).split())
    # Other characters that move the cursor must not reach a terminal.
    line = "".join(c if c.isprintable() else "?" for c in line)
    if not isinstance(error, (ValueError, TypeError, OSError, ImportError, _UsageError)) or not line:
        line = f"{type(error).__name__}: {line}".rstrip(": ")
    return line if len(line) <= _MAX_MESSAGE else line[: _MAX_MESSAGE - 3] + "..."


def _enable_compilation_cache() -> None:
    """Keep compiled programs between runs, under the user's cache folder; PARZAX_NO_CACHE=1 turns it off."""
    if os.environ.get("PARZAX_NO_CACHE", "0") not in ("", "0"):
        return
    try:
        base = os.environ.get("XDG_CACHE_HOME")
        folder = (Path(base) if base else Path.home() / ".cache") / "parzax"
        folder.mkdir(parents=True, exist_ok=True)
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
    except (OSError, RuntimeError, AttributeError):
        pass  # only slower


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="parzax",
        description="Hyperparameter importance from a log of an optimisation run (conditional PED-ANOVA).",
    )
    parser.add_argument("--version", action="version", version=f"parzax {parzax.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _demo_arguments(commands.add_parser("demo", help="a first look, without files or network"))
    _importance_arguments(
        commands.add_parser("importance", help="the importance of every parameter in a log")
    )
    return parser


def _demo_arguments(demo: argparse.ArgumentParser) -> None:
    demo.description = (
        "Draw random searches on the activation problem, compute the importance of all parameters at 99 "
        "levels for all seeds in one compiled call, print a table and save the figure."
    )
    demo.add_argument("--seeds", type=_positive, default=10, help="number of searches (10)")
    demo.add_argument("--n", type=_positive, default=1000, help="configurations in each (1000)")
    demo.add_argument("--seed", type=int, default=0, help="seed of the random numbers (0)")
    demo.add_argument("--out", type=Path, default=Path("parzax-demo.png"), help="figure (parzax-demo.png)")
    demo.set_defaults(run=run_demo)


def _importance_arguments(importance: argparse.ArgumentParser) -> None:
    importance.description = (
        "Read a log (an Optuna sqlite or journal file, CSV, TSV, Parquet, Feather, Arrow, or npz), compute "
        "the importance of every parameter in float64, and print it. Files are only read, and without "
        "executing anything in them."
    )
    add: Any = importance.add_argument
    add("file", metavar="FILE", help="the log")
    add("--study", metavar="NAME", help="which study of an Optuna file, if it has several")
    add("--target", metavar="COL", nargs="+", help="objective column(s) of a table (value, or values_*)")
    add("--direction", choices=("minimize", "maximize"), help="of the objective (minimize)")
    add("--space", metavar="space.json", help="the search space; inferred from a table if not given")
    add(
        "--target-quantile",
        metavar="LEVELS",
        default="0.1",
        help="level(s) of the best rows: 0.1, or 0.1,0.5, or 0.01:0.99:0.01 (0.1)",
    )
    add("--region-quantile", metavar="LEVEL", default="1.0", help="level of the region compared with (1.0)")
    add("--filter", metavar="EXPR", help='rows to use, such as "state == COMPLETE and lr < 0.1"')
    add("--objective", type=int, default=0, metavar="I", help="which objective, if there are several (0)")
    add("--failed", choices=("drop", "worst"), default="drop", help="what happens to failed rows (drop)")
    add(
        "--reference",
        choices=("region", "uniform"),
        default="region",
        help="local or global importance (region)",
    )
    add(
        "--estimator",
        choices=("default", "optuna"),
        default="default",
        help="optuna: the numbers of Optuna 5",
    )
    for kind, text in (
        ("plot", "figure"),
        ("json", "levels, importances, variances, statuses"),
        ("csv", "one line per seed, level and parameter"),
        ("npz", "everything, for ImportanceResult.load"),
    ):
        add(f"--{kind}", type=Path, metavar=f"out.{'png' if kind == 'plot' else kind}", help=f"write: {text}")
    add("--write-space", type=Path, metavar="space.json", help="write: the search space, given or inferred")
    add(
        "--plot-kind",
        choices=KINDS,
        help="what the figure shows: a sweep over the levels, or bars, regimes or good values at the first "
        "level (bars for one level, sweep for several)",
    )
    add("--plot-parameter", metavar="NAME", help="whose values to draw (the most important parameter's)")
    importance.set_defaults(run=run_importance)


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, got {text!r}")
    return number
