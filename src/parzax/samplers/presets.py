"""Presets: functions that return a `Sampler` with the best settings of our benchmarks, or published ones.

A preset's parts are values: a split, a smoothing, an acquisition function, a start and a proposal. Give
another value to change a part; what the value does not say has the defaults of its class, which are those of
`tpe`.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import wraps
from inspect import Signature, signature
from typing import Any, TypeVar

from parzax import _checks
from parzax.acquisition import AbstractAcquisition, Relative
from parzax.density.ages import Ramp
from parzax.density.prior import beliefs_of
from parzax.density.smoothing import AbstractSmoothing, Smoothing
from parzax.kernels.bandwidth import Scott
from parzax.meta import Comparison
from parzax.pareto import Crowding, Hypervolume
from parzax.samplers.candidates import AbstractStart, Proposal, RandomStart
from parzax.samplers.sampler import Sampler
from parzax.space import Space
from parzax.split import AbstractSplit, Split
from parzax.split.gamma import Linear, Optuna, Sqrt

Directions = _checks.Sense | Sequence[_checks.Sense]
Preset = TypeVar("Preset", bound=Callable[..., Sampler])

# Where a setting is that somebody may give to a preset by its name.
_PARTS = {
    "comparison=parzax.meta.Comparison": Comparison,
    "split=parzax.Split": Split,
    "smoothing=parzax.density.Smoothing": Smoothing,
    "acquisition=parzax.acquisition.Relative": Relative,
    "start=parzax.samplers.RandomStart": RandomStart,
    "proposal=parzax.samplers.Proposal": Proposal,
}
GUESSES = {name.name: f"{part}({name.name}=...)" for part, kind in _PARTS.items() for name in fields(kind)}
GUESSES |= dict.fromkeys(("direction", "maximize"), 'directions="maximize"')


def names_guesses(preset: Preset) -> Preset:
    """Decorate a preset: the error for an argument that it does not have names where the setting is."""
    guesses = GUESSES
    if "sources" in signature(preset).parameters:
        guesses = GUESSES | {"n_startup": "start=..., a number"}
    return _checks.known_arguments(guesses)(preset)


def variant(of: Preset, **defaults: Any) -> Callable[[Callable[[], None]], Preset]:
    """Decorate a description: the preset ``of`` with other defaults, under the description's name."""
    parameters = signature(of).parameters.values()
    signed = Signature([p.replace(default=defaults.get(p.name, p.default)) for p in parameters])

    def decorate(described: Callable[[], None]) -> Preset:
        @wraps(described)
        def preset(*args: Any, **options: Any) -> Sampler:
            given = signed.bind(*args, **options)
            given.apply_defaults()
            return of(*given.args, **given.kwargs)

        preset.__signature__ = signed  # pyright: ignore[reportAttributeAccessIssue]
        return names_guesses(preset)  # pyright: ignore[reportReturnType]

    return decorate


@names_guesses
def tpe(
    space: Space,
    n_objectives: int | None = None,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    split: AbstractSplit = Split(),
    smoothing: AbstractSmoothing = Smoothing(),
    acquisition: AbstractAcquisition = Relative(3.0),
    start: AbstractStart = RandomStart(),
    proposal: Proposal = Proposal(),
    prior: Any = None,
) -> Sampler:
    """TPE with the settings that did best on a suite of problems (docs/studies/optimisers).

    The best ceil(0.2 N) rows are in the group below (good rows, density l), with weights by rank
    (`parzax.merits.ByRank`). The other rows are in the group above (density g). Kernels are those of Optuna
    5: each reaches to the farther of its neighbours (`parzax.bandwidth`). The first 10 suggestions are
    random. Later suggestions are the best of 64 candidates by the score l / g; all parameters of a candidate
    come from one component. A configuration that was already evaluated is not suggested again unless all
    candidates were evaluated.

    Under constraints the score is that of c-TPE (arXiv 2211.14411), a product of relative density ratios,
    with the objective's share cubed (`parzax.acquisition.Relative`). The best ceil(0.1 N) feasible rows are
    then below, and of the better infeasible rows the ceil(0.1 N) with the smallest violation. With several
    objectives, rows are ordered by non-domination rank, then by the split's ``ties``.
    `parzax.meta_learn_tpe` starts from logs of other tasks. `c_tpe`, `mo_tpe`, `optuna_tpe` and those of
    `parzax.papers` have published settings.

    Args:
        space: the search space.
        n_objectives, n_constraints: m and c; a constraint is satisfied if it is at most 0. None is the number
            of ``directions``.
        directions: "minimize" or "maximize", for all objectives or one per objective.
        split: which rows are in the groups below and above (`parzax.Split`).
        smoothing: the densities of the groups (`parzax.density.Smoothing`).
        acquisition: the score of candidates, from `parzax.acquisition`.
        start: first suggestions: `parzax.samplers.RandomStart`, or `parzax.samplers.FromRows`.
        proposal: how candidates are proposed after the start (`parzax.samplers.Proposal`).
        prior: beliefs about good values by name: `parzax.prior.Normal` for numbers, a dict of weights for
            choices (on any scale, 0 for choices that it does not have), or a density of native values with
            ``log_prob``, such as a `parzax.ParzenEstimator` of the good rows of another log. A Parzen density
            alone is a belief about each of its parameters, by its marginals.
            After n rows the beliefs have the share min(1/2, 10 / n) of the random first suggestions, and
            later of the prior in the good density (docs/studies/beliefs.md). A belief holds wherever its
            parameter is active, in each of its domains that contains it.

    Returns:
        A `parzax.samplers.Sampler`, with ``init``, ``ask``, ``tell`` and ``best``.

    Raises:
        TypeError, ValueError: invalid settings, such as a ``split`` that is not one, or a belief about a
            name or values that the space does not have.

    >>> import parzax as px
    >>> space = px.Space({"x": px.Float(0, 1)})
    >>> px.tpe(space, split=px.Split(gamma=px.gamma.Linear(0.1))).split.gamma
    Linear(beta=0.1)
    """
    if n_objectives is not None:
        n_objectives = _checks.whole_number("n_objectives", n_objectives, 1)
    n_constraints = _checks.whole_number("n_constraints", n_constraints, 0)
    signs = _checks.directions(directions, n_objectives)
    if isinstance(split, Split):
        split.ties.check(len(signs))
    beliefs = beliefs_of(space, prior)
    return Sampler(space, split, smoothing, acquisition, signs, n_constraints, start, proposal, beliefs)


@variant(
    tpe,
    n_constraints=1,
    split=Split(Sqrt(), infeasible="better", merit=None),
    smoothing=Smoothing(Scott(), 0.8, joint=False),
    acquisition=Relative(),
    proposal=Proposal(24, repeats=True, midpoints=False, one_branch=False),
)
def c_tpe() -> None:
    """Constrained TPE (arXiv 2211.14411), as in its authors' code.

    There is a pair of densities for the objective and for each constraint. All rows up to the
    ceil(sqrt(N) / 4)-th feasible row are in the objective's group below. The score is the product of relative
    density ratios. Candidates come from every group below, 24 from each; a new component is drawn for each
    parameter of a candidate. Bandwidths follow Scott's rule on the rows and the prior's centre, clipped to
    [0.01, 0.5]; the smallest bandwidth of a discrete parameter is one step. Aitchison-Aitken kernels have top
    0.8. The first 10 suggestions are random. `parzax.papers` has the ablation, and the paper's text.

    The arguments are those of `tpe`.
    """


@variant(
    tpe,
    n_objectives=2,
    split=Split(Linear(0.1), infeasible="better", first_front=True, merit=None),
    smoothing=Smoothing(Scott(0.1), 0.9, joint=False),
    acquisition=Relative(),
    proposal=Proposal(100, repeats=True, midpoints=False, one_branch=False),
)
def mo_tpe() -> None:
    """Multi-objective TPE as in meta-learning TPE (arXiv 2212.06751; Ozaki et al. 2022).

    Rows are ordered by non-domination rank, then by crowding distance. The group below holds the first front,
    or ceil(0.1 N) rows if that is more. Under constraints only feasible rows are counted: all rows up to the
    last counted one are below. Rows below have equal weights. Bandwidths follow Scott's rule with a lower
    clip of 0.1, and top is 0.9. There are 100 candidates; a new component is drawn for each parameter of a
    candidate. Under constraints the score is c-TPE's.

    The arguments are those of `tpe`.
    """


@wraps(tpe)
def _tpe_with_split(*args: Any, split: AbstractSplit | None, **options: Any) -> Sampler:
    """`tpe`; without a split, the one of Optuna for this number of objectives."""
    sampler = tpe(*args, **options)
    if split is None:
        m = sampler.n_objectives
        ties = Hypervolume() if m in (2, 3) else Crowding()
        split = Split(Optuna() if m == 1 else Linear(0.1), infeasible="better", ties=ties, merit=None)
    return replace(sampler, split=split)


@variant(
    _tpe_with_split,
    split=None,
    smoothing=Smoothing(ages=Ramp()),
    acquisition=Relative(),
    proposal=Proposal(24, repeats=True, midpoints=False, one_branch=False),
)
def optuna_tpe() -> None:
    """TPE as in Optuna 5 with ``multivariate=True``: the same scores as its estimators, in float64.

    min(ceil(0.1 N), 25) rows are below; with several objectives ceil(0.1 N), ordered by non-domination rank
    and hypervolume. Bandwidths reach to the farther neighbour. Rows below have equal weights; beyond 25 rows
    of a group the older ones count less (`parzax.ages.Ramp`). There are 24 candidates, and a configuration
    may be suggested again.

    It differs from Optuna in these points. Where rows have equal values of a numeric parameter, Optuna's sort
    may exchange their bandwidths, which changes scores by up to 4 nats. With several objectives and more than
    25 rows below (N > 250), older rows below also count less here. With four or more objectives, fronts are
    ordered by crowding distance. Under constraints the split and the score are c-TPE's; Optuna ranks by
    violation.

    The arguments are those of `tpe`; ``split=None`` is the split above.
    """
