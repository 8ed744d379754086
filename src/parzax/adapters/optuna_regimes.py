"""Optuna's distributions as regimes of one parameter, and its values in parzax's units."""

from operator import attrgetter
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from parzax.space import Categorical, Domain, Float, Int, Numeric, Recorded, Varying, choice_key

# Types whose values can be told apart by equality within the type (0.0 and -0.0, or two NaNs, cannot).
_PLAIN_TYPES = frozenset({str, bool, int, type(None)})


def regimes_of(distributions: list[Any]) -> tuple[list[Any], np.ndarray, bool]:
    """Distinct distributions of some rows, in order of appearance.

    Two are one regime where Optuna calls them equal, with two exceptions: choices stay apart by type
    (True is not 1), and the same choices in another order are the same regime.

    Returns:
        The distributions, the index of each row's, and whether orders of choices were merged.
    """
    if _all_equal(distributions):
        return [distributions[0]], np.zeros(len(distributions), dtype=np.int16), False
    index: dict[Any, int] = {}
    distinct, which = [], np.empty(len(distributions), dtype=np.int64)
    for row, distribution in enumerate(distributions):
        code = index.setdefault(_exact_key(distribution), len(distinct))
        if code == len(distinct):
            distinct.append(distribution)
        which[row] = code
    merged: dict[Any, int] = {}
    codes = [merged.setdefault(_order_free_key(d), len(merged)) for d in distinct]
    regimes = [distinct[codes.index(code)] for code in range(len(merged))]
    return regimes, np.array(codes)[which], len(regimes) < len(distinct)


def _all_equal(distributions: list[Any]) -> bool:
    """Whether there is one distribution throughout, the common case, settled without a loop in Python.

    Optuna makes a new object for every trial and hashes slowly, so this compares lists of attributes.
    """
    if len(set(map(type, distributions))) > 1:
        return False
    names = ("low", "high", "log", "step")
    if isinstance(distributions[0], CategoricalDistribution):
        if set(map(type, distributions[0].choices)) != {str}:
            return False  # equal tuples may differ in type: (True,) == (1,)
        names = ("choices",)
    for name in names:
        attributes = list(map(attrgetter(name), distributions))
        if attributes.count(attributes[0]) < len(attributes):
            return False
    return True


def _exact_key(distribution: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        types = tuple(map(type, distribution.choices))
        if _PLAIN_TYPES.issuperset(types):
            return distribution.choices, types
        return tuple(choice_key(choice_label(c)) for c in distribution.choices)
    if isinstance(distribution, (FloatDistribution, IntDistribution)):
        whole = isinstance(distribution, IntDistribution)
        return whole, distribution.low, distribution.high, distribution.log, distribution.step
    raise ValueError(f"unknown distribution {distribution!r}.")


def _order_free_key(distribution: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return frozenset(choice_key(choice_label(c)) for c in distribution.choices)
    return _exact_key(distribution)


def pool_moving(regimes: list[Any], which: np.ndarray) -> tuple[list[Any], np.ndarray, int]:
    """Pool numeric domains seen in one row each, if there are at least two, into one `Varying`, put last.

    Such a domain moves from row to row (x in [0, c], say). Optuna leaves every one of them out of the
    sum; the pooled regime has no grid and adds nothing either, and marks the parameter as unidentifiable.

    Returns:
        The regimes, the index of each row's, and how many were pooled.
    """
    if len(regimes) < 2:
        return regimes, which, 0
    numeric = np.array([not isinstance(d, CategoricalDistribution) for d in regimes])
    single = numeric & (np.bincount(which, minlength=len(regimes)) == 1)
    if single.sum() < 2:
        return regimes, which, 0
    moving = [d for d, s in zip(regimes, single, strict=True) if s]
    kept = [d for d, s in zip(regimes, single, strict=True) if not s]
    pooled = Varying(min(d.low for d in moving), max(d.high for d in moving), when=(Recorded(),))
    code = np.where(single, len(kept), np.cumsum(~single) - 1)
    return [*kept, pooled], code[which], len(moving)


def to_domain(distribution: Any, when: tuple[Recorded, ...]) -> Domain:
    """The domain of an Optuna distribution (a `Varying` passes through)."""
    if isinstance(distribution, Varying):
        return distribution
    if isinstance(distribution, CategoricalDistribution):
        return Categorical(tuple(map(choice_label, distribution.choices)), when=when)
    low, high, log = distribution.low, distribution.high, bool(distribution.log)
    if isinstance(distribution, IntDistribution):
        return Int(low, high, log=log, step=1 if log else distribution.step, when=when)
    return Float(low, high, log=log, step=distribution.step, when=when)


def is_relabelled(distribution: Any) -> bool:
    """Whether a distribution has choices that stand under another name here, see `to_domain`."""
    choices = getattr(distribution, "choices", ())
    return any(isinstance(choice_label(c), str) and not isinstance(c, str) for c in choices)


def choice_label(choice: Any) -> Any:
    """A choice as `parzax.Categorical` takes it: plain values as they are, anything else by its repr."""
    if isinstance(choice, np.generic):
        choice = choice.item()
    return choice if choice is None or isinstance(choice, (bool, int, float, str)) else repr(choice)


def to_codes(domains: tuple[Categorical, ...], which: np.ndarray, external: list[Any]) -> np.ndarray:
    """Codes (n,) of external values, found by type and value; Optuna's own codes take 1 for True.

    Raises:
        ValueError: if a value is not among the choices of its row's domain.
    """
    if (
        len(domains) == 1
        and set(map(type, domains[0].choices)) == {str}
        and set(map(type, external)) == {str}
    ):
        table: dict[Any, int] = {choice: code for code, choice in enumerate(domains[0].choices)}
        try:
            return np.array([table[value] for value in external], dtype=np.float64)
        except KeyError:
            pass  # the loop below says which
    tables = [
        {(type(c), c): code for code, c in enumerate(d.choices) if type(c) in _PLAIN_TYPES} for d in domains
    ]
    codes = np.empty(len(external))
    for row, (value, regime) in enumerate(zip(external, which.tolist(), strict=True)):
        code = tables[regime].get((type(value), value)) if type(value) in _PLAIN_TYPES else None
        if code is None:
            code = domains[regime].codes.get(choice_key(choice_label(value)))
        if code is None:
            raise ValueError(f"value {value!r} is not among the choices {list(domains[regime].choices)!r}.")
        codes[row] = code
    return codes


def to_inside(domain: Domain, values: np.ndarray, here: np.ndarray) -> int:
    """Move values (n,) that miss ``domain`` in the rows ``here`` to its nearest value, in place; how many.

    Optuna accepts any enqueued value, and its evaluator counts it in the nearest cell.
    """
    assert isinstance(domain, Numeric)
    own = values[here]
    step = getattr(domain, "step", None)
    stepped = step is not None and domain.kind == "float"
    if not own.size or not (
        stepped or step not in (None, 1) or own.min() < domain.low or own.max() > domain.high
    ):
        return 0
    outside = domain.outside(own)
    if outside.any():
        inside = np.clip(own[outside], domain.low, domain.high)
        if step is not None:
            # Midway goes down, as on Optuna's grid.
            inside = domain.low + step * np.ceil((inside - domain.low) / step - 0.5)
        own[outside] = inside
        values[here] = own
    return int(outside.sum())
