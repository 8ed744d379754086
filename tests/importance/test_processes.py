"""One log, and one batch of seeds, over several processes on one machine (jax.distributed, Gloo)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from devices import run_together

import parzax as px

SCRIPT = """
space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
x = np.random.default_rng(0).uniform(size=(4, 60, 2)).astype(np.float32).round(1)

def encode(x):
    return px.encode(space, x, x[:, 0] + x[:, 1], [0.1, 0.5])

def count(x):
    return px.importance.Counts.of(encode(x)).counts

def local(array):
    return np.asarray(array.addressable_data(0)).tolist()

rows = place(x.reshape(240, 2))
out = {"rows": local(jax.jit(count)(rows)), "seeds": local(jax.jit(jax.vmap(count))(place(x)))}
if ESTIMATE:
    counts = jax.jit(lambda x: px.importance.Counts.of(encode(x)))(rows)
    here = jax.tree.map(lambda a: a.addressable_data(0), counts)
    out["variance"] = np.asarray(px.importance.estimate(here).variance).tolist()
print(json.dumps(out), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_counts_are_those_of_one_process(n):
    """Every process has the counts of all rows, with importances of the same bits, and its own seeds."""
    answers = run_together(f"ESTIMATE = {n > 2}\n" + SCRIPT, n)
    x = np.random.default_rng(0).uniform(size=(4, 60, 2)).astype(np.float32).round(1)
    space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})

    @jax.jit
    def encode(x):
        return px.encode(space, x, x[:, 0] + x[:, 1], [0.1, 0.5])

    log = encode(jnp.asarray(x.reshape(240, 2)))
    expected = np.asarray(px.importance.Counts.of(log).counts)
    assert expected[-1].sum() == 2 * 240
    assert all(np.array_equal(answer["rows"], expected) for answer in answers)
    seeds = np.concatenate([answer["seeds"] for answer in answers])
    one_by_one = [np.asarray(px.importance.Counts.of(encode(jnp.asarray(seed))).counts) for seed in x]
    np.testing.assert_array_equal(seeds, one_by_one)
    if n > 2:
        variance = np.asarray(px.importance.estimate(log).variance)
        assert all(np.array_equal(np.float32(answer["variance"]), variance) for answer in answers)
