"""Figure 8: curves of fewer rows beside those of a thousand."""

from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks.studies.papers.cond_ped_anova.curves import ESTIMATORS, N_ROWS, PROBLEMS, of_unit
from benchmarks.studies.papers.rows import Range, Row, judged
from benchmarks.studies.papers.runs import Arrays, Unit

# "Slightly", of how many times as large standard errors are: our range.
SLIGHTLY = Range(high=2.0)
FEWER = {100: Range(high=0.045), 500: Range(high=0.01)}
HALF = 500
SHOWN = tuple(PROBLEMS)[:3]


def units() -> list[Unit]:
    """Fresh logs of fewer rows; those of a thousand are there already."""
    function = "benchmarks.studies.papers.cond_ped_anova.curves:curves"
    return [
        Unit(f"sizes/{problem}-{n}", function, {"problem": problem, "source": "fresh", "n_rows": n}, cost=5)
        for problem in SHOWN
        for n in FEWER
    ]


def _larger(found: Mapping[str, Arrays], problem: str, n: int) -> dict[str, float]:
    """By estimator, the mean standard error over parameters and levels, over that of a thousand rows."""
    logs = (f"sizes/{problem}-{n}", f"curves/fresh/{problem}")
    fewer, whole = (of_unit(found[unit], problem) for unit in logs)
    means = {
        name: [np.mean([own[name].error(p).mean() for p in own[name].names]) for own in (fewer, whole)]
        for name in ESTIMATORS
    }
    return {name: float(few / all_rows) for name, (few, all_rows) in means.items()}


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """The mean distance of the mean curves, and how much larger standard errors are."""
    for n, wanted in FEWER.items():
        for problem in SHOWN:
            whole = of_unit(found[f"curves/fresh/{problem}"], problem)
            fewer = of_unit(found[f"sizes/{problem}-{n}"], problem)
            texts, numbers, larger = [], {}, _larger(found, problem, n)
            for name in ESTIMATORS:
                one, other = (own[name] for own in (fewer, whole))
                distance = np.mean([np.abs(one.mean(p) - other.mean(p)).mean() for p in one.names])
                numbers[name] = float(distance)
                texts.append(f"{name}: {distance:.3f}, standard errors {larger[name]:.1f} times")
            printed = f"{n} rows give the curves of {N_ROWS}: mean distance [{wanted}]"
            verdict, parity = (judged(numbers[name], 0, wanted) for name in ("default", "parity"))
            note = "" if parity is verdict else f"with the reference's estimator: {parity}"
            where = f"Figure 8, D.3, {problem}"
            yield Row(f"f8-{problem}-{n}", where, printed, "; ".join(texts), verdict, note)
            printed = f"standard errors are slightly larger with {n} rows: times [{SLIGHTLY}]"
            verdict, parity = (judged(larger[name], 0, SLIGHTLY) for name in ("default", "parity"))
            note = "" if parity is verdict else f"with the reference's estimator: {parity}"
            text = ", ".join(f"{name} {x:.1f}" for name, x in larger.items())
            at_half = _larger(found, problem, HALF)["default"]
            reason = (
                f"chance alone gives sqrt({N_ROWS} / {n}) = {np.sqrt(N_ROWS / n):.1f}; with {HALF} rows it "
                f"gives {np.sqrt(N_ROWS / HALF):.1f}, and we find {at_half:.1f}"
            )
            yield Row(f"f8-errors-{problem}-{n}", where, printed, text, verdict, note, reason)
