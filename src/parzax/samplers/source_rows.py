"""Rows of other tasks in a target's space: checked, matched by name, encoded, on the host."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

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
        complete: (n,) whether nothing is missing.
        objectives: (n, m), NaN in rows that speak of constraints alone.
        constraints: (n, c), NaN where not known.
        missing: names of the target's parameters that the task does not have.
        unknown: names of the task's parameters that the target does not have.
        outside: name -> number of values that the target's domain does not have.
    """

    name: str
    x: np.ndarray
    at: Points
    complete: np.ndarray
    objectives: np.ndarray
    constraints: np.ndarray
    missing: tuple[str, ...]
    unknown: tuple[str, ...]
    outside: Mapping[str, int]

    @property
    def summary(self) -> str:
        """One line."""
        parts = [f"{self.name}: {len(self.x)} rows"]
        if self.missing:
            parts.append(f"no {', '.join(self.missing)} (the prior stands for it)")
        if self.unknown:
            parts.append(f"{', '.join(self.unknown)} not used")
        parts += [f"{n} values of {name} outside its domain" for name, n in self.outside.items() if n]
        return "; ".join(parts)


def source_rows(space: Space, sources: Any, n_objectives: int, n_constraints: int) -> list[SourceRows]:
    """All sources as rows of ``space``.

    Args:
        space: the target's.
        sources: `Observations`, by name or in a row, one per task.
        n_objectives, n_constraints: the target's. A source has as many objectives; it may have no
            constraints, and rows without an objective (NaN) speak of the constraints alone.

    Raises:
        TypeError, ValueError: for what is no log, other numbers of objectives or constraints, seeds in one
            log, and fractional weights.
    """
    return [_one(name, source, space, n_objectives, n_constraints) for name, source in named_sources(sources)]


def named_sources(sources: Any) -> list[tuple[str, Observations]]:
    """(name, log) of every source."""
    if isinstance(sources, Observations) or not isinstance(sources, Iterable):
        raise TypeError(
            "sources must be a list of parzax.Observations or a dict of them by name, "
            f"got {type(sources).__name__}; one log per task."
        )
    pairs = sources.items() if isinstance(sources, Mapping) else enumerate(sources, 1)
    out = []
    for key, source in pairs:
        name = key if isinstance(sources, Mapping) else f"task {key}"
        if not isinstance(source, Observations):
            raise TypeError(
                f"sources: {name!r} is a {type(source).__name__}, not a parzax.Observations; "
                "parzax.adapters.optuna.sources reads studies, Observations.by_task a table of several tasks."
            )
        out.append((str(name), source))
    return out


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
    x, at, absent, outside = in_space(space, _matched(obs, space))
    keep = (weight > 0) & says & ~absent.all(axis=-1)
    missing = tuple(n for n in space.names if n not in obs.space)
    return SourceRows(
        name,
        x[keep],
        at[keep],
        np.logical_not(absent[keep].any(axis=-1)),
        objectives[keep],
        constraints[keep],
        missing,
        tuple(n for n in obs.space.names if n not in space),
        outside,
    )


def in_space(space: Space, x: np.ndarray) -> tuple[np.ndarray, Points, np.ndarray, dict[str, int]]:
    """Native values, (n, d), NaN where inactive or missing, as the rows of a source.

    Returns:
        The values, NaN where they are outside their domain; the points; which values are missing; and how
        many of each parameter lie outside its domain.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        at = points(space, x)
    absent = ~np.asarray(at.valid)
    outside = {name: int((absent & ~np.isnan(x))[:, space.index(name)].sum()) for name in space.names}
    for name in space.order:
        # Without its parent there is no saying which domain a value belongs to.
        for parent in parents(space, name):
            absent[:, space.index(name)] |= absent[:, space.index(parent)]
    known: list[Any] = [
        np.where(absent, INACTIVE, at.regime),
        np.where(absent, 0.5, at.unit),
        np.where(absent, 0, at.index),
        np.where(absent, 0.0, at.log_jacobian),
        np.ones_like(absent),
    ]
    return np.where(absent, np.nan, x), Points(*known), absent, outside


def _matched(obs: Observations, space: Space) -> np.ndarray:
    """The values of a log in the columns of the target's space, NaN for parameters that it does not have."""
    x = np.full((obs.n, len(space)), np.nan)
    for name in space.names:
        if name in obs.space:
            x[:, space.index(name)] = _translated(obs, name, space)
    return x


def _translated(obs: Observations, name: str, space: Space) -> np.ndarray:
    """A column of the log: codes of choices as those of the target's, other values as they are.

    Numbers that one calls choices and the other an `Ordinal`, say, are matched by value.
    """
    own = obs.space.index(name)
    values, regime, ours = obs.values[:, own], obs.regime[:, own], space[name][0]
    out = values.copy()
    for i, theirs in enumerate(obs.space[name]):
        here = (regime == i) & ~np.isnan(values)
        if isinstance(theirs, Categorical):
            found = [_in_domain(choice, ours) for choice in theirs.choices]
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
