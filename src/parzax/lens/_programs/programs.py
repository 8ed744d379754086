"""`CachedJit`: a function that is compiled once per kind of arguments, in this or in an earlier process."""

import threading
import weakref
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, update_wrapper
from operator import attrgetter
from typing import Any, Generic, NamedTuple, ParamSpec, TypeAlias, TypeVar, overload

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import get_abstract_mesh

from parzax._mesh import with_auto_axes
from parzax.lens._programs import disk, effort

try:
    from jax.extend.core import get_opaque_trace_state
except ImportError:  # for JAX 0.8
    from jax.core import get_opaque_trace_state  # pyright: ignore

P = ParamSpec("P")
R = TypeVar("R")
_Size: TypeAlias = str | Callable[..., str]
_Weight: TypeAlias = float | Callable[..., float]
# JAX settings that a trace depends on, in addition to the arguments.
_settings = attrgetter(
    "jax_enable_x64", "jax_default_matmul_precision", "jax_numpy_dtype_promotion", "jax_numpy_rank_promotion",
    "jax_default_prng_impl", "jax_threefry_partitionable", "jax_default_device", "jax_random_seed_offset",
    "jax_softmax_custom_jvp", "jax_use_shardy_partitioner",
)  # fmt: skip
_every: "weakref.WeakSet[CachedJit[..., Any]]" = weakref.WeakSet()
# Programs of this process so far: "compiled" here, or "read" from disk.
origins: Counter[str] = Counter()


class CachedJit(Generic[P, R]):
    """``function``, compiled once for each combination of structure, shapes and static arguments.

    JAX and NumPy arrays are data. Everything else is static and must be hashable, as in
    `equinox.filter_jit`. In four cases `equinox.filter_jit` is used instead: inside another program, under
    ``jax.disable_jit``, with JAX's NaN checks, and for arrays that were placed on a device. The function must
    be pure. It may return arrays and picklable values.

    Args:
        function: the function to compile.
        size: size of the work if XLA's count would be wrong, for example "large" if most of the work is
            in loops; see `parzax.lens._programs.effort`. This and the following may be functions of the arguments
            that use only shapes and static parts, because the executable serves all values.
        weight: weight of the work, above 1 if full optimisation gains more than usual.
        library: fraction of the operations in matrix products, which no option makes faster.
    """

    def __init__(
        self, function: Callable[P, R], *, size: _Size = "auto", weight: _Weight = 1.0, library: _Weight = 0.0
    ) -> None:
        update_wrapper(self, function)
        self.__wrapped__ = with_auto_axes(function)
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._size, self._weights = size, (weight, library)
        self._inlined = eqx.filter_jit(self.__wrapped__)
        self._executables: dict[Hashable, Future[Callable[[list[Any]], R]]] = {}
        self._lock = threading.Lock()
        _every.add(self)

    @property
    def n_compiled(self) -> int:
        """Number of executables in memory."""
        return len(self._executables)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        kind = _Kind.of((args, kwargs))
        return self._inlined(*args, **kwargs) if kind is None else self._executable(kind)(kind.arrays)

    def prepare(self, *args: Any, **kwargs: Any) -> None:
        """Compile for these arguments without calling; arrays may be `jax.ShapeDtypeStruct`."""
        kind = _Kind.of((args, kwargs))
        if kind is not None:
            self._executable(kind)

    def clear(self) -> None:
        """Remove the executables from memory."""
        self._executables.clear()

    def _executable(self, kind: "_Kind") -> Callable[[list[Any]], R]:
        future = self._executables.get(kind.key)
        if future is not None:
            return future.result()
        mine: Future[Callable[[list[Any]], R]] = Future()
        with self._lock:
            future = self._executables.setdefault(kind.key, mine)
        if future is mine:  # otherwise another thread is compiling this program
            try:
                mine.set_result(self._load_or_compile(kind))
            except BaseException as error:
                mine.set_exception(error)
                self._executables.pop(kind.key, None)
                raise
        return future.result()

    def _load_or_compile(self, kind: "_Kind") -> Callable[[list[Any]], R]:
        entry = disk.entry(self._name, lambda: kind.skeleton, kind.context)
        stored = entry.read() if entry is not None else None
        if entry is None or stored is None:
            compiled, out = self._compile(kind)
            if entry is not None:
                entry.write(compiled, out)
            return _returning(compiled, out)
        origins["read"] += 1
        loaded, bare = _returning(*stored), kind._replace(arrays=[])

        def call(arrays: list[Any]) -> R:
            try:
                return loaded(arrays)
            except (jax.errors.JaxRuntimeError, ValueError):
                # An executable from another process may fail. It is then compiled in this process.
                entry.remove()
                future: Future[Callable[[list[Any]], R]] = Future()
                future.set_result(_returning(*self._compile(bare._replace(arrays=arrays))))
                self._executables[bare.key] = future
                return future.result()(arrays)

        return call

    def _compile(self, kind: "_Kind") -> tuple[jax.stages.Compiled, Any]:
        """The executable, which maps arrays to arrays, and the result with `_SLOT` in place of each array."""
        function: Any = self.__wrapped__
        out: Any = None

        def flat(*arrays: Any) -> list[Any]:
            nonlocal out
            args, kwargs = kind.filled(arrays)
            leaves, structure = jax.tree.flatten(function(*args, **kwargs))
            is_array = [isinstance(leaf, (jax.Array, np.ndarray, np.generic)) for leaf in leaves]
            pairs = list(zip(leaves, is_array, strict=True))
            out = jax.tree.unflatten(structure, [_SLOT if array else leaf for leaf, array in pairs])
            return [leaf for leaf, array in pairs if array]

        flat.__name__ = flat.__qualname__ = function.__name__
        lowered = jax.jit(flat).lower(*kind.arrays)
        origins["compiled"] += 1
        args, kwargs = kind.filled(kind.arrays)
        size = self._size(*args, **kwargs) if callable(self._size) else self._size
        weights = (x(*args, **kwargs) if callable(x) else x for x in self._weights)
        return effort.compiled(lowered, size, *weights), out


# Placeholder for an array among the leaves of arguments or results.
_SLOT: Any = ...


class _Kind(NamedTuple):
    """Arguments, split into arrays and the parts that determine the executable."""

    arrays: list[Any]
    key: Hashable
    context: tuple[Any, ...]
    leaves: list[Any]  # static leaves, and `_SLOT` for arrays
    structure: Any

    @classmethod
    def of(cls, tree: Any) -> "_Kind | None":
        """Split the arguments; None inside another trace, or if `jax.jit` must handle them."""
        if get_opaque_trace_state(convention="parzax") != _OUTSIDE or not get_abstract_mesh().empty:
            return None
        config: Any = jax.config
        if config.jax_disable_jit or config.jax_debug_nans or config.jax_debug_infs:
            return None
        wide = bool(config.jax_enable_x64)
        leaves, structure = jax.tree.flatten(tree)
        arrays, kinds = [], []
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, (np.ndarray, np.generic)):
                if not wide and leaf.dtype.itemsize > 4:  # JAX would convert the array to 32 bits
                    leaf = leaf.astype(jax.dtypes.canonicalize_dtype(leaf.dtype))
            elif isinstance(leaf, jax.Array):
                if isinstance(leaf, Tracer) or leaf.committed:
                    return None
            elif not isinstance(leaf, jax.ShapeDtypeStruct):
                kinds.append((type(leaf), leaf))
                continue
            arrays.append(leaf)
            kinds.append(_array_kind(leaf))
            leaves[i] = _SLOT
        context = _settings(config)
        return cls(arrays, (structure, tuple(kinds), context), context, leaves, structure)

    @property
    def skeleton(self) -> Any:
        """The arguments with `_SLOT` for arrays, and the arrays' kinds; its hash names the file on disk."""
        kinds = [(tuple(shape), str(dtype), weak) for shape, dtype, weak in map(_array_kind, self.arrays)]
        # A PyTreeDef cannot be pickled.
        trees = jax.tree_util.PyTreeDef
        static = [x.unflatten([None] * x.num_leaves) if isinstance(x, trees) else x for x in self.leaves]
        return jax.tree.unflatten(self.structure, static), kinds

    def filled(self, arrays: Any) -> Any:
        """The arguments with the given arrays in the slots."""
        return _filled(self.leaves, self.structure, arrays)


def _array_kind(array: Any) -> tuple[Any, Any, bool]:
    return array.shape, array.dtype, bool(getattr(array, "weak_type", False))


def _filled(leaves: list[Any], structure: Any, arrays: Any) -> Any:
    """The tree of the leaves, with the given arrays in the slots."""
    rest = iter(arrays)
    return jax.tree.unflatten(structure, [next(rest) if leaf is _SLOT else leaf for leaf in leaves])


def _returning(compiled: Callable[..., Any], out: Any) -> Callable[[list[Any]], Any]:
    """A function that calls the executable and puts its arrays into the slots of the result."""
    leaves, structure = jax.tree.flatten(out)
    return lambda arrays: _filled(leaves, structure, compiled(*arrays))


@overload
def program(function: Callable[P, R]) -> CachedJit[P, R]: ...
@overload
def program(
    *, size: _Size = ..., weight: _Weight = ..., library: _Weight = ...
) -> Callable[[Callable[P, R]], CachedJit[P, R]]: ...
def program(function: Any = None, **settings: Any) -> Any:
    """Decorator that turns a function into a `CachedJit`."""
    return CachedJit(function, **settings) if function else partial(CachedJit, **settings)


def clear() -> None:
    """Remove all programs from memory; `jax.clear_caches` does not remove them."""
    for one in list(_every):
        one.clear()


# Trace state outside of any trace. It is read in a new thread, because this thread may be tracing now.
with ThreadPoolExecutor(1) as _pool:
    _OUTSIDE = _pool.submit(get_opaque_trace_state, convention="parzax").result()
