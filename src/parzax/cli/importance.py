"""``parzax importance FILE``: read, compute in float64, print, write."""

from argparse import Namespace
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import jax

from parzax import _checks
from parzax.cli import writing
from parzax.cli.counted import count_log
from parzax.cli.reading import log_path, read_log
from parzax.cli.writing import progress, say, say_notes
from parzax.importance.estimator import ESTIMATORS
from parzax.observations import Observations
from parzax.page.brief import summarise
from parzax.results import ImportanceResult, cond_ped_anova
from parzax.results.counted import analyse_counts
from parzax.results.default_level import have_few_rows
from parzax.results.good_values import to_lines
from parzax.results.resampling import SHUFFLES, choose_counts, default_shuffles
from parzax.results.table import importance_table
from parzax.results.targets import objective_index, objective_names
from parzax.status import NOT_COMPARED, Status
from parzax.tables.roles import suggest

MAX_LEVELS = 10_000
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
    levels = asked_levels(args)
    outputs = asked_outputs(args, _WRITERS)
    log, how = prepare(args, option_paths(outputs))
    how |= estimation(args)
    if args.plot_kind is not None and args.plot is None:
        raise ValueError("--plot-kind says what --plot draws: give --plot out.png too.")
    if args.plot_parameter is not None and args.plot_kind != "values":
        raise ValueError("--plot-parameter goes with --plot-kind values only.")
    if args.objective == "all" and outputs:
        raise ValueError(
            "--objective all prints a table for each objective; files and pictures are of one: give its "
            "number or name, or pareto."
        )
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


def prepare(args: Namespace, outputs: dict[str, Path]) -> tuple[Path, dict[str, Any]]:
    """The path of the log, and its region and rows; raise for wrong ``outputs`` (option -> path)."""
    region = parse_levels("--region-quantile", args.region_quantile)
    if len(region) != 1:
        raise ValueError(f"--region-quantile must be one level, got {args.region_quantile!r}.")
    log = log_path(args.file)
    inputs = {"the log": log} | ({} if args.space is None else {"the search space": Path(args.space)})
    writing.check_outputs(outputs, inputs)
    return log, {"region_quantile": region[0], "rows": args.rows}


def asked_levels(args: Namespace) -> list[float] | None:
    """The levels that the user gave; None if the level is to be chosen from the number of rows."""
    asked = args.target_quantile
    return None if asked is None else parse_levels("--target-quantile", asked)


def estimation(args: Namespace) -> dict[str, Any]:
    """The arguments of `cond_ped_anova` that say how importances are computed."""
    return {"estimator": ESTIMATORS[args.estimator], "reference": args.reference}


def asked_outputs(args: Namespace, names: Iterable[str]) -> dict[str, Path]:
    """Name -> path of those outputs among ``names`` that the user asked for."""
    return {name: path for name in names if (path := getattr(args, name)) is not None}


def option_paths(outputs: Mapping[str, Path]) -> dict[str, Path]:
    """The same paths, with options such as "--write-space" as keys."""
    return {f"--{name.replace('_', '-')}": path for name, path in outputs.items()}


def _advice(result: ImportanceResult, levels: list[float] | None) -> list[str]:
    """What to do where the levels asked for have too few rows."""
    text = "without --target-quantile the level is one that leaves more than ten rows, if any does"
    few = have_few_rows(result.n_target, result.n_region).all()
    # If all losses or all values are equal, or no rows remain, another level does not help.
    anywhere = (result.status & int(Status.NO_DATA | Status.ALL_EQUAL | NOT_COMPARED) == 0).any()
    return [text] if few and levels is not None and anywhere else []


def chosen_objective(text: str, obs: Observations) -> dict[str, Any]:
    """The arguments of `cond_ped_anova` that --objective stands for: a number, a name, or "pareto"."""
    if text == "pareto":
        return {"selection": "pareto"}
    words = ", all or pareto" if obs.n_objectives > 1 else ""
    with _checks.explain(f"--objective takes a number or name{words}", ValueError):
        return {"objective": objective_index(obs, int(text) if text.isdecimal() else text)}


def heading(text: str, obs: Observations) -> list[str]:
    """A line above a table, if there are several objectives: which one it shows, and how to get others."""
    if obs.n_objectives == 1:
        return []
    if text == "pareto":
        ways = " and ".join(obs.report.direction)
        about = f"all {obs.n_objectives} objectives ({ways}) by Pareto rank"
        return [f"{about}; --objective all for each by itself"]
    number = chosen_objective(text, obs)["objective"]
    about = f"objective {number} of {obs.n_objectives} ({obs.report.direction[number]})"
    name = f", {objective_names(obs)[number]!r}" if obs.report.objectives else ""
    return [f"{about}{name}; --objective I for another, or all, or pareto"]


def parse_levels(option: str, text: str) -> list[float]:
    """Levels from "0.1", "0.1,0.5" or "first:last:step"; a range includes its end if the steps reach it.

    >>> parse_levels("--target-quantile", "0.1:0.3:0.1,0.5")
    [0.1, 0.2, 0.3, 0.5]
    """
    levels: list[float] = []
    for part in text.split(","):
        try:
            pieces = [Decimal(piece.strip()) for piece in part.split(":")]
        except InvalidOperation:
            pieces = []
        if len(pieces) not in (1, 3) or not all(piece.is_finite() for piece in pieces):
            raise ValueError(f"{option} must look like 0.1, 0.1,0.5 or 0.01:0.99:0.01, got {text!r}.")
        first, last, step = pieces if len(pieces) == 3 else (pieces[0], pieces[0], Decimal(1))
        if step <= 0 or last < first:
            raise ValueError(f"{option}: the range {part!r} needs first <= last and a step above 0.")
        # Check the size of the quotient first: it may have too many digits to write out.
        if (last - first) / step >= MAX_LEVELS:
            raise ValueError(f"{option}: the range {part!r} has more than {MAX_LEVELS} levels.")
        levels += [float(first + i * step) for i in range(int((last - first) / step) + 1)]
    return [_checks.quantile(option, level) for level in levels]
