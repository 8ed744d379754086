"""What is refused, what a status says, and how results are shown."""

import functools

import numpy as np
import pytest

import parzax as px
from parzax.lens.results.result import holm

from .logs import gated, log_of, product

S = px.Status


def log_with_constants(n, loss=None) -> px.Observations:
    """Two uniform columns, a constant one and one of a single value; the loss is the first by default."""
    x, y = np.random.default_rng(0).uniform(size=(2, n))
    domains = {"x": px.Float(0, 1), "constant": px.Float(0, 1), "single": px.Int(3, 3), "y": px.Float(0, 1)}
    values = np.stack([x, np.full(n, 0.5), np.full(n, 3.0), y], axis=-1)
    return px.Observations.from_arrays(px.Space(domains), values, x if loss is None else loss)


@functools.cache
def gated_results() -> tuple[px.lens.results.InteractionResult, px.lens.results.InteractionResult]:
    """Two results of one log: all pairs with p-values, and three pairs without."""
    obs = gated(300)
    three = [("y", "x"), ("c", "x"), ("x", "u")]
    return px.interactions(obs, [0.5, 0.1]), px.interactions(obs, [0.1, 0.5], pairs=three, n_draws=0)


def test_constants_and_single_values_have_exactly_none():
    # Catches rounding that is taken for an interaction.
    found = px.interactions(log_with_constants(250), [0.1, 0.5])
    by_pair = dict(zip(found.pairs, found.status.T, strict=True))
    for pair, bits in by_pair.items():
        expected = S.SINGLE_VALUE if "single" in pair else S.CONSTANT if "constant" in pair else S(0)
        assert (bits & int(S.SINGLE_VALUE | S.CONSTANT) == int(expected)).all(), pair
        if expected:
            i = found.pairs.index(pair)
            assert (found.variance[:, i] == 0).all()
            assert np.isnan(found.p_value[:, i]).all()
    said = {line.split(" ")[0]: line.split(": ", 1)[1] for line in found.advice()}
    assert "all rows are in one cell" in said["CONSTANT"]
    assert "the domain has no other" in said["SINGLE_VALUE"]


@pytest.mark.parametrize(
    ("loss", "bit"),
    [
        (np.zeros(100), S.ALL_EQUAL | S.SAME_SETS),
        (np.arange(100) // 60, S.TIED_CUTOFF),
        (np.arange(100), S.LOW_DATA),
        (np.full(100, np.nan), S.NO_DATA),
    ],
)
def test_statuses_of_levels(loss, bit):
    found = px.interactions(log_with_constants(100, loss), [0.1, 0.5])
    status = found.status[0, found.pairs.index(("x", "y"))]
    assert status & int(bit) == int(bit)
    if bit & (S.SAME_SETS | S.NO_DATA):
        assert (found.variance == 0).all()
        assert np.isnan(found.p_value).all()


@pytest.mark.parametrize(("level", "everywhere"), [(0.1, False), (0.05, True)])
def test_few_rows_are_said_of_a_level_or_of_a_pair(level, everywhere):
    # Catches "ten rows or fewer" of a level with twelve, where only some pairs have fewer.
    found = px.interactions(gated(120), level, n_draws=0)
    low, fact = found.status[0] & int(S.LOW_DATA) != 0, S.LOW_DATA.fact
    assert low.any()
    assert (fact in " ".join(found.sentences())) == everywhere
    assert [fact in remark for remark in found.cells(0)["remarks"]] == (low & (not everywhere)).tolist()


def test_moving_domains_are_not_compared():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(2, 100))
    space = px.Space({"x": px.Varying(0, 1, when=px.Recorded()), "y": px.Float(0, 1)})
    found = px.interactions(px.Observations.from_arrays(space, np.stack([x, y], -1), x * y), 0.3)
    assert found.status[0, 0] & int(S.UNIDENTIFIABLE)
    assert np.isnan(found.matrix()).all()
    assert "-" in str(found)


def test_one_parameter_has_no_pairs():
    obs = log_of(lambda x, noise: x[:, 0], 100, d=1)
    found = px.interactions(obs, [0.1, 0.5])
    assert found.variance.shape == found.p_value.shape == (2, 0)
    assert found.matrix().shape == (1, 1)
    assert found.ranking() == []
    assert repr(found) == "InteractionResult(2 levels, 0 pairs)"
    assert "no pairs" in str(found)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"pairs": [("x", "nope")]}, ValueError, "no parameter 'nope'"),
        ({"pairs": [("x", "x")]}, ValueError, "is one parameter"),
        ({"pairs": [("x", "y"), ("y", "x")]}, ValueError, r"\('y', 'x'\) twice"),
        ({"pairs": []}, ValueError, "pairs is empty"),
        ({"pairs": ["xy"]}, ValueError, "pairs must hold pairs of parameters such as"),
        ({"pairs": [("x", "y", "z")]}, ValueError, "pairs must hold pairs of parameters such as"),
        ({"pairs": "some"}, ValueError, "pairs must be one of None, 'all'"),
        ({"pairs": 3}, TypeError, "pairs must be"),
        ({"objective": 1}, ValueError, "objective"),
        ({"n_draws": -1}, ValueError, "n_draws"),
        ({"n_draws": 2.5}, ValueError, "n_draws"),
        ({"key": 0}, TypeError, "key must be a typed key"),
        ({"levels": 1.5}, ValueError, "levels"),
        ({"levels": 0.5, "region": 0.4}, ValueError, "below region"),
    ],
)
def test_what_is_refused(as_installed, settings, error, message):
    obs = log_of(product, 50)
    with pytest.raises(error, match=message):
        px.interactions(obs, **settings)


def test_only_observations(as_installed):
    with pytest.raises(TypeError, match=r"the log must be parzax\.Observations"):
        px.interactions(np.eye(3))


def test_holm_is_the_step_down_procedure():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=(5, 7)) ** 3
    p[1, 2] = np.nan
    for own, found in zip(p, holm(p), strict=True):
        known = np.flatnonzero(~np.isnan(own))
        largest = 0.0
        for i, j in enumerate(sorted(known, key=lambda j: own[j])):
            largest = max(largest, min(1.0, (len(known) - i) * own[j]))
            assert found[j] == pytest.approx(largest)
        assert np.isnan(found).sum() == len(own) - len(known)
    assert holm(np.zeros((2, 0))).shape == (2, 0)


def test_the_result_adds_up_and_its_frame_has_every_number():
    found, _ = gated_results()
    np.testing.assert_allclose(found.variance, found.joint - found.main.sum(axis=-1), atol=1e-7)
    g = found.n_target / found.n_region
    np.testing.assert_allclose(
        found.importance * (g * (1 - g))[:, None], np.maximum(found.variance, 0), atol=1e-6
    )
    for backend in ("pandas", "polars", "pyarrow"):
        frame = found.to_dataframe(backend)
        assert len(frame) == 2 * 10
    frame = found.to_dataframe("pandas")
    np.testing.assert_array_equal(frame["variance"], found.variance.reshape(-1))
    np.testing.assert_array_equal(frame["n_active"], np.tile(found.n_active, 2))
    assert list(zip(frame["first"], frame["second"], strict=True)) == [*found.pairs] * 2
    assert "seed" not in frame


def test_the_matrix_is_symmetric_and_blank_where_nothing_is_known():
    _, found = gated_results()
    matrix = found.matrix(1)
    at = found.space.index
    np.testing.assert_array_equal(matrix, matrix.T)
    assert matrix[at("x"), at("y")] == found.importance[1, 0]
    assert matrix[at("c"), at("x")] == found.importance[1, 1]
    assert np.isnan(matrix).sum() == 25 - 4


def test_a_pair_stands_out_in_most_seeds():
    tested, untested = gated_results()
    np.testing.assert_array_equal(tested.above, tested.above_chance)
    np.testing.assert_array_equal(untested.above, untested.importance > 0)


@pytest.mark.slow
def test_text_says_what_is_above_chance():
    # Catches numbers without a word on whether they mean anything.
    found = px.interactions(gated(600), 0.5)
    lines = str(found).splitlines()
    assert lines[1].startswith("What mattered: x × y (")
    assert lines[2].startswith("How sure: p-values are adjusted for 10 pairs")
    assert lines[4].split() == ["pair", "importance", "p", "rows", "remarks"]
    assert lines[5].split()[:3] == ["x", "×", "y"]
    assert any(line.startswith("NEVER_TOGETHER (") for line in found.text(verbose=True).splitlines())
    tests = "p: of no interaction, by 1000 draws, adjusted for the pairs of a level (Holm)"
    assert tests in found.text(verbose=True).splitlines()
    assert "<table>" in found._repr_html_()
    several = px.interactions(gated(600), np.arange(1, 20) / 20, n_draws=0)
    assert len(several.table().columns) == 1 + 7
    assert "p: of no interaction" not in several.text(verbose=True)
    seeds = [gated(200, seed) for seed in range(2)]
    arrays = [np.stack([getattr(own, name) for own in seeds]) for name in ("values", "losses")]
    assert "±" in str(px.interactions(px.Observations.from_arrays(seeds[0].space, *arrays), 0.5))
