"""Second derivatives of importances with respect to weights: finite in both precisions, and right."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COARSE, COARSE_PARITY_GRID

import parzax as px

SPACE = px.Space(
    {
        "x": px.Float(0, 1),
        "k": px.Categorical(["a", "b", "c"]),
        "y": px.Float(0, 1, when=px.In("k", ["a"])),
    }
)
CASES = {
    # Two resolutions of each family: every further one adds the same terms.
    "explained": (px.divergence.Explained((3, 6), (2, 4)), COARSE),
    "pearson": (px.divergence.Pearson(), COARSE_PARITY_GRID),
}
N, PROBED = 60, np.array([0, 7, 31, 59])


def log():
    rng = np.random.default_rng(0)
    x = np.stack([rng.uniform(size=N), rng.integers(0, 3, N), rng.uniform(size=N)], axis=1)
    loss = (x[:, 0] - 0.3) ** 2 + 0.2 * x[:, 1] + 0.1 * rng.uniform(size=N)
    x[:, 2] = np.where(x[:, 1] == 0, x[:, 2], np.nan)
    return x, loss


def gradient_of(case, dtype):
    """The gradient of each importance, of smooth functions of the weights, with the level sets held fixed."""
    divergence, grid = CASES[case]
    x, loss = (jnp.asarray(a, dtype) for a in log())

    weight = jnp.full(N, 1.3, dtype)
    encoded = px.encode(SPACE, x, loss, [0.3], weight=weight, grid=grid)

    def importances(shift):
        changed = replace(encoded, weight=weight.at[PROBED].add(shift))
        imp = px.importance.estimate(changed, divergence, balance=False)
        return jnp.sum(imp.importance[0] * jnp.arange(1, 4, dtype=dtype)) + imp.inter.sum()

    return jax.grad(importances)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "x64"),
    [
        ("explained", True),
        pytest.param("explained", False, marks=pytest.mark.slow),
        *(pytest.param("pearson", x64, marks=pytest.mark.slow) for x64 in (False, True)),
    ],
    indirect=["x64"],
)
def test_second_derivatives(case, x64):
    """Forward over reverse: finite; in float64 those of central differences of the gradient."""
    dtype = jnp.float64 if x64 else jnp.float32
    function = gradient_of(case, dtype)
    both = jax.jit(lambda shift: (function(shift), jax.jacfwd(function)(shift)))
    second = np.asarray(both(jnp.zeros(len(PROBED), dtype))[1])
    assert np.isfinite(second).all()
    assert np.abs(second).max() > 1e-6
    if x64:
        step = 1e-5
        for i in range(len(PROBED)):
            shift = step * jnp.eye(len(PROBED), dtype=dtype)[i]
            expected = np.asarray(both(shift)[0] - both(-shift)[0]) / (2 * step)
            np.testing.assert_allclose(second[:, i], expected, rtol=1e-5, atol=1e-8)
