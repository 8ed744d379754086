"""Twelve tables of trainings on data of scikit-learn: ``python -m benchmarks.studies.trainings.tables``.

A table has every configuration of a grid, trained on three splits of its data. Six tables are for choosing
settings; six are kept for the end. Each table is a file in docs/studies/.trainings, written once.
"""

import pickle
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import parzax as px
from parzax.samplers.candidates import enumerate_space

FOLDER = Path(__file__).parents[3] / "docs" / "studies" / ".trainings"
N_SPLITS, MOST_ROWS = 3, 2000
# Of noise that is added to standardised columns of data that are too easy otherwise.
NOISE = 1.5
CHOICE, KEPT = "choice", "kept"

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Training:
    """What is trained.

    Attributes:
        half: `CHOICE` or `KEPT`.
        data: the inputs and targets.
        domains: the grid.
        model: the estimator of a configuration by name (of its active parameters) and a seed.
        n_rows: rows trained on, and rows that the loss is computed from.
        loss: of a fitted estimator on inputs and targets.
        two: whether it is one of the tables for two objectives, the loss and the size.
    """

    half: str
    data: Callable[[], tuple[np.ndarray, np.ndarray]]
    domains: Mapping[str, Any]
    model: Callable[[dict[str, Any], int], Any]
    n_rows: tuple[int, int]
    loss: Callable[[Any, np.ndarray, np.ndarray], float]
    two: bool = False

    @property
    def space(self) -> px.Space:
        """The search space."""
        return px.Space(self.domains)


class Table(NamedTuple):
    """Results of all configurations.

    Attributes:
        x: (n, d) native values, NaN where inactive.
        losses: (n, s) one for each split.
        size: (n,) bytes of the pickled estimator, a mean over splits.
        cost: (n,) seconds of processor time for predictions, the smallest of all measurements.
    """

    x: np.ndarray
    losses: np.ndarray
    size: np.ndarray
    cost: np.ndarray


def error(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    """Share of wrong predictions."""
    return float((model.predict(x) != y).mean())


def squared(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    """Mean squared error over the variance of the targets, at most 2."""
    return float(min(np.nan_to_num(((model.predict(x) - y) ** 2).mean() / y.var(), nan=2.0), 2.0))


def log_loss(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    """Mean negative log probability of the class, at most 3."""
    share = model.predict_proba(x)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(min(-np.log(np.maximum(share, 1e-6)).mean(), 3.0))


def _bundled(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets of a data set that comes with scikit-learn."""
    import sklearn.datasets

    given: Any = getattr(sklearn.datasets, f"load_{name}")()
    return np.asarray(given.data, float), np.asarray(given.target)


def _digits(target: str) -> tuple[np.ndarray, np.ndarray]:
    x, y = _bundled("digits")
    return x / 16, {"digit": y, "odd": y % 2, "value": y.astype(float)}[target]


def _noisy(name: str, noise: float = NOISE, target: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A data set with noise on its standardised columns; ``target`` is a column to predict instead."""
    x, y = _bundled(name)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    if target is not None:
        x, y = np.delete(x, target, axis=1), x[:, target]
    return x + noise * np.random.default_rng(len(x)).normal(size=x.shape), y


def _diabetes() -> tuple[np.ndarray, np.ndarray]:
    x, y = _bundled("diabetes")
    return x / x.std(axis=0), (y - y.mean()) / y.std()


_SHAPES = ("rbf", "poly", "sigmoid")
_KERNELS = {
    "kernel": px.Categorical(["linear", *_SHAPES]),
    "C": px.Ordinal([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100], log=True),
    "gamma": px.Ordinal(
        [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3], log=True, when=px.In("kernel", list(_SHAPES))
    ),
    "degree": px.Ordinal([2, 3, 4, 5], when=px.In("kernel", ["poly"])),
    "coef0": px.Ordinal([0, 0.5, 1], when=px.In("kernel", ["poly", "sigmoid"])),
}
_TREES = {
    "n_estimators": px.Ordinal([2, 3, 4, 6, 8, 12, 16, 24], log=True),
    "max_depth": px.Ordinal([2, 3, 4, 6, 8, 12]),
    "min_samples_leaf": px.Ordinal([1, 2, 4, 8], log=True),
    "max_features": px.Ordinal([0.1, 0.2, 0.4, 0.7, 1.0]),
}
_BOOSTING = {
    "n_estimators": px.Ordinal([5, 10, 15, 25, 40, 60], log=True),
    "max_depth": px.Ordinal([1, 2, 3, 4]),
    "learning_rate": px.Ordinal([0.01, 0.03, 0.06, 0.1, 0.2, 0.4, 0.8], log=True),
    "subsample": px.Ordinal([0.4, 0.7, 1.0]),
    "max_features": px.Ordinal([0.3, 1.0]),
}
_SGD = {
    "penalty": px.Categorical(["l2", "l1", "elasticnet"]),
    "l1_ratio": px.Ordinal([0.1, 0.3, 0.5, 0.8], when=px.In("penalty", ["elasticnet"])),
    "alpha": px.Ordinal([1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1], log=True),
    "learning_rate": px.Categorical(["optimal", "invscaling", "constant"]),
    "eta0": px.Ordinal(
        [1e-3, 1e-2, 1e-1, 1], log=True, when=px.In("learning_rate", ["invscaling", "constant"])
    ),
}
_NETWORK = {
    "layers": px.Ordinal([1, 2, 3]),
    "units": px.Ordinal([4, 8, 16, 32, 64], log=True),
    "learning_rate": px.Ordinal([1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1], log=True),
    "activation": px.Categorical(["relu", "tanh", "logistic"]),
    "batch": px.Ordinal([16, 64], log=True),
    "alpha": px.Ordinal([1e-4, 1e-1], log=True),
}


def _support_vectors(name: str, params: dict[str, Any], _seed: int) -> Any:
    from sklearn import svm

    return getattr(svm, name)(**params, max_iter=20_000, tol=1e-2)


def _ensemble(name: str, params: dict[str, Any], seed: int) -> Any:
    from sklearn import ensemble

    return getattr(ensemble, name)(**params, random_state=seed)


def _sgd(params: dict[str, Any], seed: int) -> Any:
    from sklearn.linear_model import SGDClassifier

    without: Any = None  # a tolerance, so that all eight rounds are made
    return SGDClassifier(**params, max_iter=8, tol=without, random_state=seed)


def _network(name: str, params: dict[str, Any], seed: int) -> Any:
    from sklearn import neural_network

    return getattr(neural_network, name)(
        hidden_layer_sizes=(params["units"],) * params["layers"], activation=params["activation"],
        alpha=params["alpha"], batch_size=params["batch"], learning_rate_init=params["learning_rate"],
        max_iter=8, random_state=seed,
    )  # fmt: skip


def _scaled(params: dict[str, Any], models: Mapping[str, Callable[..., Any]]) -> Any:
    """A pipeline: ``scale``, perhaps some components, and the ``model`` with its own parameters."""
    from sklearn import decomposition, pipeline, preprocessing

    scalers = {"standard": preprocessing.StandardScaler, "range": preprocessing.MinMaxScaler}
    steps = [scalers[params["scale"]]()] if params["scale"] != "none" else []
    steps += [decomposition.PCA(params["components"])] if "components" in params else []
    model = params["model"]
    settings = {name.split(".")[1]: value for name, value in params.items() if name.startswith(f"{model}.")}
    return pipeline.make_pipeline(*steps, models[model](**settings))


def _vectors_or_neighbours(params: dict[str, Any], seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    models = {
        "svm": partial(SVC, max_iter=20_000), "knn": KNeighborsClassifier,
        "tree": partial(DecisionTreeClassifier, random_state=seed),
    }  # fmt: skip
    return _scaled(params, models)


def _linear_or_forest(params: dict[str, Any], seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier

    models = {
        "linear": partial(LogisticRegression, max_iter=60), "knn": KNeighborsClassifier,
        "forest": partial(ExtraTreesClassifier, random_state=seed),
    }  # fmt: skip
    return _scaled(params, models)


def _of(model: str, domain: Any, *values: Any, **options: Any) -> Any:
    return domain(list(values), **options, when=px.In("model", [model]))


_SCALES = px.Categorical(["none", "standard", "range"])
TRAININGS: Mapping[str, Training] = {
    "svm": Training(
        CHOICE, partial(_digits, "digit"), _KERNELS, partial(_support_vectors, "SVC"), (200, 200), error
    ),
    "pipeline": Training(
        CHOICE,
        partial(_noisy, "breast_cancer"),
        {
            "scale": _SCALES,
            "model": px.Categorical(["svm", "knn", "tree"]),
            "svm.C": _of("svm", px.Ordinal, 0.01, 0.1, 0.3, 1, 3, 10, 100, log=True),
            "svm.gamma": _of("svm", px.Ordinal, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 1, log=True),
            "knn.n_neighbors": _of("knn", px.Ordinal, 1, 2, 3, 5, 8, 12, 20, 30, log=True),
            "knn.weights": _of("knn", px.Categorical, "uniform", "distance"),
            "knn.p": _of("knn", px.Ordinal, 1, 2, 4),
            "tree.max_depth": _of("tree", px.Ordinal, 1, 2, 3, 4, 6, 9, 14),
            "tree.min_samples_leaf": _of("tree", px.Ordinal, 1, 2, 4, 8, 16, 32, log=True),
            "tree.criterion": _of("tree", px.Categorical, "gini", "entropy"),
            "tree.max_features": _of("tree", px.Ordinal, 0.2, 0.6, 1.0),
        },
        _vectors_or_neighbours,
        (150, 200),
        error,
        two=True,
    ),
    "sgd": Training(
        CHOICE,
        partial(_digits, "odd"),
        {"loss": px.Categorical(["hinge", "log_loss", "modified_huber"]), **_SGD},
        _sgd,
        (250, 250),
        error,
    ),
    "boosting": Training(
        CHOICE, _diabetes, _BOOSTING, partial(_ensemble, "GradientBoostingRegressor"), (220, 222), squared
    ),
    "forest": Training(
        CHOICE, partial(_digits, "digit"), _TREES, partial(_ensemble, "RandomForestClassifier"), (200, 250),
        error, two=True,
    ),
    "network": Training(
        CHOICE, partial(_digits, "digit"), _NETWORK, partial(_network, "MLPClassifier"), (240, 240), error,
        two=True,
    ),
    "svm regression": Training(
        KEPT, _diabetes, _KERNELS, partial(_support_vectors, "SVR"), (200, 222), squared
    ),
    "pipeline wine": Training(
        KEPT,
        partial(_noisy, "wine"),
        {
            "scale": _SCALES,
            "components": px.Ordinal([3, 5, 8, 12]),
            "model": px.Categorical(["linear", "knn", "forest"]),
            "linear.C": _of("linear", px.Ordinal, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 10, 100, log=True),
            "knn.n_neighbors": _of("knn", px.Ordinal, 1, 2, 3, 5, 8, 12, 20, 30, log=True),
            "knn.weights": _of("knn", px.Categorical, "uniform", "distance"),
            "forest.n_estimators": _of("forest", px.Ordinal, 2, 4, 8, 16, 24, log=True),
            "forest.max_depth": _of("forest", px.Ordinal, 2, 3, 5, 8, 12),
            "forest.min_samples_leaf": _of("forest", px.Ordinal, 1, 4, log=True),
        },
        _linear_or_forest,
        (80, 98),
        log_loss,
        two=True,
    ),
    "sgd cancer": Training(
        KEPT,
        partial(_noisy, "breast_cancer"),
        {"loss": px.Categorical(["hinge", "log_loss", "perceptron"]), **_SGD},
        _sgd,
        (200, 300),
        error,
    ),
    "boosting iris": Training(
        KEPT, partial(_noisy, "iris", 0.5), _BOOSTING, partial(_ensemble, "GradientBoostingClassifier"),
        (75, 75), log_loss,
    ),
    "trees of diabetes": Training(
        KEPT, _diabetes, _TREES, partial(_ensemble, "ExtraTreesRegressor"), (220, 222), squared, two=True
    ),
    "network of wine": Training(
        KEPT, partial(_noisy, "wine", 0.5, target=0), _NETWORK, partial(_network, "MLPRegressor"), (90, 88),
        squared, two=True,
    ),
}  # fmt: skip


def build(training: Training) -> Table:
    """Train every configuration on every split."""
    space, splits = training.space, [_split(training, seed) for seed in range(N_SPLITS)]
    x = enumerate_space(space, MOST_ROWS)
    if x is None:
        raise ValueError(f"the grid has more than {MOST_ROWS} configurations.")
    rows = np.array([_trained(training, params, splits) for params in map(space.as_dict, x)])
    return Table(x, rows[:, :N_SPLITS], rows[:, N_SPLITS], rows[:, N_SPLITS + 1])


def _split(training: Training, seed: int) -> Split:
    """Different rows to train on and to compute the loss from."""
    x, y = training.data()
    order, (n, m) = np.random.default_rng(seed).permutation(len(x)), training.n_rows
    fit, test = order[:n], order[n : n + m]
    return x[fit], y[fit], x[test], y[test]


def _trained(training: Training, params: dict[str, Any], splits: list[Split]) -> list[float]:
    """Losses of the splits, then the size and the cost."""
    given = {name: value for name, value in params.items() if value is not None}
    losses, sizes, costs = [], [], []
    for seed, (x, y, x_test, y_test) in enumerate(splits):
        model = training.model(given, seed).fit(x, y)
        losses.append(training.loss(model, x_test, y_test))
        sizes.append(len(pickle.dumps(model)))
        for _ in range(2):
            start = time.thread_time()
            model.predict(x_test)
            costs.append(time.thread_time() - start)
    return [*losses, float(np.mean(sizes)), min(costs)]


def load(name: str) -> Table:
    """A table from its file, which is written first if there is none."""
    file = FOLDER / f"{name.replace(' ', '_')}.npz"
    if not file.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = build(TRAININGS[name])
        part = file.with_suffix(".part.npz")
        np.savez_compressed(part, **table._asdict())
        part.rename(file)
    with np.load(file, allow_pickle=False) as arrays:
        return Table(**arrays)


def main() -> None:
    """Write all tables; those that are there are kept."""
    start = time.perf_counter()
    for name in TRAININGS:
        table = load(name)
        print(f"{name}: {len(table.x)} configurations, {time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
