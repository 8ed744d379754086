"""The axis of a domain: where its values lie in [0, 1].

A continuum fills [0, 1]. A discrete value is the centre of a cell, and the cells fill [0, 1]. Fields are
numbers or arrays, and methods are elementwise: axes of equal structure can be stacked and mapped by
`jax.vmap`. NumPy arrays are mapped on the host in float64, JAX arrays on their device.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from jax.tree_util import register_dataclass

# Logged values carry rounding errors: a value may exceed a bound by this share of the bound (in float32, by
# four units in the last place).
BOUND_SLACK = 64 * 2.0**-52
_BOUND_SLACK_32 = 4 * 2.0**-23
# Largest number on an open axis; float32 represents it and its inverse.
_FARTHEST = 1e37
# Largest rounding error of a value, as a share of the length of a continuum.
_LENGTH_SLACK = 2.0**-10

# Tolerance of values: a share of the step for stepped values (a float32 thousands of steps from 0 needs it),
# and a share of the number for listed values.
STEP_SLACK = 1e-3
_VALUE_SLACK = 1e-6
# Largest rounding error of a place, as a share of a cell.
_CELL_SLACK = 2.0**-3


@final
@register_dataclass
@dataclass(frozen=True, eq=False)
class Continuum:
    """All numbers from ``low`` to ``high``; they fill [0, 1], on a log axis if ``log``.

    If an end is open, a place is the distance from the other end, or from 0, on the log axis if ``log``.
    """

    discrete: ClassVar[bool] = False
    step: ClassVar[None] = None
    n_values: Any  # 0
    low: Any
    high: Any
    start: Any  # position of the lower end
    length: Any  # distance from the lower to the upper end
    log_length: Any  # logarithm of the length, which every dtype can represent
    # Power of two that brings the length near 1, so that its reciprocal is a normal number.
    shrink: Any
    log: bool = field(metadata={"static": True})
    ends: tuple[float, float] = field(default=(0.0, 1.0), metadata={"static": True})  # places of low and high

    @classmethod
    def between(cls, low: float, high: float, log: bool) -> "Continuum":
        """The axis of a domain with low < high; an open end is infinite, or 0 on a log axis."""
        is_open = low == -math.inf or (log and low == 0), high == math.inf
        if any(is_open):
            nearest = 1 / _FARTHEST if log else -_FARTHEST
            low, high = nearest if is_open[0] else low, _FARTHEST if is_open[1] else high
            bound = high if is_open[0] else low
            start = 0.0 if all(is_open) else math.log(bound) if log else bound
            ends = -math.inf if is_open[0] else 0.0, math.inf if is_open[1] else 0.0
            return cls(np.int64(0), *map(np.float64, (low, high, start, 1, 0, 1)), log=log, ends=ends)
        start, end = (math.log(low), math.log(high)) if log else (low, high)
        length = end - start
        shrink = 2.0 ** -max(min(math.frexp(length)[1], 1000), -1000)
        places = map(np.float64, (low, high, start, length, math.log(length), shrink))
        return cls(np.int64(0), *places, log=log)

    def index(self, x: Any) -> Any:
        """0 for any x."""
        return x.__array_namespace__().zeros(x.shape, self.n_values.dtype)

    def place(self, x: Any, index: Any) -> Any:
        """Place of x in [0, 1], given its ``index``; finite, with a finite slope, for any x."""
        xp = x.__array_namespace__()
        number = xp.where(xp.isnan(x), self._at(self.start + self.length / 2), x)
        inside = _clipped(number, self.low, self.high)
        position = xp.log(inside) if self.log else inside
        from_start = position * self.shrink - self.start * self.shrink
        return _clipped(from_start / (self.length * self.shrink), *self.ends)

    def has(self, x: Any, index: Any) -> Any:
        """Whether the domain contains x, given its ``index``, up to rounding of the dtype; False for NaN."""
        slack = BOUND_SLACK if x.dtype == np.float64 else _BOUND_SLACK_32
        low, high = abs(self.low), abs(self.high)
        if not self.log and not self.is_open:
            low = high = x.__array_namespace__().maximum(low, high)
        return (x >= self.low - slack * low) & (x <= self.high + slack * high)

    @property
    def is_open(self) -> bool:
        """Whether an end is open."""
        return self.ends != (0.0, 1.0)

    def native(self, unit: Any, index: Any) -> Any:
        """The native value at place ``unit``, in the dtype of ``unit``."""
        return unit.__array_namespace__().clip(self._at(self.start + unit * self.length), self.low, self.high)

    def log_jacobian(self, unit: Any) -> Any:
        """log |d unit / d native|: converts a density on [0, 1] to one of native values."""
        position = (
            self.start + unit * self.length if self.log else unit.__array_namespace__().zeros_like(unit)
        )
        return -self.log_length - position

    def at(self, unit: Any) -> tuple[Any, Any]:
        """``unit`` and 0, see `Cells.at`."""
        return unit, self.index(unit)

    def drawn(self, level: Any) -> tuple[Any, Any]:
        """Place and number of a random value, uniform on the axis, from a uniform number in [0, 1)."""
        return self.at(level)

    def log_uniform(self, index: Any, dtype: Any) -> Any:
        """log density of the values that `drawn` draws, in unit coordinates."""
        return index.__array_namespace__().zeros(index.shape, dtype)

    def resolved(self, dtype: Any, native: bool) -> bool:
        """Whether a dtype tells apart the places of all values, and with ``native`` the native values too."""
        info = np.finfo(dtype)
        tiny, largest = float(info.tiny), float(info.max)
        if self.is_open:
            return True
        if native and self.log:
            return bool(tiny <= self.low and self.high <= largest)
        rounding = max(float(info.eps) * max(abs(self.low), abs(self.high)), tiny)
        return not native or bool(self.length <= largest and rounding <= _LENGTH_SLACK * self.length)

    def _at(self, position: Any) -> Any:
        return position.__array_namespace__().exp(position) if self.log else position


@final
@register_dataclass
@dataclass(frozen=True, eq=False)
class Cells:
    """C values, each within its cell; the cells fill [0, 1]. There may be a single value.

    `stepped` values are at equal steps, such as whole numbers and the codes of categories; `listed` values
    are any ascending numbers, in tables that may be padded.
    """

    discrete: ClassVar[bool] = True
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    is_open: ClassVar[bool] = False
    n_values: Any
    first: Any = None  # the smallest value
    step: Any = None  # distance to the next value
    last: Any = None  # steps from the first to the last value; `n_values` may not fit a device's integers
    start: Any = None  # lower end of the log axis, in logarithms
    length: Any = None  # length of the log axis
    values: Any = None  # (C,) the numbers on a list, followed by padding
    middles: Any = None  # (C - 1,) midpoints between neighbouring values, followed by infinity as padding
    places: Any = None  # (C,) places of the values in [0, 1]
    edges: Any = None  # (C + 1,) ends of the cells, followed by infinity as padding
    log: bool = field(default=False, metadata={"static": True})  # whether stepped values are on a log axis

    @classmethod
    def stepped(cls, n_values: int, first: float = 0.0, step: float = 1.0, log: bool = False) -> "Cells":
        """The axis of ``n_values`` numbers: ``first``, ``first + step``, and so on.

        The cells have equal width; if ``log``, the cell of v goes from log(v - 1/2) to log(v + 1/2).
        """
        start = math.log(first - 0.5) if log else 0.0
        length = math.log(first + n_values - 0.5) - start if log else 1.0
        places = map(np.float64, (first, step, n_values - 1, start, length))
        return cls(np.int64(n_values), *places, log=log)

    @classmethod
    def listed(cls, values: Sequence[float], log: bool) -> "Cells":
        """The axis of two or more numbers, logarithmic if ``log``.

        Cells meet midway between neighbours, and the outer cells are symmetric.
        """
        table = np.asarray(values, np.float64)
        position = np.array([math.log(v) if log else v for v in values])
        half = np.diff(position) / 2
        low, high = position[0] - half[0], position[-1] + half[-1]
        edges = np.concatenate([[low], (position[1:] + position[:-1]) / 2, [high]])
        middles = (table[1:] + table[:-1]) / 2
        places, edges = ((x - low) / (high - low) for x in (position, edges))
        return cls(np.int64(len(values)), values=table, middles=middles, places=places, edges=edges)

    @property
    def room(self) -> int:
        """Length of the table of listed values, with padding; 0 for stepped values."""
        return 0 if self.values is None else len(self.values)

    def padded(self, n: int) -> "Cells":
        """The same axis; the tables of listed values are padded to n values."""
        if self.values is None:
            return self
        fills = {"values": self.values[-1], "middles": np.inf, "places": self.places[-1], "edges": np.inf}
        wider = (0, n - self.room)
        tables = {name: np.pad(getattr(self, name), wider, constant_values=x) for name, x in fills.items()}
        return replace(self, **tables)

    def value(self, index: Any, dtype: Any) -> Any:
        """The ``index``-th value; for categories, the code itself."""
        if self.values is not None:
            return self.values.astype(dtype)[index]
        return (self.first + index.astype(dtype) * self.step).astype(dtype)

    def index(self, x: Any) -> Any:
        """Index of the value nearest to x; arbitrary if x is not finite."""
        xp = x.__array_namespace__()
        if self.values is not None:
            return xp.searchsorted(self.middles, x).astype(self.n_values.dtype)
        steps = xp.round(self._steps(x))
        return _limited(xp.where(xp.isfinite(steps), steps, 0), self.n_values)

    def has(self, x: Any, index: Any) -> Any:
        """Whether the domain contains x, given its ``index``, up to rounding of the dtype; False for NaN."""
        xp = x.__array_namespace__()
        if self.values is not None:
            value = self.value(_limited(index, self.n_values), x.dtype)
            return xp.abs(x - value) <= _VALUE_SLACK * _widened(x) * xp.abs(value)
        # A device may round a product and a sum at once, so no product is added to anything.
        steps, slack = self._steps(x), STEP_SLACK * _widened(x)
        nearest = xp.round(steps)
        near = (steps >= nearest - slack) & (steps <= nearest + slack)
        return near & (nearest >= 0) & (nearest <= self.last)

    def place(self, x: Any, index: Any) -> Any:
        """Centre of the ``index``-th cell, in the dtype of x."""
        return self._place(index, x.dtype, 0.0) if self.values is None else self.places.astype(x.dtype)[index]

    def native(self, unit: Any, index: Any) -> Any:
        """The ``index``-th value, in the dtype of ``unit``."""
        return self.value(_limited(index, self.n_values), unit.dtype)

    def cell(self, index: Any, dtype: Any) -> tuple[Any, Any]:
        """Lower and upper end of the ``index``-th cell; they differ even if both round to the same number."""
        if self.values is not None:
            edges = self.edges.astype(dtype)
            return edges[index], edges[index + 1]
        lower, upper = self._place(index, dtype, -0.5), self._place(index, dtype, 0.5)
        xp = lower.__array_namespace__()
        return lower, xp.maximum(upper, xp.nextafter(lower, xp.full_like(lower, 2)))

    def width(self, index: Any, dtype: Any) -> Any:
        """Width of the ``index``-th cell, more precise than the difference of its ends."""
        xp = index.__array_namespace__()
        if self.values is not None:
            lower, upper = self.cell(index, dtype)
            return upper - lower
        if self.log:
            return xp.log1p(1 / (self.first - 0.5 + index.astype(dtype))) / self.length
        return xp.zeros(index.shape, dtype) + 1 / self.n_values.astype(dtype)

    def log_jacobian(self, unit: Any) -> Any:
        """0: masses are the same in unit coordinates and in native values."""
        return unit.__array_namespace__().zeros_like(unit)

    def at(self, unit: Any) -> tuple[Any, Any]:
        """Place and number of the value whose cell contains ``unit``."""
        xp = unit.__array_namespace__()
        if self.values is not None:
            number = xp.searchsorted(self.edges, unit, side="right") - 1
        elif self.log:
            number = xp.round((xp.exp(self.start + unit * self.length) - self.first) / self.step)
        else:
            number = xp.floor(unit * self.n_values.astype(unit.dtype))
        index = _limited(number, self.n_values)
        return self.place(unit, index), index

    def drawn(self, level: Any) -> tuple[Any, Any]:
        """Place and number of a random value, from a uniform number in [0, 1).

        The value is uniform on the axis, or over the values of a list.
        """
        if self.values is None:
            return self.at(level)
        # Every value has the same probability, however wide its cell is.
        number = level.__array_namespace__().floor(level * self.n_values.astype(level.dtype))
        index = _limited(number, self.n_values)
        return self.place(level, index), index

    def log_uniform(self, index: Any, dtype: Any) -> Any:
        """log mass of the values that `drawn` draws."""
        xp = index.__array_namespace__()
        if self.values is None:
            return xp.log(self.width(index, dtype))
        return xp.zeros(index.shape, dtype) - xp.log(self.n_values.astype(dtype))

    def narrowest(self) -> float:
        """Width of the narrowest cell."""
        return float(self.width(self._telling(), np.float64).min())

    def resolved(self, dtype: Any, native: bool) -> bool:
        """As `Continuum.resolved`."""
        info, n = np.finfo(dtype), int(self.n_values)
        eps = float(info.eps)
        if n == 1:
            return True
        values = self.value(self._telling(), np.float64)
        size, gaps = np.abs(values), np.diff(values)
        exact = size.max() * eps <= 2 and (values == np.round(values)).all()
        # Neighbours are compared: on a log scale the values may differ by many orders of magnitude.
        apart = (np.maximum(size[1:], size[:-1]) * eps <= STEP_SLACK * gaps).all()
        normal = ((size == 0) | (size >= float(info.tiny))).all() and size.max() <= float(info.max)
        return bool(n * eps <= _CELL_SLACK and (not native or exact or (apart and normal)))

    def _telling(self) -> Any:
        """Indices of values among which the narrowest cell and the closest neighbours are."""
        n = int(self.n_values)
        return np.arange(n) if self.values is not None or n < 2**12 else np.array([0, 1, n - 2, n - 1])

    def _steps(self, x: Any) -> Any:
        """Steps from the first of stepped values to x; XLA, too, multiplies by the inverse of a constant."""
        return (x - self.first) * (1 / self.step)

    def _place(self, index: Any, dtype: Any, shift: float) -> Any:
        """Place at a distance of ``shift`` steps from the ``index``-th of stepped values."""
        if self.log:
            value = self.first + shift + index.astype(dtype)
            return (value.__array_namespace__().log(value) - self.start) / self.length
        return (index.astype(dtype) + (0.5 + shift)) / self.n_values.astype(dtype)


# How the values of a domain lie on [0, 1].
Axis: TypeAlias = Continuum | Cells


def _widened(x: Any) -> int:
    """How many times the tolerance of float64 holds for the dtype of x: float32 rounds its arithmetic."""
    return 1 if x.dtype == np.float64 else 3


def _limited(index: Any, n_values: Any) -> Any:
    """The index as an integer, clipped to 0, ..., n_values - 1."""
    return index.__array_namespace__().clip(index.astype(n_values.dtype), 0, n_values - 1)


def _clipped(x: Any, low: Any, high: Any) -> Any:
    """x, clipped to [low, high]. The slope on a bound is 1; with `clip` it would be 1/2."""
    xp = x.__array_namespace__()
    if xp is np:
        return np.minimum(np.maximum(x, low), high)
    return xp.where(x < low, low, xp.where(x > high, high, x))
