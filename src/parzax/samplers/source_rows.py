"""Rows of other tasks in a target's space: checked, matched by name, encoded, on the host."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from parzax.observations import Observations
from parzax.parzen.points import Points, points
from parzax.parzen.restriction import parents
from parzax.space import INACTIVE, Categorical, Domain, Space, choice_key


@dataclass(frozen=True)
class SourceRows:
    """One source task.

    Attributes:
        name: of the task.
        x: (n, d) native values in the target's space, NaN where inactive or missing.
        at: (n, d) the same on the kernel axes; what is missing belongs to no regime, so that its kernels are
            the prior there.
        absent: (n, d) which values are missing.
        objectives: (n, m), NaN in rows that speak of constraints alone.
        constraints: (n, c), NaN where not known.
        missing: names of the target's parameters that the task does not have.
        unknown: names of the task's parameters that the target does not have.
        outside: name -> number of values that the target's domain does not have.
        inactive: name -> number of values where the target's parameter is inactive; they are left out.
        n_foreign: number of rows that were left out because all their values are missing.
    """

    name: str
    x: np.ndarray
    at: Points
    absent: np.ndarray
    objectives: np.ndarray
    constraints: np.ndarray
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    outside: Mapping[str, int]
    inactive: Mapping[str, int]
    n_foreign: int

    @property
    def complete(self) -> np.ndarray:
        """(n,) whether nothing is missing."""
        return np.asarray(~self.absent.any(axis=1))

    @property
    def lacking(self) -> np.ndarray:
        """(d,) parameters of which no value is known, although some row should have one."""
        return np.asarray(self.absent.any(axis=0) & np.isnan(self.x).all(axis=0))

    @property
    def lacks_constraints(self) -> bool:
        """Whether no constraint is known: the task says nothing about the target's."""
        return bool(np.isnan(self.constraints).all())

    @property
    def told(self) -> np.ndarray:
        """(n,) rows with objectives."""
        return np.asarray(~np.isnan(self.objectives).any(axis=1))

    @property
    def feasible(self) -> np.ndarray:
        """(n,) rows with objectives that satisfy all constraints; all of a task that lacks them."""
        return np.asarray(self.told & (self.lacks_constraints | (self.constraints <= 0).all(axis=1)))

    @property
    def summary(self) -> str:
        """One line."""
        parts = [f"{self.name}: {len(self.x)} rows"]
        if self.missing:
            parts.append(f"no {', '.join(self.missing)} (the prior stands for it)")
        if self.unknown:
            parts.append(f"{', '.join(self.unknown)} not used")
        parts += [f"{n} values of {name} outside its domain" for name, n in self.outside.items() if n]
        parts += [f"{n} values of {name} where it is inactive" for name, n in self.inactive.items() if n]
        if self.n_foreign:
            parts.append(f"{self.n_foreign} rows without a value that can be used left out")
        return "; ".join(parts)


def source_rows(space: Space, sources: Any, n_objectives: int, n_constraints: int) -> list[SourceRows]:
    """All sources as rows of ``space``.

    Args:
        space: the target's.
        sources: `Observations`, by name or in a row, one per task.
        n_objectives, n_constraints: the target's. A source has as many objectives; it may have no
            constraints, and rows without an objective (NaN) speak of the constraints alone: failed rows
            of a source without constraints are left out.

    Raises:
        TypeError, ValueError: for what is no log, equal names, other numbers of objectives or constraints,
            seeds in one log, and fractional weights.
    """
    return [_one(name, source, space, n_objectives, n_constraints) for name, source in named_sources(sources)]


def named_sources(sources: Any) -> list[tuple[str, Observations]]:
    """(name, log) of every source; names differ."""
    if isinstance(sources, Observations) or not isinstance(sources, Iterable):
        raise TypeError(
            "sources must be a list of parzax.Observations or a dict of them by name, one log per task, got "
            f"{type(sources).__name__}."
        )
    pairs = sources.items() if isinstance(sources, Mapping) else enumerate(sources, 1)
    out: dict[str, Observations] = {}
    for key, source in pairs:
        name = key if isinstance(sources, Mapping) else f"task {key}"
        if not isinstance(source, Observations):
            raise TypeError(
                f"sources: {name!r} is a {type(source).__name__}, not a parzax.Observations; "
                "parzax.adapters.optuna.observations reads a study, Observations.by_task a table of tasks."
            )
        if str(name) in out:
            raise ValueError(f"sources: two are named {str(name)!r}; give names that differ as text.")
        out[str(name)] = source
    return list(out.items())


def _one(name: str, obs: Observations, space: Space, n_objectives: int, n_constraints: int) -> SourceRows:
    if obs.batch_shape:
        raise ValueError(f"sources: {name!r} has {obs!r}; give one log per task.")
    if obs.n_objectives != n_objectives:
        raise ValueError(
            f"sources: {name!r} has {obs.n_objectives} objectives, but the sampler {n_objectives}; give NaN "
            "objectives, as many as the sampler's, where only constraints are known."
        )
    if obs.constraints is not None and obs.constraints.shape[-1] != n_constraints and n_constraints:
        raise ValueError(
            f"sources: {name!r} has {obs.constraints.shape[-1]} constraints, but the sampler {n_constraints}."
        )
    weight = np.ones(obs.n) if obs.weight is None else obs.weight
    if not np.isin(weight, (0, 1)).all():
        raise ValueError(f"sources: {name!r} has weights other than 0 and 1, which the sampler cannot use.")
    constraints = np.full((obs.n, n_constraints), np.nan)
    if obs.constraints is not None and n_constraints:
        constraints = obs.constraints
    objectives = np.where(np.isnan(obs.losses).any(axis=-1, keepdims=True), np.nan, obs.losses)
    says = ~np.isnan(objectives).all(axis=-1) | ~np.isnan(constraints).all(axis=-1)
    placed = in_space(space, _matched(obs, space))
    foreign = placed.absent.all(axis=-1)
    keep = (weight > 0) & says & ~foreign
    outside, inactive = (
        dict(zip(space.names, which[keep].sum(axis=0).tolist(), strict=True))
        for which in (placed.outside, placed.inactive)
    )
    return SourceRows(
        name=name,
        x=placed.x[keep],
        at=placed.at[keep],
        absent=placed.absent[keep],
        objectives=objectives[keep],
        constraints=constraints[keep],
        missing=tuple(n for n in space.names if n not in obs.space),
        unknown=tuple(n for n in obs.space.names if n not in space),
        outside=outside,
        inactive=inactive,
        n_foreign=int(((weight > 0) & says & foreign).sum()),
    )


class Placed(NamedTuple):
    """Rows in a space, (n, d).

    Attributes:
        x: native values, NaN where inactive or absent.
        at: points; what is absent belongs to no regime.
        absent: which values are not known although the parameter may be active.
        outside: which values their domain does not have; these are absent.
        inactive: which values were given although the parameter is inactive; these are left out.
    """

    x: np.ndarray
    at: Points
    absent: np.ndarray
    outside: np.ndarray
    inactive: np.ndarray


def in_space(space: Space, x: np.ndarray) -> Placed:
    """Native values, (n, d), NaN where inactive or missing, as the rows of a source."""
    with np.errstate(invalid="ignore", divide="ignore"):
        at = points(space, x)
    given, wrong, off = ~np.isnan(x), ~np.asarray(at.valid), np.asarray(at.regime) == INACTIVE
    absent, outside, inactive = np.zeros_like(given), wrong & given & ~off, wrong & given & off
    for name in space.order:
        j = space.index(name)
        # Without its parent there is no saying which domain a value belongs to, or whether it has one.
        orphaned = absent[:, [space.index(parent) for parent in parents(space, name)]].any(axis=1)
        outside[:, j] &= ~orphaned
        inactive[:, j] &= ~orphaned
        absent[:, j] = orphaned | (wrong[:, j] & ~inactive[:, j])
    none = absent | inactive
    fields: list[Any] = [
        np.where(none, INACTIVE, at.regime),
        np.where(none, 0.5, at.unit),
        np.where(none, 0, at.index),
        np.where(none, 0.0, at.log_jacobian),
        np.ones_like(none),
    ]
    return Placed(np.where(none, np.nan, x), Points(*fields), absent, outside, inactive)


def _matched(obs: Observations, space: Space) -> np.ndarray:
    """The values of a log in the columns of the target's space, NaN for parameters that it does not have."""
    if obs.space == space:
        return obs.values
    x = np.full((obs.n, len(space)), np.nan)
    # The values of parents say which of its domains a parameter of the target has in a row.
    for name in space.order:
        if name in obs.space:
            own = len(space[name]) > 1
            regime = space.derive_regimes(x)[:, space.index(name)] if own else np.zeros(obs.n, np.int16)
            x[:, space.index(name)] = _translated(obs, name, space, regime)
    return x


def _translated(obs: Observations, name: str, space: Space, regime: np.ndarray) -> np.ndarray:
    """A column of the log: codes of choices as those of the target's, other values as they are.

    Numbers that one calls choices and the other an `Ordinal`, say, are matched by value.
    """
    column = obs.space.index(name)
    values, theirs = obs.values[:, column], obs.regime[:, column]
    out = values.copy()
    for i, own in enumerate(obs.space[name]):
        for k, ours in enumerate(space[name]):
            # Where the target's is inactive any domain will do: the value is left out.
            here = (theirs == i) & (np.maximum(regime, 0) == k) & ~np.isnan(values)
            if isinstance(own, Categorical):
                found = [_in_domain(choice, ours) for choice in own.choices]
                out[here] = np.array(found, np.float64)[values[here].astype(int)]
            elif isinstance(ours, Categorical):
                numbers = {c: code for code, c in enumerate(ours.choices) if _is_number(c)}
                out[here] = [numbers.get(value, -1.0) for value in values[here].tolist()]
    return out


def _in_domain(choice: Any, ours: Domain) -> float:
    """A choice as a native value of a domain; what it has not is outside."""
    if isinstance(ours, Categorical):
        return ours.codes.get(choice_key(choice), -1.0)
    return float(choice) if _is_number(choice) else np.inf


def _is_number(choice: Any) -> bool:
    return isinstance(choice, (int, float)) and not isinstance(choice, bool) and choice == choice
