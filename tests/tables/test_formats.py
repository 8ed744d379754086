"""Tables in the shapes that tools write: parameters, states and rows of each; values are made up here."""

import json
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
from conftest import coarse_method
from reference import logs

import parzax as px
from parzax.lens.cli import main
from parzax.lens.cli.commands import METHODS
from parzax.lens.tables import recognise
from parzax.lens.tables.files import read_table

N = 60
RNG = np.random.default_rng(0)
LR, DROPOUT = 10 ** RNG.uniform(-4, -1, N), RNG.uniform(0, 0.8, N)
OPTIMISER = RNG.choice(["adam", "sgd"], N)
LOSS = (np.log10(LR) + 2.5) ** 2 + RNG.normal(0, 0.05, N)
IDS, DATES = [f"{i:08x}" for i in range(N)], pd.date_range("2026-01-01", periods=N, freq="h")
TIME, STEPS = RNG.uniform(1, 2, N), RNG.integers(5, 20, N)
FAILED = np.arange(N) % 10 == 3


def read(source, target):
    return px.Observations.from_dataframe(source, target, directions="minimize", warn=False)


def parameters(i):
    return {"lr": float(LR[i]), "opt": {"name": str(OPTIMISER[i]), "dropout": float(DROPOUT[i])}}


def sklearn():
    return pd.DataFrame(
        {"mean_fit_time": TIME, "std_fit_time": TIME, "param_lr": LR, "param_dropout": DROPOUT,
         "params": [{"lr": x, "dropout": y} for x, y in zip(LR, DROPOUT, strict=True)],
         "split0_test_score": -LOSS, "mean_test_score": LOSS, "std_test_score": TIME,
         "rank_test_score": STEPS}
    )  # fmt: skip


def test_a_dictionary_of_columns_is_a_table():
    """As ``cv_results_``, with masked values; columns of different lengths are refused."""
    df, absent = sklearn().drop(columns="params"), OPTIMISER[0] == OPTIMISER
    columns = {name: df[name].to_numpy() for name in df}
    columns["param_dropout"] = np.ma.masked_array(DROPOUT, absent)
    obs = px.Observations.from_dataframe(columns, warn=False)
    frame = df.assign(param_dropout=np.where(absent, np.nan, DROPOUT))
    same = px.Observations.from_dataframe(frame, warn=False)
    assert obs.space == same.space
    assert obs.report == same.report
    np.testing.assert_array_equal(obs.values, same.values)
    np.testing.assert_array_equal(obs.losses, same.losses)
    with pytest.raises(ValueError, match="different lengths: 1, 2"):
        px.Observations.from_dataframe({"x": [1, 2], "value": [1]})
    with pytest.raises(ValueError, match="no rows"):
        px.Observations.from_dataframe({"x": [], "value": []})


def states(failed, complete):
    return np.where(FAILED, failed, complete)


# The columns of a tool, its only result, the direction, and who says it.
TOOLS = {
    "Optuna": (
        {"number": range(N), "value": LOSS, "datetime_start": "2026-01-01", "params_lr": LR,
         "params_dropout": DROPOUT, "user_attrs_note": IDS, "state": states("FAIL", "COMPLETE")},
        "value", "minimize", "",
    ),
    "scikit-learn": (sklearn(), "mean_test_score", "maximize", "as scikit-learn says"),
    "MLflow": (
        {"run_id": IDS, "status": states("FAILED", "FINISHED"), "start_time": DATES,
         "params.lr": LR.astype(str), "params.dropout": DROPOUT.astype(str), "metrics.epoch": STEPS,
         "metrics.train_time_s": TIME, "metrics.system/cpu_utilization": TIME, "metrics.val_accuracy": LOSS,
         "tags.mlflow.runName": IDS},
        "metrics.val_accuracy", "maximize", "by its name",
    ),
    "Ray Tune": (
        {"trial_id": IDS, "config/lr": LR, "config/dropout": DROPOUT, "rmse": LOSS, "pid": STEPS,
         "training_iteration": STEPS, "timestamp": TIME, "time_total_s": TIME, "time_since_restore": TIME,
         "done": True, "date": DATES.astype(str), "iterations_since_restore": STEPS, "timesteps_total": STEPS,
         "hostname": "h"},
        "rmse", "minimize", "by its name",
    ),
    # As the documentation's own script writes it: dictionaries as text.
    "Weights & Biases' API": (
        {"summary": [str({"_runtime": t, "_step": 3, "epoch": 9, "top": x})
                     for t, x in zip(TIME.tolist(), LOSS.tolist(), strict=True)],
         "config": [str({"lr": x, "dropout": y}) for x, y in zip(LR.tolist(), DROPOUT.tolist(), strict=True)],
         "name": IDS},
        "summary/top", "minimize", "",
    ),
    "Weights & Biases": (
        {"Name": IDS, "State": states("crashed", "finished"), "Notes": "-", "User": "u", "Tags": "",
         "Created": "2026", "Runtime": STEPS, "Sweep": "s", "lr": LR, "dropout": DROPOUT, "epoch": STEPS,
         "val_loss": LOSS},
        "val_loss", "minimize", "by its name",
    ),
    "Ax": (
        {"trial_index": range(N), "arm_name": IDS, "trial_status": states("FAILED", "COMPLETED"),
         "generation_node": "Sobol", "acc": LOSS, "lr": LR, "dropout": DROPOUT},
        "acc", "maximize", "by its name",
    ),
    "Syne Tune": (
        {"trial_id": range(N), "config_lr": LR, "config_dropout": DROPOUT, "st_worker_iter": 0,
         "st_tuner_time": TIME, "epoch": 1, "elapsed_time": TIME, "val_error": LOSS},
        "val_error", "minimize", "by its name",
    ),
    "Nevergrad": (
        {"#loss": LOSS, "#uid": IDS, "#num-ask": range(N), "lr": LR, "lr#sigma": TIME, "dropout": DROPOUT},
        "#loss", "minimize", "as Nevergrad says",
    ),
    "nested records (config)": (
        {"config/lr": LR, "config/dropout": DROPOUT, "seconds": TIME, "epoch": STEPS, "best_val_f1": LOSS,
         "ended": "2026"},
        "best_val_f1", "maximize", "by its name",
    ),
}  # fmt: skip


NO_STATES = ("scikit-learn", "Ray Tune", "Weights & Biases' API", "Syne Tune", "Nevergrad")
NO_STATES += ("nested records (config)",)


@pytest.mark.parametrize("tool", TOOLS)
def test_data_frames(tool):
    """Catches a state, a time, a rank or an id that is a parameter or a second result, and failed runs.

    The report says which tool, what is left out, the objective and who says its direction.
    """
    columns, target, direction, source = TOOLS[tool]
    df, named = pd.DataFrame(columns), {}
    if tool in ("Weights & Biases", "Ax"):
        # Their results have no mark, so a name is a guess alone.
        with pytest.raises(ValueError, match=f"no objective is named, but it may be '{target}'") as error:
            px.Observations.from_dataframe(df, warn=False)
        named = error.value.guess
    obs = px.Observations.from_dataframe(df, **named, warn=False)
    report = obs.report
    assert obs.space.names == ("lr", "dropout")
    assert obs.space["lr"][0].log
    fails = tool not in NO_STATES
    assert report.dropped == ({"state FAIL": int(FAILED.sum())} if fails else {})
    losses = LOSS[~FAILED] if fails else LOSS
    np.testing.assert_allclose(obs.losses[:, 0], losses if direction == "minimize" else -losses)
    assert (report.objectives, report.directions) == ((target,), (direction,))
    assert named or target == "value" or f"objective: {target}, the only result" in report.lines()
    assert any(f"a table of {tool}" in note for note in report.inferred) == (tool != "Optuna")
    names_all_columns = tool in ("Optuna", "scikit-learn")
    assert any("left out, not parameters: " in line for line in report.lines()) != names_all_columns
    (said,) = [note for note in report.inferred if note.startswith("direction:")]
    assert source in said
    assert (said in report.lines()) == (not source)


def test_of_several_results_one_is_named(tmp_path, capsys, monkeypatch):
    """The error lists them and prints a command that works; catches std_* and times among them."""
    monkeypatch.chdir(tmp_path)
    sklearn().assign(mean_test_f1=LOSS, std_test_f1=TIME).to_csv("my cv.csv", index=False)
    assert main(["importance", "my cv.csv", "--resamples", "0"]) == 2
    error = capsys.readouterr().err.strip()
    said, command = error.split(" If this guess is right, copy it; else change it: ")
    assert said.endswith("no objective is named, but it may be 'mean_test_score', 'mean_test_f1'.")
    assert "'my cv.csv': The table does not say" in said
    assert command == "parzax importance 'my cv.csv' --resamples 0 --target mean_test_score"
    runs = {"params.lr": LR, "run_id": IDS, "metrics.train_loss": TIME, "metrics.q": TIME, "metrics.acc": LR}
    with pytest.raises(ValueError, match=r"may be 'metrics.acc', 'metrics.train_loss', 'metrics.q'\. If"):
        px.Observations.from_dataframe(pd.DataFrame(runs), warn=False)
    clear = px.Observations.from_dataframe(
        pd.DataFrame(runs), drop=["metrics.train_loss", "metrics.q"], warn=False
    )
    assert clear.report.objectives == ("metrics.acc",)


def smac(version):
    """A run history as versions 1, 2.0 and 2.2 write it."""
    status = [2 if failed else 1 for failed in FAILED]
    names = ["StatusType.CRASHED" if failed else "StatusType.SUCCESS" for failed in FAILED]
    runs = {
        1: [[[i + 1, None, 0, 0.0], [LOSS[i], 1.5, {"__enum__": names[i]}, 0, 1, {}]] for i in range(N)],
        2: [[i + 1, None, 0, 0.0, LOSS[i], 1.5, status[i], 0, 1, {}] for i in range(N)],
        3: [{"config_id": i + 1, "instance": None, "seed": 0, "budget": None, "cost": LOSS[i], "time": 1.5,
             "cpu_time": 0.1, "status": status[i], "additional_info": {}} for i in range(N)],
    }[version]  # fmt: skip
    return {"data": runs, "configs": {str(i + 1): parameters(i) for i in range(N)}, "config_origins": {}}


def hyperopt():
    return [
        {"state": 2, "tid": i, "spec": None, "exp_key": None, "owner": None,
         "result": {"loss": float(LOSS[i]), "status": "fail" if FAILED[i] else "ok"},
         "misc": {"tid": i, "cmd": ["a", "b"], "idxs": {"lr": [i]},
                  "vals": {"lr": [float(LR[i])], "dropout": [float(DROPOUT[i])] if i % 2 else []}}}
        for i in range(N)
    ]  # fmt: skip


def write_lines(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")


def test_smac(tmp_path):
    """Every version's run history; catches numbers of states that mean others, and costs of failed runs."""
    for version in (1, 2, 3):
        (tmp_path / "runhistory.json").write_text(json.dumps(smac(version)))
        for source in (tmp_path / "runhistory.json", tmp_path):
            obs = px.Observations.from_dataframe(source, warn=False)
            assert "direction: 'cost' is minimised, as SMAC says" in obs.report.inferred
            assert obs.space.names == ("lr", "opt/name", "opt/dropout")
            assert obs.report.dropped == {"state FAIL": int(FAILED.sum())}
            np.testing.assert_allclose(obs.losses[:, 0], LOSS[~FAILED])


@pytest.mark.parametrize("lines", [True, False])
def test_hyperopt(tmp_path, lines):
    """Trials as documents of a list or of lines: values in lists of one, and of none where inactive."""
    path = tmp_path / ("trials.jsonl" if lines else "trials.json")
    write_lines(path, hyperopt()) if lines else path.write_text(json.dumps(hyperopt()))
    obs = px.Observations.from_dataframe(path, warn=False)
    assert "direction: 'result/loss' is minimised, as Hyperopt says" in obs.report.inferred
    assert obs.space.names == ("lr", "dropout")
    assert obs.report.dropped == {"state FAIL": int(FAILED.sum())}
    np.testing.assert_array_equal(np.isnan(obs.values[:, 1]), (np.arange(N) % 2 == 0)[~FAILED])


@pytest.mark.parametrize("way", ["min", "max"])
def test_keras_tuner(tmp_path, way):
    """A folder of trials; the direction is that of the metric with the score, unless another is asked for."""
    for i in range(N):
        values = {"accuracy": ("max", 0.5), "loss": ("min", 0.2), "y": (way, LOSS[i])}
        seen = {name: {"direction": d, "observations": [{"value": [x]}]} for name, (d, x) in values.items()}
        trial = {
            "trial_id": f"{i:02d}",
            "hyperparameters": {"space": [{"class_name": "Float"}], "values": {"lr": LR[i], "units": 32}},
            "metrics": {"metrics": {} if FAILED[i] else seen},
            "best_step": 3,
            "score": None if FAILED[i] else LOSS[i],
            "status": "INVALID" if FAILED[i] else "COMPLETED",
        }
        (tmp_path / f"trial_{i:02d}").mkdir()
        write_lines(tmp_path / f"trial_{i:02d}" / "trial.json", [trial])
    obs = px.Observations.from_dataframe(tmp_path, warn=False)
    assert obs.space.names == ("lr", "units")
    assert obs.report.dropped == {"state FAIL": int(FAILED.sum())}
    assert f"direction: 'score' is {way}imised, as Keras Tuner says" in obs.report.inferred
    np.testing.assert_allclose(obs.losses[:, 0], LOSS[~FAILED] * (1 if way == "min" else -1))
    asked = read(tmp_path, "score")
    assert asked.report.directions == ("minimize",)


def test_tools_that_say_the_direction():
    """Scores of scikit-learn, and what Optuna's callback writes for MLflow; other objectives are not said."""
    runs = pd.DataFrame({"run_id": IDS, "params.lr": LR, "metrics.value": LOSS, "tags.direction": "MAXIMIZE"})
    for df, target, said in (
        (sklearn(), ["mean_test_score", "mean_fit_time"], ("maximize", "minimize")),
        (sklearn(), "split0_test_score", ("maximize",)),
        (runs, "metrics.value", ("maximize",)),
        (runs.assign(**{"tags.direction": "MINIMIZE"}), "metrics.value", ("minimize",)),
        (runs.assign(**{"tags.direction": np.where(FAILED, "MINIMIZE", "MAXIMIZE")}), "metrics.value", None),
        (runs.rename(columns={"metrics.value": "metrics.score"}), "metrics.score", None),
    ):
        obs = px.Observations.from_dataframe(df, target, warn=False)
        assert obs.report.directions == (said or ("minimize",))
        assert any("direction: not given" in text for text in obs.report.inferred) == (
            said is None or len(said) > 1
        )


@pytest.mark.parametrize("kind", ["result.json", "progress.csv"])
def test_ray(tmp_path, kind):
    """A folder of trials with three epochs each, of which the last counts."""
    for i in range(N):
        folder = tmp_path / f"train_{i:02d}"
        folder.mkdir()
        rows = [
            {"loss": LOSS[i] + 2 - e, "training_iteration": e + 1, "time_total_s": 0.5 * e, "done": e > 1}
            for e in range(3)
        ]
        if kind == "result.json":
            write_lines(
                folder / kind, [{**row, "trial_id": f"t{i}", "config": parameters(i)} for row in rows]
            )
        else:
            pd.DataFrame(rows).to_csv(folder / kind, index=False)
            (folder / "params.json").write_text(json.dumps(parameters(i)))
    obs = read(tmp_path, "loss")
    assert obs.space.names == ("lr", "opt/name", "opt/dropout")
    assert obs.report.dropped == {"not the last row of its trial": 2 * N}
    np.testing.assert_allclose(obs.losses[:, 0], LOSS)


@pytest.mark.parametrize("key", ["config", "params", "hyperparameters"])
def test_nested_json(tmp_path, key):
    """Records of nobody's format: what is nested under a usual name are the parameters, nothing else is."""
    rows = [{"loss": float(LOSS[i]), "seconds": 3.0 * i, key: parameters(i)} for i in range(N)]
    write_lines(tmp_path / "log.jsonl", rows)
    (tmp_path / "log.json").write_text(json.dumps({"study": "s", "trials": rows}))
    for name in ("log.jsonl", "log.json"):
        obs = read(tmp_path / name, "loss")
        assert obs.space.names == ("lr", "opt/name", "opt/dropout")
        assert any("'seconds'" in line for line in obs.report.lines())
    # A data frame with dictionaries in its cells is the same.
    obs = read(pd.DataFrame(rows), "loss")
    assert obs.space.names == ("lr", "opt/name", "opt/dropout")


def test_patterns_and_folders(tmp_path):
    """Several files of one kind are one table; what one lacks is missing."""
    first = pd.DataFrame({"params_lr": LR[:30], "value": LOSS[:30]})
    second = pd.DataFrame({"params_lr": LR[30:], "params_dropout": DROPOUT[30:], "value": LOSS[30:]})
    for name, part in (("a.csv", first), ("b.csv", second)):
        part.to_csv(tmp_path / name, index=False)
    for source in (tmp_path, tmp_path / "*.csv"):
        obs = px.Observations.from_dataframe(read_table(source), directions="minimize", warn=False)
        assert obs.space.names == ("lr", "dropout")
        np.testing.assert_allclose(obs.losses[:, 0], LOSS)
        assert np.isnan(obs.values[:30, 1]).all()
    second.to_parquet(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"holds \.csv and \.parquet files; give a pattern"):
        read_table(tmp_path)
    for nothing in (tmp_path / "*.tsv", tmp_path / "no.csv"):
        with pytest.raises(ValueError, match="there is no file"):
            read_table(nothing)


def test_files_of_rows_are_not_joined(tmp_path):
    """Parameters in one file and results in another have no row in common: an error, no empty answer."""
    pd.DataFrame({"id": np.arange(N), "lr": LR, "dropout": DROPOUT}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"id": np.arange(N), "loss": LOSS}).to_csv(tmp_path / "b.csv", index=False)
    for drop, named in ((None, {"parameters": ["lr", "dropout"]}), ("dropout", {"parameters": "lr"})):
        with pytest.raises(ValueError, match="no row has both an objective and a value of a parameter"):
            px.Observations.from_dataframe(
                tmp_path, "loss", directions="minimize", drop=drop, warn=False, **named
            )


def test_mlflow_parents():
    """A search with parameters of its own does not count beside its runs, nor does what started it."""
    children = pd.DataFrame(
        {"run_id": IDS, "params.lr": LR, "metrics.loss": LOSS,
         "tags.mlflow.parentRunId": [f"p{i % 4}" for i in range(N)]}
    )  # fmt: skip
    parents = pd.DataFrame(
        {"run_id": [f"p{i}" for i in range(4)], "params.best_lr": LR[:4], "params.n_trials": 15,
         "metrics.loss": LOSS.min(), "tags.mlflow.parentRunId": "top"}
    )  # fmt: skip
    top = pd.DataFrame({"run_id": ["top"], "params.n_searches": 4, "metrics.loss": LOSS.min()})
    df = pd.concat([children, parents, top])
    obs = read(df, "metrics.loss")
    assert (obs.n, obs.space.names) == (N, ("lr",))
    assert obs.report.dropped == {"a parent of runs with parameters": 5}
    # Runs without parameters, such as folds, leave their parent where it is.
    folds = pd.DataFrame({"run_id": "f", "metrics.loss": LOSS, "tags.mlflow.parentRunId": IDS})
    df = pd.concat([children.drop(columns="tags.mlflow.parentRunId").assign(**{"params.d": DROPOUT}), folds])
    obs = read(df, "metrics.loss")
    assert obs.report.dropped == {"no parameter has a value": N}


def syne_tune():
    """Reports of trials that a scheduler stops; its own columns and decisions stand beside them."""
    trial = np.repeat(np.arange(N), 3)
    df = pd.DataFrame(
        {"val_loss": LOSS[trial] + np.tile([2.0, 1.0, 0.0], N), "epoch": np.tile([1, 2, 3], N),
         "st_worker_iter": np.tile([0, 1, 2], N), "st_decision": "CONTINUE", "st_status": "InProgress",
         "trial_id": trial, "config_lr": LR[trial], "config_dropout": DROPOUT[trial],
         "config_st_checkpoint_dir": np.nan, "st_tuner_time": np.arange(3.0 * N)}
    )  # fmt: skip
    df.loc[df.groupby("trial_id").cumcount(ascending=False) == 0, "st_decision"] = "STOP"
    return df[(df.epoch == 1) | (df.trial_id % 4 > 0)]


def test_syne_tune():
    """One row a trial, though the decisions differ; trials that stopped early are named."""
    obs = read(syne_tune(), "val_loss")
    assert (obs.n, obs.space.names) == (N, ("lr", "dropout"))
    np.testing.assert_allclose(obs.losses[:, 0], LOSS + 2.0 * (np.arange(N) % 4 == 0))
    assert "'st_worker_iter' of the rows that count goes from 0 to 2" in obs.report.steps


def test_halving_of_scikit_learn():
    """A configuration counts with its largest resources, and these are no parameter."""
    rung = sklearn().drop(columns=["split0_test_score", "rank_test_score"])
    df = pd.concat([rung.iloc[::k].assign(iter=i, n_resources=r) for i, k, r in ((0, 1, 20), (1, 3, 60))])
    obs = px.Observations.from_dataframe(df, "mean_test_score", directions="maximize", warn=False)
    assert (obs.n, obs.space.names) == (N, ("lr", "dropout"))
    assert obs.report.dropped == {"not the last row of its trial": N // 3}


def shared_tables():
    path = logs.data_path()
    return {} if path is None else json.loads((path / "tables" / "expected.json").read_text())


@pytest.mark.data
@pytest.mark.parametrize("name", shared_tables())
def test_tables_of_tools(name, capsys, tmp_path, monkeypatch):
    """By the command and from a frame: the first parameters, or that nothing is above chance."""
    folder, wanted = logs.data_path(), shared_tables()[name]
    assert folder is not None
    path = Path(folder) / "tables" / name
    target, direction, some = wanted["target"], wanted["direction"], "nothing_above_chance" in wanted
    monkeypatch.setitem(METHODS, "default", coarse_method(False))
    asked = ["--target", target, "--direction", direction, "--level", "0.1"]
    out = tmp_path / "out.json"
    assert main(["importance", str(path), *asked, "--resamples", str(20 * some), "--json", str(out)]) == 0
    printed, written = capsys.readouterr().out, json.loads(out.read_text())
    by_command = {record["parameter"]: record["importance"] for record in written["records"]}

    read = pd.read_json if path.suffix == ".jsonl" else pd.read_csv
    frame = read(path, lines=True) if path.suffix == ".jsonl" else read(path)
    obs = px.Observations.from_dataframe(frame, target, directions=direction, warn=False)
    with jax.enable_x64(True):
        result = px.cond_ped_anova(
            obs, 0.1, **coarse_method(False), n_resamples=20 * some, n_shuffles=200 * some
        )
    np.testing.assert_allclose([by_command[n] for n in result.names], result.importance[0], atol=1e-9)

    names = {parameter.rpartition("/")[2] for parameter in by_command}
    assert names == set(wanted.get("only", names))
    assert names.isdisjoint(wanted.get("not", ()))
    if some:
        assert min(record["p_adjusted"] or 1 for record in written["records"]) > 0.05
        assert not result.above_chance.any()
        assert "no parameter is above chance" in printed
    else:
        assert max(by_command, key=by_command.__getitem__).rpartition("/")[2] == wanted["top"]
        assert printed.split("What mattered: ")[1].startswith(f"{result.ranking()[0]} (")
    # What is left out is said, with the reason.
    for column in wanted.get("not", ()):
        assert column not in frame or f"'{column}'" in printed


def test_plain_tables_are_of_no_tool():
    """Catches a format that takes any table for its own."""
    assert recognise(["lr", "dropout", "loss"]).name == "a plain table"
    assert recognise(["lr", "trial_id", "epoch", "loss"]).name == "a plain table"
