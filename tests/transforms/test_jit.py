"""Array functions: jit = eager, and traced arguments stay traced."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from array_functions import CASES, arguments, density_of


@pytest.mark.parametrize("name", CASES)
def test_jit_equals_eager(name, x64):
    """Catches Python control flow on values, and constants folded at another precision."""
    function = CASES[name]
    args = arguments(name, 0)
    eager, compiled = function(*args), jax.jit(function)(*args)
    assert eager.dtype == compiled.dtype
    assert eager.shape == compiled.shape
    # XLA may contract products and sums: a few units in the last place of sums of about 10 terms.
    tolerance = 100 * float(jnp.finfo(eager.dtype).eps) if jnp.issubdtype(eager.dtype, jnp.floating) else 0
    np.testing.assert_allclose(compiled, eager, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
def test_dtype_follows_the_input(x64):
    """float32 counts give a float32 density even in 64-bit mode: catches a silent promotion."""
    assert density_of("numeric")(jnp.ones(5, jnp.float32)).dtype == jnp.float32
    expected = jnp.float64 if x64 else jnp.float32
    assert density_of("numeric")(jnp.ones(5, jnp.int32)).dtype == expected
    assert density_of("categorical")(jnp.ones(5, expected)).dtype == expected


@pytest.mark.parametrize("name", CASES)
def test_numpy_arguments(name):
    """NumPy arrays are accepted as they are."""
    args = arguments(name, 1)
    np.testing.assert_allclose(CASES[name](*map(np.asarray, args)), CASES[name](*args), rtol=1e-6)
