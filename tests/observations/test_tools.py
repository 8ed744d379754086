"""Columns of tables that are asked for, dropped, or seeds, and directions of objectives."""

import numpy as np
import pandas as pd
import pytest
from conftest import coarse_method

import parzax as px

N = 90
RNG = np.random.default_rng(0)
LR, K = 10 ** RNG.uniform(-4, 0, N), RNG.integers(1, 9, N)
LOSS = (np.log10(LR) + 2) ** 2 + 0.1 * K
DATES = pd.date_range("2026-01-01", periods=N, freq="h")


def test_what_is_asked_for_is_no_date():
    """A named date is left out, as labels of each row are; two columns of one name are an error."""
    df = pd.DataFrame({"lr": LR, "config/lr": LR, "begun": DATES, "value": LOSS})
    obs = px.Observations.from_dataframe(df, directions="minimize", parameters=["lr", "begun"], warn=False)
    assert obs.space.names == ("lr",)
    assert obs.report.left_out[-1].startswith("begun: 90 different labels")
    with pytest.raises(ValueError, match="'lr' appears more than once"):
        px.Observations.from_dataframe(df, directions="minimize", parameters=["lr", "config/lr"], warn=False)


def test_dropped_columns_are_gone():
    """Of states and objectives too; catches rows left out by a column that was dropped."""
    df = pd.DataFrame(
        {"params_lr": LR, "values_0": LOSS, "values_1": -LOSS, "state": ["FAIL", "COMPLETE"] * 45}
    )
    assert px.Observations.from_dataframe(df, directions=["minimize"] * 2, warn=False).n == 45
    obs = px.Observations.from_dataframe(df, directions="minimize", drop=["state", "values_1"], warn=False)
    assert (obs.n, obs.n_objectives) == (90, 1)


def test_what_may_be_meant_otherwise_is_said():
    """A score that is minimised, and a column of seeds."""
    df = pd.DataFrame({"lr": LR, "k": K, "score": -LOSS})
    said = "\n".join(px.Observations.from_dataframe(df, "score", warn=False).report.inferred)
    assert "'score' is minimised; if more is better, directions='maximize'" in said
    clear = df.rename(columns={"score": "rmse"})
    said = "\n".join(px.Observations.from_dataframe(clear, "rmse", warn=False).report.inferred)
    assert "if more is better" not in said
    with pytest.raises(ValueError, match="'seed': a fold or a seed, by its name"):
        px.Observations.from_dataframe(df.rename(columns={"k": "seed"}), "score", warn=False)


def test_an_objective_may_have_decimal_commas():
    """As parameters may; catches any words in it that are taken for failed rows."""
    text = [f"{x:.5f}".replace(".", ",") for x in LOSS]
    df = pd.DataFrame({"lr": LR, "точность": text})
    obs = px.Observations.from_dataframe(df, "точность", directions="maximize", warn=False)
    np.testing.assert_allclose(-obs.losses[:, 0], LOSS, atol=1e-5)
    with pytest.raises(ValueError, match="'sank' is not a number"):
        px.Observations.from_dataframe(df.replace(text[3], "sank"), "точность", warn=False)


@pytest.mark.slow
def test_seeds_are_runs_of_their_own():
    """A column of seeds gives a leading axis; shorter runs are filled with rows that count for nothing."""
    df = pd.DataFrame({"lr": LR, "k": K, "rep": np.arange(N) % 3, "value": LOSS})
    obs = px.Observations.from_dataframe(df, directions="minimize", seed="rep", warn=False)
    assert obs.values.shape == (3, 30, 2)
    assert obs.weight is None
    short = df.drop(index=[4, 7])
    obs = px.Observations.from_dataframe(short, directions="minimize", seed="rep", warn=False)
    assert obs.values.shape == (3, 30, 2)
    assert (~np.isnan(obs.losses[..., 0])).sum(axis=1).tolist() == [30, 28, 30]
    assert "3 seeds of 28 to 30 rows each" in obs.report.inferred
    quick = coarse_method(False)
    together = px.cond_ped_anova(obs, 0.3, **quick, n_resamples=0)
    assert together.n_seeds == 3
    own = px.Observations.from_dataframe(
        short[short.rep == 1].drop(columns="rep"), directions="minimize", space=obs.space
    )
    np.testing.assert_allclose(
        together.importance[1], px.cond_ped_anova(own, 0.3, **quick, n_resamples=0).importance, rtol=1e-5
    )
    # Weights, given later, do not bring rows that are none.
    again = px.cond_ped_anova(obs.with_weight(np.ones((3, 30))), 0.3, **quick, n_resamples=0)
    np.testing.assert_allclose(again.importance, together.importance, rtol=1e-5)


ERRORS = [
    ({"seed": 3}, TypeError, "seed must be a column name, got 3"),
    ({"parameters": "value"}, ValueError, "parameters: 'value' is used for something else"),
    ({"parameters": "lr", "drop": "lr"}, ValueError, "parameters: the table has no column 'lr'"),
    ({"parameters": "lr", "space": px.Space({"lr": px.Float(0, 1)})}, TypeError, "space already names"),
    ({"drop": ["lr", "k"]}, ValueError, "no column is left for parameters"),
]


@pytest.mark.parametrize(("options", "error", "message"), ERRORS)
def test_errors(options, error, message):
    """Columns that are not there, or are two things at once."""
    df = pd.DataFrame({"lr": LR, "k": K, "value": LOSS})
    with pytest.raises(error, match=message):
        px.Observations.from_dataframe(df, **({"directions": "minimize", "warn": False} | options))
