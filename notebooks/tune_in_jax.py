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
# # A search inside a JAX program
#
# TPE chooses hyperparameters for ten rounds of 64 small networks, which are trained side by side. At the end,
# importances show which hyperparameters mattered. The search, all trainings and the importances are one
# compiled function. This notebook needs `optax` and `scikit-learn` (for its data set of digits). It takes a
# minute on two CPU cores.

# %%
import time

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import optax
from sklearn.datasets import load_digits

import parzax as px

images, labels = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(images))
images, labels = jnp.asarray(images[order] / 16, float), jnp.asarray(labels[order])

# %% [markdown]
# ## Hyperparameters as a dict
#
# A parameter with `when=` exists only where its condition holds: `momentum` for SGD.

# %%
domains = {
    "optimizer": px.Categorical(["sgd", "adam"]),
    "rate": px.Float(1e-4, 10.0, log=True),
    "momentum": px.Float(0.0, 0.99, when=px.In("optimizer", ["sgd"])),
    "units": px.Int(2, 32, log=True),
    "decay": px.Float(1e-6, 1e-1, log=True),
}
MOST_UNITS, N_STEPS, BATCH, MOST_WEIGHTS = 32, 100, 64, 1500

# %% [markdown]
# ## The objective
#
# The function gets the values by name. Where `momentum` is inactive it has its lowest value, 0. The networks
# of a round must have one shape, so all have 32 hidden units, of which `units` are used. The images are an
# argument, so new images reuse the compiled program.


# %%
def initial(key):
    first, second = jax.random.split(key)
    return {
        "in": jax.random.normal(first, (64, MOST_UNITS)) / 8,
        "out": jax.random.normal(second, (MOST_UNITS, 10)) / 8,
        "bias": jnp.zeros(MOST_UNITS),
    }


def logits(weights, used, x):
    return (jax.nn.relu(x @ weights["in"] + weights["bias"]) * used) @ weights["out"]


def cross_entropy(weights, used, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(logits(weights, used, x), y).mean()


def train_network(images, key, params):
    """The test loss after training, and the number of weights above the limit."""
    train, test = (images[:1200], labels[:1200]), (images[1200:], labels[1200:])
    used = (jnp.arange(MOST_UNITS) < params["units"]).astype(float)
    adam, sgd = optax.scale_by_adam(), optax.trace(params["momentum"])
    key, start = jax.random.split(key)
    weights = initial(start)

    def step(carry, key):
        weights, of_adam, of_sgd = carry
        rows = jax.random.randint(key, (BATCH,), 0, len(train[0]))
        gradients = jax.grad(cross_entropy)(weights, used, train[0][rows], train[1][rows])
        by_adam, of_adam = adam.update(gradients, of_adam)
        by_sgd, of_sgd = sgd.update(gradients, of_sgd)
        is_adam = params["optimizer"] == "adam"

        def update(w, a, s):
            return w - params["rate"] * (jnp.where(is_adam, a, s) + params["decay"] * w)

        return (jax.tree.map(update, weights, by_adam, by_sgd), of_adam, of_sgd), None

    carry = weights, adam.init(weights), sgd.init(weights)
    (weights, *_), _ = jax.lax.scan(step, carry, jax.random.split(key, N_STEPS))
    loss = cross_entropy(weights, used, *test)
    n_weights = params["units"] * (64 + 10 + 1)
    # A diverged training has a large loss instead of infinity or NaN.
    return jnp.nan_to_num(jnp.minimum(loss, 10.0), nan=10.0), (n_weights - MOST_WEIGHTS).astype(float)


def problem_of(images):
    fn = jax.tree_util.Partial(train_network, images)
    return px.Problem.from_params(fn, domains, n_constraints=1, name="digits")


problem = problem_of(images)
space = problem.space

# %% [markdown]
# ## Search and importance, one function
#
# `n_parallel=64` suggests and trains 64 networks a round. Then `px.encode` and `px.importance.estimate`
# compute the importances of the 640 rows, and `resample` repeats this for 200 random halves.
#
# With `epsilon=0.75` three of four suggestions are random, so the rows cover the whole space. Interactions
# need this, because a sampler that learns makes the parameters of its log depend on each other. As an array,
# `epsilon` is an argument of the program, and another value needs no other program.

# %%
levels = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


@jax.jit
def search(sampler, problem, key):
    run, halves = jax.random.split(key)
    trace = px.optimize(run, sampler, problem, 640, n_parallel=64)
    encoded = px.encode(space, trace.x, trace.losses[:, 0], levels)
    samples = px.importance.resample(halves, encoded, 200)
    return trace, px.importance.estimate(encoded), samples, px.importance.interactions(encoded)


survey = px.tpe(
    space, n_constraints=1, proposal=px.samplers.Proposal(epsilon=jnp.asarray(0.75), repeats=False)
)
start = time.perf_counter()
trace, importance, samples, pairs = jax.block_until_ready(search(survey, problem, jax.random.key(0)))
assert time.perf_counter() - start < 300

# %% tags=["runs"]
best = trace.incumbent()[-1]
params = space.as_dict(trace.x[best])  # all parameters of the best network, by name
print(f"{params['optimizer']}, test loss {trace.losses[best, 0]:.3f}")
print(f"best of the first round {trace.best_losses()[63]:.3f}")

# %% tags=["runs"]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
rounds = np.arange(1, 11)
of_round = np.asarray(trace.losses).reshape(10, 64)
left.boxplot(of_round.T, positions=rounds, showfliers=False)
left.plot(rounds, np.asarray(trace.best_losses()).reshape(10, 64)[:, -1], "o-")
left.set(xlabel="round of 64 networks", ylabel="test loss", yscale="log", title="line: best feasible so far")
low, high = np.quantile(samples.importance, [0.05, 0.95], axis=0)
for j, name in enumerate(space.names):
    (line,) = right.plot(levels, importance.importance[:, j], "o-", label=name)
    right.fill_between(levels, low[:, j], high[:, j], alpha=0.2, color=line.get_color(), linewidth=0)
right.set(
    xlabel="target quantile γ′", ylabel="importance", ylim=(0, 1), title="bands: 90 % of the half-samples"
)
_ = right.legend(frameon=False)

# %% [markdown]
# The strongest interaction at γ′ = 0.3: the share of the variance of "is among the best 30 %" that two
# parameters explain together, beyond what each explains alone.

# %% tags=["runs"]
pair_importance = np.asarray(pairs.importance)[levels.index(0.3)]
names = [(a, b) for i, a in enumerate(space.names) for b in space.names[i + 1 :]]
strongest = int(np.argmax(pair_importance))
print(" and ".join(names[strongest]), f"{pair_importance[strongest]:.2f}")

# %% [markdown]
# ## The same numbers on the host
#
# A `Trace` exports its rows as a log, for tables, pages and pictures. `px.cond_ped_anova` gives the same
# importances.

# %% tags=["runs"]
log = px.Observations.from_trace(trace)
# As above: of the rows themselves, and not only of feasible ones.
result = px.cond_ped_anova(log, levels=np.array(levels), rows="all", surrogate=None)
np.testing.assert_allclose(result.importance, importance.importance, atol=1e-4)
for name, share in zip(space.names, result.importance[levels.index(0.1)], strict=True):
    print(f"{name:<12} {share:.2f}")

# %% [markdown]
# ## From an earlier search
#
# The log of an earlier search is a source for the next one, here for images whose lower half is hidden. The
# first seven suggestions are the best rows of the source. Now no suggestion after the first round is random.

# %% tags=["runs"]
never_random = px.samplers.Proposal(epsilon=jnp.asarray(0.0))
hidden = problem_of(images.at[:, 32:].set(0.0))
sampler = px.meta_learn_tpe(space, {"digits": log}, n_constraints=1, proposal=never_random)
again, *_ = search(sampler, hidden, jax.random.key(1))
alone, *_ = search(px.tpe(space, n_constraints=1, proposal=never_random), hidden, jax.random.key(1))
print("best feasible loss after   with the source   without")
for n in (7, 64, 128, 640):
    print(f"{n:>24} {again.best_losses()[n - 1]:>17.3f} {alone.best_losses()[n - 1]:>9.3f}")

# %%
assert float(trace.constraints[best, 0]) <= 0
assert float(again.best_losses()[6]) < float(alone.best_losses()[6]), "the source gives a better start"
