"""Why rows differ, by key; a row that is not here says that it is not known."""

_REPEATS = (
    "ours repeats itself: of 100 evaluations 30 are of different entries of this table of 648, of MO-TPE 48, "
    "at random 89 (the row on different entries); neither paper nor code keeps a sampler from it"
)
REASONS = {
    "f4-best-sw_en": _REPEATS,
    "f4-mo-sw_en": _REPEATS,
    "distinct": "suggestions of a density on few choices repeat; nothing here keeps a sampler from it",
    "onset-1": "the default counts ceil(gamma N) rows below; with floor(gamma N) it is as printed",
    "onset-2": "the default counts the first front, which is below as a whole; see floor(gamma N)",
    "kernel-time": (
        "the default estimate evaluates both tasks' densities at points of both, in every call; the paper's "
        "machine and program are not at hand"
    ),
}
