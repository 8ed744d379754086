"""From Optuna's trials to observations: distributions become regimes, choices become codes."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from parzax import _checks
from parzax.adapters.optuna_regimes import (
    is_relabelled,
    pool_moving,
    regimes_of,
    to_codes,
    to_domain,
    to_inside,
)
from parzax.observations import Observations
from parzax.space import INACTIVE, Categorical, Domain, Recorded, Space

Target = Callable[[FrozenTrial], float]


def observations_from_trials(
    trials: Sequence[FrozenTrial],
    directions: Sequence[str],
    *,
    failed: str = "drop",
    target: Target | None = None,
) -> Observations:
    """The rows of a study's trials; see `parzax.adapters.optuna.observations`."""
    _checks.one_of("failed", failed, ("drop", "worst"))
    kept_states = {TrialState.COMPLETE}
    if failed == "worst":
        kept_states |= {TrialState.FAIL, TrialState.PRUNED}
    kept = [t for t in trials if t.state in kept_states]
    if not any(t.state == TrialState.COMPLETE for t in kept):
        raise ValueError(f"study has no COMPLETE trial among its {len(trials)} trials.")
    columns = read_columns(kept)
    if not columns:
        raise ValueError("study has no parameters: its trials never called suggest_*.")
    conditional = any(column.domains[0].conditions for column in columns)
    constraints, note = _constraints(kept)
    obs = Observations.from_arrays(
        Space({column.name: column.domains for column in columns}),
        np.stack([column.values for column in columns], axis=-1),
        _objectives(kept, len(directions), target),
        directions if target is None else "minimize",
        regime=np.stack([column.regime for column in columns], axis=-1) if conditional else None,
        constraints=constraints,
        failed=failed,
    )
    left_out = (
        Counter(t.state.name for t in trials if t.state not in kept_states) if len(kept) < len(trials) else {}
    )
    report = replace(
        obs.report,
        n_rows=len(trials),
        dropped={f"state {state}": count for state, count in left_out.items()},
        inferred=tuple(chain.from_iterable(column.notes for column in columns)) + note,
    )
    return replace(obs, report=report)


def parameter_names(trials: Iterable[FrozenTrial]) -> list[str]:
    """Names of all parameters, in order of first appearance."""
    return list(dict.fromkeys(chain.from_iterable(t.distributions for t in trials)))


def _objectives(trials: list[FrozenTrial], n_objectives: int, target: Target | None) -> np.ndarray:
    failed = (math.nan,) * n_objectives
    if target is None:
        return np.array(
            [t.values if t.state == TrialState.COMPLETE else failed for t in trials], dtype=np.float64
        )
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
    lacking = sum(
        c.keys() != names.keys() for c, t in zip(given, trials, strict=True) if t.state == TrialState.COMPLETE
    )
    if lacking:
        return None, (f"constraints are left out, since {lacking} complete trials lack some of them",)
    return np.array([[c.get(name, math.inf) for name in names] for c in given]), ()


# --- one parameter -----------------------------------------------------------------------------


@dataclass
class Column:
    """One parameter: its domains, and the value and regime of each row."""

    name: str
    domains: tuple[Domain, ...]
    values: np.ndarray
    regime: np.ndarray
    notes: list[str] = field(default_factory=list)


def read_columns(trials: Sequence[FrozenTrial]) -> list[Column]:
    """The parameters of some trials, in order of first appearance."""
    params = [t.params for t in trials]
    distributions = [t.distributions for t in trials]
    columns = []
    for name in dict.fromkeys(chain.from_iterable(distributions)):
        try:
            try:
                own, values = [d[name] for d in distributions], [p[name] for p in params]
            except KeyError:  # absent from some rows: inactive there
                rows = [i for i, d in enumerate(distributions) if name in d]
                own, values = [distributions[i][name] for i in rows], [params[i][name] for i in rows]
                columns.append(_spread(_column(name, own, values, always=False), rows, len(trials)))
            else:
                columns.append(_column(name, own, values, always=True))
        except (ValueError, TypeError) as error:
            raise ValueError(f"study: parameter {name!r}: {error}") from error
    return columns


def _column(name: str, distributions: list[Any], external: list[Any], *, always: bool) -> Column:
    """One parameter in the rows where it is active; ``always``: these are all rows."""
    notes = []
    found, regime, reordered = regimes_of(distributions)
    if reordered:
        notes.append(f"{name}: the same choices in another order count as one domain")
    found, regime, pooled = pool_moving(found, regime)
    if pooled:
        notes.append(
            f"{name}: {pooled} domains were seen in one trial each; together they count as one that moves"
        )
    if len(found) > 1:
        notes.append(f"{name} has {len(found)} domains; each trial records which one applied")
    always &= len(found) == 1 and not pooled
    domains = tuple(to_domain(d, () if always else (Recorded(),)) for d in found)
    categorical = [d for d in domains if isinstance(d, Categorical)]
    if categorical:
        if len(categorical) < len(domains):
            raise ValueError("is categorical in some trials and numeric in others; use two parameters.")
        values = to_codes(tuple(categorical), regime, external)
        if any(is_relabelled(d) for d in found):
            notes.append(f"{name}: choices that are not None, bool, int, float or str go by their repr")
    else:
        values = np.array(external, dtype=np.float64)
        moved = sum(to_inside(domain, values, regime == i) for i, domain in enumerate(domains))
        if moved:
            notes.append(
                f"{name}: {moved} values outside their domain (enqueued, say) count as the nearest inside"
            )
    return Column(name, domains, values, regime, notes)


def _spread(column: Column, rows: list[int], n: int) -> Column:
    """A column of the active rows alone, spread over all n rows."""
    values, regime = np.full(n, math.nan), np.full(n, INACTIVE, dtype=np.int16)
    values[rows], regime[rows] = column.values, column.regime
    return replace(column, values=values, regime=regime)
