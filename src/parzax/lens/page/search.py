"""The search that a page is about: its course, its best rows, and which rows counted."""

from typing import Any, NamedTuple

import numpy as np

from parzax._words import plural
from parzax.lens.logs import Observations
from parzax.lens.results.result import ImportanceResult, number, shorten
from parzax.lens.results.targets import Ranking, is_maximised, objective_index, objective_names, usable_rows

_MOST_ROWS, _LENGTH = 5, 14  # largest number of rows in the table, and of characters of a value
_DECADES = 2  # positive values that span so many powers of ten are drawn on a log axis


class Course(NamedTuple):
    """One objective of a log of one run, in the order of its rows.

    Attributes:
        name: the objective.
        values: (n,) the objective as it was given, NaN in rows that do not count.
        best: (n,) the best value so far.
        order: the rows that count, the best first.
    """

    name: str
    values: np.ndarray
    best: np.ndarray
    order: np.ndarray


def read_course(obs: Observations, objective: Ranking) -> Course | None:
    """The course of a search; None for several runs, and where not one objective ranks the rows."""
    if obs.batch_shape or not isinstance(objective, int | str) or objective == "pareto":
        return None
    j, sign = objective_index(obs, objective), -1 if is_maximised(obs, objective) else 1
    losses = np.where(usable_rows(obs), obs.losses[:, j], np.nan)
    order = np.argsort(losses, kind="stable")[: int((~np.isnan(losses)).sum())]
    name = objective_names(obs)[j] if obs.report.objectives else "objective"
    return Course(name, sign * losses, sign * np.fmin.accumulate(losses), order)


def value_text(value: Any) -> str:
    """A value of a parameter as a short text."""
    return number(value) if type(value) in (int, float) else shorten(str(value), _LENGTH)


def describe_search(obs: Observations, course: Course) -> dict[str, Any]:
    """The data of the picture of a course, and the table of the best rows, with texts of their values."""
    finite = course.values[np.isfinite(course.values)]
    log = finite.size > 0 and finite.min() > 0 and finite.max() >= 10**_DECADES * finite.min()
    lines = {
        name: [float(f"{x:.6g}") if np.isfinite(x) else None for x in values]
        for name, values in (("values", course.values), ("best", course.best))
    }
    rows = []
    for i in course.order[:_MOST_ROWS].tolist():
        shown = [str(i + 1), number(course.values[i])]
        for domains, value, regime in zip(obs.space.domains, obs.values[i], obs.regime[i], strict=True):
            shown.append("" if regime < 0 else value_text(domains[regime].interpret(value)))
        rows.append(shown)
    return {**lines, "name": course.name, "log": bool(log), "rows": rows}


def answer_first_questions(
    result: ImportanceResult, obs: Observations | None, course: Course | None
) -> list[tuple[str, str]]:
    """What a reader asks first, with short answers: the best row, the rows that count, the direction."""
    report, answers = result.report, []
    if obs is not None and course is not None and len(course.order):
        _, value, *texts = describe_search(obs, course)["rows"][0]
        named = (f"{name} = {text}" for name, text in zip(obs.space.names, texts, strict=True) if text)
        answers.append(("best row", f"{course.name} {value} with {', '.join(named)}"))
    read = [line for line in report.lines(result.n_seeds) if "inferred: " not in line]
    answers.append(("rows", "; ".join(read)))
    other = {"minimize": "maximize", "maximize": "minimize"}
    if len(report.directions) == 1:
        (direction,) = report.directions
        wrong = f"if that is wrong, read the table with --direction {other[direction]}"
        answers.append(("best is", f"the {result.goal}; {wrong}"))
    if obs is not None:
        broken = int((~obs.feasible).sum())
        few = f"{plural(broken, 'row')} of {obs.feasible.size} violate one"
        answers.append(("constraints", few if obs.constraints is not None else "the log has none"))
    more = "pictures and tables below; parzax importance FILE --verbose; px.plotting in Python"
    return [*answers, ("more", more)]
