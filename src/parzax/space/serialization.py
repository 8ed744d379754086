"""The JSON form of a space; reading it evaluates nothing."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parzax.space.conditions import Between, Condition, In, Recorded
from parzax.space.domains import Domain, Float, Int, Numeric, Varying
from parzax.space.listed import Categorical, Ordinal

if TYPE_CHECKING:
    from parzax.space.space import Space

_NUMERIC = {"float": Float, "int": Int, "varying": Varying}
_SHARED = {"name", "kind", "conditions"}
_KEYS = {
    "float": _SHARED | {"low", "high", "log", "step"},
    "int": _SHARED | {"low", "high", "log", "step"},
    "varying": _SHARED | {"low", "high", "log"},
    "ordinal": _SHARED | {"values", "log"},
    "categorical": _SHARED | {"choices"},
}


def space_to_json(space: "Space") -> str:
    """Text of the space; `parameters_from_json` reads it back to an equal space."""
    entries = []
    for name, domains in zip(space.names, space.domains, strict=True):
        bodies = [_domain_to_dict(d) for d in domains]
        kinds = {body["kind"] for body in bodies}
        if len(bodies) == 1:
            entries.append({"name": name, **bodies[0]})
        elif len(kinds) == 1:
            for body in bodies:
                del body["kind"]
            entries.append({"name": name, "kind": kinds.pop(), "regimes": bodies})
        else:
            entries.append({"name": name, "regimes": bodies})
    return json.dumps({"parameters": entries}, indent=1)


def parameters_from_json(source: str | Path | Mapping[str, Any]) -> dict[str, tuple[Domain, ...]]:
    """The ``parameters`` argument of Space from JSON text, a path, or the parsed mapping."""
    data = source if isinstance(source, Mapping) else _load(source)
    entries = data.get("parameters") if isinstance(data, Mapping) else None
    if not isinstance(entries, list):
        raise ValueError('space JSON must be an object with a list "parameters".')
    parameters: dict[str, tuple[Domain, ...]] = {}
    for entry in entries:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
            raise ValueError(f'space JSON: every parameter needs a "name", got {entry!r}.')
        name = entry["name"]
        if name in parameters:
            raise ValueError(f"space JSON: parameter {name!r} appears twice.")
        if "regimes" in entry:
            _check_keys(f"parameter {name!r} with regimes", entry, {"name", "kind", "regimes"})
        bodies = entry.get("regimes", [entry])
        if not isinstance(bodies, list) or not bodies:
            raise ValueError(f'space JSON: "regimes" of {name!r} must be a list of domains.')
        try:
            parameters[name] = tuple(
                _domain_from_dict({"kind": entry.get("kind"), **body}) for body in bodies
            )
        except (KeyError, TypeError, ValueError) as error:
            missing = f"key {error} is missing" if isinstance(error, KeyError) else error
            raise ValueError(f"space JSON: parameter {name!r}: {missing}") from error
    return parameters


def _load(source: str | Path) -> Any:
    if isinstance(source, str) and source.lstrip().startswith("{"):
        text = source
    else:
        try:
            text = Path(source).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"cannot read the space from {str(source)!r}: {error}.") from error
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"the space is not valid JSON: {error}.") from error


def _domain_to_dict(domain: Domain) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": domain.kind}
    if isinstance(domain, Categorical):
        body["choices"] = list(domain.choices)
    elif isinstance(domain, Ordinal):
        body |= {"values": list(domain.values), "log": domain.log}
    elif isinstance(domain, Numeric):
        body |= {"low": domain.low, "high": domain.high, "log": domain.log}
        step = getattr(domain, "step", None)
        if step not in (None, 1) or (isinstance(domain, Float) and step is not None):
            body["step"] = step
    if domain.conditions:
        body["conditions"] = [_condition_to_dict(c) for c in domain.conditions]
    return body


def _domain_from_dict(body: Mapping[str, Any]) -> Domain:
    kind = body.get("kind")
    if kind in _KEYS:
        _check_keys(f"a {kind} domain", body, _KEYS[kind])
    when = tuple(_condition_from_dict(c) for c in body.get("conditions", ()))
    if kind == "categorical":
        return Categorical(body["choices"], when=when)
    if kind == "ordinal":
        return Ordinal(tuple(body["values"]), log=_flag(body), when=when)
    if kind not in _NUMERIC:
        raise ValueError(f'unknown kind {kind!r}; one of "float", "int", "ordinal", "categorical".')
    step = {"step": body["step"]} if body.get("step") is not None and kind != "varying" else {}
    return _NUMERIC[kind](body["low"], body["high"], log=_flag(body), when=when, **step)


def _check_keys(what: str, body: Mapping[str, Any], known: set[str]) -> None:
    """Refuse misspelt keys, which would silently change what the space means."""
    unknown = sorted(set(body) - known)
    if unknown:
        raise ValueError(f"{what} has no key {unknown[0]!r}; it has {', '.join(sorted(known))}.")


def _flag(body: Mapping[str, Any]) -> bool:
    log = body.get("log", False)
    if not isinstance(log, bool):
        raise ValueError(f'"log" must be true or false, got {log!r}.')
    return log


def _condition_to_dict(condition: Condition) -> dict[str, Any]:
    if isinstance(condition, Recorded):
        return {"recorded": True}
    if isinstance(condition, In):
        return {"parent": condition.parent, "values": list(condition.values)}
    bounds = {"ge": condition.low, "lt": condition.high}
    return {"parent": condition.parent} | {k: v for k, v in bounds.items() if abs(v) != float("inf")}


def _condition_from_dict(body: Any) -> Condition:
    if not isinstance(body, Mapping):
        raise ValueError(f"a condition must be an object, got {body!r}.")
    _check_keys("a condition", body, {"recorded", "parent", "values", "ge", "lt"})
    if body.get("recorded") is True:
        return Recorded()
    if "values" in body:
        return In(body["parent"], body["values"])
    if "parent" in body:
        return Between(body["parent"], low=body.get("ge", -float("inf")), high=body.get("lt", float("inf")))
    raise ValueError(f'a condition needs a "parent", got {dict(body)!r}.')
