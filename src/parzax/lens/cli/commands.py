"""The commands that read a log: read, compute in float64 one result (or one per objective), write, print."""

import datetime
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import jax
import numpy as np

from parzax import _checks
from parzax.divergence import Pearson
from parzax.importance import Grid
from parzax.importance.estimate import from_counts
from parzax.lens._waiting import saying
from parzax.lens.cli import writing
from parzax.lens.cli.reading import log_path, read_log, read_logs, read_sample
from parzax.lens.cli.writing import Writer, say
from parzax.lens.logs import Observations
from parzax.lens.results import compare, cond_ped_anova, interactions
from parzax.lens.results.analysis import encode_ranked
from parzax.lens.results.replicates import default_shuffles, replicate
from parzax.lens.results.result import ImportanceResult, Method
from parzax.lens.results.surrogates import MOST_ROWS
from parzax.lens.results.targets import objective_index, objective_names
from parzax.surrogate import GaussianProcess

MAX_LEVELS = 10_000
# NumPy draws shuffles of fewer rows than this.
_MOST_SHUFFLED = 10**9
# How importances are computed, by the names of --estimator.
METHODS: dict[str, dict[str, Any]] = {
    "default": {},
    "optuna": {"divergence": Pearson(), "grid": Grid.optuna()},
}
# Attributes of the arguments of a command that its picture depends on, if it has them.
_PICTURED = "plot_kind", "log"
# Functions that make the writer of each output from a result, by the name of its option.
_WRITERS: dict[str, Callable[[Any, Namespace], Writer]] = {
    "plot": lambda result, args: writing.figure_writer(result, *map(vars(args).get, _PICTURED)),
    "json": lambda result, _: writing.json_writer(result),
    "csv": lambda result, _: writing.csv_writer(result),
    "write_space": lambda result, _: writing.text_writer(result.space.to_json()),
}


def run(args: Namespace) -> None:
    """Run a command: print its results and write the files that were asked for."""
    paths = {name: path for name in (*_WRITERS, "out") if (path := vars(args).get(name)) is not None}
    inputs = {"the log": args.file, "the search space": args.space, "the other log": vars(args).get("other")}
    sources = {what: log_path(text) for what, text in inputs.items() if text is not None}
    options = {"-o" if name == "out" else f"--{name.replace('_', '-')}": path for name, path in paths.items()}
    writing.check_outputs(options, sources)
    levels = None if args.level is None else parse_levels("--level", args.level)
    if len(region := parse_levels("--region", args.region)) != 1:
        raise ValueError(f"--region must be one level, got {args.region!r}.")
    if args.objective == "all" and (paths or args.command != "importance"):
        raise ValueError("--objective all only prints, in parzax importance; else give a name, or pareto.")
    if "plot" in paths:
        from parzax import plotting as plotting  # raises before any work if pictures cannot be drawn
    if "out" in paths:
        from parzax.lens.page import rendering as rendering  # raises now if a page cannot be made
    how = {"region": region[0], "rows": args.rows}
    if "estimator" in args:
        how |= METHODS[args.estimator] | {"reference": args.reference}
    if "surrogate" in args:
        how["surrogate"] = _surrogate(args.surrogate)
    logs = [sources[name] for name in ("the log", "the other log") if name in sources]
    with jax.enable_x64(True):
        results = _COMPUTE[args.command](logs, levels, how, args)
    if "out" in paths:
        say(f"written: {args.out}")
        return
    writing.write_all([(path, _WRITERS[name](results[0], args)) for name, path in paths.items()])
    for result in results:
        say(*[""] * (result is not results[0]), *result.text(verbose=args.verbose).split("\n"))
    say(*(f"written: {path}" for path in paths.values()))


def _importance(logs: list[Path], levels: Any, how: dict[str, Any], args: Namespace) -> list[Any]:
    if (sample := read_sample(logs[0], args)) is not None:
        return [_of_counts(sample, logs[0], levels, how, args)]
    obs = read_log(logs[0], args)
    asked = [str(i) for i in range(obs.n_objectives)] if args.objective == "all" else [args.objective]
    how["n_resamples"] = args.resamples
    objectives = [objective_of(name, obs) for name in asked]
    args.log = obs, objectives[0]
    return [cond_ped_anova(obs, levels, objective=objective, **how) for objective in objectives]


def _of_counts(
    sample: Observations, path: Path, levels: Any, how: dict[str, Any], args: Namespace
) -> ImportanceResult:
    """Importances and p-values by counts of the rows of large files, of which some rows are a ``sample``.

    The rows of one parameter do not depend on another one's when losses are shuffled, so counts are enough.
    They are not for intervals: a sample of the rows has its own cut-offs, and the same rows for all
    parameters.
    """
    from parzax.lens.tables.large import count  # needs an extra

    method = Method(**{name: how[name] for name in how if name not in ("region", "rows", "surrogate")})
    log = encode_ranked(sample, levels, how["region"], 0, "all", method.grid)
    source = args.space or f"{sample.n} rows (--space gives the real one)"
    with _checks.explain(f"{str(path)!r}, with the space of {source}", ValueError):
        asked = sample.space, sample.report.objectives[0], log.encoded.levels, how["region"]
        counts = count(str(path), *asked, directions=sample.report.directions, grid=method.grid)
    with saying("compiling and computing"):
        batch = counts.counts[None], counts.status[None], counts.layout, method.how
        about = log.describe(jax.jit(from_counts, static_argnums=(2, 3))(*batch))
        shuffled = args.resamples is None and about["estimates"].n_region < _MOST_SHUFFLED
        numbers = 0, default_shuffles(len(sample.space)) if shuffled else 0
        # Shuffles need no rows beside the counts.
        few = replace(log.encoded, codes=log.encoded.codes[..., :1], level=log.encoded.level[..., :1])
        drawn = replicate(jax.random.key(0), log.losses[:, :1], few, about["estimates"], method.how, numbers)
    n_rows = np.array(sample.report.n_rows - sample.report.n_failed)
    return ImportanceResult(**about, replicates=drawn._replace(n_rows=n_rows), method=method)


def _interactions(logs: list[Path], levels: Any, how: dict[str, Any], args: Namespace) -> list[Any]:
    obs = read_log(logs[0], args)
    objective = objective_of(args.objective, obs)
    return [interactions(obs, levels, objective=objective, n_draws=args.draws, **how)]


def _compare(logs: list[Path], levels: Any, how: dict[str, Any], args: Namespace) -> list[Any]:
    both = read_logs(logs, args)
    how |= {} if args.resamples is None else {"n_resamples": args.resamples}
    result = compare(*both, levels=levels, objective=objective_of(args.objective, both[0]), **how)
    names = [f"the first half of {logs[0].name}", "the second half"]
    if len(logs) > 1:
        studies = (args.study or [None]) * 2
        names = [path.name + f": {study}" * bool(study) for path, study in zip(logs, studies, strict=False)]
    return [replace(result, facts=(f"first is {names[0]}, second is {names[1]}", *result.facts))]


def _report(logs: list[Path], levels: Any, how: dict[str, Any], args: Namespace) -> list[Any]:
    from parzax.lens.page.report import report

    obs = read_log(logs[0], args)
    how |= {"objective": objective_of(args.objective, obs), "n_resamples": args.resamples}
    title = args.title or logs[0].name + f": {args.study}" * (args.study is not None)
    date = datetime.date.today().isoformat() if args.date is None else args.date
    about = {"command": _command(args, logs[0]), "title": title, "date": date}

    def write(file: Path) -> None:
        say(*report(obs, file, levels=levels, **about, **how).sentences())

    writing.write_all([(args.out, write)])
    return []


def _surrogate(text: str) -> Any:
    """The argument of `cond_ped_anova` that --surrogate stands for."""
    if text == "yes":
        return GaussianProcess(max_rows=MOST_ROWS)
    return None if text == "no" else text


_COMPUTE = {"importance": _importance, "interactions": _interactions, "compare": _compare, "report": _report}


def objective_of(text: str, obs: Observations) -> int | str:
    """The argument of `cond_ped_anova` that --objective stands for: a number, or "pareto"."""
    if text == "pareto":
        return text
    with _checks.explain("--objective takes a number or name, all or pareto", ValueError):
        index = objective_index(obs, int(text) if text.isdecimal() else text)
    if obs.losses.shape[-1] > 1:
        names = objective_names(obs)
        about = f"this is about {names[index]!r}, one of {len(names)} objectives"
        say(f"parzax: note: {about}; --objective takes a number, a name, all or pareto", file=sys.stderr)
    return index


def parse_levels(option: str, text: str) -> list[float]:
    """Levels from "0.1", "0.1,0.5" or "first:last:step"; a range includes its end if the steps reach it.

    >>> parse_levels("--level", "0.1:0.3:0.1,0.5")
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


def _command(args: Namespace, log: Path) -> str:
    """The command as it was given, with files by name only, so that a page says nothing about folders."""
    names = {Path(path): Path(path).name for path in (args.out, args.space) if path is not None}
    names[Path(args.file)] = log.name

    def shorten(word: str) -> str:
        # A word may hold an option and its value: --out=FILE, -oFILE.
        option, value = re.findall(r"^(--[^=]*=|-o(?=.))?(.*)$", word, re.DOTALL)[0]
        return option + names.get(Path(value), value)

    return shlex.join(["parzax", *map(shorten, args.words)])
