"""The command `parzax`: what it prints, writes and refuses."""

import inspect
import io
import json
import os
import subprocess
import sys
import time

import jax
import matplotlib.pyplot as plt
import numpy as np
import optuna
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from benchmarks.synthetic import activation
from caches import programs_in
from command_line import run

import parzax as px
from parzax.lens._waiting import saying, says_that_it_compiles
from parzax.lens.cli import commands, main
from parzax.lens.cli.commands import parse_levels
from parzax.lens.cli.filters import parse_filter
from parzax.lens.cli.writing import write_all
from parzax.lens.results.surrogates import MOST_ROWS
from parzax.lens.tables import files

N = 200
pytestmark = pytest.mark.usefixtures("in_tmp_path")


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """One log in every format, with states, in the space of the activation problem: x or y decides.

    Most commands analyse it, or another log of as many padded rows, with the same programs.
    """
    folder, rng = tmp_path_factory.mktemp("logs"), np.random.default_rng(0)
    c = rng.uniform(size=N)
    x, y = np.where(c < 0.5, rng.uniform(-5, -2, N), np.nan), np.where(c < 0.5, np.nan, rng.uniform(2, 5, N))
    values, objective = np.stack([c, x, y], axis=-1), np.where(c < 0.5, x, y)
    df = pd.DataFrame({f"params_{name}": values[:, j] for j, name in enumerate("cxy")})
    df.insert(0, "number", np.arange(N))
    df["value"], df["state"] = objective, "COMPLETE"
    df.to_csv(folder / "t.csv", index=False)
    df.to_csv(folder / "t.tsv", index=False, sep="\t")
    df.to_parquet(folder / "t.parquet")
    df.to_feather(folder / "t.feather")
    df.assign(rep=np.arange(N) % 2).to_csv(folder / "seeds.csv", index=False)
    (folder / "space.json").write_text(activation().space.to_json())
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for name in ("a", "b"):
        study = optuna.create_study(storage=f"sqlite:///{folder}/study.db", study_name=name)
        if name == "a":
            study.add_trials([_trial(row, f) for row, f in zip(values, objective, strict=True)])
    return folder


def _trial(row, f):
    bounds = {"c": (0, 1), "x": (-5, -2), "y": (2, 5)}
    distributions = {
        name: optuna.distributions.FloatDistribution(*bounds[name])
        for name, value in zip("cxy", row, strict=True)
        if not np.isnan(value)
    }
    params = {name: float(row["cxy".index(name)]) for name in distributions}
    return optuna.trial.create_trial(params=params, distributions=distributions, value=float(f))


# Where a test does not ask how sure the numbers are: most of a command's time is for that.
QUICK = ("--resamples", "0")
SEVERAL = "0.01,0.03,0.2,0.5"


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.parquet", "t.feather", "study.db"])
def test_every_format_gives_the_same_numbers(logs, capsys, tmp_path, name):
    """Catches a format that loses rows, gaps or precision on the way, and float32 arithmetic."""
    options = ["--study", "a"] if name == "study.db" else ["--space", logs / "space.json"]
    options += [] if name == "t.csv" else QUICK
    status, out, err = run(capsys, "importance", logs / name, *options, "--json", "out.json")
    assert status == 0, err
    got = json.loads((tmp_path / "out.json").read_text())
    space, table = activation().space, pd.read_csv(logs / "t.csv")
    with jax.enable_x64(True):
        values = table[["params_c", "params_x", "params_y"]]
        obs = px.Observations.from_arrays(space, values.to_numpy(), table["value"])
        expected = px.cond_ped_anova(obs, n_resamples=None if name == "t.csv" else 0)
    # A study's parameters stand in the order in which trials first had them.
    variance = {record["parameter"]: record["variance"] for record in got["records"]}
    by_name = [variance[name] for name in expected.names]
    np.testing.assert_allclose(by_name, expected.variance[0], rtol=1e-12, atol=1e-15)
    assert f"{N} rows, minimize" in out
    assert ("direction: not given, so 'value' is minimised" in out) == (name != "study.db")
    assert out.startswith("Do next: ")
    assert "the best 10 % (" in out.split("\n")[1]
    assert "\n\nparameter " in out
    if name == "t.csv":
        assert "of 500 resamples" in out
        # Python's default call is that of the command.
        p_value, verdict = ([record[key] for record in got["records"]] for key in ("p_value", "verdict"))
        np.testing.assert_allclose(np.array(p_value, float), expected.p_value[0])
        assert verdict == expected.to_columns()["verdict"].tolist()
        assert any("by 1000 shuffles" in line for line in got["details"])
    assert out.splitlines()[-1] == "written: out.json"


def test_outputs(logs, capsys, tmp_path):
    """Catches a missing, partial or unreadable output, and stray temporary files."""
    args = ["--json", "o.json", "--csv", "o.csv", "--plot", "o.png"]
    status, out, err = run(
        capsys, "importance", logs / "seeds.csv", "--seed", "rep", "--space", logs / "space.json",
        "--level", "0.1:0.9:0.1", *args,
    )  # fmt: skip
    assert status == 0, err
    assert {p.name for p in tmp_path.iterdir()} == {"o.json", "o.csv", "o.png"}
    data = json.loads((tmp_path / "o.json").read_text())
    records = data["records"]
    assert [record["level"] for record in records[:27:3]] == [i / 10 for i in range(1, 10)]
    assert [record["parameter"] for record in records[:3]] == ["c", "x", "y"]
    assert data["version"] == px.__version__
    table = pd.read_csv("o.csv")
    assert len(table) == 2 * 9 * 3
    np.testing.assert_allclose(table["importance"], [record["importance"] for record in records])
    assert (tmp_path / "o.png").read_bytes().startswith(b"\x89PNG")
    (sure,) = [line for line in out.splitlines() if line.startswith("How sure: ± is the standard error of 2")]
    assert sure.endswith("less sure if a search that learns (such as TPE) chose the rows.")


def test_single_level_plot_and_options(logs, capsys, tmp_path):
    """Catches options that are parsed and then forgotten."""
    base = ["importance", logs / "t.csv", "--space", logs / "space.json", "--direction", "minimize"]
    base += QUICK
    variances = []
    for extra in ([], ["--estimator", "optuna"], ["--reference", "uniform"], ["--direction", "maximize"],
                  ["--region", "0.5"], ["--filter", "number < 100"]):  # fmt: skip
        status, _, err = run(capsys, *base, *extra, "--json", "o.json")
        assert status == 0, err
        records = json.loads((tmp_path / "o.json").read_text())["records"]
        variances.append(tuple(record["variance"] for record in records))
    assert len(set(variances)) == len(variances)
    assert run(capsys, *base, "--plot", "bars.pdf")[0] == 0
    assert (tmp_path / "bars.pdf").read_bytes().startswith(b"%PDF")


def test_surrogate(logs, capsys, monkeypatch):
    """The option decides who is asked."""
    asked, compute = [], commands.cond_ped_anova

    def record(*args, surrogate, **options):
        asked.append(surrogate)
        return compute(*args, surrogate=None, **options)

    monkeypatch.setattr(commands, "cond_ped_anova", record)
    for who in ([], ["--surrogate", "no"], ["--surrogate", "yes"]):
        assert run(capsys, "importance", logs / "t.csv", *who, *QUICK)[0] == 0
    assert asked == ["auto", None, px.surrogate.GaussianProcess(max_rows=MOST_ROWS)]


def test_notes_say_what_was_inferred(logs, capsys):
    """Catches a guessed space or direction that nobody is told of."""
    status, out, err = run(capsys, "importance", logs / "t.csv", "--verbose", *QUICK)
    assert (status, err) == (0, "")
    notes = [line for line in out.splitlines() if line.startswith("inferred: ")]
    assert "\ndirection: not given, so 'value' is minimised; if more is better" in out
    assert any("params_" not in line and "x: Float from" in line for line in notes)
    status, out, err = run(capsys, "importance", logs / "t.csv", *QUICK)
    assert f"{len(notes)} things inferred: --verbose lists them" in out
    assert "x: Float from" not in out


def test_direction_of_the_space_file(logs, capsys, tmp_path):
    """Catches a log of accuracies that is minimised although its space says otherwise."""
    text = json.loads((logs / "space.json").read_text()) | {"direction": "maximize"}
    (tmp_path / "s.json").write_text(json.dumps(text))
    status, out, err = run(capsys, "importance", logs / "t.csv", "--space", "s.json", *QUICK)
    assert (status, err) == (0, "")
    assert f"{N} rows, maximize" in out


def test_optuna_filter_and_study(logs, capsys):
    """Catches filters on trial numbers and parameters that do not reach the trials."""
    asked = ["--study", "a", "--filter", "number >= 50 and params_c > 0.3", *QUICK]
    status, out, _ = run(capsys, "importance", logs / "study.db", *asked)
    assert status == 0
    kept = int((pd.read_csv(logs / "t.csv")["params_c"][50:] > 0.3).sum())
    assert f"left out: {N - kept} of them (filter)" in out
    _, out, _ = run(capsys, "importance", logs / "study.db", "--study", "a", "--drop", "c", *QUICK)
    assert "left out, not parameters: 'c'" in out
    status, _, err = run(capsys, "importance", logs / "study.db")
    assert status == 2
    assert "choose one with --study: 'a', 'b'" in err


def test_a_parameter_may_be_called_state(capsys):
    """Catches a parameter that cannot be had because a trial has something of that name."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(storage="sqlite:///study.db")
    distributions = {"state": optuna.distributions.CategoricalDistribution(["on", "off"])}
    for i in range(20):
        params = {"state": "on" if i % 3 else "off"}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=float(i)))
    for text, n in (("state == COMPLETE", 0), ("params_state != none", 0), ("params_state == on", None)):
        status, out, err = run(capsys, "importance", "study.db", "--filter", text, *QUICK)
        assert status == 0, err
        assert ("(filter)" in out) == (n is None)
    status, _, err = run(capsys, "importance", "study.db", "--filter", "nope == 1")
    assert (status, "there are 'state', 'number', 'value', 'params_state'" in err) == (2, True), err


def test_arrow_streams(logs, capsys, tmp_path):
    """Catches a stream refused because it is not a file of the other form."""
    table = pa.csv.read_csv(logs / "t.csv")
    with pa.ipc.new_stream(tmp_path / "t.arrow", table.schema) as stream:
        stream.write_table(table)
    status, out, err = run(capsys, "importance", "t.arrow", *QUICK)
    assert status == 0, err
    assert f"{N} rows, minimize" in out


BAD = "a\x1b[2J\nb\u202e"


def control_characters(text):
    return [c for c in text if not c.isprintable() and c != "\n"]


@pytest.mark.parametrize("levels", ["0.1", pytest.param("0.1:0.9:0.1", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["t.csv", pytest.param("study.db", marks=pytest.mark.slow)])
def test_control_characters_do_not_reach_the_terminal(capsys, tmp_path, name, levels):
    """Catches names of columns, parameters, states and files that move the cursor or add lines."""
    x = np.arange(30) / 30
    if name == "t.csv":
        name = "\x1b[1mt.csv"
        states = ["COMPLETE"] * 29 + [BAD]
        df = pd.DataFrame({f"params_{BAD}": x, "params_y": x[::-1], "value": x, "state": states})
        df.to_csv(name, index=False)
    else:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.create_study(storage="sqlite:///study.db", study_name=BAD)
        domains = [{BAD: optuna.distributions.FloatDistribution(0, high)} for high in (1, 2)]
        create = optuna.trial.create_trial
        study.add_trials(
            [create(params={BAD: f}, distributions=domains[i % 2], value=f) for i, f in enumerate(x.tolist())]
        )
    outputs = ["--csv", "\x1b[1mo.csv", "--json", "o.json"]
    status, out, err = run(capsys, "importance", name, "--level", levels, *outputs, *QUICK)
    assert status == 0, err
    assert not control_characters(out + err)
    assert r"a\x1b[2J\nb\u202e" in out
    assert not any(line.startswith("b") for line in (out + err).splitlines())
    assert out.splitlines()[-2:] == ["written: o.json", r"written: \x1b[1mo.csv"]
    # The files have the names as they are.
    records = json.loads((tmp_path / "o.json").read_text())["records"]
    assert BAD in {record["parameter"] for record in records}
    assert BAD in set(pd.read_csv("\x1b[1mo.csv")["parameter"])


def test_names_that_look_alike_stay_apart(capsys):
    """Catches a row of the table lost when control characters are written out."""
    x = np.arange(30) / 30
    pd.DataFrame({"params_a\t": x, r"params_a\t": x[::-1], "value": x}).to_csv("t.csv", index=False)
    status, out, err = run(capsys, "importance", "t.csv", *QUICK)
    assert status == 0, err
    assert sum(line.startswith(r"a\t") for line in out.splitlines()) == 2


def test_what_is_said_is_cleaned_too(capsys, monkeypatch):
    """Catches the name of a file that reaches the terminal while it is read."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with saying("reading \x1b[2J"):
        pass
    assert capsys.readouterr().err == "reading \\x1b[2J ...\r\033[K"


def test_the_first_call_says_that_it_compiles(capsys, monkeypatch):
    """On a terminal and in a notebook, after a moment; neither in a file nor in a call that is fast."""
    said = "parzax compiles and computes; the next such call is fast ..."
    slow, fast = says_that_it_compiles(lambda: time.sleep(0.6)), says_that_it_compiles(lambda: None)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    fast()
    assert capsys.readouterr().err == ""
    slow()
    assert capsys.readouterr().err == f"{said}\r\033[K"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    slow()
    assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    slow()
    assert capsys.readouterr().err == f"{said}\r\033[K"
    assert "levels" in inspect.signature(px.cond_ped_anova).parameters


@pytest.mark.slow
def test_a_terminal_without_the_signs(monkeypatch):
    """Catches a failure, after the files are written, because of the sign of a standard error."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    data = {"params_學習率": np.linspace(0, 1, 60), "value": np.linspace(0, 1, 60)}
    pd.DataFrame(data).to_csv("wide.csv", index=False)
    assert main(["importance", "wide.csv", "--resamples", "0"]) == 0
    sys.stdout.flush()
    assert b"???" in written.getvalue()


TEXTS = {
    "semicolons.csv": lambda p, df: df.to_csv(p, sep=";", decimal=",", index=False),
    "semicolons-and-points.csv": lambda p, df: df.to_csv(p, sep=";", index=False),
    "tabs.csv": lambda p, df: df.to_csv(p, sep="\t", index=False),
    "wide.csv": lambda p, df: df.to_csv(p, encoding="utf-16", index=False),
    "packed.csv.gz": lambda p, df: df.to_csv(p, index=False, compression="gzip"),
    "packed.tsv.gz": lambda p, df: df.to_csv(p, sep="\t", index=False, compression="gzip"),
    "lines.jsonl": lambda p, df: df.to_json(p, orient="records", lines=True, double_precision=15),
    "lines.ndjson.gz": lambda p, df: df.to_json(
        p, orient="records", lines=True, double_precision=15, compression="gzip"
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_of_every_kind(tmp_path, name):
    """Decimal commas, other separators and encodings, packed files and JSON lines."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {"x": rng.uniform(size=40).round(9), "c": ["ä", "b"] * 20, "value": rng.normal(size=40)}
    )
    TEXTS[name](tmp_path / name, df)
    obs = px.Observations.from_dataframe(files.read_table(tmp_path / name), warn=False)
    assert obs.space.names == ("x", "c")
    np.testing.assert_array_equal(obs.values[:, 0], df["x"])
    np.testing.assert_allclose(obs.losses[:, 0], df["value"], rtol=1e-12)
    assert obs.space["c"][0].choices == ("b", "ä")


def test_tables_with_columns_of_their_own(tmp_path, capsys):
    """--parameters, --drop and --seed; catches an option that does nothing."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(2, 60))
    df = pd.DataFrame({"x": x, "y": y, "loss": x + y, "rep": np.arange(60) % 3, "value": (x - 0.3) ** 2})
    df.to_csv(tmp_path / "t.csv", index=False)
    file = str(tmp_path / "t.csv")
    assert main(["importance", file, *QUICK]) == 2
    assert "'loss': a result, by its name; 'rep': a fold or a seed, by its name" in capsys.readouterr().err
    assert main(["importance", file, "--drop", "loss", "--seed", "rep", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "of 3 seeds" in out
    assert "loss" not in out
    assert main(["importance", file, "--parameters", "y", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "x  " not in out
    assert "ten rows or fewer" not in out
    assert main(["importance", file, "--parameters", "y", "--level", "0.1", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "ten rows or fewer among the best" in out
    assert main(["importance", file, "--seed", "nothing"]) == 2
    assert "has no column 'nothing'" in capsys.readouterr().err


def test_names_in_any_script(tmp_path, capsys):
    """Columns of a terminal, and one line where no font has the characters; catches tables out of step."""
    x = np.random.default_rng(0).uniform(size=(60, 2))
    df = pd.DataFrame({"学習率": x[:, 0], "\U00012000": x[:, 1], "value": (x[:, 0] - 0.4) ** 2})
    df.to_csv(tmp_path / "t.csv", index=False)
    asked = ["--plot", str(tmp_path / "p.png"), "--resamples", "0"]
    assert main(["importance", str(tmp_path / "t.csv"), *asked]) == 0
    out, err = capsys.readouterr()
    assert err.count("no font here has it") == 1
    header, first = out.split("\n\n")[1].splitlines()[:2]
    share = first.split()[1]
    assert header.index("importance") + len("importance") == first.index(share) + len(share) + 3


def test_help_imports_nothing_that_computes():
    """Catches help, and a misspelt option, that wait for JAX."""
    code = "import sys, parzax.lens.cli; parzax.lens.cli.main(['x', '--y']); print('jax' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"


@pytest.mark.slow
def test_demo(capsys, tmp_path, monkeypatch):
    """Catches a demo without table, figure or the next command, and one that keeps no programs."""
    with programs_in(tmp_path / "cache", monkeypatch):
        status, out, err = run(capsys, "demo", "--out", "d.png")
    assert (status, err) == (0, "")
    assert "$ parzax importance d.csv --target val_loss --plot d.png\nDo next: try dropout " in out
    assert "\nWhat mattered: dropout" in out
    assert (
        out.splitlines()[-4]
        == "A page with all pictures:  parzax report d.csv --target val_loss -o report.html"
    )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "d.csv", "d.png"]


def test_demo_without_matplotlib(capsys, monkeypatch, tmp_path):
    """Catches a demo that prints nothing because a figure cannot be drawn."""
    for name in [n for n in sys.modules if n.startswith(("matplotlib", "parzax.lens.plotting"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(px, "plotting", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    monkeypatch.setattr("parzax.lens.cli.demo.find_spec", lambda name: None)
    status, out, _ = run(capsys, "demo")
    assert status == 0
    assert "What mattered: dropout" in out
    assert "no figure: " in out
    assert "parzax[plot]" in out
    assert [p.name for p in tmp_path.iterdir()] == ["parzax-demo.csv"]


@pytest.mark.slow
def test_as_a_process(logs, tmp_path):
    """Catches an entry point that does not start, and a wrong exit status of the process."""
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PARZAX_NO_CACHE": "0"}
    env.pop("JAX_COMPILATION_CACHE_DIR", None)  # where it is on, nothing is kept
    command = [sys.executable, "-m", "parzax"]
    good = subprocess.run(
        [*command, "importance", logs / "t.parquet"], capture_output=True, text=True, env=env, check=False
    )
    assert good.returncode == 0, good.stderr
    assert "\nparameter " in good.stdout
    assert (tmp_path / "cache" / "parzax").is_dir()
    bad = subprocess.run(
        [*command, "importance", "nothing.csv"], capture_output=True, text=True, env=env, check=False
    )
    assert bad.returncode == 2
    assert bad.stdout == ""
    assert bad.stderr == "parzax: error: there is no file 'nothing.csv'.\n"


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert f"parzax {px.__version__}" in capsys.readouterr().out


LEVELS = [
    ("0.1", [0.1]),
    ("0.1,0.5", [0.1, 0.5]),
    ("0.1:0.3:0.1", [0.1, 0.2, 0.3]),
    ("0.1:0.35:0.1", [0.1, 0.2, 0.3]),
    ("0.01:0.99:0.01", [i / 100 for i in range(1, 100)]),
]


@pytest.mark.parametrize(("text", "levels"), LEVELS)
def test_levels(text, levels):
    """Catches binary steps: 0.15000000000000002 selects one row more than 0.15."""
    assert parse_levels("--level", text) == levels


def test_filters_are_read():
    """Catches spaces or quotes that change what is compared, and an "and" inside a quoted value."""
    for text in ("a == b", "'a' == \"b\"", "a==b", " a  ==  b "):
        (found,) = parse_filter(text)
        assert (found.column, found.op, found.text, found.number) == ("a", "==", "b", None)
    found = parse_filter("a != 'x and y' and num.impute >= -1e-3 and band == android")
    assert [(c.column, c.op, c.text) for c in found] == [
        ("a", "!=", "x and y"), ("num.impute", ">=", "-1e-3"), ("band", "==", "android"),
    ]  # fmt: skip
    assert [c.number for c in found] == [None, -1e-3, None]


def test_messages_name_the_option(logs, capsys, tmp_path):
    """Catches refusals that leave open which option to give."""
    pd.DataFrame({"lr": [1, 2], "loss": [0.1, 0.2]}).to_csv("loss.csv", index=False)
    for args, expected in (
        (["loss.csv"], "else change it: parzax importance loss.csv --target loss"),
        ([logs / "space.json"], "A search space goes to --space."),
        ([logs / "t.csv", "--target-q", "0.2"], "--target-q"),
        ([logs / "t.csv", "--csv", "-"], "--csv: - is not a file"),
        ([logs / "t.csv", "--json", "-"], "--json: - is not a file"),
    ):
        status, out, err = run(capsys, "importance", *args)
        assert (status, out) == (2, "")
        assert len(err.splitlines()) == 1
        assert expected in err
    assert [p.name for p in tmp_path.iterdir()] == ["loss.csv"]


def test_one_of_several_objectives_is_named(capsys):
    """Catches a table of one objective that does not say which."""
    x = np.arange(20) / 20
    pd.DataFrame({"params_x": x, "values_0": x, "values_1": -x}).to_csv("two.csv", index=False)
    status, out, err = run(capsys, "importance", "two.csv", "--objective", "1", *QUICK)
    assert status == 0
    assert "so 'values_1' is minimised; if more is better, directions='maximize'" in out
    assert "smallest values_1)" in out.split("\n")[1]
    assert "this is about 'values_1', one of 2 objectives; --objective takes a number, a name," in err


@pytest.mark.parametrize("there", [False, True])
def test_outputs_are_written_together_or_not_at_all(tmp_path, there):
    """Catches a file of this call beside one of the last, where a later output cannot be written."""
    outputs = [tmp_path / name for name in ("a.json", "b.json")]
    if there:
        for path in outputs:
            path.write_text("before")
    before = {p.name: p.read_text() for p in tmp_path.iterdir()}

    def fails(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(ValueError, match=r"cannot write '.*b\.json': .*No space left"):
        write_all([(outputs[0], lambda p: p.write_text("new")), (outputs[1], fails)])
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == before


def test_what_is_no_file_is_never_replaced(logs, capsys):
    """Catches /dev/null replaced by a file, and inputs overwritten."""
    status, _, err = run(capsys, "importance", logs / "t.csv", "--json", "/dev/null")
    assert (status, "no regular file" in err) == (2, True)
    assert not os.path.isfile("/dev/null")
    space = logs / "space.json"
    status, _, err = run(capsys, "importance", logs / "t.csv", "--space", space, "--write-space", space)
    assert (status, "is the search space itself" in err) == (2, True)


@pytest.mark.slow
def test_one_of_several_levels_is_that_nearest_to_a_tenth_with_rows(logs, capsys, tmp_path):
    """Catches the first level, at which there are few rows, and shuffles that depend on what is asked for.

    A log that is asked about twice gives the same intervals.
    """
    asked = ["importance", logs / "t.csv", "--space", logs / "space.json", "--level", SEVERAL]
    asked += ["--resamples", "60"]
    status, out, err = run(capsys, *asked, "--verbose", "--json", "o.json")
    assert status == 0, err
    wanted = next(level for level in (0.03, 0.2) if level * N > 10)
    assert f"the best {100 * wanted:g} % (" in out
    content = json.loads((tmp_path / "o.json").read_text())
    assert content["level_shown"] == wanted
    assert "LOW_DATA (" in out
    assert run(capsys, *asked, "--json", "again.json")[0] == 0
    assert json.loads((tmp_path / "again.json").read_text()) == content
    assert any("60 samples" in line for line in content["details"])
    assert any("1000 shuffles" in line for line in content["details"])
    for record in content["records"]:
        if record["level"] == 0.5:
            assert record["importance_low"] - 1e-6 <= record["importance"] <= record["importance_high"] + 1e-6
    status, _, err = run(capsys, *asked[:-1], "few")
    assert (status, "whole number, 0 or more" in err) == (2, True)


def test_plot_kinds(logs, capsys, tmp_path):
    """Catches a kind of picture that cannot be had, or that is the same as another."""
    base = ["importance", logs / "t.csv", "--space", logs / "space.json", "--level", SEVERAL]
    base += QUICK
    pictures = []
    for i, kind in enumerate((None, "bars", "regimes", "values", "history", "slices", "parallel")):
        extra = [] if kind is None else ["--plot-kind", kind]
        status, _, err = run(capsys, *base, *extra, "--plot", f"{i}.png")
        assert status == 0, err
        pictures.append((tmp_path / f"{i}.png").read_bytes())
    assert len(set(pictures)) == len(pictures)
    status, _, err = run(capsys, *base, "--plot-kind", "sweep", "--plot", "again.png")
    assert (tmp_path / "again.png").read_bytes() == pictures[0]
    assert not plt.get_fignums()


def test_the_space_can_be_written_and_given_again(logs, capsys, tmp_path):
    """Catches an inferred space that cannot be had from the command line, or that reads back otherwise."""
    args = ["importance", logs / "t.csv", "--direction", "minimize", *QUICK]
    status, out, _ = run(capsys, *args, "--write-space", "guess.json", "--json", "first.json")
    assert (status, "written: guess.json" in out) == (0, True)
    status, _, err = run(capsys, *args, "--space", "guess.json", "--json", "second.json")
    assert (status, err) == (0, "")
    first, second = (json.loads((tmp_path / f).read_text()) for f in ("first.json", "second.json"))
    assert first["records"] == second["records"]


@pytest.mark.slow
def test_several_objectives_and_rows(tmp_path, capsys):
    """--objective by number, name, all and pareto, --rows, --constraints: catches one that does nothing."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(2, 90))
    df = pd.DataFrame({"params_x": x, "params_y": y, "loss": x, "time": 1 - y + 0.1 * x, "size": x - 0.7})
    df.to_csv(tmp_path / "t.csv", index=False)
    base = (capsys, "importance", tmp_path / "t.csv", "--target", "loss", "time", "--level", "0.3")
    base += ("--constraints", "size", *QUICK)

    def top(out):
        return next(line for line in out.split("\n") if line.startswith(("x ", "y "))).split()[0]

    for which, about, first in (
        ("0", "smallest loss", "x"),
        ("time", "smallest time", "y"),
        ("pareto", "by the Pareto rank of 2 objectives", "x"),
    ):
        status, out, _ = run(*base, "--objective", which)
        assert status == 0
        assert about in out
        assert top(out) == first or which == "pareto"
    status, out, _ = run(*base, "--objective", "all", "--resamples", "20")
    assert status == 0
    parts = out.split("Do next: ")[1:]
    assert [top(part) for part in parts] == ["x", "y"]
    for part, name, best in zip(parts, ("loss", "time"), "xy", strict=True):
        assert f"(19 of {(x <= 0.7).sum()} feasible rows, smallest {name})" in part
        assert f"How sure: {best} comes first in " in part
        assert part.startswith(f"try {best} ")
        assert "\n90 rows, minimize loss and minimize time" in part
        assert f"left out: {(x > 0.7).sum()} of them (not feasible)" in part
    assert "(27 of 90 rows, " in run(*base, "--rows", "all")[1]
    for extra, message in (
        (("--objective", "cost"), "'loss', 'time', got 'cost'"),
        (("--objective", "2"), "from 0 to 1, got 2"),
        (("--objective", "all", "--json", tmp_path / "o.json"), "else give a name, or pareto"),
    ):
        status, out, err = run(*base, *extra)
        assert (status, out) == (2, "")
        assert message in err
    status, _, err = run(*base[:3], "--target", "loss", "--rows", "feasible")
    assert status == 2
    assert "needs constraints" in err


@pytest.mark.slow
def test_a_log_too_large_for_samples_has_shuffles(logs, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("parzax.lens.results.replicates._MOST_NUMBERS", 1000)
    asked = ["importance", str(logs / "t.csv"), "--target", "value", "--direction", "minimize"]
    assert main([*asked, "--json", str(tmp_path / "a.json")]) == 0
    out = capsys.readouterr().out
    assert "interval" not in out.split("\n\n")[1]
    content = json.loads((tmp_path / "a.json").read_text())
    assert any("1000 shuffles" in line for line in content["details"])
    assert content["records"][0]["importance_low"] is None
