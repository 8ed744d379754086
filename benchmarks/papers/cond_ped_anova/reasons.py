"""Why rows differ, by key; a row that is not here says that it is not known."""

REASONS = {
    "f1-c-099": (
        "the rise is the reference's smoothing of few rows: by integration the share of c is 0.010 there, as "
        "by ours"
    ),
    "f1-x-zero": (
        "in a fresh seed 550 or more of 1000 rows have c < 0.5, so that the target at 0.55 has only such rows"
    ),
}
