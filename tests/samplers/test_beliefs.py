"""Beliefs about good values (``prior``) against a loop in NumPy, and their laws."""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optuna
import pytest
import scipy.stats
from compilations import compilations

import parzax as px
from parzax.samplers import suggestion

SPACE = px.Space(
    {
        "lr": px.Float(1e-4, 1.0, log=True),
        "opt": px.Categorical(["sgd", "adam", "lamb"]),
        "momentum": (
            px.Float(0, 0.5, when=px.In("opt", ["sgd"])),
            px.Float(0.4, 1, when=px.In("opt", ["adam"])),
        ),
        "layers": px.Int(1, 8),
        "batch": px.Ordinal([1, 2, 8, 64], log=True),
    }
)
PRIOR = {
    "lr": px.prior.Normal(1e-3, 0.4),
    "opt": {"sgd": 6, "adam": 2},
    "momentum": px.prior.Normal(0.9, 0.05),
    "layers": px.prior.Normal(3, 1.5),
    "batch": px.prior.Normal(8, 0.3),
}
FLAT = {"lr": px.prior.Normal(1e-3, 1e6), "opt": {"sgd": 2, "adam": 2, "lamb": 2}}
WIDE = scipy.stats.norm(0.5, 1)


def loss(key, x):
    return (
        (jnp.log10(x[0]) + 3) ** 2
        + jnp.where(x[1] == 0, 0, 1)
        + jnp.nan_to_num((x[2] - 0.8) ** 2)
        + 0.1 * abs(x[3] - 3)
    )


def told(sampler, n=40):
    """A sampler's state after n random rows."""
    x = np.asarray(SPACE.sample(jax.random.key(5), n), np.float64)
    losses = jax.jit(jax.vmap(loss, (None, 0)))(None, x)
    return sampler.tell(sampler.init(n), x, np.asarray(losses))


def wide_mass(lower, upper):
    return (WIDE.cdf(upper) - WIDE.cdf(lower)) / (WIDE.cdf(1) - WIDE.cdf(0))


def ratio(row) -> float:
    """The belief over the wide kernels at one configuration, by sums over fine or exact cells."""
    lr, opt, momentum, layers, batch = row
    n = 256  # the cells of a continuum
    edges = np.linspace(0, 1, n + 1)
    masses, centres = wide_mass(edges[:-1], edges[1:]), (edges[:-1] + edges[1:]) / 2

    def on_continuum(place, mean, width):
        weights = np.exp(-0.5 * ((centres - mean) / width) ** 2)
        return weights[int(place * n)] / (masses * weights).sum()

    def on_values(number, ends, positions, mean, width):
        masses = wide_mass(ends[:-1], ends[1:])
        weights = np.exp(-0.5 * ((positions - mean) / width) ** 2)
        return weights[number] / (masses * weights).sum()

    total = on_continuum((math.log10(lr) + 4) / 4, 1 / 4, 0.4 / 4)
    total *= np.array([6, 2, 0])[int(opt)] / 8 * 3
    if opt == 1:  # the belief is about 0.9, which only the second domain has
        total *= on_continuum((momentum - 0.4) / 0.6, 0.5 / 0.6, 0.05 / 0.6)
    total *= on_values(int(layers) - 1, np.arange(9) / 8, np.arange(1, 9), 3, 1.5)
    position = np.log10([1, 2, 8, 64])
    middles = (position[1:] + position[:-1]) / 2
    ends = np.array([2 * position[0] - middles[0], *middles, 2 * position[-1] - middles[-1]])
    number = [1, 2, 8, 64].index(int(batch))
    return total * on_values(number, (ends - ends[0]) / (ends[-1] - ends[0]), position, np.log10(8), 0.3)


@eqx.filter_jit
def densities_at(sampler, state, points):
    basis = sampler.smoothing.basis(SPACE, state.x.dtype)
    return suggestion.fit_scorer(sampler, basis, state)[0].log_prob(basis, points)


@eqx.filter_jit
def good_draws(sampler, state, n):
    basis = sampler.smoothing.basis(SPACE, state.x.dtype)
    densities, _ = suggestion.fit_scorer(sampler, basis, state)
    return basis.frame.decode(densities.below.sample(jax.random.key(0), basis, n))


@pytest.mark.parametrize("x64", [pytest.param(False, marks=pytest.mark.slow), True])
def test_density_is_that_of_a_loop(x64):
    """Catches a belief with another weight, in another group, in another domain, or not normalised."""
    with jax.enable_x64(x64):
        plain, believing = px.tpe(SPACE), px.tpe(SPACE, prior=PRIOR)
        state, at = told(plain), np.asarray(SPACE.sample(jax.random.key(6), 50), np.float64)
        basis = plain.smoothing.basis(SPACE, state.x.dtype)
        points = jax.jit(lambda x: basis.frame.encode(x))(jnp.asarray(at, state.x.dtype))
        log_p, found = (
            np.asarray(densities_at(one, state, points), np.float64)[0] for one in (plain, believing)
        )
        wide = np.asarray(px.ParzenEstimator.fit(SPACE, at[:0]).log_prob(at, "unit"), np.float64)
        rows_below = math.ceil(0.2 * 40)  # their weights by rank have the mean 1
        prior = np.exp(wide) / (1 + rows_below)
        expected = np.exp(log_p[0]) + 10 / 40 * prior * (np.array([ratio(row) for row in at]) - 1)
        # In float32 a place may be in the neighbouring cell.
        np.testing.assert_allclose(found[0], np.log(expected), atol=1e-9 if x64 else 2e-3)
        np.testing.assert_array_equal(found[1], log_p[1])
        at = jnp.asarray(at, state.x.dtype)
        slope = jax.jit(jax.grad(lambda lr: believing.score_of(state, at.at[:, 0].set(lr)).sum()))
        assert np.isfinite(np.asarray(slope(at[:, 0]))).all()


@pytest.mark.slow
def test_draws_follow_the_density():
    """Catches candidates that are drawn from other beliefs than those of the score."""
    sampler = px.tpe(SPACE, prior=PRIOR)
    state = sampler.init()
    x = np.asarray(good_draws(sampler, state, 20_000), np.float64)  # without rows, half of them are believed
    opt = np.bincount(x[:, 1].astype(int), minlength=3) / len(x)
    np.testing.assert_allclose(opt, (np.array([6, 2, 0]) / 8 + 1 / 3) / 2, atol=0.015)
    places = np.sort(x[:, 0])
    edges = np.linspace(0, 1, 257)
    wide = wide_mass(edges[:-1], edges[1:])
    weights = wide * np.exp(-0.5 * ((edges[:-1] + 1 / 512 - 1 / 4) / 0.1) ** 2)
    cdf = np.append(0, np.cumsum((wide + weights / weights.sum()) / 2))
    distance = np.abs(np.interp((np.log10(places) + 4) / 4, edges, cdf) - np.arange(len(x)) / len(x)).max()
    assert distance < 1.95 / math.sqrt(len(x))  # Kolmogorov at 0.001
    first = np.asarray(sampler.ask(jax.random.key(1), state, 20_000))
    share = np.bincount(first[:, 1].astype(int), minlength=3) / len(first)
    np.testing.assert_allclose(share, (np.array([6, 2, 0]) / 8 + 1 / 3) / 2, atol=0.015)


@pytest.mark.parametrize("n_parallel", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_uniform_belief_changes_nothing(n_parallel):
    """Catches a belief that costs something where it says nothing; also in many runs and in batches."""
    keys = jax.random.split(jax.random.key(0), 12)  # as many runs as below, for one program
    other = {"layers": px.prior.Normal(3, 1.5)}
    plain, flat = (px.tpe(SPACE, prior=prior) for prior in (other, FLAT | other))
    assert px.tpe(SPACE, prior=FLAT).prior is None
    a, b = (px.optimize_many(keys, one, loss, 24, n_parallel=n_parallel).x for one in (plain, flat))
    np.testing.assert_array_equal(a, b)


def test_beliefs_in_what_is_not_allowed():
    """Catches first suggestions from a belief that break the rules of the space."""
    space = px.Space(
        {"a": px.Float(0, 1), "b": px.Float(0, 1)}, valid=lambda params: params["a"] < params["b"]
    )
    prior = {"a": px.prior.Normal(0.6, 0.2), "b": px.prior.Normal(0.5, 0.2)}
    sampler = px.tpe(space, prior=prior, start=px.samplers.RandomStart(200))
    x = np.asarray(sampler.ask(jax.random.key(0), sampler.init(), 200))
    assert (x[:, 0] < x[:, 1]).all()


@pytest.mark.slow
def test_good_belief_helps_and_new_beliefs_compile_nothing():
    """Catches beliefs without effect, and beliefs that are constants of a program."""
    keys = jax.random.split(jax.random.key(1), 12)
    gaps = {}
    with compilations() as compiled:
        for name, prior in {"none": None, "good": PRIOR}.items():
            gaps[name] = np.median(
                px.optimize_many(keys, px.tpe(SPACE, prior=prior), loss, 24).best_losses()[..., -1]
            )
        counted = len(compiled)
        px.optimize_many(keys, px.tpe(SPACE, prior={"lr": px.prior.Normal(0.1, 1)}), loss, 24)
        assert len(compiled) == counted
    assert gaps["good"] < 0.7 * gaps["none"]


def test_densities_are_beliefs():
    """Catches a Parzen density of another log that is read in another unit, or over other bounds."""
    other = px.Space({"lr": px.Float(1e-5, 10.0, log=True), "opt": px.Categorical(["sgd", "adam", "lamb"])})
    x = np.stack([10 ** np.random.default_rng(0).normal(-2, 0.3, 50), np.zeros(50)], axis=1)
    estimator = px.ParzenEstimator.fit(other, x)
    beliefs = px.tpe(SPACE, prior=estimator).prior
    centres = 10 ** ((np.arange(256) + 0.5) / 256 * 4 - 4)
    density = np.asarray(estimator.marginal("lr").prob(centres[:, None])) * centres
    np.testing.assert_allclose(np.exp(beliefs.log_ratio[0]), density / density.mean(), rtol=1e-4)
    masses = np.asarray(estimator.marginal("opt").prob(np.arange(3.0)[:, None]))
    np.testing.assert_allclose(np.exp(beliefs.log_ratio[1][:3]), 3 * masses, rtol=1e-4)
    uniform = scipy.stats.loguniform(1e-4, 1)
    uniform.log_prob = uniform.logpdf
    assert px.tpe(SPACE, prior={"lr": uniform}).prior is None


@pytest.mark.parametrize(
    ("prior", "error", "text"),
    [
        ({"rate": px.prior.Normal(1, 1)}, ValueError, "no parameter 'rate'; the space has lr, opt"),
        (
            {"lr": px.prior.Normal(1.1, 1)},
            ValueError,
            "'lr': Normal.* is not about values of Float.*such as 0.0001",
        ),
        (
            {"opt": {"rmsprop": 1}},
            ValueError,
            "'opt': .*rmsprop.* is not about values of Categorical",
        ),
        ({"opt": px.prior.Normal(1, 1)}, ValueError, "choices: give weights"),
        ({"lr": {"a": 1}}, ValueError, r"numbers: give px.prior.Normal\(mean, width\)"),
        ({"lr": 1e-3}, TypeError, r"must be px.prior.Normal\(mean, width\)"),
        (px.prior.Normal(1, 1), TypeError, "prior must be a dict"),
    ],
)
def test_refusals(prior, error, text):
    """Catches a belief that would be ignored, or fail without a remedy."""
    with pytest.raises(error, match=text):
        px.tpe(SPACE, prior=prior)


def test_invalid_beliefs():
    """Catches widths and weights that are none, and a mean that is lost by rounding."""
    assert px.tpe(SPACE, prior={"lr": px.prior.Normal(1e-4, 0.3)}).prior is not None
    with pytest.raises(ValueError, match="Normal: width must be above 0"):
        px.prior.Normal(1, 0)
    with pytest.raises(ValueError, match="at least one weight must be positive"):
        px.tpe(SPACE, prior={"opt": {"sgd": 0}})
    with pytest.raises(ValueError, match="weight of 'adam' must be at least 0"):
        px.tpe(SPACE, prior={"opt": {"adam": -1}})


@pytest.mark.slow
def test_adapters():
    """Catches a study without its beliefs, in the start-up too."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    believing = functools.partial(px.tpe, prior={**PRIOR, "other": px.prior.Normal(1, 1)})
    sampler = px.adapters.optuna.TPESampler(seed=0, preset=believing, n_startup_trials=8)
    study = optuna.create_study(sampler=sampler)

    def objective(trial):
        opt = trial.suggest_categorical("opt", ["sgd", "adam", "lamb"])
        return (math.log10(trial.suggest_float("lr", 1e-4, 1, log=True)) + 3) ** 2 + (opt != "sgd")

    study.optimize(objective, n_trials=10)
    near = [abs(math.log10(trial.params["lr"]) + 3) < 0.8 for trial in study.trials]
    assert sum(near) >= 5
    assert sum(trial.params["opt"] == "sgd" for trial in study.trials) >= 5
    with pytest.raises(TypeError, match=r"'lr' must be px.prior.Normal\(mean, width\)"):
        px.adapters.optuna.TPESampler(preset=functools.partial(px.tpe, prior={"lr": 1e-3}))


@pytest.mark.slow
def test_ranges_that_move_and_sessions():
    """Catches beliefs about another range than a trial's, and a session without its beliefs."""
    believing = functools.partial(px.tpe, prior=PRIOR)
    sampler = px.adapters.optuna.TPESampler(seed=0, preset=believing, n_startup_trials=2)
    study = optuna.create_study(sampler=sampler)
    for low in (1e-4, 0.1):  # the second is far from the belief
        study.optimize(lambda trial, low=low: trial.suggest_float("lr", low, 1, log=True), n_trials=4)
    assert all(trial.params["lr"] >= 0.1 for trial in study.trials[4:])
    session = px.adapters.Session(
        px.tpe(px.Space({"n": px.Int(0, 10**6)}), prior={"n": px.prior.Normal(5000, 99)})
    )
    drawn = [session.ask(i)[0] for i in range(12)]
    assert 3 <= sum(x < 20_000 for x in drawn) <= 9
