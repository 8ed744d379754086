"""Presets: functions that return a `Sampler` with the best settings of our benchmarks, or published ones."""

from dataclasses import replace
from typing import Unpack

from parzax import _checks
from parzax.acquisition import Naive, Ratio, Relative
from parzax.density.ages import AbstractAges, Equal
from parzax.density.basis import families_of
from parzax.density.smoothing import Smoothing
from parzax.kernels.bandwidth import AbstractBandwidth, CategoricalBandwidth, Neighbours, OptunaTop, Scott
from parzax.pareto import AbstractTies, Crowding
from parzax.samplers.options import Directions, Kernels, Number, Options, with_defaults
from parzax.samplers.sampler import Sampler
from parzax.samplers.start import AbstractStart, RandomStart
from parzax.space import Space
from parzax.split import Split, merits
from parzax.split.gamma import AbstractGamma, linear, optuna, sqrt
from parzax.split.merits import AbstractMerit

# Defaults of `tpe`, as its signature shows them.
_NEIGHBOURS, _OPTUNA_TOP, _EQUAL = Neighbours(), OptunaTop(), Equal()
_BY_RANK, _CROWDING, _RANDOM = merits.by_rank(), Crowding(), RandomStart()


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
    """TPE with the settings that did best on a suite of problems (docs/studies/optimisers).

    The best ceil(0.2 N) rows are in the group below (good rows, density l), with weights by rank
    (`parzax.merits.by_rank`). The other rows are in the group above (density g). Kernels are those of Optuna
    5: each reaches to the farther of its neighbours (`parzax.bandwidth.Neighbours`, `optuna_top`). The first
    10 suggestions are random. Later suggestions are the best of 64 candidates by the score l / g; all
    parameters of a candidate come from one component. A configuration that was already evaluated is not
    suggested again unless all candidates were evaluated.

    Under constraints the score is that of c-TPE (arXiv 2211.14411), a product of relative density ratios,
    with the objective's share cubed (`parzax.acquisition.Relative`). All rows up to the ceil(0.1 N)-th
    feasible row are then below. With several objectives, rows are ordered by non-domination rank, then by
    ``ties``. `meta_learn_tpe` starts from logs of other tasks. `paper_tpe`, `c_tpe`, `mo_tpe`, `optuna_tpe`
    and `paper_meta_learn_tpe` have published settings.

    Args:
        space: the search space.
        n_objectives, n_constraints: m and c; a constraint is satisfied if it is at most 0.
        directions: "minimize" or "maximize", for all objectives or one per objective.
        gamma: rule of `parzax.gamma` for the number of rows below. None is ``linear(0.2)``; under constraints
            it is ``linear(0.1)``, which then counts feasible rows.
        first_front: for several objectives, whether the group below holds all of the first front, even if
            that is more rows than ``gamma`` asks for (`parzax.split.Split`).
        ties: for several objectives, rule for the rows of a front that is only partly below:
            `parzax.pareto.Crowding()`, or, for two or three objectives, `parzax.pareto.Hypervolume()` as in
            Ozaki et al. and Optuna.
        every_minimum: which rows are in a constraint's group below while no row satisfies the constraint.
            True takes all rows with the smallest value of the constraint (c-TPE's main text), False the first
            of these rows (the authors' code). With True in a discrete space, a run may suggest one
            configuration for ever.
        share_power: under constraints, the objective's share gamma enters the score as gamma ** share_power.
            1 gives c-TPE's score; larger values give the objective more influence. No effect without
            constraints.
        bandwidth: rule of `parzax.bandwidth` for numeric kernels.
        top: probability that an Aitchison-Aitken kernel gives to its category, or
            `parzax.bandwidth.OptunaTop()`.
        prior_weight: weight of the prior kernel, in rows.
        ages: rule for the weights of older rows: `parzax.ages.Equal()`, or `Ramp()` as in Optuna and
            Hyperopt.
        merit: rule for the weights of the rows below: `parzax.merits.equal()`, or `by_rank()`.
        kernels: name -> kernel class that replaces the default for this parameter.
        joint: whether all parameters of a candidate come from one component, as in Optuna. With False a new
            component is drawn for each parameter, as in the authors' code.
        start: first suggestions: `parzax.samplers.RandomStart()`, or `parzax.samplers.FromRows`.
        n_startup: suggestions come from ``start`` until there are this many rows; pending and failed rows
            count, constraint-only rows do not.
        n_candidates: candidates per group below; None is 64, and 24 for several objectives.
        epsilon: probability of a random suggestion after the start.
        gradient_steps: number of steps of gradient ascent, in continuous coordinates, from the 8 best
            candidates (from the n best in a batch of n > 8). If end points of a batch lie within 1e-3 of each
            other on every axis, only the best of them is kept, and the others are replaced by their starting
            points.
        repeats: whether a configuration that was evaluated, or is pending, may be suggested again. With False
            it is suggested again only if no new configuration is left among the candidates and a few random
            configurations (in a space of up to 512 configurations: among all configurations). This does not
            restrict random suggestions. False is better if parameters have few values and evaluations have
            no noise.

    Returns:
        A `parzax.samplers.Sampler`, with ``init``, ``ask``, ``tell`` and ``best``.

    Raises:
        TypeError, ValueError: invalid settings, such as a ``gamma`` that is not a rule of `parzax.gamma`.
    """
    if gamma is None:
        gamma = linear(0.1 if n_constraints else 0.2)
    if n_candidates is None:
        n_candidates = 64 if n_objectives == 1 else 24
    smoothing = Smoothing(bandwidth, top, prior_weight, ages, joint, families_of(space, kernels))
    n_objectives = _checks.whole_number("n_objectives", n_objectives, 1)
    n_constraints = _checks.whole_number("n_constraints", n_constraints, 0)
    relative = Relative(share_power)  # built even without constraints, so that share_power is always checked
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


# Options of the c-TPE paper, the meta-learning TPE paper and Optuna that differ from the defaults of `tpe`.
_C_TPE = Options(
    gamma=sqrt(), share_power=1.0, bandwidth=Scott(), top=0.8, merit=merits.equal(), joint=False,
    n_candidates=24, repeats=True,
)  # fmt: skip
MO_TPE = Options(
    gamma=linear(0.1), first_front=True, share_power=1.0, bandwidth=Scott(0.1), top=0.9, merit=merits.equal(),
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
    """TPE with the settings of the c-TPE paper (arXiv 2211.14411) and its authors' kernels (2304.11127).

    The best ceil(sqrt(N) / 4) rows are in the group below (good rows, density l), the others in the group
    above (density g). Bandwidths follow Scott's rule on the rows and the prior's centre, clipped to
    [0.01, 0.5]; the smallest bandwidth of a discrete parameter is one step. Aitchison-Aitken kernels have
    top 0.8. The first 10 suggestions are random. Later ones are the best of 24 candidates by the score l / g,
    or by that of `c_tpe` under constraints; a new component is drawn for each parameter of a candidate.

    Args:
        space, n_objectives, n_constraints: as in `tpe`.
        direction: as ``directions`` in `tpe`.
        **options: the options of `tpe`, with the defaults above.
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

    It is `paper_tpe` with one more pair of densities per constraint. All rows up to the
    ceil(sqrt(N) / 4)-th feasible row are in the objective's group below. The score is the product of relative
    density ratios, and candidates come from every group below.

    Args:
        space, n_constraints, n_objectives: as in `tpe`.
        naive: True gives the paper's ablation: the score is a product of plain ratios, the split ignores
            feasibility, and ``share_power`` is not used.
        direction: as ``directions`` in `tpe`.
        **options: the options of `tpe`, with the defaults of `paper_tpe`.
    """
    sampler = tpe(space, n_objectives, n_constraints, directions=direction, **options)
    if _checks.flag("naive", naive):
        # The ablation splits the objective's rows as if there were no constraints.
        return replace(sampler, acquisition=Naive(), split=replace(sampler.split, up_to_feasible=False))
    # `tpe` uses `Ratio` without constraints, but c-TPE uses `Relative` there too.
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

    Rows are ordered by non-domination rank, then by ``ties``. The group below holds the first front, or
    ceil(0.1 N) rows if that is more. Under constraints only feasible rows are counted: all rows up to the
    last counted one are below. Rows below have equal weights. Bandwidths follow Scott's rule with a lower
    clip of 0.1, and top is 0.9. There are 100 candidates; a new component is drawn for each parameter of a
    candidate. Under constraints the score is c-TPE's.

    Args:
        space, n_objectives, n_constraints, directions: as in `tpe`.
        **options: the options of `tpe`, with the defaults above.
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

    Rows below have equal weights, there are 24 candidates, and a configuration may be suggested again. Under
    constraints the score is c-TPE's (Optuna ranks by violation instead).

    Args:
        space, n_objectives, n_constraints, directions: as in `tpe`.
        **options: the options of `tpe`, with the defaults above.
    """
    return tpe(space, n_objectives, n_constraints, directions=directions, **options)
