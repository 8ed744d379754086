"""The axis of a domain: where its values lie in [0, 1]. This file has continua; `cells` has discrete values.

Fields are numbers or arrays, and methods are elementwise: axes of equal structure can be stacked and mapped
by `jax.vmap`. NumPy arrays are mapped on the host in float64, JAX arrays on their device.
"""

import abc
import math
from typing import Any, ClassVar, final

import equinox as eqx
import numpy as np

from parzax._numerics import namespace

# Logged values carry rounding errors: a value may exceed a bound by this share of the bound (in float32, by
# four units in the last place).
BOUND_SLACK = 64 * 2.0**-52
_BOUND_SLACK_32 = 4 * 2.0**-23
# Largest rounding error of a value, as a share of the length of a continuum.
_LENGTH_SLACK = 2.0**-10


class AbstractAxis(eqx.Module):
    """How the values of a domain lie on [0, 1]."""

    n_values: eqx.AbstractVar[Any]  # number of values, 0 for a continuum
    discrete: ClassVar[bool]

    # Equinox wraps a method in a module at each access, which costs more than the method on one row.
    __getattribute__ = object.__getattribute__

    @abc.abstractmethod
    def index(self, x: Any) -> Any:
        """Index of the value nearest to x; 0 on a continuum, and arbitrary if x is not finite."""

    @abc.abstractmethod
    def place(self, x: Any, index: Any) -> Any:
        """Place of x in [0, 1], given its ``index``; for a discrete value the centre of its cell.

        It is finite, with a finite slope, for any x.
        """

    @abc.abstractmethod
    def has(self, x: Any, index: Any) -> Any:
        """Whether the domain contains x, given its ``index``, up to rounding of the dtype; False for NaN."""

    def unit(self, x: Any) -> Any:
        """`place` of x, without a given index."""
        return self.place(x, self.index(x))

    def holds(self, x: Any) -> Any:
        """`has` for x, without a given index."""
        return self.has(x, self.index(x))

    @abc.abstractmethod
    def native(self, unit: Any, index: Any) -> Any:
        """The native value: at place ``unit`` on a continuum, or with number ``index`` on a discrete axis.

        It has the dtype of ``unit``.
        """

    def log_jacobian(self, unit: Any) -> Any:
        """log |d unit / d native|: converts a density on [0, 1] to one of native values; 0 for masses."""
        return namespace(unit).zeros_like(unit)

    @abc.abstractmethod
    def at(self, unit: Any) -> tuple[Any, Any]:
        """Place and number of the value whose cell contains ``unit``; on a continuum ``unit`` and 0."""

    def drawn(self, level: Any) -> tuple[Any, Any]:
        """Place and number of a random value, from a uniform number in [0, 1).

        The value is uniform on the axis, or over the values of a list.
        """
        return self.at(level)

    @abc.abstractmethod
    def log_uniform(self, index: Any, dtype: Any) -> Any:
        """log density, or log mass, of the values that `drawn` draws."""

    @abc.abstractmethod
    def resolved(self, dtype: Any, native: bool) -> bool:
        """Whether a dtype tells apart the places of all values, and with ``native`` the native values too."""


@final
class Continuum(AbstractAxis):
    """All numbers from ``low`` to ``high``; they fill [0, 1], on a log axis if ``log``."""

    discrete: ClassVar[bool] = False
    n_values: Any
    low: Any
    high: Any
    start: Any  # position of the lower end
    length: Any  # distance from the lower to the upper end
    log_length: Any  # logarithm of the length, which every dtype can represent
    # Power of two that brings the length near 1, so that its reciprocal is a normal number.
    shrink: Any
    log: bool = eqx.field(static=True)

    @classmethod
    def between(cls, low: float, high: float, log: bool) -> "Continuum":
        """The axis of a domain with low < high."""
        start, end = (math.log(low), math.log(high)) if log else (low, high)
        length = end - start
        shrink = 2.0 ** -max(min(math.frexp(length)[1], 1000), -1000)
        places = map(np.float64, (low, high, start, length, math.log(length), shrink))
        return cls(np.int64(0), *places, log=log)

    def index(self, x: Any) -> Any:
        return _zeros(x)

    def place(self, x: Any, index: Any) -> Any:
        xp = namespace(x)
        number = xp.where(xp.isnan(x), self._at(self.start + self.length / 2), x)
        inside = _clipped(number, self.low, self.high)
        position = xp.log(inside) if self.log else inside
        from_start = position * self.shrink - self.start * self.shrink
        return _clipped(from_start / (self.length * self.shrink), 0.0, 1.0)

    def has(self, x: Any, index: Any) -> Any:
        slack = BOUND_SLACK if x.dtype == np.float64 else _BOUND_SLACK_32
        low, high = abs(self.low), abs(self.high)
        if not self.log:
            low = high = namespace(x).maximum(low, high)
        return (x >= self.low - slack * low) & (x <= self.high + slack * high)

    def native(self, unit: Any, index: Any) -> Any:
        return namespace(unit).clip(self._at(self.start + unit * self.length), self.low, self.high)

    def log_jacobian(self, unit: Any) -> Any:
        position = self.start + unit * self.length if self.log else namespace(unit).zeros_like(unit)
        return -self.log_length - position

    def at(self, unit: Any) -> tuple[Any, Any]:
        return unit, _zeros(unit)

    def log_uniform(self, index: Any, dtype: Any) -> Any:
        return namespace(index).zeros(index.shape, dtype)

    def resolved(self, dtype: Any, native: bool) -> bool:
        info = np.finfo(dtype)
        eps, tiny, largest = float(info.eps), float(info.tiny), float(info.max)
        if not native:
            return True
        if self.log:
            return bool(tiny <= self.low and self.high <= largest)
        rounding = max(abs(self.low) * eps, abs(self.high) * eps, tiny)
        return bool(self.length <= largest and rounding <= _LENGTH_SLACK * self.length)

    def _at(self, position: Any) -> Any:
        return namespace(position).exp(position) if self.log else position


def _zeros(x: Any) -> Any:
    xp = namespace(x)
    return xp.zeros(x.shape, _integer(xp))


def as_integers(x: Any) -> Any:
    """Convert floats that are whole numbers to integers."""
    return x.astype(_integer(namespace(x)))


def _integer(xp: Any) -> Any:
    """The integer type: int32 on a device, int64 on the host, where a domain may have more values."""
    return np.int64 if xp is np else np.int32


def limited(index: Any, n_values: Any) -> Any:
    """The index, clipped to 0, ..., n_values - 1."""
    return namespace(index).clip(index, 0, n_values.astype(index.dtype) - 1)


def _clipped(x: Any, low: Any, high: Any) -> Any:
    """x, clipped to [low, high]. The slope on a bound is 1; with `clip` it would be 1/2."""
    xp = namespace(x)
    if xp is np:
        return np.minimum(np.maximum(x, low), high)
    return xp.where(x < low, low, xp.where(x > high, high, x))
