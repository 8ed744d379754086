"""Importances and interactions of a log: rank its rows, encode them once, estimate, resample."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np

from parzax import _checks
from parzax._compile import compiled
from parzax._numerics import capacity
from parzax.divergence import AbstractDivergence, Explained, Pearson
from parzax.importance import Encoded, Grid, Importance
from parzax.importance.encode import without_values
from parzax.importance.estimate import How, checked_how, estimate_seeds
from parzax.importance.interactions import estimate_interactions
from parzax.importance.levels import checked_levels, level_sets
from parzax.importance.pair_slots import checked_pairs
from parzax.lens._waiting import says_that_it_compiles
from parzax.lens.logs import Observations
from parzax.lens.logs.encoding import encode_log
from parzax.lens.logs.groups import configuration_shares, describe_groups
from parzax.lens.logs.observations import checked_log
from parzax.lens.results.order import shows_learning
from parzax.lens.results.replicates import choose_counts, replicate
from parzax.lens.results.result import (
    NO_LEVEL,
    USUAL_LEVEL,
    ImportanceResult,
    InteractionResult,
    Method,
    have_few_rows,
    pick_level,
)
from parzax.lens.results.surrogates import average_draws, draw_logs, fit_surrogate
from parzax.lens.results.targets import Ranking, counted_rows, is_maximised, ranked, row_words
from parzax.lens.run.chunks import map_chunks
from parzax.pareto import AbstractTies
from parzax.status import Status

# The grid of interactions, without pools: parameters whose bounds move have none.
_WITHOUT_POOLS = Grid(max_pools=0)
# Levels of a page, and candidates if no level is given.
_LEVELS = np.arange(1, 50) / 50
# Default number of draws under the null hypothesis, and smallest number per pair: with fewer, the adjusted
# p-values of many pairs cannot fall below 5 %.
_DRAWS, _DRAWS_PER_PAIR = 1000, 20
# Counts of a chunk of seeds: the arrays that are computed from them take about 20 times their 4 bytes.
_MOST_COUNTS = 1 << 24
# Up to so many counts the work of an analysis is small, or middling.
_SMALL, _MIDDLING = 1 << 13, 1 << 16
# With more cells of rows than this, a program without all optimisations takes twice as long.
_MOST_ROWS = 1 << 18

# Arguments that belong where a log is read.
_GUESSES: dict[str, str] = dict.fromkeys(("direction", "directions"), "directions=... where the log is read")


@_checks.known_arguments(_GUESSES)
@says_that_it_compiles
def cond_ped_anova(
    obs: Observations,
    levels: Any = None,
    *,
    region: float = 1.0,
    objective: Ranking = 0,
    ties: AbstractTies | None = None,
    rows: str | Sequence[str] | None = None,
    divergence: AbstractDivergence = Explained(),
    grid: Grid = Grid(),
    reference: str = "region",
    n_resamples: int | None = None,
    n_shuffles: int | None = None,
    surrogate: Any = "auto",
    key: Any = None,
) -> ImportanceResult:
    """Conditional PED-ANOVA: how much each parameter matters for reaching the best rows of a region.

    v is the within-regime local marginal variance of a parameter (Eq. 11 of "Conditional PED-ANOVA", arXiv
    2601.20800). Its importance is v divided by the sum of v over all parameters (Eq. 8). In a space without
    conditions this is PED-ANOVA (arXiv 2304.10255), with ``reference="uniform"`` its global form. One call of
    one compiled function computes all levels, seeds and parameters, in float64 inside
    ``jax.enable_x64(True)`` and in float32 otherwise.

    Args:
        obs: the log; a leading seed axis is kept.
        levels: level gamma' in (0, 1), or (q,) different levels. Rows tied with the cut-off are in the
            target. By default 0.1, or the nearest level that leaves more than ten rows in the target and
            outside it; ``result.facts`` then says which, and why.
        region: level gamma in (0, 1], above every target level.
        objective: what ranks the rows of a log with several objectives. The number or name of an objective;
            "pareto" for all of them, none preferred: by non-domination rank, and by ``ties`` within a front
            that a level cuts; (m,) weights, for the weighted sum of the objectives on [0, 1] (arXiv
            2405.07640); or a function that turns objectives (..., m) on [0, 1] into a loss (...,), such as
            ``lambda losses: px.importance.chebyshev(losses, weights)``. Rows without a needed objective are
            left out.
        ties: rule for the rows of one front: `parzax.pareto.Hypervolume` (the default, as in Optuna 5) or
            `parzax.pareto.Crowding`. Rows with equal losses, or equally crowded, enter a set together; if
            the set becomes larger, the status is TIED_CUTOFF. On Optuna's grid a set has the exact number of
            rows instead.
        rows: which rows count: "all"; "feasible", those that satisfy every constraint; "complete", without
            the failed and pruned rows that a log may keep; or several of these, which must all hold. By
            default "feasible" for a log with constraints, and else "all".
        divergence: how target and region are compared, `parzax.divergence.Explained()` by default.
        grid: where rows are counted, `parzax.Grid()` by default. ``px.Grid.optuna()`` with
            ``px.divergence.Pearson()`` gives Optuna 5's numbers.
        reference: "region" compares with the region's density (local importance), "uniform" with the
            uniform density of the domain (global importance).
        n_resamples: number of random halves of the rows that ``result.importance_interval`` is computed
            from, centred at the estimate; with 0 there are no intervals. The default is 500 for a single log:
            fewer, or 0, if it is large, and 0 if weights of rows are not whole numbers. Several seeds have
            standard errors instead.
        n_shuffles: number of shuffles of the losses that p-values are computed from. The default is 0 if
            ``n_resamples`` is 0, and for several seeds. Otherwise it is at least 1000, ``n_resamples``, 20 d
            and min(40 d, 2000) for d parameters: the smallest adjusted p-value is d / (n_shuffles + 1).
        surrogate: None reads the rows alone. A `parzax.surrogate.GaussianProcess` is fitted to the rows, and
            draws from its posterior answer for the whole space: importances are means over the draws,
            intervals their quantiles, and there are no resamples and shuffles. "auto" does so for a log whose
            order shows a search that learns, if the surrogate predicts the rows and can answer for the other
            arguments; of more than 500 rows it takes 500, spread evenly.
        key: key of samples, shuffles and draws, ``jax.random.key(0)`` by default.

    Returns:
        `ImportanceResult` with arrays (..., q, d). Importances sum to 1 at each level. If no parameter has
        a positive variance, they are all 0 (1/d on Optuna's grid) and the status is ALL_ZERO.

    Raises:
        ValueError: levels outside (0, 1], repeated, or not below the region's; an unknown objective; weights
            of another shape, below 0 or all 0; ``rows="feasible"`` for a log without constraints. A log with
            constraints but without a feasible row raises no error; its status is NONE_FEASIBLE.
        ImportError: for a front of four objectives or more without moocore (``parzax[pareto]``).

    -inf is a legal best loss, and ties, few rows and constant parameters set a status.

    >>> import numpy as np, parzax as px
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(200, 2))
    >>> obs = px.Observations.from_arrays(
    ...     px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)}), x, (x[:, 0] - 0.3) ** 2
    ... )
    >>> result = px.cond_ped_anova(obs, levels=[0.1, 0.5])
    >>> result.importance.shape, bool((result.importance[:, 0] > 0.9).all())
    ((2, 2), True)
    """
    log = encode_ranked(obs, levels, region, objective, rows, grid, ties, jittered=n_resamples != 0)
    method = Method(divergence, grid, reference)
    how = checked_how(*method.how)
    numbers = choose_counts(log.obs, n_resamples, n_shuffles)
    by_rows = grid.of_reference or len(log.losses) > 1
    if isinstance(surrogate, str) and surrogate == "auto" and (by_rows or not log.learned):
        surrogate = None
    posterior, remark = None, ""
    if surrogate is not None:
        posterior, remark = fit_surrogate(surrogate, log.obs, log.losses, objective, log.rows, method)
    if posterior is not None:
        of_draws, of_effects = jax.random.split(checked_key(key))
        drawn = encode_ranked(draw_logs(of_draws, posterior), levels, region, 0, "all", grid)
        about = drawn.describe(estimate_batch(drawn.encoded, how))
        about |= {"goal": log.goal, "method": method, "remark": remark, "key": of_effects}
        about["maximised"] = is_maximised(log.obs, objective)
        return average_draws(log.obs, posterior=posterior, **about)
    key = checked_key(key) if any(numbers) else None
    about = log.describe(estimate_batch(log.encoded, how))
    about["replicates"] = replicate(key, log.losses, log.encoded, about["estimates"], how, numbers)
    return ImportanceResult(**about, method=method, learned=partial(getattr, log, "learned"), remark=remark)


@_checks.known_arguments(_GUESSES)
@says_that_it_compiles
def interactions(
    obs: Observations,
    levels: Any = None,
    *,
    region: float = 1.0,
    pairs: Any = "all",
    objective: Ranking = 0,
    rows: str | Sequence[str] | None = None,
    n_draws: int | None = None,
    key: Any = None,
) -> InteractionResult:
    """Interactions: how much two parameters together explain of membership in the target, beyond each alone.

    For every combination of a regime of x and a regime of y, the rows that are active in both are counted on
    a grid of at most G x G cells. Cell c has r_c rows, t_c of them in the target; all cells have n_r rows,
    n_t in the target; g = n_t / n_r; C cells are occupied; the region has n_R rows. With SSB =
    sum_c r_c (t_c / r_c - g)^2 and SSW = n_r g (1 - g) - SSB,

        v = [SSB - (C - 1) SSW / (n_r - C)] / n_R,        I = v_xy - v_x - v_y

    with v_x and v_y from the margins of the same grid. v and I are summed over these combinations. At the
    resolution of the grid, v estimates Eq. 11 of "Conditional PED-ANOVA" (arXiv 2601.20800), for the pair and
    for each parameter. I is signed. It is 0 on average if neither parameter has an effect, or if
    P(target | x, y) is the sum of a function of x and a function of y.

    G is the even floor of sqrt(n_R / 15), from 4 to 10, or of sqrt(n_r / 5) if that is smaller. The cells are
    merged cells of `parzax.Grid`. If a regime has at most G occupied grid cells, none are merged. Otherwise
    numbers get cells of equal width on their axis, or of equal numbers of rows if some cell would have less
    than half its share. Up to 2 G categories (G if the rows are fewer than 8 G^2) have one cell each; with
    more, the rarest share a cell. Effects within a cell are not seen: I is **limited by resolution**, and too
    low for effects sharper than a cell. If x and y depend on each other in the region, as in logs of a
    sampler, v_x and v_y both include what x and y share; the split is exact for independent parameters.

    p-values are (1 + #{I* >= I}) / (B + 1). The null hypothesis: membership is the sum of a function of x, a
    function of y, and noise. The sum is fitted to the cells by least squares, and each of B draws flips
    the signs of the rows' residuals at random. Permuting the losses instead would reject too often if one
    parameter has a strong effect.

    Args:
        obs: the log; a leading seed axis is kept. `parzax.importance.interactions` takes encoded rows.
        levels, region, objective, rows: as in `parzax.cond_ped_anova`.
        pairs: "all", or pairs of names.
        n_draws: B, number of draws under the null hypothesis. The default is 1000, or 20 per pair if that is
            more. With 0 there are no draws, and p-values are NaN. If rows belong together in groups (see
            `parzax.Observations.from_arrays`), the default is 0 and no other number is possible, since the
            draws treat rows as independent.
        key: random key of the draws, such as ``jax.random.key(1)``; ``jax.random.key(0)`` by default. Seeds
            use the keys ``jax.random.split(key, n_seeds)``.

    Returns:
        `InteractionResult` with arrays (..., q, p) for q levels and p pairs, also if q or p is 1. In a space
        of one parameter p is 0. The computation is in float64 inside ``jax.enable_x64(True)``, else in
        float32.

    Raises:
        TypeError: if ``obs`` is no `parzax.Observations`.
        ValueError: for unknown names, a parameter with itself, a repeated pair, levels that
            `parzax.cond_ped_anova` refuses, a negative ``n_draws``, or draws for a log with groups.

    >>> import numpy as np, parzax as px
    >>> x = np.random.default_rng(0).uniform(-1, 1, size=(1000, 3))
    >>> space = px.Space({name: px.Float(-1, 1) for name in "xyz"})
    >>> result = px.interactions(px.Observations.from_arrays(space, x, x[:, 0] * x[:, 1]), 0.5)
    >>> result.ranking()[0], result.above_chance[0].tolist()
    (('x', 'y'), [True, False, False])
    """
    key = checked_key(key)
    log = encode_ranked(obs, levels, region, objective, rows, _WITHOUT_POOLS)
    encoded, pairs = log.encoded, checked_pairs(pairs, obs.space.names)
    estimates = _interactions(
        jax.random.split(key, len(log.losses)) if obs.values.ndim > 2 else key[None],
        without_values(encoded),
        pairs=pairs,
        n_draws=_draws(n_draws, len(pairs), encoded.groups),
    )
    return InteractionResult(**log.describe(estimates))


# Full optimisation takes twice as long to compile and does not make the program faster.
_interactions = compiled(estimate_interactions, "middling")


def _draws(n_draws: Any, n_pairs: int, groups: Any) -> int:
    if n_draws is None:
        return 0 if groups is not None else max(_DRAWS, _DRAWS_PER_PAIR * n_pairs)
    n_draws = _checks.whole_number("n_draws", n_draws, 0)
    if n_draws and groups is not None:
        raise ValueError("n_draws must be 0 for a log with groups: the draws treat rows as independent.")
    return n_draws


@dataclass(frozen=True, eq=False)
class RankedLog:
    """A log of which the rows are ranked and encoded, and what a result says about it.

    Attributes:
        obs: the log. Rows that do not count have weight 0.
        losses: (s, n) losses that rank the rows; NaN in rows that are left out.
        encoded: s seeds on the grid.
        rows: words for the rows that count, see `row_words`.
        goal: what the best rows have, in words.
        facts: sentences on how the rows were ranked and encoded.
        learned: whether the order of the rows shows a search that learns; found when it is first asked for.
    """

    obs: Observations
    losses: np.ndarray
    encoded: Encoded
    rows: tuple[str, ...]
    goal: str
    facts: tuple[str, ...]
    learned = cached_property(lambda self: shows_learning(self.obs, self.losses))

    def describe(self, estimates: Any) -> dict[str, Any]:
        """The fields that all results have; ``estimates`` of s seeds become NumPy arrays."""
        _checks.on_host("the answer", estimates)
        seeds = self.obs.values.shape[:-2]
        estimates = jax.tree.map(lambda x: np.asarray(x).reshape((*seeds, *x.shape[1:])), estimates)
        fields = {"estimates": estimates, "levels": np.array(self.encoded.levels)}
        fields |= {"space": self.obs.space, "region": self.encoded.region, "report": self.obs.report}
        return fields | {"goal": self.goal, "facts": self.facts}


def encode_ranked(
    obs: Any,
    levels: Any,
    region: Any,
    objective: Ranking,
    rows: Any,
    grid: Grid,
    ties: AbstractTies | None = None,
    *,
    jittered: bool = False,
) -> RankedLog:
    """Check the arguments that all analyses share, and rank and encode the rows once.

    If no ``levels`` are given, `choose_level` chooses one. ``jittered`` says that samples of the rows will be
    ranked too, which may cut fronts at slightly different levels.
    """
    checked_log("the log", obs)
    _checks.instance("grid", grid, Grid, "a parzax.Grid")
    candidates = candidate_levels(region) if levels is None else levels
    target, region = checked_levels(candidates, region)
    words, obs = row_words(obs, rows), counted_rows(obs, rows)
    ends = np.array([*target.tolist(), region])
    if jittered:
        near = np.linspace(-1, 1, 25) * min(2 / max(obs.losses.shape[-2], 1) ** 0.5, 0.5)
        ends = np.clip(ends[:, None] + near, 0, 1).reshape(-1)
    losses, goal = ranked(obs, objective, ties, ends.tolist(), grid)
    facts = []
    if levels is None:
        level, why = choose_level(obs, losses, target, region, grid)
        target, facts = np.array([level]), [why]
    # Rows are padded to a capacity, so that few shapes are compiled; padding is outside every level.
    encoded, pools = encode_log(obs, losses, target, region, grid, rows=capacity(losses.shape[1]))
    groups = describe_groups(encoded.groups, losses, raw=grid.of_reference)
    facts = [groups, *(f"{name}: {text}" for name, text in pools.items()), *facts]
    if "feasible" in words:
        feasible = (obs.feasible & (obs.weight is None or obs.weight > 0)).any(axis=-1).reshape(-1, 1)
        infeasible = np.where(feasible, np.int32(0), np.int32(Status.NONE_FEASIBLE))
        encoded = replace(encoded, status=encoded.status | infeasible)
    return RankedLog(obs, losses, encoded, words, goal, tuple(filter(None, facts)))


def candidate_levels(region: Any) -> np.ndarray:
    """Candidates for the level: 0.02, 0.04, ... below the region's level, or fiftieths of that level."""
    region = _checks.quantile("region", region)
    below = _LEVELS[region - 1e-9 > _LEVELS]
    return below if len(below) else _LEVELS * region


def choose_level(
    obs: Observations, losses: np.ndarray, levels: np.ndarray, region: float, grid: Grid
) -> tuple[float, str]:
    """The level of a log for which none was given, and why it is not 0.1; "" if it is.

    ``losses`` (s, n) rank the rows; ``levels`` are candidates in ascending order. Rows of one
    configuration count once, but on a grid of a reference every row counts.
    """
    weights = [None] * len(losses) if obs.weight is None else obs.weight.reshape(losses.shape)
    settings, m = (tuple(levels.tolist()), region, grid.level_size, False), len(levels)
    sizes = np.zeros((len(losses), m + 2))
    for size, loss, weight in zip(sizes, losses, weights, strict=True):
        first_set = level_sets(loss, weight, *settings)[0]
        size[:] = np.bincount(first_set, weight, m + 2).cumsum()
    shares = 1.0 if grid.of_reference else configuration_shares(obs, losses)[:, None]
    n_target, n_region = (sizes * shares)[:, :m], (sizes * shares)[:, m]
    i = pick_level(levels, n_target, n_region)
    if (n_target[:, i] == n_region).all():
        why = "as good as any other, as none has both best rows and others"
    elif have_few_rows(n_target[:, [i]], n_region)[0]:
        why = "the nearest to half of the rows, as none has more than ten best rows and more than ten others"
    elif levels[i] == USUAL_LEVEL:
        return USUAL_LEVEL, ""
    else:
        why = f"the nearest to {USUAL_LEVEL:g} with more than ten best rows and more than ten others"
    return float(levels[i]), f"{NO_LEVEL}: {levels[i]:g} is {why}"


def checked_key(key: Any) -> Any:
    """A typed key, ``jax.random.key(0)`` by default."""
    if key is None:
        return jax.random.key(0)
    _checks.check_key(key)
    return key


def estimate_batch(encoded: Encoded, how: How) -> Importance:
    """Conditional PED-ANOVA of s seeds, as NumPy or JAX arrays, in JAX's default dtype.

    It is one dispatch; more seeds than fit `_MOST_COUNTS` are computed in chunks of one size. The program
    depends only on shapes, layout, ``how``, and the order of the levels.
    """
    log = without_values(encoded, rank=None)
    n_seeds, n_counts = len(encoded.level), (len(encoded.levels) + 2) * encoded.layout.n_columns
    n_chunks = min(math.ceil(n_seeds * n_counts / _MOST_COUNTS), n_seeds)
    if n_chunks > 1:
        return map_chunks(partial(sweep, how=how), (log,), math.ceil(n_seeds / n_chunks))
    return sweep(log, how=how)


def _size(log: Encoded, how: How) -> str:
    """Size of the work, by the numbers of rows and of counts; passes over kernels count as more work."""
    if log.codes.size > _MOST_ROWS:
        return "large"
    n_counts = len(log.codes) * (len(log.levels) + 2) * log.layout.n_columns
    if n_counts <= _SMALL and not isinstance(how[0], Pearson):
        return "small"
    return "middling" if n_counts <= _MIDDLING else "large"


sweep = compiled(estimate_seeds, _size)
