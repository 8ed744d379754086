"""Read Optuna's studies as observations: distributions become regimes, choices become codes."""

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from optuna.distributions import IntDistribution
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from parzax import _checks
from parzax._checks import Direction
from parzax._words import plural
from parzax.adapters.optuna.distributions import domain_of, nearest_inside, regimes_of
from parzax.adapters.optuna.storage import StudyRecord, read_studies, read_study, recorded
from parzax.lens._words import listed
from parzax.lens.logs import Observations
from parzax.lens.tables.names import named_columns
from parzax.space import INACTIVE, Categorical, Float, Numeric, Recorded, Space, Varying
from parzax.space.conditions import choice_key, choice_label

Target = Callable[[FrozenTrial], float]


@_checks.known_arguments({})
def observations(
    study: Study | StudyRecord | str | Path,
    study_name: str | None = None,
    *,
    failed: str = "drop",
    pruned: str | None = None,
    target: Target | None = None,
    direction: Direction | None = None,
    parameters: str | Sequence[str] | None = None,
    drop: str | Sequence[str] | None = None,
) -> Observations:
    """Read the trials of an Optuna study.

    Each distribution that a parameter had becomes one of its domains. A parameter with one distribution
    in every row is unconditional. Otherwise its domains are `parzax.Recorded`, and the regime of every row
    is what the trial records (inactive if it has no value). If two or more numeric domains of one kind
    (integer or not, log, step) each occur in a single trial, they become one `parzax.Varying` domain; the
    ``bounds`` of the rows are the bounds of the trials.

    Args:
        study: a study, or its trials as a `parzax.adapters.optuna.storage.StudyRecord`, or the path of an
            sqlite or journal file, which is opened read-only.
        study_name: which study of a file; not needed if there is only one.
        failed: "drop" keeps only COMPLETE trials. "worst" also keeps FAIL and PRUNED trials and ranks them
            last. Running and waiting trials are always left out.
        pruned: the same for PRUNED trials only; by default as ``failed``. Pruned trials are part of what
            the study has tried, so "worst" compares the best trials with all tried ones.
        target: a function of a COMPLETE trial that returns the only objective. By default the study's m
            objectives.
        direction: direction of ``target``, which must be given with it.
        parameters: names of the parameters to read; by default all.
        drop: names of parameters to leave out.

    Returns:
        `Observations` of n trials and d parameters, in order of first appearance. Constraint values are read
        if all complete trials have the same constraints. The ``report`` has the number of trials, the number
        of trials left out by state, and what was inferred.

    Raises:
        ValueError: for a study without a COMPLETE trial or without parameters, a parameter that is both
            categorical and numeric, and a file that is missing, is not an Optuna storage, or holds several
            studies while ``study_name`` is None.
        TypeError: if ``study`` is neither a study nor a path, if ``target`` is not callable or returns no
            number, and if only one of ``target`` and ``direction`` is given.

    Unlike Optuna, choices keep their type (True is not 1), and the same choices in another order are one
    domain. A choice that is not None, bool, int, float or str is named by its repr. Values outside their
    domain (Optuna lets one enqueue them) count as the nearest value inside.

    >>> import optuna, parzax as px
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=20)
    >>> px.adapters.optuna.observations(study)
    Observations(20 rows, 1 parameter, minimize)
    """
    _checks.instance("target", target, (Callable, type(None)), "a function of a trial")
    _checks.instance("study", study, (Study, StudyRecord, str, Path), "an optuna.Study or the path of a file")
    if isinstance(study, (Study, StudyRecord)) and study_name is not None:
        raise ValueError(f"study_name={study_name!r} chooses within a file; study is a Study already.")
    if (direction is None) != (target is None):
        raise TypeError("target needs direction= (which values are good), and direction needs target.")
    record = read_study(study, study_name) if isinstance(study, (str, Path)) else study
    trials, directions, names = recorded(record) if isinstance(record, Study) else record
    pruned = failed if pruned is None else _checks.one_of("pruned", pruned, ("drop", "worst"))
    fates = {TrialState.FAIL: _checks.one_of("failed", failed, ("drop", "worst")), TrialState.PRUNED: pruned}
    kept_states = (TrialState.COMPLETE, *(state for state, fate in fates.items() if fate == "worst"))
    kept = [t for t in trials if t.state in kept_states]
    if not any(t.state == TrialState.COMPLETE for t in kept):
        raise ValueError(f"study has no COMPLETE trial among its {plural(len(trials), 'trial')}.")
    columns: dict[str, tuple[Any, ...]] = {}
    names_of_trials = parameter_names(kept)
    dropped = named_columns("drop", drop, names_of_trials)
    asked = named_columns("parameters", parameters, names_of_trials) or names_of_trials
    for name in (name for name in asked if name not in dropped):
        with _checks.explain(f"study: parameter {name!r}"):
            columns[name] = _read_column(name, kept)
    if not columns:
        why = "drop leaves out all of them" if dropped else "its trials never called suggest_*"
        raise ValueError(f"study has no parameters: {why}.")
    domains, values, regimes, bounds, notes = zip(*columns.values(), strict=True)
    conditional = any(first.conditions for first, *_ in domains)
    constraints, note = _constraints(kept)
    moving = {n: tuple(b.T) for n, b in zip(columns, bounds, strict=True) if not np.isnan(b).all()}
    obs = Observations.from_arrays(
        Space(dict(zip(columns, domains, strict=True))),
        np.stack(values, axis=-1),
        _objectives(kept, len(directions), target),
        direction or directions,
        regime=np.stack(regimes, axis=-1) if conditional else None,
        constraints=constraints,
        bounds=moving or None,
        failed="worst" if len(kept_states) > 1 else "drop",
    )
    left_out = [name for name in names_of_trials if name not in columns]
    report = replace(
        obs.report,
        n_rows=len(trials),
        dropped=dict(Counter(f"state {t.state.name}" for t in trials if t.state not in kept_states)),
        inferred=(*chain.from_iterable(notes), *note),
        objectives=names if target is None else (),
        left_out=(listed(left_out),) if left_out else (),
        numbers=np.array([trial.number for trial in kept]),
    )
    return replace(obs, report=report)


def parameter_names(trials: Iterable[FrozenTrial]) -> list[str]:
    """Names of all parameters, in order of first appearance."""
    return list(dict.fromkeys(chain.from_iterable(t.distributions for t in trials)))


def _objectives(trials: list[FrozenTrial], n_objectives: int, target: Target | None) -> np.ndarray:
    """(n, m) objectives, or (n, 1) values of the target; NaN where a trial is not complete."""
    objectives = np.full((len(trials), n_objectives if target is None else 1), math.nan)
    for i, trial in enumerate(trials):
        if trial.state != TrialState.COMPLETE:
            continue
        value = trial.values if target is None else target(trial)
        try:
            objectives[i] = value if target is None else float(value)
        except (TypeError, ValueError) as error:
            what = f"target must return a number, got {value!r}"
            raise TypeError(f"{what} for trial {trial.number}.") from error
    return objectives


def _constraints(trials: list[FrozenTrial]) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Constraint values if every complete trial has the same ones; +inf for failed trials without them."""
    constraints = [t.constraints if t.system_attrs else {} for t in trials]
    names = next(filter(None, constraints), None)
    if names is None:
        return None, ()
    complete = (c for c, t in zip(constraints, trials, strict=True) if t.state == TrialState.COMPLETE)
    if n_lacking := sum(c.keys() != names.keys() for c in complete):
        return None, (f"constraints are left out, since {n_lacking} complete trials lack some of them",)
    return np.array([[c.get(name, math.inf) for name in names] for c in constraints]), ()


def _read_column(name: str, trials: Sequence[FrozenTrial]) -> tuple[Any, ...]:
    """Read one parameter: its domains, values (n,), regimes (n,), bounds that move (n, 2), and notes."""
    rows = [i for i, trial in enumerate(trials) if name in trial.distributions]

    def spread(values: np.ndarray, absent: float) -> np.ndarray:
        """Place the values of these rows in an array of all n rows."""
        out = np.full((len(trials), *values.shape[1:]), absent, values.dtype)
        out[rows] = values
        return out

    distributions: list[Any] = [trials[i].distributions[name] for i in rows]
    external = [trials[i].params[name] for i in rows]
    regimes, regime, reordered = regimes_of(distributions)
    n_kinds = sum(isinstance(distribution, Varying) for distribution in regimes)
    n_pooled = np.count_nonzero(regime >= len(regimes) - n_kinds)
    unconditional = len(rows) == len(trials) and len(regimes) == 1 and not n_kinds
    domains = tuple(domain_of(d, () if unconditional else (Recorded(),)) for d in regimes)
    if all(isinstance(domain, Categorical) for domain in domains):
        external = [_code(domains[i], choice) for i, choice in zip(regime.tolist(), external, strict=True)]
    elif any(isinstance(domain, Categorical) for domain in domains):
        remedy = f"use two parameters, or leave it out (drop={name!r}, --drop {name})"
        raise ValueError(f"is categorical in some trials and numeric in others; {remedy}.")
    given = np.array(external, dtype=np.float64)
    values, bounds = given.copy(), np.full((len(rows), 2), math.nan)
    for i, domain in enumerate(domains):
        here = np.flatnonzero(regime == i)
        if isinstance(domain, Varying):
            bounds[here] = [(distributions[row].low, distributions[row].high) for row in here.tolist()]
            values[here] = nearest_inside(given[here], bounds[here, 0], bounds[here, 1], domain.step)
        elif isinstance(domain, Numeric):
            values[here] = nearest_inside(given[here], domain.low, domain.high, domain.step)
    n_moved = np.count_nonzero(values != given)
    choices = chain.from_iterable(getattr(distribution, "choices", ()) for distribution in regimes)
    relabelled = any(isinstance(choice_label(c), str) and not isinstance(c, str) for c in choices)
    outside = plural(int(n_moved), "value")
    notes = {
        ": the same choices in another order count as one domain": reordered,
        ": integers beyond 2^53 are read as floats": any(
            isinstance(d, IntDistribution) and isinstance(domain, Float)
            for d, domain in zip(regimes, domains, strict=True)
        ),
        f": {n_pooled} domains were seen in one trial each; together they count as one that moves"
        + f", {n_kinds} by kind" * (n_kinds > 1): n_pooled,
        f" has {len(regimes)} domains; each trial records which one applied": len(regimes) > 1,
        ": choices that are not None, bool, int, float or str are named by their repr": relabelled,
        f": {outside} outside the domain (enqueued, say), taken as the nearest inside": n_moved,
    }
    true_notes = [name + note for note, holds in notes.items() if holds]
    return domains, spread(values, math.nan), spread(regime, INACTIVE), spread(bounds, math.nan), true_notes


def _code(domain: Categorical, choice: Any) -> int:
    """The code of a choice, by type and value; Optuna's codes would not distinguish 1 from True."""
    code = domain.codes.get(choice_key(choice))
    if code is None:
        raise ValueError(f"value {choice!r} is not among the choices {list(domain.choices)!r}.")
    return code


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
        studies = read_studies(studies)
    elif isinstance(studies, (Study, Observations)) or not isinstance(studies, Iterable):
        kinds = "a list of studies, a dict of them by name, or a storage"
        raise TypeError(f"studies must be {kinds}, got {studies!r}.")
    if isinstance(studies, Mapping):
        entries = [(str(name), study) for name, study in studies.items()]
    else:
        numbered = enumerate(studies, start=1)
        entries = [(getattr(study, "study_name", f"task {i}"), study) for i, study in numbered]
    logs: dict[str, Observations | None] = {}
    for name, study in (entry for entry in entries if entry[0] not in excluded):
        if not isinstance(study, (Study, StudyRecord, Observations)):
            raise TypeError(f"studies: {name!r} is {study!r}, not an optuna.Study or a parzax.Observations.")
        if name in logs:
            raise ValueError(f"studies: two are named {name!r}; give a dict, in which names differ.")
        record = recorded(study) if isinstance(study, Study) else study
        if isinstance(record, Observations):
            logs[name] = record
        elif any(trial.state == TrialState.COMPLETE for trial in record.trials):
            with _checks.explain(f"studies: {name!r}", ValueError):
                logs[name] = observations(record)
        else:
            logs[name] = None
    empty = [name for name, log in logs.items() if log is None]
    if len(empty) == len(logs):
        reason = f"; without a complete trial: {listed(empty)}" if empty else ""
        raise ValueError(f"studies must have at least one study to learn from, got none{reason}.")
    if empty:
        warnings.warn(f"sources leaves out studies without a complete trial: {listed(empty)}", stacklevel=2)
    return {name: log for name, log in logs.items() if log is not None}
