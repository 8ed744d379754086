"""``parzax compare LOG_A LOG_B``: compare the importances of two logs."""

import math
from argparse import Namespace
from dataclasses import replace

import jax

from parzax.lens.cli import writing
from parzax.lens.cli.reading import log_path, read_logs
from parzax.lens.cli.request import chosen_objective, heading, read_request
from parzax.lens.cli.writing import progress, say, say_notes
from parzax.lens.results import compare


def run_compare(args: Namespace) -> None:
    """Print the table of differences and its notes; write the files that were asked for."""
    log, levels, outputs, how = read_request(args, ("json", "csv"))
    if args.objective == "all":
        raise ValueError("a comparison is of one objective, or pareto: give --objective one of these.")
    names, paths = (f"the first half of {log.name}", "the second half"), [log]
    if args.other is not None:
        paths.append(log_path(args.other))
        studies = (args.study or [None]) * 2
        names = [path.name + f": {study}" * bool(study) for path, study in zip(paths, studies, strict=False)]
    logs = read_logs(paths, args)
    how |= chosen_objective(args.objective, logs[0])
    if args.resamples is not None:
        how["n_resamples"] = args.resamples
    with progress("compiling and computing"), jax.enable_x64(True):
        result = compare(logs[0], *logs[1:], target_quantile=levels, **how)
    writers = {"json": writing.records_writer, "csv": writing.csv_writer}
    writing.write_all([(path, writers[name](result)) for name, path in outputs.items()])
    say_notes(logs[0])
    say(*heading(args.objective, logs[0]), f"first: {names[0]}, second: {names[1]}")
    for which, obs in zip(("first", "second") if len(logs) > 1 else ("both",), logs, strict=True):
        lines = replace(obs.report, inferred=()).lines(math.prod(obs.batch_shape))
        say(*(f"{which}: {line}" for line in lines))
    say("", *str(result).split("\n"), *(f"written: {path}" for path in outputs.values()))
