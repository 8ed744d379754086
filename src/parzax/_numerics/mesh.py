"""Arrays on a mesh with Explicit axes: XLA chooses the shardings within a function, as with Auto axes."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax
from jax.sharding import AxisType, NamedSharding, PartitionSpec, auto_axes

P = ParamSpec("P")
R = TypeVar("R")


def explicit_mesh(*trees: Any) -> Any:
    """The mesh with Explicit axes of an array in the trees, even if `jax.vmap` hides the sharded axis."""
    for leaf in jax.tree.leaves(trees):
        if isinstance(leaf, jax.Array):
            mesh = jax.typeof(leaf).sharding.mesh
            if AxisType.Explicit in mesh.axis_types:
                return mesh
    return None


def with_auto_axes(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, compiled as on Auto axes if an argument lies on a mesh with Explicit axes."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        mesh = explicit_mesh(args, kwargs)
        if mesh is None:
            return function(*args, **kwargs)
        arrays, rest = eqx.partition((args, kwargs), eqx.is_array)
        static: Any = None

        def run(arrays: Any) -> Any:
            nonlocal static
            args, kwargs = eqx.combine(arrays, rest)
            results, static = eqx.partition(function(*args, **kwargs), eqx.is_array)
            return results

        results = auto_axes(run, axes=mesh.explicit_axes, out_sharding=NamedSharding(mesh, PartitionSpec()))(arrays)
        return eqx.combine(results, static)

    return call
