"""Labels of logarithmic axes: at least two, and none over another."""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
import pytest

import parzax as px
from parzax.lens import plotting
from parzax.lens.plotting._axes import get_figure, set_log_scale
from parzax.samplers import Trace

from .conftest import analyse
from .reading import panel

SPACE = px.Space({"width": px.Int(16, 512, log=True), "drop": px.Float(0.2, 0.9, log=True)})


def labels(ax, name):
    """The labels of the x or the y axis that are in sight, with their ends along the axis."""
    which, side = getattr(ax, f"{name}axis"), "xy".index(name)
    low, high = sorted(getattr(ax, f"get_{name}lim")())
    ticks = [*which.get_major_ticks(), *which.get_minor_ticks()]
    shown = [tick for tick in ticks if low <= tick.get_loc() <= high and tick.label1.get_visible()]
    shown = [tick for tick in shown if tick.label1.get_text()]
    boxes = [tick.label1.get_window_extent() for tick in sorted(shown, key=lambda tick: tick.get_loc())]
    ends = [(box.get_points()[0, side], box.get_points()[1, side]) for box in boxes]
    return [tick.label1.get_text() for tick in shown], ends


def check(ax, name):
    texts, ends = labels(ax, name)
    assert len(texts) >= 2, texts
    assert all(before[1] < after[0] for before, after in pairwise(ends)), texts


@pytest.mark.parametrize("ratio", [1.2, 4.9, 5.1, 19, 21, 99, 101, 1e9])
def test_labels_of_any_range_are_apart(ratio):
    # Catches "2 × 10¹" printed over "3 × 10¹", and an axis with a single label.
    figure, axes = plt.subplots(1, 5, figsize=(5 * 2.6, 2.4), layout="constrained")
    for ax, start in zip(axes, 0.016 * 10 ** np.linspace(0, 0.9, 5), strict=True):
        ends = start, start * ratio
        ax.plot(ends, ends)
        for which in (ax.xaxis, ax.yaxis):
            set_log_scale(which, *ends)
    figure.draw_without_rendering()
    for ax in axes:
        assert ax.get_xscale() == ax.get_yscale() == "log"
        check(ax, "x")
        check(ax, "y")


def test_labels_of_pictures_are_apart():
    # Catches a picture that has its own way of making an axis logarithmic.
    rng = np.random.default_rng(0)
    width, drop = np.round(16 * 32 ** rng.uniform(size=40)), 0.2 * 4.5 ** rng.uniform(size=40)
    x = np.stack([width, drop], axis=-1)
    result = analyse(px.Observations.from_arrays(SPACE, x, x[:, 0]), 0.3)
    trace = Trace(x, 1 + drop[:, None], np.zeros((40, 0)), ("minimize",))
    drawn = {
        "values": plotting.values(result, "width"),
        "observations": plotting.observations(trace, SPACE, ["width", "drop"]),
        "convergence": plotting.convergence(trace, log=True),
    }
    n_checked = 0
    for picture in drawn.values():
        get_figure(picture).draw_without_rendering()
        for ax in picture.figure.axes:
            for axis in ("x", "y"):
                if getattr(ax, f"get_{axis}scale")() == "log" and labels(ax, axis)[0]:
                    check(ax, axis)
                    n_checked += 1
    assert n_checked == 1 + 2 + 1
    assert labels(panel(drawn["values"], "ratio 0"), "x")[0] == ["30", "100", "300"]
