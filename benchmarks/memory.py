"""Memory of large work: ``python -m benchmarks.memory [--quick]``.

Each job runs in a process of its own, from NumPy to NumPy. It prints the seconds with compilation, and how
much anonymous memory the process has at most, above what it has when the inputs are there. Exits with status
1 where that is more than 2 GiB on a CPU. On an accelerator it also prints how much of the device's memory is
in use at most.
"""

import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks import command

# GiB that a job may take.
MOST = 2.0
LEVELS = np.arange(1, 100) / 100
PARTS = {
    "rows": "99 levels, 10^4 rows, 1000 parameters",
    "seeds": "99 levels, 1000 seeds of 1000 rows, 10 parameters",
    "runs": "10^4 runs of px.tpe, 100 evaluations, 6 parameters",
    "points": "log densities, 10^6 points, 10^4 kernels, 10 parameters",
}


def anonymous() -> float:
    """GiB of anonymous memory of this process."""
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) / 2**20


def job(part: str, quick: bool) -> None:
    """Do the work of a part, and print its seconds and memory."""
    import jax

    import parzax as px

    rng, few = np.random.default_rng(0), 10 if quick else 1
    shape = {"rows": (10_000, 1000), "seeds": (1000, 1000, 10), "runs": (0, 6), "points": (10_000, 10)}[part]
    space = px.Space({f"x{j}": px.Float(0, 1) for j in range(shape[-1])})
    x = rng.uniform(size=shape)
    if part in ("rows", "seeds"):
        obs = px.Observations.from_arrays(space, x, x[..., 0] + 0.1 * rng.normal(size=shape[:-1]))
        work = lambda: px.cond_ped_anova(obs, LEVELS, n_resamples=0)  # noqa: E731
    elif part == "runs":
        keys, problem = jax.random.split(jax.random.key(0), 10_000 // few), px.Problem(_sphere, space)
        work = lambda: px.optimize_many(keys, px.tpe(space), problem, 100)  # noqa: E731
    else:
        estimator, points = px.ParzenEstimator.fit(space, x), rng.uniform(size=(10**6 // few, shape[-1]))
        work = lambda: estimator.log_prob(points)  # noqa: E731
    before, most, done = anonymous(), [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            most.append(anonymous())

    threading.Thread(target=watch, daemon=True).start()
    start = time.perf_counter()
    work()
    done.set()
    on_device = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use", 0) / 2**30
    print(time.perf_counter() - start, max(most) - before, on_device)


def _sphere(_: object, x):
    return (x**2).sum()


def main(argv: list[str] | None = None) -> int:
    """Measure every part."""
    options = command.begin(__doc__, "a tenth of the points and runs", argv)
    print("\n| job | seconds | GiB | ... on an accelerator |\n| --- | ---: | ---: | ---: |")
    failed = []
    for part, what in PARTS.items():
        code = f"from benchmarks.memory import job; job({part!r}, {options.quick})"
        run = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
        seconds, memory, on_device = map(float, run.stdout.split())
        print(f"| {what} | {seconds:.1f} | {memory:.2f} | {on_device:.2f} |", flush=True)
        # An accelerator's driver takes anonymous memory too.
        above = memory > MOST and not on_device
        failed += [f"{what}: {memory:.2f} GiB, more than {MOST}"] if above else []
    return command.verdict(failed)


if __name__ == "__main__":
    sys.exit(main())
