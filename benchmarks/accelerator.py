"""The same jobs on the CPU and on an accelerator: ``python -m benchmarks.accelerator [--quick]``.

Medians of calls that end when NumPy has the answer, transfers and the host's work included, the first call
with compilation, and the largest difference of the two answers. Importance is also computed from arrays that
are on the device, by one compiled function that ends when the answer is there; such a row names its bound on
one H100. All of the CPU's cores, one process, 32 bits. Exits with status 1 where an accelerator is above its
bound, or answers differ by more than 0.1 % of the largest; many runs of an optimiser, whose suggestions are
another sample once a comparison is rounded otherwise, are compared by their mean best loss, and a single one
is not. Large jobs leave the CPU out, as do all with JAX_PLATFORMS=cuda. Without an accelerator it prints the
CPU's times alone. The runs of c-TPE need the tables of PARZAX_DATA.
"""

import os

os.environ.setdefault("PARZAX_NO_CACHE", "1")  # first calls are those of a first process

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

import parzax as px
from benchmarks import command
from benchmarks.studies.papers.c_tpe import searches, settings
from benchmarks.studies.papers.tables import tables

LEVELS = np.roll(np.arange(1, 100) / 100, -9)  # 0.1 is the first
TOLERANCE = 1e-3
# Answers of samplers: standard errors by which means of the best losses may differ.
_FAR = 4.0


class Job(NamedTuple):
    """Work on the default device.

    Attributes:
        call: ends when NumPy has the answer.
        drawn: whether the answer depends on comparisons of rounded numbers.
        bound: milliseconds that the job may take on one H100, of jobs that start from device arrays.
        large: whether a CPU would take minutes.
    """

    call: Callable[[], np.ndarray]
    drawn: bool = False
    bound: float | None = None
    large: bool = False


def _rows(n_seeds: int, n: int, d: int) -> tuple[px.Space, np.ndarray, np.ndarray]:
    """Random searches of n rows; three of d numbers have an effect."""
    x = np.random.default_rng(0).uniform(size=(n_seeds, n, d)).astype(np.float32)
    loss = (x[..., 0] - 0.3) ** 2 + 0.5 * np.abs(x[..., 1] - 0.6) + 0.1 * x[..., 2]
    return px.Space({f"x{j}": px.Float(0, 1) for j in range(d)}), x, loss


def _log(n_seeds: int, n: int, d: int) -> px.Observations:
    space, x, loss = _rows(n_seeds, n, d)
    return px.Observations.from_arrays(space, x[0] if n_seeds == 1 else x, loss[0] if n_seeds == 1 else loss)


def _sweep(n_seeds: int, n: int, d: int, n_levels: int = len(LEVELS)) -> Job:
    obs, levels = _log(n_seeds, n, d), LEVELS[:n_levels]
    return Job(lambda: np.asarray(px.cond_ped_anova(obs, levels, n_resamples=0).importance))


def _device_sweep(n_seeds: int, n: int, d: int, bound: float, n_levels: int = len(LEVELS)) -> Job:
    """The same from device arrays: encode, estimate, shares, as one compiled function."""
    space, x, loss = _rows(n_seeds, n, d)
    placed = jax.block_until_ready((jax.numpy.asarray(x), jax.numpy.asarray(loss)))

    @jax.jit
    @jax.vmap
    def shares(x: jax.Array, loss: jax.Array) -> jax.Array:
        return px.importance.estimate(px.encode(space, x, loss, LEVELS[:n_levels])).importance

    def call() -> np.ndarray:
        return jax.block_until_ready(shares(*placed))

    return Job(call, bound=bound, large=n_seeds * n >= 10**7)


def _device_half_samples(n_levels: int, bound: float) -> Job:
    space, x, loss = _rows(1, 1000, 3)
    placed = jax.block_until_ready((jax.random.key(0), jax.numpy.asarray(x[0]), jax.numpy.asarray(loss[0])))

    @jax.jit
    def variances(key: jax.Array, x: jax.Array, loss: jax.Array) -> jax.Array:
        encoded = px.encode(space, x, loss, LEVELS[:n_levels])
        return px.importance.resample(key, encoded, 1000).variance

    return Job(lambda: jax.block_until_ready(variances(*placed)), bound=bound)


def _half_samples(n_levels: int) -> Job:
    obs, key = _log(1, 1000, 3), jax.random.key(0)

    def call() -> np.ndarray:
        found = px.cond_ped_anova(obs, LEVELS[:n_levels], n_resamples=1000, n_shuffles=0, key=key)
        return np.asarray(found.importance_interval)

    return Job(call)


def _pairs(d: int) -> Job:
    obs, key = _log(1, 1000, d), jax.random.key(0)
    return Job(lambda: np.asarray(px.interactions(obs, 0.1, key=key).variance))


def _densities(n_rows: int, n_points: int, d: int) -> Job:
    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(d)})
    rng = np.random.default_rng(0)
    fitted = px.ParzenEstimator.fit(space, rng.uniform(size=(n_rows, d)), bandwidth=px.bandwidth.Scott())
    at = rng.uniform(size=(n_points, d))
    return Job(lambda: np.asarray(fitted.log_prob(at)))


def _device_densities(n_rows: int, n_points: int, d: int, bound: float) -> Job:
    """The same with rows and points on the device."""
    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(d)})
    rows, at = (jax.random.uniform(jax.random.key(i), (n, d)) for i, n in enumerate((n_rows, n_points)))
    fitted = px.ParzenEstimator.fit(space, rows, bandwidth=px.bandwidth.Scott())
    log_prob = jax.jit(fitted.log_prob)
    return Job(lambda: jax.block_until_ready(log_prob(at)), bound=bound, large=n_rows * n_points > 10**8)


def _runs(n_runs: int, n_evaluations: int, d: int) -> Job:
    space = px.Space({f"x{j}": px.Float(-5, 5) for j in range(d)})
    problem = px.Problem(lambda _, x: ((x - 1.0) ** 2).sum(), space)
    sampler, keys = px.tpe(space), jax.random.split(jax.random.key(0), n_runs)
    on_cpu = jax.config.jax_default_device.platform == "cpu"
    lanes = min(n_runs, 32 if on_cpu else 16_384)  # chunks that fit a CPU's cache, or fill an accelerator

    def call() -> np.ndarray:
        trace = px.optimize_many(keys, sampler, problem, n_evaluations, lanes=lanes, progress=False)
        return np.asarray(trace.best_losses())[:, -1]

    return Job(call, drawn=True, large=n_runs > 10_000)


def _constrained_runs(n_seeds: int, bound: float) -> Job:
    """The experiment of the c-TPE paper: all tables, kinds of constraints and quantiles."""
    batches = [
        searches.problems(table.path, table.losses[0], names, settings.QUANTILES)
        for table in tables()
        for names in settings.CONSTRAINTS.values()
        if set(names) <= set(table.constraints)
    ]
    keys = jax.random.split(jax.random.key(0), (len(settings.QUANTILES), n_seeds))

    @eqx.filter_jit
    def losses(sampler: px.samplers.Sampler, batch: px.samplers.Tabular) -> jax.Array:
        def run(problem: px.samplers.Tabular, key: jax.Array) -> jax.Array:
            return px.optimize(key, sampler, problem, settings.N_EVALUATIONS).best_losses()[-1]

        return jax.vmap(jax.vmap(run, in_axes=(None, 0)))(batch, keys)

    def call() -> np.ndarray:
        waiting = [
            losses(px.c_tpe(batch.space, n_constraints=batch.n_constraints), batch) for batch in batches
        ]
        return np.asarray([np.asarray(best) for best in waiting])

    return Job(call, drawn=True, bound=bound, large=True)


def jobs(quick: bool) -> dict[str, Callable[[], Job]]:
    """Name -> what prepares a job; the quick ones serve to see that all of it runs."""
    if quick:
        return {
            "sweep, 99 levels, 10 seeds of 1000 rows, 3 parameters": lambda: _sweep(10, 1000, 3),
            "the same from device arrays": lambda: _device_sweep(10, 1000, 3, 2),
            "1000 half-samples, 1 level, 1000 rows": lambda: _half_samples(1),
            "1000 half-samples, 1 level, from device arrays": lambda: _device_half_samples(1, 20),
            "log densities, 1000 points, 1000 kernels, 10 parameters": lambda: _densities(1000, 1000, 10),
            "8 runs of px.tpe, 30 evaluations, 5 parameters": lambda: _runs(8, 30, 5),
        }
    return {
        "one level, 1000 rows, 3 parameters": lambda: _sweep(1, 1000, 3, 1),
        "sweep, 99 levels, 10 seeds of 1000 rows, 3 parameters": lambda: _sweep(10, 1000, 3),
        "... from device arrays: 10 seeds": lambda: _device_sweep(10, 1000, 3, 2),
        "sweep, 99 levels, 1000 seeds of 1000 rows, 10 parameters": lambda: _sweep(1000, 1000, 10),
        "... from device arrays: 1000 seeds": lambda: _device_sweep(1000, 1000, 10, 15),
        "... from device arrays: 10^4 studies": lambda: _device_sweep(10_000, 1000, 10, 200),
        "sweep, 99 levels, 10^6 rows, 20 parameters": lambda: _sweep(1, 1_000_000, 20),
        "... from device arrays: 10^6 rows": lambda: _device_sweep(1, 1_000_000, 20, 3),
        "... from device arrays: 10^7 rows": lambda: _device_sweep(1, 10_000_000, 20, 10),
        "1000 half-samples, 1 level, 1000 rows, 3 parameters": lambda: _half_samples(1),
        "1000 half-samples, 99 levels, 1000 rows, 3 parameters": lambda: _half_samples(99),
        "... from device arrays: half-samples, 99 levels": lambda: _device_half_samples(99, 100),
        "190 pairs of 20 parameters, 1 level, 1000 rows": lambda: _pairs(20),
        "log densities, 10^3 points, 1000 kernels, 10 parameters": lambda: _densities(1000, 1000, 10),
        "log densities, 10^6 points, 1000 kernels, 10 parameters": lambda: _densities(1000, 1_000_000, 10),
        "... from device arrays: 10^6 points, 1000 kernels": lambda: _device_densities(
            1000, 1_000_000, 10, 5
        ),
        "... from device arrays: 10^5 points, 10^4 kernels": lambda: _device_densities(
            10_000, 100_000, 10, 5
        ),
        "1 run of px.tpe, 100 evaluations, 5 parameters": lambda: _runs(1, 100, 5),
        "1024 runs of px.tpe, 100 evaluations, 5 parameters": lambda: _runs(1024, 100, 5),
        "65536 runs of px.tpe, 100 evaluations, 5 parameters": lambda: _runs(65_536, 100, 5),
        "c-TPE's experiment, 5 tables, 6750 runs of 200 evaluations": lambda: _constrained_runs(50, 5000),
    }


def timed(job: Job, repeats: int) -> tuple[float, float, np.ndarray]:
    """Seconds of the first call, the median of the others for up to ten seconds or so, the answer."""
    seconds, answer = [], np.empty(0)
    for _ in range(repeats + 1):
        start = time.perf_counter()
        answer = job.call()
        seconds.append(time.perf_counter() - start)
        if sum(seconds[1:]) > 10:
            break
    return seconds[0], float(np.median(seconds[1:] or seconds)), np.asarray(answer)


def difference(job: Job, one: np.ndarray, other: np.ndarray) -> tuple[str, bool]:
    """By how much answers differ, of runs their means in standard errors, and whether that is too much."""
    if (np.isfinite(one) != np.isfinite(other)).any():
        return ", other values are missing", True
    if not job.drawn:
        found = np.nanmax(np.abs(one - other)) / np.nanmax(np.abs(other))
        return f", difference {found:.1e}", not found <= TOLERANCE
    if len(one) == 1:
        return "", False
    found = abs(one.mean() - other.mean()) / np.sqrt((one.var() + other.var()) / len(one))
    return f", means {found:.2g} standard errors apart", not found <= _FAR


def devices() -> list[Any]:
    """The CPU, where JAX_PLATFORMS allows it, and the accelerator, if there is one."""
    best = jax.devices()[:1]
    with suppress(RuntimeError):
        return [jax.devices("cpu")[0], *(device for device in best if device.platform != "cpu")]
    return best


def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    options = command.begin(__doc__, "small jobs, to see that they run", argv)
    *cpu, best = devices()
    print(
        f"{len(os.sched_getaffinity(0))} cores; " + ", ".join(device.device_kind for device in (*cpu, best))
    )
    failed, repeats = [], 2 if options.quick else 5
    for name, prepare in jobs(options.quick).items():
        with jax.default_device(best):
            job = prepare()
            if job.large and best.platform == "cpu":
                print(f"{name}: left out on a CPU")
                continue
            first, fast, answer = timed(job, repeats)
        cells = f"{fast * 1e3:.3g} ms (first call {first:.1f} s)"
        if job.bound is not None and best.platform != "cpu" and not options.quick:
            cells += f", bound {job.bound:g} ms"
            failed += (
                [f"{name}: {fast * 1e3:.3g} ms, bound {job.bound:g} ms"] if fast * 1e3 > job.bound else []
            )
        if cpu and not job.large:
            with jax.default_device(cpu[0]):
                first, slow, other = timed(prepare(), repeats)
            apart, far = difference(job, answer, other)
            cells += f"; CPU {slow * 1e3:.3g} ms (first call {first:.1f} s), {slow / fast:.2g} times{apart}"
            failed += [f"{name}{apart}"] if far else []
        print(f"{name}: {cells}", flush=True)
    return command.verdict(failed)


if __name__ == "__main__":
    sys.exit(main())
