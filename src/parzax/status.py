"""Statuses: what is unusual about a number, as bits that can be set together, each with advice."""

import enum
from collections.abc import Callable
from typing import NamedTuple

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
        return " ".join(WORDS[bit].advice for bit in self) or "Nothing unusual."


class Words(NamedTuple):
    """What a status means, in words for readers with and without Python.

    Attributes:
        advice: what happened, and what to do about it.
        phrase: the same in a few words, for pictures and the page; "" where they do not show it.
        of_pair: instead of the advice for a pair of parameters, if that is another.
    """

    advice: str
    phrase: str = ""
    of_pair: str = ""


# Phrases are shown in this order.
WORDS = {
    Status.NO_DATA: Words(
        "There are too few usable rows, fewer than two for an importance, or none that a sampler could learn "
        "from: add rows whose objectives are known.",
        "fewer than two usable rows",
    ),
    Status.ALL_EQUAL: Words(
        "All losses are equal, so no level set stands out; check which column is the target.",
        "all losses are equal",
    ),
    Status.SAME_SETS: Words(
        "The target and the region hold the same rows, so no local importance is defined; choose a lower "
        "target level γ′.",
        "target and region are the same rows",
    ),
    Status.TIED_CUTOFF: Words(
        "Ties at the cut-off made the target larger than asked; the number of rows shown is its real size.",
        "ties at the cut-off: the target is larger than asked",
    ),
    Status.LOW_DATA: Words(
        "Ten rows or fewer in the target, or in the region outside it: importances are rough at this level; "
        "choose one further from the end, or add data.",
        "ten rows or fewer in the target or outside it: rough",
    ),
    Status.CONSTANT: Words(
        "The parameter stays in one cell of the grid in each of its regimes, so there is nothing to compare; "
        "if it does vary, narrow its domain, or search it on a logarithmic scale.",
        "one value per regime",
        "Wherever both are active one of the two stays in one cell of the grid, such as the only category "
        "for which the other is active, so that there is nothing to interact.",
    ),
    Status.SINGLE_VALUE: Words(
        "The domain has a single value, so its importance is 0.",
        "one value per regime",
        "One of the two has a domain of a single value, so that there is nothing to interact.",
    ),
    Status.NEVER_ACTIVE: Words(
        "The parameter is inactive in every row of the region, so its importance is 0.", "never active"
    ),
    Status.NOT_IN_TARGET: Words(
        "The parameter is inactive in every row of the target, so its importance is 0: look at the parameter "
        "that decides whether it is active.",
        "inactive in the target, counts as 0",
    ),
    Status.UNIDENTIFIABLE: Words(
        "The domain moves from row to row, and its rows were not compared: their bounds are not known, leave "
        "one value, or are not used by the estimator “optuna”; give the log the bounds of each row, or take "
        "the default estimator.",
        "domain moves from row to row, not compared",
    ),
    Status.UNIQUE_LABELS: Words(
        "There are as many labels as rows, as of an id, so the rows say nothing about the labels; leave the "
        "parameter out.",
        "as many labels as rows, says nothing",
    ),
    Status.LOW_REGIME_DATA: Words(
        "Regimes that hold a quarter of the parameter's rows, or more, have ten or fewer in the target, or "
        "outside it, so its importance may be far too low or high; the status of each regime says which.",
        "few rows in a regime: rough",
    ),
    Status.SPARSE_REGIME: Words(
        "A regime with a single row in the region was left out of the sum.",
        "a regime with one row left out",
    ),
    Status.REGIME_BOUNDARY: Words(
        "The cut-off lies between regimes: nearly all rows of some are in the target, of others nearly none, "
        "so the importance can change sharply at neighbouring levels or in another log; compare both sides.",
        "the cut-off lies between its regimes: look on either side",
    ),
    Status.CROWDED: Words(
        "More than half of the rows lie in the lowest or the highest 2 % of the range, which the grid can "
        "hardly tell apart; narrow it, or search it on a logarithmic scale if it is positive and is not "
        "searched so yet.",
        "most rows at one end of the range: narrow it, or search it on a logarithmic scale",
    ),
    Status.NOT_ABOVE_CHANCE: Words(
        "The variance is not above what a random target would give, so it counts as 0.",
        "varies less than by chance: counts as 0",
    ),
    Status.ALL_ZERO: Words(
        "No parameter has a positive variance at this level, so nothing can be said here."
    ),
    Status.NO_ROWS: Words("No row has a weight, so the density is the prior's alone."),
    Status.INVALID_ROWS: Words(
        "Rows outside the space, or with weights that are not numbers, were left out; on the host "
        "Observations.from_arrays, or a sampler's tell without jax.jit, names the first of them."
    ),
    Status.NAN_LOSSES: Words(
        "Rows with a NaN among their losses were ranked after all fronts and add nothing to a hypervolume; "
        "drop them, or give them the worst loss."
    ),
    Status.NAN_REFERENCE: Words(
        "The reference point has a NaN, so no hypervolume is defined; give a finite one."
    ),
    Status.BEYOND_REFERENCE: Words(
        "Rows that are not better than the reference point in every objective add nothing to the "
        "hypervolume; move the reference point if they should."
    ),
    Status.OUT_OF_RANGE: Words(
        "A hypervolume is infinite or too small or large for the dtype, or a row is closer to the reference "
        "point than it can hold; use log_hypervolume, float64 or other units."
    ),
    Status.IMPOSSIBLE_EVENT: Words(
        "The given values have no density, so nothing is known under them and every density is 0; give the "
        "estimator a prior weight."
    ),
    Status.NONE_FEASIBLE: Words(
        "No row is feasible, so the objective has no say (a sampler searches for feasibility); check the "
        "thresholds."
    ),
    Status.FEW_FEASIBLE: Words(
        "Fewer rows are feasible than should be below, so every row is below and the objective has no say "
        "yet."
    ),
    Status.UNMEASURED: Words(
        "A constraint is NaN in a row whose objectives are known, so the row counts as violating it; give "
        "+inf for that, or augment the state with rows of which only some are known."
    ),
    Status.CAPACITY_EXCEEDED: Words(
        "Rows beyond the capacity were dropped; give a sampler's init or grow a larger one before they are "
        "told."
    ),
    Status.INVALID_BANDWIDTH: Words(
        "A bandwidth is not positive and finite, so the range's width stands for it; give the rule positive "
        "settings."
    ),
    Status.NEVER_TOGETHER: Words(
        "The two parameters are never active in the same row of the region, so they have no interaction."
    ),
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
        where: gives the levels, parameters or pairs that a bit concerns, which follow its name in brackets;
            "" for nothing.
        of_pairs: whether it is the status of pairs of parameters.

    >>> describe(int(Status.SINGLE_VALUE))
    ['SINGLE_VALUE: The domain has a single value, so its importance is 0.']
    """
    lines = []
    for bit in Status(int(np.bitwise_or.reduce(np.ravel(status))) if np.size(status) else 0):
        place, words = where(bit), WORDS[bit]
        text = (of_pairs and words.of_pair) or words.advice
        lines.append(f"{bit.name} ({place}): {text}" if place else f"{bit.name}: {text}")
    return lines
