"""Why rows differ or are not told apart, by key, where a sentence says it."""

from benchmarks.studies.papers.c_tpe.unconstrained import BY_N

_TOP = "in px.paper_tpe a category keeps a fixed 0.8 of its kernel; with Optuna's top, which depends on n, "
_TABLES = "the paper's test is over nine tables; the runs on five of them are at hand"
# `choose_generation_strategy` of Ax 0.2.2, called by hand with the parameters of the tables.
SOBOL = (
    "by our reading the authors leave the method to Ax 0.2.2, whose rule, called with the parameters of "
    "these tables, chooses a Sobol sequence without a model; "
)
_RANDOM = SOBOL + "random search, in rows of its own, shows what is printed"
REASONS = {
    "t2-0.1": "ours are 10 of the paper's 18 settings; the row below shows how large the difference is",
    "t3-our TPE-Hyperopt": _TABLES,
    "t3-Hyperopt-our TPE": _TABLES,
    "t3-TuRBO-1-our TPE": _TABLES,
    "t3-TuRBO-5-Hyperopt": _TABLES,
    f"t3-released-{BY_N}": "15 released runs spread widely on HPOlib; more of them would tell",
    "f2-loose-gamma0": (
        "0.02 is ceil(sqrt(200) / 4) / 200, four rows, as in TPE; c-TPE has four only if the four best rows "
        "are feasible, which is rare, as the best point is not"
    ),
    "t3-released-px.paper_tpe": _TOP + "no table differs: the row below",
    "t1-NEI": _RANDOM,
    "nei-vanilla-0.9": _RANDOM,
    "t3-own-px.paper_tpe": _TOP + "see the row below",
}
