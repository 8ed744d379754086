"""Attainment surfaces: corners against a loop, edges, what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from reference import pareto as reference

from parzax.lens.plotting import attainment
from parzax.lens.plotting.runs import attained_corners
from parzax.samplers import Trace

from .reading import below, in_legend
from .runs import trace, two_objectives

RUNS = np.array(
    [
        [[1, 8], [4, 4], [4, 5], [9, 1]],
        [[2, 7], [3, 6], [5, 2], [5, 9]],
        [[2, 9], [6, 3], [7, 2], [8, 8]],
        [[3, 3], [3, 3], [9, 9], [1, 9.5]],
    ],
    float,
)


@pytest.mark.parametrize("name", ["random", "grid", "all equal", "extreme"])
def test_corners_equal_loops(name):
    """Catches uneven runs, points that count for another run, and a run without points that attains."""
    rng = np.random.default_rng(0)
    shape = s, n, _ = 5, 8, 2
    losses = {
        "random": rng.normal(size=shape),
        "grid": rng.integers(0, 4, shape) * 1.0,
        "all equal": np.ones(shape),
        "extreme": rng.choice([-np.inf, -1e200, -1e-320, 0.0, 1e-320, 1e-200, 1e200], shape),
    }[name]
    uneven = rng.random((s, n)) < 0.6
    uneven[2] = False
    for mask in (np.ones((s, n), bool), uneven):
        runs = [run[here] for run, here in zip(losses, mask, strict=True)]
        for level in range(1, s + 1):
            corners = list(map(tuple, attained_corners(runs, level).tolist()))
            assert corners == reference.attainment(losses, level, mask), level
    assert attained_corners([np.zeros((0, 2))], 1).shape == (0, 2)


def stairs(line):
    """Corners of a drawn staircase, which turns once between two of them."""
    x, y = line.get_xydata().T
    assert ((np.diff(x) == 0) | (np.diff(y) == 0)).all()
    return np.stack([x[1:-1:2], y[1:-1:2]], axis=-1)


def test_lines_are_steps_that_reach_the_edges_and_a_band_lies_between_them():
    # Catches straight lines between corners, which no run has attained.
    ax = attainment(two_objectives(RUNS))
    assert len(ax.lines) == 3
    for line in ax.lines:
        assert line.get_xydata()[0, 1] == pytest.approx(ax.get_ylim()[1])
        assert line.get_xydata()[-1, 0] == pytest.approx(ax.get_xlim()[1])
    widths = [line.get_linewidth() for line in ax.lines]
    assert widths[1] > widths[0] == widths[2]
    (band,) = ax.patches
    best, worst = ax.lines[0].get_xydata(), ax.lines[2].get_xydata()
    np.testing.assert_array_equal(band.get_xy()[: len(best)], best)
    np.testing.assert_array_equal(band.get_xy()[len(best) : -1], worst[::-1])
    assert below(ax) == ["thick line: attained by 50% of the runs, band: 25% to 75%"]


@pytest.mark.parametrize("level", [1, 2, 4])
def test_lines_turn_at_the_corners_that_so_many_runs_attain(level):
    (line,) = attainment(two_objectives(RUNS), [level / 4]).lines
    np.testing.assert_array_equal(stairs(line), attained_corners(RUNS, level))


def test_infeasible_rows_and_nan_do_not_count():
    limits = np.where((RUNS == [3, 3]).all(axis=-1), 1.0, -1.0)
    points = RUNS.copy()
    points[1, 2] = np.nan
    (line,) = attainment(two_objectives(points, limits), [0.25]).lines
    corners = stairs(line)
    assert not (corners == [3, 3]).all(axis=1).any()
    assert not (corners == [5, 2]).all(axis=1).any()
    assert np.isfinite(corners).all()


def test_a_level_that_is_not_attained_is_told():
    # Catches a surface of infinities drawn at the edge.
    limits = np.ones(RUNS.shape[:2])
    limits[0] = -1
    ax = attainment({"rare": two_objectives(RUNS, limits), "$all$": two_objectives(RUNS)})
    assert in_legend(ax)[:2] == ["rare: not attained at 0.5, 0.75", r"\$all\$"]
    assert len(ax.lines) == 1 + 3
    # Between the best level and one that nothing attains lies all that is better than the corner.
    assert ax.patches[0].get_xy().max(axis=0) == pytest.approx([ax.get_xlim()[1], ax.get_ylim()[1]])


def test_what_is_maximised_lies_beyond_the_staircase():
    # Catches the surface of the worst points.
    runs = two_objectives(RUNS * [1, -1])
    ax = attainment(Trace(runs.x, runs.losses, runs.constraints, ("minimize", "maximize")))
    for line, mirrored in zip(ax.lines, attainment(two_objectives(RUNS)).lines, strict=True):
        np.testing.assert_array_equal(stairs(line), stairs(mirrored) * [1, -1])
        assert line.get_ydata()[0] == pytest.approx(ax.get_ylim()[0])
        assert line.get_xdata()[-1] == pytest.approx(ax.get_xlim()[1])


@pytest.mark.parametrize(
    "runs", [two_objectives(np.zeros((0, 4, 2))), two_objectives(RUNS, np.ones(RUNS.shape[:2]))]
)
def test_nothing_to_draw_is_said(runs):
    ax = attainment({"a": runs})
    assert [text.get_text() for text in ax.texts] == ["Too few runs have feasible rows."]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"traces": {}}, ValueError, "traces must hold"),
        ({"traces": RUNS}, TypeError, "traces must be"),
        ({"traces": trace(RUNS[..., 0])}, ValueError, "traces must have two objectives.*one has 1"),
        ({"levels": []}, ValueError, "levels must be a list"),
        ({"levels": 0.5}, ValueError, "levels must be a list"),
        ({"levels": [0.0]}, ValueError, "levels must be above 0, got 0.0"),
        ({"traces": trace(np.zeros((1, 2, 3)))}, ValueError, "one has 3"),
    ],
)
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        attainment(**{"traces": two_objectives(RUNS), **arguments})
    assert not plt.get_fignums()
