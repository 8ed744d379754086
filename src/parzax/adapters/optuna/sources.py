"""Use Optuna studies as source tasks: their logs by name, and the sampler that learns from them."""

import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import optuna
from optuna.storages import BaseStorage
from optuna.trial import TrialState

from parzax import _checks
from parzax.adapters.optuna.distributions import Parameter
from parzax.adapters.optuna.settings import Settings
from parzax.adapters.optuna.storage import StudyRecord, read_studies, recorded
from parzax.adapters.optuna.trials import observations_from_trials
from parzax.lens._words import listed
from parzax.lens.logs import Observations
from parzax.lens.logs.sources import check_log
from parzax.meta.sources import best_of
from parzax.samplers import Sampler
from parzax.space import Space

# Cap on the number of stored fits: a study with two branches may alternate between plans.
_MOST_FITS = 4


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
        entries = [(repr(name), str(name), study) for name, study in studies.items()]
    else:
        numbered = enumerate(studies, start=1)
        entries = [(f"number {i}", getattr(study, "study_name", f"task {i}"), study) for i, study in numbered]
    logs: dict[str, Observations] = {}
    empty = []
    for place, name, study in entries:
        if not isinstance(study, (optuna.Study, StudyRecord, Observations)):
            raise TypeError(f"studies: {place} is {study!r}, not an optuna.Study or a parzax.Observations.")
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
            logs[name] = observations_from_trials(record)
    if not logs:
        reason = f"; without a complete trial: {listed(empty)}" if empty else ""
        raise ValueError(f"studies must have at least one study to learn from, got none{reason}.")
    if empty:
        warnings.warn(f"sources leaves out studies without a complete trial: {listed(empty)}", stacklevel=2)
    return logs


class SourceTasks:
    """The source tasks of a sampler (perhaps none): their logs, and good rows for the first trials.

    ``report`` has a line per task, which says what was used of it in the last fit.
    """

    def __init__(self, logs: Mapping[str, Observations], n_first: int, settings: Settings) -> None:
        self._arguments = logs, n_first, settings
        self._logs = logs
        for name, log in logs.items():
            check_log("source_studies", name, log, next(iter(logs.values())).n_objectives)
        self._first = _best_rows(list(logs.values()), n_first)
        self.report: tuple[str, ...] = ()
        self._fit = lru_cache(maxsize=_MOST_FITS)(lambda _, *args: settings.with_sources(logs, *args))

    def __reduce__(self) -> tuple[Any, ...]:
        return SourceTasks, self._arguments  # a copy or pickle does not hold the fits

    def check(self, study_name: str, n_objectives: int) -> None:
        """Raise ValueError if a source has the study's name, or another number of objectives."""
        if study_name in self._logs:
            raise ValueError(
                f"source_studies: {study_name!r} is the name of the study itself; leave it out with "
                f"parzax.adapters.optuna.sources(storage, exclude={study_name!r}), or, if it is a different "
                "study with the same name, give a dict that names it differently."
            )
        # all sources have the same number of objectives, so the first is enough
        for name, log in islice(self._logs.items(), 1):
            check_log("source_studies", name, log, n_objectives)

    def first(self, seed: int, number: int, parameter: Parameter) -> float:
        """The native value that trial ``number`` takes from a good source row; NaN if there is none."""
        if number >= len(self._first):
            return np.nan
        # Each trial number has a different row, so trials that run at the same time differ.
        row = self._first[np.random.default_rng(seed).permutation(len(self._first))[number]]
        native = parameter.to_native(row[parameter.name]) if parameter.name in row else np.nan
        return np.nan if parameter.domains[0].outside(np.asarray(native)) else native

    def sampler(self, space: Space, n_objectives: int, n_constraints: int) -> Sampler:
        """The sampler of a space; if the sources' densities are used, they are fitted once per space."""
        dtype = jnp.result_type(float)
        sampler, self.report = self._fit(dtype, space, n_objectives, n_constraints)
        return sampler


def _best_rows(logs: list[Observations], n: int) -> list[dict[str, Any]]:
    """The best rows of all logs as name -> value, without repeats."""
    tasks = []
    for log in logs:
        feasible = np.ones(log.n, bool) if log.constraints is None else (log.constraints <= 0).all(axis=-1)
        tasks.append((log.losses, feasible, ~np.isnan(log.losses).any(axis=-1)))
    rows = {}
    for log, best in zip(logs, best_of(tasks, n), strict=True):
        for i in best:
            row = zip(log.space.names, log.values[i].tolist(), log.regime[i].tolist(), strict=True)
            named = {name: log.space[name][r].interpret(x) for name, x, r in row if r >= 0}
            rows[tuple(sorted((name, repr(x)) for name, x in named.items()))] = named
    return list(rows.values())
