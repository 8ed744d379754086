"""The rows of a log: every row is where its values are, the best row is the best one."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import LineCollection

import parzax as px
from parzax.lens.plotting import history, parallel, slices

from .reading import below

N = 30
SPACE = px.Space(
    {
        "lr": px.Float(1e-4, 1, log=True),
        "kind": px.Categorical(["a", "b"]),
        "momentum": px.Float(0, 1, when=px.In("kind", ["b"])),
        "width": px.Int(2, 64),
    }
)


def log(direction="minimize", scale=1.0):
    rng = np.random.default_rng(0)
    code = np.arange(N) % 2
    x = [
        10 ** rng.uniform(-4, 0, N),
        code,
        np.where(code, rng.uniform(size=N), np.nan),
        rng.integers(2, 65, N),
    ]
    values = scale * rng.uniform(1, 2, N)
    values[3] = np.nan
    return px.Observations.from_arrays(SPACE, np.stack(x, axis=1), values, direction), values


@pytest.mark.parametrize(("direction", "best"), [("minimize", np.fmin), ("maximize", np.fmax)])
def test_history(direction, best):
    """Catches an objective with the sign of its losses, and a best value of rows that do not count."""
    obs, values = log(direction)
    ax = history(obs)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), values)
    np.testing.assert_allclose(ax.lines[1].get_ydata(), best.accumulate(values))
    kept = history(obs.select(np.arange(N) < 5)).lines[0].get_ydata()
    assert np.isnan(kept[5:]).all()
    wide = px.Observations.from_arrays(SPACE, obs.values, np.geomspace(1, 1e3, N))
    assert (ax.get_yscale(), history(wide).get_yscale()) == ("linear", "log")


def test_slices():
    """A panel each, rows at their values; inactive rows are not drawn; whole numbers have whole ticks."""
    obs, values = log()
    ax = slices(obs)
    panels = {panel.get_label(): panel for panel in ax.figure.axes}
    for j, name in enumerate(SPACE.names):
        rows = panels[name].collections[0].get_offsets().filled(np.nan)
        shift = 0.3 if name == "kind" else 0
        expected = np.where(np.isnan(values), np.nan, obs.values[:, j])
        np.testing.assert_allclose(rows[:, 0], expected, rtol=1e-6, atol=shift)
        np.testing.assert_array_equal(rows[:, 1], np.where(np.isnan(expected), np.nan, values))
    ax.figure.canvas.draw()
    assert panels["lr"].get_xscale() == "log"
    assert all(tick == round(tick) for tick in panels["width"].get_xticks())
    assert slices(obs, parameters="width").get_label() == "width"


def test_parallel_coordinates():
    """Lines go through the values, from the worst row to the best; below the axis where one is inactive."""
    obs, values = log()
    ax = parallel(obs)
    (lines,) = [one for one in ax.collections if isinstance(one, LineCollection)]
    order = np.argsort(values)[: N - 1]
    points = np.stack(lines.get_segments())[::-1]
    for j, unit in ((0, np.log(obs.values[:, 0] / 1e-4) / np.log(1e4)), (2, obs.values[:, 2])):
        expected = np.nan_to_num(unit[order], nan=points[:, 2, 1].min())
        np.testing.assert_allclose(points[:, j, 1], expected, atol=1e-6)
    assert points[:, 2, 1].min() < 0
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["0.0001", "1", "a", "b", "0", "1", "2", "64"]
    assert below(ax) == ["below the axis: inactive"]


@pytest.mark.parametrize("picture", [history, slices, parallel])
def test_what_is_no_log_of_one_run(picture):
    obs, _ = log()
    with pytest.raises(TypeError, match=r"obs must be parzax\.Observations, got ndarray; read it with"):
        picture(obs.values)
    with pytest.raises(ValueError, match="obs must be one run"):
        picture(px.Observations.from_arrays(SPACE, np.stack([obs.values] * 2), np.stack([obs.losses] * 2)))
    with pytest.raises(ValueError, match="objective must be one of"):
        picture(obs, objective="accuracy")
    plt.close("all")
