"""The objective that a table has by itself, and the direction in which it is taken."""

import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.lens.cli import main
from parzax.lens.tables.doubts import direction_by_name
from parzax.lens.tables.table import parse_cell

N = 24
RNG = np.random.default_rng(0)
LR, TIME, RESULT = 10 ** RNG.uniform(-4, 0, N), RNG.uniform(1, 2, N), RNG.uniform(size=N)
IDS = [f"{i:08x}" for i in range(N)]
RUNS = list(zip(TIME, RESULT, strict=True))
STEPS = RNG.integers(5, 20, N)

# The columns of a tool, its only result, the direction, and who says it.
ONE_RESULT = {
    "scikit-learn": (
        {"mean_fit_time": TIME, "std_fit_time": TIME, "param_lr": LR, "split0_test_score": -RESULT,
         "mean_test_score": RESULT, "std_test_score": TIME, "rank_test_score": STEPS},
        "mean_test_score", "maximize", "as scikit-learn says",
    ),
    "SMAC": (
        {"config_id": range(N), "instance": None, "seed": 0, "budget": 0, "cost": RESULT, "time": TIME,
         "status": "SUCCESS", "config/lr": LR},
        "cost", "minimize", "as SMAC says",
    ),
    "Hyperopt": (
        {"tid": range(N), "result/loss": RESULT, "result/loss_variance": TIME, "result/eval_time": TIME,
         "result/status": "ok", "misc/vals/lr": LR},
        "result/loss", "minimize", "as Hyperopt says",
    ),
    "Keras Tuner": (
        {"trial_id": IDS, "hyperparameters/values/lr": LR, "score": RESULT, "best_step": STEPS,
         "status": "COMPLETED", "direction": "max"},
        "score", "maximize", "as Keras Tuner says",
    ),
    "MLflow": (
        {"run_id": IDS, "params.lr": LR, "metrics.epoch": STEPS, "metrics.train_time_s": TIME,
         "metrics.system/cpu_utilization": TIME, "metrics.val_accuracy": RESULT},
        "metrics.val_accuracy", "maximize", "by its name",
    ),
    "Ray Tune": (
        {"trial_id": IDS, "config/lr": LR, "rmse": RESULT, "training_iteration": STEPS, "pid": STEPS,
         "timestamp": TIME, "time_total_s": TIME, "time_since_restore": TIME, "done": True, "date": "2026",
         "iterations_since_restore": STEPS, "timesteps_total": STEPS, "hostname": "h"},
        "rmse", "minimize", "by its name",
    ),
    "Weights & Biases' API": (
        {"summary": [str({"_runtime": t, "_step": 3, "epoch": 9, "top": x}) for t, x in RUNS],
         "config": [str({"lr": x}) for x in LR], "name": IDS},
        "summary/top", "minimize", "",
    ),
    "Weights & Biases": (
        {"Name": IDS, "State": "finished", "Created": "2026", "Runtime": STEPS, "lr": LR, "epoch": STEPS,
         "val_loss": RESULT},
        "val_loss", "minimize", "by its name",
    ),
    "Ax": (
        {"trial_index": range(N), "arm_name": IDS, "trial_status": "COMPLETED", "acc": RESULT, "lr": LR},
        "acc", "maximize", "by its name",
    ),
    "Syne Tune": (
        {"trial_id": range(N), "config_lr": LR, "st_worker_iter": 0, "st_tuner_time": TIME, "epoch": 1,
         "elapsed_time": TIME, "val_error": RESULT},
        "val_error", "minimize", "by its name",
    ),
    "Nevergrad": (
        {"#loss": RESULT, "#uid": IDS, "#num-ask": range(N), "lr": LR},
        "#loss", "minimize", "as Nevergrad says",
    ),
    "nested records (config)": (
        {"config/lr": LR, "seconds": TIME, "epoch": STEPS, "best_val_f1": RESULT, "ended": "2026"},
        "best_val_f1", "maximize", "by its name",
    ),
}  # fmt: skip


@pytest.mark.parametrize("tool", ONE_RESULT)
def test_the_only_result_is_the_objective(tool):
    """Of every format that is no plain table; catches a time, a counter or a rank that is a second result."""
    columns, target, direction, source = ONE_RESULT[tool]
    df, named = pd.DataFrame(columns), {}
    if tool in ("Weights & Biases", "Ax"):
        # Their results have no mark, so a name is a guess alone.
        with pytest.raises(ValueError, match=f"no objective is named, which may be '{target}'") as error:
            px.Observations.from_dataframe(df, warn=False)
        named = error.value.guess
    obs = px.Observations.from_dataframe(df, **named, warn=False)
    report = obs.report
    assert (report.objectives, report.directions) == ((target,), (direction,))
    assert named or f"objective: {target}, the only result" in report.lines()
    assert any(f"a table of {tool}" in note for note in report.inferred)
    said = [note for note in report.inferred if note.startswith("direction:")]
    assert source in said[0]
    assert (said[0] in report.lines()) == (not source)
    np.testing.assert_array_equal(obs.losses[:, 0], RESULT if direction == "minimize" else -RESULT)
    assert obs.space.names == ("lr",)


def test_of_several_results_one_is_named(tmp_path, capsys, monkeypatch):
    """The error lists them and prints a command that works; catches std_* and times among them."""
    monkeypatch.chdir(tmp_path)
    several = ONE_RESULT["scikit-learn"][0] | {"mean_test_f1": RESULT, "std_test_f1": TIME}
    pd.DataFrame(several).to_csv("my cv.csv", index=False)
    assert main(["importance", "my cv.csv", "--resamples", "0"]) == 2
    error = capsys.readouterr().err.strip()
    said, command = error.split(" If this guess is right, copy it; else change it: ")
    assert said.endswith("no objective is named, which may be 'mean_test_score', 'mean_test_f1'.")
    assert "'my cv.csv': The table does not say" in said
    assert command == "parzax importance 'my cv.csv' --resamples 0 --target mean_test_score"
    runs = {"params.lr": LR, "run_id": IDS, "metrics.train_loss": TIME, "metrics.q": TIME, "metrics.acc": LR}
    with pytest.raises(ValueError, match=r"may be 'metrics.acc', 'metrics.train_loss', 'metrics.q'\. If"):
        px.Observations.from_dataframe(pd.DataFrame(runs), warn=False)
    clear = px.Observations.from_dataframe(
        pd.DataFrame(runs), drop=["metrics.train_loss", "metrics.q"], warn=False
    )
    assert clear.report.objectives == ("metrics.acc",)


def test_a_plain_table_has_no_objective_by_itself():
    """Even with one result, as others may be results too; nor has a format with none, or with several."""
    for columns, said in (
        ({"lr": LR, "loss": RESULT}, "no objective is named, which may be 'loss'"),
        ({"lr": LR, "y": RESULT}, "no objective is named, which may be 'y'"),
        ({"param_lr": LR, "mean_fit_time": TIME}, "no column 'value'.* one of 'param_lr', 'mean_fit_time'"),
        ({"config/lr": LR, "config_id": 1, "seed": 0, "cost": None, "cost_0": LR, "cost_1": LR},
         "which may be 'cost_0', 'cost_1'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            px.Observations.from_dataframe(pd.DataFrame(columns), warn=False)


def test_names_that_say_a_direction():
    """Words of both directions, negated ones and "score" say none."""
    for way, names in {
        "maximize": "val_acc test/mIoU eval.f1_score testAUC r2 success_rate episode_reward_mean",
        "minimize": "loss log_loss val/rmse error_rate brier_score WER train_cost",
        "unclear": "neg_log_loss accuracy_loss 1-acc minus_reward acc_regret accuracy_drop rmse_improvement",
        "": "value score Value y objective",
    }.items():
        assert {direction_by_name(name) for name in names.split()} == {way}


def test_cells_with_dictionaries_in_pythons_spelling():
    """Numbers that are no literals, as NumPy writes them too; nothing in a cell is executed."""
    cell = "{'a': nan, 'b': [inf, -inf], 'c': np.float64(0.5), 'd': np.float64(nan), 'e': {'f': Infinity}}"
    read = parse_cell(cell)
    assert np.isnan([read["a"], read["d"]]).all()
    assert (read["b"], read["c"], read["e"]) == ([np.inf, -np.inf], 0.5, {"f": np.inf})
    assert parse_cell('{"a": -Infinity}') == {"a": -np.inf}
    assert parse_cell("{'t': datetime.date(2026, 1, 2), 'u': np.True_, 'v': tensor(3), 'w': None}") == {
        "t": "datetime.date(2026, 1, 2)", "u": "np.True_", "v": 3, "w": None,
    }  # fmt: skip
    for text in ("{'a': <object>}", "{'a': 1", "{x for x in y}", "{'a': 1 + 'b'}"):
        assert parse_cell(text) == text


@pytest.mark.parametrize("nan", ["nan", "NaN", "'NaN'", "inf", "np.float64(nan)"])
def test_a_summary_with_a_missing_result(nan):
    """Catches a summary that stays text because of one number."""
    values = [nan, *RESULT[1:]]
    table = pd.DataFrame(
        {"summary": [f"{{'_runtime': 3, 'val_acc': {x}}}" for x in values],
         "config": [str({"lr": x}) for x in LR]}
    )  # fmt: skip
    obs = px.Observations.from_dataframe(table, "val_acc", directions="maximize", warn=False)
    np.testing.assert_array_equal(-obs.losses[1:, 0], RESULT[1:])
    assert obs.report.n_failed == (nan != "inf")


TARGETS = {
    "params.lr": [0.1, 0.2, 0.3],
    "metrics.loss": [1.0, 2.0, 3.0],
    "metrics.val_acc": [0.5, 0.4, 0.3],
    "train.size": [1, 2, 3],
    "test.size": [1, 2, 3],
}


def read_target(target):
    table = pd.DataFrame(TARGETS)
    return px.Observations.from_dataframe(table, target=target, directions="minimize", warn=False)


@pytest.mark.parametrize("name", ["metrics.loss", "loss", "Loss"])
def test_the_end_of_a_name_is_enough_if_only_one_column_has_it(name):
    assert read_target(name).losses[:, 0].tolist() == TARGETS["metrics.loss"]
    assert read_target([name, "val_acc"]).losses.shape == (3, 2)


def test_the_command_finds_value_under_a_format(tmp_path, capsys):
    path = tmp_path / "t.csv"
    pd.DataFrame(
        {"Number": [0, 1, 2], "State": "COMPLETE", "Value": [1.0, 2, 3], "Param x": [1.0, 2, 4]}
    ).to_csv(path)
    main(["importance", str(path), "--direction", "minimize", "--resamples", "0"])
    assert "smallest Value" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["size", "acc", "nothing", "lr"])
def test_any_other_name_is_refused(name):
    with pytest.raises(ValueError, match=f"no column '{name}'"):
        read_target(name)
