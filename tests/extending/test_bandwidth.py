"""A bandwidth rule of one's own: Silverman's, 0.9 min(sigma, IQR / 1.34) n^(-1/5), with a lower clip."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted

import parzax as px
from extending.runs import gain_of_compiled_runs, with_part


class Silverman(px.bandwidth.AbstractBandwidth):
    """One scale for all kernels of a parameter (Silverman, "Density estimation", 1986, eq. 3.31)."""

    minimum: float = 0.01
    one_scale: ClassVar[bool] = True

    @property
    def smallest(self):
        return self.minimum

    def scales(self, position, frequency, prior_position, n_parameters, n_values, order):
        n = jnp.maximum(frequency.sum(), 1)
        mean = (frequency * position).sum() / n
        deviation = jnp.sqrt((frequency * jnp.square(position - mean)).sum() / n)
        along = jnp.argsort(position)
        share = jnp.cumsum(frequency[along]) / n
        quartiles = [position[along][jnp.argmax(share >= level)] for level in (0.25, 0.75)]
        width = jnp.minimum(deviation, (quartiles[1] - quartiles[0]) / 1.34)
        return jnp.maximum(0.9 * width * n**-0.2, self.minimum)


def test_scales_are_those_of_a_loop():
    """Catches absent rows that take part, and frequencies that do not count."""
    rng = np.random.default_rng(0)
    position, frequency = rng.uniform(size=30), rng.integers(0, 3, 30)
    seen = sorted(p for p, f in zip(position, frequency, strict=True) for _ in range(f))
    n = len(seen)
    quartiles = [next(p for i, p in enumerate(seen) if (i + 1) / n >= level) for level in (0.25, 0.75)]
    expected = 0.9 * min(np.std(seen), (quartiles[1] - quartiles[0]) / 1.34) * n**-0.2
    scales = jax.jit(Silverman())(jnp.asarray(position), jnp.asarray(frequency))
    np.testing.assert_allclose(scales, np.full(30, expected), rtol=1e-5)


@pytest.mark.slow
def test_a_compiled_run_improves():
    own = adjusted(px.tpe, bandwidth=Silverman())(px.Space({"x": px.Float(0, 1)})).smoothing
    assert gain_of_compiled_runs(with_part(smoothing=own)) > 2
