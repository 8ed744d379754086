"""First suggestions, later candidates (random, or all of a small space), and the best different ones."""

import abc
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, final

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax import _checks
from parzax._numerics import to_device
from parzax._numerics.circle import wrapped
from parzax.density import AbstractMixture
from parzax.density.basis import Basis
from parzax.meta.sources import Notes
from parzax.space import INACTIVE, Cells, Points, Space
from parzax.split import State
from parzax.split.state import first_equal

# For a batch of n suggestions the space is enumerated if it has at most max(_MOST_ENUMERATED, _DRAWS * n)
# configurations. Otherwise _DRAWS random configurations are drawn per suggestion.
_MOST_ENUMERATED, _DRAWS = 512, 4
# Largest number of draws from a density to replace candidates that are not valid.
_MOST_REDRAWS = 16
# Fewest candidates for each member of a batch.
_LEAST_PER_MEMBER = 8
# Place of a midpoint between two draws. It is slightly nearer to the first draw, so that a midpoint at the
# border of two discrete values is rounded to either value with the same probability.
_MIDDLE = 0.499

_epsilon = partial(_checks.setting, "epsilon", least=0, most=1)
_count = partial(_checks.whole_number, "n_startup", least=0)


class Proposal(eqx.Module):
    """How candidates are proposed, and which of them are suggested; the defaults are those of `parzax.tpe`.

    Attributes:
        n_candidates: candidates per group below; None is 64, and 24 for several objectives; static.
        epsilon: probability of a random suggestion after the start, and of a random member of a pool. It may
            be a JAX array.
        repeats: whether a configuration that was evaluated, or is pending, may be suggested again. With False
            it is suggested again only if no new configuration is left among the candidates and a few random
            configurations (in a space of up to 512 configurations: among all configurations). This does not
            restrict random suggestions. None finds out whether evaluations have noise: it is as False, but
            after 20 rows the best configuration is evaluated again (and after 40, if its loss is the same and
            other configurations have equal losses, as counts of errors do). If two evaluations of a
            configuration differ, it is as True, and rows are split by the mean losses of their
            configurations. With one objective, every fifth suggestion then evaluates the configuration with
            the smallest lower bound again, as with ``confirm`` in `Sampler.ask`. `parzax.optimize` takes
            a function that does not use its key to have no noise. Static.
        midpoints: how a batch of n > 1 is chosen. With True each member is the best of
            max(8, n_candidates / n) candidates of its own, which are midpoints between two draws from the
            good density; the weight of a row in this density then falls smoothly with its rank. False takes
            the n best of all candidates, from the densities of a single suggestion; so it is for several
            objectives, under constraints and for pools in any case (docs/studies/batches.md). Static.
        one_branch: whether only candidates of one branch, with the same active parameters and domains, are
            compared, if there are conditions: of the branch with the largest ratio of its shares in the two
            densities, for each member of a batch of the branch that its first candidate has. If all branches
            compete, one with many parameters is preferred, as its candidates are far from all rows. With one
            objective and no constraints they compete for a random half of the suggestions, as a branch whose
            first rows are bad would otherwise hardly be tried again. Static.

    Raises:
        TypeError, ValueError: invalid settings.
    """

    n_candidates: int | None = eqx.field(static=True, default=None, converter=_checks.plain)
    epsilon: float | Float[Array, ""] = eqx.field(default=0.0, converter=_epsilon)
    repeats: bool | None = eqx.field(static=True, default=None, converter=_checks.plain)
    midpoints: bool = eqx.field(static=True, default=True, converter=partial(_checks.flag, "midpoints"))
    one_branch: bool = eqx.field(static=True, default=True, converter=partial(_checks.flag, "one_branch"))

    def __check_init__(self) -> None:
        """Raise for invalid settings."""
        if self.repeats is not None:
            _checks.flag("repeats", self.repeats)
        if self.n_candidates is not None:
            _checks.whole_number("n_candidates", self.n_candidates, 1)


AtRandom = Callable[[PRNGKeyArray], Points]
Score = Callable[[Points], Float[Array, " j"]]
# Which points are configurations that should not be suggested again.
Seen = Callable[[Points], Bool[Array, " j"]]


class AbstractStart(eqx.Module):
    """A rule for suggestions before a sampler has seen ``n_startup`` rows.

    Attributes:
        n_startup: suggestions come from the rule until there are this many rows; pending and failed rows
            count, constraint-only rows do not. Static.
    """

    n_startup: eqx.AbstractVar[int]

    @abc.abstractmethod
    def __call__(self, key: PRNGKeyArray, state: State, at_random: AtRandom) -> Points:
        """Suggestions, as many as ``at_random(key)`` returns; ``key`` must not be used again."""


@final
class RandomStart(AbstractStart):
    """Random first suggestions, uniform on the (log) axes.

    ``n_startup`` is as in `AbstractStart`; 0 starts with the densities at once.
    """

    n_startup: int = eqx.field(static=True, default=10, converter=_count)

    def __call__(self, key: PRNGKeyArray, state: State, at_random: AtRandom) -> Points:
        return at_random(key)


@final
class FromRows(AbstractStart):
    """First suggest the (w, d) ``rows`` that are not in the state yet, in random order; then at random."""

    rows: Points
    n_startup: int = eqx.field(static=True, default=10, converter=_count)
    notes: Notes = eqx.field(static=True, default=Notes())

    @property
    def report(self) -> tuple[str, ...]:
        """One line for each log, which says which rows could be used (see `parzax.meta_learn_tpe`)."""
        return self.notes.report

    def __call__(self, key: PRNGKeyArray, state: State, at_random: AtRandom) -> Points:
        draw, choose = jax.random.split(key)
        other = at_random(draw)
        if not len(self.rows):
            return other
        # The rows may have another precision than the state.
        rows = jax.tree.map(lambda a, b: jnp.asarray(a).astype(b.dtype), self.rows, other)
        # Rows of the state come from rounded native values, so they are compared with a tolerance.
        reach = 64 * float(jnp.finfo(rows.unit.dtype).eps)
        used = (is_near(rows[:, None], state.points[None], True, reach) & state.present[None]).any(axis=-1)
        used |= jnp.tril(is_near(rows[:, None], rows[None], True, reach), -1).any(axis=-1)
        # Unused rows in random order, then random configurations, then used rows.
        rank = jnp.where(used, 2.0, jax.random.uniform(choose, used.shape))
        order = jnp.argsort(jnp.concatenate([rank, jnp.ones(len(other))]))
        return concatenate(rows, other)[order[: len(other)]]


def draw_valid(key: PRNGKeyArray, basis: Basis, draw: Callable[[PRNGKeyArray], Points], n: int) -> Points:
    """Candidates from ``draw``; at least n are valid, by random ones in their place if few draws are."""
    frame, drawn = basis.frame, draw(key)
    kept = frame.redraw(key, drawn, draw, len(drawn), _MOST_REDRAWS)
    at_random = partial(frame.draw_any, n=len(drawn), dtype=drawn.unit.dtype)
    # A number as large as the one of `redraw`, and another one.
    return frame.restricted(frame.redraw(jax.random.fold_in(key, np.uint32(2**32 - 2)), kept, at_random, n))


def draw_fillers(key: PRNGKeyArray, basis: Basis, n: int, every: Points | None, dtype: Any) -> Points:
    """At least n configurations in random order. If the space has n different ones, so has the result.

    ``every`` holds all configurations of a small space; None for a large space.
    """
    if every is None:
        return basis.frame.draw(key, _DRAWS * n, dtype)
    order = jax.random.permutation(key, len(every))
    return every[jnp.tile(order, -(-n // len(every)))]


@lru_cache(maxsize=64)
def enumerate_points(space: Space, n: int, dtype: Any) -> Points | None:
    """All valid configurations as points; None if the space is too large for a batch of n."""
    rows = enumerate_space(space, max(_MOST_ENUMERATED, _DRAWS * n))
    if rows is None:
        return None
    with jax.ensure_compile_time_eval():
        return to_device(space.frame().encode(rows[space.allows(rows)]), dtype)


def enumerate_space(space: Space, most: int) -> np.ndarray | None:
    """All configurations, valid or not, (j, d), NaN where inactive; None if there are more than ``most``."""
    rows = np.full((1, len(space)), np.nan)
    for name in space.order:
        j = space.index(name)
        # Parents come first in this order, so their columns are already filled.
        regime = space.derive_regimes(rows)[:, j]
        parts = [rows[regime == INACTIVE]]
        for i, domain in enumerate(space[name]):
            axis, parents = domain.axis, rows[regime == i]
            if not len(parents):
                continue
            if not isinstance(axis, Cells) or axis.n_values * len(parents) > most:
                return None
            n = int(axis.n_values)
            extended = np.repeat(parents, n, axis=0)
            extended[:, j] = np.tile(axis.value(np.arange(n), np.dtype(np.float64)), len(parents))
            parts.append(extended)
        rows = np.concatenate(parts)
        if len(rows) > most:
            return None
    return rows


def pick_different(basis: Basis, at: Points, place: Int[Array, " j"], n: int) -> Int[Array, " {n}"]:
    """Indices of the first n different configurations by ``place``; repeats only if there are too few."""
    continuous, j = basis.frame.on_continuum(at), len(at)

    def choose(tier: Array, _: None) -> tuple[Array, Array]:
        # Tier 0: differs from all chosen elements. Tier 1: equals a chosen element. Tier 2: is chosen.
        i = jnp.argmin(place + tier * j)
        same = is_near(at, at[i[None]], continuous, 0).astype(tier.dtype)
        return jnp.maximum(tier, same).at[i].set(2), i

    return jax.lax.scan(choose, jnp.zeros_like(place), length=n)[1]


def is_near(a: Points, b: Points, continuous: Bool[Any, "*n d"] | bool, reach: Any) -> Bool[Array, "..."]:
    """Mask of the points of a that equal those of b, up to ``reach`` on each continuous axis."""
    # Discrete values are compared by number, because their places may differ by rounding.
    same = (a.regime == b.regime) & (a.index == b.index) & (a.valid == b.valid)
    if continuous is not False:
        same &= (jnp.abs(a.unit - b.unit) <= reach) | jnp.logical_not(continuous)
    return same.all(axis=-1)


def is_seen(basis: Basis, rows: Points, counts: Bool[Array, " n"], at: Points) -> Bool[Array, " j"]:
    """Mask of the valid points that equal one of the rows in the mask ``counts``."""
    continuous = basis.frame.on_continuum(at)
    equal = jax.vmap(lambda row: is_near(at, row[None], continuous, 0))(rows)
    return (equal & counts[:, None]).any(axis=0)


def find_told(
    x: Float[Array, "j d"], rows: Float[Array, "n d"], counts: Bool[Array, " n"]
) -> Bool[Array, " j"]:
    """Mask of the native values that equal one of the rows in the mask ``counts``; NaN equals NaN."""
    both = jnp.concatenate([rows, x.astype(rows.dtype)])
    counted = jnp.concatenate([counts, jnp.ones(len(x), bool)])
    return first_equal(both, counted)[len(rows) :] < len(rows)


def concatenate(*parts: Points) -> Points:
    """Concatenate sets of points."""
    return jax.tree.map(lambda *arrays: jnp.concatenate(arrays), *parts)


def draw_midpoints(
    key: PRNGKeyArray, below: AbstractMixture, basis: Basis, n: int, n_candidates: int
) -> Points:
    """Candidates for a batch of n, as many for each member: midpoints between two draws.

    The candidates of a member are n places apart.
    """
    n_midpoints = n * max(_LEAST_PER_MEMBER, n_candidates // n)
    drawn = below.sample(key, basis, 2 * n_midpoints)
    return find_midpoints(basis, drawn[:n_midpoints], drawn[n_midpoints : 2 * n_midpoints])


def find_midpoints(basis: Basis, a: Points, b: Points) -> Points:
    """Points between a and b, in numeric parameters (on a circle on the shorter arc); categories of a.

    A parameter that is active in only one of the two takes its place there; if it has another regime in b, it
    takes the place in a.
    """
    frame, numeric, periodic = basis.frame, *jnp.ones((2, basis.n_slots), bool)
    for part in basis.groups:
        numeric = numeric.at[part.slot].set(not part.categorical)
        periodic = periodic.at[part.slot].set(part.family.periodic)
    unit, other = frame.spread(a.unit), frame.spread(b.unit)
    both = frame.spread(a.regime == b.regime) & numeric[None]
    only_b = frame.spread((a.regime == INACTIVE) & (b.regime != INACTIVE))
    middle = unit + _MIDDLE * jnp.where(periodic[None], wrapped(other - unit), other - unit)
    middle = jnp.where(periodic[None], middle - jnp.floor(middle), middle)
    return frame.at(jnp.where(both, middle, jnp.where(only_b, other, unit)))


def best_of_candidates(
    basis: Basis,
    score: Score,
    drawn: Points,
    fillers: Points | None,
    n: int,
    seen: Seen | None,
    one_branch: bool | Bool[Array, ""] = False,
    by_member: bool = False,
) -> Points:
    """The n best of the candidates ``drawn``, or with ``by_member`` the best of each member's candidates.

    With ``one_branch`` candidates in the branch of `best_branch` come before the others, in a batch those in
    the branches of the first n. ``fillers`` complete the batch if candidates are equal or seen.
    Configurations that are seen come after all others. Candidates outside the space, which a pool may
    contain, come last.
    """
    pool = drawn if fillers is None else concatenate(drawn, fillers)
    scores = score_valid(score, pool)
    keys = [-scores]
    if one_branch is not False:
        branches = drawn[:n] if n > 1 else drawn[best_branch(drawn, scores[: len(drawn)])[None]]
        keys.append(one_branch & ~(pool.regime[:, None] == branches.regime[None]).all(axis=-1).any(axis=-1))
    if n == 1 and seen is None:
        return pool[jnp.lexsort(keys)[:1]] if keys[1:] else pool[jnp.argmax(scores)[None]]
    last = () if seen is None else (seen(pool), ~pool.valid.all(axis=-1))
    order = jnp.lexsort((*keys, jnp.arange(len(pool)) >= len(drawn), *last))
    place = jnp.zeros_like(order).at[order].set(jnp.arange(len(order), dtype=order.dtype))
    if by_member:
        of_members = place[: len(drawn)].reshape(-1, n)
        first = jnp.zeros(len(pool), bool).at[jnp.arange(n) + n * of_members.argmin(axis=0)].set(True)
        first &= pool.valid.all(axis=-1)
        place = jnp.argsort(jnp.lexsort((place, ~first, *last)))
    return pool[pick_different(basis, pool, place, n)]


def best_branch(drawn: Points, scores: Float[Array, " j"]) -> Int[Array, ""]:
    """A candidate in the branch with the largest ratio of its shares in the densities below and above.

    For draws from the density below, the mean of above / below over a branch is the inverse of this ratio.
    One more draw, where both are equal, counts in each branch, so that few draws give a moderate ratio.
    """
    usable = scores > -jnp.inf
    same = (drawn.regime[:, None] == drawn.regime[None]).all(axis=-1) & usable[None]
    total = jax.nn.logsumexp(jnp.where(same, -scores[None], -jnp.inf), axis=-1)
    inverse = jnp.logaddexp(total, 0) - jnp.log1p(same.sum(axis=-1).astype(total.dtype))
    return jnp.argmin(jnp.where(usable, inverse, jnp.inf))


def score_valid(score: Score, at: Points) -> Float[Array, " j"]:
    """Scores of points; -inf outside the space."""
    return jnp.where(at.valid.all(axis=-1), score(at), -jnp.inf)
