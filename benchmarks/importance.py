"""Conditional PED-ANOVA against Optuna's: ``python -m benchmarks.importance [--quick] [--json FILE]``.

For each row: our median, the peer's, the ratio, the time of the first call (compilation and all) and the largest
difference between the two results. Everything runs on one core, interleaved in one process. Exits with
status 1 if a ratio is below 0.7 of its promise, or a result differs.
"""

from benchmarks import timing  # isort: skip  (pins the core before JAX is loaded)

import argparse
import json
import platform
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks import optuna_peer
from parzax.importance.counts import sweep_counts
from parzax.observations import grid_codes, layout, level_sets

PARITY = px.GridEstimator.optuna()
LEVELS = np.arange(1, 100) / 100
SLACK = 0.7
# Largest differences of raw variances, relative to the largest one at the level.
TOLERANCE = {64: 1e-10, 32: 1e-4}


@dataclass
class Row:
    """One line of the table; times in seconds."""

    work: str
    bits: int
    peer: str
    ours: float
    theirs: float
    first_call: float
    difference: float
    promised: float | None

    @property
    def ratio(self) -> float:
        """How many times faster we are."""
        return self.theirs / self.ours

    @property
    def holds(self) -> bool:
        """Whether the promise is kept within the slack and the results agree."""
        return self.difference <= TOLERANCE[self.bits] and (
            self.promised is None or self.ratio >= SLACK * self.promised
        )


def activation(n_seeds: int, n: int) -> px.Observations:
    """Random search on the paper's activation problem (arXiv 2601.20800), disjoint domains."""
    problem = px.problems.activation()
    keys = jax.random.split(jax.random.key(0), n_seeds)
    with jax.enable_x64(True):
        values, objectives = jax.vmap(lambda key: problem.sample(key, n))(keys)
    return px.Observations.from_arrays(problem.space, values, objectives)


def compare(
    work: str,
    obs: px.Observations,
    levels: np.ndarray,
    peers: dict[str, tuple[Callable[[], Any], float]],
    expected: np.ndarray,
    promised: dict[tuple[str, int], float],
    repeats: int,
    inner: int = 1,
) -> list[Row]:
    """Time our sweep in both precisions against peers; ``expected`` (s, q, d) raw variances of the peer."""
    candidates: dict[str, Callable[[], Any]] = {}
    first, difference = {}, {}
    for bits in (64, 32):
        def ours(bits: int = bits) -> px.ImportanceResult:
            with jax.enable_x64(bits == 64):
                return px.cond_ped_anova(obs, levels, estimator=PARITY)

        first[bits] = timing.once(ours)
        variance = ours().variance.reshape(expected.shape)
        difference[bits] = float((np.abs(variance - expected) / expected.max(axis=-1, keepdims=True)).max())
        candidates[f"ours {bits}"] = ours
    medians = timing.interleaved(
        candidates | {name: call for name, (call, _) in peers.items()},
        repeats,
        {name: inner for name in candidates},
    )
    return [
        Row(work, bits, name, medians[f"ours {bits}"], medians[name] * scale, first[bits], difference[bits],
            promised.get((name, bits)))
        for name, (_, scale) in peers.items() for bits in (64, 32)
    ]  # fmt: skip


def raw(obs: px.Observations, study: Any, level: float) -> list[float]:
    """Optuna's raw importances in the order of our parameters."""
    result = optuna_peer.end_to_end(study, level)
    return [result[name] for name in obs.space.names]


def single(n: int, repeats: int, promised: dict[tuple[str, int], float], inner: int) -> list[Row]:
    """One level of one log."""
    obs = activation(1, n)
    study = optuna_peer.study_of(obs, 0)
    peers = {
        "Optuna, study": (lambda: optuna_peer.end_to_end(study, 0.1), 1.0),
        "Optuna, arrays": (lambda: optuna_peer.on_arrays(obs, 0, 0.1), 1.0),
    }
    expected = np.array([[raw(obs, study, 0.1)]])
    return compare(f"1 level, N = {n}", obs, np.array([0.1]), peers, expected, promised, repeats, inner)


def sweep(repeats: int, every: int) -> list[Row]:
    """99 levels of 10 logs; the peers run every ``every``-th level and are scaled to 99."""
    obs = activation(10, 1000)
    studies = [optuna_peer.study_of(obs, seed) for seed in range(10)]
    chosen = LEVELS[::every]
    scale = len(LEVELS) / len(chosen)
    expected = np.array([[raw(obs, study, level) for level in LEVELS] for study in studies])
    peers = {
        "Optuna, study": (
            lambda: [optuna_peer.end_to_end(study, level) for study in studies for level in chosen], scale,
        ),
        "Optuna, arrays": (
            lambda: [optuna_peer.on_arrays(obs, seed, level) for seed in range(10) for level in chosen], scale,
        ),
    }  # fmt: skip
    promised = {
        ("Optuna, study", 64): 1000.0, ("Optuna, study", 32): 2000.0,
        ("Optuna, arrays", 64): 400.0, ("Optuna, arrays", 32): 800.0,
    }  # fmt: skip
    return compare("99 levels x 10 seeds, N = 1000", obs, LEVELS, peers, expected, promised, repeats, 5)


def bootstrap(repeats: int, replicates: int) -> list[Row]:
    """99 levels of many bootstrap replicates as weights; the peer's time is that of one replicate, scaled."""
    base = activation(1, 1000)
    rng = np.random.default_rng(0)
    weight = rng.multinomial(1000, np.full(1000, 1e-3), size=replicates).astype(float)
    tiled = {
        name: np.broadcast_to(getattr(base, name), (replicates, *getattr(base, name).shape[1:]))
        for name in ("values", "losses", "regime")
    }
    obs = px.Observations.from_arrays(
        base.space, tiled["values"], tiled["losses"], regime=tiled["regime"], weight=weight
    )
    rows = np.repeat(np.arange(1000), weight[0].astype(int))
    first = px.Observations.from_arrays(
        base.space, base.values[0][rows][None], base.losses[0][rows][None], regime=base.regime[0][rows][None]
    )
    study = optuna_peer.study_of(first, 0)
    expected = np.array([[raw(first, study, level) for level in LEVELS]])
    rows_out = []
    for bits, promise in ((64, 1000.0), (32, 2200.0)):
        def ours(bits: int = bits) -> px.ImportanceResult:
            with jax.enable_x64(bits == 64):
                return px.cond_ped_anova(obs, LEVELS, estimator=PARITY)

        first_call = timing.once(ours)
        variance = ours().variance[:1]
        difference = float((np.abs(variance - expected) / expected.max(axis=-1, keepdims=True)).max())
        medians = timing.interleaved(
            {"ours": ours, "theirs": lambda: [optuna_peer.end_to_end(study, x) for x in LEVELS[::9]]}, repeats
        )
        rows_out.append(
            Row(f"99 levels x {replicates} bootstrap replicates", bits, "Optuna, study", medians["ours"],
                medians["theirs"] * 9 * replicates, first_call, difference, promise)
        )  # fmt: skip
    return rows_out


def counting(repeats: int, n: int = 2**17) -> list[Row]:
    """Counts of 10 columns at one level against numpy.bincount of the same bins."""
    rng = np.random.default_rng(0)
    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(10)})
    obs = px.Observations.from_arrays(space, rng.uniform(size=(n, 10)), rng.normal(size=n))
    grid = PARITY.grid
    where = layout(space, grid)
    codes = grid_codes(obs, grid)
    level = level_sets(obs.losses[:, 0][None], None, np.array([0.1]), 1.0).level
    ours = jax.jit(lambda c, l: sweep_counts(c, l, None, n_levels=1, layout=where))
    on_device = jax.device_put((codes, level))

    def theirs() -> list[np.ndarray]:
        first = level[0].astype(np.int64) * 51
        return [np.bincount(first + column, minlength=3 * 51) for column in codes[0]]

    def run() -> Any:
        return jax.block_until_ready(ours(*on_device))

    first_call = timing.once(run)
    medians = timing.interleaved({"ours": run, "theirs": theirs}, repeats)
    mine = np.asarray(run())[0, -1].reshape(10, 51)
    reference = np.array([counts.reshape(3, 51)[:2].sum(axis=0) for counts in theirs()])
    difference = float(np.abs(mine - reference).max())
    return [Row(f"counts, 10 columns, N = {n}", 32, "numpy.bincount", medians["ours"], medians["theirs"],
                first_call, difference, 2.5)]  # fmt: skip


def estimators(repeats: int) -> list[Row]:
    """The default estimator against parity on the sweep: it may take twice as long."""
    obs = activation(10, 1000)
    rows = []
    for bits in (64, 32):
        def run(estimator: px.GridEstimator, bits: int = bits) -> px.ImportanceResult:
            with jax.enable_x64(bits == 64):
                return px.cond_ped_anova(obs, LEVELS, estimator=estimator)

        default, parity = px.GridEstimator(), PARITY
        first_call = timing.once(lambda: run(default))
        run(parity)
        medians = timing.interleaved(
            {"ours": lambda: run(default), "theirs": lambda: run(parity)}, repeats, {"ours": 3, "theirs": 3}
        )
        # Not an error: by how much the default's curves differ from parity's is printed in the table's notes.
        rows.append(Row("default estimator, same sweep", bits, "parity estimator", medians["ours"],
                        medians["theirs"], first_call, 0.0, 0.5))  # fmt: skip
    return rows


def table(rows: list[Row]) -> str:
    """The rows as text."""
    head = f"{'work':<34} {'bits':>4}  {'peer':<16} {'ours':>10} {'theirs':>10} {'ratio':>8} {'promised':>9} {'first call':>10} {'difference':>10}"
    lines = [head, "-" * len(head)]
    for row in rows:
        promised = "-" if row.promised is None else f"{row.promised:g}x"
        lines.append(
            f"{row.work:<34} {row.bits:>4}  {row.peer:<16} {_time(row.ours):>10} {_time(row.theirs):>10} "
            f"{row.ratio:>7.1f}x {promised:>9} {_time(row.first_call):>10} {row.difference:>10.1e}"
            f"{'' if row.holds else '   BELOW'}"
        )
    return "\n".join(lines)


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def main(argv: list[str] | None = None) -> int:
    """Run, print, and say whether every promise holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer repeats, no bootstrap replicates")
    parser.add_argument("--json", type=Path, help="also write the rows here")
    options = parser.parse_args(argv)
    quick = options.quick
    one = {
        ("Optuna, study", 64): 40.0, ("Optuna, study", 32): 40.0,
        ("Optuna, arrays", 64): 15.0, ("Optuna, arrays", 32): 15.0,
    }  # fmt: skip
    large = {
        ("Optuna, study", 64): 330.0, ("Optuna, study", 32): 330.0,
        ("Optuna, arrays", 64): 4.0, ("Optuna, arrays", 32): 4.0,
    }  # fmt: skip
    device = jax.devices()[0]
    print(f"parzax {px.__version__}, jax {jax.__version__}, {device.device_kind}, Python {platform.python_version()}")
    rows: list[Row] = []
    jobs: list[Callable[[], list[Row]]] = [
        lambda: single(1000, 15 if quick else 41, one, 20),
        lambda: sweep(3 if quick else 5, 11 if quick else 3),
        lambda: single(2**17, 3 if quick else 7, large, 5),
        lambda: counting(15 if quick else 41),
        lambda: estimators(5 if quick else 15),
    ]
    if not quick:
        jobs.append(lambda: bootstrap(3, 1000))
    for job in jobs:
        if sys.stderr.isatty():
            print(f"\r{len(rows)} rows done ...", end="", file=sys.stderr, flush=True)
        rows += job()
    print(table(rows))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) | {"ratio": row.ratio} for row in rows], indent=1))
    failed = [row for row in rows if not row.holds]
    for row in failed:
        print(f"below {SLACK} of the promise, or different: {row.work}, {row.bits} bits, {row.peer}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
