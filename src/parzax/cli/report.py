"""``parzax report FILE``: read, compute in float64, write a page."""

import datetime
import math
import shlex
import sys
from argparse import Namespace
from pathlib import Path

import jax

from parzax.cli import objectives, writing
from parzax.cli.importance import parse_levels, resampling, settings_and_files
from parzax.cli.reading import read_log
from parzax.cli.writing import progress, say


def run_report(args: Namespace) -> None:
    """Write the page; its summary is printed nowhere else, so one line says where it is."""
    levels = None
    if args.target_quantile is not None:
        levels = parse_levels("--target-quantile", args.target_quantile)
    how, path, inputs = settings_and_files(args)
    writing.check_outputs({"-o": args.out}, inputs)
    from parzax import page
    from parzax.page import rendering as rendering  # says now if a page cannot be made

    if args.objective == "all":
        raise ValueError("--objective all prints tables; a page is about one objective, or pareto.")
    with progress(f"reading {path}"):
        obs = read_log(path, args)
    asked = objectives.chosen(args.objective, obs)

    def write(file: Path) -> None:
        with progress("compiling and computing"), jax.enable_x64(True):
            page.report(
                obs,
                file,
                target_quantile=levels,
                **how,
                **asked,
                **resampling(args.resamples, 2 if levels is None else len(levels), obs),
                title=path.name if args.title is None else args.title,
                command=_command(args, path),
                date=datetime.date.today().isoformat() if args.date is None else args.date,
            )

    writing.write_all([(args.out, write)])
    say(*(f"parzax: note: {sentence}" for sentence in obs.report.inferred), file=sys.stderr)
    lines = obs.report.lines(math.prod(obs.batch_shape))
    say(*lines[: len(lines) - len(obs.report.inferred)], f"written: {args.out}")


def _command(args: Namespace, path: Path) -> str:
    """The command as it was given, files by their names alone: a page says nothing about folders."""
    files = {Path(given) for given in (args.file, args.out, args.space) if given is not None}
    words = []
    for word in args.words:
        if word == args.file:
            words.append(path.name)
            continue
        # An option may hold its value: --out=FILE, -oFILE.
        option, sign, value = word.partition("=") if word.startswith("--") else ("", "", word)
        if word.startswith("-o"):
            option, sign, value = "-o", "", word[2:]
        words.append(f"{option}{sign}{Path(value).name}" if value and Path(value) in files else word)
    return shlex.join(["parzax", *words])
