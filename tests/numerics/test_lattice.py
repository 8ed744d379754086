"""Masses in cells of equal width against mpmath."""

import jax
import jax.numpy as jnp
import numpy as np
from reference import normal

from parzax._numerics.lattice import LatticeMasses

WIDTHS = np.geomspace(1e-6, 1e5, 45).astype(np.float32)
STEPS = np.array([0, 1, 2, 3, 5, 9, 17, 40, 1000], np.float32)


@jax.jit
def log_masses(width: jax.Array) -> jax.Array:
    return jax.vmap(LatticeMasses.of(width).log_mass)(jnp.broadcast_to(STEPS[:, None], (9, len(width))))


def test_masses():
    """Catches a wrong range, node or degree at any width and distance, and at the cell of the centre."""
    value = np.asarray(log_masses(jnp.asarray(WIDTHS)))
    slope = np.asarray(
        jax.jit(jax.vmap(jax.jacfwd(lambda w: log_masses(w[None])[:, 0])))(jnp.asarray(WIDTHS))
    ).T
    for i, k in enumerate(STEPS.tolist()):
        for j, width in enumerate(WIDTHS.tolist()):
            w = normal.mp.mpf(width)
            a, b = (k - 0.5) * w, (k + 0.5) * w
            if a > 1e4:  # mpmath's tail has no digits left
                continue
            true, by_a, by_b = normal.log_mass(a, b)
            assert normal.relative_error(value[i, j], true) <= 5e-7
            # The derivative by log(width), which an error of the interpolant would spoil first.
            by_width = w * (by_a * (k - 0.5) + by_b * (k + 0.5))
            assert normal.relative_error(width * slope[i, j], by_width) <= 2e-5


def test_far_away():
    """Catches an overflow: a cell that is 10^12 scales away has a finite mass and finite derivatives."""
    width = jnp.asarray([1e-9, 1e9, 1e30], jnp.float32)
    assert np.isfinite(log_masses(width)).all()
    assert np.isfinite(jax.jacrev(log_masses)(width)).all()
