"""Group F of the bad inputs: each is one line on stderr, exit status 2, nothing written, nothing executed."""

import gzip
import json
import pickle
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import run

GOOD_SPACE = {"parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1}]}
TABLE = pd.DataFrame({"params_x": np.linspace(0, 1, 30), "value": np.linspace(1, 0, 30)})


class Executes:
    """Unpickling this creates a file."""

    def __reduce__(self):
        return (open, ("executed", "w"))


def truncated(path, write, share=0.6):
    write(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def other_sqlite(path):
    with sqlite3.connect(path) as connection:
        connection.execute("create table studies (study_id integer)")
    connection.close()


def space_file(path, parameters):
    path.write_text(json.dumps({"parameters": parameters}))


FLOAT = {"kind": "float", "low": 0, "high": 1}
CYCLE = [
    {"name": "x", **FLOAT, "conditions": [{"parent": "y", "lt": 0.5}]},
    {"name": "y", **FLOAT, "conditions": [{"parent": "x", "lt": 0.5}]},
]
SPACE = ("--space", "good.json")
CSV = b"params_x,value\n0.1,1\n0.2,2\n0.3,3\n"


def columns(n, *more):
    """A file of n columns, and the names of some more."""
    names = [*(f"c{i}" for i in range(n)), *more]
    return "\n".join([",".join(names), ",".join("1" for _ in names), ""]).encode()


# name of the file, its content or how it is made, further arguments, part of the message
FILES = [
    ("t.pkl", pickle.dumps(Executes()), (), "never read"),
    ("t.npz", lambda p: np.savez(p, value=np.arange(3.0)), (), "no known kind"),
    ("t.npy", lambda p: np.save(p, np.array([Executes()], dtype=object)), (), "never read"),
    ("t.yaml", b"!!python/object/apply:os.system ['touch executed']", (), "never read"),
    ("t.csv", pickle.dumps(Executes()), (), "not a text file"),
    ("t.parquet", pickle.dumps(Executes()), (), "cannot be read as parquet"),
    ("t.parquet", lambda p: truncated(p, TABLE.to_parquet), (), "cannot be read as parquet"),
    ("t.feather", lambda p: truncated(p, TABLE.to_feather), (), "cannot be read as feather"),
    ("t.csv", CSV[:-3], (), "Expected 2 columns, got 1"),
    ("t.csv", b"\xff\xfe\xfa,value\n\xff,1\n", (), ""),
    ("t.csv.gz", gzip.compress(CSV * 99)[:-9], (), "t.csv.gz"),
    ("t.csv", lambda p: p.mkdir(), (), "there is no table in"),
    ("t.csv", lambda _: None, (), "there is no file"),
    ("t.db", b"", (), "is empty"),
    ("t.db", b"SQLite format 3\0" + b"\1" * 500, (), "t.db"),
    ("t.db", other_sqlite, (), "not an Optuna storage"),
    ("t.log", b'{"op_code": 99}\nnot json\n{"a": 1}\n', (), "t.log"),
    ("t.json", b"{}", (), "holds no record with named"),
    ("t.csv", CSV, ("--target", "acc"), "no column 'acc'"),
    ("t.csv", CSV.replace(b"value", b"v"), (), "no objective is named"),
    ("t.csv", CSV.replace(b"params_x", b"params_z"), SPACE, "parameters 'x'"),
    ("t.csv", CSV.replace(b"0.2", b"big"), SPACE, "column 'params_x', row 1: 'big'"),
    ("t.csv", CSV.replace(b",2", b",big"), (), "column 'value', row 1: 'big'"),
    ("t.csv", CSV.replace(b"value", b"params_x"), (), "'params_x' appears more than once"),
    ("t.csv", CSV, ("--study", "a"), "--study does not go with a table"),
    ("t.csv", CSV, ("--objective", "3"), "objective must be a whole number from 0 to 0"),
    ("t.csv", columns(10**6), (), "1000000 columns"),
    ("t.csv", columns(10_001, "value"), (), "10001 columns would be parameters"),
    ("t.csv", b'params_x,value\n"' + b"a" * 10**7 + b'",1\nb,2\n', (), "10000000 characters"),
]

# What fails where outputs are written is computed before.
QUICK = ("--resamples", "0")
LEVELS = """
    a 0 1.5 -0.1 nan inf 0.1:0.9 0.9:0.1:0.1 0.1:0.9:0 0.1:0.9:-0.1 0.1:0.9:1e-9 0.1:0.9:1e-999999 0.1,
    0.1,0.1 1.0 0.1:1.0:0.1 0.1;0.2
"""
SPACES = """
    none.json good.csv . cycle.json parent.json kind.json text.json deep.json list.json bounds.json
    direction.json twice.json misspelt.json
"""
FILTERS = """|x|x = 1|x == |== 1|x == 1 or x == 2|x == 1 and|x < 1 x > 2|nope == 1|__import__('os')|\
__import__('os').system('touch executed') == 1|x < high|x < '1'|(x == 1)|x == 1; open('executed', 'w')"""
ARGUMENTS = [
    ([], "required: COMMAND"),
    (["nonsense"], "invalid choice"),
    (["importance"], "required: FILE"),
    (["importance", "good.csv", "--nonsense"], "unrecognized arguments"),
    (["importance", "good.csv", "--direction", "up"], "invalid choice"),
    (["importance", "good.csv", "--objective", "one"], "takes a number or name"),
    *((["importance", "good.csv", "--level", text], "level") for text in ("", *LEVELS.split())),
    *((["importance", "good.csv", f"--region={text}"], "region") for text in ("0", "2", "0.5,0.6", "x")),
    *((["importance", "good.csv", "--filter", text], "--filter") for text in FILTERS.split("|")),
    (["importance", "good.csv", "--filter", "x > 5"], "no row of the table is left (30 filter)"),
    *((["importance", "good.csv", "--space", name], f"--space '{name}'") for name in SPACES.split()),
    (["importance", "good.csv", "--json", "none/o.json"], "no folder 'none'"),
    (["importance", "good.csv", "--json", "good.json/o.json"], "no folder 'good.json'"),
    (["importance", "good.csv", "--json", "folder"], "is a folder"),
    (["importance", "good.csv", "--csv", "good.csv"], "is the log itself"),
    (["importance", "good.csv", "--csv", "o", "--json", "o"], "name the same file"),
    (["importance", "good.csv", "--plot", "o.exe"], "must end in"),
    (["importance", "good.csv", *QUICK, "--json", "o.json", "--csv", "/proc/o.csv"], "'/proc"),
    (["report", "none.csv"], "there is no file 'none.csv'"),
    (["report", "good.csv", "-o", "page.png"], "'page.png' must end in .html or .htm"),
    (["report", "good.csv", "-o", "none/page.html"], "there is no folder 'none'"),
    (["report", "good.csv", "--level", "0.5", "--region", "0.5"], "must be below region"),
    (["interactions", "good.csv", "--objective", "all"], "else give a name, or pareto"),
    (["interactions", "good.csv", "--estimator", "optuna"], "unrecognized arguments: --estimator"),
    (["interactions", "good.csv", "--target", "valu"], "did you mean 'value'?"),
    (["compare", "good.csv", "other.csv", "--objective", "all"], "else give a name, or pareto"),
    (["compare", "good.csv", "none.csv"], "there is no file 'none.csv'"),
    (["compare", "good.csv", "other.csv", "--json", "good.csv"], "'good.csv' is the log itself"),
    (["compare", "good.csv", "other.csv", "--csv", "other.csv"], "'other.csv' is the other log itself"),
    (["demo", "--out", "none/d.png"], "no folder"),
    (["demo", "--out", "folder"], "is a folder"),
]


@pytest.fixture(autouse=True)
def folder(in_tmp_path, tmp_path):
    Path("good.json").write_text(json.dumps(GOOD_SPACE))
    return tmp_path


def contents(folder):
    return {str(p.relative_to(folder)): p.stat().st_size for p in folder.rglob("*")}


def refused(args, message, folder, capsys):
    """Check one refusal; the name of the case is in the error if it fails."""
    before = contents(folder)
    status, out, err = run(capsys, *args)
    case = f"{[str(a)[:80] for a in args]}: {err[:700]!r}"
    assert status == 2, case
    assert out == "", case
    assert err.startswith("parzax: error: "), case
    assert err.endswith("\n"), case
    assert err.count("\n") == 1, case
    assert len(err) < 700, case
    assert message in err, case
    assert contents(folder) == before, case


def test_files(folder, capsys, record_property):
    """Catches code run from a file, tracebacks, several lines, outputs written before an error."""
    for name, make, args, message in FILES:
        path = folder / name
        path.write_bytes(make) if isinstance(make, bytes) else make(path)
        outputs = ["--json", "o.json", "--csv", "o.csv"]
        refused(["importance", name, *args, *outputs], message, folder, capsys)
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
    record_property("tried", f"bad files tried: {len(FILES)}")


def test_arguments(folder, capsys, record_property):
    """Catches usage texts of many lines, evaluated filters, and bad spaces that pass."""
    for name in ("good.csv", "other.csv"):
        TABLE.to_csv(name, index=False)
    Path("folder").mkdir()
    space_file(Path("cycle.json"), CYCLE)
    space_file(Path("parent.json"), CYCLE[:1])
    space_file(Path("kind.json"), [{"name": "x", "kind": "complex", "low": 0, "high": 1}])
    space_file(Path("bounds.json"), [{"name": "x", "kind": "float", "low": "a", "high": 1}])
    Path("text.json").write_text("{'x'")
    Path("deep.json").write_text("[" * 100_000)
    Path("list.json").write_text("[1, 2]")
    Path("direction.json").write_text(json.dumps(GOOD_SPACE | {"direction": "up"}))
    Path("twice.json").write_text(json.dumps(GOOD_SPACE)[:-1] + ', "metric": "a", "metric": "b"}')
    Path("misspelt.json").write_text(json.dumps(GOOD_SPACE | {"direciton": "maximize"}))
    for args, message in ARGUMENTS:
        refused(args, message, folder, capsys)
    record_property("tried", f"bad arguments tried: {len(ARGUMENTS)}")


def test_control_characters_do_not_reach_the_terminal(folder, capsys):
    """Catches a file whose column names carry escape sequences or line ends into the message."""
    Path("t.csv").write_text('"a\x1b[2Jb\rc","d\ne"\n1,2\n')
    refused(["importance", "t.csv"], "no objective is named", folder, capsys)


def test_sqlite_urls_that_are_none(folder, capsys):
    """Catches an URL taken for a relative path: the namesake of an absolute one would be read."""
    refused(["importance", "sqlite:/study.db"], "'sqlite:/study.db' is no sqlite URL", folder, capsys)
    refused(["importance", "sqlite:////none/study.db"], "there is no file '/none/study.db'", folder, capsys)
