"""`compiled`: a function under `jax.jit`, with options of XLA that suit the size of its work."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial, update_wrapper
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

import jax
import numpy as np
from jax.core import Tracer

from parzax._mesh import with_auto_axes

try:
    from jax.extend.core import get_opaque_trace_state
except ImportError:  # for JAX 0.8
    from jax.core import get_opaque_trace_state  # pyright: ignore

P = ParamSpec("P")
R = TypeVar("R")
_Size: TypeAlias = str | Callable[..., str]

# On CPUs, LLVM's optimisation and the fusion emitters take most of the compilation time. Without both, a
# program is up to ten times slower; with LLVM alone, two to three times, which is some 50 us per call of a
# small program. Splitting the code into several modules saves wall time but costs more processor time.
_ONE_MODULE = {"xla_cpu_parallel_codegen_split_count": 1}
_PLAIN = {"xla_cpu_use_fusion_emitters": False, **_ONE_MODULE}
OPTIONS: dict[str, dict[str, Any]] = {
    "small": {"xla_backend_optimization_level": 0, **_PLAIN},
    "middling": {"xla_backend_optimization_level": 1, **_PLAIN},
    "large": {"xla_backend_optimization_level": 1, **_ONE_MODULE},
}


def options_for(size: str) -> dict[str, Any]:
    """Compiler options for work of a size; none on an accelerator. Options in ``XLA_FLAGS`` are kept."""
    asked, flags = os.environ.get("PARZAX_COMPILE") or "auto", os.environ.get("XLA_FLAGS", "")
    if asked not in (*OPTIONS, "auto"):
        raise ValueError(f"PARZAX_COMPILE must be one of {', '.join((*OPTIONS, 'auto'))}, got {asked!r}.")
    options = OPTIONS[size if asked == "auto" else asked] if jax.default_backend() == "cpu" else {}
    return {name: value for name, value in options.items() if name not in flags and name not in _unknown}


class Compiled(Generic[P, R]):
    """``function``, compiled once for each combination of structure, shapes and static arguments.

    JAX and NumPy arrays are data; everything else is static and hashable. The function is pure, and may
    return arrays and other values. Within another program it becomes a part of that program.

    Args:
        function: the function to compile.
        size: "small", "middling" or "large" work; or a function of the arguments that says so from shapes and
            static parts.
    """

    def __init__(self, function: Callable[P, R], size: _Size = "small") -> None:
        update_wrapper(self, function)
        self.__wrapped__ = with_auto_axes(function)
        self.n_compiled = 0
        self._size = size
        self._jitted: dict[str | None, Any] = {}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        static, arrays = _parted((args, kwargs))
        if any(isinstance(x, Tracer) for x in arrays) or is_tracing():
            return self._jit(None)(static, *arrays)()
        size = ""
        while True:
            try:
                size = self._size(*args, **kwargs) if callable(self._size) else self._size
                # NumPy arguments are meant to be transferred, whatever `jax.transfer_guard` says.
                with jax.transfer_guard_host_to_device("allow"):
                    return self._jit(size)(static, *arrays)()
            except jax.errors.JaxRuntimeError as error:
                new = [name for name in options_for(size) if name in str(error)]
                if not new:
                    raise
                _unknown.update(new)
                del self._jitted[size]
            except Exception as error:
                # JAX's note about its frames would come after the last line of the message, the remedy.
                error.__notes__ = [note for note in getattr(error, "__notes__", []) if _FRAMES not in note]
                raise

    def _jit(self, size: str | None) -> Any:
        if size not in self._jitted:
            options = options_for(size) if size else {}

            def flat(static: Any, *arrays: Any) -> Any:
                self.n_compiled += 1
                function: Any = self.__wrapped__
                args, kwargs = _joined(static, *arrays)
                other, results = _parted(function(*args, **kwargs))
                # What of the result is no array is static in the structure of this call.
                return jax.tree_util.Partial(lambda *arrays: _joined(other, *arrays), *results)

            flat.__name__ = flat.__qualname__ = self.__wrapped__.__name__
            self._jitted[size] = jax.jit(flat, static_argnums=0, compiler_options=options or None)
        return self._jitted[size]


def compiled(function: Callable[P, R], size: _Size = "small") -> Compiled[P, R]:
    """Compile a function, see `Compiled`; as a decorator of larger work ``@partial(compiled, size=...)``."""
    return Compiled(function, size)


def is_tracing() -> bool:
    """Whether the caller is being traced, even if all arrays that it has are concrete."""
    return _trace_state() != _OUTSIDE


def _parted(tree: Any) -> tuple[Any, list[Any]]:
    """What of a tree is no array (its structure, and leaves with `_SLOT` for each array), and the arrays."""
    leaves, structure = jax.tree.flatten(tree)
    static = tuple(_SLOT if isinstance(x, _ARRAYS) else (type(x), x) for x in leaves)
    return (structure, static), [x for x in leaves if isinstance(x, _ARRAYS)]


def _joined(static: Any, *arrays: Any) -> Any:
    """The tree of `_parted`."""
    (structure, leaves), rest = static, iter(arrays)
    return jax.tree.unflatten(structure, [next(rest) if leaf is _SLOT else leaf[1] for leaf in leaves])


_ARRAYS = (jax.Array, np.ndarray, np.generic)
_FRAMES = "JAX_TRACEBACK_FILTERING"
_SLOT: Any = ...  # stands for an array among leaves
_unknown: set[str] = set()  # options that this version of XLA does not have
_trace_state = partial(get_opaque_trace_state, convention="parzax")
# The state outside of any trace is read in a new thread, because this one may be tracing now.
with ThreadPoolExecutor(1) as _pool:
    _OUTSIDE = _pool.submit(_trace_state).result()
