"""Why rows differ or are not told apart, by key; one that differs and is not here is not known."""

_REPEATS = (
    "ours repeats itself: of 100 evaluations 32 are of different entries of this table of 648, of MO-TPE 44, "
    "at random 89 (the row on different entries); neither paper nor code keeps a sampler from it"
)
_EPSILON = (
    "not known; beside TPE with 5 % of random suggestions, as the sampler has, it was 1.31 (0.98, 1.75) over "
    "all in 20 older runs"
)
_CANDIDATES = (
    "perhaps, as each source proposes 100 candidates: with 100 in all eight sources of c* = 3 ended at 1.08 "
    "(0.73, 1.62) of TPE in 20 older runs, with 100 each at 2.01 (1.35, 3.00)"
)
_WARM = "the best rows of two similar tables are good on the third; with losses on a log axis both are level"
_NEAR = "so near an end of our range that only many times as many runs would tell"
REASONS = {
    "f2-end": "c* = 3 and 4 are so near the end of our range that only many times as many runs would tell",
    "f12-end-2": _EPSILON,
    "f12-end-3": _EPSILON,
    "f12-poorly": "c* = 1 is as printed, c* = 2 is level; more runs of both would tell",
    "f4-warm-so_en": _NEAR,
    "f8-bleu": "with the one other table at hand as its source ours is ahead from the beginning",
    "f4-no-repeats-so_en": "near 1; twice as many runs would tell",
    "f12-number-0": _NEAR,
    "f12-number-1": _NEAR,
    "f12-number-3": _CANDIDATES,
    "f4-warm-naval_propulsion": _WARM,
    "f4-warm-parkinsons_telemonitoring": _WARM,
    "f4-warm-slice_localization": _WARM,
    "f4-warm-sw_en": "of one source there are ten rows; the paper has two sources",
    "f10-parkinsons_telemonitoring": "in 300 runs no setting is apart from 2.5; the paper has 20",
    "f10-slice_localization": "few runs end far from the front and decide the mean; thousands would tell",
    "f4-best-sw_en": _REPEATS,
    "distinct": "suggestions of a density on few choices repeat; nothing here keeps a sampler from it",
    "onset-1": "the default counts ceil(gamma N) rows below; with floor(gamma N) it is as printed",
    "onset-2": "the default counts the first front, which is below as a whole; see floor(gamma N)",
    "kernel-time": (
        "the default estimate evaluates both tasks' densities at points of both, in every call; the paper's "
        "machine and program are not at hand"
    ),
}
