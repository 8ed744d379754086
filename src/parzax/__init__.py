"""parzax: batched Parzen estimators in JAX, for hyperparameter importance and acquisition scoring."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from parzax import acquisition as acquisition
    from parzax import adapters as adapters
    from parzax import divergence as divergence
    from parzax import importance as importance
    from parzax import kernels as kernels
    from parzax import meta as meta
    from parzax import observations as observations
    from parzax import page as page
    from parzax import papers as papers
    from parzax import pareto as pareto
    from parzax import parzen as parzen
    from parzax import plotting as plotting
    from parzax import problems as problems
    from parzax import results as results
    from parzax import samplers as samplers
    from parzax import space as space
    from parzax import split as split
    from parzax import status as status
    from parzax.chunks import map_chunks as map_chunks
    from parzax.divergence import grid_density as grid_density
    from parzax.divergence import pearson_divergence as pearson_divergence
    from parzax.importance import Counts as Counts
    from parzax.importance import Encoded as Encoded
    from parzax.importance import Grid as Grid
    from parzax.importance import GridEstimator as GridEstimator
    from parzax.importance import Importance as Importance
    from parzax.importance import level_counts as level_counts
    from parzax.importance import within_regime_variance as within_regime_variance
    from parzax.kernels import bandwidth as bandwidth
    from parzax.meta import task_similarity as task_similarity
    from parzax.observations import ImportReport as ImportReport
    from parzax.observations import Observations as Observations
    from parzax.observations import count_parquet as count_parquet
    from parzax.observations import count_rows as count_rows
    from parzax.observations import encode as encode
    from parzax.page import report as report
    from parzax.parzen import ParzenEstimator as ParzenEstimator
    from parzax.parzen import ages as ages
    from parzax.problems import Problem as Problem
    from parzax.results import Comparison as Comparison
    from parzax.results import ImportanceResult as ImportanceResult
    from parzax.results import InteractionResult as InteractionResult
    from parzax.results import Uncertainty as Uncertainty
    from parzax.results import compare as compare
    from parzax.results import cond_ped_anova as cond_ped_anova
    from parzax.results import importance_by_objective as importance_by_objective
    from parzax.results import importance_over_weights as importance_over_weights
    from parzax.results import interactions as interactions
    from parzax.results import naive as naive
    from parzax.results import ped_anova as ped_anova
    from parzax.samplers import c_tpe as c_tpe
    from parzax.samplers import meta_learn_tpe as meta_learn_tpe
    from parzax.samplers import mo_tpe as mo_tpe
    from parzax.samplers import optimize as optimize
    from parzax.samplers import optimize_many as optimize_many
    from parzax.samplers import optuna_tpe as optuna_tpe
    from parzax.samplers import paper_meta_learn_tpe as paper_meta_learn_tpe
    from parzax.samplers import paper_tpe as paper_tpe
    from parzax.samplers import tpe as tpe
    from parzax.space import Between as Between
    from parzax.space import Categorical as Categorical
    from parzax.space import Float as Float
    from parzax.space import In as In
    from parzax.space import Int as Int
    from parzax.space import Ordinal as Ordinal
    from parzax.space import Recorded as Recorded
    from parzax.space import Space as Space
    from parzax.space import Varying as Varying
    from parzax.split import gamma as gamma
    from parzax.split import merits as merits
    from parzax.split import ties as ties
    from parzax.status import Status as Status

__version__ = "0.1.0"

# Name -> the package that defines it, read from the imports above. The package is imported when the name is
# first used.
_SOURCE = __spec__.loader.get_data(__file__).decode()  # pyright: ignore
_IMPORTS = [line.split() for line in _SOURCE.splitlines() if line.startswith("    from parzax")]
_HOMES = {name: home for _, home, _, name, _, _ in _IMPORTS}
# All public names, except those that need optional packages.
__all__ = [name for name in _HOMES if name not in ("adapters", "plotting")]  # pyright: ignore


def __getattr__(name: str) -> _Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'parzax' has no attribute {name!r}")
    home = _import_module(_HOMES[name])
    member = vars(home)[name] if name in vars(home) else _import_module(f"{_HOMES[name]}.{name}")
    globals()[name] = member
    return member


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
