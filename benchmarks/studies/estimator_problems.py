"""Problems whose importances are known by integration: what estimators of Eq. 11 should find with many rows.

Every parameter is a function of a uniform number of its own, and may be active for one choice of the first.
The importance of Eq. 11 is the sum over regimes of beta Var(P(in the target | x)), the explained variance of
membership; that probability is an integral over the other parameters.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import qmc

import parzax as px

# Places of a parameter and losses for the cut-offs; values of loss and parameters computed at a time.
_PLACES, _LOSSES = 900, 2**20
_BATCH = 2**18
# Points of the other parameters. With this many no share is off by more than 0.002, most by much less; with
# 2^11 it is up to 0.01, at level 0.02.
POINTS = 2**14


@dataclass(frozen=True)
class Problem:
    """Parameters, a loss, and how rows are drawn.

    Attributes:
        domains: name -> domain, without conditions.
        loss: (n, d) native values, 0 where inactive -> (n,).
        active: name -> the choice of the first parameter for which it is active; others always are.
        share: probability of the first choice of the first parameter, where there are conditions.
        quantiles: uniform numbers -> those that values are drawn by; None for the same.
    """

    domains: dict[str, Any]
    loss: Callable[[np.ndarray], np.ndarray]
    active: dict[str, str] = field(default_factory=dict)
    share: float = 0.5
    quantiles: Callable[[np.ndarray], np.ndarray] | None = None

    @property
    def space(self) -> px.Space:
        """With the conditions."""
        first = next(iter(self.domains))
        return px.Space({
            name: replace(domain, when=px.In(first, [self.active[name]])) if name in self.active else domain
            for name, domain in self.domains.items()
        })  # fmt: skip

    def values(self, u: np.ndarray) -> np.ndarray:
        """(n, d) native values of uniform numbers, NaN where inactive."""
        u = u if self.quantiles is None else self.quantiles(u)
        x = np.stack([_value(own, u[:, j]) for j, own in enumerate(self.domains.values())], axis=-1)
        if self.active:
            x[:, 0] = u[:, 0] >= self.share
            choices = next(iter(self.domains.values())).choices
            for j, name in enumerate(self.domains):
                if name in self.active:
                    x[x[:, 0] != choices.index(self.active[name]), j] = np.nan
        return x

    def losses(self, x: np.ndarray) -> np.ndarray:
        """(n,) of native values."""
        return self.loss(np.nan_to_num(x))

    def drawn(self, seed: Sequence[int], n: int) -> tuple[np.ndarray, np.ndarray]:
        """n rows, (n, d), and their losses."""
        x = self.values(np.random.default_rng(seed).uniform(size=(n, len(self.domains))))
        return x, self.losses(x)

    def shares(self, levels: Sequence[float], n_points: int = POINTS) -> np.ndarray:
        """(q, d) normalised importances at target levels, by integration; see `variances`."""
        found = self.variances(levels, n_points)
        return found / found.sum(axis=-1, keepdims=True)

    def variances(self, levels: Sequence[float], n_points: int = POINTS) -> np.ndarray:
        """(q, d) importances of Eq. 11 of infinitely many rows, at ``n_points`` (2^k) of the others."""
        d = len(self.domains)
        losses = np.sort(self.losses(self.values(qmc.Sobol(d, seed=1).random(_LOSSES))))
        cuts = losses[[int(np.ceil(level * _LOSSES)) - 1 for level in levels]]
        points, places = qmc.Sobol(d, seed=2).random(n_points), (np.arange(_PLACES) + 0.5) / _PLACES
        return np.stack([self._variance(j, points, places, cuts) for j in range(d)], axis=-1)

    def _variance(self, j: int, points: np.ndarray, places: np.ndarray, cuts: np.ndarray) -> np.ndarray:
        """(q,) of the j-th parameter: beta Var(P(target | x)) of its one regime in which it is active."""
        active, value, inside = [], [], []
        for some in np.array_split(places, -(-len(places) * len(points) // _BATCH)):
            u = np.tile(points, (len(some), 1))
            u[:, j] = np.repeat(some, len(points))
            x = self.values(u)
            here = ~np.isnan(x[:, j]).reshape(len(some), -1)
            loss = self.losses(x).reshape(len(some), -1, 1)
            active.append(here.mean(axis=1))
            value.append(np.nanmax(x[:, j].reshape(len(some), -1), axis=1))
            inside.append(((loss <= cuts) & here[..., None]).sum(axis=1) / here.sum(axis=1)[:, None])
        # Places of one value, such as a category, are one.
        _, group = np.unique(np.concatenate(value), return_inverse=True)
        weight = np.bincount(group) / len(group)
        mean = [np.bincount(group, p) / np.bincount(group) for p in np.concatenate(inside).T]
        spread = [weight @ (p - weight @ p) ** 2 for p in mean]
        return np.concatenate(active).mean() * np.array(spread)


def _value(domain: Any, u: np.ndarray) -> np.ndarray:
    """Native values, category codes among them, at quantiles of the uniform distribution on the axis."""
    if isinstance(domain, px.Categorical):
        return np.floor(u * len(domain.choices))
    low, high = domain.low, domain.high + isinstance(domain, px.Int)
    x = low * (high / low) ** u if domain.log else low + u * (high - low)
    return np.floor(x) if isinstance(domain, px.Int) else x


def _unit(*names: str) -> dict[str, Any]:
    return {name: px.Float(0, 1) for name in names}


def _choices(n: int) -> Any:
    return px.Categorical([f"c{i}" for i in range(n)])


def _clustered(u: np.ndarray) -> np.ndarray:
    """Two thirds of the rows within 0.15 of the range, as a sampler leaves them."""
    return np.interp(u, [0, 0.1, 0.76, 1], [0, 0.25, 0.4, 1])


# Effects of choices, the same in every run.
_EFFECTS = np.random.default_rng(5).uniform(size=64)
_BRANCHES = {"c": px.Categorical(["a", "b"]), "x": px.Float(0, 1), "k": _choices(2), "y": px.Float(0, 1)}
_WHERE = {"x": "a", "k": "a", "y": "b"}

PROBLEMS = {
    "smooth, additive": Problem(
        {name: px.Float(-1, 1) for name in "abcd"},
        lambda x: (x[:, 0] - 0.2) ** 2 + 0.5 * (x[:, 1] + 0.3) ** 2 + 0.25 * x[:, 2] + 0.1 * x[:, 3],
    ),
    "log axes, integers": Problem(
        {"lr": px.Float(1e-5, 1, log=True), "k": px.Int(1, 9), "m": px.Int(1, 1000, log=True),
         **_unit("noise")},
        lambda x: (np.log10(x[:, 0]) + 3) ** 2 + 0.05 * (x[:, 1] - 4) ** 2 + 0.1 * np.log(x[:, 2]),
    ),
    "2 categories, 2 integers": Problem(
        {"c": _choices(2), "k": px.Int(0, 1), **_unit("x", "noise")},
        lambda x: 0.5 * x[:, 0] + 0.5 * x[:, 1] + x[:, 2],
    ),
    "3 categories": Problem(
        {"c": _choices(3), **_unit("x", "noise")},
        lambda x: np.array([0, 0.4, 0.5])[x[:, 0].astype(int)] + x[:, 1]
    ),
    "10 categories": Problem(
        {"c": _choices(10), "x": px.Float(0, 1), "y": px.Float(-1, 1)},
        lambda x: _EFFECTS[x[:, 0].astype(int)] + x[:, 1] + x[:, 2] ** 2,
    ),
    "50 categories": Problem(
        {"c": _choices(50), **_unit("x", "noise")}, lambda x: 3 * _EFFECTS[x[:, 0].astype(int)] + x[:, 1]
    ),
    "a sine of 8 periods": Problem(
        _unit("x", "y", "noise"), lambda x: np.sin(16 * np.pi * x[:, 0]) + x[:, 1]
    ),
    "two modes": Problem(
        _unit("x", "y", "noise"),
        lambda x: np.minimum(abs(x[:, 0] - 0.2), abs(x[:, 0] - 0.8) + 0.02) + 0.3 * x[:, 1],
    ),
    "a step of 4 %": Problem(
        _unit("x", "y", "noise"), lambda x: 0.5 * x[:, 1] - ((x[:, 0] > 0.6) & (x[:, 0] < 0.64))
    ),
    "a sharp peak": Problem(
        _unit("x", "y", "noise"), lambda x: 0.3 * x[:, 1] - np.exp(-(((x[:, 0] - 0.37) / 0.03) ** 2))
    ),
    "a sharp edge": Problem(_unit("x", "y", "noise"), lambda x: np.exp(-20 * x[:, 0]) + 0.5 * x[:, 1]),
    "a product": Problem(
        {"x": px.Float(-1, 1), "y": px.Float(-1, 1), **_unit("noise")},
        lambda x: x[:, 0] * x[:, 1] + 0.2 * x[:, 0]
    ),
    "heavy ties": Problem(
        {**_unit("x", "y"), "c": _choices(2)},
        lambda x: np.floor(4 * (x[:, 0] ** 2 + 0.4 * x[:, 1] + 0.3 * x[:, 2])),
    ),
    "clustered rows": Problem(
        _unit("x", "y", "noise"), lambda x: (x[:, 0] - 0.32) ** 2 + 0.3 * (x[:, 1] - 0.5) ** 2,
        quantiles=_clustered,
    ),
    "branches": Problem(
        _BRANCHES,
        lambda x: np.where(x[:, 0] == 0, 2 * (x[:, 1] - 0.3) ** 2 + 0.2 * x[:, 2], 0.3 * x[:, 3] + 0.3),
        _WHERE,
    ),
    "a rare branch": Problem(
        _BRANCHES, lambda x: np.where(x[:, 0] == 0, 2 * (x[:, 1] - 0.3) ** 2 + 0.2 * x[:, 2], 2 * x[:, 3]),
        _WHERE, share=0.9,
    ),
}  # fmt: skip
