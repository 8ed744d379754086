"""Figure 2: one source on an ellipsoid of four dimensions, beside TPE."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.studies.papers.meta_learn_tpe.ellipsoids import (
    CENTERS,
    COMPARED_FROM,
    FAR,
    N_EVALUATIONS,
    NAIVE,
    ONSET,
    OURS,
    RECOVERED,
    SIMILAR,
    difference,
    log_ratio,
)
from benchmarks.studies.papers.meta_learn_tpe.searches import EPSILON, EVERY
from benchmarks.studies.papers.rows import Range, Row, Verdict, judged, judged_ratio, ratio_in_words, together

N_BOOTSTRAP = 400


def rows(
    tpe: np.ndarray, epsilon: np.ndarray, found: Mapping[int, Mapping[str, np.ndarray]]
) -> Iterator[Row]:
    """From runs of TPE, of TPE with random suggestions as ours has, and of ours by centre."""
    where, note = "Figure 2, Section 4.5", "ratios of geometric means"
    own = {center: found[center][f"{OURS}/best"] for center in CENTERS}
    ratios = {a: log_ratio(own[a], own[b], 10) for a, b in pairwise(CENTERS)}
    text = "; ".join(f"c* = {c} over {c + 1}: {ratio_in_words(*ratio)}" for c, ratio in ratios.items())
    verdict = together([judged_ratio(*ratio) for ratio in ratios.values()])
    yield Row("f2-order", where, "after 10 evaluations the order is that of similarity", text, verdict, note)
    for center in SIMILAR:
        yield from _similar(center, tpe, own[center])
    for center in FAR:
        yield _nearer(center, tpe, found[center])
    yield _poorly(tpe, own)
    yield from _weights(found)
    ends = {center: log_ratio(own[center], tpe, N_EVALUATIONS) for center in FAR}
    text = ", ".join(f"c* = {center} {ratio_in_words(*ratio)}" for center, ratio in ends.items())
    yield Row(
        "f2-end", where, f"dissimilar sources end where TPE does [{RECOVERED}]",
        f"over TPE after 200: {text}",
        together([judged_ratio(*ratio, RECOVERED) for ratio in ends.values()]),
        f"{note}; our reading of approach, and our range", _explain_end(tpe, epsilon),
    )  # fmt: skip


def _explain_end(tpe: np.ndarray, epsilon: np.ndarray) -> str:
    """What TPE reaches without the evaluations before tasks are compared, and with random suggestions."""
    logs = np.log(tpe).mean(axis=0)
    earlier = np.exp(logs[N_EVALUATIONS - COMPARED_FROM - 1] - logs[N_EVALUATIONS - 1])
    cost = ratio_in_words(*log_ratio(epsilon, tpe, N_EVALUATIONS))
    return (
        f"tasks count as alike before {COMPARED_FROM} evaluations, which dissimilar sources waste: so many "
        f"before its end TPE is at {earlier:.2f} of its end; TPE with epsilon = {EPSILON:g} is at {cost}"
    )


def _similar(center: int, tpe: np.ndarray, own: np.ndarray) -> Iterator[Row]:
    """Faster at the beginning, and slowly back to TPE."""
    where = "Figure 2, Section 4.5"
    each = [log_ratio(own, tpe, budget) for budget in (10, 20, 30)]
    text = "over TPE: " + ", ".join(ratio_in_words(*ratio) for ratio in each)
    printed = f"the source c* = {center} is ahead of TPE after 10, 20 and 30 evaluations"
    verdict = together([judged_ratio(*ratio) for ratio in each])
    note = "our reading of the early stage; ratios of geometric means"
    yield Row(f"f2-ahead-{center}", where, printed, text, verdict, note)
    first, last = ONSET - 1, N_EVALUATIONS - 1
    change = difference(*(np.log(x[:, last] / x[:, first]) for x in (own, tpe)))
    yield Row(
        f"f2-slowly-{center}", where, f"the source c* = {center} converges slowly to TPE",
        f"ratio to TPE after 200 over that after 30: {ratio_in_words(*change)}",
        judged_ratio(*change, Range(1.0)), "our reading: the ratio, below 1, rises",
    )  # fmt: skip


def _poorly(tpe: np.ndarray, own: Mapping[int, np.ndarray]) -> Row:
    ratios = {center: log_ratio(own[center], tpe, 10) for center in FAR}
    text = ", ".join(f"c* = {center} {ratio_in_words(*ratio)}" for center, ratio in ratios.items())
    return Row(
        "f2-poorly", "Figure 2, Section 4.5", "dissimilar sources perform poorly in the beginning",
        f"over TPE after 10: {text}", together([judged_ratio(*r, Range(1.0)) for r in ratios.values()]),
        "ratios of geometric means",
    )  # fmt: skip


def _nearer(center: int, tpe: np.ndarray, found: Mapping[str, np.ndarray]) -> Row:
    """Distances of the mean logs of the losses from those of TPE, over the evaluations from the onset on."""

    def logs_of(best: np.ndarray) -> np.ndarray:
        return np.log(best[:, ONSET - 1 :]).mean(axis=1)

    ours, naive, base = (logs_of(x) for x in (found[f"{OURS}/best"], found[f"{NAIVE}/best"], tpe))
    rng = np.random.default_rng(0)

    def again(x: np.ndarray) -> np.ndarray:
        return rng.choice(x, (N_BOOTSTRAP, len(x))).mean(axis=1)

    def lead(ours: Any, naive: Any, base: Any) -> Any:
        return np.abs(naive - base) - np.abs(ours - base)

    nearer = float(lead(ours.mean(), naive.mean(), base.mean()))
    error = float(lead(again(ours), again(naive), again(base)).std())
    each = ", ".join(
        f"{name} {np.exp(own.mean() - base.mean()):.2f}" for name, own in ((OURS, ours), (NAIVE, naive))
    )
    return Row(
        f"f2-nearer-{center}", "Figure 2, Section 4.5",
        f"from {ONSET} evaluations on c* = {center} is nearer to TPE than naive meta-learning",
        f"loss over TPE's, {ONSET} to {N_EVALUATIONS}: {each}; nearer by {nearer:.3f} ± {error:.2g} of a log",
        judged(nearer, error, Range(0)), "geometric means",
    )  # fmt: skip


def _weights(found: Mapping[int, Mapping[str, np.ndarray]]) -> Iterator[Row]:
    """Task weights s / 2, at 50, 100 and 200."""
    at = [budget // EVERY - 1 for budget in (50, 100, 200)]
    each = {c: found[c][f"{OURS}/similarity"][:, at] / 2 for c in CENTERS}
    means = (f"c* = {c}: " + ", ".join(f"{m:.3f}" for m in own.mean(axis=0)) for c, own in each.items())
    text = f"after 50, 100, 200: {'; '.join(means)}"

    def lead(a: np.ndarray, b: np.ndarray) -> Verdict:
        return judged(*difference(a, b), Range(0))

    ordered = [lead(each[a][:, i], each[b][:, i]) for a, b in pairwise(CENTERS) for i in range(3)]
    printed = "task weights are in the order of similarity"
    yield Row("f2-weights", "Figure 2, Section 4.5", printed, text, together(ordered))
    falling = [lead(each[c][:, i], each[c][:, i + 1]) for c in CENTERS for i in range(2)]
    printed = "they fall with evaluations, that of c* = 0 too"
    yield Row("f2-weights-fall", "Figure 2, Section 4.5", printed, text, together(falling))
