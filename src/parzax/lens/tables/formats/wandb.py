"""Weights & Biases: the export of its user interface, and tables made with its Python API."""

import re
from collections.abc import Sequence
from dataclasses import replace

from parzax.lens.tables.formats.format import Format

WANDB_PAGE = Format(
    "Weights & Biases",
    needs=("Name", "State", "Created|Runtime|User"),
    others=r"Name|State|Notes|User|Tags|Created|Updated|End Time|Runtime|Sweep|ID|Hostname|Host|Commit|GitHub"
    r"|Group|Job Type|Project|Entity|Path|Artifacts|GPU Count|GPU Type|epoch|_step|_timestamp|_runtime"
    r"|_wandb.*",
    state="State",
)
_ABOUT_RUN = re.compile(r"_.*|id|name|state|tags|notes|user|group|url|path|created_at|sweep")


def _beside_configuration(columns: Sequence[str]) -> list[str]:
    """The columns of a run's summary and of the run itself, without the columns of its configuration.

    A summary is sorted: keys that begin with a capital come first, then keys that begin with "_".
    Columns before them are the configuration. If no column comes before them, the table does not tell which
    columns are the configuration.
    """
    first = next(i for i, column in enumerate(columns) if column.startswith("_"))
    configuration = [column for column in columns[:first] if not _ABOUT_RUN.fullmatch(column)]
    if configuration:
        return [column for column in columns if column not in configuration]
    return [column for column in columns if _ABOUT_RUN.fullmatch(column)]


WANDB_API = Format(
    "Weights & Biases' API",
    needs=("_runtime|_wandb", "_step|_timestamp"),
    others=_beside_configuration,
    results_last=True,
    state="state",
)
WANDB_RUNS = Format(
    "Weights & Biases' API",
    needs=("config/*", "summary/*"),
    prefix="config/",
    results="summary/(?!_).*",
    state="state",
)
# The same as a data frame, by `pandas.json_normalize`.
WANDB_DF = replace(WANDB_RUNS, needs=("config.*", "summary.*"), prefix="config.", results=r"summary\.[^_].*")
