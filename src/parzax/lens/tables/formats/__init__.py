"""Formats of tables, one file per tool; the first format that recognises a table's columns reads it.

For another tool, write a `Format` and pass it as ``Observations.from_dataframe(..., format=)``.
"""

import re
from collections.abc import Iterable

from parzax.lens._words import split_words
from parzax.lens.tables.formats.ax import AX
from parzax.lens.tables.formats.format import Format
from parzax.lens.tables.formats.mlflow import MLFLOW, MLFLOW_PAGE
from parzax.lens.tables.formats.nested import BAYESIAN_OPTIMIZATION, HYPEROPT, KERAS_TUNER, NESTED
from parzax.lens.tables.formats.nevergrad import NEVERGRAD
from parzax.lens.tables.formats.optuna import DASHBOARD, OPTUNA, OPTUNA_TRIALS
from parzax.lens.tables.formats.ray import RAY, RAY_PROGRESS
from parzax.lens.tables.formats.sklearn import SKLEARN
from parzax.lens.tables.formats.smac import SMAC
from parzax.lens.tables.formats.syne_tune import SYNE_TUNE
from parzax.lens.tables.formats.wandb import WANDB_API, WANDB_DF, WANDB_PAGE, WANDB_RUNS

FORMATS = (
    OPTUNA, DASHBOARD, MLFLOW, SMAC, RAY, RAY_PROGRESS, WANDB_RUNS, SYNE_TUNE, SKLEARN, HYPEROPT, KERAS_TUNER,
    OPTUNA_TRIALS, BAYESIAN_OPTIMIZATION, *NESTED, WANDB_DF, AX, WANDB_PAGE, WANDB_API, MLFLOW_PAGE,
    NEVERGRAD,
)  # fmt: skip
PLAIN = Format("a plain table", needs=(), state="state")


# Names of columns with the size of a model, such as params_total and num_parameters.
_SIZE, _PARAMETERS = (
    "(?:n|num|number|no|nr|of|total|count|trainable|model|m|millions?|size)",
    "param(?:eter)?s?",
)
_SIZES = re.compile(rf"(?:{_SIZE} )+{_PARAMETERS}(?: {_SIZE})*|{_PARAMETERS}(?! model$)(?: {_SIZE})+")


def recognise(columns: Iterable[str]) -> Format:
    """The format of a table with these columns; `PLAIN` if no tool is recognised.

    A column such as params_total is the size of a model, and no sign of a tool.
    """
    signs = [column for column in columns if not counts_parameters(column)]
    return next((form for form in FORMATS if form.recognises(signs)), PLAIN)


def counts_parameters(name: str) -> bool:
    """Whether the name of a column says that it is the size of a model, such as params_total."""
    return _SIZES.fullmatch(" ".join(split_words(name))) is not None


def bare_name(column: str) -> str:
    """The parameter's name without the prefix of a format."""
    names = (form.parameter_of(column) for form in FORMATS)
    return next((name for name in names if name is not None), column)
