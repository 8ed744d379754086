"""Why rows differ, by key; a row that is not here says that it is not known."""

_TOP = "px.paper_tpe gives a category a fixed 0.8 of a kernel's mass; with Optuna's top, which depends on n, "
REASONS = {
    "t3-released-px.paper_tpe": _TOP + "the row below agrees",
    "top-tenth-nasbench201": (
        "two of the paper's three tables; with CIFAR-100, which is not in PARZAX_DATA, it is 42 % by the "
        "README of the data"
    ),
    "t3-own-px.paper_tpe": _TOP + "see the row below",
}
