"""Ask and tell on the host: native rows in and out, few compiled programs.

`minimize` and all adapters to other libraries suggest by a `Session`.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import lru_cache, partial, reduce
from itertools import compress, count
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
from jaxtyping import Array, Bool, Integer, PRNGKeyArray, UInt32

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import capacity, to_device
from parzax._words import plural
from parzax.density.basis import Basis
from parzax.lens._programs import keep_programs
from parzax.samplers import Sampler
from parzax.samplers.repeats import choose_repeats, n_until_repeat
from parzax.samplers.sampler import warn_of_unseen
from parzax.samplers.suggestion import repeats_by_itself, rows_for_groups, suggest_points
from parzax.space import Domain, Float, Int, Points, Space
from parzax.split import State
from parzax.split.state import violations

# Smallest capacity of a state. A smaller one would save some tenths of a millisecond, but need one more
# compilation.
_LEAST_CAPACITY = 1024
# Stepped domains with more values than this are treated as continua: float32 could not tell them apart.
MOST_STEPS = 2**16
# Losses are clipped here, so that float32 holds them and their differences.
_LARGEST = 1e38
# The leaves of a `State`, in their order.
_LEAVES = (
    "x", "regime", "unit", "index", "valid", "losses", "constraints", "constraint_only", "order",
    "loss_order", "first", "count", "overflow",
)  # fmt: skip
_lock = threading.Lock()


class Row(NamedTuple):
    """One evaluation.

    Attributes:
        x: (d,) native values, NaN where inactive, categories as codes. A value outside its domain counts as
            the nearest value inside. A value of an inactive parameter is ignored.
        losses: m losses; with one objective, any key by which rows can be sorted, such as a pair. None for a
            pending or failed row, which counts as above the split.
        constraints: c values, satisfied where <= 0; NaN where not measured. A pending or failed row may have
            none.
    """

    x: Sequence[float] | np.ndarray
    losses: tuple[Any, ...] | None
    constraints: tuple[float, ...] = ()


class Session:
    """The rows of a growing log, and a sampler's suggestions from them.

    The host converts rows to points in float64, and a single objective to its order, before it sends them to
    the device; so float32 loses no difference between values or losses. A suggestion is one call of a
    program, which is compiled for 1024 rows, 4096 rows and then each doubling, and is shared by all sessions
    whose spaces differ only in names and bounds.

    A row without the value of an active parameter is ignored.

    Attributes:
        sampler: `parzax.tpe` or another; its directions are ignored, since rows hold losses.
        rows: the rows that were told.

    >>> import parzax as px
    >>> session = px.adapters.Session(px.tpe(px.Space({"x": px.Float(-1, 1)})))
    >>> for i in range(20):
    ...     x = session.ask(i)
    ...     session.tell([px.adapters.Row(x, (abs(x[0]),))])
    >>> bool(abs(x[0]) < 0.5)
    True
    """

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler
        self._space = smoothed(sampler.space)
        self._frame = self._space.frame()
        self._widths = sampler.n_objectives, sampler.n_constraints
        self.rows: list[Row] = []
        self._log = _Log(0, {}, [], {})
        self._compiled: set[tuple[int, bool, bool | None]] = set()
        # A sampler may hold fitted densities, so every `ask` computes in the precision that is set now.
        self._dtype = jax.dtypes.canonicalize_dtype(np.float64)
        basis = sampler.smoothing.basis(_without_bounds(self._space, self._dtype), self._dtype)
        # Leaves, which JAX takes in less time than modules.
        self._model = jax.tree.flatten(to_device((sampler.without_space(), basis)))

    def tell(self, rows: Iterable[Row]) -> None:
        """Add rows that are final.

        ValueError for a row whose number of constraints differs from the sampler's, or, with several
        objectives, whose number of losses does. UserWarning for constraints that a sampler without
        constraints ignores.
        """
        self.rows += self._checked(rows)

    def ask(self, *numbers: int, key: PRNGKeyArray | None = None, pending: Iterable[Row] = ()) -> np.ndarray:
        """Make one suggestion: (d,) native values, NaN where inactive.

        Args:
            *numbers: integers folded into the key, such as the number of the suggestion.
            key: random key; ``jax.random.key(0)`` by default.
            pending: rows that count in this call only; checked like the rows of `tell`.
        """
        pending = self._checked(pending)
        with jax.enable_x64(self._dtype == np.float64):
            self._log = self._read(self._log, self.rows[self._log.n_read :])
            log = self._read(self._log, pending)
            state = self._state(log)
            folded = np.array([number % 2**32 for number in numbers], np.uint32)
            # A program is needed for each size of the state, while it is starting and later, and for noise.
            starting = len(log.losses) < self.sampler.start.n_startup
            differs = None if starting or log.differs else False
            due = differs is False and self.sampler.proposal.repeats is None
            due = due and n_until_repeat(len(log.losses)) == 0
            at, (again, row) = None, repeat(self._model, state) if due else (np.False_, None)
            if not again:
                program = len(state[0]), starting, differs
                with nullcontext() if program in self._compiled else _compiling():
                    at, again, row = suggest(self._model, state, key, folded, starting, differs)
                self._compiled.add(program)
                _checks.on_host("the suggestion", at)
            is_repeat = bool(np.asarray(again))
            if at is None or is_repeat:
                x = log.columns["x"][np.asarray(row)]
            else:
                # Native values are computed in float64.
                at = jax.tree.map(lambda a: np.asarray(a, np.float64 if a.dtype.kind == "f" else None), at)
                x = self._frame.decode(at)
            if is_repeat or self._space is not self.sampler.space:
                # A told value may lie outside its domain, and a smoothed one between the values.
                frame = self.sampler.space.frame()
                x = x if frame.encode(x).valid.all() else frame.decode(frame.nearest(x))
            return x[0]

    def _checked(self, rows: Iterable[Row]) -> list[Row]:
        """The rows, if they have as many numbers as the sampler."""
        (m, c), rows = self._widths, list(rows)
        for row in rows:
            losses, excess = row.losses or (), row.constraints
            # A pending or failed row may have no numbers.
            if (losses and m > 1 and len(losses) != m) or (c and (losses or excess) and len(excess) != c):
                wanted = f"{plural(m, 'objective')} and {plural(c, 'constraint')}"
                raise ValueError(f"the sampler has {wanted}, but a row has other numbers: {row!r}.")
        if not c and (unseen := max([len(row.constraints) for row in rows], default=0)):
            warn_of_unseen("a row has", unseen)
        return rows

    def _read(self, log: "_Log", rows: Sequence[Row]) -> "_Log":
        """The log with more rows, without those that lack an active parameter."""
        if not rows and log.columns:
            return log
        c, n_read, first_of = self._widths[1], log.n_read + len(rows), dict(log.first_of)
        x = np.array([row.x for row in rows], np.float64).reshape(len(rows), len(self._space))
        at = self._frame.nearest(x)
        complete = at.valid.all(axis=-1)
        x, at, rows = x[complete], at[complete], list(compress(rows, complete))
        # Rows are equal if their bytes are; adding 0 turns -0 into 0.
        values = map(np.ndarray.tobytes, x.astype(self._dtype) + 0)
        first = [first_of.setdefault(value, i) for i, value in enumerate(values, len(log.losses))]
        excess = [row.constraints[:c] or (np.nan,) * c for row in rows]
        columns = {
            "x": x, "regime": at.regime, "unit": at.unit, "index": at.index, "valid": at.valid,
            "constraints": violations(np.array(excess, np.float64).reshape(len(rows), c), self._dtype),
            "first": np.array(first, np.int32),
        }  # fmt: skip
        if log.columns:
            columns = {name: np.concatenate([log.columns[name], added]) for name, added in columns.items()}
        return _Log(n_read, columns, log.losses + [row.losses for row in rows], first_of)

    def _state(self, log: "_Log") -> list[np.ndarray]:
        """The leaves of a `State` with the rows of a log: NumPy arrays, padded to a capacity."""
        n, (m, c) = len(log.losses), self._widths
        empty = _empty_leaves(len(self._space), m, c, max(_LEAST_CAPACITY, capacity(n)), self._dtype)
        state: dict[str, np.ndarray] = dict(zip(_LEAVES, map(np.copy, empty), strict=True))
        losses = np.array(self._losses(log), np.float64).reshape(n, m)
        with np.errstate(over="ignore"):
            for name, values in {**log.columns, "losses": losses}.items():
                state[name][:n] = values
        for order, keys in (("order", "unit"), ("loss_order", "losses")):
            state[order][:, :n] = np.argsort(state[keys][:n], axis=0, kind="stable").T
        state["count"][...] = n
        return list(state.values())

    def _losses(self, log: "_Log") -> Any:
        """The m losses of each row, as numbers that the device represents exactly.

        A sampler of one objective uses only the order of the losses. So losses in float64, or pairs such as
        Optuna's order of pruned trials, are replaced by ranks; unless evaluations of one configuration
        differ, because their means are used then.
        """
        keys = log.losses
        if self._widths[0] > 1:
            missing = (np.nan,) * self._widths[0]
            return [missing if key is None else np.clip(key, -_LARGEST, _LARGEST) for key in keys]
        ranks = dict(zip(sorted({*keys} - {None}), count()))
        if not log.differs:
            return np.array(list(map(ranks.get, keys)), np.float64)
        numbers = np.array([np.nan if key is None else key[0] for key in keys], np.float64)
        numbers = np.clip(numbers, -_LARGEST, _LARGEST)
        return numbers - np.nanmin(numbers)


class _Log(NamedTuple):
    """The complete rows of a session, as columns that grow.

    Attributes:
        n_read: number of rows that were read, complete or not.
        columns: leaves of a `State` by name, without padding and before rounding.
        losses: of each row, as in `Row`.
        first_of: index of the first row with these values, by the bytes of the values.
    """

    n_read: int
    columns: dict[str, np.ndarray]
    losses: list[Any]
    first_of: dict[bytes, int]

    @property
    def differs(self) -> bool:
        """Whether a row has another loss than the first row with its values."""
        first = self.columns["first"].tolist()
        pairs = ((self.losses[i], self.losses[k]) for i, k in enumerate(first) if k < i)
        return any(loss is not None and loss != before for loss, before in pairs)


# Made once, because copies take a fifth of the time.
@lru_cache(maxsize=64)
def _empty_leaves(*sizes: Any) -> list[np.ndarray]:
    return jax.tree.leaves(State.empty(*sizes))


def prepare(session: Session, n_numbers: int) -> None:
    """Compile, in another thread, the program of a first `ask` with ``n_numbers`` and no key.

    If this `ask` comes earlier, it waits for the compilation; if the compilation fails, it raises the error.
    """

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


Suggested: TypeAlias = tuple[Points, Bool[Array, "1"], Integer[Array, "1"]]


# In a study of normal length a faster program would not save the time of its longer compilation.
@partial(compiled, size="middling")
def suggest(
    model: tuple[list[Any], Any],
    state: list[Any],
    key: PRNGKeyArray | None,
    numbers: UInt32[Any, " k"],
    starting: bool,
    differs: bool | None,
) -> Suggested:
    """A suggestion of a model (a sampler without its space, and a basis) from a state.

    Also whether a row should be evaluated again instead, and which one. The model is given by its leaves and
    its structure, the state by its leaves.

    The ``numbers`` are folded into the key, which is ``jax.random.key(0)`` if it is None, so that the host
    need not make one. ``starting`` says whether the state has fewer than ``n_startup`` rows; ``differs`` is
    that of `parzax.samplers.suggestion.suggest`.
    """
    key = reduce(jax.random.fold_in, numbers, jax.random.key(0) if key is None else key)
    sampler, basis, rows = _unflattened(model, state)
    groups = rows_for_groups(sampler, rows, starting, differs)
    at = suggest_points(sampler, basis, key, rows, starting=starting, groups=groups)
    by_itself = differs is not False and repeats_by_itself(sampler, rows, starting)
    find_allowed = partial(basis.frame.allowed, rows.points, rows.x)
    return at, *choose_repeats(rows, False, 1, find_allowed, by_itself, groups[1])


@compiled
def repeat(model: tuple[list[Any], Any], state: list[Any]) -> tuple[Bool[Array, "1"], Integer[Array, "1"]]:
    """Whether a row should be evaluated again while no evaluations differ, and which one."""
    _, basis, rows = _unflattened(model, state)
    return choose_repeats(rows, False, 1, partial(basis.frame.allowed, rows.points, rows.x), True, False)


def _unflattened(model: tuple[list[Any], Any], state: list[Any]) -> tuple[Sampler, Basis, State]:
    (leaves, structure), like = model, jax.tree.structure(State.empty(1, 1, 0, 1, float))
    return *jax.tree.unflatten(structure, leaves), jax.tree.unflatten(like, state)


def smoothed(space: Space, most: int = MOST_STEPS) -> Space:
    """The space with stepped parameters of more than ``most`` values replaced by `Float` ones.

    They are half a step longer at both ends, so a value stands for the places nearest to it. Parents of other
    parameters are not changed, nor spaces with rules.
    """

    def smooth(_: str, domain: Domain, is_parent: bool) -> Domain:
        if not isinstance(domain, (Float, Int)) or is_parent or (domain.n_values or 0) <= most:
            return domain
        half = (domain.step or 0) / 2
        ends, kind = (domain.low - half, domain.high + half), {"log": domain.log, "periodic": domain.periodic}
        return Float(*ends, **kind, when=domain.when)

    return _mapped(space, smooth)


def _without_bounds(space: Space, dtype: Any) -> Space:
    """A space with the same points, in which only parents keep their bounds and log axes."""

    def normalise(name: str, domain: Domain, is_parent: bool) -> Domain:
        if domain.axis.discrete:
            return domain
        if not is_parent:
            return Float(0, 1, periodic=domain.periodic, when=domain.when)
        Space({name: replace(domain, when=())}).check_dtype(dtype, native=True, arrays=False)
        return domain

    return _mapped(space, normalise)


def _mapped(space: Space, function: Callable[[str, Domain, bool], Domain]) -> Space:
    """The space with each domain replaced by function(name, domain, is_parent); itself if nothing changes.

    A space with rules does not change, because they are about native values.
    """
    if space.valid:
        return space
    parents = {parent for name in space.names for parent in space.parents(name)}
    domains = {name: tuple(function(name, d, name in parents) for d in space[name]) for name in space}
    return space if tuple(domains.values()) == space.domains else Space(domains)
