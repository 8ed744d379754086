"""Weights whose sum a dtype cannot hold, weights that are 0 in sums, and an exported program."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import parzax as px
from parzax.status import Status

SPACE = px.Space({"x": px.Float(0, 1), "c": px.Categorical(["a", "b"]), "n": px.Int(0, 99)})
ROWS = np.array([[0.1, 0, 3], [0.2, 1, 50], [0.3, 0, 4], [0.4, 1, 99]])


@pytest.mark.parametrize("weight", [1e38, 1e-40])
@pytest.mark.parametrize("kind", [np.asarray, jnp.asarray])
def test_weights_out_of_range(weight, kind):
    """Concrete ones raise; traced ones set the status."""
    weights = kind(np.full(4, weight, np.float32))
    with pytest.raises(ValueError, match=r"positive weights must be from .* rescale them"):
        px.ParzenEstimator.fit(SPACE, kind(ROWS.astype(np.float32)), weights, prior_weight=0.0)

    @jax.jit
    def status(weights):
        return px.ParzenEstimator.fit(SPACE, jnp.asarray(ROWS), weights, prior_weight=0.0).status

    assert int(status(jnp.asarray(weights))) & int(Status.INVALID_ROWS)


def test_zero_and_tiny_weights_are_fine():
    tiny = float(np.finfo(np.float32).tiny)
    for weights in ([0.0, -0.0, 1.0, 2.0], [tiny, 1.0, 1.0, 0.0]):
        pe = px.ParzenEstimator.fit(SPACE, jnp.asarray(ROWS), jnp.asarray(weights))
        assert int(pe.status) == 0


@pytest.mark.slow
def test_export_with_a_symbolic_number_of_points():
    pe = px.ParzenEstimator.fit(SPACE, ROWS)
    (j,) = export.symbolic_shape("j")
    exported = export.export(jax.jit(pe.log_prob))(jax.ShapeDtypeStruct((j, 3), np.float32))
    for n in (1, 3):
        x = jnp.asarray(ROWS[:n], jnp.float32)
        np.testing.assert_allclose(exported.call(x), pe.log_prob(x), rtol=1e-4, atol=1e-5)
