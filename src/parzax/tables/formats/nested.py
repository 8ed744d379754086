"""Nested records: Hyperopt's trials, Keras Tuner's ``trial.json``, and any other with its parameters together."""

from dataclasses import dataclass
from typing import Any

from parzax.tables.formats.format import Format


@dataclass(frozen=True)
class _Hyperopt(Format):
    """A value is a list of one, or of none where the parameter is inactive."""

    def records(self, document: Any) -> list[dict[str, Any]] | None:
        trials = [document] if isinstance(document, dict) else document
        try:
            values = [trial["misc"]["vals"] for trial in trials]
            return [
                {**trial, "misc": {"vals": {name: x[0] if x else None for name, x in vals.items()}}}
                for trial, vals in zip(trials, values, strict=True)
            ]
        except (AttributeError, KeyError, TypeError):
            return None


HYPEROPT = _Hyperopt(
    "Hyperopt", needs=("misc/vals/*", "result/*"), prefix="misc/vals/", state="result/status"
)
KERAS_TUNER = Format(
    "Keras Tuner",
    needs=("hyperparameters/values/*",),
    prefix="hyperparameters/values/",
    state="status",
    file="trial.json",
)
NESTED = tuple(
    Format(f"nested records ({key})", needs=(f"{key}/*",), prefix=f"{key}/")
    for key in ("config", "params", "hyperparameters", "hparams", "parameters", "arguments")
)
