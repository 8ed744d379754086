"""What asking for several at once costs: ``python -m benchmarks.studies.batches``.

Gaps after one number of evaluations of `px.tpe`, asked for 1, 4, 16 or 64 at a time by several rules, and of
Optuna's TPE with as many trials running at a time, on problems of `benchmarks.studies.optimisers` from its
half for choosing; of `px.tpe` also on the kept half. Writes a page, docs/studies/batches.md for a full run
without --out. Exits with status 1 where ``ask(n)`` is
significantly behind another rule, or Optuna, at some n.
"""

import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies import pages
from benchmarks.studies.optimisers import peers, scores, suites
from benchmarks.studies.optimisers.problems import CHOICE, KEPT
from benchmarks.studies.optimisers.scores import FAR, FLOOR
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import Arrays, Unit
from parzax.samplers import Sampler
from parzax.split import State

SIZES, GROUPS = (4, 16, 64), ("bbob-05d", "mixed")
N_SEEDS, N_EVALUATIONS = 20, 192
CHECKPOINTS = 64, 128, 192
# At the end of a group's name: its kept problems, where only `ask(n)` is run.
OF_KEPT = ", kept"
ALONE, PEER, OURS = "one at a time", "Optuna's TPE", "ask(n)"
# (sampler, key, state, n) -> (n, d).
Rule = Callable[[Sampler, jax.Array, State, int], jax.Array]


def together(sampler: Sampler, key: jax.Array, state: State, n: int) -> jax.Array:
    """``sampler.ask(key, state, n)``."""
    return sampler.ask(key, state, n)


def n_best(sampler: Sampler, key: jax.Array, state: State, n: int) -> jax.Array:
    """The n best different candidates of 64, or of n."""
    return replace(sampler, proposal=px.samplers.Proposal(midpoints=False)).ask(key, state, n)


def each_alone(sampler: Sampler, key: jax.Array, state: State, n: int) -> jax.Array:
    """n single suggestions that know nothing of each other."""
    return jax.vmap(lambda own: sampler.ask(own, state)[0])(jax.random.split(key, n))


def one_by_one(sampler: Sampler, key: jax.Array, state: State, n: int) -> jax.Array:
    """n single suggestions, each told as pending to those that follow: it is in the group above."""

    return _told_before(
        sampler, key, state, n, jnp.full(sampler.n_objectives + sampler.n_constraints, jnp.nan)
    )


def liar(of: Callable[[jax.Array], jax.Array]) -> Rule:
    """n single suggestions, each told with a lie before the next: a loss ``of`` the feasible rows' losses.

    The constraint values of a lie are the medians of feasible rows, so that it is feasible too. Without a
    feasible row it is pending.
    """

    def rule(sampler: Sampler, key: jax.Array, state: State, n: int) -> jax.Array:
        feasible = state.evaluated & (state.constraints <= 0).all(axis=-1)
        losses, limits = (
            jnp.where(feasible[:, None], own, jnp.nan) for own in (state.losses, state.constraints)
        )
        lie = jnp.concatenate([of(losses), jnp.nanmedian(limits, axis=0)])
        return _told_before(sampler, key, state, n, lie)

    return rule


def _told_before(sampler: Sampler, key: jax.Array, state: State, n: int, values: jax.Array) -> jax.Array:
    """n single suggestions, each told with these values before the next."""
    objectives, constraints = jnp.split(values[None], [sampler.n_objectives], axis=1)

    def step(state: State, own: jax.Array) -> tuple[State, jax.Array]:
        x = sampler.ask(own, state)
        return sampler.tell(state, x, objectives, constraints if sampler.n_constraints else None), x[0]

    return jax.lax.scan(step, state, jax.random.split(key, n))[1]


RULES: Mapping[str, Rule] = {
    OURS: together,
    "n best": n_best,
    "each alone": each_alone,
    "one by one, pending": one_by_one,
}
LIARS: Mapping[str, Rule] = {"one by one, median": liar(lambda losses: jnp.nanmedian(losses, axis=0))}


def _half(group: str) -> tuple[str, str]:
    """A group without `OF_KEPT` at its end, and the half of its problems."""
    return group.removesuffix(OF_KEPT), KEPT if group.endswith(OF_KEPT) else CHOICE


def _cases(group: str) -> list[str]:
    """Of a half, BBOB's every other one: Optuna takes minutes for each."""
    return suites.cases(*_half(group))[:: 2 if group.startswith("bbob") else 1]


def search(rule: str, n: int, group: str, n_seeds: int, n_evaluations: int) -> Arrays:
    """A unit: CASE -> gaps (s, n_evaluations)."""
    name, half = _half(group)
    own, suggest = suites.build(name, n_seeds, half), {**RULES, **LIARS}[rule]
    sampler, functions = px.tpe(own.space, own.n_objectives, own.n_constraints), (own.evaluate, own.gaps)
    found: Arrays = {}
    for case in (case for case in own.cases if case.name in _cases(group)):
        keys = jax.random.split(jax.random.key(zlib.crc32(f"{rule}/{n}/{case.name}".encode())), n_seeds)
        arguments = sampler, suggest, n, functions, case.shared, case.own, keys
        found[case.name] = np.asarray(_runs(*arguments, n_evaluations), np.float32)
    return found


@eqx.filter_jit
def _runs(
    sampler: Sampler,
    rule: Rule,
    n: int,
    functions: Any,
    shared: Any,
    own: Any,
    keys: jax.Array,
    n_evaluations: int,
) -> jax.Array:
    evaluate, gaps = functions

    def run(own: Any, key: jax.Array) -> jax.Array:
        def step(state: State, key: jax.Array) -> tuple[State, tuple[jax.Array, ...]]:
            ask, measure = jax.random.split(key)
            x = rule(sampler, ask, state, n)
            pairs = jax.random.split(measure, n), x
            objectives, constraints = jax.lax.map(lambda pair: evaluate(shared, own, *pair), pairs)
            told = sampler.tell(state, x, objectives, constraints if sampler.n_constraints else None)
            return told, (x, objectives, constraints)

        state = sampler.init(n_evaluations)
        _, told = jax.lax.scan(step, state, jax.random.split(key, n_evaluations // n))
        return gaps(shared, own, *(part.reshape(n_evaluations, -1) for part in told))

    return jax.vmap(run, in_axes=(0 if jax.tree.leaves(own) else None, 0))(own, keys)


def of_peer(n: int, group: str, n_seeds: int, n_evaluations: int) -> Arrays:
    """A unit: the same of Optuna's TPE, n trials running at a time."""
    found: Arrays = {}
    for case in _cases(group):
        found |= peers.searched(peers.optuna_at_once(n), group, case, n_seeds, n_evaluations)
    return {case: gaps for case, gaps in found.items() if case != "seconds"}


def units(quick: bool) -> list[Unit]:
    """Rules, and the peer, by n and group of problems; one at a time is the first."""
    sizes, groups = ((4,), ("mixed",)) if quick else (SIZES, GROUPS)
    common = (
        {"n_seeds": 6, "n_evaluations": 64} if quick else {"n_seeds": N_SEEDS, "n_evaluations": N_EVALUATIONS}
    )
    found, module = [], "benchmarks.studies.batches"
    for group in (*groups, *(f"{group}{OF_KEPT}" for group in groups)):
        needs = ("bbobax",) if group.startswith("bbob") else ()
        kept = group.endswith(OF_KEPT)
        pairs = [(OURS, 1), *((rule, n) for n in sizes for rule in (RULES if not kept else (OURS,)))]
        for rule, n in pairs:
            arguments = {"rule": rule, "n": n, "group": group, **common}
            found.append(Unit(f"{rule}/{n}/{group}", f"{module}:search", arguments, needs, cost=40.0))
        for n in () if kept else (1, *sizes):
            arguments, packages = {"n": n, "group": group, **common}, ("optuna", *needs)
            cost = 600.0 if needs else 150.0
            found.append(Unit(f"{PEER}/{n}/{group}", f"{module}:of_peer", arguments, packages, cost=cost))
    return found


def log_ratios(found: Mapping[str, Arrays], rule: str, n: int, budget: int) -> dict[str, float]:
    """Case -> log of the median gap over that of `px.tpe` asked one at a time."""
    out = {}
    for name, arrays in found.items():
        own_rule, own_n, group = name.split("/")
        if (own_rule, int(own_n)) != (rule, n):
            continue
        alone = found[f"{OURS}/1/{group}"]
        for case, gaps in arrays.items():
            floor = FLOOR * np.median(alone[case][:, 0])
            pair = (np.maximum(np.median(own[:, budget - 1]), floor) for own in (gaps, alone[case]))
            out[case] = float(np.subtract(*map(np.log, pair)))
    return out


def rules_of(found: Mapping[str, Arrays], n: int) -> list[str]:
    """Rules, and the peer, that were run with n at a time."""
    return [*dict.fromkeys(name.split("/")[0] for name in found if name.split("/")[1] == str(n))]


def behind(found: Mapping[str, Arrays], n: int, budget: int) -> list[str]:
    """Rules that `ask(n)` is behind over the problems: at p < 0.01 by signed ranks, or more than `FAR`."""
    ours, lost = log_ratios(found, OURS, n, budget), []
    for rule in rules_of(found, n):
        if rule == OURS:
            continue
        theirs = log_ratios(found, rule, n, budget)
        difference = np.array([ours[case] - theirs[case] for case in theirs])
        by = float(np.exp(difference.mean()))
        if by > FAR or scores.signed_rank(difference, "greater") < 0.01:
            lost.append(f"n = {n}, after {budget} evaluations: {rule}, by a factor of {by:.2f}")
    return lost


def table(found: Mapping[str, Arrays], sizes: Sequence[int], budgets: Sequence[int]) -> str:
    """Geometric means over problems of gaps over those of one at a time."""
    lines = [
        "| n | | " + " | ".join(f"after {b}" for b in budgets) + " |",
        "| ---: | --- |" + " --- |" * len(budgets),
    ]
    for n in (1, *sizes):
        for rule in rules_of(found, n):
            if (rule, n) == (OURS, 1):
                continue
            logs = [[*log_ratios(found, rule, n, budget).values()] for budget in budgets]
            cells = [f"{np.exp(np.mean(own)):.2f} ({', '.join(_interval(own))})" for own in logs]
            lines.append(f"| {n} | {rule} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _interval(logs: Sequence[float]) -> tuple[str, str]:
    low, high = scores.interval(np.exp(logs))
    return f"{low:.2f}", f"{high:.2f}"


def written(found: Mapping[str, Arrays]) -> Page:
    """The tables, and what does not hold."""
    shape = next(iter(next(iter(found.values())).values())).shape
    sizes = sorted({int(name.split("/")[1]) for name in found} - {1})
    budgets = [budget for budget in CHECKPOINTS if budget <= shape[1]]
    kept = {name: arrays for name, arrays in found.items() if name.endswith(OF_KEPT)}
    choice = {name: arrays for name, arrays in found.items() if name not in kept}
    failed = [text for size in sizes for budget in budgets for text in behind(choice, size, budget)]
    blocks = [ABOUT, table(choice, sizes, budgets), claims(failed)]
    return Page([*blocks, KEPT_HALF, table(kept, sizes, budgets), TRIED], shape, failed)


ABOUT = f"""To evaluate n configurations at once, ask for all of them in one call:
`sampler.ask(key, state, n)`. Or ask for one at a time and tell it as pending before you ask for the
next. This page compares both ways with asking for one configuration and waiting for its result.

* *ask(n)*: one call, `sampler.ask(key, state, n)`. Each member of the batch is the best of 8 candidates of
  its own (16 for n = 4). A candidate is the midpoint of two draws from the good density, and a row counts as
  good with a weight that falls smoothly with its rank. The first batch is a Latin hypercube.
* *n best*: the n best different candidates, of 64 candidates (of n if n is larger):
  `proposal=px.samplers.Proposal(midpoints=False)`.
* *each alone*: n calls with the same state. Each returns the best of 64 candidates.
* *one by one, pending*: n calls. Each suggestion is told as pending (a NaN objective) before the next
  call, and counts as a bad row, as with the constant liar of `px.adapters.Session` and of Optuna.

The table has the gap to the optimum, divided by the gap of `px.tpe` asked {ALONE} with the same number
of evaluations: geometric means over problems, with 95 % intervals. Above 1 is worse than {ALONE}. The
problems are from the half of [the suite](optimisers/index.md) that serves to choose settings: every other
BBOB function in five dimensions, and the mixed functions. A gap below {FLOOR:g} of a random
configuration's gap is raised to this value. Suggestions are random until ten rows are told, so for n = 16
and 64 all of the first batch is random."""


KEPT_HALF = """## The kept half

The same gaps on the problems that did not serve to choose settings, looked at once. The targets were 1.2 for
n = 4 and 1.7 for n = 16, after each number of evaluations."""

TRIED = """## What was tried

For n = 16, on the twelve BBOB functions of the half for choosing in five dimensions, 24 runs of 192
evaluations. Lines that begin with "the same" change the line above. These runs
are others than those above.

| | after 64 | after 128 | after 192 |
| --- | --- | --- | --- |
| n best of 64 | 1.84 | 2.22 | 1.98 |
| each alone, best of 64 | 2.18 | 2.40 | 2.02 |
| one by one, told as pending | 2.00 | 2.32 | 2.17 |
| one by one, told with the mean loss | 2.05 | 2.29 | 2.10 |
| one by one, told with the best loss | 2.09 | 2.21 | 1.97 |
| local penalty: a chosen candidate is a bad row for the others of 256 | 2.66 | 3.76 | 3.91 |
| the same with four bad rows, of 64 | 2.62 | 3.25 | 3.33 |
| the same with four bad rows and half a good one, of 256 | 2.66 | 3.26 | 2.79 |
| one draw from the good density for each member | 2.47 | 2.69 | 2.49 |
| each member the best of its own 2 | 2.02 | 2.40 | 2.17 |
| its own 4 | 1.85 | 2.00 | 1.78 |
| its own 16 | 1.96 | 2.26 | 2.02 |
| its own 4, components spread evenly | 1.96 | 2.17 | 1.81 |
| its own 8, components spread evenly | 1.82 | 1.95 | 1.83 |
| its own 8, a new component for each parameter | 1.80 | 1.92 | 1.69 |
| its own 8, a tenth of the rows below | 1.78 | 1.69 | 1.77 |
| the same, kernels 0.7 times as wide | 1.63 | 1.79 | 1.73 |
| its own 8, a twentieth of the rows below | 2.03 | 2.34 | 2.06 |
| its own 8, weights by rank squared | 1.62 | 1.63 | 1.64 |
| the same, draws half as wide | 1.90 | 2.10 | 1.72 |
| the same, midpoints of two draws | 1.53 | 1.52 | 1.39 |
| the same, half of them midpoints, and a score by the good density alone | 1.82 | 2.17 | 1.98 |
| midpoints, smooth weights over 1/20 to 1/5 of the rows, its own 8 | 1.48-1.53 | 1.39-1.51 | 1.26-1.43 |
| the same, its own 4 | 1.56 | 1.59 | 1.53 |
| the same, midpoints of three draws | 1.60 | 1.90 | 1.86 |
| `ask(n)` | 1.56 | 1.51 | 1.45 |"""


CLAIM = """No rule should have a smaller gap than `ask(n)`, at p < 0.01 (Wilcoxon over problems, not adjusted)
or by a factor above 2."""


def claims(failed: Sequence[str]) -> str:
    if not failed:
        return f"{CLAIM} None has."
    return "\n".join([f"{CLAIM} These have:", "", *(f"* {text}" for text in failed)])


if __name__ == "__main__":
    sys.exit(pages.main(None, "batches", __doc__, "Several at once", units, written))
