"""Presets of the engine, as published."""

import math
from dataclasses import replace
from inspect import signature
from typing import Any, get_args

import jax

from parzax import _checks
from parzax.kernels import FixedTop, OptunaTop
from parzax.kernels.bandwidth import Bandwidth, neighbours, scott
from parzax.parzen.fitting import check_settings
from parzax.samplers.engine import Sampler, Score
from parzax.samplers.fronts import Ties
from parzax.samplers.groups import CountRule
from parzax.samplers.source_rows import named_sources, source_rows
from parzax.samplers.sources import Estimate, fit_sources
from parzax.space import Space
from parzax.tasks import Importance


def tpe(space: Space, **options: Any) -> Sampler:
    """TPE with the authors' kernels (arXiv 2304.11127).

    The best ceil(sqrt(N) / 4) rows are good; Scott's rule on rows and the prior's centre, clipped to
    [0.01, 0.5] (discrete: one step); Aitchison-Aitken kernels with top 0.8; 10 random rows, then 24
    candidates, each parameter from its own component.

    Args:
        space: the search space.
        **options: any of `options_of`.
    """
    return _build(space, 1, 0, "ratio", CountRule("sqrt"), scott(), FixedTop(0.8), options)


def c_tpe(space: Space, n_constraints: int = 1, *, naive: bool = False, **options: Any) -> Sampler:
    """Constrained TPE (arXiv 2211.14411).

    As `tpe`, with one pair of densities per constraint; the objective's good group reaches to the
    ceil(sqrt(N) / 4)-th feasible row, the score is the sum of log relative density ratios, candidates come
    from every good group.

    Args:
        space: the search space.
        n_constraints: c.
        naive: the paper's ablation: a product of plain ratios with the plain split.
        **options: any of `options_of`.
    """
    score: Score = "naive" if _checks.flag("naive", naive) else "relative"
    return _build(space, 1, n_constraints, score, CountRule("sqrt"), scott(), FixedTop(0.8), options)


def mo_tpe(space: Space, n_objectives: int = 2, n_constraints: int = 0, **options: Any) -> Sampler:
    """Multi-objective TPE as in meta-learning TPE (arXiv 2212.06751; Ozaki et al. 2022).

    Rows are ordered by non-domination rank, then crowding distance or (``ties="hypervolume"``, as Ozaki et
    al. and Optuna) greedy hypervolume subset selection; the first front or ceil(0.1 N) rows, if that is
    more, are good: with constraints, all rows up to that many feasible ones, those of the first front or
    ceil(0.1 N). Lower clip 0.1, top 0.9, 100 candidates.

    Args:
        space: the search space.
        n_objectives: m, minimised.
        n_constraints: c; with some the score is c-TPE's.
        **options: any of `options_of`.
    """
    rule = CountRule("linear", 0.1, whole_front=True)
    score: Score = "relative" if n_constraints else "ratio"
    defaults = {"n_candidates": 100} | options
    return _build(space, n_objectives, n_constraints, score, rule, scott(0.1), FixedTop(0.9), defaults)


def optuna_tpe(space: Space, n_objectives: int = 1, n_constraints: int = 0, **options: Any) -> Sampler:
    """TPE with Optuna 5's multivariate settings: min(ceil(0.1 N), 25) good rows, neighbour bandwidths.

    Args:
        space: the search space.
        n_objectives, n_constraints: m and c; constraints enter by c-TPE's score (Optuna ranks by violation).
        **options: any of `options_of`.
    """
    score: Score = "relative" if n_constraints else "ratio"
    defaults = {"joint": True} | options
    return _build(
        space, n_objectives, n_constraints, score, CountRule("optuna"), neighbours(), OptunaTop(), defaults
    )


def meta_learn_tpe(
    space: Space,
    sources: Any,
    n_objectives: int | None = None,
    n_constraints: int = 0,
    *,
    eta: float | None = 2.5,
    estimate: Estimate = "balanced",
    n_samples: int = 1000,
    max_candidates: int = 1024,
    importance: Importance = "mean",
    key: jax.Array | None = None,
    **options: Any,
) -> Sampler:
    """Meta-learning TPE (arXiv 2212.06751): other tasks' rows count as far as the tasks are similar.

    Every density is a mixture over T tasks, p(x) proportional to sum_m N_m k(1, m) p_m(x), with
    k(1, m) = s_m / T of a source and what is left of the target; s_m = (1 - d) / (1 + d), d the total
    variation between the good densities of the target and of task m, in the floor(log_eta |D_1^(l)|) most
    important parameters. Rows are split as by `mo_tpe`. The first 5 suggestions are good rows of the sources,
    then 100 candidates come from every task; one suggestion in 20 is random.

    The source densities are fitted here, once. They are leaves of the sampler.

    Args:
        space: the search space of the target.
        sources: logs of the other tasks (`parzax.Observations`), as a list or a dict by name. Parameters go
            by name: those that a task lacks, and values outside the target's domains, are left to the prior
            there; ``sampler.sources.report`` says which. A task may lack the constraints; where its
            objectives are NaN its rows speak of the constraints alone, so that failed rows of a task without
            constraints are left out. One of which too few rows are feasible to tell which are good counts
            for the constraints alone.
        n_objectives: m, minimised; that of the sources when None.
        n_constraints: c; with some the score is c-TPE's.
        eta: above 1; None compares tasks by all parameters.
        estimate: of the similarity: "balanced" (`parzax.tasks.balanced_variation`), the paper's "uniform"
            (`uniform_variation`), or its "overlap" (`overlap_similarity`).
        n_samples: points of the estimate.
        max_candidates: in all. Where 100 per task would be more, they are shared by the tasks' weights.
        importance: of a parameter over all T tasks, from v_1 of the target and v_m of the sources: the
            paper's "mean", (v_1 + sum_m v_m) / T, or the authors' "sum", v_1 / T + (1 - 1 / T) sum_m v_m.
        key: for the points of the estimate, which stay the same; `jax.random.key(0)` when None.
        **options: any of `options_of`.

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
    >>> sampler.sources.report
    ('other: 50 rows',)
    """
    named = named_sources(sources)
    if not named:
        raise ValueError("sources must have at least one task; parzax.mo_tpe is the sampler without any.")
    if n_objectives is None:
        n_objectives = named[0][1].n_objectives
    defaults = {"n_startup": 5, "epsilon": 0.05} | options
    sampler = mo_tpe(space, n_objectives, n_constraints, **defaults)
    own = comparison_of(
        eta=eta,
        estimate=estimate,
        n_samples=n_samples,
        max_candidates=max_candidates,
        importance=importance,
    )
    if key is None:
        key = jax.random.key(0)
    _checks.check_key(key)
    fitted = fit_sources(
        sampler, source_rows(space, dict(named), n_objectives, n_constraints), key=key, **own
    )
    return replace(sampler, sources=fitted)


def comparison_of(
    *,
    eta: float | None = 2.5,
    estimate: Estimate = "balanced",
    n_samples: int = 1000,
    max_candidates: int = 1024,
    importance: Importance = "mean",
) -> dict[str, Any]:
    """Settings of `meta_learn_tpe` beside those of every preset, checked, as `fit_sources` takes them."""
    _checks.one_of("estimate", estimate, ("balanced", "uniform", "overlap"))
    _checks.whole_number("n_samples", n_samples, 2)
    _checks.whole_number("max_candidates", max_candidates, 1)
    _checks.one_of("importance", importance, ("mean", "sum"))
    eta = _checks.plain(eta)
    if eta is not None and not (isinstance(eta, (int, float)) and 1 < eta < math.inf):
        raise ValueError(f"eta must be above 1 and finite, or None, got {eta!r}.")
    return {
        "eta": eta,
        "estimate": estimate,
        "n_samples": n_samples,
        "most": max_candidates,
        "importance": importance,
    }


def options_of(
    *,
    count_rule: CountRule | None = None,
    bandwidth: Bandwidth | None = None,
    top: Any = None,
    prior_weight: float = 1.0,
    n_startup: int = 10,
    n_candidates: int = 24,
    joint: bool = False,
    epsilon: Any = 0.0,
    forget: bool = False,
    every_minimum: bool = False,
    gradient_steps: int = 0,
    ties: Ties = "crowding",
) -> dict[str, Any]:
    """Settings that every preset takes.

    Args:
        count_rule: how many rows are good.
        bandwidth: rule of `parzax.bandwidth`.
        top: own category's probability of an Aitchison-Aitken kernel, or `parzax.bandwidth.optuna_top()`.
        prior_weight: weight of the prior kernel, in rows.
        n_startup: rows before which suggestions are random; pending and failed rows count, those of
            `Sampler.augment` do not.
        n_candidates: candidates per good group.
        joint: candidates from one component, as in Optuna, instead of one per parameter.
        epsilon: probability of a random suggestion.
        forget: give all but the last 25 rows of a group less weight the older they are, as Optuna and
            Hyperopt do.
        every_minimum: while no row satisfies a constraint, its good group is all rows at the smallest value
            (c-TPE's main text) instead of the first of them (the authors' code). In discrete spaces the
            repeats of one configuration can then hold a run for ever.
        gradient_steps: this many steps uphill, in continuous coordinates, from the 8 best candidates (n for
            a larger batch). Of a batch, ends within 1e-3 of each other on every axis count once, and where
            candidates started takes the place of the others.
        ties: which rows of a front are good where not all are, with several objectives: those of largest
            crowding distance, or "hypervolume": those that greedy hypervolume subset selection takes, as in
            the original MO-TPE (`parzax.samplers.fronts.by_hypervolume`); for two or three objectives.
    """
    return locals()


def _build(
    space: Space,
    n_objectives: int,
    n_constraints: int,
    score: Score,
    count_rule: CountRule,
    bandwidth: Bandwidth,
    top: FixedTop | OptunaTop,
    options: dict[str, Any],
) -> Sampler:
    if not isinstance(space, Space):
        raise TypeError(f"space must be a parzax.Space, got {type(space).__name__}.")
    n_objectives = _checks.whole_number("n_objectives", n_objectives, 1)
    n_constraints = _checks.whole_number("n_constraints", n_constraints, 0)
    known = list(signature(options_of).parameters)
    for name in options:
        if name not in known:
            raise TypeError(f"unknown option {name!r}; the options are {', '.join(known)}.")
    own = {name: _checks.plain(value) for name, value in options_of(**options).items()}
    rule, kernels, given = (own.pop(name) for name in ("count_rule", "bandwidth", "top"))
    rule, kernels = (count_rule if rule is None else rule), (bandwidth if kernels is None else kernels)
    own_top = top if given is None else _as_top(given)
    _checks.real_number("prior_weight", own["prior_weight"])
    check_settings(space, kernels, own_top, own["prior_weight"])
    _check_options(rule, own)
    if own["ties"] == "hypervolume" and n_objectives > 3:
        raise ValueError(
            f'ties="hypervolume" takes at most 3 objectives, got {n_objectives}; use "crowding".'
        )
    return Sampler(
        space=space,
        n_objectives=n_objectives,
        n_constraints=n_constraints,
        score=score,
        count_rule=rule,
        bandwidth=kernels,
        top=own_top,
        **own,
    )


def _as_top(given: Any) -> Any:
    """A rule for a number; what is neither is left for `check_settings` to refuse."""
    if isinstance(given, FixedTop):
        return FixedTop(_checks.plain(given.top))
    is_number = isinstance(given, (int, float, jax.Array)) and not isinstance(given, bool)
    return FixedTop(given) if is_number else given


def _check_options(count_rule: Any, own: dict[str, Any]) -> None:
    """Raise for options whose values are known and wrong."""
    if not isinstance(count_rule, CountRule):
        raise TypeError(f"count_rule must be a parzax.samplers.CountRule, got {count_rule!r}.")
    for name, least in (("n_startup", 0), ("n_candidates", 1), ("gradient_steps", 0)):
        _checks.whole_number(name, own[name], least)
    for name in ("joint", "forget", "every_minimum"):
        _checks.flag(name, own[name])
    _checks.one_of("ties", own["ties"], get_args(Ties))
    epsilon = _checks.scalar("epsilon", own["epsilon"])
    if epsilon is not None and not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon is a probability, within [0, 1], got {epsilon!r}.")
