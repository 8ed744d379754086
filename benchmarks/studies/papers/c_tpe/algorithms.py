"""Candidates of Algorithm 1 and groups of Algorithm 2."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

import parzax as px
from benchmarks.studies.papers.rows import (
    OURS_ALONE,
    Range,
    Row,
    judged,
    together,
)
from benchmarks.studies.papers.runs import Arrays
from parzax.acquisition import AbstractAcquisition, GroupLogs, Scores, Shares
from parzax.samplers import Sampler
from parzax.split import State

# Rows in the quadrants low-low, high-high and high-low of the unit square, and the centres of these.
N_CLUSTER, CENTERS = (2, 19, 19), ((0.1, 0.1), (0.9, 0.9), (0.9, 0.1))
N_KEYS, N_GRID, CLOSE = 250, 400, Range(-0.02, 0.02)
PRESETS = {"px.papers.c_tpe": px.papers.c_tpe, "px.c_tpe": px.c_tpe}
N_LOGS, N_SCORED, SIZES = 200, 5, (1, 5, 20, 40)


class Nth(AbstractAcquisition):
    """The candidate at one position scores highest, so that `ask` returns it; past the last, the first."""

    position: Array

    def __call__(self, below: GroupLogs, above: GroupLogs, gamma: Shares) -> Scores:
        del above, gamma
        return (jnp.arange(below.shape[1]) == self.position).astype(below.dtype)


def candidates() -> Arrays:
    """A unit: "PRESET" (keys, 72, 2), all candidates of an ask; "PRESET/count" of different ones.

    "masses" (3, 2, 2) of the quadrants, by the densities below of the objective and of two constraints.
    """
    rng, space = np.random.default_rng(0), px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)})
    cluster = np.repeat(np.arange(3), N_CLUSTER)
    x = np.array(CENTERS)[cluster] + rng.normal(0, 0.02, (len(cluster), 2))
    # The first cluster has the best losses and satisfies both constraints, each other cluster one.
    excess = np.stack([np.where((cluster == 0) | (cluster == i), -1.0, 1.0) for i in (1, 2)], axis=1)
    groups = [cluster == 0, *(excess <= 0).T]
    axis = (np.arange(N_GRID) + 0.5) / N_GRID
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    fit = partial(px.ParzenEstimator.fit, space, bandwidth=px.bandwidth.Scott())
    density = np.exp([np.asarray(fit(x[group]).log_prob(grid)) for group in groups])
    half = N_GRID // 2
    masses = density.reshape(3, 2, half, 2, half).mean(axis=(2, 4)) / 4
    found, keys = {"masses": masses}, jax.random.split(jax.random.key(0), N_KEYS)
    for name, preset in PRESETS.items():
        sampler = preset(space, n_constraints=2)
        state = sampler.tell(sampler.init(len(x)), x, cluster + rng.random(len(x)), excess)
        n = (1 + sampler.n_constraints) * sampler.proposal.n_candidates
        first = np.asarray(_asked(sampler, state, keys[:1], 2 * n))[0]
        found[f"{name}/count"] = np.array(len(np.unique(first, axis=0)))
        found[name] = np.asarray(_asked(sampler, state, keys, n))
    return found


@eqx.filter_jit
def _asked(sampler: Sampler, state: State, keys: jax.Array, n: int) -> Float[Array, "k n d"]:
    """The candidates at positions 0 to n - 1 of each key."""

    def at(key: jax.Array, position: jax.Array) -> jax.Array:
        return replace(sampler, acquisition=Nth(position)).ask(key, state)[0]

    return jax.lax.map(lambda key: jax.vmap(partial(at, key))(jnp.arange(n)), keys)


def augmentation() -> Arrays:
    """A unit: for random logs whether groups and shares are those of a loop over the rows.

    "same" (logs, 1 + constraints), NaN for the objective where fewer rows are feasible than it asks for;
    "shares" (logs, 1 + constraints), differences; "scores" (logs, 200), differences of a few logs.
    """
    space, cheap = px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)}), {1}
    found: dict[str, list] = {"same": [], "shares": [], "scores": []}
    with jax.enable_x64(True):
        rng, sampler = np.random.default_rng(0), px.papers.c_tpe(space, n_constraints=2)
        at = rng.random((200, 2))
        for i in range(N_LOGS):
            n, n_p = (20, 40) if i < N_SCORED else (int(size) for size in rng.choice(SIZES, 2))
            x, losses = rng.random((n + n_p, 2)), rng.permutation(n).astype(float)
            excess = rng.normal(rng.uniform(-1, 2, 2) * (i >= N_SCORED), 1.0, (n + n_p, 2))
            known = np.where([j in cheap for j in (1, 2)], excess[n:], np.nan)
            state = sampler.augment(sampler.init(2 * max(SIZES)), x[n:], known)
            state = sampler.tell(state, x[:n], losses, excess[:n])
            split = sampler.split(state)
            # The state has the rows of D_p first.
            place = np.r_[n_p : n_p + n, :n_p]
            below, above = (np.asarray(group)[:, place] for group in (split.below, split.above))
            groups = augmented_groups(losses, excess, cheap)
            shares = [len(low) / (len(low) + len(high)) for low, high in groups]
            same = [
                float(set(np.flatnonzero(b)) == low and set(np.flatnonzero(a)) == high)
                for b, a, (low, high) in zip(below, above, groups, strict=True)
            ]
            clear = (excess[:n] <= 0).all(axis=1).sum() >= math.ceil(math.sqrt(n) / 4)
            found["same"].append([same[0] if clear else np.nan, *same[1:]])
            found["shares"].append(np.abs(np.asarray(split.gamma) - shares))
            if i < N_SCORED:
                score = _product(space, x, groups, shares, at)
                found["scores"].append(np.asarray(sampler.score_of(state, at)) - score)
    return {name: np.array(each) for name, each in found.items()}


def augmented_groups(losses: np.ndarray, excess: np.ndarray, cheap: set[int]) -> list[tuple[set, set]]:
    """Rows below and above, of the objective and of each constraint, by lines 11 to 16 of Algorithm 2.

    The first rows, which have losses, are D, the others D_p.
    """
    n, left, first = len(losses), math.ceil(math.sqrt(len(losses)) / 4), set()
    for row in np.argsort(losses).tolist():
        if left == 0:
            break
        first.add(row)
        left -= int((excess[row] <= 0).all())
    groups = [(first, set(range(n)) - first)]
    for j, column in enumerate(excess.T, 1):
        rows = range(len(excess) if j in cheap else n)
        satisfied = {row for row in rows if column[row] <= 0}
        low = satisfied or {min(rows, key=lambda row: column[row])}
        groups.append((low, set(rows) - low))
    return groups


def _product(
    space: px.Space, x: np.ndarray, groups: list[tuple[set, set]], shares: list[float], at: np.ndarray
) -> np.ndarray:
    """Log of the product of relative density ratios."""
    fit, score = partial(px.ParzenEstimator.fit, space, bandwidth=px.bandwidth.Scott()), np.zeros(len(at))
    for (low, high), share in zip(groups, shares, strict=True):
        below, above = (np.asarray(fit(x[sorted(rows)]).log_prob(at)) for rows in (low, high))
        score -= np.log(share + (1 - share) * np.exp(above - below))
    return score


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """Rows of all of these."""
    yield from _candidates(found["algorithms/candidates"])
    yield from _augmentation(found["algorithms/augmentation"])


def _candidates(found: Arrays) -> Iterator[Row]:
    """By quadrant: the share of the candidates beside the mass of the densities that they are drawn from."""
    masses, n = found["masses"], 24 * len(found["masses"])
    alone = masses.sum(axis=2)[:, :, None] * masses.sum(axis=1)[:, None]
    for name, each, key, where, printed in (
        ("px.papers.c_tpe", masses, "algorithm-1-candidates", "Algorithm 1, line 11",
         "N_s = 24 candidates are drawn from every p(x | D_i^(l)), i = 0..C"),
        ("px.c_tpe", alone, "candidates-preset", OURS_ALONE,
         "`px.c_tpe` draws each parameter of these candidates from a component of its own"),
    ):  # fmt: skip
        quadrant = (found[name] > 0.5).astype(int)
        shares = np.array(
            [[(quadrant == (i, j)).all(axis=-1).mean(axis=1) for j in (0, 1)] for i in (0, 1)]
        )  # (2, 2, keys)
        share, error = shares.mean(axis=2), shares.std(axis=2, ddof=1) / np.sqrt(shares.shape[2])
        gap, count = share - each.mean(axis=0), int(found[f"{name}/count"])
        verdicts = [judged(float(g), float(e), CLOSE) for g, e in zip(gap.flat, error.flat, strict=True)]
        ours = ", ".join(
            f"{s:.3f} ({m:.3f})" for s, m in zip(share.flat, each.mean(axis=0).flat, strict=True)
        )
        note = f"`{name}`; groups in three quadrants; ± {error.max():.1g}, {shares.shape[2]} asks; our range"
        yield Row(
            key, where, f"{printed} [{n} candidates, shares of quadrants within {CLOSE.high:g}]",
            f"{count} different candidates of an ask, C = 2; shares of quadrants (by the densities) {ours}",
            together([judged(count, 0, Range(n, n)), *verdicts]), note,
        )  # fmt: skip


def _augmentation(found: Arrays) -> Iterator[Row]:
    where, same = "Algorithm 2, lines 11 to 16", found["same"]
    wrong, n = int((same == 0).sum()), int((~np.isnan(same)).sum())
    shares = found["shares"][~np.isnan(same)]
    printed = "D_aug is D and D_p for a cheap constraint, else D; gamma_i = |D_i^(l)| / |D_aug|"
    ours = (
        f"{wrong} of {n} pairs of groups differ from those of a loop over the rows; shares differ by at most "
    )
    ours += f"{shares.max():.1g}"
    note = f"`px.papers.c_tpe` and its `augment`, {len(same)} random logs, float64; line 6 has f(x) in D_p, "
    note += "which no later line uses"
    verdict = together([judged(wrong, 0, Range(0, 0)), judged(float(shares.max()), 0, Range(0, 1e-12))])
    yield Row("algorithm-2-groups", where, f"{printed} [{Range(0, 0)}, up to 1e-12]", ours, verdict, note)
    largest = float(np.abs(found["scores"]).max())
    yield Row(
        "algorithm-2-score", "Algorithm 2, lines 17 to 19",
        "each density is built from its D_aug, the score is the product of relative ratios [up to 1e-9]",
        f"log scores of {found['scores'].size} candidates differ by at most {largest:.1e}",
        judged(largest, 0, Range(0, 1e-9)),
        f"{len(found['scores'])} logs; densities by `ParzenEstimator.fit`",
    )  # fmt: skip
