"""Logs of other tasks in a target's space: checked, matched by name, and made points once, on the host."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from parzax.observations import Observations
from parzax.space import INACTIVE, Categorical, Domain, Points, Recorded, Space, choice_key, host_frame


@dataclass(frozen=True)
class Notes:
    """Words about tasks. All are equal, so that no compiled program depends on them.

    So a sampler that is returned from compiled code may have the words of another.
    """

    report: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, eq=False)
class SourceRows:
    """One source task."""

    name: str
    at: Points  # (n, d) rows; a missing value has no regime, so that its kernel is the prior
    absent: Bool[np.ndarray, "n d"]  # which values are missing
    objectives: Float[np.ndarray, "n m"]  # losses, NaN in rows that speak of constraints alone
    constraints: Float[np.ndarray, "n c"]  # NaN where not known
    missing: tuple[str, ...]  # names of the target's parameters that the task does not have
    unknown: tuple[str, ...]  # names of the task's parameters that the target does not have
    outside: Mapping[str, int]  # name -> number of values that the target's domain does not have
    inactive: Mapping[str, int]  # the same where the target's parameter is inactive; they are left out
    n_foreign: int  # number of rows that were left out because all their values are missing

    def __len__(self) -> int:
        return len(self.at)

    @property
    def complete(self) -> Bool[np.ndarray, " n"]:
        """Rows without a missing value."""
        return np.asarray(~self.absent.any(axis=1))

    @property
    def lacking(self) -> Bool[np.ndarray, " d"]:
        """Parameters of which no value is known, although some row should have one."""
        return self.absent.any(axis=0) & (self.at.regime == INACTIVE).all(axis=0)

    @property
    def lacks_constraints(self) -> bool:
        """Whether the task has no constraint value at all."""
        return bool(np.isnan(self.constraints).all())

    @property
    def evaluated(self) -> Bool[np.ndarray, " n"]:
        """Rows with objectives."""
        return np.asarray(~np.isnan(self.objectives).any(axis=1))

    @property
    def feasible(self) -> Bool[np.ndarray, " n"]:
        """Evaluated rows that satisfy all constraints; all of a task that lacks them."""
        return self.evaluated & (self.lacks_constraints | (self.constraints <= 0).all(axis=1))

    def summary(self, *, mixed: bool = True) -> str:
        """One line; with ``mixed`` for densities, where the prior stands for missing parameters."""
        parts = [f"{self.name}: {len(self)} rows"]
        lacks = f"no {', '.join(self.missing)}" + " (the prior stands for it)" * mixed
        parts += [lacks] * bool(self.missing)
        parts += [f"{', '.join(self.unknown)} not used"] * bool(self.unknown)
        parts += [f"{n} values of {name} outside its domain" for name, n in self.outside.items() if n]
        parts += [f"{n} values of {name} where it is inactive" for name, n in self.inactive.items() if n]
        parts += [f"{self.n_foreign} rows without a value that can be used left out"] * bool(self.n_foreign)
        return "; ".join(parts)


def source_rows(
    space: Space, logs: Mapping[str, Observations], n_objectives: int, n_constraints: int
) -> list[SourceRows]:
    """The logs of all tasks, see `named_logs`, as rows of the target's space.

    A source has as many objectives as the target. It may have no constraints; rows without an objective (NaN)
    speak of the constraints alone: failed rows of a source without constraints are left out. ValueError for
    other numbers of objectives or constraints, seeds in one log, and fractional weights.
    """
    return [_match_rows(name, log, space, n_objectives, n_constraints) for name, log in logs.items()]


def named_logs(sources: Any) -> dict[str, Observations]:
    """The log of every source by name, of `parzax.Observations` in a list or a dict by name.

    TypeError or ValueError for what is no log, and names that are equal as text.
    """
    if isinstance(sources, Observations) or not isinstance(sources, Iterable):
        raise TypeError(
            "sources must be a list of parzax.Observations or a dict of them by name, one log per task, got "
            f"{type(sources).__name__}."
        )
    named = sources if isinstance(sources, Mapping) else {f"task {i}": o for i, o in enumerate(sources, 1)}
    out: dict[str, Observations] = {}
    for name, source in named.items():
        if not isinstance(source, Observations):
            raise TypeError(
                f"sources: {name!r} is a {type(source).__name__}, not a parzax.Observations; "
                "parzax.adapters.optuna.observations reads a study, Observations.by_task a table of tasks."
            )
        if str(name) in out:
            raise ValueError(f"sources: two are named {str(name)!r}; give names that differ as text.")
        out[str(name)] = source
    return out


def read_space(name: str, log: Observations) -> Space:
    """That of a log, where densities can be on it."""
    for parameter, domains in zip(log.space.names, log.space.domains, strict=True):
        if any(isinstance(condition, Recorded) for domain in domains for condition in domain.conditions):
            raise ValueError(
                f"tasks: {parameter!r} is missing in some rows of {name!r}, whose space does not say when; "
                "give space=, a parzax.Space in which it has conditions (In, Between) or none, or that is "
                "without it."
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
        raise ValueError(
            f"{has} {log.n_objectives} objectives, but {n_objectives} are wanted; give as many NaN "
            "objectives where only constraints are known."
        )
    if log.constraints is not None and log.constraints.shape[-1] != n_constraints and n_constraints:
        raise ValueError(f"{has} {log.constraints.shape[-1]} constraints, but {n_constraints} are wanted.")
    if log.weight is not None and not np.isin(log.weight, (0, 1)).all():
        raise ValueError(f"{has} weights other than 0 and 1, which the sampler cannot use.")


def _encode(space: Space, x: Float[np.ndarray, "n d"]) -> tuple[Points, Any, Any, Any]:
    """Native values, NaN where inactive or missing, as points; an absent value has no regime.

    And (n, d) which values are absent although their parameter may be active, which their domain does not
    have (these are absent), and which were given although it is inactive.
    """
    at = host_frame(space).encode(x)
    given, wrong, off = ~np.isnan(x), ~at.valid, at.regime == INACTIVE
    absent, outside, inactive = np.zeros_like(given), wrong & given & ~off, wrong & given & off
    for name in space.order:
        j = space.index(name)
        # Without its parent, the domain of a value is unknown.
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
    """The values of a log in the columns of the target's space, NaN for parameters that it does not have."""
    if log.space == space:
        return log.values
    x = np.full((log.n, len(space)), np.nan)
    # The values of parents say which of its domains a parameter of the target has in a row.
    for name in space.order:
        if name in log.space:
            j, one = space.index(name), len(space[name]) == 1
            regime = np.zeros(log.n, np.int16) if one else space.derive_regimes(x)[:, j]
            x[:, j] = _translate(log, name, space, regime)
    return x


def _translate(log: Observations, name: str, space: Space, regime: np.ndarray) -> np.ndarray:
    """A column of the log: choices as codes of the target's, or by value as numbers; others as they are."""
    column = log.space.index(name)
    values, theirs = log.values[:, column], log.regime[:, column]
    out = values.copy()
    for i, source in enumerate(log.space[name]):
        for k, target in enumerate(space[name]):
            # Where the target's parameter is inactive, any domain will do: the value is left out.
            here = (theirs == i) & (np.maximum(regime, 0) == k) & ~np.isnan(values)
            if isinstance(source, Categorical):
                native = [_native_choice(choice, target) for choice in source.choices]
                out[here] = np.array(native, np.float64)[values[here].astype(int)]
            elif isinstance(target, Categorical):
                codes = {c: code for code, c in enumerate(target.choices) if _is_number(c)}
                out[here] = [codes.get(value, -1.0) for value in values[here].tolist()]
    return out


def _native_choice(choice: Any, domain: Domain) -> float:
    """A choice as a native value of a domain; a value outside where the domain does not have it."""
    if isinstance(domain, Categorical):
        return domain.codes.get(choice_key(choice), -1.0)
    return float(choice) if _is_number(choice) else np.inf


def _is_number(choice: Any) -> bool:
    return isinstance(choice, (int, float)) and not isinstance(choice, bool) and choice == choice
