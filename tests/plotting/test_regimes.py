"""The picture of the regimes."""

from dataclasses import replace

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from conftest import OPTUNA, coarse_method
from matplotlib.colors import to_rgb
from matplotlib.text import Text

import parzax as px
from parzax.importance import within_regime_variance
from parzax.lens.plotting import regimes

from .conftest import activation, analyse, mixed_observations
from .reading import written


def all_texts(ax):
    return [t.get_text() for t in ax.findobj(Text)]


@pytest.mark.parametrize("which", ["seeds", "single", "one_level", "mixed"])
def test_parts_sum_to_the_importance(which, request):
    # Catches a term forgotten, a regime counted twice, negative divergences that take from others.
    result = request.getfixturevalue(which)
    for q in range(len(result.levels)):
        parts = result.regime_importance.reshape(-1, *result.divergence.shape[-3:])[:, q]
        assert (parts >= 0).all()
        assert (parts[..., -1] == 0).all(), "inactive has no part"
        importance = result.importance.reshape(-1, *result.importance.shape[-2:])[:, q]
        np.testing.assert_allclose(parts.sum(axis=-1), importance, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
def test_parts_are_the_terms_of_the_variance():
    # Catches alpha and beta exchanged or a square left out: where no divergence is negative the parts are the
    # terms of Eq. 11, one regime at a time.
    result = px.cond_ped_anova(activation(None), 0.6, **OPTUNA, n_resamples=0)
    parts, j = result.regime_importance[0], 1
    alpha, beta, divergence = (x[0, j] for x in (result.alpha, result.beta, result.divergence))
    n_target, n_region = result.n_target[0], result.n_region
    terms = [
        float(within_regime_variance(divergence[[i]], alpha[[i]] * n_target, beta[[i]] * n_region, n_region))
        for i in range(2)
    ]
    assert terms[1] > 0
    np.testing.assert_allclose(parts[j, :2] / parts[j].sum(), np.array(terms) / sum(terms), rtol=1e-5)
    np.testing.assert_allclose(sum(terms), result.variance[0, j], rtol=1e-5)


def test_bars_add_up_to_the_importance(seeds):
    # Catches a regime left out, and one that stands under another parameter.
    ax = regimes(seeds, level=0.7)
    mean, widths = seeds.mean[3], [bar.get_width() for bar in ax.patches]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x", "", "c"]
    assert seeds.ranking(3) == ["x", "c"]
    assert [sum(widths[:2]), widths[2]] == pytest.approx([mean[1], mean[0]], rel=1e-5)
    np.testing.assert_allclose(widths[:2], seeds.regime_importance[:, 3, 1, :2].mean(axis=0), rtol=1e-5)
    assert ax.yaxis_inverted()


def test_regimes_are_named(seeds, mixed):
    # Catches a bar whose parts nobody can tell apart.
    found = all_texts(regimes(seeds, level=0.7))
    assert {"[-5, -2] if c < 0.5", "[2, 5] if c ≥ 0.5", "[0, 1]"} <= set(found)
    assert "[0.0001, 1] log if booster in {gbtree, dart}" in all_texts(regimes(mixed, parameters="eta"))


def test_captions_do_not_lie_on_bars(seeds):
    # Catches text over data.
    ax = regimes(seeds, level=0.7)
    ax.figure.canvas.draw()
    captions = [t.get_window_extent() for t in ax.findobj(Text) if t.get_text().startswith("[")]
    bars = [b.get_window_extent() for b in ax.patches]
    assert len(captions) == 3
    assert not any(a.y0 < b.y1 and b.y0 < a.y1 for a in captions for b in bars)


@pytest.mark.slow
def test_zero_and_parity_zero(zero):
    # Catches an empty picture without a word, and 1/d given to a regime that has not earned it.
    assert any("No parameter has a positive variance" in t for t in all_texts(regimes(zero)))
    plt.close()
    result = px.cond_ped_anova(mixed_observations(equal=True), 0.3, **OPTUNA, n_resamples=0)
    # 1/d by convention belongs to no regime.
    assert [bar.get_width() for bar in regimes(result).patches] == [0] * 11


def test_what_is_not_above_chance_is_grey():
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(100, 2))
    space = px.Space({"x": px.Float(0, 1), "noise": px.Float(0, 1)})
    obs = px.Observations.from_arrays(space, x, (x[:, 0] - 0.3) ** 2)
    result = analyse(obs, 0.3, **coarse_method(False), n_shuffles=9, key=jax.random.key(0))
    tested = result.replicates._replace(p_value=np.array([[0.01, 0.9]]))
    ax = regimes(replace(result, replicates=tested), parameters=["x", "noise"])
    labels = [text.get_text() for text in ax.get_yticklabels()]
    drawn = {name: to_rgb(bar.get_facecolor()) for name, bar in zip(labels, ax.patches, strict=True)}
    assert len(set(drawn["x"])) > 1
    assert len(set(drawn["noise"])) == 1
    assert "cannot tell yet" in written(ax)
