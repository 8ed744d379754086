"""Optuna's ``trials_dataframe()``, and the CSV file that optuna-dashboard offers."""

from parzax.tables.formats.format import Format

OPTUNA = Format(
    "Optuna",
    needs=("params_*",),
    prefix="params_",
    state="state",
)
DASHBOARD = Format(
    "optuna-dashboard",
    needs=("Number", "State", "Param *"),
    prefix="Param ",
    state="State",
)
