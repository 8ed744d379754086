"""Logs of other tasks as points of the target's space: checked, matched by name and encoded on the host."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from parzax import _checks
from parzax._words import plural
from parzax.lens.logs import Observations
from parzax.space import INACTIVE, Categorical, Domain, Points, Recorded, Space, choice_key, host_frame


@dataclass(frozen=True)
class Notes:
    """Report lines about tasks. All instances compare equal, so that no compiled program depends on them.

    A sampler that is returned from compiled code may therefore have the report of another sampler.
    """

    report: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, eq=False)
class SourceRows:
    """One source task."""

    name: str
    at: Points  # (n, d) rows; a missing value has no regime, so its kernel is the prior
    absent: Bool[np.ndarray, "n d"]  # which values are missing
    objectives: Float[np.ndarray, "n m"]  # losses; NaN in rows that have only constraints
    constraints: Float[np.ndarray, "n c"]  # NaN if not measured
    missing: tuple[str, ...]  # names of the target's parameters that the task does not have
    unknown: tuple[str, ...]  # names of the task's parameters that the target does not have
    outside: Mapping[str, int]  # name -> number of values that are outside the target's domain
    inactive: Mapping[str, int]  # name -> number of values left out because the parameter is inactive
    n_foreign: int  # number of rows left out because all their values are missing

    def __len__(self) -> int:
        return len(self.at)

    @property
    def complete(self) -> Bool[np.ndarray, " n"]:
        """Mask of the rows without a missing value."""
        return np.asarray(~self.absent.any(axis=1))

    @property
    def lacking(self) -> Bool[np.ndarray, " d"]:
        """Mask of the parameters without any value although they are active in some row."""
        return self.absent.any(axis=0) & (self.at.regime == INACTIVE).all(axis=0)

    @property
    def lacks_constraints(self) -> bool:
        """Whether the task has no constraint value at all."""
        return bool(np.isnan(self.constraints).all())

    @property
    def evaluated(self) -> Bool[np.ndarray, " n"]:
        """Mask of the rows with objectives."""
        return np.asarray(~np.isnan(self.objectives).any(axis=1))

    @property
    def feasible(self) -> Bool[np.ndarray, " n"]:
        """Mask of the evaluated rows that satisfy all constraints; all rows of a task without constraints."""
        return self.evaluated & (self.lacks_constraints | (self.constraints <= 0).all(axis=1))

    def summary(self, *, mixed: bool = True) -> str:
        """One report line. ``mixed`` is for densities, where the prior replaces missing parameters."""
        parts = [f"{self.name}: {plural(len(self), 'row')}"]
        lacks = f"no {', '.join(self.missing)}" + " (the prior stands for it)" * mixed
        parts += [lacks] * bool(self.missing)
        parts += [f"{', '.join(self.unknown)} not used"] * bool(self.unknown)
        for counts, where in ((self.outside, "outside its domain"), (self.inactive, "where it is inactive")):
            parts += [f"{plural(n, 'value')} of {name} {where}" for name, n in counts.items() if n]
        if self.n_foreign:
            parts.append(f"{plural(self.n_foreign, 'row')} without a value that can be used left out")
        return "; ".join(parts)


def source_rows(
    space: Space, logs: Mapping[str, Observations], n_objectives: int, n_constraints: int
) -> list[SourceRows]:
    """The logs of all tasks, see `named_logs`, as rows of the target's space.

    A source must have as many objectives as the target, and as many constraints or none. A row with NaN
    objectives is used only for constraints, so it is left out if the source has no constraints. ValueError
    for other numbers of objectives or constraints, for several seeds in one log and for fractional weights.
    """
    return [_match_rows(name, log, space, n_objectives, n_constraints) for name, log in logs.items()]


def named_logs(sources: Any) -> dict[str, Observations]:
    """Logs by name, from `parzax.Observations` in a list or in a dict.

    TypeError for a value that is not a log, ValueError for names that are equal as text.
    """
    if isinstance(sources, Observations) or not isinstance(sources, Iterable):
        wanted = "a list of parzax.Observations or a dict of them by name, one log per task"
        raise TypeError(f"sources must be {wanted}, got {type(sources).__name__}.")
    named = sources if isinstance(sources, Mapping) else {f"task {i}": o for i, o in enumerate(sources, 1)}
    out: dict[str, Observations] = {}
    for name, source in named.items():
        hint = "; parzax.adapters.optuna.observations reads a study, Observations.by_task a table of tasks"
        _checks.instance(f"sources: {name!r}", source, Observations, "parzax.Observations", hint)
        if str(name) in out:
            raise ValueError(f"sources: two tasks have the name {str(name)!r}; give different names.")
        out[str(name)] = source
    return out


def read_space(name: str, log: Observations) -> Space:
    """The space of a log; ValueError if densities cannot be defined on it."""
    for parameter, domains in zip(log.space.names, log.space.domains, strict=True):
        if any(isinstance(condition, Recorded) for domain in domains for condition in domain.conditions):
            raise ValueError(
                f"tasks: {parameter!r} is missing in some rows of {name!r}, and its space does not say when. "
                f"Give space=, a parzax.Space where {parameter!r} has conditions (In, Between), is always "
                "active, or is left out."
            )
    return log.space


def _match_rows(
    name: str, log: Observations, space: Space, n_objectives: int, n_constraints: int
) -> SourceRows:
    check_log("sources", name, log, n_objectives, n_constraints)
    given = log.constraints if n_constraints else None
    constraints = np.full((log.n, n_constraints), np.nan) if given is None else given
    objectives = np.where(np.isnan(log.losses).any(axis=-1, keepdims=True), np.nan, log.losses)
    says = ~np.isnan(objectives).all(axis=-1) | ~np.isnan(constraints).all(axis=-1)
    if log.weight is not None:
        says &= log.weight > 0
    at, absent, outside, inactive = _encode(space, _in_columns_of(space, log))
    foreign = absent.all(axis=-1)
    keep = says & ~foreign
    counts = (which[keep].sum(axis=0).tolist() for which in (outside, inactive))
    return SourceRows(
        name,
        at[keep],
        absent[keep],
        objectives[keep],
        constraints[keep],
        tuple(n for n in space.names if n not in log.space),
        tuple(n for n in log.space.names if n not in space),
        *(dict(zip(space.names, n_values, strict=True)) for n_values in counts),
        n_foreign=int((says & foreign).sum()),
    )


def check_log(argument: str, name: str, log: Observations, n_objectives: int, n_constraints: int = 0) -> None:
    """Raise ValueError for a log that cannot be a source; ``n_constraints`` of 0 ignores its constraints."""
    has = f"{argument}: {name!r} has"
    if log.batch_shape:
        raise ValueError(f"{has} {log!r}; give one log per task.")
    if log.n_objectives != n_objectives:
        remedy = f"give {n_objectives} NaN objectives to rows that have only constraints"
        n_given = plural(log.n_objectives, "objective")
        raise ValueError(f"{has} {n_given}, but {n_objectives} are needed; {remedy}.")
    if log.constraints is not None and log.constraints.shape[-1] != n_constraints and n_constraints:
        n_given = plural(log.constraints.shape[-1], "constraint")
        raise ValueError(f"{has} {n_given}, but {n_constraints} are needed.")
    if log.weight is not None and not np.isin(log.weight, (0, 1)).all():
        raise ValueError(f"{has} weights other than 0 and 1, which the sampler cannot use.")


def _encode(space: Space, x: Float[np.ndarray, "n d"]) -> tuple[Points, Any, Any, Any]:
    """Encode native values, NaN where inactive or missing, as points; an absent value has no regime.

    Also returns three masks (n, d): values that are absent although the parameter may be active; values
    outside the domain, which count as absent; values that were given although the parameter is inactive.
    """
    at = host_frame(space).encode(x)
    given, wrong, off = ~np.isnan(x), ~at.valid, at.regime == INACTIVE
    absent, outside, inactive = np.zeros_like(given), wrong & given & ~off, wrong & given & off
    for name in space.order:
        j = space.index(name)
        # If the value of a parent is absent, it is not known which domain applies.
        orphaned = absent[:, [space.index(parent) for parent in space.parents(name)]].any(axis=1)
        outside[:, j] &= ~orphaned
        inactive[:, j] &= ~orphaned
        absent[:, j] = orphaned | (wrong[:, j] & ~inactive[:, j])
    none = absent | inactive
    regime, unit, index = (
        np.where(none, fill, a)
        for fill, a in ((np.int32(INACTIVE), at.regime), (0.5, at.unit), (np.int32(0), at.index))
    )
    return Points(regime, unit, index, np.ones_like(none)), absent, outside, inactive


def _in_columns_of(space: Space, log: Observations) -> Float[np.ndarray, "n d"]:
    """The values of a log in the columns of the target's space; NaN if the log lacks a parameter."""
    if log.space == space:
        return log.values
    x = np.full((log.n, len(space)), np.nan)
    # Parents come first in this order, because their values decide which domain of a parameter applies.
    for name in space.order:
        if name in log.space:
            j, one = space.index(name), len(space[name]) == 1
            regime = np.zeros(log.n, np.int16) if one else space.derive_regimes(x)[:, j]
            x[:, j] = _translate(log, name, space, regime)
    return x


def _translate(log: Observations, name: str, space: Space, regime: np.ndarray) -> np.ndarray:
    """A column of the log in native values of the target.

    Choices become codes of the target's choices, or numbers if the target is numeric. Numbers stay the same.
    """
    column = log.space.index(name)
    values, theirs = log.values[:, column], log.regime[:, column]
    out = values.copy()
    for i, source in enumerate(log.space[name]):
        for k, target in enumerate(space[name]):
            # If the target's parameter is inactive, any domain will do, because the value is left out.
            here = (theirs == i) & (np.maximum(regime, 0) == k) & ~np.isnan(values)
            if isinstance(source, Categorical):
                native = [_native_choice(choice, target) for choice in source.choices]
                out[here] = np.array(native, np.float64)[values[here].astype(int)]
            elif isinstance(target, Categorical):
                codes = {c: code for code, c in enumerate(target.choices) if _is_number(c)}
                out[here] = [codes.get(value, -1.0) for value in values[here].tolist()]
    return out


def _native_choice(choice: Any, domain: Domain) -> float:
    """A choice as a native value of a domain; a value outside the domain if it has no such choice."""
    if isinstance(domain, Categorical):
        return domain.codes.get(choice_key(choice), -1.0)
    return float(choice) if _is_number(choice) else np.inf


def _is_number(choice: Any) -> bool:
    return isinstance(choice, (int, float)) and not isinstance(choice, bool) and choice == choice
