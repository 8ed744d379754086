"""Spaces in unit coordinates: what the device sees of a search space, whatever its names and bounds."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from parzax.kernels import Axis, kernel_axis
from parzax.space import Between, Categorical, Condition, Domain, Float, In, Int, Space, choice_key

# Stepped domains of more values are continuous on their axis: float32 positions tell so many apart.
_MOST_STEPS = 2**16


class _Column(NamedTuple):
    """One regime of one parameter: its axis, and in which form its values travel."""

    axis: Axis
    form: str  # "native", "unit", "cell" (a step as a position), "number" (of a step)
    domain: Domain


class Codec:
    """Native rows to rows of an equivalent space, and back, on the host in float64.

    A continuous parameter becomes Float(0, 1), one of equal steps Int(0, n - 1), a category its code, with
    the same kernel axes; so spaces that differ in names and bounds alone share one compiled program, and
    float32 on the device resolves any range. Parents of conditions stay as they are, since conditions
    speak of their values; ordinals and log integers too.

    Attributes:
        space: the equivalent space; parameters are named p0, p1, ...
    """

    def __init__(self, space: Space, *, smooth: bool = False) -> None:
        """Translate a space.

        Args:
            space: the native space.
            smooth: treat every stepped parameter as positions on a continuous axis, so that all numeric
                parameters are alike.
        """
        self.native = space
        parents = {
            condition.parent
            for domains in space.domains
            for domain in domains
            for condition in domain.conditions
            if isinstance(condition, (In, Between))
        }
        names = {name: f"p{j}" for j, name in enumerate(space.names)}
        self._columns = tuple(
            tuple(_column(domain, name in parents and not _is_coded(domains), smooth) for domain in domains)
            for name, domains in zip(space.names, space.domains, strict=True)
        )
        self._conditional = space.is_conditional
        self._several = any(len(domains) > 1 for domains in space.domains)
        self.space = Space(
            {
                names[name]: tuple(
                    replace(column.domain, when=_renamed(domain.conditions, space, names))
                    for column, domain in zip(columns, domains, strict=True)
                )
                for name, domains, columns in zip(space.names, space.domains, self._columns, strict=True)
            }
        )

    def encode(self, row: np.ndarray) -> np.ndarray | None:
        """A native row (d,), NaN where inactive, in the equivalent space; None for a row that lacks a value.

        A value outside its domain counts as the nearest inside; one of an inactive parameter is left out.
        """
        regimes = self.native.derive_regimes(row).tolist() if self._conditional else [0] * len(row)
        out = np.full(len(row), np.nan)
        for j, (regime, value) in enumerate(zip(regimes, row.tolist(), strict=True)):
            if regime >= 0:
                if value != value:
                    return None
                out[j] = _encoded(self._columns[j][regime], value)
        return out

    def encode_rows(self, x: np.ndarray, regime: np.ndarray) -> np.ndarray:
        """Values inside their domains, (n, d), of given regimes in the equivalent space; NaN where -1."""
        out = np.full(x.shape, np.nan)
        for j, own in enumerate(self._columns):
            for i, column in enumerate(own):
                here = regime[:, j] == i
                if here.any():
                    out[here, j] = _all_encoded(column, x[here, j])
        return out

    def at_level(self, level: float) -> np.ndarray:
        """The row of the equivalent space that is everywhere at ``level`` in [0, 1) of its axis."""
        columns = [own[0] for own in self._columns]
        return np.array(
            [level if c.domain == Float(0, 1) else np.floor(level * (c.axis.n_values or 1)) for c in columns]
        )

    def decode(self, row: np.ndarray) -> np.ndarray:
        """A row (d,) of the equivalent space in native units."""
        row = np.asarray(row, np.float64)
        if not self._several:
            return np.array(
                [
                    _decoded(own[0], x) if x == x else x
                    for own, x in zip(self._columns, row.tolist(), strict=True)
                ]
            )
        # A parameter's regime is known once those of its parents are.
        out = np.full(len(row), np.nan)
        for name in self.native.order:
            j = self.native.index(name)
            if row[j] == row[j]:
                out[j] = row[j]  # whatever is not NaN is active
                regime = int(self.native.derive_regimes(out)[j])
                out[j] = _decoded(self._columns[j][max(regime, 0)], row[j])
        return out


def _column(domain: Domain, is_parent: bool, smooth: bool) -> _Column:
    axis = kernel_axis(domain)
    if is_parent:
        return _Column(axis, "native", replace(domain, when=()))
    if isinstance(domain, Categorical):
        return _Column(axis, "native", Categorical(tuple(range(domain.n_values))))
    if axis.kind == "point":
        return _Column(axis, "number", Int(0, 0))
    if axis.kind == "continuous":
        return _Column(axis, "unit", Float(0, 1))
    if smooth or axis.n_values > _MOST_STEPS or not axis.resolved(np.float32, True):
        return _Column(axis, "cell", Float(0, 1))
    if axis.log or axis.values:
        return _Column(axis, "native", replace(domain, when=()))
    return _Column(axis, "number", Int(0, axis.n_values - 1))


def _encoded(column: _Column, value: float) -> float:
    axis = column.axis
    if axis.kind == "categorical":
        return value
    if axis.kind == "continuous":
        low, high = axis.ends
        inside = min(max(value, low), high)
        if column.form == "native":
            return inside
        # As `Axis.unit`, of which a study of many trials would call NumPy for every single value.
        return min(max(((math.log(inside) if axis.log else inside) - axis.low) / axis.length, 0.0), 1.0)
    return _of_number(column, axis.index(np.array([value]), np)).item()


def _all_encoded(column: _Column, values: np.ndarray) -> np.ndarray:
    """`_encoded` of many values inside the domain."""
    axis = column.axis
    if axis.kind == "categorical" or (axis.kind == "continuous" and column.form == "native"):
        return values
    return axis.unit(values, np) if axis.kind == "continuous" else _of_number(column, axis.index(values, np))


def _of_number(column: _Column, number: np.ndarray) -> np.ndarray:
    """Stepped values, by their numbers, as they travel."""
    if column.form == "number":
        return number
    form = column.axis.centre if column.form == "cell" else column.axis.native
    return form(number, np.float64, np)


def _decoded(column: _Column, value: float) -> float:
    axis = column.axis
    if axis.kind == "continuous":
        if column.form == "unit":
            position = axis.low + value * axis.length
            value = math.exp(position) if axis.log else position
        return min(max(value, axis.ends[0]), axis.ends[1])
    if axis.kind == "categorical":
        return value
    if axis.kind == "point":
        return axis.first
    at = np.array([value])
    number = {
        "cell": lambda: axis.index_at(at, np),
        "number": lambda: np.rint(at).astype(np.int32),
        "native": lambda: axis.index(at, np),
    }[column.form]()
    return axis.native(number, np.float64, np).item()


def _renamed(conditions: tuple[Condition, ...], space: Space, names: dict[str, str]) -> tuple[Condition, ...]:
    out: list[Condition] = []
    for condition in conditions:
        if isinstance(condition, (In, Between)):
            parents = space[condition.parent]
            if isinstance(condition, In) and _is_coded(parents):
                only = parents[0]
                assert isinstance(only, Categorical)
                codes = [only.codes[choice_key(value)] for value in condition.values]
                condition = In(condition.parent, codes)
            condition = replace(condition, parent=names[condition.parent])
        out.append(condition)
    return tuple(out)


def _is_coded(domains: tuple[Domain, ...]) -> bool:
    """Whether categories are known by their codes: not where a code means one choice here, another there."""
    return isinstance(domains[0], Categorical) and len(domains) == 1
