"""Two objectives: pairs of BBOB functions, and tables of PARZAX_DATA with two metrics.

A gap is 1 less the hypervolume of what was found so far, as a share of the box from the best value of each
objective to its median over random configurations; of tables by mean losses over trainings, whereas an
evaluation is one training.
"""

import dataclasses
import math
import zlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.load_table import load_table
from benchmarks.studies.optimisers import bbob, tables
from benchmarks.studies.optimisers.problems import Case, Group, Values, alternately
from benchmarks.studies.papers.tables import Table, families
from benchmarks.studies.papers.tables import tables as found_tables

DIMENSIONS = 5
PAIRS = f"pairs of bbob-{DIMENSIONS:02}d"
_N_DRAWN = 1001


def names() -> list[str]:
    """Groups: one per benchmark of tables, and one of functions."""
    return [PAIRS, *(f"{family}, two metrics" for family in families(found_tables()))]


def cases(group: str) -> list[tuple[str, str]]:
    """Name and half of each problem of a group."""
    if group == PAIRS:
        functions = [name.split("/")[1] for name, _ in bbob.names(DIMENSIONS)]
        half = len(functions) // 2
        pairs = [
            f"{PAIRS}/{a} and {b}" for a, b in zip(functions[:half], functions[: half - 1 : -1], strict=True)
        ]
        return list(zip(pairs, alternately(len(pairs)), strict=True))
    family = group.split(", ")[0]
    own = families(found_tables())[family]
    return [(f"{group}/{name.split('/')[1]}", half) for name, half in tables.names(family, own)]


def group(name: str, n_seeds: int) -> Group:
    """One by its name."""
    return _pairs(n_seeds) if name == PAIRS else _of_tables(name)


def _pairs(n_seeds: int) -> Group:
    plain, n = bbob.group(DIMENSIONS, n_seeds), len(cases(PAIRS))
    x = jax.random.uniform(
        jax.random.key(zlib.crc32(PAIRS.encode())), (_N_DRAWN, DIMENSIONS), minval=-5, maxval=5
    )

    def values(shared: Any, own: Any, x: jax.Array) -> jax.Array:
        pairs = zip(shared, own, strict=True)
        return jnp.concatenate([plain.evaluate(index, one, jax.random.key(0), x)[0] for index, one in pairs])

    def medians(shared: Any, own: Any) -> jax.Array:
        return jnp.median(jax.lax.map(lambda one: values(shared, own, one), x), axis=0)

    typical, found = jax.jit(jax.vmap(medians, in_axes=(None, 0))), []
    for i, (name, half) in enumerate(cases(PAIRS)):
        first, second = plain.cases[i], plain.cases[2 * n - 1 - i]
        # Of another instance, whose optimum is elsewhere.
        shared = first.shared, second.shared
        own = first.own, jax.tree.map(lambda leaf: jnp.roll(leaf, 1, axis=0), second.own)
        found.append(Case(name, half, shared, (own, typical(shared, own))))

    def evaluate(shared: Any, own: Any, _key: jax.Array, x: jax.Array) -> Values:
        return values(shared, own[0], x), jnp.zeros(0, x.dtype)

    def gaps(
        _shared: Any, own: Any, _x: jax.Array, objectives: jax.Array, _constraints: jax.Array
    ) -> jax.Array:
        return missing_volume(objectives / own[1][None])

    return Group(PAIRS, plain.space, tuple(found), evaluate, gaps, n_objectives=2)


def _of_tables(name: str) -> Group:
    family, found, space = name.split(", ")[0], [], None
    own = families(found_tables())[family]
    for table, (case, half) in zip(own, cases(name), strict=True):
        problem = load_table(table.path, metrics(table))
        space = problem.space
        plain = dataclasses.replace(problem, name="", objective_names=("", ""))
        found.append(Case(case, half, (plain, _shares(tables.means(problem)))))
    if space is None:
        raise ValueError(f"{name} has no tables")
    return Group(name, space, tuple(found), _look_up, _volume, n_objectives=2)


def metrics(table: Table) -> tuple[str, str]:
    """Those of the header, or loss and runtime."""
    return (table.objectives[0], table.objectives[1] if len(table.objectives) > 1 else "runtime")


def _look_up(shared: Any, _own: Any, key: jax.Array, x: jax.Array) -> Values:
    return shared[0](key, x)


def _shares(losses: np.ndarray) -> jax.Array:
    """(n, 2) losses from 0 at the best value of each to 1 at its median; infinity where there is none."""
    known = losses[~np.isnan(losses).any(axis=-1)]
    least, middle = known.min(axis=0), np.median(known, axis=0)
    # Losses that span orders of magnitude are compared on a log axis.
    wide = (least > 0) & (known.max(axis=0) > 100 * np.where(least > 0, least, math.inf))
    low, high, at = (np.where(wide, np.log(np.where(wide, a, 1)), a) for a in (least, middle, losses))
    if (low == high).any():
        raise ValueError("half of the configurations or more have the best value of an objective.")
    return jnp.asarray(np.where(np.isnan(at), np.inf, (at - low) / (high - low)), float)


def _volume(
    shared: Any, _own: Any, x: jax.Array, _objectives: jax.Array, _constraints: jax.Array
) -> jax.Array:
    table, shares = shared
    rows = jax.vmap(table.encode)(x)
    return missing_volume(jnp.where((rows >= 0)[:, None], shares[rows], jnp.inf))


def missing_volume(losses: jax.Array) -> jax.Array:
    """1 - the hypervolume of the first i rows of losses (n, 2) below the point (1, 1), for every i; (n,)."""
    inside = (losses < 1).all(axis=-1)
    left, low = jnp.clip(jnp.where(inside[:, None], losses, 1), 0, 1).T
    order = jnp.argsort(left)
    width, height = jnp.append(left[order][1:], 1.0) - left[order], 1 - low[order]

    def volume(i: jax.Array) -> jax.Array:
        return (width * jax.lax.cummax(jnp.where(order <= i, height, 0))).sum()

    return 1 - jax.vmap(volume)(jnp.arange(len(losses)))
