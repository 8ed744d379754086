"""grid_density against its definition, and the estimator's options."""

import jax
import numpy as np
import pytest
from array_functions import KERNELS
from reference import grid

import parzax as px
from parzax.divergence import Explained, Pearson
from parzax.kernels import AitchisonAitken

# Optuna's smoothing, as in `Pearson`.
OPTUNA = {"floor": 1e-12, "floor_quartiles": True}


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
@pytest.mark.parametrize("size", [2, 12])
def test_against_the_loops(kind, size, double):
    """(K counts + prior) / (n + 1), in parity and default: catches shares, prior and quartile rule."""
    rng = np.random.default_rng(0)
    functions = [
        jax.jit(lambda c, s=s: px.divergence.grid_density(c, kernel=KERNELS[kind], **s)) for s in (OPTUNA, {})
    ]
    for n in (0, 1, 2, 17, 400):
        counts = np.bincount(rng.integers(0, size, n), minlength=size)
        expected = grid.optuna_density(counts, kind) + 1e-12
        np.testing.assert_allclose(functions[0](counts), expected, rtol=1e-12)
        kernels = grid.kernel_matrix(counts, kind, False)
        expected = (kernels @ counts + grid.prior(size, kind)) / (n + 1)
        np.testing.assert_allclose(functions[1](counts), expected, rtol=1e-12)
        np.testing.assert_allclose(functions[1](counts).sum(), 1, rtol=1e-13)


def test_prior_weight():
    """Twice the prior weight is twice the prior's share."""
    counts = np.array([0, 0, 8, 0, 0])
    light, heavy = (
        np.asarray(
            jax.jit(lambda c, w=w: px.divergence.grid_density(c, kernel=AitchisonAitken, prior_weight=w))(
                counts
            )
        )
        for w in (1.0, 8.0)
    )
    spread = 1 / 2
    kernel = (np.eye(5)[2] + spread) / (1 + 5 * spread)
    np.testing.assert_allclose(light, (8 * kernel + 0.2) / 9, rtol=1e-6)
    np.testing.assert_allclose(heavy, (8 * kernel + 8 * 0.2) / 16, rtol=1e-6)


def test_options_are_checked():
    """Options that cannot work are refused with their name."""
    for options, name in (
        ({"prior_weight": -1.0}, "prior_weight"),
        ({"prior_weight": float("nan")}, "prior_weight"),
        ({"prior_weight": 0.0}, "prior_weight"),
        ({"floor": -1e-12}, "floor"),
        ({"floor": True}, "floor"),
        ({"floor_quartiles": 1}, "floor_quartiles must be True or False"),
    ):
        with pytest.raises((ValueError, TypeError), match=f"Pearson: .*{name}"):
            Pearson(**({"floor": 0.0} | options))
        with pytest.raises((ValueError, TypeError), match=f"grid_density: .*{name}"):
            px.divergence.grid_density(np.ones(3), **options)
    obs = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), [[0.1], [0.9]], [0, 1])
    for options, name in (
        ({"grid": 5}, "grid must be a parzax.Grid"),
        ({"divergence": 5}, "divergence must be one of parzax.divergence, such as"),
        ({"divergence": Explained}, "divergence must be one of parzax.divergence, such as"),
    ):
        with pytest.raises(TypeError, match=name):
            px.cond_ped_anova(obs, **options)
    for divergence in (Explained, Pearson):
        for rows in (-1, 1.5, True):
            with pytest.raises((ValueError, TypeError), match=f"{divergence.__name__}: min_rows"):
                divergence(min_rows=rows)
    with pytest.raises(TypeError, match="Explained: debias must be True or False"):
        Explained(debias=1)
    for options, name in (
        ({"cells": 5}, "cells"),
        ({"cells": (True, 3)}, "cells"),
        ({"cells": (6, 3)}, "cells"),
        ({"cells": ()}, "cells"),
        ({"degrees": 4}, "degrees"),
        ({"degrees": (2, True)}, "degrees"),
        ({"degrees": (1, 2)}, "degrees"),
        ({"chance_rows": -1.0}, "chance_rows"),
    ):
        with pytest.raises((ValueError, TypeError), match=f"Explained: {name}"):
            Explained(**options)
    with pytest.raises(ValueError, match="max_cells"):
        px.Grid(max_cells=1)
    with pytest.raises(TypeError, match="mirror must be True or False"):
        px.Grid(mirror="no")
    with pytest.raises(ValueError, match="level_size must be one of 'ceil', 'optuna', 'floor'"):
        px.Grid(level_size="round")
    with pytest.raises(ValueError, match="max_pools"):
        px.Grid(max_pools=-1)
    with pytest.raises(TypeError, match="kernel must be a class such as"):
        px.divergence.grid_density(np.ones(3), kernel="ordinal")


def test_parity_is_data():
    """Parity differs from the default in named fields only, and both are hashable (static arguments)."""
    grid, divergence = px.Grid.optuna(), Pearson()
    assert grid == px.Grid(50, mirror=False, max_pools=0, level_size="optuna")
    assert px.Grid.paper() == px.Grid(50, mirror=False, max_pools=0, level_size="floor")
    assert divergence == Pearson(floor=1e-12, floor_quartiles=True)
    assert hash(grid) == hash(px.Grid.optuna())
    assert hash(divergence) == hash(Pearson())
    assert (px.Grid(), Explained()) == (px.Grid(96), Explained(debias=True))
    # Leaves of a pytree would be traced.
    assert jax.tree.leaves(divergence) == []


@pytest.mark.parametrize("kind", ["numeric", "categorical"])
@pytest.mark.parametrize("n_cells", [7, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 12))])
def test_grids_padded_to_one_width(kind, n_cells, double):
    """Counts padded with zeros to 12 cells: the same density, and 0 in the padding, gradient included."""
    counts = np.random.default_rng(0).integers(0, 5, n_cells)
    padded = np.pad(counts, (0, 12 - n_cells))
    for settings in ({}, OPTUNA):
        function = jax.jit(
            lambda c, n=None, s=settings: px.divergence.grid_density(c, n, kernel=KERNELS[kind], **s)
        )
        density = np.asarray(function(padded, n_cells))
        alone = function(counts)
        np.testing.assert_allclose(density[:n_cells], alone, rtol=1e-13)
        assert (density[n_cells:] == 0).all()
    jacobian = jax.jit(jax.jacrev(lambda c: px.divergence.grid_density(c, n_cells, kernel=KERNELS[kind])))(
        padded.astype(float)
    )
    assert np.isfinite(jacobian).all()
