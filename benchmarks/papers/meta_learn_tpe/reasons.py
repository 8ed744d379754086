"""Why rows differ, by key; a row that is not here says that it is not known."""

REASONS = {
    "onset-1": "the default counts ceil(gamma N) rows below; with floor(gamma N) it is as printed",
    "onset-2": "the default counts the first front, which is below as a whole; see floor(gamma N)",
    "kernel-time": (
        "the default estimate evaluates both tasks' densities at points of both, in every call; the paper's "
        "machine and program are not at hand"
    ),
}
