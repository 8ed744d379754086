"""Meta-learning TPE: a sampler that starts from what other tasks have shown."""

import numbers
from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax.kernels.bandwidth import AbstractBandwidth, AbstractTop, neighbours, optuna_top, scott
from parzax.meta import MixedSmoothing, Notes, SourceRows, Sources, best, named_logs, rows_at, source_rows
from parzax.meta.comparison import Estimate, check_comparison
from parzax.meta.reduction import Rule, check_count
from parzax.meta.weights import AbstractTaskWeights, by_similarity, check_weights
from parzax.observations import Observations
from parzax.parzen.ages import AbstractAges, equal
from parzax.parzen.smoothing import Smoothing
from parzax.samplers.arguments import compiled
from parzax.samplers.presets import Directions, Kernels, Number, mo_tpe, tpe
from parzax.samplers.sampler import Sampler
from parzax.samplers.start import AbstractStart, FromRows
from parzax.space import Space, check_dtype
from parzax.split import AbstractSplit, State, merits
from parzax.split.gamma import AbstractGamma, linear
from parzax.split.merits import AbstractMerit
from parzax.split.ties import AbstractTies, crowding

_BY_SIMILARITY = by_similarity()
_TENTH, _WIDE_SCOTT, _NEIGHBOURS, _OPTUNA_TOP = linear(0.1), scott(0.1), neighbours(), optuna_top()
_EQUAL, _ALIKE, _BY_RANK, _CROWDING = equal(), merits.equal(), merits.by_rank(), crowding()


class _Comparison(NamedTuple):
    """How tasks are compared."""

    eta: float | None
    estimate: Estimate
    n_samples: int
    importance: Rule
    n_good: AbstractGamma | None
    key: PRNGKeyArray | None


def meta_learn_tpe(
    space: Space,
    sources: Any,
    n_objectives: int | None = None,
    n_constraints: int = 0,
    *,
    task_weights: AbstractTaskWeights | None = None,
    eta: float | None = 2.5,
    estimate: Estimate = "balanced",
    n_samples: int = 1000,
    max_candidates: int | None = None,
    importance: Rule = "mean",
    n_good: AbstractGamma | None = None,
    key: PRNGKeyArray | None = None,
    directions: Directions = "minimize",
    gamma: AbstractGamma | None = None,
    first_front: bool = False,
    ties: AbstractTies = _CROWDING,
    every_minimum: bool = False,
    share_power: Number = 3.0,
    bandwidth: AbstractBandwidth = _NEIGHBOURS,
    top: Number | AbstractTop = _OPTUNA_TOP,
    prior_weight: float = 1.0,
    ages: AbstractAges = _EQUAL,
    merit: AbstractMerit = _BY_RANK,
    kernels: Kernels | None = None,
    joint: bool = True,
    start: AbstractStart | None = None,
    n_startup: int = 5,
    n_candidates: int | None = None,
    epsilon: Number = 0.0,
    gradient_steps: int = 0,
    repeats: bool = False,
) -> Sampler:
    """`tpe` that starts from logs of other tasks, and, if asked, mixes their densities into its own.

    The first 5 suggestions are the best rows of the sources. After that the sampler is `tpe`: the target's
    own rows alone decide. On ellipsoids and tables that was ahead of `tpe` without sources where tasks are
    alike, and over all at most 5 % behind after 50 evaluations and more (docs/sources.md).

    With ``task_weights`` every density is a mixture over T tasks, p(x) = sum_m W_m p_m(x), as in
    meta-learning TPE (arXiv 2212.06751), and candidates come from the tasks in proportion to their weights W.
    The source densities are fitted here, once, and are leaves of the sampler. `paper_meta_learn_tpe` has the
    paper's settings.

    Args:
        space: the search space of the target.
        sources: logs of the other tasks (`parzax.Observations`), as a list or a dict by name. Parameters go
            by name: rows that lack one of the target's, or have a value outside its domains, are not
            suggested; ``sampler.start.report`` says what could be used. A task may lack the constraints, and
            objectives may be NaN. With ``task_weights`` the prior stands for what is missing, rows whose
            objectives are NaN speak of the constraints alone, and so does a task of which too few rows are
            feasible to tell which are good.
        n_objectives: m; that of the sources when None.
        n_constraints: c; with some the score is that of `tpe`.
        task_weights: None: the target alone counts. Or a rule for the tasks in the densities:
            `parzax.meta.stacking()`, by what each foretells of the target's own rows, or the paper's
            `parzax.meta.by_similarity()`. Without a rule ``eta`` to ``key`` are refused; all of them but
            ``max_candidates`` are of the second rule, and of `similarities`.
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
        key: for the points of the estimate, which stay the same; `jax.random.key(0)` when None.
        directions, gamma, first_front, ties, every_minimum, share_power, bandwidth, top, prior_weight, ages,
            merit, kernels, joint, n_startup, n_candidates, epsilon, gradient_steps, repeats: as of `tpe`; a
            source's directions are those of its log, and its rows below all count alike.
        start: first suggestions; the best rows of the sources when None. Without ``task_weights`` the sources
            would then play no part, so that it is refused, as is an ``n_startup`` of 0.

    Raises:
        TypeError, ValueError: for no source at all, two of one name, logs of other numbers of objectives or
            constraints, several seeds in one log, fractional weights, a domain whose values the dtype cannot
            tell apart, and arguments that would play no part.

    The sampler holds arrays, so compile its methods by ``equinox.filter_jit``.

    >>> import numpy as np, parzax as px
    >>> space = px.Space({"x": px.Float(0, 1)})
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> other = px.Observations.from_arrays(space, x, (x[:, 0] - 0.3) ** 2)
    >>> sampler = px.meta_learn_tpe(space, {"other": other})
    >>> sampler.start.report
    ('other: 50 rows; 5 to begin with',)
    """
    logs, n_objectives = _checked(sources, n_objectives)
    target = tpe(
        space, n_objectives, n_constraints, directions=directions, gamma=gamma, first_front=first_front,
        ties=ties, every_minimum=every_minimum, share_power=share_power, bandwidth=bandwidth, top=top,
        prior_weight=prior_weight, ages=ages, merit=merit, kernels=kernels, joint=joint, n_startup=n_startup,
        n_candidates=n_candidates, epsilon=epsilon, gradient_steps=gradient_steps, repeats=repeats,
    )  # fmt: skip
    comparison = _Comparison(eta, estimate, n_samples, importance, n_good, key)
    if task_weights is not None:
        return _mixed(target, logs, task_weights, max_candidates, comparison, start)
    _refuse_idle({**comparison._asdict(), "max_candidates": max_candidates, "start": start})
    if target.n_startup == 0:
        raise ValueError("n_startup must be positive without task_weights: the sources play no other part.")
    check_dtype(space, jnp.result_type(float), native=True, arrays=False)
    rows = source_rows(space, logs, target.n_objectives, target.n_constraints)
    return replace(target, start=_first_rows(rows, target.n_startup))


def paper_meta_learn_tpe(
    space: Space,
    sources: Any,
    n_objectives: int | None = None,
    n_constraints: int = 0,
    *,
    task_weights: AbstractTaskWeights = _BY_SIMILARITY,
    eta: float | None = 2.5,
    estimate: Estimate = "balanced",
    n_samples: int = 1000,
    max_candidates: int | None = 1024,
    importance: Rule = "mean",
    n_good: AbstractGamma | None = None,
    key: PRNGKeyArray | None = None,
    directions: Directions = "minimize",
    gamma: AbstractGamma = _TENTH,
    first_front: bool = True,
    ties: AbstractTies = _CROWDING,
    every_minimum: bool = False,
    share_power: Number = 1.0,
    bandwidth: AbstractBandwidth = _WIDE_SCOTT,
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
    """Meta-learning TPE with the settings of its paper (arXiv 2212.06751).

    Rows are split as by `mo_tpe`. The first 5 suggestions are good rows of the sources, later ones the best
    of 100 candidates from every task, one in 20 at random. In every density the weight W_m of task m is
    proportional to N_m k(1, m), with k(1, m) = s_m / T of a source and what is left of the target; s_m =
    (1 - d) / (1 + d), d the total variation between the densities below of the target and of task m, in the
    floor(log_eta |D_1^(l)|) most important parameters. Where sources are unlike the target it falls behind a
    sampler without any (docs/sources.md).

    Args:
        space, sources, n_objectives, n_constraints, task_weights, eta, estimate, n_samples, max_candidates,
            importance, n_good, key, start: as of `meta_learn_tpe`; ``task_weights`` is never None.
        directions, gamma, first_front, ties, every_minimum, share_power, bandwidth, top, prior_weight, ages,
            merit, kernels, joint, n_startup, n_candidates, epsilon, gradient_steps, repeats: as of `mo_tpe`.
    """
    logs, n_objectives = _checked(sources, n_objectives)
    target = mo_tpe(
        space, n_objectives, n_constraints, directions=directions, gamma=gamma, first_front=first_front,
        ties=ties, every_minimum=every_minimum, share_power=share_power, bandwidth=bandwidth, top=top,
        prior_weight=prior_weight, ages=ages, merit=merit, kernels=kernels, joint=joint, n_startup=n_startup,
        n_candidates=n_candidates, epsilon=epsilon, gradient_steps=gradient_steps, repeats=repeats,
    )  # fmt: skip
    comparison = _Comparison(eta, estimate, n_samples, importance, n_good, key)
    return _mixed(target, logs, task_weights, max_candidates, comparison, start)


def _checked(sources: Any, n_objectives: int | None) -> tuple[dict[str, Observations], int]:
    """The logs by name, and the number of objectives."""
    logs = named_logs(sources)
    if not logs:
        raise ValueError("sources must have at least one task; parzax.tpe is the sampler without any.")
    return logs, next(iter(logs.values())).n_objectives if n_objectives is None else n_objectives


def _refuse_idle(given: Mapping[str, Any]) -> None:
    """Raise ValueError for arguments of `meta_learn_tpe` that are not its defaults and play no part."""
    for name, value in given.items():
        default = signature(meta_learn_tpe).parameters[name].default
        # Arrays and rules have no truth value to compare by.
        plain = isinstance(value, (numbers.Number, str))
        if value != default if plain else value is not default:
            raise ValueError(
                f"{name} plays no part without task_weights; give a rule such as parzax.meta.stacking(), or "
                "use parzax.paper_meta_learn_tpe."
            )


def _first_rows(rows: list[SourceRows], n: int) -> FromRows:
    """The best rows of the sources, with a line for each source."""
    chosen = best(rows, n)
    lines = [
        f"{one.summary(mixed=False)}; {len(index)} to begin with"
        for one, index in zip(rows, chosen, strict=True)
    ]
    return FromRows(rows_at(rows, chosen), Notes(tuple(one.name for one in rows), tuple(lines)))


def _mixed(
    target: Sampler,
    logs: Mapping[str, Observations],
    task_weights: AbstractTaskWeights,
    max_candidates: int | None,
    comparison: _Comparison,
    start: AbstractStart | None,
) -> Sampler:
    """A sampler whose densities are mixtures over tasks."""
    eta, key = check_comparison(comparison.eta, comparison.estimate, comparison.n_samples, comparison.key)
    in_all = target.n_candidates * (1 + target.n_constraints)
    most = in_all if max_candidates is None else _checks.whole_number("max_candidates", max_candidates, 1)
    _checks.one_of("importance", comparison.importance, ("mean", "sum"))
    check_weights(task_weights)
    check_count(comparison.n_good)
    rows = source_rows(target.space, logs, target.n_objectives, target.n_constraints)
    smoothing, (_, estimate, n_samples, importance, n_good, _) = target.smoothing, comparison
    assert isinstance(smoothing, Smoothing)
    settings = eta, estimate, n_samples, importance, n_good, key
    fitted = Sources.fit(target.space, rows, target.split, smoothing, *settings)
    return replace(
        target,
        smoothing=MixedSmoothing(smoothing, fitted, most, task_weights),
        start=_first_rows(rows, target.n_startup) if start is None else start,
        # No group below has more candidates than its part.
        n_candidates=min(target.n_candidates, max(most // (1 + target.n_constraints), 1)),
    )


def similarities(sampler: Sampler, state: State) -> Float[Array, " t"]:
    """s_m of the target, as far as it is known, and every source task: what `paper_meta_learn_tpe` weighs by.

    By the rows below of the objective; 1 for all while they are too few to keep a single parameter, 0 for a
    task that has no row below or none of the kept parameters. ValueError for a sampler whose densities know
    no sources.
    """
    smoothing = sampler.smoothing
    if not isinstance(smoothing, MixedSmoothing):
        raise ValueError(
            "similarities are those of source tasks in the densities; parzax.paper_meta_learn_tpe, or "
            "meta_learn_tpe with task_weights, makes such a sampler."
        )
    smoothing.sources.check_precision(state.x.dtype)
    return compiled(_similarities, sampler.split, smoothing, state)


def _similarities(split: AbstractSplit, smoothing: MixedSmoothing, state: State) -> Float[Array, " t"]:
    return smoothing.sources.similarities(smoothing.own, state, split(state))
