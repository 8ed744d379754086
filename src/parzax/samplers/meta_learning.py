"""Meta-learning TPE: a sampler that starts from what other tasks have shown."""

from dataclasses import replace
from typing import Any

from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax.kernels.bandwidth import AbstractBandwidth, AbstractTop, scott
from parzax.meta import MixedSmoothing, Sources, best_rows, named_logs, source_rows
from parzax.meta.comparison import Estimate, check_comparison
from parzax.meta.reduction import Rule, check_count
from parzax.meta.weights import AbstractTaskWeights, stacking
from parzax.parzen.ages import AbstractAges, equal
from parzax.parzen.smoothing import Smoothing
from parzax.samplers.arguments import compiled
from parzax.samplers.presets import Directions, Kernels, Number, composed
from parzax.samplers.sampler import Sampler
from parzax.samplers.start import AbstractStart, FromRows, RandomStart
from parzax.space import Space
from parzax.split import AbstractSplit, State, merits
from parzax.split.gamma import AbstractGamma, linear
from parzax.split.merits import AbstractMerit
from parzax.split.ties import AbstractTies, crowding

_STACKING = stacking()
_TENTH, _SCOTT, _EQUAL, _ALIKE, _CROWDING = linear(0.1), scott(0.1), equal(), merits.equal(), crowding()


def meta_learn_tpe(
    space: Space,
    sources: Any,
    n_objectives: int | None = None,
    n_constraints: int = 0,
    *,
    eta: float | None = 2.5,
    estimate: Estimate = "balanced",
    n_samples: int = 1000,
    max_candidates: int | None = None,
    importance: Rule = "mean",
    n_good: AbstractGamma | None = None,
    task_weights: AbstractTaskWeights = _STACKING,
    key: PRNGKeyArray | None = None,
    directions: Directions = "minimize",
    gamma: AbstractGamma = _TENTH,
    first_front: bool = True,
    ties: AbstractTies = _CROWDING,
    every_minimum: bool = False,
    bandwidth: AbstractBandwidth = _SCOTT,
    top: Number | AbstractTop = 0.9,
    prior_weight: float = 1.0,
    ages: AbstractAges = _EQUAL,
    merit: AbstractMerit = _ALIKE,
    kernels: Kernels | None = None,
    joint: bool = False,
    start: AbstractStart | None = None,
    n_startup: int = 5,
    n_candidates: int = 100,
    epsilon: Number = 0.05,
    gradient_steps: int = 0,
    repeats: bool = True,
) -> Sampler:
    """Meta-learning TPE (after arXiv 2212.06751): other tasks count as far as they foretell the target.

    Every density is a mixture over T tasks, p(x) = sum_m W_m p_m(x). Rows are split as by `mo_tpe`. The first
    5 suggestions are good rows of the sources, then 100 candidates come from the tasks in proportion to their
    weights W, by default of `parzax.meta.stacking`; one suggestion in 20 is random.

    The paper's own sampler is that of ``task_weights=parzax.meta.by_similarity(), max_candidates=1024``: W_m
    is proportional to N_m k(1, m), with k(1, m) = s_m / T of a source and what is left of the target; s_m =
    (1 - d) / (1 + d), d the total variation between the densities below of the target and of task m, in the
    floor(log_eta |D_1^(l)|) most important parameters; and 100 candidates come from every task. Where sources
    are unlike the target that falls behind a sampler without any (docs/sources.md).

    The source densities are fitted here, once. They are leaves of the sampler.

    Args:
        space: the search space of the target.
        sources: logs of the other tasks (`parzax.Observations`), as a list or a dict by name. Parameters go
            by name: those that a task lacks, and values outside the target's domains, are left to the prior
            there; ``sampler.smoothing.sources.report`` says which. A task may lack the constraints; where its
            objectives are NaN its rows speak of the constraints alone, so that failed rows of a task without
            constraints are left out. One of which too few rows are feasible to tell which are good counts
            for the constraints alone.
        n_objectives: m; that of the sources when None.
        n_constraints: c; with some the score is c-TPE's.
        eta: above 1; None compares tasks by all parameters, and `math.inf` by none: every source then counts
            as the target does, k(1, m) = 1 / T, the paper's naive meta-learning. It is data: samplers that
            differ in it share their programs.
        estimate: of the similarity: "balanced" (`parzax.meta.balanced_variation`), the paper's "uniform"
            (`uniform_variation`), or its "overlap" (`overlap_similarity`).
        n_samples: points of the estimate.
        max_candidates: None: ``n_candidates`` per group below, as without sources, which the tasks share by
            their weights. With a number: ``n_candidates`` per task, or so many in all if that is less.
        importance: of a parameter over all T tasks, from v_1 of the target and v_m of the sources: the
            paper's "mean", (v_1 + sum_m v_m) / T, or the authors' "sum", v_1 / T + (1 - 1 / T) sum_m v_m.
        n_good: |D_1^(l)| of the number of parameters as a rule of the target's number of rows, such as
            ``parzax.gamma.linear(0.1, down=True)``; its rows below when None. No more than those count.
        task_weights: of the tasks in the densities: `parzax.meta.stacking()`, by what each foretells of the
            target's own rows, or the paper's `parzax.meta.by_similarity()`; ``eta``, ``estimate``,
            ``n_samples``, ``importance``, ``n_good`` and ``key`` are of the second alone, and of
            `similarities`.
        key: for the points of the estimate, which stay the same; `jax.random.key(0)` when None.
        directions, gamma, first_front, ties, every_minimum, bandwidth, top, prior_weight, ages, merit,
            kernels, joint, n_startup, n_candidates, epsilon, gradient_steps, repeats: as of `mo_tpe`; a
            source's directions are those of its log, and its rows below all count alike.
        start: first suggestions; the best rows of the sources when None.

    Raises:
        TypeError, ValueError: for no source at all, two of one name, logs of other numbers of objectives or
            constraints, several seeds in one log, fractional weights, and a domain whose values the dtype
            cannot tell apart.

    The sampler holds arrays, so compile its methods by ``equinox.filter_jit``.

    >>> import numpy as np, parzax as px
    >>> space = px.Space({"x": px.Float(0, 1)})
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> other = px.Observations.from_arrays(space, x, (x[:, 0] - 0.3) ** 2)
    >>> sampler = px.meta_learn_tpe(space, {"other": other})
    >>> sampler.smoothing.sources.report
    ('other: 50 rows',)
    """
    logs = named_logs(sources)
    if not logs:
        raise ValueError("sources must have at least one task; parzax.mo_tpe is the sampler without any.")
    if n_objectives is None:
        n_objectives = next(iter(logs.values())).n_objectives
    split = gamma, first_front, every_minimum, ties, merit
    densities = bandwidth, top, prior_weight, ages, joint, kernels
    search = RandomStart(), n_startup, n_candidates, epsilon, gradient_steps, repeats
    target = composed(space, n_objectives, n_constraints, directions, split, densities, search)
    eta, key = check_comparison(eta, estimate, n_samples, key)
    in_all = target.n_candidates * (1 + target.n_constraints)
    most = in_all if max_candidates is None else _checks.whole_number("max_candidates", max_candidates, 1)
    _checks.one_of("importance", importance, ("mean", "sum"))
    rows, smoothing = source_rows(space, logs, n_objectives, n_constraints), target.smoothing
    assert isinstance(smoothing, Smoothing)
    check_count(n_good)
    settings = eta, estimate, n_samples, importance, n_good, key
    fitted = Sources.fit(space, rows, target.split, smoothing, *settings)
    return replace(
        target,
        smoothing=MixedSmoothing(smoothing, fitted, most, task_weights),
        start=FromRows(best_rows(rows, target.n_startup)) if start is None else start,
        # No group below has more candidates than its part.
        n_candidates=min(target.n_candidates, max(most // (1 + n_constraints), 1)),
    )


def similarities(sampler: Sampler, state: State) -> Float[Array, " t"]:
    """s_m of the target, as far as it is known, and every source task: what `meta_learn_tpe` weighs by.

    By the rows below of the objective; 1 for all while they are too few to keep a single parameter, 0 for a
    task that has no row below or none of the kept parameters. ValueError for a sampler without sources.
    """
    smoothing = sampler.smoothing
    if not isinstance(smoothing, MixedSmoothing):
        raise ValueError(
            "similarities are those of source tasks; parzax.meta_learn_tpe makes such a sampler."
        )
    smoothing.sources.check_precision(state.x.dtype)
    return compiled(_similarities, sampler.split, smoothing, state)


def _similarities(split: AbstractSplit, smoothing: MixedSmoothing, state: State) -> Float[Array, " t"]:
    return smoothing.sources.similarities(smoothing.own, state, split(state))
