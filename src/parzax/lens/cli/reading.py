"""From the FILE argument to observations; nothing in a file is executed, and no file is written to."""

import math
import sys
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np

from parzax import _checks
from parzax.lens._waiting import saying
from parzax.lens.cli.filters import filter_mask
from parzax.lens.cli.writing import say
from parzax.lens.logs import Observations
from parzax.lens.logs.columns import Column
from parzax.lens.logs.groups import find_groups
from parzax.lens.tables import recognise
from parzax.lens.tables.doubts import DoubtError
from parzax.lens.tables.files import KINDS, find_files, kind_of, read_table
from parzax.lens.tables.formats import bare_name
from parzax.lens.tables.names import named_columns
from parzax.lens.tables.reading import find_targets
from parzax.lens.tables.table import Table, open_table, stack_tables, to_table
from parzax.space import Space
from parzax.space.serialization import parse

# Options that are allowed for tables only.
_TABLES = (
    "target", "direction", "space", "seed", "constraints", "trial", "step", "per_trial", "group",
)  # fmt: skip
# Options that need all rows if they have another value than this.
_NONE = ["filter", "constraints", "seed", "group", "trial", "step", "per_trial", "pruned", "study", "rows"]
_USUAL = dict.fromkeys(_NONE) | {"failed": "drop", "objective": "0"}
# Parquet files of up to so many bytes are read into memory.
_IN_MEMORY, _PARQUET = 1 << 27, (".parquet", ".pq")
# The adapter of Optuna stands above the lens, and is imported where a file needs it.
_OPTUNA = "parzax.adapters.optuna"
# Column that numbers the logs in a table made of several logs.
_LOG = "parzax: number of the log"


def log_path(text: str) -> Path:
    """The file that the FILE argument names, by its path or by an sqlite URL."""
    if not text.startswith(("sqlite:", "sqlite+")):
        return Path(text)
    return import_module(f"{_OPTUNA}.storage").file_path(text)


def read_log(path: Path, args: Namespace) -> Observations:
    """Read a table or an Optuna file, as the arguments say; errors are one sentence that names the file."""
    read = _from_table if _is_table(path, args) else _from_optuna
    with saying(f"reading {path}"):
        return read(path, args)


def read_logs(paths: Sequence[Path], args: Namespace) -> list[Observations]:
    """Read several logs. If they are tables, one space is inferred from all of them together."""
    if len(paths) > 1 and all(_is_table(path, args) for path in paths):
        return _from_tables(paths, args)
    # The user names one study for all files, or one study per file.
    studies = (args.study or [None]) * len(paths)
    separate = (Namespace(**(vars(args) | {"study": study})) for study in studies)
    return [read_log(path, of_log) for path, of_log in zip(paths, separate, strict=False)]


def _is_table(path: Path, args: Namespace) -> bool:
    """Whether a log is a table, or else an Optuna file; ValueError for other files and unsuitable options."""
    files, name = find_files(path), repr(str(path))
    is_table = kind_of(files[0]) in KINDS and not _is_journal(files[0])
    if not is_table and not import_module(f"{_OPTUNA}.storage").is_optuna_file(path):
        raise ValueError(
            f"{name} is of no known kind. Give an Optuna sqlite or journal file, .csv, .tsv, .json, .jsonl, "
            ".parquet, .feather or .arrow (also packed, as .csv.gz, .bz2 or .zip), or export the log as CSV. "
            "Pickle, joblib and YAML files are never read, since that could run code from them."
        )
    kind, unfit = ("a table", ("study",)) if is_table else ("an Optuna file, which says it itself", _TABLES)
    for option in unfit:
        if getattr(args, option) is not None:
            raise ValueError(f"--{option.replace('_', '-')} does not go with {kind} ({name}).")
    return is_table


def _is_journal(path: Path) -> bool:
    """Whether a JSON file is an Optuna journal."""
    if path.suffix != ".json" and path.suffix != ".jsonl":
        return False
    with path.open("rb") as file:
        return b'"op_code"' in file.readline(4096)


def _read_space(args: Namespace) -> tuple[Space | None, Any]:
    """The space, and the direction or directions, which the file of the space may also contain."""
    asked = args.direction[0] if args.direction and len(args.direction) == 1 else args.direction
    if args.space is None:
        return None, asked
    with _checks.explain(f"--space {args.space!r}", (OSError, TypeError, ValueError)):
        data = parse(Path(args.space).read_text(encoding="utf-8"))
        space, direction = Space.from_json(data), data.get("direction")
        if direction not in (None, "minimize", "maximize"):
            raise ValueError(f'"direction" must be minimize or maximize, got {direction!r}.')
    return space, asked or direction


def read_sample(path: Path, args: Namespace) -> Observations | None:
    """Rows of a large Parquet log that show what its columns are; the report is on all rows.

    None if the log is another one, or if all its rows are needed.
    """
    n_bytes = sum(file.stat().st_size for file in find_files(path) if kind_of(file) in _PARQUET)
    needs_rows = args.resamples or args.surrogate == "yes"
    if needs_rows or n_bytes <= _IN_MEMORY or {name: vars(args)[name] for name in _USUAL} != _USUAL:
        return None
    from parzax.lens.tables import large  # needs an extra

    with saying(f"reading {path}"), _checks.explain(repr(str(path)), Exception):
        log, rows = large.sample(large.scan(str(path)))
    obs = _from_table(path, args, open_table(rows))
    states = obs.report.dropped or any(note.startswith("state:") for note in obs.report.inferred)
    plain = {*obs.space.names} <= {*rows.columns, *map(bare_name, rows.columns)}
    if obs.n_objectives > 1 or states or not plain or find_groups(obs) is not None:
        why = "it has several objectives, or its rows have states, hold records or belong together"
        say(f"parzax: note: all rows are read into memory, because {why}", file=sys.stderr)
        return None
    loss = large.loss_of(*obs.report.objectives, *obs.report.directions)
    n, n_used = log.select(loss.len(), loss.count().alias("used")).collect(engine="streaming").row(0)
    note = f"bounds are those of all {n} rows; kinds, choices and repeats were looked for in {obs.n} rows"
    inferred = (*obs.report.inferred, note)
    return replace(obs, report=replace(obs.report, inferred=inferred, n_rows=n, n_failed=n - n_used))


def _from_table(path: Path, args: Namespace, table: Table | None = None) -> Observations:
    table = read_table(path) if table is None else table
    if args.target is None and {"name", "kind"} <= set(table.columns):
        raise ValueError(f"{str(path)!r} has no objective. A search space goes to --space.")
    with asking(path, args):
        return Observations.from_dataframe(table, seed=args.seed, **table_arguments(table, args))


def _from_tables(paths: Sequence[Path], args: Namespace) -> list[Observations]:
    with saying(f"reading {' and '.join(map(str, paths))}"):
        tables = [read_table(path) for path in paths]
        together = stack_tables(tables)
        numbers = np.repeat(np.arange(float(len(tables))), [table.n for table in tables])
        log = Column(_LOG, numbers=numbers, integers=True)
        table = Table(together.columns | {_LOG: log}, together.n)
        arguments = table_arguments(together, args)
        form = recognise(together.columns)
        for path, each in zip(paths, tables, strict=True):
            with _checks.explain(repr(str(path))):
                find_targets(each.without(*(args.drop or ())), form, arguments["target"])
                for option in ("constraints", "group", "seed", "trial", "step"):
                    named_columns(option, getattr(args, option), each.columns)
        with asking(paths[0], args):
            return list(Observations.by_task(table, _LOG, seed=args.seed, **arguments).values())


@contextmanager
def asking(path: Path, args: Namespace) -> Iterator[None]:
    """Turn a doubt about the columns of a table into an error with the command to copy."""
    try:
        yield
    except DoubtError as error:
        raise ValueError(f"{str(path)!r}: {error.ask(error.command(args.words))}") from error


def table_arguments(table: Table, args: Namespace) -> dict[str, Any]:
    """The arguments of `Observations.from_dataframe`, except the column of seeds."""
    space, directions = _read_space(args)
    exclude = {} if args.filter is None else {"filter": ~filter_mask(args.filter, table)}
    return {
        "target": args.target or "value", "directions": directions, "space": space, "failed": args.failed,
        "pruned": args.pruned, "exclude": exclude, "constraints": args.constraints, "trial": args.trial,
        "step": args.step, "parameters": args.parameters, "drop": args.drop, "groups": args.group,
        "per_trial": args.per_trial or "last", "warn": False,
    }  # fmt: skip


def _from_optuna(path: Path, args: Namespace) -> Observations:
    storage, optuna = import_module(f"{_OPTUNA}.storage"), import_module("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = storage.read_study(path, args.study, "--study")
    trials = study.trials
    passing = np.ones(len(trials), bool)
    if args.filter is not None:
        passing = filter_mask(args.filter, _table_of_trials(trials, len(study.directions)))
        if not passing.any():
            raise ValueError("--filter: no trial is left.")
    kept, read = study._replace(trials=list(compress(trials, passing))), import_module(f"{_OPTUNA}.studies")
    columns = {"parameters": args.parameters, "drop": args.drop}
    obs = read.observations(kept, failed=args.failed, pruned=args.pruned, **columns)
    dropped = obs.report.dropped | ({} if passing.all() else {"filter": int((~passing).sum())})
    return replace(obs, report=replace(obs.report, n_rows=len(trials), dropped=dropped))


def _table_of_trials(trials: list[Any], n_objectives: int) -> Table:
    """The columns by which Optuna's trials can be filtered: state, number, objectives, parameters."""
    names = ["value"] if n_objectives == 1 else [f"values_{i}" for i in range(n_objectives)]
    return to_table(
        [
            {"state": trial.state.name, "number": trial.number}
            | dict(zip(names, trial.values or [math.nan] * n_objectives, strict=True))
            | {f"params_{name}": value for name, value in trial.params.items()}
            for trial in trials
        ]
    )
