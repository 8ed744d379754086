"""What evaluating the best configurations again is worth: ``python -m benchmarks.studies.optimisers.noise``.

Gaps, without noise, of the configuration that `px.tpe` reports if the last tenth of its evaluations are
repeats (``n_confirm``), over those without, where it reports its best evaluation: on tables with several
trainings, on noisy functions, and on functions without noise, where repeats can only cost. Half of the
problems is for choosing. PARZAX_DATA names the folder of tables.
"""

import argparse
import sys
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.studies.optimisers import page, scores, suites
from benchmarks.studies.optimisers.problems import CHOICE, HALVES, of_best
from benchmarks.studies.papers import runs

BUDGETS = 50, 100, 200
# Standard deviation of the noise, over the median regret of random configurations of a run's function.
LEVELS = {"moderate": 0.03, "severe": 0.3}
N_RANDOM = 200
TODAY, CONFIRMED = "tpe", "tpe, n_confirm of a tenth"


@dataclass(frozen=True)
class Part:
    """Problems that are averaged: groups of the suites, with more noise of this level."""

    name: str
    groups: tuple[str, ...]
    level: float = 0.0


def parts() -> list[Part]:
    """Tables with several trainings, noisy functions, and functions without noise."""
    functions = ("bbob-05d",)
    # A machine translation table has one training of each configuration. Sizes have no noise.
    tables = tuple(name for name in suites.names("tables") if name != "nmt_bench")
    limited = tuple(name for name in suites.names("constrained") if name.endswith(", size"))
    noisy = [Part(f"bbob, {name} noise", functions, level) for name, level in LEVELS.items()]
    without = Part("without noise", functions)
    found = [Part("tables", tables), Part("tables, constrained", limited), *noisy, without]
    return [part for part in found if part.groups]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.optimisers.noise", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--half", choices=HALVES, default=CHOICE, help="which half of the problems")
    parser.add_argument("--part", help="one of them alone")
    parser.add_argument("--seeds", type=int, default=suites.N_SEEDS)
    options = parser.parse_args(argv)
    heads = [
        "",
        "",
        *(f"after {b}" for b in BUDGETS),
        "smaller/larger after 200",
        "interval over runs after 200",
    ]
    lines = []
    for part in parts():
        if options.part in (None, part.name):
            lines += compared(part, measured(part, options.half, options.seeds))
    print(page.table(heads, lines))
    return 0


def measured(part: Part, half: str, n_seeds: int) -> dict[str, dict[str, np.ndarray]]:
    """Method -> case -> gaps (s, budgets), in units of the median regret of a random configuration."""
    by_method: dict[str, dict[str, np.ndarray]] = {}
    for name in part.groups:
        group = suites.build(name, n_seeds)
        for case in group.of(half):
            runs.progress(f"{part.name}: {case.name}")
            keys = jax.random.split(jax.random.key(zlib.crc32(f"{part.name}/{case.name}".encode())), n_seeds)
            functions = group.evaluate, group.gaps, group.n_constraints
            gaps = _many(functions, group.space, case.shared, case.own, jnp.asarray(part.level), keys)
            for method, values in zip((TODAY, CONFIRMED), gaps, strict=True):
                by_method.setdefault(method, {})[case.name] = np.asarray(values)
    return by_method


def compared(part: Part, by_method: dict[str, dict[str, np.ndarray]]) -> list[list[str]]:
    """A line of the table for each method: means over runs, whose medians are often 0 on tables."""
    # Means of tables are far below `scores.FLOOR`, and rarely 0.
    means = {
        method: np.maximum(np.stack([own[case].mean(axis=0) for case in by_method[TODAY]]), scores.ROUNDING)
        for method, own in by_method.items()
    }
    today = means.pop(TODAY)
    gap = (f"{_mean(column):.2g}" for column in today.T)
    lines = [[f"{part.name}, {len(today)} problems", f"{TODAY} (gap)", *gap, "", ""]]
    for method, gaps in means.items():
        ratio, pairs = (
            gaps / today,
            [(by_method[method][case], by_method[TODAY][case]) for case in by_method[TODAY]],
        )
        lows, highs = zip(*map(scores.interval, ratio.T), strict=True)
        cells = [
            f"{_mean(r):.2f} ({low:.2f}, {high:.2f})"
            for r, low, high in zip(ratio.T, lows, highs, strict=True)
        ]
        logs = np.log(ratio[:, -1])
        counts = f"{(logs < 0).sum()}/{(logs > 0).sum()}"
        over_runs = "({:.2f}, {:.2f})".format(
            *run_interval([(own[:, -1], other[:, -1]) for own, other in pairs])
        )
        lines.append(["", method, *cells, f"{counts}, p = {scores.signed_rank(logs):.2g}", over_runs])
    return lines


def run_interval(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[float, float]:
    """95 % interval of the geometric mean of ratios of mean gaps, by resampling the runs of each problem.

    ``pairs`` has the gaps (s,) of two methods with the same keys, for each problem.
    """
    rng, logs = np.random.default_rng(0), np.zeros(scores.N_RESAMPLED)
    for gaps, today in pairs:
        runs = rng.integers(0, len(gaps), (scores.N_RESAMPLED, len(gaps)))
        ratio = np.maximum(gaps[runs].mean(axis=1), scores.ROUNDING) / np.maximum(
            today[runs].mean(axis=1), scores.ROUNDING
        )
        logs += np.log(ratio) / len(pairs)
    low, high = np.exp(np.quantile(logs, [0.025, 0.975]))
    return float(low), float(high)


def _mean(values: np.ndarray) -> float:
    """Geometric."""
    return float(np.exp(np.log(values).mean()))


@eqx.filter_jit
def _many(
    functions: tuple, space: px.Space, shared: Any, own: Any, level: jax.Array, keys: jax.Array
) -> tuple[jax.Array, ...]:
    """Gaps (s, budgets) of the best evaluation, and of the incumbent after repeats."""
    evaluate, gaps, n_constraints = functions
    sampler = px.tpe(space, n_constraints=n_constraints)

    def run(own: Any, key: jax.Array) -> tuple[jax.Array, ...]:
        def regret(x: jax.Array, excess: float = -1.0) -> jax.Array:
            """Of one configuration that counts as feasible; with a positive ``excess`` that of none."""
            return gaps(shared, own, x[None], jnp.zeros((1, 1)), jnp.full((1, n_constraints), excess))[0]

        draw, search, _ = jax.random.split(key, 3)
        drawn = jax.vmap(lambda key: sampler.ask(key, sampler.init(1))[0])(jax.random.split(draw, N_RANDOM))
        unit = jnp.median(jax.lax.map(regret, drawn))

        def problem(key: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            evaluation, noise = jax.random.split(key)
            objectives, constraints = evaluate(shared, own, evaluation, x)
            return objectives + level * unit * jax.random.normal(noise), constraints

        def of_row(trace: px.samplers.Trace, row: jax.Array) -> jax.Array:
            """Gap of a row; -1 is none."""
            return jnp.where(row < 0, regret(trace.x[0], 1.0), regret(trace.x[row])) / unit

        trace = px.optimize(sampler, problem, search, BUDGETS[-1])
        best = of_best(jnp.arange(BUDGETS[-1]), jnp.where(trace.feasible, trace.objectives[:, 0], jnp.nan))
        best = jnp.where(jnp.isfinite(trace.best()), best, -1)
        today, confirmed = [], []
        for budget in BUDGETS:
            today.append(of_row(trace, best[budget - 1]))
            repeated = px.optimize(sampler, problem, search, budget, n_confirm=budget // 10)
            confirmed.append(of_row(repeated, repeated.incumbent()[-1]))
        return jnp.stack(today), jnp.stack(confirmed)

    return jax.vmap(run, in_axes=(0, 0) if jax.tree.leaves(own) else (None, 0))(own, keys)


if __name__ == "__main__":
    sys.exit(main())
