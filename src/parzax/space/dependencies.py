"""Which parameters depend on which: order, checks, and where a condition holds."""

import math

import numpy as np

from parzax.space.conditions import Between, Condition, In, Recorded
from parzax.space.domains import BOUND_SLACK, Domain, Numeric
from parzax.space.listed import Categorical, Ordinal, choice_key


def _parents(domains: tuple[Domain, ...]) -> list[str]:
    return [c.parent for d in domains for c in d.conditions if not isinstance(c, Recorded)]


def topological_order(domains: dict[str, tuple[Domain, ...]]) -> tuple[str, ...]:
    """Names with parents before children; ValueError for unknown, impossible or cyclic parents."""
    for name, own in domains.items():
        for condition in (c for d in own for c in d.conditions):
            if isinstance(condition, Recorded):
                continue
            if condition.parent not in domains:
                raise ValueError(
                    f"parameter {name!r} depends on {condition.parent!r}, which is not in the space."
                )
            _check_condition(name, condition, domains[condition.parent])
    order: list[str] = []
    pending = dict(domains)
    while pending:
        ready = [n for n, own in pending.items() if not any(p in pending for p in _parents(own))]
        if not ready:
            raise ValueError(f"the conditions of {', '.join(map(repr, pending))} form a cycle.")
        order += ready
        for name in ready:
            del pending[name]
    return tuple(order)


def _check_condition(name: str, condition: In | Between, parent: tuple[Domain, ...]) -> None:
    if isinstance(condition, Between):
        if isinstance(parent[0], Categorical):
            raise ValueError(
                f"parameter {name!r}: Between needs a numeric parent, {condition.parent!r} is categorical; "
                "use In."
            )
        return
    for value in condition.values:
        if isinstance(parent[0], Categorical):
            known = any(choice_key(value) in d.codes for d in parent if isinstance(d, Categorical))
        else:
            known = not isinstance(value, str) and any(
                not d.outside(np.array(math.nan if value is None else value, dtype=np.float64))
                for d in parent
            )
        if not known:
            raise ValueError(f"parameter {name!r}: {condition.parent!r} never has the value {value!r}.")


def condition_holds(condition: Condition, parent: Domain, values: np.ndarray) -> np.ndarray:
    """Mask of the parent's native values (codes of categories) for which the condition holds."""
    if isinstance(condition, Between):
        step = getattr(parent, "step", None)
        if isinstance(parent, Numeric) and step is not None:
            # On its step, so that a rounded value is on the side of the bound where the step is.
            values = parent.low + np.round((values - parent.low) / step) * step
            low, high = (
                bound if math.isinf(bound) else bound - BOUND_SLACK * abs(bound)
                for bound in (condition.low, condition.high)
            )
            return (values >= low) & (values < high)
        return (values >= condition.low) & (values < condition.high)
    assert isinstance(condition, In)
    if isinstance(parent, Categorical):
        codes = [parent.codes[choice_key(v)] for v in condition.values if choice_key(v) in parent.codes]
        return np.isin(values, codes)
    allowed = np.asarray(condition.values, dtype=np.float64)
    if isinstance(parent, Ordinal):
        rank = parent.rank(values)
        return np.asarray(np.isin(rank, parent.rank(allowed)) & (rank >= 0))
    if parent.kind == "int":
        return np.isin(values, allowed)
    return np.any(np.abs(values[..., None] - allowed) <= BOUND_SLACK * np.abs(allowed), axis=-1)
