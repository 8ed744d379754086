"""Conditional spaces of other libraries by `px.minimize`: what their own functions ask for is what they get.

The spaces are those of the examples and benchmarks of OptunaHub's samplers hierarchical_tpe and
tpe_union_multivariate, and of the classifier in Hyperopt's documentation.
"""

import jax
import numpy as np
import pytest
from hyperopt import hp, space_eval

import parzax as px

KEY = jax.random.key(0)


class Trial:
    """Optuna's trial, from given values: a question that the values do not answer raises."""

    def __init__(self, params):
        self.params, self.asked = params, set()

    def suggest_categorical(self, name, choices):
        self.asked.add(name)
        assert self.params[name] in choices
        return self.params[name]

    def suggest_float(self, name, low, high):
        self.asked.add(name)
        assert low <= self.params[name] <= high
        return self.params[name]


def one_gate(trial):
    """A choice decides which of two parameters is compared with one that is always there."""
    gate, always = trial.suggest_categorical("x", ["A", "B"]), trial.suggest_float("t", -2, 2)
    bounds = {"A": ("y", 1, 2), "B": ("z", -2, 1)}[gate]
    return (trial.suggest_float(*bounds) - always) ** 2


def union(trial):
    gate, always = trial.suggest_categorical("x", [True, False]), trial.suggest_float("y", -1, 1)
    return (trial.suggest_float("a" if gate else "b", -1, 1) - always) ** 2


# The place of the optimum and its loss in each of four branches.
LEAVES = {"a": (-0.75, 0.025), "b": (-0.25, 0.05), "c": (0.25, 0.4), "d": (0.75, 0.01)}


def two_gates(trial):
    """Gates below a gate, and a parameter of each branch that depends on one that is always there."""
    always = trial.suggest_float("y", -1, 1)
    first, second = ("n", "ab") if trial.suggest_categorical("x", [True, False]) else ("m", "cd")
    leaf = second[0] if trial.suggest_categorical(first, [True, False]) else second[1]
    value, (place, loss) = trial.suggest_float(leaf, -1, 1), LEAVES[leaf]
    return (value - always) ** 2 + (value - place) ** 2 + loss


GATE, UNIT = px.Categorical([True, False]), (-1, 1)
OPTUNA = {
    one_gate: {
        "x": px.Categorical(["A", "B"]),
        "t": px.Float(-2, 2),
        "y": px.Float(1, 2, when=px.In("x", ["A"])),
        "z": px.Float(-2, 1, when=px.In("x", ["B"])),
    },
    union: {
        "x": GATE,
        "y": px.Float(*UNIT),
        "a": px.Float(*UNIT, when=px.In("x", [True])),
        "b": px.Float(*UNIT, when=px.In("x", [False])),
    },
    two_gates: {
        "x": GATE,
        "y": px.Float(*UNIT),
        "n": px.Categorical([True, False], when=px.In("x", [True])),
        "m": px.Categorical([True, False], when=px.In("x", [False])),
        "a": px.Float(*UNIT, when=px.In("n", [True])),
        "b": px.Float(*UNIT, when=px.In("n", [False])),
        "c": px.Float(*UNIT, when=px.In("m", [True])),
        "d": px.Float(*UNIT, when=px.In("m", [False])),
    },
}


def check_optuna(function, n):
    """Each evaluation answers what the function asks, and nothing else; return the best loss."""

    def loss(params):
        trial = Trial(params)
        value = function(trial)
        assert trial.asked == set(params)
        return value

    log = px.minimize(loss, OPTUNA[function], n, key=KEY)
    assert not log.report.errors
    return log.losses.min()


@pytest.mark.parametrize("function", OPTUNA)
def test_optunahub_start(function):
    check_optuna(function, 10)


@pytest.mark.slow
@pytest.mark.parametrize(("function", "n"), [(one_gate, 50), (union, 40), (two_gates, 150)])
def test_optunahub(function, n):
    """As many evaluations as there: the best one is near the optimum of its branch."""
    optima = [loss for _, loss in LEAVES.values()] if function is two_gates else [0]
    assert min(abs(check_optuna(function, n) - optimum) for optimum in optima) < 2e-3


HYPEROPT = hp.choice(
    "classifier",
    [
        {"type": "naive_bayes"},
        {
            "type": "svm",
            "C": hp.lognormal("C", 0, 1),
            "kernel": hp.choice(
                "kernel", [{"name": "linear"}, {"name": "RBF", "width": hp.lognormal("width", 0, 1)}]
            ),
        },
        {
            "type": "dtree",
            "criterion": hp.choice("criterion", ["gini", "entropy"]),
            "max_depth": hp.choice("max_depth", [None, hp.qlognormal("depth", 3, 1, 1)]),
            "min_samples_split": hp.qlognormal("min_samples_split", 2, 1, 1),
        },
    ],
)
svm, tree = px.In("classifier", ["svm"]), px.In("classifier", ["dtree"])
CLASSIFIER = {
    # What is normal in the logarithm there has bounds at three standard deviations here.
    "classifier": px.Categorical(["naive_bayes", "svm", "dtree"]),
    "C": px.Float(np.exp(-3), np.exp(3), log=True, when=svm),
    "kernel": px.Categorical(["linear", "RBF"], when=svm),
    "width": px.Float(np.exp(-3), np.exp(3), log=True, when=px.In("kernel", ["RBF"])),
    "criterion": px.Categorical(["gini", "entropy"], when=tree),
    "max_depth": px.Categorical([None, "depth"], when=tree),
    "depth": px.Int(1, 403, log=True, when=px.In("max_depth", ["depth"])),
    "min_samples_split": px.Int(1, 148, log=True, when=tree),
}


def as_hyperopt(params):
    """The nested configuration that Hyperopt itself makes of our values: choices are numbers there."""
    codes = {name: list(d.choices) for name, d in CLASSIFIER.items() if isinstance(d, px.Categorical)}
    labels = {name: codes[name].index(value) if name in codes else value for name, value in params.items()}
    return space_eval(HYPEROPT, labels)


def error_of(classifier):
    """An error rate: the best classifier is a support vector machine of width 0.1 and C = 5."""
    if classifier["type"] == "svm":
        kernel = classifier["kernel"]
        far = abs(np.log(kernel["width"] / 0.1)) if kernel["name"] == "RBF" else 3
        return 0.02 + 0.03 * far + 0.01 * abs(np.log(classifier["C"] / 5))
    if classifier["type"] == "naive_bayes":
        return 0.2
    depth = classifier["max_depth"] or 100
    return 0.08 + 0.02 * abs(np.log(depth / 8)) + 0.01 * (classifier["criterion"] == "gini")


@pytest.mark.parametrize("n", [10, pytest.param(80, marks=pytest.mark.slow)])
def test_hyperopt(n):
    """All parameters of a branch and no others, in the form of Hyperopt's space; each branch is tried."""
    seen = []

    def error(params):
        classifier = as_hyperopt(params)
        assert classifier["type"] == params["classifier"]
        inner = classifier.get("kernel", {})
        values = {key: v for key, v in (classifier | inner).items() if key not in ("type", "kernel", "name")}
        n_gates = {"naive_bayes": 1, "svm": 2, "dtree": 1 + (params.get("max_depth") is not None)}
        assert len(params) == len(values) + n_gates[params["classifier"]]
        seen.append(classifier["type"])
        return error_of(classifier)

    log = px.minimize(error, CLASSIFIER, n, key=KEY)
    assert not log.report.errors
    assert set(seen) == {"naive_bayes", "svm", "dtree"}
    assert n < 80 or log.losses.min() < 0.085  # near the optimum of trees, or beyond
