"""A divergence of one's own: the squared Hellinger distance of raw cell masses."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

import parzax as px


@dataclass(frozen=True)
class Hellinger(px.divergence.AbstractDivergence):
    """1 - sum_b sqrt(p_b q_b), times ``scale``."""

    scale: float = 1.0
    min_rows: int = 2

    def densities(self, counts):
        rows = counts.sets.astype(float)
        shares = rows / jnp.maximum(rows.sum(axis=1, keepdims=True), 1)
        region = counts.uniform_density(shares.dtype) if counts.uniform else shares[-1]
        return shares[:-1], jnp.broadcast_to(region[None], shares[:-1].shape)

    def estimate(self, counts):
        p, q = self.densities(counts)
        return self.scale * (1 - jnp.sqrt(p * q).sum(axis=1))


SPACE = px.Space({"x": px.Float(0, 1), "k": px.Categorical(["a", "b", "c"])})


def rows(n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = np.stack([rng.uniform(size=n), rng.integers(0, 3, n)], axis=1)
    return x, x[:, 0] + 0.1 * (x[:, 1] == 1)


def expected(cells: np.ndarray, target: np.ndarray, scale: float, n_cells: int) -> float:
    """Eq. 11 of one regime with this divergence, by a loop."""
    affinity = 0.0
    for cell in range(n_cells):
        affinity += np.sqrt((cells[target] == cell).mean() * (cells == cell).mean())
    return (target.mean()) ** 2 * scale * (1 - affinity)


def test_variances_are_those_of_a_loop(double):
    """On arrays under jit, and through the shell; its settings are static."""
    x, loss = rows()
    estimator = {"grid": px.Grid(max_cells=10), "divergence": Hellinger(scale=2.0)}

    @jax.jit
    def variance(x, loss):
        encoded = px.encode(SPACE, x, loss, 0.1, grid=estimator["grid"])
        return px.importance.estimate(encoded, estimator["divergence"]).variance[0]

    found = variance(jnp.asarray(x), jnp.asarray(loss))
    obs = px.Observations.from_arrays(SPACE, x, loss)
    shell = px.cond_ped_anova(obs, 0.1, **estimator, n_resamples=0)
    np.testing.assert_allclose(shell.variance[0], found, rtol=1e-12)
    target = loss <= np.sort(loss)[39]
    places = np.ceil(x[:, 0] * 9 - 0.5)
    wanted = [expected(places, target, 2.0, 10), expected(x[:, 1], target, 2.0, 3)]
    np.testing.assert_allclose(found, wanted, rtol=1e-10)
    assert shell.density("x")[0].target.shape == (1, 10)
