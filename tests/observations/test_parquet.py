"""Counts of Parquet files: the same as of all rows in memory, resumable, with an error for each bad input."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parzax as px
from parzax.importance.levels import level_sets
from parzax.lens.cli import counted, main
from parzax.lens.logs import cutoffs, parquet
from parzax.lens.run.chunks import Chunks
from parzax.lens.run.progress import progress_bar
from parzax.lens.tables import parquet as files

LEVELS = [0.5, 0.1, 0.25]
SPACE = px.Space(
    {
        "x": px.Float(1e-4, 1, log=True),
        "k": px.Int(1, 40),
        "c": px.Categorical(["a", "b"]),
        "y": px.Float(-2, 3, when=px.In("c", ["a"])),
    }
)

count = px.Counts.of


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
    obs = px.Observations.from_dataframe(rows, "loss", direction=direction, space=SPACE, warn=False)
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
        log = px.count_parquet(path, SPACE, "loss", LEVELS, 0.9, direction=direction)
        assert (log.counts == wanted.counts).all()
        assert (log.status == wanted.status).all()
        sign = -1 if direction == "maximize" else 1
        blocks = [
            count(px.encode(SPACE, *arrays(rows.slice(i, 999), sign), LEVELS, 0.9, cutoffs=log.cutoffs))
            for i in range(0, 3000, 999)
        ]
        assert (blocks[0].merge(*blocks[1:]).counts == wanted.counts).all()
    plain = px.Space({"k": SPACE["k"], "x": SPACE["x"]})
    one = px.count_parquet([path], plain, "loss", LEVELS, 0.9, direction=direction)
    k, x = (wanted.counts[:, a:b] for a, b in ((97, 138), (0, 97)))
    assert (one.counts == np.hstack([k, x])).all()


def arrays(rows: pa.Table, sign: int):
    obs = px.Observations.from_dataframe(rows, "loss", direction="minimize", space=SPACE, warn=False)
    loss = sign * rows["loss"].to_numpy()
    values = np.stack(
        [np.asarray(rows["x"]), np.asarray(rows["k"]), np.asarray(rows["c"]) == "b", rows["y"].to_numpy()],
        axis=1,
    ).astype(float)
    assert obs.n == len(rows)
    return values, np.where(loss < np.inf, loss, np.nan)


@pytest.mark.parametrize("most_sorted", [1 << 23, 100, 0])
def test_cutoffs_by_histograms(monkeypatch, most_sorted):
    """`level_sets` of all rows; catches wrong bits at any depth, for ties, signs and infinities."""
    monkeypatch.setattr(cutoffs, "_MOST_SORTED", most_sorted)
    rng, levels = np.random.default_rng(0), np.arange(1, 20) / 20
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

        def fold(new_state, add, losses=losses):
            states = [new_state(), new_state()]
            for i, block in enumerate(np.array_split(losses, 5)):
                add(states[i % 2], block)
            return states

        found = cutoffs.find_cutoffs(fold, [*levels, 0.98])
        wanted, _, status = level_sets(losses, losses == losses, None, tuple(levels), 0.98, False)
        assert (cutoffs.LevelTable(found.values).find(losses) == wanted).all()
        assert (found.status[:-1] == status).all()
        assert (found.sizes == (losses[:, None] <= found.values).sum(axis=0)).all()


def test_a_log_without_losses(tmp_path):
    """No row, and the status says so."""
    rows = table(20)
    rows = rows.set_column(4, "loss", pa.array(np.full(20, np.nan)))
    log = px.count_parquet(write(tmp_path, rows, (20,)), SPACE, "loss", LEVELS)
    assert not log.counts.any()
    assert (log.status == int(px.Status.NO_DATA)).all()


def test_killed_and_resumed(tmp_path, monkeypatch):
    """From any chunk on the same counts, and no finished chunk is computed again."""
    monkeypatch.setattr(parquet, "_PART", 500)
    path, put, folder = write(tmp_path, table()), Chunks.put, tmp_path / "parts"
    wanted = px.count_parquet(path, SPACE, "loss", LEVELS)

    def killed(self, i, arrays):
        if left.pop() == 0:
            raise KeyboardInterrupt
        put(self, i, arrays)

    monkeypatch.setattr(Chunks, "put", killed)
    written = []
    while True:
        left = [0, 1, 1]
        try:
            log = px.count_parquet(path, SPACE, "loss", LEVELS, folder=folder)
            break
        except KeyboardInterrupt:
            written.append(sorted(file.stat().st_mtime_ns for file in folder.glob("*.npz")))
    assert [len(times) for times in written] == [2, 4, 6]
    assert set(written[0]) < set(written[1])
    assert (log.counts == wanted.counts).all()
    with pytest.raises(ValueError, match="other work"):
        px.count_parquet(path, SPACE, "loss", [0.5], folder=folder)
    monkeypatch.setattr(parquet, "_PART", 400)
    with pytest.raises(ValueError, match=r"other work.* part"):
        px.count_parquet(path, SPACE, "loss", LEVELS, folder=folder)


# Counts in parts of 500 rows, kept in a folder; says when a part is kept.
COUNTING = """
import sys
import numpy as np
import parzax as px
from parzax.lens.run.chunks import Chunks
from parzax.lens.logs import parquet
parquet._PART = 500
put = Chunks.put
Chunks.put = lambda self, i, arrays: (put(self, i, arrays), print("kept", flush=True))
space = px.Space({"x": px.Float(1e-4, 1, log=True), "k": px.Int(1, 40)})
log = px.count_parquet(sys.argv[1], space, "loss", [0.5, 0.1, 0.25], folder=sys.argv[2])
np.save(sys.argv[2] + ".npy", log.counts)
"""


@pytest.mark.slow
def test_sigkill(tmp_path):
    """Ten processes are killed by the system soon after they have kept some parts; the same counts."""
    sizes, folder, rng = (40_000, 2000, 38_000), tmp_path / "parts", np.random.default_rng(0)
    path, space = write(tmp_path, table(sum(sizes)), sizes), px.Space({k: SPACE[k] for k in ("x", "k")})
    command, kept = [sys.executable, "-c", COUNTING, path, str(folder)], 0
    for _ in range(10):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(rng.integers(1, 4)):
                process.stdout.readline()
            time.sleep(rng.uniform(0, 0.003))
            process.kill()
        assert process.returncode == -signal.SIGKILL
        before, kept = kept, len(list(folder.glob("*.npz")))
        assert kept > before
    assert subprocess.run(command, check=False).returncode == 0
    wanted = px.count_parquet(path, space, "loss", LEVELS).counts
    np.testing.assert_array_equal(np.load(f"{folder}.npy"), wanted)


def test_bad_files(tmp_path):
    """Each has an error that names the file and what to do; catches rows that are silently left out."""
    rows = table()
    path = write(tmp_path, rows)

    def refused(message, space=SPACE, target="loss"):
        with pytest.raises(ValueError, match=message):
            px.count_parquet(path, space, target, LEVELS)

    refused(r"0.parquet' has no column 'z'", target="z")
    refused(r"has no column 'z'", px.Space({"z": px.Float(0, 1)}))
    refused(r"column 'c' is of type string; write the objective as numbers", target="c")
    refused(r"0.parquet': values: row .* column 0 \('k'\) = .* outside Int", px.Space({"k": px.Int(1, 30)}))
    refused(r"'b' is not one of the choices", px.Space({"c": px.Categorical(["a", "z"])}))
    refused(r"'y'\) = nan is missing", px.Space({"y": px.Float(-2, 3)}))
    file = tmp_path / "2.parquet"
    other = rows.set_column(1, "k", rows["k"].cast(pa.float64()))
    pq.write_table(other, file)
    refused(r"2.parquet': column 'k' is of type double, and in .*0.parquet' it is int64")
    pq.write_table(rows.drop_columns("k"), file)
    refused(r"2.parquet' has no column 'k'")
    pq.write_table(rows, file)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    refused(r"2.parquet' cannot be read as parquet; it is damaged, truncated or another")
    file.write_bytes(whole[:4] + b"\xff" * 3000 + whole[3004:])
    refused(r"2.parquet' cannot be read as parquet; it is damaged, truncated or another")
    file.write_bytes(b"")
    refused(r"2.parquet' is empty")


@pytest.mark.slow
def test_a_full_disk(tmp_path):
    """The error says what is kept, and with room again the same call goes on."""
    path, folder = write(tmp_path, table()), tmp_path / "parts"
    code = """
import resource, sys
import parzax as px
from parzax.lens.logs import parquet
parquet._PART = 500
space = px.Space({"x": px.Float(1e-4, 1, log=True)})
resource.setrlimit(resource.RLIMIT_FSIZE, (3600, resource.RLIM_INFINITY))
try:
    px.count_parquet(sys.argv[1], space, "loss", [0.5, 0.1], folder=sys.argv[2])
except OSError as error:
    print(error.errno, error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
resumed = px.count_parquet(sys.argv[1], space, "loss", [0.5, 0.1], folder=sys.argv[2])
print((resumed.counts == px.count_parquet(sys.argv[1], space, "loss", [0.5, 0.1]).counts).all())
"""
    command = [sys.executable, "-c", code, path, str(folder)]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "File too large; chunk 1 is not kept, but all earlier ones are" in said
    assert said.endswith("True\n")


@pytest.mark.parametrize("more", [["--resamples", "0"], pytest.param([], marks=pytest.mark.slow)])
def test_command_counts_or_reads(tmp_path, monkeypatch, capsys, more):
    """Both ways print the same table and write the same numbers; a kept folder serves the second call."""
    rows = table().drop_columns("y")
    path, answers = write(tmp_path, rows), {}
    out, parts = tmp_path / "out.json", str(tmp_path / "parts")
    for how in ([], ["--resume", parts], ["--resume", parts]):
        words = ["importance", path, "--target", "loss", "--direction", "minimize", "--json", str(out)]
        assert main([*words, *how, *more]) == 0
        answers[len(answers)] = json.loads(out.read_text())
    read, *others = answers.values()
    for log in others:
        same = ("names", "levels", "status", "n_target", "n_region", "report")
        assert {name: log[name] for name in same} == {name: read[name] for name in same}
        for name in ("per_seed", "mean"):
            np.testing.assert_allclose(log["importance"][name], read["importance"][name], rtol=1e-12)
        if not more:
            assert log["uncertainty"]["p_value"] == read["uncertainty"]["p_value"]
    capsys.readouterr()
    monkeypatch.setattr(counted, "_SAMPLE", 300)
    space = tmp_path / "space.json"
    words = ["importance", path, "--target", "loss", "--direction", "minimize", "--resamples", "0"]
    assert main([*words, "--resume", parts + "2", "--write-space", str(space)]) == 0
    assert "these notes are about 300 rows of 3000" in capsys.readouterr().err
    low, high = rows["x"].combine_chunks().to_numpy().min(), rows["x"].combine_chunks().to_numpy().max()
    (domain,) = px.Space.from_json(space)["x"]
    assert (domain.low, domain.high) == (low, high)
    for option, message in (
        (["--level", "0.01:0.99:0.01"], "other work"),
        (["--filter", "k < 3"], "--filter needs all rows in memory"),
        (["--level", "0.3"], "other work"),
    ):
        assert main([*words, "--resume", parts + "2", *option]) == 2
        assert message in capsys.readouterr().err
    rare = rows.set_column(2, "c", pa.array(["a", "b"] * 1499 + ["a", "z"]))
    write(tmp_path, rare)
    assert main([*words, "--resume", parts + "3"]) == 2
    error = capsys.readouterr().err
    assert "'z' is not one of the choices" in error
    assert "--space space.json" in error


def test_estimates_of_both_ways_under_x64():
    """`estimate` of int64 counts in float64 equals that of the rows."""
    rows = encoded(table())
    with jax.enable_x64(True):
        one, other = px.importance.estimate(count(rows)), px.importance.estimate(rows)
    np.testing.assert_array_equal(one.importance, other.importance)


RECORDS = pa.array([{"a": -1e6 * i, "x": 1e7} for i in range(3000)])


def test_bounds_of_all_rows(tmp_path):
    """By the footers or by reading; catches those of another column, beside a nested one or text."""
    rows = table().select(["x", "k", "loss"])
    x = rows["x"].to_numpy()
    cases: list[Any] = [True, False, ["k"]]
    for i, statistics in enumerate(cases):
        nested = rows.add_column(0, "r", RECORDS).add_column(2, "s", RECORDS)
        nested = nested.append_column("text", pa.array(["9", "10", None] * 1000))
        path = tmp_path / f"{i}.parquet"
        pq.write_table(nested, path, row_group_size=100, write_statistics=statistics)
        ends = files.ParquetFiles.open(path).extremes(["x", "k", "text"])
        assert ends == {"x": (x.min(), x.max()), "k": (1, 40), "text": (9, 10)}
        x_with_inf = np.where(np.arange(3000) == 1900, np.inf, x)
        infinite = rows.set_column(0, "x", pa.array(x_with_inf))
        pq.write_table(infinite, path, row_group_size=100, write_statistics=statistics)
        with pytest.raises(ValueError, match=f"{i}.parquet': column 'x', row 1900 is inf; leave out"):
            files.ParquetFiles.open(path).extremes(["x", "k"])


def test_every_row_is_read_once(tmp_path, monkeypatch):
    """An error of the work is not taken for the end of it, lost rows are noticed, footers are read once."""
    log = files.ParquetFiles.open(write(tmp_path, table()))
    footers, open_file = [], files._open

    def opened(path, footer=None):
        footers.append(footer)
        return open_file(path, footer)

    monkeypatch.setattr(files, "_open", opened)

    def add(state, block):
        state.append(block.batch.num_rows)

    def total(*arguments):
        return sum(map(sum, log.fold(log.groups, ["loss"], list, *arguments)))

    assert total(add, lambda n: None) == 3000
    assert None not in footers
    with pytest.raises(ZeroDivisionError):
        total(lambda state, block: 1 // 0, lambda n: None)
    batches = files.read_batches
    monkeypatch.setattr(files, "read_batches", lambda group, *a, **k: list(batches(group, *a, **k))[1:])
    with pytest.raises(ValueError, match="0 rows were read, and by the footers there are 3000"):
        total(add, lambda n: None)


def command(path, capsys, *more):
    """The exit status of the command, and what it prints on stderr."""
    words = ["importance", str(path), "--target", "loss", "--direction", "minimize", "--resamples", "0"]
    status = main([*words, *more])
    return status, capsys.readouterr().err


def test_command_reads_other_schemas(tmp_path, capsys):
    """Columns in another order or in some files alone; named errors for a needed column, and for no rows."""
    rows, parts = table().select(["x", "k", "loss"]), str(tmp_path / "parts")
    noted = rows.append_column("note", pa.array(["u"] * 3000))
    pq.write_table(noted, tmp_path / "0.parquet")
    rows = table(seed=1).select(["x", "k", "loss"])
    noted = rows.append_column("note", pa.array(["u"] * 3000))
    parted = rows.append_column("extra", pa.array(["v"] * 3000))
    nulls, out = noted.set_column(3, "note", pa.nulls(3000)), str(tmp_path / "space.json")
    for i, (other, drop, names) in enumerate((
        (noted.select(["loss", "note", "k", "x"]), (), {"x", "k", "note"}),
        (parted, ("--drop", "note", "extra"), {"x", "k"}),
        (nulls, ("--drop", "note"), {"x", "k"}),
    )):  # fmt: skip
        pq.write_table(other, tmp_path / "1.parquet")
        more = "--resume", f"{parts}{i}", "--level", "0.1", "--write-space", out
        if drop:
            status, error = command(tmp_path / "*.parquet", capsys, *more)
            assert status == 2
            assert re.search(r"--drop NAME leaves one out\): .*/[01].parquet'", error), error
        status, error = command(tmp_path / "*.parquet", capsys, *more, *drop)
        assert status == 0, error
        assert set(px.Space.from_json(Path(out)).names) == names
    for other, message in (
        (rows.select(["x", "loss"]), "1.parquet' has no column 'k'"),
        (rows.set_column(1, "k", rows["k"].cast(pa.int32())), "1.parquet': column 'k' is of type int32"),
        (rows.set_column(2, "loss", rows["loss"].cast(pa.string())), "1.parquet' differs from .*0.parquet'"),
    ):
        pq.write_table(other, tmp_path / "1.parquet")
        status, error = command(tmp_path / "*.parquet", capsys, "--resume", parts + "3", "--drop", "note")
        assert status == 2
        assert re.search(message, error), error
    pq.write_table(rows.slice(0, 0), tmp_path / "1.parquet")
    for more in (["--resume", parts + "3"], []):
        status, error = command(tmp_path / "1.parquet", capsys, *more)
        assert status == 2
        assert "the table has no rows" in error
        assert "1.parquet" in error


def test_command_says_what_it_counts(tmp_path, monkeypatch, capsys):
    """Bounds and scales of all rows, what a sample cannot show, and which logs need the rows."""
    monkeypatch.setattr(counted, "_SAMPLE", 300)
    rows, parts = table().select(["x", "k", "loss"]), str(tmp_path / "parts")
    x, k = rows["x"].to_numpy().copy(), rows["k"].to_numpy().copy()
    x[-1], k[-1] = -1, 1000
    path = write(tmp_path, rows.set_column(0, "x", pa.array(x)).set_column(1, "k", pa.array(k)))
    status, error = command(path, capsys, "--resume", parts, "--level", "0.1")
    assert status == 0
    high = f"{x.max():.6g}"
    assert f"x: Float from -1 to {high}; no log scale, because not all values are above 0" in error
    assert "k: Int from 1 to 1000\n" in error
    assert "such as repeats, were looked for in 300 rows of 3000 alone" in error
    space = tmp_path / "space.json"
    space.write_text(px.Space({"x": px.Float(-1, 1), "k": px.Int(1, 40)}).to_json())
    k[-1], k[1001] = 2, 99  # a row of the sample, the second one of another file
    write(tmp_path, rows.set_column(0, "x", pa.array(x)).set_column(1, "k", pa.array(k)))
    status, error = command(path, capsys, "--resume", parts, "--space", str(space))
    assert status == 2
    assert re.search(r"/1.parquet': values: row 1, column 1 \('k'\) = 99.0 is outside Int", error), error
    nested = pa.table({"params": RECORDS, "loss": rows["loss"]})
    pq.write_table(nested, tmp_path / "records.pq")
    status, error = command(tmp_path / "records.pq", capsys, "--resume", parts)
    assert status == 2
    assert "some of its columns hold records (with 'a', 'x'). Leave out --resume." in error
    monkeypatch.setattr(counted, "_IN_MEMORY", 0)
    status, error = command(tmp_path / "records.pq", capsys, "--level", "0.1")
    assert status == 0
    assert "all rows are read into memory, because some of its columns hold records" in error


def test_no_file_counts_twice(tmp_path):
    """Also under another name."""
    path = write(tmp_path, table())
    (tmp_path / "link").symlink_to(tmp_path / "1.parquet")
    for again in (tmp_path / "1.parquet", tmp_path / "link"):
        with pytest.raises(ValueError, match=f"{again}' is named twice, so its rows would count twice"):
            px.count_parquet([path, again], SPACE, "loss", LEVELS)


def test_cutoffs_of_another_job(tmp_path):
    """Files counted one by one, with the cut-offs of all, add up to all; catches cut-offs of each file."""
    path, cutoffs = write(tmp_path, table()), None
    for direction in ("minimize", "maximize"):
        log = px.count_parquet(path, SPACE, "loss", LEVELS, 0.9, direction=direction)
        one = px.Space({"k": SPACE["k"]})
        cutoffs = px.count_parquet(path, one, "loss", LEVELS, 0.9, direction=direction).cutoffs
        given = {"cutoffs": cutoffs, "direction": direction}
        folder = tmp_path / direction
        first, *others = (
            px.count_parquet(
                tmp_path / f"{i}.parquet", SPACE, "loss", LEVELS, 0.9, folder=folder / str(i), **given
            )
            for i in range(3)
        )
        assert (first.merge(*others).counts == log.counts).all()
        assert not first.status.any()
        with pytest.raises(ValueError, match="differs in cutoffs"):
            px.count_parquet(
                tmp_path / "0.parquet", SPACE, "loss", LEVELS, 0.9, direction=direction, folder=folder / "0"
            )
    with pytest.raises(ValueError, match="cutoffs must have shape"):
        px.count_parquet(path, SPACE, "loss", LEVELS, cutoffs=[0.0])
    with pytest.raises(ValueError, match="cutoffs must not be NaN"):
        px.count_parquet(path, SPACE, "loss", LEVELS, cutoffs=[np.nan] * 4)


def test_bad_arguments(tmp_path):
    """Each has a named error before any pass; catches raw ones of NumPy, Arrow and pathlib."""
    rows = table().select(["k", "loss"])
    path = tmp_path / "log.parquet"
    pq.write_table(rows, path)
    x, loss = px.Space({"k": px.Int(1, 40)}), rows["loss"].to_numpy()

    def refused(message, paths: Any = path, error: type[Exception] = ValueError, **more):
        with pytest.raises(error, match=message):
            px.count_parquet(paths, x, "loss", LEVELS, **more)

    refused("paths must name at least one file", [])
    for wrong in (5, None, [5]):
        refused("paths must be a path, a pattern or a list of them, got", wrong, TypeError)
    refused("grid must be a parzax.Grid, got 5", error=TypeError, grid=5)
    for column in (RECORDS, pa.array([[1, 2]] * 3000), pa.array(np.arange(3000), pa.timestamp("s"))):
        pq.write_table(rows.set_column(0, "k", column), path)
        refused(r"log.parquet': column 'k' holds .*, neither numbers nor labels; write it as numbers or text")
    for column in (pa.array(loss > 0), pa.nulls(3000), pa.array(map(str, loss))):
        pq.write_table(rows.set_column(1, "loss", column), path)
        refused("log.parquet': column 'loss' is of type .*; write the objective as numbers")
    pq.write_table(rows.append_column("k", rows["k"]), path)
    refused("log.parquet': column 'k' appears more than once")
    for value, message in (("99", r"= 99.0 is outside Int"), ("x", "'x' is not a number; name a column")):
        text = pa.array(["1"] * 2601 + [value] + ["2"] * 398)
        pq.write_table(rows.set_column(0, "k", text), path, row_group_size=256)
        refused(f"log.parquet': .*row 2601.*{message}")


def test_decimals(tmp_path):
    """They are numbers, also as the objective."""
    rows = table().select(["k", "loss"])
    rows = rows.set_column(1, "loss", pa.array(np.arange(3000) % 997 / 100))
    cast = pa.schema([("k", pa.decimal128(24, 2)), ("loss", pa.decimal128(24, 2))])
    paths = tmp_path / "a.parquet", tmp_path / "b.parquet"
    counts = []
    for path, log in zip(paths, (rows, rows.cast(cast)), strict=True):
        pq.write_table(log, path)
        counts.append(px.count_parquet(path, px.Space({"k": SPACE["k"]}), "loss", LEVELS).counts)
    assert (counts[0] == counts[1]).all()


def test_the_bar_of_a_resumed_count(tmp_path, monkeypatch, capsys):
    """Rows of kept parts are neither in the rate nor in the time left."""
    monkeypatch.setattr(parquet, "_PART", 500)
    path, folder = write(tmp_path, table()), tmp_path / "parts"
    log = px.count_parquet(path, SPACE, "loss", LEVELS, folder=folder)
    for i in (2, 4):
        (folder / f"chunk_00000{i}.npz").unlink()
    capsys.readouterr()
    again = px.count_parquet(path, SPACE, "loss", LEVELS, folder=folder, progress=True)
    assert (again.counts == log.counts).all()
    bars = capsys.readouterr().err.split("\r")[1:]
    done = [int(re.findall(r"(\d+) of 3000 rows counted", bar)[0]) for bar in bars]
    assert 0 < done[0] < done[-1] == 3000
    clock = iter([0.0, 0.0, 4.0, 8.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    with progress_bar(1000, "rows", first=900, rate=True) as update:
        update(920)
        update(940)
    bars = capsys.readouterr().err.split("\r")[1:]
    ends = ["rows, 0:00 elapsed, 0:00 left"]
    ends += ["rows, 5 a second, 0:04 elapsed, 0:16 left", "rows, 5 a second, 0:08 elapsed, 0:12 left"]
    assert [bar.strip().split("of 1000 ")[1] for bar in bars] == ends
