"""What all pictures take: a result, a level, parameters; and the colours that parameters keep."""

import numbers
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from parzax.importance import ImportanceResult
from parzax.status import Status

# Okabe and Ito's colour-blind-safe palette without black and yellow (too faint on white).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6D46")
# A second and a third round through the palette differ by the kind of line.
DASHES = ("solid", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)))
OTHERS = "0.6"
# A level asked for as a float may differ by this much from the nearest one before a warning.
_NEAR = 0.05


def colours(result: ImportanceResult) -> dict[str, str]:
    """Colour of every parameter in all pictures of ``result``, by rank of its importance over all levels."""
    return {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(overall_ranking(check_result(result)))}


def line_styles(result: ImportanceResult) -> dict[str, Any]:
    """Kind of line of every parameter, so that two of one colour differ."""
    ranking = overall_ranking(result)
    return {name: DASHES[i // len(PALETTE) % len(DASHES)] for i, name in enumerate(ranking)}


def overall_ranking(result: ImportanceResult) -> list[str]:
    """Parameter names by importance, the mean over levels of that over seeds."""
    mean = result.over_seeds()[0].mean(axis=0)
    return [result.names[j] for j in np.argsort(-mean, kind="stable")]


def check_result(result: Any) -> ImportanceResult:
    """Return ``result`` if it is an `ImportanceResult`, or raise."""
    if not isinstance(result, ImportanceResult):
        raise TypeError(
            f"result must be a parzax.ImportanceResult (from cond_ped_anova), got {type(result).__name__}."
        )
    return result


def level_index(result: ImportanceResult, level: Any) -> int:
    """Position of ``level``: an index, or (a float) the nearest target quantile."""
    quantiles = result.target_quantile
    if isinstance(level, (bool, np.bool_)) or not isinstance(level, numbers.Real):
        raise TypeError(f"level must be an index or a target quantile, got {level!r}.")
    if isinstance(level, numbers.Integral):
        if not -len(quantiles) <= int(level) < len(quantiles):
            raise ValueError(
                f"level = {level} is out of range for {len(quantiles)} levels; "
                "give an index, or a float for the nearest target quantile."
            )
        return int(level) % len(quantiles)
    if not 0 < float(level) <= 1:
        raise ValueError(f"level = {level!r}: a target quantile lies in (0, 1]; an index must be an int.")
    nearest = int(np.abs(quantiles - float(level)).argmin())
    if abs(quantiles[nearest] - float(level)) > _NEAR + 1e-9:
        # The caller of the picture is the one who asked.
        warnings.warn(
            f"there is no level {float(level):g}: the nearest one, {quantiles[nearest]:g}, is drawn.",
            UserWarning,
            stacklevel=3,
        )
    return nearest


def parameter_names(result: ImportanceResult, parameters: Any) -> list[str]:
    """The names asked for, checked."""
    names = [parameters] if isinstance(parameters, str) else parameters
    if not isinstance(names, Sequence):
        raise TypeError(f"parameters must be names of parameters, got {parameters!r}.")
    for name in names:
        check_name(result, "parameters", name)
    if not names or len(set(names)) < len(names):
        raise ValueError(f"parameters must be different names, at least one, got {parameters!r}.")
    return list(names)


def check_name(result: ImportanceResult, argument: str, name: Any) -> None:
    """Raise a KeyError unless ``name`` is a parameter of ``result``."""
    if name not in result.names:
        raise KeyError(f"{argument}: no parameter {name!r}; there are {', '.join(map(repr, result.names))}.")


def check_count(argument: str, value: Any) -> int:
    """Return ``value`` if it is a positive whole number, or raise."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
        raise ValueError(f"{argument} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def by_seed(result: ImportanceResult, array: np.ndarray, trailing: int) -> np.ndarray:
    """``array`` with all seed axes as one leading axis (one seed without any)."""
    return np.asarray(array, dtype=np.float64).reshape(-1, *array.shape[array.ndim - trailing :])


def with_importance(result: ImportanceResult) -> np.ndarray:
    """(s, q) the seeds that have an importance, the only ones that count for its mean."""
    return result.has_importance.reshape(-1, len(result.target_quantile))


def seeds_text(result: ImportanceResult, q: int) -> str:
    """ "10 seeds", "7 of 10 seeds": how many count at a level; "" for a single one."""
    n, counted = result.n_seeds, int(result.seeds_counted[q])
    if n == 1:
        return ""
    return f"{n} seeds" if counted == n else f"{counted} of {n} seeds"


def any_seed(result: ImportanceResult, bit: Status) -> np.ndarray:
    """(q, d) whether ``bit`` is set in some seed."""
    flat = result.status.reshape(-1, *result.status.shape[-2:])
    return ((flat & int(bit)) != 0).any(axis=0)


def all_seeds(result: ImportanceResult, bit: Status) -> np.ndarray:
    """(q, d) whether ``bit`` is set in every seed."""
    flat = result.status.reshape(-1, *result.status.shape[-2:])
    return ((flat & int(bit)) != 0).all(axis=0)


def most_seeds(result: ImportanceResult, bit: Status) -> np.ndarray:
    """(q, d) whether ``bit`` is set in at least half of the seeds."""
    flat = result.status.reshape(-1, *result.status.shape[-2:])
    return ((flat & int(bit)) != 0).mean(axis=0) >= 0.5
