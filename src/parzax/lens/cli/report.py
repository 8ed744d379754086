"""``parzax report FILE``: read, compute in float64, write a page."""

import datetime
import math
import re
import shlex
from argparse import Namespace
from pathlib import Path

import jax

from parzax.lens.cli import writing
from parzax.lens.cli.reading import read_log
from parzax.lens.cli.request import chosen_objective, read_request
from parzax.lens.cli.writing import progress, say, say_notes


def run_report(args: Namespace) -> None:
    """Write the page; print how the log was read and where the page is, but not the page's text."""
    log, levels, _, how = read_request(args, ["out"])
    from parzax.lens.page import rendering as rendering  # raises now if a page cannot be made
    from parzax.lens.page.report import compute_interactions, compute_result, report

    if args.objective == "all":
        raise ValueError("--objective all prints tables; a page is about one objective, or pareto.")
    obs = read_log(log, args)
    how |= chosen_objective(args.objective, obs)
    how["n_resamples"] = args.resamples
    about = {"command": _command(args, log), "title": args.title, "date": args.date}
    if args.title is None:
        about["title"] = log.name if args.study is None else f"{log.name}: {args.study}"
    if args.date is None:
        about["date"] = datetime.date.today().isoformat()

    def write(file: Path) -> None:
        with jax.enable_x64(True):
            with progress("1 of 3: importances and how sure they are"):
                result = compute_result(obs, levels, how)
            with progress("2 of 3: interactions"):
                pairs = compute_interactions(obs, result, how)
            with progress("3 of 3: writing the page"):
                report(result, file, interactions=pairs, **about)

    writing.write_all([(args.out, write)])
    say_notes(obs)
    lines = obs.report.lines(math.prod(obs.batch_shape))
    say(*lines[: len(lines) - len(obs.report.inferred)], f"written: {args.out}")


def _command(args: Namespace, log: Path) -> str:
    """The command as it was given, with files by name only, so that a page says nothing about folders."""
    names = {Path(path): Path(path).name for path in (args.out, args.space) if path is not None}
    names[Path(args.file)] = log.name

    def shorten(word: str) -> str:
        # A word may hold an option and its value: --out=FILE, -oFILE.
        option, value = re.findall(r"^(--[^=]*=|-o(?=.))?(.*)$", word, re.DOTALL)[0]
        return option + names.get(Path(value), value)

    return shlex.join(["parzax", *map(shorten, args.words)])
