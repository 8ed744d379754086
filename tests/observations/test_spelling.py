"""Numbers that a table holds as text, ids and dates: what becomes of them, and what is said."""

import numpy as np
import pandas as pd
import pytest

import parzax as px

N = 60
RNG = np.random.default_rng(0)
X = (10 ** RNG.uniform(-1, 3.6, N)).round(3)


def read(**columns):
    """Observations of a table with these columns and a value."""
    df = pd.DataFrame({**columns, "value": np.random.default_rng(1).random(N)})
    return px.Observations.from_dataframe(df, directions="minimize", warn=False)


SPELLINGS = {
    "plain": lambda x: repr(x),
    "NumPy's repr": lambda x: f"np.float64({x!r})",
    "decimal comma": lambda x: repr(x).replace(".", ","),
    "decimal comma and points": lambda x: f"{x:,.3f}".replace(",", "_").replace(".", ",").replace("_", "."),
    "thousands": lambda x: f"{x:,.3f}",
    "spaces": lambda x: f" {x!r} ",
}


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("stray", [None, "None", "auto", ""])
def test_numbers_in_text(spelling, stray):
    """Every spelling gives the numbers; stray text is inactive, and named. Catches 60 choices instead."""
    text = [SPELLINGS[spelling](x) for x in X.tolist()]
    expected = X.copy()
    if stray is not None:
        text[7], expected[7] = stray, np.nan
    obs = read(x=text, y=np.arange(N) / N)
    (domain,) = obs.space["x"]
    assert isinstance(domain, px.Float)
    np.testing.assert_array_equal(obs.values[:, 0], expected)
    assert (obs.regime[:, 0] == -1).sum() == (stray is not None)
    if stray:
        assert any(f"no number in 1 row ({stray!r})" in note for note in obs.report.inferred)


def test_thousands():
    """Commas between thousands alone; catches 1,285 as 1.285 beside 1,234,567."""
    x = (np.arange(N) * 7919 + 1000) * np.where(np.arange(N) % 5, 1, 100)
    obs = read(x=[f"{value:,d}" for value in x.tolist()])
    np.testing.assert_array_equal(obs.values[:, 0], x)
    assert any("signs between thousands" in note for note in obs.report.inferred)


def test_whole_numbers_stay_whole():
    """Numbers as text and a None are whole numbers."""
    obs = read(k=[["16", "32", "64"][i % 3] if i != 5 else "None" for i in range(N)], y=np.arange(N) / N)
    (domain,) = obs.space["k"]
    assert domain.has_integers
    assert domain.values == (16, 32, 64)


LABELS = {
    "layers": [["64,64", "64,32", "128,128"][i % 3] for i in range(N)],
    "many layers": [f"{64 + i},{32 + i}" for i in range(20)] * 3,
    "dimensions": [["1D", "2D", "3D"][i % 3] for i in range(N)],
    "lists of two": [f"{8 * (i + 2)},{4 * (i + 2)}" for i in range(20)] * 3,
    "grouped by points or decimals": [["512", "1.024", "2.048", "768"][i % 4] for i in range(N)],
    "versions with two numbers": [f"1.{i + 1}" for i in range(20)] * 3,
    "two spellings": [str(x + 0.5) for x in range(20)] * 2 + ["0,25"] * 20,
    "a unit for some": ["1k", "2k", "4k", "8k", "512"] * 12,
    "names": [["adam", "sgd"][i % 2] for i in range(N)],
    "mostly names": [["a", "b", "1"][i % 3] for i in range(N)],
    "two units": [["1s", "2m"][i % 2] for i in range(N)],
    "versions": [["1.2.3", "1.2.4", "2.0.0"][i % 3] for i in range(N)],
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_stay_labels(name):
    """What is not clearly numbers is a choice; catches a reader that is too eager."""
    obs = read(c=LABELS[name], y=np.arange(N) / N)
    (domain,) = obs.space["c"]
    assert isinstance(domain, px.Categorical)
    assert sorted(domain.choices) == sorted(set(LABELS[name]))


def test_none_in_most_rows():
    """A parameter that is "None" in most rows is numeric; catches a choice of every number."""
    text = [repr(x) if i % 3 == 0 else "None" for i, x in enumerate(X.tolist())]
    obs = read(x=text, y=np.arange(N) / N)
    assert isinstance(obs.space["x"][0], px.Float)
    assert (obs.regime[:, obs.space.index("x")] == -1).sum() == 40


def test_ids_and_dates_are_asked_for():
    """An id, a path and a date say nothing, in text or as dates."""
    columns = {
        "y": np.arange(N) % 7 / 7,
        "run": [f"run-{i:03d}" for i in range(N)],
        "path": [f"/out/{i}/log.txt" for i in range(N)],
        "begun": pd.date_range("2026-01-01", periods=N, freq="h").astype(str),
    }
    with pytest.raises(ValueError, match=r"'run': .*; 'path': .*; 'begun': a time.* parameters=\['y'\]\)"):
        read(**columns)
    with pytest.raises(ValueError, match=r"'begun': a time, .* parameters=\['y'\]\)"):
        read(y=columns["y"], begun=pd.date_range("2026-01-01", periods=N, freq="h"))


@pytest.mark.parametrize("write", ["frame", "csv"])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (
            [f"1.{i}D-02" for i in range(20)],
            [(1 + i / 10 if i < 10 else 1 + i / 100) / 100 for i in range(20)],
        ),
        ([f"\N{MINUS SIGN}{i}.5" for i in range(20)], [-i - 0.5 for i in range(20)]),
        ([f"{i + 1}_000" for i in range(20)], [1000.0 * (i + 1) for i in range(20)]),
        ([str(2**53 + 2 * i) for i in range(20)], [float(2**53 + 2 * i) for i in range(20)]),
    ],
    ids=["fortran", "minus", "underscores", "large"],
)
def test_frames_and_files_agree(write, values, expected, tmp_path):
    """Text is read by one rule; catches labels that a data frame would not have."""
    df = pd.DataFrame({"x": values, "y": RNG.random(20), "value": RNG.random(20)})
    if write == "csv":
        df.to_csv(tmp_path / "t.csv", index=False)
        df = tmp_path / "t.csv"
    obs = px.Observations.from_dataframe(df, directions="minimize", parameters=["x", "y"], warn=False)
    assert isinstance(obs.space["x"][0], px.Float | px.Int)
    np.testing.assert_allclose(obs.values[:, 0], expected, rtol=1e-15)


def test_a_given_space_is_taken_literally():
    """With a space text is not guessed at: a stray cell is an error that names it."""
    df = pd.DataFrame({"x": ["0.5", "oops"], "value": [1.0, 2.0]})
    with pytest.raises(ValueError, match="column 'x', row 1: 'oops' is not a number"):
        px.Observations.from_dataframe(df, space=px.Space({"x": px.Float(0, 1)}), directions="minimize")
