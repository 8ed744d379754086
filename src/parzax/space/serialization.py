"""The JSON form of a space; reading it evaluates nothing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from parzax import _checks
from parzax.space.conditions import Between, Condition, In, Recorded
from parzax.space.domains import Categorical, Domain, Float, Int, Ordinal, Varying
from parzax.space.valid import Forbidden, Ordered, Sum

# Other keys that a file may have. The command line reads "direction"; the rest are remarks for people.
_BESIDE = {"problem", "scenario", "metric", "direction", "name", "description", "comment"}
_DOMAINS = (Float, Int, Varying, Ordinal, Categorical)
_RULES = (Ordered, Sum, Forbidden)
_INFINITE = {"inf": float("inf"), "-inf": -float("inf")}


def space_to_json(parameters: Mapping[str, Sequence[Domain]], valid: Sequence[Any] = ()) -> str:
    """Text of a space with these parameters and rules; `space_from_json` reads it back."""
    entries = []
    for name, domains in parameters.items():
        bodies = [_to_dict(d) for d in domains]
        if len(bodies) > 1:
            shared = {"kind": bodies[0]["kind"]} if len({body["kind"] for body in bodies}) == 1 else {}
            regimes = [{key: body[key] for key in body if key not in shared} for body in bodies]
            bodies = [shared | {"regimes": regimes}]
        entries.append({"name": name} | bodies[0])
    for rule in valid:
        if callable(rule):
            raise ValueError(f"valid: a function has no JSON form ({rule!r}); use the rules of parzax.valid.")
    rules = [_to_dict(rule) for rule in valid]
    return json.dumps({"parameters": entries} | ({"valid": rules} if rules else {}), indent=1)


def space_from_json(source: str | Mapping[str, Any]) -> tuple[dict[str, tuple[Domain, ...]], list[Any]]:
    """The arguments of Space, ``parameters`` and ``valid``, from JSON text or the parsed mapping."""
    data = source if isinstance(source, Mapping) else parse(source)
    _check_keys("space JSON", data, {"parameters", "valid"} | _BESIDE)
    if not isinstance(data.get("parameters"), list):
        raise ValueError('space JSON must be an object with a list "parameters".')
    parameters: dict[str, tuple[Domain, ...]] = {}
    for entry in data["parameters"]:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            raise ValueError(f'space JSON: every parameter needs a "name", got {entry!r}.')
        name = entry["name"]
        if name in parameters:
            raise ValueError(f"space JSON: parameter {name!r} appears twice.")
        if "regimes" in entry:
            _check_keys(f"parameter {name!r} with regimes", entry, {"name", "kind", "regimes"})
        bodies = entry.get("regimes", [{key: value for key, value in entry.items() if key != "name"}])
        if not isinstance(bodies, list) or not bodies:
            raise ValueError(f'space JSON: "regimes" of {name!r} must be a list of domains.')
        with _checks.explain(f"space JSON: parameter {name!r}", (KeyError, TypeError, ValueError)):
            parameters[name] = tuple(
                _from_dict("domain", {"kind": entry.get("kind"), **b}, _DOMAINS) for b in bodies
            )
    with _checks.explain('space JSON: "valid"', (KeyError, TypeError, ValueError)):
        return parameters, [_from_dict("rule", rule, _RULES) for rule in data.get("valid", [])]


def parse(text: str) -> Any:
    """Parse JSON text; ValueError for other text and for keys that appear twice."""
    _checks.instance("source", text, str, "JSON text or the mapping that it stands for")
    if not text.lstrip().startswith("{"):
        hint = "read a file with pathlib.Path(path).read_text()"
        raise ValueError(f"source must be the JSON text of a space, got {text[:60]!r}; {hint}.")
    with _checks.explain("the space is not valid JSON", (ValueError, RecursionError)):
        return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; ValueError for a repeated key (Python's reader would keep only the last value)."""
    keys = [key for key, _ in pairs]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"key {twice!r} appears twice in one object")
    return dict(pairs)


def _kind(kind: type) -> str:
    """The name of a class of domains or rules in JSON."""
    return kind.__name__.lower()


def _to_dict(part: Any) -> dict[str, Any]:
    """A domain or a rule as a JSON object."""
    values = ((field, _jsonable(getattr(part, field.name))) for field in fields(part) if field.init)
    body = {field.name: value for field, value in values if value != field.default and field.name != "when"}
    conditions = [_condition_to_dict(c) for c in getattr(part, "conditions", ())]
    return {"kind": _kind(type(part))} | body | ({"conditions": conditions} if conditions else {})


def _jsonable(value: Any) -> Any:
    """A value, with a text for an infinite number, which JSON does not have."""
    return str(value) if isinstance(value, float) and str(value) in _INFINITE else value


def _from_dict(what: str, body: Any, kinds: Sequence[Any]) -> Any:
    """The domain or rule that a JSON object describes, of one of the classes ``kinds``."""
    _checks.instance(f"a {what}", body, Mapping, "an object")
    kind = next((kind for kind in kinds if _kind(kind) == body.get("kind")), None)
    if kind is None:
        options = ", ".join(f'"{_kind(kind)}"' for kind in kinds if kind is not Varying)
        raise ValueError(f"unknown kind {body.get('kind')!r}; one of {options}.")
    by_key = {"conditions" if f.name == "when" else f.name: f for f in fields(kind) if f.init}
    _check_keys(f"a {_kind(kind)} {what}", body, {"kind", *by_key})
    given = [key for key, f in by_key.items() if f.default is MISSING or body.get(key) is not None]
    arguments: dict[str, Any] = {by_key[key].name: _INFINITE.get(str(body[key]), body[key]) for key in given}
    if "when" in arguments:
        arguments["when"] = tuple(map(_condition_from_dict, arguments["when"]))
    return kind(**arguments)


def _check_keys(what: str, body: Mapping[str, Any], keys: set[str]) -> None:
    """Refuse misspelt keys, which would silently change what the space means."""
    for key in body:
        if key not in keys:
            raise ValueError(f"{what} has no key {key!r}; {_checks.suggest(key, sorted(keys))}")


def _condition_to_dict(condition: Condition) -> dict[str, Any]:
    if isinstance(condition, Recorded):
        return {"recorded": True}
    if isinstance(condition, In):
        return {"parent": condition.parent, "values": list(condition.values)}
    assert isinstance(condition, Between)
    bounds = {"ge": condition.low, "lt": condition.high}
    return {"parent": condition.parent} | {k: v for k, v in bounds.items() if abs(v) != float("inf")}


def _condition_from_dict(body: Any) -> Condition:
    _checks.instance("a condition", body, Mapping, "an object")
    # Each form of a condition has separate keys; a key of another form is an error.
    forms = {"recorded": {"recorded"}, "values": {"parent", "values"}}
    form = next((form for form in forms if form in body), None)
    what = f'a condition with "{form}"' if form else "a condition"
    _check_keys(what, body, forms.get(form or "", {"recorded", "parent", "values", "ge", "lt"}))
    if form == "values":
        return In(body["parent"], body["values"])
    if form is None:
        return Between(body["parent"], body.get("ge", -float("inf")), body.get("lt", float("inf")))
    if body["recorded"] is not True:
        raise ValueError(f'"recorded" must be true where it is given, got {body["recorded"]!r}.')
    return Recorded()
