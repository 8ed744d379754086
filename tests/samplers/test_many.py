"""`optimize_many` in a folder, and on the devices of a mesh."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from devices import run_on_devices
from jax.tree_util import Partial

import parzax as px

SPACE = px.Space({"k": px.Categorical(["a", "b", "c", "d"])})
KEYS = jax.random.split(jax.random.key(0), 6)
N = 12


def distance(target, key, x):
    return jnp.abs(x[0] - target)


def square(target, key, x):
    return (x[0] - target) ** 2


def problem(function=distance):
    return px.Problem(Partial(function, jnp.asarray(2.0)), SPACE)


def sampler(top=0.8):
    return adjusted(px.papers.tpe, n_startup=4, top=jnp.asarray(top))(SPACE)


def assert_equal(one, other):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert (np.asarray(a).dtype, np.asarray(a).tobytes()) == (
            np.asarray(b).dtype,
            np.asarray(b).tobytes(),
        )


def test_a_folder_of_runs(tmp_path):
    """The same bytes with and without it, and where a chunk is lost; other runs are other files."""
    straight = px.optimize_many(KEYS, sampler(), problem(), N, lanes=4)
    assert_equal(px.optimize_many(KEYS, sampler(), problem(), N, lanes=4, folder=tmp_path), straight)
    first, second = sorted(tmp_path.iterdir())
    before = first.stat().st_mtime_ns
    second.unlink()
    trace = px.optimize_many(KEYS, sampler(), problem(), N, lanes=4, folder=tmp_path)
    assert_equal(trace, straight)
    assert trace.space == SPACE
    assert sorted(tmp_path.iterdir()) == [first, second]
    assert first.stat().st_mtime_ns == before
    for other, task, keys in ((sampler(0.7), problem(), KEYS[:5]), (sampler(), problem(square), KEYS)):
        alone = px.optimize_many(keys, other, task, N, lanes=4)
        assert_equal(px.optimize_many(keys, other, task, N, lanes=4, folder=tmp_path), alone)


@pytest.mark.parametrize("kind", [jax.sharding.AxisType.Auto, jax.sharding.AxisType.Explicit])
def test_a_mesh_of_one_device(kind):
    """Axes of both types; both use one program."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("runs",), axis_types=(kind,))
    straight = px.optimize_many(KEYS, sampler(), problem(), N, lanes=4)
    assert_equal(px.optimize_many(KEYS, sampler(), problem(), N, lanes=4, mesh=mesh), straight)


def test_bad_meshes():
    with pytest.raises(TypeError, match=r"mesh must be a jax.sharding.Mesh, got 2"):
        px.optimize_many(KEYS, sampler(), problem(), N, mesh=2)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("a", "b"))
    with pytest.raises(ValueError, match=r"mesh must have one axis, got \('a', 'b'\)"):
        px.optimize_many(KEYS, sampler(), problem(), N, mesh=mesh)


# Sums of floats, so that another program would round them differently.
DEVICES = """
import json, jax, numpy as np
import parzax as px
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from parzax.lens.run import runs
space = px.Space({"x": px.Float(0, 1)})
task = px.Problem(lambda key, x: ((x - 0.3) ** 2).sum(), space)
sampler, keys = px.papers.tpe(space, start=px.samplers.RandomStart(4)), jax.random.split(jax.random.key(0), 7)

def run(mesh, **folder):
    return jax.tree.leaves(px.optimize_many(keys, sampler, task, 8, lanes=2, mesh=mesh, **folder))

straight, equal = run(None), {}
for n in (1, 2, 3, 4):
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = Mesh(np.array(jax.devices()[:n]), ("runs",), axis_types=(kind,))
        pairs = zip(straight, run(mesh), strict=True)
        equal[f"{n} {kind}"] = all(a.tobytes() == b.tobytes() for a, b in pairs)
mesh, other = Mesh(np.array(jax.devices()), ("runs",)), jax.device_put(keys, jax.devices()[-1])
moved = jax.tree.leaves(px.optimize_many(other, sampler, task, 8, lanes=2, mesh=mesh))
equal["keys on another device"] = all(a.tobytes() == b.tobytes() for a, b in zip(straight, moved))
explicit = Mesh(mesh.devices, ("runs",), axis_types=(AxisType.Explicit,))
rows = jax.device_put(np.arange(8.0), NamedSharding(explicit, PartitionSpec("runs")))
doubled = px.lens.run.map_chunks(lambda x: 2 * x, (rows,), 3)
equal["map_chunks"] = doubled.tolist() == (2 * np.arange(8.0)).tolist()
texts = []

def chunk(*arguments):
    lowered = jax.jit(lambda keys: advance.__wrapped__(keys, *arguments[1:])).lower(keys[:4])
    texts.append(lowered.compile().as_text())
    return advance(*arguments)

advance, runs._advance_lanes = runs._advance_lanes, chunk
px.optimize_many(keys[:4], sampler, task, 8, lanes=1, mesh=mesh)
text = texts[0]
words = ["all-reduce", "all-gather", "all-to-all", "collective-permute", "reduce-scatter"]
collectives = [word for word in words if word in text]
print(json.dumps({"equal": equal, "devices": "num_partitions=4" in text, "collectives": collectives}))
"""


@pytest.mark.slow
def test_devices_of_a_mesh():
    """The same bits as on one device, with lanes and chunks to spare, and no collective."""
    answer = run_on_devices(DEVICES)
    assert len(answer["equal"]) == 10
    assert all(answer["equal"].values()), answer["equal"]
    assert answer["devices"]
    assert answer["collectives"] == []
