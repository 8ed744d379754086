"""Which dtypes the fast run takes."""

import jax
import pytest


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["float32", "float64"])
def x64(request):
    """Overrides the fixture of all tests: float32, what users run, and float64 in the slow run.

    Comparisons with an oracle ask for float64 themselves; each dtype compiles every function anew.
    """
    with jax.enable_x64(request.param):
        yield request.param
