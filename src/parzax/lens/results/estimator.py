"""Settings of an analysis of a log, as data: a grid, a divergence, and how variances become importances."""

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from parzax import _checks, _html
from parzax.divergence import AbstractDivergence, Explained, Pearson
from parzax.importance import Grid

# Divergences that a file can hold, by name.
_DIVERGENCES: dict[str, Any] = {kind.__name__: kind for kind in (Explained, Pearson)}


@dataclass(frozen=True)
class GridEstimator:
    """How `cond_ped_anova` and related functions estimate importance.

    The default predicts membership in the target from functions of the parameter, at the resolutions that
    predict it best, and subtracts the part that chance explains. It converges as the number of rows grows. A
    constant parameter scores exactly 0, and a useless one about 0 (more with ten target rows or fewer).
    `optuna` gives Optuna 5's numbers.

    Attributes:
        grid: how values are put on the grid, and how large level sets are.
        divergence: how target and region are compared: `parzax.divergence.Explained`,
            `parzax.divergence.Pearson`, or one of your own.
        balance: whether importances subtract negative variances from positive ones, see
            `parzax.importance.importance`.
        uniform_when_undefined: whether each parameter gets 1/d, instead of 0, if no variance is positive.
    """

    grid: Grid = field(default_factory=Grid)
    divergence: AbstractDivergence = field(default_factory=Explained)
    balance: bool = True
    uniform_when_undefined: bool = False

    def __post_init__(self) -> None:
        _checks.instance("GridEstimator: grid", self.grid, Grid, "a parzax.Grid")
        wanted = "one of parzax.divergence, such as parzax.divergence.Explained()"
        _checks.instance("GridEstimator: divergence", self.divergence, AbstractDivergence, wanted)
        _checks.convert_fields(self, _checks.flag, "balance", "uniform_when_undefined")

    def _repr_html_(self) -> str:
        return _html.settings(type(self).__name__, {x.name: getattr(self, x.name) for x in fields(self)})

    @classmethod
    def optuna(cls) -> "GridEstimator":
        """The parity estimator: levels, cells, bandwidth, floor and 1/d as in Optuna 5.0's evaluator."""
        return cls(Grid.optuna(), Pearson(), balance=False, uniform_when_undefined=True)

    @property
    def how(self) -> dict[str, Any]:
        """The settings as arguments of `parzax.importance.estimate`."""
        return {
            "divergence": self.divergence,
            "balance": self.balance,
            "uniform_when_undefined": self.uniform_when_undefined,
        }

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON values; ValueError for a divergence that is not parzax's own."""
        name = type(self.divergence).__name__
        if _DIVERGENCES.get(name) is not type(self.divergence):
            raise ValueError(f"a file cannot hold the divergence {self.divergence!r}, which is not parzax's.")
        stored = asdict(self)
        return stored | {"divergence": {"name": name} | stored["divergence"]}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "GridEstimator":
        """The estimator from the output of `to_dict`."""
        fields = dict(stored["divergence"])
        divergence = _DIVERGENCES[fields.pop("name")](**fields)
        return cls(**(stored | {"grid": Grid(**stored["grid"]), "divergence": divergence}))


# Estimators by their names on the command line and on the page.
ESTIMATORS = {
    "default": GridEstimator(),
    "optuna": GridEstimator.optuna(),
}
