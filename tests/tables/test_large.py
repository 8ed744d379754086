"""Counts of large logs: the same as of all rows in memory, resumable, with an error for each bad input."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parzax as px
from parzax.importance.levels import level_sets
from parzax.lens.cli import main, reading
from parzax.lens.tables import large

LEVELS = [0.5, 0.1, 0.25]
SPACE = px.Space(
    {
        "x": px.Float(1e-4, 1, log=True),
        "k": px.Int(1, 40),
        "c": px.Categorical(["a", "b"]),
        "y": px.Float(-2, 3, when=px.In("c", ["a"])),
    }
)

count = px.importance.Counts.of


def table(n=3000, seed=0):
    """A log with ties, text, inactive values, nulls, NaN and infinities in the loss."""
    rng = np.random.default_rng(seed)
    x, k, c = 10 ** rng.uniform(-4, 0, n), rng.integers(1, 41, n), rng.integers(0, 2, n)
    y = np.where(c == 0, rng.uniform(-2, 3, n), np.nan)
    loss = np.round((np.log10(x) + 2) ** 2 + np.nan_to_num(y) + np.abs(k - 15) / 9, 2)
    loss[::50], loss[1::97], loss[2::91] = np.nan, np.inf, -np.inf
    labels = np.array(["a", "b"])[c]
    columns = {"x": x, "k": k, "c": labels, "y": pa.array(y, from_pandas=True), "loss": loss}
    return pa.table(columns)


def write(folder: Path, rows: pa.Table, sizes=(1000, 700, 1300), row_group_size=256) -> str:
    """The rows in several files of many row groups; their pattern."""
    start = 0
    for i, size in enumerate(sizes):
        pq.write_table(rows.slice(start, size), folder / f"{i}.parquet", row_group_size=row_group_size)
        start += size
    return str(folder / "*.parquet")


def encoded(rows: pa.Table, direction="minimize", region=0.9):
    obs = px.Observations.from_dataframe(rows, "loss", directions=direction, space=SPACE, warn=False)
    return obs.encode(LEVELS, region)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_counts_of_files(tmp_path, direction):
    """The counts and statuses of all rows in memory, whatever the files and row groups."""
    rows = table()
    wanted = count(encoded(rows, direction))
    for sizes, group in (((1000, 700, 1300), 256), ((3000,), 3000)):
        folder = tmp_path / str(group)
        folder.mkdir()
        path = write(folder, rows, sizes, group)
        log = px.lens.count(path, SPACE, "loss", LEVELS, 0.9, directions=direction)
        assert (log.counts == wanted.counts).all()
        assert (log.status == wanted.status).all()
    plain = px.Space({"k": SPACE["k"], "x": SPACE["x"]})
    one = px.lens.count([path], plain, "loss", LEVELS, 0.9, directions=direction)
    k, x = (wanted.counts[:, a:b] for a, b in ((97, 138), (0, 97)))
    assert (one.counts == np.hstack([k, x])).all()


def test_cutoffs():
    """`level_sets` of all rows; catches a wrong row or status, for ties, signs and infinities."""
    rng, levels = np.random.default_rng(0), tuple(np.arange(1, 20) / 20)
    one = px.Space({"k": px.Int(1, 2)})
    for losses in (
        rng.normal(size=2003),
        rng.integers(0, 7, 2003) / 7.0,
        rng.normal(size=999) * 10.0 ** rng.integers(-300, 300, 999),
        np.where(rng.random(500) < 0.3, -np.inf, rng.normal(size=500)),
        rng.integers(-5, 5, 1000) * 5e-324,
        np.array([2.0, 1.0]),
        np.ones(50),
        np.ones(1),
    ):
        log = px.lens.count(
            pl.DataFrame({"k": np.ones(len(losses)), "loss": losses}), one, "loss", levels, 0.98
        )
        assert log.cutoffs is not None
        wanted, _, wanted_status = level_sets(losses, None, levels, 0.98, False)
        assert ((losses[:, None] > log.cutoffs).sum(axis=1) == wanted).all()
        assert (log.counts[:, 0] == np.bincount(wanted, minlength=21).cumsum()[:20]).all()
        assert (log.status == wanted_status).all()


def test_a_log_without_losses(tmp_path):
    """No row, and the status says so."""
    rows = table(20)
    rows = rows.set_column(4, "loss", pa.array(np.full(20, np.nan)))
    log = px.lens.count(write(tmp_path, rows, (20,)), SPACE, "loss", LEVELS)
    assert not log.counts.any()
    assert (log.status == int(px.Status.NO_DATA)).all()


def test_bad_files(tmp_path):
    """Each has an error that names the file and what to do; catches rows that are silently left out."""
    rows = table()
    path = write(tmp_path, rows)

    def refused(message, space=SPACE, target="loss"):
        with pytest.raises(ValueError, match=message):
            px.lens.count(path, space, target, LEVELS)

    refused(r"0.parquet', numbers: the table has no column 'z'; its columns are 'x', 'k', 'y'", target="z")
    refused(r"0.parquet', numbers or labels: the table has no column 'z'", px.Space({"z": px.Float(0, 1)}))
    refused(r"0.parquet', numbers: the table has no column 'c'", target="c")
    refused(
        r"0.parquet', after 0 rows: values: row .* column 0 \('k'\) = .* outside Int",
        px.Space({"k": px.Int(1, 30)}),
    )
    refused(r"'b' is not one of the choices", px.Space({"c": px.Categorical(["a", "z"])}))
    refused(r"'y'\) = nan is missing", px.Space({"y": px.Float(-2, 3)}))
    file = tmp_path / "2.parquet"
    other = rows.set_column(1, "k", rows["k"].cast(pa.float64()))
    pq.write_table(other, file)
    assert px.lens.count(path, SPACE, "loss", LEVELS).counts.any()
    pq.write_table(rows.drop_columns("k"), file)
    refused(r"2.parquet', numbers or labels: the table has no column 'k'")
    pq.write_table(rows, file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    refused(r"2.parquet' cannot be read as parquet: .* out of specification")
    file.write_bytes(bytes(len(whole) // 3) + whole[len(whole) // 3 :])
    refused(r"2.parquet' cannot be read as parquet: .* out of specification")
    file.write_bytes(b"")
    refused(r"2.parquet' is empty")


RECORDS = pa.array([{"a": -1e6 * i, "x": 1e7} for i in range(3000)])


def command(path, capsys, *more):
    """The exit status of the command, and all that it prints."""
    words = ["importance", str(path), "--target", "loss", "--direction", "minimize", "--resamples", "0"]
    status = main([*words, "--verbose", *more])
    return status, "".join(capsys.readouterr())


@pytest.mark.slow
@pytest.mark.parametrize("more", [["--resamples", "0"], pytest.param([], marks=pytest.mark.slow)])
def test_command_counts_or_reads(tmp_path, monkeypatch, capsys, more):
    """Both ways print the same table and write the same numbers."""
    rows = table().drop_columns("y")
    path, answers = write(tmp_path, rows), []
    out = tmp_path / "out.json"
    for in_memory in (1 << 21, 0):
        monkeypatch.setattr(reading, "_IN_MEMORY", in_memory)
        words = ["importance", path, "--target", "loss", "--direction", "minimize", "--json", str(out)]
        assert main([*words, *more]) == 0
        answers.append(json.loads(out.read_text()))
    records = [answer["records"] for answer in answers]
    read, log = ({name: [one[name] for one in rows] for name in rows[0]} for rows in records)
    same = ("parameter", "level", "status", "n_target", "n_region", *["p_value"] * (not more))
    assert {name: log[name] for name in same} == {name: read[name] for name in same}
    np.testing.assert_allclose(log["importance"], read["importance"], rtol=1e-12)
    without = "89 of them without a usable objective value, left out"
    assert all(without in answer["report"] for answer in answers)
    capsys.readouterr()
    monkeypatch.setattr(large, "_SAMPLE", 300)
    space = tmp_path / "space.json"
    status, said = command(path, capsys, "--write-space", str(space))
    assert (status, "bounds are those of all 3000 rows; kinds, choices and repeats" in said) == (0, True)
    low, high = rows["x"].combine_chunks().to_numpy().min(), rows["x"].combine_chunks().to_numpy().max()
    assert f"x: Float from {low:.6g} to {high:.6g}" in said
    assert px.Space.from_json(space.read_text())["x"] == (px.Float(low, high, log=True),)
    write(tmp_path, rows.set_column(2, "c", pa.array(["a", "b"] * 1499 + ["a", "z"])))
    status, error = command(path, capsys)
    assert status == 2
    assert "'z' is not one of the choices" in error
    assert "with the space of 302 rows (--space gives the real one): " in error


def test_command_says_what_it_counts(tmp_path, monkeypatch, capsys):
    """Which logs need the rows; columns in some files alone, and a row that does not fit a given space."""
    monkeypatch.setattr(reading, "_IN_MEMORY", 0)
    rows = table().select(["x", "k", "loss"])
    path, space = write(tmp_path, rows), tmp_path / "space.json"
    space.write_text(px.Space({"x": px.Float(0, 1), "k": px.Int(1, 30)}).to_json())
    status, error = command(path, capsys, "--space", str(space))
    assert status == 2
    assert re.search(r"values: row \d+, column 1 \('k'\) = .* is outside Int", error), error
    nested = pa.table({"params": RECORDS, "loss": rows["loss"]})
    states = rows.append_column("state", pa.array(["COMPLETE", "FAIL"] * 1500))
    for name, log in (("records.pq", nested), ("states.pq", states)):
        pq.write_table(log, tmp_path / name)
        status, error = command(tmp_path / name, capsys, "--level", "0.1")
        assert (status, "all rows are read into memory, because" in error) == (0, True)


def test_the_recipe_of_duckdb(tmp_path):
    """The query of docs/scale.md gives the same counts, for each parameter; catches a NaN or null cell."""
    duckdb = pytest.importorskip("duckdb")
    page = (Path(__file__).parents[2] / "docs/scale.md").read_text(encoding="utf-8")
    query = page.split("```sql\n")[1].split("```")[0]
    space = px.Space({"x": SPACE["x"], "k": SPACE["k"], "momentum": px.Float(-2, 3, when=px.Recorded())})
    rows = table().rename_columns({"y": "momentum"})
    path = write(tmp_path, rows)
    counts = px.lens.count(path, space, "loss", LEVELS, 0.9)
    assert counts.cutoffs is not None
    parts: dict[str, list] = {"parameter": [], "level": [], "cell": [], "count": []}
    for name, (starts,) in px.importance.cell_starts(space).items():
        ends = {
            "cutoffs": sorted(counts.cutoffs.tolist()),
            "starts": starts.tolist(),
            "last": len(starts) + 1,
        }
        text = query.replace("momentum", name).replace("big/*.parquet", path)
        for column, values in duckdb.execute(text, ends).fetchnumpy().items():
            parts[column] += values.tolist()
    columns: Any = parts
    same = px.importance.Counts.from_table(space, LEVELS, 0.9, **columns)
    assert (same.counts == counts.counts).all()


def test_other_ways_to_name_the_rows(tmp_path):
    """Frames of polars; a file that is named twice, also under another name, counts once; decimals."""
    rows = table()
    path = write(tmp_path, rows)
    (tmp_path / "link").symlink_to(tmp_path / "1.parquet")
    counts = px.lens.count(path, SPACE, "loss", LEVELS).counts
    lazy = pl.scan_parquet(path).with_columns(extra=pl.col("x") * 2)
    frame = pl.DataFrame(pl.from_arrow(rows))
    for same in (lazy, frame, [path, tmp_path / "1.parquet"], [path, tmp_path / "link"]):
        assert (px.lens.count(same, SPACE, "loss", LEVELS).counts == counts).all()
    hundredths = frame.select("k", loss=pl.int_range(pl.len()) % 997 / 100)
    decimals = hundredths.with_columns(pl.all().cast(pl.Decimal(24, 2)))
    one = px.Space({"k": SPACE["k"]})
    wanted, found = (px.lens.count(log, one, "loss", LEVELS).counts for log in (hundredths, decimals))
    assert (wanted == found).all()


def test_cutoffs_of_another_job(tmp_path):
    """Files counted one by one, with the cut-offs of all, add up to all; catches cut-offs of each file."""
    path, cutoffs = write(tmp_path, table()), None
    for direction in ("minimize", "maximize"):
        log = px.lens.count(path, SPACE, "loss", LEVELS, 0.9, directions=direction)
        one = px.Space({"k": SPACE["k"]})
        cutoffs = px.lens.count(path, one, "loss", LEVELS, 0.9, directions=direction).cutoffs
        given = {"cutoffs": cutoffs, "directions": direction}
        first, *others = (
            px.lens.count(tmp_path / f"{i}.parquet", SPACE, "loss", LEVELS, 0.9, **given) for i in range(3)
        )
        assert (first.merge(*others).counts == log.counts).all()
        assert not first.status.any()
    with pytest.raises(ValueError, match="cutoffs must have shape"):
        px.lens.count(path, SPACE, "loss", LEVELS, cutoffs=[0.0])
    with pytest.raises(ValueError, match="cutoffs must not be NaN"):
        px.lens.count(path, SPACE, "loss", LEVELS, cutoffs=[np.nan] * 4)


def test_bad_arguments(tmp_path):
    """Each has a named error before any pass; catches raw ones of NumPy, Arrow and pathlib."""
    rows = table().select(["k", "loss"])
    path = tmp_path / "log.parquet"
    pq.write_table(rows, path)
    x, loss = px.Space({"k": px.Int(1, 40)}), rows["loss"].to_numpy()

    def refused(message, paths: Any = path, error: type[Exception] = ValueError, **more):
        with pytest.raises(error, match=message):
            px.lens.count(paths, x, "loss", LEVELS, **more)

    refused("frame must name at least one file", [])
    for wrong in (5, None):
        refused("frame must be a polars frame, a path, a pattern or a list of paths, got", wrong, TypeError)
    refused("grid must be a parzax.Grid, got 5", error=TypeError, grid=5)
    for column, message in (
        (RECORDS, ", numbers or labels: the table has no column 'k'"),
        (pa.array([[1, 2]] * 3000), ", numbers or labels: the table has no column 'k'"),
        (
            pa.array(np.arange(3000), pa.timestamp("s")),
            r".*column 'k'.*'1970-01-01 00:00:0\d' is not a number",
        ),
    ):
        pq.write_table(rows.set_column(0, "k", column), path)
        refused(f"log.parquet'{message}")
    for column in (pa.array(loss > 0), pa.nulls(3000), pa.array(map(str, loss))):
        pq.write_table(rows.set_column(1, "loss", column), path)
        refused("log.parquet', numbers: the table has no column 'loss'")
    for value, message in (("99", r"= 99.0 is outside Int"), ("x", "'x' is not a number")):
        text = pa.array(["1"] * 2601 + [value] + ["2"] * 398)
        pq.write_table(rows.set_column(0, "k", text), path, row_group_size=256)
        refused(f"log.parquet', after 0 rows: .*row 2601.*{message}")
