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
# # A thousand searches on one accelerator
#
# Everything here is one program on the device: it draws the configurations, evaluates them, and computes the
# importances of every search at 99 levels, with half-samples. On a GPU it takes 1000 searches, on a CPU 40.
# The outputs below are from a CPU.

# %%
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import parzax as px

on_cpu = jax.default_backend() == "cpu"
n_seeds, n_rows, n_samples = (40 if on_cpu else 1000), 1000, 100
levels = np.arange(1, 100) / 100

# %% [markdown]
# ## A search as a function of a key
#
# The objective has five parameters. `momentum` exists only for the first of two optimisers, so it is NaN
# elsewhere. Good learning rates differ between the optimisers.

# %%
space = px.Space(
    {
        "lr": px.Float(1e-4, 1.0, log=True),
        "optimizer": px.Categorical(["sgd", "adam"]),
        "momentum": px.Float(0, 1, when=px.In("optimizer", ["sgd"])),
        "layers": px.Int(1, 8),
        "dropout": px.Float(0, 0.5),
    }
)


def search(key):
    """Configurations (n, 5) of a random search, and their losses (n,)."""
    draw, noise = jax.random.split(key)
    u = jax.random.uniform(draw, (n_rows, 5))
    exponent, adam = 4 * u[:, 0] - 4, u[:, 1] < 0.5
    momentum, layers, dropout = u[:, 2], jnp.floor(1 + 8 * u[:, 3]), u[:, 4] / 2
    loss = (exponent - jnp.where(adam, -3.0, -1.5)) ** 2 + 0.2 * (layers - 4) ** 2 / 4 + dropout
    loss = loss + jnp.where(adam, 0.0, (momentum - 0.9) ** 2) + 0.1 * jax.random.normal(noise, (n_rows,))
    columns = 10**exponent, adam, jnp.where(adam, jnp.nan, momentum), layers, dropout
    return jnp.stack([jnp.asarray(c, loss.dtype) for c in columns], axis=1), loss


# %% [markdown]
# ## All searches, all levels
#
# `px.encode` and `px.importance.estimate` take one log. `jax.vmap` maps them over all logs, and `jax.jit`
# compiles one program. Nothing returns to the host in between.


# %%
@jax.jit
def sweep(keys):
    def one(key):
        return px.importance.estimate(px.encode(space, *search(key), levels)).importance

    return jax.vmap(one)(keys)


keys = jax.random.split(jax.random.key(0), n_seeds)
shares = sweep(keys)
shares.shape

# %% [markdown]
# With several devices the same function needs no change. Put the keys on a mesh, and each device computes its
# own searches. The mesh has Auto axes, because JAX 0.8 cannot draw random numbers on Explicit ones under
# `jax.vmap`.

# %%
mesh = jax.make_mesh((jax.device_count(),), ("seeds",), axis_types=(jax.sharding.AxisType.Auto,))
seeds = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("seeds"))
n_even = n_seeds - n_seeds % jax.device_count()
assert jnp.allclose(sweep(jax.device_put(keys[:n_even], seeds)), shares[:n_even], atol=1e-5)

# %%
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
low, middle, high = np.quantile(shares, [0.05, 0.5, 0.95], axis=0)
for j, name in enumerate(space.names):
    (line,) = ax.plot(levels, middle[:, j], label=name)
    ax.fill_between(levels, low[:, j], high[:, j], alpha=0.2, color=line.get_color(), linewidth=0)
ax.set(xlabel="target quantile γ′", ylabel="importance", ylim=(0, 1), xlim=(0, 1))
ax.set_title("median and 90 % of the searches")
_ = ax.legend(ncols=2, frameon=False)

# %% [markdown]
# ## Can one log estimate its own uncertainty?
#
# Usually there is one log and not a thousand. `px.importance.resample` takes half of its rows at random, many
# times, and the spread of the answers estimates the spread over searches. Here both are at hand: the spread
# over the searches is the truth, and each search gives an estimate of it.


# %%
@jax.jit
def spreads(keys):
    def one(key):
        log = px.encode(space, *search(key), 0.1)
        samples = px.importance.resample(jax.random.fold_in(key, 1), log, n_samples)
        return px.importance.estimate(log).importance[0], samples.importance[:, 0].std(axis=0)

    return jax.vmap(one)(keys)


share, spread = spreads(keys)
truth = share.std(axis=0)
print("             importance   spread over searches   as one log estimates it")
for name, *numbers in zip(space.names, share.mean(axis=0), truth, jnp.median(spread, axis=0), strict=True):
    print("{:<12} {:>10.2f} {:>22.3f} {:>25.3f}".format(name, *map(float, numbers)))

# %%
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.boxplot(np.asarray(spread), tick_labels=space.names, showfliers=False, medianprops={"color": "C0"})
ax.plot(np.arange(len(space)) + 1, truth, "D", color="C3", label="spread over searches")
ax.set(ylabel="standard deviation", title="the spread that each log estimates from half-samples", ylim=0)
_ = ax.legend(frameon=False)

# %%
assert jnp.argmax(share.mean(axis=0)) == 0, "the learning rate comes first"
strong = np.asarray(share.mean(axis=0)) > 0.05
ratio = (jnp.median(spread, axis=0) / truth)[strong]
assert ((ratio > 0.5) & (ratio < 2)).all(), "one log knows its spread within a factor of 2"
