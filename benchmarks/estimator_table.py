"""Print the table of docs/studies/estimators.md: what parameters that do nothing get, by estimator and rows.

The paper's activation problem (c decides whether x or y is the loss) with three parameters that the loss
ignores: a constant, uniform noise and skewed noise. Their mean variance at level 0.1, in per cent of the mean
total of c, x and y, with the standard error of the mean over seeds.
"""

import jax
import numpy as np

import parzax as px
from benchmarks import synthetic

SIZES = {50: 800, 100: 800, 1000: 200}  # rows: seeds
USELESS = ("constant", "uniform", "skewed")


def observations(n_rows: int, n_seeds: int) -> px.Observations:
    """``n_seeds`` random searches of ``n_rows`` configurations."""
    problem = synthetic.activation()
    keys = jax.random.split(jax.random.key(n_rows), n_seeds)
    values, losses = jax.vmap(lambda key: problem.sample(key, n_rows))(keys)
    rng = np.random.default_rng(n_rows)
    noise = [
        np.full(losses.shape, 0.5),
        rng.uniform(size=losses.shape),
        rng.beta(0.5, 4.0, size=losses.shape),
    ]
    domains = {name: problem.space[name] for name in problem.space}
    space = px.Space(domains | {name: px.Float(0, 1) for name in USELESS})
    return px.Observations.from_arrays(
        space, np.concatenate([values, np.stack(noise, axis=-1)], axis=-1), losses
    )


def main() -> None:
    """Print one row per estimator and size."""
    print(f"{'estimator':<10} {'rows':>5}", *(f"{name:>15}" for name in USELESS))
    estimators = {
        "optuna": {"divergence": px.divergence.Pearson(), "grid": px.Grid.optuna()},
        "default": {},
    }
    for label, estimator in estimators.items():
        for n_rows, n_seeds in SIZES.items():
            with jax.enable_x64(True):
                result = px.cond_ped_anova(observations(n_rows, n_seeds), 0.1, **estimator, n_resamples=0)
            variance = result.variance[:, 0]
            share = 100 * variance[:, 3:] / variance[:, :3].sum(axis=-1).mean()
            mean, error = share.mean(axis=0), share.std(axis=0) / np.sqrt(n_seeds)
            cells = (f"{m:8.2f} ± {e:4.2f}" for m, e in zip(mean, error, strict=True))
            print(f"{label:<10} {n_rows:>5}", *cells)


if __name__ == "__main__":
    main()
