"""Presets: values of `Sampler` with settings that did best, and with published ones."""

from dataclasses import replace
from typing import Unpack

from parzax import _checks
from parzax.acquisition import Naive, Ratio, Relative
from parzax.kernels.bandwidth import AbstractBandwidth, CategoricalBandwidth, neighbours, optuna_top, scott
from parzax.parzen.ages import AbstractAges, equal
from parzax.parzen.basis import families_of
from parzax.parzen.smoothing import Smoothing
from parzax.samplers.options import Directions, Kernels, Number, Options, with_defaults
from parzax.samplers.sampler import Sampler
from parzax.samplers.start import AbstractStart, RandomStart
from parzax.space import Space
from parzax.split import Split, merits
from parzax.split.gamma import AbstractGamma, linear, optuna, sqrt
from parzax.split.merits import AbstractMerit
from parzax.split.ties import AbstractTies, crowding

# Defaults of `tpe`, as its signature shows them.
_NEIGHBOURS, _OPTUNA_TOP, _EQUAL = neighbours(), optuna_top(), equal()
_BY_RANK, _CROWDING, _RANDOM = merits.by_rank(), crowding(), RandomStart()


def tpe(
    space: Space,
    n_objectives: int = 1,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    gamma: AbstractGamma | None = None,
    first_front: bool = False,
    ties: AbstractTies = _CROWDING,
    every_minimum: bool = False,
    share_power: Number = 3.0,
    bandwidth: AbstractBandwidth = _NEIGHBOURS,
    top: Number | CategoricalBandwidth = _OPTUNA_TOP,
    prior_weight: float = 1.0,
    ages: AbstractAges = _EQUAL,
    merit: AbstractMerit = _BY_RANK,
    kernels: Kernels | None = None,
    joint: bool = True,
    start: AbstractStart = _RANDOM,
    n_startup: int = 10,
    n_candidates: int | None = None,
    epsilon: Number = 0.0,
    gradient_steps: int = 0,
    repeats: bool = False,
) -> Sampler:
    """TPE with the settings that did best over a suite of problems (docs/optimisers).

    The best ceil(0.2 N) rows are below (the good group, of density l), weighted by rank
    (`parzax.merits.by_rank`), the others above (of density g); kernels are Optuna 5's, each reaches to the
    farther of its neighbours (`parzax.bandwidth.neighbours`, `optuna_top`); 10 random rows, then 64
    candidates, all parameters of each from one component; the score is the ratio l / g. What is known is not
    suggested again while a candidate is new.

    Constraints enter by the score of c-TPE (arXiv 2211.14411), a product of relative density ratios, with the
    objective's share cubed (`parzax.acquisition.Relative`); all rows up to the ceil(0.1 N)-th feasible one
    are then below. Rows of several objectives are ordered by non-domination rank, then by ``ties``.
    `meta_learn_tpe` starts from logs of other tasks; `paper_tpe`, `c_tpe`, `mo_tpe`, `optuna_tpe`
    and `paper_meta_learn_tpe` have published settings.

    Args:
        space: the search space.
        n_objectives, n_constraints: m and c; a constraint is satisfied where it is at most 0.
        directions: "minimize" or "maximize", for all objectives or for each.
        gamma: how many rows are below, a rule of `parzax.gamma`; ``linear(0.2)`` when None, ``linear(0.1)``
            under constraints, where so many feasible ones are.
        first_front: of several objectives, whether the first front is below as a whole, however large
            (`parzax.split.Split`).
        ties: of several objectives, which rows of a front are below where not all are:
            `parzax.ties.crowding()`, or `hypervolume()` as in Ozaki et al. and Optuna, for two or three
            objectives.
        every_minimum: while no row satisfies a constraint, all rows at its smallest value are below (c-TPE's
            main text) instead of the first of them (the authors' code). In discrete spaces the repeats of one
            configuration can then hold a run for ever.
        share_power: under constraints the objective's share gamma enters the score as gamma ** share_power. 1
            is c-TPE's score, more gives the objective more say; no effect without constraints.
        bandwidth: of numeric kernels, a rule of `parzax.bandwidth`.
        top: probability that an Aitchison-Aitken kernel gives to its own category, or
            `parzax.bandwidth.optuna_top()`.
        prior_weight: weight of the prior kernel, in rows.
        ages: how much older rows count: `parzax.ages.equal()`, or `ramp()` as in Optuna and Hyperopt.
        merit: how much more the best of the rows below count: `parzax.merits.equal()`, or `by_rank()`.
        kernels: name -> class of kernels, to replace the usual ones of single parameters.
        joint: candidates from one component, as in Optuna, instead of one per parameter.
        start: first suggestions: at random, or `parzax.samplers.FromRows`.
        n_startup: number of rows until which suggestions come from ``start``; pending and failed rows count,
            constraint-only ones do not.
        n_candidates: candidates per group below; when None 64, and 24 for several objectives.
        epsilon: probability of a random suggestion after the start.
        gradient_steps: so many steps of gradient ascent, in continuous coordinates, from the 8 best
            candidates (n for a larger batch). In a batch, end points within 1e-3 of each other on every axis
            count as one; the others are replaced by their starting points.
        repeats: whether a configuration that was evaluated, or is pending, may be suggested again. With False
            only where all candidates, and a few random ones (of up to 512 configurations all), are known;
            random suggestions may be any. It pays where parameters have few values and evaluations no noise.

    Returns:
        A `parzax.samplers.Sampler`, with ``init``, ``ask``, ``tell`` and ``best``.

    Raises:
        TypeError, ValueError: settings that are none, such as a ``gamma`` that is no rule of `parzax.gamma`.
    """
    if gamma is None:
        gamma = linear(0.1 if n_constraints else 0.2)
    if n_candidates is None:
        n_candidates = 64 if n_objectives == 1 else 24
    smoothing = Smoothing(bandwidth, top, prior_weight, ages, joint, families_of(space, kernels))
    n_objectives = _checks.whole_number("n_objectives", n_objectives, 1)
    n_constraints = _checks.whole_number("n_constraints", n_constraints, 0)
    relative = Relative(share_power)  # checked where it plays no part, too
    split = Split(gamma, n_constraints > 0, first_front, every_minimum, ties, merit)
    ties.check(n_objectives)
    return Sampler(
        space,
        split,
        smoothing,
        relative if n_constraints else Ratio(),
        _checks.directions(directions, n_objectives),
        n_constraints=n_constraints,
        start=start,
        n_startup=n_startup,
        n_candidates=n_candidates,
        epsilon=epsilon,
        gradient_steps=gradient_steps,
        repeats=repeats,
    )


# Options of the papers on c-TPE and meta-learning TPE, and of Optuna, that differ from the defaults of `tpe`.
_C_TPE = Options(
    gamma=sqrt(), share_power=1.0, bandwidth=scott(), top=0.8, merit=merits.equal(), joint=False,
    n_candidates=24, repeats=True,
)  # fmt: skip
MO_TPE = Options(
    gamma=linear(0.1), first_front=True, share_power=1.0, bandwidth=scott(0.1), top=0.9, merit=merits.equal(),
    joint=False, n_candidates=100, repeats=True,
)  # fmt: skip
_OPTUNA_TPE = Options(gamma=optuna(), share_power=1.0, merit=merits.equal(), n_candidates=24, repeats=True)


@with_defaults(tpe, _C_TPE)
def paper_tpe(
    space: Space,
    n_objectives: int = 1,
    n_constraints: int = 0,
    *,
    direction: Directions = "minimize",
    **options: Unpack[Options],
) -> Sampler:
    """TPE with the settings of the paper of c-TPE (arXiv 2211.14411), and its authors' kernels (2304.11127).

    The best ceil(sqrt(N) / 4) rows are below (the good group, of density l), the others above (of density g);
    Scott's rule on rows and the prior's centre, clipped to [0.01, 0.5] (discrete: one step);
    Aitchison-Aitken kernels with top 0.8; 10 random rows, then 24 candidates, each parameter from its own
    component; the score is the ratio l / g, and under constraints that of `c_tpe`.

    Args:
        space, n_objectives, n_constraints: as of `tpe`.
        direction: as ``directions`` of `tpe`.
        **options: those of `tpe`, with the defaults above.
    """
    return tpe(space, n_objectives, n_constraints, directions=direction, **options)


@with_defaults(tpe, _C_TPE)
def c_tpe(
    space: Space,
    n_constraints: int = 1,
    *,
    n_objectives: int = 1,
    naive: bool = False,
    direction: Directions = "minimize",
    **options: Unpack[Options],
) -> Sampler:
    """Constrained TPE (arXiv 2211.14411).

    As `paper_tpe`, with one pair of densities per constraint; the objective's group below reaches to the
    ceil(sqrt(N) / 4)-th feasible row, the score is the product of relative density ratios, candidates come
    from every group below.

    Args:
        space, n_constraints, n_objectives: as of `tpe`.
        naive: the paper's ablation: a product of plain ratios with the plain split, without ``share_power``.
        direction: as ``directions`` of `tpe`.
        **options: those of `tpe`, with the defaults of `paper_tpe`.
    """
    sampler = tpe(space, n_objectives, n_constraints, directions=direction, **options)
    if _checks.flag("naive", naive):
        # The naive product splits as if there were no constraints.
        return replace(sampler, acquisition=Naive(), split=replace(sampler.split, up_to_feasible=False))
    # Without constraints, too.
    return replace(sampler, acquisition=Relative(options.get("share_power", 1.0)))


@with_defaults(tpe, MO_TPE)
def mo_tpe(
    space: Space,
    n_objectives: int = 2,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    **options: Unpack[Options],
) -> Sampler:
    """Multi-objective TPE as in meta-learning TPE (arXiv 2212.06751; Ozaki et al. 2022).

    Rows are ordered by non-domination rank, then by ``ties``; the first front or ceil(0.1 N) rows, if that is
    more, are below: with constraints, all rows up to that many feasible ones. Rows below count alike. Scott's
    rule with a lower clip of 0.1, top 0.9, 100 candidates, each parameter from its own component. With
    constraints the score is c-TPE's.

    Args:
        space, n_objectives, n_constraints, directions: as of `tpe`.
        **options: those of `tpe`, with the defaults above.
    """
    return tpe(space, n_objectives, n_constraints, directions=directions, **options)


@with_defaults(tpe, _OPTUNA_TPE)
def optuna_tpe(
    space: Space,
    n_objectives: int = 1,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    **options: Unpack[Options],
) -> Sampler:
    """TPE with Optuna 5's multivariate settings: min(ceil(0.1 N), 25) rows below, neighbour bandwidths.

    Rows below count alike, there are 24 candidates, and a known configuration may be suggested again.
    Constraints enter by c-TPE's score (Optuna ranks by violation).

    Args:
        space, n_objectives, n_constraints, directions: as of `tpe`.
        **options: those of `tpe`, with the defaults above.
    """
    return tpe(space, n_objectives, n_constraints, directions=directions, **options)
