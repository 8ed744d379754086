"""Suggestions and scores as pure functions of a sampler and the arrays of its space.

The sampler may lack its space (`parzax.samplers.Sampler.without_space`), so that compiled programs do not
depend on names and bounds.
"""

from functools import partial
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from parzax import _checks
from parzax.density import AbstractMixture, Mixture
from parzax.density.basis import Basis
from parzax.samplers import candidates
from parzax.samplers.candidates import Score, concatenate
from parzax.samplers.repeats import as_configurations, choose_repeats
from parzax.space import Points
from parzax.split import State
from parzax.status import Status

Sampler: TypeAlias = Any  # a `parzax.samplers.Sampler`, whose methods call this module


def suggest_points(
    sampler: Sampler,
    basis: Basis,
    key: PRNGKeyArray,
    state: State,
    n: int = 1,
    pool: Points | None = None,
    every: Points | None = None,
    starting: Any = None,
    told: Bool[Array, " j"] | None = None,
    groups: Any = None,
) -> Points:
    """n suggestions, from the pool if there is one; ``every`` has all configurations of a small space.

    Members of the pool in the mask ``told`` come after the others. ``groups`` are from `rows_for_groups`.
    ``starting`` says whether the state has fewer than ``n_startup`` rows, if the caller knows it. Only
    the code of such suggestions is then compiled.
    """
    start, proposal = sampler.start, sampler.proposal
    # A batch needs a fifth key for fillers. The first four are the same as for a single suggestion.
    begin, draw, choose, pick, *more = jax.random.split(key, 4 if n == 1 and proposal.repeats else 5)
    if starting is None:
        starting = is_starting(sampler, state)
    rows, may_repeat = rows_for_groups(sampler, state, starting) if groups is None else groups
    seen: candidates.Seen | None = None if told is None else lambda _: told & jnp.logical_not(may_repeat)
    # with an always active continuous parameter, two draws are never equal
    if pool is None and not (proposal.repeats or basis.free_continuum):
        counts = state.present & ~state.constraint_only & jnp.logical_not(may_repeat)
        seen = partial(candidates.is_seen, basis, state.points, counts)
    dtype = state.x.dtype
    random = partial(_draw_different, basis=basis, dtype=dtype, n=n, pool=pool, every=every, told=told)

    def at_random(key: PRNGKeyArray) -> Points:
        drawn, beliefs = random(key), sampler.prior
        return drawn if beliefs is None else beliefs.put_into(drawn, key, basis.frame, state.count)

    def first() -> Points:
        if pool is not None:
            return random(begin)
        started = start(begin, state, at_random)
        # Rows from beliefs may be equal, and a random configuration may equal one of the start's rows.
        return started if n == 1 or basis.free_continuum else _different(basis, n, started, random(begin))

    def later() -> Points:
        one_loss = sampler.n_objectives == 1 and not sampler.n_constraints
        by_member = proposal.midpoints and one_loss and n > 1 and pool is None
        densities, score = fit_scorer(sampler, basis, rows, by_member)
        if pool is not None:
            return candidates.best_of_candidates(basis, score, pool, None, n, seen)

        def sample(key: PRNGKeyArray) -> Points:
            if by_member:
                return candidates.draw_midpoints(key, densities.below, basis, n, sampler.n_candidates)
            return densities.below.sample(key, basis, max(sampler.n_candidates, n))

        drawn = candidates.draw_valid(draw, basis, sample, n)
        filling = more and not basis.free_continuum
        fillers = candidates.draw_fillers(more[0], basis, n, every, dtype) if filling else None
        one_branch: Any = proposal.one_branch and basis.frame.n_rounds > 0
        if one_branch and one_loss:
            one_branch = jax.random.bernoulli(jax.random.fold_in(choose, 1))
        return candidates.best_of_candidates(basis, score, drawn, fillers, n, seen, one_branch, by_member)

    if isinstance(starting, bool):
        suggested = first() if starting else later()
    else:
        suggested = jax.lax.cond(starting, first, later)
    if isinstance(proposal.epsilon, (int, float)) and proposal.epsilon == 0:
        return suggested
    by_chance = jax.random.uniform(choose, (n, 1)) < proposal.epsilon
    if pool is None:
        by_chance &= jnp.logical_not(starting)
    drawn = random(pick)
    mixed = jax.tree.map(partial(jnp.where, by_chance), drawn, suggested)
    if n == 1 or (pool is None and basis.free_continuum):
        return mixed
    # If a random configuration equals a suggestion, another suggestion replaces it.
    return _different(basis, n, mixed, suggested, drawn)


def suggest(
    sampler: Sampler,
    basis: Basis,
    key: PRNGKeyArray,
    state: State,
    n: int,
    every: Points | None,
    starting: Any,
    differs: bool | None,
    confirm: bool | Bool[Array, "*n"] | None,
) -> Float[Array, "{n} d"]:
    """Native values of n suggestions; of good configurations again with ``confirm``, or because of noise.

    ``differs`` is False if the caller knows that no two evaluations of a configuration do, and takes care of
    repeats by `repeat`. Then no code for repeats is compiled, a third of the whole.
    """
    groups = rows_for_groups(sampler, state, starting, differs)
    at = suggest_points(sampler, basis, key, state, n, None, every, starting, None, groups)
    x = basis.frame.decode(at)
    by_itself = differs is not False and repeats_by_itself(sampler, state, starting)
    if confirm is None and by_itself is False:  # nothing is added to the compiled program
        return x
    confirm, find_allowed = False if confirm is None else confirm, partial(find_repeatable, basis, state)
    again, rows = choose_repeats(state, confirm, n, find_allowed, by_itself, groups[1])
    # Rows as they were told: decoded coordinates may be rounded, and so be other configurations.
    values = jnp.where(again[:, None], state.x[rows], x)
    if n == 1 or basis.free_continuum:
        return values
    # A new suggestion may equal a repeat; another one replaces it.
    points = concatenate(jax.tree.map(partial(jnp.where, again[:, None]), state.points[rows], at), at)
    values = jnp.concatenate([values, x])
    return values[candidates.pick_different(basis, points, jnp.arange(2 * n), n)]


def find_repeatable(basis: Basis, state: State) -> Bool[Array, " rows"]:
    """Rows that are valid, and inside of the space, as may not be after a range has moved."""
    inside = basis.frame.encode(state.x).valid.all(axis=-1)
    return basis.frame.allowed(state.points, state.x) & inside


def repeat(sampler: Sampler, basis: Basis, state: State) -> tuple[Bool[Array, ""], Float[Array, "1 d"]]:
    """Whether the next suggestion repeats a configuration while no evaluations differ, and which one."""
    by_itself = repeats_by_itself(sampler, state, None)
    again, rows = choose_repeats(state, False, 1, partial(find_repeatable, basis, state), by_itself, False)
    return again[0], state.x[rows]


def rows_for_groups(
    sampler: Sampler, state: State, starting: Any = None, differs: bool | None = None
) -> tuple[State, Any]:
    """The rows that densities are fitted to, and whether a configuration may be suggested again.

    ``differs`` as in `suggest`.
    """
    repeats = sampler.proposal.repeats
    if repeats is None and starting is not True:
        return as_configurations(state, differs)
    return state, bool(repeats)


def repeats_by_itself(sampler: Sampler, state: State, starting: Any) -> bool | Bool[Array, ""]:
    """Whether suggestions may be repeats that nobody asked for; ``starting`` as in `suggest_points`."""
    if sampler.proposal.repeats is not None or starting is True:
        return False
    return jnp.logical_not(is_starting(sampler, state) if starting is None else starting)


def is_starting(sampler: Sampler, state: State) -> Bool[Array, ""]:
    """Whether the state has fewer than ``n_startup`` rows that are not constraint-only."""
    only = (state.constraint_only & state.present).sum(dtype=state.count.dtype)
    return state.count - only < sampler.start.n_startup


def suggest_members(
    sampler: Sampler,
    basis: Basis,
    key: PRNGKeyArray,
    state: State,
    n: int,
    x: Float[Any, "j d"],
    pool: Points,
    starting: Any,
) -> Float[Array, "{n} d"]:
    """n members of a pool: native values ``x``, as points ``pool``."""
    x, told = jnp.asarray(x), None
    pool = basis.frame.restricted(pool, x)
    if not sampler.proposal.repeats:
        told = candidates.find_told(x, state.x, state.present & ~state.constraint_only)
    at = suggest_points(sampler, basis, key, state, n, pool, None, starting, told)
    # Pool members are returned as given, because decoding their unit coordinates would round them.
    return x[jnp.argmax(candidates.is_near(at[:, None], pool[None], True, 0), axis=-1)]


def score(sampler: Sampler, basis: Basis, state: State, x: Float[Array, "j d"]) -> Float[Array, " j"]:
    """Acquisition function at native values; -inf outside the space, and where its rules do not hold."""
    at = basis.frame.restricted(basis.frame.encode(x), x)
    rows, _ = rows_for_groups(sampler, state)
    return candidates.score_valid(fit_scorer(sampler, basis, rows)[1], at)


def fit_scorer(
    sampler: Sampler, basis: Basis, rows: State, graded: bool = False
) -> tuple[AbstractMixture, Score]:
    """The densities of all groups of `rows_for_groups`, and the acquisition function of points."""
    split = sampler.split(rows)
    densities, gamma = sampler.smoothing.fit(basis, rows, split.graded() if graded else split)
    if sampler.prior is not None:
        _checks.instance("prior: the densities", densities, Mixture, "a parzax.density.Mixture")
        densities = densities.with_beliefs(basis, sampler.prior, rows.count)

    def score(at: Points) -> Float[Array, " j"]:
        below, above = jnp.moveaxis(densities.log_prob(basis, at), 1, 0)
        scores = sampler.acquisition(below, above, gamma)
        if scores.shape != below.shape[1:]:
            raise ValueError(
                f"{type(sampler.acquisition).__name__} must return one score per candidate, shape "
                f"{below.shape[1:]}, but returned shape {scores.shape}; the densities have shape "
                f"{below.shape}."
            )
        return scores

    return densities, score


def status(sampler: Sampler, basis: Basis, state: State) -> Int[Array, ""]:
    """See `parzax.samplers.Sampler.status`."""
    evaluated = state.evaluated
    bits = {
        Status.NO_DATA: ~evaluated.any(),
        Status.UNMEASURED: (evaluated & jnp.isnan(state.constraints).any(axis=-1)).any(),
        Status.CAPACITY_EXCEEDED: state.overflow,
        Status.INVALID_ROWS: (state.present & ~state.points.valid.all(axis=-1)).any(),
        Status.NOT_ALLOWED: (state.present & ~basis.frame.allowed(state.points, state.x)).any(),
    }
    rows = jnp.stack([jnp.where(bit, int(flag), 0) for flag, bit in bits.items()]).sum()
    parts: Any = sampler.split.status(state) | sampler.smoothing.status(basis, state, sampler.split(state))
    return rows.astype(jnp.int32) | parts


def _draw_different(
    key: PRNGKeyArray, basis: Basis, dtype: Any, n: int, pool: Points | None, every: Points | None, told: Any
) -> Points:
    """n random configurations; they are different if n different ones exist."""
    if pool is not None:
        order = jax.random.permutation(key, len(pool))
        # Members that were told come after the others, and those outside the space last.
        outside = ~pool.valid.all(axis=-1)
        last = (outside,) if told is None else (told, outside)
        drawn = pool[order[jnp.lexsort([mask[order] for mask in last])]]
        return drawn[:n] if n == 1 else _different(basis, n, drawn)
    if n == 1:
        return basis.frame.draw(key, n, dtype)
    draw, fill = jax.random.split(key)
    drawn = basis.frame.draw_spread(draw, n, dtype)
    if basis.free_continuum:
        return drawn
    return _different(basis, n, drawn, candidates.draw_fillers(fill, basis, n, every, dtype))


def _different(basis: Basis, n: int, *parts: Points) -> Points:
    """The first n different points."""
    points = concatenate(*parts)
    return points[candidates.pick_different(basis, points, jnp.arange(len(points)), n)]
