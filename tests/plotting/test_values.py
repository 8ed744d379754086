"""The picture of which values are good."""

import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection

import parzax as px
from parzax.plotting import values

from .conftest import activation


def texts(ax):
    return [t.get_text() for t in ax.texts]


def line(ax, label):
    return next(x for x in ax.lines if x.get_label().startswith(label))


def test_curves_are_the_densities(single):
    # Catches the wrong level, regime or set.
    axes = values(single, "x", level=0.7)
    assert axes.shape == (2, 2)
    for column, density in zip(axes.T, single.density("x"), strict=True):
        np.testing.assert_allclose(line(column[0], "target").get_ydata(), density.target[0], rtol=1e-6)
        np.testing.assert_allclose(line(column[0], "region").get_ydata(), density.region[0], rtol=1e-6)
        np.testing.assert_allclose(line(column[1], "ratio").get_ydata(), density.ratio[0], rtol=1e-6)
        np.testing.assert_allclose(line(column[0], "target").get_xdata(), density.values)
        assert any(np.all(np.asarray(x.get_ydata()) == 1) for x in column[1].lines), "a line at ratio 1"


def test_seeds_are_averaged_with_a_ribbon(seeds, single):
    # Catches a ribbon without seeds, and seeds without one.
    def ribbons(ax):
        found = [c for c in ax.collections if isinstance(c, FillBetweenPolyCollection)]
        return [c for c in found if c.get_label() != "_area"]

    axes = values(seeds, "x", level=0.7, regime=1)
    assert axes.shape == (2, 1)
    (_, density) = seeds.density("x")
    np.testing.assert_allclose(
        line(axes[0, 0], "target").get_ydata(), density.target[:, 3].mean(axis=0), rtol=1e-5
    )
    assert len(ribbons(axes[0, 0])) == 2
    assert len(ribbons(axes[1, 0])) == 1
    assert not ribbons(values(single, "x", level=0.7, regime=1)[0, 0])


def test_seeds_without_target_rows_do_not_count():
    # Catches a mean that includes the prior's leftovers of seeds where the regime has no target row.
    result = px.cond_ped_anova(activation(12, 40), 0.5)
    has_rows = result.alpha[:, 0, 1, 1] > 0
    assert has_rows.any(), "the example must have both kinds of seed"
    assert not has_rows.all(), "the example must have both kinds of seed"
    axes = values(result, "x", regime=1)
    wanted = result.density("x")[1].target[has_rows, 0].mean(axis=0)
    np.testing.assert_allclose(line(axes[0, 0], "target").get_ydata(), wanted, rtol=1e-5)


def test_log_domains_have_log_axes(mixed):
    # Catches five decades pressed against the left edge.
    assert {ax.get_xscale() for ax in values(mixed, "eta").flat} == {"log"}
    assert {ax.get_xscale() for ax in values(mixed, "units").flat} == {"log"}
    assert {ax.get_xscale() for ax in values(mixed, "strong").flat} == {"linear"}
    assert [t.get_text() for t in values(mixed, "units")[1, 0].get_xticklabels()] == ["16", "32", "64", "128"]


def test_categories_are_bars(mixed):
    # Catches choices joined by a line, as if they had an order.
    axes = values(mixed, "booster", level=0.6)
    (density,) = mixed.density("booster")
    region, target = axes[0, 0].containers
    np.testing.assert_allclose([b.get_height() for b in region], density.region[2], rtol=1e-6)
    np.testing.assert_allclose([b.get_height() for b in target], density.target[2], rtol=1e-6)
    assert [t.get_text() for t in axes[1, 0].get_xticklabels()] == ["gbtree", "gblinear", "dart"]


def test_many_choices_are_cut_and_said_so(mixed):
    # Catches 40 labels on one axis, and choices that vanish without a word.
    axes = values(mixed, "op")
    assert len(axes[0, 0].containers[0]) == 20
    assert axes[1, 0].get_xlabel() == "op (20 rarer choices not shown)"
    axes[0, 0].get_figure(root=True).canvas.draw()


def test_regimes_without_target_rows_have_a_note(seeds):
    # Catches the prior's leftovers drawn as if they were data.
    axes = values(seeds, "x", level=0.1)
    assert texts(axes[1, 1]) == ["No target rows in this regime."]
    assert [x.get_label() for x in axes[0, 1].lines] == ["region  $p_R$"]
    assert not axes[1, 1].lines
    of_region = 100 * seeds.beta[:, 0, 1, 0].mean()
    wanted = f"[-5, -2] if c < 0.5\n100 % of the target, {of_region:.0f} % of the region"
    assert axes[0, 0].get_title() == wanted


@pytest.mark.parametrize(
    ("name", "words"),
    [("moving", "The domain moves"), ("fixed", "A single value."), ("never", "No rows in this regime.")],
)
def test_nothing_to_compare_says_why(mixed, name, words):
    # Catches a crash, or a blank panel, where there is no density.
    axes = values(mixed, name)
    assert words in texts(axes[0, 0])[0]
    assert not axes[0, 0].lines


@pytest.mark.parametrize("name", ["strong", "rare", "constant", "noise $a$ with a long name"])
def test_other_parameters_can_be_rendered(mixed, zero, name):
    # Catches degenerate densities and names that Matplotlib would read as formulae.
    for result in (mixed, zero):
        values(result, name)[0, 0].get_figure(root=True).canvas.draw()


def test_nothing_is_cut_off(seeds):
    # Catches limits set from one panel where panels share an axis.
    axes = values(seeds, "x", level=0.7)
    for ax in axes.flat:
        assert max(np.max(x.get_ydata()) for x in ax.lines) <= ax.get_ylim()[1]


def test_bad_arguments_are_named(seeds):
    # Catches errors from the depths, and a regime counted from the end by accident.
    import matplotlib.pyplot as plt

    with pytest.raises(KeyError, match="name: no parameter 'z'"):
        values(seeds, "z")
    for regime in (2, -1, [], [0, 5]):
        with pytest.raises(ValueError, match=r"regime must be in 0\.\.1"):
            values(seeds, "x", regime=regime)
    for regime in (0.5, "0", True):
        with pytest.raises(TypeError, match="regime must be an index"):
            values(seeds, "x", regime=regime)
    assert not plt.get_fignums()
    with pytest.raises(ValueError, match="ax must be an array of 2 x 2"):
        values(seeds, "x", ax=plt.subplots()[1])
