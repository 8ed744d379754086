"""How runs ended: words of many tools, several columns of states, flags, numbers that stand for states."""

import json

import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.lens.logs.columns import Column
from parzax.lens.tables.files import read_table
from parzax.lens.tables.trials import read_states

N = 60
RNG = np.random.default_rng(0)
LR, LOSS = RNG.random(N), RNG.random(N)
SIXTH, THIRD = np.arange(N) % 6 == 0, np.arange(N) % 3 == 0


def read(columns, **options):
    df = pd.DataFrame({"lr": LR, "depth": RNG.integers(1, 9, N), **columns, "y": LOSS})
    return px.Observations.from_dataframe(df, "y", directions="minimize", warn=False, **options)


@pytest.mark.parametrize(
    ("words", "state"),
    [
        ("finished Completed TrialState.COMPLETE SUCCEEDED TERMINATED ok", "COMPLETE"),
        ("Errored ERROR oom OUT_OF_MEMORY diverged Timed-out timeout exception preempting NODE_FAIL", "FAIL"),
        ("pruned EarlyStopped EARLY_STOPPED early-stopped Stopped", "PRUNED"),
        ("running paused", "RUNNING"),
        ("imploded", "IMPLODED"),
    ],
)
def test_words(words, state):
    column = Column.of_values("state", words.split())
    assert set(read_states(column)) == {state}


@pytest.mark.parametrize("name", ["status", "State", "trial_status", "job_state"])
@pytest.mark.parametrize("word", ["oom", "diverged", "Errored", "sank"])
def test_rows_that_failed_in_other_words(name, word):
    """In a column with such a name one known word is enough: the other words say that a run failed."""
    obs = read({name: np.where(SIXTH, word, "finished")})
    assert obs.space.names == ("lr", "depth")
    assert obs.report.dropped == {"state SANK" if word == "sank" else "state FAIL": 10}


def test_state_words_say_what_a_column_is():
    """Under any name; other words are choices, though one of them is that of a state."""
    pruned = {"how it went": np.where(SIXTH, "pruned", "complete")}
    assert read(pruned).report.dropped == {"state PRUNED": 10}
    assert read(pruned, pruned="worst").n == N
    assert "mode" in read({"mode": np.where(THIRD, "running", "walking")}).space.names


def test_second_states_and_flags_are_no_parameters():
    """One column says which rows count; other states are asked for."""
    columns = {
        "job_state": np.where(SIXTH, "FAILED", "COMPLETED"),
        "eval_status": np.where(THIRD, "error", "ok"),
        "upload": np.where(THIRD, "failed", "done"),
        "outcome": np.where(THIRD, "good", "bad"),
        "converged": THIRD,
        "is_best": np.arange(N) == 7,
    }
    with pytest.raises(ValueError, match="'upload': a state, by its values") as error:
        read(columns)
    for name in ("eval_status", "outcome", "converged", "is_best"):
        assert f"{name!r}: a state, by its name" in str(error.value)
    obs = read(columns, **error.value.guess)
    assert obs.space.names == ("lr", "depth")
    assert obs.report.dropped == {"state FAIL": 10}
    assert "state: job_state" in obs.report.inferred
    # What is asked for is a parameter.
    assert read(columns, parameters=["lr", "outcome"]).space.names == ("lr", "outcome")


def test_nested_records(tmp_path):
    """Words beside marked parameters, and the numbers that Optuna's trials have for states."""
    rows = [
        {
            "status": "ERRORED" if SIXTH[i] else "COMPLETED",
            "params": {"lr": LR[i]},
            "loss": LOSS[i] * ~SIXTH[i],
        }
        for i in range(N)
    ]
    state = np.select([SIXTH, THIRD], [3, 2], 1).tolist()
    trials = [{"number": i, "state": state[i], "value": LOSS[i], "params": {"lr": LR[i]}} for i in range(N)]
    for name, records, target, dropped in (
        ("rows.json", rows, "loss", {"state FAIL": 10}),
        ("trials.json", trials, "value", {"state FAIL": 10, "state PRUNED": 10}),
    ):
        (tmp_path / name).write_text(json.dumps(records))
        table = read_table(tmp_path / name)
        obs = px.Observations.from_dataframe(table, target, directions="minimize", warn=False)
        assert (obs.space.names, obs.report.dropped) == (("lr",), dropped)
