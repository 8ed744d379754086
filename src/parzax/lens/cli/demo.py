"""``parzax demo``: importances of random searches that the command draws itself."""

import time
from argparse import Namespace

import jax
import numpy as np

from parzax._words import plural
from parzax.lens.cli.writing import check_outputs, figure_writer, say, write_all
from parzax.lens.logs import Observations
from parzax.lens.problems import activation
from parzax.lens.results import cond_ped_anova
from parzax.lens.run.progress import progress

_LEVELS = np.arange(1, 100) / 100
_PROBLEM = """The activation problem of the conditional PED-ANOVA paper: where c < 0.5, x is active and is the
objective, elsewhere y is. The best half has c < 0.5: c decides at level 0.5, and y does not matter below.
"""


def run(args: Namespace) -> None:
    """Print the table and the times, and save the figure."""
    check_outputs({"--out": args.out}, {})
    problem = activation()
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(args.seed), args.seeds)
        values, objectives = jax.vmap(lambda key: problem.sample(key, args.n))(keys)
        obs = Observations.from_arrays(problem.space, np.asarray(values), np.asarray(objectives))
        start = time.perf_counter()
        with progress("computing"):
            # The result's arrays are on the host, so the computation has ended when the call returns.
            cond_ped_anova(obs, levels=_LEVELS)
            between = time.perf_counter()
            result = cond_ped_anova(obs, levels=_LEVELS)
        end = time.perf_counter()
    try:
        write_all([(args.out, figure_writer(result))])
        figure = f"figure: {args.out}"
    except ImportError as error:
        figure = f"no figure: {error}"
    q, d = result.importance.shape[-2:]
    say(
        *f"{_PROBLEM}\n{result}\n".split("\n"),
        f"{plural(f'{args.seeds * args.n:,}', 'configuration')}, {args.seeds * q * d:,} importances "
        f"({plural(args.seeds, 'seed')} x {q} levels x {d} parameters) in one call:",
        f"  first call, with compilation or reading of programs  {between - start:.2f} s",
        f"  again                                                {1000 * (end - between):.1f} ms",
        figure,
    )
