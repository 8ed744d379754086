"""The best rows of a state against loops, and objectives to be maximised against negated ones."""

import enum

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optuna
import pytest
from benchmarks.settings import adjusted

import parzax as px

SPACE = px.Space({"k": px.Int(0, 5), "z": px.Categorical(["a", "b"])})
N, CAPACITY = 20, 32


def _rows(m: int, c: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """With ties, repeated rows, pending rows and infinities; without noise (`test_noise` has noise)."""
    rng = np.random.default_rng(seed)
    x = np.stack([rng.integers(0, 6, N), rng.integers(0, 2, N)], axis=1).astype(float)
    x[5] = x[1]
    k = (2 * x[:, 0] + x[:, 1]).astype(int)
    objectives = rng.choice([0.0, 1.0, 2.0, 3.0, np.inf], (12, m), p=[0.1, 0.3, 0.3, 0.2, 0.1])[k]
    objectives[::7] = np.nan
    excess = np.where(np.isnan(objectives[:, :1]), np.nan, rng.integers(-2, 2, (12, c))[k])
    return x, objectives, excess


def _best(x, objectives, constraints, signs) -> list[int]:
    """The first row of smallest loss, or the rows that no other one dominates, each once."""
    losses = objectives * signs
    feasible = [
        i for i in range(len(x)) if not np.isnan(losses[i]).any() and all(v <= 0 for v in constraints[i])
    ]
    if losses.shape[1] == 1:
        return [min(feasible, key=lambda i: (losses[i, 0], i))] if feasible else []
    front = []
    for i in feasible:
        dominated = any((losses[j] <= losses[i]).all() and (losses[j] < losses[i]).any() for j in feasible)
        equal = [j for j in feasible if j < i and (losses[j] == losses[i]).all() and (x[j] == x[i]).all()]
        if not dominated and not equal:
            front.append(i)
    return front


def _same(found: px.samplers.Best, rows, wanted: list[int]) -> None:
    """The wanted rows under the mask, and NaN in all others."""
    found = jax.tree.map(np.asarray, found)
    mask = found.mask
    assert mask.shape == (CAPACITY,)
    assert np.flatnonzero(mask).tolist() == wanted
    for part, told in zip(found[:3], rows, strict=True):
        np.testing.assert_array_equal(part[mask], told[wanted])
        assert np.isnan(part[~mask]).all()


@pytest.mark.parametrize(
    ("directions", "c"),
    [
        (("minimize",), 0),
        pytest.param(("maximize",), 1, marks=pytest.mark.slow),
        pytest.param(("minimize", "maximize"), 0, marks=pytest.mark.slow),
        (("maximize", "minimize"), 2),
    ],
)
def test_best_is_the_loops(directions, c):
    """Of one state, and in compiled code of a batch of states."""
    sampler, m = px.mo_tpe(SPACE, len(directions), c, directions=directions), len(directions)
    signs = np.array([-1.0 if direction == "maximize" else 1.0 for direction in directions])
    states, sizes = [], set()
    every = [_rows(m, c, seed) for seed in range(8)]
    for rows in every:
        state, wanted = sampler.tell(sampler.init(CAPACITY), *rows), _best(*rows, signs)
        _same(sampler.best(state), rows, wanted)
        states.append(state)
        sizes.add(len(wanted))
    assert m == 1 or len(sizes) > 1
    batch = jax.jit(jax.vmap(lambda state: sampler.best(state)))(
        jax.tree.map(lambda *a: np.stack(a), *states)
    )
    for i, rows in enumerate(every):
        _same(jax.tree.map(lambda a, i=i: np.asarray(a)[i], batch), rows, _best(*rows, signs))


@pytest.mark.parametrize(("directions", "c"), [(("maximize",), 0), (("maximize", "minimize"), 2)])
def test_the_best_rows_of_a_log(directions, c):
    """As in a state; a log counts a row with an infinite loss as failed."""
    signs = np.array([-1.0 if direction == "maximize" else 1.0 for direction in directions])
    for seed in range(8):
        x, objectives, excess = _rows(len(directions), c, seed)
        objectives[np.isinf(objectives)], excess = np.nan, np.nan_to_num(excess, nan=1.0)
        given = {"constraints": excess} if c else {}
        log = px.Observations.from_arrays(SPACE, x, signs * objectives, directions, **given)
        wanted = _best(x, objectives, excess, 1.0)
        assert log.best_rows().tolist() == wanted
        if len(directions) == 1:
            assert log.best_params() == SPACE.as_dict(x[wanted[0]])
            rest = log.select(np.arange(N) != wanted[0])
            assert rest.best_rows() != wanted
    assert px.Observations.from_arrays(px.Space({"k": px.Int(0, 1)}), [[0]], [np.nan]).best_params() is None


@pytest.mark.parametrize("m", [1, 2])
def test_nothing_is_the_best_of_nothing(m):
    """An empty state, and one without a feasible row."""
    sampler = px.mo_tpe(SPACE, m, 1)
    state = sampler.init(4)
    told = sampler.tell(state, [[0, 0], [1, 1]], np.ones((2, m)), [1.0, np.inf])
    pending = sampler.tell(state, [[0, 0], [1, 1]], np.full((2, m), np.nan), [-1.0, -1.0])
    only = sampler.augment(state, [[0, 0], [1, 1]], [-1.0, -1.0])
    for own in (state, told, pending, only):
        best = sampler.best(own)
        assert [part.shape for part in best] == [(4, 2), (4, m), (4, 1), (4,)]
        assert not best.mask.any()


def test_the_best_are_told_as_they_were():
    """Beyond the capacity too, where the state has grown."""
    sampler = px.tpe(SPACE, directions="maximize")
    state = sampler.tell(sampler.init(2), [[0, 0], [1, 1], [5, 0], [2, 1]], [1.0, 3.0, 7.0, -2.0])
    best = sampler.best(state)
    assert best.mask.tolist() == [False, False, True] + [False] * 61
    assert (best.x[best.mask].tolist(), best.losses[best.mask].tolist()) == ([[5, 0]], [[7]])
    assert best.constraints.shape == (64, 0)


# --- directions --------------------------------------------------------------------------------


class Direction(enum.IntEnum):
    """As Optuna's StudyDirection, which is not imported here."""

    NOT_SET = 0
    MINIMIZE = 1
    MAXIMIZE = 2


MIXED = px.Space({"x": px.Float(0, 1), "k": px.Categorical(["a", "b", "c"])})


def _told(m: int, c: int):
    rng = np.random.default_rng(m)
    x = np.stack([rng.uniform(size=16), rng.integers(0, 3, 16)], axis=1)
    return x, rng.normal(size=(16, m)), rng.normal(size=(16, c))


def _equal(found, wanted) -> None:
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("direction", ["maximize", Direction.MAXIMIZE])
@pytest.mark.parametrize("several", [False, True])
def test_states_have_losses(direction, several):
    """Catches an objective that is maximised by some parts of a sampler only: they all read the state.

    To the last bit, as negating by hand.
    """
    m, first = 1 + several, (direction, "minimize") if several else direction
    sampler, plain = px.mo_tpe(MIXED, m, directions=first), px.mo_tpe(MIXED, m)
    assert sampler.directions == ("maximize", "minimize")[:m]
    assert plain.directions == ("minimize",) * m
    assert eqx.tree_equal(sampler.without_space(), plain.without_space())
    x, objectives, constraints = _told(m, 0)
    signs = np.array([-1.0, 1.0])[:m]
    state = sampler.tell(sampler.init(32), x, objectives, constraints)
    negated = plain.tell(plain.init(32), x, objectives * signs, constraints)
    _equal(state, negated)
    best, wanted = sampler.best(state), plain.best(negated)
    _equal((best.x, best.mask), (wanted.x, wanted.mask))
    np.testing.assert_array_equal(np.asarray(best.losses) * signs, wanted.losses)


def test_optunas_directions():
    """Members of Optuna's own enumeration."""
    both = [optuna.study.StudyDirection.MAXIMIZE, optuna.study.StudyDirection.MINIMIZE]
    assert px.mo_tpe(MIXED, 2, directions=both).directions == ("maximize", "minimize")
    assert px.tpe(MIXED, directions=both[0]).directions == ("maximize",)
    with pytest.raises(ValueError, match=r"^direction must be one of 'minimize', 'maximize'"):
        px.tpe(MIXED, directions=optuna.study.StudyDirection.NOT_SET)


@pytest.mark.slow
def test_runs_in_a_direction():
    """A run that maximises is the run that minimises the negated problem."""
    up = px.Problem(lambda key, x: -jnp.square(x[0] - 0.3) - (x[1] != 1).astype(x.dtype), MIXED)
    down = px.Problem(lambda key, x: jnp.square(x[0] - 0.3) + (x[1] != 1).astype(x.dtype), MIXED)
    key = jax.random.key(5)
    found = px.optimize(key, adjusted(px.tpe, n_startup=4)(MIXED, directions="maximize"), up, 16)
    wanted = px.optimize(key, adjusted(px.tpe, n_startup=4)(MIXED), down, 16)
    np.testing.assert_array_equal(found.x, wanted.x)
    np.testing.assert_array_equal(found.losses, -np.asarray(wanted.losses))
    np.testing.assert_array_equal(found.best_losses(), -np.asarray(wanted.best_losses()))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: px.c_tpe(MIXED, n_constraints=1, directions="up"), ValueError, "^direction must be one of"),
        (lambda: px.tpe(MIXED, directions="up"), ValueError, "^direction must be one of"),
        (lambda: px.tpe(MIXED, 1, directions=["minimize"] * 2), ValueError, "^directions: 2 for 1 objective"),
        (lambda: px.tpe(MIXED, directions=2), TypeError, "^direction must be"),
        (lambda: px.mo_tpe(MIXED, 2, directions=["minimize"]), ValueError, "^directions: 1 for 2 objectives"),
    ],
)
def test_directions_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


# --- growth ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tell_grows_on_the_host():
    """As if there had been room from the start; a batch that does not fit as a whole, and row after row."""
    sampler = px.c_tpe(SPACE, n_constraints=1)
    x, objectives, constraints = _rows(1, 1, 0)
    roomy = sampler.tell(sampler.init(64), x, objectives, constraints)
    at_once = sampler.tell(sampler.init(3), x, objectives, constraints)
    state = sampler.init(1)
    for i in range(N):
        state = sampler.tell(state, x[i], objectives[i], constraints[i])
    for found in (at_once, state):
        assert (found.capacity, int(found.count), bool(found.overflow)) == (64, N, False)
        for part in ("x", "losses", "constraints", "order", "loss_order"):
            np.testing.assert_array_equal(getattr(found, part), getattr(roomy, part), part)
        assert not int(sampler.status(found)) & px.Status.CAPACITY_EXCEEDED
    more = sampler.augment(sampler.tell(sampler.init(N), x, objectives, constraints), x[:1], [-1.0])
    assert (more.capacity, int(more.count), bool(more.constraint_only[N])) == (64, N + 1, True)


@pytest.mark.slow
def test_compiled_tell_drops_what_does_not_fit():
    """With a status: shapes of compiled code cannot grow."""
    sampler = px.c_tpe(SPACE, n_constraints=1)
    rows = _rows(1, 1, 0)
    found = jax.jit(sampler.tell)(sampler.init(3), *map(jnp.asarray, rows))
    kept = sampler.tell(sampler.init(3), *(part[:3] for part in rows))
    assert (found.capacity, int(found.count), bool(found.overflow)) == (3, 3, True)
    np.testing.assert_array_equal(found.losses, kept.losses)
    np.testing.assert_array_equal(found.loss_order, kept.loss_order)
    assert int(sampler.status(found)) & px.Status.CAPACITY_EXCEEDED
