"""Status bits that say what is unusual about a result, each with a sentence of advice."""

import enum
import re
from typing import Self

import numpy as np


class Status(enum.IntFlag):
    """Bits of ``result.status``, each with its advice; 0 means that nothing is unusual.

    Several bits may be set at once. Compiled code cannot raise errors, so it sets these bits instead. The
    advice up to the first punctuation mark or bracket is a fact that can stand alone, see `Status.fact`.
    """

    _text: str

    def __new__(cls, value: int, text: str = "") -> Self:
        """A bit with its advice; several bits have none of their own."""
        bit = int.__new__(cls, value)
        bit._value_, bit._text = value, text
        return bit

    OK = 0, "Nothing unusual."
    NO_DATA = 1 << 0, "Too few usable rows: an importance needs two rows with losses, anything else one row."
    ALL_EQUAL = 1 << 1, "All losses are equal, so no level set stands out; check the target column."
    SAME_SETS = 1 << 2, "Target and region are the same rows: choose a lower level."
    TIED_CUTOFF = 1 << 3, "Ties with the last row made the target larger than asked; see how many it has."
    LOW_DATA = 1 << 4, "Ten rows or fewer among the best or among the others: add rows (not seeds)."
    LOW_REGIME_DATA = 1 << 5, "Few rows on one of its domains: its importance may be far off; add rows."
    SPARSE_REGIME = 1 << 6, "A domain with a single row was left out: add rows, or narrow it."
    CONSTANT = 1 << 7, "A single value: all rows are in one cell; narrow the domain, or use log."
    UNIQUE_LABELS = 1 << 8, "As many labels as rows, as in an id: leave the parameter out."
    SINGLE_VALUE = 1 << 9, "A single value, because the domain has no other: importance 0."
    NEVER_ACTIVE = 1 << 10, "Never active: no row of the region has the parameter, so importance 0."
    NOT_IN_TARGET = 1 << 11, "Inactive among the best rows: look at the parameter that decides about it."
    UNIDENTIFIABLE = 1 << 12, "The domain moves from row to row: give the log the bounds of each row."
    NOT_ABOVE_CHANCE = 1 << 13, "Varies less than by chance: importances below chance count as 0."
    ALL_ZERO = 1 << 14, "No parameter has a positive variance at this level: choose another level."
    NOT_ALLOWED = 1 << 15, "Rows that valid of the space does not allow: Space.allows says which."
    INVALID_ROWS = 1 << 16, "Rows outside the space were left out: Observations.from_arrays or tell says why."
    IMPOSSIBLE_EVENT = 1 << 21, "The given values have density 0: give the estimator a prior weight."
    NONE_FEASIBLE = 1 << 22, "No row is feasible, so the objective is ignored; check the thresholds."
    FEW_FEASIBLE = 1 << 23, "Fewer rows are feasible than needed below, so the objective is ignored for now."
    UNMEASURED = 1 << 24, "A constraint is NaN and counts as violated: give +inf, or use augment."
    CAPACITY_EXCEEDED = 1 << 25, "Rows beyond the capacity were dropped: call init or grow for more first."
    INVALID_BANDWIDTH = 1 << 26, "A bandwidth is not positive: the range is used; mend the bandwidth rule."
    NEVER_TOGETHER = 1 << 27, "Never active in the same row of the region, so no interaction."
    CROWDED = 1 << 28, "Most rows at one end of the range, in 2 % of it: narrow it, or use log."
    REGIME_BOUNDARY = 1 << 29, "The cut-off lies between two domains: compare the levels on either side."
    POOR_SURROGATE = 1 << 30, "The surrogate hardly predicts left-out rows: add rows, or go without it."

    @property
    def advice(self) -> str:
        """One sentence per set bit: what happened and what to do about it."""
        return " ".join(bit._text for bit in self) or Status.OK._text

    @property
    def fact(self) -> str:
        """The first words of the advice of a single bit, which say what happened.

        >>> Status.TIED_CUTOFF.fact
        'ties with the last row made the target larger than asked'
        """
        return self._text[0].lower() + re.split("[,:;.]| [(]", self._text)[0][1:]


# Statuses of a level; the other statuses of an importance concern single parameters.
OF_LEVELS = Status.NO_DATA | Status.ALL_EQUAL | Status.SAME_SETS | Status.TIED_CUTOFF
OF_LEVELS |= Status.LOW_DATA | Status.ALL_ZERO | Status.NONE_FEASIBLE | Status.POOR_SURROGATE
# Parameters with one of these statuses were not compared with chance.
NOT_COMPARED = Status.CONSTANT | Status.SINGLE_VALUE | Status.NEVER_ACTIVE | Status.NOT_IN_TARGET
NOT_COMPARED |= Status.UNIDENTIFIABLE | Status.UNIQUE_LABELS
# Statuses that follow from a status of a level, and need no separate advice.
_FOLLOWS = {
    Status.NO_DATA: NOT_COMPARED | OF_LEVELS & ~Status.NONE_FEASIBLE & ~Status.NO_DATA | Status.SPARSE_REGIME,
    Status.ALL_EQUAL: Status.SAME_SETS | Status.TIED_CUTOFF | Status.LOW_DATA | Status.ALL_ZERO,
    Status.SAME_SETS: Status.LOW_DATA | Status.ALL_ZERO,
}


def describe(status: np.ndarray | int) -> list[str]:
    """The sentences of advice for all bits set anywhere in ``status``, each prefixed by its name.

    A bit that follows from another bit of the same entry gets no sentence.

    >>> describe(int(Status.ALL_EQUAL))
    ['ALL_EQUAL: All losses are equal, so no level set stands out; check the target column.']
    """
    return [f"{bit.name}: {bit.advice}" for bit in set_bits(status)]


def set_bits(status: np.ndarray | int) -> Status:
    """The bits that are set anywhere in ``status``, except those that follow from others of their entry."""
    return Status(int(np.bitwise_or.reduce(np.ravel(drop_consequences(status)), initial=0)))


def drop_consequences(status: np.ndarray | int) -> np.ndarray:
    """``status`` without the bits that follow from others, such as SAME_SETS where all losses are equal."""
    status = np.asarray(status)
    for cause, consequences in _FOLLOWS.items():
        status = np.where(status & int(cause) != 0, status & ~int(consequences), status)
    return status
