"""Arguments of the command ``parzax``, and its errors: one line, exit status 2, no file written."""

import argparse
import atexit
import gc
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, NoReturn

import parzax
from parzax._words import visible

_MAX_MESSAGE = 600
_SURROGATE = "whether a Gaussian process of the log answers; auto: if a search that learns chose the rows"
_KINDS = ("sweep", "bars", "regimes", "values", "effects", "effect-map", "history", "slices", "parallel")


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Options cannot be shortened: a new option would change the meaning of a short form.
        super().__init__(*args, **(kwargs | {"allow_abbrev": False}))

    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the arguments ``argv``, or those of the process.

    Returns the exit status: 0, or 2 after one line ``parzax: error: ...`` on stderr. Nothing is written then.
    """
    try:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="replace")  # a terminal may be unable to show a sign such as ±
        if argv is None:
            # Threads of OpenBLAS slow down matrices as small as those of a log, many times beside other work.
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
            # Garbage is collected rarely, and not at exit: that would take a fifth of the time.
            gc.set_threshold(100_000, 50, 100)
            atexit.register(gc.freeze)
        args = _parser().parse_args(argv)
        args.words = list(sys.argv[1:] if argv is None else argv)
        # Our notes tell users what they should know, so warnings of libraries are not shown.
        logging.getLogger("jax").setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            args.run(args)
        sys.stdout.flush()
    except BrokenPipeError:
        # The program that reads our output (`| head`) has ended; avoid a second error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Exception, KeyboardInterrupt) as error:  # any error, also in a damaged file, becomes one line
        print(f"parzax: error: {_one_line(error)}", file=sys.stderr)
        return 2
    return 0


def _one_line(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    text = error.args[0] if isinstance(error, KeyError) and error.args else error
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    line = visible(" ".join(str(text).split()))
    if not isinstance(error, (ValueError, TypeError, OSError, ImportError)) or not line:
        line = f"{type(error).__name__}: {line}".rstrip(": ")
    # A command to copy is shown in full.
    short = len(line) <= _MAX_MESSAGE or hasattr(error.__cause__, "guess")
    return line if short else line[: _MAX_MESSAGE - 3] + "..."


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="parzax",
        description="Hyperparameter importance from a log of an optimisation run (conditional PED-ANOVA).",
    )
    parser.add_argument("--version", action="version", version=f"parzax {parzax.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, add_arguments, about in (
        ("demo", _add_demo, "a first look, without files or network"),
        ("importance", _add_importance, "the importance of every parameter in a log"),
        ("report", _add_report, "a page about a log: one HTML file for a browser"),
        ("interactions", _add_interactions, "which pairs of parameters matter together"),
        ("compare", _add_compare, "whether other parameters matter in another log"),
    ):
        command = commands.add_parser(name, help=about, description=add_arguments.__doc__)
        command.set_defaults(run=partial(_run, name))
        add_arguments(command.add_argument)
    return parser


def _run(name: str, args: argparse.Namespace) -> None:
    """Import the module of a command and run it; the late import keeps help and errors fast."""
    command = import_module(f"parzax.lens.cli.{'demo' if name == 'demo' else 'commands'}")
    from parzax.lens._programs import keep_programs

    with keep_programs():
        command.run(args)


# The docstrings of these functions are the descriptions of the commands.


def _add_demo(add: Any) -> None:
    """Write the log of a random search over a small network, print the importance of its hyperparameters,
    save a figure, and say what to type for another log.
    """
    add("--out", type=Path, default=Path("parzax-demo.png"), help="figure (parzax-demo.png); the log is .csv")


def _add_importance(add: Any) -> None:
    """Read a log (an Optuna sqlite or journal file, CSV, TSV, JSON lines, Parquet, Feather or Arrow),
    and print what to do next, which parameters matter and how sure that is, in float64. Files are only read,
    and without executing anything in them.
    """
    _add_log(add)
    _add_estimation(add)
    _choose(add, "--surrogate", ("auto", "yes", "no"), _SURROGATE)
    add("--plot", type=Path, metavar="out.png", help="write: figure")
    kinds = (
        "sweep over the levels; bars, bars by domain, good values at one level; effects by a surrogate; rows"
    )
    add("--plot-kind", choices=_KINDS, help=f"{kinds} (bars for one level, sweep for several)")
    _add_output(add, "parameter")
    add("--write-space", type=Path, metavar="space.json", help="write: the search space, given or inferred")


def _add_report(add: Any) -> None:
    """Read a log, as parzax importance does, and write one HTML file that opens without a network: which
    parameters matter at which level, which do not, which values are good, and how the log was read.
    """
    _add_log(add)
    _add_estimation(add)
    _choose(add, "--surrogate", ("auto", "yes", "no"), _SURROGATE)
    add("-o", "--out", type=Path, default=Path("report.html"), metavar="FILE", help="the page (report.html)")
    add("--level", metavar="LEVELS", help="levels of the slider (0.02:0.98:0.02, below the region's)")
    add("--title", metavar="TEXT", help="title of the page (the name of the file)")
    add("--date", metavar="TEXT", help="date on the page (today)")


def _add_interactions(add: Any) -> None:
    """Read a log, as parzax importance does, and print which pairs of parameters interact: together they
    explain more of which rows are among the best than the two explain separately. Example:
    parzax interactions study.db --level 0.3
    """
    _add_log(add)
    text = "draws from the null for p-values; 0: none (1000, or 20 for each pair)"
    add("--draws", type=_whole_number, metavar="N", help=text)
    add("--plot", type=Path, metavar="out.png", help="write: a map of the pairs")
    _add_output(add, "pair")


def _add_compare(add: Any) -> None:
    """Read two logs, as parzax importance does, and print how much the importances differ, and how sure that
    is; of one log, its first half against its second. Tables get one search space, that of all their rows.
    Example: parzax compare before.csv after.csv --target loss --direction minimize
    """
    _add_log(add, "LOG_A", n_studies="+")
    add("other", metavar="LOG_B", nargs="?", help="the other log (none: the halves of the first)")
    _add_estimation(add, n_samples=1000)
    _add_output(add, "parameter")


def _add_output(add: Any, entry: str) -> None:
    """Add the options that say at which levels what is printed or written."""
    usual = "0.1, or the nearest that leaves more than ten rows on both sides"
    text = f"part of the rows that counts as the best: 0.1, or 0.1,0.5, or 0.01:0.99:0.01 ({usual})"
    add("--level", metavar="LEVELS", help=text)
    add("--verbose", action="store_true", help="also print how the log was read and numbers were made")
    add("--json", type=Path, metavar="out.json", help="write: sentences, advice and the numbers as records")
    add("--csv", type=Path, metavar="out.csv", help=f"write: one line per seed, level and {entry}")


def _add_estimation(add: Any, n_samples: int = 500) -> None:
    """Add the options that say how importances are computed."""
    text = f"random halves of the rows, for intervals; 0: no intervals or p-values ({n_samples})"
    add("--resamples", type=_whole_number, metavar="N", help=text)
    text = "compare the best rows with all rows, or with all values equally"
    _choose(add, "--reference", ("region", "uniform"), text)
    _choose(add, "--estimator", ("default", "optuna"), "optuna: Optuna 5's numbers")


def _choose(add: Any, option: str, choices: tuple[str, ...], text: str) -> None:
    add(option, choices=choices, default=choices[0], help=f"{text} ({choices[0]})")


def _add_log(add: Any, name: str = "FILE", n_studies: str | None = None) -> None:
    """Add the options that say which log is read, and which of its rows and objectives count."""
    add("file", metavar=name, help="the log; sqlite:/// URLs too")
    text = "objective column(s) of a table (value, values_*, or the only result in a tool's table)"
    add("--target", metavar="COL", nargs="+", help=text)
    add("--parameters", metavar="COL", nargs="+", help="the parameters, or their columns (all others)")
    add("--drop", metavar="COL", nargs="+", help="columns of a table, or parameters, to leave out")
    add("--trial", metavar="COL", help="column that says to which trial a row belongs")
    add("--step", metavar="COL", help="column that counts the rows of a trial, such as its epochs")
    add("--per-trial", choices=("last", "best", "all"), help="which of a trial's rows count (last)")
    add("--group", metavar="COL", help="column of labels, equal for rows that belong together, as repeats do")
    add("--seed", metavar="COL", help="column of seeds: each is one run, and the runs give standard errors")
    add("--constraints", metavar="COL", nargs="+", help="columns of a table that are feasible where <= 0")
    text = "which of several objectives: number or name, all (a table for each) or pareto (their front) (0)"
    add("--objective", default="0", metavar="WHICH", help=text)
    add("--study", metavar="NAME", nargs=n_studies, help="which study of an Optuna file, if it has several")
    add("--space", metavar="space.json", help="the search space; inferred from a table if not given")
    add("--region", metavar="LEVEL", default="1.0", help="level of the region compared with (1.0)")
    add("--filter", metavar="EXPR", help='rows to use, such as "state == COMPLETE and lr < 0.1"')
    senses, full = ("minimize", "maximize"), {"min": "minimize", "max": "maximize"}
    text = "of the objective, or one of each (the one that the tool or the name says, else minimize)"
    add("--direction", choices=senses, nargs="+", help=text, type=lambda x: full.get(x, x))
    _choose(add, "--failed", ("drop", "worst"), "what happens to failed rows, and pruned ones")
    add("--pruned", choices=("drop", "worst"), help="the same for pruned rows alone (as --failed)")
    text = "rows that count; feasible: those that satisfy all constraints (if there are some, else all)"
    add("--rows", choices=("all", "feasible"), help=text)


def _whole_number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"must be a whole number, 0 or more, got {text!r}")
    return int(text)
