"""Figures 2 and 12: ellipsoids whose centre is that of the target, or further and further away."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.stats

import parzax as px
from benchmarks.papers import power
from benchmarks.papers.meta_learn_tpe.searches import (
    EPSILON,
    EVERY,
    N_ROWS,
    best,
    runs,
    with_count,
    with_eta,
)
from benchmarks.papers.rows import SEEN, Range, Row, Verdict, alike, judged, together
from benchmarks.papers.runs import Arrays
from parzax.samplers import Sampler

CENTERS, FAR = (0, 1, 2, 3, 4), (2, 3, 4)
FEW, MANY = 4, 10
N_TASKS, MANY_CENTERS = (1, 2, 4, 8), (0, 1, 2, 3)
N_EVALUATIONS, ONSET = 200, 30
N_BOOTSTRAP, LEVEL = 1000, 0.01
# "Almost recovered", "does not change largely": our ranges for words.
RECOVERED, UNCHANGED = Range(high=1.25), Range(0.8, 1.25)
# Where no smaller factor than this could have been seen, two medians are not told apart.
MATTERS = 1.5
OURS, NAIVE, FLOOR = "ours", "naive", "floor"


def alone(dim: int, n_seeds: int) -> Arrays:
    """A unit: "best" (s, n) without sources."""
    target = px.problems.ellipsoid(dim)
    samplers = [px.mo_tpe(target.space, 1, epsilon=EPSILON)] * n_seeds
    return {"best": best(runs(samplers, target, N_EVALUATIONS)[0])}


def one_source(center: int, n_seeds: int) -> Arrays:
    """A unit: "METHOD/best" (s, n) and "METHOD/similarity" (s, n / 10) with one source, D = 4."""
    samplers = [with_count(sampler(FEW, center, 1, seed), "below") for seed in range(n_seeds)]
    variants = {
        OURS: samplers,
        NAIVE: [with_eta(own, np.inf) for own in samplers],
        FLOOR: [with_count(own, "floor") for own in samplers],
    }
    found = {}
    for name, own in variants.items():
        losses, alike = runs(own, px.problems.ellipsoid(FEW), N_EVALUATIONS, alike=True)
        found |= {f"{name}/best": best(losses), f"{name}/similarity": alike[..., 0]}
    return found


def several(n_tasks: int, same: bool, n_seeds: int) -> Arrays:
    """A unit: "METHOD/CENTER" (s, n) best loss with so many sources, D = 10; ``same``: of the same rows."""
    found = {}
    for center in MANY_CENTERS:
        samplers = [sampler(MANY, center, n_tasks, seed, same=same) for seed in range(n_seeds)]
        variants = {OURS: [with_count(own, "below") for own in samplers]}
        if not same:
            variants[FLOOR] = [with_count(own, "floor") for own in samplers]
        for name, own in variants.items():
            losses, _ = runs(own, px.problems.ellipsoid(MANY), N_EVALUATIONS)
            found[f"{name}/{center}"] = best(losses)
    return found


def fewer_candidates(n_tasks: int, n_seeds: int) -> Arrays:
    """A unit: "CENTER" (s, n) with the candidates of one task in all, D = 10."""
    found = {}
    for center in MANY_CENTERS:
        samplers = [sampler(MANY, center, n_tasks, seed, max_candidates=100) for seed in range(n_seeds)]
        losses, _ = runs(samplers, px.problems.ellipsoid(MANY), N_EVALUATIONS)
        found[f"{center}"] = best(losses)
    return found


def sampler(dim: int, center: int, n_tasks: int, seed: int, *, same: bool = False, **options: Any) -> Sampler:
    """With so many logs of the same function; each of its own rows, or all of the ``same``."""
    own = logs(dim, center, n_tasks, seed, same=same)
    return px.paper_meta_learn_tpe(px.problems.ellipsoid(dim).space, own, epsilon=EPSILON, **options)


def logs(dim: int, center: int, n_tasks: int, seed: int, *, same: bool = False) -> dict[str, px.Observations]:
    """So many by name; for each seed others."""
    first = max(N_TASKS) * seed
    return {f"task {i}": _log(dim, center, first + (0 if same else i)) for i in range(n_tasks)}


def _log(dim: int, center: int, seed: int) -> px.Observations:
    """Random rows of a source task; for all centres the same ones."""
    x = np.random.default_rng(seed).uniform(-5, 5, (N_ROWS, dim))
    task = px.problems.ellipsoid(dim, center)
    losses, _ = jax.vmap(task, in_axes=(None, 0))(jax.random.key(0), jnp.asarray(x))
    return px.Observations.from_arrays(task.space, x, np.asarray(losses))


# --- rows ------------------------------------------------------------------------------------------


def log_ratio(one: np.ndarray, other: np.ndarray, budget: int) -> tuple[float, float]:
    """Log of the ratio of medians after so many evaluations, and its standard error by the bootstrap."""
    rng = np.random.default_rng(0)
    a, b = one[:, budget - 1], other[:, budget - 1]
    drawn = [
        np.log(np.median(a[rng.integers(0, len(a), len(a))]) / np.median(b[rng.integers(0, len(b), len(b))]))
        for _ in range(N_BOOTSTRAP)
    ]
    return float(np.log(np.median(a) / np.median(b))), float(np.std(drawn))


def in_words(log: float, error: float) -> str:
    """The ratio with its 95 % interval."""
    low, high = np.exp(log - 1.96 * error), np.exp(log + 1.96 * error)
    return f"{np.exp(log):.2f} ({low:.2f}, {high:.2f})"


def judged_ratio(log: float, error: float, wanted: Range) -> Verdict:
    """Of a ratio; the range is of the ratio itself."""
    return judged(log, error, _logs(wanted))


def hardly(log: float, error: float, wanted: Range) -> Verdict:
    """The same of a statement that two medians are hardly different."""
    return alike(log, error, _logs(wanted), float(np.log(MATTERS)))


def _logs(wanted: Range) -> Range:
    low = float(np.log(wanted.low)) if wanted.low > 0 else -np.inf
    return Range(low, float(np.log(wanted.high)))


def unseen(*errors: float) -> str:
    """For a note: the smallest factor that would have been seen."""
    return f"a factor of {np.exp(SEEN * max(errors)):.2f} would be seen in 80 % of cases"


def figure_2(tpe: np.ndarray, found: Mapping[int, Mapping[str, np.ndarray]]) -> Iterator[Row]:
    """Rows of Figure 2, from runs by centre."""
    where = "Figure 2"
    own = {center: found[center][f"{OURS}/best"] for center in CENTERS}
    ratios = {a: log_ratio(own[a], own[b], 10) for a, b in pairwise(CENTERS)}
    text = "; ".join(f"c* = {c} over {c + 1}: {in_words(*ratio)}" for c, ratio in ratios.items())
    verdict = together([judged_ratio(*ratio, Range(high=1.0)) for ratio in ratios.values()])
    printed = "after 10 evaluations the order is that of similarity"
    yield Row("f2-order", where, printed, text, verdict, "ratios of medians")
    for center in (0, 1):
        each = [log_ratio(own[center], tpe, budget) for budget in (10, 20, 30)]
        text = "over TPE: " + ", ".join(in_words(*ratio) for ratio in each)
        verdict = together([judged_ratio(*ratio, Range(high=1.0)) for ratio in each])
        printed = f"the source c* = {center} is ahead of TPE after 10, 20 and 30 evaluations"
        yield Row(f"f2-ahead-{center}", where, printed, text, verdict)
    for center in FAR:
        yield _nearer(center, tpe, found[center])
    yield from _weights(found)
    for center in FAR:
        ratio = log_ratio(own[center], tpe, N_EVALUATIONS)
        other = log_ratio(found[center][f"{FLOOR}/best"], tpe, N_EVALUATIONS)
        text = f"over TPE after 200: {in_words(*ratio)}; with floor(gamma N) good rows {in_words(*other)}"
        note = f"as a ratio of medians, at most 1.25; {unseen(ratio[1])}"
        printed = f"the source c* = {center} ends where TPE does"
        yield Row(f"f2-end-{center}", where, printed, text, hardly(*ratio, RECOVERED), note)


def _sources(n: int) -> str:
    return "1 source" if n == 1 else f"{n} sources"


def _nearer(center: int, tpe: np.ndarray, found: Mapping[str, np.ndarray]) -> Row:
    """Paired by seed: mean over evaluations of the log loss, from the onset on."""
    ours, naive = (np.log(found[f"{name}/best"][:, ONSET - 1 :]).mean(axis=1) for name in (OURS, NAIVE))
    difference = ours - naive
    p = power.signed_rank(difference, "less")
    rng = np.random.default_rng(0)
    spread = difference - np.median(difference)

    def p_values(effect: float) -> np.ndarray:
        drawn = rng.choice(spread, (power.N_RESAMPLED, len(spread))) - np.log1p(effect)
        drawn += 1e-12 * rng.normal(size=drawn.shape)
        return np.asarray(scipy.stats.wilcoxon(drawn, alternative="less", axis=1)[1])

    effect = power.smallest_effect(p_values, LEVEL)
    of_tpe = np.median(tpe[:, ONSET - 1 :], axis=0)
    each = ", ".join(
        f"{name} {np.median(found[f'{name}/best'][:, ONSET - 1 :] / of_tpe):.2f}" for name in (OURS, NAIVE)
    )
    distances = [
        abs(np.log(np.median(found[f"{name}/best"][:, ONSET - 1 :] / of_tpe))) for name in (OURS, NAIVE)
    ]
    blind = effect > MATTERS - 1
    verdict = Verdict.NOT_TOLD_APART if blind else Verdict.AGREES if p < LEVEL else Verdict.DIFFERS
    if distances[0] >= distances[1]:
        verdict = Verdict.DIFFERS
    text = f"loss over TPE's median, {ONSET} to {N_EVALUATIONS}: {each}; p = {p:.1g}"
    printed = f"from {ONSET} evaluations on c* = {center} is nearer to TPE than naive meta-learning"
    note = (
        "nearer by the ratio of medians, and a weaker form by a test: the loss is smaller, signed-rank over "
        f"seeds; {power.in_words(effect)}"
    )
    return Row(f"f2-nearer-{center}", "Figure 2", printed, text, verdict, note)


def _weights(found: Mapping[int, Mapping[str, np.ndarray]]) -> Iterator[Row]:
    """Task weights s / 2, at 50, 100 and 200."""
    at = [budget // EVERY - 1 for budget in (50, 100, 200)]
    each = {c: found[c][f"{OURS}/similarity"][:, at] / 2 for c in CENTERS}
    means = (f"c* = {c}: " + ", ".join(f"{m:.3f}" for m in own.mean(axis=0)) for c, own in each.items())
    text = f"after 50, 100, 200: {'; '.join(means)}"

    def lead(a: np.ndarray, b: np.ndarray) -> Verdict:
        error = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
        return judged(float(a.mean() - b.mean()), float(error), Range(0))

    ordered = [lead(each[a][:, i], each[b][:, i]) for a, b in pairwise(CENTERS) for i in range(3)]
    printed = "task weights are in the order of similarity"
    yield Row("f2-weights", "Figure 2", printed, text, together(ordered))
    falling = [lead(each[c][:, i], each[c][:, i + 1]) for c in CENTERS for i in range(2)]
    printed = "they fall with evaluations, that of c* = 0 too"
    yield Row("f2-weights-fall", "Figure 2", printed, text, together(falling))


def figure_12(
    tpe: np.ndarray,
    own: Mapping[int, Mapping[str, np.ndarray]],
    same: Mapping[int, Mapping[str, np.ndarray]],
    fewer: Mapping[int, Mapping[str, np.ndarray]],
) -> Iterator[Row]:
    """Rows of Figure 12, from runs by number of sources, of rows of their own and of the same."""
    where = "Figure 12"
    for n, found in own.items():
        for center in (2, 3):
            runs_of = {"own logs": found[f"{OURS}/{center}"]}
            runs_of |= {"one log": same[n][f"{OURS}/{center}"]} if n in same else {}
            ratios = {name: log_ratio(x, tpe, N_EVALUATIONS) for name, x in runs_of.items()}
            text = "; ".join(f"{name} {in_words(*ratio)}" for name, ratio in ratios.items())
            floor = log_ratio(found[f"{FLOOR}/{center}"], tpe, N_EVALUATIONS)
            text += f"; with floor(gamma N) good rows {in_words(*floor)}"
            if n in fewer:
                few = log_ratio(fewer[n][f"{center}"], tpe, N_EVALUATIONS)
                text += f"; 100 candidates in all {in_words(*few)}"
            verdict = together([hardly(*ratio, RECOVERED) for ratio in ratios.values()])
            printed = f"{_sources(n)}, c* = {center}: almost recovered after 200"
            note = f"as a ratio of medians, at most 1.25; {unseen(*(r[1] for r in ratios.values()))}"
            yield Row(f"f12-end-{n}-{center}", where, printed, f"over TPE: {text}", verdict, note)
    yield _recovered(tpe, own)
    one = min(own)
    for center in MANY_CENTERS:
        name = f"{OURS}/{center}"
        several = {f"{n} own logs": found[name] for n, found in own.items() if n != one}
        several |= {f"{n} of one log": found[name] for n, found in same.items()}
        ratios = {words: log_ratio(x, own[one][name], N_EVALUATIONS) for words, x in several.items()}
        printed = f"c* = {center}: does not change largely with the number of sources"
        text = f"over {one} after 200: {'; '.join(f'{n} {in_words(*ratio)}' for n, ratio in ratios.items())}"
        verdict = together([hardly(*ratio, UNCHANGED) for ratio in ratios.values()])
        note = f"as a ratio of medians, 0.8 to 1.25; {unseen(*(ratio[1] for ratio in ratios.values()))}"
        yield Row(f"f12-number-{center}", where, printed, text, verdict, note)
    for n, found in own.items():
        runs_of = {"own logs": found} | ({"one log": same[n]} if n in same else {})
        ratios = {words: log_ratio(x[f"{OURS}/3"], tpe, 10) for words, x in runs_of.items()}
        printed = f"{_sources(n)}, dissimilar: behind TPE at the beginning"
        each = "; ".join(f"{words} {in_words(*ratio)}" for words, ratio in ratios.items())
        verdict = together([judged_ratio(*ratio, Range(1.0, np.inf)) for ratio in ratios.values()])
        yield Row(f"f12-early-{n}", where, printed, f"c* = 3 over TPE after 10: {each}", verdict)


def _recovered(tpe: np.ndarray, own: Mapping[int, Mapping[str, np.ndarray]]) -> Row:
    """All numbers of sources and c* = 2 and 3 together: the geometric mean of the ratios."""
    rng, last = np.random.default_rng(0), N_EVALUATIONS - 1
    each = [found[f"{OURS}/{center}"][:, last] for found in own.values() for center in (2, 3)]

    def mean(drawn: Sequence[np.ndarray], base: np.ndarray) -> float:
        return float(np.mean([np.log(np.median(x)) for x in drawn]) - np.log(np.median(base)))

    def again(x: np.ndarray) -> np.ndarray:
        return x[rng.integers(0, len(x), len(x))]

    base = tpe[:, last]
    ratio = mean(each, base), float(np.std([mean([again(x) for x in each], again(base)) for _ in range(500)]))
    printed = "all numbers of sources, c* = 2 and 3: almost recovered after 200"
    note = f"geometric mean of ratios of medians, at most 1.25; {unseen(ratio[1])}; what each costs is above"
    return Row(
        "f12-end-all", "Figure 12", printed, f"over TPE: {in_words(*ratio)}", hardly(*ratio, RECOVERED), note
    )
