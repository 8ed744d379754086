"""A kernel family of one's own: the wrapped normal, for a parameter whose ends are neighbours, an angle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted
from jax.scipy.stats import norm

import parzax as px

TURNS = jnp.arange(-3, 4)
SPACE = px.Space({"angle": px.Float(0, 360), "step": px.Int(1, 8)})


class WrappedNormal(px.kernels.AbstractKernel):
    """A normal wound round the axis, whose length is 1: sum_t phi((x + t - place) / scale) / scale."""

    place: jax.Array
    scale: jax.Array

    @classmethod
    def around(cls, place, scale, n_values):
        return cls(place, jnp.minimum(scale, 0.5))

    @classmethod
    def wide(cls, n_values, dtype):
        return jnp.asarray(0.5, dtype), jnp.asarray(0.5, dtype)

    def log_density(self, place):
        turns = TURNS.astype(place.dtype)
        return jax.nn.logsumexp(norm.logpdf((place + turns - self.place) / self.scale)) - jnp.log(self.scale)

    def log_mass(self, lower, upper):
        ends = ((end + TURNS.astype(end.dtype) - self.place) / self.scale for end in (lower, upper))
        low, high = (norm.cdf(end) for end in ends)
        return jnp.log((high - low).sum())

    @classmethod
    def quantile(cls, level, place, scale, n_values):
        return jnp.mod(place + jnp.minimum(scale, 0.5) * norm.ppf(level), 1)


def test_density_is_that_of_a_loop(double):
    """Catches a kernel that ends at 0 and 360, a mixture that does not integrate to 1, and wrong weights."""
    angles, steps = np.array([5.0, 350.0, 200.0]), np.array([2.0, 2.0, 7.0])
    rows, kernels = np.stack([angles, steps], axis=1), {"angle": WrappedNormal}
    pe = px.ParzenEstimator.fit(SPACE, rows, kernels=kernels, bandwidth=px.bandwidth.Constant(0.1))

    def of_angle(x, around, scale):
        z = [(x / 360 + t - around / 360) / scale for t in range(-3, 4)]
        return sum(np.exp(-0.5 * u * u) for u in z) / (scale * np.sqrt(2 * np.pi)) / 360

    def density(x):
        at = np.stack(np.broadcast_arrays(np.reshape(x, (-1, 1)), np.arange(1, 9)), axis=-1)
        return np.exp(pe.log_prob(at.reshape(-1, 2))).reshape(-1, 8).sum(axis=1)

    marginal = [of_angle(358.0, a, 0.1) for a in angles] + [of_angle(358.0, 180.0, 0.5)]
    np.testing.assert_allclose(density(358.0), np.mean(marginal), rtol=1e-10)
    # A trapezium over a whole period is exact for a smooth periodic function.
    assert density(np.arange(0, 360, 5)).mean() * 360 == pytest.approx(1, rel=1e-9)


@pytest.mark.slow
def test_a_compiled_run_looks_on_both_sides_of_the_end():
    """Catches samples off the axis, and kernels that end where it does; the loss is smallest at 0 = 360."""
    sampler = adjusted(px.tpe, kernels={"angle": WrappedNormal})(SPACE)

    @jax.jit
    def run(key):
        def step(state, key):
            x = sampler.ask(key, state)
            return sampler.tell(state, x, 1 - jnp.cos(jnp.deg2rad(x[:, 0]))), None

        keys = jax.random.split(key, 60)
        state, _ = jax.lax.scan(step, sampler.init(64), keys)
        return jax.vmap(lambda key: sampler.ask(key, state)[0, 0])(keys)

    angle = np.asarray(run(jax.random.key(0)))
    assert (angle >= 0).all()
    assert (angle <= 360).all()
    assert (angle < 90).any()
    assert (angle > 270).any()
    assert ((angle < 90) | (angle > 270)).mean() > 0.8
