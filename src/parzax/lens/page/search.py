"""The search that a page is about: its course, its best rows, and which rows counted."""

from typing import Any

import numpy as np

from parzax._words import plural
from parzax.lens.logs import Observations
from parzax.lens.results.result import ImportanceResult, number, shorten
from parzax.lens.results.targets import Course

_MOST_ROWS, _LENGTH = 5, 14  # largest number of rows in the table, and of characters of a value


def value_text(value: Any) -> str:
    """A value of a parameter as a short text."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return number(float(value)) if is_number else shorten(str(value), _LENGTH)


def describe_search(obs: Observations, course: Course) -> dict[str, Any]:
    """The data of the picture of a course, and the table of the best rows, with texts of their values."""
    rows = []
    for i in course.order[:_MOST_ROWS].tolist():
        shown = [str(i + 1), number(float(course.values[i]))]
        for domains, value, regime in zip(obs.space.domains, obs.values[i], obs.regime[i], strict=True):
            shown.append("" if regime < 0 else value_text(domains[regime].interpret(value)))
        rows.append(shown)
    values, best = (
        [float(f"{x:.6g}") if np.isfinite(x) else None for x in line] for line in (course.values, course.best)
    )
    return {"values": values, "best": best, "name": course.name, "log": course.wide, "rows": rows}


def answer_first_questions(
    result: ImportanceResult, obs: Observations | None, search: dict[str, Any] | None
) -> dict[str, str]:
    """What a reader asks first, with short answers: the best row, the rows that count, the direction."""
    read = [line for line in result.report.lines(result.n_seeds) if "inferred: " not in line]
    answers = {"rows": "; ".join(read)}
    if search and search["rows"]:
        _, value, *texts = search["rows"][0]
        named = (f"{name} = {text}" for name, text in zip(result.names, texts, strict=True) if text)
        answers = {"best row": f"{search['name']} {value} with {', '.join(named)}"} | answers
    if obs is not None:
        answers["best is"] = f"the {result.goal}; if that is wrong, read the log again with another direction"
        broken = f"{int((~obs.feasible).sum())} of {plural(obs.feasible.size, 'row')} violate one"
        answers["constraints"] = "the log has none" if obs.constraints is None else broken
    return answers | {
        "more": "pictures and tables below; parzax importance FILE --verbose; px.plotting in Python"
    }
