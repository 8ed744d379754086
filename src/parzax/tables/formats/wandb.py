"""Weights & Biases: the export of its user interface, and tables made with its Python API."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from parzax.tables.formats.format import Format

WANDB_PAGE = Format(
    "Weights & Biases",
    needs=("Name", "State", "Created|Runtime|User"),
    others=r"Name|State|Notes|User|Tags|Created|Updated|End Time|Runtime|Sweep|ID|Hostname|Host|Commit|GitHub"
    r"|Group|Job Type|Project|Entity|Path|Artifacts|GPU Count|GPU Type|_step|_timestamp|_runtime|_wandb.*",
    state="State",
)


@dataclass(frozen=True)
class _Api(Format):
    """A run's configuration and its summary side by side, each in an order of its own.

    A summary is sorted, so that its own keys, which begin with "_", are its first ones. Where other columns
    stand before them, these are the configuration, and those after them, but for the last few, the summary.
    """

    def is_other(self, column: str, columns: Sequence[str]) -> bool:
        if re.fullmatch(self.others, column):
            return True
        first = next(i for i, name in enumerate(columns) if name.startswith("_"))
        configuration = [name for name in columns[:first] if not re.fullmatch(self.others, name)]
        return bool(configuration) and column not in configuration


WANDB_API = _Api(
    "Weights & Biases' API",
    needs=("_runtime|_timestamp|_wandb", "_step|_timestamp|_wandb"),
    others=r"_.*|id|name|state|tags|notes|user|group|url|path|created_at|sweep|summary|config",
    state="state",
)
WANDB_RUNS = Format(
    "Weights & Biases' API",
    needs=("config/*", "summary/*"),
    prefix="config/",
    state="state",
)
