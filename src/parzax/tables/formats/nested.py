"""Nested records: Hyperopt's trials, Keras Tuner's ``trial.json``, and any with its parameters together."""

from typing import Any

from parzax.tables.formats.format import Format, Records


def _read_hyperopt(document: Any) -> Records | None:
    """Trials in which a value is a list with one entry, or an empty list if the parameter is inactive."""
    trials = [document] if isinstance(document, dict) else document
    try:
        values = [trial["misc"]["vals"] for trial in trials]
        native = [{name: x[0] if x else None for name, x in vals.items()} for vals in values]
        return [{**trial, "misc": {"vals": row}} for trial, row in zip(trials, native, strict=True)]
    except (AttributeError, KeyError, TypeError):
        return None


HYPEROPT = Format(
    "Hyperopt",
    needs=("misc/vals/*", "result/*"),
    prefix="misc/vals/",
    state="result/status",
    records=_read_hyperopt,
)
KERAS_TUNER = Format(
    "Keras Tuner",
    needs=("hyperparameters/values/*",),
    prefix="hyperparameters/values/",
    # The tuner's own values, such as the number of epochs that it allows a trial.
    others="hyperparameters/values/tuner/.*",
    step="hyperparameters/values/tuner/epochs",
    state="status",
    file="trial.json",
)
NESTED = tuple(
    Format(f"nested records ({key})", needs=(f"{key}/*",), prefix=f"{key}/")
    for key in ("config", "params", "hyperparameters", "hparams", "parameters", "arguments")
)
