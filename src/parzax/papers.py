"""Presets by the papers' texts and by their authors' code.

`parzax.c_tpe` and `parzax.mo_tpe` follow the authors' code where it differs from the text; `c_tpe`, `mo_tpe`
and `meta_learn_tpe` here follow the text. docs/studies/presets.md lists the differences, and the points in
which the presets here follow the code as well. All of them take the arguments of `parzax.tpe`.
"""

from typing import Any

from parzax import samplers
from parzax.acquisition import AbstractAcquisition, Naive, Relative
from parzax.density.smoothing import AbstractSmoothing, Smoothing
from parzax.kernels.bandwidth import Scott
from parzax.meta import AbstractTaskWeights, BySimilarity, Comparison
from parzax.samplers import Proposal, Sampler
from parzax.samplers.presets import Directions, names_guesses
from parzax.samplers.start import AbstractStart, RandomStart
from parzax.space import Space
from parzax.split import AbstractSplit, Split
from parzax.split.gamma import Linear, Sqrt
from parzax.split.merits import Equal

_SCOTT = Smoothing(Scott(), 0.8, joint=False)
_JOINT = Smoothing(Scott(), 0.8)


@names_guesses
def tpe(
    space: Space,
    n_objectives: int | None = None,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    split: AbstractSplit = Split(Sqrt(), merit=Equal()),
    smoothing: AbstractSmoothing = _SCOTT,
    acquisition: AbstractAcquisition | None = None,
    start: AbstractStart = RandomStart(),
    proposal: Proposal = Proposal(24, repeats=True),
) -> Sampler:
    """TPE with the settings of the c-TPE paper (arXiv 2211.14411) and its authors' kernels (2304.11127).

    The best ceil(sqrt(N) / 4) rows are in the group below (good rows, density l), the others in the group
    above (density g). Bandwidths follow Scott's rule on the rows and the prior's centre, clipped to
    [0.01, 0.5]; the smallest bandwidth of a discrete parameter is one step. Aitchison-Aitken kernels have
    top 0.8. The first 10 suggestions are random. Later ones are the best of 24 candidates by the score l / g,
    or by that of `parzax.c_tpe` under constraints; a new component is drawn for each parameter of a
    candidate.
    """
    if acquisition is None and n_constraints:
        acquisition = Relative()
    return samplers.tpe(
        space, n_objectives, n_constraints, directions=directions, split=split, smoothing=smoothing,
        acquisition=acquisition, start=start, proposal=proposal,
    )  # fmt: skip


@names_guesses
def c_tpe(
    space: Space,
    n_objectives: int | None = None,
    n_constraints: int = 1,
    *,
    directions: Directions = "minimize",
    split: AbstractSplit = Split(Sqrt(), every_minimum=True, merit=Equal()),
    smoothing: AbstractSmoothing = _JOINT,
    acquisition: AbstractAcquisition = Relative(),
    start: AbstractStart = RandomStart(),
    proposal: Proposal = Proposal(24, repeats=True),
) -> Sampler:
    """Constrained TPE, by the text of arXiv 2211.14411 (Algorithm 1, Section 2.2).

    Two settings differ from `parzax.c_tpe`. A candidate is drawn jointly, x ~ p(x | D^(l)). While no row
    satisfies a constraint, all rows at its smallest value are below, as Section 2.2 says (Appendix B.3.2
    takes one of them).
    """
    return samplers.c_tpe(
        space, n_objectives, n_constraints, directions=directions, split=split, smoothing=smoothing,
        acquisition=acquisition, start=start, proposal=proposal,
    )  # fmt: skip


@names_guesses
def naive_c_tpe(
    space: Space,
    n_objectives: int | None = None,
    n_constraints: int = 1,
    *,
    directions: Directions = "minimize",
    split: AbstractSplit = Split(Sqrt(), up_to_feasible=False, merit=Equal()),
    smoothing: AbstractSmoothing = _SCOTT,
    acquisition: AbstractAcquisition = Naive(),
    start: AbstractStart = RandomStart(),
    proposal: Proposal = Proposal(24, repeats=True),
) -> Sampler:
    """The ablation of c-TPE: a product of plain ratios, and a split as if there were no constraints."""
    return samplers.c_tpe(
        space, n_objectives, n_constraints, directions=directions, split=split, smoothing=smoothing,
        acquisition=acquisition, start=start, proposal=proposal,
    )  # fmt: skip


@names_guesses
def mo_tpe(
    space: Space,
    n_objectives: int | None = 2,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    split: AbstractSplit = Split(Linear(0.1), merit=Equal()),
    smoothing: AbstractSmoothing = Smoothing(Scott(0.1), 0.9),
    acquisition: AbstractAcquisition | None = None,
    start: AbstractStart = RandomStart(),
    proposal: Proposal = Proposal(100, repeats=True),
) -> Sampler:
    """Multi-objective TPE, by the text of arXiv 2212.06751 (Section 4.4, Appendix C.2).

    Two settings differ from `parzax.mo_tpe`. The best ceil(0.1 N) rows are below, however many rows the first
    front has. A candidate is drawn jointly.
    """
    return samplers.mo_tpe(
        space, n_objectives, n_constraints, directions=directions, split=split, smoothing=smoothing,
        acquisition=acquisition, start=start, proposal=proposal,
    )  # fmt: skip


_GOOD = Comparison(estimate="uniform", n_good=Linear(0.1, down=True), top=None)


@names_guesses
def meta_learn_tpe(
    space: Space,
    sources: Any,
    n_objectives: int | None = None,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    split: AbstractSplit = Split(Linear(0.1), merit=Equal()),
    smoothing: Smoothing = Smoothing(Scott(0.1), 0.9),
    acquisition: AbstractAcquisition | None = None,
    start: AbstractStart | int | None = 5,
    proposal: Proposal = Proposal(100, epsilon=0.05, repeats=True),
    task_weights: AbstractTaskWeights = BySimilarity(),
    comparison: Comparison = _GOOD,
    max_candidates: int | None = 10**6,
) -> Sampler:
    """Meta-learning TPE, by the text of arXiv 2212.06751 (Algorithms 1 and 2).

    These settings differ from `authors_meta_learn_tpe`, besides those of `mo_tpe` above. Similarities are
    estimated at uniform points (Eq. 10). The densities that are compared have the categorical kernels of the
    score (Eq. 15 to 17). The number of compared parameters is computed from floor(0.1 N) good rows, so
    parameters are kept from 30 rows on (Section 4.5). Every task proposes ``n_candidates`` candidates.

    The arguments are those of `parzax.meta_learn_tpe`.
    """
    return samplers.meta_learn_tpe(
        space, sources, n_objectives, n_constraints, directions=directions, split=split, smoothing=smoothing,
        acquisition=acquisition, start=start, proposal=proposal, task_weights=task_weights,
        comparison=comparison, max_candidates=max_candidates,
    )  # fmt: skip


@names_guesses
def authors_meta_learn_tpe(
    space: Space,
    sources: Any,
    n_objectives: int | None = None,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    split: AbstractSplit = Split(Linear(0.1), first_front=True, merit=Equal()),
    smoothing: Smoothing = Smoothing(Scott(0.1), 0.9, joint=False),
    acquisition: AbstractAcquisition | None = None,
    start: AbstractStart | int | None = 5,
    proposal: Proposal = Proposal(100, epsilon=0.05, repeats=True),
    task_weights: AbstractTaskWeights = BySimilarity(),
    comparison: Comparison = Comparison(),
    max_candidates: int | None = 1024,
) -> Sampler:
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
    return samplers.meta_learn_tpe(
        space, sources, n_objectives, n_constraints, directions=directions, split=split, smoothing=smoothing,
        acquisition=acquisition, start=start, proposal=proposal, task_weights=task_weights,
        comparison=comparison, max_candidates=max_candidates,
    )  # fmt: skip
