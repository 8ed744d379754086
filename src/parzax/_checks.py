"""Checks on the host. They raise a ValueError or TypeError with the argument, the value and the remedy."""

import difflib
import inspect
import math
import numbers
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import partial, wraps
from importlib import import_module
from types import FrameType
from typing import Any, Literal, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from parzax._words import plural

_Function = TypeVar("_Function", bound=Callable[..., Any])
Direction = str | Enum
# Direction of a sampler: type checkers report a wrong string. `Direction` also accepts text from files.
Sense = Literal["minimize", "maximize"] | Enum


def is_traced(*trees: Any) -> bool:
    """Whether an array in the trees is traced, which means that the caller is being compiled."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(trees))


def real_number(
    name: str, value: Any, *, least: float = -np.inf, above: float = -np.inf, most: float = np.inf
) -> float:
    """Return ``value`` as a finite float, above ``above`` and within [least, most], or raise."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
        on_host(name, value)
        raise TypeError(f"{name} must be a number, got {value!r} of type {type(value).__name__}.")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    if number < least:
        raise ValueError(f"{name} must be at least {least:g}, got {value!r}.")
    if number <= above:
        raise ValueError(f"{name} must be above {above:g}, got {value!r}.")
    if number > most:
        raise ValueError(f"{name} must be at most {most:g}, got {value!r}.")
    return number


# Return a value as a float in (0, 1], or raise.
quantile = partial(real_number, above=0.0, most=1.0)


def convert_fields(settings: Any, check: Callable[..., Any], *names: str, **limits: Any) -> None:
    """Replace fields of a frozen dataclass by their checked values; errors name the class and the field."""
    for name in names:
        value = check(f"{type(settings).__name__}: {name}", getattr(settings, name), **limits)
        object.__setattr__(settings, name, value)


_Errors = type[Exception] | tuple[type[Exception], ...]


@contextmanager
def explain(problem: str, kinds: _Errors = (ValueError, TypeError)) -> Iterator[None]:
    """Turn errors of the given kinds into a ValueError whose message begins with ``problem``."""
    try:
        yield
    except kinds as error:
        text = str(error) or type(error).__name__
        text = f"key {text} is missing" if isinstance(error, KeyError) else text
        raise ValueError(f"{problem}: {text}{'' if text.endswith(('.', '?')) else '.'}") from error


def plain(value: Any) -> Any:
    """Turn a NumPy scalar or 0-d array into the Python number that it prints as; return others unchanged."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.floating):
        return float(str(value))  # 0.1 for np.float32(0.1), not 0.10000000149
    return value.item() if isinstance(value, np.generic) else value


def setting(name: str, value: Any, **limits: float) -> Any:
    """Return ``value`` by `plain` if it is a `real_number` within limits. JAX arrays are not checked."""
    value = plain(value)
    if not isinstance(value, jax.Array):
        real_number(name, value, **limits)
    return value


def flag(name: str, value: Any) -> bool:
    """Return ``value`` as a bool, or raise."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def instance(name: str, value: Any, kinds: Any, wanted: str, hint: str = "") -> Any:
    """Return ``value`` if it is an instance of ``kinds``; otherwise raise TypeError: must be ``wanted``."""
    if not isinstance(value, kinds):
        given = repr(value) if isinstance(value, str | int | float | type | None) else type(value).__name__
        raise TypeError(f"{name} must be {wanted}, got {given}{hint}.")
    return value


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``value`` as an int within [least, most], or raise."""
    value = plain(value)
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if not is_integer or value < least or (most is not None and value > most):
        if is_traced(value):
            raise TypeError(f"{name} must not be traced; give jax.jit the argument static_argnames={name!r}.")
        limits = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number {limits}, got {value!r}.")
    return int(value)


def one_of(name: str, value: Any, options: Iterable[Any]) -> Any:
    """Return ``value`` if it is one of ``options``, or raise an error that lists them."""
    options = list(options)
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}.")
    return value


# Names of arguments in other libraries, by ours.
_SYNONYMS = {
    "low": ("min", "lower", "minimum", "start", "lo"),
    "high": ("max", "upper", "maximum", "stop", "end", "hi"),
    "log": ("log_scale", "logarithmic", "prior"),
    "step": ("q", "resolution", "increment"),
    "choices": ("values", "options", "categories", "items"),
    "values": ("choices", "sequence", "items"),
    "when": ("condition", "conditions", "parent"),
    "n_evaluations": ("n", "n_trials", "max_evals"),
    "key": ("seed", "rng"),
    "keys": ("seed", "rng"),
}


def suggest(name: Any, options: Iterable[str]) -> str:
    """What was probably meant by an unknown name, or else the names that exist; the end of an error.

    >>> suggest("lr_rate", ["depth", "learning_rate"]), suggest("min", ["low", "high"]), suggest("k", ["low"])
    ("did you mean 'learning_rate'?", "did you mean 'low'?", 'it has low.')
    """
    options = list(options)
    close = [option for option in options if name in _SYNONYMS.get(option, ())]
    close += difflib.get_close_matches(str(name), options, n=1)
    return f"did you mean {close[0]!r}?" if close else f"it has {', '.join(options)}."


def known_arguments(guesses: Mapping[Any, str]) -> Callable[[_Function], _Function]:
    """Decorate a function: the error for an argument that it does not have says what was probably meant.

    Args:
        guesses: for some other arguments, what to write instead.
    """

    def decorate(function: _Function) -> _Function:
        names = [name for name in inspect.signature(function).parameters if name != "cls"]

        @wraps(function)
        def checked(*args: Any, **options: Any) -> Any:
            for name in options:
                if name not in names:
                    guess = f"use {guesses[name]}." if name in guesses else suggest(name, names)
                    raise TypeError(f"{function.__name__} has no argument {name!r}; {guess}")
            return function(*args, **options)

        return checked  # pyright: ignore[reportReturnType]

    return decorate


def directions(direction: Any, n_objectives: int | None = None) -> tuple[str, ...]:
    """Return "minimize" or "maximize" for each objective, or raise; an enum member counts by its name.

    By default there is an objective for each direction.
    """
    several = isinstance(direction, Sequence) and not isinstance(direction, str)
    n_objectives = (len(direction) or 1 if several else 1) if n_objectives is None else n_objectives
    given: Any = direction if several else [direction] * n_objectives
    names = [d.name.lower() if isinstance(getattr(d, "name", None), str) else d for d in given]
    if not several and not all(isinstance(d, str) for d in names):
        wanted = '"minimize" or "maximize", one or one per objective'
        raise TypeError(f"direction must be {wanted}, got {direction!r}.")
    if len(names) != n_objectives:
        objectives = plural(n_objectives, "objective")
        raise ValueError(f"directions: {len(names)} for {objectives}; give one, or one per objective.")
    return tuple(one_of("direction", d, ("minimize", "maximize")) for d in names)


def float_array(name: str, values: Any) -> np.ndarray:
    """A float64 copy of ``values``, NaN where masked (``numpy.ma``); TypeError if they are not numbers."""
    on_host(name, values)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array: {error}.") from error
    if array.dtype.kind not in "fiub":
        hint = (
            " Encode categories as integer codes, as Space.as_row does with a dict."
            if name in ("values", "x") or "params" in name
            else ""
        )
        raise TypeError(f"{name} must hold numbers, got dtype {array.dtype}.{hint}")
    array = np.array(array, dtype=np.float64)  # a copy, so that later changes by the caller have no effect
    if (mask := _mask(values)) is not np.ma.nomask:
        array[mask] = np.nan
    return array


def on_host(name: str, *values: Any) -> None:
    """Raise TypeError for a traced argument, or result, of a function that needs concrete values."""
    if is_traced(*values):
        raise TypeError(
            f"{name} is traced, but its values are needed: make this call outside jax.jit, jax.vmap and "
            "jax.grad. The array functions, such as parzax.encode and parzax.importance.estimate, can be "
            "called inside."
        )


def unmasked(name: str, values: Any) -> np.ndarray:
    """Return ``values`` as a NumPy array, or raise if an entry is masked."""
    on_host(name, values)
    if np.any(_mask(values)):
        raise ValueError(f"{name} has masked entries; fill them, or leave these rows out.")
    return np.asarray(values)


def real_array(name: str, values: Any) -> jax.Array:
    """Return ``values`` as an array on the device; TypeError unless they are real numbers."""
    dtype = getattr(values, "dtype", None)
    try:
        array = jnp.asarray(values)
    except (TypeError, ValueError) as error:
        kind = type(values).__name__ if dtype is None else f"an array of dtype {dtype}"
        raise TypeError(f"{name} must be numbers, got {kind}.") from error
    if not any(jnp.issubdtype(array.dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool_)):
        raise TypeError(f"{name} must hold real numbers, got dtype {dtype or array.dtype}.")
    return array


def floating_array(name: str, values: Any) -> jax.Array:
    """`real_array` in float32 or float64; numbers of other types get JAX's default float type."""
    array = real_array(name, values)
    return array if array.dtype in (jnp.float32, jnp.float64) else array.astype(jnp.result_type(float))


def floats(name: str, values: Any) -> Any:
    """`floating_array` of a JAX array or of traced numbers, `float_array` of anything else."""
    on_device = isinstance(values, jax.Array) or is_traced(values)
    return floating_array(name, values) if on_device else float_array(name, values)


def _mask(values: Any) -> Any:
    """The mask of a masked array, or of a sequence of masked arrays, which `numpy.asarray` would drop."""
    if isinstance(values, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in values):
        values = np.ma.array(values)
    return np.ma.getmask(values)


def ordered(name: str, values: Any, columns: Iterable[str]) -> Any:
    """A data frame with its columns in the order of ``columns``; return other values unchanged.

    Raises ValueError if a column is missing.
    """
    given, wanted = getattr(values, "columns", None), list(columns)
    if given is None:
        return values
    for column in wanted:
        if column not in list(given):
            remedy = "rename its columns to the space's names, or give an array."
            raise ValueError(f"{name} has no column {column!r}; {remedy}")
    return values[wanted]


def outside() -> int:
    """The ``stacklevel`` for a warning that points at the first line outside the library."""
    frame, level = sys._getframe(1), 1
    # jaxtyping checks the call of this function, so its frames may come first; JAX and Equinox trace callers
    while frame.f_back is not None and _is_in(frame, "jaxtyping"):
        frame = frame.f_back
    while frame.f_back is not None and _is_in(frame, "parzax", "jaxtyping", "jax", "equinox"):
        frame, level = frame.f_back, level + 1
    return level


def _is_in(frame: FrameType, *packages: str) -> bool:
    return frame.f_globals.get("__name__", "").split(".")[0] in packages


def optional(module: str, purpose: str, extra: str) -> Any:
    """Import an optional module, or raise ImportError with the command that installs its extra."""
    try:
        return import_module(module)
    except ImportError as error:
        remedy = f"install it with pip install 'parzax[{extra}]'"
        raise ImportError(f"{purpose} needs {module}; {remedy}.") from error


def check_key(key: Any) -> None:
    """Raise unless ``key`` is a single typed PRNG key."""
    wanted = "a typed key such as jax.random.key(0)"
    if not jnp.issubdtype(instance("key", key, jax.Array, wanted).dtype, jax.dtypes.prng_key):
        raise TypeError(f"key must be {wanted}, got an array of dtype {key.dtype}.")
    if key.shape != ():
        raise ValueError(f"key must be one key, got shape {key.shape}; use jax.vmap for a batch.")


def check_precision(name: str, made: Any, used: Any) -> None:
    """Raise unless arrays are used in the dtype that they were made in: JAX would round them silently."""
    if made != used:
        remedy = "make and use it inside jax.enable_x64(True), or both outside"
        raise ValueError(f"{name} was made in {made}, but is used in {used}; {remedy}.")


def check_shape(name: str, array: Any, *wanted: int | str, hint: str = "") -> None:
    """Raise unless ``array`` has the wanted shape.

    A letter such as "n" stands for any length, and "..." at the beginning for any axes.
    """
    shape = np.shape(array)
    compared = ("...", *shape[-1:]) if wanted[:1] == ("...",) else shape
    if len(compared) != len(wanted) or not all(map(lambda n, size: n in (size, str(n)), wanted, compared)):
        lengths = ", ".join(map(str, wanted)) + "," * (len(wanted) == 1)
        raise ValueError(f"{name} must have shape ({lengths}), got {shape}{hint}.")


def vectors(**arrays: Any) -> None:
    """Raise unless all arrays are vectors of the same length; traced arrays are checked too."""
    shapes = {name: tuple(array.shape) for name, array in arrays.items()}
    if any(len(shape) != 1 for shape in shapes.values()) or len(set(shapes.values())) > 1:
        given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        given = f"got shapes {given}; use jax.vmap for a batch"
        raise ValueError(f"{' and '.join(arrays)} must be vectors of one length, {given}.")


def agree(problem: str, there: Mapping[str, Any], here: Mapping[str, Any], remedy: str) -> None:
    """Raise ValueError with the first difference, if what a file says differs from what is needed here."""
    for name in {**there, **here}:
        if there.get(name) != here.get(name):
            difference = f"{name} is {there.get(name)} there, and {here.get(name)} here"
            raise ValueError(f"{problem}: {difference}; {remedy}.")


def find_first(bad: np.ndarray) -> tuple[Any, ...]:
    """Position of the first true entry; () if there is none."""
    return tuple(np.argwhere(bad)[0]) if bad.any() else ()


def and_more(bad: np.ndarray) -> str:
    """Say in an error message how many more rows are bad."""
    n_more = int(np.count_nonzero(bad)) - 1
    return f" (and {plural(n_more, 'more such row')})" if n_more else ""


def axis_label(index: tuple[int, ...]) -> str:
    """Name a position of a (..., n) array for an error message: "row 3" or "seed 1, row 3"."""
    *seeds, row = map(str, map(int, index))
    return f"seed {', '.join(seeds)}, row {row}" if seeds else f"row {row}"


def check_weight(weight: Any, shape: tuple[int, ...], name: str = "weight") -> np.ndarray:
    """Check the weights of rows of ``shape`` (..., n): finite and at least 0."""
    weight = float_array(name, weight)
    check_shape(name, weight, *shape)
    if where := find_first(~((weight >= 0) & (weight < np.inf))):
        entry = f"{axis_label(where)} is {float(weight[where])!r}"
        raise ValueError(f"{name}: {entry}; weights must be finite and at least 0.")
    return weight


def checked_counts(name: str, counts: Any) -> jax.Array:
    """Counts or weights as an array: integers if their dtype is and their sum fits, else floats."""
    traced = is_traced(counts)
    host = counts if traced else unmasked(name, counts)
    floating, wide = jnp.issubdtype(host.dtype, jnp.floating), host.dtype.itemsize > 4
    if not floating and host.dtype.kind not in "iub":
        raise TypeError(f"{name} must hold real numbers, got dtype {host.dtype}.")
    if traced and floating:
        return jnp.where((host >= 0) & (host < jnp.inf), host, jnp.nan)
    if traced:  # traced integers are widened first, because sums of bytes would wrap round
        return jnp.maximum(host.astype(host.dtype if wide else jnp.int32), 0)
    if (bad := ~((host >= 0) & (host < np.inf))).any():
        entry = f"entry {np.argwhere(bad)[0].tolist()} is {host[bad][0]!r}"
        raise ValueError(f"{name}: {entry}; counts are at least 0 and finite.")
    if floating:
        return counts if isinstance(counts, jax.Array) else jnp.asarray(host)
    integer = jnp.result_type(int) if wide else jnp.dtype(jnp.int32)
    fits = host.sum(dtype=np.float64) < float(jnp.iinfo(integer).max)
    return jnp.asarray(host, integer if fits else float)


def check_groups(groups: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Convert labels of groups (integers or text) to int32 numbers of ``shape`` (..., n), or raise."""
    labels = unmasked("groups", groups)
    if labels.dtype.kind == "O" and all(isinstance(label, str) for label in labels.flat):
        labels = labels.astype(str)
    check_shape("groups", labels, *shape, hint="; give one label per row")
    if labels.dtype.kind not in "biuUT":
        raise TypeError(f"groups must hold whole numbers or text, got dtype {labels.dtype}; convert it.")
    return np.unique(labels, return_inverse=True)[1].reshape(shape).astype(np.int32)


def warn_of_normalised(weight: np.ndarray | None, besides: str = "") -> None:
    """Warn if frequency weights (..., n) sum to 1; users of other packages may expect relative weights."""
    if weight is None:
        return
    if ((np.count_nonzero(weight, axis=-1) > 2) & (np.abs(weight.sum(axis=-1) - 1) < 1e-6)).any():
        warnings.warn(
            f"weight sums to 1, so all rows together count as one{besides}; multiply by the number of rows "
            "if the weights are relative.",
            UserWarning,
            stacklevel=outside(),
        )
