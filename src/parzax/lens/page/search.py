"""The search that a page is about: its course, its best rows, and which rows counted."""

from typing import Any

import numpy as np

from parzax._words import plural
from parzax.lens.logs import Observations
from parzax.lens.results.result import ImportanceResult
from parzax.lens.results.targets import Ranking, read_course
from parzax.lens.results.texts import label_text, number

_MOST_ROWS = 5  # largest number of rows in the table


def describe_search(obs: Observations | None, objective: Ranking) -> dict[str, Any] | None:
    """The data of the picture of a search, and the table of its best rows; None if there is no `Course`."""
    if obs is None or (course := read_course(obs, objective)) is None:
        return None
    rows, numbers = [], range(1, obs.n + 1) if obs.report.numbers is None else obs.report.numbers
    for i in course.order[:_MOST_ROWS].tolist():
        shown = [str(numbers[i]), number(float(course.values[i]))]
        for domains, value, regime in zip(obs.space.domains, obs.values[i], obs.regime[i], strict=True):
            shown.append("" if regime < 0 else label_text(domains[regime].interpret(value)))
        rows.append(shown)
    values, best = (
        [float(f"{x:.6g}") if np.isfinite(x) else None for x in line] for line in (course.values, course.best)
    )
    course_of = {"values": values, "best": best, "name": course.name, "log": course.wide}
    return course_of | {"rows": rows}


def answer_first_questions(
    result: ImportanceResult, read: list[str], obs: Observations | None, search: dict[str, Any] | None
) -> dict[str, str]:
    """What a reader asks first, with short answers: the best row, the rows that count, the direction.

    ``read`` says how the log was read.
    """
    answers = {"rows": "; ".join(line for line in read if "inferred: " not in line)}
    if search and search["rows"]:
        _, value, *texts = search["rows"][0]
        named = (f"{name} = {text}" for name, text in zip(result.names, texts, strict=True) if text)
        answers = {"best row": f"{search['name']} {value} with {', '.join(named)}"} | answers
    if obs is not None:
        best = result.goal if result.goal.startswith("by ") else f"the {result.goal}"
        one_of = f", one of {obs.n_objectives} objectives" * (obs.n_objectives > 1 and best != result.goal)
        answers["best is"] = f"{best}{one_of}; if that is wrong, read the log again with another direction"
        answers["constraints"] = "the log has none"
        if obs.constraints is not None:
            feasible = obs.feasible
            n_rows = plural(feasible.size, "row")
            fate = ", and are left out" * ("not feasible" in result.report.dropped)
            answers["constraints"] = f"{int((~feasible).sum())} of {n_rows} violate one{fate}"
    return answers | {
        "more": "pictures and tables below; parzax importance FILE --verbose; px.plotting in Python"
    }
