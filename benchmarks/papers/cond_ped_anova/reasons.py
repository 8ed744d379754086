"""Why rows differ, by key; a row that is not here says that it is not known."""

_EQUAL = "where c is as important as x or y by this measure it is above one of them by less than 0.001"
REASONS = {
    "peer-MDI-regime-dependent-domain-expansion": (
        "the order of x and y goes with the seeds: as printed on the stored logs, the other way on fresh ones"
    ),
    "f3-activation-disjoint": _EQUAL,
    "f3-activation-overlap": _EQUAL,
    "f1-x-exact": (
        "in a fresh seed 550 or more of 1000 rows have c < 0.5, so that the target at 0.55 has only such rows"
    ),
}
