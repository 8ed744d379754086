"""What the fast run takes: accuracy in both dtypes at a sample of the points, the rest in float64."""

import jax
import pytest


@pytest.fixture(params=[pytest.param(False, marks=pytest.mark.slow), True], ids=["float32", "float64"])
def x64(request):
    """Overrides the fixture of all tests: float64, where the oracle is tight, and float32 in the slow run."""
    with jax.enable_x64(request.param):
        yield request.param


@pytest.fixture(params=[False, True], ids=["float32", "float64"])
def both(request):
    """Each dtype has polynomials and thresholds of its own."""
    with jax.enable_x64(request.param):
        yield request.param


@pytest.fixture(params=[16, pytest.param(1, marks=pytest.mark.slow)], ids=["sample", "all"])
def every(request):
    """A sixteenth of the points in the fast run, all of them in the slow one."""
    return request.param
