"""A table of several tasks as one log per task."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from parzax.observations.columns import open_table, read_column
from parzax.observations.dataframe import inference_message, read_dataframe
from parzax.observations.observations import Observations
from parzax.observations.roles import named_columns


def read_tasks(
    df: Any, task: str, target: str | Sequence[str], *, warn: bool = True, **options: Any
) -> dict[str, Observations]:
    """Read a table of several tasks; see `Observations.by_task`."""
    if not isinstance(task, str):
        raise TypeError(f"task must be a column name, got {task!r}.")
    table = open_table(df)
    named_columns("task", task, table.columns)
    names, number = read_column(table, task).distinct()
    if (number < 0).any():
        raise ValueError(f"column {task!r}, row {int(np.argmin(number))} names no task.")
    if len({str(name) for name in names}) < len(names):
        raise ValueError(f"column {task!r}: tasks differ in type alone: {names!r}.")
    table = table.drop(task)
    # Everything is read once, for the space and for complaints that number rows as the table does.
    whole = read_dataframe(table, target, warn=False, **options)
    options = {**options, "space": whole.space}
    out = {}
    for i, name in enumerate(names):
        try:
            own = read_dataframe(table.filter((number == i).tolist()), target, warn=False, **options)
        except ValueError as error:
            raise ValueError(f"task {name!r}: {error}") from error
        out[str(name)] = replace(own, report=replace(own.report, inferred=whole.report.inferred))
    if warn and whole.report.inferred:
        warnings.warn(inference_message(whole.report.inferred), UserWarning, stacklevel=3)
    return out
