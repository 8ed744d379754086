"""The kernel axis: where the values of a domain lie in [0, 1], on the host (NumPy) or on the device."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from parzax.space import Categorical, Domain, Numeric, Ordinal
from parzax.space.domains import BOUND_SLACK, STEP_SLACK

# Slack in float32, where a native value may itself be off by a rounding of its last bit.
_SLACK_32 = 4 * 2.0**-23
_STEP_SLACK_32 = 1e-3
# Rounding may be this share of a cell, and this share of the length of a continuum.
_CELL_SLACK, _LENGTH_SLACK = 2.0**-3, 2.0**-10
# Values are numbered in int32.
_MOST_VALUES = 2**31 - 1


@dataclass(frozen=True)
class Axis:
    """How a domain maps to its kernel axis; static and hashable.

    A continuous domain [low, high] fills [0, 1], on its log axis where it has one. A domain of C values
    is C cells that fill [0, 1], and a value lies within its cell: steps of equal width for linear
    domains, from log(v - 1/2) to log(v + 1/2) for log integers, between the midpoints of neighbours for
    ordinals (on their log axis where they have one; the outer cells are as wide on both sides).
    Categories have codes and no positions.

    The functions take ``xp``, numpy or jax.numpy, so that a log is encoded in float64 on the host and
    traced values on the device by the same lines.

    Attributes:
        kind: "continuous", "stepped", "categorical", or "point" for a single value.
        n_values: number of values, 0 for a continuum.
        log: whether the axis is logarithmic.
        low, high: ends of the axis before it is scaled to [0, 1].
        first, step: first value and step of equal or log steps.
        values: the values of an ordinal domain, else empty.
        ends: native ends of a continuum.
    """

    kind: str
    n_values: int = 0
    log: bool = False
    low: float = 0.0
    high: float = 1.0
    first: float = 0.0
    step: float = 1.0
    values: tuple[float, ...] = ()
    ends: tuple[float, float] = (0.0, 1.0)

    @property
    def length(self) -> float:
        """Length of the axis before it is scaled."""
        return self.high - self.low

    @property
    def last(self) -> float:
        """Last of equal or log steps."""
        return self.first + self.step * (self.n_values - 1)

    @property
    def narrowest(self) -> float | None:
        """Width of the narrowest cell, 1 / C for C categories; None for a continuum."""
        if self.kind != "stepped":
            return 1 / self.n_values if self.n_values else None
        ends = np.array([0, max(self.n_values - 2, 0), self.n_values - 1])
        if self.values:
            ends = np.arange(self.n_values)
        lower, upper = self.cell(ends, np.float64, np)
        return float((upper - lower).min())

    # --- from native values ----------------------------------------------------------------------

    def index(self, x: Any, xp: ModuleType) -> Any:
        """Number of the nearest value, in int32; 0 for a continuum. ``x`` must be finite."""
        if self.kind in ("continuous", "point"):
            return xp.zeros(x.shape, dtype=xp.int32)
        if self.values:
            table = np.asarray(self.values)
            middles = xp.asarray((table[1:] + table[:-1]) / 2, dtype=x.dtype)
            return xp.searchsorted(middles, x).astype(xp.int32)
        steps = xp.round((x - self.first) / self.step)
        return xp.clip(steps, 0, self.n_values - 1).astype(xp.int32)

    def unit(self, x: Any, xp: ModuleType) -> Any:
        """Position in [0, 1]; the centre of the cell for stepped values. ``x`` must be finite."""
        if self.kind == "continuous":
            inside = _clipped(x, *self.ends, xp)
            position = xp.log(inside) if self.log else inside
            # Powers of two, so that a reciprocal of the length that XLA may take is a normal number.
            scale = 2.0 ** -max(min(math.frexp(self.length)[1], 1000), -1000)
            return _clipped((position * scale - self.low * scale) / (self.length * scale), 0.0, 1.0, xp)
        return self.centre(self.index(x, xp), x.dtype, xp)

    def holds(self, x: Any, xp: ModuleType) -> Any:
        """Whether the domain has this value, but for rounding of its dtype; False for NaN."""
        double = x.dtype == np.float64
        if self.kind == "continuous":
            lowest, highest = self.ends
            relative = BOUND_SLACK if double else _SLACK_32
            ends = (lowest, highest) if self.log else (max(abs(lowest), abs(highest)),) * 2
            return (x >= lowest - relative * ends[0]) & (x <= highest + relative * ends[1])
        finite = xp.where(xp.isfinite(x), x, 0)
        value = self.native(self.index(finite, xp), x.dtype, xp)
        slack = (STEP_SLACK if double else _STEP_SLACK_32) * self.step
        if self.values:
            gaps = np.diff(np.asarray(self.values))
            slack = (STEP_SLACK if double else _STEP_SLACK_32) * (float(gaps.min()) if len(gaps) else 1.0)
        # Beyond 2^24 a float32 holds no such slack, and the value is exact or wrong.
        return xp.abs(x - value) <= slack

    def log_jacobian(self, x: Any, xp: ModuleType) -> Any:
        """log |d unit / d native|: from a density on [0, 1] to one of native values; 0 for masses."""
        if self.kind != "continuous":
            return xp.zeros(x.shape, dtype=x.dtype)
        scale = -math.log(self.length)
        return scale - xp.log(x) if self.log else xp.full(x.shape, scale, dtype=x.dtype)

    # --- from numbers and positions --------------------------------------------------------------

    def centre(self, index: Any, dtype: Any, xp: ModuleType) -> Any:
        """Position of the ``index``-th value."""
        if self.kind != "stepped":
            return xp.full(index.shape, 0.5, dtype=dtype)
        return self._at(index, 0.0, dtype, xp)

    def cell(self, index: Any, dtype: Any, xp: ModuleType) -> tuple[Any, Any]:
        """Lower and upper end of the ``index``-th cell."""
        return self._at(index, -0.5, dtype, xp), self._at(index, 0.5, dtype, xp)

    def index_at(self, unit: Any, xp: ModuleType) -> Any:
        """Number of the cell that holds a position."""
        if self.values:
            edges = xp.asarray(self._edges()[1:-1], dtype=unit.dtype)
            return xp.searchsorted(edges, unit, side="right").astype(xp.int32)
        if self.log:
            steps = xp.exp(self.low + unit * self.length) - self.first
            return xp.clip(xp.round(steps / self.step), 0, self.n_values - 1).astype(xp.int32)
        return xp.clip(xp.floor(unit * self.n_values), 0, self.n_values - 1).astype(xp.int32)

    def native(self, index: Any, dtype: Any, xp: ModuleType) -> Any:
        """The ``index``-th value (a category's code is its own value)."""
        if self.kind == "categorical":
            return index.astype(dtype)
        if self.values:
            return xp.asarray(np.asarray(self.values), dtype=dtype)[index]
        return (self.first + index * xp.asarray(self.step, dtype=dtype)).astype(dtype)

    def native_at(self, unit: Any, xp: ModuleType) -> Any:
        """The native value at a position of a continuum."""
        position = self.low + unit * self.length
        return xp.clip(xp.exp(position) if self.log else position, *self.ends)

    def resolved(self, dtype: Any, native: bool) -> bool:
        """Whether a dtype tells the values apart: positions, and with ``native`` native values too."""
        info = np.finfo(dtype)
        eps, tiny, largest = float(info.eps), float(info.tiny), float(info.max)
        if self.kind == "stepped":
            ends = (self.values[0], self.values[-1]) if self.values else (self.first, self.last)
            gap = min(np.diff(np.asarray(self.values)), default=1.0) if self.values else self.step
            exact = max(map(abs, ends)) * eps <= 2 and all(float(v).is_integer() for v in (*ends, gap))
            slack = _STEP_SLACK_32 if info.bits <= 32 else STEP_SLACK
            return self.n_values * eps <= _CELL_SLACK and (
                not native or exact or max(map(abs, ends)) * eps <= slack * gap
            )
        if self.kind != "continuous" or not native:
            return True
        low, high = self.ends
        if self.log:
            return tiny <= low and high <= largest
        return (
            self.length <= largest
            and max(abs(low) * eps, abs(high) * eps, tiny) <= _LENGTH_SLACK * self.length
        )

    def _at(self, index: Any, shift: float, dtype: Any, xp: ModuleType) -> Any:
        """Position ``shift`` cells (of a linear axis) from the centre of a cell."""
        if self.values:
            edges = self._edges()
            table = np.asarray([self._position(v) for v in self.values])
            scaled = {0.0: (table - self.low) / self.length, -0.5: edges[:-1], 0.5: edges[1:]}[shift]
            return xp.asarray(scaled, dtype=dtype)[index]
        if self.log:
            value = xp.asarray(self.first + shift, dtype=dtype) + index.astype(dtype)
            return (xp.log(value) - self.low) / self.length
        return (index.astype(dtype) + (0.5 + shift)) / self.n_values

    def _position(self, value: float) -> float:
        return math.log(value) if self.log else value

    def _edges(self) -> np.ndarray:
        """The C + 1 ends of the cells of an ordinal domain."""
        return _ordinal_edges(np.asarray([self._position(v) for v in self.values]), self.low, self.length)


def _clipped(x: Any, low: float, high: float, xp: ModuleType) -> Any:
    """Within [low, high]; on a bound the slope is 1, where clip's would be a half."""
    return xp.where(x < low, xp.asarray(low, x.dtype), xp.where(x > high, xp.asarray(high, x.dtype), x))


def _ordinal_edges(position: np.ndarray, low: float, length: float) -> np.ndarray:
    middles = (position[1:] + position[:-1]) / 2
    return np.concatenate([[0.0], (middles - low) / length, [1.0]])


@lru_cache(maxsize=4096)
def kernel_axis(domain: Domain) -> Axis:
    """The axis of a domain.

    Raises:
        ValueError: for more values than an int32 can number.
    """
    if (domain.n_values or 0) > _MOST_VALUES:
        raise ValueError(
            f"{domain!r} has {domain.n_values} values, more than kernels can number; "
            "use Float, or a larger step."
        )
    if domain.is_single:
        value = domain.values[0] if isinstance(domain, Ordinal) else getattr(domain, "low", 0.0)
        return Axis("point", 1, first=float(value))
    if isinstance(domain, Categorical):
        return Axis("categorical", domain.n_values)
    position: Callable[[float], float] = math.log if getattr(domain, "log", False) else float
    if isinstance(domain, Ordinal):
        values = tuple(map(float, domain.values))
        ends = [position(v) for v in (values[0], values[1], values[-2], values[-1])]
        low, high = ends[0] - (ends[1] - ends[0]) / 2, ends[3] + (ends[3] - ends[2]) / 2
        return Axis("stepped", len(values), domain.log, low, high, values=values)
    assert isinstance(domain, Numeric)
    low, high = float(domain.low), float(domain.high)
    step = getattr(domain, "step", None)
    if step is None:
        return Axis("continuous", 0, domain.log, position(low), position(high), ends=(low, high))
    half, size = step / 2, domain.n_values
    assert size is not None
    return Axis("stepped", size, domain.log, position(low - half), position(high + half), low, float(step))
