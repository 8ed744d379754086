"""The laws of the kernels and of conditional mixtures of them, as loops in NumPy float64, from raw data.

Oracle of the samplers: it knows native values and the definitions of the kernels, and no code of parzax;
domains are read for their bounds alone.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import log_ndtr

import parzax as px

from . import frequencies
from .frequencies import Checks


def truncated_cdf(x, loc, scale, low=0.0, high=1.0):
    """P(X <= x) of a truncated normal, from the logs of the tails on the side where they are small."""
    z, a, b = np.broadcast_arrays(*((np.asarray(v, float) - loc) / scale for v in (x, low, high)))
    z = np.clip(z, a, b)
    flip = b < -a
    a, b, z = np.where(flip, -b, a), np.where(flip, -a, b), np.where(flip, -z, z)
    start = log_ndtr(-a)
    share = np.expm1(log_ndtr(-z) - start) / np.expm1(log_ndtr(-b) - start)
    return np.where(flip, 1 - share, share)


# --- one regime of one parameter -------------------------------------------------------------


class Line:
    """A continuum; kernels are truncated normals on its axis."""

    def __init__(self, domain: px.Float) -> None:
        self.log = domain.log
        self.low, self.high = float(domain.low), float(domain.high)
        self.cuts = self.native(np.array([0.25, 0.6]))

    def unit(self, x):
        x = np.clip(x, self.low, self.high)
        low, high, x = (np.log(v) if self.log else v for v in (self.low, self.high, x))
        return (x - low) / (high - low)

    def native(self, unit):
        if self.log:
            return np.exp(math.log(self.low) + unit * math.log(self.high / self.low))
        return self.low + unit * (self.high - self.low)

    def cdf(self, x, at, scale):
        """P(X <= x) for a kernel at ``at``, or the wide one (None)."""
        loc, scale = (0.5, 1.0) if at is None else (self.unit(at), scale)
        return truncated_cdf(self.unit(x), loc, scale)

    def cell_masses(self, at, scale):
        return np.diff(np.concatenate([[0], self.cdf(self.cuts, at, scale), [1]]))

    def cell_of(self, x):
        return np.searchsorted(self.cuts, x, side="right")

    def cell_examples(self):
        ends = np.concatenate([[self.low], self.cuts, [self.high]])
        return (ends[1:] + ends[:-1]) / 2

    def outside(self, x, eps):
        slack = 4 * eps * max(abs(self.low), abs(self.high), 0 if self.log else self.high - self.low)
        slack = np.where(x < (self.low + self.high) / 2, 4 * eps * self.low, slack) if self.log else slack
        return ~((x >= self.low - slack) & (x <= self.high + slack))


class Values:
    """Steps, integers, ordinals: kernels are the masses of a normal within cells around the values."""

    def __init__(self, domain: Any) -> None:
        self.log = bool(getattr(domain, "log", False))
        if isinstance(domain, px.Ordinal):
            self.values = np.asarray(domain.values, float)
            position = self.position(self.values)
            inner = (position[1:] + position[:-1]) / 2
            ends = [2 * position[0] - inner[0], *inner, 2 * position[-1] - inner[-1]]
        else:
            half, count = domain.step / 2, round((domain.high - domain.low) / domain.step) + 1
            self.values = domain.low + domain.step * np.arange(count)
            ends = self.position(np.append(self.values - half, self.values[-1] + half))
        self.low, self.length = ends[0], ends[-1] - ends[0]
        self.ends = (np.asarray(ends) - self.low) / self.length
        self.n_groups = min(3, len(self.values))

    def position(self, x):
        return np.log(x) if self.log else np.asarray(x, float)

    def number(self, x):
        return np.abs(self.values - np.asarray(x)[..., None]).argmin(axis=-1)

    def masses(self, at, scale):
        """Probability of every value for a kernel at ``at``, or the wide one (None)."""
        loc, scale = (0.5, 1.0) if at is None else ((self.position(at) - self.low) / self.length, scale)
        below = truncated_cdf(self.ends, loc, scale)
        # From whichever end is nearer, so that far cells keep their digits.
        above = truncated_cdf(1 - self.ends[::-1], 1 - loc, scale)[::-1]
        return np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))

    def _groups(self):
        return np.arange(len(self.values)) * self.n_groups // len(self.values)

    def cell_masses(self, at, scale):
        return np.bincount(self._groups(), self.masses(at, scale))

    def cell_of(self, x):
        return self._groups()[self.find(x)]

    def find(self, x):
        middles = (self.values[1:] + self.values[:-1]) / 2
        return np.searchsorted(middles, x)

    def cell_examples(self):
        return self.values[np.searchsorted(self._groups(), np.arange(self.n_groups))]

    def outside(self, x, eps):
        nearest = self.values[self.find(np.where(np.isfinite(x), x, 0))]
        return ~(np.abs(x - nearest) <= 4 * eps * np.abs(self.values).max())


class Categories(Values):
    """Aitchison-Aitken kernels: ``top`` for the own category, the rest in equal parts."""

    def __init__(self, domain: px.Categorical, top: Any = 0.8) -> None:
        self.values = np.arange(len(domain.choices), dtype=float)
        self.n_groups, self.top = len(self.values), top

    def masses(self, at, scale):
        n = len(self.values)
        if at is None:
            return np.full(n, 1 / n)
        return np.where(self.values == at, self.top, (1 - self.top) / (n - 1))


class Point(Values):
    """A single value."""

    def __init__(self, domain: Any) -> None:
        self.values, self.n_groups = np.array([float(domain.low)]), 1

    def masses(self, at, scale):
        return np.ones(1)


def axis_of(domain: Any, top: Any) -> Any:
    if isinstance(domain, px.Categorical):
        return Categories(domain, top)
    if domain.n_values == 1:
        return Point(domain)
    return Line(domain) if isinstance(domain, px.Float) and domain.step is None else Values(domain)


# --- mixtures --------------------------------------------------------------------------------


@dataclass
class Law:
    """sum_n w_n prod_d k_nd(x_d) + w_0 prod_d q_d(x_d) over a conditional space.

    Attributes:
        space: read for names and bounds alone.
        rows: (n, d) native values.
        weight: (n,) and prior_weight, as given.
        scale: of every numeric kernel, or (n, d).
        top: of every category's kernel.
        regimes: (m, d) native values -> (m, d) regimes, -1 inactive; by hand, and its j-th column must
            depend on parents alone.
        order: columns, parents first.
        cuts: (parameter, regime) -> ends of the cells of the joint law, where conditions need them.
        all_values: whether every value is a cell of the joint law; else values go by thirds.
    """

    space: px.Space
    rows: np.ndarray
    weight: np.ndarray
    prior_weight: float = 1.0
    scale: Any = 0.1
    top: float = 0.8
    regimes: Callable[[np.ndarray], np.ndarray] | None = None
    order: tuple[int, ...] | None = None
    cuts: dict[tuple[int, int], Any] = field(default_factory=dict)
    all_values: bool = False

    def __post_init__(self) -> None:
        d = len(self.space)
        self.rows = np.asarray(self.rows, float).reshape(-1, d)
        # A row without weight may hold anything.
        kept = np.asarray(self.weight) > 0
        self.rows, whole = self.rows[kept], np.asarray(self.weight, float)[kept]
        self.scale = np.broadcast_to(self.scale, (len(kept), d))[kept]
        self.component = np.append(whole, self.prior_weight if len(whole) else 1.0)
        self.component = self.component / self.component.sum()
        self.order = self.order or tuple(range(d))
        self.axes = {
            (j, r): axis_of(domain, self.top)
            for j, domains in enumerate(self.space.domains)
            for r, domain in enumerate(domains)
        }
        for axis in self.axes.values():
            if self.all_values and isinstance(axis, Values):
                axis.n_groups = len(axis.values)
        for key, cuts in self.cuts.items():
            self.axes[key].cuts = np.asarray(cuts, float)
        self.row_regimes = self.regime_of(self.rows)

    def regime_of(self, values: np.ndarray) -> np.ndarray:
        return np.zeros(values.shape, int) if self.regimes is None else self.regimes(values)

    def _each(self, j: int, r: int, what: Callable[[Any, Any], np.ndarray]) -> np.ndarray:
        """Of every component, the prior last: its kernel where it has the regime, else the prior."""
        wide = what(None, None)
        parts = [
            what(row[j], scale[j]) if regime[j] == r else wide
            for row, scale, regime in zip(self.rows, self.scale, self.row_regimes, strict=True)
        ]
        return np.stack([*parts, wide])

    def masses(self, j: int, r: int) -> np.ndarray:
        """(components, values)."""
        return self._each(j, r, self.axes[j, r].masses)

    def cdf(self, j: int, r: int, x: np.ndarray) -> np.ndarray:
        """(components, points)."""
        return self._each(j, r, lambda row, scale: self.axes[j, r].cdf(x, row, scale))

    def cell_masses(self, j: int, r: int) -> np.ndarray:
        """(components, cells of the joint law)."""
        return self._each(j, r, self.axes[j, r].cell_masses)

    def enumerate(self) -> tuple[dict[tuple[int, int], np.ndarray], np.ndarray, np.ndarray]:
        """Walk through all cells, parents first.

        Returns:
            (parameter, regime) -> (components,) probability that it occurs with each component; the
            codes of the cells; their probabilities.
        """
        d = len(self.space)
        example, mass = np.full((1, d), np.nan), self.component[None]
        code, share = np.zeros(1, int), {}
        for j in self.order:
            regime = self.regime_of(example)[:, j]
            parts = [(example[regime < 0], mass[regime < 0], code[regime < 0] * 64)]
            for r in range(len(self.space.domains[j])):
                here = regime == r
                share[j, r] = mass[here].sum(axis=0)
                shares, values = self.cell_masses(j, r), self.axes[j, r].cell_examples()
                for cell, value in enumerate(values):
                    moved = example[here]
                    moved[:, j] = value
                    parts.append((moved, mass[here] * shares[:, cell], code[here] * 64 + 1 + 16 * r + cell))
            example, mass, code = (np.concatenate(part) for part in zip(*parts, strict=True))
        return share, code, mass.sum(axis=1)

    def codes(self, draws: np.ndarray) -> np.ndarray:
        """Cells of draws, as `enumerate` numbers them."""
        regime, code = self.regime_of(draws), np.zeros(len(draws), int)
        for j in self.order:
            part = np.zeros(len(draws), int)
            for r in range(len(self.space.domains[j])):
                here = regime[:, j] == r
                part[here] = 1 + 16 * r + self.axes[j, r].cell_of(draws[here, j])
            code = code * 64 + part
        return code

    def excess(self, draws: np.ndarray, checks: Checks, eps: float) -> dict[str, float]:
        """How far draws are from the law in each respect, in multiples of what chance explains."""
        regime = self.regime_of(draws)
        out = {"inactive": math.inf if (np.isnan(draws) != (regime < 0)).any() else 0.0}
        if out["inactive"]:
            return out
        share, code, probability = self.enumerate()
        for j, name in enumerate(self.space.names):
            n_regimes = len(self.space.domains[j])
            for r in range(n_regimes):
                axis, x = self.axes[j, r], draws[regime[:, j] == r, j]
                where = name if n_regimes == 1 else f"{name}[{r}]"
                out[f"{where} outside"] = math.inf if axis.outside(x, eps).any() else 0.0
                if isinstance(axis, Point) or not len(x):
                    continue
                part = share[j, r] / share[j, r].sum()
                if isinstance(axis, Line):
                    out |= line_excess(
                        x, lambda at, j=j, r=r, part=part: part @ self.cdf(j, r, at), axis, checks, where
                    )
                else:
                    out |= values_excess(axis.find(x), part @ self.masses(j, r), checks, where)
            if self.regimes is not None and len(np.unique(probability)) > 1:
                mine = np.array([share[j, r].sum() for r in range(n_regimes)])
                counts = np.array([(regime[:, j] == r).sum() for r in range(-1, n_regimes)])
                if mine.sum() < 1 - 1e-12 or n_regimes > 1:
                    masses = np.append(max(1 - mine.sum(), 0) if mine.sum() < 1 - 1e-12 else 0, mine)
                    out[f"{name} regimes"] = checks.cells(counts, masses)
        if len(self.space) > 1:
            known, inverse = np.unique(code, return_inverse=True)
            masses = np.bincount(inverse, probability)
            at = np.searchsorted(known, codes := self.codes(draws))
            strange = (at >= len(known)) | (known[np.minimum(at, len(known) - 1)] != codes)
            counts = np.bincount(at[~strange], minlength=len(known))
            out["joint"] = math.inf if strange.any() else checks.cells(counts, masses)
        return out


def line_excess(x, cdf, axis, checks: Checks, where: str) -> dict[str, float]:
    cuts = frequencies.quantile_cuts(cdf, axis.low, axis.high)
    counts = np.bincount(np.searchsorted(cuts, x, side="right"), minlength=len(cuts) + 1)
    masses = np.diff(np.concatenate([[0], cdf(cuts), [1]]))
    return {f"{where} line": checks.line(x, cdf), f"{where} cells": checks.cells(counts, masses)}


def values_excess(number, masses, checks: Checks, where: str) -> dict[str, float]:
    counts, group = np.bincount(number, minlength=len(masses)), frequencies.pooled(masses)
    return {
        f"{where} steps": checks.steps(counts, masses),
        f"{where} cells": checks.cells(np.bincount(group, counts), np.bincount(group, masses)),
    }
