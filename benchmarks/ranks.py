"""Non-domination ranks against peers: ``python -m benchmarks.ranks [--quick] [--json FILE]``.

For each row: our median, the peer's, the ratio, the goal, the time of the first call and the number of ranks
that differ. One core, interleaved, one process; arrays in, arrays out. "vmapped" rows rank 64 sets in one
call, the peers one after the other. moocore is C, and no promise is made against it: it is there to be seen.
"""

from benchmarks import timing  # isort: skip  (pins the core before JAX is loaded)

import sys
from collections.abc import Callable, Iterator
from functools import partial

import jax
import jax.numpy as jnp
import moocore
import numpy as np
from optuna.study._multi_objective import _fast_non_domination_rank

from benchmarks import command
from benchmarks.rows import Row
from parzax.pareto import non_domination_rank

N, LANES = 1000, 64
GOAL = 4.0

one = jax.jit(non_domination_rank)
many = jax.jit(jax.vmap(non_domination_rank))


def losses(m: int, kind: str) -> np.ndarray:
    """(LANES, N, m): a cloud, or a grid with many duplicates."""
    rng = np.random.default_rng(m)
    return rng.normal(size=(LANES, N, m)) if kind == "cloud" else rng.integers(0, 30, (LANES, N, m)) * 1.0


def ranked(f: Callable, x: jax.Array) -> jax.Array:
    """The call that is timed."""
    return jax.block_until_ready(f(x))


def compare(m: int, kind: str, *, vmapped: bool, repeats: int) -> list[Row]:
    """Ours in both precisions against Optuna and moocore on the same numbers."""
    out = []
    for bits in (64, 32):
        with jax.enable_x64(bits == 64):
            batch = losses(m, kind).astype(np.float64 if bits == 64 else np.float32)
            sets = list(batch[:8] if vmapped else batch[:1])
            device = jnp.asarray(batch if vmapped else batch[0])
            ours = partial(ranked, many if vmapped else one, device)
            first = timing.once(ours)
            calls = {
                "ours": ours,
                "Optuna": lambda s=sets: [_fast_non_domination_rank(x) for x in s],
                "moocore": lambda s=sets: [moocore.pareto_rank(x) for x in s],
            }
            medians = timing.interleaved(calls, repeats, {"ours": 1 if vmapped else 5})
            ranks = np.asarray(ours())[: len(sets)] if vmapped else np.asarray(ours())[None]
        # The peers see 8 of the 64 sets.
        times = LANES / len(sets) if vmapped else 1
        work = f"{m} objectives, n = {N}, {kind}" + (f", vmapped over {LANES}" if vmapped else "")
        for peer, goal in (("Optuna", GOAL), ("moocore", 0.0)):
            differ = float(np.sum(ranks != np.array(calls[peer]())))
            out.append(Row(work, bits, peer, medians["ours"], medians[peer] * times, first, differ, goal))
    return out


def jobs(quick: bool) -> Iterator[command.Job]:
    """Every row of the table."""
    for m in (2, 4) if quick else (2, 3, 4):
        for vmapped in (False, True):
            yield partial(compare, m, "cloud", vmapped=vmapped, repeats=7 if quick else 21)
    if not quick:
        for m in (2, 3, 4):
            yield partial(compare, m, "grid", vmapped=False, repeats=21)


if __name__ == "__main__":
    sys.exit(command.run(__doc__, jobs, None))
