"""States of source tasks: their rows on the device, padded to a common capacity."""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from parzax.observations import capacity
from parzax.parzen.points import POINT_FIELDS, Points, on_device
from parzax.samplers.source_rows import SourceRows
from parzax.samplers.state import State

if TYPE_CHECKING:
    from parzax.samplers.engine import Sampler


def states(sampler: "Sampler", rows: list[SourceRows]) -> State:
    """A state per task, with a leading axis of tasks.

    A task without any constraint counts as one that satisfies all; see `lacks_constraints`.
    """
    size = capacity(max((len(one.x) for one in rows), default=1))
    dtype = jnp.result_type(float)
    empty = State.empty(sampler.space, sampler.n_objectives, sampler.n_constraints, size)

    def stacked(arrays: list[Any], fill: Any) -> Any:
        out = np.full((len(arrays), size, *arrays[0].shape[1:]), fill, arrays[0].dtype)
        for row, values in zip(out, arrays, strict=True):
            row[: len(values)] = values
        return out

    # Absent rows are in no regime and not valid.
    fills = dict(zip(POINT_FIELDS, (-1, 0.5, 0, 0.0, False), strict=True))
    fields: dict[str, Any] = {
        name: stacked([getattr(one.at, name) for one in rows], fill) for name, fill in fills.items()
    }
    extra: list[np.ndarray] = [np.asarray(np.isnan(one.objectives).any(axis=-1)) for one in rows]
    lacking = lacks_constraints(rows)
    constraints = stacked([one.constraints for one in rows], np.nan)
    constraints[lacking] = -1.0
    return _filled(
        empty,
        jnp.asarray(stacked([one.x for one in rows], np.nan), dtype),
        on_device(Points(**fields), dtype),
        jnp.asarray(stacked([one.objectives for one in rows], np.nan), dtype),
        jnp.asarray(constraints, dtype),
        jnp.asarray(stacked(extra, False)),
        jnp.asarray([len(one.x) for one in rows], jnp.int32),
    )


def lacks_constraints(rows: list[SourceRows]) -> np.ndarray:
    """(t,) which tasks have no constraint at all: they say nothing about the target's."""
    return np.array([bool(np.isnan(one.constraints).all()) for one in rows])


@eqx.filter_jit
def _filled(empty: State, *rows: Any) -> State:
    def one(row: Any) -> State:
        *arrays, n = row
        return eqx.tree_at(lambda state: state.count, empty.add_points(*arrays), n)

    return jax.lax.map(one, rows)
