"""Which rows belong together: labels, rows of a trial, and repeats of a configuration."""

import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.lens.logs.groups import find_groups

RNG = np.random.default_rng(0)
SPACE = px.Space({"x": px.Float(0, 1), "c": px.Categorical(["a", "b"])})


def same_groups(found: np.ndarray | None, expected: np.ndarray) -> bool:
    """Whether two numberings make the same groups."""
    assert found is not None
    pairs = np.stack([np.ravel(found), np.ravel(expected)])
    n_groups = [len(np.unique(pairs, axis=1).T), *(len(np.unique(numbers)) for numbers in pairs)]
    return len(set(n_groups)) == 1


def test_repeats_of_a_configuration_belong_together() -> None:
    rows = np.repeat(np.arange(30), 3)
    x = np.stack([RNG.uniform(size=30), RNG.integers(2, size=30)], axis=1)[rows]
    obs = px.Observations.from_arrays(SPACE, x, RNG.normal(size=90))
    assert same_groups(find_groups(obs), rows)
    assert find_groups(px.Observations.from_arrays(SPACE, x[:31], np.zeros(31))) is not None
    given = px.Observations.from_arrays(SPACE, x, RNG.normal(size=90), groups=np.arange(90))
    assert same_groups(find_groups(given), np.arange(90))


def test_few_repeats_and_discrete_configurations_make_no_groups() -> None:
    x = np.stack([RNG.uniform(size=100), RNG.integers(2, size=100)], axis=1)
    x[:5] = x[5:10]
    assert find_groups(px.Observations.from_arrays(SPACE, x, RNG.normal(size=100))) is None
    discrete = px.Space({"n": px.Int(1, 4), "c": px.Categorical(["a", "b"]), "s": px.Float(0, 1, step=0.5)})
    x = np.stack(
        [RNG.integers(1, 5, size=200), RNG.integers(2, size=200), RNG.integers(3, size=200) / 2], axis=1
    )
    assert find_groups(px.Observations.from_arrays(discrete, x, RNG.normal(size=200))) is None


def test_rows_without_an_active_continuous_parameter_stand_alone() -> None:
    space = px.Space({"c": px.Categorical(["a", "b"]), "x": px.Float(0, 1, when=[px.In("c", ["b"])])})
    c = np.repeat([0.0, 1.0], 60)
    x = np.where(c == 1, np.repeat(RNG.uniform(size=40), 3), np.nan)
    found = find_groups(px.Observations.from_arrays(space, np.stack([c, x], axis=1), RNG.normal(size=120)))
    assert same_groups(found, np.where(c == 1, np.arange(120) // 3, 1000 + np.arange(120)))


def test_seeds_have_groups_of_their_own() -> None:
    x = np.stack([RNG.uniform(size=(2, 30)), RNG.integers(2, size=(2, 30))], axis=2)
    x[1, 15:] = x[1, :15]
    groups = find_groups(px.Observations.from_arrays(SPACE, x, RNG.normal(size=(2, 30))))
    assert groups is not None
    assert same_groups(groups[0], np.arange(30))
    assert same_groups(groups[1], np.arange(30) % 15)


def table(**columns: list) -> pd.DataFrame:
    """A table of 20 trials of four epochs each."""
    x = np.repeat(RNG.uniform(size=20), 4)
    trial = np.repeat([f"t{i}" for i in range(20)], 4)
    plain = {"x": x, "value": RNG.normal(size=80), "trial_id": trial, "epoch": np.tile(np.arange(4), 20)}
    return pd.DataFrame(plain | columns)


def test_tables() -> None:
    df = table(fold=[str(i % 8) for i in range(80)])
    read = {"parameters": "x", "trial": "trial_id", "warn": False}
    every = px.Observations.from_dataframe(df, per_trial="all", **read)
    assert every.n == 80
    assert same_groups(every.groups, np.arange(80) // 4)
    assert px.Observations.from_dataframe(df, **read).n == 20
    by_fold = px.Observations.from_dataframe(df, per_trial="all", groups="fold", **read)
    assert same_groups(by_fold.groups, np.arange(80) % 8)
    with pytest.raises(ValueError, match="groups: the table has no column 'folds'; did you mean 'fold'"):
        px.Observations.from_dataframe(df, groups="folds")


def test_a_row_without_a_label_stands_alone() -> None:
    df = table(fold=[None if i < 10 else str(i % 2) for i in range(80)])
    obs = px.Observations.from_dataframe(df, per_trial="all", groups="fold", parameters="x", warn=False)
    assert obs.groups is not None
    assert len(np.unique(obs.groups)) == 12


@pytest.mark.parametrize("n", [1000, 40_000])
@pytest.mark.parametrize("repeats", [0, 1, 30, 20_000])
@pytest.mark.parametrize("share", [0.05, 0.2])
def test_repeats_of_short_and_long_logs(n: int, repeats: int, share: float) -> None:
    """A share of the rows are repeats, of many configurations or of few."""
    rng = np.random.default_rng(0)
    values, n_repeated = rng.uniform(size=(n, 1)), int(share * n)
    if repeats:
        values[:n_repeated] = values[n_repeated + np.arange(n_repeated) // repeats]
    rng.shuffle(values)
    obs = px.Observations.from_arrays(px.Space({"x": px.Float(0, 1)}), values, rng.normal(size=n))
    groups = find_groups(obs)
    if repeats and share > 0.1:
        assert groups is not None
        assert len(np.unique(groups)) == len(np.unique(values))
    else:
        assert groups is None
