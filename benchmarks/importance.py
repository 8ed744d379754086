"""Conditional PED-ANOVA against Optuna's: ``python -m benchmarks.importance [--quick] [--json FILE]``.

For each row: our median, the peer's, the ratio, the goal, the time of the first call (compilation and
all) and the largest difference between the two results. Everything runs on one core, interleaved in one
process. "Study" rows compare a table function with an evaluator (`cond_ped_anova` on observations,
Optuna's evaluator on a study), "arrays" rows arrays in and arrays out. Exits with status 1 if a ratio is
below 0.7 of what is promised, or a result differs. The promise is the goal, except on one level of one log
and on the arrays of a sweep in 32 bits: docs/speed.md says why.
"""

from benchmarks import timing  # isort: skip  (pins the core before JAX is loaded)

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks import command, optuna_peer, rustuna_peer, synthetic
from benchmarks.rows import Row
from parzax._numerics import capacity
from parzax.importance.counts import sweep_counts
from parzax.lens.logs.encoding import encode_log
from parzax.lens.results.analysis import estimate_batch

PARITY = {"divergence": px.divergence.Pearson(), "grid": px.Grid.optuna()}
LEVELS = np.arange(1, 100) / 100
STUDY, ARRAYS = "Optuna, study", "Optuna, arrays"


def activation(n_seeds: int, n: int) -> px.Observations:
    """Random search on the paper's activation problem (arXiv 2601.20800), disjoint domains."""
    problem = synthetic.activation()
    keys = jax.random.split(jax.random.key(0), n_seeds)
    with jax.enable_x64(True):
        values, objectives = jax.vmap(lambda key: problem.sample(key, n))(keys)
    return px.Observations.from_arrays(problem.space, values, objectives)


def end_to_end(
    obs: px.Observations, levels: np.ndarray, bits: int, estimator: dict[str, Any] = PARITY
) -> np.ndarray:
    """Raw variances by the table function, (s, q, d)."""
    with jax.enable_x64(bits == 64):
        return px.cond_ped_anova(obs, levels, **estimator, n_resamples=0).variance


def on_arrays(obs: px.Observations, levels: np.ndarray, bits: int) -> np.ndarray:
    """The same from arrays to arrays: level sets, codes, one compiled call."""
    with jax.enable_x64(bits == 64):
        encoded, _ = encode_log(obs, obs.losses[..., 0], levels, 1.0, PARITY["grid"], rows=capacity(obs.n))
        return np.asarray(estimate_batch(encoded, (PARITY["divergence"], "region", False, False)).variance)


def compare(
    work: str,
    obs: px.Observations,
    levels: np.ndarray,
    peers: dict[str, Callable[[], Any]],
    expected: np.ndarray,
    rows: list[tuple[str, int, float, float | None]],
    *,
    repeats: int,
    inner: int,
    scale: float = 1.0,
    checked: int = 1,
) -> list[Row]:
    """Time ours in both precisions against the peers.

    Args:
        work: name of the rows.
        obs, levels: what is computed.
        peers: name -> call.
        expected: (s, q, d) raw variances of the peer, at every ``checked``-th level.
        rows: (peer, bits, goal, promise or None) of each row.
        repeats: rounds.
        inner: our calls per round.
        scale: by how much more work ours is than a peer's call.
        checked: distance between the levels at which results are compared.
    """
    candidates: dict[str, Callable[[], Any]] = {}
    first, difference = {}, {}
    for peer, bits, _, _ in rows:
        ours = partial(end_to_end if peer == STUDY else on_arrays, obs, levels, bits)
        name = f"ours {peer} {bits}"
        first[bits] = max(timing.once(ours), first.get(bits, 0.0))
        variance = ours().reshape(len(expected), len(levels), -1)[:, ::checked]
        error = np.abs(variance - expected) / expected.max(axis=-1, keepdims=True)
        difference[name] = float(error.max())
        candidates[name] = ours
    medians = timing.interleaved(candidates | peers, repeats, dict.fromkeys(candidates, inner))
    return [
        Row(
            work,
            bits,
            peer,
            medians[name],
            medians[peer] * scale,
            first[bits],
            difference[name],
            goal,
            promise,
        )
        for peer, bits, goal, promise in rows
        for name in [f"ours {peer} {bits}"]
    ]


def raw(obs: px.Observations, study: Any, level: float) -> list[float]:
    """Optuna's raw importances in the order of our parameters."""
    result = optuna_peer.end_to_end(study, level)
    return [result[name] for name in obs.space.names]


def single(
    n: int, goals: dict[str, float], promises: dict[str, float], *, repeats: int, inner: int
) -> list[Row]:
    """One level of one log."""
    obs = activation(1, n)
    study = optuna_peer.study_of(obs, 0)
    peers = {
        STUDY: partial(optuna_peer.end_to_end, study, 0.1),
        ARRAYS: partial(optuna_peer.on_arrays, obs, 0, 0.1),
    }
    rows = [(peer, bits, goals[peer], promises.get(peer)) for peer in peers for bits in (64, 32)]
    expected = np.array([[raw(obs, study, 0.1)]])
    levels = np.array([0.1])
    return compare(f"1 level, N = {n}", obs, levels, peers, expected, rows, repeats=repeats, inner=inner)


def sweep(*, repeats: int, every: int, checked: int) -> list[Row]:
    """99 levels of 10 logs; the peers run every ``every``-th level and are scaled to 99."""
    obs = activation(10, 1000)
    studies = [optuna_peer.study_of(obs, seed) for seed in range(10)]
    chosen = LEVELS[::every]
    expected = np.array([[raw(obs, study, level) for level in LEVELS[::checked]] for study in studies])
    peers = {
        STUDY: lambda: [optuna_peer.end_to_end(study, x) for study in studies for x in chosen],
        ARRAYS: lambda: [optuna_peer.on_arrays(obs, seed, x) for seed in range(10) for x in chosen],
    }
    rows: list[tuple[str, int, float, float | None]] = [
        (STUDY, 64, 1000, 800),
        (STUDY, 32, 2000, 1600),
        (ARRAYS, 64, 400, 320),
        (ARRAYS, 32, 800, 480),
    ]
    work, scale = "99 levels x 10 seeds, N = 1000", len(LEVELS) / len(chosen)
    return compare(
        work, obs, LEVELS, peers, expected, rows, repeats=repeats, inner=5, scale=scale, checked=checked
    )


def bootstrap(*, repeats: int, replicates: int) -> list[Row]:
    """99 levels of many bootstrap replicates as weights; the peer's time is that of one replicate, scaled."""
    base = activation(1, 1000)
    weight = np.random.default_rng(0).multinomial(1000, np.full(1000, 1e-3), size=replicates).astype(float)

    def repeated(x: np.ndarray) -> np.ndarray:
        return np.broadcast_to(x, (replicates, *x.shape[1:]))

    obs = px.Observations.from_arrays(
        base.space, repeated(base.values), repeated(base.losses), regime=repeated(base.regime), weight=weight
    )
    drawn = np.repeat(np.arange(1000), weight[0].astype(int))
    first = px.Observations.from_arrays(
        base.space, base.values[:, drawn], base.losses[:, drawn], regime=base.regime[:, drawn]
    )
    study = optuna_peer.study_of(first, 0)
    expected = np.array([raw(first, study, level) for level in LEVELS])
    rows = []
    for bits, goal in ((64, 1000.0), (32, 2200.0)):
        ours = partial(end_to_end, obs, LEVELS, bits)
        first_call = timing.once(ours)
        error = np.abs(ours()[0] - expected) / expected.max(axis=-1, keepdims=True)
        theirs = lambda: [optuna_peer.end_to_end(study, x) for x in LEVELS[::9]]  # noqa: E731
        medians = timing.interleaved({"ours": ours, "theirs": theirs}, repeats)
        scaled = medians["theirs"] * len(LEVELS) / len(LEVELS[::9]) * replicates
        work = f"99 levels x {replicates} bootstrap replicates"
        rows.append(Row(work, bits, STUDY, medians["ours"], scaled, first_call, float(error.max()), goal))
    return rows


def counting(*, repeats: int, n: int = 2**17) -> list[Row]:
    """Counts of 10 columns at one level against numpy.bincount of the same bins."""
    rng = np.random.default_rng(0)
    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(10)})
    obs = px.Observations.from_arrays(space, rng.uniform(size=(n, 10)), rng.normal(size=n))
    grid = px.Grid(max_cells=50, mirror=False)
    encoded, _ = encode_log(obs, obs.losses[:, 0][None], np.array([0.1]), 1.0, grid, rows=n)
    codes, level = encoded.codes, encoded.level
    counts = jax.jit(partial(sweep_counts, weight=None, place=(0,), layout=encoded.layout))
    on_device = jax.device_put((codes, level))

    def ours() -> Any:
        return jax.block_until_ready(counts(*on_device))

    def theirs() -> list[np.ndarray]:
        first = level[0].astype(np.int64) * 51
        return [np.bincount(first + column, minlength=3 * 51) for column in codes[0]]

    first_call = timing.once(ours)
    medians = timing.interleaved({"ours": ours, "theirs": theirs}, repeats)
    mine = np.asarray(ours())[0, -1].reshape(10, 51)
    reference = np.array([column.reshape(3, 51)[:2].sum(axis=0) for column in theirs()])
    error = float(np.abs(mine - reference).max())
    work, peer = f"counts, 10 columns, N = {n}", "numpy.bincount"
    return [Row(work, 32, peer, medians["ours"], medians["theirs"], first_call, error, 2.5)]


def checking(*, repeats: int, n: int = 10**6) -> list[Row]:
    """`Observations.from_arrays` with three numbers against a copy and comparisons with bounds in NumPy."""
    rng = np.random.default_rng(0)
    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(3)})
    values, losses = rng.uniform(size=(n, 3)), rng.normal(size=n)

    def ours() -> px.Observations:
        return px.Observations.from_arrays(space, values, losses)

    def theirs() -> bool:
        copy = values.copy()
        return bool(((copy >= 0) & (copy <= 1)).all() and (losses < np.inf).all())

    first_call = timing.once(ours)
    medians = timing.interleaved({"ours": ours, "theirs": theirs}, repeats)
    error = float(np.abs(ours().values - values).max())
    work, peer = f"checked and copied, 3 columns, N = {n}", "numpy comparisons"
    return [Row(work, 64, peer, medians["ours"], medians["theirs"], first_call, error, 0.25)]


def estimators(*, repeats: int) -> list[Row]:
    """The default divergence against parity on the sweep; it may take twice as long."""
    obs = activation(10, 1000)
    rows = []
    for bits in (64, 32):
        peers = {"parity": (PARITY, 0.5)}
        calls = {name: partial(end_to_end, obs, LEVELS, bits, own) for name, (own, _) in peers.items()}
        calls["ours"] = partial(end_to_end, obs, LEVELS, bits, {})
        first_call = timing.once(calls["ours"])
        for call in calls.values():
            call()
        medians = timing.interleaved(calls, repeats, dict.fromkeys(calls, 3))
        rows += [
            Row(
                "default estimator, same sweep",
                bits,
                name,
                medians["ours"],
                medians[name],
                first_call,
                0.0,
                goal,
            )
            for name, (_, goal) in peers.items()
        ]
    return rows


def jobs(quick: bool) -> Iterator[command.Job]:
    """Every row of the table."""
    small = ({STUDY: 40, ARRAYS: 15}, {STUDY: 15, ARRAYS: 5})
    # On arrays the ratio varies from machine to machine, since memory limits both sides.
    large = ({STUDY: 330, ARRAYS: 4}, {ARRAYS: 2.5})
    yield partial(single, 1000, *small, repeats=15 if quick else 41, inner=20)
    yield partial(sweep, repeats=3 if quick else 5, every=11 if quick else 3, checked=11 if quick else 1)
    # A peer's call takes two seconds; three rounds tell a ratio of hundreds.
    yield partial(single, 2**17, *large, repeats=3 if quick else 7, inner=5)
    yield partial(counting, repeats=15 if quick else 41)
    yield partial(checking, repeats=7 if quick else 15)
    yield partial(estimators, repeats=5 if quick else 15)
    if rustuna_peer.is_installed():
        yield partial(rustuna_peer.importance, repeats=5 if quick else 15, inner=5)
    if not quick:
        yield partial(bootstrap, repeats=3, replicates=1000)


if __name__ == "__main__":
    sys.exit(command.run(__doc__, jobs, None))
