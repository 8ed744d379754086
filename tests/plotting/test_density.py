"""Pictures of densities: what is drawn where, and what is refused."""

import equinox as eqx
import numpy as np
import pytest

import parzax as px
from parzax.lens import plotting

from .reading import panel

SPACE = px.Space(
    {
        "lr": px.Float(1e-4, 1.0, log=True),
        "depth": px.Int(1, 9),
        "opt": px.Categorical(["sgd", "adam", "lamb"]),
        "momentum": px.Float(0, 1, when=px.In("opt", ["sgd"])),
    }
)
ROWS = np.array([[1e-3, 3, 0, 0.9], [1e-2, 4, 1, np.nan], [2e-2, 5, 1, np.nan], [1e-1, 8, 2, np.nan]])


@pytest.fixture(scope="module")
def pair():
    return px.ParzenEstimator.fit(SPACE, ROWS[:2]), px.ParzenEstimator.fit(SPACE, ROWS[2:])


def test_curve_integrates_to_one_over_decades_above_a_rug_of_the_rows(pair):
    ax = plotting.density(pair[0], parameters="lr")
    curve, rug = ax.lines
    x, y = curve.get_data()
    assert np.trapezoid(y, np.log10(x)) == pytest.approx(1, abs=0.01)
    assert sorted(rug.get_xdata()) == pytest.approx([1e-3, 1e-2], rel=1e-5)
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == "density per decade"


def test_bars_are_the_probabilities_of_the_choices(pair):
    ax = plotting.density(*pair, "opt")
    for bars, pe in zip(ax.containers, pair, strict=True):
        expected = pe.marginal("opt").prob(np.arange(3.0)[:, None])
        np.testing.assert_allclose([bar.get_height() for bar in bars], expected, rtol=1e-6)
    bottom = panel(ax, "ratio")
    assert [t.get_text() for t in bottom.get_xticklabels()] == ["sgd", "adam", "lamb"]
    ratio = [bar.get_height() for bar in bottom.patches]
    below, above = (np.asarray(pe.marginal("opt").prob(np.arange(3.0)[:, None])) for pe in pair)
    np.testing.assert_allclose(ratio, np.log2(below / above), rtol=1e-5)


def test_many_log_integers_are_drawn_on_a_log_axis():
    """Per decade, so that the curve integrates to 1 there; rugs at the values, not at their numbers."""
    space = px.Space({"units": px.Int(1, 500, log=True)})
    pe = px.ParzenEstimator.fit(space, np.array([[10.0], [300.0]]))
    ax = plotting.density(pe)
    curve, rug = ax.lines
    x, y = curve.get_data()
    edges = np.append(x - 0.5, x[-1] + 0.5)
    assert ax.get_xscale() == "log"
    assert (y * np.diff(np.log10(edges))).sum() == pytest.approx(1, abs=1e-5)
    assert rug.get_xdata().tolist() == [10, 300]


def test_map_shows_the_joint_density_and_only_rows_that_have_both_parameters(pair, monkeypatch):
    # One program in place of two hundred, as many as there are operations.
    monkeypatch.setattr(px.ParzenEstimator, "conditional", eqx.filter_jit(px.ParzenEstimator.conditional))
    ax = plotting.density(*(pe.conditional({"opt": "sgd"}) for pe in pair), ["lr", "momentum"])
    axes = [ax, panel(ax, "above"), panel(ax, "ratio")]
    assert [ax.get_title() for ax in axes] == ["below", "above", "log2 below / above"]
    dots = [ax.lines[0].get_xydata() for ax in axes[:2]]
    dots = [at[~np.isnan(at).any(axis=1)] for at in dots]
    np.testing.assert_allclose(dots[0], [[1e-3, 0.9]], rtol=1e-5)
    assert len(dots[1]) == 0
    mesh = np.asarray(axes[0].collections[0].get_array()).reshape(121, 121)
    assert float(mesh.max()) > 2 * float(np.median(mesh))
    assert axes[0].get_xlabel() == "lr"
    assert axes[0].get_ylabel() == "momentum"


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"parameters": "momentum"},
            ValueError,
            r"momentum has no density without its parents: draw pe\.cond",
        ),
        ({"parameters": ["opt", "momentum"]}, ValueError, "opt or momentum has no density without"),
        ({"parameters": "beta"}, ValueError, "parameters: no parameter 'beta'; there are 'lr'"),
        ({"parameters": ["lr", "lr"]}, ValueError, "parameters must be different names"),
        ({"parameters": ["lr", "depth", "opt"]}, ValueError, "parameters must be 1 or 2 names"),
        ({"above": 3}, TypeError, "ParzenEstimator"),
    ],
)
def test_refusals(pair, arguments, error, message):
    with pytest.raises(error, match=message):
        plotting.density(pair[0], **arguments)


def test_estimators_of_two_spaces_are_refused(pair):
    other = px.ParzenEstimator.fit(px.Space({"x": px.Float(0, 1)}), np.array([[0.5]]))
    with pytest.raises(ValueError, match="space of below"):
        plotting.density(pair[0], other)


@pytest.mark.parametrize(
    "domain",
    [
        pytest.param(px.Int(1, 10**6), marks=pytest.mark.slow),
        px.Int(1, 10**5, log=True),
        pytest.param(px.Float(0, 50, step=0.01), marks=pytest.mark.slow),
        pytest.param(px.Int(0, 200), marks=pytest.mark.slow),
    ],
)
def test_many_values_are_drawn_as_a_curve(domain):
    # Catches a bar for each of a million values, and masses where the axis says density.
    pe = px.ParzenEstimator.fit(px.Space({"u": domain}), np.array([[10.0], [40.0]]))
    ax = plotting.density(pe)
    x, y = ax.lines[0].get_data()
    assert len(x) <= 1001
    assert np.trapezoid(y, np.log10(x) if domain.log else x) == pytest.approx(1, abs=0.02)


def test_no_density_at_all_has_no_ratio():
    # Catches NaN, and with it an empty panel, where neither estimator has any density.
    space = px.Space({"opt": px.Categorical(["a", "b", "c"])})
    fits = [px.ParzenEstimator.fit(space, np.array([[i]]), top=1.0, prior_weight=0.0) for i in (0.0, 1.0)]
    ratio = panel(plotting.density(*fits), "ratio").patches
    assert [bar.get_height() for bar in ratio] == [100, -100, 0]


@pytest.mark.slow
def test_the_ratio_of_two_curves_is_that_of_their_densities(pair):
    # Catches a ratio of densities per decade and per unit, one turned upside down.
    ax = plotting.density(*pair, "lr")
    heights = {line.get_label(): line.get_ydata() for line in (*ax.lines, panel(ax, "ratio").lines[0])}
    np.testing.assert_allclose(heights["ratio"], np.log2(heights["below"] / heights["above"]), atol=1e-4)
