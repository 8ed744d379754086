"""Spaces: regimes from conditions, against a row-by-row loop; names; order; JSON."""

import json
import math

import numpy as np
import pytest
from reference import grid, logs, problems

import parzax as px

pytestmark = pytest.mark.data

nan = math.nan


@pytest.mark.parametrize("problem", problems.SPACES)
def test_regimes_against_the_loop(problem):
    """All rows of the papers' spaces, (..., d): catches closed upper bounds, inactive parents that pass."""
    space, values, _ = problems.draw(problem, 1, 300)
    mine = px.Space.from_json(space).derive_regimes(values.reshape(3, 100, -1)).reshape(values[0].shape)
    loop = np.array([grid.regimes_of_row(space["parameters"], row) for row in values[0]])
    np.testing.assert_array_equal(mine, loop)
    np.testing.assert_array_equal(mine < 0, np.isnan(values[0]))


@pytest.mark.parametrize("name", logs.names())
def test_regimes_of_real_logs(name):
    """NaN exactly where a parameter is inactive, over every log at hand."""
    log = logs.load(name)
    rows = log.values[:, :200]
    regimes = px.Space.from_json(log.space).derive_regimes(rows)
    np.testing.assert_array_equal(regimes < 0, np.isnan(rows))
    loop = np.array([grid.regimes_of_row(log.space["parameters"], row) for row in rows[0, :50]])
    np.testing.assert_array_equal(regimes[0, :50], loop)


def test_between_is_half_open():
    """low <= value < high: the cut belongs to the right."""
    space = px.Space(
        {
            "c": px.Float(0, 1),
            "x": (
                px.Float(-7, -2, when=px.Between("c", high=0.5)),
                px.Float(2, 7, when=px.Between("c", low=0.5)),
            ),
        }
    )
    c = np.array([0.0, np.nextafter(0.5, 0), 0.5, 1.0])
    regimes = space.derive_regimes(np.stack([c, np.zeros(4)], -1))
    assert regimes[:, 1].tolist() == [0, 0, 1, 1]


def test_conditions_tell_values_apart_by_type():
    """Catches a space that takes the regimes of another one, in which True stands where this one has 1."""
    flag, values = px.Categorical([True, 1]), np.array([[0, 0.5], [1, 0.5]])
    spaces = [px.Space({"p": flag, "x": px.Float(0, 1, when=px.In("p", [v]))}) for v in (True, 1)]
    assert spaces[0] != spaces[1]
    assert [space.derive_regimes(values)[:, 1].tolist() for space in spaces] == [[0, -1], [-1, 0]]
    assert px.In("p", [True]) != px.In("p", [1])
    assert px.In("p", [math.nan]) == px.In("p", [float("nan")])


def test_first_domain_that_applies():
    """Overlapping conditions: the first wins; a last one without conditions catches the rest."""
    space = px.Space(
        {
            "x": (
                px.Int(0, 1, when=px.In("a", ["u"])),
                px.Int(0, 2, when=px.In("a", ["u", "v"])),
                px.Int(0, 3),
            ),
            "a": px.Categorical(["u", "v", "w"]),
        }
    )
    assert space.derive_regimes(np.array([[0, 0], [0, 1], [0, 2]]))[:, 0].tolist() == [0, 1, 2]


def test_all_conditions_must_hold_and_inactivity_is_inherited():
    """A tuple of conditions is a conjunction; an inactive parent fails whatever its value would be."""
    space = px.Space(
        {
            "a": px.Categorical([True, False]),
            "b": px.Float(0, 1, when=px.In("a", [True])),
            "c": px.Int(0, 9, when=(px.Between("b", high=0.5), px.In("a", [True]))),
            "d": px.Int(0, 1, when=px.In("c", [3, 4])),
        }
    )
    rows = np.array([[0, 0.2, 3, 1], [0, 0.2, 5, nan], [0, 0.7, nan, nan], [1, nan, nan, nan]])
    expected = [[0, 0, 0, 0], [0, 0, 0, -1], [0, 0, -1, -1], [0, -1, -1, -1]]
    assert space.derive_regimes(rows).tolist() == expected
    assert space.as_dict(rows[0]) == {"a": True, "b": 0.2, "c": 3, "d": 1}
    assert space.as_dict(rows[3]) == {"a": False}
    assert type(space.as_dict(rows[0])["c"]) is int


def test_recorded():
    """Known from the log alone: active where recorded; several such domains need their regimes."""
    space = px.Space({"x": px.Float(0, 1, when=px.Recorded())})
    assert space.derive_regimes(np.array([[0.5], [nan]])).tolist() == [[0], [-1]]
    several = px.Space({"x": (px.Float(0, 1, when=px.Recorded()), px.Float(2, 3, when=px.Recorded()))})
    with pytest.raises(ValueError, match="pass regime="):
        several.derive_regimes(np.array([[0.5]]))


def test_mapping_interface():
    """Names, membership, lookup, length, order, equality."""
    space = px.Space({"b": px.Float(0, 1), "a": px.Int(0, 1)})
    assert space.names == tuple(space) == ("b", "a")
    assert "a" in space
    assert "c" not in space
    assert len(space) == 2
    assert space.index("a") == 1
    assert space["a"] == (px.Int(0, 1),)
    with pytest.raises(KeyError, match=r"no parameter 'c'; it has b, a\."):
        space["c"]
    assert space == px.Space({"b": px.Float(0, 1), "a": px.Int(0, 1)})
    assert space != px.Space({"a": px.Int(0, 1), "b": px.Float(0, 1)})
    assert hash(space) == hash(px.Space({"b": px.Float(0, 1), "a": px.Int(0, 1)}))
    assert eval(repr(space), vars(px)) == space


@pytest.mark.parametrize("bad", [[0.5], [0.5, 2], [2.0, 0]])
def test_as_dict_refuses(bad):
    with pytest.raises(ValueError, match="x"):
        px.Space({"b": px.Float(0, 1), "a": px.Int(0, 1)}).as_dict(bad)


# --- JSON ----------------------------------------------------------------------------------------
EVERYTHING = px.Space(
    {
        "c": px.Float(0, 1),
        "eta": px.Float(1e-4, 1, log=True, when=px.In("booster", ["gbtree", "dart"])),
        "k": px.Int(1, 9, step=2),
        "width": px.Int(1, 300, log=True),
        "share": px.Float(0, 1, step=0.25),
        "units": px.Ordinal([16, 32, 64], log=True),
        "rates": px.Ordinal([0.5, 0.75]),
        "booster": px.Categorical(["gbtree", "gblinear", "dart"]),
        "odd": px.Categorical([None, True, 1, 1.0, "1"]),
        "x": (
            px.Float(-7, -2, when=px.Between("c", high=0.5)),
            px.Float(2, 7, when=(px.Between("c", low=0.5), px.Between("k", 2, 8))),
        ),
        "mixed": (px.Int(0, 3, when=px.In("k", [1, 3])), px.Float(0, 3)),
        "moving": px.Varying(0, 10),
        "seen": px.Float(0, 1, when=px.Recorded()),
    }
)


def test_as_row_is_the_inverse_of_as_dict():
    """Of every kind of domain, also where another parameter decides which domain applies."""
    frame = EVERYTHING.frame()
    levels = np.random.default_rng(0).uniform(size=(40, len(frame.parameter)))
    for x in frame.decode(frame.drawn(levels)):
        np.testing.assert_array_equal(EVERYTHING.as_row(EVERYTHING.as_dict(x)), x)
    with pytest.raises(KeyError, match="no parameter 'widht'; did you mean 'width'"):
        EVERYTHING.as_row({"widht": 3})
    for wrong in ({"k": 2}, {"booster": "tree"}, {"odd": 2}, {"share": 0.3}, {"c": 0.2, "x": 3.0}):
        with pytest.raises(ValueError, match=r"params: \w+ = .* is outside "):
            EVERYTHING.as_row(wrong)


def test_json_round_trip():
    """Text and parsed mapping read back to an equal space, types of choices and numbers included."""
    text = EVERYTHING.to_json()
    for source in (text, json.loads(text)):
        back = px.Space.from_json(source)
        assert back == EVERYTHING
        assert back["units"][0].values == (16, 32, 64)
        assert [type(v) for v in back["units"][0].values] == [int] * 3
    assert px.Space.from_json(text).to_json() == text


def test_documented_example():
    """The form that is documented: catches a renamed key."""
    text = """{"parameters": [
  {"name": "c", "kind": "float", "low": 0, "high": 1, "log": false},
  {"name": "eta", "kind": "float", "low": 1e-4, "high": 1, "log": true,
   "conditions": [{"parent": "booster", "values": ["gbtree", "dart"]}]},
  {"name": "k", "kind": "int", "low": 1, "high": 9, "step": 2},
  {"name": "units", "kind": "ordinal", "values": [16, 32, 64], "log": true},
  {"name": "booster", "kind": "categorical", "choices": ["gbtree", "gblinear", "dart"]},
  {"name": "x", "kind": "float",
   "regimes": [{"low": -7, "high": -2, "conditions": [{"parent": "c", "lt": 0.5}]},
               {"low": 2, "high": 7, "conditions": [{"parent": "c", "ge": 0.5}]}]}]}"""
    x = (px.Float(-7, -2, when=px.Between("c", high=0.5)), px.Float(2, 7, when=px.Between("c", low=0.5)))
    others = {name: EVERYTHING[name] for name in ("c", "eta", "k", "units", "booster")}
    assert px.Space.from_json(text) == px.Space(others | {"x": x})
