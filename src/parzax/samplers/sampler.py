"""`Sampler`: a sampler of the TPE family, with ask and tell.

In its arguments NumPy arrays are checked; JAX arrays stay on their device.
"""

import hashlib
import io
import json
import os
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from parzax import _checks
from parzax._atomic import write_whole
from parzax._compile import compiled, is_tracing
from parzax._numerics import capacity as capacity_of
from parzax._numerics import to_device
from parzax._words import plural
from parzax.acquisition import AbstractAcquisition
from parzax.density.basis import Basis, on_device
from parzax.density.prior import Beliefs
from parzax.density.smoothing import AbstractSmoothing
from parzax.samplers import suggestion
from parzax.samplers.candidates import AbstractStart, Proposal, RandomStart, enumerate_points
from parzax.samplers.repeats import Best, best_rows, has_differences, n_until_repeat, signed
from parzax.space import Frame, Points, Space
from parzax.space.checks import refuse_rows
from parzax.split import AbstractSplit, State
from parzax.split.state import violations


def check_confirm(name: str, sampler: "Sampler") -> None:
    """ValueError for several objectives."""
    if sampler.n_objectives > 1:
        raise ValueError(
            f"{name} is for one objective: of {sampler.n_objectives} objectives there is no single best "
            "configuration to evaluate again."
        )


class Sampler(eqx.Module):
    """A sampler, composed of a split, a smoothing, an acquisition function, a start and a proposal.

    Presets such as `parzax.tpe` return one. To compose another, replace a part, for example with a subclass
    of its abstract type (`tests/extending/` has examples). A sampler is a pytree: the numeric settings of its
    parts are leaves, which can be traced and vmapped over. Its methods can be compiled, as in
    ``jax.jit(sampler.ask)``.

    Attributes:
        space: the search space; static.
        split: rule for the rows in the groups below and above.
        smoothing: densities of these groups.
        acquisition: score of candidates, computed from the densities.
        directions: "minimize" or "maximize" for each objective; static.
        n_constraints: c; static.
        start: first suggestions.
        proposal: how candidates are proposed after the start.
        prior: the beliefs that a preset was given, as arrays; None without beliefs.
    """

    space: Space = eqx.field(static=True)
    split: AbstractSplit
    smoothing: AbstractSmoothing
    acquisition: AbstractAcquisition
    directions: tuple[str, ...] = eqx.field(static=True, default=("minimize",), converter=_checks.directions)
    n_constraints: int = eqx.field(static=True, default=0, converter=_checks.plain)
    start: AbstractStart = RandomStart()
    proposal: Proposal = Proposal()
    prior: Beliefs | None = None

    def __check_init__(self) -> None:
        """Raise for invalid settings, unless they are traced."""
        _checks.instance("space", self.space, Space | None, "a parzax.Space", "; write parzax.Space(domains)")
        kinds = {
            "split": AbstractSplit, "smoothing": AbstractSmoothing, "acquisition": AbstractAcquisition,
            "start": AbstractStart, "proposal": Proposal,
        }  # fmt: skip
        for name, kind in kinds.items():
            _checks.instance(name, getattr(self, name), kind, f"an instance of {kind.__name__}")
        _checks.whole_number("n_constraints", self.n_constraints, 0)
        if self.space is not None:
            self.space.check_bounded("samplers need bounds")
        wanted = "given to a preset, such as px.tpe(space, prior=...)"
        _checks.instance("prior", self.prior, Beliefs | None, wanted)

    def __hash__(self) -> int:
        """A hash by the identity of arrays, so that methods of any sampler can be given to `jax.jit`."""
        leaves, structure = jax.tree.flatten(self)
        return hash((structure, *(id(x) if isinstance(x, jax.Array) else x for x in leaves)))

    @property
    def n_objectives(self) -> int:
        """m, the number of objectives."""
        return len(self.directions)

    @property
    def n_candidates(self) -> int:
        """Candidates per group below."""
        default = 64 if self.n_objectives == 1 else 24
        return default if self.proposal.n_candidates is None else self.proposal.n_candidates

    def without_space(self) -> "Sampler":
        """The sampler without its space and directions, so that its compiled programs serve all spaces."""
        return replace(self, space=None, directions=("minimize",) * self.n_objectives)

    def init(self, capacity: int = 64) -> State:
        """An empty state for up to ``capacity`` rows. Outside compiled code a full state grows."""
        capacity, dtype = _checks.whole_number("capacity", capacity, 1), jnp.result_type(float)
        self.space.check_dtype(dtype, native=True, arrays=False)
        sizes = len(self.space), self.n_objectives, self.n_constraints
        return to_device(State.empty(*sizes, capacity, dtype))

    def grow(self, state: State, capacity: int) -> State:
        """The same rows in a state of this capacity; ValueError if it is below the current capacity."""
        self.check_state(state)
        capacity = _checks.whole_number("capacity", capacity, 1)
        if capacity < state.capacity:
            raise ValueError(f"capacity must be at least {state.capacity}, got {capacity}.")
        return _resized(state, capacity)

    def move(self, state: State) -> State:
        """The rows of a state that was told within other ranges, to go on after a range moved.

        Values keep their meaning: a row is where its native values are in the space of this sampler. A value
        outside counts as the nearest one inside, and the kernels are truncated to the new bounds. The two
        spaces must have the same parameters in the same order, with the same choices.
        """
        return _moved(self._basis(state).frame, state)

    def tell(self, state: State, x: Any, losses: Any, constraints: Any = None) -> State:
        """Add rows.

        Args:
            state: from `init` or `tell`.
            x: (n, d) native values, NaN where inactive.
            losses: (n, m), or (n,) for one objective: values in the sampler's ``directions``. NaN marks a
                pending or failed row, which is in the group above. Values are rounded to the state's dtype.
                Losses that float32 cannot tell apart become ties, and the earlier row wins. To avoid this,
                give ranks, or make the state inside `jax.enable_x64`.
            constraints: (n, c), or (n,) for one constraint; satisfied if <= 0. In NumPy arrays a violation
                that the dtype would round to 0 stays positive; `jax.jit` rounds its arguments before this.

        Returns:
            The new state. Outside compiled code it grows if it is full. In compiled code rows beyond the
            capacity are dropped, and ``overflow`` is set.

        Raises:
            TypeError, ValueError: arrays of another shape; and, unless traced, rows outside the space or NaN
                constraints in rows with losses. In compiled code a row outside the space is in no group,
                a row with a NaN constraint is not feasible, and `status` reports both.
        """
        return self._add(state, x, losses, constraints, False)

    def augment(self, state: State, x: Any, constraints: Any) -> State:
        """Add constraint-only rows: knowledge augmentation (c-TPE, arXiv 2211.14411).

        A row enters the split, the densities and the share of each constraint that it has a value for. It
        does not affect the objective and the other constraints.

        Args:
            state, x: as in `tell`.
            constraints: (n, c) values; NaN if not measured.

        Raises:
            TypeError, ValueError: as in `tell`; also for a sampler without constraints.
        """
        if not self.n_constraints:
            raise ValueError(
                "augment adds constraint-only rows, but this sampler has no constraints (n_constraints=0); "
                "use tell."
            )
        return self._add(state, x, None, constraints, True)

    def best(self, state: State) -> Best:
        """The best feasible configuration so far; for several objectives, the front.

        Rows with equal native values are evaluations of one configuration. A configuration counts by its mean
        losses and its mean constraint values, without pending and failed rows. It is feasible if these
        constraint values are <= 0 (NaN is not). With one objective the best configuration has the
        smallest mean + noise / sqrt(number of evaluations), where the noise is the standard deviation of an
        evaluation, pooled over configurations. So one lucky evaluation does not win against a confirmed mean
        that is nearly as good. Without repeated evaluations the best configuration is the first row with the
        smallest loss.

        The arrays have one row per row of the state, in the order of `tell`. ``best.mask`` marks the first
        evaluation of each best configuration, and the other rows are NaN. ``best.x[best.mask]`` has only the
        best configurations.
        """
        self.check_state(state)
        return best_rows(self.directions, state)

    def status(self, state: State) -> Int[Array, ""]:
        """Bits of `parzax.Status` that say what is unusual about a state.

        NO_DATA: no row was evaluated. NONE_FEASIBLE, FEW_FEASIBLE: the objective is ignored, because too few
        rows are feasible. INVALID_BANDWIDTH: a bandwidth is not positive and finite. UNMEASURED: an evaluated
        row has a NaN constraint. CAPACITY_EXCEEDED: rows were dropped. INVALID_ROWS: a row is outside the
        space. NOT_ALLOWED: ``valid`` of the space does not allow a row.
        """
        return _status(self.without_space(), self._basis(state), state)

    def ask(
        self,
        key: PRNGKeyArray,
        state: State,
        n: int = 1,
        candidates: Any = None,
        *,
        confirm: bool | Array = False,
    ) -> Float[Array, "{n} d"]:
        """Suggest configurations.

        Args:
            key: a typed PRNG key, not to be used again.
            state: the rows seen so far.
            n: number of suggestions; static. The suggestions of one call are different, if the space (or the
                pool) has n different configurations. If it has fewer, all of them are suggested.
            candidates: (j, d) pool of configurations to choose from, instead of sampled candidates. Members
                that are not valid (`parzax.Space.allows`) come last.
            confirm: whether to suggest good configurations again: a bool, or an array with one for each
                suggestion. It is for a single objective whose evaluations have noise. The choice is
                optimistic: it takes the feasible configurations with the smallest lower bounds, mean loss
                minus noise / sqrt(number of evaluations). Pending and failed evaluations count in this
                number. The noise is the standard deviation of an evaluation, pooled over configurations. New
                configurations are suggested if no feasible one is left, or if three repeats have shown no
                difference in the loss.

        Returns:
            (n, d) native values, NaN where inactive. Repeated ones are exactly as they were told.

        Raises:
            TypeError, ValueError: a key that is not a typed key, ``n`` below 1, a pool of another shape or
                with fewer than ``n`` valid members, or, unless traced, a pool with members outside the space.
                In compiled code these members come last. Also ``confirm`` with a pool or several objectives.
        """
        _checks.check_key(key)
        basis, n = self._basis(state), _checks.whole_number("n", n, 1)
        again = confirm if isinstance(confirm, jax.Array) else _checks.flag("confirm", confirm) or None
        if again is not None:
            check_confirm("confirm", self)
            if candidates is not None:
                raise ValueError("confirm suggests rows of the state again, so candidates must be None.")
        starting, dtype = is_starting(state, self.start.n_startup), state.x.dtype
        given = self.without_space(), basis, key, state, n
        if candidates is None:
            # All configurations, if suggestions must be new and the space is small enough.
            every = enumerate_points(self.space, n, dtype) if n > 1 or not self.proposal.repeats else None
            by_itself = self.proposal.repeats is None and n == 1 and again is None and starting is False
            differs = None if is_tracing() or not by_itself or may_differ(state) else False
            if differs is False and n_until_repeat(int(state.count)) == 0:
                is_repeat, x = _repeat(self.without_space(), basis, state)
                if is_repeat:
                    return x
            return _suggest(*given, every, starting, differs, again)
        x, pool = configurations("candidates", candidates, self.space, basis.frame, dtype)
        if len(pool) < n:
            raise ValueError(f"candidates must have at least n = {n} rows, got {len(pool)}.")
        if self.space.valid and not _checks.is_traced(pool):
            n_valid = int(self.space.allows(np.asarray(x)).sum())
            if n_valid < n:
                raise ValueError(f"candidates: only {n_valid} of {len(pool)} rows are valid, and n is {n}.")
        return _suggest_members(*given, x, pool, starting)

    def score_of(self, state: State, candidates: Any) -> Float[Array, "*j"]:
        """Acquisition function at (..., d) candidates, differentiable in them.

        It is -inf for candidates outside the space, or that ``valid`` of the space does not allow.
        """
        basis, candidates = self._basis(state), _checks.floats("candidates", candidates)
        shape, d = candidates.shape[:-1], len(self.space)
        _checks.check_shape("candidates", candidates, "...", d)
        if not candidates.size:
            return jnp.zeros(shape, state.x.dtype)
        rows = candidates.reshape(-1, d).astype(state.x.dtype)
        return _score(self.without_space(), basis, state, rows).reshape(shape)

    def save(self, path: str | os.PathLike[str], state: State) -> None:
        """Write a state, or several along a leading axis, to a file that `load` reads; nothing is pickled.

        The file begins with the space, the directions and the sizes, in JSON. It replaces an older one when
        it is complete.
        """
        self.check_state(state)
        _checks.on_host("state", state)
        state, content = jax.device_get(state), io.BytesIO()
        header = self._describe(), state.x.shape, str(state.x.dtype)
        content.write(json.dumps(header).encode() + b"\n")
        eqx.tree_serialise_leaves(content, state)
        write_whole(path, _seal(content.getvalue()) + b"\n" + content.getvalue())

    def load(self, path: str | os.PathLike[str]) -> State:
        """Read a state from a file of `save`.

        Raises:
            ValueError: a damaged or foreign file; the state of another space, or with other directions or
                another number of constraints than the sampler's; float64 outside `jax.enable_x64`.
            OSError: a file that cannot be read.
        """
        seal, _, content = Path(path).read_bytes().partition(b"\n")
        if seal != _seal(content):
            raise ValueError(f"{path} is no file of Sampler.save, or is damaged.")
        header, _, leaves = content.partition(b"\n")
        there, (*runs, capacity, _), dtype = json.loads(header)
        _checks.agree(f"{path} is of another sampler", there, self._describe(), "load it by one that agrees")
        sizes = len(self.space), self.n_objectives, self.n_constraints
        empty = State.empty(*sizes, capacity, dtype)
        like = jax.tree.map(lambda a: np.broadcast_to(a, (*runs, *a.shape)), empty)
        state = eqx.tree_deserialise_leaves(io.BytesIO(leaves), like)
        self.check_state(state)
        return to_device(state)

    def _describe(self) -> dict[str, Any]:
        """What a state must agree on with its sampler, in JSON."""
        sizes = {"directions": [*self.directions], "n_constraints": self.n_constraints}
        return {"parameters": [*self.space.names], **self.space.describe(), **sizes}

    def check_state(self, state: State) -> None:
        """Raise unless a state has as many parameters, objectives and constraints as the sampler."""
        hints = {"Trace": "; give trace.state", "Observations": "; give log.to_state(sampler)"}
        hint = hints.get(type(state).__name__, "")
        _checks.instance("state", state, State, "a State from the sampler's init() or tell()", hint)
        parts = {"parameter": state.x, "objective": state.losses, "constraint": state.constraints}
        wanted = len(self.space), self.n_objectives, self.n_constraints
        for (name, part), n in zip(parts.items(), wanted, strict=True):
            if part.shape[-1] != n:
                has = plural(part.shape[-1], name)
                raise ValueError(f"the state has {has}, the sampler {n}; use this sampler's init().")
        _checks.check_precision("the state", state.x.dtype, jnp.result_type(float))

    def check_space(self, state: State) -> None:
        """ValueError if rows of a state, one or several, have other coordinates in this space."""
        if _checks.is_traced(state):
            return
        state, frame = jax.device_get(state), self.space.frame()
        present = np.arange(state.capacity) < np.asarray(state.count)[..., None]
        points = jax.tree.map(lambda a: a[present], state.points)
        # Values outside a range that has moved count as the nearest ones inside. Values that were told in
        # float64 are kept in float32, which is coarse in a narrow range far from 0.
        for at in (frame.encode(state.x[present]), frame.nearest(state.x[present])):
            if np.allclose(at.unit, points.unit, 0, 1e-2) and (at.regime == points.regime).all():
                return
        raise ValueError("state: its rows are of a space with other domains; use sampler.move(state).")

    def _basis(self, state: State) -> Basis:
        """The basis: on the device in an eager call, as NumPy constants in a trace."""
        self.check_state(state)
        return on_device(self.smoothing.basis(self.space, state.x.dtype), state)

    def _add(self, state: State, x: Any, losses: Any, constraints: Any, constraint_only: bool) -> State:
        frame, dtype = self._basis(state).frame, state.x.dtype
        x, at = configurations("x", x, self.space, frame, dtype)
        n, m, c = len(x), self.n_objectives, self.n_constraints
        if not constraint_only:
            losses = columns("losses", losses, n, m)
        constraints = constraint_columns(constraints, losses, n, c, dtype)
        if not _checks.is_traced(state, x, losses, constraints):
            n_rows = int(jax.device_get(state.count)) + n
            state = self.grow(state, capacity_of(n_rows)) if n_rows > state.capacity else state
        return _add_rows(self.directions, state, x, at, losses, constraints)


def _seal(content: bytes) -> bytes:
    """First line of a file of a state, which shows damage."""
    return f"parzax state {hashlib.sha256(content).hexdigest()}".encode()


def _size(_sampler: Sampler, _basis: Basis, _key: Any, state: State, *_: Any) -> str:
    """Optimisation pays where many rows are compared with the candidates."""
    return "small" if state.capacity <= 1024 else "large"


_score, _status, _resized = compiled(suggestion.score), compiled(suggestion.status), compiled(State.resized)
_suggest = compiled(suggestion.suggest, _size)
_suggest_members = compiled(suggestion.suggest_members, _size)
_repeat, _has_differences = compiled(suggestion.repeat), compiled(has_differences)


@compiled
def _moved(frame: Frame, state: State) -> State:
    points = frame.nearest(state.x)
    return replace(state, points=points, order=state.sort_rows(points.unit))


@compiled
def _add_rows(
    directions: tuple[str, ...], state: State, x: Any, at: Points, losses: Any, constraints: Any
) -> State:
    """The state with more rows; rows without losses are constraint-only rows."""
    dtype, only = state.x.dtype, losses is None
    losses = jnp.full((len(x), len(directions)), jnp.nan) if only else jnp.asarray(losses)
    losses = signed(directions, losses.astype(dtype))
    constraints = violations(jnp.asarray(constraints), dtype)
    return state.add(x, at, losses, constraints, jnp.full(len(x), only))


def is_starting(state: State, n_startup: int) -> bool | None:
    """Whether fewer than ``n_startup`` rows are not constraint-only; None if traced or on an accelerator."""
    # On an accelerator a suggestion should not wait for a transfer.
    devices = () if _checks.is_traced(state) else getattr(state.x, "devices", tuple)()
    if all(device.platform != "cpu" for device in devices):
        return None
    count, only = jax.device_get((state.count, state.constraint_only))
    return bool(count - only[:count].sum() < n_startup)


def may_differ(state: State) -> bool:
    """Whether some evaluations of a configuration differ; ``state`` is on the host."""
    count, first = jax.device_get((state.count, state.first))
    return bool((first[:count] != np.arange(count)).any() and _has_differences(state))


_encode = compiled(Frame.encode)


def configurations(name: str, x: Any, space: Space, frame: Frame, dtype: Any) -> tuple[Any, Points]:
    """(n, d) native values, checked unless traced, and their points; NumPy arrays are encoded in float64."""
    x = _checks.floats(name, x)
    x = x.reshape(1, -1) if x.ndim == 1 else x
    _checks.check_shape(name, x, "n", len(space))
    if isinstance(x, jax.Array):
        x = x.astype(dtype)
        at = _encode(frame, x)
    else:
        at = space.frame().encode(x)
    if not _checks.is_traced(at):
        refuse_rows(name, space, x, jax.device_get(at.valid))
    return x.astype(dtype), to_device(at, dtype)


def columns(name: str, values: Any, n: int, width: int) -> Any:
    """Values as (n, width). A single column may be given as (n,); None stands for no columns."""
    if values is None:
        if width:
            raise ValueError(f"{name} must have shape ({n}, {width}), as the sampler says; got None.")
        return np.zeros((n, 0))
    values = _checks.floats(name, values)
    values = values.reshape(n, 1) if values.ndim <= 1 and width == 1 and values.size == n else values
    hint = "; a sampler has an objective for each of its directions=[...]"
    if name == "constraints":
        hint = " (this sampler has none; parzax.tpe(space, n_constraints=...) has)" * (not width)
    _checks.check_shape(name, values, n, width, hint=hint)
    return values


def constraint_columns(values: Any, losses: Any, n: int, width: int, dtype: Any) -> Any:
    """Constraints as (n, c). In NumPy arrays a violation that ``dtype`` would round to 0 stays positive.

    ValueError if a row has losses but a NaN constraint; traced arrays set a status instead.
    """
    if any(np.issubdtype(getattr(v, "dtype", type(v)), np.bool_) for v in jax.tree.leaves(values)):
        raise TypeError("constraints must be numbers (<= 0 means satisfied), got True or False values.")
    values = columns("constraints", values, n, width)
    if width and losses is not None and not _checks.is_traced(losses, values):
        is_nan = [np.isnan(part).any(axis=-1) for part in jax.device_get((losses, values))]
        bad = np.flatnonzero(~is_nan[0] & is_nan[1])
        if len(bad):
            raise ValueError(
                f"constraints: row {bad[0]} is NaN although it has losses. Give +inf if the constraint "
                "is violated, give NaN losses if the row has failed, or use augment if the row has only "
                "constraints."
            )
    return values if isinstance(values, jax.Array) else violations(values, dtype)


def warn_of_unseen(what: str, n_constraints: int) -> None:
    """Warn that a sampler without constraints was given constraints; ``what`` begins the sentence."""
    count = plural(n_constraints, "constraint")
    warnings.warn(
        f"{what} {count}, but the sampler ignores them, so many of its suggestions may violate them; "
        f"use px.tpe(space, n_constraints={n_constraints}).",
        stacklevel=_checks.outside(),
    )
