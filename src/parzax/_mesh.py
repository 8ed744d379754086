"""Arguments on a mesh with Explicit axes: within a function XLA chooses the shardings, as on Auto axes."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec, auto_axes, get_abstract_mesh

P = ParamSpec("P")
R = TypeVar("R")


def with_auto_axes(function: Callable[P, R]) -> Callable[P, R]:
    """``function``, for arrays on any mesh; Explicit axes are of type Auto within it.

    A dimension of a result is sharded like the dimension of an argument that has the same length. The types
    of the arguments are seen under `jax.vmap` too, which shards its own axis.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        arrays, static = eqx.partition((args, kwargs), eqx.is_array)
        # The mesh of the first array that is on a mesh with Explicit axes, or that of `jax.set_mesh`.
        meshes = (*(jax.typeof(a).sharding.mesh for a in jax.tree.leaves(arrays)), get_abstract_mesh())
        mesh = next((mesh for mesh in meshes if AxisType.Explicit in mesh.axis_types), None)
        if mesh is None:
            return function(*args, **kwargs)
        not_arrays: Any = None

        def run(arrays: Any) -> Any:
            nonlocal not_arrays
            args, kwargs = eqx.combine(arrays, static)
            results, not_arrays = eqx.partition(function(*args, **kwargs), eqx.is_array)  # pyright: ignore
            return results

        def run_with(out_sharding: Any) -> Callable[[Any], Any]:
            return auto_axes(run, axes=mesh.explicit_axes, out_sharding=out_sharding)

        everywhere: Any = NamedSharding(mesh, PartitionSpec())
        shapes = jax.eval_shape(run_with(everywhere), arrays)
        shardings = _shardings(mesh, arrays, shapes) if jax.tree.leaves(shapes) else everywhere
        return eqx.combine(run_with(shardings)(arrays), not_arrays)

    return call


def jit_on_meshes(*static: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a function by `jax.jit`, for arrays on any mesh; ``static`` names its static arguments."""
    return lambda function: jax.jit(with_auto_axes(function), static_argnames=static)


def jit_or_host(*static: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """`jit_on_meshes`; if the first argument is a NumPy array, the same lines run on the host, uncompiled."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        compiled = jit_on_meshes(*static)(function)

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if not isinstance(args[0], np.ndarray):
                return compiled(*args, **kwargs)
            with np.errstate(all="ignore"):
                return function(*args, **kwargs)

        return call

    return decorate


def _shardings(mesh: AbstractMesh, arrays: Any, shapes: Any) -> Any:
    """Shardings of results of the given shapes."""
    specs = [(array.shape, jax.typeof(array).sharding.spec) for array in jax.tree.leaves(arrays)]
    axis_of_length = {n: axis for shape, spec in specs for n, axis in zip(shape, spec, strict=False) if axis}

    def shard(result: Any) -> NamedSharding:
        axes: list[Any] = []
        for n in result.shape:
            axis = axis_of_length.get(n)
            axes.append(None if axis in axes else axis)
        return NamedSharding(mesh, PartitionSpec(*axes))

    return jax.tree.map(shard, shapes)
