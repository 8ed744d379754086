"""Source tasks: rows of other tasks as points of the target's space."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from parzax._words import plural
from parzax.space import INACTIVE, Points, Space


@dataclass(frozen=True)
class Notes:
    """Report lines about tasks. All instances compare equal, so that no compiled program depends on them.

    A sampler that is returned from compiled code may therefore have the report of another sampler.
    """

    report: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, eq=False)
class SourceRows:
    """One source task in the target's space; `parzax.Observations.to_source` makes it from a log."""

    name: str
    at: Points  # (n, d) rows; a missing value has no regime, so its kernel is the prior
    absent: Bool[np.ndarray, "n d"]  # which values are missing
    losses: Float[np.ndarray, "n m"]  # NaN in rows that have only constraints
    constraints: Float[np.ndarray, "n c"]  # NaN if not measured
    missing: tuple[str, ...]  # names of the target's parameters that the task does not have
    unknown: tuple[str, ...]  # names of the task's parameters that the target does not have
    outside: Mapping[str, int]  # name -> number of values that are outside the target's domain
    inactive: Mapping[str, int]  # name -> number of values left out because the parameter is inactive
    n_foreign: int  # number of rows left out because all their values are missing

    def __len__(self) -> int:
        return len(self.at)

    @property
    def n_objectives(self) -> int:
        """m, the number of objectives."""
        return self.losses.shape[1]

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
        """Mask of the rows with losses."""
        return np.asarray(~np.isnan(self.losses).any(axis=1))

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


def named_sources(sources: Any, argument: str = "sources") -> dict[str, Any]:
    """Source tasks by name, from a list or a dict of logs or `SourceRows`.

    TypeError for a value that is neither, ValueError for no source and for names that are equal as text.
    """
    if hasattr(sources, "to_source") or isinstance(sources, SourceRows) or not isinstance(sources, Iterable):
        wanted = "a list of parzax.Observations or a dict of them by name, one log per task"
        raise TypeError(f"{argument} must be {wanted}, got {type(sources).__name__}.")
    named = sources if isinstance(sources, Mapping) else {f"task {i}": o for i, o in enumerate(sources, 1)}
    out: dict[str, Any] = {}
    for name, source in named.items():
        if not (isinstance(source, SourceRows) or hasattr(source, "to_source")):
            hint = (
                "; parzax.adapters.optuna.observations reads a study, Observations.by_task a table of tasks"
            )
            given = f"got {type(source).__name__}{hint}"
            raise TypeError(f"{argument}: {name!r} must be parzax.Observations, {given}.")
        if str(name) in out:
            raise ValueError(f"{argument}: two tasks have the name {str(name)!r}; give different names.")
        out[str(name)] = source
    if not out:
        raise ValueError(f"{argument} must have at least one task.")
    return out


def source_rows(
    sources: Mapping[str, Any], space: Space, n_objectives: int, n_constraints: int
) -> list[SourceRows]:
    """The source tasks, see `named_sources`, as rows of the target's space.

    A log is anything with the method ``to_source(name, space, n_objectives, n_constraints)``, such as
    `parzax.Observations`.
    """
    return [
        one if isinstance(one, SourceRows) else one.to_source(name, space, n_objectives, n_constraints)
        for name, one in sources.items()
    ]
