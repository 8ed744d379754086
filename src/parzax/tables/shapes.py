"""Refuse tables whose rows are not trials: the steps of a single run, or one row per metric."""

import re
from contextlib import suppress

import numpy as np

from parzax.tables.columns import Table
from parzax.tables.formats import Format

# Names of columns that count the steps of a run, not the trials of a search.
_STEP = re.compile(r"(.*[._/])?(_step|epoch|global_step|training_iteration)")
# With fewer rows, such a column of a log of trials may increase by chance.
_LEAST_ROWS = 10


def check_rows_are_trials(table: Table, form: Format) -> None:
    """Refuse a table without marked parameters in which a row is a step of a run, or a metric of a trial."""
    if any(form.parameter_of(name) is not None for name in table.names):
        return
    step = next((name for name in table.names if _STEP.fullmatch(name) and _increases(table, name)), None)
    if {"metric_name", "mean"} <= {*table.names}:
        what = "one row for each metric of a trial (column 'metric_name')"
        remedy = "give each trial one row, with a column for each parameter and each metric"
    elif step is not None:
        what = f"the course of a single run (column {step!r} increases from row to row)"
        remedy = "give each run one row, with its parameters and its last result"
    else:
        return
    otherwise = "if the rows are trials, name the parameters (parameters=, --parameters)"
    raise ValueError(f"the table has {what}; {remedy}. Or, {otherwise}.")


def _increases(table: Table, name: str) -> bool:
    """Whether a column's numbers increase from each row to the next."""
    with suppress(ValueError):  # raised for text that is no number, such as dates
        numbers = table.read(name).numbers
        return numbers is not None and len(numbers) >= _LEAST_ROWS and bool((np.diff(numbers) > 0).all())
    return False
