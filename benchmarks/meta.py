"""Meta-learning TPE: ``python -m benchmarks.meta [--quick] [--json FILE]``.

* The task kernel: similarities of a target to 5 source tasks (10 parameters, 200 observations each, S = 1000
  points), against ``hpo-task-similarity`` (or, where that is not installed, NumPy loops over tasks that do
  the same). The paper states 1e-4 seconds (arXiv 2212.06751).
* A suggestion with 1000 source tasks of 100 rows, at most 1024 candidates in all, against one of a single
  task with as many kernels and candidates: time per kernel and candidate.

One core, interleaved, one process; compile time apart.
"""

from benchmarks import timing  # isort: skip  (pins the core before JAX is loaded)

import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks import command
from benchmarks.rows import Row
from parzax.samplers import source_states
from parzax.samplers.groups import groups
from parzax.samplers.similar import similarities

KERNEL, SHARE = 100.0, 1 / 3
DIM, ROWS, SOURCES, POINTS = 10, 200, 5, 1000
MANY, FEW, CANDIDATES = 1000, 100, 1024

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
    sampler = px.meta_learn_tpe(
        SPACE, [observations(ROWS, seed) for seed in range(1, SOURCES + 1)], n_samples=POINTS
    )
    state = eqx.filter_jit(lambda s, x, y: s.tell(s.init(256), x, y))(
        sampler, *map(jnp.asarray, log(ROWS, 0))
    )

    @eqx.filter_jit
    def ours(sampler: px.samplers.Sampler, state: px.samplers.State) -> jax.Array:
        own = groups(sampler, state)
        return px.tasks.task_kernel(similarities(sampler, sampler.sources, state, own))

    name, theirs = peer()
    calls: dict[str, Callable[[], object]] = {
        "ours": lambda: jax.block_until_ready(ours(sampler, state)),
        "theirs": theirs,
    }
    first = timing.once(calls["ours"])
    medians = timing.interleaved(calls, repeats, {"ours": 10})
    print(f"the paper states 1e-4 s for the task kernel; ours takes {medians['ours']:.1e} s")
    print(
        "task kernel:",
        np.round(np.asarray(ours(sampler, state)), 3).tolist(),
        "theirs:",
        np.round(theirs(), 3),
    )
    work = f"task kernel, {SOURCES} tasks, S = {POINTS}"
    return [Row(work, 32, name, medians["ours"], medians["theirs"], first, 0.0, KERNEL)]


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
            found = IoUTaskSimilarity(
                n_samples=POINTS, config_space=space, observations_set=tasks, dim_reduction_factor=2.5
            )
            pairs = [(0, m) for m in range(1, SOURCES + 1)]
            return np.asarray(px.tasks.task_kernel(jnp.asarray(found.compute(task_pairs=pairs)[0, 1:])))

    return "hpo-task-similarity", package


def loops(logs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """The same from the paper's equations, task by task, with NumPy: Scott's rule, uniform points."""
    from scipy.stats import truncnorm

    at = np.random.default_rng(0).uniform(size=(POINTS, DIM))
    densities = []
    for x, y in logs:
        good = x[np.argsort(y)[: ROWS // 10]]
        width = np.clip(1.059 * good.std(axis=0, ddof=1) * len(good) ** -0.2, 0.1, 0.5)
        kernel = truncnorm.pdf(at[:, None], -good / width, (1 - good) / width, good, width)
        densities.append(kernel.prod(axis=-1).mean(axis=-1))
    d = [0.5 * np.abs(densities[0] - other).mean() for other in densities[1:]]
    s = (1 - np.clip(d, 0, 1)) / (1 + np.clip(d, 0, 1))
    return np.asarray(px.tasks.task_kernel(jnp.asarray(s)))


def suggestions(*, repeats: int) -> list[Row]:
    """With many tasks, and alone with as many rows."""
    sampler = px.meta_learn_tpe(
        SPACE, [observations(FEW, seed) for seed in range(1, MANY + 1)], n_samples=POINTS, epsilon=0.0
    )
    n_kernels = MANY * FEW
    alone = px.mo_tpe(SPACE, 1, n_candidates=CANDIDATES, n_startup=0)

    def state(own: px.samplers.Sampler, n: int, size: int) -> px.samplers.State:
        tell = eqx.filter_jit(lambda s, x, y: s.tell(s.init(size), x, y))
        return tell(own, *map(jnp.asarray, log(n, 0)))

    ask = eqx.filter_jit(lambda own, key, state: own.ask(key, state))
    states = state(sampler, FEW, 256), filled(n_kernels)
    key = jax.random.key(0)
    calls: dict[str, Callable[[], object]] = {
        "ours": lambda: jax.block_until_ready(ask(sampler, key, states[0])),
        "theirs": lambda: jax.block_until_ready(ask(alone, key, states[1])),
    }
    first = timing.once(calls["ours"])
    timing.once(calls["theirs"])
    medians = timing.interleaved(calls, repeats)
    work = f"suggestion, {MANY} tasks of {FEW} rows, {CANDIDATES} candidates"
    return [Row(work, 32, "one task, as many kernels", medians["ours"], medians["theirs"], first, 0.0, SHARE)]


def filled(n: int) -> px.samplers.State:
    """A state of n rows, made on the host (rows told one by one would be many)."""
    x, y = log(n, 0)
    at, size = px.parzen.points.points(SPACE, x), 1 << (n - 1).bit_length()
    state = source_states.filled(x, at, y[:, None], np.zeros((n, 0)), size, np.float32)
    return jax.tree.map(jnp.asarray, state)


def jobs(quick: bool) -> Iterator[list[Row]]:
    """All comparisons."""
    yield task_kernel(repeats=5 if quick else 15)
    yield suggestions(repeats=3 if quick else 9)


if __name__ == "__main__":
    sys.exit(command.run(__doc__, jobs, None))
