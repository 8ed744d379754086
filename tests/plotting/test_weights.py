"""Importance against the weights of two objectives."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import parzax as px
from parzax.lens.plotting import importance_over_weights

from .conftest import ESTIMATOR
from .reading import coloured, heights, ribbons

SPACE = px.Space({name: px.Float(0, 1) for name in "abcd"})
WEIGHTS = [1, 0.5, 0.25, 0]


def sweep(seeds=None, second=None):
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(*([] if seeds is None else [seeds]), 60, 4))
    f = np.stack([x[..., 0], x[..., 1] if second is None else second], axis=-1)
    obs = px.Observations.from_arrays(SPACE, x, f)
    return {
        w: px.cond_ped_anova(obs, [0.3, 0.5], objective=[1 - w, w], **ESTIMATOR, n_resamples=0)
        for w in WEIGHTS
    }


def importances(results):
    return np.stack([results[w].importance for w in sorted(results)])


@pytest.fixture(scope="module")
def seeds():
    return sweep(3)


def test_lines_are_the_importances_at_ascending_weights():
    # Catches weights in the order given, the wrong level, and lines under other names.
    own = sweep()
    ax = importance_over_weights(own, level=0.5)
    assert not ribbons(ax)
    for line in coloured(ax):
        j = SPACE.names.index(line.get_label())
        np.testing.assert_allclose(line.get_xdata(), [0, 0.25, 0.5, 1])
        np.testing.assert_allclose(heights(ax, line), importances(own)[:, 1, j])
        above = [own[w].above[1, j] for w in sorted(own)]
        np.testing.assert_array_equal(np.isfinite(line.get_ydata()), above)
    assert len(coloured(ax)) == 4
    assert ax.get_xlabel() == r"weight of second objective (the rest: first objective)"


def test_means_and_errors_are_over_seeds_and_never_over_objectives(seeds):
    ax = importance_over_weights(seeds)
    areas = {tuple(area.get_facecolor()[0, :3]): area for area in ribbons(ax)}
    assert len(areas) == 4
    for line in coloured(ax):
        j = SPACE.names.index(line.get_label())
        own = importances(seeds)[:, :, 0, j]
        np.testing.assert_allclose(heights(ax, line), own.mean(axis=1), rtol=1e-6)
        error = own.std(axis=1, ddof=1) / np.sqrt(3)
        tops = [path.vertices[:, 1].max() for path in areas[to_rgb(line.get_color())].get_paths()]
        above = np.isfinite(line.get_ydata())
        np.testing.assert_allclose(max(tops), (own.mean(axis=1) + error)[above].max(), rtol=1e-5)
