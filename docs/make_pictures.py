"""Draw the pictures of the README: ``python docs/make_pictures.py`` writes them beside this file.

The paper's activation problem: c decides which of two parameters is active, x in [-5, -2] for c < 0.5 and
y in [2, 5] otherwise, and the loss is the value of the active one.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import parzax as px

HERE = Path(__file__).parent
N_SEEDS, N_ROWS = 10, 1000


def activation_problem() -> px.Observations:
    """Ten random searches of a thousand configurations."""
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


def main() -> None:
    """Write both pictures."""
    result = px.cond_ped_anova(activation_problem(), target_quantile=np.arange(1, 100) / 100)
    px.plotting.importance_sweep(result)
    plt.savefig(HERE / "importance_sweep.png", dpi=160)
    px.plotting.values(result, "x", level=0.1)
    plt.savefig(HERE / "values.png", dpi=160)


if __name__ == "__main__":
    main()
