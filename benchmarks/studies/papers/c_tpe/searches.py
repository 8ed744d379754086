"""Whole runs of our samplers on constrained tables, all quantiles and seeds of a table at once."""

import dataclasses
import time
import zlib
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.load_table import load_table
from benchmarks.settings import adjusted
from benchmarks.studies.papers.c_tpe import settings
from benchmarks.studies.papers.runs import Arrays
from benchmarks.studies.papers.tables import Table
from parzax.samplers import Sampler

# Losses (q, s, n) and constraints (q, s, n, c) of s runs at q thresholds.
Runs = tuple[jax.Array, jax.Array]


def problems(path: str, objective: str, constraints: Sequence[str], quantiles: Sequence[float]) -> Any:
    """A table at all quantiles, stacked; without its names, so that like tables share their programs."""
    each = [
        load_table(path, [objective], constraint_quantiles=dict.fromkeys(constraints, quantile))
        for quantile in quantiles
    ]
    unnamed = ("",) * len(constraints)
    each = [
        dataclasses.replace(one, name="", constraint_names=unnamed, objective_names=("",)) for one in each
    ]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *each)


def search(
    method: str,
    kinds: Sequence[str],
    tables: Sequence[Table],
    quantiles: Sequence[float],
    n_seeds: int,
    again: str = "",
) -> Arrays:
    """A unit: "TABLE/KIND/losses" and "TABLE/KIND/feasible" (q, s, n) by kind of constraint, and "quantiles".

    "seconds" has what all of it took, compilation included. Methods that do not see the constraints run once
    for all kinds, which then have equal losses. Another text in ``again``, other seeds.
    """
    found, start = {"quantiles": np.array(quantiles)}, time.perf_counter()
    for table in tables:
        blind = method in (settings.VANILLA, settings.RANDOM)
        for kind in ("both",) if blind else kinds:
            names = settings.CONSTRAINTS[kind]
            stacked = problems(table.path, table.objectives[0], names, quantiles)
            root = jax.random.key(zlib.crc32(f"{method}/{table.path}/{kind}{again}".encode()))
            losses, excess = _runs(method, stacked, jax.random.split(root, (len(quantiles), n_seeds)))
            for own in kinds if blind else (kind,):
                columns = [names.index(name) for name in settings.CONSTRAINTS[own]]
                found[f"{table.name}/{own}/losses"] = np.asarray(losses, np.float32)
                found[f"{table.name}/{own}/feasible"] = np.all(np.asarray(excess)[..., columns] <= 0, axis=-1)
    found["seconds"] = np.array(time.perf_counter() - start)
    return found


def oracles(tables: Sequence[Table], quantiles: Sequence[float]) -> Arrays:
    """A unit: "TABLE/KIND" (q, 2), the best and the worst feasible entry; "quantiles"."""
    found = {"quantiles": np.array(quantiles)}
    for table in tables:
        for kind, names in settings.CONSTRAINTS.items():
            stacked = problems(table.path, table.objectives[0], names, quantiles)
            found[f"{table.name}/{kind}"] = np.stack(
                [np.asarray(stacked.oracle.best)[:, 0], np.asarray(stacked.oracle.worst)[:, 0]], axis=1
            )
    return found


def _runs(method: str, stacked: Any, keys: jax.Array) -> Runs:
    space, n_constraints = stacked.space, stacked.n_constraints
    if method == settings.RANDOM:
        return at_random(stacked, keys)
    if method == settings.AUGMENTED:
        return augmented(px.c_tpe(space, n_constraints=n_constraints), stacked, keys)
    samplers = {
        settings.OURS: lambda: px.c_tpe(space, n_constraints=n_constraints),
        settings.TOP: lambda: adjusted(px.c_tpe, top=px.bandwidth.OptunaTop())(
            space, n_constraints=n_constraints
        ),
        settings.NAIVE: lambda: settings.naive(space, n_constraints),
        settings.VANILLA: lambda: px.papers.tpe(space),
    }
    return optimised(samplers[method](), stacked, keys)


@eqx.filter_jit
def optimised(sampler: Sampler, stacked: Any, keys: jax.Array) -> Runs:
    """Whole runs of a sampler, for keys (q, s)."""

    def at_threshold(pair: tuple[Any, jax.Array]) -> Runs:
        problem, own = pair
        trace = jax.vmap(lambda key: px.optimize(key, sampler, problem, settings.N_EVALUATIONS))(own)
        return trace.losses[..., 0], trace.constraints

    return jax.lax.map(at_threshold, (stacked, keys))


@eqx.filter_jit
def augmented(sampler: Sampler, stacked: Any, keys: jax.Array) -> Runs:
    """The same with rows, drawn at random, of which only the first constraint (the size) is known."""
    n_extra, n = settings.N_AUGMENTED, settings.N_EVALUATIONS

    def run(problem: Any, key: jax.Array) -> Runs:
        draw, search = jax.random.split(key)
        rows = jax.random.randint(draw, (n_extra,), 0, problem.n_seeds.shape[0])
        x = jax.vmap(problem.decode)(rows)
        known = jnp.full((n_extra, sampler.n_constraints), jnp.nan)
        known = known.at[:, 0].set(jax.vmap(lambda at: problem(draw, at)[1][0])(x))
        state = sampler.augment(sampler.init(n_extra + n), x, known)

        def step(state: Any, own: jax.Array) -> tuple[Any, Runs]:
            ask, evaluate = jax.random.split(own)
            at = sampler.ask(ask, state)
            losses, excess = problem(evaluate, at[0])
            return sampler.tell(state, at, losses[None], excess[None]), (losses[0], excess)

        return jax.lax.scan(step, state, jax.random.split(search, n))[1]

    return jax.lax.map(lambda pair: jax.vmap(lambda key: run(pair[0], key))(pair[1]), (stacked, keys))


@eqx.filter_jit
def at_random(stacked: Any, keys: jax.Array) -> Runs:
    """Random search: every configuration of the table is as likely, with replacement."""

    def run(problem: Any, key: jax.Array) -> Runs:
        choose, evaluate = jax.random.split(key)
        rows = jax.random.randint(choose, (settings.N_EVALUATIONS,), 0, problem.n_seeds.shape[0])
        own = jax.random.split(evaluate, settings.N_EVALUATIONS)
        losses, constraints = jax.vmap(lambda k, row: problem(k, problem.decode(row)))(own, rows)
        return losses[..., 0], constraints

    return jax.vmap(jax.vmap(run, in_axes=(None, 0)))(stacked, keys)
