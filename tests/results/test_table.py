"""Results as tables and text."""

import re
import sys
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from conftest import QUICK

import parzax as px
from parzax.lens.results.texts import short_names

FIFTIETHS, HUNDREDTHS = (tuple(np.arange(1, n) / n) for n in (50, 100))


@cache
def make_result(
    n_seeds=None, n_parameters=3, levels: Any = (0.1, 0.5), some_failed=False, n_resamples=0, **options
):
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
    return px.cond_ped_anova(obs, levels=levels, **QUICK, n_resamples=n_resamples, **options)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_long_form(backend):
    """Catches rows in another order than the arrays, and columns lost in one backend."""
    result = make_result(n_seeds=2)
    table = result.to_dataframe(backend)
    assert type(table).__module__.startswith(backend)
    names = table.column_names if backend == "pyarrow" else list(table.columns)
    assert names == [
        "seed", "level", "parameter", "verdict", "importance", "variance", "standard", "inter", "unweighted",
        "importance_low", "variance_low", "importance_high", "variance_high", "p_value", "p_adjusted",
        "n_target", "n_region", "status", "status_names",
    ]  # fmt: skip
    assert len(table) == 2 * 2 * 3
    for s, q, d in ((0, 0, 0), (1, 0, 2), (1, 1, 1)):
        at = (s * 2 + q) * 3 + d
        row = {name: np.asarray(table[name])[at] for name in names}
        assert row["seed"] == s
        assert row["level"] == result.levels[q]
        assert row["parameter"] == result.names[d]
        assert row["importance"] == result.importance[s, q, d]
        assert row["standard"] == result.standard[s, q, d]
        assert row["n_target"] == result.n_target[s, q]
        assert row["n_region"] == result.n_region[s]
        assert row["status"] == result.status[s, q, d]
        assert row["status_names"] == "|".join(
            str(bit.name) for bit in px.Status(int(result.status[s, q, d]))
        )


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
    assert [line.split(":")[0] for line in lines[:3]] == ["Do next", "What mattered", "How sure"]
    assert lines[4].split() == ["parameter", "importance", "rows"]
    assert [line.split()[0] for line in lines[5:8]] == result.ranking()
    assert lines[8] == "60 rows, minimize"
    assert "unknown, as the rows were not resampled" in lines[2]
    assert "LOW_DATA" not in str(result)
    assert "ten rows or fewer among the best" in lines[2]
    assert "\nLOW_DATA: " in result.text(verbose=True)


def test_the_default_answer_for_six_parameters_fits_a_screen():
    """Also if much is to be said: rows left out, a level that was chosen, a status, a search that learns."""
    result = make_result(n_parameters=6, levels=None, n_resamples=20)
    report = replace(result.report, dropped={"state PRUNED": 3}, inferred=("p0: Int",), steps="steps differ")
    status = result.status | int(px.Status.LOW_DATA | px.Status.TIED_CUTOFF | px.Status.CROWDED)
    result = replace(_with_status(result, status), report=report, learned=lambda: True)
    lines = str(result).splitlines()
    assert len(lines) <= 12
    for text in ("3 of them (pruned)", "steps differ", "a search that learns", "ties with the last row"):
        assert text in str(result)
    assert not re.search("[A-Z]{2,}_[A-Z]|half-sampl", str(result))
    assert "regime" not in str(result)
    assert len(result.text(verbose=True).splitlines()) > len(lines)


def test_text_of_a_sweep_shows_some_levels_and_the_standard_error():
    """Catches a table of 99 lines, and errors that are not those of the mean."""
    result = make_result(n_seeds=3, levels=HUNDREDTHS)
    assert result.seeds_counted.min() == 0, "the example must have a level without any importance"
    lines = str(result).splitlines()
    assert lines[4].startswith("importance by level")
    assert lines[4].endswith(" (in brackets: may be chance)") == ("(" in "".join(lines[6:9]))
    shown = [float(x) for x in lines[5].split()[1:]]
    assert len(shown) == 7
    assert result.levels[result.usual_level] in shown
    assert [line.split()[0] for line in lines[6:9]] == result.ranking()
    mean, error = result.mean, result.standard_error
    j, i = result.names.index(result.ranking()[0]), result.usual_level
    assert f"{mean[i, j]:.2f} ± {error[i, j]:.2f}" in lines[6]
    assert (
        "± is the standard error of 3 seeds; less sure if a search that learns (such as TPE) chose the rows"
        in lines[2]
    )


def test_what_is_not_above_chance_is_in_brackets():
    """Of several levels; of one it is said beside it."""
    result = make_result(levels=(0.3, 0.5))
    status = np.full_like(result.status, int(px.Status.NOT_ABOVE_CHANCE))
    none = _with_status(result, status)
    cells = [text for column in none.table().columns[1:] for text in column[1:]]
    assert all(text == "0" or (text[0], text[-1]) == ("(", ")") for text in cells)
    assert none.cells(0)["remarks"] == ["cannot tell yet"] * 3
    assert none.sentences()[1].startswith("What mattered: no parameter is above chance")


def test_many_parameters_are_cut():
    """Catches a screen full of parameters, and no word on how to get the rest."""
    result = make_result(n_parameters=33, levels=(0.5,))
    text = str(result)
    assert sum(line.startswith("p") for line in text.splitlines()) == 1 + 30
    assert "3 more parameters in to_dataframe()" in text
    assert result._repr_html_().count("<tr>") == 31


def test_what_was_inferred_is_counted():
    """Catches a screen full of inferred domains above the advice; --verbose has them."""
    result = make_result()
    one, many = (
        replace(result, report=replace(result.report, inferred=tuple(f"p{i}: Float" for i in range(n))))
        for n in (1, 50)
    )
    assert "1 thing inferred: --verbose lists it" in str(one)
    assert "50 things inferred: --verbose lists them" in str(many)
    assert "p49: Float" not in str(many)
    assert "inferred: p49: Float" in many.text(verbose=True)


def _with_status(result, status):
    return replace(result, estimates=replace(result.estimates, status=status))


def test_advice_says_of_which_parameters_and_levels_it_is():
    """Catches advice about one level, or one parameter, that reads as if about all."""
    result = make_result(levels=FIFTIETHS)
    status = np.zeros_like(result.status)
    status[[0, 1, 48]] = px.Status.LOW_DATA
    status[2:6, 1] |= px.Status.NOT_ABOVE_CHANCE
    status[:, 2] |= px.Status.CONSTANT
    text = _with_status(result, status).text(verbose=True)
    assert "\nLOW_DATA (3 of 49 levels): " in text
    assert "\nNOT_ABOVE_CHANCE (p1, 4 of 49 levels): " in text
    assert "\nCONSTANT (p2): " in text
    twenty = make_result(n_parameters=20)
    status = np.zeros_like(twenty.status)
    status[0, :19] = px.Status.CONSTANT
    (line,) = [line for line in _with_status(twenty, status).advice() if "CONSTANT" in line]
    assert line.startswith("CONSTANT (p0, p1, p2 and 16 more, 1 of 2 levels): ")


def test_a_status_of_few_seeds_is_no_remark():
    """Catches "not above chance" beside an importance of many seeds, where it holds for one of them."""
    result = make_result(n_seeds=3, levels=(0.5,))
    status = np.zeros_like(result.status)
    status[0, 0, 1] = px.Status.NOT_ABOVE_CHANCE
    status[:, 0, 2] = px.Status.CONSTANT
    remarks = _with_status(result, status).cells(0)["remarks"]
    assert remarks[1] == ""
    assert remarks[2].startswith("a single value")


def test_short_names_stay_different():
    """Catches names cut to the same text: common ends, nested names, differences longer than a label."""
    cases = [
        [f"model.encoder.layer_{i}.dropout_probability" for i in range(12)],
        ["a" * n for n in range(30, 40)],
        [f"{'x' * 20}{c * 40}{'y' * 20}{d}" for c in "ab" for d in ("", "z")],
        [f"optimizer.group_{i}.{name}_of_the_schedule" for i in range(3) for name in ("warmup", "decay")],
    ]
    for names in cases:
        assert len(set(short_names(names, 18))) == len(names)
    assert max(map(len, short_names(cases[0], 18))) <= 18
    assert short_names(["lr", "a" * 40], 18) == ["lr", "a" * 11 + "…" + "a" * 6]


def test_the_report_says_what_is_of_each_seed_and_what_of_all():
    """Catches "60 rows, 90 without a usable objective value"."""
    result = make_result(n_seeds=2, some_failed=True)
    text, n_failed = str(result), int(120 - result.n_region.sum())
    assert n_failed > 0
    assert "60 rows in each of 2 seeds, minimize" in text
    assert f"{n_failed} of all 120 without a usable objective value, left out" in text
