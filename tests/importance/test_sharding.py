"""Importance on four forced CPU devices: the values of one device, and no collective over seeds."""

import pytest
from devices import run_on_four_devices

SCRIPT = """
import json, re
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P
import parzax as px

space = px.Space({
    "c": px.Float(0, 1),
    "x": (px.Float(-5, -2, when=px.Between("c", high=0.5)), px.Int(2, 9, when=px.Between("c", low=0.5))),
    "k": px.Categorical(["a", "b", "c"]),
    "u": px.Ordinal([1, 2, 4, 8], when=px.In("k", ["a", "b"])),
})
rng = np.random.default_rng(0)
c, k = rng.uniform(size=(8, 200)), rng.integers(0, 3, (8, 200))
x = np.where(c < 0.5, rng.uniform(-5, -2, c.shape), rng.integers(2, 10, c.shape))
u = np.where(k < 2, 2.0 ** rng.integers(0, 4, c.shape), np.nan)
rows = np.stack([c, x, k, u], axis=-1).astype(np.float32)
losses = np.round(np.abs(x) + (k == 1), 1).astype(np.float32)
grid = px.Grid(max_cells=12)

def importance(x, loss):
    return px.importance.estimate(px.encode(space, x, loss, [0.1, 0.25, 0.5], grid=grid))

def largest(one, other):
    arrays = ((x.share, x.counts, x.status) for x in (one, other))
    return max(float(np.abs(np.asarray(a, float) - np.asarray(b, float)).max()) for a, b in zip(*arrays))

found = {"devices": len(jax.devices())}
batched = jax.vmap(importance)
alone = jax.jit(batched)(jnp.asarray(rows), jnp.asarray(losses))
auto = jax.make_mesh((4,), ("s",), axis_types=(AxisType.Auto,))
# Seeds under one vmap, or under two.
shape, function = ((8,), batched) if N_VMAPS == 1 else ((4, 2), jax.vmap(batched))
arrays = rows.reshape(*shape, 200, 4), losses.reshape(*shape, 200)
placed = jax.device_put(arrays, NamedSharding(auto, P("s")))
compiled = jax.jit(function).lower(*placed).compile()
collective = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"
found["collectives"] = len(re.findall(collective, compiled.as_text()))
sharded = compiled(*placed)
found["difference"] = largest(jax.tree.map(lambda a: np.reshape(a, (*shape, *a.shape[1:])), alone), sharded)
found["sharded"] = str(sharded.variance.sharding.spec)
ranks = jax.jit(lambda f: px.pareto.non_domination_rank(f))
points = np.round(rng.uniform(size=(8, 60, 2)), 1).astype(np.float32)
expected = np.stack([np.asarray(ranks(p)) for p in points]).reshape(4, 2, 60)
several = jax.device_put(points.reshape(4, 2, 60, 2), NamedSharding(auto, P("s")))
found["ranks"] = int((np.asarray(jax.jit(jax.vmap(jax.vmap(ranks)))(several)) != expected).sum())
explicit = jax.make_mesh((4,), ("s",), axis_types=(AxisType.Explicit,))
typed = jax.device_put((rows, losses), NamedSharding(explicit, P("s")))
mapped = jax.shard_map(batched, mesh=explicit, in_specs=P("s"), out_specs=P("s"))
found["shard_map"] = largest(alone, jax.jit(mapped)(*typed))
try:
    jax.jit(batched)(*typed)
    found["explicit"] = "ran"
except ValueError as error:
    found["explicit"] = str(error)
print(json.dumps(found))
"""


@pytest.fixture(scope="module", params=[2, pytest.param(1, marks=pytest.mark.slow)], ids="{} vmaps".format)
def found(request):
    """What a process with four devices prints."""
    return run_on_four_devices(SCRIPT.replace("N_VMAPS", str(request.param)))


def test_seeds_need_no_collective(found):
    """Compiled for seeds on four devices: not one collective, and the answer lies as the input does."""
    assert found["devices"] == 4
    assert found["collectives"] == 0
    assert "'s'" in found["sharded"]


def test_values_are_those_of_one_device(found):
    """Counts, statuses, variances: equal but for rounding."""
    assert found["difference"] < 1e-5


def test_ranks_under_two_vmaps(found):
    """JAX 0.10's searchsorted(method="scan_unrolled") is wrong here, silently; ranks must not use it."""
    assert found["ranks"] == 0


def test_explicit_axes(found):
    """Through shard_map they work; else the error names that remedy."""
    assert found["shard_map"] < 1e-5
    assert "jax.shard_map" in found["explicit"]
