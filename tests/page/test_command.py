"""``parzax report``: what it reads, writes, says and refuses."""

import json
import shutil
import sys

import jax
import numpy as np
import optuna
import pandas as pd
import pytest

import parzax as px
from page.test_content import Texts, data_of
from parzax.lens.cli import main

pytestmark = pytest.mark.usefixtures("in_tmp_path")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A study with pruned and failed trials, and a table of its complete ones."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    folder = tmp_path_factory.mktemp("logs")
    study = optuna.create_study(study_name="NAME", storage=f"sqlite:///{folder}/study.db")
    rng, distribution = np.random.default_rng(0), optuna.distributions.FloatDistribution(0, 1)
    states = ["COMPLETE"] * 60 + ["PRUNED"] * 5 + ["FAIL"] * 3
    for state in states:
        a, b = rng.uniform(size=2)
        study.add_trial(
            optuna.trial.create_trial(
                params={"a": a, "b": b},
                distributions={"a": distribution, "b": distribution},
                value=a if state == "COMPLETE" else None,
                state=optuna.trial.TrialState[state],
            )
        )
    complete = [t for t in study.trials if t.values]
    pd.DataFrame([t.params | {"value": t.value} for t in complete]).to_csv(folder / "t.csv", index=False)
    return folder


@pytest.mark.slow
def test_study(logs, tmp_path, capsys, monkeypatch):
    """Rows by state, the same numbers as in Python, the study in the title, and no folder of this machine.

    A terminal shows which part the command is at.
    """
    before = (logs / "study.db").read_bytes()
    argv = [f"sqlite:///{logs}/study.db", "-o", str(tmp_path / "out.html"), "--level", "0.1,0.3"]
    argv += ["--resamples", "0", "--study", "NAME"]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["report", *argv, "--date", "someday"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("reading ")
    assert out.startswith("Do next: ")
    assert out.endswith(f"written: {tmp_path / 'out.html'}\n")
    assert (logs / "study.db").read_bytes() == before
    html = (tmp_path / "out.html").read_text(encoding="utf-8")
    items = Texts(html).items
    assert (
        "parzax report study.db -o out.html --level 0.1,0.3 --resamples 0 --study NAME "
        "--date someday" in items
    )
    assert "<title>study.db: NAME</title>" in html
    assert {"68 rows, minimize", "left out: 5 of them (pruned), 3 of them (failed)"} <= {*items}
    assert any(item.endswith(", float64") for item in items)
    assert str(logs) not in html
    assert str(tmp_path) not in html
    data, names = data_of(html), ["a", "b"]
    obs = px.adapters.optuna.observations(
        optuna.load_study(study_name=None, storage=f"sqlite:///{logs}/study.db")
    )
    with jax.enable_x64(True):
        wanted = px.cond_ped_anova(obs, [0.1, 0.3]).importance
    at = [data["labels"].index(name) for name in names]
    np.testing.assert_allclose(np.array(data["mean"])[:, at], wanted, atol=1e-3)


def test_the_page_says_what_the_command_says(tmp_path, capsys):
    """Catches other samples or shuffles where the page opens: p-values would fall on both sides of 0.05."""
    log, rng = "t.csv", np.random.default_rng(0)
    df = pd.DataFrame(rng.uniform(size=(60, 3)), columns=["a", "b", "c"])
    df.assign(value=df.a + 0.4 * df.b + 0.2 * rng.normal(size=60)).to_csv(log, index=False)
    assert main(["importance", log, "--level", "0.2", "--json", "one.json"]) == 0
    sentences, table, *_ = capsys.readouterr().out.split("\n\n")
    known = {x["parameter"]: x for x in json.loads((tmp_path / "one.json").read_text())["records"]}
    p_of = {row.split()[0]: row.split()[5] for row in table.splitlines()[1:4]}
    assert main(["report", log, "-o", "page.html", "--level", "0.2,0.5"]) == 0
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    with jax.enable_x64(True):
        obs = px.Observations.from_dataframe(log, directions="minimize", warn=False)
        px.report(obs, "python.html", levels=[0.5, 0.2], interactions=False)
    python = data_of((tmp_path / "python.html").read_text(encoding="utf-8"))
    for data in (data_of(html), python):
        i, names = data["start"], data["labels"]
        assert data["levels"][i] == 0.2
        for key, column in (("mean", "importance"), ("low", "importance_low"), ("high", "importance_high")):
            np.testing.assert_allclose(data[key][i], [known[x][column] for x in names], atol=6e-5)
        assert {name: data["cells"][i][names.index(name)][2] for name in names} == p_of
    short = Texts(html).ids["short"]
    for sentence in sentences.splitlines()[-3:]:
        assert sentence in short or sentence.startswith("Do next: add rows")


@pytest.mark.slow
def test_command_page_and_python_agree_on_a_study_with_constraints(tmp_path, capsys):
    """By default: the level of few rows, feasible rows alone, and the same three sentences."""
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/limits.db")
    distributions = {name: optuna.distributions.FloatDistribution(0, 1) for name in "abc"}
    for row in np.random.default_rng(0).uniform(size=(60, 3)).round(6).tolist():
        params = dict(zip("abc", row, strict=True))
        state = {"value": (row[0] - 0.9) ** 2 + 0.1 * row[1], "system_attrs": {"constraints": [row[0] - 0.7]}}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, **state))
    said = []
    for command in (["importance"], ["report", "-o", "page.html"]):
        assert main([*command, f"sqlite:///{tmp_path}/limits.db", "--resamples", "0"]) == 0
        said.append(capsys.readouterr().out.splitlines()[:3])
    said.append(px.cond_ped_anova(px.adapters.optuna.observations(study), n_resamples=0).sentences())
    assert said[0] == said[1] == said[2]
    n = sum(trial.params["a"] <= 0.7 for trial in study.trials)
    assert f"(11 of {n} feasible rows, smallest loss)" in said[0][1]
    assert (
        f"left out: {60 - n} of them (not feasible)"
        in Texts((tmp_path / "page.html").read_text("utf-8")).items
    )


COLUMNS = ("--target", "value", "--parameters", "a", "b")


@pytest.mark.slow
def test_table_in_this_folder(logs, tmp_path, capsys):
    """The page is report.html unless it is said; what was inferred stands on the page."""
    shutil.copy(logs / "t.csv", tmp_path)
    assert main(["report", "t.csv", *COLUMNS, "--out=page.html", "--level=0.2", "--title", "mine"]) == 0
    assert capsys.readouterr().err == ""
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>mine</title>" in html
    assert any(item.startswith("inferred: ") for item in Texts(html).items)
    assert (
        f"parzax report t.csv {' '.join(COLUMNS)} --out=page.html --level=0.2 --title mine"
        in Texts(html).items
    )
