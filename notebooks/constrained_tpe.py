# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # A thousand constrained optimisations at once
#
# Constrained TPE (c-TPE, arXiv 2211.14411) looks for the best configuration among those that satisfy
# constraints: a network that is small enough, a training that is short enough. Here a whole run is one
# compiled computation, from the first random row to the last suggestion. So a thousand runs are one call.

# %%
import dataclasses
import os

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import parzax as px

# %% [markdown]
# ## The problem
#
# This is the toy of the paper's Figure 2. The loss is the squared distance from (-2, -2), and only a disc
# around (1, 1) is feasible. So the best feasible point lies on the edge of the disc, and 7 of 8 random
# points violate the constraint.

# %%
square = px.Space({"x": px.Float(-5, 5), "y": px.Float(-5, 5)})


def loss_and_excess(center, middle, radius, key, x):
    return jnp.sum((x - center) ** 2), jnp.sum((x - middle) ** 2) - radius**2


def disc_problem(radius=2.0, center=-2.0, middle=1.0):
    """The squared distance from a point, in a disc; numbers are arrays: other ones compile nothing."""
    numbers = [jnp.asarray(number) for number in (center, middle, radius)]
    best = jnp.maximum(2**0.5 * jnp.abs(numbers[0] - numbers[1]) - numbers[2], 0) ** 2
    fn = jax.tree_util.Partial(loss_and_excess, *numbers)
    return px.Problem(fn, square, n_constraints=1, feasible_optimum=best)


problem = disc_problem()
loss, constraint = problem(jax.random.key(0), jnp.array([1.0, 1.0]))
print("at the centre of the disc: loss", loss, "constraint", constraint, "(satisfied where <= 0)")
print("least feasible loss:", problem.feasible_optimum)

# %% [markdown]
# ## A thousand runs
#
# `optimize_many` takes one key per run. The answer is a `Trace`: arrays with a leading axis of runs. After
# compilation the thousand runs take a few seconds on two cores.
# `epsilon` is the probability of a random suggestion. As an array it is traced, so another value does not
# compile again.

# %%
n_evaluations = 50
c_tpe = px.c_tpe(square, proposal=px.samplers.Proposal(24, epsilon=jnp.asarray(0.0), repeats=True))
runs = px.optimize_many(jax.random.split(jax.random.key(1), 1000), c_tpe, problem, n_evaluations)
assert runs.x.shape == (1000, n_evaluations, 2)
assert runs.losses.shape == runs.constraints.shape == (1000, n_evaluations, 1)

# %% [markdown]
# A run depends on its key alone, not on the other runs of its chunk, as long as `lanes`, the size of a
# chunk, stays the same.

# %%
some = jax.random.split(jax.random.key(1), 1000)[500:532]
again = px.optimize_many(some, c_tpe, problem, n_evaluations)
assert (np.asarray(again.x) == np.asarray(runs.x[500:532])).all()

# %% [markdown]
# ## The naive product, vanilla TPE, and random search
#
# For each constraint c-TPE has two densities: of the rows that satisfy it, and of those that do not. Its
# score is a sum over the objective and the constraints. Two things make the naive product of density ratios
# fail, and c-TPE repairs both:
#
# * The naive product splits by the loss alone, so the objective's good rows may all be infeasible.
# * It gives a loose constraint, which nearly every row satisfies, as much say as a tight one. The
#   *relative* ratio of c-TPE has a bound that depends on the share of good rows, so a loose constraint has
#   little say.
#
# Vanilla TPE does not know the constraint: its problem has none, and we look at the constraint afterwards.
# Random search is `epsilon = 1`.

# %% tags=["runs"]
keys = jax.random.split(jax.random.key(2), 192)
unconstrained = px.Problem(lambda key, x: problem(key, x)[0], problem.space, name="without the constraint")
vanilla = px.optimize_many(keys, px.papers.tpe(problem.space), unconstrained, n_evaluations)
evaluate = jax.jit(jax.vmap(jax.vmap(lambda x: problem(jax.random.key(0), x)[1])))
vanilla = dataclasses.replace(vanilla, constraints=evaluate(vanilla.x))

only_random = dataclasses.replace(c_tpe.proposal, epsilon=jnp.asarray(1.0))
traces = {
    "c-TPE": runs,
    "naive product": px.optimize_many(
        keys, px.papers.naive_c_tpe(problem.space, n_constraints=1), problem, n_evaluations
    ),
    "vanilla TPE": vanilla,
    "random": px.optimize_many(
        keys, dataclasses.replace(c_tpe, proposal=only_random), problem, n_evaluations
    ),
}
ax = px.plotting.convergence(traces, optimum=problem.feasible_optimum)

# %% [markdown]
# The line is the median over runs, the band goes from the lower to the upper quartile. A run without a
# feasible row counts as infinitely bad. So a line begins where half of the runs have found one.
# Vanilla TPE heads for (-2, -2), where nothing is feasible: its feasible rows all come from its random
# start.

# %% tags=["runs"]
optimum = float(problem.feasible_optimum[0])
median = {name: np.median(np.asarray(trace.best_losses())[:, -1]) - optimum for name, trace in traces.items()}
share = {name: float(np.mean(np.asarray(trace.feasible)[:, 10:])) for name, trace in traces.items()}
for name in traces:
    print(f"{name:>13}: regret {median[name]:6.3f}, {share[name]:.0%} of the suggestions are feasible")
assert median["c-TPE"] < 0.5 * median["random"]
assert median["random"] < median["naive product"]
assert share["vanilla TPE"] < share["c-TPE"]

# %% [markdown]
# ## What the samplers see
#
# This is one run, in order of evaluation. It begins at random, finds the disc, and moves to the point of
# its edge that is nearest to (-2, -2).

# %% tags=["runs"]
one = int(np.argmin(np.abs(np.asarray(runs.best_losses())[:, -1] - optimum - median["c-TPE"])))
ax = px.plotting.observations(runs.runs()[one], problem)

# %% [markdown]
# ## Figure 2: what the scores prefer
#
# The pictures have the scores of c-TPE and of the naive product, from 200 random rows. The next suggestion
# is the candidate with the highest score. The dashed line is the true edge of the feasible region, which
# neither sampler knows. In the upper row the constraint is tight (c* = 4, the square of the radius), in the
# lower one loose (c* = 16).
#
# The paper prints the shares of good rows: 0.3 for the loss and 0.12 for the constraint (gamma_0 and
# gamma_1) in the upper row, 0.02 and 0.5 in the lower one. With a tight constraint few rows are feasible,
# so more rows must count as good to have enough feasible ones among them.
#
# [The paper's page](../docs/studies/papers/c_tpe.md) has twenty such draws, and where their best points lie:
# "Figure 2, c* = 4" and "c* = 16".

# %%
naive = px.papers.naive_c_tpe(problem.space, n_constraints=1)
x = jax.random.uniform(jax.random.key(5), (200, 2), minval=-5, maxval=5)
figure, axes = plt.subplots(2, 2, figsize=(10, 9), layout="constrained")
for pair, radius in zip(axes, (2.0, 4.0), strict=True):
    disc = disc_problem(radius)
    losses, excess = jax.vmap(lambda row, disc=disc: disc(jax.random.key(0), row))(x)
    for ax, (title, sampler) in zip(pair, {"c-TPE": c_tpe, "naive product": naive}.items(), strict=True):
        state = sampler.tell(sampler.init(200), x, losses, excess)
        px.plotting.acquisition(sampler, state, problem=disc, ax=ax)
        ax.set_title(f"{title}, c* = {radius**2:g}")
        if title == "c-TPE":
            gamma = np.asarray(sampler.split(state).gamma)
            print(f"c* = {radius**2:g}: gamma_0 = {gamma[0]:.2f}, gamma_1 = {gamma[1]:.2f}")

# %% [markdown]
# ## Figure 3: where they go
#
# The best tenth of the plane and the feasible tenth are two discs, which overlap much or little. There are
# 32 runs of 50 evaluations, for which nothing is compiled: discs are arrays of the problem. The median run
# is drawn, with later evaluations darker. The title says which share of the last half of all runs lies in
# both discs. If the overlap is small the naive product settles in one of the discs, and c-TPE goes to where
# they meet. The rows are ["Figure 3"](../docs/studies/papers/c_tpe.md).

# %% tags=["runs"]
middles = {"large": 0.5, "small": 2.3}
circle = jnp.linspace(0, 2 * jnp.pi, 200)
figure, axes = plt.subplots(2, 2, figsize=(9, 8.6), layout="constrained", sharex=True, sharey=True)
for pair, (overlap, middle) in zip(axes, middles.items(), strict=True):
    disc = disc_problem(3**0.5, 0.0, middle)
    for ax, (title, sampler) in zip(pair, {"c-TPE": c_tpe, "naive product": naive}.items(), strict=True):
        trace = px.optimize_many(jax.random.split(jax.random.key(6), 32), sampler, disc, n_evaluations)
        for at, style, label in ((0.0, "-", "best tenth"), (middle, "--", "feasible")):
            edge = at + 3**0.5 * np.stack([np.cos(circle), np.sin(circle)])
            ax.plot(*edge, color="0.4", linestyle=style, linewidth=1, label=label)
        both = (np.asarray(trace.constraints) <= 0) & (np.asarray(trace.losses) <= 3)
        last = both[:, 25:].mean(axis=(1, 2))
        drawn = np.asarray(trace.x[np.argsort(last)[len(last) // 2]])  # the median run
        shown = ax.scatter(*drawn.T, c=np.arange(50), cmap="viridis_r", s=22, zorder=2)
        ax.set_title(f"{title}, {overlap} overlap: {last.mean():.0%} in both", fontsize=10)
        ax.set_aspect("equal")
axes[0, 0].legend(loc="lower right")
_ = figure.colorbar(shown, ax=axes, label="evaluation", shrink=0.6)

# %% [markdown]
# ## Settings are traced too
#
# `px.optimize` is a pure function: one scan. So it works under `vmap` and `lax.map`, over keys, over
# numbers that the problem depends on, and over settings of the sampler. Here every run has its own radius
# of the disc and its own smallest bandwidth, with one compilation for all. A loose constraint (a large
# disc) is easy, a tight one hard.

# %% tags=["runs"]
radii = jnp.array([1.0, 2.0, 4.0])
floors = jnp.array([0.01, 0.05, 0.2])
n_seeds = 32


def best_regret(key, radius, floor):
    """Regret after each evaluation of one run."""
    own = disc_problem(radius)
    sampler = px.c_tpe(square, smoothing=px.density.Smoothing(px.bandwidth.Scott(floor), 0.8, joint=False))
    return px.optimize(key, sampler, own, 40).best_losses() - own.feasible_optimum[0]


grid = jnp.meshgrid(radii, floors, jnp.arange(n_seeds), indexing="ij")
radius, floor, seed = (part.ravel() for part in grid)
lanes = jax.vmap(jax.random.key)(seed), radius, floor
regret = jax.jit(lambda lanes: jax.lax.map(lambda lane: best_regret(*lane), lanes, batch_size=32))(lanes)
regret = np.asarray(regret).reshape(len(radii), len(floors), n_seeds, 40)
table = np.median(regret[..., -1], axis=-1)
print("median regret after 40 evaluations; a row per radius, a column per smallest bandwidth")
for r, row in zip(radii, table, strict=True):
    print(f"radius {r:.0f}: ", "  ".join(f"{value:7.3f}" for value in row))
never = np.isinf(regret[..., -1]).mean(axis=(1, 2))
print(
    "share of runs without a feasible row:", dict(zip(radii.tolist(), never.round(2).tolist(), strict=True))
)
assert never[0] >= never[-1]

# %% [markdown]
# Compiled code raises nothing. A run without a feasible row has a best value of infinity. A state that was
# told more rows than it holds says so in `state.overflow`. On the host `tell` makes room instead:

# %%
sampler = px.c_tpe(problem.space, n_constraints=1)
state = sampler.init(capacity=8)
x = jax.random.uniform(jax.random.key(0), (12, 2), minval=-5, maxval=5)
objectives, constraints = jax.vmap(lambda row: problem(jax.random.key(0), row))(x)
tell = jax.jit(sampler.tell)
state = tell(state, x[:6], objectives[:6], constraints[:6])
assert not state.overflow
state = tell(state, x[6:], objectives[6:], constraints[6:])
assert state.overflow
assert state.count == 8
grown = sampler.tell(sampler.init(capacity=8), x, objectives, constraints)
assert grown.count == 12
best = sampler.best(grown)
x, loss, constraint = (part[best.mask] for part in best[:3])
print("best feasible row:", x, "loss", loss, "constraint", constraint)

# %% [markdown]
# ## A real table
#
# In `px.samplers.Tabular` an evaluation is a look-up, so hundreds of runs of 100 evaluations take seconds. To
# run this cell, set PARZAX_DATA to the folder of the tables, and PYTHONPATH to the repository.

# %% tags=["runs"]
data = os.environ.get("PARZAX_DATA")
if data and os.path.exists(os.path.join(data, "nasbench201/cifar10.npz")):
    from benchmarks.load_table import load_table

    nas = load_table(
        "nasbench201/cifar10.npz",
        objectives=["valid_error"],
        constraint_quantiles={"size": 0.1, "runtime": 0.1},
    )
    sampler = px.c_tpe(nas.space, n_constraints=nas.n_constraints, proposal=c_tpe.proposal)
    keys = jax.random.split(jax.random.key(3), 64)
    random = dataclasses.replace(sampler, proposal=only_random)
    nas_traces = {
        "c-TPE": px.optimize_many(keys, sampler, nas, 100),
        "random": px.optimize_many(keys, random, nas, 100),
    }
    ax = px.plotting.convergence(nas_traces, optimum=nas.feasible_optimum)
    ax.set_title("NAS-Bench-201, CIFAR-10: size and runtime in the best tenth")
    last = {name: np.median(np.asarray(trace.best_losses())[:, -1]) for name, trace in nas_traces.items()}
    print({name: f"{value:.2f} % error" for name, value in last.items()})
    assert last["c-TPE"] < last["random"]
else:
    print("PARZAX_DATA is not set, so there is no table to look at.")

# %% [markdown]
# ## Two objectives
#
# `mo_tpe` orders rows by non-domination rank. The answer is a front instead of a best value. Half of the
# runs have reached the attainment surface at 50 %. The dashed line is the true front.

# %% tags=["runs"]
cube = px.Space({name: px.Float(-5, 5) for name in "xyz"})
mo_tpe = px.mo_tpe(cube, proposal=px.samplers.Proposal(100, epsilon=jnp.asarray(0.0), repeats=True))


def bowls(key, x):
    return jnp.stack([jnp.sum((x - center) ** 2) for center in (-1.0, 1.0)])


keys = jax.random.split(jax.random.key(4), 32)
fronts = {
    "MO-TPE": px.optimize_many(keys, mo_tpe, bowls, 60),
    "random": px.optimize_many(keys, dataclasses.replace(mo_tpe, proposal=only_random), bowls, 60),
}
ax = px.plotting.attainment(fronts)
first = np.linspace(0, 12, 200)
ax.plot(first, (np.sqrt(12) - np.sqrt(first)) ** 2, color="0.4", linestyle="--", linewidth=1)
volume = jax.vmap(lambda points: px.pareto.hypervolume(points, jnp.array([40.0, 40.0])))
attained = {name: float(jnp.median(volume(jnp.asarray(trace.losses)))) for name, trace in fronts.items()}
print("median hypervolume below (40, 40):", attained)
assert attained["MO-TPE"] > attained["random"]
