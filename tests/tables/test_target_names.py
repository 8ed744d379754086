"""The objective of a table by the end of its name."""

from pathlib import Path

import pandas as pd
import pytest

import parzax as px
from parzax.lens.cli import main

TABLE = {
    "params.lr": [0.1, 0.2, 0.3],
    "metrics.loss": [1.0, 2.0, 3.0],
    "metrics.val_acc": [0.5, 0.4, 0.3],
    "train.size": [1, 2, 3],
    "test.size": [1, 2, 3],
}


def read(target: str | list[str]) -> px.Observations:
    table = pd.DataFrame(TABLE)
    return px.Observations.from_dataframe(table, target=target, directions="minimize", warn=False)


@pytest.mark.parametrize("name", ["metrics.loss", "loss", "Loss"])
def test_the_end_of_a_name_is_enough_if_only_one_column_has_it(name: str) -> None:
    assert read(name).losses[:, 0].tolist() == TABLE["metrics.loss"]
    assert read([name, "val_acc"]).losses.shape == (3, 2)


def test_the_command_finds_value_under_a_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame(
        {"Number": [0, 1, 2], "State": "COMPLETE", "Value": [1.0, 2, 3], "Param x": [1.0, 2, 4]}
    ).to_csv(path)
    main(["importance", str(path), "--direction", "minimize", "--resamples", "0"])
    assert "smallest Value" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["size", "acc", "nothing", "lr"])
def test_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"no column '{name}'"):
        read(name)
