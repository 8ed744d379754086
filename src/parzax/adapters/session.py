"""Ask and tell for adapters to other libraries: native rows in and out, few compiled programs."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer, PRNGKeyArray, UInt32

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import capacity
from parzax._words import plural
from parzax.lens._programs import keep_programs
from parzax.samplers import Sampler, State
from parzax.samplers.sampler import warn_of_unseen
from parzax.samplers.suggestion import suggest_points
from parzax.space import Domain, Float, Int, Points, Space
from parzax.split.state import violations

# Smallest capacity of a state. A smaller one would save some tenths of a millisecond, but need one more
# compilation.
_LEAST_CAPACITY = 1024
# Stepped domains with more values than this are treated as continua: float32 could not tell them apart.
MOST_STEPS = 2**16
# Losses are clipped here, so that float32 holds them and their differences.
_LARGEST = 1e38
_lock = threading.Lock()
_STATE = jax.tree.structure(State.empty(1, 1, 1, 1, np.float32))


class Row(NamedTuple):
    """One evaluation.

    Attributes:
        x: (d,) native values, NaN where inactive, categories as codes. A value outside its domain counts as
            the nearest value inside. A value of an inactive parameter is ignored.
        losses: m losses; with one objective, any key by which rows can be sorted, such as a pair. None for a
            pending or failed row, which counts as above the split.
        constraints: c values, satisfied where <= 0; NaN where not measured.
    """

    x: Sequence[float] | np.ndarray
    losses: tuple[Any, ...] | None
    constraints: tuple[float, ...] = ()


class Session:
    """The rows of a growing log, and a sampler's suggestions from them.

    The host converts rows to points in float64, and a single objective to its order, before it sends them to
    the device; so float32 loses no difference between values or losses. A suggestion is one call of a
    compiled program. The program adds the new rows to the sampler's state, adds the pending rows to a copy
    of the state, and asks. It is compiled for 1024 rows, 4096 rows and then each doubling, and is shared by
    all sessions whose spaces differ only in names and bounds.

    A row without the value of an active parameter is ignored.

    Args:
        sampler: `parzax.tpe` or another; its directions are ignored, since rows hold losses.

    >>> import parzax as px
    >>> session = px.adapters.Session(px.tpe(px.Space({"x": px.Float(-1, 1)})))
    >>> for i in range(20):
    ...     x = session.ask(i)
    ...     session.tell([px.adapters.Row(x, (abs(x[0]),))])
    >>> session.n_told
    20
    """

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self._space = smoothed(sampler.space)
        self._frame = self._space.frame()
        self._widths = sampler.n_objectives, sampler.n_constraints
        self._rows: list[Row] = []
        self._labels = Labels()
        # The leaves of the state after the first `_n_added` rows; passing leaves is faster than a module.
        self._leaves: list[Any] = []
        self._size = self._n_added = self._n_usable = 0
        self._compiled: set[tuple[int, bool]] = set()
        # A sampler may hold fitted densities, so every `ask` computes in the precision that is set now.
        self._dtype = jax.dtypes.canonicalize_dtype(np.float64)
        basis = sampler.smoothing.basis(_without_bounds(self._space, self._dtype), self._dtype)
        self._model = split_model((sampler.without_space(), basis), self._dtype)

    @property
    def n_told(self) -> int:
        """Number of rows."""
        return len(self._rows)

    def tell(self, rows: Iterable[Row]) -> None:
        """Add rows that are final.

        ValueError for a row whose number of constraints differs from the sampler's, or, with several
        objectives, whose number of losses does. UserWarning for constraints that a sampler without
        constraints ignores.
        """
        self._rows += self._checked(rows)

    def ask(self, *numbers: int, key: PRNGKeyArray | None = None, pending: Sequence[Row] = ()) -> np.ndarray:
        """Make one suggestion: (d,) native values, NaN where inactive.

        Args:
            *numbers: integers folded into the key, such as the number of the suggestion.
            key: random key; ``jax.random.key(0)`` by default.
            pending: rows that count in this call only; checked like the rows of `tell`.
        """
        pending = self._checked(pending)
        with jax.enable_x64(self._dtype == np.float64):
            needed = len(self._rows) + len(pending)
            if needed > self._size or not self._size:
                self._start(max(_LEAST_CAPACITY, capacity(needed)))
            added = [*self._rows[self._n_added :], *pending]
            losses = (row.losses for row in added if row.losses is not None)
            if self._widths[0] == 1 and self._labels.add(losses):
                # The labels of the rows in the state have changed.
                self._start(self._size)
                added = [*self._rows, *pending]
            folded = np.array([number % 2**32 for number in numbers], np.uint32)
            rows = self._padded(added, len(pending))
            starting = self._n_usable + rows[1][1] < self.sampler.start.n_startup
            # A program is needed for each size of the state, while it is starting and later.
            needed = self._size, bool(starting)
            with nullcontext() if needed in self._compiled else _compiling():
                leaves, at = advance(self._model, self._leaves, *rows, key, folded, bool(starting))
            self._compiled.add(needed)
            _checks.on_host("the suggestion", at)
            self._leaves, self._n_added = leaves, len(self._rows)
            self._n_usable += rows[1][0]
            # Native values are computed in float64.
            at = jax.tree.map(lambda a: np.asarray(a, np.float64 if a.dtype.kind == "f" else None), at)
            x = self._frame.decode(at)
            if self._space is not self.sampler.space:
                frame = self.sampler.space.frame()
                x = frame.decode(frame.nearest(x))
            return x[0]

    def _checked(self, rows: Iterable[Row]) -> list[Row]:
        """The rows, if they have as many numbers as the sampler."""
        (m, c), rows = self._widths, list(rows)
        for row in rows:
            several = row.losses if m > 1 else None
            if (several is not None and len(several) != m) or (c and len(row.constraints) != c):
                wanted = f"{plural(m, 'objective')} and {plural(c, 'constraint')}"
                raise ValueError(f"the sampler has {wanted}, but a row has other numbers: {row!r}.")
        if not c and (unseen := max((len(row.constraints) for row in rows), default=0)):
            warn_of_unseen("a row has", unseen)
        return rows

    def _start(self, size: int) -> None:
        """Begin with an empty state."""
        self._size, self._n_added, self._n_usable = size, 0, 0
        self._leaves = jax.tree.leaves(State.empty(len(self._space), *self._widths, size, self._dtype))

    def _padded(self, rows: Sequence[Row], n_pending: int) -> tuple[tuple[Any, ...], np.ndarray]:
        """The rows as arguments of `advance`, padded to the state's capacity, and their counts."""
        n, (m, c) = len(rows), self._widths
        x = np.array([row.x for row in rows], np.float64).reshape(n, len(self._space))
        at = self._frame.nearest(x)
        losses = np.array([self._losses(row) for row in rows]).reshape(n, m)
        constraints = np.array([row.constraints if c else () for row in rows], np.float64).reshape(n, c)
        complete = at.valid.all(axis=-1)
        counts = np.array([complete[: n - n_pending].sum(), complete.sum()], np.int32)

        def pad(a: np.ndarray) -> np.ndarray:
            padded = np.zeros((self._size, a.shape[1]), self._dtype if a.dtype.kind == "f" else a.dtype)
            with np.errstate(over="ignore"):
                padded[: counts[1]] = a[complete]
            return padded

        return jax.tree.map(pad, (x, at, losses, violations(constraints, self._dtype))), counts

    def _losses(self, row: Row) -> Sequence[float] | np.ndarray:
        """The m losses of a row, as numbers that the device represents exactly."""
        if row.losses is None:
            return [np.nan] * self._widths[0]
        if self._widths[0] == 1:
            return [self._labels.label(row.losses)]
        return np.clip(row.losses, -_LARGEST, _LARGEST)


def prepare(sampler: Sampler, n_numbers: int) -> None:
    """Compile, in another thread, the program of a session's first `ask` with ``n_numbers`` and no key.

    If this `ask` comes earlier, it waits for the compilation; if the compilation fails, it raises the error.
    """
    session = Session(sampler)

    def compile_program() -> None:
        with suppress(Exception):
            session.ask(*range(n_numbers))

    with suppress(RuntimeError):  # no further thread can be started
        threading.Thread(target=compile_program, name="parzax compiles").start()


@contextmanager
def _compiling() -> Iterator[None]:
    """Compile and keep a program; whoever needs the program that another thread compiles waits for it."""
    with _lock, keep_programs():
        yield


# In a study of normal length a faster program would not save the time of its longer compilation.
@compiled(size="middling")
def advance(
    model: tuple[Any, list[Any]],
    leaves: list[Any],
    rows: tuple[Any, ...],
    counts: Integer[Any, "2"],
    key: PRNGKeyArray | None,
    numbers: UInt32[Any, " k"],
    starting: bool,
) -> tuple[list[Any], Points]:
    """Add rows to a state, and make a suggestion.

    Args:
        model: a sampler without its space, and a basis, see `split_model`.
        leaves: the leaves of the state.
        rows: native values (n, d), their points, losses (n, m) and constraints (n, c).
        counts: number of rows that stay in the state, and number of rows that count in this call.
        key: random key; ``jax.random.key(0)`` if it is None, so that the host need not make one.
        numbers: integers that are folded into the key.
        starting: whether fewer than ``n_startup`` rows count.

    Returns:
        The leaves of the state with the rows that stay, and the suggestion.
    """
    structure, model_leaves = model
    sampler, basis = structure.unflatten(model_leaves)
    state = jax.tree.unflatten(_STATE, leaves)

    def add(i: Array, state: State) -> State:
        row = jax.tree.map(lambda a: jax.lax.dynamic_slice_in_dim(a, i, 1), rows)
        return state.add(*row, constraint_only=jnp.zeros(1, bool))

    def add_up_to(carry: tuple[Array, State], end: Array) -> tuple[tuple[Array, State], State]:
        start, state = carry
        state = jax.lax.fori_loop(start, end, add, state)
        return (end, state), state

    # The rows that stay, then the pending ones: in a scan, so that `add` is compiled once.
    (_, with_pending), states = jax.lax.scan(add_up_to, (jnp.int32(0), state), counts)
    key = reduce(jax.random.fold_in, numbers, jax.random.key(0) if key is None else key)
    suggestion = suggest_points(sampler, basis, key, with_pending, starting=starting)
    return jax.tree.leaves(jax.tree.map(lambda a: a[0], states)), suggestion


def split_model(model: Any, dtype: Any) -> tuple[Any, list[Any]]:
    """The structure of a model, and its leaves as arrays on the device, with floats in ``dtype``."""
    leaves, structure = jax.tree.flatten(model)
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, (jax.Array, np.ndarray)):
            leaves[i] = jax.device_put(
                leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf
            )
    return structure, leaves


def smoothed(space: Space, most: int = MOST_STEPS) -> Space:
    """The space with stepped parameters of more than ``most`` values replaced by `Float` ones.

    They are half a step longer at both ends, so a value stands for the places nearest to it. Parents of other
    parameters are not changed.
    """

    def smooth(_: str, domain: Domain, is_parent: bool) -> Domain:
        if not isinstance(domain, (Float, Int)) or is_parent or (domain.n_values or 0) <= most:
            return domain
        half = (domain.step or 0) / 2
        return Float(domain.low - half, domain.high + half, log=domain.log, when=domain.when)

    return _mapped(space, smooth)


def _without_bounds(space: Space, dtype: Any) -> Space:
    """A space with the same points, in which only parents keep their bounds and log axes."""

    def normalise(name: str, domain: Domain, is_parent: bool) -> Domain:
        if domain.axis.discrete:
            return domain
        if not is_parent:
            return Float(0, 1, when=domain.when)
        Space({name: replace(domain, when=())}).check_dtype(dtype, native=True, arrays=False)
        return domain

    return _mapped(space, normalise)


def _mapped(space: Space, function: Callable[[str, Domain, bool], Domain]) -> Space:
    """The space with each domain replaced by function(name, domain, is_parent); itself if nothing changes."""
    parents = {parent for name in space.names for parent in space.parents(name)}
    domains = {name: tuple(function(name, d, name in parents) for d in space[name]) for name in space}
    return space if tuple(domains.values()) == space.domains else Space(domains)


# Smallest distance of two labels. Near 0 float32 has smaller numbers, but devices may round them to 0.
_LEAST_GAP = 2.0**-20


class Labels:
    """A label for every key, ascending with the keys; equal keys have equal labels.

    A sampler of one objective uses only the order of the losses. So losses in float64, or pairs such as
    Optuna's order of pruned trials, are sent to the device as labels, which float32 represents exactly: the
    losses 10^6 + 10^-3 and 10^6 have different labels. A new key gets a label halfway between its neighbours'
    labels; if no room is left, all labels are spread anew.
    """

    def __init__(self) -> None:
        self._keys: list[Any] = []
        self._labels: list[float] = []

    def add(self, keys: Iterable[Any]) -> bool:
        """Label new keys; return whether the labels of old keys changed."""
        crowded = False
        for key in keys:
            place = bisect_left(self._keys, key)
            if self._keys[place : place + 1] == [key]:
                continue
            if 0 < place < len(self._keys):
                below, above = self._labels[place - 1 : place + 1]
                label = float(np.float32((below + above) / 2))
                crowded |= not below < label < above or above - below < _LEAST_GAP
            else:  # the key is smaller or larger than all others, or the first of all
                label = self._labels[-1] + 1 if place else self._labels[0] - 1 if self._labels else 0.0
            self._keys.insert(place, key)
            self._labels.insert(place, label)
        if crowded:
            self._labels = [float(place) for place in range(len(self._keys))]
        return crowded

    def label(self, key: Any) -> float:
        """The label of a key that was added."""
        return self._labels[bisect_left(self._keys, key)]
