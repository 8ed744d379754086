"""Parzen densities against peers: ``python -m benchmarks.density [--quick] [--json FILE]``.

For each row: our median, the peer's, the ratio, the goal, the time of the first call and the largest
difference between the two results (log densities). One core, interleaved, one process. The mixtures are
built beforehand on both sides, by `ParzenEstimator.fit` and by the peer's constructor. Peers that are not
installed are left out: only Optuna, SciPy and scikit-learn are among the packages of the tests. The full
run prints the temporary memory too, and the times and errors of two approximate peers.

The bound is what a core needs for the same matrix product, powers of two and weighted sums, and nothing else.
"""

from benchmarks import timing  # isort: skip  (pins the core before JAX is loaded)

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

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
# Of the peers; their times do not depend on it.
BANDWIDTH = 0.2
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


@dataclass(frozen=True)
class Peer:
    """A density that another package evaluates without approximation.

    Attributes:
        package: its rows are left out where this is not installed.
        fit: the log density of rows (n, d), as a function of points (m, d).
        most: pairs of a point and a row that it is timed on; the time of more is scaled, since it is linear.
    """

    package: str
    fit: Callable[[np.ndarray], Callable[[np.ndarray], Any]]
    most: int = 10**7


def scipy_kde(x: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    kde = scipy.stats.gaussian_kde(x.T)
    return lambda y: kde.logpdf(y.T)


def jax_kde(x: np.ndarray) -> Callable[[np.ndarray], jax.Array]:
    log_prob = jax.jit(jax_stats.gaussian_kde(jnp.asarray(x.T)).logpdf)
    return lambda y: jax.block_until_ready(log_prob(jnp.asarray(y.T)))


def sklearn_kde(x: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    from sklearn.neighbors import KernelDensity

    return KernelDensity(bandwidth=BANDWIDTH).fit(x).score_samples


def statsmodels_kde(x: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    from statsmodels.nonparametric.api import KDEMultivariate

    return KDEMultivariate(x, "c" * x.shape[1], bw=np.full(x.shape[1], BANDWIDTH)).pdf


def kdepy_kde(x: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    from KDEpy import NaiveKDE

    return NaiveKDE(kernel="gaussian", bw=BANDWIDTH).fit(x).evaluate


def torch_kde(x: np.ndarray) -> Callable[[np.ndarray], Any]:
    import torch
    from torchkde import KernelDensity

    torch.set_num_threads(1)
    kde = KernelDensity(bandwidth=BANDWIDTH).fit(torch.as_tensor(x))
    return lambda y: kde.score_samples(torch.as_tensor(y))


PEERS = {
    "SciPy": Peer("scipy", scipy_kde),
    "jax.scipy": Peer("jax", jax_kde),
    "scikit-learn": Peer("sklearn", sklearn_kde),
    "statsmodels": Peer("statsmodels", statsmodels_kde, 10**6),
    "KDEpy": Peer("KDEpy", kdepy_kde),
    "torch-kde": Peer("torchkde", torch_kde),
}


def against_exact(n_kernels: int, n_points: int, bits: int, *, repeats: int) -> list[Row]:
    """NumPy points to log densities, beside each exact peer that is installed; all but JAX's have 64 bits."""
    x, y = rows(n_kernels), candidates(n_points)
    peers = {name: peer for name, peer in PEERS.items() if find_spec(peer.package)}
    with jax.enable_x64(bits == 64):
        pe = px.ParzenEstimator.fit(space(), x).prepared()
        ours = lambda: jax.block_until_ready(pe.log_prob(y))  # noqa: E731
        first = timing.once(ours)
        parts = {name: min(n_points, peer.most // n_kernels) for name, peer in peers.items()}
        calls = {
            name: partial(peer.fit(x), np.ascontiguousarray(y[: parts[name]])) for name, peer in peers.items()
        }
        for call in calls.values():
            call()
        medians = timing.interleaved({"ours": ours} | calls, repeats, {"ours": INNER.get(n_points, 1)})
    work = f"log density, {n_kernels} kernels, {n_points} points"
    goal = 10.0 if n_kernels == N_KERNELS else 1.0
    return [
        Row(work, bits, name, medians["ours"], medians[name] * n_points / parts[name], first, 0.0, goal)
        for name in peers
    ]


def gradients(n_kernels: int, n_points: int, *, repeats: int) -> list[Row]:
    """The gradient of the log densities' sum by the points, beside JAX's `gaussian_kde`."""
    x, y = rows(n_kernels), candidates(n_points)
    out = []
    for bits in (64, 32):
        with jax.enable_x64(bits == 64):
            pe, kde = px.ParzenEstimator.fit(space(), x), jax_stats.gaussian_kde(jnp.asarray(x.T))
            at = jnp.asarray(y)
            ours = jax.jit(jax.grad(lambda y, pe=pe: pe.log_prob(y).sum()))
            theirs = jax.jit(jax.grad(lambda y, kde=kde: kde.logpdf(y.T).sum()))
            first = timing.once(partial(repeated, 1, ours, at))
            repeated(1, theirs, at)
            calls = {"ours": partial(repeated, 1, ours, at), "theirs": partial(repeated, 1, theirs, at)}
            medians = timing.interleaved(calls, repeats)
        work = f"gradient, {n_kernels} kernels, {n_points} points"
        out.append(Row(work, bits, "jax.scipy", medians["ours"], medians["theirs"], first, 0.0, 5.0))
    return out


def memory(n_kernels: int, n_points: int) -> list[Row]:
    """Print what XLA's programs need beside their arguments and results."""
    x, y = rows(n_kernels), jax.ShapeDtypeStruct((n_points, D), np.float32)
    with jax.enable_x64(False):
        pe, kde = px.ParzenEstimator.fit(space(), x), jax_stats.gaussian_kde(jnp.asarray(x.T))
        programs = {
            "ours": lambda y: pe.log_prob(y),
            "its gradient": jax.grad(lambda y: pe.log_prob(y).sum()),
            "jax.scipy": lambda y: kde.logpdf(y.T),
            "its gradient in jax.scipy": jax.grad(lambda y: kde.logpdf(y.T).sum()),
        }
        sizes = {
            name: jax.jit(program).lower(y).compile().memory_analysis().temp_size_in_bytes / 2**20
            for name, program in programs.items()
        }
    sentence = ", ".join(f"{name} {size:.0f}" for name, size in sizes.items())
    print(f"MiB of temporaries, {n_kernels} kernels, {n_points} points, 32 bits: {sentence}")
    return []


def approximations(n_kernels: int, n_points: int, *, repeats: int) -> list[Row]:
    """Beside approximate peers of two columns, with the largest relative error of their densities."""
    if not (find_spec("sklearn") and find_spec("KDEpy")):
        return []
    from KDEpy import FFTKDE
    from scipy.interpolate import RegularGridInterpolator
    from sklearn.neighbors import KernelDensity

    x, y = rows(n_kernels, 2), candidates(n_points, 2)
    exact = np.exp(KernelDensity(bandwidth=0.05).fit(x).score_samples(y[:PART]))

    def on_grid(y: np.ndarray) -> np.ndarray:
        grid, density = FFTKDE(kernel="gaussian", bw=0.05).fit(x).evaluate((512, 512))
        ends = [np.unique(grid[:, j]) for j in range(2)]
        return RegularGridInterpolator(ends, density.reshape(512, 512))(y)

    tree = KernelDensity(bandwidth=0.05, rtol=1e-3).fit(x)
    peers = {"KDEpy's FFT": on_grid, "scikit-learn, rtol=1e-3": lambda y: np.exp(tree.score_samples(y))}
    with jax.enable_x64(True):
        pe = px.ParzenEstimator.fit(space(2), x).prepared()
        ours = lambda: jax.block_until_ready(pe.log_prob(y))  # noqa: E731
        first = timing.once(ours)
        parts = {"KDEpy's FFT": n_points, "scikit-learn, rtol=1e-3": min(n_points, PART)}
        calls = {name: partial(peer, y[: parts[name]]) for name, peer in peers.items()}
        medians = timing.interleaved({"ours": ours} | calls, repeats)
    out = []
    for name, peer in peers.items():
        error = np.abs(peer(y[:PART]) / exact - 1).max()
        work = f"2 columns, {n_kernels} kernels, {n_points} points; error {error:.0e}"
        scaled = medians[name] * n_points / parts[name]
        out.append(Row(work, 64, name, medians["ours"], scaled, first, 0.0, 0.0))
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
    for bits in (64, 32):
        yield partial(against_exact, N_KERNELS, 1000, bits, repeats=5 if quick else 31)
        for n_points in () if quick else (1000, 100_000):
            yield partial(against_exact, 10 * N_KERNELS, n_points, bits, repeats=3)
    yield partial(gradients, N_KERNELS, 1000, repeats=5 if quick else 31)
    if not quick:
        yield partial(against_exact, 10 * N_KERNELS, 1_000_000, 32, repeats=1)
        yield partial(memory, 10 * N_KERNELS, 100_000)
        yield partial(approximations, 10 * N_KERNELS, 100_000, repeats=3)
    yield partial(against_the_bound, 1000, repeats=31 if quick else 101)


if __name__ == "__main__":
    sys.exit(command.run(__doc__, jobs, None))
