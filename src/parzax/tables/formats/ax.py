"""Ax's ``get_trials_data_frame()`` and ``summarize()``: parameters and metrics have no mark."""

from parzax.tables.formats.format import Format

AX = Format(
    "Ax",
    needs=("trial_index", "arm_name|trial_status|generation_method|generation_node"),
    others=r"trial_index|arm_name|trial_status|generation_method|generation_node|reason|fail_reason|is_feasible",
    state="trial_status",
)
