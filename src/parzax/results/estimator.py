"""Estimators of importance, as data: a grid, a divergence, and how variances become shares."""

from dataclasses import asdict, dataclass, field
from typing import Any

from parzax import _checks
from parzax.divergence import AbstractDivergence, Explained, GridSmoothing, Pearson, Smoothed
from parzax.importance import Grid

# Divergences that a stored result can have.
_DIVERGENCES: dict[str, type[AbstractDivergence]] = {
    one.__name__: one for one in (Explained, Smoothed, Pearson)
}


@dataclass(frozen=True)
class GridEstimator:
    """What `cond_ped_anova` and its relatives compute with.

    The default explains membership in the target by functions of the parameter, at the resolutions that
    predict it best, and subtracts what chance would explain. It converges as rows grow. A constant parameter
    scores exactly 0, and a useless one about 0 (more with ten target rows or fewer). `smoothed` compares
    densities smoothed by one kernel instead; `optuna` gives Optuna 5's numbers.

    Attributes:
        grid: how values are put on the grid, and how large level sets are.
        divergence: how target and region are compared: `parzax.divergence.Explained`,
            `parzax.divergence.Smoothed`, `parzax.divergence.Pearson`, or one of your own.
        balance: make up for negative variances in importances, see `parzax.importance.normalise`.
        uniform_when_undefined: report 1/d for each parameter where all variances are 0, instead of 0.
    """

    grid: Grid = field(default_factory=Grid)
    divergence: AbstractDivergence = field(default_factory=Explained)
    balance: bool = True
    uniform_when_undefined: bool = False

    def __post_init__(self) -> None:
        _checks.instance("GridEstimator: grid", self.grid, Grid, "a parzax.Grid")
        wanted = "one of parzax.divergence, such as parzax.divergence.Explained()"
        _checks.instance("GridEstimator: divergence", self.divergence, AbstractDivergence, wanted)
        for name in ("balance", "uniform_when_undefined"):
            object.__setattr__(self, name, _checks.flag(f"GridEstimator: {name}", getattr(self, name)))

    @classmethod
    def smoothed(cls, *, debias: bool = True) -> "GridEstimator":
        """Densities of target and region on 50 cells, smoothed by one kernel with Scott's bandwidth."""
        return cls(Grid(max_cells=50), Smoothed(debias=debias), balance=False)

    @classmethod
    def optuna(cls) -> "GridEstimator":
        """Parity with Optuna 5.0's PedAnovaImportanceEvaluator (levels, cells, bandwidth, floor, 1/d)."""
        return cls(Grid.optuna(), Pearson(), balance=False, uniform_when_undefined=True)

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold; ValueError for a divergence that is not parzax's own."""
        name = type(self.divergence).__name__
        if _DIVERGENCES.get(name) is not type(self.divergence):
            raise ValueError(
                f"a file cannot hold the divergence {self.divergence!r}; it is not parzax's own."
            )
        stored = asdict(self)
        return stored | {"divergence": {"name": name} | stored["divergence"]}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "GridEstimator":
        """From what `to_dict` gave, or an older version of it."""
        if "divergence" not in stored:
            return _older(stored)
        fields = _tuples(stored["divergence"])
        if "smoothing" in fields:
            fields["smoothing"] = GridSmoothing(**fields["smoothing"])
        divergence = _DIVERGENCES[fields.pop("name")](**fields)
        return cls(**(stored | {"grid": Grid(**stored["grid"]), "divergence": divergence}))


def _older(stored: dict[str, Any]) -> GridEstimator:
    """From files in which all settings were fields of the estimator; some lack resolutions, pools or balance.

    Polynomials of some were of places, which no estimator has any more: those of ranks and of the same
    degrees stand for them.
    """
    grid = Grid(**({"max_pools": 0} | stored["grid"]), optuna_rounding=stored["raw_levels"])
    rows, debias, resolutions = stored["min_regime_rows"], stored["debias"], stored.get("resolutions")
    names = ("prior_weight", "min_bandwidth", "floor", "floor_quartiles")
    smoothing = GridSmoothing(**{name: stored[name] for name in names})
    if resolutions is not None:
        resolutions = _tuples(resolutions)
        if "degree" in resolutions:
            degrees = tuple(range(2, resolutions.pop("degree") + 1))
            resolutions |= {"degrees": degrees, "smoothness": 1.0}
        divergence: AbstractDivergence = Explained(**resolutions, debias=debias, min_rows=rows)
    else:
        divergence = (
            Smoothed(smoothing, debias, rows) if stored["shared_kernel"] else Pearson(smoothing, rows)
        )
    balance, undefined = bool(stored.get("balance", False)), stored["uniform_when_undefined"]
    return GridEstimator(grid, divergence, balance, undefined)


def _tuples(fields: dict[str, Any]) -> dict[str, Any]:
    """A copy with JSON's lists as tuples."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}


# Estimators by their names on the command line and on the page.
ESTIMATORS = {
    "default": GridEstimator(),
    "smoothed": GridEstimator.smoothed(),
    "optuna": GridEstimator.optuna(),
}
