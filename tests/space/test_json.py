"""The JSON form of a space: text that is broken; keys that are misspelt, repeated, or of no effect."""

import json
import re

import pytest

import parzax as px

FLOAT = {"name": "x", "kind": "float", "low": 0, "high": 1}


def _when(**condition):
    """A space with a condition."""
    return {"parameters": [{**FLOAT, "name": "c"}, {**FLOAT, "conditions": [condition]}]}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('{"parameters": ' + "[" * 100_000, "the space is not valid JSON"),
        ('{"parameters": [], "parameters": []}', "key 'parameters' appears twice in one object"),
        (
            '{"parameters": [{"name": "x", "kind": "float", "low": 0, "low": 1, "high": 2}]}',
            "key 'low' appears twice in one object",
        ),
        ({"paramters": []}, "space JSON has no key 'paramters'; did you mean 'parameters'?"),
        ({"parameters": [FLOAT], "parameter": []}, "has no key 'parameter'; did you mean 'parameters'?"),
        ({"parameters": [FLOAT], "direciton": "maximize"}, "'direciton'; did you mean 'direction'?"),
        ({"parameters": [FLOAT], "seeds": 3}, "has no key 'seeds'; it has comment, description, direction"),
        ({"parameters": [{**FLOAT, "lo": 0}]}, "'x': a float domain has no key 'lo'; did you mean 'low'?"),
        ({"parameters": [{"name": "x", "regimes": [FLOAT]}]}, "a float domain has no key 'name'"),
        ("{", "not valid JSON"),
        ("no such file.json", "the JSON text of a space, got 'no such file.json'; read a file with pathlib"),
        ({}, '"parameters"'),
        ({"parameters": {}}, '"parameters"'),
        ({"parameters": []}, "parameters must not be empty"),
        ({"parameters": [{"kind": "float"}]}, '"name"'),
        ({"parameters": [{**FLOAT, "kind": "real"}]}, "'x': unknown kind 'real'"),
        ({"parameters": [{"name": "x", "kind": "float", "low": 0}]}, "'x': key 'high' is missing"),
        ({"parameters": [{**FLOAT, "low": "0"}]}, "'x': Float: low must be a number"),
        ({"parameters": [{**FLOAT, "log": "yes"}]}, "'x': Float: log must be True or False"),
        ({"parameters": [FLOAT] * 2}, "'x' appears twice"),
        ({"parameters": [{"name": "x", "kind": "float", "regimes": []}]}, '"regimes" of'),
        (_when(values=[1]), "parent"),
        # Half of a condition would be dropped without a word.
        (_when(recorded=True, parent="c"), "a condition with \"recorded\" has no key 'parent'"),
        (_when(recorded=False, parent="c", lt=0.5), "a condition with \"recorded\" has no key 'parent'"),
        (_when(recorded="yes"), '"recorded" must be true'),
        (_when(parent="c", values=[1], lt=0.5), "a condition with \"values\" has no key 'lt'"),
        (_when(parent="c", vales=[1]), "a condition has no key 'vales'; did you mean 'values'?"),
    ],
)
def test_refused(source, message):
    """One ValueError that says where; of two keys the last does not win, and a misspelt one is not lost."""
    with pytest.raises(ValueError, match=re.escape(message)):
        px.Space.from_json(source)


def test_what_may_stand_beside_the_parameters():
    """Catches stored spaces refused for the keys that say what they are of."""
    beside = {"problem": "p", "scenario": "s", "metric": "value", "direction": "maximize", "comment": "none"}
    text = json.dumps({**beside, "parameters": [FLOAT]})
    assert px.Space.from_json(text) == px.Space.from_json(json.loads(text)) == px.Space({"x": px.Float(0, 1)})
