"""Temporary memory of large evaluations, as the compiler plans it."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from parzax.density.basis import basis_of
from parzax.density.mixture import Mixture
from parzax.space import Points

N_POINTS, N_KERNELS, D = 100_000, 10_000, 10
LIMIT_MIB = 64


@pytest.mark.parametrize(
    ("form", "gradient"),
    [
        pytest.param("product", True, id="product, gradient"),
        pytest.param("product", False, id="product, value", marks=pytest.mark.slow),
        pytest.param("pairwise", True, id="pairwise, gradient", marks=pytest.mark.slow),
        pytest.param("pairwise", False, id="pairwise, value", marks=pytest.mark.slow),
    ],
)
def test_temporaries_stay_within_the_limit(form, gradient):
    """1e5 candidates x 1e4 kernels x 10 dimensions, with respect to candidates, locations and widths."""
    basis = basis_of(px.Space({f"x{j}": px.Float(0, 1) for j in range(D)}), jnp.float32)
    basis = replace(basis, pairwise=form == "pairwise")

    def points(unit):
        zeros = jnp.zeros(unit.shape, jnp.int32)
        return Points(zeros, unit, zeros, jnp.ones(unit.shape, bool))

    def mean_log_prob(unit, loc, scale):
        weight = jnp.full(N_KERNELS, 1 / (N_KERNELS + 1), jnp.float32)
        mixture = Mixture(points(loc), scale, weight, weight[0])
        return mixture.log_prob(basis, points(unit)).mean()

    function = jax.value_and_grad(mean_log_prob, (0, 1, 2)) if gradient else mean_log_prob
    shapes = [jax.ShapeDtypeStruct((n, D), np.float32) for n in (N_POINTS, N_KERNELS, N_KERNELS)]
    memory = jax.jit(function).lower(*shapes).compile().memory_analysis()
    mib = memory.temp_size_in_bytes / 2**20
    print(f"\n{form}, {'gradient' if gradient else 'value'}: {mib:.1f} MiB of temporaries")
    assert 0 < mib <= LIMIT_MIB
