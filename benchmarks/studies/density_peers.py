"""Peers of `benchmarks.studies.densities`: each fits rows of a table and returns log densities of others.

Peers know no bounds, so each density is divided by its mass between the bounds. They see the logarithms of
columns that have a log axis. Discrete columns have the kernels of statsmodels.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
import scipy.stats
from jaxtyping import Array, Float
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

import parzax as px

Rows = Float[np.ndarray, "n d"]
LogDensity = Callable[[Rows], Float[np.ndarray, " m"]]
Fit = Callable[[px.Space, Rows], LogDensity]
# Bandwidths that a cross validation tries, in standard deviations.
TRIED = np.geomspace(0.05, 1.5, 25)
N_DRAWS = 50_000
# Densities of fastKDE are at least this share of its highest.
LEAST = 1e-6


def axes(space: px.Space, x: Rows) -> Rows:
    """The values on the axes that peers see: logarithms, and numbers of ordinals and of categories."""
    out = x.copy()
    for j, (domain,) in enumerate(space.domains):
        if getattr(domain, "log", False):
            out[:, j] = np.log(x[:, j])
        elif domain.n_values is not None:
            out[:, j] = np.searchsorted(domain.list_values(), x[:, j])
    return out


def log_jacobian(space: px.Space, x: Rows) -> Float[np.ndarray, " n"]:
    """What the log density of the axes lacks."""
    on_log_axes = [getattr(domain, "log", False) for (domain,) in space.domains]
    return -np.log(x[:, on_log_axes]).sum(axis=1)


def ends(space: px.Space) -> Float[np.ndarray, "2 d"]:
    """The smallest and the largest value on the axes."""
    return axes(space, np.stack([domain.ends() for (domain,) in space.domains], axis=1))


def between(space: px.Space, log_prob: LogDensity, log_mass: float) -> LogDensity:
    """The density of native values, of one of the axes and its mass between the bounds."""
    return lambda x: log_prob(axes(space, x)) + log_jacobian(space, x) - log_mass


def scipy_kde(rule: str, space: px.Space, x: Rows) -> LogDensity:
    """`scipy.stats.gaussian_kde`, with a matrix of bandwidths. The mass is that of draws."""
    kde = scipy.stats.gaussian_kde(axes(space, x).T, bw_method=rule)
    draws, (low, high) = kde.resample(N_DRAWS, seed=np.random.default_rng(0)), ends(space)
    inside = (np.clip(draws.T, low, high) == draws.T).all(axis=1).mean()
    return between(space, lambda z: kde.logpdf(z.T), float(np.log(inside)))


def sklearn_kde(space: px.Space, x: Rows) -> LogDensity:
    """scikit-learn's `KernelDensity` of standardised columns, whose bandwidth is that of a grid search."""
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.neighbors import KernelDensity

    z = axes(space, x)
    mean, deviation = z.mean(axis=0), z.std(axis=0)
    folds = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(KernelDensity(), {"bandwidth": TRIED}, cv=folds).fit((z - mean) / deviation)
    bandwidth = search.best_params_["bandwidth"] * deviation
    return between(
        space,
        lambda z: search.best_estimator_.score_samples((z - mean) / deviation) - np.log(deviation).sum(),
        mass_between(space, bandwidth, z),
    )


def statsmodels_kde(space: px.Space, x: Rows) -> LogDensity:
    """statsmodels' `KDEMultivariate` with its normal reference rule."""
    from statsmodels.nonparametric.api import KDEMultivariate

    z = axes(space, x)
    kde = KDEMultivariate(z, "c" * z.shape[1], bw="normal_reference")
    return between(space, lambda z: np.log(kde.pdf(z)), mass_between(space, kde.bw, z))


def mass_between(space: px.Space, bandwidth: Float[np.ndarray, " d"], z: Rows) -> float:
    """log mass between the bounds of normal kernels at rows."""
    low, high = scipy.stats.norm.cdf((ends(space)[:, None] - z) / bandwidth)
    return float(np.log((high - low).prod(axis=1).mean()))


def cross_validated(space: px.Space, x: Rows) -> LogDensity:
    """The product kernels of statsmodels with bandwidths of the highest leave-one-out likelihood.

    This is its ``cv_ml``. Its search ignores the limits of discrete kernels, and may end where they are 0.
    Here the same objective is maximised by gradients, from three starts.
    """
    counts = tuple(domain.n_values or 0 for (domain,) in space.domains)
    categorical = tuple(isinstance(domain, px.Categorical) for (domain,) in space.domains)
    z = axes(space, x)
    kinds = np.array(counts, float), np.array(categorical)
    deviation = np.where(kinds[0] > 0, 1.0, z.std(axis=0))
    with jax.enable_x64(True):
        likelihood = jax.jit(jax.value_and_grad(partial(left_out, kinds)))
        scaled, best = jnp.asarray(z / deviation), None
        for start in (-2.0, -1.0, 0.0):
            tried = scipy.optimize.minimize(
                lambda t: tuple(np.asarray(part, float) for part in likelihood(jnp.asarray(t), scaled)),
                np.full(z.shape[1], start),
                jac=True,
                bounds=[(-7, 3)] * z.shape[1],
                method="L-BFGS-B",
            )
            best = tried if best is None or tried.fun < best.fun else best
        bandwidth = np.asarray(bandwidths(kinds, jnp.asarray(best.x)))
    low, high = ends(space) / deviation
    mass = kernel_masses(kinds, bandwidth, z / deviation, low, high)

    def log_prob(at: Rows) -> Float[np.ndarray, " m"]:
        with jax.enable_x64(True):
            logs = log_kernels(kinds, jnp.asarray(bandwidth), jnp.asarray(at / deviation), scaled)
            density = jax.scipy.special.logsumexp(logs, axis=1) - np.log(len(z))
        return np.asarray(density) - np.log(deviation).sum()

    return between(space, log_prob, mass)


def bandwidths(kinds: tuple[np.ndarray, np.ndarray], parameters: Array) -> Array:
    """Bandwidths of any numbers: above 0, and below 1 for discrete columns (or below (C - 1) / C)."""
    counts, categorical = kinds
    most = np.where(categorical, (counts - 1) / np.maximum(counts, 1), 1.0)
    return jnp.where(counts > 0, most * jax.nn.sigmoid(parameters), jnp.exp(parameters))


def log_kernels(kinds: tuple[np.ndarray, np.ndarray], bandwidth: Array, at: Array, rows: Array) -> Array:
    """(m, n) logs of products of normal, Wang and van Ryzin's, and Aitchison and Aitken's kernels."""
    total = jnp.zeros((len(at), len(rows)))
    for j, (count, is_categorical) in enumerate(zip(*kinds, strict=True)):
        h, gap = bandwidth[j], jnp.abs(at[:, j, None] - rows[None, :, j])
        if is_categorical:
            log = jnp.where(gap == 0, jnp.log1p(-h), jnp.log(h / (count - 1)))
        elif count:
            log = jnp.log1p(-h) + jnp.where(gap == 0, 0.0, np.log(0.5) + gap * jnp.log(h))
        else:
            log = -0.5 * (gap / h) ** 2 - jnp.log(h) - 0.5 * np.log(2 * np.pi)
        total += log
    return total


def left_out(kinds: tuple[np.ndarray, np.ndarray], parameters: Array, rows: Array) -> Array:
    """Minus the mean leave-one-out log density of the rows."""
    logs = log_kernels(kinds, bandwidths(kinds, parameters), rows, rows)
    logs = jnp.where(jnp.eye(len(rows), dtype=bool), -jnp.inf, logs)
    return -jnp.mean(jax.scipy.special.logsumexp(logs, axis=1)) + np.log(len(rows) - 1)


def kernel_masses(
    kinds: tuple[np.ndarray, np.ndarray], bandwidth: np.ndarray, rows: Rows, low: np.ndarray, high: np.ndarray
) -> float:
    """log mass of product kernels between the bounds, and on the values of discrete columns."""
    mass = np.ones(len(rows))
    for j, (count, is_categorical) in enumerate(zip(*kinds, strict=True)):
        h = bandwidth[j]
        if is_categorical:
            continue
        if count:
            below = rows[:, j]
            above = count - 1 - below
            # 1 - h at the row, and half of what is left on either side, but for its tails.
            mass *= (1 - h) + 0.5 * h * (2 - h**below - h**above)
        else:
            mass *= scipy.stats.norm.cdf((high[j] - rows[:, j]) / h) - scipy.stats.norm.cdf(
                (low[j] - rows[:, j]) / h
            )
    return float(np.log(mass.mean()))


def optuna_kde(space: px.Space, x: Rows) -> LogDensity:
    """Optuna's Parzen estimator, with the settings of its multivariate TPE."""
    from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator, _ParzenEstimatorParameters

    def distribution(domain: px.space.Domain) -> BaseDistribution:
        if isinstance(domain, px.Float):
            return FloatDistribution(domain.low, domain.high, log=domain.log)
        if isinstance(domain, px.Int):
            return IntDistribution(int(domain.low), int(domain.high))
        count = int(domain.n_values or 0)
        # Optuna has no ordinals: their numbers are integers.
        return (
            CategoricalDistribution(list(range(count)))
            if isinstance(domain, px.Categorical)
            else IntDistribution(0, count - 1)
        )

    def columns(x: Rows) -> dict[str, np.ndarray]:
        of_axes = axes(space, x)
        return {
            name: of_axes[:, j] if isinstance(space[name][0], px.Ordinal) else x[:, j]
            for j, name in enumerate(space.names)
        }

    distributions = {name: distribution(space[name][0]) for name in space.names}
    settings = _ParzenEstimatorParameters(1.0, True, False, np.ones, True)
    built = _ParzenEstimator(columns(x), distributions, settings)
    return lambda at: built.log_pdf(columns(at)) + log_jacobian(space, at)


CONTINUOUS: dict[str, Fit] = {
    "SciPy, Scott": partial(scipy_kde, "scott"),
    "scikit-learn, cross-validated": sklearn_kde,
    "statsmodels, normal reference": statsmodels_kde,
}
MIXED: dict[str, Fit] = {"statsmodels, cv_ml": cross_validated, "Optuna": optuna_kde}


def kdepy_kde(rule: str, space: px.Space, x: Rows) -> LogDensity:
    """KDEpy's `NaiveKDE` of one column, with normal kernels."""
    from KDEpy import NaiveKDE

    z = axes(space, x)
    kde = NaiveKDE(kernel="gaussian", bw=rule).fit(z[:, 0])
    # The bandwidth of a rule is known after an evaluation.
    kde.evaluate(z[:1, 0])
    return between(
        space, lambda at: np.log(kde.evaluate(at[:, 0])), mass_between(space, np.array([kde.bw]), z)
    )


def fast_kde(space: px.Space, x: Rows) -> LogDensity:
    """fastKDE's density of one column, which may be zero or negative."""
    from fastkde import fastKDE

    z = axes(space, x)
    density, grid = fastKDE.pdf(z[:, 0], use_xarray=False)
    grid = np.asarray(grid).ravel()
    density = np.maximum(np.asarray(density).ravel(), LEAST * density.max())
    low, high = ends(space)[:, 0]
    inside = (grid >= low) & (grid <= high)
    mass = float(np.trapezoid(density[inside], grid[inside]))
    return between(
        space,
        lambda at: np.log(np.interp(at[:, 0], grid, density, left=density.min(), right=density.min())),
        np.log(mass),
    )
