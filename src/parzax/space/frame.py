"""A search space as arrays for compiled code, which turns native values into points and back.

``space`` is a `parzax.Space`, which uses this file.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial, reduce
from itertools import pairwise
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import register_dataclass
from jaxtyping import Bool, Float, Int, PRNGKeyArray, Shaped

from parzax._numerics import round_up
from parzax.space.axes import Axis, Cells
from parzax.space.conditions import Condition, Recorded, is_inside

AxisT = TypeVar("AxisT", bound=Axis)
T = TypeVar("T")

INACTIVE = -1
# Of draws that replace rows: the least number of random rows in one, and the largest number of draws.
_LEAST_REDRAWN, _MOST_REDRAWS = 64, 2**15
# The place of a value outside its domain may overflow. This is harmless, since the value is not valid.
_QUIET = np.errstate(invalid="ignore", over="ignore", divide="ignore")


@register_dataclass
@dataclass(frozen=True, eq=False)
class Points:
    """Configurations on the axes of their space; every array is finite, whatever the native values were.

    Only `parzax.space.Frame` converts native values to points, and points to native values.

    Attributes:
        regime: (..., d) which domain applies, -1 = inactive.
        unit: (..., d) place on the regime's axis, 1/2 where the parameter is inactive.
        index: (..., d) number of the value, 0 on a continuum.
        valid: (..., d) whether the value is in the regime's domain; for an inactive parameter, whether the
            value is absent.
    """

    regime: Int[Any, "*n d"]
    unit: Float[Any, "*n d"]
    index: Int[Any, "*n d"]
    valid: Bool[Any, "*n d"]

    def __getitem__(self, rows: Any) -> "Points":
        return jax.tree.map(lambda a: a[rows], self)

    def __len__(self) -> int:
        return len(self.unit)


@register_dataclass
@dataclass(frozen=True, eq=False)
class ConditionTests:
    """t tests of values for c conditions of several owners, such as the s slots of a space.

    A test holds if low <= key < high, or at ``low`` if both are equal. The key is the number of a discrete
    value, or a value on a continuum.
    """

    tested: Int[Any, " t"]  # the slot whose value a test reads
    low: Float[Any, " t"]
    high: Float[Any, " t"]
    any_of: Float[Any, "t c"]  # 1 if the test belongs to the condition
    all_of: Float[Any, "c s"]  # 1 if the condition belongs to the owner

    @classmethod
    def of(cls, space: Any, owners: Sequence[Sequence[Condition]], dtype: Any) -> "ConditionTests":
        """The tests for the conditions of each owner.

        Thresholds are rounded up, so that a value of ``dtype`` is on the side on which it is in float64.
        """
        conditions = dict.fromkeys(c for owner in owners for c in owner if not isinstance(c, Recorded))
        number = {condition: i for i, condition in enumerate(conditions)}
        parameter = np.array([slot.parameter for slot in space.slots])
        tests = [
            (i, s, *ends)
            for condition, i in number.items()
            for s in np.flatnonzero(parameter == space.index(condition.parent)).tolist()
            for ends in condition.intervals(space.slots[s].domain)
        ]
        condition_of, tested, low, high = np.array(tests, np.float64).reshape(-1, 4).T
        all_of = np.zeros((len(number), len(owners)), np.float32)
        for column, owner in enumerate(owners):
            all_of[[number[c] for c in owner if c in number], column] = 1
        low, high, any_of = round_up(low, dtype), round_up(high, dtype), _indicator(condition_of, len(number))
        return cls(tested.astype(np.int32), low, high, any_of, all_of)

    def passed(self, counted: Bool[Any, " s"], number: Any, value: Any) -> Bool[Any, "n t"]:
        """Which tests hold for the numbers and values of all slots, if they apply."""
        xp, tested = number.__array_namespace__(), self.tested
        key = xp.where(counted[tested][None], number[:, tested].astype(value.dtype), value[:, tested])
        return is_inside(key, self.low[None], self.high[None])

    def met(self, passed: Bool[Any, "n t"]) -> Bool[Any, "n s"]:
        """Of which owners all conditions are met."""
        is_met = _matmul(passed, self.any_of) > 0
        return ~(_matmul(~is_met, self.all_of) > 0)


@register_dataclass
@dataclass(frozen=True, eq=False)
class Frame:
    """A space as arrays: s slots (regimes of parameters), their axes, and the tests that say which apply.

    A condition has one test for each interval of each regime of its parent; it holds if one of its tests
    holds. A slot can apply if all of its conditions hold; it applies if no earlier slot of its parameter can.
    The first round settles parameters without parents, the second their children, and so on.

    The pytree structure contains no names or bounds, so spaces that differ only in these share compiled
    programs. Neither the structure nor a program grows with the number of parameters or branches.
    """

    parameter: Int[Any, " s"]  # parameter of each slot; the slots of a parameter are adjacent
    regime: Int[Any, " s"]  # number of each slot's regime
    first: Int[Any, " d"]  # the first slot of each parameter
    counted: Bool[Any, " s"]  # whether a slot has discrete values; else it is on a continuum
    # Axes with the same structure are stacked into one entry; on the host a list of values is not stacked.
    axes: tuple[Axis, ...]
    which: tuple[Int[Any, " _"], ...]  # slots of each entry of ``axes``
    back: Int[Any, " s"] | None  # position of each slot in the concatenation of ``which``; None if in order
    # (s, d) 1 where a slot belongs to a parameter; None if each parameter has one slot.
    membership: Float[Any, "s d"] | None
    stacked: bool = field(metadata={"static": True})
    # Of the conditions of each slot; None, and no rounds, if all slots always apply.
    tests: ConditionTests | None = None
    # (s, s) 1 if the first slot comes before the second of the same parameter; None if at most one can apply
    before: Any = None
    n_rounds: int = field(default=0, metadata={"static": True})  # number of generations of parameters
    # Which slots can apply, by values that the space lacks; None is all.
    permitted: Bool[Any, " s"] | None = None
    # What `Space.bind_rules` gives; called with the frame, points and their native values.
    rules: tuple[Callable[..., Any], ...] = ()

    @classmethod
    @lru_cache(maxsize=1024)
    def of(cls, space: Any, dtype: Any) -> "Frame":
        """Build the frame of a space, see `Space.frame`."""
        slots, n_parameters = space.slots, len(space)
        stacked, axes, groups = dtype is not None, [slot.domain.axis for slot in slots], {}
        for s, axis in enumerate(axes):
            # On the host lists are not stacked, so they need no padding.
            alone = not stacked and isinstance(axis, Cells) and axis.room
            groups.setdefault(s if alone else axis_shape(axis), []).append(s)
        parameter, regime = np.array([(slot.parameter, slot.regime) for slot in slots], np.int32).T
        columns = np.arange(n_parameters)
        counted = np.array([axis.discrete for axis in axes])
        joined = np.concatenate(list(groups.values()))
        conditions = [slot.domain.conditions for slot in slots]
        # For `Recorded` domains the log says which one applied, so there is no search for the first possible
        # domain.
        several = any(
            second.regime == 1 and first.domain.conditions[0] != Recorded()
            for first, second in pairwise(slots)
        )
        frame = cls(
            parameter=parameter,
            regime=regime,
            first=np.searchsorted(parameter, columns).astype(np.int32),
            counted=counted,
            axes=tuple(stack_axes([axes[s] for s in group], dtype) for group in groups.values()),
            which=tuple(np.array(group, np.int32) for group in groups.values()),
            back=None if (joined == np.arange(len(joined))).all() else np.argsort(joined).astype(np.int32),
            membership=_indicator(parameter, n_parameters) if len(axes) > n_parameters else None,
            stacked=stacked,
            tests=ConditionTests.of(space, conditions, dtype or np.float64) if any(conditions) else None,
            before=np.triu(parameter[:, None] == parameter, 1).astype(np.float32) if several else None,
            n_rounds=len(space.generations) if any(conditions) else 0,
            rules=space.bind_rules(dtype or np.float64),
        )
        return jax.tree.map(lambda a: _narrowed(a, dtype), frame)

    @_QUIET
    def encode(
        self, x: Float[Any, "n d"], given: Bool[Any, "n s"] | None = None, places: bool = True
    ) -> Points:
        """Points of native values (NaN where inactive, codes for categories).

        ``given`` says which slots may apply according to the log; None allows all. Without ``places`` the
        values stand for the unit coordinates: regimes and validity alone take half the time.
        """
        value = self.spread(x)

        def locate(axis: Axis, value: Any) -> tuple[Any, Any, Any]:
            index = axis.index(value)
            return axis.place(value, index) if places else value, index, axis.has(value, index)

        unit, number, held = self.over(locate, value)
        return self._make_points(unit, number, value, held, x.__array_namespace__().isnan(x), given)

    def nearest(self, x: Float[Any, "n d"]) -> Points:
        """Points of the values nearest to ``x`` in each domain; inactive parameters have no value.

        An entry is valid unless its parameter is active and has no value.
        """
        value = self.spread(x)
        unit, number = self.over(lambda axis, v: (axis.place(v, axis.index(v)), axis.index(v)), value)
        return self._make_points(unit, number, held=~x.__array_namespace__().isnan(value))

    def decode(self, at: Points) -> Float[Any, "n d"]:
        """Native values of points, NaN where inactive.

        Regimes are derived again from the decoded values. If rounding moves a value across a condition, its
        children follow, so the result is always a configuration of the space.
        """
        number = self.spread(at.index)
        value = self._native(self.spread(at.unit), number)
        if not self.n_rounds:
            return value
        regime, chosen = self._regimes(number, value, None)
        xp = value.__array_namespace__()
        return xp.where(regime == INACTIVE, xp.asarray(np.nan, dtype=value.dtype), chosen(value))

    def at(self, places: Float[Any, "n s"]) -> Points:
        """Points from a place on each slot's axis; the places of slots that do not apply are ignored."""
        return self._make_points(*self.over(lambda axis, u: axis.at(u), places))

    def drawn(self, levels: Float[Any, "n s"]) -> Points:
        """Random points from a level in [0, 1) for every slot: uniform on the axes, or over listed values."""
        return self._make_points(*self.over(lambda axis, u: axis.drawn(u), levels))

    def draw(self, key: PRNGKeyArray, n: int, dtype: Any) -> Points:
        """n random configurations that the rules allow; ``dtype`` is that of the frame."""
        return self._made_valid(key, self.draw_any(key, n, dtype))

    def _made_valid(self, key: PRNGKeyArray, drawn: Points) -> Points:
        """Points, of which random ones replace those that the rules do not allow."""
        again = partial(self.draw_any, n=max(len(drawn), _LEAST_REDRAWN), dtype=drawn.unit.dtype)
        return self.redraw(key, drawn, again, len(drawn))

    def draw_any(self, key: PRNGKeyArray, n: int, dtype: Any) -> Points:
        """n random configurations, as `drawn`, each from its own key."""
        levels = jax.vmap(lambda key: jax.random.uniform(key, self.parameter.shape, dtype))
        return self.drawn(levels(jax.random.split(key, n)))

    def draw_spread(self, key: PRNGKeyArray, n: int, dtype: Any) -> Points:
        """n configurations, as `draw`, but of each slot's levels one is in each n-th of [0, 1).

        This is a Latin hypercube (McKay, Beckman and Conover 1979). Each configuration alone is as in `draw`.
        Random ones replace those that the rules do not allow.
        """
        shuffle, draw = jax.random.split(key)
        level = jax.random.uniform(draw, (n, len(self.parameter)), dtype)
        stratum = jnp.broadcast_to(jnp.arange(n, dtype=dtype)[:, None], level.shape)
        levels = (jax.random.permutation(shuffle, stratum, independent=True) + level) / n
        drawn = self.drawn(jnp.minimum(levels, 1 - float(jnp.finfo(dtype).epsneg)))
        return self._made_valid(key, drawn)

    def allowed(self, at: Points, x: Float[Any, "n d"] | None = None) -> Bool[Any, " n"]:
        """Which points the rules of the space allow; ``x`` are their native values, if there are any."""
        everything = at.unit.__array_namespace__().ones(len(at), bool)
        x = self.decode(at) if x is None and self.rules else x
        return reduce(operator.and_, [rule(self, at, x) for rule in self.rules], everything)

    def restricted(self, at: Points, x: Float[Any, "n d"] | None = None) -> Points:
        """The points, of which those that the rules do not allow are not valid; ``x`` as in `allowed`."""
        return replace(at, valid=at.valid & self.allowed(at, x)[:, None]) if self.rules else at

    def redraw(
        self,
        key: PRNGKeyArray,
        drawn: T,
        draw: Callable[[PRNGKeyArray], T],
        enough: int,
        most: int = _MOST_REDRAWS,
        points: Callable[[Any], Points] = lambda drawn: drawn,
    ) -> T:
        """Replace rows that the rules do not allow by rows of later draws, until ``enough`` are allowed.

        Args:
            key: the key that ``drawn`` was drawn with.
            drawn: the rows: points, or what ``points`` turns into points.
            draw: draws again from a key.
            enough: number of allowed rows that is enough.
            most: largest number of draws.
            points: gives the points of what was drawn.
        """
        if not self.rules:
            return drawn
        # With small numbers `jax.random.fold_in` may give keys that `jax.random.split` has given.
        key = jax.random.fold_in(key, np.uint32(2**32 - 1))

        def is_missing(carry: Any) -> Any:
            number, allowed, _ = carry
            return (allowed.sum(dtype=np.int32) < enough) & (number < most)

        def replace_rows(carry: Any) -> Any:
            number, allowed, kept = carry
            more = draw(jax.random.fold_in(key, number))
            is_new = self.allowed(points(more))
            # The k-th row that is not allowed is replaced by the k-th of the new rows that are allowed.
            place = jnp.cumsum(~allowed, dtype=np.int32) - 1
            replaced = ~allowed & (place < is_new.sum(dtype=np.int32))
            rows = jnp.argsort(~is_new, stable=True).at[place].get(mode="clip")
            kept = jax.tree.map(lambda old, new: jnp.where(replaced[:, None], new[rows], old), kept, more)
            return number + 1, allowed | replaced, kept

        first = jnp.int32(0), self.allowed(points(drawn)), drawn
        return jax.lax.while_loop(is_missing, replace_rows, first)[2]

    def log_uniform(self, at: Points) -> Float[Any, " n"]:
        """log density of `drawn` in unit coordinates, of the active parameters."""
        dtype, number = at.unit.dtype, self.spread(at.index)
        return self._sum_active(at, self.over(lambda axis, i: axis.log_uniform(i, dtype), number))

    def log_jacobian(self, at: Points) -> Float[Any, " n"]:
        """log |d unit / d native| of points: converts a density in unit coordinates to a native one."""
        return self._sum_active(at, self.over(lambda axis, u: axis.log_jacobian(u), self.spread(at.unit)))

    def over(self, function: Callable[..., Any], *columns: Shaped[Any, "n s"]) -> Any:
        """Map function(axis, column, ...) over all slots; slots with stacked axes share one expression."""
        if self.stacked:
            function = jax.vmap(function, in_axes=(0, *(-1 for _ in columns)), out_axes=-1)
        if len(self.axes) == 1:
            return function(self.axes[0], *columns)
        groups, xp = zip(self.axes, self.which, strict=True), columns[0].__array_namespace__()
        parts = [function(axis, *(x[:, which] for x in columns)) for axis, which in groups]
        joined = jax.tree.map(lambda *arrays: xp.concatenate(arrays, axis=-1), *parts)
        return joined if self.back is None else jax.tree.map(lambda x: x[:, self.back], joined)

    def spread(self, x: Shaped[Any, "n d"]) -> Shaped[Any, "n s"]:
        """Values of parameters, repeated for each of their slots."""
        return x if self.membership is None else x[:, self.parameter]

    def here(self, at: Points) -> Bool[Any, "n s"]:
        """Mask of the slots that apply at the points."""
        return self.spread(at.regime) == self.regime[None]

    def meets(self, tests: ConditionTests, at: Points, x: Float[Any, "n d"]) -> Bool[Any, "n c"]:
        """Of which owners of tests all conditions are met at points with native values ``x``."""
        passed = tests.passed(self.counted, self.spread(at.index), self.spread(x))
        return tests.met(passed & self.here(at)[:, tests.tested])

    def on_continuum(self, at: Points) -> Bool[Any, "n d"] | bool:
        """Mask of the coordinates of points that are active and on a continuum; False if no axis is one."""
        if all(axis.discrete for axis in self.axes):
            return False
        active = at.regime != INACTIVE
        if self.membership is None:
            return active & ~self.counted[None]
        return active & ~at.unit.__array_namespace__().asarray(self.counted)[self._slot(at.regime)]

    def _sum_active(self, at: Points, x: Float[Any, "n s"]) -> Float[Any, " n"]:
        return x.__array_namespace__().where(self.here(at), x, 0).sum(axis=-1)

    def _native(self, unit: Any, number: Any) -> Any:
        return self.over(lambda axis, u, i: axis.native(u, i), unit, number)

    def _slot(self, regime: Any) -> Any:
        """Slots of the parameters, given their regimes; arbitrary for inactive parameters."""
        return self.first[None] + regime.__array_namespace__().clip(regime, 0, None)

    def _make_points(
        self,
        unit: Any,
        number: Any,
        value: Any = None,
        held: Any = None,
        absent: Any = None,
        given: Any = None,
    ) -> Points:
        """Build points from the place, number and value that each slot would have if it applied.

        By default the value is computed from the place, every slot has a value, and inactive parameters were
        given no value.
        """
        xp = unit.__array_namespace__()
        held = xp.ones(unit.shape, bool) if held is None else held
        if not self.n_rounds:
            return Points(xp.zeros(unit.shape, np.int32), unit, number.astype(np.int32), held)
        value = self._native(unit, number) if value is None else value
        regime, chosen = self._regimes(number, value, held, given)
        active = regime != INACTIVE
        absent = xp.ones(active.shape, bool) if absent is None else absent
        return Points(
            regime,
            xp.where(active, chosen(unit), xp.asarray(0.5, dtype=unit.dtype)),
            xp.where(active, chosen(number), xp.zeros((), number.dtype)).astype(np.int32),
            xp.where(active, chosen(held), absent),
        )

    def _regimes(
        self, number: Any, value: Any, held: Any, given: Any = None
    ) -> tuple[Any, Callable[[Any], Any]]:
        """The regime of every parameter, and a function that picks values by slot.

        The function returns, for each parameter, the entry of the slot that applies. For an inactive
        parameter the entry is arbitrary. ``held`` says which slots' domains have the value, ``given`` is as
        in `encode`; None is all.
        """
        xp, tests = number.__array_namespace__(), self.tests
        assert tests is not None
        # The outcome of every test, assuming that the parent's slot applies.
        passed = tests.passed(self.counted, number, value)
        passed = passed if held is None else passed & held[:, tests.tested]
        applies = xp.zeros((len(passed), len(self.parameter)), bool)
        for _ in range(self.n_rounds):
            can = tests.met(passed & applies[:, tests.tested])
            can = can if given is None else can & given
            can = can if self.permitted is None else can & self.permitted[None]
            applies = can if self.before is None else can & ~(_matmul(can, self.before) > 0)
        if self.membership is None:
            return xp.where(applies, np.int32(0), np.int32(INACTIVE)), lambda x: x
        one_more = applies.astype(np.float32) * (self.regime + 1).astype(np.float32)[None]
        regime = xp.matmul(one_more, self.membership).astype(np.int32) + INACTIVE
        slot = self._slot(regime)
        return regime, lambda x: xp.take_along_axis(x, slot, axis=-1)


def axis_shape(axis: Axis) -> Any:
    """Key that axes share if they can be stacked; lists are padded to a power of two."""
    room = axis.room if isinstance(axis, Cells) else 0
    return jax.tree.structure(axis), room and 1 << (room - 1).bit_length()


def stack_axes(axes: list[AxisT], dtype: Any) -> AxisT:
    """Stack axes of one `axis_shape`, `_narrowed`; on the host a single axis is returned unchanged."""
    if dtype is None and len(axes) == 1:
        return axes[0]
    room = max(axis.room for axis in axes if isinstance(axis, Cells)) if axes[0].discrete else 0
    same = [axis.padded(room) if isinstance(axis, Cells) else axis for axis in axes]
    return jax.tree.map(lambda *arrays: _narrowed(np.stack(arrays), dtype), *same)


def _narrowed(a: np.ndarray, dtype: Any) -> np.ndarray:
    """Convert to the types of a device with floats of ``dtype``; None leaves the array unchanged."""
    if dtype is None:
        return a
    if a.dtype == np.int64 and dtype != np.float64:
        limits = np.iinfo(np.int32)
        return np.clip(a, limits.min, limits.max).astype(np.int32)
    # A bound may be too large for the dtype. Then `Space.check_dtype` refuses native values in this dtype.
    with np.errstate(over="ignore"):
        return a.astype(dtype) if a.dtype == np.float64 else a


def _indicator(column_of: np.ndarray, n_columns: int) -> np.ndarray:
    """(rows, n_columns) indicator matrix: 1 in column ``column_of[i]`` of row i, else 0."""
    return (column_of[:, None] == np.arange(n_columns)).astype(np.float32)


def _matmul(mask: Any, counts: Any) -> Any:
    """Sum of the counts under each mask; these are integers, exact in any precision."""
    return mask.__array_namespace__().matmul(mask.astype(np.float32), counts)
