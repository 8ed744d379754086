"""What evaluating the best configurations again is worth: ``python -m benchmarks.optimisers.noise``.

Gaps, without noise, of the reported configuration of `px.tpe` with ``reevaluate``, over those of `px.tpe`,
which reports its best evaluation: on tables with several trainings, on noisy functions, and on functions
without noise, where it can only cost. "last tenth" spends the last tenth of the evaluations of `px.tpe` on
its five best rows, and reports the best mean. Half of the problems is for choosing. PARZAX_DATA names the
folder of tables.
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
from benchmarks.optimisers import page, scores, suites
from benchmarks.optimisers.problems import CHOICE, HALVES, of_best
from benchmarks.papers import runs

BUDGETS = 50, 100, 200
SHARES = 0.1, 0.2
# Standard deviation of the noise, over the median regret of random configurations of a run's function.
LEVELS = {"moderate": 0.03, "severe": 0.3}
N_RANDOM, N_BEST = 200, 5
TODAY, LAST_TENTH = "tpe", "tpe, last tenth"


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
        prog="python -m benchmarks.optimisers.noise", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--half", choices=HALVES, default=CHOICE, help="which half of the problems")
    parser.add_argument("--part", help="one of them alone")
    parser.add_argument("--seeds", type=int, default=suites.N_SEEDS)
    options = parser.parse_args(argv)
    heads = ["", "", *(f"after {budget}" for budget in BUDGETS), "smaller/larger after 200"]
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
            for share in (0.0, *SHARES):
                # Arrays, so that all settings share a program.
                settings = jnp.asarray(part.level), jnp.asarray(share)
                gaps = _many(functions, group.space, case.shared, case.own, settings, keys)
                names = (f"{TODAY}, reevaluate={share:g}", TODAY, LAST_TENTH)
                for method, values in zip(names, gaps, strict=True):
                    if (method in (TODAY, LAST_TENTH)) == (share == 0):
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
    lines = [[f"{part.name}, {len(today)} problems", f"{TODAY} (gap)", *gap, ""]]
    for method, gaps in means.items():
        ratio = gaps / today
        lows, highs = zip(*map(scores.interval, ratio.T), strict=True)
        cells = [
            f"{_mean(r):.2f} ({low:.2f}, {high:.2f})"
            for r, low, high in zip(ratio.T, lows, highs, strict=True)
        ]
        logs = np.log(ratio[:, -1])
        counts = f"{(logs < 0).sum()}/{(logs > 0).sum()}"
        lines.append(["", method, *cells, f"{counts}, p = {scores.signed_rank(logs):.2g}"])
    return lines


def _mean(values: np.ndarray) -> float:
    """Geometric."""
    return float(np.exp(np.log(values).mean()))


@eqx.filter_jit
def _many(
    functions: tuple, space: px.Space, shared: Any, own: Any, settings: tuple, keys: jax.Array
) -> tuple[jax.Array, ...]:
    """Gaps (s, budgets) of the incumbent, of the best evaluation, and of the best mean after repeats."""
    (evaluate, gaps, n_constraints), (level, share) = functions, settings
    sampler = px.tpe(space, n_constraints=n_constraints, reevaluate=share)

    def run(own: Any, key: jax.Array) -> tuple[jax.Array, ...]:
        def regret(x: jax.Array, excess: float = -1.0) -> jax.Array:
            """Of one configuration that counts as feasible; with a positive ``excess`` that of none."""
            return gaps(shared, own, x[None], jnp.zeros((1, 1)), jnp.full((1, n_constraints), excess))[0]

        draw, search, repeat = jax.random.split(key, 3)
        drawn = jax.vmap(lambda key: sampler.ask(key, sampler.init(1))[0])(jax.random.split(draw, N_RANDOM))
        unit = jnp.median(jax.lax.map(regret, drawn))

        def problem(key: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
            evaluation, noise = jax.random.split(key)
            objectives, constraints = evaluate(shared, own, evaluation, x)
            return objectives + level * unit * jax.random.normal(noise), constraints

        trace = px.optimize(sampler, problem, search, BUDGETS[-1])
        # Without a feasible row the index is -1.
        regrets = jnp.append(jax.lax.map(regret, trace.x), regret(trace.x[0], 1.0)) / unit
        losses = jnp.where(trace.feasible, trace.objectives[:, 0], jnp.nan)
        rows, found, at = (trace.x, trace.objectives, trace.constraints), [], jnp.array(BUDGETS) - 1
        for budget in BUDGETS:
            n = budget - budget // 10
            again = jnp.repeat(jnp.argsort(losses[:n])[:N_BEST], (budget - n) // N_BEST)
            values = jax.vmap(problem)(jax.random.split(repeat, len(again)), trace.x[again])
            more = (trace.x[again], *values)
            whole = (jnp.concatenate([a[:n], b]) for a, b in zip(rows, more, strict=True))
            found.append(px.samplers.Trace(*whole, directions=trace.directions).incumbent()[-1])
        best = of_best(jnp.arange(len(losses)), losses)
        best = jnp.where(jax.lax.cummax(trace.feasible.astype(int)) > 0, best, -1)
        return tuple(regrets[i] for i in (trace.incumbent()[at], best[at], jnp.stack(found)))

    return jax.vmap(run, in_axes=(0, 0) if jax.tree.leaves(own) else (None, 0))(own, keys)


if __name__ == "__main__":
    sys.exit(main())
