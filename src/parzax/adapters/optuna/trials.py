"""From Optuna's trials to observations: distributions become regimes, choices become codes."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from parzax import _checks
from parzax.adapters.optuna import distributions as regimes
from parzax.adapters.optuna.storage import StudyRecord
from parzax.adapters.session import choice_label
from parzax.observations import Observations
from parzax.space import INACTIVE, Categorical, Domain, Recorded, Space, Varying

Target = Callable[[FrozenTrial], float]


def observations_from_trials(
    study: StudyRecord, *, failed: str = "drop", pruned: str | None = None, target: Target | None = None
) -> Observations:
    """The rows of a study's trials; see `parzax.adapters.optuna.observations`."""
    trials, directions, names = study
    pruned = failed if pruned is None else _checks.one_of("pruned", pruned, ("drop", "worst"))
    fates = {TrialState.FAIL: _checks.one_of("failed", failed, ("drop", "worst")), TrialState.PRUNED: pruned}
    kept_states = (TrialState.COMPLETE, *(state for state, fate in fates.items() if fate == "worst"))
    kept = [t for t in trials if t.state in kept_states]
    if not any(t.state == TrialState.COMPLETE for t in kept):
        raise ValueError(f"study has no COMPLETE trial among its {len(trials)} trials.")
    columns = read_columns(kept)
    if not columns:
        raise ValueError("study has no parameters: its trials never called suggest_*.")
    conditional = any(column.domains[0].conditions for column in columns)
    constraints, note = _constraints(kept)
    bounds = {c.name: (c.bounds[:, 0], c.bounds[:, 1]) for c in columns if c.bounds is not None}
    obs = Observations.from_arrays(
        Space({column.name: column.domains for column in columns}),
        np.stack([column.values for column in columns], axis=-1),
        _objectives(kept, len(directions), target),
        directions if target is None else "minimize",
        regime=np.stack([column.regime for column in columns], axis=-1) if conditional else None,
        constraints=constraints,
        bounds=bounds or None,
        failed="worst" if len(kept_states) > 1 else "drop",
    )
    left_out = Counter(t.state.name for t in trials if t.state not in kept_states)
    report = replace(
        obs.report,
        n_rows=len(trials),
        dropped={f"state {state}": count for state, count in left_out.items()},
        inferred=tuple(chain.from_iterable(column.notes for column in columns)) + note,
        objectives=names if target is None else (),
    )
    return replace(obs, report=report)


def parameter_names(trials: Iterable[FrozenTrial]) -> list[str]:
    """Names of all parameters, in order of first appearance."""
    return list(dict.fromkeys(chain.from_iterable(t.distributions for t in trials)))


def _objectives(trials: list[FrozenTrial], n_objectives: int, target: Target | None) -> np.ndarray:
    failed = (math.nan,) * n_objectives
    if target is None:
        return np.array([t.values if t.state == TrialState.COMPLETE else failed for t in trials], np.float64)
    objectives = np.full(len(trials), math.nan)
    for i, trial in enumerate(trials):
        if trial.state == TrialState.COMPLETE:
            value = target(trial)
            try:
                objectives[i] = float(value)
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"target must return a number, got {value!r} for trial {trial.number}."
                ) from error
    return objectives


def _constraints(trials: list[FrozenTrial]) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Constraint values where every complete trial has the same ones; +inf for a failed trial without."""
    given = [t.constraints if t.system_attrs else {} for t in trials]
    names = next(filter(None, given), None)
    if names is None:
        return None, ()
    complete = (c for c, t in zip(given, trials, strict=True) if t.state == TrialState.COMPLETE)
    lacking = sum(c.keys() != names.keys() for c in complete)
    if lacking:
        return None, (f"constraints are left out, since {lacking} complete trials lack some of them",)
    return np.array([[c.get(name, math.inf) for name in names] for c in given]), ()


class TrialColumn(NamedTuple):
    """One parameter: its domains, values, regimes and bounds that move (n, 2), and what was inferred."""

    name: str
    domains: tuple[Domain, ...]
    values: np.ndarray
    regime: np.ndarray
    bounds: np.ndarray | None
    notes: list[str]


def read_columns(trials: Sequence[FrozenTrial]) -> list[TrialColumn]:
    """The parameters of some trials, in order of first appearance."""
    columns = []
    for name in parameter_names(trials):
        rows = [i for i, trial in enumerate(trials) if name in trial.distributions]
        try:
            columns.append(_column(name, [trials[i] for i in rows], rows, len(trials)))
        except (ValueError, TypeError) as error:
            raise ValueError(f"study: parameter {name!r}: {error}") from error
    return columns


def _column(name: str, trials: Sequence[FrozenTrial], rows: list[int], n: int) -> TrialColumn:
    """One parameter from the ``trials`` that have it, which are these ``rows`` of all n."""

    def in_all(values: np.ndarray, absent: float) -> np.ndarray:
        out = np.full((n, *values.shape[1:]), absent, values.dtype)
        out[rows] = values
        return out

    distributions, external = [t.distributions[name] for t in trials], [t.params[name] for t in trials]
    found, regime, reordered, pooled = regimes.regimes_of(distributions)
    always = len(trials) == n and len(found) == 1 and not pooled
    domains = tuple(regimes.domain_of(d, () if always else (Recorded(),)) for d in found)
    categorical = tuple(d for d in domains if isinstance(d, Categorical))
    if categorical and len(categorical) < len(domains):
        raise ValueError("is categorical in some trials and numeric in others; use two parameters.")
    bounds = None
    if categorical:
        values, moved = regimes.to_codes(categorical, regime, external), 0
    else:
        values = np.array(external, dtype=np.float64)
        bounds, moved = regimes.moving_bounds(found, regime, distributions, values)
        moved += sum(regimes.to_inside(domain, values, regime == i) for i, domain in enumerate(domains))
    n_moving = sum(isinstance(domain, Varying) for domain in domains)
    choices = chain.from_iterable(getattr(distribution, "choices", ()) for distribution in found)
    relabelled = any(isinstance(choice_label(c), str) and not isinstance(c, str) for c in choices)
    notes = {
        ": the same choices in another order count as one domain": reordered,
        f": {pooled} domains were seen in one trial each; together they count as one that moves"
        + f", {n_moving} by kind" * (n_moving > 1): pooled,
        f" has {len(found)} domains; each trial records which one applied": len(found) > 1,
        ": choices that are not None, bool, int, float or str go by their repr": relabelled,
        f": {moved} values outside their domain (enqueued, say) count as the nearest inside": moved,
    }
    inferred = [name + note for note, holds in notes.items() if holds]
    # In the other rows it is inactive.
    values, regime = in_all(values, math.nan), in_all(regime.astype(np.int16), INACTIVE)
    bounds = None if bounds is None else in_all(bounds, math.nan)
    return TrialColumn(name, domains, values, regime, bounds, inferred)
