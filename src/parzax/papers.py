"""Presets by the papers' texts and by their authors' code.

`parzax.c_tpe` and `parzax.mo_tpe` follow the authors' code where it differs from the text; `c_tpe`, `mo_tpe`
and `meta_learn_tpe` here follow the text. docs/studies/presets.md lists the differences, and the points in
which the presets here follow the code as well. All of them take the arguments of `parzax.tpe`.
"""

from parzax import samplers
from parzax.acquisition import Naive, Relative
from parzax.density.smoothing import Smoothing
from parzax.kernels.bandwidth import NormalReference, Scott
from parzax.meta import BySimilarity, Comparison
from parzax.samplers import Proposal
from parzax.samplers.presets import variant
from parzax.split import Split
from parzax.split.gamma import Linear, Sqrt


@variant(
    samplers.tpe,
    split=Split(Sqrt(), infeasible="better", merit=None),
    smoothing=Smoothing(Scott(), 0.8, joint=False),
    acquisition=Relative(),
    proposal=Proposal(24, repeats=True, midpoints=False, one_branch=False),
)
def tpe() -> None:
    """TPE with the settings of the c-TPE paper (arXiv 2211.14411) and its authors' kernels (2304.11127).

    The best ceil(sqrt(N) / 4) rows are in the group below (good rows, density l), the others in the group
    above (density g). Bandwidths follow Scott's rule on the rows and the prior's centre, clipped to
    [0.01, 0.5]; the smallest bandwidth of a discrete parameter is one step. Aitchison-Aitken kernels have
    top 0.8. The first 10 suggestions are random. Later ones are the best of 24 candidates by the score l / g,
    or by that of `parzax.c_tpe` under constraints; a new component is drawn for each parameter of a
    candidate.
    """


@variant(
    samplers.c_tpe,
    split=Split(Sqrt(), infeasible="better", every_tie=True, unsatisfied="all", merit=None),
    smoothing=Smoothing(NormalReference(), 0.8),
)
def c_tpe() -> None:
    """Constrained TPE, by the text of arXiv 2211.14411 (Algorithm 1, Section 2.2).

    Four settings differ from `parzax.c_tpe`. A candidate is drawn jointly, x ~ p(x | D^(l)). All rows with
    f <= f^gamma are below (Eq. 4). While no row satisfies a constraint, all rows at its smallest value are
    below, as Section 2.2 says (Appendix B.3.2 takes one of them). The bandwidth is that of Falkner et al.
    (2018), which Appendix F.3 names.
    """


@variant(
    samplers.c_tpe,
    split=Split(Sqrt(), infeasible="alike", unsatisfied="none", merit=None),
    acquisition=Naive(),
)
def naive_c_tpe() -> None:
    """The ablation of c-TPE: a product of plain ratios, and a split as if there were no constraints.

    A row is below for a constraint only if it satisfies it (Appendix B.2); c-TPE's authors take one row where
    none does, `parzax.Split` with ``unsatisfied="first"``.
    """


@variant(
    samplers.mo_tpe,
    split=Split(Linear(0.1), infeasible="better", every_tie=True, merit=None),
    smoothing=Smoothing(NormalReference(), 0.9),
)
def mo_tpe() -> None:
    """Multi-objective TPE, by the text of arXiv 2212.06751 (Section 4.4, Appendix C.2).

    These settings differ from `parzax.mo_tpe`. The best ceil(0.1 N) rows are below, however many rows the
    first front has; with one objective, all rows with f <= f^gamma are (Eq. 6). A candidate is drawn jointly.
    The bandwidth is that of Falkner et al. (2018), which Section 4.3.1 names.
    """


@variant(
    samplers.meta_learn_tpe,
    split=Split(Linear(0.1), infeasible="better", every_tie=True, merit=None),
    smoothing=Smoothing(NormalReference(), 0.9),
    acquisition=Relative(),
    start=5,
    proposal=Proposal(100, epsilon=0.05, repeats=True, midpoints=False, one_branch=False),
    task_weights=BySimilarity(),
    comparison=Comparison(estimate="uniform", n_good=Linear(0.1, down=True), top=None),
    max_candidates=10**6,
)
def meta_learn_tpe() -> None:
    """Meta-learning TPE, by the text of arXiv 2212.06751 (Algorithms 1 and 2).

    These settings differ from `authors_meta_learn_tpe`, besides those of `mo_tpe` above. Similarities are
    estimated at uniform points (Eq. 10). The densities that are compared have the categorical kernels of the
    score (Eq. 15 to 17). The number of compared parameters is computed from floor(0.1 N) good rows, so
    parameters are kept from 30 rows on (Section 4.5). Every task proposes ``n_candidates`` candidates.

    The arguments are those of `parzax.meta_learn_tpe`.
    """


@variant(
    meta_learn_tpe,
    split=Split(Linear(0.1), infeasible="better", first_front=True, merit=None),
    smoothing=Smoothing(Scott(0.1), 0.9, joint=False),
    comparison=Comparison(),
    max_candidates=1024,
)
def authors_meta_learn_tpe() -> None:
    """Meta-learning TPE as in its authors' code (arXiv 2212.06751).

    Rows are split as in `parzax.mo_tpe`. The first 5 suggestions are good rows of the sources. Each later
    suggestion is the best of 100 candidates from every task; 1 in 20 is random instead. In every density the
    weight W_m of task m is proportional to N_m k(1, m), where N_m is the size of the group. A source has
    k(1, m) = s_m / T, and the target has the rest, 1 - sum_m s_m / T. The similarity is
    s_m = (1 - d) / (1 + d), where d is the total variation between the densities below of the target and of
    task m, over the floor(log_eta |D_1^(l)|) most important parameters. If the sources are unlike the target,
    this sampler is worse than a sampler without sources (docs/studies/sources.md).

    The arguments are those of `parzax.meta_learn_tpe`.
    """
