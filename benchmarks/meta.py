"""Meta-learning TPE: ``python -m benchmarks.meta [--quick] [--json FILE]``.

* The task kernel: similarities of a target to 5 source tasks (10 parameters, 200 observations each, S = 1000
  points), against ``hpo-task-similarity`` (or, where that is not installed, NumPy loops over tasks that do
  the same). The paper states 1e-4 seconds (arXiv 2212.06751). After Eq. 15-17 the loops evaluate the few
  parameters that are kept, where the compiled kernel evaluates all ten and masks the others.
* A suggestion with 1000 source tasks of 100 rows, at most 1024 candidates in all, against one of a single
  task with as many kernels and candidates: time per kernel and candidate.

Both have estimates of their own, and the single task another density. So the differences are those to NumPy
in float64: of the task kernel at our points, and of the scores of configurations.

One core, interleaved, one process; compile time apart.
"""

from benchmarks import timing  # isort: skip  (pins the core before JAX is loaded)

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import equinox as eqx
import jax
import numpy as np
from scipy.special import logsumexp
from scipy.stats import truncnorm

import parzax as px
from benchmarks import command
from benchmarks.rows import Row
from benchmarks.settings import adjusted
from parzax.meta.sources import Tasks

KERNEL, SHARE = 50.0, 0.8
DIM, ROWS, SOURCES, POINTS = 10, 200, 5, 1000
MANY, FEW, CANDIDATES = 1000, 100, 1024
# Configurations whose scores are checked.
N_SCORED = 20
# Of the grid on which the loops measure importance.
N_CELLS = 50

SPACE = px.Space({f"x{j}": px.Float(0, 1) for j in range(DIM)})


def log(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random rows, and a sphere whose centre is the task's."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, DIM))
    return x, np.square(x - rng.uniform(0.3, 0.7)).sum(axis=1)


def observations(n: int, seed: int) -> px.Observations:
    return px.Observations.from_arrays(SPACE, *log(n, seed))


def task_kernel(*, repeats: int) -> list[Row]:
    """The target's similarities to all sources, from its rows."""
    sampler = adjusted(px.papers.authors_meta_learn_tpe, n_samples=POINTS)(
        SPACE, [observations(ROWS, seed) for seed in range(1, SOURCES + 1)]
    )
    state = sampler.tell(sampler.init(256), *log(ROWS, 0))

    name, theirs = peer()
    calls: dict[str, Callable[[], object]] = {
        "ours": lambda: jax.block_until_ready(kernel(sampler, state)),
        "theirs": theirs,
    }
    first = timing.once(calls["ours"])
    medians = timing.interleaved(calls, repeats, {"ours": 10})
    print(f"the paper states 1e-4 s for the task kernel; ours takes {medians['ours']:.1e} s")
    values = np.asarray(kernel(sampler, state))
    print("task kernel:", np.round(values, 3).tolist(), "theirs:", np.round(theirs(), 3))
    difference = float(np.abs(values - kernel_at_our_points(sampler, state)).max())
    work = f"task kernel, {SOURCES} tasks, S = {POINTS}"
    return [Row(work, 32, name, medians["ours"], medians["theirs"], first, difference, KERNEL)]


@eqx.filter_jit
def kernel(sampler: px.samplers.Sampler, state: px.samplers.State) -> jax.Array:
    """The task kernel of the sampler's sources."""
    return px.meta.task_kernel(px.samplers.similarities(sampler, state))


@eqx.filter_jit
def target_points(sampler: px.samplers.Sampler, state: px.samplers.State) -> tuple[jax.Array, jax.Array]:
    """The parameters that the sampler compares by, and the points that it draws from the target's density."""
    comparison, compared = sampler.smoothing.sources.comparison, sampler.smoothing.sources.compared[0]
    split = sampler.split(state)
    below, counted = split.below[0], split.below[0] | split.above[0]
    target = comparison.compared_rows(state.points, below, counted, comparison.keys[1], split.most)
    importance = target.importance, compared.importance
    columns, _ = comparison.kept(*importance, np.ones((SOURCES, 1), bool), ROWS // 10, ROWS)
    return columns, target.samples.unit


def kernel_at_our_points(sampler: px.samplers.Sampler, state: px.samplers.State) -> np.ndarray:
    """The task kernel in float64, task by task, at our points and by the parameters that we keep."""
    columns, ours = target_points(sampler, state)
    columns, ours = np.flatnonzero(columns), np.asarray(ours, np.float64)
    compared = sampler.smoothing.sources.compared[0]
    below = [best_rows(*log(ROWS, seed))[:, columns] for seed in range(SOURCES + 1)]
    d = []
    for theirs, rows in zip(np.asarray(compared.samples.unit, np.float64), below[1:], strict=True):
        halves = []
        for at in (ours[:, columns], theirs[:, columns]):
            p, q = np.exp(log_density(at, below[0])), np.exp(log_density(at, rows))
            halves.append((np.abs(p - q) / (p + q)).mean())
        d.append(np.mean(halves))
    return kernel_of(np.array(d))


def best_rows(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The best tenth."""
    return x[np.argsort(y)[: len(y) // 10]]


def kernel_of(d: np.ndarray) -> np.ndarray:
    """The task kernel of total variations."""
    s = (1 - d) / (1 + d)
    return np.array([1 - s.sum() / (len(s) + 1), *s / (len(s) + 1)])


def log_density(at: np.ndarray, rows: np.ndarray, prior: bool = False) -> np.ndarray:
    """Of truncated normals on rows, by Scott's rule, (j,); with one of width 1 around the middle, or not."""
    centres = np.concatenate([rows, np.full((1, rows.shape[1]), 0.5)]) if prior else rows
    first, third = np.percentile(centres, [25, 75], axis=0)
    spread = np.minimum((third - first) / 1.34, centres.std(axis=0, ddof=1))
    width = np.broadcast_to(np.clip(1.059 * spread * len(centres) ** -0.2, 0.1, 0.5), centres.shape).copy()
    width[len(rows) :] = 1.0
    logs = truncnorm.logpdf(at[:, None], -centres / width, (1 - centres) / width, centres, width)
    return logsumexp(logs.sum(axis=-1), axis=-1) - np.log(len(centres))


def peer() -> tuple[str, Callable[[], np.ndarray]]:
    """The package's task kernel, or loops."""
    logs = [log(ROWS, seed) for seed in range(SOURCES + 1)]
    try:
        import ConfigSpace
        from task_similarity import IoUTaskSimilarity
    except ImportError:
        return "NumPy loops", partial(loops, logs)
    space = ConfigSpace.ConfigurationSpace({f"x{j}": (0.0, 1.0) for j in range(DIM)})
    tasks = [{**{f"x{j}": x[:, j] for j in range(DIM)}, "loss": y} for x, y in logs]

    def package() -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = IoUTaskSimilarity(
                n_samples=POINTS, config_space=space, observations_set=tasks, dim_reduction_factor=2.5
            )
            pairs = [(0, m) for m in range(1, SOURCES + 1)]
            return np.asarray(px.meta.task_kernel(np.asarray(estimator.compute(task_pairs=pairs)[0, 1:])))

    return "hpo-task-similarity", package


def loops(logs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The same from the paper's equations, task by task, with NumPy: Scott's rule, uniform points.

    Eq. 15 to 17 included: the floor(log_2.5 |D_1|) parameters are compared by whose good rows are furthest
    from uniform, on average over tasks.
    """
    good = [best_rows(x, y) for x, y in logs]
    grid = ((np.arange(N_CELLS) + 0.5) / N_CELLS)[:, None]
    importance = [
        [np.square(np.exp(log_density(grid, rows[:, [j]])) - 1).mean() for j in range(DIM)] for rows in good
    ]
    n_columns = int(np.log(len(good[0])) / np.log(2.5))
    columns = np.argsort(-np.mean(importance, axis=0))[:n_columns]
    at = np.random.default_rng(0).uniform(size=(POINTS, n_columns))
    first, *others = (np.exp(log_density(at, rows[:, columns])) for rows in good)
    return kernel_of(np.array([min(0.5 * np.abs(first - other).mean(), 1) for other in others]))


def suggestions(*, repeats: int) -> list[Row]:
    """With many tasks, and alone with as many rows."""
    logs = [observations(FEW, seed) for seed in range(1, MANY + 1)]
    sampler = adjusted(px.papers.authors_meta_learn_tpe, n_samples=POINTS, epsilon=0.0)(SPACE, logs)
    n_kernels = MANY * FEW
    alone = adjusted(px.mo_tpe, n_candidates=CANDIDATES, n_startup=0)(SPACE, 1)

    ask = eqx.filter_jit(lambda sampler, key, state: sampler.ask(key, state))
    state, state_alone = sampler.tell(sampler.init(256), *log(FEW, 0)), filled(n_kernels)
    key = jax.random.key(0)
    calls: dict[str, Callable[[], object]] = {
        "ours": lambda: jax.block_until_ready(ask(sampler, key, state)),
        "theirs": lambda: jax.block_until_ready(ask(alone, key, state_alone)),
    }
    first = timing.once(calls["ours"])
    timing.once(calls["theirs"])
    medians = timing.interleaved(calls, repeats)
    at = np.random.default_rng(0).uniform(size=(N_SCORED, DIM))
    shares = np.asarray(kernel(sampler, state), np.float64)
    difference = float(np.abs(np.asarray(sampler.score_of(state, at)) - scores(at, shares)).max())
    work = f"suggestion, {MANY} tasks of {FEW} rows, {CANDIDATES} candidates"
    peer = "one task, as many kernels"
    return [Row(work, 32, peer, medians["ours"], medians["theirs"], first, difference, SHARE)]


def scores(at: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """log l - log g in float64, task by task; all have as many rows, so that shares are weights."""
    logs: list[list[np.ndarray]] = [[], []]
    for seed in range(MANY + 1):
        x, y = log(FEW, seed)
        order = np.argsort(y)
        for densities, rows in zip(logs, (order[: FEW // 10], order[FEW // 10 :]), strict=True):
            densities.append(log_density(at, x[rows], prior=True))
    low, high = (logsumexp(np.stack(densities), axis=0, b=shares[:, None]) for densities in logs)
    return low - high


def filled(n: int) -> px.samplers.State:
    """A state of n rows, made on the host (rows told one by one would be many)."""
    rows = [observations(n, 0).to_source("task 1", SPACE, 1, 0)]
    states = Tasks.of(rows, px.split.Split(px.gamma.Linear(0.1))).states
    return jax.tree.map(lambda a: a[0], states)


def jobs(quick: bool) -> Iterator[command.Job]:
    """All comparisons."""
    yield partial(task_kernel, repeats=5 if quick else 15)
    yield partial(suggestions, repeats=3 if quick else 9)


if __name__ == "__main__":
    sys.exit(command.run(__doc__, jobs, None))
