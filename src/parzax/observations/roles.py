"""What each column of a table is: objective, parameter, bookkeeping."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from shlex import quote
from typing import Any

from parzax.observations.columns import check_unique, listed

# Optuna's `trials_dataframe`, and the index columns that pandas writes to files.
_BOOKKEEPING = re.compile(
    r"number|state|duration|trial_id|value|values_.*|datetime_.*|user_attrs_.*|system_attrs_.*"
    r"|regimes_.*|Unnamed: 0|__index_level_0__|"
)
PREFIX = "params_"
# MLflow keeps all parameters as text.
TEXT_PREFIX = "params."
# Prefixes of the names of parameters, and the tools that write them.
_TOOLS = {PREFIX: "Optuna", "config/": "Ray Tune", TEXT_PREFIX: "MLflow"}
# Columns of an export of Weights & Biases; in other tables these names may mean anything.
_WANDB = re.compile(
    r"Name|State|Notes|User|Tags|Created|Updated|End Time|Runtime|Sweep|ID|Hostname|Host|Commit|GitHub|Group"
    r"|Job Type|Project|Entity|Path|Artifacts|GPU Count|GPU Type|_step|_timestamp|_runtime|_wandb.*"
)
# Words in the names of results of a run, rather than of its parameters.
_RESULTS = frozenset((
    "loss", "losses", "acc", "accuracy", "auc", "auroc", "f1", "rmse", "mse", "mae", "mape", "err", "error",
    "score", "reward", "perplexity", "recall", "metric", "metrics", "runtime", "walltime", "duration",
    "elapsed", "timestamp", "latency",
))  # fmt: skip
# Words in the names of objectives of which more is better.
_MORE_IS_BETTER = frozenset((
    "acc", "accuracy", "auc", "auroc", "f1", "score", "reward", "recall", "precision", "iou", "dice", "bleu",
    "r2", "return",
))  # fmt: skip
_SEED = re.compile(r"(.*[._/])?(random[._]?)?seed", re.IGNORECASE)
MAX_PARAMETERS = 10_000


def find_targets(columns: Sequence[str], target: str | Sequence[str]) -> list[str]:
    """The objective columns; "value" also stands for all of ``values_*``."""
    several = [c for c in columns if c.startswith("values_")]
    if isinstance(target, str) and target == "value" and target not in columns and several:
        return sorted(several, key=lambda c: int(c[7:]) if c[7:].isdigit() else columns.index(c))
    targets = named_columns("target", target, columns)
    if not targets:
        raise TypeError(f"target must be a column name or a list of them, got {target!r}.")
    check_unique(targets)
    return targets


def named_columns(argument: str, names: Any, columns: Sequence[str], most: int | None = None) -> list[str]:
    """A column name or a list of them as a list, each of which must exist; none for None."""
    names = [] if names is None else names
    names = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument} must be a column name or a list of them, got {names!r}.")
    if most is not None and len(names) > most:
        raise TypeError(f"{argument} must be one column, got {names!r}.")
    absent = [name for name in names if name not in columns]
    if absent:
        words = {c: re.sub(r"[^a-z0-9]", "", c.lower().rpartition(".")[2]) for c in columns}
        alike = [c for name in absent for c in find_similar(name, words)]
        hint = f"did you mean {listed(alike)}?" if alike else f"its columns are {listed(columns, 60)}."
        raise ValueError(f"{argument}: the table has no column {listed(absent)}; {hint}")
    return names


def find_similar(name: str, words: Mapping[str, str]) -> list[str]:
    """At most three columns that a name may stand for; ``words`` has the columns' names without prefixes."""
    wanted = re.sub(r"[^a-z0-9]", "", name.lower())
    same = [column for column, word in words.items() if word == wanted or column.lower() == name.lower()]
    letters = {column: re.sub(r"[^a-z0-9]", "", column.lower()) for column in words}
    same += [column for column, word in letters.items() if word == wanted and column not in same]
    near = get_close_matches(wanted, letters.values(), n=3, cutoff=0.8)
    return (same or [column for column, word in letters.items() if word in near])[:3]


def results_of(columns: Iterable[str]) -> list[str]:
    """Columns that hold results of runs, by their names."""
    return [c for c in columns if not _RESULTS.isdisjoint(_words(c)) and not _WANDB.fullmatch(c)]


def unsaid_direction(targets: Sequence[str]) -> str:
    """Say that objectives are minimised, since no direction is given, and whether that may be wrong."""
    doubtful = any(not _MORE_IS_BETTER.isdisjoint(_words(target)) for target in targets)
    hint = "; if more is better, direction='maximize' (--direction maximize)" * doubtful
    return f"direction: not given, so {listed(targets)} is minimised{hint}"


def _words(column: str) -> list[str]:
    return re.split(r"[^a-z0-9]+", column.lower())


def _question_parameters(columns: Iterable[str]) -> list[str]:
    """Sentences on columns that are taken for parameters and may be something else."""
    notes, results = [], results_of(columns)
    if results:
        option = f"--drop {' '.join(map(quote, results))}"
        notes.append(f"perhaps results and not parameters: {listed(results)}; drop={results!r} ({option})")
    seeds = [c for c in columns if _SEED.fullmatch(c)]
    if len(seeds) == 1:
        option = f"seed={seeds[0]!r} (--seed {quote(seeds[0])})"
        notes.append(f"{seeds[0]}: if it numbers repeated runs, {option} gives standard errors")
    return notes


def find_parameters(
    columns: Sequence[str],
    names: Sequence[str] | None,
    taken: Sequence[str],
    trial_states: bool,
    asked: Sequence[str] = (),
) -> tuple[dict[str, str], list[str]]:
    """Parameter name -> column, and what was guessed.

    They are a space's ``names``, or the columns ``asked`` for, or all that are not ``taken``. A name of a
    space stands for ``params_<name>``, else ``<name>``. A column ``state`` without trial states is like any
    other.
    """
    free, notes = [c for c in columns if c not in taken], []
    ordinary = not trial_states and "state" in free
    if asked:
        check_unique([_bare(c) for c in asked])
        return {_bare(c): c for c in asked}, []
    prefix = next((prefix for prefix in _TOOLS if any(c.startswith(prefix) for c in free)), None)
    if names is not None:
        present = set(columns)
        column_of = {name: c for name in names for c in (name, PREFIX + name) if c in present}
        absent = [name for name in names if name not in column_of]
        if absent:
            what = f"the parameters {listed(absent)} of the space (params_<name> or <name>)"
            raise ValueError(f"the table has no column for {what}; its columns are {listed(columns)}.")
        ordinary = ordinary and "state" not in column_of.values()
    elif prefix is not None:
        column_of = {c.removeprefix(prefix): c for c in free if c.startswith(prefix)}
        others = [c for c in free if not c.startswith(prefix)]
        if prefix != PREFIX and others:
            notes += [f"a table of {_TOOLS[prefix]}: parameters are the columns {prefix}*"]
            notes += [f"not parameters: the columns {listed(others)}"]
    else:
        hidden = [c for c in free if _BOOKKEEPING.fullmatch(c) and not (c == "state" and ordinary)]
        if _is_wandb(columns):
            notes.append("a table of Weights & Biases, by its columns Name and State")
            hidden += [c for c in free if _WANDB.fullmatch(c) and c not in hidden]
        hidden_names = set(hidden)
        column_of = {c: c for c in free if c not in hidden_names}
        notes += _question_parameters(column_of)
        notes += [f"not parameters: the columns {listed(hidden)}"] if hidden else []
    if not column_of:
        raise ValueError(f"no column is a parameter; the columns are {listed(columns)}.")
    if names is None and len(column_of) > MAX_PARAMETERS:
        what = f"{len(column_of)} columns would be parameters, more than {MAX_PARAMETERS}"
        raise ValueError(f"{what}; name the parameters, or pass a space that does.")
    if ordinary:
        what = "a parameter" if "state" in column_of.values() else "ignored"
        notes.append(f"state: none of its values is a trial state, so it leaves out no row and is {what}")
    return column_of, notes


def state_column(columns: Sequence[str]) -> str | None:
    """Where a table says how runs ended: Optuna's, MLflow's or that of Weights & Biases."""
    if "state" in columns:
        return "state"
    if _is_wandb(columns):
        return "State"
    return "status" if "status" in columns and any(c.startswith(TEXT_PREFIX) for c in columns) else None


def _bare(column: str) -> str:
    """The parameter's name without the prefix of a tool."""
    return next((column.removeprefix(prefix) for prefix in _TOOLS if column.startswith(prefix)), column)


def _is_wandb(columns: Sequence[str]) -> bool:
    return {"Name", "State"} <= set(columns) and not {"Created", "Runtime", "User"}.isdisjoint(columns)
