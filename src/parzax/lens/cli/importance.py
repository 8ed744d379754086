"""``parzax importance FILE``: read, compute in float64, print, write."""

from argparse import Namespace

import jax

from parzax.lens.cli import writing
from parzax.lens.cli.counted import count_log
from parzax.lens.cli.reading import read_log
from parzax.lens.cli.request import chosen_objective, heading, read_request
from parzax.lens.cli.writing import progress, say, say_notes
from parzax.lens.page.brief import summarise
from parzax.lens.results import ImportanceResult, cond_ped_anova
from parzax.lens.results.counted import analyse_counts
from parzax.lens.results.default_level import have_few_rows
from parzax.lens.results.good_values import to_lines
from parzax.lens.results.resampling import SHUFFLES, choose_counts, default_shuffles
from parzax.lens.results.table import importance_table
from parzax.lens.tables.roles import suggest
from parzax.status import NOT_COMPARED, Status

# Functions that make the writer of each output, by the name of its option.
_WRITERS = {
    "plot": lambda result, args: writing.figure_writer(result, args.plot_kind, args.plot_parameter),
    "json": lambda result, _: writing.json_writer(result),
    "csv": lambda result, _: writing.csv_writer(result),
    "npz": lambda result, _: result.save,
    "write_space": lambda result, _: writing.text_writer(result.space.to_json()),
}


def run_importance(args: Namespace) -> None:
    """Print the import report, the table and the advice; write the files that were asked for."""
    log, levels, outputs, how = read_request(args, _WRITERS)
    if args.plot_kind is not None and args.plot is None:
        raise ValueError("--plot-kind says what --plot draws: give --plot out.png too.")
    if args.plot_parameter is not None and args.plot_kind != "values":
        raise ValueError("--plot-parameter goes with --plot-kind values only.")
    if args.objective == "all" and outputs:
        remedy = "files and pictures are of one: give its number or name, or pareto"
        raise ValueError(f"--objective all prints a table for each objective; {remedy}.")
    if args.plot is not None:
        from parzax import plotting as plotting  # raises before any work if pictures cannot be drawn
    counted = count_log(log, args, levels, how)
    obs = read_log(log, args) if counted is None else counted[0]
    if (name := args.plot_parameter) is not None and name not in obs.space:
        hint = suggest([name], obs.space.names, "there are")
        raise ValueError(f"--plot-parameter: no parameter {name!r}; {hint}")
    asked = [str(i) for i in range(obs.n_objectives)] if args.objective == "all" else [args.objective]
    chosen = [chosen_objective(which, obs) for which in asked]
    with progress("compiling and computing"), jax.enable_x64(True):
        if counted is None:
            how |= choose_counts(obs, args.resamples)
            results = [cond_ped_anova(obs, target_quantile=levels, **how, **which) for which in chosen]
        else:
            n_shuffles = 0 if args.resamples == 0 else default_shuffles(SHUFFLES, len(obs.space))
            results = [analyse_counts(counted[1], obs.report, how["estimator"], how["reference"], n_shuffles)]
    writing.write_all([(path, _WRITERS[name](results[0], args)) for name, path in outputs.items()])
    say_notes(obs)
    for which, result in zip(asked, results, strict=True):
        say(*[""] * (result is not results[0]), *heading(which, obs))
        say(*_describe(result, levels, args.good_values))
    say(*(f"written: {path}" for path in outputs.values()))


def _describe(result: ImportanceResult, levels: list[float] | None, good_values: bool) -> list[str]:
    """Lines of text about one result: sentences, good values, the table and the advice."""
    head, level = summarise(result), result.usual_level
    lines = [*head, ""]
    if good_values:
        good = result.good_values(level)
        n_others = len(result.names) - len({g.parameter for g in good})
        lines += [*to_lines(good, result.space, float(result.target_quantile[level]), n_others), ""]
    # Sentences that were printed above the table are not repeated below it.
    said = " ".join(head)
    table = importance_table(result, inferred=False).to_text().split("\n")
    lines += [line for line in table if not line or line[1:] not in said]
    return lines + _advice(result, levels)


def _advice(result: ImportanceResult, levels: list[float] | None) -> list[str]:
    """What to do where the levels asked for have too few rows."""
    text = "without --target-quantile the level is one that leaves more than ten rows, if any does"
    few = have_few_rows(result.n_target, result.n_region).all()
    # If all losses or all values are equal, or no rows remain, another level does not help.
    anywhere = (result.status & int(Status.NO_DATA | Status.ALL_EQUAL | NOT_COMPARED) == 0).any()
    return [text] if few and levels is not None and anywhere else []
