"""``parzax importance FILE``: read, compute in float64, print, write."""

import math
import sys
from argparse import Namespace
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np

from parzax import _checks
from parzax.cli import objectives, writing
from parzax.cli.reading import log_path, read_log
from parzax.cli.writing import progress, say
from parzax.importance.flags import LOW_DATA_ROWS
from parzax.observations import Observations
from parzax.observations.columns import listed
from parzax.results import ImportanceResult, cond_ped_anova
from parzax.results.estimator import ESTIMATORS
from parzax.results.good_values import to_lines
from parzax.results.resampling import SHUFFLES, shuffles_by_default
from parzax.results.seeds import usual_level
from parzax.results.table import importance_table
from parzax.results.uncertainty import may_matter
from parzax.status import Status

MAX_LEVELS = 10_000
# Samples of a single log unless asked otherwise: of one level, of several, as many as can be counted in some
# seconds, and none below a number that says little.
_RESAMPLES, _RESAMPLES_OF_SWEEPS, _MOST_NUMBERS, _FEWEST = 1000, 200, 100_000_000, 50
_OUTPUTS = ("plot", "json", "csv", "npz", "write-space")


def run_importance(args: Namespace) -> None:
    """Print the import report, the table and the advice; write the files that were asked for."""
    levels = parse_levels("--target-quantile", args.target_quantile)
    how, path, inputs = settings_and_files(args)
    wanted = {f"--{name}": getattr(args, name.replace("-", "_")) for name in _OUTPUTS}
    outputs = {option: path for option, path in wanted.items() if path is not None}
    writing.check_outputs(outputs, inputs)
    if args.plot_kind is not None and args.plot is None:
        raise ValueError("--plot-kind says what --plot draws: give --plot out.png too.")
    if args.plot_parameter is not None and args.plot_kind != "values":
        raise ValueError("--plot-parameter goes with --plot-kind values only.")
    if args.objective == "all" and (outputs or args.good_values):
        raise ValueError(
            "--objective all prints a table for each objective; files, pictures and good values are of one: "
            "give its number or name, or pareto."
        )
    if args.plot is not None:
        from parzax import plotting as plotting  # says now if it cannot be drawn
    with progress(f"reading {path}"):
        obs = read_log(path, args)
    if args.plot_parameter is not None and args.plot_parameter not in obs.space:
        raise ValueError(
            f"--plot-parameter: no parameter {args.plot_parameter!r}; there are {listed(obs.space.names)}."
        )
    if args.objective == "all":
        if args.resamples:
            raise ValueError("--resamples goes with one objective, or pareto: tables of all have none.")
        with progress("compiling and computing"), jax.enable_x64(True):
            objectives.say_all(obs, levels, **how)
        return
    asked = objectives.chosen(args.objective, obs)
    with progress("compiling and computing"), jax.enable_x64(True):
        known = resampling(args.resamples, len(levels), obs)
        result = cond_ped_anova(obs, target_quantile=levels, **asked, **how, **known)
    text = importance_table(result, inferred=False).to_text()
    writers = {
        "--plot": lambda: writing.figure_writer(result, args.plot_kind, args.plot_parameter),
        "--json": lambda: writing.json_writer(result),
        "--csv": lambda: writing.csv_writer(result),
        "--npz": lambda: result.save,
        "--write-space": lambda: writing.text_writer(obs.space.to_json()),
    }
    writing.write_all([(path, writers[option]()) for option, path in outputs.items()])
    # What was inferred stands on stderr, as notes.
    say(*(f"parzax: note: {sentence}" for sentence in obs.report.inferred), file=sys.stderr)
    say(*objectives.heading(args.objective, obs))
    if args.good_values:
        level = usual_level(result.target_quantile, result.status)
        good = result.good_values(level)
        tested = partial(may_matter, result.uncertainty, result.n_seeds, level)
        sure = [own for own in good if tested(result.names.index(own.parameter))]
        rest = len(result.names) - len({own.parameter for own in sure})
        say(*to_lines(sure, obs.space, float(result.target_quantile[level]), rest), "")
    say(*text.split("\n"), *_advice(result, levels), *(f"written: {path}" for path in outputs.values()))


def settings_and_files(args: Namespace) -> tuple[dict[str, Any], Path, dict[str, Path]]:
    """Arguments of `cond_ped_anova` beside the levels, the log, and what is read by what it is."""
    region = parse_levels("--region-quantile", args.region_quantile)
    if len(region) != 1:
        raise ValueError(f"--region-quantile must be one level, got {args.region_quantile!r}.")
    path = log_path(args.file)
    inputs = {"the log": path} | ({} if args.space is None else {"the search space": Path(args.space)})
    how = {"region_quantile": region[0], "estimator": ESTIMATORS[args.estimator]}
    return how | {"rows": args.rows, "reference": args.reference}, path, inputs


def resampling(asked: int | None, n_levels: int, obs: Observations) -> dict[str, Any]:
    """How often the log is resampled: unless asked otherwise a single log whose rows count once.

    Every run draws the same samples. Of a log too large for them there are shuffles alone, whose time does
    not grow with the rows.
    """
    key = jax.random.key(0)
    if asked is not None:
        n_shuffles = shuffles_by_default(max(asked, SHUFFLES), len(obs.space)) if asked else 0
        return {"n_resamples": asked, "n_shuffles": n_shuffles, "key": key}
    single = not obs.batch_shape and (obs.weight is None or (obs.weight == np.floor(obs.weight)).all())
    if not single:
        return {}
    wanted = _RESAMPLES if n_levels == 1 else _RESAMPLES_OF_SWEEPS
    n = min(wanted, _MOST_NUMBERS // max(obs.n * len(obs.space), 1))
    n_shuffles = shuffles_by_default(SHUFFLES, len(obs.space))
    return {"n_resamples": n if n >= _FEWEST else 0, "n_shuffles": n_shuffles, "key": key}


def _advice(result: ImportanceResult, levels: list[float]) -> list[str]:
    """The lowest level with enough rows, where the only one asked for has too few."""
    few = (np.asarray(result.status) & int(Status.LOW_DATA) != 0).any()
    n, enough = float(np.min(result.n_region)), LOW_DATA_ROWS + 1
    # A level is a share of all rows, which are those of the region only at level 1.
    if result.region_quantile < 1 or len(levels) > 1 or not few or levels[0] >= 0.5 or 2 * enough > n:
        return []
    return [f"of {n:g} rows --target-quantile {math.ceil(100 * enough / n) / 100:g} takes {enough} or more"]


def parse_levels(option: str, text: str) -> list[float]:
    """Levels from "0.1", "0.1,0.5" or "first:last:step"; a range includes its end where the steps reach it.

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
        # The size of the quotient first: its digits may be too many to write out.
        if (last - first) / step >= MAX_LEVELS:
            raise ValueError(f"{option}: the range {part!r} has more than {MAX_LEVELS} levels.")
        levels += [float(first + i * step) for i in range(int((last - first) / step) + 1)]
    return [_checks.quantile(option, level) for level in levels]
