"""Interactions: which pairs of parameters explain more together than each parameter explains alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import jax
import numpy as np

from parzax import _checks
from parzax._compile import compiled
from parzax._words import plural
from parzax.importance import Grid, Interactions
from parzax.importance.encode import without_values
from parzax.importance.interactions import estimate_interactions
from parzax.importance.pair_slots import PairLayout, pair_layout
from parzax.lens.logs import Observations
from parzax.lens.results.analysis import checked_key, encode_ranked
from parzax.lens.results.phrases import SIGNIFICANCE, p_text, short_labels, size_text, value_text
from parzax.lens.results.result import (
    MAY_LEARN,
    MOST_SEEDS,
    AbstractResult,
    attributes,
    join_some,
    mean_and_error,
)
from parzax.lens.results.targets import Ranking
from parzax.lens.results.uncertainty import holm
from parzax.status import Status

# Default number of draws under the null hypothesis, and smallest number per pair: with fewer, the adjusted
# p-values of many pairs cannot fall below 5 %.
_DRAWS, _DRAWS_PER_PAIR = 1000, 20
_NAME = 20  # longest name of a parameter in the label of a pair
# Statuses of pairs whose interaction is undefined.
_UNDEFINED = Status.NEVER_TOGETHER | Status.UNIDENTIFIABLE | Status.NO_DATA


@dataclass(frozen=True, eq=False, repr=False)
class InteractionResult(AbstractResult):
    """Interactions of p pairs of parameters at q levels; leading axes "..." are the observations' seeds.

    Attributes:
        estimates: `parzax.importance.Interactions`, in NumPy. Its arrays are attributes of the result too;
            ``pairs`` are pairs of names here. ``importance`` can be compared across pairs, levels and logs:
            for independent parameters, the importances of single parameters, of pairs and of higher orders
            sum to 1. ``main`` is computed on coarser cells than in `parzax.cond_ped_anova`, and only from
            rows in which both parameters are active.
        space: the search space, d parameters.
        levels: (q,) requested levels.
        region: level of the region.
        report: how the log was read.
        goal: what the best rows have, such as "smallest loss".
        facts: sentences on how the result was computed.
    """

    estimates: Interactions

    kind: ClassVar[str] = "pair"

    variance, importance, joint, main = attributes("variance", "importance", "joint", "main")
    p_value, status, slots, slot_variance = attributes("p_value", "status", "slots", "slot_variance")
    n_active, n_draws = attributes("n_active", "n_draws")

    @cached_property
    def entries(self) -> tuple[tuple[str, str], ...]:
        """The p pairs of names."""
        return tuple((self.names[a], self.names[b]) for a, b in self.estimates.pairs)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The p pairs of names."""
        return self.entries

    @cached_property
    def is_defined(self) -> np.ndarray:
        """(..., q, p) whether the interaction of a pair is defined; if not, a status says why."""
        return (self.status & int(_UNDEFINED)) == 0

    @cached_property
    def labels(self) -> list[str]:
        """The pairs as short texts, all different."""
        names = short_labels(self.names, _NAME)
        return [f"{names[a]} × {names[b]}" for a, b in self.estimates.pairs]

    @cached_property
    def p_adjusted(self) -> np.ndarray:
        """(..., q, p) p-values, adjusted for the number of pairs (Holm 1979)."""
        return holm(self.p_value)

    @property
    def above_chance(self) -> np.ndarray:
        """(..., q, p) whether the adjusted p-value is at most 0.05."""
        return np.asarray(self.p_adjusted <= SIGNIFICANCE)

    @cached_property
    def above(self) -> np.ndarray:
        """(q, p) pairs above chance in more than half of the seeds; without draws, those above 0."""
        if not self.n_draws:
            return self.mean > 0
        return self.mean_over_seeds(self.above_chance) > MOST_SEEDS

    @cached_property
    def _over_seeds(self) -> tuple[np.ndarray, np.ndarray]:
        return mean_and_error(self.by_seed(self.importance), self.by_seed(self.is_defined))

    def matrix(self, level: int | None = None) -> np.ndarray:
        """(d, d) symmetric: mean importance at a level, as in `ranking`.

        It is NaN on the diagonal, for pairs that were not requested, and for pairs that are defined in no
        seed.
        """
        level = self.usual_level if level is None else level
        return self.to_matrix(np.where(self.has_mean[level], self.mean[level], np.nan))

    def to_matrix(self, values: np.ndarray) -> np.ndarray:
        """(d, d) symmetric matrix of one value per pair; NaN for the diagonal and other pairs."""
        out = np.full((len(self.names),) * 2, np.nan)
        first, second = np.array(self.estimates.pairs, int).reshape(-1, 2).T
        out[first, second] = out[second, first] = values
        return out

    def _columns(self) -> dict[str, np.ndarray]:
        first, second = np.array(self.pairs, dtype=object).reshape(-1, 2).T
        columns = {name: getattr(self, name) for name in ("importance", "variance", "joint")}
        columns |= {"main_first": self.main[..., 0], "main_second": self.main[..., 1]}
        columns |= {"p_value": self.p_value, "p_adjusted": self.p_adjusted}
        columns |= {"n_active": self.n_active[..., None, :], "n_target": self.n_target[..., None]}
        columns |= {"n_region": self.n_region[..., None, None]}
        return {"first": first, "second": second, **columns}

    def cells(self, level: int) -> dict[str, list[str]]:
        """Importance, p, rows with both parameters active and remarks of each pair at a level."""
        columns = {"importance": self._mean_cells(level)}
        if self.n_seeds == 1:
            p, adjusted = (self.by_seed(x)[0, level] for x in (self.p_value, self.p_adjusted))
            columns["p"] = [p_text(*pair, self.n_draws) for pair in zip(p, adjusted, strict=True)]
        columns["rows"] = [size_text(column) for column in self.by_seed(self.n_active).T]
        return columns | {"remarks": ["; ".join(facts) for facts in self._facts(level)]}

    def sentences(self, level: int | None = None) -> list[str]:
        """Which pairs interact, how sure that is, and what to do next; by default at the `usual_level`."""
        if not self.pairs:
            return ["What mattered: there are no pairs, as the space has a single parameter."]
        return super().sentences(level)

    def _sentences(self, level: int) -> tuple[str, str, str]:
        labels, mean, order = self.labels, self.mean[level], self.order(level)
        named = [f"{labels[j]} ({value_text(mean[j])})" for j in order if self.above[level, j]]
        interact = "interact" if self.n_draws else "explain more together than alone"
        mattered = f"{join_some(named)} {interact}" if named else "no pair is above chance"
        if self.n_seeds > 1:
            sure = f"± is the standard error of {plural(self.n_seeds, 'seed')}"
        elif self.n_draws:
            sure = f"p-values are adjusted for {plural(len(labels), 'pair')}"
        else:
            sure = "not tested against chance"
        sure = "; ".join([sure, *(bit.fact for bit in self._level_bits(level)), MAY_LEARN])
        step = (
            f"look at both parameters of {labels[order[0]]} together"
            if named
            else "tune each parameter by itself"
        )
        return f"{mattered} for being among {self._best_rows(level)}", sure, step

    def details(self) -> list[str]:
        """How the numbers of the table were made, a line each."""
        share = (
            "importance: share of the variance of membership in the target that only both together explain"
        )
        draws = f"by {plural(self.n_draws, 'draw')}, adjusted for the pairs of a level (Holm)"
        p = [f"p: of no interaction, {draws}"] * (self.n_draws > 0)
        return [share, "rows: rows in which both are active", *p]


def interactions(
    obs: Observations,
    levels: Any = None,
    *,
    region: float = 1.0,
    pairs: Any = "all",
    objective: Ranking = 0,
    rows: str | Sequence[str] = "all",
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
    # Without pools: parameters whose bounds move have no interactions.
    log = encode_ranked(obs, levels, region, objective, rows, Grid(max_pools=0))
    encoded, seeds = log.encoded, obs.batch_shape
    where = pair_layout(encoded.layout, pairs, obs.space.names)
    estimates = _interactions(
        jax.random.split(key, len(log.losses)) if seeds else key[None],
        without_values(encoded),
        where=where,
        n_draws=_draws(n_draws, where, encoded.groups),
    )
    _checks.outside_traces(estimates)
    estimates = jax.tree.map(lambda a: np.asarray(a).reshape((*seeds, *a.shape[1:])), estimates)
    return InteractionResult(estimates, **log.about)


# Full optimisation takes twice as long to compile and does not make the program faster.
_interactions = compiled(size="middling")(estimate_interactions)


def _draws(n_draws: Any, where: PairLayout, groups: Any) -> int:
    if n_draws is None:
        return 0 if groups is not None else max(_DRAWS, _DRAWS_PER_PAIR * len(where.pairs))
    n_draws = _checks.whole_number("n_draws", n_draws, 0)
    if n_draws and groups is not None:
        raise ValueError("n_draws must be 0 for a log with groups: the draws treat rows as independent.")
    return n_draws
