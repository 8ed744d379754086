"""A domain from a column: what a log says about a space that nobody wrote down."""

from typing import Any

import numpy as np

from parzax.observations.columns import Column, short
from parzax.space import Categorical, Domain, Float, Int, Recorded

# More labels than this are no choices of one parameter.
MAX_CHOICES = 100_000
# Positive values that span at least this ratio may be on a log axis.
LOG_RATIO = 1000.0
_MAX_WHOLE = 2.0**53


def infer_domain(column: Column) -> tuple[Domain | None, str]:
    """The domain of a column and a sentence that says what was inferred; (None, ...) if it has no values.

    * Booleans, text, categories and objects of mixed types: `Categorical`, choices sorted within each type.
    * Integers, and floating-point columns with gaps whose values are all whole (pandas turns integers
      with gaps into floats): `Int`. Other numbers: `Float`. Both from the smallest to the largest value seen.
    * ``log=True`` where all values are positive, the largest is at least 1000 times the smallest, and the
      logarithms are less skewed than the values.
    * Missing entries: ``when=Recorded()``, active where a value is recorded.

    Raises:
        ValueError: for infinite values, unusable labels, or too many of them.
    """
    missing = column.missing()
    if missing.all():
        return None, "left out, it has no values"
    gap = f"; inactive in {int(missing.sum())} of {len(missing)} rows" if missing.any() else ""
    when: Any = Recorded() if missing.any() else ()
    numeric = _numeric(column)
    try:
        if numeric is None:
            choices = _choices(column)
            shown = f"{', '.join(map(short, choices[:6]))}{', ...' if len(choices) > 6 else ''}"
            what = f"Categorical, {len(choices)} choice{'s' * (len(choices) > 1)} ({shown})"
            if len(choices) > 2 and all(_looks_numeric(c) for c in choices):
                what += ", text that looks like numbers"
            return Categorical(tuple(choices), when=when), what + gap
        values, whole = numeric
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise ValueError(f"row {int(column.rows[infinite[0]])} is {float(values[infinite[0]])!r}")
        values = values[~missing]
        low, high = float(values.min()), float(values.max())
        whole |= column.promoted and max(-low, high) <= _MAX_WHOLE
        log = _is_log(values, low, high)
        domain = (
            Int(int(low), int(high), log=log, when=when) if whole else Float(low, high, log=log, when=when)
        )
    except (TypeError, ValueError) as error:
        if str(error).startswith(f"column {column.name!r}"):
            raise
        raise ValueError(f"column {column.name!r}: {error}") from error
    bounds = f"{low:.6g} to {high:.6g}"
    return domain, f"{'Int' if whole else 'Float'} from {bounds}{' on a log scale' * log}{gap}"


def _numeric(column: Column) -> tuple[np.ndarray, bool] | None:
    """Values and whether they are integers; None for labels."""
    if column.numbers is not None:
        return column.numbers, column.whole
    assert column.labels is not None
    values = [x for x in column.labels if x is not None]
    types = {type(x) for x in values}
    if not types <= {int, float}:
        return None
    # Objects that hold both 1 and 1.0 mean two choices.
    if len(types) == 2 and len({(type(x), x) for x in values}) > len(set(values)):
        return None
    return column.as_numbers(), types == {int}


def _choices(column: Column) -> list[Any]:
    values, _ = column.distinct()
    if len(values) > MAX_CHOICES:
        raise ValueError(f"it has {len(values)} different labels; drop it, or pass a space.")
    by_type: dict[str, list[Any]] = {}
    for value in values:
        by_type.setdefault(type(value).__name__, []).append(value)
    return [x for name in sorted(by_type) for x in sorted(by_type[name])]


def _looks_numeric(choice: Any) -> bool:
    try:
        float(choice)
    except (TypeError, ValueError):
        return False
    return isinstance(choice, str)


def _is_log(values: np.ndarray, low: float, high: float) -> bool:
    # Dividing first keeps cubes and ratios within the range of a float.
    if not (low > 0 and high / LOG_RATIO >= low):
        return False
    return abs(_skewness(np.log(values))) < abs(_skewness(values / high))


def _skewness(values: np.ndarray) -> float:
    centred = values - values.mean()
    spread = np.sqrt(np.mean(centred**2))
    return float(np.mean((centred / spread) ** 3)) if spread > 0 else 0.0
