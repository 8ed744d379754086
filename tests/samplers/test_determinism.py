"""The same key gives the same run, however it is run; what suggestions promise."""

import os
import subprocess
import sys
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted

import parzax as px

from .tables import empty, valid

SPACE = px.Space({"x": px.Float(-2.0, 2.0), "k": px.Categorical(["a", "b", "c"])})
N = 24


def _objective(key, x):
    """Noisy, so that the keys of evaluations count too."""
    loss = (x[0] - 0.5) ** 2 + jnp.where(x[1] != 1, 0.5, 0) + 0.1 * jax.random.normal(key)
    return loss, jnp.abs(x[0]) - 1


PROBLEM = px.Problem(_objective, SPACE, n_constraints=1)
SAMPLER = adjusted(px.c_tpe, n_startup=5)(SPACE, n_constraints=1)
KEYS = jax.random.split(jax.random.key(11), 7)


def _equal(a, b):
    jax.tree.map(np.testing.assert_array_equal, a, b)


@pytest.mark.slow
def test_same_key_same_trace_whatever_the_number_of_runs():
    """To the last bit, alone or among others, first or last, in a full chunk or not."""
    run = partial(px.optimize_many, sampler=SAMPLER, problem=PROBLEM, n_evaluations=N, lanes=3)
    every = run(KEYS)
    for n in (1, 2, 3, 4):
        _equal(run(KEYS[:n]), jax.tree.map(lambda a, n=n: a[:n], every))
    _equal(run(KEYS[::-1]), jax.tree.map(lambda a: a[::-1], every))
    _equal(run(KEYS[5:6]), jax.tree.map(lambda a: a[5:6], every))
    assert len(np.unique(every.x[:, :, 0], axis=0)) == len(KEYS)


_SCRIPT = """
import sys
import jax, numpy as np
sys.path.insert(0, {tests!r})
from samplers.test_determinism import test_same_key_same_trace_whatever_the_number_of_runs as same
from samplers.test_engine import RUN, test_a_loop_is_ask_and_tell_by_hand as by_hand
same()
by_hand(RUN(jax.random.key(0)))
print("same")
"""


@pytest.mark.slow
def test_with_xlas_normal_optimisation():
    """As users run it: the suite turns LLVM's optimisation off."""
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    environment = os.environ | {"XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT.format(tests=tests)],
        env=environment, capture_output=True, text=True, timeout=580, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == "same", done.stderr[-2000:]


# --- what suggestions promise ------------------------------------------------------------------

MIXED = px.Space(
    {
        "x": px.Float(0.0, 1.0),
        "n": px.Int(0, 3),
        "y": px.Float(1e-3, 1.0, log=True, when=px.In("n", [0, 1])),
    }
)
MIXED_SAMPLER = px.c_tpe(MIXED, n_constraints=1)


@pytest.fixture(scope="module")
def state():
    x = np.asarray(MIXED_SAMPLER.ask(jax.random.key(1), empty(MIXED_SAMPLER, 32), 20))
    loss = (x[:, 0] - 0.4) ** 2 + 0.2 * x[:, 1] + np.nan_to_num(x[:, 2])
    return jax.jit(MIXED_SAMPLER.tell)(empty(MIXED_SAMPLER, 32), x, loss, x[:, 0] - 0.8)


_ask = eqx.filter_jit(lambda sampler, key, state, n: sampler.ask(key, state, n))


@pytest.mark.slow
def test_epsilon_is_the_chance_of_a_random_row(state):
    """With 1 every row is random, whatever the data; with less it is each row's own chance."""
    key = jax.random.key(4)
    half, always = (adjusted(px.c_tpe, epsilon=e)(MIXED, n_constraints=1) for e in (0.5, 1.0))
    other = eqx.tree_at(lambda s: s.losses, state, -state.losses)
    x = np.asarray(_ask(always, key, state, 400))
    np.testing.assert_array_equal(x, _ask(always, key, other, 400))
    assert valid(MIXED, x).all()
    # 400 uniform draws: quartiles within 4 standard errors of 0.025; each integer 100 +- 4 * 8.7.
    np.testing.assert_allclose(np.quantile(x[:, 0], [0.25, 0.5, 0.75]), [0.25, 0.5, 0.75], atol=0.1)
    np.testing.assert_allclose(np.bincount(x[:, 1].astype(int)), 100, atol=35)
    # 400 tosses: 0.5 +- 4 * 0.025.
    assert (np.asarray(_ask(half, key, state, 400))[:, 0] == x[:, 0]).mean() == pytest.approx(0.5, abs=0.1)
