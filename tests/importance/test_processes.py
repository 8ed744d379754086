"""One log, and one batch of seeds, over several processes on one machine (jax.distributed, Gloo)."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px

SCRIPT = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
rank, n, port = map(int, sys.argv[1:])
jax.distributed.initialize(f"127.0.0.1:{port}", n, rank)
from jax.sharding import NamedSharding, PartitionSpec as P
import parzax as px

space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)})
x = np.random.default_rng(0).uniform(size=(4, 60, 2)).astype(np.float32).round(1)
mesh = jax.make_mesh((n,), ("p",))

def place(array):
    size = len(array) // n
    return jax.make_array_from_process_local_data(NamedSharding(mesh, P("p")), array[rank * size :][:size])

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


def _start(n, *, estimate=False):
    """The processes, each with the script."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"}
    environment["PYTHONPATH"] = os.pathsep.join([str(Path(px.__file__).parents[1]), *sys.path])
    script = f"ESTIMATE = {estimate}\n" + SCRIPT
    command = [sys.executable, "-c", script]
    return [
        subprocess.Popen(
            [*command, *map(str, (rank, n, port))],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(n)
    ]  # fmt: skip


def _answers(processes):
    outputs = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), outputs[0][1][-2000:]
    return [json.loads(out.splitlines()[-1]) for out, _ in outputs]


@pytest.mark.parametrize("n", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_counts_are_those_of_one_process(n):
    """Every process has the counts of all rows, with importances of the same bits, and its own seeds."""
    answers = _answers(_start(n, estimate=n > 2))
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
