"""Mixtures to draw from, each with the law that its draws must follow, enumerated in NumPy."""

import functools
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np
from reference.frequencies import Checks
from reference.laws import Law

import parzax as px

N = 100_000
BROAD = px.bandwidth.Constant(0.1)


# --- cases ----------------------------------------------------------------------------------------


@dataclass
class Case:
    """What `ParzenEstimator.fit` gets, and what the oracle must know besides."""

    space: px.Space
    rows: Any
    weight: Any = None
    mixture_weight: Any = None
    bandwidth: Any = BROAD
    scale: Any = 0.1
    top: Any = 0.8
    law_top: float = 0.8
    prior_weight: float = 1.0
    law: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] | None = None

    def fit(self, **changed: Any) -> px.ParzenEstimator:
        names = ("weight", "mixture_weight", "bandwidth", "top", "prior_weight")
        settings = {name: getattr(self, name) for name in names} | changed
        rows = np.asarray(self.rows, float).reshape(-1, len(self.space))
        return px.ParzenEstimator.fit(self.space, rows, **settings)

    def true_law(self, pe: px.ParzenEstimator) -> Law:
        n = np.asarray(self.rows, float).reshape(-1, len(self.space)).shape[0]
        weight = np.ones(n) if self.weight is None else np.asarray(self.weight, float)
        weight = weight if self.mixture_weight is None else weight * self.mixture_weight
        # Rules of bandwidths have tests of their own.
        scale = np.asarray(pe.scale, float)[:n] if self.scale is None else self.scale
        return Law(self.space, self.rows, weight, self.prior_weight, scale, self.law_top, **self.law)


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


UNIT = px.Space({"x": px.Float(0, 1)})
X = np.array([[0.0], [0.03], [0.1], [0.12], [0.125], [0.4], [0.41], [0.6], [0.77], [0.9], [0.99], [1.0]])
LOG = px.Space({"x": px.Float(1e-5, 2.0, log=True)})
FAR = px.Space({"x": px.Float(-7.0, 1e4)})
STEPS = px.Space({"x": px.Float(0.5, 2.0, step=0.25)})
LONG = px.Space({"x": px.Int(1, 500)})
LOGS = px.Space({"x": px.Int(1, 100, log=True)})
SIZES = px.Space({"x": px.Ordinal([16, 32, 64, 256, 1024])})
LOG_SIZES = px.Space({"x": px.Ordinal([16, 32, 64, 256, 1024], log=True)})
KINDS = px.Space({"x": px.Categorical(list("abcde"))})
PAIR = px.Space({"x": px.Categorical([True, False])})
KINDS_ROWS = [[0], [0], [0], [4], [4], [1]]

MIXED = px.Space(
    {
        "x": px.Float(-2.0, 3.0),
        "eta": px.Float(1e-4, 1.0, log=True),
        "k": px.Int(0, 8),
        "kind": px.Categorical(list("abc")),
    }
)
MIXED_ROWS = [
    [-2.0, 1e-3, 0, 0], [-1.7, 2e-3, 1, 0], [2.8, 0.5, 7, 2], [2.0, 0.9, 8, 2], [0.5, 1e-4, 4, 1],
    [0.6, 1.0, 4, 0],
]  # fmt: skip
PLANE = px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)})
CLUSTERS = np.concatenate(
    [
        generator(s).normal(centre, 0.02, (5, 2))
        for s, centre in enumerate([(0.2, 0.8), (0.5, 0.2), (0.8, 0.6)])
    ]
)

# A tree of conditions: booster decides on depth and the two domains of rate; c on the two of z.
TREE = px.Space(
    {
        "booster": px.Categorical(["tree", "linear", "none"]),
        "depth": px.Int(1, 9, when=px.In("booster", ["tree"])),
        "rate": (
            px.Float(1e-3, 1.0, log=True, when=px.In("booster", ["tree"])),
            px.Float(-5.0, -1.0, when=px.In("booster", ["linear"])),
        ),
        "c": px.Float(0.0, 1.0),
        "z": (
            px.Float(-7.0, -2.0, when=px.Between("c", high=0.375)),
            px.Float(2.0, 7.0, when=px.Between("c", low=0.625)),
        ),
    }
)
NAN = np.nan
TREE_ROWS = [
    [0, 3, 0.01, 0.1, -6.5], [0, 4, 0.02, 0.2, -6.0], [0, 9, 0.9, 0.9, 6.0], [1, NAN, -4.5, 0.3, -2.5],
    [1, NAN, -1.2, 0.5, NAN], [1, NAN, -2.0, 0.7, 2.5], [2, NAN, NAN, 0.95, 6.5], [2, NAN, NAN, 0.36, -2.0],
]  # fmt: skip


def tree_regimes(x: np.ndarray) -> np.ndarray:
    booster, c = x[:, 0], x[:, 3]
    zero = np.zeros(len(x), int)
    return np.stack(
        [
            zero,
            np.where(booster == 0, 0, -1),
            np.where(booster == 0, 0, np.where(booster == 1, 1, -1)),
            zero,
            np.where(c < 0.375, 0, np.where(c >= 0.625, 1, -1)),
        ],
        axis=1,
    )


TREE_LAW = {"regimes": tree_regimes, "cuts": {(3, 0): [0.375, 0.625]}}

# Children declared before their parents, three deep, with single-valued domains.
CHAIN = px.Space(
    {
        "leaf": (
            px.Float(0.0, 1.0, when=(px.Between("branch", low=4), px.In("root", [2, 3]))),
            px.Float(10.0, 10.0, when=px.Between("branch", high=4)),
        ),
        "branch": px.Int(0, 7, when=px.In("root", [1, 2, 3])),
        "root": px.Int(0, 3),
        "fixed": px.Float(5.0, 5.0),
    }
)
CHAIN_ROWS = [
    [NAN, NAN, 0, 5], [10, 1, 1, 5], [NAN, 6, 1, 5], [0.2, 7, 2, 5], [0.9, 4, 3, 5], [10, 3, 3, 5],
    [0.85, 5, 3, 5],
]  # fmt: skip


def chain_regimes(x: np.ndarray) -> np.ndarray:
    branch, root = x[:, 1], x[:, 2]
    zero = np.zeros(len(x), int)
    with np.errstate(invalid="ignore"):
        active = root >= 1
        leaf = np.where((branch >= 4) & (root >= 2), 0, np.where(branch < 4, 1, -1))
    return np.stack([np.where(active, leaf, -1), np.where(active, 0, -1), zero, zero], axis=1)


# The joint law groups integers by thirds; conditions on them need every value, so all are listed.
CHAIN_LAW = {"regimes": chain_regimes, "order": (2, 1, 0, 3), "all_values": True}

CASES = {
    "scott": Case(UNIT, X, bandwidth=None, scale=None),
    "neighbours": Case(UNIT, X, bandwidth=px.bandwidth.Neighbours(), scale=None),
    "narrow": Case(UNIT, X, bandwidth=px.bandwidth.Constant(0.01), scale=0.01),
    "wide": Case(UNIT, X, bandwidth=px.bandwidth.Constant(5.0), scale=5.0),
    "no prior": Case(UNIT, X, prior_weight=0),
    "strong prior": Case(UNIT, X, prior_weight=30.0),
    "prior only": Case(UNIT, np.empty((0, 1)), weight=[]),
    "prior only, weight 0": Case(UNIT, np.empty((0, 1)), weight=[], prior_weight=0),
    "unequal weights": Case(UNIT, X, weight=np.geomspace(1e-6, 1e3, 12)),
    "absent rows": Case(UNIT, X, weight=[0, 3, 0, 0, 1, 0, 0, 0, 0.5, 0, 0, 0], prior_weight=0),
    "mixture weights": Case(UNIT, X, weight=np.arange(12.0), mixture_weight=np.arange(12.0)[::-1]),
    "log": Case(LOG, [[1e-5], [3e-5], [0.1], [2.0]]),
    "log, no prior": Case(LOG, [[1e-5], [3e-5], [0.1], [2.0]], prior_weight=0),
    "far bounds": Case(FAR, [[-7], [0], [9e3]]),
    "steps": Case(STEPS, [[0.5], [0.75], [2.0], [2.0]]),
    "long": Case(LONG, [[1], [3], [250], [255], [500]]),
    "log integers": Case(LOGS, [[1], [2], [2], [40], [100]]),
    "ordinals": Case(SIZES, [[16], [16], [256], [1024]]),
    "log ordinals": Case(LOG_SIZES, [[16], [16], [256], [1024]]),
    "categories": Case(KINDS, KINDS_ROWS),
    "categories, top 1": Case(KINDS, KINDS_ROWS, top=1.0, law_top=1.0, prior_weight=0),
    # By hand: (1 + 1/7) / (1 + 5/7), for 6 rows and the prior.
    "categories, Optuna": Case(
        KINDS, KINDS_ROWS, top=px.bandwidth.OptunaTop(), law_top=(1 + 1 / 7) / (1 + 5 / 7)
    ),
    "two categories": Case(PAIR, [[0], [1], [1]], weight=[1, 5, 0.1]),
    "mixed": Case(MIXED, MIXED_ROWS),
    "mixed, no prior": Case(MIXED, MIXED_ROWS, weight=[1, 2, 3, 0.01, 1, 7], prior_weight=0),
    "mixed, given a category": Case(MIXED, MIXED_ROWS, given={"kind": "c"}),
    "clusters": Case(PLANE, CLUSTERS, bandwidth=px.bandwidth.Constant(0.03), scale=0.03, prior_weight=0),
    "tree": Case(TREE, TREE_ROWS, law=TREE_LAW),
    "tree, no prior": Case(TREE, TREE_ROWS, law=TREE_LAW, prior_weight=0),
    "tree, unequal weights": Case(
        TREE, TREE_ROWS, law=TREE_LAW, weight=[9, 1e-3, 1, 0, 5, 0.2, 1, 1], prior_weight=0.1
    ),
    "chain": Case(CHAIN, CHAIN_ROWS, law=CHAIN_LAW),
    "chain, no prior": Case(CHAIN, CHAIN_ROWS, law=CHAIN_LAW, prior_weight=0),
}  # fmt: skip


# --- draws -----------------------------------------------------------------------------------------


def sample(pe: px.ParzenEstimator, key: jax.Array) -> jax.Array:
    """1e5 draws."""
    return pe.sample(key, N)


def key(*numbers: int) -> jax.Array:
    return functools.reduce(jax.random.fold_in, numbers, jax.random.key(21))


def excess(case: Case, pe: px.ParzenEstimator, draws: Any, checks: Checks) -> dict[str, float]:
    """How far draws are from the case's law, as multiples of what chance explains; above 1 fails."""
    draws = np.asarray(draws)
    assert draws.shape == (N, len(case.space))
    return case.true_law(pe).excess(draws.astype(float), checks, float(np.finfo(draws.dtype).eps))


def failures(found: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in found.items() if not value <= 1}


def given(case: Case) -> tuple[Case, px.ParzenEstimator]:
    """The case of the other parameters: weights times what each component gives the category, by hand."""
    (name,) = case.given
    j = case.space.index(name)
    code = case.space[name][0].choices.index(case.given[name])
    rows = np.asarray(case.rows, float)
    factor = np.where(rows[:, j] == code, case.law_top, (1 - case.law_top) / 2)
    rest = px.Space({other: case.space[other] for other in case.space.names if other != name})
    other = replace(
        case,
        space=rest,
        rows=np.delete(rows, j, axis=1),
        weight=factor,
        prior_weight=case.prior_weight / 3,
        given=None,
    )
    return other, case.fit().conditional(case.given)
