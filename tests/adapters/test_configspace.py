"""ConfigSpace spaces and configurations; activity is compared with ConfigSpace's own."""

import copy
import math

import numpy as np
import pytest
from ConfigSpace import (
    AndConjunction,
    BetaFloatHyperparameter,
    BetaIntegerHyperparameter,
    CategoricalHyperparameter,
    ConfigurationSpace,
    Constant,
    EqualsCondition,
    ForbiddenAndConjunction,
    ForbiddenEqualsClause,
    ForbiddenEqualsRelation,
    ForbiddenGreaterThanRelation,
    ForbiddenInClause,
    ForbiddenLessThanRelation,
    GreaterThanCondition,
    InCondition,
    LessThanCondition,
    NormalFloatHyperparameter,
    NormalIntegerHyperparameter,
    NotEqualsCondition,
    OrConjunction,
    OrdinalHyperparameter,
    UniformFloatHyperparameter,
    UniformIntegerHyperparameter,
)
from ConfigSpace.forbidden import (
    ForbiddenGreaterThanClause,
    ForbiddenGreaterThanEqualsClause,
    ForbiddenGreaterThanEqualsRelation,
    ForbiddenLessThanClause,
    ForbiddenLessThanEqualsClause,
    ForbiddenLessThanEqualsRelation,
    ForbiddenOrConjunction,
)

import parzax as px
from parzax.adapters.configspace.translation import native_rows

adapter = px.adapters.configspace


def child(name="child"):
    return UniformFloatHyperparameter(name, 0.0, 1.0)


PARENTS = {
    "cat": CategoricalHyperparameter("cat", ["x", "y", "z"]),
    "mixed": CategoricalHyperparameter("mixed", ["1", 2, (3, 4)]),
    "int": UniformIntegerHyperparameter("int", 1, 10),
    "wide": UniformIntegerHyperparameter("wide", 1, 100_000, log=True),
    "float": UniformFloatHyperparameter("float", 1e-3, 1.0, log=True),
    "ordinal": OrdinalHyperparameter("ordinal", [16, 32, 64]),
    "falling": OrdinalHyperparameter("falling", [3, 2, 1]),
    "words": OrdinalHyperparameter("words", ["s", "m", "l"]),
    "constant": Constant("constant", 7),
}


def P(name):
    return PARENTS[name]


# Each takes the child and gives its condition.
CONDITIONS = {
    "equals": lambda c: EqualsCondition(c, P("cat"), "y"),
    "equals a tuple": lambda c: EqualsCondition(c, P("mixed"), (3, 4)),
    "equals a constant": lambda c: EqualsCondition(c, P("constant"), 7),
    "equals int": lambda c: EqualsCondition(c, P("int"), 4),
    "equals ordinal": lambda c: EqualsCondition(c, P("ordinal"), 32),
    "in": lambda c: InCondition(c, P("cat"), ["x", "z"]),
    "in int": lambda c: InCondition(c, P("int"), [1, 2, 9]),
    "not equals": lambda c: NotEqualsCondition(c, P("cat"), "x"),
    "not equals ordinal": lambda c: NotEqualsCondition(c, P("words"), "s"),
    "not equals int": lambda c: NotEqualsCondition(c, P("int"), 5),
    "less": lambda c: LessThanCondition(c, P("float"), 0.1),
    "less int": lambda c: LessThanCondition(c, P("int"), 4),
    "less ordinal": lambda c: LessThanCondition(c, P("ordinal"), 64),
    "less, falling": lambda c: LessThanCondition(c, P("falling"), 1),
    "less, words": lambda c: LessThanCondition(c, P("words"), "l"),
    "greater": lambda c: GreaterThanCondition(c, P("float"), 0.1),
    "greater int": lambda c: GreaterThanCondition(c, P("int"), 4),
    "greater ordinal": lambda c: GreaterThanCondition(c, P("ordinal"), 16),
    "and": lambda c: AndConjunction(
        GreaterThanCondition(c, P("int"), 3), LessThanCondition(c, P("float"), 0.2)
    ),
    "or, same parent": lambda c: OrConjunction(
        EqualsCondition(c, P("cat"), "x"), EqualsCondition(c, P("cat"), "z")
    ),
    "or of in": lambda c: OrConjunction(InCondition(c, P("int"), [1, 2]), EqualsCondition(c, P("int"), 9)),
    "or of equals, wide": lambda c: OrConjunction(
        EqualsCondition(c, P("wide"), 1), InCondition(c, P("wide"), [2, 3])
    ),
    "or with a gap, int": lambda c: OrConjunction(
        LessThanCondition(c, P("int"), 3), GreaterThanCondition(c, P("int"), 8)
    ),
    "or of and": lambda c: OrConjunction(
        AndConjunction(GreaterThanCondition(c, P("int"), 3), LessThanCondition(c, P("int"), 6)),
        EqualsCondition(c, P("int"), 9),
    ),
    "and of or": lambda c: AndConjunction(
        OrConjunction(EqualsCondition(c, P("cat"), "x"), EqualsCondition(c, P("cat"), "z")),
        LessThanCondition(c, P("float"), 0.2),
    ),
}


def space_of(*hyperparameters, condition=None, seed=0):
    cs = ConfigurationSpace(seed=seed)
    cs.add(list(hyperparameters))
    if condition is not None:
        cs.add(condition)
    return cs


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_parameter_is_active_exactly_where_configspace_says(name):
    # Catches > taken for >=, an order by value instead of by position, a lost alternative.
    own = child()
    cs = space_of(*PARENTS.values(), own, condition=CONDITIONS[name](own))
    configs = cs.sample_configuration(300)
    obs = adapter.observations(cs, configs, np.arange(300.0))
    active = [("child" in config) for config in configs]
    assert sum(active) > 0
    if name != "equals a constant":
        assert sum(active) < 300
    column = obs.space.index("child")
    assert (~np.isnan(obs.values[:, column])).tolist() == active
    # What the translated conditions give by themselves.
    np.testing.assert_array_equal(obs.space.derive_regimes(obs.values), obs.regime)


@pytest.mark.parametrize("edge", [0.25, 0.1])
def test_greater_is_strict_at_the_very_value(edge):
    # Between includes its low end; catches the threshold itself counted as above.
    own = child()
    cs = space_of(P("float"), own, condition=GreaterThanCondition(own, P("float"), edge))
    space = adapter.space(cs)
    above = np.nextafter(edge, 1)
    values = [[edge, math.nan], [above, 0.5]]
    assert space.derive_regimes(np.asarray(values))[:, space.index("child")].tolist() == [-1, 0]


def test_domains():
    # Catches a lost log, or the prior's shape taken for a bound.
    cs = space_of(
        UniformFloatHyperparameter("f", 1e-3, 1.0, log=True),
        UniformIntegerHyperparameter("i", 1, 512, log=True),
        NormalFloatHyperparameter("nf", mu=0, sigma=1, lower=-2, upper=2),
        NormalIntegerHyperparameter("ni", mu=5, sigma=2, lower=1, upper=9),
        BetaFloatHyperparameter("bf", alpha=2, beta=3, lower=0, upper=1),
        BetaIntegerHyperparameter("bi", alpha=2, beta=3, lower=1, upper=9),
        CategoricalHyperparameter("c", ["a", None, True, (1, 2)]),
        OrdinalHyperparameter("o", [16, 32, 64]),
        OrdinalHyperparameter("down", [0.3, 0.2, 0.1]),
        OrdinalHyperparameter("neither", [1, 3, 2]),
        OrdinalHyperparameter("words", ["s", "m", "l"]),
        Constant("k", "adam"),
    )
    expected = {
        "f": px.Float(1e-3, 1, log=True),
        "i": px.Int(1, 512, log=True),
        "nf": px.Float(-2, 2),
        "ni": px.Int(1, 9),
        "bf": px.Float(0, 1),
        "bi": px.Int(1, 9),
        "c": px.Categorical(["a", None, True, "(1, 2)"]),
        "o": px.Ordinal([16, 32, 64]),
        "down": px.Ordinal([0.1, 0.2, 0.3]),
        "neither": px.Categorical([1, 3, 2]),
        "words": px.Categorical(["s", "m", "l"]),
        "k": px.Categorical(["adam"]),
    }
    with pytest.warns(UserWarning, match="^the distribution of 'bf', 'bi', 'nf', 'ni' is left out"):
        space = adapter.space(cs)
    assert {name: space[name] for name in space.names} == {
        name: (domain,) for name, domain in expected.items()
    }


def test_values_are_those_of_the_configurations():
    # Catches positions taken for values (ordinals), and ConfigSpace's rounding to nine places.
    cs = space_of(*PARENTS.values(), UniformFloatHyperparameter("tiny", 1e-12, 1e-9, log=True))
    configs = cs.sample_configuration(50)
    obs = adapter.observations(cs, configs, np.arange(50.0), directions="maximize")
    for row, config in zip(obs.values, configs, strict=True):
        named = obs.space.as_dict(row)
        assert named.pop("mixed") in (str(config["mixed"]), config["mixed"], repr(config["mixed"]))
        assert 1e-12 <= named.pop("tiny") <= 1e-9
        for name, value in named.items():
            assert value == pytest.approx(config[name], rel=1e-9), name
    assert len(np.unique(obs.values[:, obs.space.index("tiny")])) == 50
    assert obs.losses[:3, 0].tolist() == [0, -1, -2]


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (
            lambda c: OrConjunction(EqualsCondition(c, P("cat"), "x"), EqualsCondition(c, P("int"), 3)),
            "different parents",
        ),
        (
            lambda c: OrConjunction(
                LessThanCondition(c, P("float"), 0.1), GreaterThanCondition(c, P("float"), 0.5)
            ),
            "no single range of a continuous parent",
        ),
        (lambda c: NotEqualsCondition(c, P("float"), 0.5), "continuous parent"),
        (lambda c: NotEqualsCondition(c, P("wide"), 5), "more than 1000 values"),
        (lambda c: LessThanCondition(c, P("ordinal"), 16), "never holds"),
    ],
    ids=["parents", "gap", "not float", "not wide int", "never"],
)
def test_what_cannot_be_expressed_is_refused_by_name(condition, why):
    # Catches a condition that is quietly widened or dropped.
    own = child()
    cs = space_of(*PARENTS.values(), own, condition=condition(own))
    with pytest.raises(ValueError, match=f"'child'.*{why}"):
        adapter.space(cs)


def equals(name, value):
    return ForbiddenEqualsClause(P(name), value)


# ConfigSpace refuses a clause that forbids the default values.
OTHER = UniformFloatHyperparameter("other", 1e-3, 1.0)
COUNT = UniformIntegerHyperparameter("count", 1, 10, default_value=1)
CLAUSES = [
    equals("cat", "z"),
    ForbiddenInClause(P("mixed"), [2, (3, 4)]),
    ForbiddenAndConjunction(equals("cat", "x"), ForbiddenInClause(P("int"), [1, 2, 3])),
    ForbiddenAndConjunction(equals("ordinal", 32), equals("words", "m"), equals("falling", 1)),
    ForbiddenOrConjunction(equals("cat", "y"), equals("int", 4)),
    ForbiddenGreaterThanClause(P("words"), "s"),
    ForbiddenGreaterThanClause(OTHER, 0.75),
    ForbiddenGreaterThanEqualsClause(OTHER, 0.75),
    ForbiddenAndConjunction(ForbiddenLessThanEqualsClause(COUNT, 4), ForbiddenGreaterThanClause(COUNT, 1)),
    ForbiddenAndConjunction(equals("cat", "y"), ForbiddenLessThanClause(COUNT, 4)),
    ForbiddenLessThanRelation(P("int"), P("falling")),
    ForbiddenLessThanEqualsRelation(P("falling"), COUNT),
    ForbiddenGreaterThanRelation(P("ordinal"), P("wide")),
    ForbiddenGreaterThanEqualsRelation(COUNT, P("falling")),
    ForbiddenEqualsRelation(P("wide"), P("ordinal")),
    ForbiddenEqualsRelation(P("int"), P("falling")),
    ForbiddenEqualsRelation(P("float"), OTHER),
]


@pytest.mark.parametrize("clause", CLAUSES, ids=str)
def test_forbidden_clauses_are_rules(clause):
    """ConfigSpace forbids exactly the configurations that the space does not allow."""
    free = space_of(*PARENTS.values())
    free.add(OTHER, COUNT)
    ruled = copy.deepcopy(free)
    ruled.add(clause)
    space = adapter.space(ruled)
    configs = free.sample_configuration(300)
    wanted = [not clause.is_forbidden_value(dict(config)) for config in configs]
    allowed = space.allows(native_rows(free, adapter.space(free), configs))
    np.testing.assert_array_equal(allowed, wanted)
    assert px.Space.from_json(space.to_json()) == space


def test_forbidden_clauses_without_a_rule_are_left_out_with_a_warning():
    many = [UniformIntegerHyperparameter(name, 1, 2000, default_value=v) for v, name in enumerate("ab", 1)]
    cs = space_of(*many)
    cs.add(ForbiddenEqualsRelation(*many))
    with pytest.warns(UserWarning, match="A forbidden clause is left out: .*'a' has more than 1000 values"):
        assert adapter.space(cs).valid == ()


def test_bad_input():
    cs = space_of(P("cat"))
    with pytest.raises(TypeError, match="cs must be"):
        adapter.space({"a": (0, 1)})
    with pytest.raises(ValueError, match="empty"):
        adapter.space(ConfigurationSpace())
    with pytest.raises(TypeError, match=r"configs\[0\] must be"):
        adapter.observations(cs, [{"cat": "x"}], [1.0])
    other = space_of(P("int")).sample_configuration()
    with pytest.raises(ValueError, match="another configuration space"):
        adapter.observations(cs, [other], [1.0])
    with pytest.raises(ValueError, match="objectives must have shape"):
        adapter.observations(cs, cs.sample_configuration(3), [1.0])
