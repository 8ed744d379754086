"""Optuna 5: studies, sqlite and journal files as observations; an importance evaluator and a sampler."""

from typing import TYPE_CHECKING, Any

from parzax.adapters.optuna.sampler import TPESampler
from parzax.adapters.optuna.storage import is_optuna_file
from parzax.adapters.optuna.studies import observations, sources

if TYPE_CHECKING:
    from parzax.adapters.optuna.evaluator import CondPedAnovaImportanceEvaluator

__all__ = [
    "CondPedAnovaImportanceEvaluator", "TPESampler", "is_optuna_file", "observations", "sources",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Imported on first use: Optuna's evaluators load scikit-learn (about a second), which samplers do not
    # need.
    if name == "CondPedAnovaImportanceEvaluator":
        from parzax.adapters.optuna.evaluator import CondPedAnovaImportanceEvaluator

        return CondPedAnovaImportanceEvaluator
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
