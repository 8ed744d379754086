"""Bounds that move from row to row: from arrays and tables, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from benchmarks.studies.papers.cond_ped_anova import naive

import parzax as px

C = np.array([0.2, 0.5, 1.0])
X = np.array([0.1, 0.5, 0.3])
SPACE = px.Space({"x": px.Varying(0, 1), "c": px.Float(0, 1)})
VALUES = np.stack([X, C], axis=-1)
WANTED = [[0, 0.2], [0, 0.5], [0, 1]]


def _read(bounds, space=SPACE, values=VALUES, losses=(1.0, 2.0, 3.0), **options):
    return px.Observations.from_arrays(space, values, losses, bounds=bounds, **options)


@pytest.mark.parametrize("high", [C, C.tolist(), "c"], ids=["array", "list", "name"])
def test_bounds_of_arrays(high):
    """Numbers, arrays and names of parameters say the same."""
    obs = _read({"x": (0, high)})
    np.testing.assert_array_equal(obs.bounds["x"], WANTED)


def test_without_bounds_there_are_none():
    obs = _read(None)
    assert obs.bounds is None
    assert (
        "x: bounds move, and are not given, so its values are not compared"
        in px.cond_ped_anova(obs, 0.5, n_resamples=0).facts
    )


def test_bounds_stay_with_their_rows():
    """Filters and weights keep them."""
    obs = _read({"x": (0, "c")})
    np.testing.assert_array_equal(obs.select([True, False, True]).bounds["x"], WANTED)
    np.testing.assert_array_equal(obs.with_weight([1.0, 2.0, 3.0]).bounds["x"], WANTED)
    np.testing.assert_array_equal(naive.filtering(obs, "x").bounds["x"], WANTED)
    assert naive.filtering(obs, "c").bounds == {}
    assert naive.expansion(obs).bounds is None


def test_seeds():
    obs = _read({"x": (0, np.stack([C, C]))}, values=np.stack([VALUES, VALUES]), losses=np.ones((2, 3)))
    np.testing.assert_array_equal(obs.bounds["x"], [WANTED, WANTED])


def test_rows_of_other_domains_have_none():
    """Also where what they say makes no sense, and in failed rows."""
    space = px.Space({
        "x": (px.Float(5, 6, when=px.Recorded()), px.Varying(0, 1, when=px.Recorded())),
    })  # fmt: skip
    values = np.array([[5.5], [0.5], [np.nan], [0.9]])
    obs = _read(
        {"x": (0, [np.nan, 0.7, -3, 0.1])}, space, values, [1, 2, 3, np.nan], regime=[[0], [1], [-1], [1]]
    )
    np.testing.assert_array_equal(obs.bounds["x"], [[np.nan] * 2, [0, 0.7], [np.nan] * 2, [np.nan] * 2])


def test_values_on_a_bound_may_be_rounded():
    """0.1 + 0.2 is above 0.3 in floats."""
    _read({"x": (0, [0.3, 0.5, 1])}, values=np.stack([[0.1 + 0.2, 0.5, 0.3], C], axis=-1))


STEPS = px.Space({"x": px.Varying(0, 1, step=0.2), "c": px.Float(0, 1)})
BAD = {
    "no mapping": ([(0, 1)], SPACE, TypeError, "dictionary"),
    "no pair": ({"x": 1.0}, SPACE, TypeError, r"bounds\['x'\] must be a pair \(low, high\), got 1.0"),
    "an unknown parameter": ({"z": (0, 1)}, SPACE, ValueError, "bounds must be one of 'x', 'c', got 'z'"),
    "no domain that moves": ({"c": (0, 1)}, SPACE, ValueError, r"'c' has no domain that moves; .*px.Varying"),
    "an unknown name": ({"x": (0, "d")}, SPACE, ValueError, "high must be one of 'x', 'c', got 'd'"),
    "a wrong length": ({"x": (0, C[:2])}, SPACE, ValueError, r"high must be a number or have shape \(3,\)"),
    "text": ({"x": (0, ["a", "b", "c"])}, SPACE, TypeError, "high must hold numbers"),
    "NaN": ({"x": (0, [0.2, np.nan, 1])}, SPACE, ValueError, r"row 1 has \[0.0, nan\]; give finite bounds"),
    "infinite": ({"x": (-np.inf, C)}, SPACE, ValueError, r"row 0 has \[-inf, .*\(and 2 more such rows\)"),
    "the wrong way round": ({"x": ([0, 0.9, 0], C)}, SPACE, ValueError, r"row 1 .*lower bound first"),
    "beyond the domain": ({"x": (0, [0.2, 0.5, 2])}, SPACE, ValueError, "is beyond the domain's"),
    "without the value": ({"x": (0, [0.2, 0.4, 1])}, SPACE, ValueError, r"row 1 .* but the value is 0.5; "),
    "off the steps": ({"x": (0, [0.2, 0.5, 1])}, STEPS, ValueError, "0.1 is not a whole number of steps"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_bounds_are_refused(case):
    """By argument, row and value, with what to do."""
    bounds, space, error, match = BAD[case]
    with pytest.raises(error, match=match):
        _read(bounds, space)


def test_an_error_names_the_seed():
    high = np.stack([C, [0.2, 0.4, 1]])
    with pytest.raises(ValueError, match="seed 1, row 1"):
        _read({"x": (0, high)}, values=np.stack([VALUES, VALUES]), losses=np.ones((2, 3)))


def test_steps_are_counted_from_the_row_s_bound():
    """0.15 is on a step of 0.1 from 0.05, though not from the domain's lowest bound."""
    space = px.Space({"x": px.Varying(0, 1, step=0.1)})
    _read({"x": ([0.05, 0, 0.2], [0.55, 1, 1])}, space, np.array([[0.15], [0.3], [0.2]]))


class TestDomain:
    def test_steps_need_not_divide_the_span(self):
        assert px.Varying(0, 1, step=0.3).step == 0.3
        assert px.Varying(1, 9, log=True, step=1).step == 1

    @pytest.mark.parametrize(
        ("step", "log", "match"),
        [(0, False, "step must be positive"), (0.5, True, "cannot be combined"), ("a", False, "step")],
    )
    def test_bad_steps(self, step, log, match):
        with pytest.raises((ValueError, TypeError), match=match):
            px.Varying(1, 9, log=log, step=step)

    def test_json(self):
        space = px.Space({"x": px.Varying(1, 9, log=True, step=1), "y": px.Varying(0, 1)})
        assert px.Space.from_json(space.to_json()) == space
        assert "step" not in px.Space({"y": px.Varying(0, 1)}).to_json()

    def test_to_all_else_it_is_a_continuum(self):
        """Catches a step that only fits the span by chance, and so is taken for a grid."""
        assert px.Varying(0, 9, step=1).n_values is None
        assert not px.Varying(0, 9, step=1).outside(np.array(2.5))


class TestTables:
    DF = pd.DataFrame({"x": X, "c": C, "top": C, "value": [1.0, 2.0, 3.0]})

    def test_names_of_columns(self):
        obs = px.Observations.from_dataframe(
            self.DF, space=SPACE, directions="minimize", bounds={"x": (0, "top")}, drop="top"
        )
        np.testing.assert_array_equal(obs.bounds["x"], WANTED)

    @pytest.mark.parametrize("prefix", ["", "params_", "config/"])
    def test_names_of_parameters(self, prefix):
        df = self.DF.drop(columns="top").rename(columns={"x": prefix + "x", "c": prefix + "c"})
        obs = px.Observations.from_dataframe(df, directions="minimize", bounds={"x": (0, "c")}, warn=False)
        np.testing.assert_array_equal(obs.bounds["x"], WANTED)
        assert obs.space["x"] == (px.Varying(0, 1),)

    def test_whole_numbers_are_inferred(self):
        df = pd.DataFrame({"k": [1, 2, 6], "m": [3, 4, 8], "value": [1.0, 2.0, 3.0]})
        obs = px.Observations.from_dataframe(df, bounds={"k": (1, "m")}, directions="minimize", warn=False)
        assert obs.space["k"] == (px.Varying(1, 8, step=1),)

    def test_missing_values_and_left_out_rows(self):
        df = pd.DataFrame({
            "x": [0.1, np.nan, 0.3, 5.0], "c": [0.2, 0.5, 1.0, 1.0], "value": [1.0, 2.0, 3.0, 4.0],
            "state": ["COMPLETE"] * 3 + ["FAIL"],
        })  # fmt: skip
        obs = px.Observations.from_dataframe(
            df, bounds={"x": (0, "c")}, directions="minimize", parameters=["x", "c"], warn=False
        )
        np.testing.assert_array_equal(obs.bounds["x"], [[0, 0.2], [np.nan, np.nan], [0, 1]])

    def test_seeds_and_tasks(self):
        """Catches bounds that stay with the rows of the table."""
        df = pd.concat([self.DF.assign(run=1), self.DF[::-1].assign(run=2)[:2]])
        options = {"bounds": {"x": (0, "c")}, "drop": "top", "directions": "minimize", "warn": False}
        obs = px.Observations.from_dataframe(df, seed="run", **options)
        np.testing.assert_array_equal(obs.bounds["x"][1], [[0, 1], [0, 0.5], [np.nan, np.nan]])
        logs = px.Observations.by_task(df, "run", **options)
        np.testing.assert_array_equal(logs["2"].bounds["x"], [[0, 1], [0, 0.5]])

    def test_what_is_refused(self):
        options = {"directions": "minimize", "parameters": ["x", "c"], "warn": False}
        with pytest.raises(ValueError, match="the table has no column 'topp'; did you mean 'top'"):
            px.Observations.from_dataframe(self.DF, bounds={"x": (0, "topp")}, **options)
        with pytest.raises(ValueError, match="a parameter of bounds must be one of"):
            px.Observations.from_dataframe(self.DF, bounds={"y": (0, 1)}, **options)
        with pytest.raises(ValueError, match=r"row 1 has \[0.0, 0.4\], but the value is 0.5"):
            px.Observations.from_dataframe(self.DF, bounds={"x": (0, [0.2, 0.4, 1])}, **options)
        labels = self.DF.assign(x=["a", "b", "a"])
        with pytest.raises(ValueError, match="'x' is not a number"):
            px.Observations.from_dataframe(labels, bounds={"x": (0, 1)}, **options)


def test_few_values_below_a_bound_are_no_list():
    """Numbers with few different values are listed, but not where their bounds move."""
    n = np.arange(40)
    df = pd.DataFrame({"x": 16 * 2 ** (n % 3), "c": 64 + n, "value": n / 40})
    obs = px.Observations.from_dataframe(
        df, bounds={"x": (0, "c")}, directions="minimize", parameters=["x", "c"], warn=False
    )
    (domain,) = obs.space["x"]
    assert (domain.low, domain.high) == (0, 103)
