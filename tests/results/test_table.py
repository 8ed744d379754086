"""Results as tables and text."""

import re
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from conftest import QUICK

import parzax as px
from parzax.lens.results.labels import short_names
from parzax.status import status_names

FIFTIETHS, HUNDREDTHS = (tuple(np.arange(1, n) / n) for n in (50, 100))


@cache
def make_result(n_seeds=None, n_parameters=3, levels=(0.1, 0.5), some_failed=False, **options):
    """An analysis of whole numbers of 0 and 1; of the failed rows the first parameter is 0."""
    rng = np.random.default_rng(0)
    shape = (60,) if n_seeds is None else (n_seeds, 60)
    x = rng.uniform(size=(*shape, n_parameters))
    space = px.Space({f"p{i}": px.Int(0, 1) for i in range(n_parameters)})
    values = np.round(x)
    losses = values @ (0.5 ** np.arange(n_parameters)) + 0.1 * rng.uniform(size=shape)
    if some_failed:
        losses = np.where(x[..., 0] < 0.3, np.nan, losses)
    obs = px.Observations.from_arrays(space, values, losses)
    return px.cond_ped_anova(obs, levels=levels, **QUICK, **options)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_long_form(backend):
    """Catches rows in another order than the arrays, and columns lost in one backend."""
    result = make_result(n_seeds=2)
    table = result.to_dataframe(backend)
    assert type(table).__module__.startswith(backend)
    names = table.column_names if backend == "pyarrow" else list(table.columns)
    assert names == [
        "seed", "level", "parameter", "importance", "variance", "standard", "inter", "unweighted",
        "n_target", "n_region", "status", "status_names",
    ]  # fmt: skip
    assert len(table) == 2 * 2 * 3
    for s, q, d in ((0, 0, 0), (1, 0, 2), (1, 1, 1)):
        at = (s * 2 + q) * 3 + d
        row = {name: np.asarray(table[name])[at] for name in names}
        assert row["seed"] == s
        assert row["levels"] == result.levels[q]
        assert row["parameter"] == result.names[d]
        assert row["importance"] == result.importance[s, q, d]
        assert row["standard"] == result.standard[s, q, d]
        assert row["n_target"] == result.n_target[s, q]
        assert row["n_region"] == result.n_region[s]
        assert row["status"] == result.status[s, q, d]
        assert row["status_names"] == status_names(int(result.status[s, q, d]))


def test_no_seed_column_without_a_seed_axis():
    """Catches a seed invented for a single log."""
    assert "seed" not in make_result().to_columns()
    assert len(make_result().to_dataframe()) == 6


def test_backend_errors(monkeypatch):
    """Catches an unknown or missing backend that fails without saying so."""
    result = make_result()
    with pytest.raises(ValueError, match="backend must be one of"):
        result.to_dataframe("excel")
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(ImportError, match=r"parzax\[dataframe\]"):
        result.to_dataframe()


def test_text_of_one_level_is_sorted_and_says_what_is_unusual():
    """Catches parameters out of order, and statuses or the report left out."""
    result = make_result(levels=(0.1,))
    lines = str(result).splitlines()
    assert lines[0] == "importance at level 0.1"
    assert lines[1].split() == ["parameter", "importance", "variance", "n", "active"]
    names = [line.split()[0] for line in lines[2:5]]
    assert names == result.ranking()
    assert "60 rows, minimize" in lines
    assert "one run: no intervals (they need several seeds, or samples: n_resamples, --resamples)" in lines
    assert any(line.startswith("LOW_DATA: ") for line in lines)


def test_text_of_a_sweep_shows_some_levels_and_the_standard_error():
    """Catches a table of 99 lines, one that hides this, and errors that are not those of the mean."""
    result = make_result(n_seeds=3, levels=HUNDREDTHS)
    lines = str(result).splitlines()
    counted = result.seeds_counted
    assert counted.min() == 0, "the example must have a level without any importance"
    assert lines[0] == (
        "importance, mean ± standard error of the 0-3 of 3 seeds that have one; in the order of level 0.17; "
        "12 of 99 levels shown"
    )
    shown = [0, 9, 16, *range(19, 99, 10), 98]
    rows = lines[2:14]
    assert [row.split()[-2] for row in rows] == [str(counted[i]) for i in shown]
    assert [row.split()[0] for row in rows] == [f"{result.levels[i]:g}" for i in shown]
    assert lines[1].split()[1:4] == result.ranking(16)
    mean, error = result.over_seeds()
    best = lines[1].split()[1]
    j = result.names.index(best)
    assert f"{mean[9, j]:.3f} ± {error[9, j]:.3f}" in rows[1]


@pytest.mark.slow
def test_text_of_many_parameters_sums_up_the_rest():
    """Catches lines too wide to read, and shares that vanish from the sum."""
    result = make_result(n_parameters=12, levels=(0.25, 0.5))
    lines = str(result).splitlines()
    assert lines[1].endswith("5 others  n_target")
    assert len(lines[1].split()) == 1 + 7 + 2 + 1
    shares = [float(x) for x in lines[2].split()[1:-1]]
    assert sum(shares) == pytest.approx(result.importance[0].sum(), abs=0.006)


def test_long_inferred_lists_are_cut():
    """Catches a screen full of inferred domains above the advice."""
    result = make_result()
    many = replace(result, report=replace(result.report, inferred=tuple(f"p{i}: Float" for i in range(50))))
    assert "inferred: 42 more, in report.inferred" in str(many)


def test_the_verdict_of_a_sweep_is_on_a_level_of_the_table():
    """Catches one on a level that the table leaves out."""
    text = str(make_result(levels=FIFTIETHS, n_resamples=50))
    shown = [line.split()[0] for line in text.splitlines()[2:13]]
    (level,) = re.findall(r"^at level ([\d.]+): more rows would help", text, re.MULTILINE)
    assert level in shown


def _with_status(result, status):
    return replace(result, estimates=replace(result.estimates, status=status))


def test_a_sweep_says_where_each_advice_holds():
    """Catches advice about one level, or one parameter, that reads as if about all."""
    result = make_result(levels=FIFTIETHS, n_resamples=50)
    status = np.zeros_like(result.status)
    status[[0, 1, 48]] = px.Status.LOW_DATA
    status[2:6, 1] |= px.Status.NOT_ABOVE_CHANCE
    status[:, 2] |= px.Status.CONSTANT
    text = str(_with_status(result, status))
    assert "\nLOW_DATA (levels 0.02-0.04, 0.98): " in text
    assert "\nNOT_ABOVE_CHANCE (p1 at 4 of 49 levels): " in text
    assert "\nCONSTANT (p2): " in text
    scattered = make_result(n_seeds=3, levels=HUNDREDTHS)
    status = np.zeros_like(scattered.status)
    status[0, ::2] = px.Status.LOW_DATA
    text = str(_with_status(scattered, status))
    assert "\nLOW_DATA (50 of 99 levels, some seeds): " in text
    assert "one run" not in text


def test_a_status_of_some_seeds_says_of_how_many():
    """Catches "not above chance" beside an importance of many seeds, where it holds for one of them."""
    result = make_result(n_seeds=3, levels=(0.5,))
    status = np.zeros_like(result.status)
    status[0, 0, 1] = px.Status.NOT_ABOVE_CHANCE
    status[:, 0, 2] = px.Status.CONSTANT
    rows = {line.split()[0]: line for line in str(_with_status(result, status)).splitlines() if line}
    assert rows["p1"].endswith("NOT_ABOVE_CHANCE (1 of 3 seeds)")
    assert rows["p2"].endswith(" CONSTANT")


def test_advice_about_many_parameters_fits_a_line():
    result = make_result(n_parameters=20)
    status = np.zeros_like(result.status)
    status[0, :19] = px.Status.CONSTANT
    (line,) = [line for line in str(_with_status(result, status)).splitlines() if "CONSTANT" in line]
    where = line[line.index("(") + 1 : line.index(")")]
    assert where.startswith("p0, p1, p2")
    assert where.endswith(", … at 1 of 2 levels")
    assert len(where) <= 60


def test_short_names_stay_different():
    """Catches names cut to the same text: common ends, nested names, differences longer than a label."""
    cases = [
        [f"model.encoder.layer_{i}.dropout_probability" for i in range(12)],
        ["a" * n for n in range(30, 40)],
        [f"{'x' * 20}{c * 40}{'y' * 20}{d}" for c in "ab" for d in ("", "z")],
        [f"optimizer.group_{i}.{name}_of_the_schedule" for i in range(3) for name in ("warmup", "decay")],
    ]
    for names in cases:
        labels = short_names(names, 18)
        assert list(labels) == names
        assert len(set(labels.values())) == len(names)
    assert max(map(len, short_names(cases[0], 18).values())) <= 18
    assert short_names(["lr", "a" * 40], 18) == {"lr": "lr", "a" * 40: "a" * 11 + "…" + "a" * 6}


@pytest.mark.slow
def test_seeds_without_importance_are_left_out_and_counted():
    """Catches a mean that seeds without any importance pull to 0, and a count of seeds that is too high."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(3, 60, 2))
    losses = x[..., 0].copy()
    losses[1] = 0.0
    obs = px.Observations.from_arrays(px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)}), x, losses)
    one = px.cond_ped_anova(obs, 0.3)
    lines = str(one).splitlines()
    assert lines[0] == "importance, mean ± standard error of the 2 of 3 seeds that have one at level 0.3"
    best = one.importance[[0, 2], 0, 0]
    assert f"{best.mean():.3f} ± {best.std(ddof=1) / np.sqrt(2):.3f}" in lines[2]
    several = str(px.cond_ped_anova(obs, [0.3, 0.5])).splitlines()
    assert several[1].split() == ["level", "a", "b", "seeds", "n_target"]
    assert several[2].split()[-2] == "2"


def test_the_report_says_what_is_of_each_seed_and_what_of_all():
    """Catches "60 rows, 90 without a usable objective value"."""
    result = make_result(n_seeds=2, some_failed=True)
    text, n_failed = str(result), int(120 - result.n_region.sum())
    assert n_failed > 0
    assert "60 rows in each of 2 seeds, minimize" in text
    assert f"{n_failed} of all 120 without a usable objective value, left out" in text


@pytest.mark.parametrize("options", [{}, {"n_resamples": 0, "n_shuffles": 20}])
def test_rows_of_many_parameters(options):
    """From 32 parameters on, the last row of a single level is that of the others; some columns lack it."""
    result = make_result(n_parameters=33, levels=(0.5,), **options)
    lines = str(result).splitlines()
    assert [line.startswith("3 others") for line in lines[2:33]] == [False] * 30 + [True]
    assert result._repr_html_().count("<tr>") == 32
