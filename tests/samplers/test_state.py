"""The state's incremental orders against sorting, and densities of groups against one mixture each."""

import functools
from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from densities import SPACES, points, rows

import parzax as px
from parzax.density.smoothing import Smoothing
from parzax.samplers import State
from parzax.split.split import count_before

from . import tables
from .tables import SPACE_OF, add, candidates, empty, encoded

NAN, INF = np.nan, np.inf
SPACE = px.Space({"x": px.Float(0.0, 1.0), "k": px.Categorical(["a", "b"]), "n": px.Int(0, 3)})
SAMPLER = px.c_tpe(SPACE, n_constraints=2)
TWO = px.mo_tpe(SPACE, 2, 2)
N, CAPACITY = 12, 16


def _draw(seed: int, m: int = 1, n: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Values with ties in every column; losses with ties, NaN and infinities."""
    rng = np.random.default_rng(seed)
    x = np.stack([rng.choice([0, 0.25, 0.5, 1], n), rng.integers(0, 2, n), rng.integers(0, 4, n)], axis=1)
    losses = rng.choice([NAN, -INF, INF, 0.0, -0.0, 1.0, 2.0], (n, m))
    excess = rng.choice([-INF, -1, 0, 1e-9, INF, NAN], (n, 2), p=[0.1, 0.4, 0.3, 0.1, 0.05, 0.05])
    return x, losses, excess


def _all_at_once(sampler, data, extra=False, capacity=CAPACITY):
    return _put(empty(sampler, capacity), data, extra)


def _put(state, data, extra=False):
    sampler = TWO if state.losses.shape[1] == 2 else SAMPLER
    return add(sampler, state, *(jnp.asarray(part, state.x.dtype) for part in data), extra)


def _one_by_one(state, data, extra=False):
    for i in range(len(data[0])):
        state = _put(state, [part[i : i + 1] for part in data], extra)
    return state


def _same(a: State, b: State) -> None:
    """All of it; an absent row's point may be anything finite."""
    # In NumPy, whose indices compile nothing.
    a, b = (jax.tree.map(np.asarray, state) for state in (a, b))
    assert all(np.isfinite(part).all() for part in jax.tree.leaves((a.points, b.points)))
    a, b = (eqx.tree_at(lambda s: s.points, s, s.points[: int(s.count)]) for s in (a, b))
    jax.tree.map_with_path(lambda path, u, v: np.testing.assert_array_equal(u, v, str(path)), a, b)


_count_before = jax.jit(count_before)
_masks_of = jax.jit(lambda state: (state.evaluated, state.feasible))


def _sorted(state: State, data, extra) -> None:
    """Counts and orders by loops over all rows."""
    x, losses, excess = data
    masks = _masks_of(state)
    n, state = int(state.count), jax.tree.map(np.asarray, state)
    assert n == min(len(x), state.capacity)
    evaluated = [i for i in range(n) if not np.isnan(losses[i]).any() and not extra[i]]
    feasible = [i for i in evaluated if (excess[i] <= 0).all()]
    for mask, wanted in zip(masks, (evaluated, feasible), strict=True):
        np.testing.assert_array_equal(np.flatnonzero(mask), wanted)
    key = {i: (losses[i, 0], i) for i in evaluated}
    for counted in (evaluated, feasible):
        before = _count_before(state.loss_order[0], np.isin(np.arange(state.capacity), counted))
        for i in evaluated:
            assert int(before[i]) == sum(key[j] < key[i] for j in counted)
    named = [tuple("absent" if np.isnan(v) else v for v in row) for row in np.asarray(state.x[:n])]
    np.testing.assert_array_equal(state.first, [*map(named.index, named), *range(n, state.capacity)])
    losses = np.where(np.isnan(state.losses), INF, state.losses)
    for orders, keys in ((state.order, state.points.unit), (state.loss_order, losses)):
        for order, column in zip(orders, keys.T, strict=True):
            wanted = sorted(range(n), key=lambda i: (column[i], i))
            np.testing.assert_array_equal(order, [*wanted, *range(n, state.capacity)])


@pytest.mark.parametrize("sampler", [SAMPLER, pytest.param(TWO, marks=pytest.mark.slow)])
def test_one_by_one_is_all_at_once_is_sorting(sampler):
    """Ties (earlier rows first), NaN, infinities; catches an order that drifts."""
    for seed in range(6):
        data = _draw(seed, sampler.n_objectives)
        whole = _all_at_once(sampler, data)
        _sorted(whole, data, np.zeros(N, bool))
        _same(_one_by_one(empty(sampler, CAPACITY), data), whole)


def test_constraint_only_rows_count_for_no_objective():
    """They have their place by coordinates, and in no order of losses, whatever their losses are."""
    first, second = _draw(1), _draw(2)
    extra = np.arange(N) >= 6
    parts = [[part[:6] for part in first], [part[6:] for part in second]]
    parts[1][1] = np.full((6, 1), NAN)
    own = [np.concatenate(pair) for pair in zip(*parts, strict=True)]
    state = _put(_put(empty(SAMPLER, CAPACITY), parts[0]), parts[1], True)
    _sorted(state, own, extra)
    np.testing.assert_array_equal(state.constraint_only, np.r_[extra, [False] * (CAPACITY - N)])
    _same(_one_by_one(_one_by_one(empty(SAMPLER, CAPACITY), parts[0]), parts[1], True), state)


@pytest.mark.parametrize("capacity", [pytest.param(1, marks=pytest.mark.slow), 5])
def test_rows_without_room_leave_no_trace(capacity):
    """But for ``overflow``: counts of the rows that are there stay those of the rows that are there."""
    data = _draw(3)
    data[1][:] = np.arange(N)[::-1, None]  # each dropped row is better than all before
    kept = [part[:capacity] for part in data]
    state = _all_at_once(SAMPLER, kept, capacity=capacity)
    assert not bool(state.overflow)
    for over in (_all_at_once(SAMPLER, data, capacity=capacity), _one_by_one(state, data)):
        assert bool(over.overflow)
        _sorted(over, data, np.zeros(N, bool))
        _same(eqx.tree_at(lambda s: s.overflow, over, state.overflow), state)


@pytest.mark.slow
def test_grown_is_as_if_there_had_been_room_from_the_start():
    """In the middle of a run, more than once, full or not.

    `test_a_loop_is_ask_and_tell_by_hand` and `adapters.test_rows` have fast ones.
    """
    data = _draw(4)
    wanted = _all_at_once(SAMPLER, data)
    for at in (0, 3, 4):
        state = _one_by_one(empty(SAMPLER, 4), [part[:at] for part in data])
        state = _one_by_one(SAMPLER.grow(state, 8), [part[at:7] for part in data])
        state = SAMPLER.grow(SAMPLER.grow(state, 8), CAPACITY)
        _same(_one_by_one(state, [part[7:] for part in data]), wanted)
        _same(_put(state, [part[7:] for part in data]), wanted)
    with pytest.raises(ValueError, match="capacity must be at least 16, got 8"):
        SAMPLER.grow(wanted, 8)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("k", [1, 3])
def test_types_stay(k, double):
    """A state is the carry of a loop, whatever the precision."""
    with jax.enable_x64(double):
        state = empty(SAMPLER, CAPACITY)
        more = eqx.filter_eval_shape(_put, state, [part[:k] for part in _draw(0)])
        same = jax.tree.map(lambda a, b: (a.shape, a.dtype) == (b.shape, b.dtype), state, more)
        assert all(jax.tree.leaves(same))


def test_under_vmap():
    """A batch of states is each of them."""
    data = [_draw(seed) for seed in (5, 6)]
    stacked = [jnp.asarray(np.stack(parts), jnp.float32) for parts in zip(*data, strict=True)]
    batch = jax.jit(jax.vmap(lambda x, y, z: SAMPLER.tell(SAMPLER.init(CAPACITY), x, y, z)))(*stacked)
    for i, own in enumerate(data):
        _same(jax.tree.map(lambda a, i=i: np.asarray(a)[i], batch), _all_at_once(SAMPLER, own))


# --- densities of groups of the same rows ----------------------------------------------------------

N_DRAWS = 8
RULES = {
    "scott": (px.bandwidth.Scott(), px.bandwidth.FixedTop(0.8), 1.0),
    "magic clip": (px.bandwidth.Scott(0.05, consider_magic_clip=True), px.bandwidth.OptunaTop(), 2.5),
    "constant": (px.bandwidth.Constant(0.1), px.bandwidth.FixedTop(0.9), 0.01),
}
# float32 loses the most digits with narrow kernels and with a light prior: those of the other two rules.
CASES = [
    (s, r, double)
    for s in ("mixed", *SPACES)
    for r in RULES
    for double in (True, False)
    if double or r != "magic clip"
]


@functools.cache
def _masks(n: int) -> np.ndarray:
    """Pairs of groups without a common row: some and the others, all and none, one and none."""
    below = np.stack([np.arange(n) % 3 == 0, np.ones(n, bool), np.arange(n) == 4])
    return np.stack([below, [~below[0], *np.zeros((2, n), bool)]], axis=1)


@eqx.filter_jit
def _both(space, rows, at, masks, ages, key, bandwidth, top, prior_weight):
    """log densities and draws of groups: pairs with the same kernels, each on its own, order unknown."""
    order = jnp.argsort(jnp.where(rows.valid, rows.unit, jnp.inf), axis=0).T
    smoothing = Smoothing(bandwidth, top, prior_weight, joint=True)
    basis = smoothing.basis(space, rows.unit.dtype)
    fit = partial(smoothing.mixture, basis, rows)
    together, unordered = (jax.vmap(partial(fit, order=order))(masks, ages) for order in (order, None))
    each = jax.vmap(jax.vmap(fit))(masks, ages)
    one_by_one = jax.vmap(jax.vmap(lambda one: one.log_prob(replace(basis, pairwise=True), at)))
    drawn, alone = (basis.frame.decode(groups.sample(key, basis, N_DRAWS)) for groups in (together, each))
    return together.log_prob(basis, at), unordered.log_prob(basis, at), one_by_one(each), drawn, alone


@pytest.mark.slow
@pytest.mark.parametrize(("name", "rule", "double"), CASES)
def test_groups_with_one_scale(name, rule, double):
    """float64 1e-11; float32 2e-4, as for one density (tests/parzen/test_mixture.py).

    The fast ones of `test_scores` rest on it.
    """
    space, tolerance = (SPACE_OF | SPACES)[name], 1e-11 if double else 2e-4
    own = (rows(name), points(name)) if name in SPACES else (tables.rows(name, N, 1), candidates(name))
    with jax.enable_x64(double):
        observed, at = (encoded(space, jnp.asarray(values)) for values in own)
        masks = jnp.asarray(_masks(len(own[0])))
        ages = jnp.asarray(np.where(masks, np.linspace(0.1, 1, masks.shape[-1]), 0))
        found, unordered, wanted, drawn, alone = _both(
            space, observed, at, masks, ages, jax.random.key(1), *RULES[rule]
        )
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(unordered, found, rtol=tolerance, atol=tolerance)
        # A kernel's scale may be off by a rounding, and its draws by as much.
        np.testing.assert_allclose(drawn, alone, rtol=tolerance, atol=tolerance)
        assert tables.valid(space, drawn).all()
