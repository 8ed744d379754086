"""Suggestions and whole runs against Optuna's TPE: ``python -m benchmarks.tpe [--quick] [--json FILE]``.

* A suggestion: 24 candidates, joint, neighbour bandwidths on both sides (`px.optuna_tpe` and
  ``TPESampler(multivariate=True)``), with the same observations. Ours is one call of a compiled function, or
  one of 64 studies vmapped. Optuna's time is that of ``sample_relative`` on a study in memory.
* c-TPE on NAS-Bench-201 (ImageNet16-120, both constraints at the tenth quantile; a table of the same shape
  where PARZAX_DATA is not set), 200 evaluations: against Optuna's ``TPESampler`` with constraints doing the
  runs one by one, and against the matrix products, powers of two and logarithms of the same run alone.
* Runs of `px.tpe` on discrete spaces, 200 evaluations, a chunk of 32 at once, against the same on six floats:
  the goal is at most twice the time, for each suggestion.
* Whole runs on six floats against studies of Rustuna (Optuna in Rust), where it is installed.

One core, interleaved, one process; compile time apart. Optuna's objective is a look-up in the same table.
"""

from benchmarks import timing  # isort: skip  (pins the core before JAX is loaded)

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution

import parzax as px
from benchmarks import command, rustuna_peer
from benchmarks.load_table import load_table
from benchmarks.rows import Row
from parzax._numerics.logsumexp import power_of_two
from parzax.samplers.problem import Problem

SUGGESTION, VMAPPED = 10.0, 40.0
RUNS, SHARE = 200.0, 0.5
# What is kept: these rows feel a shared machine's caches more than their peers do.
KEPT_RUNS, KEPT_SHARE = 36.0, 0.4
STUDIES, LANES, EVALUATIONS = 64, 32, 200
# Discrete spaces, and their speed beside six floats that is kept; the goal is HALF.
HALF = 0.5
DISCRETE = {
    "5 ordinals of 8": ({f"x{j}": px.Ordinal(list(range(1, 9))) for j in range(5)}, 0.35),
    "6 integers 0..99": ({f"x{j}": px.Int(0, 99) for j in range(6)}, 0.25),
    "6 categories of 5": ({f"x{j}": px.Categorical(list("abcde")) for j in range(6)}, 0.5),
}


def observations(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """n random rows of d parameters, and a sphere's values there."""
    x = np.random.default_rng(0).uniform(size=(n, d))
    return x, np.square(x - 0.3).sum(axis=1)


def optuna_suggestion(x: np.ndarray, y: np.ndarray) -> Callable[[], object]:
    """Optuna's suggestion for a study of these rows."""
    space: dict[str, BaseDistribution] = {f"x{j}": FloatDistribution(0, 1) for j in range(x.shape[1])}
    sampler = optuna.samplers.TPESampler(multivariate=True, seed=0)
    study = optuna.create_study(sampler=sampler)
    for row, value in zip(x, y, strict=True):
        params = {name: float(v) for name, v in zip(space, row, strict=True)}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=float(value)))
    pending = study.ask()
    trial = study._storage.get_trial(pending._trial_id)
    return lambda: sampler.sample_relative(study, trial, space)


def suggestions(n: int, d: int, *, repeats: int) -> list[Row]:
    """One suggestion, alone and in a batch of 64 studies."""
    x, y = observations(n, d)
    sampler = px.optuna_tpe(px.Space({f"x{j}": px.Float(0, 1) for j in range(d)}))
    state = jax.jit(sampler.tell)(sampler.init(256 if n <= 256 else 1024), x, y)
    key, keys = jax.random.key(0), jax.random.split(jax.random.key(0), STUDIES)
    ask, ask_all = jax.jit(sampler.ask), jax.jit(jax.vmap(sampler.ask))
    states = jax.tree.map(lambda a: jnp.stack([a] * STUDIES), state)
    calls: dict[str, Callable[[], object]] = {
        "one": lambda: jax.block_until_ready(ask(key, state)),
        "many": lambda: jax.block_until_ready(ask_all(keys, states)),
        "theirs": optuna_suggestion(x, y),
    }
    first = {name: timing.once(calls[name]) for name in ("one", "many")}
    medians = timing.interleaved(calls, repeats, {"one": 20})
    work = f"suggestion, D = {d}, {n} rows"
    return [
        Row(work, 32, "Optuna", medians["one"], medians["theirs"], first["one"], 0.0, SUGGESTION, 7.0),
        Row(
            f"{work}, {STUDIES} studies at once",
            32,
            "Optuna, a study",
            medians["many"] / STUDIES,
            medians["theirs"],
            first["many"],
            0.0,
            VMAPPED,
        ),
    ]


def table() -> Problem:
    """NAS-Bench-201, or without it a function of the same shape."""
    if os.environ.get("PARZAX_DATA"):
        return load_table(
            "nasbench201/imagenet16_120.npz",
            objectives=["valid_error"],
            constraint_quantiles={"size": 0.1, "runtime": 0.1},
        )
    space = px.Space({f"op{j}": px.Categorical(list("abcde")) for j in range(6)})
    values = jnp.asarray(np.random.default_rng(0).normal(size=(6, 5, 3)), jnp.float32)

    def look_up(_: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        total = values[jnp.arange(6), x.astype(jnp.int32)].sum(axis=0)
        return total[:1], total[1:]

    return px.Problem(look_up, space, 1, 2)


def optuna_run(
    evaluate: Callable[..., tuple[jax.Array, jax.Array]], names: tuple[str, ...], seed: int
) -> float:
    """One constrained run with Optuna's sampler; its best feasible value."""
    choices: dict[str, BaseDistribution] = {name: CategoricalDistribution(list(range(5))) for name in names}
    sampler = optuna.samplers.TPESampler(multivariate=True, seed=seed, n_startup_trials=10)
    study = optuna.create_study(sampler=sampler)
    best = np.inf
    for i in range(EVALUATIONS):
        trial = study.ask(choices)
        x = jnp.array([trial.params[name] for name in names], jnp.float32)
        objectives, constraints = evaluate(jax.random.key(i), x)
        for k, value in enumerate(constraints):
            trial.set_constraint(f"c{k}", float(value))
        study.tell(trial, float(objectives[0]))
        best = min(best, float(objectives[0])) if bool((constraints <= 0).all()) else best
    return best


def runs(*, repeats: int) -> list[Row]:
    """c-TPE, a chunk of runs at once."""
    problem = table()
    sampler = px.c_tpe(problem.space, n_constraints=2)
    keys = jax.random.split(jax.random.key(0), LANES)
    ours = partial(px.optimize_many, keys, sampler, problem, EVALUATIONS, lanes=LANES, progress=False)
    core = arithmetic()
    first = timing.once(ours)
    timing.once(core)
    medians = timing.interleaved({"ours": ours, "core": core}, repeats)
    look_up = eqx.filter_jit(problem)
    look_up(keys[0], jnp.zeros(6))
    n = 3 if repeats < 10 else 5
    # The first is Optuna's warm-up, as ours is compiled before.
    _, *seconds = (timing.once(partial(optuna_run, look_up, problem.space.names, i)) for i in range(1 + n))
    best = np.asarray(ours().best_losses())[:, -1]
    print(f"best feasible value of our runs: median {np.median(best):.2f}", file=sys.stderr)
    per_run = medians["ours"] / LANES
    return [
        Row("c-TPE run", 32, "Optuna", per_run, float(np.median(seconds)), first, 0.0, RUNS, KEPT_RUNS),
        Row(
            "c-TPE run",
            32,
            "products + exp2",
            per_run,
            medians["core"] / LANES,
            first,
            0.0,
            SHARE,
            KEPT_SHARE,
        ),
    ]


def discrete_runs(*, quick: bool) -> list[Row]:
    """Runs of `px.tpe` on discrete spaces, beside runs on six floats."""
    keys, names = jax.random.split(jax.random.key(0), LANES), list(DISCRETE)[: 2 if quick else None]

    def run(space: px.Space) -> Callable[[], object]:
        problem = px.Problem(lambda _, x: jnp.square(x - 1.3).sum(), space)
        return partial(
            px.optimize_many, keys, px.tpe(space), problem, EVALUATIONS, lanes=LANES, progress=False
        )

    calls = {name: run(px.Space(DISCRETE[name][0])) for name in names}
    calls["floats"] = run(px.Space({f"x{j}": px.Float(0, 1) for j in range(6)}))
    first = {name: timing.once(call) for name, call in calls.items()}
    seconds = {name: time / (LANES * EVALUATIONS) for name, time in timing.interleaved(calls, 5).items()}
    kept = {name: DISCRETE[name][1] for name in names}
    return [
        Row(
            f"suggestion, {name}",
            32,
            "6 floats",
            seconds[name],
            seconds["floats"],
            first[name],
            0.0,
            HALF,
            kept[name],
        )
        for name in names
    ]


def arithmetic() -> Callable[[], object]:
    """The matrix products, powers of two and logarithms of a chunk of c-TPE runs, and nothing else."""
    points, features, groups = 72, 31, 6

    def at(capacity: int, steps: int) -> Callable[[jax.Array], jax.Array]:
        coefficients = jnp.asarray(
            np.random.default_rng(0).normal(size=(LANES, capacity, features)), jnp.float32
        )
        weight = jnp.full((LANES, groups, capacity), 1 / capacity, jnp.float32)

        def lane(x: jax.Array, c: jax.Array, w: jax.Array) -> jax.Array:
            ratio = jnp.matmul(x, c.T, precision="highest")
            return jnp.log(jnp.matmul(power_of_two(ratio), w.T, precision="highest"))

        def step(x: jax.Array, _: None) -> tuple[jax.Array, None]:
            out = jax.vmap(lane)(x, coefficients, weight)
            return x + 1e-9 * out.sum(axis=-1, keepdims=True), None

        return lambda x: jax.lax.scan(step, x, length=steps)[0]

    start = jnp.full((LANES, points, features), 0.01)
    whole = jax.jit(lambda x: at(256, EVALUATIONS - 64)(at(64, 64)(x)))
    return lambda: jax.block_until_ready(whole(start))


def jobs(quick: bool) -> Iterator[command.Job]:
    """Every row of the table."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
    for n, d in ((1000, 6),) if quick else ((200, 6), (1000, 6), (200, 20), (1000, 20)):
        yield partial(suggestions, n, d, repeats=11 if quick else 31)
    yield partial(runs, repeats=5 if quick else 15)
    yield partial(discrete_runs, quick=quick)
    if rustuna_peer.is_installed():
        for n in (100,) if quick else (100, 300, 1000):
            yield partial(rustuna_peer.studies, n, repeats=3 if quick else 9)


if __name__ == "__main__":
    sys.exit(command.run(__doc__, jobs, None))
