"""Two devices of a CPU against one: whole runs and a sweep over seeds, in processes that take turns.

Three processes stay alive and do the same work in every round: one device; two forced devices; one device
that may use one core only. XLA's threads already use both cores in part on one device. Two Python threads on
one device, each with half of the keys, are measured beside them.
"""

import json
import os
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from typing import Any

# Claims: time of two devices over that of one device, and over that of one device on one core.
MOST_OF_ONE, MOST_OF_PINNED = 0.8, 0.55
SLACK = 1.15  # machines are noisy, and two busy cores are slower than one
KINDS = ("one device", "two devices", "one core")


def jobs() -> dict[str, Callable[[], Any]]:
    """The work of a process by name, on all of its devices; results are on the host."""
    from concurrent.futures import ThreadPoolExecutor

    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec

    import parzax as px

    mesh = jax.make_mesh((len(jax.devices()),), ("s",))
    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(6)})
    problem, keys = (
        px.Problem(lambda _, x: ((x - 0.3) ** 2).sum(), space),
        jax.random.split(jax.random.key(0), 128),
    )

    def runs(keys: jax.Array) -> np.ndarray:
        # The chunks are so small that a device has several, as in long work.
        return px.optimize_many(keys, px.tpe(space), problem, 200, mesh=mesh, progress=False).losses

    def in_threads() -> np.ndarray:
        with ThreadPoolExecutor(2) as pool:
            return np.concatenate(list(pool.map(runs, (keys[:64], keys[64:]))))

    rng = np.random.default_rng(0)
    x = rng.uniform(size=(256, 1000, 6)).astype(np.float32)
    log = jax.device_put((x, ((x - 0.3) ** 2).sum(axis=-1)), NamedSharding(mesh, PartitionSpec("s")))
    levels = np.arange(1, 100) / 100

    @jax.jit
    @jax.vmap
    def importance(x: jax.Array, loss: jax.Array) -> jax.Array:
        return px.importance.estimate(px.encode(space, x, loss, levels)).variance

    work = {"optimize_many": lambda: runs(keys), "sweep over seeds": lambda: np.asarray(importance(*log))}
    return work | ({"optimize_many, two threads": in_threads} if len(mesh.devices) == 1 else {})


def serve() -> None:
    """Do one round of the work for each line of the input, and print seconds, processor seconds, results."""
    work = jobs()
    for call in work.values():
        call()
    for _ in sys.stdin:
        out = {}
        for name, call in work.items():
            wall, processor = time.perf_counter(), time.process_time()
            result = call()
            out[name] = (
                time.perf_counter() - wall,
                time.process_time() - processor,
                float(result.sum(dtype=float)),
            )
        print(json.dumps(out), flush=True)


def start(kind: str) -> subprocess.Popen[str]:
    """A process of one kind that serves rounds."""
    flags = (
        f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={1 + (kind == KINDS[1])}"
    )
    core = {max(os.sched_getaffinity(0))}
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.scale.devices"],
        env=os.environ | {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=(lambda: os.sched_setaffinity(0, core)) if kind == KINDS[2] else None,
    )


def measure(options: Namespace) -> list[str]:
    """Print the smallest times of all kinds, and return the claims that do not hold."""
    if not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2:
        print("two devices are not measured: this process has one core")
        return []
    rounds, seen = 3 if options.quick else 25, {}
    processes = {kind: start(kind) for kind in KINDS}
    for _ in range(rounds):
        for kind, process in processes.items():
            assert process.stdin
            assert process.stdout
            process.stdin.write("\n")
            process.stdin.flush()
            for name, row in json.loads(process.stdout.readline()).items():
                seen.setdefault(name, {}).setdefault(kind, []).append(row)
    for process in processes.values():
        process.communicate()
    failed = []
    print(f"\nwork, seconds (processor seconds / seconds), smallest of {rounds} rounds in turns")
    for name, kinds in seen.items():
        best = {kind: min(rows) for kind, rows in kinds.items()}
        texts = [f"{kind} {wall:.3f} ({processor / wall:.2f})" for kind, (wall, processor, _) in best.items()]
        print(f"{name:28} {', '.join(texts)}")
        if KINDS[1] not in best:
            continue
        if len({round(total, 3) for _, _, total in best.values()}) > 1:
            failed.append(f"{name}: results differ: {[total for *_, total in best.values()]}")
        wall, processor, _ = best[KINDS[0]]
        print(f"{'':28} two devices with the work of one would take {processor / wall / 2:.2f} of one device")
        for kind, most in ((KINDS[0], MOST_OF_ONE), (KINDS[2], MOST_OF_PINNED)):
            ratio = best[KINDS[1]][0] / best[kind][0]
            print(f"{'':28} two devices take {ratio:.2f} of {kind} (at most {most})")
            if not options.quick and ratio > SLACK * most:
                failed.append(
                    f"{name}: two devices take {ratio:.2f} of the time of {kind}, at most {most} claimed"
                )
    return failed


if __name__ == "__main__":
    serve()
