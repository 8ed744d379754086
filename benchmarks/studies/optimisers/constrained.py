"""Constrained problems: the tables of PARZAX_DATA with thresholds, and the mixed functions within a ball.

A gap is the regret, without noise, of the feasible evaluation of smallest loss so far; before there is one,
that of the worst. Of a table it is of mean losses over trainings, whereas an evaluation is one training: else
who evaluates a configuration again would be paid for the luckiest of its trainings. Feasible is what that one
training was; the optimum is over configurations that some training finds feasible.
"""

import dataclasses
import zlib
from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.load_table import load_table
from benchmarks.studies.optimisers import mixed
from benchmarks.studies.optimisers.problems import Case, Group, Values, of_best
from benchmarks.studies.optimisers.tables import names as table_names
from benchmarks.studies.optimisers.tables import regrets
from benchmarks.studies.papers.tables import Table, families, tables

# Shares of the configurations that are feasible, about.
QUANTILES = 0.1, 0.5, 0.9
KINDS = {"size": ("size",), "runtime": ("runtime",), "both": ("size", "runtime")}
BALL = "mixed in a ball"
# The optimum lies within the ball by this much of its squared radius, for the rounding of its coordinates.
_SLACK = 0.02


def names() -> list[str]:
    """Groups: one per benchmark of tables and kind of constraint, and one of functions."""
    with_limits = [family for family, own in families(tables()).items() if own[0].constraints]
    return [f"{family}, {kind}" for family, kind in product(with_limits, KINDS)] + [BALL]


def cases(group: str) -> list[tuple[str, str]]:
    """Name and half of each problem of a group; all thresholds of a table are in one half."""
    if group == BALL:
        sources = [(name.split("/")[1], half) for name, half in mixed.names("mixed")]
    else:
        # As without constraints.
        sources = [(table.name, half) for table, half in _tables(group)]
    return [(f"{group}/{name} at {q}", half) for (name, half), q in product(sources, QUANTILES)]


def group(name: str, n_seeds: int) -> Group:
    """One by its name."""
    return _ball(n_seeds) if name == BALL else _of_tables(name)


def _tables(group: str) -> list[tuple[Table, str]]:
    family = group.split(", ")[0]
    own = families(tables())[family]
    halves = [half for _, half in table_names(family, own)]
    return list(zip(own, halves, strict=True))


def _of_tables(name: str) -> Group:
    limits, found, space = KINDS[name.split(", ")[1]], [], None
    for (table, half), quantile in product(_tables(name), QUANTILES):
        problem = load_table(
            table.path, [table.objectives[0]], constraint_quantiles=dict.fromkeys(limits, quantile)
        )
        space, unnamed = problem.space, ("",) * len(limits)
        plain = dataclasses.replace(problem, name="", objective_names=("",), constraint_names=unnamed)
        shared = plain, regrets(problem)
        found.append(Case(f"{name}/{table.name} at {quantile}", half, shared))
    if space is None:
        raise ValueError(f"{name} has no tables")
    return Group(name, space, tuple(found), _look_up, _of_best_feasible, n_constraints=len(limits))


def _look_up(shared: Any, _own: Any, key: jax.Array, x: jax.Array) -> Values:
    return shared[0](key, x)


def _of_best_feasible(
    shared: Any, _own: Any, x: jax.Array, objectives: jax.Array, constraints: jax.Array
) -> jax.Array:
    table, above = shared
    losses = jnp.where((constraints <= 0).all(axis=-1), objectives[:, 0], jnp.nan)
    found = of_best(above[jax.vmap(table.encode)(x)], losses)
    return _from_first(~jnp.isnan(losses), found, above.max())


def _from_first(usable: jax.Array, gaps: jax.Array, worst: jax.Array) -> jax.Array:
    """(n,) gaps from the first usable evaluation on; the worst one before."""
    return jnp.where(jax.lax.cummax(usable.astype(int)) > 0, gaps, worst)


def _ball(n_seeds: int) -> Group:
    """Functions whose optimum is feasible, on the surface of the ball where that is small."""
    plain, units = mixed.group("mixed", n_seeds), mixed.units_of(mixed.SPACES["mixed"])
    rng = np.random.default_rng(zlib.crc32(BALL.encode()))
    offsets, optima = (np.asarray(leaf) for leaf in plain.cases[0].own)
    n_labels = plain.space.domains[0][0].n_values
    best = optima[np.arange(n_seeds), offsets[:, :n_labels].argmin(axis=1)]
    center = rng.uniform(0.1, 0.9, best.shape)
    anywhere = ((rng.uniform(size=(2000, *best.shape)) - center) ** 2).sum(axis=-1)
    to_best = ((best - center) ** 2).sum(axis=-1) * (1 + _SLACK)
    pairs, worst, found = list(product(plain.cases, QUANTILES)), _worst(plain), []
    for (name, half), (case, quantile) in zip(cases(BALL), pairs, strict=True):
        reach = np.maximum(np.quantile(anywhere, quantile, axis=0), to_best)
        own = case.own, jnp.asarray(center, float), jnp.asarray(reach, float), worst(case)
        found.append(Case(name, half, case.shared, own))

    def evaluate(shared: Any, own: Any, key: jax.Array, x: jax.Array) -> Values:
        objectives, _ = plain.evaluate(shared, own[0], key, x)
        return objectives, (((units(x) - own[1]) ** 2).sum() - own[2])[None]

    def gaps(shared: Any, own: Any, x: jax.Array, objectives: jax.Array, constraints: jax.Array) -> jax.Array:
        feasible = (constraints <= 0).all(axis=-1)
        usable = jnp.where(feasible[:, None], objectives, jnp.nan)
        regrets = plain.gaps(shared, own[0], x, usable, constraints)
        return _from_first(feasible, regrets, own[3])

    return Group(BALL, plain.space, tuple(found), evaluate, gaps, n_constraints=1)


def _worst(plain: Group) -> Callable[[Case], jax.Array]:
    """A function of a case: (s,) the largest regret of 500 random configurations in each run."""
    sampler = px.tpe(plain.space)
    draw = jax.vmap(lambda key: sampler.ask(key, sampler.init(1)))
    x = draw(jax.random.split(jax.random.key(0), 500))

    def of_run(shared: Any, own: Any) -> jax.Array:
        return jax.lax.map(lambda one: plain.gaps(shared, own, one, jnp.zeros((1, 1)), ())[0], x).max()

    of_runs = jax.jit(jax.vmap(of_run, in_axes=(None, 0)))
    return lambda case: of_runs(case.shared, case.own)
