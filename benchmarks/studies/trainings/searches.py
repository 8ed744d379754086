"""Searches of the tables, and the regret of what they report."""

import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies.optimisers.peers import ask_and_tell, in_study
from benchmarks.studies.trainings.tables import TRAININGS, Table, load
from parzax.samplers import Sampler

N, BUDGETS = 200, (25, 50, 100, 200)
# Quantiles of the size that configurations must not exceed.
LIMITS = 0.1, 0.5
PLAIN, EXACT, TWO = "one objective", "without noise", "two objectives"
KINDS = (PLAIN, *(f"size at most its {q} quantile" for q in LIMITS), TWO, EXACT)


class Runs(NamedTuple):
    """The evaluations of some runs.

    Attributes:
        rows: (s, n) rows of the table.
        losses: (s, n) losses of the evaluations.
    """

    rows: np.ndarray
    losses: np.ndarray


@dataclass(frozen=True)
class Task:
    """A table and what is asked of it, one of `KINDS`."""

    name: str
    kind: str

    @property
    def space(self) -> px.Space:
        """The search space."""
        return TRAININGS[self.name].space

    @property
    def table(self) -> Table:
        """The table; without noise a single mean over splits."""
        table = load(self.name)
        return (
            table._replace(losses=table.losses.mean(axis=1, keepdims=True)) if self.kind == EXACT else table
        )

    @property
    def limit(self) -> float | None:
        """The largest allowed size, if there is one."""
        levels = dict(zip(KINDS[1:3], LIMITS, strict=True))
        return float(np.quantile(self.table.size, levels[self.kind])) if self.kind in levels else None

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of objectives and of constraints."""
        return 1 + (self.kind == TWO), int(self.limit is not None)

    @property
    def seed(self) -> int:
        """Of the random keys."""
        return zlib.crc32(f"{self.name}/{self.kind}".encode())


class LookUp(NamedTuple):
    """The row of a configuration: codes of its values, inactive last, are a place in a dense index."""

    values: Any  # (d, k) native values, NaN after the last one
    sizes: Any  # (d,) numbers of values
    index: Any

    def __call__(self, x: Any) -> Any:
        """Row of one configuration x (d,); -1 if it is not in the table."""
        distance = jnp.abs(self.values - x[:, None])
        code = jnp.argmin(jnp.where(jnp.isnan(distance), jnp.inf, distance), axis=1)
        code = jnp.where(jnp.isnan(x), self.sizes, code)
        strides = jnp.append(jnp.cumprod((self.sizes + 1)[:0:-1])[::-1], 1)
        return self.index[(code * strides).sum()]


def look_up(space: px.Space, x: np.ndarray) -> LookUp:
    """The look-up of a table's configurations x (n, d)."""
    lists = [np.asarray(domain.list_values(), float) for (domain,) in space.domains]
    sizes = np.array([len(values) for values in lists])
    padded = np.stack([np.pad(v, (0, sizes.max() - len(v)), constant_values=np.nan) for v in lists])
    distance = np.nan_to_num(np.abs(padded[None] - x[:, :, None]), nan=np.inf)
    codes = np.where(np.isnan(x), sizes, distance.argmin(axis=2))
    index = np.full(np.prod(sizes + 1), -1, np.int32)
    index[np.ravel_multi_index(codes.T, sizes + 1)] = np.arange(len(x))
    return LookUp(jnp.asarray(padded, float), jnp.asarray(sizes), jnp.asarray(index))


def problem(task: Task) -> px.Problem:
    """An evaluation draws one of the splits."""
    table, (m, c) = task.table, task.counts
    columns = [jnp.asarray(table.losses, float)]
    if m > 1:
        columns.append(jnp.broadcast_to(jnp.log(jnp.asarray(table.size, float))[:, None], table.losses.shape))
    losses = jnp.stack(columns, axis=-1)
    excess = jnp.asarray(table.size - task.limit if c else table.size, float)[:, None][:, :c]
    fn = jax.tree_util.Partial(_evaluate, look_up(task.space, table.x), losses, excess)
    return px.Problem(fn, task.space, m, c, name="")


def _evaluate(rows: LookUp, losses: Any, excess: Any, key: jax.Array, x: jax.Array) -> Any:
    row = rows(x)
    return losses[row, jax.random.randint(key, (), 0, losses.shape[1])], excess[row]


def ours(make: Callable[..., Sampler], task: Task, n_seeds: int, n: int = N, **options: Any) -> Runs:
    """Runs of a sampler; ``options`` are those of `parzax.optimize_many`."""
    m, c = task.counts
    sampler, keys = make(task.space, m, c), jax.random.split(jax.random.key(task.seed), n_seeds)
    trace = px.optimize_many(keys, sampler, problem(task), n, **options)
    rows = jax.jit(jax.vmap(jax.vmap(look_up(task.space, task.table.x))))(trace.x)
    return Runs(np.asarray(rows), np.asarray(trace.losses[..., 0]))


def _default_sampler(samplers: Any, seed: int) -> Any:
    return samplers.TPESampler(seed=seed)


class Log:
    """Evaluates values by name on the host, and keeps what was evaluated."""

    def __init__(self, task: Task, seed: int) -> None:
        self.counts, self.limit, self.table = task.counts, task.limit or 0.0, task.table
        self.names, find = task.space.names, look_up(task.space, self.table.x)
        self.sizes, self.index = np.asarray(find.sizes), np.asarray(find.index)
        self.rng = np.random.default_rng([task.seed, seed])
        self.rows: list[int] = []
        self.losses: list[float] = []

    def __call__(self, at: Mapping[str, float]) -> tuple[list[float], list[float]]:
        codes = [int(at.get(name, size)) for name, size in zip(self.names, self.sizes, strict=True)]
        row = int(self.index[np.ravel_multi_index(codes, self.sizes + 1)])
        self.rows.append(row)
        self.losses.append(float(self.rng.choice(self.table.losses[row])))
        m, c = self.counts
        size = float(self.table.size[row])
        return [self.losses[-1], math.log(size)][:m], [size - self.limit][:c]


def optuna_tpe(task: Task, log: Log, seed: int, n: int) -> None:
    """A run of Optuna's TPE with its default settings."""
    in_study(_default_sampler, task.space, log, n, seed, task.counts[0])


def rustuna_tpe(task: Task, log: Log, seed: int, n: int) -> None:
    """A run of Rustuna's TPE with its default settings."""
    import rustuna

    directions = ["minimize"] * task.counts[0]
    study = rustuna.create_study(sampler=rustuna.samplers.TPESampler(seed=seed), directions=directions)
    ask_and_tell(study, task.space, log, n)


def theirs(search: Callable[[Task, Log, int, int], None], task: Task, n_seeds: int, n: int = N) -> Runs:
    """Runs of a peer."""
    rows, losses = [], []
    for seed in range(n_seeds):
        log = Log(task, seed)
        search(task, log, seed, n)
        rows.append(log.rows)
        losses.append(log.losses)
    return Runs(np.array(rows), np.array(losses))


def reported(task: Task, runs: Runs, budgets: tuple[int, ...] = BUDGETS, lucky: bool = False) -> np.ndarray:
    """(s, budgets) regret, without noise, of what is reported, over that of a median configuration.

    One objective: of the configuration that `parzax.samplers.Sampler.best` reports; with ``lucky`` of the
    best single evaluation. Two: what the hypervolume of the reported front lacks.
    """
    score = partial(_front_gap if task.counts[0] > 1 else _regret, task.table, task.limit)
    return np.array(
        [[score(rows[:b], losses[:b], lucky) for b in budgets] for rows, losses in zip(*runs, strict=True)]
    )


def _regret(table: Table, limit: float | None, rows: np.ndarray, losses: np.ndarray, lucky: bool) -> float:
    mean, allowed = table.losses.mean(axis=1), table.size <= (np.inf if limit is None else limit)
    best, unit = mean[allowed].min(), np.median(mean[allowed]) - mean[allowed].min()
    if not allowed[rows].any():
        return float((mean[allowed].max() - best) / unit)
    if lucky:
        return float((mean[rows[np.where(allowed[rows], losses, np.inf).argmin()]] - best) / unit)
    configurations, place, count = np.unique(rows, return_inverse=True, return_counts=True)
    means = np.bincount(place, losses) / count
    n_repeats = len(rows) - len(count)
    noise = np.sqrt(((losses - means[place]) ** 2).sum() / max(n_repeats, 1))
    bound = np.where(allowed[configurations], means + noise / np.sqrt(count), np.inf)
    first = np.array([np.flatnonzero(place == i)[0] for i in np.flatnonzero(bound == bound.min())]).min()
    return float((mean[rows[first]] - best) / unit)


def _front_gap(table: Table, _limit: Any, rows: np.ndarray, losses: np.ndarray, lucky: bool) -> float:
    del lucky
    mean, size = table.losses.mean(axis=1), np.log(table.size)
    reference = np.array([np.median(mean), np.median(size)])
    configurations, place, count = np.unique(rows, return_inverse=True, return_counts=True)
    seen = np.stack([np.bincount(place, losses) / count, size[configurations]], axis=1)
    front = configurations[[not _dominated(one, seen) for one in seen]]
    values = np.stack([mean, size], axis=1)
    most = _volume(values, reference)
    return (most - _volume(values[front], reference)) / most


def _dominated(one: np.ndarray, others: np.ndarray) -> bool:
    return bool(((others <= one).all(axis=1) & (others < one).any(axis=1)).any())


def _volume(values: np.ndarray, reference: np.ndarray) -> float:
    """Area between a front of two objectives and a reference point."""
    area, lowest = 0.0, reference[1]
    for a, b in values[np.argsort(values[:, 0], kind="stable")]:
        if a < reference[0] and b < lowest:
            area, lowest = area + (reference[0] - a) * (lowest - b), b
    return float(area)
