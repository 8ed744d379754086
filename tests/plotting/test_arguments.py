"""What all pictures share: the checks, the colours, the Axes they are given."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

from parzax import plotting
from parzax.plotting import _text
from parzax.plotting._arguments import PALETTE, level_index
from parzax.plotting._matplotlib import shorten, spread
from parzax.space import Between, Categorical, Float, In, Int, Ordinal, Recorded, Varying

ONE_AXES = [plotting.importance_sweep, plotting.importance_bars, plotting.regimes]


@pytest.mark.parametrize("draw", ONE_AXES)
@pytest.mark.parametrize("which", ["seeds", "single", "one_level", "mixed", "zero"])
def test_draws_anything_and_can_be_rendered(draw, which, request):
    # Catches shapes (no seed axis, one level), names with dollar signs and zeros that break a picture.
    ax = draw(request.getfixturevalue(which))
    assert isinstance(ax, Axes)
    ax.get_figure(root=True).canvas.draw()
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("draw", ONE_AXES)
def test_uses_the_given_axes(draw, seeds):
    # Catches a picture that opens a figure of its own although it was given a place.
    figure, axes = plt.subplots(1, 2)
    assert draw(seeds, ax=axes[1]) is axes[1]
    assert plt.get_fignums() == [figure.number]
    assert not axes[0].has_data()


def test_values_uses_the_given_axes(seeds):
    # Catches the same for a picture of several Axes, and Axes used in the wrong order.
    figure, axes = plt.subplots(2, 2)
    got = plotting.values(seeds, "x", ax=axes)
    assert got.shape == (2, 2)
    assert all(a is b for a, b in zip(got.flat, axes.flat, strict=True))
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("draw", [*ONE_AXES, lambda r: plotting.values(r, "x"), plotting.colours])
def test_only_results_are_drawn(draw):
    # Catches an AttributeError from the depths where observations or arrays are passed by mistake.
    with pytest.raises(TypeError, match="result must be a parzax"):
        draw(np.zeros((3, 2)))


@pytest.mark.parametrize("draw", ONE_AXES)
def test_wrong_axes_are_named(draw, seeds):
    # Catches a figure or an array passed as ax failing without a word about ax.
    with pytest.raises(TypeError, match="ax must be"):
        draw(seeds, ax=plt.figure())
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("draw", [plotting.importance_bars, plotting.regimes, plotting.values])
def test_bad_levels_are_named(draw, seeds):
    # Catches silent wrapping, and a quantile taken for an index.
    more = ("x",) if draw is plotting.values else ()
    for level, error in [
        (4, ValueError),
        (-5, ValueError),
        (1.5, ValueError),
        (True, TypeError),
        ("1", TypeError),
    ]:
        with pytest.raises(error, match="level"):
            draw(seeds, *more, level=level)
    assert not plt.get_fignums(), "a refused call must not leave an empty figure"


def test_levels_by_index_and_by_quantile(seeds, single):
    # Catches a float read as an index, and a nearest level found in the wrong order.
    assert [level_index(seeds, x) for x in (0, -1, 0.1, 0.46, 0.7, np.float32(0.5), np.int64(2))] == [
        0,
        3,
        0,
        2,
        3,
        2,
        2,
    ]
    assert level_index(single, 0.7) == 0


@pytest.mark.parametrize("draw", [plotting.importance_sweep, plotting.regimes])
def test_bad_parameters_are_named(draw, seeds):
    # Catches an unknown name drawn as nothing, and a parameter drawn twice.
    with pytest.raises(KeyError, match="parameters: no parameter 'z'"):
        draw(seeds, parameters=["c", "z"])
    for bad in ([], ["c", "c"]):
        with pytest.raises(ValueError, match="parameters must be different"):
            draw(seeds, parameters=bad)
    with pytest.raises(ValueError, match="max_parameters"):
        draw(seeds, max_parameters=0)
    assert not plt.get_fignums()


def test_colours_are_kept_between_pictures(mixed):
    # Catches colours that follow the order within one picture: they would mean something else in the next.
    colours = plotting.colours(mixed)
    assert set(colours) == set(mixed.names)
    line = plotting.importance_sweep(mixed, parameters=["eta"]).lines[0]
    assert line.get_color() == colours["eta"]
    ax = plotting.importance_bars(mixed)
    for bar, label in zip(ax.patches, ax.get_yticklabels(), strict=True):
        if label.get_text().startswith("eta"):
            assert plt.matplotlib.colors.to_hex(bar.get_facecolor()).upper() == colours["eta"]
    first = list(colours.values())
    assert len(set(first)) == len(PALETTE)


def test_spread_keeps_order_gap_and_limits():
    # Catches labels that overlap, leave the Axes, or stand in another order than their lines.
    rng = np.random.default_rng(0)
    for _ in range(20):
        wanted = rng.uniform(0, 1, 8) ** 3
        at = spread(wanted, 0.1, 0.0, 1.0)
        order = np.argsort(wanted)
        assert (np.diff(at[order]) >= 0.1 - 1e-12).all()
        assert at.min() >= -1e-12
        assert at.max() <= 1 + 1e-12
    np.testing.assert_allclose(spread(np.array([0.2, 0.8]), 0.1, 0, 1), [0.2, 0.8])
    np.testing.assert_allclose(spread(np.array([0.5, 0.5]), 0.1, 0, 1), [0.45, 0.55])
    np.testing.assert_allclose(spread(np.zeros(3), 9.0, 0, 1), [0, 0.5, 1])


def test_short_texts():
    # Catches regimes whose condition is misread: < for >=, a lost parent, a number with twenty digits.
    assert shorten("abcdefghij", 7) == "abcd…ij"
    assert _text.regime(Float(-5, -2, when=Between("c", high=0.5))) == "[-5, -2] if c < 0.5"
    assert _text.regime(Int(2, 5, when=Between("c", low=0.5))) == "[2, 5] if c ≥ 0.5"
    assert _text.regime(Float(1e-4, 1 / 3, log=True, when=Between("c", 1, 2))) == (
        "[0.0001, 0.3333] log if 1 ≤ c < 2"
    )
    assert _text.regime(Ordinal([16, 32], when=In("b", ["a"]))) == "{16, 32} if b = a"
    assert _text.regime(Float(0, 1, when=(In("b", ["a", "d"]), Between("c", high=1)))) == (
        "[0, 1] if b in {a, d} and c < 1"
    )
    assert _text.regime(Categorical(list(range(9)), when=Recorded())) == "{0, 1, 2, … 9 values}"
    assert _text.regime(Varying(0, 2)) == "within [0, 2]"
    assert _text.regime(Float(3, 3)) == "3"


def test_without_matplotlib_it_says_what_to_install():
    # Catches a bare "No module named 'matplotlib'", and an import of matplotlib by parzax itself.
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import parzax as px\n"
        "try:\n    px.plotting\n"
        "except ModuleNotFoundError as error:\n    print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "needs matplotlib" in out.stdout
    assert "pip install 'parzax[plot]'" in out.stdout


def test_a_level_that_is_not_there_is_told(seeds):
    # Catches another level than the one asked for, drawn without a word.
    for draw, args in ((plotting.importance_bars, ()), (plotting.regimes, ()), (plotting.values, ("x",))):
        with pytest.warns(UserWarning, match=r"no level 0\.9: the nearest one, 0\.7") as caught:
            draw(seeds, *args, level=0.9)
        assert len(caught) == 1
        assert caught[0].filename == __file__
