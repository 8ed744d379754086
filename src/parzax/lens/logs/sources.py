"""Logs of other tasks as rows of the target's space: checked, matched by name and encoded on the host."""

from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

from parzax._numerics import capacity
from parzax._words import plural
from parzax.lens.logs.labels import match_label
from parzax.meta.sources import SourceRows
from parzax.samplers import Sampler, State
from parzax.samplers.sampler import warn_of_unseen
from parzax.space import INACTIVE, Categorical, Domain, Points, Space

Observations: TypeAlias = Any  # `parzax.Observations`, whose method `to_source` calls this module


def to_source(
    log: Observations, name: str, space: Space, n_objectives: int, n_constraints: int
) -> SourceRows:
    """See `Observations.to_source`."""
    check_log("sources", name, log, n_objectives, n_constraints)
    given = log.constraints if n_constraints else None
    constraints = np.full((log.n, n_constraints), np.nan) if given is None else given
    losses = np.where(np.isnan(log.losses).any(axis=-1, keepdims=True), np.nan, log.losses)
    says = ~np.isnan(losses).all(axis=-1) | ~np.isnan(constraints).all(axis=-1)
    if log.weight is not None:
        says &= log.weight > 0
    at, absent, outside, inactive = _encode(space, _in_columns_of(space, log))
    foreign = absent.all(axis=-1)
    keep = says & ~foreign
    foreign_rows, at, absent = int((says & foreign).sum()), at[keep], absent[keep]
    missing = [n for n in space.names if n not in log.space]
    unknown = [n for n in log.space.names if n not in space]
    parts = [f"{name}: {plural(len(at), 'row')}"]
    parts += [f"no {', '.join(missing)}"] * bool(missing)
    parts += [f"{', '.join(unknown)} not used"] * bool(unknown)
    for which, where in ((outside, "outside its domain"), (inactive, "where it is inactive")):
        counts = zip(space.names, which[keep].sum(axis=0).tolist(), strict=True)
        parts += [f"{plural(n, 'value')} of {parameter} {where}" for parameter, n in counts if n]
    if foreign_rows:
        parts.append(f"{plural(foreign_rows, 'row')} without a value that can be used left out")
    return SourceRows(at, absent, losses[keep], constraints[keep], "; ".join(parts))


def to_state(log: Observations, sampler: Sampler) -> State:
    """See `Observations.to_state`."""
    if log.batch_shape:
        raise ValueError(f"a state has the rows of one log, got {log!r}; make one for each seed.")
    if log.report.directions != sampler.directions:
        given = f"the log's objectives are {log.report.directions}, the sampler's {sampler.directions}"
        raise ValueError(f"{given}; give the sampler directions=.")
    if log.weight is not None and not np.isin(log.weight, (0, 1)).all():
        raise ValueError("the log has weights other than 0 and 1, which a sampler cannot use.")
    if log.constraints is not None and not sampler.n_constraints:
        warn_of_unseen("the log has", log.constraints.shape[-1])
    keep = np.ones(log.n, bool) if log.weight is None else log.weight > 0
    losses = np.where((log.losses < np.inf).all(axis=-1, keepdims=True), log.losses, np.nan)[keep]
    losses *= [-1 if direction == "maximize" else 1 for direction in sampler.directions]
    constraints = log.constraints[keep] if sampler.n_constraints and log.constraints is not None else None
    x = _in_columns_of(sampler.space, log)[keep]
    return sampler.tell(sampler.init(capacity(max(len(x), 1))), x, losses, constraints)


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
    at = space.frame().encode(x)
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
            if not isinstance(source, Categorical) and not isinstance(target, Categorical):
                continue
            labels, code = np.unique(values[here], return_inverse=True)
            native = [_native(source.interpret(label), target) for label in labels.tolist()]
            out[here] = np.array(native, np.float64)[code]
    return out


def _native(value: Any, target: Domain) -> float:
    """A value of another task's parameter as a native value of a domain, outside it if it has none."""
    if isinstance(target, Categorical):
        return match_label(value, target)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else np.inf
