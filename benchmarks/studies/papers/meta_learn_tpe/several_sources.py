"""Figure 12: several sources on an ellipsoid of ten dimensions, beside TPE."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.studies.papers.meta_learn_tpe.ellipsoids import (
    EVERY_PARAMETER,
    MANY_CENTERS,
    N_EVALUATIONS,
    ONSET,
    OURS,
    RECOVERED,
    log_ratio,
)
from benchmarks.studies.papers.meta_learn_tpe.searches import EPSILON
from benchmarks.studies.papers.rows import Range, Row, Verdict, judged_ratio, ratio_in_words, together

# "Does not change largely": our range for words.
UNCHANGED = Range(0.8, 1.25)


def rows(
    tpe: np.ndarray,
    own: Mapping[int, Mapping[str, np.ndarray]],
    same: Mapping[int, Mapping[str, np.ndarray]],
    *,
    every: Mapping[int, Mapping[str, np.ndarray]],
    floor: Mapping[int, Mapping[str, np.ndarray]],
    epsilon: np.ndarray,
) -> Iterator[Row]:
    """From runs by number of sources, of rows of their own and of the same.

    The paper may mean either: its sources are one task, of which it draws 100 rows. For the reasons:
    ``epsilon`` are runs of TPE with random suggestions as ours has, ``every`` and ``floor`` those of own rows
    where tasks are compared by all parameters, and with another number of good rows.
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
            "geometric mean over the numbers of sources",
            _explain_end(center, tpe, own, every, floor, epsilon),
        )  # fmt: skip
    for center in MANY_CENTERS:
        rises = {
            f"{kind} after {budget}": _rise({1: own[1]} | dict(found), f"{center}", budget)
            for budget in (ONSET, N_EVALUATIONS)
            for kind, found in kinds.items()
        }
        each = "; ".join(f"{name} {ratio_in_words(*rise)}" for name, rise in rises.items())
        verdict = together([judged_ratio(*rise, UNCHANGED) for rise in rises.values()])
        yield Row(
            f"f12-number-{center}", "Figure 12, C.2.4",
            f"c* = {center}: does not change largely with the number of sources [{UNCHANGED}]",
            f"{max(own)} over 1 source: {each}",
            verdict, "by a line through the logs of the losses, against the log of the number",
            _explain_number(every, center) if verdict is Verdict.DIFFERS else "",
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
    center: int,
    tpe: np.ndarray,
    own: Mapping[int, Mapping[str, np.ndarray]],
    every: Mapping[int, Mapping[str, np.ndarray]],
    floor: Mapping[int, Mapping[str, np.ndarray]],
    epsilon: np.ndarray,
) -> str:
    """How far the runs recover, and what three changes leave of the distance."""

    def over_tpe(found: Mapping[int, Mapping[str, np.ndarray]]) -> str:
        ratios = {n: log_ratio(x[f"{center}"], tpe, N_EVALUATIONS) for n, x in found.items()}
        return ", ".join(f"of {n}: {ratio_in_words(*ratio)}" for n, ratio in ratios.items())

    early = _mean([x[f"{center}"] for x in own.values()], tpe, 10)
    return (
        f"own logs are at {ratio_in_words(*early)} after 10; at eta = 2.5 tasks are compared by few of ten "
        f"parameters: by all (eta = {EVERY_PARAMETER:g}), over TPE {over_tpe(every)}; with floor(gamma N) "
        f"good rows {over_tpe(floor)}; TPE with epsilon = {EPSILON:g} is at "
        f"{ratio_in_words(*log_ratio(epsilon, tpe, N_EVALUATIONS))}"
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
