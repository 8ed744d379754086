"""The five conditional objectives of the conditional PED-ANOVA paper, drawn without the library."""

import numpy as np

NAN = float("nan")


def _lt(parent: str, at: float) -> dict:
    return {"parent": parent, "lt": at}


def _ge(parent: str, at: float) -> dict:
    return {"parent": parent, "ge": at}


def _within(parent: str, low: float, high: float) -> dict:
    return {"parent": parent, "ge": low, "lt": high}


def _float(name: str, low: float, high: float, *conditions: dict) -> dict:
    entry = {"name": name, "kind": "float", "low": low, "high": high}
    return entry | ({"conditions": list(conditions)} if conditions else {})


def _regimes(name: str, *bodies: tuple) -> dict:
    regimes = [{"low": low, "high": high, "conditions": list(when)} for low, high, *when in bodies]
    return {"name": name, "kind": "float", "regimes": regimes}


_C = _float("c", 0.0, 1.0)
SPACES = {
    "activation-disjoint": [_C, _float("x", -5, -2, _lt("c", 0.5)), _float("y", 2, 5, _ge("c", 0.5))],
    "activation-overlap": [_C, _float("x", -5, 2, _lt("c", 0.5)), _float("y", -2, 5, _ge("c", 0.5))],
    "regime-dependent-domain": [
        _C,
        _regimes("x", (-7, -2, _lt("c", 0.5)), (2, 7, _ge("c", 0.5))),
        _regimes("y", (-5, -2, _lt("c", 0.5)), (2, 5, _ge("c", 0.5))),
    ],
    "nested-conditions": [
        _float("c0", 0.0, 1.0),
        _float("c1", 0.0, 1.0, _lt("c0", 0.75)),
        _float("x", -7, -4, _lt("c0", 0.75), _lt("c1", 0.5)),
        _float("y", -3, 0, _lt("c0", 0.75), _ge("c1", 0.5)),
        _float("z", 2, 5, _ge("c0", 0.75)),
    ],
    "three-way-branching": [
        _C,
        _regimes("x", (-7, -4, _lt("c", 1 / 3)), (-3, 0, _within("c", 1 / 3, 2 / 3))),
        _float("y", 4, 7, _ge("c", 2 / 3)),
    ],
}


def draw(name: str, n_seeds: int = 10, n: int = 1000) -> tuple[dict, np.ndarray, np.ndarray]:
    """Random search on one of the objectives: space JSON, values (s, n, d), objective (s, n)."""
    values, losses = [], []
    for seed in range(n_seeds):
        rng = np.random.default_rng([seed, n])
        u = rng.uniform(size=(n, 5))
        c, a, b = u[:, 0], u[:, 1], u[:, 2]
        low = c < 0.5
        if name == "activation-disjoint":
            columns = [c, np.where(low, -5 + 3 * a, NAN), np.where(low, NAN, 2 + 3 * b)]
        elif name == "activation-overlap":
            columns = [c, np.where(low, -5 + 7 * a, NAN), np.where(low, NAN, -2 + 7 * b)]
        elif name == "regime-dependent-domain":
            columns = [c, np.where(low, -7 + 5 * a, 2 + 5 * a), np.where(low, -5 + 3 * b, 2 + 3 * b)]
        elif name == "nested-conditions":
            inner, c1 = c < 0.75, u[:, 3]
            left = inner & (c1 < 0.5)
            right = inner & ~(c1 < 0.5)
            columns = [c, np.where(inner, c1, NAN), np.where(left, -7 + 3 * a, NAN)]
            columns += [np.where(right, -3 + 3 * b, NAN), np.where(inner, NAN, 2 + 3 * u[:, 4])]
        else:
            x = np.where(c < 1 / 3, -7 + 3 * a, np.where(c < 2 / 3, -3 + 3 * a, NAN))
            columns = [c, x, np.where(c < 2 / 3, NAN, 4 + 3 * b)]
        table = np.stack(columns, axis=-1)
        first = 2 if name == "nested-conditions" else 1
        values.append(table)
        losses.append(np.nansum(table[:, first:], axis=-1))
    return {"parameters": SPACES[name]}, np.stack(values), np.stack(losses)
