"""Files of logs: shapes of JSON, packed files, and errors that say what was found and what to do."""

import bz2
import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import parzax as px
from parzax.lens.cli import main
from parzax.lens.tables.files import read_table

N = 40
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"lr": RNG.uniform(size=N), "units": RNG.integers(1, 9, N)}).assign(
    loss=lambda df: (df["lr"] - 0.3) ** 2
)
RECORDS = FRAME.to_dict("records")
CV = {"param_lr": FRAME["lr"].tolist(), "params": [{"lr": x} for x in FRAME["lr"]], "rank_test_loss": [1] * N}

DOCUMENTS = {
    **{orient: json.loads(FRAME.to_json(orient=orient)) for orient in ("columns", "split", "index", "table")},
    "by name": json.loads(FRAME.set_index(FRAME.index.map("run {}".format)).to_json(orient="index")),
    "lists": FRAME.to_dict("list"),
    "wandb.Table": {"columns": list(FRAME), "data": FRAME.to_numpy().tolist(), "ncols": 3, "nrows": N},
    "trials": {"name": "study", "trials": RECORDS},
}


@pytest.mark.parametrize("shape", DOCUMENTS)
def test_documents_of_json(tmp_path, shape):
    """Columns, rows and records; catches rows read as columns, and a document read as one record."""
    (tmp_path / "t.json").write_text(json.dumps(DOCUMENTS[shape]))
    table = read_table(tmp_path / "t.json")
    assert table.n == N
    for name in FRAME:
        np.testing.assert_allclose(table.columns[name].as_numbers(), FRAME[name], atol=1e-9)
    # The table schema of pandas has the index as a column.
    assert set(table.columns) - {"index"} == set(FRAME)


def test_cv_results(tmp_path):
    """Catches the records in "params" taken for the log."""
    (tmp_path / "t.json").write_text(json.dumps(CV | {"mean_test_loss": FRAME["loss"].tolist()}))
    path = tmp_path / "t.json"
    obs = px.Observations.from_dataframe(path, "mean_test_loss", directions="minimize", warn=False)
    assert obs.space.names == ("lr",)
    np.testing.assert_allclose(obs.losses[:, 0], FRAME["loss"])


def test_one_record_of_each_file(tmp_path):
    """Catches lists and records within one trial's file taken for columns."""
    for i, row in enumerate(RECORDS):
        (tmp_path / f"{i:02}.json").write_text(json.dumps({"betas": [i, i], "sizes": [1, 2], **row}))
    assert read_table(tmp_path).n == N
    (tmp_path / "t.jsonl").write_text("\n".join(json.dumps({"a": [1, 2], "b": [3, 4]}) for _ in range(3)))
    assert read_table(tmp_path / "t.jsonl").n == 3


def test_configurations_of_weights_and_biases(tmp_path):
    """Its files hold {"value": x} for each value x; elsewhere such a record is an ordinary one."""
    rows = [
        {"config": {"lr": {"desc": None, "value": r["lr"]}, "opt": {"value": {"name": "sgd"}}},
         "summary": {"loss": {"value": r["loss"]}}}
        for r in RECORDS
    ]  # fmt: skip
    (tmp_path / "t.json").write_text(json.dumps(rows))
    names = [*read_table(tmp_path / "t.json").columns]
    assert names == ["config/lr", "config/opt/name", "summary/loss/value"]


def write_zip(path, *names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, FRAME.to_csv(index=False))


def test_packed_files(tmp_path):
    """As Syne Tune writes its results; catches bytes of the archive read as a table."""
    write_zip(tmp_path / "t.csv.zip", "t.csv")
    (tmp_path / "t.csv.bz2").write_bytes(bz2.compress(FRAME.to_csv(index=False).encode()))
    for name in ("t.csv.zip", "t.csv.bz2"):
        np.testing.assert_array_equal(read_table(tmp_path / name).columns["lr"].as_numbers(), FRAME["lr"])
    write_zip(tmp_path / "t.csv.zip", "a.csv", "b.csv")
    with pytest.raises(ValueError, match=r"t.csv.zip' cannot be unpacked: it holds 2 files; unpack it"):
        read_table(tmp_path / "t.csv.zip")


HISTORY = FRAME.assign(_step=np.arange(N) * 50, _runtime=np.arange(N) + 0.5)
LONG = pd.concat(
    [FRAME.assign(metric_name=name, mean=FRAME["loss"], sem=0.1) for name in ("loss", "memory")]
).drop(columns="loss")
RAY = pd.DataFrame({"training_iteration": np.arange(N) % 8, "trial_id": "a", "episode_len": FRAME["lr"]})
CSV = FRAME.to_csv(index=False)
# Name of a file, its content, and words of the error.
REFUSED = [
    (
        "t.csv",
        CSV.replace("lr", "größe").encode("latin-1"),
        ["not in UTF-8", "save it in UTF-8", "byte 0xf6"],
    ),
    ("t.json", '{"größe": 1}'.encode("latin-1"), ["not in UTF-8", "save it in UTF-8"]),
    (
        "t.csv",
        f"sep=;\n{CSV.replace(',', ';')}",
        ["Expected 2 columns, got 3", "first line must name"],
    ),
    ("t.csv", f"My sweep\n\n{CSV}", ["Expected 1 columns, got 3", "delete what stands above"]),
    ("t.csv", f"# exported\n{CSV}", ["Expected 1 columns, got 3", "delete what stands above"]),
    ("t.csv", "lr,sizes,loss\n0.1,[1, 2],3\n", ["Expected 3 columns, got 4", "into quotes"]),
    ("t.csv", "lr,units,loss\n", ["the table has no rows; its columns are 'lr', 'units', 'loss'"]),
    ("t.json", FRAME.to_json(orient="values"), ["it holds a list", "write one record per trial"]),
    ("t.json", '[[0, 0, 0], 9.0, {"loss": 1.0}]\n' * 9, ["it holds a list", "export the trials as CSV"]),
    (
        "t.json",
        '{"__type": "Experiment", "trials": {"0": {"lr": 1}}}',
        ["single record", "'trials'", "as CSV"],
    ),
    ("t.csv", HISTORY.to_csv(index=False), ["single run", "'_step' increases", "--parameters lr units"]),
    ("t.csv", LONG.to_csv(index=False), ["a row may be a metric", "'metric_name'", "--parameters"]),
    ("progress.csv", RAY.to_csv(index=False), ["lacks the parameters of its run", "'params.json'"]),
    ("t.xlsx", b"PK\3\4" + bytes(99), ["of no known kind", "export the log as CSV"]),
    ("t.csv", b"PK\3\4" + bytes(99), ["not a text file", "export the log as CSV"]),
    ("t.csv.zip", b"PK\3\4" + bytes(99), ["cannot be unpacked"]),
]


@pytest.mark.parametrize(("name", "content", "words"), REFUSED)
def test_refused_files(tmp_path, monkeypatch, capsys, name, content, words):
    """Errors of libraries that say neither which file nor what to do, and rows ranked that are no trials."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    target = "mean" if "'metric_name'" in words else "loss"
    assert main(["importance", name, "--target", target, "--direction", "minimize"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert all(word in line for word in words), line
    assert f"'{name}'" in line or "rows are trials" in line


def test_what_is_no_course_of_a_run():
    """Named parameters, a space and trials in any order are taken as they are; few rows prove nothing."""
    for df, more in (
        (HISTORY, {"parameters": ["lr", "units"]}),
        (HISTORY, {"space": px.Space({"lr": px.Float(0, 1), "units": px.Int(1, 9)})}),
        (HISTORY.iloc[::-1], {}),
        (HISTORY[:9], {}),
    ):
        obs = px.Observations.from_dataframe(df, "loss", directions="minimize", warn=False, **more)
        assert {"lr", "units"} <= set(obs.space.names)
    with pytest.raises(ValueError, match="course of a single run"):
        px.Observations.from_dataframe(HISTORY, "loss", directions="minimize")


def test_quoted_cells_over_several_lines(tmp_path):
    """Catches commas in a quoted cell counted as cells."""
    notes = ['"a, b, c, ""d"", e"', '"first, line\nsecond, one, two, three, four"', "none"]
    rows = "\n".join(f"0.{i},{note},{i}" for i, note in enumerate(notes * 3))
    (tmp_path / "t.csv").write_text(f"lr,note,loss\n{rows}\n")
    assert read_table(tmp_path / "t.csv").n == 9


@pytest.mark.parametrize("spelled", ["np.float64({})", "{}", "{},5"])
def test_infinite_objectives(spelled):
    """inf is a number beside any spelling of others; catches it blamed for a word, or read as missing."""
    texts = [spelled.format(x) for x in (0, 10, 20, 30, 40, 50, 60, 70)]
    df = pd.DataFrame(
        {"lr": np.arange(1, 13) / 13, "loss": ["inf", "-inf", "np.float64(nan)", "Infinity", *texts]}
    )
    obs = px.Observations.from_dataframe(df, "loss", directions="minimize", warn=False)
    assert obs.losses[1, 0] == -np.inf
    assert obs.report.n_failed == 3
    df.loc[7, "loss"] = "sank"
    with pytest.raises(ValueError, match="column 'loss', row 7: 'sank' is not a number"):
        px.Observations.from_dataframe(df, "loss", directions="minimize")
