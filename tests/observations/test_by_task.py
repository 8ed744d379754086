"""A table of several tasks as one log per task."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import parzax as px

TABLE = {
    "data": ["b", "a", "b", "a", "c"],
    "x": [0.1, 0.2, 0.9, 0.4, 0.5],
    "kind": ["u", "v", "v", None, "u"],
    "value": [3.0, 1.0, 2.0, 4.0, 5.0],
}


def by_task(df, task="data", **options):
    return px.Observations.by_task(df, task, **{"warn": False, "directions": "minimize", **options})


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])
def test_one_log_per_task_in_one_space(frame):
    """Catches a space per task, rows out of order, and the task column as a parameter."""
    with pytest.warns(UserWarning, match="inferred from the table") as caught:
        logs = px.Observations.by_task(frame(TABLE), "data")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert list(logs) == ["b", "a", "c"]
    (space,) = {log.space for log in logs.values()}
    assert space == px.Space({"x": px.Float(0.1, 0.9), "kind": px.Categorical(["u", "v", None])})
    np.testing.assert_array_equal(logs["b"].values, [[0.1, 0], [0.9, 1]])
    np.testing.assert_array_equal(logs["a"].values, [[0.2, 1], [0.4, 2]])
    assert [log.losses[:, 0].tolist() for log in logs.values()] == [[3, 2], [1, 4], [5]]
    assert logs["c"].report.inferred == logs["a"].report.inferred != ()


def test_options_are_those_of_a_table():
    """A given space leaves nothing to warn of; direction, weight and constraints reach every task."""
    df = pd.DataFrame(TABLE | {"w": [1, 0, 2, 3, 1], "c": [-1.0, 1.0, 2.0, 0.0, 0.5]})
    space = px.Space({"x": px.Float(0, 1)})
    logs = by_task(df, space=space, directions="maximize", weight="w", constraints="c")
    assert logs["a"].space is logs["b"].space is space
    assert logs["a"].losses[:, 0].tolist() == [-1, -4]
    assert logs["a"].weight.tolist() == [0, 3]
    assert logs["b"].constraints[:, 0].tolist() == [-1, 2]
    kinds = px.Space({"kind": px.Categorical(["u", "v"], when=px.Recorded())})
    several = by_task(df, target=["value", "x"], space=kinds)
    assert several["b"].losses.tolist() == [[3, 0.1], [2, 0.9]]


def test_states_are_those_of_the_whole_table():
    """Catches a task of failed trials alone whose states are taken for labels, and reports of the whole."""
    df = pd.DataFrame(TABLE | {"state": ["COMPLETE", "COMPLETE", "crashed", "FAIL", "crashed"]})
    logs = by_task(df, space=px.Space({"x": px.Float(0, 1)}), failed="worst")
    assert [log.losses[:, 0].tolist() for log in logs.values()] == [[3, np.inf], [1, np.inf], [np.inf]]
    assert [(log.report.n_rows, log.report.n_failed) for log in logs.values()] == [(2, 1), (2, 1), (1, 1)]
    exclude = {"by hand": np.array(TABLE["x"]) > 0.8}
    logs = by_task(df[:4], space=px.Space({"x": px.Float(0, 1)}), exclude={"by hand": exclude["by hand"][:4]})
    assert [log.report.dropped for log in logs.values()] == [{"by hand": 1}, {"state FAIL": 1}]


def test_weights_normalised_within_tasks_are_warned_of():
    df = pd.DataFrame({"task": ["a"] * 3 + ["b"] * 3, "x": np.arange(6) / 6, "value": np.arange(6.0)})
    with pytest.warns(UserWarning, match="weight sums to 1") as caught:
        by_task(df.assign(w=[1, 2, 3, 0.5, 0.25, 0.25]), "task", weight="w")
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.usefixtures("as_installed")
def test_misspelt_options_are_refused():
    """Catches options handed on unseen, of which a type checker knows nothing."""
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'sapce'"):
        px.Observations.by_task(pd.DataFrame(TABLE), "data", sapce=None)


def test_names():
    """Numbers and the params_ prefix."""
    df = pd.DataFrame({"task": [7, 8, 7], "params_x": [0.0, 0.5, 1.0], "value": [1.0, 2.0, 3.0]})
    logs = px.Observations.by_task(df, "task", warn=False)
    assert {name: log.n for name, log in logs.items()} == {"7": 2, "8": 1}
    assert logs["7"].space.names == ("x",)


@pytest.mark.parametrize(
    ("change", "task", "message"),
    [
        ({}, "dataset", "task: the table has no column 'dataset'"),
        ({"data": ["b", None, "b", "a", "c"]}, "data", "column 'data', row 1 has no task"),
        ({"x": [0.1, 0.2, "high", 0.4, 0.5]}, "data", "column 'x', row 2"),
        ({"state": ["COMPLETE"] * 4 + ["FAIL"]}, "data", "no row of task 'c' is left"),
        ({"data": pd.Series([1, "1", 1, 1, 1], dtype=object)}, "data", "differ only in type"),
    ],
)
def test_named_errors(change, task, message):
    """Rows are numbered as in the whole table."""
    df = pd.DataFrame(TABLE | change)
    space = px.Space({"x": px.Float(0, 1)})
    with pytest.raises(ValueError, match=message):
        by_task(df, task, space=space)


def test_what_is_no_column_name():
    with pytest.raises(TypeError, match="task must be a column name"):
        by_task(pd.DataFrame(TABLE), ["data"])
    with pytest.raises(ValueError, match="value"):
        by_task(pd.DataFrame(TABLE), "value")


def test_seeds_of_tasks_are_runs():
    """Each task has its own seeds; catches seeds of all tasks in each of them, and a seed as a parameter."""
    df = pd.DataFrame({"data": list("aabbbb"), "seed": [1, 2, 7, 8, 7, 9], "x": np.arange(6) / 10})
    logs = by_task(df.assign(value=df.x), space=px.Space({"x": px.Float(0, 1)}), seed="seed")
    assert {name: log.batch_shape for name, log in logs.items()} == {"a": (2,), "b": (3,)}
    np.testing.assert_array_equal(logs["b"].values[..., 0], [[0.2, 0.4], [0.3, np.nan], [0.5, np.nan]])
    with pytest.raises(ValueError, match="no row of task 'a', seed '2' is left"):
        by_task(df.assign(value=df.x), seed="seed", exclude={"by hand": np.arange(6) == 1})
