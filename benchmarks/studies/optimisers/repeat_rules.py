"""Rules of repeats on tables of several trainings: ``python -m benchmarks.studies.optimisers.repeat_rules``.

`px.tpe` searches, and the last tenth (or fifth) of the evaluations goes to repeats of its best configurations
by a rule. The table has regrets, without noise, of the configuration that is then reported, over those of
`px.tpe`, which reports its best evaluation. "perfect knowledge" is the best configuration that was evaluated
before the repeats: no rule can be better. Half of the problems is for choosing. PARZAX_DATA names the folder
of tables.
"""

import argparse
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import jax
import numpy as np

from benchmarks.studies.optimisers import page, scores, searches, suites
from benchmarks.studies.optimisers.noise import parts
from benchmarks.studies.optimisers.problems import CHOICE, HALVES, Case, Group
from benchmarks.studies.papers import runs
from parzax.samplers.repeats import N_ERRORS

N, SHARES = 200, {"last tenth": 20, "last fifth": 40}
PERFECT = "perfect knowledge"


@dataclass
class Run:
    """Losses of the evaluations of each configuration of a table, by its row; inf where one is infeasible.

    Attributes:
        losses: row -> losses.
        train: draws a training of a row.
    """

    losses: dict[int, list[float]]
    train: Callable[[int], float]

    def repeat(self, row: int) -> None:
        """Evaluate a configuration again."""
        self.losses[row].append(self.train(row))

    def means(self) -> dict[int, float]:
        """Row -> mean loss."""
        return {row: sum(losses) / len(losses) for row, losses in self.losses.items()}

    def ranked(self) -> list[int]:
        """Rows by their mean losses."""
        means = self.means()
        return sorted(means, key=means.__getitem__)

    def bounds(self, n_errors: float) -> dict[int, float]:
        """Row -> mean plus so many standard errors; the noise is pooled, 0 without repeats."""
        several = [np.array(own) for own in self.losses.values() if len(own) > 1 and np.isfinite(own).all()]
        squares = sum(((own - own.mean()) ** 2).sum() for own in several)
        noise = np.sqrt(squares / max(sum(len(own) - 1 for own in several), 1))
        return {
            row: mean + n_errors * noise / len(self.losses[row]) ** 0.5 for row, mean in self.means().items()
        }


def in_turn(k: int) -> Callable[[Run, int], None]:
    """The k best, in turn."""

    def spend(run: Run, n: int) -> None:
        for row in np.resize(run.ranked()[:k], n):
            run.repeat(int(row))

    return spend


def halving(k: int) -> Callable[[Run, int], None]:
    """Successive halving: equal shares for rounds over the k best, the better half of them, and so on."""

    def spend(run: Run, n: int) -> None:
        rows, n_rounds = run.ranked()[:k], max(int(np.ceil(np.log2(k))), 1)
        for i in range(n_rounds):
            for row in np.resize(rows, n // n_rounds + (i < n % n_rounds)):
                run.repeat(int(row))
            rows = [row for row in run.ranked() if row in rows][: max(len(rows) // 2, 1)]

    return spend


def confirm(n_confirm: int) -> Callable[[Run, int], None]:
    """The best that has fewer than so many evaluations."""

    def spend(run: Run, n: int) -> None:
        for _ in range(n):
            run.repeat(next(row for row in run.ranked() if len(run.losses[row]) < n_confirm))

    return spend


def lower_bound(n_errors: float) -> Callable[[Run, int], None]:
    """The smallest lower bound."""

    def spend(run: Run, n: int) -> None:
        for _ in range(n):
            bounds = run.bounds(-n_errors)
            run.repeat(min(bounds, key=bounds.__getitem__))

    return spend


RULES: Mapping[str, Callable[[Run, int], None]] = {
    "lower bound (px.tpe)": lower_bound(N_ERRORS),
    "lower bound, two errors": lower_bound(2 * N_ERRORS),
    "3 in turn": in_turn(3),
    "5 in turn": in_turn(5),
    "10 in turn": in_turn(10),
    "halving of 8": halving(8),
    "halving of 16": halving(16),
    "the best with fewer than 4": confirm(4),
    "the best with fewer than 6": confirm(6),
}


def regrets(group: Group, case: Case, n_seeds: int) -> dict[str, np.ndarray]:
    """Mean regret over runs of each rule and share, in units of a random one; "today" without repeats."""
    keys = jax.random.split(jax.random.key(zlib.crc32(case.name.encode())), n_seeds)
    x, objectives, constraints = map(np.asarray, searches.told("tpe", group, case, keys, N))
    table, above = case.shared
    rows = np.asarray(jax.vmap(jax.vmap(table.encode))(x))
    above, trainings = np.asarray(above), np.asarray(table.losses)[..., 0]
    feasible, n_trainings = (np.asarray(table.excess) <= 0).all(axis=-1), np.asarray(table.n_seeds)
    trainings = np.where(feasible & ~np.isnan(trainings), trainings, np.inf)
    losses = np.where((constraints <= 0).all(axis=-1), np.nan_to_num(objectives[..., 0], nan=np.inf), np.inf)
    found: dict[str, list[float]] = {}
    for seed in range(n_seeds):
        found.setdefault("today", []).append(above[rows[seed, losses[seed].argmin()]])
        for share, n in SHARES.items():
            reached = np.where(np.isfinite(losses[seed, : N - n]), above[rows[seed, : N - n]], above.max())
            found.setdefault(f"{share}/{PERFECT}", []).append(reached.min())
            for name, spend in RULES.items():
                rng = np.random.default_rng(seed)
                run = Run({}, lambda row, rng=rng: float(trainings[row, rng.integers(n_trainings[row])]))
                for row, loss in zip(rows[seed, : N - n], losses[seed], strict=False):
                    run.losses.setdefault(int(row), []).append(float(loss))
                spend(run, n)
                bounds = run.bounds(N_ERRORS)
                found.setdefault(f"{share}/{name}", []).append(above[min(bounds, key=bounds.__getitem__)])
    unit = np.median(above)
    return {name: np.maximum(np.mean(own) / unit, scores.ROUNDING) for name, own in found.items()}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.optimisers.repeat_rules",
        description=(__doc__ or "").splitlines()[0],
    )
    parser.add_argument("--half", choices=HALVES, default=CHOICE, help="which half of the problems")
    parser.add_argument("--seeds", type=int, default=suites.N_SEEDS)
    options = parser.parse_args(argv)
    columns: dict[str, list[dict[str, np.ndarray]]] = {}
    for part in parts():
        for name in part.groups if part.name.startswith("tables") else ():
            group = suites.build(name, options.seeds)
            for case in group.of(options.half):
                runs.progress(case.name)
                columns.setdefault(part.name, []).append(regrets(group, case, options.seeds))
    pairs = [(name, share) for name in columns for share in SHARES]
    heads = [f"{name}, {len(columns[name])} problems, {share}" for name, share in pairs]
    lines = [
        [rule, *(_ratio(columns[name], f"{share}/{rule}") for name, share in pairs)]
        for rule in (PERFECT, *RULES)
    ]
    runs.progress("")
    print(page.table(["", *heads], lines))
    return 0


def _ratio(cases: Sequence[Mapping[str, np.ndarray]], name: str) -> str:
    """Geometric mean over problems, with its interval."""
    ratio = np.array([case[name] / case["today"] for case in cases])
    low, high = scores.interval(ratio)
    return f"{np.exp(np.log(ratio).mean()):.2f} ({low:.2f}, {high:.2f})"


if __name__ == "__main__":
    sys.exit(main())
