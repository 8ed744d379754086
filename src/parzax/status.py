"""Statuses: what is unusual about a number, as bits that can be set together, each with advice."""

import enum
from collections.abc import Callable

import numpy as np


class Status(enum.IntFlag):
    """Bits of ``result.status``; 0 means that nothing is unusual.

    Several bits may be set at once. Compiled code never raises: it computes these instead.
    """

    OK = 0
    NO_DATA = enum.auto()
    ALL_EQUAL = enum.auto()
    SAME_SETS = enum.auto()
    TIED_CUTOFF = enum.auto()
    LOW_DATA = enum.auto()
    LOW_REGIME_DATA = enum.auto()
    SPARSE_REGIME = enum.auto()
    CONSTANT = enum.auto()
    UNIQUE_LABELS = enum.auto()
    SINGLE_VALUE = enum.auto()
    NEVER_ACTIVE = enum.auto()
    NOT_IN_TARGET = enum.auto()
    UNIDENTIFIABLE = enum.auto()
    NOT_ABOVE_CHANCE = enum.auto()
    ALL_ZERO = enum.auto()
    NO_ROWS = enum.auto()
    INVALID_ROWS = enum.auto()
    NAN_LOSSES = enum.auto()
    NAN_REFERENCE = enum.auto()
    BEYOND_REFERENCE = enum.auto()
    OUT_OF_RANGE = enum.auto()
    IMPOSSIBLE_EVENT = enum.auto()
    NONE_FEASIBLE = enum.auto()
    FEW_FEASIBLE = enum.auto()
    UNMEASURED = enum.auto()
    CAPACITY_EXCEEDED = enum.auto()
    INVALID_BANDWIDTH = enum.auto()
    NEVER_TOGETHER = enum.auto()
    CROWDED = enum.auto()
    REGIME_BOUNDARY = enum.auto()

    @property
    def advice(self) -> str:
        """One sentence per set bit: what happened and what to do about it."""
        return " ".join(_ADVICE[bit] for bit in self) or "Nothing unusual."


_ADVICE = {
    Status.NO_DATA: "There are too few usable rows, fewer than two for an importance, or none that a sampler "
    "could learn from: add rows whose objectives are known.",
    Status.ALL_EQUAL: "All losses are equal, so no level set stands out; check which column is the target.",
    Status.SAME_SETS: "The target and the region hold the same rows, so no local importance is defined; "
    "choose a lower target level γ′.",
    Status.TIED_CUTOFF: "Ties at the cut-off made the target larger than asked; the number of rows shown is "
    "its real size.",
    Status.LOW_DATA: "Ten rows or fewer in the target, or in the region outside it: importances are rough at "
    "this level; choose one further from the end, or add data.",
    Status.LOW_REGIME_DATA: "Regimes that hold a quarter of the parameter's rows, or more, have ten or fewer "
    "in the target, or outside it, so its importance may be far too low or high; look at its regimes.",
    Status.SPARSE_REGIME: "A regime with a single row in the region was left out of the sum.",
    Status.CONSTANT: "The parameter stays in one cell of the grid in each of its regimes, so there is "
    "nothing to compare; if it does vary, narrow its domain, or search it on a logarithmic scale.",
    Status.UNIQUE_LABELS: "There are as many labels as rows, as of an id, so the rows say nothing about the "
    "labels; leave the parameter out.",
    Status.SINGLE_VALUE: "The domain has a single value, so its importance is 0.",
    Status.NEVER_ACTIVE: "The parameter is inactive in every row of the region, so its importance is 0.",
    Status.NOT_IN_TARGET: "The parameter is inactive in every row of the target, so its importance is 0: "
    "look at the parameter that decides whether it is active.",
    Status.UNIDENTIFIABLE: "The domain moves from row to row, and its rows were not compared: their bounds "
    "are not known, leave one value, or are not used by the estimator “optuna”; give the log the bounds of "
    "each row, or use the default estimator.",
    Status.NOT_ABOVE_CHANCE: "The variance is not above what a random target would give, so it counts as 0.",
    Status.ALL_ZERO: "No parameter has a positive variance at this level, so nothing can be said here.",
    Status.NO_ROWS: "No row has a weight, so the density is the prior's alone.",
    Status.INVALID_ROWS: "Rows outside the space, or with weights that are not numbers, were left out; on "
    "the host Observations.from_arrays, or a sampler's tell without jax.jit, names the first of them.",
    Status.NAN_LOSSES: "Rows with a NaN among their losses were ranked after all fronts and add nothing to a "
    "hypervolume; drop them, or give them the worst loss.",
    Status.NAN_REFERENCE: "The reference point has a NaN, so no hypervolume is defined; give a finite one.",
    Status.BEYOND_REFERENCE: "Rows that are not better than the reference point in every objective add "
    "nothing to the hypervolume; move the reference point if they should.",
    Status.OUT_OF_RANGE: "A hypervolume is infinite or too small or large for the dtype, or a row is closer "
    "to the reference point than it can hold; use log_hypervolume, float64 or other units.",
    Status.IMPOSSIBLE_EVENT: "The given values have no density, so nothing is known under them and every "
    "density is 0; give the estimator a prior weight.",
    Status.NONE_FEASIBLE: "No row is feasible, so the objective has no say (a sampler searches for "
    "feasibility); check the thresholds.",
    Status.FEW_FEASIBLE: "Fewer rows are feasible than should be below, so every row is below and the "
    "objective has no say yet.",
    Status.UNMEASURED: "A constraint is NaN in a row whose objectives are known, so the row counts as "
    "violating it; give +inf for that, or augment the state with rows of which only some are known.",
    Status.CAPACITY_EXCEEDED: "Rows beyond the capacity were dropped; give a sampler's init or grow a larger "
    "one before they are told.",
    Status.INVALID_BANDWIDTH: "A bandwidth is not positive and finite, so the range's width stands for it; "
    "give the rule positive settings.",
    Status.NEVER_TOGETHER: "The two parameters are never active in the same row of the region, so they have "
    "no interaction.",
    Status.CROWDED: "More than half of the rows lie in the lowest or the highest 2 % of the range, which the "
    "grid can hardly tell apart; narrow it, or search it on a logarithmic scale if it is positive and is "
    "not searched so yet.",
    Status.REGIME_BOUNDARY: "The cut-off lies between regimes: nearly all rows of some are in the target, of "
    "others nearly none, so the importance can change sharply at neighbouring levels or in another log; "
    "compare both sides.",
}
# For a pair of parameters, where that is another sentence.
_ADVICE_OF_PAIRS = {
    Status.CONSTANT: "Wherever both are active one of them stays in one cell of the grid, such as the only "
    "category for which the other is active, so there is nothing to interact.",
    Status.SINGLE_VALUE: "One of the two has a domain of a single value, so there is nothing to interact.",
}
# Statuses of a level as a whole; the others of an importance are those of single parameters.
OF_LEVELS = Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS | Status.TIED_CUTOFF
OF_LEVELS |= Status.LOW_DATA | Status.ALL_ZERO


def describe(
    status: np.ndarray | int, where: Callable[[Status], str] = lambda _: "", *, of_pairs: bool = False
) -> list[str]:
    """The sentences of advice for all bits set anywhere in ``status``, each prefixed by its name.

    Args:
        status: any number of bits.
        where: gives what a bit concerns, such as "levels 0.1-0.3", which follows its name in brackets; "" for
            nothing.
        of_pairs: whether it is the status of pairs of parameters.

    >>> describe(int(Status.SINGLE_VALUE))
    ['SINGLE_VALUE: The domain has a single value, so its importance is 0.']
    """
    seen = int(np.bitwise_or.reduce(np.ravel(status))) if np.size(status) else 0
    advice = _ADVICE | _ADVICE_OF_PAIRS if of_pairs else _ADVICE
    named = [(f"{bit.name} ({place})" if (place := where(bit)) else bit.name, bit) for bit in Status(seen)]
    return [f"{name}: {advice[bit]}" for name, bit in named]
