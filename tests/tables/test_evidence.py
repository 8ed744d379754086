"""Columns without marks: what names and values say against them, and where they leave a doubt."""

import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.tables.evidence import order_as, why_no_parameter

N = 60
RNG = np.random.default_rng(0)
LR, DEPTH = RNG.random(N), RNG.integers(1, 9, N)
LOSS = (LR - 0.4) ** 2 + RNG.normal(0, 0.02, N)


def read(columns, **options):
    df = pd.DataFrame({**columns, "y": LOSS})
    return px.Observations.from_dataframe(df, "y", direction="minimize", warn=False, **options)


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("val_loss", RNG.random(N), "a result, by its name"),
        ("loss_train", RNG.random(N), "a result, by its name"),
        ("testAccuracy", RNG.random(N), "a result, by its name"),
        ("train time (s)", RNG.random(N), "a time, by its name"),
        ("_timestamp", RNG.random(N), "a time, by its name"),
        ("run_id", RNG.random(N), "an identity, by its name"),
        ("Run #", RNG.permutation(N), "a counter of the rows"),
        ("gain", 3 - 2 * LOSS, "an exact function of the objective"),
        ("place", pd.Series(LOSS).rank().to_numpy(), "a counter of the rows"),
        ("loss_weight", RNG.random(N), ""),
        ("score_threshold", RNG.random(N), ""),
        ("time_steps", RNG.integers(1, 9, N), ""),
        ("depth", DEPTH, ""),
    ],
)
def test_names_and_values(name, values, why):
    """A word at the end of a name says what it holds; the same word before another one does not."""
    assert why_no_parameter(name, np.asarray(values, float), LOSS[:, None]) == why
    obs = read({"lr": LR, name: values})
    assert obs.space.names == (("lr",) if why else ("lr", name))
    assert obs.report.left_out == ((f"{name!r}: {why}",) if why else ())
    # What is asked for is a parameter, whatever it looks like.
    assert read({"lr": LR, name: values}, parameters=["lr", name]).space.names == ("lr", name)


def test_doubt_stops():
    """A column that orders the rows nearly as the objective does stops it, and the remedy can be pasted."""
    near = LOSS + RNG.normal(0, 0.002, N)
    assert 0.98 < order_as(near, LOSS[:, None]) < 1
    with pytest.raises(ValueError, match=r"parameters=\['lr', 'depth'\] \(--parameters lr depth\)") as error:
        read({"lr": LR, "depth": DEPTH, "near": near})
    assert "'near' orders the rows nearly as the objective does" in str(error.value)
    for chosen in ({"parameters": ["lr", "depth"]}, {"drop": "near"}):
        assert read({"lr": LR, "depth": DEPTH, "near": near}, **chosen).space.names == ("lr", "depth")
    # Nor do bounds, and a format that marks its parameters.
    assert read({"depth": DEPTH, "near": near}, bounds={"near": (-1, 2)}).space.names == ("depth", "near")
    assert read({"params_lr": LR, "params_near": near}).space.names == ("lr", "near")
    # Few rows are in the same order by chance.
    few = pd.DataFrame({"x": [0.1, 0.4, 0.9], "y": [1.0, 2.0, 4.0]})
    assert px.Observations.from_dataframe(few, "y", direction="minimize", warn=False).space.names == ("x",)


@pytest.mark.parametrize("name", ["State", "Status", "status", "trial_status", "outcome"])
def test_states_under_any_name(name):
    """A column of words of states is the state; failed rows do not count."""
    state = np.where(np.arange(N) % 6 == 0, "ERROR", "TERMINATED")
    obs = read({"lr": LR, "depth": DEPTH, name: state})
    assert obs.space.names == ("lr", "depth")
    assert obs.report.dropped == {"state FAIL": 10}
    pruned = np.where(np.arange(N) % 6 == 0, "pruned", "complete")
    assert read({"lr": LR, "depth": DEPTH, name: pruned}, pruned="worst").n == N
    # Other words are choices, though one of them is that of a state.
    assert "mode" in read({"lr": LR, "mode": np.where(np.arange(N) % 2, "running", "walking")}).space.names


def test_rows_without_parameters():
    """Parent runs, which have the best result of their children and no parameters, do not count."""
    df = pd.DataFrame({"params.lr": LR, "params.depth": DEPTH, "metrics.y": LOSS})
    parents = pd.DataFrame({"metrics.y": np.full(5, LOSS.min())})
    both = pd.concat([df, parents])
    obs = px.Observations.from_dataframe(both, "metrics.y", direction="minimize", warn=False)
    assert obs.n == N
    assert obs.report.dropped == {"no parameter has a value": 5}


def epochs(trial_id=True):
    """Three epochs of each configuration, in a shuffled order; the second is the best."""
    trial, epoch = np.repeat(np.arange(N), 3), np.tile([1, 2, 3], N)
    columns = {"lr": LR[trial], "depth": DEPTH[trial], "epoch": epoch, "y": LOSS[trial] + (epoch - 2) ** 2}
    df = pd.DataFrame(columns | ({"config/lr": LR[trial], "trial_id": trial} if trial_id else {}))
    return df.sample(frac=1, random_state=0)


@pytest.mark.parametrize("trial_id", [True, False])
def test_one_row_a_trial(trial_id):
    """By a column of trials, or by repeated configurations beside a column of epochs."""
    df = epochs(trial_id)
    if trial_id:
        df = df.drop(columns=["lr", "depth"]).rename(columns={"epoch": "training_iteration"})
    read = px.Observations.from_dataframe
    last = read(df, "y", direction="minimize", warn=False)
    assert last.n == N
    np.testing.assert_allclose(np.sort(last.losses[:, 0]), np.sort(LOSS + 1))
    assert any("180 rows hold 60 trials; the last row of each counts" in x for x in last.report.inferred)
    best = read(df, "y", direction="minimize", per_trial="best", warn=False)
    np.testing.assert_allclose(np.sort(best.losses[:, 0]), np.sort(LOSS))
    worst = read(df, "y", direction="maximize", per_trial="best", warn=False)
    np.testing.assert_allclose(np.sort(-worst.losses[:, 0]), np.sort(LOSS + 1))
    assert read(df, "y", direction="minimize", per_trial="all", warn=False).n == 3 * N
    with pytest.raises(ValueError, match="per_trial must be one of"):
        read(df, "y", direction="minimize", per_trial="first")


@pytest.mark.parametrize("name", ["params_budget", "config/step", "epochs"])
def test_a_parameter_counts_no_rows(name):
    """Catches a grid over budgets or epochs that is reduced to one row for each setting of the others."""
    lr, budget = np.repeat([0.1, 0.2, 0.3], 12), np.tile(np.arange(4), 9)
    beside = "lr" if name == "epochs" else name.replace("budget", "lr").replace("step", "lr")
    df = pd.DataFrame({beside: lr, name: budget, "y": RNG.random(36)})
    obs = px.Observations.from_dataframe(df, "y", direction="minimize", warn=False)
    assert (obs.n, len(obs.space)) == (36, 2)


def test_what_is_asked_for_counts_no_rows():
    """``parameters`` overrules the name of a column of steps, and that of states."""
    df = epochs(trial_id=False)
    asked = ["lr", "epoch"]
    obs = px.Observations.from_dataframe(df, "y", direction="minimize", parameters=asked, warn=False)
    assert (obs.n, obs.space.names) == (3 * N, ("lr", "epoch"))
    df["state"] = np.where(np.arange(3 * N) % 2, "COMPLETE", "FAIL")
    asked = ["lr", "state"]
    obs = px.Observations.from_dataframe(df, "y", direction="minimize", parameters=asked, warn=False)
    assert obs.space.names == ("lr", "state")
    assert "state FAIL" not in obs.report.dropped


def test_only_a_doubtful_column():
    """Where no other column is left, the remedy is to say that it is a parameter."""
    df = pd.DataFrame({"x": LOSS + RNG.normal(0, 0.002, N), "y": LOSS})
    with pytest.raises(ValueError, match=r"If 'x' is a parameter, name the parameters: parameters=\['x'\]"):
        px.Observations.from_dataframe(df, "y", direction="minimize", warn=False)
    infinite = pd.DataFrame({"x": np.where(np.arange(N) % 7, LR, np.inf), "lr": LR, "y": LOSS})
    with pytest.raises(ValueError, match="column 'x': row 0 is inf"):
        px.Observations.from_dataframe(infinite, "y", direction="minimize", warn=False)


def test_rows_of_a_trial_stay_within_their_log():
    """Equal numbers of trials in two tasks are two trials."""
    df = epochs().drop(columns=["lr", "depth", "epoch"])
    both = pd.concat([df.assign(task="a"), df.assign(task="b")])
    tasks = px.Observations.by_task(both, "task", "y", direction="minimize", warn=False)
    assert [obs.n for obs in tasks.values()] == [N, N]
