"""How much each task counts in the densities of a target: by similarity, or by what it foretells of it."""

import abc
from typing import Any, NamedTuple, final

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from parzax import _checks
from parzax.meta.densities import TaskDensities
from parzax.meta.sources import Sources
from parzax.meta.variation import task_kernel
from parzax.parzen import Smoothing
from parzax.parzen.basis import Basis
from parzax.split import SplitRows, State

# Of expectation and maximisation.
_ROUNDS = 30


class TaskWeights(NamedTuple):
    """Weights of the tasks in one group below and above, which sum to 1, and the share of rows below."""

    below: Float[Array, " t1"]
    above: Float[Array, " t1"]
    gamma: Float[Array, ""]


class AbstractTaskWeights(eqx.Module):
    """A rule for the weights of the tasks, the target first."""

    @abc.abstractmethod
    def __call__(
        self, smoothing: Smoothing, sources: Sources, basis: Basis, state: State, split: SplitRows, group: int
    ) -> TaskWeights:
        """Weights in the densities of one group.

        Args:
            smoothing: of the target's own densities.
            sources: t tasks.
            basis: of the target's space.
            state, split: rows of the target and their groups.
            group: 0 is the objective, i the i-th constraint.
        """


@final
class BySimilarity(AbstractTaskWeights):
    """N_m k(1, m), as in the paper; made by `by_similarity`."""

    def __call__(
        self, smoothing: Smoothing, sources: Sources, basis: Basis, state: State, split: SplitRows, group: int
    ) -> TaskWeights:
        """See `by_similarity`."""
        alike = sources.similarities(smoothing, state, split, group)
        return _of_kernel(task_kernel(alike, sources.there(group)), sources, state, split, group)


@final
class Stacking(AbstractTaskWeights):
    """By how well each task foretells the target's own rows; made by `stacking`."""

    doubt: float | Float[Array, ""]

    def __call__(
        self, smoothing: Smoothing, sources: Sources, basis: Basis, state: State, split: SplitRows, group: int
    ) -> TaskWeights:
        """See `stacking`."""
        below, above, dtype = split.below[group], split.above[group], state.x.dtype
        rows = state.points

        def every(mask: Bool[Array, " n"], source: TaskDensities) -> Float[Array, "t1 n"]:
            # The target's own density at a row is that of its other rows.
            own = smoothing.mixture(basis, rows, mask.astype(dtype)).left_out(basis, rows)
            return jnp.concatenate([own[None], source.log_prob(basis, rows)])

        log_below, log_above = every(below, sources.below[group]), every(above, sources.above[group])
        n_below, n = below.sum().astype(dtype), (below | above).sum().astype(dtype)
        # Half a row on either side, so that no row is foretold for certain.
        odds = log_below - log_above + jnp.log((n_below + 0.5) / (n - n_below + 0.5))
        log_chance = jax.nn.log_sigmoid(jnp.where(below[None], odds, -odds))
        there = jnp.concatenate([jnp.ones(1, bool), sources.there(group)])
        places = mixture_weights(log_below, below, there, self.doubt)
        sides = mixture_weights(log_chance, below | above, there, self.doubt)
        of_sources = (places * sides)[1:]
        weight = jnp.concatenate([1 - of_sources.sum(keepdims=True), of_sources])
        sizes = _sizes(sources, state, split, group)
        n_rows = sizes.below + sizes.above
        gamma = (weight * sizes.below / jnp.where(n_rows > 0, n_rows, 1)).sum()
        return TaskWeights(weight, weight, gamma)


def by_similarity() -> BySimilarity:
    """W_m proportional to N_m k(1, m), N_m the size of the group in task m (arXiv 2212.06751).

    Tasks without rows in a group below are not among the T tasks of its k(1, m). A share gamma is
    sum_m k(1, m) N_m^(l) over sum_m k(1, m) N_m: with c-TPE's score the sum gamma l + (1 - gamma) g is then
    the density of all rows of all tasks.
    """
    return BySimilarity()


def stacking(doubt: float | Float[Array, ""] = 1.0) -> Stacking:
    """Weights by how well each task foretells the target's own rows, in both of two ways.

    Of the weights W of a mixture that foretells most, sum_i log sum_m W_m q_m(x_i) + doubt sum_m log(W_m)
    / T, there are two kinds: by where the rows below are, q_m = l_m, over these rows (stacked densities,
    Smyth and Wolpert 1999), and by which of all rows are below, q_m = gamma l_m / (gamma l_m + (1 - gamma)
    g_m) or 1 less that (stacking, Wolpert 1992). The target's own densities know all rows but the one at
    hand. A source has the product of both weights, in both groups, and the target what is left.

    The first kind alone trusts a source too long that sent the search where its own good rows are; the second
    alone one that cannot tell any more where to look, as all rows are good ones. So a source helps at first,
    and the target has all the weight once its own rows say more.

    Args:
        doubt: how many rows' worth of equal weights is added; above 0.

    Raises:
        ValueError: for another ``doubt``.
    """
    known = _checks.scalar("doubt", doubt)
    if known is not None and not 0 < known < jnp.inf:
        raise ValueError(f"doubt must be positive and finite, got {doubt!r}.")
    return Stacking(_checks.plain(doubt))


def mixture_weights(
    log_prob: Float[Array, "t k"],
    present: Bool[Array, " k"],
    there: Bool[Array, " t"],
    doubt: float | Float[Array, ""],
) -> Float[Array, " t"]:
    """The maximiser W of sum_i log sum_m W_m exp(log_prob_mi) + doubt sum_m log(W_m) / T.

    By 30 rounds of expectation and maximisation, from equal weights (Dempster, Laird and Rubin 1977).

    Args:
        log_prob: (t, k) logs of t densities at k rows; arbitrary where absent.
        present: (k,) which rows are there.
        there: (t,) which densities are, T in all; the others have weight 0. At least one.
        doubt: rows' worth of equal weights.
    """
    equal = there.astype(log_prob.dtype) / there.sum().astype(log_prob.dtype)
    usable = there[:, None] & present[None]
    highest = jnp.where(usable, log_prob, -jnp.inf).max(axis=0)
    highest = jnp.where(jnp.isfinite(highest), highest, 0)
    ratio = jnp.where(usable, jnp.exp(jnp.where(usable, log_prob, 0) - highest[None]), 0)

    def step(_: int, weight: Float[Array, " t"]) -> Float[Array, " t"]:
        joint = weight[:, None] * ratio
        whole = joint.sum(axis=0)
        of_rows = (joint / jnp.where(whole > 0, whole, 1)[None]).sum(axis=1)
        return (of_rows + doubt * equal) / (of_rows.sum() + doubt)

    return jax.lax.fori_loop(0, _ROUNDS, step, equal)


class _Sizes(NamedTuple):
    below: Float[Array, " t1"]
    above: Float[Array, " t1"]


def _sizes(sources: Sources, state: State, split: SplitRows, group: int) -> _Sizes:
    """Rows of every task in both parts of a group, the target's first."""
    own = (split.below[group], split.above[group])
    theirs = sources.below[group].n_rows, sources.above[group].n_rows
    sizes = (
        jnp.concatenate([mask.sum()[None].astype(state.x.dtype), n])
        for mask, n in zip(own, theirs, strict=True)
    )
    return _Sizes(*sizes)


def _of_kernel(
    kernel: Float[Array, " t1"], sources: Sources, state: State, split: SplitRows, group: int
) -> TaskWeights:
    below, above = _sizes(sources, state, split, group)
    known = (below + above).at[0].set(split.n_known[group].astype(below.dtype))
    rows = (kernel * known).sum()
    share = (kernel * below).sum() / jnp.where(rows > 0, rows, 1)
    gamma = jnp.where(rows > 0, share, split.gamma[group])
    return TaskWeights(_shares(below * kernel), _shares(above * kernel), gamma)


def _shares(weight: Float[Array, " t1"]) -> Float[Array, " t1"]:
    """Weights over their sum; the target alone where no task has any."""
    total = weight.sum()
    alone = (jnp.arange(len(weight)) == 0).astype(weight.dtype)
    return jnp.where(total > 0, weight / jnp.where(total > 0, total, 1), alone)


def check_weights(weights: Any) -> None:
    """Raise TypeError for what is no rule."""
    if not isinstance(weights, AbstractTaskWeights):
        raise TypeError(f"task_weights must be a rule, such as parzax.meta.stacking(), got {weights!r}.")
