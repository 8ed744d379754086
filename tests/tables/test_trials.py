"""Several rows of a trial: which of them count, and what the reader asks where nothing says so."""

import numpy as np
import pandas as pd
import pytest

import parzax as px

RNG = np.random.default_rng(0)
N = 20
A, B = RNG.random(N), RNG.random(N)
FIVE, TRIAL = np.tile(np.arange(5), N), np.repeat(np.arange(N), 5)
CURVES = {"lr": A[TRIAL], "dropout": B[TRIAL]}
COUNTS = ("lr", "dropout")


def read(columns, **options):
    df = pd.DataFrame(columns)
    df = df if "loss" in df else df.assign(loss=np.random.default_rng(1).normal(size=len(df)))
    return px.Observations.from_dataframe(df, "loss", directions="minimize", warn=False, **options)


def epochs(n=60):
    """Three epochs of each configuration, in a shuffled order; the second is the best."""
    lr, depth = np.random.default_rng(2).random(n), np.random.default_rng(3).integers(1, 9, n)
    trial, epoch = np.repeat(np.arange(n), 3), np.tile([1, 2, 3], n)
    columns = {"lr": lr[trial], "depth": depth[trial], "epoch": epoch, "trial": trial}
    df = pd.DataFrame(columns | {"loss": lr[trial] + (epoch - 2) ** 2})
    return df.sample(frac=1, random_state=0), lr


@pytest.mark.parametrize("given", [{"trial": "trial", "step": "epoch"}, {"step": "epoch"}])
def test_one_row_a_trial(given):
    """By a column of trials, or by repeated configurations beside a column of epochs."""
    df, lr = epochs()
    df = df if "trial" in given else df.drop(columns="trial")
    last = read(df, **given)
    assert last.n == 60
    np.testing.assert_allclose(np.sort(last.losses[:, 0]), np.sort(lr + 1))
    assert any("180 rows hold 60 trials; the last row of each counts" in x for x in last.report.inferred)
    best = read(df, per_trial="best", **given)
    np.testing.assert_allclose(np.sort(best.losses[:, 0]), np.sort(lr))
    every = read(df, per_trial="all", **given)
    assert (every.n, len(np.unique(every.groups))) == (180, 60)
    with pytest.raises(ValueError, match="per_trial must be one of"):
        read(df, per_trial="first", **given)


def test_a_step_without_repeats_is_refused():
    with pytest.raises(ValueError, match="step='epoch' counts the rows of a trial, but no two rows"):
        read({"lr": A, "epoch": np.arange(N)}, parameters="lr", step="epoch")


def test_rows_of_a_trial_stay_within_their_log():
    """Equal numbers of trials in two tasks are two trials."""
    df, _ = epochs()
    both = pd.concat([df.assign(task="a"), df.assign(task="b")])
    options = {"directions": "minimize", "trial": "trial", "step": "epoch", "warn": False}
    tasks = px.Observations.by_task(both, "task", "loss", **options)
    assert [obs.n for obs in tasks.values()] == [60, 60]


@pytest.mark.parametrize("name", ["params_budget", "config/step", "epochs"])
def test_a_parameter_counts_no_rows(name):
    """Catches a grid over budgets or epochs that is reduced to one row for each setting of the others."""
    lr, budget = np.repeat([0.1, 0.2, 0.3], 12), np.tile(np.arange(4), 9)
    beside = "lr" if name == "epochs" else name.replace("budget", "lr").replace("step", "lr")
    obs = read({beside: lr, name: budget})
    assert (obs.n, len(obs.space)) == (36, 2)


def test_what_is_asked_for_counts_no_rows():
    """``parameters`` overrules the name of a column of steps, and that of states."""
    df, _ = epochs()
    obs = read(df, parameters=["lr", "epoch"])
    assert (obs.n, obs.space.names) == (180, ("lr", "epoch"))
    df["state"] = np.where(np.arange(180) % 2, "COMPLETE", "FAIL")
    obs = read(df, parameters=["lr", "state"])
    assert obs.space.names == ("lr", "state")
    assert "state FAIL" not in obs.report.dropped


ASKED = {
    "trials and epochs": (
        CURVES | {"trial_id": TRIAL, "epoch": FIVE},
        {"trial": "trial_id", "step": "epoch"},
    ),
    "epochs alone": (CURVES | {"epoch": FIVE}, {"step": "epoch"}),
    "a step without a usual name": (CURVES | {"t": FIVE}, {"step": "t"}),
    "trials alone": (CURVES | {"trial": TRIAL}, {"trial": "trial"}),
}


@pytest.mark.parametrize("case", ASKED)
def test_courses_are_asked_for(case):
    """Catches epochs that count as trials; what changes within a trial is left out by the guess."""
    columns, expected = ASKED[case]
    more = {"drift": RNG.random(5 * N), "grad_norm": RNG.random(5 * N)}
    with pytest.raises(ValueError, match="grad_norm") as error:
        read(columns | more)
    guess = error.value.guess
    assert guess == {"parameters": [*COUNTS], **expected}
    obs = read(columns | more, **guess)
    assert (obs.space.names, obs.n) == (COUNTS, N)


def test_repeats_are_groups():
    """Folds and seeds are measurements of equal rank, which all count, in groups."""
    for name in ("Fold", "seed", "repeat"):
        with pytest.raises(ValueError, match="a fold or a seed, by its name") as error:
            read(CURVES | {name: FIVE})
        assert error.value.guess == {"parameters": [*COUNTS]}
        obs = read(CURVES | {name: FIVE}, **error.value.guess)
        assert obs.n == 5 * N
        facts = px.cond_ped_anova(obs, 0.3, n_resamples=0).facts
        assert any("samples and shuffles take whole groups" in fact for fact in facts)


def test_a_run_of_each_row_is_no_trial():
    """Catches rows that are left out because another column counts, or names each of them."""
    rng = np.random.default_rng(0)
    columns = {
        "run_id": [f"r{i}" for i in range(100)],
        "warmup": rng.integers(15, 25, 100),
        "epoch": rng.integers(80, 140, 100),
        "loss": rng.random(100),
    }
    with pytest.raises(ValueError, match=r"'run_id': an identity.*'epoch': a counter of steps") as error:
        read(columns)
    assert error.value.guess == {"parameters": ["warmup"]}
    assert read(columns, **error.value.guess).n == 100


def test_runs_that_failed():
    """A trial whose last row has no loss failed, unless losses were not measured in each row."""
    loss = np.random.default_rng(0).random(5 * N)
    failed = np.where((FIVE == 4) & (TRIAL < 3), np.nan, loss)
    given = {"parameters": [*COUNTS], "trial": "trial", "step": "epoch"}
    obs = read(CURVES | {"trial": TRIAL, "epoch": FIVE, "loss": failed}, **given)
    assert (~np.isnan(obs.losses)).sum() == N - 3
    assert "3 trials failed: the last row has no value" in obs.report.inferred
    sparse = np.where(FIVE % 2, loss, np.nan)
    obs = read(CURVES | {"trial": TRIAL, "epoch": FIVE, "loss": sparse}, **given)
    np.testing.assert_array_equal(obs.losses[:, 0], sparse[FIVE == 3])
    assert any("the last row with a value of each counts" in note for note in obs.report.inferred)


def test_trials_of_other_lengths_may_not_compare():
    columns = pd.DataFrame(CURVES | {"trial": TRIAL, "epoch": FIVE})[FIVE <= TRIAL]
    obs = read(columns, parameters=[*COUNTS], trial="trial", step="epoch")
    assert "losses may not compare: 'epoch' of the rows that count goes from 0 to 4" in obs.report.steps
    assert obs.n == N
