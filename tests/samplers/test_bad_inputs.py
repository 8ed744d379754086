"""Bad inputs to samplers, as one table: the right value, a named status, or an error that says what to do.

Groups C, D and E of the acceptance matrix, as far as samplers meet them. Every table of rows is tried under
jit, under vmap and eagerly. A silent wrong number is the one thing that is not allowed.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from reference import tpe as oracle

import parzax as px

from .tables import (
    CAPACITY,
    FAMILY,
    SPACE_OF,
    add,
    candidates,
    empty,
    rows,
    score_of,
    table,
    told,
    valid,
)

S = px.Status
NAN, INF = np.nan, np.inf
KEY = jax.random.key(3)
SPACE = px.Space(
    {"x": px.Float(1e-3, 1.0, log=True), "kind": px.Categorical(["a", "b", "c"]),
     "y": px.Float(-1, 1, when=px.In("kind", ["b", "c"]))}
)  # fmt: skip
SAMPLER, VANILLA = px.c_tpe(SPACE, n_constraints=2), px.papers.tpe(SPACE)
N = 20


def _rows(n: int = N, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = np.stack([10 ** rng.uniform(-3, 0, n), rng.integers(0, 3, n), rng.uniform(-1, 1, n)], axis=1)
    x[x[:, 1] == 0, 2] = NAN
    return x


def _clean(seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [_rows(seed=seed), rng.normal(size=(N, 1)), rng.normal(size=(N, 2)) - 0.3]


# At the clamps: ends of domains, and rows.
AT = np.concatenate([_rows(6, 9), [[1e-3, 1, -1], [1.0, 2, 1], [1e-3, 0, NAN]], _rows()[:3]])


def _state(data, extra=None):
    state = empty(SAMPLER, CAPACITY)
    state = add(SAMPLER, state, *(jnp.asarray(part, state.x.dtype) for part in data), False)
    if extra is not None:
        state = add(SAMPLER, state, *(jnp.asarray(part, state.x.dtype) for part in extra), True)
    return state


def _oracle(data, extra=None) -> np.ndarray:
    own = data if extra is None else [np.concatenate(pair) for pair in zip(data, extra, strict=True)]
    flags = np.arange(len(own[0])) >= len(data[0])
    return oracle.scores(oracle.Settings("relative"), SPACE, (*own, flags), AT)


def _with(data, **changes: Callable[[np.ndarray], np.ndarray]):
    names = ("x", "losses", "excess")
    return [changes.get(name, lambda a: a)(part.copy()) for name, part in zip(names, data, strict=True)]


def _put(rows: Any, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change(part: np.ndarray) -> np.ndarray:
        part[rows] = value
        return part

    return change


CLEAN = _clean()
WRONG = np.array([[0.5, 3, 0.5], [0.5, 1.9, 0.5], [0.5, -1, 0.5], [0.5, NAN, NAN], [2.0, 1, 0.5], [0.5, 1,
     NAN],
                  [0.5, 0, 0.5], [NAN, 1, 0.5], [INF, 1, 0.5], [0.0, 1, 0.5], [-1.0, 1, 0.5]])  # fmt: skip
OUTSIDE = [np.concatenate([WRONG, CLEAN[0]]), np.concatenate([np.full((11, 1), -9), CLEAN[1]]),
           np.concatenate([np.full((11, 2), -9), CLEAN[2]])]  # fmt: skip
EXTRA = [_rows(5, 5), np.full((5, 1), NAN), np.array([[NAN, 1], [-1, NAN], [0, 2], [NAN, NAN], [INF, -INF]])]


def _none() -> list[np.ndarray]:
    return [part[:0] for part in CLEAN]


# Name, rows, what the status says, and the rows whose oracle it must equal (None: its own).
TABLES: list[tuple[str, Any, S, Any]] = [
    ("clean", (CLEAN,), S.OK, None),
    ("no row", (_none(),), S.NO_DATA, None),
    ("one row", ([part[:1] for part in _with(CLEAN, excess=_put(0, -1))],), S.OK, None),
    ("one row, not feasible", ([part[:1] for part in _with(CLEAN, excess=_put(0, 1))],), S.NONE_FEASIBLE,
     None),
    ("losses all equal", (_with(CLEAN, losses=_put(..., 1)),), S.OK, None),
    ("constraints all at 0", (_with(CLEAN, excess=_put(..., 0)),), S.OK, None),
    ("constraints all equal, violated", (_with(CLEAN, excess=_put(..., 1)),), S.NONE_FEASIBLE, None),
    ("nothing feasible", (_with(CLEAN, excess=lambda e: np.abs(e) + 0.1),), S.NONE_FEASIBLE, None),
    ("each constraint met, never both", (_with(CLEAN, excess=lambda e: np.stack([e[:, 0], 0.1 - e[:, 0]],
     1)),),
     S.NONE_FEASIBLE, None),
    ("one feasible", (_with(CLEAN, excess=lambda e: np.where(np.arange(N)[:, None] == 4, -1, 0 * e + 1)),),
     S.FEW_FEASIBLE, None),
    ("everything feasible", (_with(CLEAN, excess=lambda e: -np.abs(e)),), S.OK, None),
    ("constraints infinite", (_with(CLEAN, excess=_put(np.s_[::2], INF)),), S.OK, None),
    ("constraints -inf", (_with(CLEAN, excess=_put(np.s_[::2], -INF)),), S.OK, None),
    ("constraints all +inf", (_with(CLEAN, excess=_put(..., INF)),), S.NONE_FEASIBLE, None),
    ("losses infinite", (_with(CLEAN, losses=_put(np.s_[::2], INF)),), S.OK, None),
    ("losses -inf", (_with(CLEAN, losses=_put(np.s_[::2], -INF)),), S.OK, None),
    ("losses all +inf", (_with(CLEAN, losses=_put(..., INF)),), S.OK, None),
    ("losses of 1e30", (_with(CLEAN, losses=lambda v: v * 1e30),), S.OK, None),
    ("all pending", (_with(CLEAN, losses=_put(..., NAN)),), S.NO_DATA, None),
    ("pending without constraints", (_with(CLEAN, losses=_put(np.s_[::3], NAN), excess=_put(np.s_[::3],
     NAN)),),
     S.OK, None),
    ("one configuration", (_with(CLEAN, x=lambda x: np.repeat(x[1:2], N, axis=0)),), S.OK, None),
    ("one category", (_with(CLEAN, x=lambda x: np.stack([x[:, 0], x[:, 1] * 0, x[:, 2] * NAN], 1)),), S.OK,
     None),
    ("at an end", (_with(CLEAN, x=_put(np.s_[:, 0], 1.0)),), S.OK, None),
    ("extra rows", (CLEAN, EXTRA), S.OK, None),
    ("extra rows alone", (_none(), EXTRA), S.NO_DATA, None),
    ("NaN constraints of evaluated rows", (_with(CLEAN, excess=_put(np.s_[::5, 0], NAN)),), S.UNMEASURED,
     (_with(CLEAN, excess=_put(np.s_[::5, 0], INF)),)),
    ("rows outside the space", (OUTSIDE,), S.INVALID_ROWS, (CLEAN,)),
    ("extra rows outside the space", (CLEAN, [WRONG[:5], *EXTRA[1:]]), S.INVALID_ROWS, (CLEAN,)),
    ("more rows than the capacity", ([np.concatenate([part] * 3) for part in CLEAN],), S.CAPACITY_EXCEEDED,
     ([np.concatenate([part] * 2) for part in CLEAN],)),
]  # fmt: skip


def _outcome(state):
    """All that a state gives: scores, their gradients, suggestions, and the status."""
    at = jnp.asarray(AT, state.x.dtype)
    gradient = jax.grad(lambda x: SAMPLER.score_of(state, x).sum())(at)
    suggested = SAMPLER.ask(KEY, state, 3)
    return SAMPLER.score_of(state, at), gradient, suggested, SAMPLER.status(state)


_jit = jax.jit(_outcome)
_vmap = jax.jit(jax.vmap(_outcome))


def _mapped(state):
    other = _state(CLEAN)
    stacked = jax.tree.map(lambda a, b: jnp.stack([a, b]), state, other)
    return jax.tree.map(lambda a: a[0], _vmap(stacked))


def _try(way: Callable, cases: list, tolerance: float) -> None:
    for name, given, status, same_as in cases:
        state = _state(*given)
        scores, gradient, suggested, found = (np.asarray(part) for part in way(state))
        np.testing.assert_allclose(
            scores, _oracle(*(same_as or given)), rtol=tolerance, atol=tolerance, err_msg=name
        )
        assert int(found) == status, (name, S(int(found)))
        assert np.isfinite(gradient).all(), name
        assert valid(SPACE, suggested).all(), (name, suggested)
        assert len(np.unique(suggested, axis=0)) == 3, name


def test_table():
    """Every table; one test, because they share what is compiled. float32: see test_scores."""
    _try(_jit, TABLES, 1e-3)


# Two objectives and one constraint: losses, constraints, what the status says, and how many rows are below.
_FRONT = np.stack([np.arange(N), N - np.arange(N)], axis=1).astype(float)
_BEHIND = _FRONT + np.where(np.arange(N) < 6, 0, 30)[:, None]
_EVEN = np.where(np.arange(N) % 2, 1.0, -1.0)[:, None]
TWO_OBJECTIVES: dict[str, tuple[np.ndarray, np.ndarray, S, int | None]] = {
    "a front of 6, half of it feasible": (_BEHIND, _EVEN, S.OK, None),
    "a front of 6, one feasible": (
        _BEHIND,
        np.where(np.arange(N)[:, None] == 2, -1.0, 1.0),
        S.FEW_FEASIBLE,
        N,
    ),
    "a front of 6, none of it feasible": (_BEHIND, np.where(np.arange(N) < 6, 1.0, -1.0)[:, None], S.OK, 8),
    "a front of 6, all feasible": (_BEHIND, np.full((N, 1), -1.0), S.OK, 6),
    "one front, half feasible": (_FRONT, _EVEN, S.OK, None),
    "one front, nothing feasible": (_FRONT, np.abs(_EVEN), S.NONE_FEASIBLE, N),
    "one front, constraints infinite": (_FRONT, np.where(_EVEN > 0, INF, -INF), S.OK, None),
    "all losses equal, half feasible": (_FRONT * 0, _EVEN, S.OK, None),
    "a loss infinite": (np.where(np.arange(N)[:, None] == 3, INF, _BEHIND), _EVEN, S.OK, None),
    "a constraint NaN": (_BEHIND, np.where(np.arange(N)[:, None] == 3, NAN, _EVEN), S.UNMEASURED, None),
    "some pending": (np.where(np.arange(N)[:, None] % 3, _BEHIND, NAN), _EVEN, S.OK, None),
    "all pending": (_FRONT * NAN, _EVEN, S.NO_DATA, 0),
}


@pytest.mark.parametrize("ties", ["crowding", pytest.param("hypervolume", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_two_objectives_and_a_constraint(ties):
    """Below is everything up to the k-th feasible row, k = max(ceil(0.1 N), feasible rows of the front)."""
    sampler = adjusted(px.mo_tpe, ties=getattr(px.pareto, ties.capitalize())())(SPACE, 2, 1)
    settings = oracle.Settings("relative", "linear", whole_front=True, ties=ties)
    split = jax.jit(lambda state: (sampler.split(state), sampler.status(state)))
    for name, (losses, excess, status, n_below) in TWO_OBJECTIVES.items():
        parts = (jnp.asarray(part, jnp.float32) for part in (CLEAN[0], losses, excess))
        found, bits = split(add(sampler, empty(sampler, CAPACITY), *parts, False))
        assert int(bits) == status, (name, S(int(bits)))
        wanted = oracle.groups(settings, CLEAN[0], losses, excess, np.zeros(N, bool))
        for k, group in enumerate(wanted):
            assert np.flatnonzero(found.below[k]).tolist() == group.below, (name, k)
            assert float(found.gamma[k]) == pytest.approx(group.gamma, abs=1e-6), (name, k)
        assert n_below in (None, len(wanted[0].below)), name


@pytest.mark.slow
@pytest.mark.parametrize("way", [pytest.param(_jit, id="jit"), pytest.param(_mapped, id="vmap")])
def test_table_in_float64(way, double):
    """Rounding hides nothing; under vmap in this precision alone, whose tolerance is the closer one."""
    _try(way, TABLES, 1e-10)


@pytest.mark.slow
def test_eagerly():
    """Every operation is dispatched on its own, which takes seconds: every sixth case.

    Rows are told by compiled code, as on the host some of them are refused; those that are not by both.
    """

    def eagerly(state):
        with jax.disable_jit():
            return _outcome(state)

    _try(eagerly, TABLES[::6], 1e-3)
    with jax.disable_jit():
        told_so = SAMPLER.tell(SAMPLER.init(CAPACITY), *CLEAN)
    jax.tree.map(np.testing.assert_array_equal, told_so, SAMPLER.tell(SAMPLER.init(CAPACITY), *CLEAN))


def test_padding_is_never_seen():
    """Whatever stands in absent rows: values, losses and constraints, of wrong categories and NaN."""
    state = _state(CLEAN)
    wanted = _jit(state)
    for junk in (NAN, INF, -INF, 1e30, -1.0):
        absent = ~state.present[:, None]
        other = eqx.tree_at(
            lambda s: (
                s.x,
                s.losses,
                s.constraints,
                s.constraint_only,
                s.points.unit,
            ),
            state,
            (
                *(jnp.where(absent, junk, a) for a in (state.x, state.losses, state.constraints)),
                state.constraint_only | absent[:, 0],
                jnp.where(absent, 0.7, state.points.unit),
            ),
        )
        jax.tree.map(np.testing.assert_array_equal, _jit(other), wanted)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "space"),
    [("c_tpe", "categories"), pytest.param("mo_tpe, constrained", "categories", marks=pytest.mark.slow),
     *(pytest.param(f, s, marks=pytest.mark.slow)
       for f in ("paper_tpe", "naive", "mo_tpe", "c_tpe") for s in ("mixed", "conditional"))],
)  # fmt: skip
def test_order_of_rows(family, space, double):
    """Sums in another order differ by roundings: 1e-12 (losses have no ties).

    Neighbours among equal values go by the order of rows, so `tpe` and `optuna_tpe` are none of these.
    """
    make, m, c, _ = FAMILY[family]
    sampler = make(SPACE_OF[space])
    own = table(space, "random", m, c)
    own = own._replace(x=rows(space, 60, 4)[: len(own.x)])
    at = jnp.asarray(candidates(space))
    wanted = np.asarray(score_of(sampler, told(sampler, own), at))
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(own.x))
        found = score_of(sampler, told(sampler, type(own)(*(part[order] for part in own))), at)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
def test_whole_numbers_are_values():
    """Codes and rows in int64 are the same numbers in floats, never wrapped."""
    space = px.Space({"k": px.Categorical(["a", "b", "c"]), "n": px.Int(0, 5)})
    sampler = px.tpe(space)
    given = np.stack([np.arange(12) % 3, np.arange(12) % 6], axis=1)
    loss = np.arange(12) % 5
    tell, score = jax.jit(sampler.tell), jax.jit(sampler.score_of)
    wanted = score(tell(empty(sampler, 16), given.astype(float), loss.astype(float)), given.astype(float))
    state = tell(empty(sampler, 16), given, loss)
    np.testing.assert_array_equal(score(state, given), wanted)
    # On the host no x64 is at hand to hold them: they must not wrap to codes that exist.
    wrapped = np.array([[2**32, 0], [0, 2**33], [-(2**32), 1], [1, 2**62]] * 3)
    with pytest.raises(ValueError, match=r"^x: row 0 .*4294967296"):
        sampler.tell(state, wrapped.tolist(), [0] * 12)
    other = tell(state, jnp.asarray(wrapped.astype(float)), [0] * 12)
    assert np.isneginf(score(state, jnp.asarray(wrapped, float))).all()
    assert int(sampler.status(other)) == S.INVALID_ROWS | S.CAPACITY_EXCEEDED
    with pytest.raises(ValueError, match=r"^candidates: row 0 .*4294967296"):
        sampler.ask(KEY, state, 1, wrapped)


STATE = SAMPLER.init(4)
X1, ONE, TWO = np.array([[0.5, 0, NAN]]), np.zeros(1), np.zeros((1, 2))
PLAIN = VANILLA.init(4)
PROBLEM = px.Problem(lambda key, x: (x[0], jnp.stack([x[0], x[0]])), SPACE, n_constraints=2)
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "ragged constraints": (lambda: SAMPLER.tell(STATE, X1, ONE, [[1, 2], [1]]), ValueError,
     "^constraints must"),
    "a scalar for two": (lambda: SAMPLER.tell(STATE, X1, ONE, 0.5), ValueError, r"^constraints must.*\(\)"),
    "a constraint too many": (lambda: SAMPLER.tell(STATE, X1, ONE, np.zeros((1, 3))), ValueError,
     "^constraints"),
    "constraints of an unconstrained sampler": (
        lambda: VANILLA.tell(PLAIN, X1, ONE, TWO), ValueError, r"^constraints must have shape \(1, 0\)"),
    "no constraints": (lambda: SAMPLER.tell(STATE, X1, ONE), ValueError, "^constraints must.*None"),
    "text as constraints": (lambda: SAMPLER.tell(STATE, X1, ONE, [["a", "b"]]), TypeError,
     "^constraints must"),
    "complex constraints": (lambda: SAMPLER.tell(STATE, X1, ONE, TWO + 1j), TypeError, "^constraints must"),
    "a NaN constraint": (
        lambda: SAMPLER.tell(STATE, X1, ONE, [[NAN, 1]]), ValueError, r"^constraints: row 0 is NaN.*\+inf"),
    "ragged rows": (lambda: SAMPLER.tell(STATE, [[1, 2, 3], [1]], ONE, TWO), ValueError, "^x must"),
    "rows of another width": (lambda: SAMPLER.tell(STATE, X1[:, :2], ONE, TWO), ValueError,
     r"^x must.*\(1, 2\)"),
    "a batch of rows": (lambda: SAMPLER.tell(STATE, X1[None], ONE, TWO), ValueError, r"^x must.*\(1, 1, 3\)"),
    "labels as values": (lambda: SAMPLER.tell(STATE, [[0.5, "a", 1]], ONE, TWO), TypeError, "^x must"),
    "losses of another length": (lambda: SAMPLER.tell(STATE, X1, np.zeros(2), TWO), ValueError,
     "^losses"),
    "two losses for one": (lambda: SAMPLER.tell(STATE, X1, np.zeros((1, 2)), TWO), ValueError,
     "^losses must"),
    "losses None": (lambda: SAMPLER.tell(STATE, X1, None, TWO), ValueError, "^losses must.*None"),
    "extra rows without constraints": (lambda: SAMPLER.augment(STATE, X1, None), ValueError,
     "^constraints must"),
    "a capacity of 0": (lambda: SAMPLER.init(0), ValueError, "^capacity must.*0"),
    "a number as key": (lambda: SAMPLER.ask(0, STATE), TypeError, "^key must be a typed key.*0"),
    "a state as key": (lambda: SAMPLER.ask(STATE, STATE), TypeError, "^key must.*, got State\\.$"),
    "an untyped key": (lambda: SAMPLER.ask(jnp.zeros(2, jnp.uint32), STATE), TypeError, "^key must.*uint32"),
    "two keys": (lambda: SAMPLER.ask(jax.random.split(KEY), STATE), ValueError, r"^key must be one.*\(2,\)"),
    "a key to a run": (lambda: px.optimize(3, SAMPLER, PROBLEM, 5), TypeError, "^key must be a typed key"),
    "one key to many runs": (lambda: px.optimize_many(KEY, SAMPLER, PROBLEM, 5), ValueError, "^keys must"),
    "seeds to many runs": (lambda: px.optimize_many(np.arange(3), SAMPLER, PROBLEM, 5), TypeError,
     "^keys must"),
    "0 suggestions": (lambda: SAMPLER.ask(KEY, STATE, 0), ValueError, "^n must be.*0"),
    "a pool smaller than n": (lambda: SAMPLER.ask(KEY, STATE, 2, X1), ValueError, "at least n = 2 rows"),
    "an empty pool": (lambda: SAMPLER.ask(KEY, STATE, 1, X1[:0]), ValueError, "^candidates must"),
    "a pool of another width": (lambda: SAMPLER.ask(KEY, STATE, 1, X1[:, :2]), ValueError,
     "^candidates must"),
    "a row outside the space": (
        lambda: SAMPLER.tell(STATE, np.concatenate([X1, WRONG[:1]]), [0, 0], [[0, 0]] * 2),
     ValueError, r"^x: row 1 is not a configuration of the space: \[0.5, 3.0, 0.5\] is wrong in"),
    "a pending row outside the space": (lambda: VANILLA.tell(PLAIN, WRONG[3:4], [NAN]), ValueError,
     "^x: row 0"),
    "an extra row outside the space": (lambda: SAMPLER.augment(STATE, WRONG[5:6], [[0, NAN]]), ValueError,
     "^x: row 0"),
    "a pool outside the space": (lambda: SAMPLER.ask(KEY, STATE, 1, [[9, 0, NAN]]), ValueError,
     "^candidates: row 0"),
    "score of other parameters": (lambda: SAMPLER.score_of(STATE, X1[0, :2]), ValueError,
     r"^candidates must have shape \(..., 3\), got \(2,\)"),
    "no space": (lambda: px.tpe({"x": 1}), TypeError, "^space must be a parzax.Space, got dict"),
    "n_constraints -1": (lambda: px.c_tpe(SPACE, n_constraints=-1), ValueError, "^n_constraints must.*-1"),
    "n_objectives 0": (lambda: px.mo_tpe(SPACE, 0), ValueError, "^n_objectives must.*0"),
    "n_evaluations 0": (lambda: px.optimize(KEY, SAMPLER, PROBLEM, 0), ValueError, "^n_evaluations must.*0"),
    "another space's problem": (
        lambda: px.optimize(KEY, px.c_tpe(SPACE_OF["mixed"], n_constraints=2), PROBLEM, 5), ValueError,
        "^problem.space"),
    "another number of constraints": (
        lambda: px.optimize(KEY, px.c_tpe(SPACE, n_constraints=1), PROBLEM, 5), ValueError,
        "^problem.n_constraints is 2"),
    "a share of 0": (lambda: px.gamma.Linear(0.0), ValueError, "^beta must be above 0.*0.0"),
    "extra rows without any constraint": (lambda: VANILLA.augment(PLAIN, X1, None), ValueError,
     "^augment adds.*n_constraints=0"),
    "less room than there is": (lambda: SAMPLER.grow(STATE, 2), ValueError, "^capacity must be at least 4"),
    "lanes 0": (lambda: px.optimize_many(KEY[None], SAMPLER, PROBLEM, 5, lanes=0), ValueError,
     "^lanes must.*0"),
    "a share of True": (lambda: px.gamma.Linear(True), TypeError, "^beta must be a number"),
    "a first front of 1": (lambda: adjusted(px.mo_tpe, first_front=1)(SPACE), TypeError, "^first_front must"),  # pyright: ignore
    "an unsatisfied None": (lambda: adjusted(px.c_tpe, unsatisfied=None)(SPACE), ValueError,  # pyright: ignore
     "^unsatisfied must be one of 'first', 'all', 'none'"),
    "a split as text": (
        lambda: px.tpe(SPACE, split="sqrt"), TypeError, "^split must be .*AbstractSplit.*'sqrt'"),
    "no sampler": (lambda: px.optimize(KEY, "tpe", PROBLEM, 5), TypeError, "^sampler must be"),
}  # fmt: skip


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    call, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        call()


SETTINGS = {
    "n_startup -1": ({"n_startup": -1}, "n_startup"),
    "n_candidates 0": ({"n_candidates": 0}, "n_candidates"),
    "epsilon 2": ({"epsilon": 2.0}, "epsilon"),
    "prior_weight -1": ({"prior_weight": -1.0}, "prior_weight"),
    "top 0": ({"top": 0.0}, "top"),
    "a bandwidth as a number": ({"bandwidth": 0.1}, "bandwidth"),
    "a gamma rule as text": ({"gamma": "sqrt"}, "gamma must be a rule of parzax.gamma"),
    "epsilon True": ({"epsilon": True}, "epsilon must be a number"),
    "ages 1": ({"ages": 1}, "ages must be a rule of parzax.ages, got 1"),
    "a merit as text": ({"merit": "rank"}, "merit must be a rule of parzax.merits, got 'rank'"),
    "repeats as text": ({"repeats": "no"}, "repeats must be True or False"),
    "joint as text": ({"joint": "yes"}, "joint must be True or False"),
    "share_power 0": ({"share_power": 0.0}, "share_power must be above 0, got 0.0"),
    "share_power infinite": ({"share_power": np.inf}, "share_power must be finite"),
}


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("name", SETTINGS)
def test_settings_refused(name):
    """Where a setting is known; a traced one passes."""
    options, message = SETTINGS[name]
    with pytest.raises((TypeError, ValueError), match=message):
        adjusted(px.tpe, **options)(SPACE)


def test_numpy_scalars_are_numbers():
    """Settings are the plain numbers that they print as, so that they stay hashable and compile once."""
    numpy_s = {
        "epsilon": np.float32(0.1), "top": np.array(0.8), "prior_weight": np.float64(2),
        "n_startup": np.int64(4), "n_candidates": np.int32(8),
        "share_power": np.float32(2), "joint": np.True_, "every_tie": np.True_, "repeats": np.False_,
    }  # fmt: skip
    plain = {
        "epsilon": 0.1, "top": 0.8, "prior_weight": 2.0, "n_startup": 4, "n_candidates": 8,
        "share_power": 2.0, "joint": True, "every_tie": True, "repeats": False,
    }  # fmt: skip
    rules = (px.gamma.Linear(np.float32(0.1)), px.gamma.Linear(0.1))
    found, wanted = (
        adjusted(px.c_tpe, gamma=rule, **options)(SPACE, n_constraints=n)
        for n, rule, options in ((np.int64(2), rules[0], numpy_s), (2, rules[1], plain))
    )
    assert eqx.tree_equal(found, wanted)
    assert jax.tree.leaves(found) == jax.tree.leaves(wanted)
    assert px.mo_tpe(SPACE, np.int64(2)).n_objectives == 2
    assert adjusted(px.tpe, top=px.bandwidth.FixedTop(np.float32(0.8)))(SPACE).smoothing.top.top == 0.8
    assert SAMPLER.init(np.int64(4)).capacity == 4
    assert SAMPLER.grow(STATE, np.int64(8)).capacity == 8
    assert adjusted(px.tpe, epsilon=jnp.asarray(0.5))(SPACE).proposal.epsilon == 0.5


def test_a_tiny_violation_stays_one():
    """1e-50 is 0 in float32, and 1e-40 counts as 0 on most devices."""
    sampler = px.c_tpe(px.Space({"x": px.Float(0, 1)}))
    tiny = [1e-50, np.float64(1e-40), 5e-324, 1.0, 0.0, -1e-50, -1.0]
    x, losses = [[0.5]] * len(tiny), [0.0] * len(tiny)
    # float32 has subnormal numbers on the host.
    on_device = jnp.asarray(np.float32([1e-40, 1e-44, 2e-38, 1, 0, -1e-40, -1]))
    for values in (tiny, np.array(tiny)[:, None], on_device):
        state = sampler.tell(sampler.init(8), x, losses, values)
        assert state.feasible.tolist() == [False] * 4 + [True] * 3 + [False], values
    state = sampler.augment(sampler.init(8), x, tiny)
    assert (np.asarray(state.constraints)[:7, 0] > 0).tolist() == [True] * 4 + [False] * 3


def test_the_naive_score_has_no_status_of_feasibility():
    """Its rows below are counted whatever their constraints, so the objective does have a say."""
    for naive in (True, False):
        sampler = (px.papers.naive_c_tpe if naive else px.c_tpe)(SPACE_OF["categories"], n_constraints=1)
        status, state = jax.jit(sampler.status), empty(sampler, 32)
        for n_feasible, wanted in ((0, S.NONE_FEASIBLE), (1, S.FEW_FEASIBLE)):
            excess = np.where(np.arange(20) < n_feasible, -1.0, 1.0)[:, None]
            own = np.zeros((20, 2)), np.arange(20.0)[:, None], excess
            full = add(sampler, state, *(jnp.asarray(part, jnp.float32) for part in own), False)
            assert int(status(full)) == (S.OK if naive else wanted)


def test_advice_fits_samplers_and_importances():
    for bit, words in (
        (S.NO_DATA, ("importance", "anything else")),
        (S.INVALID_ROWS, ("Observations.from_arrays", "tell")),
        (S.CAPACITY_EXCEEDED, ("init", "grow")),
    ):
        assert all(word in bit.advice for word in words)
