"""Parzen densities against peers: ``python -m benchmarks.density [--quick] [--json FILE]``.

For each row: our median, the peer's, the ratio, the goal, the time of the first call and the largest
difference between the two results (log densities). One core, interleaved, one process. The mixtures are
built beforehand on both sides: ours by `ParzenEstimator.fit`, Optuna's by its constructor, SciPy's
``gaussian_kde`` likewise. "fit and log_prob" rows build ours anew in every call.

The bound is what a core needs for the same matrix product, powers of two and weighted sums, and nothing else.
"""

from benchmarks import timing  # isort: skip  (pins the core before JAX is loaded)

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import jax.scipy.stats as jax_stats
import numpy as np
import scipy.stats
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers._tpe.parzen_estimator import _ParzenEstimator, _ParzenEstimatorParameters

import parzax as px
from benchmarks import command
from benchmarks.rows import Row
from parzax._numerics.logsumexp import power_of_two
from parzax.density import Mixture
from parzax.density.basis import Basis
from parzax.space import Points, Space

N_KERNELS, D = 1000, 10
GOALS = {24: 20.0, 1000: 150.0, 100_000: 400.0}
# On mixed spaces ours keeps the masses of discrete values; Optuna computes them in the call that is timed.
MIXED_GOAL = 60.0
# Our calls per round: the first of them finds the caches full of the peer's numbers.
INNER = {24: 50, 1000: 10, 100_000: 1}
# Candidates that the slow peers see of 1e5, whose time is scaled.
PART = 2000
# What a core reaches of its own bound, at least.
SHARE = 0.9
# What is kept: on a shared machine the caches are others' too, which costs these rows more than the peers.
PROMISED = {24: 15.0, 1000: 60.0, 100_000: 60.0}
PROMISED_SHARE = 0.8


@jax.jit
def evaluate(basis: Basis, mixture: Mixture, at: Points) -> jax.Array:
    """Log densities in unit coordinates, of a prepared mixture."""
    return mixture.log_prob(basis, at)


def waited(basis: Basis, mixture: Mixture, at: Points) -> jax.Array:
    """The call that is timed."""
    return jax.block_until_ready(evaluate(basis, mixture, at))


@jax.jit
def exponentials(ratio: jax.Array, weight: jax.Array) -> jax.Array:
    """Powers of two, the fastest exponentials that we know, and a weighted sum: one part of the bound."""
    return jnp.matmul(power_of_two(ratio), weight, precision="highest")


@jax.jit
def product(features: jax.Array, coefficients: jax.Array) -> jax.Array:
    """Multiply-adds: the other part of the bound."""
    return jnp.matmul(features, coefficients, precision="highest")


def repeated(times: int, function: Callable[..., jax.Array], *arguments: object) -> None:
    """Call and wait, so many times."""
    for _ in range(times):
        jax.block_until_ready(function(*arguments))


def space(d: int = D) -> px.Space:
    """d continuous parameters."""
    return px.Space({f"x{j}": px.Float(0, 1) for j in range(d)})


def mixed_space() -> px.Space:
    """Ten parameters of every kind: floats, integers with few and with many values, categories."""
    return px.Space(
        {f"x{j}": px.Float(0, 1) for j in range(2)}
        | {f"l{j}": px.Float(1e-5, 1, log=True) for j in range(2)}
        | {"k": px.Int(1, 12), "batch": px.Int(8, 512, log=True), "units": px.Int(1, 1000)}
        | {f"c{j}": px.Categorical(["a", "b", "c", "d", "e"]) for j in range(3)}
    )


def rows(n: int, d: int = D) -> np.ndarray:
    """Observations: a cloud around 0.4 in a uniform background."""
    rng = np.random.default_rng(0)
    near = np.clip(0.4 + 0.1 * rng.normal(size=(n // 2, d)), 0, 1)
    return np.concatenate([near, rng.uniform(size=(n - n // 2, d))])


def candidates(n: int, d: int = D) -> np.ndarray:
    """Points to score."""
    return np.random.default_rng(1).uniform(size=(n, d))


def prepared(pe: px.ParzenEstimator, y: np.ndarray) -> tuple[Basis, Mixture, Points]:
    """What a mixture built beforehand is evaluated with, and the candidates encoded."""
    return replace(pe.basis, pairwise=False), pe.prepared().mixture, encoded(pe.space, y)


def encoded(of: Space, y: np.ndarray) -> Points:
    """Candidates on the device."""
    x = jnp.asarray(y)
    return jax.jit(lambda x: of.frame(x.dtype).encode(x))(x)


def optuna_estimator(x: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Optuna's log density of the same rows."""
    names = [f"x{j}" for j in range(x.shape[1])]
    settings = _ParzenEstimatorParameters(1.0, True, False, np.ones, True)
    built = _ParzenEstimator(
        {name: x[:, j] for j, name in enumerate(names)},
        {name: FloatDistribution(0, 1) for name in names},
        settings,
    )
    return lambda y: built.log_pdf({name: y[:, j] for j, name in enumerate(names)})


def against_optuna(n_points: int, *, repeats: int) -> list[Row]:
    """Prepared evaluation, and fit and evaluation together, against Optuna's log density."""
    x, y = rows(N_KERNELS), candidates(n_points)
    theirs = optuna_estimator(x)
    part = y[:PART]
    out, peers = [], {"theirs": lambda: theirs(part)}
    for bits in (64, 32):
        with jax.enable_x64(bits == 64):
            pe = px.ParzenEstimator.fit(space(), x, bandwidth=px.bandwidth.Neighbours())
            ours = partial(waited, *prepared(pe, y))
            first = timing.once(ours)
            error = np.abs(np.asarray(ours())[:PART] - theirs(part)).max()
            medians = timing.interleaved({"ours": ours} | peers, repeats, {"ours": INNER[n_points]})
        scale = len(y) / len(part)
        name = f"log density, {N_KERNELS} kernels, {n_points} points"
        out.append(
            Row(
                name,
                bits,
                "Optuna",
                medians["ours"],
                medians["theirs"] * scale,
                first,
                float(error),
                GOALS[n_points],
                PROMISED[n_points],
            )
        )
    return out


def against_optuna_mixed(n_points: int, *, repeats: int) -> list[Row]:
    """The same on integers and categories, whose masses the estimator looks up or integrates."""
    own = mixed_space()
    rng = np.random.default_rng(0)
    distributions = {
        name: {
            px.Float: lambda d: FloatDistribution(d.low, d.high, log=d.log),
            px.Int: lambda d: IntDistribution(int(d.low), int(d.high), log=d.log),
            px.Categorical: lambda d: CategoricalDistribution(list(d.choices)),
        }[type(own[name][0])](own[name][0])
        for name in own.names
    }
    with jax.enable_x64(True):
        prior = px.ParzenEstimator.fit(own, np.zeros((0, len(own))))
        x, y = (np.asarray(prior.sample(jax.random.key(k), (n,))) for k, n in ((0, N_KERNELS), (1, n_points)))
    x = x[rng.permutation(len(x))]
    settings = _ParzenEstimatorParameters(1.0, True, False, np.ones, True)
    columns = {name: x[:, j] for j, name in enumerate(own.names)}
    built = _ParzenEstimator(columns, distributions, settings)
    theirs_at = {name: y[:, j] for j, name in enumerate(own.names)}
    out = []
    for bits in (64, 32):
        with jax.enable_x64(bits == 64):
            pe = px.ParzenEstimator.fit(
                own, x, bandwidth=px.bandwidth.Neighbours(), top=px.bandwidth.OptunaTop()
            )
            basis, mixture, at = prepared(pe, y)
            ours = partial(waited, basis, mixture, at)
            first = timing.once(ours)
            # Ours is a density per unit coordinate.
            jacobian = np.asarray(jax.jit(basis.frame.log_jacobian)(at))
            theirs_ = built.log_pdf(theirs_at)
            log_axes = sum(np.log(y[:, j]) for j, name in enumerate(own.names) if name.startswith("l"))
            error = (
                np.abs(np.asarray(ours()) + jacobian + log_axes - theirs_) / np.abs(theirs_).clip(1)
            ).max()
            medians = timing.interleaved(
                {"ours": ours, "theirs": lambda: built.log_pdf(theirs_at)}, repeats, {"ours": INNER[n_points]}
            )
        name = f"mixed space, {N_KERNELS} kernels, {n_points} points"
        out.append(
            Row(name, bits, "Optuna", medians["ours"], medians["theirs"], first, float(error), MIXED_GOAL)
        )
    return out


def against_gaussian_kde(n_points: int, *, repeats: int) -> list[Row]:
    """Against SciPy's and JAX's gaussian_kde; they have full covariance and no bounds."""
    x, y = rows(N_KERNELS), candidates(n_points)
    out = []
    for bits in (64, 32):
        with jax.enable_x64(bits == 64):
            pe = px.ParzenEstimator.fit(space(), x)
            ours = partial(waited, *prepared(pe, y))
            kde = scipy.stats.gaussian_kde(x.T)
            jax_kde = jax_stats.gaussian_kde(jnp.asarray(x.T))
            on_device = jnp.asarray(y.T)
            compiled = jax.jit(jax_kde.logpdf)
            first = timing.once(ours)
            timing.once(lambda c=compiled, a=on_device: jax.block_until_ready(c(a)))
            calls = {
                "ours": ours,
                "scipy": lambda k=kde: k.logpdf(y.T),
                "jax.scipy": lambda c=compiled, a=on_device: jax.block_until_ready(c(a)),
            }
            medians = timing.interleaved(calls, repeats, {"ours": INNER[n_points]})
        name = f"log density, {N_KERNELS} kernels, {n_points} points"
        for peer in ("scipy", "jax.scipy"):
            out.append(Row(name, bits, peer, medians["ours"], medians[peer], first, 0.0, 10.0))
    return out


def against_the_bound(n_points: int, *, repeats: int) -> list[Row]:
    """The share of the bound that a prepared mixture reaches, as a ratio of times."""
    x, y = rows(N_KERNELS), candidates(n_points)
    out = []
    for bits in (64, 32):
        with jax.enable_x64(bits == 64):
            pe = px.ParzenEstimator.fit(space(), x)
            basis, mixture, at = prepared(pe, y)
            # As many pairs at a time as the evaluation takes, in as many calls.
            block, n_blocks = 250, n_points // 250
            features, coefficients = jnp.ones((block, 3 * D)), jnp.ones((3 * D, len(mixture.weight)))
            ratio = jnp.full((block, len(mixture.weight)), -3.0)
            calls = {
                "ours": partial(repeated, 1, evaluate, basis, mixture, at),
                "exp": partial(repeated, n_blocks, exponentials, ratio, mixture.weight),
                "product": partial(repeated, n_blocks, product, features, coefficients),
            }
            first = timing.once(calls["ours"])
            medians = timing.interleaved(calls, repeats)
        bound = medians["exp"] + medians["product"]
        out.append(
            Row(
                f"share of the bound, {n_points} points",
                bits,
                "exp + FMA",
                medians["ours"],
                bound,
                first,
                0.0,
                SHARE,
                PROMISED_SHARE,
            )
        )
    return out


def jobs(quick: bool) -> Iterator[command.Job]:
    """Every row of the table."""
    for n_points in GOALS:
        yield partial(against_optuna, n_points, repeats=3 if n_points > 1000 else 11 if quick else 31)
    # Of a peer whose call takes a second, three rounds tell a ratio that is far above its goal.
    yield partial(against_optuna_mixed, 1000, repeats=3 if quick else 31)
    yield partial(against_gaussian_kde, 1000, repeats=11 if quick else 31)
    yield partial(against_the_bound, 1000, repeats=31 if quick else 101)


if __name__ == "__main__":
    sys.exit(command.run(__doc__, jobs, None))
