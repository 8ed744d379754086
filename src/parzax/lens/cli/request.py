"""What the options of a command ask for: levels, outputs, the objective, and how to compute."""

from argparse import Namespace
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

from parzax import _checks
from parzax.lens.cli.reading import log_path
from parzax.lens.cli.writing import check_outputs
from parzax.lens.logs import Observations
from parzax.lens.results.estimator import ESTIMATORS
from parzax.lens.results.targets import objective_index, objective_names

MAX_LEVELS = 10_000


class Request(NamedTuple):
    """What the options ask for, apart from how a log is read.

    Attributes:
        log: path of the (first) log.
        levels: the levels that the user gave; None if the level is to be chosen from the number of rows.
        outputs: name of an option -> path, of the files that the user asked for.
        how: arguments of `cond_ped_anova` that say which rows count and how importances are computed.
    """

    log: Path
    levels: list[float] | None
    outputs: dict[str, Path]
    how: dict[str, Any]


def read_request(args: Namespace, outputs: Iterable[str]) -> Request:
    """Read the options; ``outputs`` names those of files. Raise for levels and files that are no good."""
    levels = None if args.target_quantile is None else parse_levels("--target-quantile", args.target_quantile)
    region = parse_levels("--region-quantile", args.region_quantile)
    if len(region) != 1:
        raise ValueError(f"--region-quantile must be one level, got {args.region_quantile!r}.")
    how = {"region_quantile": region[0], "rows": args.rows}
    if "estimator" in args:
        how |= {"estimator": ESTIMATORS[args.estimator], "reference": args.reference}
    inputs = {"the log": args.file, "the search space": args.space, "the other log": vars(args).get("other")}
    sources = {what: log_path(text) for what, text in inputs.items() if text is not None}
    paths = {name: path for name in outputs if (path := getattr(args, name)) is not None}
    options = {"-o" if name == "out" else f"--{name.replace('_', '-')}": path for name, path in paths.items()}
    check_outputs(options, sources)
    return Request(sources["the log"], levels, paths, how)


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
