"""The mixture density against Optuna's, the TPE papers' own package and SciPy's."""

import jax.numpy as jnp
import numpy as np
import pytest
from densities import log_prob_in
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers._tpe import parzen_estimator as optunas
from reference import authors
from scipy import stats

import parzax as px

TOLERANCE = 1e-10
SIZES = (0, 1, 2, 5, 30)
N_POINTS = 20
DISTRIBUTIONS = {
    "float": FloatDistribution(-3.0, 5.0),
    "log": FloatDistribution(1e-5, 10.0, log=True),
    "step": FloatDistribution(-1.0, 1.0, step=0.125),
    "int": IntDistribution(1, 13),
    "int step": IntDistribution(0, 60, step=5),
    "int log": IntDistribution(1, 100, log=True),
    "long int": IntDistribution(-500, 500),
    "category": CategoricalDistribution(["a", "b", "c", "d"]),
}
SPACES = {name: (name,) for name in DISTRIBUTIONS} | {
    "continuous": ("float", "log"),
    "mixed": ("float", "log", "step", "int log", "category"),
}
# Each space compiles anew, for seconds.
FAST = (("mixed", True), ("float", False))


class _StableNumpy:
    """NumPy with a stable argsort: Optuna's order of equal values is that of an unstable one."""

    def __getattr__(self, name):
        return getattr(np, name)

    @staticmethod
    def argsort(a, **options):
        return np.argsort(a, **(options | {"kind": "stable"}))


def _domain(distribution):
    if isinstance(distribution, CategoricalDistribution):
        return px.Categorical(distribution.choices)
    if isinstance(distribution, FloatDistribution):
        return px.Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    return px.Int(distribution.low, distribution.high, log=distribution.log, step=distribution.step)


def _draw(rng, distribution, n):
    """Values of a distribution: ties (every third), ends, and values close together."""
    if isinstance(distribution, CategoricalDistribution):
        return rng.integers(0, len(distribution.choices), n).astype(float)
    low, high = distribution.low, distribution.high
    unit = rng.beta(0.5, 1, n)
    unit[::3] = unit[:1]
    values = (
        np.exp(np.log(low) + unit * np.log(high / low)) if distribution.log else low + unit * (high - low)
    )
    if distribution.step is not None:
        values = low + np.round((values - low) / distribution.step) * distribution.step
    return np.clip(np.r_[high, low, values][:n], low, high)


@pytest.mark.parametrize(
    ("name", "endpoints"),
    [
        pytest.param(name, endpoints, marks=[] if (name, endpoints) in FAST else [pytest.mark.slow])
        for name in SPACES
        for endpoints in (False, True)
    ],
)
@pytest.mark.some(1)
def test_optuna(name, endpoints, double, monkeypatch, record_property):
    """log_pdf with ties, at rows and ends, weights by age, prior weights 1, 0.25, 3 and 0.

    A traced prior weight of 0 still counts as a kernel for the magic clip and the categories, as in Optuna.
    """
    monkeypatch.setattr(optunas, "np", _StableNumpy())
    rng = np.random.default_rng(3)
    distributions = {own: DISTRIBUTIONS[own] for own in SPACES[name]}
    space = px.Space({own: _domain(distribution) for own, distribution in distributions.items()})
    rule = px.bandwidth.Neighbours(consider_endpoints=endpoints)
    worst, tried = 0.0, 0
    for n in SIZES:
        rows = np.stack([_draw(rng, distribution, n) for distribution in distributions.values()], axis=-1)
        at = np.stack(
            [_draw(rng, distribution, N_POINTS) for distribution in distributions.values()], axis=-1
        )
        at[: n // 2] = rows[: min(n // 2, N_POINTS)]
        weight = rng.uniform(0.1, 1, n)
        for prior_weight in (1.0, *((0.25, 3.0) if n == 5 else ()), *((0.0,) if n > 4 else ())):
            peer = optunas._ParzenEstimator(
                dict(zip(distributions, rows.T, strict=True)),
                distributions,
                optunas._ParzenEstimatorParameters(
                    prior_weight, True, endpoints, lambda _, w=weight: w, True
                ),
            )
            # The prior weight 1 is known to be enough for the anchored product; others are traced.
            own_weight = 1.0 if prior_weight == 1 else jnp.asarray(prior_weight)
            pe = px.ParzenEstimator.fit(
                space,
                rows,
                mixture_weight=weight,
                bandwidth=rule,
                top=px.bandwidth.OptunaTop(),
                prior_weight=own_weight,
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                wanted = peer.log_pdf(dict(zip(distributions, at.T, strict=True)))
            found = np.asarray(pe.log_prob(at))
            if "log" in distributions:
                # Theirs is a density of the logarithm.
                found = found + np.log(at[:, list(distributions).index("log")])
            # Categories that no kernel allows.
            assert (found[~np.isfinite(wanted)] < -1e300).all()
            known = np.isfinite(wanted)
            error = np.abs(found[known] - wanted[known]) / np.maximum(1, np.abs(wanted[known]))
            worst, tried = max(worst, error.max(initial=0)), tried + known.sum()
    assert tried > 60
    assert worst < TOLERANCE
    record_property("tried", f"Optuna, {name}, endpoints {endpoints}: {worst:.1e} at {tried} points")


def test_without_a_prior_the_magic_clip_counts_none(double):
    """prior_weight=0 (a number) is a mixture without a prior kernel: 1/(n + 1) is then the smallest scale."""
    rows = np.array([[0.4], [0.4], [0.4]])
    space = px.Space({"x": px.Float(0, 1)})
    rule = px.bandwidth.Neighbours()
    for prior_weight, smallest in ((0.0, 1 / 4), (jnp.asarray(0.0), 1 / 5)):
        pe = px.ParzenEstimator.fit(space, rows, bandwidth=rule, prior_weight=prior_weight)
        np.testing.assert_allclose(pe.scale[:3, 0], smallest, rtol=1e-15)


AUTHORS = {
    # name: (domain, range on the axis of their estimator, their step)
    "float": (px.Float(-3.0, 5.0), (-3.0, 5.0), None),
    "log": (px.Float(1e-5, 10.0, log=True), (np.log(1e-5), np.log(10.0)), None),
    "int": (px.Int(1, 9), (1, 9), 1),
    "int step": (px.Int(10, 70, step=5), (10, 70), 5),
    "step": (px.Float(-1.0, 1.0, step=0.25), (-1.0, 1.0), 0.25),
    "category": (px.Categorical(["a", "b", "c", "d"]), None, None),
}


def _authors(package, rows, name, top, factor, weight):
    domain, ends, step = AUTHORS[name]
    prior = len(weight) > len(rows)
    if ends is None:
        return package.CategoricalParzenEstimator(
            rows.astype(np.int64), len(domain.choices), top, prior=prior, weights=weight
        )
    return package.NumericalParzenEstimator(
        np.log(rows) if domain.log else rows,
        *ends,
        q=step,
        prior=prior,
        weights=weight,
        min_bandwidth_factor=factor if step is None else 1 / domain.n_values,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "top", "prior"), [(0.01, 0.8, True), (0.1, 0.9, True), (0.01, 0.8, False)]
)
def test_the_papers_own_package(factor, top, prior, double, record_property):
    """Scott's rule, clips, tops, prior and mixture weights, per parameter and joint.

    The joint is the package's `MultiVariateParzenEstimator`, and marginals are its estimators' own.
    """
    package = authors.parzen_estimator()
    from parzen_estimator import parzen_estimator as module

    rng = np.random.default_rng(4)
    space = px.Space({name: domain for name, (domain, _, _) in AUTHORS.items()})
    # Arrays are traced, so that other settings do not compile again.
    rule = px.bandwidth.Scott(minimum=jnp.asarray(factor))
    worst = 0.0
    for n in (1, 2, 7, 40):
        rows, at = (
            np.stack([_authors_draw(rng, name, count) for name in AUTHORS], axis=-1)
            for count in (n, N_POINTS)
        )
        at[:2] = rows[:2]
        mixture_weight = rng.uniform(0.2, 1, n)
        weight = np.append(mixture_weight, 1.0) if prior else mixture_weight
        weight = weight / weight.sum()
        pe = px.ParzenEstimator.fit(
            space,
            rows,
            bandwidth=rule,
            top=jnp.asarray(top),
            mixture_weight=mixture_weight,
            prior_weight=1.0 if prior else 0.0,
        )
        peers = {
            name: _authors(package, rows[:, j], name, top, factor, weight) for j, name in enumerate(AUTHORS)
        }
        columns = [
            at[:, j].astype(int) if name == "category" else np.log(at[:, j]) if name == "log" else at[:, j]
            for j, name in enumerate(AUTHORS)
        ]
        joint = package.MultiVariateParzenEstimator(peers).log_pdf(columns)
        log = list(AUTHORS).index("log")
        found = np.asarray(pe.log_prob(at)) + np.log(at[:, log])
        if prior:
            error = np.abs(found - joint) / np.maximum(1, np.abs(joint))
        else:
            # Their masses in a tail are differences of numbers near 1, which the prior would cover.
            error = np.abs(np.exp(found) - np.exp(joint)) / np.exp(joint).max()
        worst = max(worst, error.max())
        if n == 7:
            for j, name in enumerate(AUTHORS):
                own = np.asarray(pe.marginal(name).prob(at[:, [j]])) * (at[:, j] if name == "log" else 1)
                theirs = peers[name].pdf(columns[j])
                worst = max(worst, np.abs(own - theirs).max() / max(1, theirs.max()))
    assert module.EPS == 1e-300
    assert worst < TOLERANCE
    record_property("tried", f"parzen-estimator, clip {factor}, top {top}, prior {prior}: {worst:.1e}")


def _authors_draw(rng, name, n):
    domain, ends, step = AUTHORS[name]
    if ends is None:
        return rng.integers(0, len(domain.choices), n).astype(float)
    values = ends[0] + rng.beta(0.7, 1.5, n) * (ends[1] - ends[0])
    if step is not None:
        values = ends[0] + np.round((values - ends[0]) / step) * step
    return np.clip(np.exp(values) if domain.log else values, domain.low, domain.high)


def test_scipys_gaussian_kde(double, record_property):
    """Weighted, on a domain so wide that its ends do not matter: 1e-6 is what truncation may change."""
    rng = np.random.default_rng(5)
    rows, weight, at = rng.normal(size=50), rng.uniform(0.1, 2, 50), rng.normal(size=N_POINTS) * 1.5
    kde = stats.gaussian_kde(rows, weights=weight)
    width = 2000.0
    scale = float(np.sqrt(kde.covariance[0, 0])) / width
    pe = px.ParzenEstimator.fit(
        px.Space({"x": px.Float(-width / 2, width / 2)}),
        rows[:, None],
        mixture_weight=weight,
        bandwidth=px.bandwidth.Constant(scale),
        prior_weight=0.0,
    )
    for form in ("product", "pairwise"):
        error = np.abs(np.asarray(log_prob_in(form, pe, at[:, None])) - kde.logpdf(at)).max()
        assert error < 1e-6
        record_property("tried", f"SciPy's gaussian_kde, {form}: {error:.1e}")
    np.testing.assert_allclose(pe.prob(at[:, None]), kde.pdf(at), rtol=1e-6)
