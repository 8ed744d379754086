"""The commands `parzax interactions` and `parzax compare`, and outputs that cannot be written."""

import json
import tempfile
from importlib import import_module
from pathlib import Path

import jax
import numpy as np
import optuna
import pandas as pd
import pytest
from command_line import run
from optuna.distributions import BaseDistribution

import parzax as px
from parzax.lens.cli import commands, main

N = 120
TARGET = ["--target", "loss", "--direction", "minimize", "--level", "0.3"]


def make_table(seed, weights):
    """A table of three parameters and a result; the last one is noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(N, 3)).round(4)
    df = pd.DataFrame(x, columns=["lr", "depth", "noise"])
    return df.assign(loss=x @ weights + 0.01 * rng.uniform(size=N))


@pytest.fixture(autouse=True)
def _folder(in_tmp_path):
    make_table(0, [1.0, 0.4, 0.0]).to_csv("a.csv", index=False)
    make_table(1, [0.4, 1.0, 0.0]).to_csv("b.csv", index=False)


def test_interactions_are_those_of_python(capsys):
    # Catches options that do not reach the computation, and a table or a file with other numbers.
    outputs = ["--json", "i.json", "--csv", "i.csv", "--plot", "i.png"]
    status, out, err = run(capsys, "interactions", "a.csv", *TARGET, "--draws", "50", *outputs)
    assert status == 0, err
    obs = px.Observations.from_dataframe("a.csv", "loss", directions="minimize", warn=False)
    with jax.enable_x64(True):
        expected = px.interactions(obs, 0.3, n_draws=50)
    records = json.loads(Path("i.json").read_text())["records"]
    assert [(row["first"], row["second"]) for row in records] == list(expected.pairs)
    np.testing.assert_allclose([row["importance"] for row in records], expected.importance[0])
    np.testing.assert_allclose(pd.read_csv("i.csv")["p_value"], expected.p_value[0])
    assert Path("i.png").read_bytes().startswith(b"\x89PNG")
    lines = out.splitlines()
    assert lines[0].startswith("Do next: ")
    assert lines[4].startswith("pair ")
    assert lines[5].startswith("lr × depth")

    assert lines[-3:] == ["written: i.png", "written: i.json", "written: i.csv"]
    assert "things inferred: --verbose lists them" in out


def test_two_tables_are_compared_in_one_space(capsys):
    # Catches tables refused since their smallest and largest values differ, and logs in the wrong order.
    options = [*TARGET, "--resamples", "200", "--json", "c.json", "--csv", "c.csv"]
    status, out, err = run(capsys, "compare", "a.csv", "b.csv", *options)
    assert status == 0, err
    both = pd.concat([pd.read_csv("a.csv").assign(log="a"), pd.read_csv("b.csv").assign(log="b")])
    logs = px.Observations.by_task(both, "log", "loss", directions="minimize", warn=False)
    with jax.enable_x64(True):
        expected = px.compare(logs["a"], logs["b"], 0.3, n_resamples=200)
    records = json.loads(Path("c.json").read_text())["records"]
    assert [row["parameter"] for row in records] == ["lr", "depth", "noise"]
    np.testing.assert_allclose([row["difference"] for row in records], expected.difference[0])
    np.testing.assert_array_equal(pd.read_csv("c.csv")["differs"], expected.differs[0])
    assert records[0]["difference"] < -0.3 < 0.3 < records[1]["difference"]
    lines = out.splitlines()
    assert "; first is a.csv, second is b.csv" in out
    assert sum(line.endswith("differs") for line in lines) == 2
    assert lines[-2:] == ["written: c.json", "written: c.csv"]


def test_halves_of_one_log(capsys):
    # Catches a second log that has to be given, and a certainty that nobody asked for.
    status, out, err = run(capsys, "compare", "a.csv", *TARGET, "--resamples", "0")
    assert status == 0, err
    assert "first is the first half of a.csv, second is the second half" in out
    assert f"\n{N} rows, minimize" in out
    assert "second: " not in out  # a half does not have all rows
    assert "How sure: unknown: it takes resamples, or several seeds." in out
    assert "differs" not in out


def test_seeds_of_compared_tables(capsys):
    # Catches --seed refused, or counted as a parameter.
    for name in ("a.csv", "b.csv"):
        pd.read_csv(name).assign(run=np.arange(N) % 2).to_csv(name, index=False)
    quick = [*TARGET, "--seed", "run", "--resamples", "0"]
    status, out, err = run(capsys, "compare", "a.csv", "b.csv", *quick)
    assert status == 0, err
    assert f"{N // 2} rows in each of 2 seeds, minimize" in out
    assert "run" not in [line.split()[0] for line in out.splitlines() if line]
    assert sum(line.endswith("differs") for line in out.splitlines()) == 2


def test_two_studies_of_one_file(capsys):
    # Catches a file of several studies of which one alone can be read.
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions: dict[str, BaseDistribution] = {
        name: optuna.distributions.FloatDistribution(0, 1) for name in ("lr", "depth")
    }
    for seed, name in enumerate("ab"):
        study = optuna.create_study(storage="sqlite:///s.db", study_name=name)
        values = np.random.default_rng(seed).uniform(size=(60, 2)).tolist()
        for row in values:
            params = dict(zip(distributions, row, strict=True))
            create = optuna.trial.create_trial
            study.add_trial(create(params=params, distributions=distributions, value=row[seed]))
    quick = ["--level", "0.3", "--resamples", "0"]
    status, out, err = run(capsys, "compare", "s.db", "s.db", "--study", "a", "b", *quick)
    assert (status, err) == (0, "")
    rows = {
        line.split()[0]: line.split()[1:3] for line in out.splitlines() if line.startswith(("lr ", "depth "))
    }
    assert {name: cells[0] for name, cells in rows.items()} == {"lr": "1.00", "depth": "0"}
    status, _, err = run(capsys, "compare", "s.db", "s.db", *quick)
    assert (status, "choose one with --study: 'a', 'b'" in err) == (2, True)


@pytest.mark.parametrize(("option", "column"), [("target", "loss"), ("constraints", "c"), ("group", "c")])
def test_each_log_has_the_columns(capsys, option, column):
    # Catches a second log without the objective, of which no row would count.
    first, second = make_table(0, [1.0, 0.4, 0.0]).assign(c=0), make_table(1, [0.4, 1.0, 0.0])
    first.to_csv("a.csv", index=False)
    second.drop(columns="loss" if option == "target" else []).to_csv("b.csv", index=False)
    status, out, err = run(capsys, "compare", "a.csv", "b.csv", *TARGET, f"--{option}", column)
    assert (status, out) == (2, "")
    assert f"error: 'b.csv': {option}: the table has no column '{column}'" in err


@pytest.mark.parametrize("command", ["importance", "report", "interactions", "compare"])
def test_help_has_an_example(capsys, command):
    # Catches a help text that does not render (a stray % is enough), too.
    with pytest.raises(SystemExit):
        main([command, "--help"])
    words = " ".join(capsys.readouterr().out.split())
    assert f"parzax {command} " in words.split("positional arguments")[0].replace("usage:", "", 1)


def refuse_to_make_files(*_, **__):
    raise OSError(30, "Read-only file system")


@pytest.mark.parametrize(
    "line",
    [
        "importance a.csv --target loss --json",
        "importance a.csv --target loss --plot",
        "report a.csv --target loss -o",
        "interactions a.csv --target loss --csv",
        "compare a.csv b.csv --target loss --csv",
    ],
)
def test_unwritable_outputs_are_found_before_the_work(capsys, monkeypatch, tmp_path, line):
    # Catches minutes of work that end in "Read-only file system": permissions alone do not show it.
    def read(*_):
        raise AssertionError("the log is read")

    for name in ("read_log", "read_logs", "read_sample"):
        monkeypatch.setattr(commands, name, read)
    ending = {"--json": "json", "--plot": "png", "-o": "html", "--csv": "csv"}[line.split()[-1]]
    status, _, err = run(capsys, *line.split(), f"{'x' * 300}.{ending}")
    assert (status, "File name too long" in err) == (2, True)
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse_to_make_files)
    status, _, err = run(capsys, *line.split(), f"out.{ending}")
    assert status == 2
    assert f"{line.split()[-1]}: cannot write to the folder '.'" in err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.csv", "b.csv"]


def test_a_page_that_cannot_be_written_is_refused_before_the_work(monkeypatch, tmp_path):
    # Catches the same in Python.
    obs = px.Observations.from_dataframe("a.csv", "loss", directions="minimize", warn=False)
    monkeypatch.setattr(import_module("parzax.lens.page.report"), "compute_result", None)
    with pytest.raises(ValueError, match="path: cannot write"):
        px.report(obs, tmp_path)
    monkeypatch.setattr(tempfile, "TemporaryFile", refuse_to_make_files)
    with pytest.raises(ValueError, match=r"path: cannot write 'page\.html'"):
        px.report(obs, "page.html")
