"""What all pictures have in common: one Axes, the place they are given, any name."""

import functools
import io
import subprocess
import sys

import matplotlib.pyplot as plt
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

import parzax as px

from .pictures import HOSTILE, pictures

NAMES = sorted(name for name, value in vars(px.plotting).items() if callable(value))
drawn = functools.cache(pictures)
pytestmark = pytest.mark.usefixtures("few_draws")


def test_the_table_has_every_picture():
    # Catches a new picture that nobody tests for what all have in common.
    assert sorted(drawn()) == NAMES


# Those of a surrogate compile programs of their own; results/test_surrogate.py draws one.
CASES = [pytest.param(name, marks=[pytest.mark.slow] * name.startswith("effect")) for name in NAMES]


@pytest.mark.parametrize("name", CASES)
def test_one_axes_are_returned_whose_figure_can_be_saved(name):
    # Catches an array of Axes, a second figure, and one that is not the current one.
    ax = drawn()[name]()
    assert isinstance(ax, Axes)
    assert [plt.gcf()] == [ax.figure]
    file = io.BytesIO()
    plt.savefig(file)  # as the README says
    assert file.getvalue()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("layout", [pytest.param(None, marks=pytest.mark.slow), "constrained"])
@pytest.mark.some(6)
def test_the_place_that_is_given_is_used(name, layout):
    # Catches a figure opened although there is a place, and panels that run into the neighbours.
    figure = plt.figure(figsize=(20, 5), layout=layout)
    left, right = figure.subfigures(1, 2)
    before, own = left.subplots(), right.subplots(1, 2)[1]
    assert drawn()[name](ax=own) is own
    figure.canvas.draw()
    assert plt.get_fignums() == [figure.number]
    assert not before.has_data()
    assert before in left.axes
    assert len(left.axes) == 1


@pytest.mark.parametrize("name", CASES)
@pytest.mark.some(6)
def test_what_is_no_axes_is_refused(name):
    # Catches a figure or an array passed as ax that fails without a word about ax.
    for ax, error, message in (
        (plt.figure(), TypeError, "ax must be a matplotlib Axes"),
        (plt.subplots(1, 2)[1], TypeError, "ax must be a matplotlib Axes"),
    ):
        with pytest.raises(error, match=message):
            drawn()[name](ax=ax)
    assert len(plt.get_fignums()) == 2


@pytest.mark.parametrize("name", CASES)
@pytest.mark.some(6)
def test_any_name_is_drawn_as_it_is(name):
    # Catches formulae read into names, control characters, and names that push the data out of the figure.
    ax = drawn(HOSTILE)[name]()
    figure = ax.figure
    figure.canvas.draw()
    words = [text.get_text() for text in figure.findobj(Text) if "frac" in text.get_text()]
    assert words
    for text in words:
        assert text.replace("\n", "").isprintable()
        assert text.count("$") == text.count(r"\$"), text
    box, whole = ax.get_window_extent(), figure.bbox
    assert box.width > 0.15 * whole.width
    assert box.height > 0.15 * whole.height


def test_panels_need_a_subplot_and_share_its_place():
    # Catches panels that stand on their neighbours, and an error from the depths for Axes without a grid.
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 4))
    place = right.get_position()
    drawn()["values"](ax=right)
    others = [ax for ax in figure.axes if ax is not left]
    assert len(others) == 2
    assert all(place.x0 - 0.01 <= ax.get_position().x0 < place.x1 for ax in others)
    with pytest.raises(ValueError, match="ax cannot be divided into panels"):
        drawn()["values"](ax=plt.figure().add_axes((0, 0, 1, 1)))


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
