"""How often a sampler is compiled while its rows grow, and that padding does not show."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks import toys
from benchmarks.settings import adjusted

import parzax as px
from parzax._numerics import capacity
from parzax.lens.run import runs

from .tables import FAMILY, SPACE_OF, candidates, score_of, table, told

N = 4096
SPACE = px.Space({"x": px.Float(0.0, 1.125), "kind": px.Categorical(["a", "b"])})


@pytest.mark.slow
def test_four_compilations_from_1_row_to_4096():
    """Told one by one through capacities 64, 256, 1024, 4096, asked at more than fifty sizes."""
    sampler = px.c_tpe(SPACE, n_constraints=1)
    ask, tell = jax.jit(sampler.ask), jax.jit(sampler.tell)
    rng = np.random.default_rng(0)
    x = np.stack([rng.uniform(0, 1.125, N), rng.integers(0, 2, N)], axis=-1).astype(np.float32)
    loss, excess = rng.normal(size=(2, N, 1, 1)).astype(np.float32)
    sizes = {1, 64, 65, 256, 257, 1024, 1025, N - 1, N, *np.geomspace(2, 4000, 60).astype(int).tolist()}
    assert len(sizes) >= 50
    state, capacities = sampler.init(capacity(1)), {64}
    for n in range(1, N + 1):
        state = state if n <= state.capacity else sampler.grow(state, capacity(n))
        capacities.add(state.capacity)
        state = tell(state, x[n - 1 : n], loss[n - 1], excess[n - 1])
        if n in sizes:
            found = ask(jax.random.key(n), state)
            assert np.isfinite(found).all()
    assert int(state.count) == N
    assert capacities == {64, 256, 1024, 4096}
    assert (ask._cache_size(), tell._cache_size()) == (4, 4)


@pytest.mark.slow
def test_values_of_settings_do_not_compile_again():
    """Nor do other keys, rows and thresholds; whole runs are compiled once for any number of them."""
    ask = eqx.filter_jit(lambda sampler, key, state: sampler.ask(key, state))
    state = px.tpe(SPACE).init(64)
    for value in (0.1, 0.2, 0.3):
        setting = jnp.asarray(value)
        sampler = adjusted(px.tpe, epsilon=setting, top=1 - setting, bandwidth=px.bandwidth.Scott(setting))(
            SPACE
        )
        ask(sampler, jax.random.key(int(10 * value)), state)
    assert ask._cached._cache_size() == 1
    problem = toys.discs()
    sampler, before = px.c_tpe(problem.space, n_constraints=1), runs._advance_lanes.n_compiled
    for n in (1, 2, 5):
        px.optimize_many(
            jax.random.split(jax.random.key(n), n), sampler, problem, 15, lanes=2, progress=False
        )
    assert runs._advance_lanes.n_compiled == before + 1


@pytest.mark.slow
@pytest.mark.parametrize("family", ["c_tpe", "mo_tpe, constrained"])
def test_padding_does_not_show(family, double):
    """Scores and suggestions with room for the rows alone, for a few more, and for many more."""
    make, m, c, _ = FAMILY[family]
    sampler, own = make(SPACE_OF["mixed"]), table("mixed", "random", m, c)
    at, ask = jnp.asarray(candidates("mixed")), jax.jit(lambda key, state: sampler.ask(key, state, 3))
    states = [told(sampler, own, room) for room in (len(own.x), 256)]
    wanted = score_of(sampler, states[0], at)
    for state in states[1:]:
        np.testing.assert_allclose(score_of(sampler, state, at), wanted, rtol=1e-12, atol=1e-12)
        for key in jax.random.split(jax.random.key(0), 3):
            np.testing.assert_allclose(ask(key, state), ask(key, states[0]), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("double", [True, False])
def test_a_pool_of_1_and_of_1000(double):
    """Few candidates may be scored in another form than many: by 1e-11, in float32 by 2e-4 per density."""
    tolerance = 1e-11 if double else 4e-4
    with jax.enable_x64(double):
        for family in ("c_tpe of one", "optuna_tpe, constrained"):
            make, m, c, _ = FAMILY[family]
            sampler = make(SPACE_OF["mixed"])
            state = told(sampler, table("mixed", "random", m, c))
            at = jnp.tile(jnp.asarray(candidates("mixed")), (84, 1))[:1000]
            many = score_of(sampler, state, at)
            for i in (0, 3, 11):
                one = score_of(sampler, state, at[i : i + 1])
                np.testing.assert_allclose(one[0], many[i], rtol=tolerance, atol=tolerance)
