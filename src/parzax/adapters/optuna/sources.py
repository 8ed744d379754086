"""Optuna studies as source tasks: their logs by name, and their best rows."""

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.trial import TrialState

from parzax import _checks
from parzax.adapters.optuna.storage import StudyRecord, read_studies, recorded
from parzax.adapters.optuna.trials import observations
from parzax.lens._words import listed
from parzax.lens.logs import Observations
from parzax.meta.sources import best_of


def sources(studies: Any, *, exclude: str | Iterable[str] = ()) -> dict[str, Observations]:
    """Read several studies, as the sources of `parzax.meta_learn_tpe` or `TPESampler`.

    Args:
        studies: a list of studies, or a dict of studies by name; either may hold `Observations` instead of
            studies. It may also be a storage, whose studies are all read: a storage object, or the path (or
            sqlite URL) of an sqlite or journal file, which is opened read-only.
        exclude: names of studies to leave out, such as the study you are about to run.

    Returns:
        Name -> `Observations` of the complete trials, as `observations` reads them. Studies without any are
        left out, with a warning that names them.

    Raises:
        TypeError: for an entry that is not a study.
        ValueError: if there is no study, or no study with a complete trial; for two studies with one name,
            trials that cannot be read (the error names the study), and a file that is missing or is not an
            Optuna storage.
    """
    excluded = {exclude} if isinstance(exclude, str) else set(exclude)
    if isinstance(studies, (str, Path, BaseStorage)):
        studies = read_studies(studies, excluded)
    elif isinstance(studies, (optuna.Study, Observations)) or not isinstance(studies, Iterable):
        kinds = "a list of studies, a dict of them by name, or a storage"
        raise TypeError(f"studies must be {kinds}, got {studies!r}.")
    if isinstance(studies, Mapping):
        entries = [(str(name), study) for name, study in studies.items()]
    else:
        numbered = enumerate(studies, start=1)
        entries = [(getattr(study, "study_name", f"task {i}"), study) for i, study in numbered]
    logs: dict[str, Observations] = {}
    empty = []
    for name, study in entries:
        if not isinstance(study, (optuna.Study, StudyRecord, Observations)):
            raise TypeError(f"studies: {name!r} is {study!r}, not an optuna.Study or a parzax.Observations.")
        if name in excluded:
            continue
        if name in logs or name in empty:
            raise ValueError(f"studies: two are named {name!r}; give a dict, in which names differ.")
        if isinstance(study, Observations):
            logs[name] = study
            continue
        record = recorded(study) if isinstance(study, optuna.Study) else study
        if not any(trial.state == TrialState.COMPLETE for trial in record.trials):
            empty.append(name)
            continue
        with _checks.explain(f"studies: {name!r}", ValueError):
            logs[name] = observations(record)
    if not logs:
        reason = f"; without a complete trial: {listed(empty)}" if empty else ""
        raise ValueError(f"studies must have at least one study to learn from, got none{reason}.")
    if empty:
        warnings.warn(f"sources leaves out studies without a complete trial: {listed(empty)}", stacklevel=2)
    return logs


def best_rows(logs: Iterable[Observations], n: int) -> list[dict[str, Any]]:
    """The best rows of all logs as name -> value, without repeats."""
    logs = list(logs)
    tasks = [(log.losses, log.feasible, ~np.asarray(np.isnan(log.losses).any(axis=-1))) for log in logs]
    rows = {}
    for log, best in zip(logs, best_of(tasks, n), strict=True):
        for i in best:
            row = zip(log.space.names, log.values[i].tolist(), log.regime[i].tolist(), strict=True)
            named = {name: log.space[name][r].interpret(x) for name, x, r in row if r >= 0}
            rows[tuple(sorted((name, repr(x)) for name, x in named.items()))] = named
    return list(rows.values())
