"""Meta-learning TPE: a sampler that starts from the logs of other tasks."""

import numbers
from collections.abc import Mapping
from dataclasses import fields, replace
from inspect import signature
from typing import Any, Unpack

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from parzax import _checks
from parzax._numerics import to_device
from parzax._programs import program
from parzax.meta import MixedSmoothing, Notes, SourceRows, Sources, best, named_logs, rows_at, source_rows
from parzax.meta.comparison import ComparisonSettings, Estimate
from parzax.meta.reduction import Rule
from parzax.meta.weights import AbstractTaskWeights, by_similarity
from parzax.parzen.smoothing import Smoothing
from parzax.samplers.arguments import call
from parzax.samplers.options import Directions, Options, TargetOptions, with_defaults
from parzax.samplers.presets import MO_TPE, tpe
from parzax.samplers.sampler import Sampler
from parzax.samplers.start import AbstractStart, FromRows
from parzax.space import Space, check_dtype
from parzax.split import AbstractSplit, State
from parzax.split.gamma import AbstractGamma


class SourceOptions(Options, total=False):
    """The options of `meta_learn_tpe`, which documents those that `tpe` has not."""

    task_weights: AbstractTaskWeights
    eta: float | None
    estimate: Estimate
    n_samples: int
    max_candidates: int | None
    importance: Rule
    n_good: AbstractGamma | None
    key: PRNGKeyArray | None


@with_defaults(tpe, Options(n_startup=5))
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
    start: AbstractStart | None = None,
    **options: Unpack[TargetOptions],
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
            objectives may be NaN. With ``task_weights`` the prior replaces missing densities. Rows whose
            objectives are NaN enter the densities of the constraints only, as do all rows of a task with too
            few feasible rows.
        n_objectives: m; that of the sources when None.
        n_constraints: c; with some the score is that of `tpe`.
        task_weights: None: the target alone counts. Or a rule for the tasks in the densities:
            `parzax.meta.stacking()`, by how well each predicts the target's own rows, or the paper's
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
        importance: how the variances v_1 of the target and v_m of the sources give a parameter's importance:
            the paper's "mean", (v_1 + sum_m v_m) / T, or the authors' "sum", v_1 / T + (1 - 1 / T) sum_m v_m.
        n_good: rule for |D_1^(l)|, which sets the number of parameters kept, from the target's number of
            rows, such as ``parzax.gamma.linear(0.1, down=True)``. At most, and when None, the rows below.
        key: for the points of the estimate, which stay the same; `jax.random.key(0)` when None.
        directions: as of `tpe`; a source's are those of its log.
        start: first suggestions; the best rows of the sources when None. Without ``task_weights`` the sources
            would then play no part, so that it is refused, as is an ``n_startup`` of 0.
        **options: the others of `tpe`. A source's rows below all count alike, whatever ``merit`` is.

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
    logs = named_logs(sources)
    if not logs:
        raise ValueError("sources must have at least one task; parzax.tpe is the sampler without any.")
    if n_objectives is None:
        n_objectives = next(iter(logs.values())).n_objectives
    target = tpe(space, n_objectives, n_constraints, directions=directions, **options)
    comparison = {
        "eta": eta, "estimate": estimate, "n_samples": n_samples, "max_candidates": max_candidates,
        "importance": importance, "n_good": n_good, "key": key,
    }  # fmt: skip
    if task_weights is None:
        _refuse_idle({**comparison, "start": start})
        if target.n_startup == 0:
            raise ValueError(
                "n_startup must be positive without task_weights: the sources play no other part."
            )
        check_dtype(space, jnp.result_type(float), native=True, arrays=False)
        rows = source_rows(space, logs, target.n_objectives, target.n_constraints)
        return replace(target, start=_first_rows(rows, target.n_startup))
    settings = check_mixing({**comparison, "task_weights": task_weights})
    rows = source_rows(space, logs, target.n_objectives, target.n_constraints)
    smoothing, n_groups = target.smoothing, 1 + target.n_constraints
    assert isinstance(smoothing, Smoothing)
    fitted = to_device(Sources.fit(space, rows, target.split, smoothing, settings))
    most = target.n_candidates * n_groups if max_candidates is None else int(max_candidates)
    return replace(
        target,
        smoothing=MixedSmoothing(smoothing, fitted, most, task_weights),
        start=_first_rows(rows, target.n_startup) if start is None else start,
        # No group below has more candidates than its part.
        n_candidates=min(target.n_candidates, max(most // n_groups, 1)),
    )


@with_defaults(
    meta_learn_tpe, {**MO_TPE, "epsilon": 0.05, "task_weights": by_similarity(), "max_candidates": 1024}
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

    Rows are split as by `mo_tpe`. The first 5 suggestions are good rows of the sources, later ones the best
    of 100 candidates from every task, one in 20 at random. In every density the weight W_m of task m is
    proportional to N_m k(1, m), with k(1, m) = s_m / T of a source and what is left of the target; s_m =
    (1 - d) / (1 + d), d the total variation between the densities below of the target and of task m, in the
    floor(log_eta |D_1^(l)|) most important parameters. Where sources are unlike the target it falls behind a
    sampler without any (docs/sources.md).

    Args:
        space, sources, n_objectives, n_constraints, directions: as of `meta_learn_tpe`.
        **options: those of `meta_learn_tpe`, with the defaults above and otherwise those of `mo_tpe`;
            ``task_weights`` is never None.
    """
    return meta_learn_tpe(space, sources, n_objectives, n_constraints, directions=directions, **options)


def check_mixing(options: Mapping[str, Any]) -> ComparisonSettings:
    """How tasks are compared; raise TypeError or ValueError for wrong options of a mixture over tasks."""
    settings = ComparisonSettings(**{field.name: options[field.name] for field in fields(ComparisonSettings)})
    if options["max_candidates"] is not None:
        _checks.whole_number("max_candidates", options["max_candidates"], 1)
    _checks.instance("task_weights", options["task_weights"], AbstractTaskWeights, "a rule of parzax.meta")
    return settings


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
    pairs = zip(rows, chosen, strict=True)
    lines = (f"{one.summary(mixed=False)}; {len(index)} to begin with" for one, index in pairs)
    return FromRows(rows_at(rows, chosen), Notes(tuple(lines)))


def similarities(sampler: Sampler, state: State) -> Float[Array, " t"]:
    """Similarity s_m of the target's rows to every source task, by which `paper_meta_learn_tpe` weighs.

    By the rows below of the objective; 1 for all while they are too few to keep a single parameter, 0 for a
    task that has no row below or none of the kept parameters. ValueError for a sampler whose densities know
    no sources.
    """
    smoothing = sampler.smoothing
    if not isinstance(smoothing, MixedSmoothing):
        raise ValueError(
            "similarities needs a sampler whose densities mix source tasks: use "
            "parzax.paper_meta_learn_tpe, or parzax.meta_learn_tpe with task_weights."
        )
    smoothing.sources.check_precision(state.x.dtype)
    return call(_similarities, sampler.split, smoothing, state)


@program
def _similarities(split: AbstractSplit, smoothing: MixedSmoothing, state: State) -> Float[Array, " t"]:
    return smoothing.sources.similarities(smoothing.target, state, split(state))
