"""States of source tasks: their rows on the device, padded to a common capacity."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from parzax.observations import capacity
from parzax.parzen.points import POINT_FIELDS, Points
from parzax.samplers.rounding import resolved, violations
from parzax.samplers.source_rows import SourceRows
from parzax.samplers.state import State

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler

# Absent rows are in no regime and not valid.
_FILLS = dict(zip(POINT_FIELDS, (-1, 0.5, 0, 0.0, False), strict=True))


def states(sampler: "Sampler", rows: list[SourceRows]) -> State:
    """A state per task, with a leading axis of tasks.

    A task without any constraint counts as one that satisfies all; see `SourceRows.lacks_constraints`.
    """
    size = capacity(max((len(one.x) for one in rows), default=1))
    dtype = jnp.result_type(float)
    every = []
    for one in rows:
        constraints = np.full_like(one.constraints, -1.0) if one.lacks_constraints else one.constraints
        every.append(
            filled(
                one.x,
                one.at,
                resolved(one.objectives, dtype),
                violations(constraints, dtype),
                size,
                dtype,
                extra=~one.told,
            )
        )
    return jax.tree.map(lambda *arrays: jax.device_put(np.stack(arrays)), *every)


def filled(
    x: np.ndarray,
    at: Points,
    objectives: np.ndarray,
    constraints: np.ndarray,
    size: int,
    dtype: Any,
    *,
    extra: np.ndarray | None = None,
) -> State:
    """The state after n rows, made on the host: it sorts them, where `State.add` compares all pairs.

    Args:
        x: (n, d) native values.
        at: the same on the kernel axes.
        objectives: (n, m).
        constraints: (n, c).
        size: the capacity, at least n.
        dtype: of the floats.
        extra: (n,) rows that speak of constraints alone; none by default.

    Returns:
        A state of NumPy arrays.
    """
    n = len(x)

    def padded(values: Any, fill: Any) -> Any:
        values = np.asarray(values)
        own = values.dtype if values.dtype.kind in "bi" else dtype
        out = np.full((size, *values.shape[1:]), fill, own)
        out[:n] = values
        return out

    told = np.asarray(np.asarray(at.valid).all(axis=-1) & ~np.isnan(objectives).any(axis=-1))
    feasible = np.asarray(told & (constraints <= 0).all(axis=-1))
    unit = padded(at.unit, np.inf)
    fields: dict[str, Any] = {
        "x": padded(x, np.nan),
        "points": Points(*(padded(getattr(at, name), fill) for name, fill in _FILLS.items())),
        "objectives": padded(objectives, np.nan),
        "constraints": padded(constraints, np.nan),
        "extra": padded(np.zeros(n, bool) if extra is None else extra, False),
        "before": padded(_before(objectives[:, 0], told), 0),
        "feasible_before": padded(_before(objectives[:, 0], feasible), 0),
        "repeated": padded(_repeated(np.asarray(x, dtype), np.asarray(objectives, dtype), told), False),
        "order": np.argsort(unit, axis=0, kind="stable").T.astype(np.int32),
        "count": np.int32(n),
        "overflow": np.bool_(False),
    }
    return State(**fields)


def _before(loss: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """How many rows that count come before each by loss, earlier ones first among equals; 0 for NaN."""
    order = np.argsort(loss, kind="stable")
    out = np.zeros(len(loss), np.int32)
    out[order] = np.cumsum(counted[order]) - counted[order]
    return np.where(np.isnan(loss), 0, out).astype(np.int32)


def _repeated(x: np.ndarray, objectives: np.ndarray, told: np.ndarray) -> np.ndarray:
    """See `State`."""
    out = np.zeros(len(x), bool)
    if objectives.shape[1] > 1 and told.any():
        both = np.concatenate([np.isnan(x), np.nan_to_num(x), objectives], axis=1)[told]
        first = np.unique(both, axis=0, return_index=True)[1]
        out[np.delete(np.flatnonzero(told), first)] = True
    return out
