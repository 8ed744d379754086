"""Tables with two metrics, each the target of the others of its benchmark: runs, and what they found."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.load_table import load_table
from benchmarks.settings import adjusted
from benchmarks.studies.papers import tables as tables_module
from benchmarks.studies.papers.meta_learn_tpe.searches import EPSILON, N_ROWS, runs, with_count, with_eta
from benchmarks.studies.papers.runs import Arrays
from benchmarks.studies.papers.tables import Table
from parzax.samplers import RandomStart, Sampler

N_EVALUATIONS, N_STARTUP = 100, 5
ETAS = (1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
OURS, MO, RANDOM, ALONE = "ours", "MO-TPE", "random", "only warm start"
METHODS = (OURS, MO, RANDOM)
# Ours with random first configurations.
COLD = "ours without warm start"
# Ours with the losses of the sources permuted.
MIXED_UP = "ours with losses mixed up"
# The two without repeats.
FRESH = {OURS: "ours without repeats", MO: "MO-TPE without repeats"}
# Of every row on these tables.
NOTE = (
    "distance from the hypervolume of the true front (Eq. 18), ratio of means; one source fewer than printed"
)
# The table on which the paper's method struggles.
DISSIMILAR = "so_en"
# Of Figure 9: shares of the table that are the best.
TOPS = (0.01, 0.05)


def usable() -> dict[str, list[Table]]:
    """Benchmarks with two tables or more that have two metrics."""
    found = [own for own in tables_module.tables() if metrics(own)]
    return {name: own for name, own in tables_module.families(found).items() if len(own) > 1}


def metrics(table: Table) -> tuple[str, ...] | None:
    """The two that are minimised: those of the header, or loss and runtime."""
    if len(table.objectives) == 2:
        return table.objectives
    if "runtime" in table.constraints and table.ordinal:
        return (table.objectives[0], "runtime")
    return None


@cache
def problem(table: Table) -> px.samplers.Tabular:
    """Without its name, so that tables of a benchmark share their programs."""
    own = metrics(table)
    assert own is not None, "only tables with two metrics are asked for"
    loaded = load_table(table.path, own)
    return dataclasses.replace(loaded, name="", objective_names=("", ""))


def search(target: Table, others: Sequence[Table], n_seeds: int, etas: Sequence[float] = ETAS) -> Arrays:
    """A unit: "METHOD" and "eta/ETA" -> objectives (s, n, 2) of whole runs with the others as sources.

    Not of MO-TPE, see `plain`.
    """
    own, sources = problem(target), [problem(other) for other in others]
    samplers = [_sampler(sources, seed) for seed in range(n_seeds)]
    found = {
        f"eta/{eta:g}": runs([with_eta(one, eta) for one in samplers], own, N_EVALUATIONS)[0] for eta in etas
    }
    found[OURS] = found["eta/2.5"]
    # The best tenth of the sources, and then no more.
    n = N_ROWS // 10 * len(sources)
    first = [_sampler(sources, seed, n_startup=n) for seed in range(n_seeds)]
    found[ALONE] = runs(first, own, n)[0]
    drawn = _evaluated(own, jax.random.split(jax.random.key(1), (n_seeds, N_EVALUATIONS)))
    return found | {RANDOM: np.asarray(drawn[1])}


def more_runs(target: Table, others: Sequence[Table], n_seeds: int) -> Arrays:
    """A unit: of these ours at eta = 2.5, its warm start alone and random search."""
    found = search(target, others, n_seeds, etas=(2.5,))
    return {name: found[name] for name in (OURS, ALONE, RANDOM)}


def without_repeats(target: Table, others: Sequence[Table], n_seeds: int) -> Arrays:
    """A unit: ours and MO-TPE where no configuration is suggested again."""
    own, sources = problem(target), [problem(other) for other in others]
    samplers = [_sampler(sources, seed, repeats=False) for seed in range(n_seeds)]
    return {
        FRESH[OURS]: runs(samplers, own, N_EVALUATIONS)[0],
        FRESH[MO]: _plain(own, n_seeds, repeats=False),
    }


def without_start(target: Table, others: Sequence[Table], n_seeds: int) -> Arrays:
    """A unit: ours where the first configurations are random."""
    own, sources = problem(target), [problem(other) for other in others]
    samplers = [_sampler(sources, seed, start=RandomStart()) for seed in range(n_seeds)]
    return {COLD: runs(samplers, own, N_EVALUATIONS)[0]}


def mixed_up(target: Table, others: Sequence[Table], n_seeds: int) -> Arrays:
    """A unit: ours with the losses of the sources permuted."""
    own, sources = problem(target), [problem(other) for other in others]
    samplers = [_sampler(sources, seed, mixed_up=True) for seed in range(n_seeds)]
    return {MIXED_UP: runs(samplers, own, N_EVALUATIONS)[0]}


def plain(target: Table, n_seeds: int) -> Arrays:
    """A unit: MO-TPE, which has no sources and no epsilon."""
    return {MO: _plain(problem(target), n_seeds)}


def _plain(own: Any, n_seeds: int, **options: Any) -> np.ndarray:
    sampler = adjusted(px.mo_tpe, n_startup=N_STARTUP, **options)(own.space, 2)
    return runs([sampler] * n_seeds, own, N_EVALUATIONS)[0]


@eqx.filter_jit
def _evaluated(own: Any, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Random configurations of a table with replacement, and their objectives, for keys (s, n)."""

    def one(key: jax.Array) -> tuple[jax.Array, jax.Array]:
        choose, evaluate = jax.random.split(key)
        x = own.decode(jax.random.randint(choose, (), 0, own.n_seeds.shape[0]))
        return x, own(evaluate, x)[0]

    return jax.vmap(jax.vmap(one))(keys)


def _sampler(sources: Sequence[Any], seed: int, *, mixed_up: bool = False, **options: Any) -> Sampler:
    first = len(sources) * seed
    logs = {f"task {i}": _log(own, first + i, mixed_up=mixed_up) for i, own in enumerate(sources)}
    own = adjusted(px.papers.authors_meta_learn_tpe, epsilon=EPSILON, **options)(sources[0].space, logs)
    return with_count(own, "below")


def _log(own: Any, seed: int, *, mixed_up: bool = False) -> px.Observations:
    """Random configurations of a table, with replacement; if ``mixed_up`` with losses of other rows."""
    keys = jax.random.split(jax.random.key(seed), (1, N_ROWS))
    x, losses = (np.asarray(each)[0] for each in _evaluated(own, keys))
    if mixed_up:
        losses = np.random.default_rng(seed).permutation(losses)
    return px.Observations.from_arrays(own.space, x, losses)


# --- measures ----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Found:
    """What the runs on a table found.

    Attributes:
        objectives: method -> (s, n, 2).
        share: method -> (s, n) hypervolume so far over that of the true front. In Eq. 18 both are over the
            volume of the box of all entries, so that the share is where a curve lies below the line of the
            true front.
        front: (f, 2) the true front.
        tops: share of the table -> method -> (s, n) evaluations so far that are among the best.
    """

    objectives: Mapping[str, np.ndarray]
    share: Mapping[str, np.ndarray]
    front: np.ndarray
    tops: Mapping[float, Mapping[str, np.ndarray]]


def measured(table: Table, arrays: Arrays) -> Found:
    """From a unit's arrays."""
    every = entries(table)
    ranks = px.pareto.non_domination_rank(every)
    front, worst = every[ranks == 0], every.max(axis=0)
    most = float(px.pareto.hypervolume(front, worst))
    share = {name: _volumes(x, worst) / most for name, x in arrays.items()}
    tops = {top: _among(arrays, every, ranks, top) for top in TOPS}
    return Found(arrays, share, front, tops)


def entries(table: Table) -> np.ndarray:
    """(trainings, 2) of a table, as losses."""
    every = np.asarray(problem(table).losses, np.float64).reshape(-1, 2)
    return every[np.isfinite(every).all(axis=1)]


@jax.jit
def _so_far(losses: jax.Array, reference: jax.Array) -> jax.Array:
    """(s, n) hypervolume of the first rows."""
    there = jnp.tri(losses.shape[1])
    each = jax.vmap(px.pareto.hypervolume, in_axes=(None, None, 0))
    return jax.vmap(each, in_axes=(0, None, None))(losses, reference, there)


def _volumes(objectives: np.ndarray, reference: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(_so_far(jnp.asarray(objectives, jnp.float64), jnp.asarray(reference)))


def _among(arrays: Arrays, every: np.ndarray, ranks: np.ndarray, top: float) -> dict[str, np.ndarray]:
    """Evaluations so far that no entry outside the best share dominates: by fronts, as many as fit."""
    sizes = np.bincount(ranks)
    last = max(int(np.searchsorted(np.cumsum(sizes), top * len(every), side="right")), 1)
    edge = every[ranks == last] if (ranks == last).any() else every[ranks == ranks.max()]
    found = {}
    for name, x in arrays.items():
        flat = x.reshape(-1, 2).astype(np.float64)
        worse = np.zeros(len(flat), bool)
        for row in edge:
            worse |= (row <= flat).all(axis=1)
        found[name] = np.cumsum(~worse.reshape(x.shape[:2]), axis=1)
    return found


def gap(found: Found, method: str, budget: int = N_EVALUATIONS) -> np.ndarray:
    """(s,) by how much the share of the true front falls short of 1 after so many evaluations."""
    share = found.share[method]
    return 1 - share[:, min(budget, share.shape[1]) - 1]


def log_ratio(a: np.ndarray, b: np.ndarray, *, paired: bool = False) -> tuple[float, float]:
    """Log of the ratio of means over runs, and its standard error; ``paired``, of runs that share seeds."""
    if paired:
        variance = (a / a.mean() - b / b.mean()).var(ddof=1) / len(a)
    else:
        variance = sum(x.var(ddof=1) / len(x) / x.mean() ** 2 for x in (a, b))
    return float(np.log(a.mean() / b.mean())), float(np.sqrt(variance))
