"""Draw the pictures of the README and of the pages interactions, samplers, meta, targets.

They are written beside this file: all of them, or with an argument (importance, interactions, samplers, meta,
targets) those of one kind: ``python docs/make_pictures.py importance``.
"""

import dataclasses
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from benchmarks import toys
from benchmarks.settings import adjusted

import parzax as px

HERE = Path(__file__).parent
N_SEEDS, N_ROWS = 10, 1000


def activation_problem() -> px.Observations:
    """Ten random searches of a thousand configurations, on the paper's problem.

    c decides which of two parameters is active, x in [-5, -2] for c < 0.5 and y in [2, 5] otherwise, and the
    loss is the value of the active one.
    """
    space = px.Space(
        {
            "c": px.Float(0, 1),
            "x": px.Float(-5, -2, when=px.Between("c", high=0.5)),
            "y": px.Float(2, 5, when=px.Between("c", low=0.5)),
        }
    )
    rng = np.random.default_rng(0)
    c = rng.uniform(size=(N_SEEDS, N_ROWS))
    x = np.where(c < 0.5, rng.uniform(-5, -2, c.shape), np.nan)
    y = np.where(c < 0.5, np.nan, rng.uniform(2, 5, c.shape))
    return px.Observations.from_arrays(space, np.stack([c, x, y], axis=-1), np.where(c < 0.5, x, y))


def importance() -> None:
    """The README's pictures."""
    result = px.cond_ped_anova(activation_problem(), levels=np.arange(1, 100) / 100)
    px.plotting.importance_sweep(result)
    plt.savefig(HERE / "importance_sweep.png", dpi=160)
    px.plotting.values(result, "x", level=0.1)
    plt.savefig(HERE / "values.png", dpi=160)


def interactions() -> None:
    """The picture of interactions.md, of the log in its code."""
    page = (HERE / "interactions.md").read_text(encoding="utf-8")
    code = next(block for block in page.split("```python\n") if "px.interactions(" in block).split("```")[0]
    names: dict = {}
    exec(code, names)
    px.plotting.interactions(names["result"], level=0.5)
    plt.savefig(HERE / "interactions.png", dpi=110)


def samplers() -> None:
    """The pictures of samplers.md, of the same runs as its code."""
    problem, keys = toys.discs(), jax.random.split(jax.random.key(0), 50)
    # As an array epsilon is traced: random search is the same program.
    c_tpe = adjusted(px.c_tpe, epsilon=jnp.asarray(0.0))(problem.space, n_constraints=1)
    random = dataclasses.replace(c_tpe, proposal=px.samplers.Proposal(epsilon=jnp.asarray(1.0)))
    choices = {
        "c-TPE": c_tpe,
        "naive product": px.papers.naive_c_tpe(problem.space, n_constraints=1),
        "random": random,
    }
    traces = {name: px.optimize_many(keys, sampler, problem, 50) for name, sampler in choices.items()}
    px.plotting.convergence(traces, optimum=problem.feasible_optimum)
    plt.savefig(HERE / "convergence.png", dpi=110)

    _, axes = plt.subplots(1, 2, figsize=(9.6, 4.2), layout="constrained")
    run = traces["c-TPE"].runs()[4]
    px.plotting.acquisition(c_tpe, run, problem=problem, ax=axes[0])
    px.plotting.observations(run, problem, ax=axes[1])
    plt.savefig(HERE / "acquisition.png", dpi=100)

    bowls = toys.ellipsoids(dim=2, base=1.0)
    mo_tpe = adjusted(px.mo_tpe, epsilon=jnp.asarray(0.0))(bowls.space)
    random = dataclasses.replace(mo_tpe, proposal=px.samplers.Proposal(epsilon=jnp.asarray(1.0)))
    fronts = {
        name: px.optimize_many(keys[:16], sampler, bowls, 30)
        for name, sampler in (("MO-TPE", mo_tpe), ("random", random))
    }
    px.plotting.attainment(fronts)
    plt.savefig(HERE / "attainment.png", dpi=110)


def meta() -> None:
    """The picture of meta.md, of the logs in its code."""
    page = (HERE / "meta.md").read_text(encoding="utf-8")
    code = next(block for block in page.split("```python\n") if "sources = {" in block).split("```")[0]
    names: dict = {}
    exec(code.split("sampler = ")[0], names)
    px.plotting.task_similarity(px.lens.similarity.task_similarity(names["sources"], names["space"]))
    plt.savefig(HERE / "task_similarity.png", dpi=110)


def targets() -> None:
    """The picture of targets.md, of the log in its code."""
    page = (HERE / "targets.md").read_text(encoding="utf-8")
    names: dict = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    weights = np.linspace(0, 1, 11)
    px.plotting.importance_over_weights(
        {w: px.cond_ped_anova(names["obs"], objective=[1 - w, w]) for w in weights}
    )
    plt.savefig(HERE / "importance_over_weights.png", dpi=110)


def main() -> None:
    """Draw what the command line names."""
    kinds = {
        "importance": importance,
        "interactions": interactions,
        "samplers": samplers,
        "meta": meta,
        "targets": targets,
    }
    for name in sys.argv[1:] or kinds:
        kinds[name]()


if __name__ == "__main__":
    main()
