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
# # Learning from other tasks
#
# Meta-learning TPE (arXiv 2212.06751) uses logs of other tasks, as far as they are similar to the task at
# hand. This notebook does the paper's experiment on ellipsoids in a small form. The answer of the task is
# known, and the sources range from the same task to one far away.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import parzax as px

# %% [markdown]
# ## The tasks
#
# The loss is f(x | c) = sum_d 5^(d - 1) (x_d - c)^2 on [-5, 5]^4. The target has c = 0. The sources have c
# = 0 to 4 and a hundred random rows each. The last parameter weighs 125 times as much as the first.

# %%
box = px.Space({f"x{i}": px.Float(-5, 5) for i in range(1, 5)})


def ellipsoid(center):
    return px.Problem(lambda key, x: jnp.sum(5.0 ** jnp.arange(4) * (x - center) ** 2), box)


target = ellipsoid(0.0)
centers = range(5)


def random_rows(key, center):
    """A log of a hundred random configurations of one task."""
    draw, evaluate = jax.random.split(key)
    x = jax.random.uniform(draw, (100, 4), minval=-5, maxval=5)
    task = ellipsoid(float(center))
    loss = jax.vmap(lambda row: task(evaluate, row)[0])(x)
    return px.Observations.from_arrays(task.space, np.asarray(x), np.asarray(loss))


keys = jax.random.split(jax.random.key(0), len(centers))
sources = {f"c = {c}": random_rows(key, c) for c, key in zip(centers, keys, strict=True)}

# %% [markdown]
# ## How similar they are
#
# Two tasks are compared by the densities of their good rows, the best tenth. Their similarity is s = (1 -
# d) / (1 + d), with d the total variation of the two densities. It falls with the distance of the centres.
# It is small even for neighbours, since ten rows of four parameters also differ by chance.

# %%
table = px.lens.similarity.task_similarity(sources)
ax = px.plotting.task_similarity(table)
of_target = table.similarity[0]
assert (np.diff(of_target) < 0).all()
assert (table.similarity == table.similarity.T).all()

# %% [markdown]
# ## Runs with one source each
#
# `authors_meta_learn_tpe` starts with the best rows of its source. Then its densities are mixtures of the
# target's and the source's. MO-TPE is the same sampler without a source, with a random start. Here it also
# has one random suggestion in 20, the default of `authors_meta_learn_tpe`. Sources in a list are named "task
# 1" and so on, so that all five samplers are one program.

# %%
n_evaluations, n_runs = 60, 16
runs = jax.random.split(jax.random.key(1), n_runs)
# The paper's sampler; px.meta_learn_tpe is another, see docs/meta.md.
samplers = {name: px.papers.authors_meta_learn_tpe(target.space, [log]) for name, log in sources.items()}
traces = {
    name: px.optimize_many(runs, sampler, target, n_evaluations, lanes=n_runs)
    for name, sampler in samplers.items()
}
alone = px.mo_tpe(box, 1, proposal=px.samplers.Proposal(100, epsilon=0.05, repeats=True))
traces["no source"] = px.optimize_many(runs, alone, target, n_evaluations, lanes=n_runs)

# %% tags=["runs"]
shown = {f"source c = {c}": traces[f"c = {c}"] for c in (0, 1, 4)} | {"no source": traces["no source"]}
ax = px.plotting.convergence(shown, log=True)

# %% [markdown]
# The line is the median over runs, the band goes from the lower to the upper quartile.
#
# * A source that is the same task helps from the first evaluation on, and keeps its lead. Its neighbour (c
#   = 1) helps too.
# * A source far away (c = 4) begins worse than random rows: the first suggestions are its best rows, which
#   are bad here. After some twenty rows the sampler can tell such a source from a good one. Then the line
#   falls, and by the end little of the damage is left.
# * The numbers below also have the sources in between, c = 2 and 3. They stay a little behind the runs
#   without a source.

# %% tags=["runs"]
best = {name: np.median(np.asarray(trace.best_losses()), axis=0) for name, trace in traces.items()}
print("median best value after 5, 20, 40 and 60 evaluations")
for name, values in best.items():
    print(f"{name:>10}:", "  ".join(f"{values[n - 1]:8.2f}" for n in (5, 20, 40, 60)))
assert best["c = 0"][4] < best["c = 2"][4] < best["c = 4"][4]
assert best["c = 0"][-1] < best["c = 1"][-1] < best["no source"][-1]
assert best["no source"][-1] < best["no source"][9] < best["c = 4"][9]
assert best["c = 4"][-1] < 3 * best["no source"][-1]

# %% [markdown]
# Naive meta-learning counts every task alike, k = 1 / T, whatever its rows say: with `eta=np.inf` no
# parameter is left to compare by. In Figure 2 of the paper it stays behind if the source is far away. [The
# rows of that figure](../docs/studies/papers/meta_learn_tpe.md) have the numbers of 50 runs.

# %% tags=["runs"]
naive = px.papers.authors_meta_learn_tpe(box, [sources["c = 4"]], comparison=px.meta.Comparison(eta=np.inf))
found = px.optimize_many(runs, naive, target, n_evaluations, lanes=n_runs)
best["naive, c = 4"] = np.median(np.asarray(found.best_losses()), axis=0)
for name in ("c = 4", "naive, c = 4", "no source"):
    print(f"{name:>12}:", "  ".join(f"{best[name][n - 1]:8.2f}" for n in (5, 20, 40, 60)))
assert best["naive, c = 4"][-1] > best["c = 4"][-1]

# %% [markdown]
# ## What the samplers thought of their source
#
# We tell the same runs again, ten rows at a time, and look at the similarity that the sampler works with.
# Tasks are compared by their most important parameters, floor(log_2.5 n) of them for n good rows. Up to 20
# rows at most two are good, no parameter is kept, and every source counts as the same task (s = 1). From 21
# rows on one parameter is kept, the last of the four.


# %%
@jax.jit
def similarity_so_far(sampler, x, losses):
    """(runs, 6) similarity to the one source after 10, 20, ... rows."""

    def step(state, rows):
        state = sampler.tell(state, *rows)
        return state, px.samplers.similarities(sampler, state)[0]

    def one(x, losses):
        return jax.lax.scan(step, sampler.init(64), (x.reshape(-1, 10, 4), losses.reshape(-1, 10, 1)))[1]

    return jax.vmap(one)(x, losses)


thought = {}
for name, sampler in samplers.items():
    x, losses = (jnp.asarray(array) for array in (traces[name].x, traces[name].losses))
    thought[name] = np.asarray(similarity_so_far(sampler, x, losses))

# %% tags=["runs"]
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
at = np.arange(10, n_evaluations + 1, 10)
for i, (name, s) in enumerate(thought.items()):
    low, middle, high = np.quantile(s, (0.25, 0.5, 0.75), axis=0)
    look = {"color": plt.colormaps["viridis"](i / 5), "marker": "o", "markersize": 4, "capsize": 2}
    ax.errorbar(at + 0.5 * (i - 2), middle, (middle - low, high - middle), label=f"source {name}", **look)
ax.set(xlabel="evaluations", ylim=(0, 1.05))
ax.set_ylabel(f"similarity of the source\n(median and quartiles of {n_runs} runs)")
ax.spines[["top", "right"]].set_visible(False)
legend = ax.legend()

# %% [markdown]
# The order is that of the centres. The weight of a source is its task kernel, s / 2 with two tasks, times
# the number of its good rows. After 60 evaluations the target has 6 of them, the source 10.

# %% tags=["runs"]
print("share of the source in the density below, after 60 evaluations")
last = {name: float(np.median(s[:, -1])) for name, s in thought.items()}
for name, s in last.items():
    weight = np.asarray(px.meta.task_kernel(jnp.array([s]))) * np.array([6, 10])
    print(f"{name}: {weight[1] / weight.sum():.0%}")
assert sorted(last, key=lambda name: -last[name]) == list(sources)
assert all((s[:, :2] == 1).all() for s in thought.values())

# %% [markdown]
# For your own work take `px.meta_learn_tpe`. It begins like the paper's sampler and then lets the target's
# own rows decide, so it does not fall behind if a source is far away
# ([measured](../docs/studies/sources.md)).
