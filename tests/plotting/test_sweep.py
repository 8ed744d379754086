"""The picture of the sweep."""

import numpy as np
import pytest
from matplotlib.text import Text

import parzax as px
from parzax.lens.plotting import importance_sweep

from .conftest import MIXED_LEVELS, analyse, mixed_observations, sampled, uniform, with_status
from .reading import below, coloured, heights, names_of_lines, ribbons


def texts(ax):
    return [t.get_text() for t in ax.texts]


def hatches(ax):
    return [p.get_hatch() for p in ax.patches if p.get_hatch()]


def covered(band, levels):
    """Whether a band covers each of the levels."""
    values, edges, _ = band.get_data()
    return [bool(values[np.searchsorted(edges, level) - 1]) for level in np.sort(levels)]


def test_lines_are_the_means_and_ribbons_the_errors(seeds):
    # Catches a mean over the wrong axis and a ribbon of deviations instead of standard errors.
    ax = importance_sweep(seeds)
    mean, error = seeds.mean, seeds.standard_error
    for line, ribbon in zip(ax.lines, ribbons(ax), strict=True):
        j = seeds.names.index(line.get_label())
        np.testing.assert_allclose(line.get_xdata(), seeds.levels)
        np.testing.assert_allclose(line.get_ydata(), mean[:, j], rtol=1e-6)
        heights = ribbon.get_paths()[0].vertices[:, 1]
        np.testing.assert_allclose(heights.max(), (mean + error)[:, j].max(), rtol=1e-6)
        np.testing.assert_allclose(heights.min(), (mean - error)[:, j].min(), rtol=1e-5, atol=1e-9)


def test_one_seed_has_no_ribbon_and_levels_are_put_in_order(single):
    # Catches a ribbon of NaN, and a line that runs back and forth over levels in falling order.
    ax = importance_sweep(single)
    assert not ribbons(ax)
    line = ax.lines[0]
    assert (np.diff(line.get_xdata()) > 0).all()
    j = single.names.index(line.get_label())
    np.testing.assert_allclose(heights(ax, line), single.importance[::-1, j], rtol=1e-6)


def test_one_level_is_drawn_as_points(one_level):
    # Catches lines of one point, which are invisible.
    ax = importance_sweep(one_level)
    assert [line.get_marker() for line in ax.lines] == ["o", "o"]
    assert ax.get_xticks().tolist() == [0.3]
    assert sorted(names_of_lines(ax)) == ["c", "x"]


def test_names_are_in_the_order_of_the_ends_and_inside(mixed):
    # Catches names of other lines, and names outside the figure.
    ax = importance_sweep(mixed, parameters=mixed.names)
    ax.figure.canvas.draw()
    ends = {line.get_label(): np.nan_to_num(heights(ax, line)[-1]) for line in coloured(ax)}
    assert [ends[name] for name in names_of_lines(ax)] == sorted(ends.values(), reverse=True)
    assert max(text.get_window_extent().x1 for text in ax.findobj(Text)) <= ax.figure.bbox.x1


def test_undefined_levels_are_gaps():
    # Catches a curve that dives to 0 where nothing can be said.
    result = uniform(noise=True)
    undefined = ~result.is_defined[:, 0]
    assert undefined.any(), "the example must have both kinds of level"
    assert not undefined.all(), "the example must have both kinds of level"
    drawn = importance_sweep(result).lines[0].get_ydata()
    np.testing.assert_array_equal(np.isnan(drawn), undefined)


@pytest.mark.slow
def test_lines_at_zero_are_left_out(zero):
    # Catches constants that are drawn over lines that matter; something is drawn all the same.
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(size=(100, 2)), np.ones(100), np.ones(100)])
    space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1), "c": px.Int(1, 1), "d": px.Int(1, 1)})
    result = analyse(px.Observations.from_arrays(space, x, x[:, 0] + x[:, 1]), [0.2, 0.4])
    assert [line.get_label() for line in coloured(importance_sweep(result))[2:]] == ["2 others"]
    assert importance_sweep(zero).lines


def test_low_data_is_marked(mixed, seeds):
    # Catches rough levels that look as sure as the others, and marks where there is nothing to mark.
    ax = importance_sweep(mixed)
    assert below(ax) == ["few rows: rough"]
    assert hatches(ax) == ["////"]
    band = next(p for p in ax.patches if p.get_hatch())
    assert covered(band, mixed.levels) == [True, False, False]
    assert "////" not in hatches(importance_sweep(seeds))


def test_a_cutoff_between_regimes_is_marked(seeds):
    # Catches a peak at a knife's edge that looks like any other, and a mark for lines that are not drawn.
    flagged = seeds.status & px.Status.REGIME_BOUNDARY != 0
    level = int(np.argmax(flagged.mean(axis=0).max(axis=-1)))
    assert flagged[:, level].mean(axis=0).max() >= 0.5, "the example must have such a level"
    ax = importance_sweep(seeds)
    bands = [p for p in ax.patches if p.get_hatch() == "||"]
    assert covered(bands[0], seeds.levels)[level]
    assert "cut-off between regimes" in below(ax)
    never = with_status(seeds, seeds.status & ~int(px.Status.REGIME_BOUNDARY))
    assert "||" not in hatches(importance_sweep(never))


def test_levels_without_importance_are_marked():
    # Catches a gap in the curves without an explanation: noise only, at some levels nothing above chance.
    result = uniform(noise=True)
    flagged = (result.status & px.Status.ALL_ZERO != 0).any(axis=1)
    assert flagged.any(), "the example must have both kinds of level"
    assert not flagged.all(), "the example must have both kinds of level"
    ax = importance_sweep(result)
    (band,) = (p for p in ax.patches if p.get_hatch() == "....")
    assert covered(band, result.levels) == flagged.tolist()
    assert below(ax).count("nothing above chance") == 1


def test_all_zero_says_so(zero):
    # Catches an empty picture without a word, or limits that collapse.
    ax = importance_sweep(zero)
    assert any("No parameter has a positive variance" in t for t in texts(ax))
    assert ax.get_ylim()[1] >= 1


@pytest.mark.slow
def test_smaller_region_is_named():
    # Catches a label that calls the level a share of a region that is not the whole.
    result = analyse(mixed_observations(), MIXED_LEVELS, region=0.9)
    assert "region γ = 0.9" in importance_sweep(result).get_xlabel()


def test_intervals_of_one_log_and_what_is_not_above_chance():
    """Catches a ribbon of another quantity, lines that stay coloured, labels of another spread."""
    result = sampled()
    ax = importance_sweep(result, parameters=["x", "noise", "nothing"])
    assert ax.get_ylabel() == f"importance\n(90 % interval, {result.n_resamples} resamples)"
    ribbons = [np.concatenate([p.vertices for p in c.get_paths()]) for c in ax.collections if c.get_paths()]
    low, high = result.importance_interval[:, 0].T
    assert any(
        np.isclose(r[:, 1].min(), low.min()) and np.isclose(r[:, 1].max(), high.max()) for r in ribbons
    )
    by_label = {line.get_label(): line for line in ax.lines}
    assert np.isfinite(by_label["x"].get_ydata()).all()
    sure = result.above_chance[:, 1]
    np.testing.assert_array_equal(np.isfinite(by_label["noise"].get_ydata()), sure)
    # A parameter that is 0 without a test is not in colour either.
    assert not sure.all()
    nothing = by_label["nothing"]
    assert nothing.get_color() != "0.75"
    assert np.isnan(nothing.get_ydata()).all()
    bars = px.plotting.importance_bars(result)
    assert "(90 % interval, 99 resamples)" in bars.get_xlabel()
    assert px.plotting.regimes(result).get_xlabel().endswith("by regime")  # its bars have no intervals
    greys = [len(set(bar.get_facecolor()[:3])) == 1 for bar in bars.patches]
    assert greys == [False, not sure[0], True]
