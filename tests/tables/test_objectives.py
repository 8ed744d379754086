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


def test_a_plain_table_has_no_objective_by_itself():
    """Even with one result, as others may be results too; nor has a format with none, or with several."""
    for columns, said in (
        ({"lr": LR, "loss": RESULT}, "no objective is named, but it may be 'loss'"),
        ({"lr": LR, "y": RESULT}, "no objective is named, but it may be 'y'"),
        ({"param_lr": LR, "mean_fit_time": TIME}, "no column 'value'.* one of 'param_lr', 'mean_fit_time'"),
        ({"config/lr": LR, "config_id": 1, "seed": 0, "cost": None, "cost_0": LR, "cost_1": LR},
         "it may be 'cost_0', 'cost_1'"),
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
    obs = px.Observations.from_dataframe(table, "summary/val_acc", directions="maximize", warn=False)
    np.testing.assert_array_equal(-obs.losses[1:, 0], RESULT[1:])
    assert obs.report.n_failed == (nan != "inf")


@pytest.mark.parametrize("name", ["loss", "Loss"])
def test_the_end_of_a_name_is_a_suggestion(name):
    table = pd.DataFrame({"params.lr": LR, "metrics.loss": RESULT, "train.size": TIME, "test.size": TIME})
    with pytest.raises(ValueError, match=rf"no column '{name}'; did you mean 'metrics\.loss'\?"):
        px.Observations.from_dataframe(table, name, warn=False)


def test_the_command_finds_value_under_a_format(tmp_path, capsys):
    path = tmp_path / "t.csv"
    pd.DataFrame(
        {"Number": [0, 1, 2], "State": "COMPLETE", "Value": [1.0, 2, 3], "Param x": [1.0, 2, 4]}
    ).to_csv(path)
    main(["importance", str(path), "--direction", "minimize", "--resamples", "0"])
    assert "smallest Value" in capsys.readouterr().out
