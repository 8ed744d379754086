"""Observations: what is kept, negated, weighted, left out."""

import enum

import numpy as np
import pytest
from conftest import zoo, zoo_observations

import parzax as px

SPACE = px.Space({"x": px.Float(0, 1), "z": px.Int(0, 9)})
VALUES = np.array([[0.1, 3], [0.5, 0], [0.9, 9]])


def test_shapes():
    """One log, seeds, several objectives: (..., n, m) inside."""
    obs = px.Observations.from_arrays(SPACE, VALUES, [1, 2, 3])
    assert (obs.n, len(obs), obs.n_objectives, obs.batch_shape) == (3, 3, 1, ())
    assert obs.values.dtype == obs.losses.dtype == np.float64
    several = px.Observations.from_arrays(
        SPACE,
        np.stack([VALUES] * 2),
        np.zeros((2, 3, 2)),
        ["minimize", "maximize"],
        constraints=np.zeros((2, 3)),
    )
    assert (several.n, several.n_objectives, several.batch_shape) == (3, 2, (2,))
    assert several.constraints.shape == (2, 3, 1)
    assert "2 seeds" in repr(several)


def test_direction_is_applied_once():
    """Maximised columns are negated, the others not, infinities with them."""
    objectives = np.array([[1.0, 1.0], [np.inf, -np.inf], [-np.inf, np.inf]])
    obs = px.Observations.from_arrays(SPACE, VALUES, objectives, ["minimize", "maximize"], failed="worst")
    np.testing.assert_array_equal(obs.losses, [[1, -1], [np.inf, np.inf], [-np.inf, -np.inf]])
    assert obs.report.n_failed == 1


def test_failed_rows():
    """NaN and the worst infinity: NaN inside when dropped, +inf when ranked last."""
    objectives = [1.0, np.nan, np.inf]
    dropped = px.Observations.from_arrays(SPACE, VALUES, objectives)
    worst = px.Observations.from_arrays(SPACE, VALUES, objectives, failed="worst")
    np.testing.assert_array_equal(dropped.losses[:, 0], [1, np.nan, np.nan])
    np.testing.assert_array_equal(worst.losses[:, 0], [1, np.inf, np.inf])
    assert dropped.report.n_failed == worst.report.n_failed == 2
    assert "2 of them without a usable objective value, left out" in str(dropped.report)
    assert "ranked last" in str(worst.report)


def test_inputs_are_not_written():
    """The caller's arrays stay as they were, also where unusable rows are blanked."""
    values, objectives = VALUES.copy(), np.array([1.0, np.nan, 2.0])
    values[1] = 99
    before = values.copy()
    obs = px.Observations.from_arrays(SPACE, values, objectives)
    np.testing.assert_array_equal(values, before)
    assert np.isnan(obs.values[1]).all()
    assert (obs.regime[1] == -1).all()


def test_weights_and_selection():
    """with_weight replaces, select multiplies by 0 or 1; both check."""
    obs = px.Observations.from_arrays(SPACE, VALUES, [1, 2, 3], weight=[1, 2, 3])
    assert obs.select([True, False, True]).weight.tolist() == [1, 0, 3]
    assert obs.with_weight([0, 0, 1]).weight.tolist() == [0, 0, 1]
    assert obs.weight.tolist() == [1, 2, 3]
    with pytest.raises(TypeError, match="boolean"):
        obs.select([1, 0, 1])
    with pytest.raises(ValueError, match="at least 0"):
        obs.with_weight([1, -1, 1])


def test_given_regimes():
    """Regimes that the conditions cannot tell are taken from the caller."""
    space = px.Space({"x": (px.Float(0, 1, when=px.Recorded()), px.Float(0, 2, when=px.Recorded()))})
    obs = px.Observations.from_arrays(space, [[0.5], [0.5], [np.nan]], [1, 2, 3], regime=[[0], [1], [-1]])
    assert obs.regime[:, 0].tolist() == [0, 1, -1]
    with pytest.raises(ValueError, match="pass regime="):
        px.Observations.from_arrays(space, [[0.5]], [1.0])


def test_regimes_are_derived():
    """Derived and given regimes agree on a conditional space."""
    values, losses = zoo()
    derived = zoo_observations(values, losses)
    given = zoo_observations(values, losses, regime=derived.regime.astype(int))
    np.testing.assert_array_equal(given.regime, derived.regime)
    assert set(derived.regime[:, 4].tolist()) == {-1, 0, 1}


def test_error_names_the_seed():
    """Row and seed of a bad value in a batch."""
    values = np.stack([VALUES, VALUES])
    values[1, 2, 0] = 7
    with pytest.raises(ValueError, match=r"seed 1, row 2, column 0 \('x'\) = 7.0 is outside Float"):
        px.Observations.from_arrays(SPACE, values, np.zeros((2, 3)))
    values[0, :, 0] = 8
    with pytest.raises(ValueError, match="3 more such rows"):
        px.Observations.from_arrays(SPACE, values, np.zeros((2, 3)))


def test_types():
    """Lists, integers, booleans and float32 are taken; a space must be a space."""
    assert px.Observations.from_arrays(
        SPACE, VALUES.tolist(), [True, False, True]
    ).losses.ravel().tolist() == [1, 0, 1]
    assert px.Observations.from_arrays(SPACE, np.round(VALUES), np.arange(3, dtype=np.int8)).n == 3
    with pytest.raises(TypeError, match=r"space must be a parzax.Space, got dict"):
        px.Observations.from_arrays({}, VALUES, [1, 2, 3])
    with pytest.raises(TypeError, match="the log must be"):
        px.cond_ped_anova(VALUES)


class Direction(enum.IntEnum):
    """As Optuna's StudyDirection, which is not imported here."""

    NOT_SET = 0
    MINIMIZE = 1
    MAXIMIZE = 2


def test_directions_of_an_enumeration():
    """Catches Optuna's StudyDirection refused, and NOT_SET or a mere number taken for a direction."""
    maximised = px.Observations.from_arrays(SPACE, VALUES, [1, 2, 3], directions=Direction.MAXIMIZE)
    assert maximised.losses[:, 0].tolist() == [-1, -2, -3]
    assert maximised.report.directions == ("maximize",)
    both = px.Observations.from_arrays(
        SPACE, VALUES, np.ones((3, 2)), directions=[Direction.MINIMIZE, Direction.MAXIMIZE]
    )
    assert both.losses[0].tolist() == [1, -1]
    for bad, error in (
        (Direction.NOT_SET, ValueError),
        (2, TypeError),
        (None, TypeError),
        ("MAXIMIZE", ValueError),
    ):
        with pytest.raises(error, match="direction must be"):
            px.Observations.from_arrays(SPACE, VALUES, [1, 2, 3], directions=bad)


def test_masked_entries_are_missing():
    """Catches a masked loss that counts, and a mask that is dropped where nothing can be missing."""
    mask = np.array([False, True, False])
    losses = np.ma.array([1.0, -99.0, 3.0], mask=mask)
    obs = px.Observations.from_arrays(SPACE, VALUES, losses)
    np.testing.assert_array_equal(obs.losses[:, 0], [1, np.nan, 3])
    assert obs.report.n_failed == 1
    # Rows of a list keep their masks, and integers have missing entries too.
    whole = [np.ma.array(row, mask=[m]) for row, m in zip([[1], [-99], [3]], mask, strict=True)]
    np.testing.assert_array_equal(px.Observations.from_arrays(SPACE, VALUES, whole).losses, obs.losses)
    space = px.Space({"x": px.Float(0, 1, when=px.Recorded())})
    values = np.ma.array([[0.1], [0.5], [0.9]], mask=mask[:, None])
    assert px.Observations.from_arrays(space, values, [1, 2, 3]).regime[:, 0].tolist() == [0, -1, 0]
    constrained = px.Observations.from_arrays(SPACE, VALUES, losses, constraints=losses)
    np.testing.assert_array_equal(constrained.constraints, obs.losses)
    # No mask, or an empty one, changes nothing.
    plain = px.Observations.from_arrays(SPACE, np.ma.array(VALUES), np.ma.array([1, 2, 3], mask=False))
    assert plain.losses[:, 0].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("values", np.ma.array(VALUES, mask=VALUES == 0)),
        ("constraints", np.ma.array([1, 2, 3], mask=[0, 1, 0])),
        ("weight", np.ma.array([1, 2, 3], mask=[0, 1, 0])),
        ("regime", np.ma.array(np.zeros((3, 2), int), mask=VALUES == 0)),
    ],
)
def test_masked_entries_are_refused_where_nothing_may_be_missing(name, array):
    """Catches what lies under a mask taken for a value: an active parameter, a weight, a regime."""
    with pytest.raises(ValueError, match=rf"{name}.*(row 1|masked)"):
        px.Observations.from_arrays(SPACE, **{"values": VALUES, "objectives": [1, 2, 3], name: array})


def test_a_masked_selection_is_refused():
    obs = px.Observations.from_arrays(SPACE, VALUES, [1, 2, 3])
    with pytest.raises(ValueError, match="keep has masked entries"):
        obs.select(np.ma.array([True, False, True], mask=[0, 1, 0]))


def test_normalised_weights_are_warned_of():
    """Catches weights meant as shares, with which all rows together count as one."""
    obs = px.Observations.from_arrays(SPACE, VALUES, [1, 2, 3])
    shares = [0.5, 0.25, 0.25]
    seeds = [np.stack([x, x]) for x in (VALUES, [1, 2, 3])]
    for build in (
        lambda: px.Observations.from_arrays(SPACE, VALUES, [1, 2, 3], weight=shares),
        lambda: px.Observations.from_arrays(SPACE, *seeds, weight=[[1, 1, 1], shares]),
        lambda: obs.with_weight(shares),
    ):
        with pytest.warns(UserWarning, match="weight sums to 1.*multiply by the number of rows") as caught:
            build()
        assert [warning.filename for warning in caught] == [__file__]
    # One row that is left, or two, may have a weight of 1 together; counts never do.
    obs.with_weight([0, 0, 1])
    obs.with_weight([0.5, 0.5, 0])
    obs.with_weight([1, 1, 1]).select([True, False, False])
