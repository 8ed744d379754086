"""Samples of mixtures against laws enumerated in NumPy, 1e5 draws each; and broken samplers, which must fail.

Every case is checked in each parameter (per regime), in the frequencies of regimes, and in joint cells of all
parameters: the parameters are dependent through the component alone. All checks of this file, in float32 and
float64, have a total false-alarm rate of at most 5e-7 (as those of kernels in
`tests/kernels/test_kernel_samplers.py` have); see `reference.frequencies`.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.frequencies import Checks
from reference.laws import Law

import parzax as px
from parzax.kernels import AitchisonAitken
from parzax.parzen import mixture, sampling

N = 100_000
CHECKS = Checks(5e-7, 500)
MUTANTS = Checks(5e-7, 500)
BROAD = px.bandwidth.constant(0.1)


# --- priors of a user's ---------------------------------------------------------------------------


class Rising(eqx.Module):
    """Density 2 (x - low) / (high - low)^2."""

    low: float
    high: float

    def log_prob(self, x):
        return jnp.log(2 * (x - self.low)) - 2 * jnp.log(self.high - self.low)

    def sample(self, key, shape=()):
        return self.low + (self.high - self.low) * jnp.sqrt(jax.random.uniform(key, shape))

    def cdf(self, x):
        return ((x - self.low) / (self.high - self.low)) ** 2


class Listed(eqx.Module):
    """Probabilities of the values first, first + 1, ..."""

    first: int
    probability: tuple[float, ...]

    def log_prob(self, x):
        table = jnp.log(jnp.asarray(self.probability))
        return table[jnp.round(x).astype(int) - self.first]

    def sample(self, key, shape=()):
        table = jnp.asarray(self.probability)
        return self.first + jax.random.choice(key, len(self.probability), shape, p=table)


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
    prior: dict[str, Any] | None = None
    law: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] | None = None

    def fit(self, **changed: Any) -> px.ParzenEstimator:
        names = ("weight", "mixture_weight", "bandwidth", "top", "prior_weight", "prior")
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


def _rng(seed: int) -> np.random.Generator:
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
STEPPED = (0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.16)

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
    [_rng(s).normal(centre, 0.02, (5, 2)) for s, centre in enumerate([(0.2, 0.8), (0.5, 0.2), (0.8, 0.6)])]
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
    "neighbours": Case(UNIT, X, bandwidth=px.bandwidth.neighbours(), scale=None),
    "narrow": Case(UNIT, X, bandwidth=px.bandwidth.constant(0.01), scale=0.01),
    "wide": Case(UNIT, X, bandwidth=px.bandwidth.constant(5.0), scale=5.0),
    "no prior": Case(UNIT, X, prior_weight=0),
    "strong prior": Case(UNIT, X, prior_weight=30.0),
    "prior only": Case(UNIT, np.empty((0, 1)), weight=[]),
    "prior only, weight 0": Case(UNIT, np.empty((0, 1)), weight=[], prior_weight=0),
    "unequal weights": Case(UNIT, X, weight=np.geomspace(1e-6, 1e3, 12)),
    "absent rows": Case(UNIT, X, weight=[0, 3, 0, 0, 1, 0, 0, 0, 0.5, 0, 0, 0], prior_weight=0),
    "mixture weights": Case(UNIT, X, weight=np.arange(12.0), mixture_weight=np.arange(12.0)[::-1]),
    "user's prior": Case(
        UNIT, X, prior={"x": Rising(0, 1)}, law={"prior": {(0, 0): Rising(0, 1).cdf}}, prior_weight=9
    ),
    "log": Case(LOG, [[1e-5], [3e-5], [0.1], [2.0]]),
    "log, no prior": Case(LOG, [[1e-5], [3e-5], [0.1], [2.0]], prior_weight=0),
    "log, user's prior": Case(
        LOG,
        [[1e-4]],
        prior={"x": Rising(1e-5, 2)},
        law={"prior": {(0, 0): Rising(1e-5, 2).cdf}},
        prior_weight=3,
    ),
    "far bounds": Case(FAR, [[-7], [0], [9e3]]),
    "steps": Case(STEPS, [[0.5], [0.75], [2.0], [2.0]]),
    "steps, user's prior": Case(
        px.Space({"x": px.Int(3, 9)}),
        [[3], [4]],
        prior={"x": Listed(3, STEPPED)},
        law={"prior": {(0, 0): np.array(STEPPED)}},
    ),
    "long": Case(LONG, [[1], [3], [250], [255], [500]]),
    "log integers": Case(LOGS, [[1], [2], [2], [40], [100]]),
    "ordinals": Case(SIZES, [[16], [16], [256], [1024]]),
    "log ordinals": Case(LOG_SIZES, [[16], [16], [256], [1024]]),
    "categories": Case(KINDS, KINDS_ROWS),
    "categories, top 1": Case(KINDS, KINDS_ROWS, top=1.0, law_top=1.0, prior_weight=0),
    # By hand: (1 + 1/7) / (1 + 5/7), for 6 rows and the prior.
    "categories, Optuna": Case(
        KINDS, KINDS_ROWS, top=px.bandwidth.optuna_top(), law_top=(1 + 1 / 7) / (1 + 5 / 7)
    ),
    "categories, user's prior": Case(
        KINDS,
        KINDS_ROWS,
        prior={"x": Listed(0, (0.5, 0.25, 0.15, 0.07, 0.03))},
        law={"prior": {(0, 0): np.array([0.5, 0.25, 0.15, 0.07, 0.03])}},
        prior_weight=4,
    ),
    "two categories": Case(PAIR, [[0], [1], [1]], weight=[1, 5, 0.1]),
    "mixed": Case(MIXED, MIXED_ROWS),
    "mixed, no prior": Case(MIXED, MIXED_ROWS, weight=[1, 2, 3, 0.01, 1, 7], prior_weight=0),
    "mixed, user's prior": Case(
        MIXED,
        MIXED_ROWS,
        prior={"x": Rising(-2, 3), "kind": Listed(0, (0.7, 0.2, 0.1))},
        law={"prior": {(0, 0): Rising(-2, 3).cdf, (3, 0): np.array([0.7, 0.2, 0.1])}},
        prior_weight=6,
    ),
    "mixed, given a category": Case(MIXED, MIXED_ROWS, given={"kind": "c"}),
    "clusters": Case(PLANE, CLUSTERS, bandwidth=px.bandwidth.constant(0.03), scale=0.03, prior_weight=0),
    "tree": Case(TREE, TREE_ROWS, law=TREE_LAW),
    "tree, no prior": Case(TREE, TREE_ROWS, law=TREE_LAW, prior_weight=0),
    "tree, unequal weights": Case(
        TREE, TREE_ROWS, law=TREE_LAW, weight=[9, 1e-3, 1, 0, 5, 0.2, 1, 1], prior_weight=0.1
    ),
    "tree, user's prior": Case(
        TREE,
        TREE_ROWS,
        prior={"z": (Rising(-7, -2), Rising(2, 7)), "booster": Listed(0, (0.1, 0.3, 0.6))},
        law=TREE_LAW
        | {
            "prior": {
                (4, 0): Rising(-7, -2).cdf,
                (4, 1): Rising(2, 7).cdf,
                (0, 0): np.array([0.1, 0.3, 0.6]),
            }
        },
        prior_weight=5,
    ),
    "chain": Case(CHAIN, CHAIN_ROWS, law=CHAIN_LAW),
    "chain, no prior": Case(CHAIN, CHAIN_ROWS, law=CHAIN_LAW, prior_weight=0),
}  # fmt: skip


# Every space compiles anew, for up to seconds, so only these are fast.
FAST = {
    False: {
        "scott", "neighbours", "narrow", "wide", "no prior", "strong prior", "prior only",
        "prior only, weight 0", "unequal weights", "absent rows", "mixture weights",
        "user's prior", "log", "log, no prior", "steps", "log integers", "log ordinals", "long",
        "categories", "categories, top 1", "categories, Optuna", "two categories", "mixed",
        "mixed, no prior", "clusters", "tree", "tree, no prior", "tree, unequal weights",
        "chain", "chain, no prior",
    },
    True: {
        "scott", "narrow", "no prior", "unequal weights", "log integers", "categories",
        "categories, Optuna", "tree", "tree, no prior",
    },
}  # fmt: skip


def _cases():
    for x64 in (False, True):
        for name in CASES:
            marks = [] if name in FAST[x64] else [pytest.mark.slow]
            yield pytest.param(name, x64, id=f"{name}, {'float64' if x64 else 'float32'}", marks=marks)


def _sample(pe: px.ParzenEstimator, key: jax.Array) -> jax.Array:
    """1e5 draws. Neither setting acts on samples; alike, the cases of a space share a compilation."""
    return replace(pe, smallest=None, safe_prior=False).sample(key, N)


def _key(*numbers: int) -> jax.Array:
    return functools.reduce(jax.random.fold_in, numbers, jax.random.key(21))


def excess(case: Case, pe: px.ParzenEstimator, draws: Any, checks: Checks) -> dict[str, float]:
    """How far draws are from the case's law, as multiples of what chance explains; above 1 fails."""
    draws = np.asarray(draws)
    assert draws.shape == (N, len(case.space))
    return case.true_law(pe).excess(draws.astype(float), checks, float(np.finfo(draws.dtype).eps))


def _failures(found: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in found.items() if not value <= 1}


def _given(case: Case) -> tuple[Case, px.ParzenEstimator]:
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


@pytest.mark.parametrize(("name", "x64"), list(_cases()), indirect=["x64"])
def test_mixtures(name, x64):
    """Catches weights, priors, conditions, regimes and the dependence among parameters gone wrong."""
    case = CASES[name]
    case, pe = (case, case.fit()) if case.given is None else _given(case)
    draws = _sample(pe, _key(x64, list(CASES).index(name)))
    assert draws.dtype == (np.float64 if x64 else np.float32)
    assert not _failures(excess(case, pe, draws, CHECKS))


# --- broken samplers fail -------------------------------------------------------------------------


def _sample_anew(pe: px.ParzenEstimator, seed: int) -> jax.Array:
    """`ParzenEstimator.sample` compiled anew, so that it sees what was patched."""
    original = mixture._sample.__wrapped__
    return eqx.filter_jit(lambda pe, key, shape: original(pe, key, shape))(pe, _key(seed), (N,))


def _with(case: Case, where: Callable, new: Callable) -> tuple[Case, px.ParzenEstimator, Any]:
    """Draws of an estimator with one array changed, under the law of the right one."""
    pe = case.fit()
    return case, pe, _sample(eqx.tree_at(where, pe, new(pe)), _key(99))


def _key_reused(monkeypatch):
    """The component and every draw from one number."""
    original = sampling.uniforms

    def uniforms(*arguments, **options):
        components, levels = original(*arguments, **options)
        return components, jnp.broadcast_to(components[:, :1], levels.shape)

    monkeypatch.setattr(mixture, "uniforms", uniforms)
    pe = CASES["no prior"].fit()
    return CASES["no prior"], pe, _sample_anew(pe, 0)


def _one_key_for_all_parameters(monkeypatch):
    """Parameters that share their number: right one by one, dependent within a component."""
    original = sampling.uniforms

    def uniforms(*arguments, **options):
        components, levels = original(*arguments, **options)
        return components, jnp.broadcast_to(levels[:, :1], levels.shape)

    monkeypatch.setattr(mixture, "uniforms", uniforms)
    case = replace(CASES["clusters"], bandwidth=px.bandwidth.constant(0.3), scale=0.3)
    pe = case.fit()
    return case, pe, _sample_anew(pe, 1)


def _own_component_per_parameter():
    case = CASES["clusters"]
    pe = case.fit()
    draws = np.array(_sample(pe, _key(2)))
    draws[:, 1] = _rng(0).permutation(draws[:, 1])
    return case, pe, draws


def _prior_dropped():
    return _with(CASES["narrow"], lambda pe: pe.prior_weight, lambda pe: 0 * pe.prior_weight)


def _prior_of_mixed_dropped():
    return _with(CASES["mixed"], lambda pe: pe.prior_weight, lambda pe: 0 * pe.prior_weight)


def _weights_ignored():
    case = CASES["mixture weights"]
    return _with(case, lambda pe: pe.weight, lambda pe: jnp.where(pe.weight > 0, 1 / 13, 0))


def _weights_shifted():
    """The row before the one whose weight was drawn."""
    return _with(CASES["unequal weights"], lambda pe: pe.weight, lambda pe: jnp.roll(pe.weight, 1))


def _scale_off():
    case = Case(UNIT, [[0.375]], prior_weight=0)
    return _with(case, lambda pe: pe.scale, lambda pe: pe.scale * 1.03)


def _top_off():
    case = Case(KINDS, [[2]], prior_weight=0)
    return _with(case, lambda pe: pe.scale, lambda pe: pe.scale + 0.02)


def _wide_kernel_for_the_users_prior():
    case = CASES["user's prior"]
    pe = case.fit()
    return case, pe, _sample(case.fit(prior=None), _key(3))


def _linear_axis():
    """Draws on the log axis, stretched to native values as if it were linear."""
    case = CASES["log"]
    pe = case.fit()
    axis = case.true_law(pe).axes[0, 0]
    unit = axis.unit(np.asarray(_sample(pe, _key(4)), float))
    return case, pe, axis.low + unit * (axis.high - axis.low)


def _jacobian_as_well():
    """Draws reweighted by a small power of the value: a Jacobian in part."""
    case = CASES["log"]
    pe = case.fit()
    draws = np.asarray(_sample(pe, _key(5)))
    weight = draws[:, 0] ** -0.02
    return case, pe, draws[_rng(1).choice(N, N, p=weight / weight.sum())]


def _clipped_kernels():
    case = CASES["no prior"]
    rng = _rng(2)
    draws = X[rng.integers(0, 12, N)] + 0.1 * rng.normal(size=(N, 1))
    return case, case.fit(), np.clip(draws, 0, 1)


def _kernels_of_other_regimes():
    """A row of another regime draws from a kernel at a made-up place, where the prior stands for it."""
    case = CASES["tree"]
    return _with(
        case,
        lambda pe: (pe.kernels.regime, pe.scale),
        lambda pe: (jnp.maximum(pe.kernels.regime, 0), jnp.where(pe.scale == 1, 0.1, pe.scale)),
    )


def _prior_in_every_second_regime():
    """Rows of the second regime are not known as such."""
    case = CASES["tree"]
    regimes = lambda pe: jnp.where(pe.kernels.regime == 1, -1, pe.kernels.regime)  # noqa: E731
    return _with(case, lambda pe: pe.kernels.regime, regimes)


def _branches_independent():
    """Whether a parameter is active drawn apart from the parents, as Optuna samples branches."""
    case = CASES["tree"]
    pe = case.fit()
    draws = np.array(_sample(pe, _key(6)))
    draws[:, 4] = _rng(3).permutation(draws[:, 4])
    return case, pe, draws


def _children_forget_the_component():
    """Conditions hold, but given its regime a child is drawn from any component."""
    case = CASES["tree"]
    pe = case.fit()
    draws = np.array(_sample(pe, _key(7)))
    rng = _rng(4)
    for regime in (0, 1):
        here = np.flatnonzero(tree_regimes(draws)[:, 2] == regime)
        draws[here, 2] = rng.permutation(draws[here, 2])
    return case, pe, draws


def _own_category_among_others(monkeypatch):
    def quantile(kernel, level):
        moved = level < kernel.bandwidth
        part = level / kernel.bandwidth
        return jnp.where(moved, (part * kernel.n_choices).astype(jnp.int32), kernel.index)

    monkeypatch.setattr(AitchisonAitken, "quantile", quantile)
    case = replace(CASES["categories"], prior_weight=0)
    pe = case.fit()
    return case, pe, _sample_anew(pe, 8)


BROKEN = [
    _key_reused, _one_key_for_all_parameters, _own_component_per_parameter, _prior_dropped,
    _prior_of_mixed_dropped,
    _weights_ignored, _weights_shifted, _scale_off, _top_off, _wide_kernel_for_the_users_prior, _linear_axis,
    _jacobian_as_well, _clipped_kernels, _kernels_of_other_regimes, _prior_in_every_second_regime,
    _branches_independent, _children_forget_the_component, _own_category_among_others,
]  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN, ids=lambda f: f.__name__.strip("_"))
def test_broken_samplers_fail(broken, monkeypatch, record_property):
    """The same checks at the same level notice each of these mistakes."""
    takes_patch = broken.__code__.co_argcount > 0
    found = _failures(excess(*(broken(monkeypatch) if takes_patch else broken()), MUTANTS))
    assert found
    worst = max(found, key=found.get)
    name = broken.__name__.strip("_")
    record_property("tried", f"broken sampler {name}: {worst} at {found[worst]:.2f} of the allowance")


def test_total_false_alarms(record_property):
    """Last: the budget of this file was kept."""
    assert CHECKS.count * CHECKS.level <= 5e-7
    record_property("tried", f"{len(CASES)} mixtures: {CHECKS.summary(N)}")
