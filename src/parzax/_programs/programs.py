"""A function that is compiled once for each kind of arguments, here or in an earlier process."""

import threading
import weakref
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, NamedTuple, ParamSpec, TypeAlias, TypeVar, overload

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer
from jax.sharding import get_abstract_mesh

from parzax._programs import disk, effort

try:
    from jax.extend.core import get_opaque_trace_state
except ImportError:  # JAX 0.8
    from jax.core import get_opaque_trace_state  # pyright: ignore

P = ParamSpec("P")
R = TypeVar("R")
_Weight: TypeAlias = float | Callable[..., float]
# What is taken when a function is traced, beside its arguments.
_SETTINGS = (
    "jax_enable_x64", "jax_default_matmul_precision", "jax_numpy_dtype_promotion", "jax_numpy_rank_promotion",
    "jax_default_prng_impl", "jax_threefry_partitionable", "jax_default_device", "jax_random_seed_offset",
    "jax_softmax_custom_jvp", "jax_use_shardy_partitioner",
)  # fmt: skip
_every: "weakref.WeakSet[Program[..., Any]]" = weakref.WeakSet()


class Program(Generic[P, R]):
    """``function``, compiled for every structure, shape and static part of its arguments.

    Arrays of JAX and NumPy are data, everything else is static and must have a hash, as in
    `equinox.filter_jit`, which serves where this is part of another program, under ``jax.disable_jit``,
    with JAX's checks for NaN and for arrays that were put on a device. The function must be pure, and what
    it returns may be arrays and picklable values.

    Args:
        function: what is compiled.
        size: "large" where most of the work is in loops, or another size that XLA's count would miss; see
            `parzax._programs.effort`.
        weight: how much its work counts; above 1 where full optimisation pays more than usual. Or a
            function of the arguments, of shapes and static parts only: what is compiled serves others.
        library: share of its operations that are of products of matrices, which no option makes faster; or
            a function of the same kind.
    """

    def __init__(
        self, function: Callable[P, R], *, size: str = "auto", weight: _Weight = 1.0, library: _Weight = 0.0
    ) -> None:
        self.__wrapped__, self.__doc__ = function, function.__doc__
        self.__name__, self.__module__ = function.__name__, function.__module__
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._size, self._weight, self._library = size, weight, library
        self._inlined = eqx.filter_jit(function)
        self._known: dict[Hashable, Future[Callable[[list[Any]], R]]] = {}
        self._lock = threading.Lock()
        _every.add(self)

    @property
    def n_compiled(self) -> int:
        """For how many kinds of arguments it is in memory."""
        return len(self._known)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        kind = _Kind.of((args, kwargs))
        return self._inlined(*args, **kwargs) if kind is None else self._found(kind).result()(kind.arrays)

    def prepare(self, *args: Any, **kwargs: Any) -> None:
        """Compile for such arguments, of which the arrays may be `jax.ShapeDtypeStruct`, and return then."""
        kind = _Kind.of((args, kwargs))
        if kind is not None:
            self._found(kind).result()

    def clear(self) -> None:
        """Forget what is in memory."""
        self._known.clear()

    def _found(self, kind: "_Kind") -> "Future[Callable[[list[Any]], R]]":
        known = self._known.get(kind.key)
        if known is not None:
            return known
        mine: Future[Callable[[list[Any]], R]] = Future()
        with self._lock:
            known = self._known.setdefault(kind.key, mine)
        if known is not mine:  # another thread compiles it
            return known
        try:
            mine.set_result(self._made(kind))
        except BaseException as error:
            mine.set_exception(error)
            self._known.pop(kind.key, None)
            raise
        return mine

    def _made(self, kind: "_Kind") -> Callable[[list[Any]], R]:
        entry = disk.entry(self._name, lambda: kind.skeleton, kind.context)
        stored = entry.read() if entry is not None else None
        if entry is not None and stored is not None:
            return self._tried(kind, entry, _filled(*stored))
        compiled, out = self._compiled(kind)
        if entry is not None:
            entry.write(compiled, out)
        return _filled(compiled, out)

    def _tried(
        self, kind: "_Kind", entry: disk.Entry, loaded: Callable[[list[Any]], R]
    ) -> Callable[[list[Any]], R]:
        """What was loaded; if it fails at its first call, what is compiled instead."""
        current, untried = loaded, kind

        def call(arrays: list[Any]) -> R:
            nonlocal current, untried
            if untried is None:
                return current(arrays)
            try:
                out = current(arrays)
            except (jax.errors.JaxRuntimeError, ValueError):
                entry.remove()
                current = _filled(*self._compiled(untried))
                out = current(arrays)
            untried = None  # its arrays are no longer needed
            return out

        return call

    def _compiled(self, kind: "_Kind") -> tuple[jax.stages.Compiled, Any]:
        """The executable, from arrays to arrays, and what it returns with slots for the arrays."""
        function: Callable[..., Any] = self.__wrapped__
        out: Any = None

        def flat(*arrays: Any) -> list[Any]:
            nonlocal out
            args, kwargs = kind.filled(arrays)
            found, structure = jax.tree.flatten(function(*args, **kwargs))
            own = [isinstance(leaf, (jax.Array, np.ndarray, np.generic)) for leaf in found]
            out = jax.tree.unflatten(structure, [_SLOT if a else x for x, a in zip(found, own, strict=True)])
            return [x for x, a in zip(found, own, strict=True) if a]

        flat.__name__ = flat.__qualname__ = self.__name__
        lowered = jax.jit(flat).lower(*kind.arrays)
        args, kwargs = kind.filled(kind.arrays)
        settings = (x(*args, **kwargs) if callable(x) else x for x in (self._weight, self._library))
        return effort.compiled(lowered, self._size, *settings), out


class Slot:
    """Where an array stands in what a program takes or returns."""

    __slots__ = ()

    def __reduce__(self) -> str:
        return "_SLOT"


_SLOT = Slot()


def _is_slot(leaf: Any) -> bool:
    return leaf is _SLOT


class _Kind(NamedTuple):
    """Arguments apart into arrays and all that decides about the program."""

    arrays: list[Any]
    key: Hashable
    context: tuple[Any, ...]
    leaves: list[Any]  # static ones, and slots
    structure: Any

    @classmethod
    def of(cls, tree: Any) -> "_Kind | None":
        """None where the arguments, or what goes on around, are not for a program of its own."""
        if get_opaque_trace_state(convention="parzax") != _OUTSIDE or not get_abstract_mesh().empty:
            return None
        config: Any = jax.config
        if config.jax_disable_jit or config.jax_debug_nans or config.jax_debug_infs:
            return None
        wide = bool(config.jax_enable_x64)
        leaves, structure = jax.tree.flatten(tree)
        arrays, kinds, rest = [], [], []
        for leaf in leaves:
            if isinstance(leaf, jax.Array):
                if isinstance(leaf, Tracer) or leaf.committed:
                    return None
                weak = bool(getattr(leaf, "weak_type", False))
            elif isinstance(leaf, (np.ndarray, np.generic)):
                if not wide and leaf.dtype.itemsize > 4:  # JAX takes it in 32 bits
                    leaf = leaf.astype(jax.dtypes.canonicalize_dtype(leaf.dtype))
                weak = False
            elif isinstance(leaf, jax.ShapeDtypeStruct):
                weak = bool(leaf.weak_type)
            else:
                kinds.append((type(leaf), leaf))
                rest.append(leaf)
                continue
            arrays.append(leaf)
            kinds.append((leaf.shape, leaf.dtype, weak))
            rest.append(_SLOT)
        context = tuple(getattr(config, name) for name in _SETTINGS)
        return cls(arrays, (structure, tuple(kinds), context), context, rest, structure)

    @property
    def skeleton(self) -> Any:
        """The arguments with slots for arrays, and the kinds of these; what names the program on disk."""
        kinds = [(tuple(a.shape), str(a.dtype), bool(getattr(a, "weak_type", False))) for a in self.arrays]
        # A structure is not picklable itself.
        trees = jax.tree_util.PyTreeDef
        static = [x.unflatten([None] * x.num_leaves) if isinstance(x, trees) else x for x in self.leaves]
        return jax.tree.unflatten(self.structure, static), kinds

    def filled(self, arrays: Any) -> Any:
        """The arguments with these arrays."""
        rest = iter(arrays)
        return jax.tree.unflatten(self.structure, [next(rest) if _is_slot(x) else x for x in self.leaves])


def _filled(compiled: Callable[..., Any], out: Any) -> Callable[[list[Any]], Any]:
    """A call that puts the executable's arrays into the slots of what is returned."""
    leaves, structure = jax.tree.flatten(out, is_leaf=_is_slot)
    if all(isinstance(leaf, Slot) for leaf in leaves):
        return lambda arrays: jax.tree.unflatten(structure, compiled(*arrays))

    def call(arrays: list[Any]) -> Any:
        found = iter(compiled(*arrays))
        return jax.tree.unflatten(structure, [next(found) if _is_slot(x) else x for x in leaves])

    return call


@overload
def program(function: Callable[P, R]) -> Program[P, R]: ...
@overload
def program(
    *, size: str = ..., weight: _Weight = ..., library: _Weight = ...
) -> Callable[[Callable[P, R]], Program[P, R]]: ...
def program(function: Any = None, **settings: Any) -> Any:
    """`Program`, as a decorator."""
    return Program(function, **settings) if function else lambda own: Program(own, **settings)


def clear() -> None:
    """Forget all programs in memory; `jax.clear_caches` does not know them."""
    for one in list(_every):
        one.clear()


# The state of a thread that traces nothing, whatever this one does now.
with ThreadPoolExecutor(1) as _pool:
    _OUTSIDE = _pool.submit(get_opaque_trace_state, convention="parzax").result()
