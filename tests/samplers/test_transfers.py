"""Nothing goes through the host: after a first call all runs under jax.transfer_guard("disallow")."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.lens.run.runs import _advance_lanes

SPACE = px.Space({"x": px.Float(1e-3, 1, log=True), "c": px.Categorical(["a", "b"]), "k": px.Int(1, 9)})
SMALL = px.Space({"c": px.Categorical(["a", "b"]), "k": px.Int(1, 9)})
KEY = jax.random.key(0)


def _source() -> px.Observations:
    x = _rows(SPACE, 40)
    return px.Observations.from_arrays(SPACE, x, np.abs(x[:, 0] - 0.3))


def _rows(space: px.Space, n: int) -> np.ndarray:
    rng = np.random.default_rng(n)
    x = np.stack([np.exp(rng.uniform(-6, 0, n)), rng.integers(0, 2, n), rng.integers(1, 10, n)], axis=1)
    return x[:, -len(space) :]


SAMPLERS = {
    "small": lambda: px.c_tpe(SMALL, n_constraints=1, directions="maximize"),
    "tpe": lambda: px.tpe(SPACE),
    "constrained": lambda: px.tpe(SPACE, n_constraints=1, directions="maximize"),
    "all configurations": lambda: px.tpe(SMALL),
    "two objectives": lambda: px.mo_tpe(SPACE, 2),
    "sources": lambda: px.papers.authors_meta_learn_tpe(SPACE, {"other": _source()}),
    "stacking": lambda: px.meta_learn_tpe(SPACE, {"other": _source()}, task_weights=px.meta.Stacking()),
}
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in list(SAMPLERS)[1:]]
# What the fast run calls, and what of that it compiles for the user too.
FAST_CALLS = {
    "tell": True,
    "ask for 3": False,
    "ask of a pool": False,
    "score": True,
    "best": False,
    "status": False,
}


def _told(sampler: px.samplers.Sampler, n: int) -> tuple[jax.Array, ...]:
    x, rng = _rows(sampler.space, n), np.random.default_rng(1)
    parts = x, rng.normal(size=(n, sampler.n_objectives)), rng.normal(size=(n, sampler.n_constraints))
    return tuple(jnp.asarray(part, jnp.result_type(float)) for part in parts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", *SLOW])
def test_nothing_is_transferred(name):
    """Eager on JAX arrays, and jitted by the user, with equal answers."""
    sampler = SAMPLERS[name]()
    # `jax.jit` cannot hash a sampler that holds the arrays of sources.
    jit = eqx.filter_jit if name in ("sources", "stacking") else jax.jit
    rows, more = _told(sampler, 20), _told(sampler, 1)
    state = sampler.tell(sampler.init(64), *rows)
    calls = {
        "tell": (sampler.tell, (state, *more)),
        "ask": (sampler.ask, (KEY, state)),
        "ask for 3": (lambda key, state: sampler.ask(key, state, 3), (KEY, state)),
        "ask of a pool": (lambda key, state, x: sampler.ask(key, state, 2, x), (KEY, state, rows[0])),
        "score": (sampler.score_of, (state, rows[0])),
        "best": (sampler.best, (state,)),
        "status": (sampler.status, (state,)),
    }
    wanted = FAST_CALLS if name == "small" else dict.fromkeys(calls, True)
    for what, is_jitted in wanted.items():
        function, arguments = calls[what]
        ways = [function, jit(function)] if is_jitted else [function]
        first = [way(*arguments) for way in ways]
        with jax.transfer_guard("disallow"):
            eager, *compiled = (way(*arguments) for way in ways)
        for found in (*compiled, *first):
            for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(eager), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=what)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["small", *(pytest.param(n, marks=pytest.mark.slow) for n in ("tpe", "sources"))]
)
def test_runs_transfer_nothing(name):
    """Alone, jitted by the user, and many in chunks."""
    space = px.Space({"c": SPACE["c"]}) if name == "small" else SPACE
    sampler = px.papers.tpe(space) if name == "small" else SAMPLERS[name]()
    keys, problem = jax.random.split(KEY, 3), px.Problem(lambda key, x: jnp.abs(x[0] - 0.3), space)
    one = jax.jit(lambda key: px.optimize(key, sampler, problem, 12))

    def every():
        many = px.optimize_many(keys, sampler, problem, 12, lanes=2, progress=False)
        return one(KEY), px.optimize(KEY, sampler, problem, 12), many

    first, n_compiled = every(), _advance_lanes.n_compiled
    with jax.transfer_guard("disallow"):
        second = every()
    assert _advance_lanes.n_compiled == n_compiled
    assert all(np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (first, second)), strict=True))


def test_wrong_rows_are_refused_unless_they_are_traced():
    """NumPy's and the device's alike; those of compiled code join no group, and a status says so."""
    sampler, tell = px.c_tpe(SMALL, n_constraints=1), jax.jit(px.c_tpe(SMALL, n_constraints=1).tell)
    x, losses = np.array([[0, 3], [7, 3.0]]), jnp.zeros((2, 1))
    on_device, state = jnp.asarray(x, jnp.result_type(float)), sampler.init()
    for rows in (x, on_device):
        with pytest.raises(ValueError, match=r"^x: row 1 is not .* \[7.0, 3.0\] is wrong in c"):
            sampler.tell(state, rows, losses, losses)
        with pytest.raises(ValueError, match=r"^candidates: row 1 is not .* is wrong in c"):
            sampler.ask(KEY, state, 1, rows)
    told = tell(state, on_device, losses, losses)
    assert np.flatnonzero(told.usable).tolist() == [0]
    assert int(sampler.status(told)) == px.Status.INVALID_ROWS
    nan = jnp.full((2, 1), jnp.nan)
    for objectives, constraints in (
        (losses, nan),
        (np.zeros((2, 1)), nan),
        (losses, np.full((2, 1), np.nan)),
    ):
        with pytest.raises(ValueError, match=r"^constraints: row 0 is NaN although"):
            sampler.tell(state, on_device[:1], objectives[:1], constraints[:1])
    assert int(sampler.status(tell(state, on_device, losses, nan))) & px.Status.UNMEASURED


def test_an_eager_tell_grows_on_the_device():
    """With the same state as in an array that had room, whatever the rows are told as."""
    sampler = px.tpe(SPACE)
    x, losses, _ = _told(sampler, 70)
    roomy = sampler.tell(sampler.init(256), x, losses)
    grown = sampler.tell(sampler.init(2), x, losses)
    assert (grown.capacity, int(grown.count)) == (256, 70)
    for a, b in zip(jax.tree.leaves(grown), jax.tree.leaves(roomy), strict=True):
        assert isinstance(a, jax.Array)
        np.testing.assert_array_equal(a, b)
