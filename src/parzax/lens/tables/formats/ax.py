"""Ax's ``get_trials_data_frame()`` and ``summarize()``: parameters and metrics have no mark."""

from collections.abc import Sequence

from parzax.lens._words import word_set
from parzax.lens.tables.formats.format import Format

_OWN = word_set("trial_index arm_name trial_status reason fail_reason generation_method generation_node")


def _find_others(columns: Sequence[str]) -> Sequence[str]:
    """Ax's columns, and all columns before the last of them: older versions write metrics there."""
    last = max(i for i, column in enumerate(columns) if column in _OWN)
    return [column for i, column in enumerate(columns) if i <= last or column == "is_feasible"]


AX = Format(
    "Ax",
    needs=("trial_index", "arm_name|trial_status|generation_method|generation_node"),
    others=_find_others,
    state="trial_status",
)
