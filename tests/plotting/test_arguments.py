"""Checks and choices that several pictures share: levels, parameters, colours, short texts."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import parzax as px
from parzax.lens import plotting
from parzax.lens.plotting import _arguments
from parzax.lens.plotting._arguments import PALETTE, choose_looks, find_level
from parzax.lens.results.texts import regime_text
from parzax.space import Between, Categorical, Float, In, Int, Ordinal, Recorded, Varying

OF_RESULTS = [plotting.importance_sweep, plotting.importance_bars, plotting.regimes]
OF_LEVELS = [
    plotting.importance_bars,
    plotting.regimes,
    lambda result, level: plotting.values(result, "x", level=level),
]


@pytest.mark.parametrize("draw", OF_RESULTS)
@pytest.mark.parametrize("which", ["one_level", "mixed", "seeds", "single", "zero"])
@pytest.mark.some(6)
def test_any_result_can_be_rendered(draw, which, request):
    # Catches shapes (no seed axis, one level), names with dollar signs and zeros that break a picture.
    draw(request.getfixturevalue(which)).figure.canvas.draw()


@pytest.mark.parametrize("draw", [*OF_RESULTS, lambda r: plotting.values(r, "x")])
def test_only_results_are_drawn(draw):
    # Catches an AttributeError from the depths where observations or arrays are passed by mistake.
    with pytest.raises(TypeError, match="result must be a parzax"):
        draw(np.zeros((3, 2)))


@pytest.mark.parametrize("draw", OF_LEVELS)
@pytest.mark.parametrize(
    ("level", "error"),
    [(0, ValueError), (-1, ValueError), (1.5, ValueError), (0.9, ValueError), ("1", TypeError)],
)
def test_bad_levels_are_named(draw, seeds, level, error):
    # Catches another level than the one asked for, drawn without a word, and an index taken for a level.
    with pytest.raises(error, match=r"level must|level: the result has none near"):
        draw(seeds, level=level)
    assert not plt.get_fignums(), "a refused call must not leave an empty figure"


def test_the_nearest_level_is_drawn(seeds, single):
    # Catches a nearest level found in the wrong order.
    asked = {0.1: 0, 0.46: 2, 0.7: 3, 0.75: 3, np.float32(0.5): 2}
    assert {level: find_level(seeds, level) for level in asked} == asked
    assert find_level(single, 0.7) == 0


@pytest.mark.parametrize("draw", [plotting.importance_sweep, plotting.regimes])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parameters": ["c", "z"]}, "parameters: no parameter 'z'"),
        ({"parameters": []}, "parameters must be different"),
        ({"parameters": ["c", "c"]}, "parameters must be different"),
        ({"parameters": 0}, "parameters must be a whole number"),
        ({"parameters": True}, "parameters must be a whole number"),
    ],
)
def test_bad_parameters_are_named(draw, seeds, arguments, message):
    # Catches an unknown name drawn as nothing, and a parameter drawn twice.
    with pytest.raises(ValueError, match=message):
        draw(seeds, **arguments)
    assert not plt.get_fignums()


def test_colours_are_kept_between_pictures(mixed):
    # Catches colours that follow the order within one picture: they would mean something else in the next.
    colours = {name: look["color"] for name, look in choose_looks(mixed).items()}
    assert set(colours) == set(mixed.names)
    assert len(set(colours.values())) == len(PALETTE)
    line = plotting.importance_sweep(mixed, parameters=["strong"]).lines[0]
    assert line.get_color() == colours["strong"]
    ax = plotting.importance_bars(mixed)
    for bar, label in zip(ax.patches, ax.get_yticklabels(), strict=True):
        if label.get_text() == "strong":
            assert plt.matplotlib.colors.to_hex(bar.get_facecolor()).upper() == colours["strong"]


@pytest.mark.parametrize(
    ("domain", "text"),
    [
        (Float(-5, -2, when=Between("c", high=0.5)), "[-5, -2] if c < 0.5"),
        (Int(2, 5, when=Between("c", low=0.5)), "[2, 5] if c ≥ 0.5"),
        (Float(1e-4, 1 / 3, log=True, when=Between("c", 1, 2)), "[0.0001, 0.3333] log if 1 ≤ c < 2"),
        (Ordinal([16, 32], when=In("b", ["a"])), "{16, 32} if b = a"),
        (Float(0, 1, when=(In("b", ["a", "d"]), Between("c", high=1))), "[0, 1] if b in {a, d} and c < 1"),
        (Categorical(list(range(9)), when=Recorded()), "{0, 1, 2, … 9 values}"),
        (Categorical(["a" * 20]), "{aaaaaaaaaa…aaaaa}"),
        (Varying(0, 2), "within [0, 2]"),
        (Float(3, 3), "3"),
    ],
)
def test_domains_in_words(domain, text):
    # Catches regimes whose condition is misread: < for >=, a lost parent, a number with twenty digits.
    assert regime_text(domain) == text


def test_settings_in_words():
    # Catches a code in place of its choice, an inactive parameter with a value, a sentence without end.
    space = px.Space({"a": Float(0, 1), "b": Categorical(["x", "$y$"]), "c": Int(1, 9), "d": Float(0, 1)})
    values = {"a": 0.12345, "b": 1.0, "c": np.nan, "d": 1.0}
    assert _arguments.describe_settings(space, values) == r"a = 0.1235, b = \$y\$, no c, d = 1"
    assert _arguments.describe_settings(space, values, most=2) == r"a = 0.1235, b = \$y\$ and 2 more"


@pytest.mark.parametrize(
    ("text", "drawn"),
    [("a$b$", r"a\$b\$"), ("a\tb\r\nc", "a b  c"), ("\ud800\x1b[31mé", "\ufffd\ufffd[31mé")],
)
def test_text_is_drawn_as_it_is(text, drawn):
    # Catches formulae, line breaks and control characters.
    assert _arguments.escape(text) == drawn
