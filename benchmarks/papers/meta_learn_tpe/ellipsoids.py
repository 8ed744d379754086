"""Figures 2 and 12: ellipsoids whose centre is that of the target, or further and further away."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px
from benchmarks.papers.meta_learn_tpe.searches import (
    EPSILON,
    EVERY,
    N_ROWS,
    best,
    runs,
    with_count,
    with_eta,
)
from benchmarks.papers.rows import Range, Row, Verdict, judged, judged_ratio, ratio_in_words, together
from benchmarks.papers.runs import Arrays
from parzax.samplers import Sampler

CENTERS, SIMILAR, FAR = (0, 1, 2, 3, 4), (0, 1), (2, 3, 4)
FEW, MANY = 4, 10
# Random evaluations before the model: of Section 5, and 5 % of the evaluations of Figure 12.
N_STARTUP = {FEW: 5, MANY: 10}
N_TASKS, MANY_CENTERS = (1, 2, 4, 8), (0, 1, 2, 3)
N_EVALUATIONS, ONSET = 200, 30
# An eta with which all of ten parameters are kept as soon as three rows are good.
EVERY_PARAMETER = 1.1
N_BOOTSTRAP = 400
# "Almost recovered", "does not change largely": our ranges for words.
RECOVERED, UNCHANGED = Range(high=1.25), Range(0.8, 1.25)
OURS, NAIVE = "ours", "naive"


def alone(dim: int, n_seeds: int, epsilon: float = 0.0) -> Arrays:
    """A unit: "best" (s, n) by TPE without sources; the paper's has no epsilon."""
    target = px.problems.ellipsoid(dim)
    sampler = px.mo_tpe(target.space, 1, n_startup=N_STARTUP[dim], epsilon=epsilon)
    return {"best": best(runs([sampler] * n_seeds, target, N_EVALUATIONS)[0])}


def one_source(center: int, n_seeds: int) -> Arrays:
    """A unit: "METHOD/best" (s, n) and "METHOD/similarity" (s, n / 10) with one source, D = 4."""
    samplers = [sampler(FEW, center, 1, seed) for seed in range(n_seeds)]
    found = {}
    for name, own in ((OURS, samplers), (NAIVE, [with_eta(own, np.inf) for own in samplers])):
        losses, alike = runs(own, px.problems.ellipsoid(FEW), N_EVALUATIONS, alike=True)
        found |= {f"{name}/best": best(losses), f"{name}/similarity": alike[..., 0]}
    return found


def several(
    n_tasks: int, same: bool, n_seeds: int, centers: Sequence[int] = MANY_CENTERS, **options: Any
) -> Arrays:
    """A unit: "CENTER" (s, n) best loss with so many sources, D = 10; ``same``: of the same rows."""
    found = {}
    for center in centers:
        samplers = [sampler(MANY, center, n_tasks, seed, same=same, **options) for seed in range(n_seeds)]
        losses, _ = runs(samplers, px.problems.ellipsoid(MANY), N_EVALUATIONS)
        found[f"{center}"] = best(losses)
    return found


def sampler(dim: int, center: int, n_tasks: int, seed: int, *, same: bool = False, **options: Any) -> Sampler:
    """With so many logs of the same function; each of its own rows, or all of the ``same``."""
    own, space = logs(dim, center, n_tasks, seed, same=same), px.problems.ellipsoid(dim).space
    options = {"epsilon": EPSILON, "n_startup": N_STARTUP[dim]} | options
    return with_count(px.paper_meta_learn_tpe(space, own, **options), "below")


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
    """Log of the ratio of geometric means after so many evaluations, and its standard error."""
    return _difference(np.log(one[:, budget - 1]), np.log(other[:, budget - 1]))


def _difference(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    return float(a.mean() - b.mean()), float(np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b)))


def figure_2(tpe: np.ndarray, found: Mapping[int, Mapping[str, np.ndarray]]) -> Iterator[Row]:
    """Rows of Figure 2, from runs by centre."""
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
        f"{note}; our reading of approach, and our range",
    )  # fmt: skip


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
    change = _difference(*(np.log(x[:, last] / x[:, first]) for x in (own, tpe)))
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
        return judged(*_difference(a, b), Range(0))

    ordered = [lead(each[a][:, i], each[b][:, i]) for a, b in pairwise(CENTERS) for i in range(3)]
    printed = "task weights are in the order of similarity"
    yield Row("f2-weights", "Figure 2, Section 4.5", printed, text, together(ordered))
    falling = [lead(each[c][:, i], each[c][:, i + 1]) for c in CENTERS for i in range(2)]
    printed = "they fall with evaluations, that of c* = 0 too"
    yield Row("f2-weights-fall", "Figure 2, Section 4.5", printed, text, together(falling))


def figure_12(
    tpe: np.ndarray,
    own: Mapping[int, Mapping[str, np.ndarray]],
    same: Mapping[int, Mapping[str, np.ndarray]],
    every: Mapping[int, Mapping[str, np.ndarray]],
    epsilon: np.ndarray,
) -> Iterator[Row]:
    """Rows of Figure 12, from runs by number of sources, of rows of their own and of the same.

    The paper may mean either: its sources are one task, of which it draws 100 rows. For the reasons:
    ``epsilon`` are runs of TPE with random suggestions as ours has, ``every`` those of own rows where tasks
    are compared by all parameters.
    """
    kinds = {"own logs": own} | ({"one log": same} if same else {})
    for center in (2, 3):
        ratios = {
            kind: _mean([x[f"{center}"] for x in found.values()], tpe, N_EVALUATIONS)
            for kind, found in kinds.items()
        }
        each = "; ".join(
            f"{kind} {ratio_in_words(*ratios[kind])}, of " + ", ".join(
                f"{n}: {np.exp(log_ratio(x[f'{center}'], tpe, N_EVALUATIONS)[0]):.2f}"
                for n, x in found.items()
            )
            for kind, found in kinds.items()
        )  # fmt: skip
        yield Row(
            f"f12-end-{center}", "Figure 12, C.2.4",
            f"c* = {center}: almost recovered after 200 [{RECOVERED}]",
            f"over TPE: {each}", together([judged_ratio(*ratio, RECOVERED) for ratio in ratios.values()]),
            "geometric mean over the numbers of sources", _explain_end(every, center, epsilon, tpe),
        )  # fmt: skip
    for center in MANY_CENTERS:
        rises = {
            f"{kind} after {budget}": _rise({1: own[1]} | dict(found), f"{center}", budget)
            for budget in (ONSET, N_EVALUATIONS)
            for kind, found in kinds.items()
        }
        each = "; ".join(f"{name} {ratio_in_words(*rise)}" for name, rise in rises.items())
        yield Row(
            f"f12-number-{center}", "Figure 12, C.2.4",
            f"c* = {center}: does not change largely with the number of sources [{UNCHANGED}]",
            f"{max(own)} over 1 source: {each}",
            together([judged_ratio(*rise, UNCHANGED) for rise in rises.values()]),
            "by a line through the logs of the losses, against the log of the number",
            _explain_number(every, center),
        )  # fmt: skip
    early = {kind: _mean([x["3"] for x in found.values()], tpe, 10) for kind, found in kinds.items()}
    each = "; ".join(
        f"{kind} {ratio_in_words(*early[kind])}, of "
        + ", ".join(f"{n}: {np.exp(log_ratio(x['3'], tpe, 10)[0]):.2f}" for n, x in found.items())
        for kind, found in kinds.items()
    )
    yield Row(
        "f12-early", "Figure 12, C.2.4", "dissimilar sources: behind TPE at the beginning",
        f"c* = 3 over TPE after 10: {each}",
        together([judged_ratio(*ratio, Range(1.0)) for ratio in early.values()]),
        "geometric mean over the numbers of sources",
    )  # fmt: skip


def _explain_end(
    every: Mapping[int, Mapping[str, np.ndarray]], center: int, epsilon: np.ndarray, tpe: np.ndarray
) -> str:
    """What is left where tasks are compared by all parameters, and what random suggestions cost."""
    cost = ratio_in_words(*log_ratio(epsilon, tpe, N_EVALUATIONS))
    left = (
        f"of {n}: {ratio_in_words(*log_ratio(own[f'{center}'], tpe, N_EVALUATIONS))}"
        for n, own in every.items()
    )
    return (
        "at eta = 2.5 tasks are compared by few of ten parameters; by all (eta "
        f"= {EVERY_PARAMETER:g}), over TPE: {', '.join(left)}; TPE with epsilon = {EPSILON:g} is at {cost}"
    )


def _explain_number(every: Mapping[int, Mapping[str, np.ndarray]], center: int) -> str:
    """The same by the number of sources, if it ran."""
    if len(every) < 2 or any(f"{center}" not in own for own in every.values()):
        return ""
    few, many = (every[n][f"{center}"] for n in (min(every), max(every)))
    words = [f"{ratio_in_words(*log_ratio(many, few, b))} after {b}" for b in (ONSET, N_EVALUATIONS)]
    return (
        "at eta = 2.5 tasks are compared by few of ten parameters; "
        f"by all (eta = {EVERY_PARAMETER:g}), own logs: {', '.join(words)}"
    )


def _mean(found: Sequence[np.ndarray], tpe: np.ndarray, budget: int) -> tuple[float, float]:
    """Mean of the log ratios to the same runs of TPE, and its standard error."""
    last = budget - 1
    logs, base = [np.log(x[:, last]) for x in found], np.log(tpe[:, last])
    variance = sum(x.var(ddof=1) / len(x) for x in logs) / len(logs) ** 2 + base.var(ddof=1) / len(base)
    return float(np.mean([x.mean() for x in logs]) - base.mean()), float(np.sqrt(variance))


def _rise(found: Mapping[int, Mapping[str, np.ndarray]], center: str, budget: int) -> tuple[float, float]:
    """Log of the ratio of the most sources to one, along a least-squares line, and its standard error."""
    logs = [np.log(x[center][:, budget - 1]) for x in found.values()]
    at = np.log2(list(found))
    weight = (at - at.mean()) / np.square(at - at.mean()).sum() * (at.max() - at.min())
    means, variances = np.array([(x.mean(), x.var(ddof=1) / len(x)) for x in logs]).T
    return float(weight @ means), float(np.sqrt(np.square(weight) @ variances))


def beside_few(
    few: np.ndarray,
    one: Mapping[int, Mapping[str, np.ndarray]],
    many: np.ndarray,
    several: Mapping[str, np.ndarray],
) -> Iterator[Row]:
    """The same source in four and in ten dimensions, each over TPE."""
    ratios, texts = [], []
    for center in (1, 2):
        small = log_ratio(one[center][f"{OURS}/best"], few, ONSET)
        large = log_ratio(several[f"{center}"], many, ONSET)
        ratios.append((large[0] - small[0], float(np.hypot(large[1], small[1]))))
        texts.append(f"c* = {center} {ratio_in_words(*large)} in ten, {ratio_in_words(*small)} in four")
    logs, errors = np.array(ratios).T
    mean = float(logs.mean()), float(np.sqrt(np.square(errors).sum()) / len(errors))
    yield Row(
        "f12-poorly", "Figure 12, C.2.4", "c* = 1 and 2: works poorly beside four dimensions",
        f"over TPE after {ONSET}: {'; '.join(texts)}; ten over four {ratio_in_words(*mean)}",
        judged_ratio(*mean, Range(1.0)), "one source; read as: the ratio to TPE is larger, geometric mean",
    )  # fmt: skip
