"""Why rows differ, by key; a row that is not here says that it is not known."""

_TOP = "px.tpe gives a category a fixed 0.8 of a kernel's mass; with Optuna's top, which depends on n, "
REASONS = {
    "t3-released-px.tpe": _TOP + "the row below agrees",
    "t3-own-px.tpe": _TOP + "see the row below",
}
