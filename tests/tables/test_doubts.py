"""Thirty tables with a doubtful column each: thirty errors whose command and call, copied, work."""

import shlex

import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.lens.cli import main

N = 60
RNG = np.random.default_rng(0)
LR, DEPTH = RNG.random(N).round(6), RNG.integers(1, 9, N)
LOSS = ((LR - 0.4) ** 2 + 0.05 * DEPTH + RNG.normal(0, 0.02, N)).round(6)
ROWS = np.arange(N)
TRIAL, STEP = np.repeat(np.arange(20), 3), np.tile(np.arange(3), 20)
SAME = {"lr": LR[TRIAL], "depth": DEPTH[TRIAL]}

# Name of the doubtful column -> the columns of the table, the objective.
SINGLE = {
    "run_id": [f"r{i}" for i in ROWS],
    "Trial": ROWS,
    "uuid": [f"{i:08x}" for i in ROWS * 7919],
    "host": RNG.choice(["a", "b"], N),
    "job_name": [f"job {i}" for i in ROWS],
    "tid": RNG.permutation(N),
    "order": ROWS * 3 + RNG.integers(0, 2, N),
    "lhs": RNG.permutation(N) + 1,
    "val_acc": RNG.random(N),
    "f1-score": RNG.random(N),
    "test/xyz": RNG.random(N),
    "best_epoch": RNG.integers(1, 50, N),
    "num_params": RNG.integers(1000, 9000, N),
    "tokens_per_second": RNG.random(N),
    "grad_norm": RNG.random(N),
    "kudos": np.exp(-LOSS) + RNG.normal(0, 1e-4, N),
    "rank": pd.Series(LOSS).rank().to_numpy(),
    "train time (s)": RNG.random(N),
    "created_at": [f"2026-01-{1 + i % 28:02d} 10:00:00" for i in ROWS],
    "clocked": 1.7e9 + RNG.permutation(N) * 500.5,
    "when": [f"2026-01-{1 + i % 28:02d}" for i in ROWS],
    "outcome": RNG.choice(["good", "bad"], N),
    "converged": RNG.choice([True, False], N),
    "seed": RNG.integers(0, 5, N),
    "fold": ROWS % 5,
    "epoch": RNG.integers(1, 9, N),
    "my depth": np.array([f"d{x}" for x in range(9)])[DEPTH],
    "notes": [f"lr {x}" for x in LR],
    "it's": LOSS * 2 + 1,
}
TABLES = {name: {"lr": LR, "depth": DEPTH, name: values, "loss": LOSS} for name, values in SINGLE.items()}
TABLES["steps of trials"] = SAME | {"trial": TRIAL, "step": STEP, "loss": LOSS}
TABLES["accuracy_drop"] = {"lr": LR, "depth": DEPTH, "accuracy_drop": LOSS}
TABLES["unnamed objective"] = {"lr": LR, "depth": DEPTH, "y": LOSS}
CALL = "If this guess is right, copy it; else change it: "


@pytest.mark.parametrize("name", TABLES)
def test_the_error_can_be_copied(name, tmp_path, monkeypatch, capsys):
    """The words name the column and a reason; the guess leaves it out, or says what it is."""
    monkeypatch.chdir(tmp_path)
    df, path = pd.DataFrame(TABLES[name]), tmp_path / "my log.csv"
    df.to_csv(path, index=False)
    words = ["importance", "my log.csv", "--resamples", "0"]
    words += ["--target", df.columns[-1]] * (name != "unnamed objective")
    assert main(words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    said, command = line.split(CALL)
    assert "'my log.csv': The table does not say what its columns are" in said
    assert len(said) < 400
    program, *copied = shlex.split(command)
    assert (program, copied[: len(words)]) == ("parzax", words)
    assert main(copied) == 0
    printed = capsys.readouterr().out
    rows = {"steps of trials": 20}.get(name, N)
    assert (
        f"{rows} rows, minimize" in printed or f"of {N} rows" in printed or f"{N} rows, minimize" in printed
    )

    target = {} if name == "unnamed objective" else {"target": df.columns[-1]}
    with pytest.raises(ValueError, match="The table does not say") as error:
        px.Observations.from_dataframe(df, **target, warn=False)
    if name in SINGLE:
        assert f"{name!r}: " in said or f'"{name}": ' in said, said
    call = str(error.value).split(CALL)[1]
    obs = eval(call.replace("(df", "(df, warn=False"), {"px": px, "df": df})
    assert obs.space.names == ("lr", "depth")
    assert obs.n == rows


def test_what_is_named_is_not_asked():
    """With parameters, a space or bounds nothing is doubted; drop= leaves a column out."""
    df = pd.DataFrame(TABLES["kudos"])
    for given in (
        {"parameters": ["lr", "depth", "kudos"]},
        {"space": px.Space({"lr": px.Float(0, 1), "depth": px.Int(1, 8), "kudos": px.Float(0, 2)})},
    ):
        obs = px.Observations.from_dataframe(df, "loss", **given, warn=False)
        assert obs.space.names == ("lr", "depth", "kudos")
    obs = px.Observations.from_dataframe(df, "loss", drop="kudos", warn=False)
    assert obs.space.names == ("lr", "depth")


def test_tasks_are_in_the_call():
    df = pd.DataFrame(TABLES["val_acc"]).assign(task=np.repeat(["a", "b"], N // 2))
    with pytest.raises(ValueError, match=r"px\.Observations\.by_task\(df, task='task', target='loss', "):
        px.Observations.by_task(df, "task", "loss", warn=False)
