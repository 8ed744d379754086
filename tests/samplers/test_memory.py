"""Temporary memory of scores and suggestions as the compiler plans it, and gradients that reach a state."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

from .tables import FAMILY, SPACE_OF, candidates, table, told

N_CANDIDATES, N_ROWS, D = 100_000, 10_000, 10
LIMIT_MIB = 64
SPACE = px.Space({f"x{j}": px.Float(0, 1) for j in range(D)})
SAMPLERS = {
    "c_tpe": px.c_tpe(SPACE, n_constraints=2),
    "tpe": px.tpe(SPACE),
    "mo_tpe": px.mo_tpe(SPACE, 2),
    "optuna_tpe": px.optuna_tpe(SPACE),
}


def _mib(function, *arguments) -> float:
    memory = jax.jit(function).lower(*arguments).compile().memory_analysis()
    return memory.temp_size_in_bytes / 2**20


@pytest.mark.slow
@pytest.mark.parametrize("name", SAMPLERS)
def test_temporaries_stay_within_the_limit(name, record_property):
    """1e5 candidates, 1e4 rows, 10 parameters in float32: score, its gradient, a suggestion, one more row."""
    sampler = SAMPLERS[name]
    state = jax.eval_shape(lambda: sampler.init(N_ROWS))
    at = jax.ShapeDtypeStruct((N_CANDIDATES, D), np.float32)
    key = jax.eval_shape(lambda: jax.random.key(0))
    row = [jax.ShapeDtypeStruct((1, k), np.float32) for k in (D, sampler.n_objectives, sampler.n_constraints)]

    def value_and_gradient(state, x):
        return jax.value_and_grad(lambda x: sampler.score_of(state, x).mean())(x)

    found = {
        "score": _mib(sampler.score_of, state, at),
        "gradient": _mib(value_and_gradient, state, at),
        "ask": _mib(sampler.ask, key, state),
        "tell": _mib(sampler.tell, state, *row),
    }
    record_property("tried", f"memory, {name}: " + ", ".join(f"{k} {v:.0f} MiB" for k, v in found.items()))
    assert all(0 < mib <= LIMIT_MIB for mib in found.values()), found


@pytest.mark.slow
@pytest.mark.parametrize("family", ["c_tpe", "mo_tpe of three, hypervolume"])
def test_blocks_are_the_whole(family, double):
    """A pool that needs several blocks has the scores, and the gradients, of its parts."""
    make, m, c, _ = FAMILY[family]
    sampler = make(SPACE_OF["conditional"])
    state = told(sampler, table("conditional", "random", m, c), 1024)
    at = jnp.asarray(np.tile(candidates("conditional"), (30, 1))[:350])
    both = jax.jit(jax.vmap(lambda x: jax.value_and_grad(lambda x: sampler.score_of(state, x[None])[0])(x)))
    score, slope = jax.jit(lambda x: jax.value_and_grad(lambda x: sampler.score_of(state, x).sum())(x))(at)
    scores, slopes = both(at)
    np.testing.assert_allclose(score, scores.sum(), rtol=1e-11)
    np.testing.assert_allclose(slope, slopes, rtol=1e-9, atol=1e-9)
    assert np.isfinite(slope).all()


@pytest.mark.slow
@pytest.mark.parametrize("family", ["c_tpe", "mo_tpe, constrained", "mo_tpe of three, hypervolume"])
def test_gradients_in_losses_and_rows(family):
    """Who is below has no derivative; through the rows' places gradients are finite, 0 in absent rows."""
    make, m, c, _ = FAMILY[family]
    sampler, at = make(SPACE_OF["mixed"]), jnp.asarray(candidates("mixed"), jnp.float32)
    x, losses, excess, _ = table("mixed", "random", m, c)

    @jax.jit
    @jax.grad
    def slope(parts):
        return sampler.score_of(sampler.tell(sampler.init(64), *parts), at).sum()

    places, *others = slope(tuple(jnp.asarray(part, jnp.float32) for part in (x, losses, excess)))
    assert np.isfinite(places).all()
    assert np.any(places)
    assert not any(np.any(other) for other in others)
