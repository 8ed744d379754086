"""parzax: batched Parzen estimators in JAX, for hyperparameter importance and acquisition scoring."""

from difflib import get_close_matches as _get_close_matches
from importlib import import_module as _import_module
from typing import Any as _Any

__version__ = "0.1.0"

# Public names, loaded when they are first used: modules and members by their home.
# `__init__.pyi` says the same to type checkers.
_MODULES = {
    "parzax": "acquisition adapters density divergence importance kernels lens meta papers pareto samplers "
    "space split status surrogate",
    "parzax.density": "ages prior",
    "parzax.kernels": "bandwidth",
    "parzax.lens": "page plotting results",
    "parzax.samplers": "stop",
    "parzax.space": "valid",
    "parzax.split": "gamma merits",
}
_MEMBERS = {
    "parzax.density": "ParzenEstimator",
    "parzax.importance": "Encoded Grid encode",
    "parzax.lens.logs": "Observations",
    "parzax.lens.page": "report",
    "parzax.lens.results": "ImportanceResult compare cond_ped_anova interactions",
    "parzax.lens.run": "minimize optimize_many",
    "parzax.samplers": "Problem c_tpe meta_learn_tpe mo_tpe optimize optuna_tpe tpe",
    "parzax.space": "Between Categorical Float In Int Ordinal Recorded Space Varying choose",
    "parzax.split": "Split",
    "parzax.status": "Status",
}
# What names of other libraries are here.
_ELSEWHERE = {
    "TPESampler": "px.tpe(space), or px.adapters.optuna.TPESampler() for a study of Optuna",
    "PedAnovaImportanceEvaluator": "px.adapters.optuna.CondPedAnovaImportanceEvaluator()",
    "get_param_importances": "px.cond_ped_anova(px.adapters.optuna.observations(study))",
    "fmin": "px.minimize(function, space, n)",
    "plot": "px.plotting, such as px.plotting.importance_bars(result)",
}
_PATHS = {name: f"{home}.{name}" for home, names in _MODULES.items() for name in names.split()}
_HOMES = {name: home for home, names in _MEMBERS.items() for name in names.split()}
# Packages beside the parts that presets are made of: of results, and those that need optional packages.
_BESIDE = "acquisition adapters page plotting results space split status surrogate"
__all__ = sorted({*_PATHS, *_HOMES}.difference(_BESIDE.split()))  # pyright: ignore


def __getattr__(name: str) -> _Any:
    if name in _PATHS:
        member = _import_module(_PATHS[name])
    elif name in _HOMES:
        member = getattr(_import_module(_HOMES[name]), name)
    else:
        close = "".join(f"; did you mean {other!r}?" for other in _get_close_matches(name, __all__, n=1))
        close = f"; write {_ELSEWHERE[name]}" if name in _ELSEWHERE else close
        raise AttributeError(f"module 'parzax' has no attribute {name!r}{close}")
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    return sorted({*globals(), *_PATHS, *_HOMES})
