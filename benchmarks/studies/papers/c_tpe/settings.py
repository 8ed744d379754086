"""What is run: quantiles, constraints, methods."""

from typing import NamedTuple

import parzax as px

# Tables of the paper.
N_TABLES = 9
QUANTILES = tuple(round(0.1 * i, 1) for i in range(1, 10))
# Those of Tables 1 and 2.
PRINTED_QUANTILES = (0.1, 0.5, 0.9)
BUDGETS = (50, 100, 150, 200)
# Seeds as in the paper, and how many more where differences are small.
N_EVALUATIONS, N_SEEDS, N_AGAIN, QUICK_SEEDS = 200, 50, 450, 15
CONSTRAINTS = {"size": ("size",), "runtime": ("runtime",), "both": ("size", "runtime")}
OURS, TOP, NAIVE, VANILLA, RANDOM = "c-TPE", "c-TPE with Optuna's top", "naive", "vanilla", "random"
AUGMENTED, CNSGA, NEI = "augmented", "CNSGA-II", "NEI"
# Those that more seeds are run of.
CLOSE = (OURS, AUGMENTED, VANILLA)
# Rows of which the size alone is known.
N_AUGMENTED = 200


class Setting(NamedTuple):
    """Table, what is constrained, and at which quantile."""

    table: str
    constraints: str
    quantile: float


def naive(space: px.Space, n_constraints: int) -> px.samplers.Sampler:
    """The naive product of the authors' code; that of the text takes no row where none is feasible."""
    split = px.Split(px.gamma.Sqrt(), infeasible="alike", merit=None)
    return px.papers.naive_c_tpe(space, n_constraints=n_constraints, split=split)
