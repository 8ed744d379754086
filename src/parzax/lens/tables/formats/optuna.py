"""Optuna's ``trials_dataframe()``, its trials as JSON, and the CSV file that optuna-dashboard offers."""

from parzax.lens.tables.formats.format import Format

OPTUNA = Format(
    "Optuna",
    needs=("params_*", "params_*|number|value|values_*|state|datetime_*|user_attrs_*"),
    prefix="params_",
    others=r"number|duration|trial_id|value|values_.*|datetime_.*|user_attrs_.*|system_attrs_.*",
    state="state",
    empty_is_inactive=True,
)
DASHBOARD = Format(
    "optuna-dashboard",
    needs=("Number", "State", "Param *"),
    prefix="Param ",
    results="Value.*",
    state="State",
    empty_is_inactive=True,
)
# Trials written to JSON, where a state is a number.
OPTUNA_TRIALS = Format(
    "Optuna's trials",
    needs=("params/*", "state", "number|distributions/*|intermediate_values/*"),
    prefix="params/",
    state="state",
    states=("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING"),
    empty_is_inactive=True,
)
