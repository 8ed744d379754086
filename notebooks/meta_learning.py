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
# Meta-learning TPE (arXiv 2212.06751) has logs of other tasks, and uses them as far as those tasks are
# similar to the one at hand. This notebook does the paper's experiment on ellipsoids in a small form: a task
# whose answer is known, and sources from the same task to one far away.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import parzax as px

# %% [markdown]
# ## The tasks
#
# The loss is f(x | c) = sum_d 5^(d - 1) (x_d - c)^2 on [-5, 5]^4. The target has c = 0. The sources have
# c = 0 to 4 and a hundred random rows each. The last parameter weighs 125 times as much as the first.

# %%
target = px.problems.ellipsoid(4)
centers = range(5)


def random_rows(key, center):
    """A log of a hundred random configurations of one task."""
    draw, evaluate = jax.random.split(key)
    x = jax.random.uniform(draw, (100, 4), minval=-5, maxval=5)
    task = px.problems.ellipsoid(4, float(center))
    loss = jax.vmap(lambda row: task(evaluate, row)[0])(x)
    return px.Observations.from_arrays(task.space, np.asarray(x), np.asarray(loss))


keys = jax.random.split(jax.random.key(0), len(centers))
sources = {f"c = {c}": random_rows(key, c) for c, key in zip(centers, keys, strict=True)}

# %% [markdown]
# ## How similar they are
#
# Two tasks are compared by the densities of their rows below, the best tenth. With d the total variation of
# the two, s = (1 - d) / (1 + d) is what they share. It falls with the distance of the centres. The numbers
# are small even for neighbours: ten rows of four parameters differ by chance too.

# %%
table = px.task_similarity(sources)
ax = px.plotting.task_similarity(table)
of_target = table.similarity[0]
assert (np.diff(of_target) < 0).all()
assert (table.similarity == table.similarity.T).all()

# %% [markdown]
# ## Runs with one source each
#
# `paper_meta_learn_tpe` starts with the best rows of its source. Then its densities are mixtures of the
# target's and of the source's. MO-TPE is the same sampler without any source, with a random start. (Here with
# one suggestion in 20 at random too, which is the default of `paper_meta_learn_tpe`.) In a list the source is
# "task 1" each time, so that all five samplers are one program.

# %%
n_evaluations, n_runs = 60, 16
runs = jax.random.split(jax.random.key(1), n_runs)
# The paper's sampler; px.meta_learn_tpe is another, see docs/meta.md.
samplers = {name: px.paper_meta_learn_tpe(target.space, [log]) for name, log in sources.items()}
traces = {
    name: px.optimize_many(sampler, target, runs, n_evaluations, lanes=n_runs)
    for name, sampler in samplers.items()
}
alone = px.mo_tpe(target.space, n_objectives=1, epsilon=0.05)
traces["no source"] = px.optimize_many(alone, target, runs, n_evaluations, lanes=n_runs)

# %%
shown = {f"source c = {c}": traces[f"c = {c}"] for c in (0, 1, 4)} | {"no source": traces["no source"]}
ax = px.plotting.convergence(shown, log=True)

# %% [markdown]
# The line is the median over runs, the band goes from the lower to the upper quartile.
#
# * A source that is the same task helps from the first evaluation on, and keeps its lead. Its neighbour
#   (c = 1) helps too.
# * A source far away (c = 4) begins worse than random rows: the first suggestions are its best rows, which
#   are bad here. It takes some twenty rows until the sampler tells such a source from a good one. Then the
#   line falls, and by the end little is left of the damage.
# * The sources in between, c = 2 and 3, are in the numbers below: they stay a little behind the runs without
#   any source.

# %%
best = {name: np.median(np.asarray(trace.best()), axis=0) for name, trace in traces.items()}
print("median best value after 5, 20, 40 and 60 evaluations")
for name, values in best.items():
    print(f"{name:>10}:", "  ".join(f"{values[n - 1]:8.2f}" for n in (5, 20, 40, 60)))
assert best["c = 0"][4] < best["c = 2"][4] < best["c = 4"][4]
assert best["c = 0"][-1] < best["c = 1"][-1] < best["no source"][-1]
assert best["no source"][-1] < best["no source"][9] < best["c = 4"][9]
assert best["c = 4"][-1] < 3 * best["no source"][-1]

# %% [markdown]
# Naive meta-learning counts every task alike, k = 1 / T, whatever its rows say (`eta=np.inf` keeps no
# parameter to compare by). Figure 2 of the paper has it beside the above: with the source far away it stays
# behind. [The rows of that figure](../docs/papers/meta_learn_tpe.md) have the numbers of 50 runs.

# %%
naive = px.paper_meta_learn_tpe(target.space, [sources["c = 4"]], eta=np.inf)
found = px.optimize_many(naive, target, runs, n_evaluations, lanes=n_runs)
best["naive, c = 4"] = np.median(np.asarray(found.best()), axis=0)
for name in ("c = 4", "naive, c = 4", "no source"):
    print(f"{name:>12}:", "  ".join(f"{best[name][n - 1]:8.2f}" for n in (5, 20, 40, 60)))
assert best["naive, c = 4"][-1] > best["c = 4"][-1]

# %% [markdown]
# ## What the samplers thought of their source
#
# The same runs, told again ten rows at a time: after each ten the similarity that the sampler works with.
# Tasks are compared by their most important parameters, floor(log_2.5 n) of them for n rows below. Up to 20
# rows there are at most two below, no parameter is kept, and every source counts as the same task
# (s = 1). From 21 rows on it is one parameter, the last one of the four.


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
    x, losses = (jnp.asarray(array) for array in (traces[name].x, traces[name].objectives))
    thought[name] = np.asarray(similarity_so_far(sampler, x, losses))

# %%
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
# The order is that of the centres. What a source then weighs against the target: with two tasks the task
# kernel gives it s / 2, times the number of its rows below. After 60 evaluations the target has 6 of them,
# the source 10.

# %%
print("share of the source in the density below, after 60 evaluations")
last = {name: float(np.median(s[:, -1])) for name, s in thought.items()}
for name, s in last.items():
    weight = np.asarray(px.meta.task_kernel(jnp.array([s]))) * np.array([6, 10])
    print(f"{name}: {weight[1] / weight.sum():.0%}")
assert sorted(last, key=lambda name: -last[name]) == list(sources)
assert all((s[:, :2] == 1).all() for s in thought.values())

# %% [markdown]
# For use take `px.meta_learn_tpe`, which begins like the paper's sampler and then lets the target's own rows
# decide: that is not behind where a source is far away ([measured](../docs/sources.md)).
