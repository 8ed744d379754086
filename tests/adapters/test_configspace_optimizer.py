"""Ask and tell with ConfigSpace's configurations."""

import math

import jax
import numpy as np
import pytest
from benchmarks.settings import adjusted
from ConfigSpace import (
    Categorical,
    Configuration,
    ConfigurationSpace,
    Constant,
    EqualsCondition,
    Float,
    ForbiddenAndConjunction,
    ForbiddenEqualsClause,
    Integer,
    Normal,
    OrdinalHyperparameter,
)

import parzax as px

Optimizer = px.adapters.configspace.Optimizer


def conditional_space():
    cs = ConfigurationSpace()
    kind, x = Categorical("kind", ["a", "b", "c"], default="b"), Float("x", (1e-3, 1), log=True)
    cs.add(kind, x)
    cs.add(EqualsCondition(x, kind, "b"))
    return cs


def loss(config):
    """Least, 0, at kind = "b", x = 0.1."""
    return abs(math.log10(config["x"]) + 1) if config["kind"] == "b" else 1.5


def like_optuna(cs, **options):
    return adjusted(px.optuna_tpe, n_startup=0, **options)(px.adapters.configspace.space(cs))


def run(cs, seed, n=40):
    optimizer, found = Optimizer(cs, like_optuna(cs), key=jax.random.key(seed)), []
    for _ in range(n):
        (config,) = optimizer.ask()
        optimizer.tell(config, loss(config))
        found.append(config)
    return found


@pytest.mark.slow
def test_better_than_random_and_legal():
    cs = conditional_space()
    found = run(cs, 0)
    for config in found:
        config.check_valid_configuration()
        assert ("x" in config) == (config["kind"] == "b")
    cs.seed(0)
    random = [min(map(loss, cs.sample_configuration(40))) for _ in range(20)]
    assert min(map(loss, found)) < np.median(random)
    assert run(cs, 0, 12) == found[:12]
    assert run(cs, 1, 12) != found[:12]


@pytest.mark.slow
def test_pending_configurations_count_and_what_was_not_asked_for_too():
    cs = conditional_space()
    optimizer = Optimizer(cs, like_optuna(cs))
    cs.seed(3)
    for config in cs.sample_configuration(30):
        optimizer.tell(config, loss(config))
    optimizer.tell(cs.sample_configuration(), math.nan)
    batch = optimizer.ask(4)
    assert len(set(batch)) == 4
    for config in batch:
        optimizer.tell(config, loss(config))
    assert not optimizer._pending


def test_forbidden_clauses_are_heeded():
    """Also where nearly everything is forbidden, and without a warning."""
    cs = conditional_space()
    clauses = [ForbiddenEqualsClause(cs["kind"], k) for k in ("a", "c")]
    cs.add(*clauses, ForbiddenAndConjunction(clauses[0], ForbiddenEqualsClause(cs["x"], 1e-3)))
    optimizer = Optimizer(cs, like_optuna(cs))
    assert {config["kind"] for config in optimizer.ask(3)} == {"b"}


@pytest.mark.slow
def test_every_kind_of_parameter_several_objectives_and_constraints():
    cs = ConfigurationSpace()
    cs.add(
        Constant("one", 1.5), OrdinalHyperparameter("size", ["small", "big"]),
        OrdinalHyperparameter("down", [64, 16, 4]), Integer("k", (1, 10**6), log=True), Float("x", (0, 1)),
    )  # fmt: skip
    sampler = px.mo_tpe(px.adapters.configspace.space(cs), 2, 1)
    optimizer = Optimizer(cs, sampler)
    late = []
    for i in range(40):
        (config,) = optimizer.ask()
        config.check_valid_configuration()
        assert isinstance(config["k"], (int, np.integer))
        late += [config["x"]] if i >= 20 else []
        optimizer.tell(config, [config["x"], -config["x"] * config["down"]], 0.2 - config["x"])
    assert np.mean(np.array(late) >= 0.2) > 0.8


def test_refusals():
    cs = conditional_space()
    with pytest.raises(TypeError, match="cs must be"):
        Optimizer(px.adapters.configspace.space(cs))
    with pytest.raises(TypeError, match="sampler must be"):
        Optimizer(cs, "tpe")
    with pytest.raises(ValueError, match="sampler must have the space"):
        Optimizer(cs, px.tpe(px.Space({"x": px.Float(0, 1)})))
    with pytest.raises(TypeError, match="key must be a typed key"):
        Optimizer(cs, key=1)
    optimizer = Optimizer(cs)
    with pytest.raises(ValueError, match="n must be"):
        optimizer.ask(0)
    other = ConfigurationSpace({"x": (0.0, 1.0)})
    with pytest.raises(ValueError, match="another configuration space"):
        optimizer.tell(Configuration(other, {"x": 0.5}), 1.0)
    config = cs.sample_configuration()
    with pytest.raises(TypeError, match="Configuration"):
        optimizer.tell(dict(config), 1.0)
    with pytest.raises(ValueError, match="objectives must hold 1"):
        optimizer.tell(config, [1.0, 2.0])
    with pytest.raises(ValueError, match="constraints must hold 0"):
        optimizer.tell(config, 1.0, 1.0)


def test_the_best_configurations():
    """The first of smallest loss among the feasible ones; of several objectives the front without repeats."""
    cs = ConfigurationSpace({"x": (0.0, 1.0)})
    space = px.adapters.configspace.space(cs)
    optimizer = Optimizer(cs, px.c_tpe(space, n_constraints=1))
    assert optimizer.best() == []
    told = [(0.1, 3.0, 0), (0.2, 1.0, 0.5), (0.3, 2.0, -1), (0.4, 2.0, 0), (0.5, math.nan, 0)]
    for x, value, excess in told:
        optimizer.tell(Configuration(cs, {"x": x}), value, excess)
    assert [config["x"] for config in optimizer.best()] == [0.3]
    optimizer = Optimizer(cs, px.mo_tpe(space, 2))
    told = [(0.1, (1, 5)), (0.2, (2, 2)), (0.2, (2, 2)), (0.3, (2, 3)), (0.4, (5, 1)), (0.5, (2, 2))]
    for x, values in told:
        optimizer.tell(Configuration(cs, {"x": x}), values)
    assert [config["x"] for config in optimizer.best()] == [0.1, 0.2, 0.4, 0.5]


def test_distributions_of_parameters_are_not_silently_dropped():
    cs = ConfigurationSpace()
    cs.add(
        Float("normal", (-1, 1), distribution=Normal(0, 0.1)), Float("plain", (0, 1)),
        Categorical("weighted", ["a", "b"], weights=[0.9, 0.1]), Categorical("even", ["a", "b"]),
    )  # fmt: skip
    with pytest.warns(UserWarning, match=r"^the distribution of 'normal', 'weighted' is left out"):
        Optimizer(cs)
