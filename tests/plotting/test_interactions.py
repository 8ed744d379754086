"""The map of interactions: which pairs have a colour, which number, what is said below."""

import functools

import numpy as np
import pytest
from matplotlib.patches import Rectangle

import parzax as px
from parzax.lens.plotting import interactions

from .reading import below


@pytest.fixture(scope="module")
def found() -> px.lens.results.InteractionResult:
    """x y where c < 0.5, where x and y are active; u elsewhere; z always."""
    rng = np.random.default_rng(1)
    n = 600
    c, noise = rng.uniform(size=(2, n))
    x, y, u, z = rng.uniform(-1, 1, (4, n))
    on, off = px.Between("c", high=0.5), px.Between("c", low=0.5)
    domains = {"z": px.Float(-1, 1), "u": px.Float(-1, 1, when=off), "c": px.Float(0, 1)}
    space = px.Space(domains | {name: px.Float(-1, 1, when=on) for name in "xy"})
    values = [z, np.where(c < 0.5, np.nan, u), c, *np.where(c < 0.5, [x, y], np.nan)]
    obs = px.Observations.from_arrays(space, np.stack(values, -1), np.where(c < 0.5, x * y, 2 * noise - 1))
    return px.interactions(obs, [0.2, 0.5], n_draws=400)


@functools.cache
def many(d: int, seeds: int | None = None, n_draws: int | None = None) -> px.lens.results.InteractionResult:
    rng = np.random.default_rng(d)
    shape = (300, d) if seeds is None else (seeds, 300, d)
    x = rng.uniform(-1, 1, shape)
    space = px.Space({f"x{i}": px.Float(-1, 1) for i in range(d)})
    obs = px.Observations.from_arrays(space, x, x[..., -1] * x[..., 0])
    return px.interactions(obs, 0.5, n_draws=max(10 * d**2, 100) if n_draws is None else n_draws)


def cells(ax) -> dict[tuple[str, str], float]:
    """(row, column) -> value of coloured cells, by the names beside them."""
    columns = [label.get_text() for label in ax.get_xticklabels()]
    rows = [label.get_text() for label in ax.get_yticklabels()]
    mesh = next(
        own for own in ax.collections if own.get_array() is not None and np.ndim(own.get_array()) == 2
    )
    values = mesh.get_array()
    return {(rows[i], columns[j]): float(values[i, j]) for i, j in np.argwhere(~np.ma.getmaskarray(values))}


def test_pairs_above_chance_have_a_colour_and_their_number(found):
    # Catches a transposed map, values of another level, and colour for what is noise.
    ax = interactions(found, level=0.5)
    i = found.pairs.index(("x", "y"))
    assert {frozenset(pair): x for pair, x in cells(ax).items()} == {frozenset("xy"): found.importance[1, i]}
    assert [text.get_text() for text in ax.texts] == [f"{found.importance[1, i]:.2f}"]
    assert ax.get_title() == "interactions at γ′ = 0.5"
    # Of ten pairs two are never active together, and one is above chance.
    assert sum(isinstance(own, Rectangle) for own in ax.patches) == 7
    crosses = ax.collections[-1].get_offsets()
    assert len(crosses) == 2
    words = " ".join(below(ax))
    assert "not above chance (p > 0.05, adjusted for 10 pairs)" in words
    assert "never active together, or not comparable" in words


@pytest.mark.slow
def test_the_strongest_of_many_are_shown_and_the_rest_is_counted():
    # Catches a map of the first parameters instead of the strongest, and pairs lost without a word.
    result = many(14)
    ax = interactions(result, parameters=6)
    ax.figure.canvas.draw()
    assert ("x13", "x0") in cells(ax) or ("x0", "x13") in cells(ax)
    names = {label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())}
    assert len(names) == 6
    assert "8 parameters not shown" in " ".join(below(ax))
    chosen = interactions(result, parameters=["x3", "x2", "x1"])
    assert [label.get_text() for label in chosen.get_xticklabels()] == ["x3", "x2", "x1"]


@pytest.mark.parametrize("d", [1, pytest.param(2, marks=pytest.mark.slow), 14])
def test_names_do_not_overlap(d):
    ax = interactions(many(d, n_draws=0), parameters=14)
    ax.figure.canvas.draw()
    for axis, which in ((ax.xaxis, "intervalx"), (ax.yaxis, "intervaly")):
        boxes = [label.get_window_extent() for label in axis.get_ticklabels() if label.get_text()]
        ends = np.sort([getattr(box, which) for box in boxes], axis=0).reshape(-1, 2)
        assert (ends[1:, 0] >= ends[:-1, 1] - 1).all()
    if d == 1:
        assert ax.texts[0].get_text() == "A single parameter has no pairs."


@pytest.mark.slow
def test_seeds_are_averaged_and_it_is_said():
    result = many(3, seeds=3)
    ax = interactions(result)
    (value,) = cells(ax).values()
    assert value == pytest.approx(result.importance[:, 0].mean(axis=0).max())
    assert "mean of 3 seeds" in " ".join(below(ax))


def test_without_permutations_what_is_zero_is_grey():
    result = many(14, n_draws=0)
    ax = interactions(result, parameters=14)
    n_above_zero = int((result.importance > 0).sum())
    assert 0 < n_above_zero < len(result.pairs)
    assert len(cells(ax)) == n_above_zero
    assert "p > 0.05" not in " ".join(below(ax))


def test_what_is_refused(found):
    with pytest.raises(TypeError, match=r"result must be a parzax\.lens\.results\.InteractionResult"):
        interactions(np.eye(3))
    with pytest.raises(ValueError, match="no parameter 'nope'"):
        interactions(found, parameters=["x", "nope"])
    with pytest.raises(ValueError, match="parameters"):
        interactions(found, parameters=0)
    with pytest.raises(ValueError, match="the result has none near"):
        interactions(found, level=0.9)
