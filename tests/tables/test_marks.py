"""Marks of parameters that are none, tools' own values among the parameters, and places of results."""

import json

import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.lens.tables.files import read_table

N = 60
RNG = np.random.default_rng(0)
LR, DROPOUT, LOSS, OTHER = RNG.random((4, N))
IDS = [f"{i}_0" for i in range(N)]


def read(columns, target="loss"):
    df = columns if isinstance(columns, pd.DataFrame) else pd.DataFrame(columns)
    return px.Observations.from_dataframe(df, target, directions="minimize", warn=False)


@pytest.mark.parametrize(
    ("size", "target"),
    [
        ("params_total", "loss"),
        ("params_total", "value"),
        ("params.count", "loss"),
        ("param_count", "mean_test_acc"),
    ],
)
def test_the_size_of_a_model_is_no_mark(size, target):
    """Catches a table whose only parameter is the size of its models."""
    columns = {"lr": LR, "dropout": DROPOUT, size: RNG.integers(1_000_000, 9_000_000, N), target: LOSS}
    with pytest.raises(ValueError, match=r"a result, by its name.*parameters=\['lr', 'dropout'\]"):
        read(columns, target)


def test_a_parameter_may_be_called_model():
    """As the step of a pipeline of scikit-learn of which nothing else is searched."""
    columns = {"param_model": ["a()", "b()"] * 30, "mean_fit_time": OTHER, "mean_test_score": LOSS}
    assert px.Observations.from_dataframe(columns, warn=False).space.names == ("model",)


def test_values_of_keras_tuner_itself(tmp_path):
    """Hyperband: epochs and brackets are no parameters; a configuration counts where it ran longest."""
    for i in range(N):
        values = {"lr": LR[i // 2], "tuner/epochs": 2 + 8 * (i % 2), "tuner/bracket": 1}
        trial = {"hyperparameters": {"values": values}, "score": LOSS[i], "status": "COMPLETED"}
        (tmp_path / f"trial_{i:02d}").mkdir()
        (tmp_path / f"trial_{i:02d}" / "trial.json").write_text(json.dumps(trial))
    obs = px.Observations.from_dataframe(read_table(tmp_path), "score", directions="minimize", warn=False)
    assert obs.space.names == ("lr",)
    assert obs.report.left_out == ()
    np.testing.assert_allclose(np.sort(obs.losses[:, 0]), np.sort(LOSS[1::2]))


def test_places_of_results():
    """Where a tool writes results behind all parameters, or before them, their names do not matter."""
    page = {"Run ID": IDS, "Start Time": "2026-01-01 00:00:00", "Status": "FINISHED",
            "lr": LR, "dropout": DROPOUT, "eval_loss": LOSS, "quux": OTHER, "mlflow.note": "x"}  # fmt: skip
    obs = read(page, "eval_loss")
    assert obs.space.names == ("lr", "dropout")
    assert obs.report.left_out[0].endswith("'quux', 'mlflow.note'")
    # A summary of W&B has capitals before its keys with "_", the configuration stands before all of it.
    api = {"lr": LR, "dropout": DROPOUT, "Acc": -LOSS**2, "Quux": OTHER, "_runtime": OTHER, "_step": 3,
           "_timestamp": 1.7e9, "loss": LOSS, "name": "x"}  # fmt: skip
    with pytest.raises(ValueError, match="'Acc': a result, by its name"):
        read(api)
    del api["Acc"], api["Quux"]
    assert read(api).space.names == ("lr", "dropout")
    first = {name: api[name] for name in ("_runtime", "_step", "_timestamp", "loss", "lr", "dropout")}
    assert read(first).space.names == ("lr", "dropout")
    # As `pandas.json_normalize` names the records of W&B.
    dots = {"name": IDS, "state": "finished", "config.lr": LR, "config.dropout": DROPOUT,
            "summary.loss": LOSS, "summary.quux": OTHER, "summary._step": 3}  # fmt: skip
    assert read(dots, "summary.loss").space.names == ("lr", "dropout")
    # Older versions of Ax write metrics before its own columns.
    ax = {"arm_name": IDS, "trial_index": np.arange(N), "branin": LOSS, "l2norm": OTHER,
          "trial_status": "COMPLETED", "generation_node": "Sobol", "lr": LR, "dropout": DROPOUT}  # fmt: skip
    assert read(ax, "branin").space.names == ("lr", "dropout")
