"""Why rows differ, by key; a row that is not here says that it is not known."""

REASONS = {
    "f6-activation-disjoint": (
        "at one number of rows Optuna's evaluator was ahead in this run; timed beside another part on the "
        "second core, and a full run of the same day had 1.37x to 2.04x"
    ),
    "peer-MDI-regime-dependent-domain-expansion": (
        "the order of x and y goes with the seeds: as printed on the stored logs, the other way on fresh ones"
    ),
    "f1-c-099": (
        "the rise is the reference's smoothing of few rows: by integration the share of c is 0.010 there, as "
        "by ours"
    ),
    "f1-x-zero": (
        "in a fresh seed 550 or more of 1000 rows have c < 0.5, so that the target at 0.55 has only such rows"
    ),
}
