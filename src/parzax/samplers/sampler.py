"""`Sampler`: a sampler of the TPE family, with ask and tell."""

from dataclasses import fields
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from parzax import _checks, _html
from parzax._compile import compiled
from parzax._numerics import capacity as capacity_of
from parzax._numerics import to_device
from parzax._words import plural
from parzax.acquisition import AbstractAcquisition
from parzax.density.basis import Basis, device_copy
from parzax.density.smoothing import AbstractSmoothing
from parzax.samplers import arguments
from parzax.samplers.best import Best, best_rows, signed
from parzax.samplers.candidates import enumerate_points, find_members, find_told
from parzax.samplers.start import AbstractStart
from parzax.samplers.strategy import Parts, Strategy
from parzax.space import Points, Space, check_dtype
from parzax.split import AbstractSplit, State
from parzax.split.state import violations


def _directions(directions: Any) -> tuple[str, ...]:
    """One direction per objective, as a tuple; a single string stands for one objective."""
    several = isinstance(directions, (tuple, list))
    return _checks.directions(directions, len(directions) if several and directions else 1)


def check_confirm(name: str, sampler: "Sampler") -> None:
    """ValueError for several objectives."""
    if sampler.n_objectives > 1:
        raise ValueError(
            f"{name} is for one objective: of {sampler.n_objectives} objectives there is no single best "
            "configuration to evaluate again."
        )


class InSpace(eqx.Module):
    """Base class that makes the space the first argument of a sampler."""

    space: Space = eqx.field(static=True)


class Sampler(Parts, InSpace):
    """A sampler, composed of a split, a smoothing, an acquisition function and a start.

    Presets such as `parzax.tpe` return one. To compose another, replace a part, for example with a subclass
    of its abstract type (`tests/extending/` has examples). A sampler is a pytree: the numeric settings of its
    parts are leaves, which can be traced and vmapped over.

    Attributes:
        space: the search space; static. Compiled programs do not depend on it, see `Strategy`.
        split: rule for the rows in the groups below and above.
        smoothing: densities of these groups.
        acquisition: score of candidates, computed from the densities.
        directions: "minimize" or "maximize" for each objective; static.
        n_constraints: c; static.
        start, n_startup, n_candidates, epsilon, gradient_steps, repeats: as in `parzax.tpe`;
            integers and ``repeats`` are static.
    """

    directions: tuple[str, ...] = eqx.field(static=True, default=("minimize",), converter=_directions)

    def __check_init__(self) -> None:
        """Raise for invalid settings, unless they are traced."""
        kinds = Space, AbstractSplit, AbstractSmoothing, AbstractAcquisition, AbstractStart
        for name, kind in zip(("space", "split", "smoothing", "acquisition", "start"), kinds, strict=True):
            value = getattr(self, name)
            _checks.instance(name, value, kind, f"an instance of {kind.__name__}")
        for name in ("n_constraints", "n_startup", "n_candidates", "gradient_steps"):
            _checks.whole_number(name, getattr(self, name), int(name == "n_candidates"))
        _checks.flag("repeats", self.repeats)
        _checks.setting("epsilon", self.epsilon, least=0, most=1)

    def _repr_html_(self) -> str:
        names = [part.name for part in fields(self) if part.name != "space"]
        title = f"{type(self).__name__} of {', '.join(self.space.names)}"
        return _html.settings(title, {name: getattr(self, name) for name in names})

    @property
    def n_objectives(self) -> int:
        """m, the number of objectives."""
        return len(self.directions)

    @property
    def strategy(self) -> Strategy:
        """The sampler without its space, so that its compiled programs serve all spaces."""
        return Strategy(**{part.name: getattr(self, part.name) for part in fields(Parts)})

    def init(self, capacity: int = 64) -> State:
        """An empty state for up to ``capacity`` rows. Outside compiled code a full state grows."""
        capacity, dtype = _checks.whole_number("capacity", capacity, 1), jnp.result_type(float)
        check_dtype(self.space, dtype, native=True, arrays=False)
        sizes = len(self.space), self.n_objectives, self.n_constraints
        return to_device(State.empty(*sizes, capacity, dtype))

    def grow(self, state: State, capacity: int) -> State:
        """The same rows in a state of this capacity; ValueError if it is below the current capacity."""
        self._check_state(state)
        return arguments.call(_grown, state, _checks.whole_number("capacity", capacity, 1))

    def tell(self, state: State, x: Any, objectives: Any, constraints: Any = None) -> State:
        """Add rows.

        Args:
            state: from `init` or `tell`.
            x: (n, d) native values, NaN where inactive.
            objectives: (n, m), or (n,) for one objective, in the sampler's ``directions``. NaN marks a
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
                constraints in rows with objectives. In compiled code a row outside the space is in no group,
                a row with a NaN constraint is not feasible, and `status` reports both.
        """
        return self._add(state, x, objectives, constraints, False)

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
        self._check_state(state)
        return arguments.call(best_rows, self.directions, state)

    def status(self, state: State) -> Int[Array, ""]:
        """Bits of `parzax.Status` that say what is unusual about a state.

        NO_DATA: no row was evaluated. NONE_FEASIBLE, FEW_FEASIBLE: every row is below, because too few rows
        are feasible. INVALID_BANDWIDTH: a bandwidth is not positive and finite. UNMEASURED: an evaluated row
        has a NaN constraint. CAPACITY_EXCEEDED: rows were dropped. INVALID_ROWS: a row is outside the space.
        """
        return arguments.call(_status, self.strategy, self._basis(state), state)

    def ask(
        self, key: PRNGKeyArray, state: State, n: int = 1, candidates: Any = None, *, confirm: bool = False
    ) -> Float[Array, "{n} d"]:
        """Suggest configurations.

        Args:
            key: a typed PRNG key, not to be used again.
            state: the rows seen so far.
            n: number of suggestions; static. The suggestions of one call are different, if the space (or the
                pool) has n different configurations. If it has fewer, all of them are suggested.
            candidates: (j, d) pool of configurations to choose from, instead of sampled candidates.
            confirm: whether to suggest good configurations again; static. It is for a single objective whose
                evaluations have noise. The choice is optimistic: it takes the feasible configurations with
                the smallest lower bounds, mean loss minus noise / sqrt(number of evaluations). Pending and
                failed evaluations count in this number. The noise is the standard deviation of an evaluation,
                pooled over configurations. New configurations are suggested if no feasible one is left, or if
                three repeats have shown no difference in the loss.

        Returns:
            (n, d) native values, NaN where inactive. Repeated ones are exactly as they were told.

        Raises:
            TypeError, ValueError: a key that is not a typed key, ``n`` below 1, a pool of another shape or
                with fewer than ``n`` members, or, unless traced, a pool with members outside the space. In
                compiled code these members come last. Also ``confirm`` with a pool or several objectives.
        """
        _checks.check_key(key)
        basis, n = self._basis(state), _checks.whole_number("n", n, 1)
        if _checks.flag("confirm", confirm):
            check_confirm("confirm", self)
            if candidates is not None:
                raise ValueError("confirm suggests rows of the state again, so candidates must be None.")
        x = pool = every = None
        if candidates is None:
            every = self.every_point(n, state.x.dtype)
        else:
            dtype = state.x.dtype
            x, pool = arguments.configurations("candidates", candidates, self.space, basis.frame, dtype)
            if len(pool) < n:
                raise ValueError(f"candidates must have at least n = {n} rows, got {len(pool)}.")
        starting = arguments.is_starting(state, self.n_startup)
        return arguments.call(
            _suggest, self.strategy, basis, key, state, n, every, x, pool, starting, confirm or None
        )

    def score_of(self, state: State, candidates: Any) -> Float[Array, " j"]:
        """Acquisition function at (j, d) candidates, differentiable in them; -inf outside the space."""
        basis, candidates = self._basis(state), arguments.numbers("candidates", candidates)
        _checks.check_shape("candidates", candidates, "j", len(self.space))
        return arguments.call(_score, self.strategy, basis, state, candidates.astype(state.x.dtype))

    def every_point(self, n: int, dtype: Any) -> Points | None:
        """All configurations, if suggestions must be new and the space is small enough; else None."""
        return enumerate_points(self.space, n, dtype) if n > 1 or not self.repeats else None

    def _check_state(self, state: State) -> None:
        _checks.instance("state", state, State, "a State from the sampler's init() or tell()")
        parts = {"parameter": state.x, "objective": state.objectives, "constraint": state.constraints}
        wanted = len(self.space), self.n_objectives, self.n_constraints
        for (name, part), n in zip(parts.items(), wanted, strict=True):
            if part.shape[-1] != n:
                has = plural(part.shape[-1], name)
                raise ValueError(f"the state has {has}, the sampler {n}; use this sampler's init().")
        _checks.check_precision("the state", state.x.dtype)

    def _basis(self, state: State) -> Basis:
        """The basis: on the device in an eager call, as NumPy constants in a trace."""
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


_score, _status, _grown = compiled(Strategy.score), compiled(Strategy.status), compiled(State.grown)


def _size(_strategy: Strategy, _basis: Basis, _key: Any, state: State, *_: Any) -> str:
    """Optimisation pays where many rows are compared with the candidates."""
    return "small" if state.capacity <= 1024 else "large"


@compiled(size=_size)
def _suggest(
    strategy: Strategy, basis: Basis, key: Any, state: State, n: int, every: Any, x: Any, pool: Any,
    starting: bool | None, confirm: bool | None,
) -> Float[Array, "{n} d"]:  # fmt: skip
    if pool is None:
        return strategy.suggest(basis, key, state, n, every, starting, confirm)[0]
    x, told = jnp.asarray(x), None
    if not strategy.repeats:
        told = find_told(x, state.x, state.present & ~state.constraint_only)
    at = strategy.ask(basis, key, state, n, pool, every, starting, told)
    # Pool members are returned as given, because decoding their unit coordinates would round them.
    return x[find_members(at, pool)]


@compiled
def _add_rows(
    directions: tuple[str, ...], state: State, x: Any, at: Points, objectives: Any, constraints: Any
) -> State:
    """The state with more rows; rows without objectives are constraint-only rows."""
    dtype, only = state.x.dtype, objectives is None
    objectives = jnp.full((len(x), len(directions)), jnp.nan) if only else jnp.asarray(objectives)
    losses = signed(directions, objectives.astype(dtype))
    constraints = violations(jnp.asarray(constraints), dtype)
    return state.add(x, at, losses, constraints, jnp.full(len(x), only))
