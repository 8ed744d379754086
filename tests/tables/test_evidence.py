"""Columns without marks: what names and values say against them, and where they leave a doubt."""

import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.lens.tables.evidence import order_as, why_by_values
from parzax.lens.tables.names import why_by_name

N = 60
RNG = np.random.default_rng(0)
LR, DEPTH = RNG.random(N), RNG.integers(1, 9, N)
# Numbers of trials of which a quarter failed.
GAPS = np.sort(np.random.default_rng(1).permutation(80)[:N])
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
        ("Run #", RNG.permutation(N), "an identity, by its name"),
        ("tid", RNG.permutation(N), "a counter of the rows"),
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
    numbers = np.asarray(values, float)
    assert (why_by_name(name, numbers) or why_by_values(numbers, LOSS[:, None])) == why
    obs = read({"lr": LR, name: values})
    assert obs.space.names == (("lr",) if why else ("lr", name))
    assert obs.report.left_out == ((f"{name!r}: {why}",) if why else ())
    # What is asked for is a parameter, whatever it looks like.
    assert read({"lr": LR, name: values}, parameters=["lr", name]).space.names == ("lr", name)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (GAPS, "a counter of the rows"),
        (GAPS[::-1], "a counter of the rows"),
        (RNG.permutation(GAPS), "a counter of the rows"),
        (np.sort(RNG.choice(400, N, replace=False)), "a counter of the rows"),
        (1.7e9 + RNG.permutation(N) * 500.5, "a time, by its values"),
        (1.7e12 + np.arange(N) * 500.5, "a time, by its values"),
        # Grids of one parameter and of several, in order; sorted continuous values.
        (np.arange(10, 310, 5)[:N], ""),
        (np.repeat([8, 16, 32, 64], N // 4), ""),
        (np.tile(np.arange(20), 3), ""),
        (2 ** np.arange(20), ""),
        (np.unique(np.geomspace(1, 3000, 30).astype(int)), ""),
        (np.sort(LR), ""),
        (RNG.integers(1, 200, N), ""),
        (RNG.choice([1e9, 1.02e9, 1.05e9], N), ""),
    ],
)
def test_counters_and_times(values, why):
    """Catches numbers of trials or times of which some rows are missing, and a grid that is left out."""
    values = np.asarray(values, float)
    assert why_by_values(values, np.zeros((len(values), 1))) == why


def test_a_line_needs_few_rows():
    """A linear function of the objective shows in 15 rows; in toys of a few rows it may be the example."""
    few = LOSS[:15, None]
    assert why_by_values(3 - 2 * few[:, 0], few) == "an exact function of the objective"
    assert why_by_values(few[:, 0] ** 2, few) == ""
    assert why_by_values(np.arange(6.0) * 2, np.arange(6.0)[:, None]) == ""


def test_labels_of_a_parameter():
    """Columns that are equal in the same rows as an earlier one are its labels, in any order of values."""
    depth = RNG.integers(1, 5, N)
    name, code = np.array(["", "a", "d", "c", "b"])[depth], np.array([0, -8, 4, 7, -10])[depth]
    obs = read({"depth": depth, "name": name, "code": code, "lr": LR})
    assert obs.space.names == ("depth", "lr")
    assert obs.report.left_out == ("'name', 'code': one value for each value of 'depth'",)
    # In a table of four configurations every parameter has one value for each value of another.
    assert read({"depth": depth, "width": code, "name": name}).space.names == ("depth", "width", "name")
    # Other values in one row, or too many different values, are another parameter.
    code[0] += 1
    assert read({"depth": depth, "code": code, "lr": LR}).space.names == ("depth", "code", "lr")
    text = [f"lr={x:.2g}" for x in LR]
    assert read({"text": text, "lr": LR}).report.left_out == (
        "'text': a different label in nearly every row",
    )


def test_doubt_stops():
    """A column that orders the rows nearly as the objective does stops it, and the remedy can be pasted."""
    near = LOSS + RNG.normal(0, 0.002, N)
    assert 0.98 < order_as(near, LOSS[:, None]) < 1
    with pytest.raises(ValueError, match=r"drop it: drop=\['near'\] \(--drop near\); if not") as error:
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


def test_doubt_of_a_result_with_an_unusual_name():
    """It depends on a parameter, as no parameter of a random search does; one that decides alone is none."""
    stopped = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        lr, depth, width = rng.random((3, N))
        loss = (lr - 0.4) ** 2 + 0.03 * depth
        honest = pd.DataFrame({"lr": lr, "depth": depth, "width": width, "y": lr + 0.4 * depth})
        assert 0.85 < order_as(lr, (lr + 0.4 * depth)[:, None]) < 0.98
        assert px.Observations.from_dataframe(honest, "y", warn=False).space.names == ("lr", "depth", "width")
        kudos = np.exp(-10 * loss) + 0.08 * rng.normal(size=N)
        df = pd.DataFrame({"lr": lr, "depth": depth, "kudos": kudos, "y": loss})
        assert order_as(kudos, loss[:, None]) < 0.98
        try:
            px.Observations.from_dataframe(df, "y", warn=False)
        except ValueError as error:
            stopped += "drop=['kudos'] (--drop kudos)" in str(error)
    assert stopped == 20


def test_doubt_names_what_is_similar():
    """The shorter option is printed, and what follows the doubtful column is no parameter in it."""
    near, similar = LOSS + RNG.normal(0, 0.002, N), LOSS + RNG.normal(0, 0.05, N)
    columns = {"lr": LR, "depth": DEPTH, "a long name": near, "some other name": similar}
    with pytest.raises(
        ValueError, match=r"name the parameters: .* \(--parameters lr depth\); 'some other name' may"
    ):
        read(columns)
    assert read(columns, parameters=["lr", "depth"]).space.names == ("lr", "depth")
    many = {f"a parameter of number {i}": RNG.random(N) for i in range(40)}
    with pytest.raises(ValueError, match=r"\(--drop near\)") as error:
        read({**many, "near": near})
    assert len(str(error.value)) < 300


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
