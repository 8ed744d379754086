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
# # What mattered, at which level, and how sure is that?
#
# Conditional PED-ANOVA (arXiv 2601.20800) asks which hyperparameters tell the best configurations apart
# from the rest. The answer depends on how good "best" is: the level γ′. Here one compiled call gives the
# whole curve over γ′, for many seeds at once.

# %%
import pickle

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px

# %% [markdown]
# ## The paper's activation problem
#
# `c` is uniform on [0, 1] and decides which of two other parameters exists. If it is below 0.5 the loss is
# `x` in [-5, -2], otherwise it is `y` in [2, 5]. Inactive values are NaN. We draw ten seeds of a random
# search with 1000 configurations, as arrays of shape (seeds, rows, parameters). [The rows "Figures 1, 11,
# disjoint"](../docs/studies/papers/cond_ped_anova.md) compare our numbers with the paper's.

# %%
space = px.Space(
    {
        "c": px.Float(0, 1),
        "x": px.Float(-5, -2, when=px.Between("c", high=0.5)),
        "y": px.Float(2, 5, when=px.Between("c", low=0.5)),
    }
)
rng = np.random.default_rng(0)
n_seeds, n_rows = 10, 1000
c = rng.uniform(size=(n_seeds, n_rows))
x = np.where(c < 0.5, rng.uniform(-5, -2, c.shape), np.nan)
y = np.where(c < 0.5, np.nan, rng.uniform(2, 5, c.shape))
loss = np.where(c < 0.5, x, y)
obs = px.Observations.from_arrays(space, np.stack([c, x, y], axis=-1), loss)
obs

# %% [markdown]
# ## 99 levels in one call

# %%
result = px.cond_ped_anova(obs, levels=np.arange(1, 100) / 100)
result

# %%
ax = px.plotting.importance_sweep(result)

# %% [markdown]
# Read from left to right. The best few per cent need `c < 0.5`, but half of all configurations have that:
# what matters is a small `x`. At γ′ = 0.5 the target is exactly the branch `c < 0.5`, so only `c` counts.
# Beyond, the whole branch is in the target, and `y` separates the rest. A parameter that is inactive in the
# whole target, or has the same values in target and region, scores exactly 0.

# %%
mean, error = result.mean, result.standard_error
level = {round(float(q), 2): i for i, q in enumerate(result.levels)}
assert mean[level[0.5], result.names.index("c")] > 0.9
assert (mean[: level[0.41], result.names.index("y")] == 0).all(), "y is inactive in every good configuration"
assert (mean[level[0.61] :, result.names.index("x")] == 0).all(), "every x is good enough"
assert [result.ranking(level[q])[0] for q in (0.05, 0.5, 0.95)] == ["x", "c", "y"]
for name, m, e in zip(result.names, mean[level[0.5]], error[level[0.5]], strict=True):
    print(f"{name} at γ′ = 0.5: {m:.3f} ± {e:.3f}")

# %% [markdown]
# ## Why within regimes, and why weighted?
#
# The standard variance also counts *whether* a parameter is active, so at γ′ = 0.5 it gives `x` and `y` the
# credit that belongs to `c`. Without the weights of the regimes, a rare regime counts as much as a common
# one. Both ablations are in the same result.

# %%
import matplotlib.pyplot as plt

titles = {
    "importance": "within regimes (Eq. 11)",
    "standard": "standard (Eq. 17)",
    "unweighted": "unweighted (Eq. 18)",
}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", sharey=True)
for ax, (quantity, title) in zip(axes, titles.items(), strict=True):
    variance = np.maximum(getattr(result, quantity), 0)
    share = (variance / variance.sum(axis=-1, keepdims=True)).mean(axis=0)
    ax.plot(result.levels, share, label=result.names)
    ax.set(title=title, xlabel="target quantile γ′", ylabel="share")
axes[0].legend()
assert np.allclose(result.standard, result.variance + result.inter)
at_half = result.standard[:, level[0.5]].mean(axis=0)
assert at_half[1] > 0.2 * at_half[0], "the standard variance credits x"
assert mean[level[0.5], 1] < 0.05, "the variance within regimes does not"

# %% [markdown]
# ## One level: bars and regimes
#
# A float picks the nearest level. `regimes` splits a parameter's importance by domain. That is interesting
# for a parameter with two domains, so here is a problem with a single `x` that moves.

# %%
ax = px.plotting.importance_bars(result, level=0.5)

# %%
two_domains = px.Space(
    {
        "c": px.Float(0, 1),
        "x": (
            px.Float(-5, -2, when=px.Between("c", high=0.5)),
            px.Float(2, 5, when=px.Between("c", low=0.5)),
        ),
    }
)
moved = px.Observations.from_arrays(two_domains, np.stack([c, loss], axis=-1), loss)
moved_result = px.cond_ped_anova(moved, levels=0.6)
ax = px.plotting.regimes(moved_result)

# %% [markdown]
# ## Which values are good?
#
# These are the densities behind the numbers. Values with a ratio p_T / p_R above 1 are over-represented
# among the best configurations.

# %%
ax = px.plotting.values(result, "x", level=0.1)

# %%
ax = px.plotting.values(moved_result, "x")

# %%
(density,) = result.density("x")
ratio = density.ratio[:, level[0.1]].mean(axis=0)
good = np.asarray(density.values)[ratio > 1]
print(f"good values of x at γ′ = 0.1: {good.min():.2f} to {good.max():.2f}")
# The best tenth of all rows is the best fifth of x's branch: x below -5 + 0.2 * 3 = -4.4.
assert good.min() == -5
assert abs(good.max() + 4.4) < 0.2

# %% [markdown]
# ## Parameters that do nothing
#
# We add two columns: `noise`, which the loss ignores, and `constant`. The default estimator subtracts what
# chance would explain; `px.divergence.Pearson()` on `px.Grid.optuna()` reproduces Optuna 5. With 100 rows
# the difference is plain.

# %%
n_few = 100
old = {name: space[name] for name in space}
wide = px.Space({**old, "noise": px.Float(0, 1), "constant": px.Float(0, 1)})
columns = [c, x, y, rng.uniform(size=c.shape), np.full(c.shape, 0.3)]
few = px.Observations.from_arrays(wide, np.stack(columns, axis=-1)[:, :n_few], loss[:, :n_few])
shares = {}
for label, estimator in {
    "default": {},
    "Optuna 5": {"divergence": px.divergence.Pearson(), "grid": px.Grid.optuna()},
}.items():
    at = px.cond_ped_anova(few, levels=0.15, **estimator)
    shares[label] = dict(zip(at.names, at.mean[0], strict=True))
    print(f"{label:>8}:", {name: f"{share:.3f}" for name, share in shares[label].items()})
assert shares["default"]["constant"] == 0 < 0.01 < shares["Optuna 5"]["constant"]
assert shares["default"]["noise"] < shares["Optuna 5"]["noise"]

# %%
few_result = px.cond_ped_anova(few, levels=[0.05, 0.15], n_resamples=0)
ax = px.plotting.importance_bars(few_result, level=0.15)

# %% [markdown]
# Whatever is unusual about a number sets a bit of `status`, with a sentence of advice. The remarks in the
# picture show the same.

# %%
for sentence in few_result.advice():
    print("-", sentence)
assert (few_result.status[..., wide.index("constant")] & px.Status.CONSTANT).all()

# %% [markdown]
# ## Below the tables: array functions
#
# You need no names and tables. The array functions are pure and unbatched; `vmap` and `jit` do the rest.
# This is the variance of `c` at nine levels, from raw arrays:

# %%
n_levels, n_cells = 9, 50
cells = jnp.asarray(np.round(c * (n_cells - 1)).astype(np.int32))
rank = np.argsort(np.argsort(loss, axis=-1), axis=-1)
first_level = jnp.asarray(rank * (n_levels + 1) // n_rows)  # rows beyond 0.9 are in the region only


def variance_of_one_column(codes, level):
    """Within-regime variance of a parameter with one regime at all levels, undebiased."""
    first_sets = jnp.zeros((n_levels + 2, n_cells), int).at[level, codes].add(1)
    counts = first_sets[:-1].cumsum(axis=0)
    target, region = counts[:-1], counts[-1]
    p_target, p_region = jax.vmap(px.divergence.grid_density)(target), px.divergence.grid_density(region)
    divergence = jax.vmap(px.divergence.pearson_divergence, in_axes=(0, None))(p_target, p_region)
    total = region.sum()
    return jax.vmap(px.importance.within_regime_variance, in_axes=(0, 0, None, None))(
        divergence[:, None], target.sum(axis=-1, keepdims=True), total[None], total
    )


by_hand = jax.jit(jax.vmap(variance_of_one_column))(cells, first_level)
by_table = result.variance[:, [level[round(0.1 * i, 2)] for i in range(1, 10)], 0]
print("by hand ", np.round(by_hand.mean(axis=0), 3))
print("by table", np.round(by_table.mean(axis=0), 3))
# Not the same estimator (own kernels, nothing subtracted), but the same quantity.
assert by_hand.shape == (n_seeds, n_levels)
assert np.abs(by_hand.mean(axis=0) - by_table.mean(axis=0)).max() < 0.03

# %% [markdown]
# ## Saving
#
# A result holds NumPy arrays and settings, and can be pickled. `to_dataframe`, and the options `--json` and
# `--csv` of the command, give the numbers to other programs.

# %%
again = pickle.loads(pickle.dumps(result))
assert again.space == result.space
assert (again.importance == result.importance).all()
again
