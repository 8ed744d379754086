"""Runs of meta-learning TPE on ellipsoids and on benchmark tables, each with source logs of its own."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.meta_claims import CENTERS, CHECKED, N_TASKS, Results
from parzax.observations import capacity
from parzax.samplers import Sampler

# Rows of a source log, random configurations; the paper's MO-TPE takes 5 % of its suggestions at random.
N_ROWS, EPSILON = 100, 0.05
N_RUNS, N_RUNS_MANY = 50, 20
N_EVALUATIONS, N_TABLE_EVALUATIONS = 200, 100
# Runs that are compiled together; samplers with eight sources do not fit a core's cache in greater number.
LANES = 10
# Numbers and centres of sources that are run again with the candidates of one task in all.
BY_CANDIDATES, FEW_CANDIDATES = ((4, 1), (4, 2), (4, 3), (8, 1)), 100
FAMILIES = {
    "nmt_bench": (("so_en", "sw_en"), ("bleu_padded", "decoding_time_padded")),
    "hpolib": (
        ("slice_localization", "naval_propulsion", "parkinsons_telemonitoring"),
        ("valid_mse", "runtime"),
    ),
}

# Sampler of a run, by the number of the run.
Make = Callable[[int], Sampler]
Report = Callable[[str], None]


@eqx.filter_jit
def _chunk(
    samplers: Sampler, problem: px.problems.AbstractProblem, keys: jax.Array, n_evaluations: int
) -> tuple:
    """x (s, n, d) and objectives (s, n, m) of whole runs, of samplers whose arrays are stacked.

    As `px.optimize`, but with room for all rows from the beginning: one loop to compile instead of one for
    each capacity.
    """

    def run(sampler: Sampler, key: jax.Array) -> tuple:
        def step(state: px.samplers.State, own: jax.Array) -> tuple:
            ask, evaluate = jax.random.split(own)
            x = sampler.ask(ask, state)
            objectives, _ = problem(evaluate, x[0])
            return sampler.tell(state, x, objectives[None]), (x[0], objectives)

        own = jax.random.split(key, n_evaluations)
        return jax.lax.scan(step, sampler.init(capacity(n_evaluations)), own)[1]

    return eqx.filter_vmap(run, in_axes=(eqx.if_array(0), 0))(samplers, keys)


@eqx.filter_jit
def _similarities(samplers: Sampler, x: jax.Array, objectives: jax.Array) -> jax.Array:
    """(s, k, t) of runs whose rows come in k blocks, (s, k, n, d), after each of them."""

    def run(sampler: Sampler, x: jax.Array, objectives: jax.Array) -> jax.Array:
        def step(state: px.samplers.State, rows: tuple) -> tuple:
            state = sampler.tell(state, *rows)
            return state, px.samplers.similarities(sampler, state)

        return jax.lax.scan(step, sampler.init(capacity(N_EVALUATIONS)), (x, objectives))[1]

    return eqx.filter_vmap(run, in_axes=(eqx.if_array(0), 0, 0))(samplers, x, objectives)


def _stacked(samplers: Sequence[Sampler]) -> Sampler:
    return jax.tree.map(lambda *a: jnp.stack(a) if eqx.is_array(a[0]) else a[0], *samplers)


def _shapes(sampler: Sampler) -> tuple:
    """What decides on the program: groups below are padded to powers of two."""
    return tuple(leaf.shape for leaf in jax.tree.leaves(sampler) if eqx.is_array(leaf))


def chunks(samplers: Sequence[Sampler]) -> list[np.ndarray]:
    """Numbers of samplers whose arrays have one shape, LANES at a time; the last one repeated to fill up."""
    kinds: dict[tuple, list[int]] = {}
    for i, sampler in enumerate(samplers):
        kinds.setdefault(_shapes(sampler), []).append(i)
    found = []
    for own in kinds.values():
        for start in range(0, len(own), LANES):
            found.append(np.array(own)[np.minimum(np.arange(start, start + LANES), len(own) - 1)])
    return found


def runs(
    make: Make,
    problem: px.problems.AbstractProblem,
    n_runs: int,
    n_evaluations: int,
    blocks: int | None = None,
) -> tuple[np.ndarray, np.ndarray | None]:
    """Objectives (s, n, m) of whole runs, each by its own sampler; and similarities (s, k, t) by blocks."""
    samplers, keys = [make(seed) for seed in range(n_runs)], jax.random.split(jax.random.key(0), n_runs)
    losses, alike = [np.empty(0)] * n_runs, [np.empty(0)] * n_runs
    for chunk in chunks(samplers):
        together = _stacked([samplers[i] for i in chunk])
        x, objectives = _chunk(together, problem, keys[chunk], n_evaluations)
        for i, own in zip(chunk, np.asarray(objectives), strict=True):
            losses[i] = own
        if blocks is not None:
            x, objectives = (a.reshape(LANES, blocks, -1, a.shape[-1]) for a in (x, objectives))
            for i, own in zip(chunk, np.asarray(_similarities(together, x, objectives)), strict=True):
                alike[i] = own
    return np.stack(losses), None if blocks is None else np.stack(alike)


def alone(
    problem: px.problems.AbstractProblem, n_runs: int, n_evaluations: int, **options: int
) -> np.ndarray:
    """Objectives (s, n, m) of runs without sources."""
    sampler = px.mo_tpe(problem.space, problem.n_objectives, epsilon=EPSILON, **options)
    keys = jax.random.split(jax.random.key(0), n_runs)
    trace = px.optimize_many(sampler, problem, keys, n_evaluations, lanes=LANES, progress=False)
    return np.asarray(trace.objectives)


# --- ellipsoids ------------------------------------------------------------------------------------


def ellipsoid_log(dim: int, center: float, seed: int) -> px.Observations:
    """Random rows of a source task; for all centres the same ones."""
    x = np.random.default_rng(seed).uniform(-5, 5, (N_ROWS, dim))
    task = px.problems.ellipsoid(dim, center)
    losses, _ = jax.vmap(task, in_axes=(None, 0))(jax.random.key(0), jnp.asarray(x))
    return px.Observations.from_arrays(task.space, x, np.asarray(losses))


def ellipsoid_sampler(dim: int, center: float, n_tasks: int, seed: int, **options: Any) -> Sampler:
    """With so many logs of the same function, each with rows of its own."""
    logs = [ellipsoid_log(dim, center, max(N_TASKS) * seed + i) for i in range(n_tasks)]
    return px.meta_learn_tpe(px.problems.ellipsoid(dim).space, logs, **options)


def best(objectives: np.ndarray) -> np.ndarray:
    """(s, n) smallest loss so far."""
    return np.minimum.accumulate(objectives[..., 0], axis=-1)


def ellipsoids(results: Results, dim: int, n_tasks: Sequence[int], n_runs: int, report: Report) -> None:
    """Runs with sources at each centre, and without any."""
    target = px.problems.ellipsoid(dim)
    results.alone[dim] = best(alone(target, n_runs, N_EVALUATIONS))
    report(f"ellipsoid, D = {dim}, no source")
    for n in n_tasks:
        for center in CENTERS[dim]:
            make = partial(ellipsoid_sampler, dim, center, n)
            blocks = N_EVALUATIONS // CHECKED[0] if dim == min(CENTERS) else None
            objectives, alike = runs(make, target, n_runs, N_EVALUATIONS, blocks)
            results.best[dim, n, center] = best(objectives)
            if alike is not None:
                results.similarity[center] = alike[:, np.array(CHECKED) // CHECKED[0] - 1, 0]
            report(f"ellipsoid, D = {dim}, {n} sources, centre {center}")


def candidates(results: Results, dim: int, report: Report) -> None:
    """As many candidates with sources as without, and as many without as with sources."""
    target = px.problems.ellipsoid(dim)
    for n, center in BY_CANDIDATES:
        make = partial(ellipsoid_sampler, dim, center, n, max_candidates=FEW_CANDIDATES)
        objectives, _ = runs(make, target, N_RUNS_MANY, N_EVALUATIONS)
        results.by_candidates[n, center, FEW_CANDIDATES] = best(objectives)
        report(f"ellipsoid, D = {dim}, {n} sources, centre {center}, {FEW_CANDIDATES} candidates")
    for n in sorted({n for n, _ in BY_CANDIDATES}):
        many = FEW_CANDIDATES * (1 + n)
        found = alone(target, N_RUNS_MANY, N_EVALUATIONS, n_candidates=many)
        results.by_candidates[0, 0, many] = best(found)
        report(f"ellipsoid, D = {dim}, no source, {many} candidates")


# --- tables ----------------------------------------------------------------------------------------


def table(family: str, name: str) -> px.problems.Tabular:
    """A table without its name, so that those of a family share their programs."""
    loaded = px.problems.Tabular.load(f"{family}/{name}.npz", FAMILIES[family][1])
    return jax.tree.map(jnp.asarray, dataclasses.replace(loaded, name=""))


def table_log(problem: px.problems.Tabular, seed: int) -> px.Observations:
    """Random configurations of a table, with replacement."""
    choose, evaluate = jax.random.split(jax.random.key(seed))
    rows = jax.random.randint(choose, (N_ROWS,), 0, problem.n_seeds.shape[0])
    x = jax.vmap(problem.decode)(rows)
    losses, _ = jax.vmap(problem)(jax.random.split(evaluate, N_ROWS), x)
    return px.Observations.from_arrays(problem.space, np.asarray(x), np.asarray(losses))


def table_sampler(sources: Sequence[px.problems.Tabular], seed: int) -> Sampler:
    """With a log of each of the other tables."""
    logs = [table_log(source, len(sources) * seed + i) for i, source in enumerate(sources)]
    return px.meta_learn_tpe(sources[0].space, logs)


def share(problem: px.problems.Tabular, losses: np.ndarray, log: bool) -> np.ndarray:
    """(s, n) hypervolume so far over that of the true front; the first objective on a log axis, or not."""

    def scaled(values: jax.Array) -> jax.Array:
        return values.at[..., 0].set(jnp.log(values[..., 0])) if log else values

    reference = scaled(jnp.asarray(problem.oracle.worst, jnp.float32))
    whole = px.pareto.hypervolume(scaled(problem.losses).reshape(-1, 2), reference)
    there = jnp.tri(losses.shape[1])
    found = jax.jit(
        jax.vmap(jax.vmap(px.pareto.hypervolume, in_axes=(None, None, 0)), in_axes=(0, None, None))
    )(scaled(jnp.asarray(losses)), reference, there)
    return np.asarray(found / whole, np.float64)


def tables(results: Results, family: str, report: Report) -> None:
    """Every table of a family as the target, with the others as sources and without."""
    problems = {name: table(family, name) for name in FAMILIES[family][0]}
    for name, target in problems.items():
        sources = [source for other, source in problems.items() if other != name]
        log = family == "hpolib"
        found = alone(target, N_RUNS_MANY, N_TABLE_EVALUATIONS, n_startup=5)
        results.share["MO-TPE"][name] = share(target, found, log)
        found, _ = runs(partial(table_sampler, sources), target, N_RUNS_MANY, N_TABLE_EVALUATIONS)
        results.share["meta"][name] = share(target, found, log)
        report(f"{name}, {len(sources)} sources")


def measure(quick: bool, report: Report) -> Results:
    """All runs."""
    results = Results()
    few, many = min(CENTERS), max(CENTERS)
    ellipsoids(results, few, (1,), N_RUNS, report)
    tables(results, "nmt_bench", report)
    if not quick:
        tables(results, "hpolib", report)
        ellipsoids(results, many, N_TASKS, N_RUNS_MANY, report)
        candidates(results, many, report)
    return results
