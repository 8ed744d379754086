"""Words for a missing value in columns of numbers, in every kind of table; names that no column has."""

import json
import shlex
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.lens.cli.filters import filter_mask
from parzax.lens.plotting import values
from parzax.lens.tables.files import read_table
from parzax.lens.tables.table import open_table

N, GAPS = 40, [3, 7]
LR = np.random.default_rng(0).uniform(size=N).round(4)
WORDS = ["n/a", "N/A", "NA", "na", "#N/A", "null", "NULL", "None", "none", "-", "--", "?", "", "nan", "NaT"]
WORDS += ["diverged", "Out of memory"]


def write_table(path, kind, column, word):
    """A table with ``word`` in two rows of a column; a data frame is returned, a file written."""
    rows = [{"lr": float(x), "depth": i % 5, "value": i / N} for i, x in enumerate(LR)]
    for i in GAPS:
        rows[i][column] = word
    if kind == "frame":
        return pd.DataFrame(rows)
    file = path / f"t.{kind}"
    lines = [",".join(map(str, row.values())) for row in rows]
    text = "\n".join(["lr,depth,value", *lines] if kind == "csv" else map(json.dumps, rows))
    file.write_text(text + "\n")
    return file


@pytest.mark.parametrize("kind", ["csv", "jsonl", "frame"])
@pytest.mark.parametrize("word", WORDS)
def test_words_for_no_value(tmp_path, kind, word):
    # Catches an error for "n/a", and a choice of every number in a column of JSON that has one.
    obs = px.Observations.from_dataframe(write_table(tmp_path, kind, "value", word), warn=False)
    assert np.flatnonzero(np.isnan(obs.losses[:, 0])).tolist() == GAPS
    assert obs.report.n_failed == 2
    for column, domain in (("lr", px.Float), ("depth", px.Int)):
        obs = px.Observations.from_dataframe(write_table(tmp_path, kind, column, word), warn=False)
        j = obs.space.index(column)
        assert isinstance(obs.space[column][0], domain)
        assert np.flatnonzero(obs.regime[:, j] < 0).tolist() == GAPS


@pytest.mark.parametrize("kind", ["csv", "jsonl", "frame"])
@pytest.mark.parametrize("word", ["see log", "auto", "0.1.2"])
def test_other_words_in_an_objective_are_errors(tmp_path, kind, word):
    # Catches a result that is lost without a word, and an error that does not say how to go on.
    path = write_table(tmp_path, kind, "value", word)
    with pytest.raises(ValueError, match=f"column 'value', row 3: '{word}' is not a number") as error:
        px.Observations.from_dataframe(path, warn=False)
    option, text = shlex.split(str(error.value).split("; ")[1])[:2]
    keep = filter_mask(text, open_table(path) if isinstance(path, pd.DataFrame) else read_table(path))
    obs = px.Observations.from_dataframe(path, exclude={"filter": ~keep}, warn=False)
    assert (option, obs.n, obs.report.n_failed) == ("--filter", N - 2, 0)


@pytest.mark.parametrize("write", [str, float])
def test_many_runs_that_failed(write):
    # Catches words that are an error, or make a column of words, since most runs failed.
    value = ["OOM" if i % 3 else write(i / N) for i in range(N)]
    obs = px.Observations.from_dataframe(pd.DataFrame({"lr": LR, "value": value}), failed="worst", warn=False)
    assert (obs.n, obs.report.n_failed) == (N, 26)


def test_words_in_other_columns_of_numbers(tmp_path):
    # Catches "n/a" refused in a filter, a constraint or a column of a given space.
    table = open_table(write_table(tmp_path, "frame", "lr", "n/a"))
    assert not filter_mask("lr >= 0", table)[GAPS].any()
    assert filter_mask("lr >= 0", table).sum() == N - 2
    with pytest.raises(ValueError, match="row 3, constraint 0 is NaN"):
        px.Observations.from_dataframe(table, constraints="lr", parameters="depth", warn=False)
    space = px.Space({"depth": px.Int(0, 4), "lr": px.Float(0, 1, when=px.Recorded())})
    obs = px.Observations.from_dataframe(table, space=space, warn=False)
    assert np.flatnonzero(obs.regime[:, 1] < 0).tolist() == GAPS


def test_choices_keep_their_words():
    # Catches a penalty "none" that is taken for a missing one.
    df = pd.DataFrame({"penalty": ["l1", "l2", "none", "-"] * 10, "value": LR})
    (domain,) = px.Observations.from_dataframe(df, warn=False).space["penalty"]
    assert isinstance(domain, px.Categorical)
    assert sorted(domain.choices) == ["-", "l1", "l2", "none"]


def test_an_objective_without_any_value():
    # Catches "'n/a' is not a number" for a column that holds nothing else.
    df = pd.DataFrame({"lr": LR, "value": "n/a"})
    obs = px.Observations.from_dataframe(df, warn=False)
    assert obs.report.n_failed == N


NESTED = pd.DataFrame({"config/lr": LR, "config/opt/name": ["adam", "sgd"] * 20, "Val Loss": LR})
NESTED["学習率"] = LR


@pytest.mark.parametrize(
    ("name", "similar"),
    [("lr", "config/lr"), ("LR", "config/lr"), ("config.lr", "config/lr"), ("name", "config/opt/name"),
     ("vall_loss", "Val Loss"), ("opt/name", "config/opt/name"), ("学習卒", None),
     ("momentum", None)],
)  # fmt: skip
def test_similar_names_are_suggested(name, similar):
    # Catches a list of all columns where one is meant, and a suggestion that has nothing in common.
    hint = f"did you mean {similar!r}?" if similar else "its columns are 'config/lr', "
    for argument in ("target", "drop", "parameters", "constraints", "weight", "seed"):
        arguments: Any = {"target": "Val Loss"} | {argument: name}
        with pytest.raises(ValueError, match="the table has no column") as error:
            px.Observations.from_dataframe(NESTED, **arguments)
        assert str(error.value).startswith(f"{argument}: the table has no column {name!r}; {hint}")


def test_filters_suggest_and_take_bare_names():
    # Catches a filter on `lr` that cannot find `config/lr`, and one of two that is chosen by chance.
    table = open_table(NESTED)
    np.testing.assert_array_equal(filter_mask("lr < 0.5", table), LR < 0.5)
    np.testing.assert_array_equal(filter_mask("params_lr < 0.5", table), LR < 0.5)
    with pytest.raises(ValueError, match="--filter: no column 'LR'; did you mean 'config/lr'"):
        filter_mask("LR < 0.5", table)
    both = open_table(NESTED.assign(params_lr=LR))
    with pytest.raises(ValueError, match="no column 'lr'; did you mean 'config/lr', 'params_lr'"):
        filter_mask("lr < 0.5", both)


def test_spaces_suggest_columns():
    # Catches a space in small letters beside a table in capitals without a hint.
    df = pd.DataFrame({"LR": LR, "value": LR})
    with pytest.raises(ValueError, match=r"no column for the parameters 'lr' of the space .* mean 'LR'"):
        px.Observations.from_dataframe(df, space=px.Space({"lr": px.Float(0, 1)}), warn=False)


def test_pictures_suggest_parameters():
    # Catches a column's name, which is longer than its parameter's, without a hint.
    obs = px.Observations.from_arrays(px.Space({"lr": px.Float(0, 1)}), LR[:, None], LR)
    result = px.cond_ped_anova(obs, 0.3, n_resamples=0)
    for name in ("LR", "config/lr"):
        with pytest.raises(ValueError, match=f"no parameter '{name}'; did you mean 'lr'"):
            values(result, name)
    plt.close("all")
