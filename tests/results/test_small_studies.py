"""Studies of 15 to 300 rows: the level where none is given, intervals beside p-values, what comes first."""

import csv
import json
import math
from dataclasses import replace
from functools import cache

import jax
import numpy as np
import pytest
from conftest import QUICK

import parzax as px
from parzax.lens.cli.writing import csv_writer, json_writer
from parzax.lens.page.brief import summarise
from parzax.lens.page.numbers import numbers
from parzax.lens.results.base import size_text
from parzax.lens.results.phrases import INTERVAL_AND_P, p_text

SPACE = px.Space({name: px.Float(0, 1) for name in ("a", "b", "c", "d")})


def _log(n, seed=0, round_to=None, weight=None):
    """a decides, b helps; c and d do nothing."""
    x = np.random.default_rng([n, seed]).uniform(size=(n, 4))
    loss = (x[:, 0] - 0.3) ** 2 + 0.2 * x[:, 1]
    loss = loss if round_to is None else np.round(loss / round_to)
    return px.Observations.from_arrays(SPACE, x, loss, weight=weight)


def _analyse(obs, levels=None, **options):
    return px.cond_ped_anova(obs, levels, **QUICK, **options)


@pytest.mark.parametrize(
    ("n", "level", "n_target"),
    [
        (15, 0.5, 8),
        (22, 0.46, 11),
        (30, 0.34, 11),
        (60, 0.17, 11),
        (100, 0.11, 11),
        (101, 0.1, 11),
        (300, 0.1, 30),
    ],
)
def test_the_level_leaves_more_than_ten_rows(n, level, n_target):
    result = _analyse(_log(n))
    assert result.levels.tolist() == [level]
    assert result.n_target.tolist() == [n_target]
    assert (result.status & int(px.Status.LOW_DATA) != 0).any() == (n < 22)
    text = str(result)
    assert ("no level was given" in text) == (level != 0.1)
    assert ("nearest to 0.1 that leaves more than ten rows in the target" in text) == (22 <= n <= 100)
    assert ("nearest to half of the rows, as none leaves more than ten" in text) == (n < 22)
    given = _analyse(_log(n), level)
    assert "no level was given" not in str(given)
    np.testing.assert_array_equal(given.importance, result.importance)


def test_ties_and_weights_count_as_the_rows_that_they_put_into_the_target():
    """A nearer level would do, were its target as large as asked; a weight of 10 is ten rows."""
    loss = np.concatenate([np.arange(15), np.full(135, 20.0)])
    tied = px.Observations.from_arrays(SPACE, _log(150).values, loss)
    result = _analyse(tied)
    # A target of 0.1 is the 15 rows; with 0.11 it would be all of them.
    assert (result.levels[0], result.n_target[0]) == (0.1, 15)
    tied = px.Observations.from_arrays(SPACE, _log(150).values, np.where(loss < 12, loss, 20))
    result = _analyse(tied)
    assert (result.levels[0], result.n_target[0]) == (0.08, 12)
    result = _analyse(_log(20, weight=np.full(20, 10.0)))
    assert (result.levels[0], result.n_target[0]) == (0.1, 20)
    two_values = px.Observations.from_arrays(SPACE, _log(60).values, np.arange(60) >= 55)
    assert _analyse(two_values).n_target[0] == 55  # no level leaves more than ten rows outside
    assert _analyse(_log(60), None, region=0.5).levels[0] == 0.17
    assert _analyse(_log(3000), None, region=0.01).n_target[0] == 19  # 11 outside


@pytest.mark.slow
def test_ties_and_rows_without_a_loss_are_said():
    """Catches "the best 50 % (28 rows)" of 30, and "nearest to half of the rows" of a log that has none."""
    obs = _log(30)
    loss = np.where(np.arange(30) < 28, 0.0, 1.0)
    tied = summarise(_analyse(replace(obs, losses=loss[:, None])))[0]
    assert tied.startswith("For being among the best 50 % (28 rows, ties included, smallest objective value)")
    assert "ties" not in summarise(_analyse(obs))[0]
    for losses in (np.full((30, 1), np.nan), np.zeros((30, 1))):
        result = _analyse(replace(obs, losses=losses))
        why = "0.5 is as good as any other, as none has rows both in the target and outside it"
        assert result.report.level == f"no level was given: {why}"


def test_all_functions_choose_the_same_level():
    """Interactions, several objectives, fronts, comparisons."""
    obs = _log(60)
    assert px.interactions(obs, n_draws=0).levels.tolist() == [0.17]
    by_objective = px.importance_by_objective(obs, **QUICK)
    assert [result.levels.tolist() for result in by_objective.values()] == [[0.17]]
    two = px.Observations.from_arrays(SPACE, obs.values, obs.values[:, :2], direction=["minimize"] * 2)
    assert px.importance_over_weights(two, **QUICK).levels.tolist() == [0.17]
    assert _analyse(two, objective="pareto").levels.tolist() == [0.17]
    compared = px.compare(obs, _log(300), n_resamples=4, **QUICK)
    assert compared.levels.tolist() == [0.17]
    assert "no level was given: 0.17" in str(compared)
    pairs = px.interactions(obs, [0.02, 0.3], n_draws=0)
    assert pairs.ranking() == pairs.ranking(1)
    np.testing.assert_array_equal(pairs.matrix(), pairs.matrix(1))


def test_a_sweep_is_shown_first_at_the_nearest_level_with_rows():
    sweep = _analyse(_log(60), [0.02, 0.1, 0.3, 0.5])
    assert sweep.levels[sweep.usual_level] == 0.3
    assert sweep.ranking() == sweep.ranking(2)
    assert f"at 0.3: {sweep.ranking(2)[0]!r}" in repr(sweep)
    assert sweep.good_values() == sweep.good_values(2)
    lines = str(sweep).splitlines()
    assert "in the order of level 0.3" in lines[0]
    assert lines[1].split()[1:5] == sweep.ranking(2)


@cache
def _noisy(seed):
    """One of 50 logs of 80 rows, in which two of four parameters do nothing."""
    return _analyse(_log(80, seed), n_resamples=20, n_shuffles=99, key=jax.random.key(seed))


def _ends(cell):
    """Low and high end of a cell "0.035° (0.000-0.041)"."""
    return [float(end) for end in cell.partition("(")[2].rstrip(")").split("-")]


def test_what_is_not_above_chance_has_an_interval_that_reaches_0(tmp_path):
    """In the result, the table, JSON, CSV and the numbers of the page, of 50 logs of 80 rows."""
    n_chance = 0
    for seed in range(50):
        result = _noisy(seed)
        sampled = result.uncertainty
        assert sampled is not None
        chance = sampled.p_adjusted[0] > 0.05
        n_chance += chance.sum()
        assert (sampled.importance_interval[0, chance, 0] == 0).all()
        low, high = np.moveaxis(sampled.variance_interval[0, chance], -1, 0)
        assert ((low <= 0) & (high >= 0)).all()
        share, (low, high) = result.importance[0], np.moveaxis(sampled.importance_interval[0], -1, 0)
        assert ((low <= share) & (share <= high)).all()
        rows = {line.split()[0]: line.split() for line in str(result).splitlines()[2:6]}
        for j, name in enumerate(result.names):
            _, cell, ends, *_ = rows[name]
            assert cell.endswith("°") == chance[j]
            assert _ends(ends)[0] <= float(cell.rstrip("°")) <= _ends(ends)[1]
            assert _ends(ends)[0] == 0 or not chance[j]
        page = numbers(result)
        assert (page.low[0, chance] == 0).all()
        assert page.chance[0].tolist() == chance.tolist()
        json_writer(result)(tmp_path / "r.json")
        intervals = json.loads((tmp_path / "r.json").read_text())["uncertainty"]["importance_interval"][0][0]
        np.testing.assert_array_equal(intervals, sampled.importance_interval[0])
        csv_writer(result)(tmp_path / "r.csv")
        with (tmp_path / "r.csv").open() as file:
            lows = [float(row["importance_low"]) for row in csv.DictReader(file)]
        np.testing.assert_allclose(lows, sampled.importance_interval[0, :, 0])
    assert n_chance > 80, "the logs must have parameters that are not above chance"
    assert INTERVAL_AND_P in str(_noisy(0))


def _with_p(result, p_value):
    return replace(result, uncertainty=replace(result.uncertainty, p_value=np.array([p_value])))


def test_what_is_not_above_chance_is_never_called_first():
    """A share may be large and yet within chance: tables, page, repr and good values begin with others."""
    second = int(np.argsort(-_noisy(0).importance[0])[1])
    name = _noisy(0).names[second]
    assert _noisy(0).importance[0, second] > 0
    result = _with_p(_noisy(0), np.where(np.arange(4) == second, 0.001, 0.5))
    assert result.ranking()[0] == name
    assert f"first above chance at 0.13: {name!r}" in repr(result)
    assert str(result).splitlines()[2].startswith(f"{name} ")
    assert {good.parameter for good in result.good_values()} == {name}
    first, *_ = summarise(result)
    assert first.startswith(
        f"For being among the best 13 % (11 rows, smallest objective value), only {name} ("
    )
    largest = _noisy(0).names[int(np.argmax(_noisy(0).importance[0]))]
    doubtful = (
        f"chance alone may explain the importance of {largest} ({_noisy(0).importance.max():.2f}, p = 1"
    )
    assert f" is above chance; {doubtful}" in first
    nothing = _with_p(_noisy(0), np.full(4, 0.5))
    assert repr(nothing).endswith("none above chance at 0.13)")
    assert nothing.good_values() == []
    assert f"no parameter is above chance; {doubtful}" in summarise(nothing)[0]
    assert not any(" comes first in " in line for line in summarise(nothing))


def test_matters_most_is_true_of_the_shares():
    """In 50 logs, whatever is above chance: no other large share, nor a larger one, goes without a word."""
    seen = set()
    for seed in range(50):
        log = _noisy(seed)
        for p in (log.uncertainty.p_value[0], np.random.default_rng(seed).choice([0.001, 0.06], 4)):
            result = _with_p(log, p)
            share, chance = result.importance[0], result.uncertainty.p_adjusted[0] > 0.05
            first, *more = summarise(result)
            (sure,) = [line for line in more if line.startswith("How sure? ")]
            most, _, is_sure = first.partition(" matters most")
            seen.add(bool(is_sure))
            if is_sure:
                leader = result.names.index(most.split("), ")[1].split(" (")[0])
                assert share[leader] == share.max()
                assert not chance[leader]
                assert not (chance & (share >= 0.1)).any()
            else:
                doubtful = np.flatnonzero(chance & ((share >= 0.1) | (share == share.max())))
                for j in doubtful[np.argsort(-share[doubtful])][:3]:
                    assert f"{result.names[j]} ({share[j]:.2f}, p = " in first
            often = result.uncertainty.top()[0, share.argmax()]
            # Only what is above chance comes first.
            often = f"{100 * round(float(often), 2):.6g} %"
            text = f"{result.names[share.argmax()]} comes first in {often} of samples of these rows"
            assert (text in sure) == (not chance[share.argmax()]) == (" comes first in " in sure)
            assert any("--level 0.5" in line for line in more) == (chance | (share == 0)).all()
            assert len(sure.split()) <= 30
    assert seen == {True, False}


def test_the_goal_is_in_the_first_sentence():
    """Which objective, and whether small or large; or that all of them rank the rows."""
    obs = _log(60)
    two = px.Observations.from_arrays(
        SPACE, obs.values, obs.values[:, :2], direction=["minimize", "maximize"]
    )
    two = replace(two, report=replace(two.report, objectives=("val_loss", "a\x1bc")))
    for options, goal in (
        ({}, "smallest val_loss"),
        ({"objective": 1}, "largest a\\x1bc"),
        ({"selection": "pareto"}, "by 2 objectives together"),
    ):
        result = _analyse(two, 0.5, **options)
        assert summarise(result)[0].startswith(f"For being among the best 50 % (30 rows, {goal}), ")
    assert _analyse(two, 0.5, objective=1).report.direction == ("maximize",)


def test_a_p_value_just_above_the_limit_does_not_read_as_the_limit():
    assert p_text(0.0126, 0.0504, 1000) == ">0.050"
    assert p_text(0.0125, 0.05, 1000) == "0.050"
    assert p_text(0.0123, 0.0492, 1000) == "0.049"
    assert p_text(math.nan, math.nan, 1000) == ""


def test_a_comparison_says_what_differs_or_that_nothing_does():
    same = px.compare(_log(60), n_resamples=8, **QUICK)
    none, alone = "no parameter differs: p, adjusted for all", "an interval without 0 is not enough"
    other = replace(same, p_value=np.full((1, 4), 0.001))
    assert (none in str(same), '"differs": p, adjusted' in str(same)) == (True, False)
    assert (none in str(other), '"differs": p, adjusted' in str(other)) == (False, True)
    for result, low in ((same, 0.1), (same, -0.1), (other, 0.1)):
        ends = np.broadcast_to([low, 0.2], result.interval.shape)
        assert (alone in str(replace(result, interval=ends))) == (result is same and low > 0)


def test_few_rows_in_a_regime_are_said_in_the_headline():
    """A number that may be far off is said to be so, and is not said to matter unless it is the largest."""
    result = _with_p(_noisy(0), np.full(4, 0.001))
    names = result.ranking()
    for flagged in (names[:1], names[1:2], names):
        bits = [int(px.Status.LOW_REGIME_DATA) * (name in flagged) for name in result.names]
        estimates = replace(result.estimates, status=result.status | np.array([bits]))
        first, *more = summarise(replace(result, estimates=estimates))
        matter, doubt = first.split("; few rows in a regime, so that the importance may be far off: ")
        assert f", {names[0]} (importance " in matter
        assert "matters most" in matter
        assert (f"{names[1]} (" in matter) == (flagged == names[:1])
        assert doubt.startswith(flagged[0])
        values = next(line for line in more if line.startswith("Good values: "))
        assert (f" {names[1]}: " in values) == (flagged == names[:1])


def test_rows_that_do_not_count_and_doubts_about_their_losses_come_second():
    """How many, why, and the remedy for pruned ones; steps that differ; sizes are whole numbers."""
    result = _noisy(0)
    report = replace(
        result.report, n_rows=120, dropped={"state PRUNED": 38, "state FAIL": 2}, steps="losses x"
    )
    _, rows, steps, *_ = summarise(replace(result, report=report))
    assert rows.startswith(
        "80 of 120 rows count; left out are 38 (pruned), 2 (failed). To rank pruned rows last"
    )
    assert "--pruned worst" in rows
    assert steps == "Losses x."
    lost = replace(report, dropped={}, n_failed=40)
    assert lost.say_lost() == "80 of 120 rows count; left out are 40 (without a usable objective value)."
    assert replace(lost, failed="worst").say_lost() == ""
    assert size_text(np.array([10.4])) == "about 10"
    assert size_text(np.array([0.3])) == "0.3"
    assert size_text(np.array([0, 2_969_820])) == "0-2969820"
