"""Ten real tables for `benchmarks.studies.densities`, of those that scikit-learn and statsmodels ship.

The bounds of a continuous column lie half of its range beyond its values, but not beyond what it can be.
Values are spread evenly over the step to which they were rounded, so that none has a positive probability.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

import parzax as px

# Bounds lie this share of the range of the values beyond them.
MARGIN = 0.5
# Four of five folds are then at most 256 rows, for which estimators have room without another program.
MOST_ROWS = 300


@dataclass(frozen=True)
class Column:
    """A continuous column.

    Attributes:
        label: its name in the table.
        step: to which values were rounded; 0 for none.
        low, high: what its values can be.
        log: whether it is taken on a log axis.
    """

    label: str
    step: float = 0.0
    low: float = 0.0
    high: float = np.inf
    log: bool = False

    def spread(self, rng: np.random.Generator, values: np.ndarray) -> np.ndarray:
        """Values anywhere in the step that they were rounded to."""
        spread = values + self.step * rng.uniform(-0.5, 0.5, len(values))
        # What is below 0, where nothing can be, is folded back.
        return np.where(spread < self.low, 2 * self.low - spread, spread)

    def domain(self, values: np.ndarray) -> px.Float:
        """The bounds, on the axis of the column."""
        x = np.log(values) if self.log else values
        ends = np.array([x.min(), x.max()]) + MARGIN * np.ptp(x) * np.array([-1, 1])
        low, high = np.exp(ends) if self.log else ends
        return px.Float(float(max(low, self.low)), float(min(high, self.high)), log=self.log)


@dataclass(frozen=True)
class Table:
    """Where a table is from, and which of its columns are taken: a continuous one, or a discrete domain."""

    package: str
    load: str
    columns: Mapping[str, Column | px.space.Domain]

    @property
    def is_continuous(self) -> bool:
        """Whether every column is."""
        return all(isinstance(column, Column) for column in self.columns.values())


TABLES = {
    "wine": Table(
        "sklearn",
        "wine",
        {
            "alcohol": Column("alcohol", 0.01),
            "flavanoids": Column("flavanoids", 0.01),
            "color": Column("color_intensity", 0.01),
            "proline": Column("proline", 1),
        },
    ),
    "breast cancer": Table(
        "sklearn",
        "breast_cancer",
        {
            "radius": Column("mean radius", 0.01),
            "texture": Column("mean texture", 0.01),
            "smoothness": Column("mean smoothness", 1e-4),
            "concavity": Column("mean concavity", 1e-4),
        },
    ),
    "engel": Table(
        "statsmodels",
        "engel",
        {"income": Column("income", log=True), "food": Column("foodexp", log=True)},
    ),
    "star98": Table(
        "statsmodels",
        "star98",
        {
            "low_income": Column("LOWINC", high=100),
            "hispanic": Column("PERHISP", high=100),
            "salary": Column("AVSALK"),
            "pupils": Column("PTRATIO"),
        },
    ),
    "macrodata": Table(
        "statsmodels",
        "macrodata",
        {
            "rate": Column("tbilrate", 0.01),
            "unemployed": Column("unemp", 0.1),
            "inflation": Column("infl", 0.01, low=-np.inf),
        },
    ),
    "iris": Table(
        "sklearn",
        "iris",
        {
            "sepal_length": Column("sepal length (cm)", 0.1),
            "sepal_width": Column("sepal width (cm)", 0.1),
            "petal_length": Column("petal length (cm)", 0.1),
            "petal_width": Column("petal width (cm)", 0.1),
            "target": px.Categorical([0, 1, 2]),
        },
    ),
    "diabetes": Table(
        "sklearn",
        "diabetes",
        {
            "age": px.Int(10, 100),
            "sex": px.Categorical([1, 2]),
            "bmi": Column("bmi", 0.1),
            "bp": Column("bp", 1),
            "target": px.Int(0, 400),
        },
    ),
    "fair": Table(
        "statsmodels",
        "fair",
        {
            "rate_marriage": px.Int(1, 5),
            "age": px.Ordinal([17.5, 22, 27, 32, 37, 42]),
            "children": px.Ordinal([0, 1, 2, 3, 4, 5.5]),
            "religious": px.Int(1, 4),
            "educ": px.Ordinal([9, 12, 14, 16, 17, 20]),
            "occupation": px.Categorical([1, 2, 3, 4, 5, 6]),
        },
    ),
    "anes96": Table(
        "statsmodels",
        "anes96",
        {
            "selfLR": px.Int(1, 7),
            "PID": px.Int(0, 6),
            "age": px.Int(18, 100),
            "educ": px.Int(1, 7),
            "income": px.Int(1, 24),
            "vote": px.Categorical([0, 1]),
        },
    ),
    "randhie": Table(
        "statsmodels",
        "randhie",
        {
            "mdvis": px.Int(0, 100),
            "coinsurance": px.Ordinal([0, 25, 50, 95, 100]),
            "disea": px.Int(0, 60),
            "health": px.Categorical(["excellent", "good", "fair", "poor"]),
            "idp": px.Categorical([0, 1]),
        },
    ),
}


@dataclass(frozen=True)
class Sample:
    """Rows of a table.

    Attributes:
        space: one parameter for each column.
        x: (n, d) native values, categories as codes.
    """

    space: px.Space
    x: Float[np.ndarray, "n d"]


def load(name: str) -> Sample:
    """Up to `MOST_ROWS` rows of a table, always the same ones."""
    table, rng = TABLES[name], np.random.default_rng(0)
    columns = SOURCES[table.package](table.load)
    n = len(next(iter(columns.values())))
    chosen = np.sort(rng.permutation(n)[:MOST_ROWS])
    domains, x = {}, []
    for key, column in table.columns.items():
        if isinstance(column, Column):
            values = column.spread(rng, columns[column.label][chosen])
            # Bounds are those of all rows that the study takes.
            domains[key] = column.domain(values)
        else:
            values, domains[key] = columns[key][chosen], column
            if isinstance(column, px.Categorical):
                values = np.searchsorted(np.arange(len(column.choices)), values - columns[key].min())
        x.append(np.asarray(values, float))
    return Sample(px.Space(domains), np.stack(x, axis=1))


def of_sklearn(name: str) -> dict[str, np.ndarray]:
    """The columns of a table of scikit-learn."""
    from sklearn import datasets

    options = {"scaled": False} if name == "diabetes" else {}
    frame = getattr(datasets, f"load_{name}")(as_frame=True, **options).frame
    return {str(label): frame[label].to_numpy() for label in frame}


def of_statsmodels(name: str) -> dict[str, np.ndarray]:
    """The columns of a table of statsmodels."""
    from statsmodels import datasets

    frame = getattr(datasets, name).load_pandas().data
    columns = {str(label): frame[label].to_numpy() for label in frame}
    if name == "randhie":
        columns["disea"] = np.round(columns["disea"])
        # log(1 + rate of coinsurance in percent)
        columns["coinsurance"] = np.round(np.expm1(columns["lncoins"]))
        columns["health"] = columns["hlthg"] + 2 * columns["hlthf"] + 3 * columns["hlthp"]
    return columns


SOURCES: Mapping[str, Callable[[str], dict[str, np.ndarray]]] = {
    "sklearn": of_sklearn,
    "statsmodels": of_statsmodels,
}
