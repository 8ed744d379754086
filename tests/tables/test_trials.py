"""Rows that belong together: which rows of a table are of one trial or of one configuration."""

import itertools
import json
import shlex

import numpy as np
import pandas as pd
import pytest
from parzax.lens.results.learning import shows_learning, with_learning

import parzax as px

RNG = np.random.default_rng(0)
N = 20
A, B, KIND = RNG.random(N), RNG.random(N), RNG.choice(["adam", "sgd"], N)
FIVE, TRIAL = np.tile(np.arange(5), N), np.repeat(np.arange(N), 5)
CURVES = {"lr": A[TRIAL], "dropout": B[TRIAL]}
FRESH = RNG.random(5 * N)
COUNTS = ["lr", "dropout"]


def read(columns, **options):
    df = pd.DataFrame(columns)
    df = df if "loss" in df else df.assign(loss=RNG.normal(size=len(df)))
    return px.Observations.from_dataframe(df, "loss", direction="minimize", warn=False, **options)


def summary(obs):
    """Names, number of rows, number of groups (0 for none)."""
    return list(obs.space.names), obs.n, 0 if obs.groups is None else len(np.unique(obs.groups))


def grid(**axes):
    return pd.DataFrame(list(itertools.product(*axes.values())), columns=list(axes))


@pytest.mark.parametrize("step", ["epoch", "Epoch #", "iter", "Round", "trainer/global_step"])
@pytest.mark.parametrize("identity", ["trial_id", "run_id", "Trial", "run_name", None])
def test_epochs_with_a_metric(identity, step):
    """One row a trial, whatever changes within it: numbers, few integers, words of a scheduler."""
    named = {} if identity is None else {identity: [f"t{i}" for i in TRIAL]}
    changing = {"drift": FRESH, "n_seen": RNG.integers(0, 9, 5 * N), "decision": np.tile([*"CCCCS"], N)}
    obs = read(CURVES | {step: FIVE} | named | changing)
    assert summary(obs) == (COUNTS, N, 0)
    assert obs.report.dropped == {"not the last row of its trial": 4 * N}
    assert any(repr(step) in text for text in obs.report.left_out)
    assert "'drift': it changes within a trial" in obs.report.left_out
    # What is asked for gives the same trials; with all rows they are groups.
    assert summary(read(CURVES | {step: FIVE} | named | changing, parameters=COUNTS)) == (COUNTS, N, 0)
    assert summary(read(CURVES | {step: FIVE} | named, per_trial="all")) == (COUNTS, 5 * N, N)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        # Stopped early: the last row of each.
        (pd.DataFrame(CURVES | {"id": TRIAL, "epoch": FIVE, "g": FRESH})[FIVE <= TRIAL], (COUNTS, N, 0)),
        # Rows without a trial are trials of their own.
        (
            pd.DataFrame(CURVES | {"trial": TRIAL, "g": FRESH}).assign(
                trial=np.where(TRIAL > 1, TRIAL, np.nan)
            ),
            (COUNTS, N + 8, 0),
        ),
        # No step at all: the last row, and a step without a usual name.
        (CURVES | {"trial": TRIAL, "g": FRESH}, (COUNTS, N, 0)),
        (CURVES | {"trial": TRIAL, "t": FIVE}, (COUNTS, N, 0)),
        # A budget that is the same within each trial is a parameter.
        (CURVES | {"epoch": FIVE, "budget": (TRIAL % 3)}, ([*COUNTS, "budget"], N, 0)),
        # A grid, and one parameter alone, beside a result that is new in each row.
        (
            grid(lr=[0.1, 0.01, 0.001], size=[16, 32], epoch=range(5)).assign(g=FRESH[:30]),
            (["lr", "size"], 6, 0),
        ),
        ({"lr": A[TRIAL], "iter": FIVE, "g": FRESH}, (["lr"], N, 0)),
        # Folds and seeds are repeats, which all count, in groups.
        (CURVES | {"config": TRIAL, "Fold": FIVE}, (COUNTS, 5 * N, N)),
        (CURVES | {"config_id": TRIAL, "seed": FIVE, "g": FRESH}, (COUNTS, 5 * N, N)),
        (CURVES | {"seed": FIVE}, (COUNTS, 5 * N, N)),
        (CURVES | {"gpu_usage": FRESH}, (COUNTS, 5 * N, N)),
        (grid(lr=[0.1, 0.01, 0.001], size=[16, 32], fold=range(5)), (["lr", "size"], 30, 6)),
        # Folds with epochs: the last epoch of each fold, in groups.
        (
            pd.DataFrame(CURVES | {"config": TRIAL, "fold": FIVE}).merge(grid(epoch=range(3)), "cross"),
            (COUNTS, 5 * N, N),
        ),
        # A choice that is tried with each configuration is a parameter.
        (CURVES | {"kind": FIVE.astype(str)}, ([*COUNTS, "kind"], 5 * N, 0)),
        (CURVES | {"config_id": TRIAL, "kind": FIVE.astype(str)}, ([*COUNTS, "kind"], 5 * N, N)),
        (
            pd.DataFrame(CURVES | {"kind": FIVE.astype(str), "g": FRESH}).merge(
                grid(epoch=range(3)), "cross"
            ),
            ([*COUNTS, "kind", "g"], 5 * N, 0),
        ),
    ],
)
def test_repeats(columns, expected):
    """What repeats with the configuration, what counts, and what neither of them is."""
    assert summary(read(columns)) == expected


SEARCH = {"lr": RNG.random(100), "dropout": RNG.random(100), "size": RNG.choice([16, 32], 100)}
NAMES = ["epoch", "step", "budget", "iter", "fold", "seed", "run", "trial", "config", "num_epochs"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("values", [RNG.integers(1, 9, 100), np.sort(RNG.integers(1, 9, 100))])
def test_search_beside_small_integers(name, values):
    """Catches a column that is taken for a step or an identity by its name alone."""
    obs = read({**SEARCH, name: values})
    # Nobody varies a number of a run; but the rows of such a run are different trials here.
    varied = [] if name in ("run", "trial") else [name]
    assert summary(obs) == ([*SEARCH, *varied], 100, 0)


@pytest.mark.parametrize("step", ["max_iter", "num_epochs", "n_iter", "warmup_steps", "min_samples_leaf"])
@pytest.mark.parametrize("times", [1, 3])
def test_grids_stay(step, times):
    """A grid in its order, once or three times, is a grid of parameters."""
    df = pd.concat([grid(lr=[0.1, 0.01, 0.001], C=[1, 10], **{step: [1, 2, 4]})] * times)
    assert summary(read(df)) == (["lr", "C", step], 18 * times, 0)
    assert summary(read(df.assign(kind="a"))) == (["lr", "C", step, "kind"], 18 * times, 0)


def test_runs_of_a_search():
    """A run may be a search of many trials: a seed tells nothing, other columns that stay are a doubt."""
    runs = {"run_id": TRIAL, "iteration": FIVE, "lr": FRESH, "dropout": FRESH[::-1]}
    assert summary(read({**runs, "seed": TRIAL}))[:2] == (["iteration", *COUNTS, "seed"], 5 * N)
    runs |= {"sampler": KIND[TRIAL], "task": [f"task {i}" for i in TRIAL]}
    with pytest.raises(
        ValueError, match="rows with the same 'run_id' have the same 'sampler', 'task'"
    ) as error:
        read(runs)
    remedies = [text.strip("()") for text in str(error.value).split("(--")[1:]]
    words = [shlex.split(text.split(")")[0]) for text in remedies]
    assert words == [["parameters", "sampler", "task"], ["drop", "run_id"]]
    assert summary(read(runs, parameters=["sampler", "task"])) == (["sampler", "task"], N, 0)
    assert read(runs, drop="run_id").n == 5 * N


def test_models_are_no_configurations():
    """Catches rates that are left out because the sizes of a few models repeat together."""
    size, cost = np.array([1.5, 2.5, 3.7, 5.1, 8.2]), np.array([2.5, 1.5, 5.2, 3.1, 8.2])
    columns = {"size": size[FIVE], "cost": cost[FIVE], "lr": FRESH, "decay": FRESH[::-1]}
    assert summary(read(columns)) == (list(columns), 5 * N, 0)


def test_budgets_do_not_compare(tmp_path):
    """Rows that count at different budgets are named, with a filter that can be pasted."""
    rung = np.array([b for i in range(N) for b in (1, 3, 9)[: 3 - (i > 3) - (i > 9)]])
    trial = np.array([i for i in range(N) for _ in range(3 - (i > 3) - (i > 9))])
    configs = {str(i): {"lr": A[i], "dropout": B[i]} for i in range(N)}
    runs = [
        [i, None, 0, float(b), A[i] + 9 / b, 1.0, 1, 0, 0, {}]
        for i, b in zip(trial.tolist(), rung, strict=True)
    ]
    path = tmp_path / "runhistory.json"
    path.write_text(json.dumps({"data": runs, "configs": configs}))
    obs = px.Observations.from_dataframe(path, "cost", direction="minimize", warn=False)
    assert obs.n == N
    assert obs.report.steps == (
        "losses may not compare: 'budget' of the rows that count goes from 1 to 9; "
        """--filter '"budget" == 1' leaves 20 rows, all with the same value"""
    )
    assert obs.report.steps in obs.report.lines()
    best = px.Observations.from_dataframe(path, "cost", direction="minimize", per_trial="best", warn=False)
    assert best.report.steps == ""


ENDED = np.isin(TRIAL, [3, 7]) & (FIVE > 2)


@pytest.mark.parametrize("last", [np.nan, "diverged"])
@pytest.mark.parametrize("failed", ["drop", "worst"])
def test_trials_that_end_without_a_value(failed, last):
    """They failed; catches an earlier row that counts without a word."""
    curves = CURVES | {"trial_id": TRIAL, "epoch": FIVE, "loss": A[TRIAL] - FIVE}
    df = pd.DataFrame(curves, dtype=object).assign(loss=lambda d: d.loss.where(~ENDED, last))
    obs = read(df.sample(frac=1, random_state=0).infer_objects(), failed=failed)
    assert (obs.n, obs.report.n_failed) == (N, 2)
    assert set(obs.losses[np.isfinite(obs.losses)]) == set(np.delete(A, [3, 7]) - 4)
    assert "2 trials failed: the last row has no value" in obs.report.inferred


@pytest.mark.parametrize(("failed", "n"), [("drop", N - 2), ("worst", N)])
def test_trials_whose_last_row_says_that_they_failed(failed, n):
    """Catches a trial that crashed and counts with the row before."""
    columns = CURVES | {"trial_id": TRIAL, "epoch": FIVE, "loss": A[TRIAL] - FIVE}
    ended = np.isin(TRIAL, [3, 7]) & (FIVE == 4)
    obs = read(columns | {"status": np.where(ended, "crashed", "finished")}, failed=failed)
    assert obs.n == n
    assert set(obs.losses[np.isfinite(obs.losses)]) == set(np.delete(A, [3, 7]) - 4)


@pytest.mark.parametrize("measured", [FIVE % 2 == 1, FIVE < 4])
def test_losses_that_are_not_measured_in_each_row(measured):
    """Every second epoch, or never in the last one: the last value counts, and the note says so."""
    loss = np.where(measured, A[TRIAL] - FIVE, np.nan)
    obs = read(CURVES | {"trial_id": TRIAL, "epoch": FIVE, "loss": loss})
    np.testing.assert_allclose(obs.losses[:, 0], A - 3)
    assert any("the last row with a value of each counts" in text for text in obs.report.inferred)


def halving(rng):
    """Random configurations, of which the best third goes on at three times the budget, and so on."""
    df = pd.DataFrame({"lr": rng.random(81), "dropout": rng.random(81), "trial_id": np.arange(81)})
    rungs = []
    for epoch in (1, 3, 9, 27):
        df = df.assign(epoch=epoch, loss=df.lr + df.dropout / 4 + 3 / epoch + 0.1 * rng.normal(size=len(df)))
        rungs.append(df)
        df = df.nsmallest(len(df) // 3, "loss")
    return pd.concat(rungs)


@pytest.mark.parametrize("columns", [[], ["trial_id"]])
@pytest.mark.parametrize("marked", ["", "config/"])
def test_halving_of_random_configurations(columns, marked):
    """A trial stands where it began; catches a random search called learning, and a budget as a parameter."""
    alarms = 0
    for seed in range(10):
        df = halving(np.random.default_rng(seed)).drop(columns=columns)
        obs = read(df.rename(columns={name: marked + name for name in COUNTS}))
        assert summary(obs) == (COUNTS, 81, 0)
        np.testing.assert_array_equal(obs.values[:, 0], df.lr[:81])
        alarms += shows_learning(obs, obs.losses.T)
    assert alarms == 0


@pytest.mark.parametrize("name", ["val_acc", "metrics.acc"])
def test_rows_that_are_sorted_by_a_result(name):
    """They look like those of a search that learns; the best value so far is in order in every log."""
    columns = {"lr": SEARCH["lr"], "loss": SEARCH["lr"] + RNG.random(100)}
    df = pd.DataFrame(columns | {name: RNG.random(100) - columns["loss"]}).sort_values(name)
    said = f"rows are sorted by {name!r}, so their order says nothing about the search"
    assert read(df).report.order == said
    assert shows_learning(read(df), read(df).losses.T)
    assert not with_learning(read(df), read(df).losses.T).learned
    df[name] = (-df.loss.sample(frac=1, random_state=0)).cummax().to_numpy()
    assert read(df).report.order == ""


def test_fidelity_without_repeats():
    """DEHB's history is no table of SMAC; its fidelities differ, and no configuration repeats."""
    rows = [
        {
            "config_id": i,
            "config": {"lr": A[i], "dropout": B[i]},
            "loss": A[i],
            "cost": 1.0,
            "fidelity": 3.0 ** (i % 3),
        }
        for i in range(N)
    ]
    df = pd.DataFrame(rows)
    obs = px.Observations.from_dataframe(df, "loss", direction="minimize", warn=False)
    assert summary(obs) == (COUNTS, N, 0)
    assert "'fidelity' of the rows that count goes from 1 to 9" in obs.report.steps
    assert "a table of nested records (config), with its parameters in config/*" in obs.report.inferred
