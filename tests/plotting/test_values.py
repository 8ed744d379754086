"""The picture of which values are good."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import parzax as px
from parzax.lens.plotting import values

from .conftest import activation, analyse
from .reading import panel, ribbons


def texts(ax):
    return [text.get_text() for text in ax.texts]


def line(ax, label):
    return next(own for own in ax.lines if own.get_label().startswith(label))


def test_curves_are_the_densities(single):
    # Catches the wrong level, regime or set, and a first panel that is not the one returned.
    ax = values(single, "x", level=0.7)
    assert panel(ax, "densities 0") is ax
    for i, density in enumerate(single.density("x")):
        top, bottom = panel(ax, f"densities {i}"), panel(ax, f"ratio {i}")
        np.testing.assert_allclose(line(top, "best").get_ydata(), density.target[0], rtol=1e-6)
        np.testing.assert_allclose(line(top, "all rows").get_ydata(), density.region[0], rtol=1e-6)
        np.testing.assert_allclose(line(bottom, "ratio").get_ydata(), density.ratio[0], rtol=1e-6)
        np.testing.assert_allclose(line(top, "best").get_xdata(), density.values)
        assert any(np.all(np.asarray(own.get_ydata()) == 1) for own in bottom.lines), "a line at ratio 1"


@pytest.mark.slow
def test_seeds_are_averaged_with_a_ribbon(seeds, single):
    # Catches a ribbon without seeds, and seeds without one.
    ax = panel(values(seeds, "x", level=0.7), "densities 1")
    expected = seeds.density("x")[1].target[:, 3].mean(axis=0)
    np.testing.assert_allclose(line(ax, "best").get_ydata(), expected, rtol=1e-5)
    assert len(ribbons(ax)) == 2
    assert len(ribbons(panel(ax, "ratio 1"))) == 1
    assert not ribbons(panel(values(single, "x", level=0.7), "densities 1"))


@pytest.mark.slow
def test_seeds_without_target_rows_do_not_count():
    # Catches a mean that includes the prior's leftovers of seeds where the regime has no target row.
    result = analyse(activation(12, 40), 0.5)
    has_rows = result.alpha[:, 0, 1, 1] > 0
    assert has_rows.any(), "the example must have both kinds of seed"
    assert not has_rows.all(), "the example must have both kinds of seed"
    wanted = result.density("x")[1].target[has_rows, 0].mean(axis=0)
    ax = panel(values(result, "x"), "densities 1")
    np.testing.assert_allclose(line(ax, "best").get_ydata(), wanted, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "scale", "ticks"),
    [
        ("eta", "log", None),
        ("strong", "linear", None),
        ("units", "linear", ["16", "32", "64", "128"]),
        ("booster", "linear", ["gbtree", "gblinear", "dart"]),
        ("noise $a$ with a long name", "linear", list("123456789")),
    ],
)
def test_every_domain_has_its_axis(mixed, name, scale, ticks):
    # Catches five decades pressed against the left edge, and values without their names.
    ax = values(mixed, name)
    bottom = panel(ax, "ratio 0")
    assert ax.get_xscale() == bottom.get_xscale() == scale
    assert ticks is None or [t.get_text() for t in bottom.get_xticklabels()] == ticks


@pytest.mark.parametrize("name", ["booster", "units"])
def test_few_values_are_bars(mixed, name):
    # Catches choices joined by a line, as if there were something between them.
    ax = values(mixed, name, level=0.6)
    (density,) = mixed.density(name)
    for bars, expected in zip(ax.containers, (density.region, density.target), strict=True):
        np.testing.assert_allclose([bar.get_height() for bar in bars], expected[2], rtol=1e-6)
    assert ax.get_ylabel() == "probability"


def test_many_choices_are_cut_and_said_so(mixed):
    # Catches 40 labels on one axis, and choices that vanish without a word.
    ax = values(mixed, "op")
    assert len(ax.containers[0]) == 20
    assert panel(ax, "ratio 0").get_xlabel() == "op (20 rarer choices not shown)"


def test_regimes_without_target_rows_have_a_note(seeds):
    # Catches the prior's leftovers drawn as if they were data.
    ax = values(seeds, "x", level=0.1)
    assert texts(panel(ax, "ratio 1")) == ["No target rows in this regime\n(γ′ = 0.1)."]
    assert not panel(ax, "ratio 1").lines
    assert [own.get_label() for own in panel(ax, "densities 1").lines] == ["all rows  $p_R$"]
    of_region = 100 * seeds.beta[:, 0, 1, 0].mean()
    assert ax.get_title() == f"[-5, -2] if c < 0.5\n100 % of the best, {of_region:.0f} % of all"


@pytest.mark.parametrize(
    ("name", "words"),
    [("moving", "The domain moves"), ("fixed", "A single value."), ("never", "No rows in this regime.")],
)
def test_nothing_to_compare_says_why(mixed, name, words):
    # Catches a crash, or a blank panel, where there is no density.
    ax = values(mixed, name)
    assert words in texts(ax)[0]
    assert not ax.lines


def test_a_ratio_has_gaps_where_there_are_no_rows():
    # Catches the ratio of two priors drawn as if it came from rows, as a curve and as a bar.
    rng = np.random.default_rng(0)
    x = np.stack([rng.uniform(0, 0.4, 80), rng.integers(0, 2, 80)], axis=-1)
    space = px.Space({"x": px.Float(0, 1), "c": px.Categorical(["a", "b", "never"])})
    result = analyse(px.Observations.from_arrays(space, x, x[:, 0]), 0.3)
    ratio = line(panel(values(result, "x"), "ratio 0"), "ratio")
    places, heights = ratio.get_data()
    assert np.isfinite(heights[places < 0.4]).all()
    assert np.isnan(heights[places > 0.7]).all()
    heights = [bar.get_height() for bar in panel(values(result, "c"), "ratio 0").patches]
    np.testing.assert_array_equal(np.isnan(heights), [False, False, True])


def test_an_unknown_parameter_is_named(seeds):
    with pytest.raises(ValueError, match="parameter: no parameter 'z'"):
        values(seeds, "z")
    assert not plt.get_fignums()
