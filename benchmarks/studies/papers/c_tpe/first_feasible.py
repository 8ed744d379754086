"""Appendix B.3.2: how many evaluations c-TPE needs until the first feasible one."""

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import parzax as px
from benchmarks.studies.papers.c_tpe import searches, settings
from benchmarks.studies.papers.c_tpe.results import Results
from benchmarks.studies.papers.rows import OURS_ALONE, Row, judged_ratio, missing, ratio_in_words, together
from benchmarks.studies.papers.runs import Arrays
from benchmarks.studies.papers.tables import Table
from parzax.samplers import Sampler
from parzax.split import AbstractSplit, SplitRows, State

# Evaluations of a run that looks for its first feasible one, and those of them that are random.
N_FIRST, N_STARTUP = 60, 10
WITHOUT = "without the selection"


class WithoutSelection(AbstractSplit):
    """A split whose constraints have no row below while no row satisfies them; their share is then 0."""

    split: AbstractSplit

    def __call__(self, state: State) -> SplitRows:
        rows, satisfied = self.split(state), (state.constraints <= 0).T
        below = rows.below.at[1:].set(rows.below[1:] & satisfied)
        above = rows.above | (rows.below & ~below)
        return replace(rows, below=below, above=above, gamma=jnp.where(below.any(axis=1), rows.gamma, 0))

    def status(self, state: State) -> Array:
        return self.split.status(state)


def ablation(tables: Sequence[Table], n_seeds: int) -> Arrays:
    """A unit: "METHOD/TABLE/KIND" (s, 60) feasibility at 0.1, of c-TPE and of c-TPE without the selection."""
    found = {}
    for table in tables:
        for kind, names in settings.CONSTRAINTS.items():
            stacked = searches.problems(
                table.path, table.objectives[0], names, settings.PRINTED_QUANTILES[:1]
            )
            root = jax.random.key(zlib.crc32(f"first/{table.path}/{kind}".encode()))
            sampler = px.c_tpe(stacked.space, n_constraints=len(names))
            without = replace(sampler, split=WithoutSelection(sampler.split))
            for name, own in ((settings.OURS, sampler), (WITHOUT, without)):
                problem = jax.tree.map(lambda leaf: leaf[0], stacked)
                feasible = _feasible(own, problem, jax.random.split(root, n_seeds))
                found[f"{name}/{table.name}/{kind}"] = np.asarray(feasible)
    return found


@eqx.filter_jit
def _feasible(sampler: Sampler, problem: px.samplers.Tabular, keys: jax.Array) -> Array:
    trace = jax.vmap(lambda key: px.optimize(key, sampler, problem, N_FIRST))(keys)
    return (trace.constraints <= 0).all(axis=-1)


def waits(feasible: np.ndarray) -> np.ndarray:
    """Evaluations after the random ones until the first feasible one, of runs with none among the random.

    Runs that have none at all count as if the next evaluation after the last were feasible.
    """
    after = feasible[~feasible[:, :N_STARTUP].any(axis=1), N_STARTUP:]
    return np.where(after.any(axis=1), after.argmax(axis=1), after.shape[1]) + 1.0


def wait_ratio(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float, int]:
    """Mean log ratio of mean waits over settings, its error, and how many settings have two waits or more."""
    logs, variances = [], []
    for pair in pairs:
        a, b = (waits(own) for own in pair)
        if min(len(a), len(b)) > 1:
            logs.append(np.log(a.mean() / b.mean()))
            variances.append(sum(x.var(ddof=1) / len(x) / x.mean() ** 2 for x in (a, b)))
    n = len(logs)
    return (float(np.mean(logs)), float(np.sqrt(np.sum(variances)) / n), n) if n else (np.nan, np.nan, 0)


def rows(found: Arrays, results: Results) -> Iterator[Row]:
    """Of the ablation, and of the runs on the tables."""
    yield _selection(found)
    yield _first(results)


def _selection(found: Arrays) -> Row:
    """An ablation, from equal starts."""
    key, where = "first-selection", "Appendix B.3.2"
    printed = "while nothing satisfies a constraint, its best row below makes feasible solutions come sooner"
    names = [name.removeprefix(f"{settings.OURS}/") for name in found if name.startswith(f"{settings.OURS}/")]
    log, error, n = wait_ratio([(found[f"{settings.OURS}/{at}"], found[f"{WITHOUT}/{at}"]) for at in names])
    if n == 0:
        return missing(key, where, printed, "tables in PARZAX_DATA")
    note = (
        f"at 0.1, {n} settings, runs with nothing feasible among the {N_STARTUP} random ones, geometric mean "
    )
    note += f"of mean evaluations from there to the first feasible one, at most {N_FIRST - N_STARTUP + 1}; "
    note += "without the row the group below is empty, its density is the prior and its share 0, so that "
    note += "candidates far from all rows score highest"
    return Row(
        key, where, printed, f"evaluations over those without it: {ratio_in_words(log, error)}",
        judged_ratio(log, error), note,
    )  # fmt: skip


def _first(results: Results) -> Row:
    key, where = "first-feasible", OURS_ALONE
    printed = "c-TPE finds something feasible after fewer evaluations than vanilla TPE and random search"
    others, own = (settings.VANILLA, settings.RANDOM), results.feasible
    at = results.settings((settings.OURS, *others), settings.PRINTED_QUANTILES[0])
    each = {m: wait_ratio([(own[settings.OURS][s], own[m][s]) for s in at]) for m in others}
    if not all(n for _, _, n in each.values()):
        return missing(key, where, printed, "tables in PARZAX_DATA")
    text = ", ".join(f"over {m}'s {ratio_in_words(log, error)}" for m, (log, error, _) in each.items())
    mean = {m: np.mean([waits(own[m][s]).mean() for s in at]) for m in (settings.OURS, *others)}
    text += "; means " + ", ".join(f"{m} {x:.1f}" for m, x in mean.items())
    note = f"at 0.1, as in the row above, up to {settings.N_EVALUATIONS} evaluations"
    return Row(
        key, where, printed, f"evaluations {text}",
        together([judged_ratio(log, error) for log, error, _ in each.values()]), note,
    )  # fmt: skip
