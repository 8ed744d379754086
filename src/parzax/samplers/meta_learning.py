"""Meta-learning TPE: a sampler that starts from the logs of other tasks."""

import numbers
from collections.abc import Mapping
from dataclasses import fields, replace
from inspect import signature
from typing import Any, Unpack

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import to_device
from parzax.density.smoothing import Smoothing
from parzax.kernels.bandwidth import AbstractBandwidth, CategoricalBandwidth
from parzax.meta import MixedSmoothing, Notes, SourceRows, Sources, best, named_logs, rows_at, source_rows
from parzax.meta.comparison import ComparisonSettings, Estimate
from parzax.meta.reduction import Rule
from parzax.meta.weights import AbstractTaskWeights, by_similarity
from parzax.samplers.arguments import call
from parzax.samplers.options import Directions, Options, TargetOptions, with_defaults
from parzax.samplers.presets import MO_TPE, tpe
from parzax.samplers.sampler import Sampler
from parzax.samplers.start import AbstractStart, FromRows
from parzax.space import Space, check_dtype
from parzax.split import AbstractSplit, State
from parzax.split.gamma import AbstractGamma


class SourceOptions(Options, total=False):
    """The options of `meta_learn_tpe`; its docstring describes those that `tpe` does not have."""

    task_weights: AbstractTaskWeights
    eta: float | None
    estimate: Estimate
    n_samples: int
    max_candidates: int | None
    importance: Rule
    n_good: AbstractGamma | None
    compared_bandwidth: AbstractBandwidth | None
    compared_top: float | Array | CategoricalBandwidth | None
    key: PRNGKeyArray | None


@with_defaults(tpe, Options(share_power=1.0))
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
    compared_bandwidth: AbstractBandwidth | None = None,
    compared_top: float | Array | CategoricalBandwidth | None = 1.0,
    key: PRNGKeyArray | None = None,
    directions: Directions = "minimize",
    n_startup: int | None = None,
    start: AbstractStart | None = None,
    **options: Unpack[TargetOptions],
) -> Sampler:
    """`tpe` that starts from logs of other tasks and can mix their densities with the target's.

    The first 5 suggestions, or 7 under constraints, are the best rows of the sources. After that the sampler
    is `tpe`, with c-TPE's score under constraints (``share_power=1``), and uses only rows of the target. In
    tests on ellipsoids and tables it was better than `tpe` without sources where the tasks were similar. From
    50 evaluations on, its average over all tests was at most 5 % worse (docs/studies/sources.md).

    With ``task_weights`` every density is a mixture over T tasks, p(x) = sum_m W_m p_m(x), as in
    meta-learning TPE (arXiv 2212.06751), and candidates come from the tasks in proportion to their weights W.
    The source densities are fitted once, in this call, and are leaves of the sampler.
    `paper_meta_learn_tpe` has the paper's settings.

    Args:
        space: the search space of the target.
        sources: logs of the other tasks (`parzax.Observations`), as a list or a dict by name. Parameters are
            matched by name. A row that lacks a parameter of the target, or has a value outside its domains,
            is not suggested; ``sampler.start.report`` says what could be used. A task may have no
            constraints, and objectives may be NaN. With ``task_weights`` the prior stands in for a density
            that a task lacks. Rows with NaN objectives, and all rows of a task with too few feasible rows,
            enter only the densities of the constraints.
        n_objectives: m; None takes the number from the sources.
        n_constraints: c; if it is positive, the score is c-TPE's (``share_power=1``; `tpe` has 3).
        task_weights: None builds densities from the target only. Otherwise a rule for the weights of the
            tasks: `parzax.meta.stacking()` (by how well each task predicts the rows of the target) or the
            paper's `parzax.meta.by_similarity()`. The arguments ``eta`` to ``key`` below require a rule; all
            of them except ``max_candidates`` are used only by the second rule and by `similarities`.
        eta: above 1; it limits the number of parameters that tasks are compared by. None compares by all
            parameters. `math.inf` compares by none: every source then has the kernel value k(1, m) = 1 / T,
            as in the paper's naive meta-learning. Samplers that differ in ``eta`` share compiled programs.
        estimate: estimate of the similarity: "balanced" (`parzax.meta.balanced_variation`), the paper's
            "uniform" (`uniform_variation`) or its "overlap" (`overlap_similarity`).
        n_samples: number of random points in the estimate.
        max_candidates: None draws ``n_candidates`` per group below, as without sources, and distributes them
            to the tasks by weight. A number draws ``n_candidates`` per task, but at most that many in total.
        importance: how the importance of a parameter is computed from the variances v_1 of the target and
            v_m of the sources: the paper's "mean", (v_1 + sum_m v_m) / T, or "sum" from the authors' code,
            v_1 / T + (1 - 1 / T) sum_m v_m.
        n_good: rule for |D_1^(l)|, the number of good rows of the target, which sets the number of parameters
            to compare by: a rule of `parzax.gamma`, such as ``parzax.gamma.linear(0.1, down=True)``, applied
            to the number of the target's rows. With None, or if the rule gives more, it is the number of rows
            in the target's group below.
        compared_bandwidth, compared_top: ``bandwidth`` and ``top`` (as in `tpe`) of the densities that are
            compared. None takes the setting of the score. These densities have no prior.
        key: key for the random points of the estimate, which are the same in every call;
            `jax.random.key(0)` if None.
        directions: as in `tpe`; the directions of a source are those of its log.
        n_startup: number of first suggestions; None: 5, or 7 if ``n_constraints`` is positive.
        start: first suggestions; None suggests the best rows of the sources. Without ``task_weights`` another
            start, or ``n_startup=0``, raises ValueError, because the sources would have no effect.
        **options: the other options of `tpe`. ``merit`` has no effect on sources: all rows of a source's
            group below have equal weights.

    Raises:
        TypeError, ValueError: no source, two sources with the same name, logs with other numbers of
            objectives or constraints, several seeds in one log, fractional weights, a domain whose values
            the dtype cannot tell apart, or arguments that would have no effect.

    The sampler holds arrays, so compile its methods with ``equinox.filter_jit``.

    >>> import numpy as np, parzax as px
    >>> space = px.Space({"x": px.Float(0, 1)})
    >>> x = np.linspace(0, 1, 50)[:, None]
    >>> other = px.Observations.from_arrays(space, x, (x[:, 0] - 0.3) ** 2)
    >>> sampler = px.meta_learn_tpe(space, {"other": other})
    >>> sampler.start.report
    ('other: 50 rows; 5 to begin with',)
    """
    logs = named_logs(sources)
    if not logs:
        raise ValueError("sources must have at least one task; parzax.tpe is the sampler without sources.")
    if n_objectives is None:
        n_objectives = next(iter(logs.values())).n_objectives
    for name, log in logs.items():
        if log.constraints is not None and not n_constraints:
            remedy = "give their number, or leave them out: dataclasses.replace(log, constraints=None)"
            raise ValueError(f"sources: {name!r} has constraints, and n_constraints is 0; {remedy}.")
    if n_startup is None:
        n_startup = first_suggestions(n_constraints)
    target = tpe(space, n_objectives, n_constraints, directions=directions, n_startup=n_startup, **options)
    comparison = {
        "eta": eta, "estimate": estimate, "n_samples": n_samples, "max_candidates": max_candidates,
        "importance": importance, "n_good": n_good, "compared_bandwidth": compared_bandwidth,
        "compared_top": compared_top, "key": key,
    }  # fmt: skip
    if task_weights is None:
        _refuse_idle({**comparison, "start": start})
        if target.n_startup == 0:
            raise ValueError("n_startup must be positive without task_weights, or sources have no effect.")
        check_dtype(space, jnp.result_type(float), native=True, arrays=False)
        rows = source_rows(space, logs, target.n_objectives, target.n_constraints)
        return replace(target, start=_first_rows(rows, target.n_startup))
    settings = check_mixing({**comparison, "task_weights": task_weights})
    rows = source_rows(space, logs, target.n_objectives, target.n_constraints)
    smoothing, n_groups = target.smoothing, 1 + target.n_constraints
    assert isinstance(smoothing, Smoothing)
    fitted = to_device(Sources.fit(space, rows, target.split, smoothing, settings))
    # Candidates in total: they are divided equally among the groups below.
    n_tasks, n_candidates = 1 + len(rows), target.n_candidates
    by_task = max_candidates is not None and n_candidates * n_tasks * n_groups <= int(max_candidates)
    if max_candidates is not None and not by_task:
        n_candidates = max(int(max_candidates) // n_groups, 1)
    return replace(
        target,
        smoothing=MixedSmoothing(smoothing, fitted, by_task, task_weights),
        start=_first_rows(rows, target.n_startup) if start is None else start,
        n_candidates=n_candidates,
    )


@with_defaults(
    meta_learn_tpe,
    {**MO_TPE, "n_startup": 5, "epsilon": 0.05, "task_weights": by_similarity(), "max_candidates": 1024},
)
def paper_meta_learn_tpe(
    space: Space,
    sources: Any,
    n_objectives: int | None = None,
    n_constraints: int = 0,
    *,
    directions: Directions = "minimize",
    **options: Unpack[SourceOptions],
) -> Sampler:
    """Meta-learning TPE with the settings of its paper (arXiv 2212.06751).

    Rows are split as in `mo_tpe`. The first 5 suggestions are good rows of the sources. Each later suggestion
    is the best of 100 candidates from every task; 1 in 20 is random instead. In every density the weight W_m
    of task m is proportional to N_m k(1, m), where N_m is the size of the group. A source has
    k(1, m) = s_m / T, and the target has the rest, 1 - sum_m s_m / T. The similarity is
    s_m = (1 - d) / (1 + d), where d is the total variation between the densities below of the target and of
    task m, over the floor(log_eta |D_1^(l)|) most important parameters. If the sources are unlike the target,
    this sampler is worse than a sampler without sources (docs/studies/sources.md).

    Args:
        space, sources, n_objectives, n_constraints, directions: as in `meta_learn_tpe`.
        **options: the options of `meta_learn_tpe`, with the defaults above and otherwise those of `mo_tpe`;
            ``task_weights`` must not be None.
    """
    return meta_learn_tpe(space, sources, n_objectives, n_constraints, directions=directions, **options)


def first_suggestions(n_constraints: int) -> int:
    """How many of the first suggestions come from sources by default; docs/meta.md compares numbers."""
    return 7 if n_constraints else 5


def check_mixing(options: Mapping[str, Any]) -> ComparisonSettings:
    """The settings for comparing tasks; TypeError or ValueError for invalid options of a task mixture."""
    settings = ComparisonSettings(**{field.name: options[field.name] for field in fields(ComparisonSettings)})
    if options["max_candidates"] is not None:
        _checks.whole_number("max_candidates", options["max_candidates"], 1)
    _checks.instance("task_weights", options["task_weights"], AbstractTaskWeights, "a rule of parzax.meta")
    return settings


def _refuse_idle(given: Mapping[str, Any]) -> None:
    """Raise ValueError for arguments of `meta_learn_tpe` that differ from the default but have no effect."""
    for name, value in given.items():
        default = signature(meta_learn_tpe).parameters[name].default
        # Arrays and rules cannot be compared with !=, so they are compared by identity.
        plain = isinstance(value, (numbers.Number, str))
        if value != default if plain else value is not default:
            remedy = "give a rule such as parzax.meta.stacking(), or use parzax.paper_meta_learn_tpe"
            raise ValueError(f"{name} has no effect without task_weights; {remedy}.")


def _first_rows(rows: list[SourceRows], n: int) -> FromRows:
    """The best rows of the sources as a start, with a report line for each source."""
    chosen = best(rows, n)
    pairs = zip(rows, chosen, strict=True)
    lines = (f"{one.summary(mixed=False)}; {len(index)} to begin with" for one, index in pairs)
    return FromRows(rows_at(rows, chosen), Notes(tuple(lines)))


def similarities(sampler: Sampler, state: State) -> Float[Array, " t"]:
    """Similarity s_m of the target to each of t source tasks, from which `paper_meta_learn_tpe` gets weights.

    Tasks are compared by the densities of the objective's group below. A task without rows in this group has
    similarity 0. All other tasks have similarity 1 while the target has too few rows in this group to compare
    by even one parameter. After that, a task that has none of the compared parameters has similarity 0.
    ValueError for a sampler whose densities contain no sources.
    """
    smoothing = sampler.smoothing
    if not isinstance(smoothing, MixedSmoothing):
        remedy = "use parzax.paper_meta_learn_tpe, or parzax.meta_learn_tpe with task_weights"
        raise ValueError(f"similarities needs a sampler whose densities mix source tasks: {remedy}.")
    smoothing.sources.check_precision(state.x.dtype)
    return call(_similarities, sampler.split, smoothing, state)


@compiled
def _similarities(split: AbstractSplit, smoothing: MixedSmoothing, state: State) -> Float[Array, " t"]:
    return smoothing.sources.similarities(state, split(state))
