"""Run scripts in processes of their own: one with several CPU devices, or several that work together."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any


def _environment(**variables: str) -> dict[str, str]:
    path = os.pathsep.join([str(Path(__file__).parents[1] / "src"), *sys.path])
    return os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore", "PYTHONPATH": path} | variables


def run_on_devices(script: str, n_devices: int = 4) -> dict[str, Any]:
    """The JSON object that the script prints last."""
    flags = os.environ.get("XLA_FLAGS", "") + f" --xla_force_host_platform_device_count={n_devices}"
    run = subprocess.run(
        [sys.executable, "-c", script],
        env=_environment(XLA_FLAGS=flags), capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.splitlines()[-1])


# What joins the processes (jax.distributed, Gloo); ``place`` makes an array of the parts.
TOGETHER = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
rank, n, port = map(int, sys.argv[1:])
jax.distributed.initialize(f"127.0.0.1:{port}", n, rank)
import parzax as px

rows_apart = jax.sharding.NamedSharding(jax.make_mesh((n,), ("p",)), jax.sharding.PartitionSpec("p"))

def place(array):
    size = len(array) // n
    return jax.make_array_from_process_local_data(rows_apart, array[rank * size :][:size])
"""


def run_together(script: str, n: int) -> list[dict[str, Any]]:
    """The JSON object that each of n processes prints last, which run the script after `TOGETHER`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER + script, *map(str, (rank, n, port))],
            env=_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(n)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=240) for process in processes]
    assert [process.returncode for process in processes] == [0] * n, outputs[0][1][-2000:]
    return [json.loads(out.splitlines()[-1]) for out, _ in outputs]
