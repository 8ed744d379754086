"""parzax: batched Parzen estimators in JAX, for hyperparameter importance and acquisition scoring."""

from importlib import import_module as _import_module
from typing import Any as _Any

__version__ = "0.1.0"

# Public names, loaded when they are first used: packages, and the members of each package.
# `__init__.pyi` says the same to type checkers.
_PACKAGES = {
    "acquisition": "parzax.acquisition",
    "adapters": "parzax.adapters",
    "ages": "parzax.density.ages",
    "bandwidth": "parzax.kernels.bandwidth",
    "density": "parzax.density",
    "divergence": "parzax.divergence",
    "gamma": "parzax.split.gamma",
    "importance": "parzax.importance",
    "kernels": "parzax.kernels",
    "lens": "parzax.lens",
    "merits": "parzax.split.merits",
    "meta": "parzax.meta",
    "page": "parzax.lens.page",
    "papers": "parzax.papers",
    "pareto": "parzax.pareto",
    "plotting": "parzax.lens.plotting",
    "problems": "parzax.lens.problems",
    "results": "parzax.lens.results",
    "samplers": "parzax.samplers",
    "space": "parzax.space",
    "split": "parzax.split",
    "status": "parzax.status",
}
_MEMBERS = {
    "parzax.density": "ParzenEstimator",
    "parzax.divergence": "grid_density pearson_divergence",
    "parzax.importance": "Counts Encoded Grid Importance encode within_regime_variance",
    "parzax.lens.logs": "ImportReport Observations",
    "parzax.lens.page": "report",
    "parzax.lens.results": "Comparison ImportanceResult InteractionResult compare cond_ped_anova interactions",
    "parzax.lens.run": "map_chunks optimize_many",
    "parzax.lens.similarity": "task_similarity",
    "parzax.samplers": "Problem Proposal c_tpe meta_learn_tpe mo_tpe optimize optuna_tpe tpe",
    "parzax.space": "Between Categorical Float In Int Ordinal Recorded Space Varying",
    "parzax.split": "Split",
    "parzax.status": "Status",
}
_HOMES = {name: home for home, names in _MEMBERS.items() for name in names.split()}
# Pictures and other libraries need optional packages.
__all__ = sorted({*_PACKAGES, *_HOMES} - {"adapters", "plotting"})  # pyright: ignore


def __getattr__(name: str) -> _Any:
    if name in _PACKAGES:
        member = _import_module(_PACKAGES[name])
    elif name in _HOMES:
        member = getattr(_import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'parzax' has no attribute {name!r}")
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    return sorted({*globals(), *_PACKAGES, *_HOMES})
