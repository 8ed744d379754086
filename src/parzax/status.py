"""Status bits that say what is unusual about a result, each with a sentence of advice."""

import enum
import re
from collections.abc import Callable
from functools import cache

import numpy as np


class Status(enum.IntFlag):
    """Bits of ``result.status``; 0 means that nothing is unusual.

    Several bits may be set at once. Compiled code cannot raise errors, so it sets these bits instead.
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

    @property
    def fact(self) -> str:
        """The first words of the advice of a single bit, which say what happened.

        >>> Status.TIED_CUTOFF.fact
        'ties with the last row made the target larger than asked'
        """
        return _ADVICE[self][0].lower() + re.split("[,:;.]| [(]", _ADVICE[self])[0][1:]


# The text up to the first punctuation mark or bracket is a fact that can stand alone, see `Status.fact`.
_ADVICE = {
    Status.NO_DATA: "Too few usable rows, fewer than two for an importance or none for a sampler: add rows "
    "whose objectives are known.",
    Status.ALL_EQUAL: "All losses are equal, so no level set stands out; check which column is the target.",
    Status.SAME_SETS: "Target and region are the same rows: no local importance; choose a lower level γ′.",
    Status.TIED_CUTOFF: "Ties with the last row made the target larger than asked; the number of rows "
    "shown is its real size.",
    Status.LOW_DATA: "Ten rows or fewer in the target or in the region outside it: importances are rough at "
    "this level; add rows (more seeds do not help), or choose a level nearer to 0.5.",
    Status.LOW_REGIME_DATA: "Few rows in a regime: a regime with at least a quarter of the parameter's rows "
    "has ten or fewer in the target or outside it, so the importance may be far too low or too high; look at "
    "the regimes.",
    Status.SPARSE_REGIME: "A regime with a single row in the region was left out.",
    Status.CONSTANT: "One value per regime: the parameter, or one of a pair wherever both are active, stays "
    "in one cell of the grid; if it does vary, narrow its domain, or search it on a logarithmic scale.",
    Status.UNIQUE_LABELS: "As many labels as rows, as in an id: nothing to learn; leave the parameter out.",
    Status.SINGLE_VALUE: "One value per regime, because the domain has no other, so the importance is 0.",
    Status.NEVER_ACTIVE: "Never active: no row of the region has the parameter, so its importance is 0.",
    Status.NOT_IN_TARGET: "Inactive in the target: no row of it has the parameter, so its importance is 0; "
    "look at the parameter that decides whether it is active, or at the empty cells if none does.",
    Status.UNIDENTIFIABLE: "The domain moves from row to row: the rows were not compared, because their "
    "bounds are not known, leave one value, or are not used by the estimator “optuna”; give the log the "
    "bounds of each row, or use the default estimator.",
    Status.NOT_ABOVE_CHANCE: "Varies less than by chance: what a random target gives is subtracted from the "
    "variance, which can then be negative and counts as 0.",
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
    Status.IMPOSSIBLE_EVENT: "The given values have density 0, so the conditional density is undefined and "
    "computed as 0; give the estimator a prior weight.",
    Status.NONE_FEASIBLE: "No row is feasible, so the objective is ignored (a sampler then searches for "
    "feasible rows); check the thresholds.",
    Status.FEW_FEASIBLE: "Fewer rows are feasible than the group below needs, so every row is below and the "
    "objective is ignored for now.",
    Status.UNMEASURED: "A constraint is NaN in a row whose objectives are known, so the row counts as "
    "violating it; give +inf instead, or use the sampler's augment for rows with constraints only.",
    Status.CAPACITY_EXCEEDED: "Rows beyond the capacity were dropped; call the sampler's init or grow with a "
    "larger capacity before you tell the rows.",
    Status.INVALID_BANDWIDTH: "A bandwidth is not positive and finite, so the width of the range is used "
    "instead; give the bandwidth rule positive settings.",
    Status.NEVER_TOGETHER: "Never active in the same row of the region, so the two have no interaction.",
    Status.CROWDED: "Most rows at one end of the range: more than half lie in its lowest or highest 2 %, "
    "which the grid can hardly tell apart; narrow it, or search it on a logarithmic scale if it is positive "
    "and its scale is linear.",
    Status.REGIME_BOUNDARY: "The target's cut-off lies between regimes: nearly all rows of some are in the "
    "target, of others nearly none, so the importance can change sharply at neighbouring levels or in "
    "another log; compare both sides.",
}
# Statuses of a level; the other statuses of an importance concern single parameters.
OF_LEVELS = Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS | Status.TIED_CUTOFF
OF_LEVELS |= Status.LOW_DATA | Status.ALL_ZERO | Status.NONE_FEASIBLE
# Parameters with one of these statuses were not compared with chance.
NOT_COMPARED = Status.CONSTANT | Status.SINGLE_VALUE | Status.NEVER_ACTIVE | Status.NOT_IN_TARGET
NOT_COMPARED |= Status.UNIDENTIFIABLE | Status.UNIQUE_LABELS
# Statuses that follow from a status of a level, and need no separate advice.
_FOLLOWS = {
    Status.NO_DATA: NOT_COMPARED | OF_LEVELS & ~Status.NONE_FEASIBLE & ~Status.NO_DATA | Status.SPARSE_REGIME,
    Status.ALL_EQUAL: Status.SAME_SETS | Status.TIED_CUTOFF | Status.LOW_DATA | Status.ALL_ZERO,
    Status.SAME_SETS: Status.LOW_DATA | Status.ALL_ZERO,
}


def describe(status: np.ndarray | int, where: Callable[[Status], str] = lambda _: "") -> list[str]:
    """The sentences of advice for all bits set anywhere in ``status``, each prefixed by its name.

    A bit that follows from another bit of the same entry gets no sentence.

    Args:
        status: bits, as one integer or an array.
        where: function that returns what a bit concerns, such as "levels 0.1-0.3". The text follows the name
            of the bit in brackets; "" adds nothing.

    >>> describe(int(Status.ALL_EQUAL))
    ['ALL_EQUAL: All losses are equal, so no level set stands out; check which column is the target.']
    """
    bits = Status(int(np.bitwise_or.reduce(np.ravel(drop_consequences(status)), initial=0)))
    named = [(f"{bit.name} ({place})" if (place := where(bit)) else bit.name, bit) for bit in bits]
    return [f"{name}: {bit.advice}" for name, bit in named]


def drop_consequences(status: np.ndarray | int) -> np.ndarray:
    """``status`` without the bits that follow from others, such as SAME_SETS where all losses are equal."""
    status = np.asarray(status)
    for cause, consequences in _FOLLOWS.items():
        status = np.where(status & int(cause) != 0, status & ~int(consequences), status)
    return status


@cache
def status_names(status: int) -> str:
    """Names of the bits that are set, such as "TIED_CUTOFF|LOW_DATA"; "" for none."""
    return "|".join(str(bit.name) for bit in Status(status))
