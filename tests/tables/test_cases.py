"""Tables as people have them that were once read wrongly: the right answer, or an error that asks."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.lens.tables.doubts import DoubtError

N = 60
RNG = np.random.default_rng(0)
X, LOSS = RNG.random(N), RNG.random(N)
BIG = 2**60 + np.arange(N)
FINE, TUPLES = RNG.permutation(64) + 1, [f"({i}, {2 * i})" for i in range(N)]


@pytest.fixture(params=["frame", "csv", "columns"])
def read(request, tmp_path):
    """Reads columns as a data frame, as a CSV file of it, or as they are."""

    def read_columns(columns: dict[str, Any], target: str = "loss", **options: Any) -> px.Observations:
        df = pd.DataFrame(columns)
        if request.param == "csv":
            df.to_csv(tmp_path / "t.csv", index=False)
            df = tmp_path / "t.csv"
        df = columns if request.param == "columns" else df
        return px.Observations.from_dataframe(df, target, warn=False, **options)

    return read_columns


@pytest.mark.parametrize(
    "name",
    [
        "accuracy_drop",
        "acc_gap",
        "rmse_improvement",
        "mse_reduction",
        "cost_savings",
        "accuracy_std",
        "f1_loss",
    ],
)
def test_directions_that_a_name_does_not_say(read, name):
    """R: words of both directions in a name ask."""
    with pytest.raises(DoubtError, match=f"nothing says whether {name!r} should be small or large"):
        read({"x": X, name: LOSS}, name)
    assert read({"x": X, name: LOSS}, name, directions="maximize").report.directions == ("maximize",)


@pytest.mark.parametrize(
    ("column", "choices"),
    [
        (["10:30", "20:40"] * 30, ("10:30", "20:40")),
        (["1.0", "1.10", "1.1", "2.0"] * 15, ("1.0", "1.1", "1.10", "2.0")),
        (["001", "01", "1"] * 20, ("001", "01", "1")),
        ([(64, 32), (128,), [8, 8]] * 20, ("(128,)", "(64, 32)", "[8, 8]")),
        ([True, False] * 30, (False, True)),
        ([2**60, 2**60 + 1, 2**60 + 2] * 20, (2**60, 2**60 + 1, 2**60 + 2)),
    ],
    ids=["times", "versions", "codes", "tuples and lists", "booleans", "large integers"],
)
def test_choices_are_labels_by_their_text(read, column, choices):
    """S, V, Q, P: nothing is merged, and nothing becomes a time."""
    (domain,) = read({"c": column, "x": X, "loss": LOSS}).space["c"]
    assert tuple(map(str, domain.choices)) == tuple(map(str, choices))


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"k": FINE, "x": RNG.random(64), "loss": (FINE - 20.0) ** 2}, "'k': a counter of the rows"),
        ({"k": BIG, "x": X, "loss": LOSS}, "'k': an identity"),
        ({"k": TUPLES, "x": X, "loss": LOSS}, "'k': an identity"),
    ],
    ids=["Latin hypercube", "large integers", "tuples"],
)
def test_columns_of_different_values_are_asked_for(read, columns, reason):
    """U, P, Q: they are not left out without a word, and by one rule where they are named."""
    with pytest.raises(DoubtError, match=reason):
        read(columns)
    named = read(columns, parameters=["k", "x"])
    assert named.report.unread == (() if "counter" in reason else ("k",))


def test_what_may_matter_and_is_left_out_stands_in_the_first_sentence():
    """A parameter by its mark of which no two rows have the same label; catches a rest that sums to 1."""
    columns = {"param_layers": TUPLES, "param_x": X, "param_y": LOSS[::-1], "params": "{}"}
    df = pd.DataFrame(columns | {"mean_test_score": LOSS})
    result = px.cond_ped_anova(px.Observations.from_dataframe(df, "mean_test_score", warn=False), 0.3)
    assert "; left out, although it may matter: 'layers'." in result.text()


@pytest.mark.parametrize("name", ["run_id", "Name", None])
def test_epochs_at_which_runs_ended_are_no_steps(read, name):
    """L: 100 runs stay 100 runs, also if the guess is copied."""
    rng = np.random.default_rng(0)
    columns = {"warmup": rng.integers(15, 25, 100), "epoch": rng.permutation(140)[:100]}
    names = rng.permutation(900)[:100] + 100
    columns |= {name: names if name == "run_id" else [f"run-{i}" for i in names]} if name else {}
    with pytest.raises(DoubtError) as error:
        read(columns | {"val_loss": rng.random(100)}, "val_loss")
    assert error.value.guess == {"parameters": ["warmup"]}
    assert read(columns | {"val_loss": rng.random(100)}, "val_loss", **error.value.guess).n == 100


def test_trials_of_which_none_has_a_score(tmp_path):
    """Y: a folder of Keras Tuner in which all trials failed."""
    for i in range(2):
        trial = {
            "trial_id": str(i),
            "hyperparameters": {"values": {"units": 32 + i}},
            "metrics": {"metrics": {}},
        }
        (tmp_path / str(i)).mkdir()
        (tmp_path / str(i) / "trial.json").write_text(json.dumps(trial | {"score": None, "status": "FAILED"}))
    with pytest.raises(ValueError, match="no trial has a number in 'score': 2 FAIL"):
        px.Observations.from_dataframe(tmp_path, warn=False)


def test_bayesian_optimization_maximises(tmp_path):
    """AD: its log has the target, the parameters and times."""
    time = {"datetime": "2026-01-01 00:00:00", "elapsed": 1.0, "delta": 0.1}
    rows = [{"target": y, "params": {"x": x}, "datetime": time} for x, y in zip(X, LOSS, strict=True)]
    (tmp_path / "logs.json").write_text("\n".join(map(json.dumps, rows)))
    obs = px.Observations.from_dataframe(tmp_path / "logs.json", warn=False)
    assert (obs.space.names, obs.report.directions) == (("x",), ("maximize",))


def test_the_worst_infinity_is_no_objective(read):
    """W: one rule for tables and arrays."""
    loss = LOSS.copy()
    loss[:2] = np.inf, -np.inf
    obs = read({"x": X, "loss": loss})
    arrays = px.Observations.from_arrays(obs.space, obs.values, loss)
    np.testing.assert_array_equal(obs.losses, arrays.losses)
    assert (np.isnan(obs.losses).sum(), np.nanmin(obs.losses)) == (1, -np.inf)
