"""Which rows count and which loss ranks them, as `cond_ped_anova` takes them."""

import re

import numpy as np
import pandas as pd
import pytest
from conftest import OPTUNA, QUICK

import parzax as px
from parzax.importance import chebyshev, weighted_sum
from parzax.lens.results.targets import ranked
from parzax.status import Status

SPACE = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1), "c": px.Categorical(["u", "v"])})


def log(n=60, seeds=None, digits=9, **options):
    """Two objectives that trade off, the second maximised; constraints on the first parameter."""
    rng = np.random.default_rng(0)
    shape = (n,) if seeds is None else (seeds, n)
    x = rng.uniform(size=(*shape, 3))
    x[..., 2] = rng.integers(0, 2, shape)
    f = np.stack([x[..., 0] + 0.3 * x[..., 1], 1.2 * x[..., 0] - (x[..., 1] - 0.4) ** 2], axis=-1)
    return px.Observations.from_arrays(SPACE, x, np.round(f, digits), ["minimize", "maximize"], **options)


def analyse(obs, level=0.3, **options):
    return px.cond_ped_anova(obs, level, **QUICK | options)


def same(a, b):
    for name in ("counts", "variance", "importance", "status", "regime_target", "regime_region"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


class TestRows:
    def test_feasible_rows_are_those_that_are_selected(self):
        x = log().values[:, 0]
        obs = log(constraints=np.stack([x - 0.8, 0.1 - x], axis=-1))
        kept = (x <= 0.8) & (x >= 0.1)
        assert obs.feasible.tolist() == kept.tolist()
        found = analyse(obs, rows="feasible")
        same(found, analyse(obs.select(kept)))
        assert found.n_region == kept.sum()
        assert found.report.dropped == {"not feasible": 60 - kept.sum()}
        assert "not feasible" in str(found)

    def test_a_constraint_that_is_not_known_is_not_satisfied(self):
        f, g = np.arange(60.0), np.full(60, -1.0)
        f[7], g[7] = np.nan, np.nan
        obs = px.Observations.from_arrays(SPACE, log().values, f, constraints=g)
        assert np.flatnonzero(~obs.feasible).tolist() == [7]
        assert analyse(obs, rows="feasible").n_region == 59

    def test_none_is_feasible(self):
        """Of one seed and of all: a status, not an exception or a number; the other seed is as ever."""
        g = np.full((2, 60), 1.0)
        g[1, :30] = -1
        result = analyse(log(seeds=2, constraints=g), rows="feasible")
        none = (result.status & int(Status.NONE_FEASIBLE)) > 0
        assert none[0].all()
        assert not none[1].any()
        assert (result.status[0] & int(Status.NO_DATA) > 0).all()
        assert not result.importance[0].any()
        assert result.importance[1].any()
        assert any("NONE_FEASIBLE" in line for line in result.advice())

    def test_feasible_without_constraints(self):
        assert log().feasible.all()
        with pytest.raises(ValueError, match="needs constraints"):
            px.cond_ped_anova(log(), rows="feasible", n_resamples=0)

    def test_failed_rows_of_the_log_need_not_count(self):
        f = np.arange(60.0)
        f[::4] = np.nan
        worst = px.Observations.from_arrays(SPACE, log().values, f, failed="worst")
        assert analyse(worst).n_region == 60
        found = analyse(worst, rows="complete")
        assert found.n_region == 45
        dropped = px.Observations.from_arrays(SPACE, log().values, f)
        np.testing.assert_array_equal(found.counts, analyse(dropped).counts)

    def test_several_words_must_all_hold(self):
        f, g = np.arange(60.0), np.where(np.arange(60) % 3, -1.0, 1.0)
        f[::4] = np.nan
        obs = px.Observations.from_arrays(SPACE, log().values, f, constraints=g, failed="worst")
        result = analyse(obs, rows=("feasible", "complete"))
        assert result.n_region == ((np.arange(60) % 3 > 0) & (np.arange(60) % 4 > 0)).sum()
        # A row is counted under the first word that leaves it out.
        assert result.report.dropped == {"not feasible": 20, "not complete": 10}

    @pytest.mark.parametrize("rows", ["best", ("all", "best"), 3, ()])
    def test_other_rows_are_refused(self, rows):
        with pytest.raises((TypeError, ValueError), match="rows must be one of"):
            analyse(log(), rows=rows)


class TestObjective:
    def test_by_name(self):
        x = log().values
        df = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": np.array(["u", "v"])[x[:, 2].astype(int)]})
        df["loss"], df["acc"] = np.abs(x[:, 0] - 0.4), -np.abs(x[:, 1] - 0.4)
        obs = px.Observations.from_dataframe(
            df, ["loss", "acc"], directions=["minimize", "maximize"], warn=False
        )
        assert obs.report.objectives == ("loss", "acc")
        result = analyse(obs, objective="acc")
        same(result, analyse(obs, objective=1))
        assert result.ranking()[0] == "b"
        with pytest.raises(ValueError, match="'loss', 'acc', got 'lossy'"):
            analyse(obs, objective="lossy")
        assert result.goal == "largest acc"


class TestPareto:
    @pytest.mark.slow
    def test_of_one_objective_it_is_that_objective(self):
        f = np.round(log().losses[:, 0], 1)
        obs = px.Observations.from_arrays(SPACE, log().values, f)
        for method in ({}, OPTUNA):
            options = {"level": [0.1, 0.3]} | method
            for ties in (None, px.pareto.Crowding()):
                same(
                    analyse(obs, objective="pareto", ties=ties, **options),
                    analyse(obs, **options),
                )

    @pytest.mark.slow
    def test_parity_takes_exactly_so_many_rows_and_the_default_keeps_equal_ones(self):
        obs = log(digits=1)
        levels = np.arange(1, 10) / 10
        exact = analyse(obs, levels, objective="pareto", **OPTUNA)
        assert exact.n_target.tolist() == [np.ceil(level * 60) for level in levels]
        kept = analyse(obs, levels, objective="pareto")
        assert (kept.n_target >= exact.n_target).all()
        larger = kept.n_target > exact.n_target
        assert larger.any()
        assert ((kept.status[:, 0] & int(Status.TIED_CUTOFF) > 0) == larger).all()

    def test_each_seed_by_itself(self):
        obs = log(seeds=2)
        result = analyse(obs, objective="pareto")
        for i in range(2):
            one = px.Observations.from_arrays(SPACE, obs.values[i], obs.losses[i])
            alone = analyse(one, objective="pareto")
            np.testing.assert_array_equal(result.counts[i], alone.counts)

    @pytest.mark.parametrize("ties", [px.pareto.Hypervolume(), px.pareto.Crowding()])
    def test_weights_of_rows(self, ties):
        """A weight of two is a row seen twice, a weight of 0 none."""
        obs = log()
        weight = np.arange(60) % 3
        rows = np.repeat(np.arange(60), weight)
        alone = np.arange(len(rows))
        twice = px.Observations.from_arrays(SPACE, obs.values[rows], obs.losses[rows], groups=alone)
        a = analyse(obs.with_weight(weight), objective="pareto", ties=ties)
        b = analyse(twice, objective="pareto", ties=ties)
        np.testing.assert_array_equal(a.counts, b.counts)
        assert a.n_region == 60

    def test_rows_that_lack_an_objective_have_no_place(self):
        obs = log()
        losses = obs.losses.copy()
        losses[:5, 1] = np.nan
        part = px.Observations.from_arrays(SPACE, obs.values, losses)
        kept = px.Observations.from_arrays(SPACE, obs.values[5:], losses[5:])
        a, b = (analyse(o, objective="pareto") for o in (part, kept))
        np.testing.assert_array_equal(a.counts, b.counts)
        # Ranked last they are in the region alone, whatever their other objective is.
        worst = px.Observations.from_arrays(SPACE, obs.values, losses, failed="worst")
        last = analyse(worst, 0.9, objective="pareto")
        assert last.n_region == 60
        assert last.n_target == 54
        assert not (last.status & int(Status.TIED_CUTOFF)).any()

    def test_arguments(self):
        with pytest.raises(ValueError, match="objective must be one of"):
            analyse(log(), objective="front")
        with pytest.raises(ValueError, match="objective='pareto'"):
            analyse(log(), ties=px.pareto.Crowding())
        with pytest.raises(TypeError, match="ties must be"):
            analyse(log(), objective="pareto", ties="crowding")


def losses_of(obs, objective):
    return ranked(obs, objective, None, [], px.Grid())[0]


class TestCombined:
    def test_against_a_loop(self):
        obs = log(seeds=2, n=20)
        weights = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 3.0]])
        for w, weight in enumerate(weights / weights.sum(axis=1, keepdims=True)):
            found = losses_of(obs, weights[w]), losses_of(obs, lambda f, weight=weight: chebyshev(f, weight))
            for s, i in np.ndindex(2, 20):
                terms = []
                for j in range(2):
                    f = obs.losses[s, :, j]
                    terms.append(weight[j] * (f[i] - f.min()) / (f.max() - f.min()))
                assert found[0][s, i] == pytest.approx(sum(terms), rel=1e-12, abs=1e-15)
                formula = max(terms) + 0.05 * sum(terms)
                assert found[1][s, i] == pytest.approx(formula, rel=1e-12, abs=1e-15)

    def test_rows_of_no_weight_do_not_enter_the_range(self):
        obs = log(n=20)
        losses = obs.losses.copy()
        losses[0] = 1e6
        far = px.Observations.from_arrays(SPACE, obs.values, losses).select(np.arange(20) > 0)
        near = px.Observations.from_arrays(SPACE, obs.values[1:], losses[1:])
        np.testing.assert_array_equal(losses_of(far, [1, 1])[..., 1:], losses_of(near, [1, 1]))

    def test_what_is_not_finite(self):
        losses = np.array([[-np.inf, 1.0], [0.0, np.nan], [1.0, 2.0], [2.0, 3.0]])
        obs = px.Observations.from_arrays(SPACE, log(4).values, losses)
        found = losses_of(obs, [0.5, 0.5])[0]
        assert found[0] == -np.inf
        assert np.isnan(found[1])
        np.testing.assert_allclose(found[2:], [0.5, 1.0])
        np.testing.assert_array_equal(losses_of(obs, [1.0, 0.0])[0], losses[:, 0])

    def test_an_objective_that_does_not_vary_adds_nothing(self):
        losses = np.stack([np.arange(4.0), np.full(4, 7.0)], axis=-1)
        obs = px.Observations.from_arrays(SPACE, log(4).values, losses)
        np.testing.assert_allclose(losses_of(obs, [0.5, 0.5])[0], 0.5 * np.arange(4) / 3)

    def test_no_range_overflows(self):
        losses = np.array([[-1.7e308, 0.0], [1.7e308, 1.0], [0.0, 0.5]])
        obs = px.Observations.from_arrays(SPACE, log(3).values, losses)
        np.testing.assert_allclose(losses_of(obs, [0.5, 0.5])[0], [0.0, 1.0, 0.5])

    def test_all_weight_on_one_objective_is_that_objective_to_the_last_digit(self):
        """Catches 0 * nan, and 0 * inf."""
        obs = log()
        losses = obs.losses.copy()
        losses[:9, 1], losses[9:12, 1] = np.nan, -np.inf
        part = px.Observations.from_arrays(SPACE, obs.values, losses)
        same(analyse(part, objective=[3, 0]), analyse(obs, objective=0))
        assert analyse(part, objective=[1, 1]).n_region == 51

    @pytest.mark.parametrize("combine", [weighted_sum, chebyshev])
    def test_units_do_not_matter(self, combine):
        """A power of two rounds nothing, so nothing may change."""
        obs, weight = log(), np.array([0.25, 0.75])
        scaled = px.Observations.from_arrays(SPACE, obs.values, obs.losses * [1.0, 1024.0])
        same(*(analyse(own, objective=lambda f: combine(f, weight)) for own in (obs, scaled)))

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1, 0, 0], "must have shape"),
            ([[1, 0]], "must have shape"),
            ([0, 0], "one above 0"),
            ([1, -1], "at least 0"),
            ([np.inf, 1], "finite"),
            ([np.nan, 1], "finite"),
        ],
    )
    def test_bad_weights(self, weights, message):
        with pytest.raises(ValueError, match=message):
            analyse(log(), objective=weights)


def test_an_argument_that_there_is_not():
    """It is answered with what was probably meant."""
    space, x = px.Space({"x": px.Float(0, 1)}), np.linspace(0, 1, 40)[:, None]
    obs = px.Observations.from_arrays(space, x, x[:, 0])
    for function, name, hint in (
        (px.cond_ped_anova, "level", "cond_ped_anova has no argument 'level'; did you mean 'levels'?"),
        (px.compare, "level", "did you mean 'levels'?"),
        (px.interactions, "objectives", "did you mean 'objective'?"),
        (px.cond_ped_anova, "direction", "use directions=... where the log is read"),
        (px.Observations.from_dataframe, "direction", "did you mean 'directions'?"),
        (px.adapters.optuna.observations, "params", "did you mean 'parameters'?"),
    ):
        with pytest.raises(TypeError, match=re.escape(hint)):
            function(obs, **{name: 0.1})
