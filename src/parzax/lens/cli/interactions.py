"""``parzax interactions FILE``: print which pairs of parameters interact."""

from argparse import Namespace
from dataclasses import replace

import jax

from parzax.lens.cli import writing
from parzax.lens.cli.reading import read_log
from parzax.lens.cli.request import chosen_objective, heading, read_request
from parzax.lens.cli.writing import progress, say, say_notes
from parzax.lens.results import InteractionResult, interactions


def run_interactions(args: Namespace) -> None:
    """Print the table of pairs and its notes; write the files that were asked for."""
    log, levels, outputs, how = read_request(args, ("plot", "json", "csv"))
    if args.objective in ("all", "pareto"):
        raise ValueError("interactions are of one objective: give --objective its number or name.")
    if args.plot is not None:
        from parzax import plotting as plotting  # raises before any work if pictures cannot be drawn
    obs = read_log(log, args)
    how |= chosen_objective(args.objective, obs)
    with progress("compiling and computing"), jax.enable_x64(True):
        result = interactions(obs, levels, n_draws=args.draws, **how)
    writing.write_all([(path, _writer(name, result)) for name, path in outputs.items()])
    say_notes(obs)
    text = str(replace(result, report=writing.without_notes(result.report)))
    say(*heading(args.objective, obs), *text.split("\n"), *(f"written: {path}" for path in outputs.values()))


def _writer(name: str, result: InteractionResult) -> writing.Writer:
    if name == "plot":
        from parzax.lens import plotting

        return writing.draw_now(lambda: plotting.interactions(result), result.names)
    return writing.records_writer(result) if name == "json" else writing.csv_writer(result)
