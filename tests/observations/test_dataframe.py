"""Tables as observations: columns, states, labels, inference, errors."""

import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import parzax as px

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]
frames = pytest.mark.parametrize("frame", FRAMES, ids=["pandas", "polars", "pyarrow"])
SPACE = px.Space(
    {
        "x": px.Float(0, 1),
        "b": px.Categorical(["u", "v"]),
        "k": px.Int(1, 9, when=px.In("b", ["u"])),
    }
)
TRIALS = {
    "number": [0, 1, 2, 3],
    "value": [3.0, 1.0, 2.0, None],
    "params_x": [0.1, 0.5, 0.9, 0.2],
    "params_b": ["u", "v", "u", "u"],
    "params_k": [1, None, 9, 4],
    "state": ["COMPLETE", "COMPLETE", "COMPLETE", "FAIL"],
    "user_attrs_note": ["a", "b", "c", "d"],
}


@contextmanager
def counted_calls():
    """A list that grows with each call of a function, Python's or C's: work without a clock."""
    calls: list[str] = []
    sys.setprofile(lambda _, event, __: calls.append(event) if event in ("call", "c_call") else None)
    try:
        yield calls
    finally:
        sys.setprofile(None)


def read(df, **options):
    return px.Observations.from_dataframe(df, warn=False, **options)


@frames
def test_every_library_gives_the_same_observations(frame):
    """Catches nulls, promoted integers or text read differently by one of the libraries."""
    # Nothing is inferred, so there is no warning (warnings are errors here).
    obs = px.Observations.from_dataframe(frame(TRIALS), space=SPACE, directions="minimize")
    np.testing.assert_array_equal(obs.values, [[0.1, 0, 1], [0.5, 1, np.nan], [0.9, 0, 9]])
    np.testing.assert_array_equal(obs.losses[:, 0], [3, 1, 2])
    assert obs.report.n_rows == 4
    assert obs.report.dropped == {"state FAIL": 1}
    assert obs.report.inferred == ()


@frames
def test_inferred_space(frame):
    """Catches a wrong kind, bound or gap, and integers with gaps that stay floats."""
    with pytest.warns(UserWarning, match="inferred from the table") as caught:
        obs = px.Observations.from_dataframe(frame(TRIALS), failed="drop")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert obs.space == px.Space(
        {
            "x": px.Float(0.1, 0.9),
            "b": px.Categorical(("u", "v")),
            "k": px.Int(1, 9, when=px.Recorded()),
        }
    )
    text = str(caught[0].message)
    for part in (
        "'value' is minimised",
        "taken from the data",
        "x: Float",
        "k: Int from 1 to 9; inactive in 1 of 3",
    ):
        assert part in text
    assert all(sentence in text for sentence in obs.report.inferred)


def test_failed_worst_keeps_failed_rows_and_drops_pending_ones():
    """Catches a failed trial's intermediate value that counts, and running trials ranked last."""
    df = pd.DataFrame({"params_x": [0.1, 0.2, 0.3, 0.4], "value": [1.0, -9.0, 5.0, 6.0]})
    df["state"] = ["COMPLETE", "PRUNED", "RUNNING", "TrialState.WAITING"]
    obs = read(df, failed="worst")
    assert obs.losses[:, 0].tolist() == [1.0, np.inf]
    assert obs.report.dropped == {"state RUNNING": 1, "state WAITING": 1}
    assert read(df).n == 1


def test_pruned_worst_ranks_pruned_rows_alone_last():
    """Catches failed rows, or complete ones without a value, that come along."""
    df = pd.DataFrame({"params_x": [0.1, 0.2, 0.3, 0.4, 0.5], "value": [1.0, -9.0, 5.0, np.nan, 2.0]})
    df["state"] = ["COMPLETE", "PRUNED", "FAIL", "COMPLETE", "COMPLETE"]
    obs = read(df, pruned="worst")
    assert obs.losses[:, 0].tolist() == [1.0, np.inf, 2.0]
    assert obs.report.dropped == {"state FAIL": 1, "no objective value": 1}
    other = read(df, failed="worst", pruned="drop")
    assert other.losses[:, 0].tolist() == [1.0, np.inf, np.inf, 2.0]
    with pytest.raises(ValueError, match="pruned must be one of"):
        read(df, pruned="best")
    assert read(df.drop(columns="state"), pruned="worst").losses[:, 0].tolist()[:3] == [1.0, -9.0, 5.0]


def test_rows_are_left_out_by_reason():
    """Catches a row counted under two reasons, and rows left out that are read all the same."""
    df = pd.DataFrame({"params_x": [0.1, 0.2, 7.0, 0.4], "value": [1, "crashed", 2, 3], "w": [1, -1, "", 2]})
    df["state"] = ["COMPLETE", "FAIL", "COMPLETE", "COMPLETE"]
    space = px.Space({"x": px.Float(0, 1)})
    options = {"space": space, "directions": "minimize", "weight": "w"}
    exclude = {"by hand": [False, False, True, False], "again": np.array([False, True, True, False])}
    obs = read(df, **options, exclude=exclude)
    assert obs.values[:, 0].tolist() == [0.1, 0.4]
    assert obs.losses[:, 0].tolist() == [1, 3]
    assert obs.weight.tolist() == [1, 2]
    assert obs.report.dropped == {"by hand": 1, "again": 1}
    assert obs.report.n_rows == 4
    assert read(df, **options, exclude={"by hand": exclude["by hand"]}).report.dropped == {
        "by hand": 1,
        "state FAIL": 1,
    }
    with pytest.raises(ValueError, match=r"no row of the table is left \(3 all others, 1 state FAIL\)"):
        read(df, **options, exclude={"all others": [True, False, True, True]})
    with pytest.raises(ValueError, match=r"exclude\['short'\] must have shape \(4,\)"):
        read(df, **options, exclude={"short": [True]})
    with pytest.raises(TypeError, match="exclude must have a reason for each mask"):
        read(df, **options, exclude={"": exclude["again"]})
    with pytest.raises(TypeError, match=r"exclude\['numbers'\] must be a boolean mask"):
        read(df, **options, exclude={"numbers": [0, 1, 2, 3]})


def test_control_characters_are_written_out_in_notes():
    """Catches names that move the cursor of whoever reads a warning or a report."""
    bad = "a\x1b[2J\nb"
    df = pd.DataFrame({bad: [0.1, 0.2], "value": [1.0, 2.0], "state": ["COMPLETE", f"{bad}"]})
    obs = read(df, target="value")
    assert obs.space.names == (bad,)
    assert all(line.isprintable() for line in obs.report.lines())
    assert obs.report.dropped == {r"state A\x1b[2J\nB": 1}


def test_targets():
    """Catches values_10 sorted before values_2, and a maximised target that is not negated."""
    df = pd.DataFrame({"params_x": [0.1, 0.2]} | {f"values_{i}": [i, i] for i in (10, 2, 0)})
    assert read(df).losses[0].tolist() == [0, 2, 10]
    assert read(df, target=["values_2", "values_0"], directions=["maximize", "minimize"]).losses[
        0
    ].tolist() == [-2, 0]
    assert read(df, target="values_2", directions="maximize").losses[1].tolist() == [-2]


def test_plain_tables_without_prefix():
    """Catches targets, weights, constraints or bookkeeping taken for parameters."""
    columns = {"lr": [0.1, 0.2], "acc": [0.5, 0.6], "w": [1, 2], "c": [-1.0, 1.0], "Unnamed: 0": [0, 1]}
    obs = read(pd.DataFrame(columns), target="acc", directions="maximize", weight="w", constraints="c")
    assert obs.space.names == ("lr",)
    assert obs.weight is not None
    assert obs.constraints is not None
    assert obs.weight.tolist() == [1, 2]
    assert obs.constraints.tolist() == [[-1.0], [1.0]]
    assert obs.report.left_out == ()


def test_kinds_that_are_inferred():
    """Catches a log axis where there is none (or none where there is), merged types, unsorted choices."""
    rng = np.random.default_rng(0)
    n = 200
    df = pd.DataFrame(
        {
            "params_log": np.exp(rng.uniform(np.log(1e-5), 0, n)),
            "params_wide_but_uniform": rng.uniform(1e-4, 1, n),
            "params_two_decades": np.exp(rng.uniform(np.log(1e-2), 0, n)),
            "params_whole_float": np.arange(n, dtype=float),
            "params_flag": rng.integers(0, 2, n) == 1,
            "params_mixed": pd.Series([True, 1, 1.0, "1"] * (n // 4), dtype=object),
            "params_cat": pd.Categorical(rng.choice(["z", "a"], n)),
            "params_constant": np.full(n, 3),
            "params_objects": pd.Series([1, 2] * (n // 2), dtype=object),
            "params_never": np.full(n, np.nan),
            "value": rng.normal(size=n),
        }
    )
    obs = read(df)
    kinds = {name: obs.space[name][0] for name in obs.space.names}
    log = {name for name, domain in kinds.items() if getattr(domain, "log", False)}
    assert log == {"log"}
    assert isinstance(kinds["whole_float"], px.Float)
    assert kinds["flag"] == px.Categorical((False, True))
    assert kinds["mixed"] == px.Categorical((True, 1.0, 1, "1"))
    assert len(np.unique(obs.values[:, obs.space.index("mixed")])) == 4
    assert kinds["cat"] == px.Categorical(("a", "z"))
    assert kinds["constant"] == px.Int(3, 3)
    assert kinds["objects"] == px.Int(1, 2)
    assert "never" not in kinds
    assert obs.report.left_out == ("never: it has no values",)


@frames
def test_a_state_that_is_no_trial_state_leaves_out_no_row(frame):
    """Catches a table of US states all of whose rows are left out as trials that did not complete."""
    data = {"x": [0.1, 0.5, 0.9], "state": ["CA", "NY", "CA"], "value": [3.0, 1.0, 2.0]}
    with pytest.raises(ValueError, match=r"'state': a state, by its name.*parameters=\['x'\]\)"):
        read(frame(data))
    obs = read(frame(data), parameters="x")
    assert obs.n == 3
    assert obs.report.dropped == {}
    asked = read(frame(data), parameters=["x", "state"])
    assert asked.space["state"] == (px.Categorical(("CA", "NY")),)
    # With params_* it is no parameter either; and in a space no guess.
    prefixed = {"params_x": data["x"], "state": [1, 2, 3], "value": data["value"]}
    assert read(frame(prefixed)).space.names == ("x",)
    assert "the columns 'state'" in read(frame(prefixed)).report.left_out
    space = px.Space({"x": px.Float(0, 1), "state": px.Categorical(["CA", "NY"])})
    obs = read(frame(data), space=space, directions="minimize")
    np.testing.assert_array_equal(obs.values[:, 1], [0, 1, 0])
    assert obs.report.inferred == ()
    # One trial state is enough to know the others as such, in any spelling.
    for complete in ("COMPLETE", "complete", "TrialState.COMPLETE"):
        obs = read(frame(data | {"state": [complete, "imploded", complete]}))
        assert obs.report.dropped == {"state IMPLODED": 1}
        assert obs.space.names == ("x",)


def of_numbers(values):
    """Columns whose own type says that the numbers in them are labels."""
    dictionary = pa.array(values).dictionary_encode()
    chunks = pa.chunked_array(
        [pa.array(values[:1]).dictionary_encode(), pa.array(values[1:]).dictionary_encode()]
    )
    objective = list(range(len(values)))
    return {
        "pandas": pd.DataFrame({"x": pd.Categorical(values), "value": objective}),
        "ordered": pd.DataFrame({"x": pd.Categorical(values, ordered=True), "value": objective}),
        "arrow": pa.table({"x": dictionary, "value": objective}),
        "chunks": pa.table({"x": chunks, "value": objective}),
        "arrow in pandas": pa.table({"x": dictionary, "value": objective}).to_pandas(
            types_mapper=pd.ArrowDtype
        ),
    }


@pytest.mark.parametrize("kind", of_numbers([1, 2]))
def test_explicit_categories_are_categories(kind):
    """Catches numbers of a categorical column taken for a range of numbers."""
    found = [read(of_numbers(values)[kind]) for values in ([3, 1, 2], [0.5, None, 0.1])]
    assert found[0].space == px.Space({"x": px.Categorical([1, 2, 3])})
    assert found[0].values[:, 0].tolist() == [2, 0, 1]
    assert found[1].space == px.Space({"x": px.Categorical([0.1, 0.5, None])})
    np.testing.assert_array_equal(found[1].values[:, 0], [1, 2, 0])
    assert any("x: Categorical, 3 choices (1, 2, 3)" in note for note in found[0].report.inferred)
    # A given space says what they are.
    space = px.Space({"x": px.Int(0, 9)})
    assert read(of_numbers([3, 1, 2])[kind], space=space).values[:, 0].tolist() == [3, 1, 2]


def test_polars_categories_and_enums_are_categories():
    """Text that looks like numbers, in both of polars' types."""
    for dtype in (pl.Categorical, pl.Enum(["10", "2", "1"])):
        df = pl.DataFrame({"x": pl.Series(["2", None, "10"], dtype=dtype), "value": [1.0, 2.0, 3.0]})
        assert read(df).space == px.Space({"x": px.Categorical(["10", "2", None])})


def test_integers_with_gaps_stay_integers_when_the_gaps_are_left_out():
    """Catches a kind that is inferred from the rows that are left instead of the column."""
    df = pd.DataFrame(
        {"params_k": [1, None, 3], "value": [1.0, 2, 3], "state": ["COMPLETE", "FAIL", "COMPLETE"]}
    )
    assert read(df).space["k"] == (px.Int(1, 3),)


LABELS = [
    ([True, False, True], [True, False], [0, 1, 0]),
    (["True", "false", "TRUE"], [True, False], [0, 1, 0]),
    ([1.0, 2.0, None], [1, 2], [0, 1, np.nan]),
    (["1", "2.0", "1"], [1, 2], [0, 1, 0]),
    ([1, 2, 1], ["1", "2"], [0, 1, 0]),
    ([True, False, None], ["True", "False"], [0, 1, np.nan]),
    (["None", "a", "a"], [None, "a"], [0, 1, 1]),
    (["0.001", "1e-3", "0.1"], [0.001, 0.1], [0, 0, 1]),
]


@pytest.mark.parametrize(("column", "choices", "codes"), LABELS)
def test_labels_of_a_given_space(column, choices, codes):
    """Catches a label that a file or a library changed and that is then unknown, or the wrong choice."""
    space = px.Space({"a": px.Categorical(choices, when=px.Recorded())})
    obs = read(pd.DataFrame({"a": column, "value": [1.0, 2.0, 3.0]}), space=space)
    np.testing.assert_array_equal(obs.values[:, 0], codes)


def test_types_of_choices_stay_apart():
    """Catches True and 1 merged, and a guess where a label could be two choices."""
    space = px.Space({"a": px.Categorical([True, 1])})
    df = pd.DataFrame({"a": pd.Series([True, 1], dtype=object), "value": [1.0, 2.0]})
    assert read(df, space=space).values[:, 0].tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"column 'a', row 0: 1\.0 could be several of the choices True, 1"):
        read(df.assign(a=[1.0, 1.0]), space=space)


def test_missing_is_the_choice_none_where_the_parameter_is_active():
    """Catches None (written as an empty cell) taken for inactive in an active row."""
    space = px.Space(
        {
            "b": px.Categorical(["u", "v"]),
            "a": px.Categorical([None, "x"], when=px.In("b", ["u"])),
            "free": px.Categorical(["x", None]),
        }
    )
    df = pd.DataFrame(
        {"b": ["u", "u", "v"], "a": [None, "x", None], "free": [None, "x", "x"], "value": [1.0, 2, 3]}
    )
    np.testing.assert_array_equal(read(df, space=space).values, [[0, 0, 1], [0, 1, 0], [1, np.nan, 0]])


def test_codes_of_a_parameter_with_several_domains_follow_its_regime():
    """Catches codes of the wrong domain, and children whose parent's code was not settled yet."""
    space = px.Space(
        {
            "leaf": px.Float(0, 1, when=px.In("a", ["z"])),
            "a": (
                px.Categorical(["x", "y"], when=px.In("b", ["u"])),
                px.Categorical(["z", "y", "x"], when=px.In("b", ["v"])),
            ),
            "b": px.Categorical(["u", "v"]),
        }
    )
    df = pd.DataFrame(
        {"b": ["u", "v", "v"], "a": ["y", "x", "z"], "leaf": [np.nan, np.nan, 0.5], "value": [1.0, 2, 3]}
    )
    obs = read(df, space=space)
    np.testing.assert_array_equal(obs.values, [[np.nan, 1, 0], [np.nan, 2, 1], [0.5, 0, 1]])
    np.testing.assert_array_equal(obs.regime, [[-1, 0, 0], [-1, 1, 0], [0, 1, 0]])


GOOD = pd.DataFrame(TRIALS)
DROPPED = GOOD.assign(state=["FAIL", "COMPLETE", "COMPLETE", "COMPLETE"])
PENDING = GOOD.assign(state=["RUNNING", "FAIL", "COMPLETE", "COMPLETE"])
OUTSIDE, WORST = {"params_x": [0.1, 0.2, 1.5, 0.1]}, {"space": SPACE, "failed": "worst"}
GAPS = pd.DataFrame({"x": [None, None], "value": [1.0, 2.0]})
ERRORS = [
    (GOOD.assign(value=["1", "b", "3", "4"]), {}, r"column 'value', row 1: 'b' is not a number"),
    (GOOD.assign(params_b=["u", "v", "w", "u"]), {"space": SPACE}, r"'params_b', row 2: 'w' is not one of"),
    (DROPPED.assign(**OUTSIDE), {"space": SPACE}, r"row 2, column 0 \('x'\) = 1.5"),
    (PENDING.assign(**OUTSIDE), WORST, r"row 2, column 0 \('x'\) = 1.5"),
    (DROPPED.assign(w=[1, 2, -1, 1]), {"space": SPACE, "weight": "w"}, "weight: row 2 is -1.0"),
    (PENDING.assign(c=[np.nan, 0, np.nan, 1]), {"constraints": "c", **WORST}, "constraints: row 2"),
    (GOOD.assign(params_x=[0.1, np.inf, 0.2, 0.3]), {}, r"column 'params_x': row 1 is inf"),
    (pd.DataFrame(), {}, "no columns"),
    (GOOD.assign(state="FAIL"), {}, r"no row of the table is left \(4 state FAIL\)"),
    (pd.concat([GOOD, GOOD[["value"]]], axis=1), {}, "'value' appears more than once"),
    (pd.DataFrame(np.ones((2, 2))), {}, "plain strings"),
    (GOOD[["value"]], {}, "no column is left for parameters"),
    (GAPS, {}, "none of the columns 'x' has a value that is not an id"),
    (GOOD[["value"]].assign(x=pd.Timestamp("2020-01-01")), {}, "'x': a time, by its values"),
    (GOOD.assign(params_b=["a" * 20_000, "b", "c", "d"]), {}, "it holds a text of 20000"),
    (GOOD.assign(params_x=[-1.7e308, 1.7e308, 0, 0]), {}, "column 'params_x': .*overflows"),
    (GOOD, {"directions": "up"}, "direction must be one of"),
    (GOOD, {"failed": "keep"}, "failed must be one of"),
]


@pytest.mark.parametrize(("df", "options", "message"), ERRORS)
def test_errors_name_what_is_wrong(df, options, message):
    """Catches silent wrong reading of tables that do not fit, and messages without row and column."""
    with pytest.raises(ValueError, match=message):
        read(df, **options)


def test_types_of_arguments():
    """Catches something that is no table, or no space, failing far from its cause."""
    for bad, options in (
        ([1, 2], {}),
        (GOOD["value"], {}),
        (pa.array([1]), {}),
        (GOOD, {"space": {"x": 1}}),
        (GOOD, {"target": 3}),
    ):
        with pytest.raises(TypeError):
            read(bad, **options)


@pytest.mark.slow
@frames
def test_very_wide_tables_take_time_in_proportion_to_their_columns(frame):
    """Catches a loop over columns within a loop over columns."""
    n = 20_000
    df = frame({f"c{i}": [0.5, 0.6] for i in range(n)} | {"value": [1.0, 2.0]})
    with counted_calls() as calls, pytest.raises(ValueError, match="20000 columns would be parameters"):
        read(df)
    assert len(calls) < 1000 * n
    with counted_calls() as calls:
        assert read(df, space=px.Space({"c7": px.Float(0, 1)})).n == 2
    assert len(calls) < 1000 * n


def test_missing_narwhals_says_what_to_install(monkeypatch):
    """Catches a bare ImportError of a package that the user never named."""
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(ImportError, match=r"parzax\[dataframe\]"):
        read(GOOD)


@pytest.mark.slow
def test_no_python_loop_over_the_numbers():
    """Catches loops over the 1.5 million numbers of a large table."""
    rng = np.random.default_rng(0)
    n = 100_000
    data = {f"params_f{i}": rng.uniform(size=n) for i in range(15)}
    data |= {f"params_s{i}": rng.choice(["a", "b", "c"], n) for i in range(5)} | {"value": rng.normal(size=n)}
    df = pd.DataFrame(data)
    with counted_calls() as calls:
        read(df)
    # About six for each text, none for each number.
    assert 0 < len(calls) < 8 * 5 * n
