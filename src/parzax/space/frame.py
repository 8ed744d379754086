"""A search space as arrays for compiled code, which turns native values into points and back."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from parzax._numerics import map_blocks, namespace
from parzax.space.axes import AbstractAxis
from parzax.space.cells import Listed
from parzax.space.identity import place_values
from parzax.space.walk import INACTIVE, Slot, Walk, indicator


class Points(eqx.Module):
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

    @staticmethod
    def of(*arrays: Any) -> "Points":
        """Build points from four arrays, without Equinox's checks: on one row they take most of the time."""
        return jax.tree.unflatten(_STRUCTURE, arrays)


# The place of a value outside its domain may overflow. This is harmless, since the value is not valid.
_QUIET = np.errstate(invalid="ignore", over="ignore", divide="ignore")
_NONE = np.zeros((0, 0))
_STRUCTURE = jax.tree.structure(Points(_NONE.astype(int), _NONE, _NONE.astype(int), _NONE.astype(bool)))


class Frame(eqx.Module):
    """s slots (regimes of parameters), their axes, and the walk that says which of them apply.

    Its pytree structure contains no names or bounds, so spaces that differ only in these share compiled
    programs. The structure does not grow with the number of parameters.
    """

    parameter: Int[Any, " s"]  # parameter of each slot; the slots of a parameter are adjacent
    regime: Int[Any, " s"]  # number of each slot's regime
    first: Int[Any, " d"]  # the first slot of each parameter
    is_parent: Bool[Any, " d"]  # whether some condition depends on the parameter
    counted: Bool[Any, " s"]  # whether a slot has discrete values; else it is on a continuum
    # Axes with the same structure are stacked into one entry; on the host a list of values is not stacked.
    axes: tuple[AbstractAxis, ...]
    which: tuple[Int[Any, " _"], ...]  # slots of each entry of ``axes``
    back: Int[Any, " s"]  # position of each slot in the concatenation of ``which``
    walk: Walk | None  # None if all slots always apply
    # (s, d) 1 where a slot belongs to a parameter; None if each parameter has one slot.
    membership: Float[Any, "s d"] | None
    # Factors of the number of the value, and of the regime, in `identify`; None if some axis is a continuum
    # or has too many values.
    factors: Int[Any, "2 w d"] | None
    stacked: bool = eqx.field(static=True)

    # Equinox's wrappers of methods are avoided, as in `AbstractAxis`.
    __getattribute__ = object.__getattribute__

    @classmethod
    def of(cls, slots: tuple[Slot, ...], n_parameters: int, walk: Walk | None, dtype: Any) -> "Frame":
        """Build the frame for JAX arrays with floats of ``dtype``; None builds it for NumPy arrays."""
        stacked, axes, groups = dtype is not None, [slot.domain.axis for slot in slots], {}
        for s, axis in enumerate(axes):
            # On the host lists are not stacked, so they need no padding.
            alone = not stacked and isinstance(axis, Listed)
            groups.setdefault(s if alone else axis_shape(axis), []).append(s)
        parameter, columns = np.array([slot.parameter for slot in slots]), np.arange(n_parameters)
        frame = cls(
            parameter=parameter,
            regime=np.array([slot.regime for slot in slots]),
            first=np.searchsorted(parameter, columns),
            is_parent=np.isin(columns, [] if walk is None else parameter[walk.parents]),
            counted=np.array([axis.discrete for axis in axes]),
            axes=tuple(stack_axes([axes[s] for s in group], dtype) for group in groups.values()),
            which=tuple(np.array(group) for group in groups.values()),
            back=np.argsort(np.concatenate(list(groups.values()))),
            walk=walk,
            membership=indicator(parameter, n_parameters) if len(axes) > n_parameters else None,
            factors=place_values(parameter, axes),
            stacked=stacked,
        )
        return jax.tree.map(lambda a: _narrowed(a, dtype), frame)

    def encode(self, x: Float[Any, "n d"]) -> Points:
        """Points of native values (NaN where inactive, codes for categories)."""
        return map_blocks(self._encode, x)

    def classify(
        self, x: Float[Any, "n d"], given: Bool[Any, "n s"] | None = None
    ) -> tuple[Int[Any, "n d"] | None, Bool[Any, "n d"]]:
        """`Points.regime` (None if all are 0) and `Points.valid` of native values in NumPy.

        ``given`` is as in `Walk.applied`.
        """
        return map_blocks(self._classify, *((x,) if given is None else (x, given)))

    @_QUIET
    def _encode(self, x: Float[Any, "n d"]) -> Points:
        value = self.spread(x)
        number, held = self._locate(value)
        unit = self.over(lambda axis, v, i: axis.place(v, i), value, number)
        return self._make_points(unit, number, value, held, namespace(x).isnan(x))

    def _classify(self, x: Float[Any, "n d"], given: Bool[Any, "n s"] | None = None) -> tuple[Any, Any]:
        value = self.spread(x)
        number, held = self._locate(value)
        regime, chosen = self._regimes(number, value, held, given)
        if regime is None:
            return None, held
        return regime.astype(np.int16), np.where(regime == INACTIVE, np.isnan(x), chosen(held))

    @_QUIET
    def _locate(self, value: Float[Any, "n s"]) -> tuple[Any, Any]:
        """Number of the value on each slot's axis, and whether the slot's domain contains the value."""

        def locate(axis: AbstractAxis, value: Any) -> tuple[Any, Any]:
            index = axis.index(value)
            return index, axis.has(value, index)

        return self.over(locate, value)

    def nearest(self, x: Float[Any, "n d"]) -> Points:
        """Points of the values nearest to ``x`` in each domain; inactive parameters have no value.

        An entry is valid unless its parameter is active and has no value.
        """
        value = self.spread(x)
        unit, number = self.over(lambda axis, v: (axis.unit(v), axis.index(v)), value)
        return self._make_points(unit, number, held=~namespace(x).isnan(value))

    def decode(self, at: Points) -> Float[Any, "n d"]:
        """Native values of points, NaN where inactive.

        Regimes are derived again from the decoded values. If rounding moves a value across a condition, its
        children follow, so the result is always a configuration of the space.
        """
        number = self.spread(at.index)
        value = self._native(self.spread(at.unit), number)
        regime, chosen = self._regimes(number, value, None)
        if regime is None:
            return value
        xp = namespace(value)
        return xp.where(regime == INACTIVE, xp.asarray(np.nan, dtype=value.dtype), chosen(value))

    def at(self, places: Float[Any, "n s"]) -> Points:
        """Points from a place on each slot's axis; the places of slots that do not apply are ignored."""
        return self._make_points(*self.over(lambda axis, u: axis.at(u), places))

    def drawn(self, levels: Float[Any, "n s"]) -> Points:
        """Random points from a level in [0, 1) for every slot: uniform on the axes, or over listed values."""
        return self._make_points(*self.over(lambda axis, u: axis.drawn(u), levels))

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
        groups, xp = zip(self.axes, self.which, strict=True), namespace(columns[0])
        parts = [function(axis, *(x[:, which] for x in columns)) for axis, which in groups]
        return jax.tree.map(lambda *arrays: xp.concatenate(arrays, axis=-1)[:, self.back], *parts)

    def spread(self, x: Shaped[Any, "n d"]) -> Shaped[Any, "n s"]:
        """Values of parameters, repeated for each of their slots."""
        return x if self.membership is None else x[:, self.parameter]

    def here(self, at: Points) -> Bool[Any, "n s"]:
        """Mask of the slots that apply at the points."""
        return self.spread(at.regime) == self.regime[None]

    def on_continuum(self, at: Points) -> Bool[Any, "n d"]:
        """Mask of the coordinates of points that are active and on a continuum."""
        active = at.regime != INACTIVE
        if self.membership is None:
            return active & ~self.counted[None]
        return active & ~namespace(at.unit).asarray(self.counted)[self._slot(at.regime)]

    def identify(self, at: Points) -> Int[Any, "n w"]:
        """As few integers as possible, different for different valid points; needs ``factors``."""
        assert self.factors is not None
        by_index, by_regime = self.factors
        index, regime = at.index[:, None], at.regime[:, None] - INACTIVE
        return (index * by_index[None] + regime * by_regime[None]).sum(axis=-1)

    def _sum_active(self, at: Points, x: Float[Any, "n s"]) -> Float[Any, " n"]:
        return namespace(x).where(self.here(at), x, 0).sum(axis=-1)

    def _native(self, unit: Any, number: Any) -> Any:
        return self.over(lambda axis, u, i: axis.native(u, i), unit, number)

    def _slot(self, regime: Any) -> Any:
        """Slots of the parameters, given their regimes; arbitrary for inactive parameters."""
        return self.first[None] + namespace(regime).clip(regime, 0, None)

    def _make_points(
        self, unit: Any, number: Any, value: Any = None, held: Any = None, absent: Any = None
    ) -> Points:
        """Build points from the place, number and value that each slot would have if it applied.

        By default the value is computed from the place, every slot has a value, and inactive parameters were
        given no value.
        """
        xp = namespace(unit)
        held = xp.ones(unit.shape, bool) if held is None else held
        if self.walk is None:
            return Points.of(xp.zeros(unit.shape, np.int32), unit, number.astype(np.int32), held)
        value = self._native(unit, number) if value is None else value
        regime, chosen = self._regimes(number, value, held)
        active = regime != INACTIVE
        absent = xp.ones(active.shape, bool) if absent is None else absent
        return Points.of(
            regime,
            xp.where(active, chosen(unit), xp.asarray(0.5, dtype=unit.dtype)),
            xp.where(active, chosen(number), xp.zeros((), number.dtype)).astype(np.int32),
            xp.where(active, chosen(held), absent),
        )

    def _regimes(
        self, number: Any, value: Any, held: Any, given: Any = None
    ) -> tuple[Any, Callable[[Any], Any]]:
        """The regime of every parameter (None if all are 0), and a function that picks values by slot.

        The function returns, for each parameter, the entry of the slot that applies. For an inactive
        parameter the entry is arbitrary.
        """
        if self.walk is None:
            return None, lambda x: x
        xp, tested = namespace(number), self.walk.parents[self.walk.parent]
        held = xp.ones(number.shape, bool) if held is None else held
        inside = self.walk.inside(number[:, tested], value[:, tested]) & held[:, tested]
        applies = self.walk.applied(inside, given)
        if self.membership is None:
            return xp.where(applies, np.int32(0), np.int32(INACTIVE)), lambda x: x
        one_more = applies.astype(np.float32) * (self.regime + 1).astype(np.float32)[None]
        regime = xp.matmul(one_more, self.membership).astype(np.int32) + INACTIVE
        slot = self._slot(regime)
        return regime, lambda x: xp.take_along_axis(x, slot, axis=-1)


def axis_shape(axis: AbstractAxis) -> Any:
    """Key that axes share if they can be stacked; lists are padded to a power of two."""
    room = 1 << (len(axis.values) - 1).bit_length() if isinstance(axis, Listed) else 0
    return jax.tree.structure(axis), room


def stack_axes(axes: list[AbstractAxis], dtype: Any) -> AbstractAxis:
    """Stack axes of one `axis_shape`, `_narrowed`; on the host a single axis is returned unchanged."""
    if dtype is None and len(axes) == 1:
        return axes[0]
    room = max((len(axis.values) for axis in axes if isinstance(axis, Listed)), default=0)
    same = [axis.padded(room) if isinstance(axis, Listed) else axis for axis in axes]
    return jax.tree.map(lambda *arrays: _narrowed(np.stack(arrays), dtype), *same)


def _narrowed(a: np.ndarray, dtype: Any) -> np.ndarray:
    """Convert to the types of a device with floats of ``dtype``; None leaves the array unchanged."""
    if dtype is None:
        return a
    if a.dtype == np.int64:
        limits = np.iinfo(np.int32)
        return np.clip(a, limits.min, limits.max).astype(np.int32)
    # A bound may be too large for the dtype. Then native values are refused in this dtype, see `check_dtype`.
    with np.errstate(over="ignore"):
        return a.astype(dtype) if a.dtype == np.float64 else a
