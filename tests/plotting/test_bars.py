"""The picture of one level."""

import dataclasses

import numpy as np
import pytest

import parzax as px
from parzax.lens.plotting import importance_bars, importance_sweep, regimes
from parzax.lens.results.texts import value_text
from parzax.status import NOT_COMPARED, OF_LEVELS

from .conftest import activation, analyse, with_status
from .reading import below, legend, written


def rows(ax):
    """Labels from the top of the picture down."""
    ticks = sorted(zip(ax.get_yticks(), ax.get_yticklabels(), strict=True), key=lambda t: t[0])
    assert ax.yaxis_inverted()
    return [label.get_text() for _, label in ticks]


def test_largest_on_top_with_its_value(seeds):
    # Catches bars upside down, a mean over the wrong axis, labels beside the wrong bar.
    ax = importance_bars(seeds, level=0.3)
    mean = seeds.mean[1]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(sorted(mean, reverse=True))
    assert rows(ax) == seeds.ranking(1)
    texts = [t.get_text() for t in ax.texts if t.get_text()]
    assert [t for t in texts if t[0].isdigit()] == [f"{m:.2f}" for m in sorted(mean, reverse=True)]
    assert ax.get_xlabel() == "importance for the best 30 %, γ′ = 0.3\n(mean ± standard error, 4 seeds)"
    assert [value_text(x) for x in (0.126, 0.01, 0.0099, 0.0)] == ["0.13", "0.01", "<0.01", "0"]


def test_whiskers_only_with_several_seeds(seeds, single):
    # Catches whiskers of NaN for one seed, and none for several.
    assert importance_bars(seeds).containers[1].has_xerr
    ax = importance_bars(single)
    assert len(ax.containers) == 1
    assert ax.get_xlabel() == "importance for the best 10 %, γ′ = 0.1"


def test_the_rest_is_summed(mixed):
    # Catches parameters beyond the limit lost without a word.
    ax = importance_bars(mixed, parameters=4)
    assert rows(ax)[-1] == "7 others"
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(1, rel=1e-5)
    # One alone keeps its name and colour.
    assert rows(importance_bars(mixed, parameters=10)) == rows(importance_bars(mixed))
    assert rows(importance_bars(mixed, parameters=["units", "strong"])) == ["units", "strong"]
    with pytest.raises(ValueError, match="parameters must be"):
        importance_bars(mixed, parameters=0)


def remark(ax, name):
    """What is written after the value of a bar."""
    texts = [text.get_text().replace("\n", " ") for text in ax.texts]
    return texts[3 * rows(ax).index(name) + 1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("strong", ""),
        ("constant", "a single value"),
        ("fixed", "a single value"),
        ("never", "never active"),
        ("moving", "the domain moves from row to row"),
        ("rare", "a domain with a single row was left out; inactive among the best rows"),
    ],
)
def test_statuses_are_remarks(mixed, name, words):
    # Catches a parameter whose 0 has a reason that the picture keeps to itself.
    assert remark(importance_bars(mixed, level=0.6), name) == words
    assert remark(regimes(mixed, level=0.6), name) == words


def test_statuses_of_the_level_are_below(mixed):
    assert "ten rows" not in written(importance_bars(mixed, level=0.6))
    few = "ten rows or fewer among the best or among the others"
    assert below(importance_bars(mixed, level=0.1)) == [few]


@pytest.mark.parametrize(
    "bit",
    [bit for bit in (*OF_LEVELS, *NOT_COMPARED) if bit not in (px.Status.NONE_FEASIBLE, px.Status.ALL_ZERO)],
)
def test_every_status_has_its_words(single, bit):
    # Catches a status that no picture mentions; none at all must give no words.
    clean = with_status(single, np.zeros_like(single.status))
    assert bit.fact not in written(importance_bars(clean))
    flagged = with_status(single, np.full_like(single.status, int(bit)))
    assert bit.fact in written(importance_bars(flagged))


def test_texts_lie_in_the_figure(mixed):
    # Catches texts that run over the edge of the figure, and words below on the label of the axis.
    ax = importance_bars(mixed, level=0.1)
    ax.figure.canvas.draw()
    box, label = legend(ax).get_window_extent(), ax.xaxis.label.get_window_extent()
    assert box.y1 <= label.y0 + 1
    assert box.y0 >= -1
    for own in (box, *(text.get_window_extent() for text in ax.texts)):
        assert own.x1 <= ax.figure.bbox.x1 + 1


def test_equal_bars_keep_the_order_of_the_space(zero):
    # Catches an order that changes from run to run; and all-zero bars without a word.
    ax = importance_bars(zero)
    assert [label.split(" ")[0] for label in rows(ax)] == [n.split(" ")[0] for n in zero.names]
    assert "No parameter has a positive variance" in written(ax)
    assert ax.get_xlim()[1] >= 1


def test_seeds_without_importance_do_not_count():
    # Catches bars, lines and regimes shortened by a seed about which nothing can be said, or a hidden count.
    obs = activation(4)
    losses = obs.losses.copy()
    losses[2] = 0.0
    # As many levels as `seeds` has, so that one program serves both.
    levels = [0.3, 0.7, 0.72, 0.74]
    result = analyse(dataclasses.replace(obs, losses=losses), levels)
    mean = result.mean
    np.testing.assert_allclose(mean[0], result.importance[[0, 1, 3], 0].mean(axis=0), rtol=1e-6)
    ax = importance_bars(result)
    assert sorted(bar.get_width() for bar in ax.patches) == pytest.approx(sorted(mean[0]))
    words = "(mean ± standard error, 3 of 4 seeds)"
    assert ax.get_xlabel() == f"importance for the best 30 %, γ′ = 0.3\n{words}"
    assert "all losses are equal (some seeds)" in written(ax)
    ax = importance_sweep(result)
    line = ax.lines[0]
    np.testing.assert_allclose(line.get_ydata(), mean[:, result.names.index(line.get_label())], rtol=1e-6)
    assert ax.get_ylabel() == f"importance\n{words}"
    assert not any(patch.get_hatch() for patch in ax.patches)
    ax = regimes(result)
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(1)
    assert ax.get_xlabel().endswith(f"by regime\n{words}")
