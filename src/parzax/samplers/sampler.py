"""A sampler of the TPE family, composed of values: a state, ask, tell."""

from dataclasses import fields
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax import _checks
from parzax._numerics import capacity as capacity_of
from parzax._numerics import to_device
from parzax._programs import program
from parzax.acquisition import AbstractAcquisition
from parzax.pareto import non_domination_rank
from parzax.parzen.basis import Basis, device_copy
from parzax.parzen.smoothing import AbstractSmoothing
from parzax.samplers import arguments
from parzax.samplers.candidates import enumerate_points, find_members
from parzax.samplers.start import AbstractStart
from parzax.samplers.strategy import Parts, Strategy
from parzax.space import Points, Space, check_dtype
from parzax.split import AbstractSplit, State
from parzax.split.state import violations


def _directions(directions: Any) -> tuple[str, ...]:
    """A direction for each objective; a single word stands for one objective."""
    several = isinstance(directions, (tuple, list))
    return _checks.directions(directions, len(directions) if several and directions else 1)


class Best(NamedTuple):
    """The best rows so far, one for one objective and the front for several, among n of a state.

    Native values ``x``, ``objectives`` as they were told, ``constraints`` that are satisfied where <= 0; NaN
    in rows that are not under the ``mask``.
    """

    x: Float[Array, "n d"]
    objectives: Float[Array, "n m"]
    constraints: Float[Array, "n c"]
    mask: Bool[Array, " n"]


class InSpace(eqx.Module):
    """The space of a sampler: its first argument, since fields of the last base come first."""

    space: Space = eqx.field(static=True)


class Sampler(Parts, InSpace):
    """Space, split, smoothing, acquisition and start-up; `parzax.tpe` and so on compose known ones.

    Each part is a value of an abstract type, which may be one of your own (`tests/extending/`), and none of
    them knows the sampler. It is a pytree: numeric settings of the parts are leaves, so that they can be
    traced and vmapped over.

    Attributes:
        space: static; compiled programs do not see it, see `Strategy`.
        split: which rows are below and above.
        smoothing: densities of these groups.
        acquisition: score of candidates, from the densities.
        directions: "minimize" or "maximize" for each objective; static.
        n_constraints: static.
        start, n_startup, n_candidates, epsilon, gradient_steps, repeats: as of `parzax.tpe`; whole numbers
            and ``repeats`` are static.
    """

    directions: tuple[str, ...] = eqx.field(static=True, default=("minimize",), converter=_directions)

    def __check_init__(self) -> None:
        """Raise for settings whose values are known and wrong."""
        kinds = Space, AbstractSplit, AbstractSmoothing, AbstractAcquisition, AbstractStart
        for name, kind in zip(("space", "split", "smoothing", "acquisition", "start"), kinds, strict=True):
            value = getattr(self, name)
            _checks.instance(name, value, kind, f"an instance of {kind.__name__}")
        for name in ("n_constraints", "n_startup", "n_candidates", "gradient_steps"):
            _checks.whole_number(name, getattr(self, name), int(name == "n_candidates"))
        _checks.flag("repeats", self.repeats)
        epsilon = _checks.scalar("epsilon", self.epsilon)
        if epsilon is not None and not 0 <= epsilon <= 1:
            raise ValueError(f"epsilon is a probability, within [0, 1], got {epsilon!r}.")

    @property
    def n_objectives(self) -> int:
        """m."""
        return len(self.directions)

    @property
    def strategy(self) -> Strategy:
        """The sampler without its space, whose compiled programs serve all spaces."""
        return Strategy(**{part.name: getattr(self, part.name) for part in fields(Parts)})

    def init(self, capacity: int = 64) -> State:
        """An empty state for up to ``capacity`` rows; on the host it grows when it is full."""
        capacity, dtype = _checks.whole_number("capacity", capacity, 1), jnp.result_type(float)
        check_dtype(self.space, dtype, native=True, arrays=False)
        sizes = len(self.space), self.n_objectives, self.n_constraints
        return to_device(State.empty(*sizes, capacity, dtype))

    def grow(self, state: State, capacity: int) -> State:
        """The same rows with room for up to ``capacity``; ValueError for less than there is."""
        self._check_state(state)
        return arguments.call(_grown, state, _checks.whole_number("capacity", capacity, 1))

    def tell(self, state: State, x: Any, objectives: Any, constraints: Any = None) -> State:
        """Add rows.

        Args:
            state: from `init` or `tell`.
            x: (n, d) native values, NaN where inactive.
            objectives: (n, m), or (n,) for one, in the sampler's ``directions``. NaN marks a pending or
                failed row: it joins the group above. They are rounded to the state's dtype: losses that
                float32 cannot tell apart become ties, and earlier rows win. Give ranks instead, or make the
                state inside `jax.enable_x64`.
            constraints: (n, c), or (n,) for one; satisfied where <= 0. On the host a violation too small
                for the dtype stays one; `jax.jit` rounds its arguments before they are seen.

        Returns:
            The new state. On the host it grows where it is full; in compiled code rows beyond the capacity
            are dropped, with ``overflow``.

        Raises:
            TypeError, ValueError: for arrays of another shape, and (unless traced) for rows outside the space
                and constraints that are NaN although the objectives are known; in compiled code such rows
                are in no group or not feasible, and `status` says so.
        """
        return self._add(state, x, objectives, constraints, False)

    def augment(self, state: State, x: Any, constraints: Any) -> State:
        """Add constraint-only rows: knowledge augmentation (c-TPE, arXiv 2211.14411).

        A constraint whose value is known in a row takes it into its split, its densities and its share; the
        objective and the other constraints do not see it.

        Args:
            state, x: as of `tell`.
            constraints: (n, c), NaN where not known.

        Raises:
            TypeError, ValueError: as of `tell`; a sampler without constraints.
        """
        if not self.n_constraints:
            raise ValueError(
                "augment adds constraint-only rows, but this sampler has no constraints (n_constraints=0); "
                "use tell."
            )
        return self._add(state, x, None, constraints, True)

    def best(self, state: State) -> Best:
        """The best feasible rows so far: the first one of smallest loss, or the front of several objectives.

        Arrays have a row for each of the state's, in the order in which they were told; the mask says which
        are the best, and the others are NaN. ``best.x[best.mask]`` has the best alone.
        """
        self._check_state(state)
        return arguments.call(_best, self.directions, state)

    def status(self, state: State) -> Int[Array, ""]:
        """Bits of `parzax.Status` that say what is unusual about a state.

        NO_DATA before the first evaluated row, those of the split (NONE_FEASIBLE and FEW_FEASIBLE where every
        row is below because too few are feasible) and of the smoothing (INVALID_BANDWIDTH), UNMEASURED for
        evaluated rows with a NaN constraint, CAPACITY_EXCEEDED for dropped rows, INVALID_ROWS for rows
        outside the space.
        """
        return arguments.call(_status, self.strategy, self._basis(state), state)

    def ask(
        self, key: PRNGKeyArray, state: State, n: int = 1, candidates: Any = None
    ) -> Float[Array, "{n} d"]:
        """Suggest configurations.

        Args:
            key: a typed PRNG key, not to be used again.
            state: what is known.
            n: how many, static. Suggestions of one call differ from each other wherever the space, or the
                pool, has that many configurations; with fewer all of them appear.
            candidates: (j, d) pool to choose from instead of sampled candidates.

        Returns:
            (n, d) native values, NaN where inactive.

        Raises:
            TypeError, ValueError: for a key that is not a typed one, an ``n`` below 1, and a pool of another
                shape, with fewer than ``n`` members, or (unless traced) with members outside the space; in
                compiled code such members rank last.
        """
        _checks.check_key(key)
        basis, n = self._basis(state), _checks.whole_number("n", n, 1)
        x = pool = every = None
        if candidates is None:
            every = self.every_point(n, state.x.dtype)
        else:
            dtype = state.x.dtype
            x, pool = arguments.configurations("candidates", candidates, self.space, basis.frame, dtype)
            if len(pool) < n:
                raise ValueError(f"candidates must have at least n = {n} rows, got {len(pool)}.")
        return arguments.call(_suggest, self.strategy, basis, key, state, n, every, x, pool)

    def score_of(self, state: State, candidates: Any) -> Float[Array, " j"]:
        """The acquisition function at (j, d) candidates; differentiable in them; -inf outside the space."""
        basis, candidates = self._basis(state), arguments.numbers("candidates", candidates)
        if candidates.ndim != 2 or candidates.shape[1] != len(self.space):
            raise ValueError(f"candidates must have shape (j, {len(self.space)}), got {candidates.shape}.")
        return arguments.call(_score, self.strategy, basis, state, candidates.astype(state.x.dtype))

    def every_point(self, n: int, dtype: Any) -> Points | None:
        """All configurations, where suggestions must be new and the space is small beside n."""
        return enumerate_points(self.space, n, dtype) if n > 1 or not self.repeats else None

    def _check_state(self, state: State) -> None:
        if not isinstance(state, State):
            raise TypeError(f"state must come from the sampler's init() or tell(), got {state!r}.")
        parts = {"parameters": state.x, "objectives": state.objectives, "constraints": state.constraints}
        wanted = len(self.space), self.n_objectives, self.n_constraints
        for (name, part), n in zip(parts.items(), wanted, strict=True):
            if part.shape[-1] != n:
                raise ValueError(
                    f"the state has {part.shape[-1]} {name}, the sampler {n}; use this sampler's init()."
                )
        _checks.check_precision("the state", state.x.dtype)

    def _basis(self, state: State) -> Basis:
        """The basis, on the device for an eager call; of NumPy arrays, which are constants, in a trace."""
        self._check_state(state)
        basis = self.smoothing.basis(self.space, state.x.dtype)
        return basis if _checks.is_traced(state) else device_copy(basis)

    def _add(self, state: State, x: Any, objectives: Any, constraints: Any, constraint_only: bool) -> State:
        frame, dtype = self._basis(state).frame, state.x.dtype
        x, at = arguments.configurations("x", x, self.space, frame, dtype)
        n, m, c = len(x), self.n_objectives, self.n_constraints
        if not constraint_only:
            objectives = arguments.columns("objectives", objectives, n, m)
        constraints = arguments.constraint_columns(constraints, objectives, n, c, dtype)
        if not _checks.is_traced(state, x, objectives, constraints):
            n_rows = int(jax.device_get(state.count)) + n
            state = self.grow(state, capacity_of(n_rows)) if n_rows > state.capacity else state
        return arguments.call(_add_rows, self.directions, state, x, at, objectives, constraints)


def signed(directions: tuple[str, ...], objectives: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """Flip the signs of maximised objectives: objectives as losses, and losses as objectives."""
    signs = np.array([-1 if direction == "maximize" else 1 for direction in directions])
    return objectives * signs.astype(objectives.dtype)[None]


_score, _status, _grown = program(Strategy.score), program(Strategy.status), program(State.grown)


def _weight(strategy: Strategy, *_: Any) -> float:
    """XLA counts the body of a loop once, and every step of ascent is one."""
    return 1.0 + strategy.gradient_steps


@program(weight=_weight)
def _suggest(
    strategy: Strategy, basis: Basis, key: Any, state: State, n: int, every: Any, x: Any, pool: Any
) -> Float[Array, "{n} d"]:
    at = strategy.ask(basis, key, state, n, pool, every)
    # Members of a pool as they were given: places on axes would round them.
    return basis.frame.decode(at) if pool is None else jnp.asarray(x)[find_members(at, pool)]


@program
def _add_rows(
    directions: tuple[str, ...], state: State, x: Any, at: Points, objectives: Any, constraints: Any
) -> State:
    """The state with more rows; without objectives they are constraint-only ones."""
    dtype, only = state.x.dtype, objectives is None
    objectives = jnp.full((len(x), len(directions)), jnp.nan) if only else jnp.asarray(objectives)
    losses = signed(directions, objectives.astype(dtype))
    constraints = violations(jnp.asarray(constraints), dtype)
    return state.add(x, at, losses, constraints, jnp.full(len(x), only))


@program
def _best(directions: tuple[str, ...], state: State) -> Best:
    if len(directions) == 1:
        mask = state.feasible & (state.feasible_before == 0)
    else:
        rank = non_domination_rank(state.objectives, state.feasible)
        mask = (rank == 0) & state.feasible & ~state.repeated
    rows = state.x, signed(directions, state.objectives), state.constraints
    x, objectives, constraints = (jnp.where(mask[:, None], part, jnp.nan) for part in rows)
    return Best(x, objectives, constraints, mask)
