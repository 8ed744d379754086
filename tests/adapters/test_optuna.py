"""Studies as observations: domains, regimes, codes, rows, report."""

import math

import numpy as np
import optuna
import pytest
from conftest import OPTUNA
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

import parzax as px

optuna.logging.set_verbosity(optuna.logging.WARNING)


def read(study, *args, **options):
    return px.adapters.optuna.observations(study, *args, **options)


def study_of(*rows, directions=("minimize",)):
    """A study of given trials: (params, distributions, value) or a FrozenTrial each."""
    study = optuna.create_study(directions=directions)
    for row in rows:
        if isinstance(row, tuple):
            params, distributions, value = row
            values = value if isinstance(value, (list, tuple)) else [value]
            row = create_trial(params=params, distributions=distributions, values=values)
        study.add_trial(row)
    return study


def one(name, distribution, values, losses=None):
    """A study of one parameter; ``distribution`` may be one per row."""
    many = distribution if isinstance(distribution, list) else [distribution] * len(values)
    losses = range(len(values)) if losses is None else losses
    return study_of(*[({name: v}, {name: d}, f) for v, d, f in zip(values, many, losses, strict=True)])


class TestDomains:
    def test_every_kind_of_distribution_keeps_its_bounds_log_and_step(self):
        # Catches a lost log flag, or the step's adjusted high.
        rows = {
            "f": (FloatDistribution(-1, 2), 0.5, px.Float(-1, 2)),
            "fl": (FloatDistribution(1e-3, 1, log=True), 0.1, px.Float(1e-3, 1, log=True)),
            "fs": (FloatDistribution(0, 0.9, step=0.3), 0.6, px.Float(0, 0.9, step=0.3)),
            "i": (IntDistribution(1, 9), 4, px.Int(1, 9)),
            "il": (IntDistribution(1, 512, log=True), 64, px.Int(1, 512, log=True)),
            "is": (IntDistribution(2, 10, step=4), 6, px.Int(2, 10, step=4)),
            "c": (CategoricalDistribution(["a", "b"]), "b", px.Categorical(["a", "b"])),
            "single": (FloatDistribution(1, 1), 1.0, px.Float(1, 1)),
        }
        params = {name: value for name, (_, value, _) in rows.items()}
        distributions = {name: d for name, (d, _, _) in rows.items()}
        obs = read(study_of((params, distributions, 1.0), (params, distributions, 2.0)))
        assert obs.space == px.Space({name: domain for name, (_, _, domain) in rows.items()})
        assert obs.values[0].tolist() == [0.5, 0.1, 0.6, 4, 64, 6, 1, 1]

    def test_parameters_come_in_order_of_first_appearance(self):
        # Catches sorting, or an order that depends on hashing.
        d = FloatDistribution(0, 1)
        study = study_of(
            ({"z": 0.1}, {"z": d}, 1.0), ({"b": 0.2, "z": 0.3, "a": 0.4}, {"b": d, "z": d, "a": d}, 2.0)
        )
        assert read(study).space.names == ("z", "b", "a")

    def test_a_parameter_absent_from_some_trials_is_inactive_there(self):
        # Catches rows that slip when the active ones are read apart.
        d = FloatDistribution(0, 1)
        study = study_of(
            ({"x": 0.1}, {"x": d}, 1.0),
            ({"x": 0.2, "y": 0.9}, {"x": d, "y": d}, 2.0),
            ({"y": 0.8}, {"y": d}, 3.0),
        )
        obs = read(study)
        np.testing.assert_array_equal(obs.values, [[0.1, np.nan], [0.2, 0.9], [np.nan, 0.8]])
        np.testing.assert_array_equal(obs.regime, [[0, -1], [0, 0], [-1, 0]])
        assert obs.space["x"][0].when == (px.Recorded(),)

    def test_changing_domains_are_regimes(self):
        # Catches merging by name, or Float(0, 1) taken for Int(0, 1).
        low, high, whole = FloatDistribution(-7, -2), FloatDistribution(0, 1), IntDistribution(0, 1)
        obs = read(one("x", [low, high, whole, high, low, whole], [-3, 0.5, 1, 1.0, -7, 0]))
        assert [type(d) for d in obs.space["x"]] == [px.Float, px.Float, px.Int]
        assert obs.regime[:, 0].tolist() == [0, 1, 2, 1, 0, 2]
        assert any("3 domains" in text for text in obs.report.inferred)

    def test_domains_that_move_from_row_to_row_are_pooled(self):
        # Catches one regime per row, which would compile one density per trial and say nothing; and bounds
        # that are not those of the trials.
        c = np.linspace(0.1, 1, 30)
        study = one("x", [FloatDistribution(0, high) for high in c], (c**2).tolist())
        obs = read(study)
        assert obs.space["x"] == (px.Varying(0.0, 1.0, when=px.Recorded()),)
        np.testing.assert_array_equal(obs.bounds["x"], np.stack([np.zeros(30), c], axis=-1))
        result = px.cond_ped_anova(obs, n_resamples=0)
        assert not result.status.ravel()[0] & px.Status.UNIDENTIFIABLE
        assert any("2 pools" in fact for fact in result.facts if fact.startswith("x: "))
        assert any("30 domains" in text for text in obs.report.inferred)
        parity = px.cond_ped_anova(obs, **OPTUNA, n_resamples=0)
        assert (parity.variance == 0).all()
        assert parity.status.ravel()[0] & px.Status.UNIDENTIFIABLE

    def test_domains_that_move_are_pooled_by_kind(self):
        # Catches a log axis, a step or an integer that is lost in the pool, or bounds of another row.
        kinds = {
            "x": [FloatDistribution(1e-3, 10.0**-k, log=True) for k in range(2)],
            "y": [IntDistribution(low, 9) for low in (0, 3)],
            "z": [FloatDistribution(0, high, step=0.5) for high in (1, 2)],
            "w": [IntDistribution(1, high, log=True) for high in (5, 9)],
        }
        mixed = [d for own in kinds.values() for d in own] + [FloatDistribution(0, 7)]
        obs = read(one("x", mixed, [0.01, 0.1, 2, 5, 0.5, 1.5, 1, 2, 6.5]))
        when = px.Recorded()
        assert obs.space["x"] == (
            px.Float(0, 7, when=when),
            px.Varying(1e-3, 1, log=True, when=when),
            px.Varying(0, 9, step=1, when=when),
            px.Varying(0, 2, step=0.5, when=when),
            px.Varying(1, 9, log=True, step=1, when=when),
        )
        assert obs.regime[:, 0].tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 0]
        assert np.isnan(obs.bounds["x"][8]).all()
        assert obs.bounds["x"][3].tolist() == [3, 9]

    def test_values_enqueued_outside_bounds_that_move_count_at_the_edge(self):
        # Optuna takes such values; catches an error, or the edge of all bounds instead of the row's.
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        for x in (9, 5, 2):
            study.enqueue_trial({"x": x})
        with pytest.warns(UserWarning, match="out of range"):
            study.optimize(lambda t: t.suggest_int("x", 0, 3 + 2 * t.number), n_trials=3)
        obs = read(study)
        assert obs.values[:, 0].tolist() == [3, 5, 2]
        assert any("1 value outside" in text for text in obs.report.inferred)

    def test_a_single_odd_domain_stays_an_ordinary_regime(self):
        # Catches pooling that also takes the fixed domain's rows.
        usual, odd = FloatDistribution(0, 1), FloatDistribution(0, 2)
        obs = read(one("x", [usual, odd, usual], [0.1, 1.5, 0.2]))
        assert obs.space["x"] == (px.Float(0, 1, when=px.Recorded()), px.Float(0, 2, when=px.Recorded()))
        two = read(one("x", [odd, usual, usual, FloatDistribution(0, 3)], [0.1, 0.5, 0.2, 2.5]))
        assert [type(d) for d in two.space["x"]] == [px.Float, px.Varying]
        assert two.regime[:, 0].tolist() == [1, 0, 0, 1]

    def test_values_enqueued_outside_their_domain_count_at_its_edge(self):
        # Optuna warns and goes on with such values; catches a crash on its perfectly usual studies.
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        for params in ({"x": 5.0, "s": 0.3}, {"x": -1.0, "s": 1.0}, {"x": 0.5, "s": 0.5}):
            study.enqueue_trial(params)
        with pytest.warns(UserWarning, match="out of range"):
            study.optimize(
                lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("s", 0, 1, step=0.5), n_trials=3
            )
        obs = read(study)
        np.testing.assert_array_equal(obs.values, [[1.0, 0.5], [0.0, 1.0], [0.5, 0.5]])
        assert [text[:9] for text in obs.report.inferred] == ["x: 2 valu", "s: 1 valu"]

    def test_a_parameter_of_two_kinds_is_refused_by_name(self):
        # Catches an error that does not say which parameter.
        study = study_of(
            ({"p": "a"}, {"p": CategoricalDistribution(["a"])}, 1.0),
            ({"p": 1.0}, {"p": FloatDistribution(0, 1)}, 2.0),
        )
        with pytest.raises(ValueError, match=r"'p': is categorical .* leave it out \(drop='p', --drop p\)"):
            read(study)
        with pytest.raises(ValueError, match="drop leaves out all of them"):
            read(study, drop="p")

    @pytest.mark.filterwarnings("ignore:.*this evaluator reads all trials")
    def test_parameters_are_chosen_and_left_out(self):
        # Catches integers beyond 2^53 that stop everything, and parameters that are gone without a word.
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(lambda t: t.suggest_int("seed", 0, 2**63 - 1) * 0 + t.suggest_float("x", 0, 1), 20)
        obs = read(study)
        assert isinstance(obs.space["seed"][0], px.Float)
        assert "seed: integers beyond 2^53 are read as floats" in obs.report.inferred
        evaluator = px.adapters.optuna.CondPedAnovaImportanceEvaluator()
        assert list(optuna.importance.get_param_importances(study, evaluator=evaluator, params=["x"])) == [
            "x"
        ]
        for options in ({"drop": "seed"}, {"parameters": ["x"]}):
            obs = read(study, **options)
            assert (obs.space.names, obs.report.left_out) == (("x",), ("'seed'",))
        with pytest.raises(ValueError, match="drop: the table has no column 'sed'; did you mean 'seed'"):
            read(study, drop="sed")


class TestChoices:
    def test_true_and_1_stay_apart(self):
        # Optuna's to_internal_repr takes 1 for True.
        obs = read(one("c", CategoricalDistribution([True, 1]), [True, 1, 1, True]))
        assert obs.values[:, 0].tolist() == [0, 1, 1, 0]
        assert obs.space["c"][0].n_values == 2

    def test_true_and_1_as_two_distributions(self):
        # (True, 0) == (1, 0) as tuples: catches one regime made of two.
        flags, numbers = CategoricalDistribution([True, 0]), CategoricalDistribution([1, 0])
        obs = read(one("c", [flags, numbers, numbers], [True, 1, 0]))
        assert len(obs.space["c"]) == 2

    def test_permuted_choices_are_one_regime_with_remapped_codes(self):
        # Catches codes taken from each row's own order.
        orders = [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]]
        obs = read(one("c", [CategoricalDistribution(o) for o in orders], ["a", "a", "c"]))
        assert obs.space["c"] == (px.Categorical(["a", "b", "c"]),)
        assert obs.values[:, 0].tolist() == [0, 0, 2]
        assert any("another order" in text for text in obs.report.inferred)

    @pytest.mark.parametrize(
        "choices",
        [[(1, 2), (3,)], [[1], [2]], [{"a": 1}, {"a": 2}], [None, (1,)], [int, float]],
        ids=["tuples", "lists", "dicts", "mixed", "types"],
    )
    def test_other_choices_go_by_their_repr(self, choices):
        # Optuna's evaluator fails on unhashable ones deep inside.
        with pytest.warns(UserWarning, match="persistent storage"):
            distribution = CategoricalDistribution(choices)
        obs = read(one("c", distribution, [choices[1], choices[0], choices[1]]))
        assert obs.values[:, 0].tolist() == [1, 0, 1]
        assert obs.space["c"][0].choices[1] == repr(choices[1])
        assert any("repr" in text for text in obs.report.inferred)

    def test_numbers_and_nan_are_found(self):
        # Catches look-ups by equality: nan != nan, 0.0 == -0.0, 1 == 1.0.
        choices = [math.nan, 0.0, -0.0, 1, 1.0, "1", None]
        obs = read(one("c", CategoricalDistribution(choices), [float("nan"), -0.0, 1.0, 1, None, "1", 0.0]))
        assert obs.values[:, 0].tolist() == [0, 2, 4, 3, 6, 5, 1]


class TestRows:
    def study(self):
        d = {"x": FloatDistribution(0, 1)}
        return study_of(
            ({"x": 0.1}, d, 1.0),
            create_trial(state=TrialState.FAIL, params={}, distributions={}),
            create_trial(
                state=TrialState.PRUNED, params={"x": 0.3}, distributions=d, intermediate_values={0: -9.0}
            ),
            create_trial(state=TrialState.RUNNING, params={"x": 0.4}, distributions=d),
            create_trial(state=TrialState.WAITING),
            ({"x": 0.6}, d, 3.0),
        )

    def test_only_complete_trials_by_default_and_the_report_says_so(self):
        # Catches pruned trials that count with their last intermediate value.
        obs = read(self.study())
        assert obs.values[:, 0].tolist() == [0.1, 0.6]
        assert obs.report.n_rows == 6
        assert obs.report.dropped == {
            "state FAIL": 1,
            "state PRUNED": 1,
            "state RUNNING": 1,
            "state WAITING": 1,
        }

    def test_failed_ones_rank_last_when_asked(self):
        # Catches a failed trial without parameters that stops the import.
        obs = read(self.study(), failed="worst")
        np.testing.assert_array_equal(obs.losses[:, 0], [1, np.inf, np.inf, 3])
        assert math.isnan(obs.values[1, 0])
        assert (obs.report.n_failed, obs.report.dropped) == (2, {"state RUNNING": 1, "state WAITING": 1})

    def test_pruned_ones_rank_last_when_asked(self):
        # Catches failed trials that come along, and an argument that failed= overrides.
        obs = read(self.study(), pruned="worst")
        np.testing.assert_array_equal(obs.losses[:, 0], [1, np.inf, 3])
        assert obs.report.dropped == {"state FAIL": 1, "state RUNNING": 1, "state WAITING": 1}
        assert px.cond_ped_anova(obs, 0.5, n_resamples=0).n_region == 3
        assert px.cond_ped_anova(obs, 0.5, rows="complete", n_resamples=0).n_region == 2
        obs = read(self.study(), failed="worst", pruned="drop")
        np.testing.assert_array_equal(obs.losses[:, 0], [1, np.inf, 3])
        assert obs.report.dropped == {"state PRUNED": 1, "state RUNNING": 1, "state WAITING": 1}
        with pytest.raises(ValueError, match="pruned must be one of"):
            read(self.study(), pruned="keep")

    def test_names_of_the_objectives_come_along(self):
        d = {"x": FloatDistribution(0, 1)}
        study = study_of(
            ({"x": 0.1}, d, [1, 2]), ({"x": 0.2}, d, [3, 4]), directions=("minimize", "maximize")
        )
        assert read(study).report.objectives == ()
        with pytest.warns(optuna.exceptions.ExperimentalWarning):
            study.set_metric_names(["loss", "accuracy"])
        assert read(study).report.objectives == ("loss", "accuracy")
        assert read(study, target=lambda t: t.values[0], direction="minimize").report.objectives == ()

    def test_directions_and_several_objectives(self):
        # Catches a direction that is applied to the wrong objective.
        d = {"x": FloatDistribution(0, 1)}
        study = study_of(
            ({"x": 0.1}, d, [1, 2]), ({"x": 0.2}, d, [3, 4]), directions=("minimize", "maximize")
        )
        obs = read(study)
        assert obs.report.directions == ("minimize", "maximize")
        np.testing.assert_array_equal(obs.losses, [[1, -2], [3, -4]])

    def test_a_target_and_its_direction(self):
        # Catches a maximised study that is minimised without a word.
        d = {"x": FloatDistribution(0, 1)}
        study = study_of(({"x": 0.1}, d, 5.0), ({"x": 0.2}, d, 7.0), directions=("maximize",))
        assert read(study, target=lambda t: t.value, direction="minimize").losses[:, 0].tolist() == [5, 7]
        obs = read(study, target=lambda t: t.value * 10, direction="maximize")
        assert obs.losses[:, 0].tolist() == [-50, -70]
        for alone in ({"target": lambda t: t.value}, {"direction": "minimize"}):
            with pytest.raises(TypeError, match="target needs direction="):
                read(study, **alone)
        with pytest.raises(TypeError, match="target must return a number, got None for trial 0"):
            read(study, target=lambda t: None, direction="minimize")
        with pytest.raises(TypeError, match="target must be a function"):
            read(study, target="value")

    def test_constraints_come_along(self):
        # Catches constraints lost, or aligned with the wrong trials.
        sampler = optuna.samplers.RandomSampler(seed=0)
        study = optuna.create_study(sampler=sampler)
        d = {"x": FloatDistribution(0, 1)}
        for x in (0.1, 0.2):
            study.add_trial(
                create_trial(
                    params={"x": x}, distributions=d, value=x, system_attrs={"constraints": [x - 1, x]}
                )
            )
        np.testing.assert_allclose(read(study).constraints, [[-0.9, 0.1], [-0.8, 0.2]])
        study.add_trial(create_trial(params={"x": 0.3}, distributions=d, value=0.0))
        obs = read(study)
        assert obs.constraints is None
        assert any("1 complete trials lack" in text for text in obs.report.inferred)

    def test_feasible_trials_count_unless_told_otherwise(self):
        # Catches constraints of a study that are ignored without a word.
        study, d = optuna.create_study(), {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
        for x, y in np.random.default_rng(0).random((60, 2)).tolist():
            attributes = {"constraints": [x - 0.7]}
            study.add_trial(
                create_trial(params={"x": x, "y": y}, distributions=d, value=-x, system_attrs=attributes)
            )
        obs = read(study)
        n_feasible = int(obs.feasible.sum())
        feasible, every = (px.cond_ped_anova(obs, 0.3, rows=rows, n_resamples=0) for rows in (None, "all"))
        assert (feasible.n_region, every.n_region) == (n_feasible, 60)
        assert f"of {n_feasible} feasible rows, " in feasible.text()
        assert f"left out: {60 - n_feasible} of them (not feasible)" in feasible.text()

    def test_nothing_to_read_is_a_clear_error(self):
        with pytest.raises(ValueError, match="no COMPLETE trial among its 0"):
            read(optuna.create_study())
        with pytest.raises(ValueError, match="no parameters"):
            read(study_of(({}, {}, 1.0)))
        with pytest.raises(TypeError, match=r"optuna\.Study or the path"):
            read(7)
        with pytest.raises(ValueError, match="chooses within a file"):
            read(self.study(), "name")
        with pytest.raises(ValueError, match="failed"):
            read(self.study(), failed="keep")

    def test_the_study_is_left_as_it_was(self):
        # Catches in-place changes to the trials, which are not copied.
        study = self.study()
        before = repr(study.get_trials(deepcopy=True))
        read(study, failed="worst")
        assert repr(study.get_trials(deepcopy=False)) == before


def test_reading_hashes_no_distribution_per_trial(monkeypatch):
    """Catches a return to hashing every distribution, some 15 times the work of a loop over the trials."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda t: sum(t.suggest_float(f"x{i}", 0, 1) for i in range(10)), n_trials=50)
    hashed = []
    original = FloatDistribution.__hash__
    monkeypatch.setattr(FloatDistribution, "__hash__", lambda self: hashed.append(1) or original(self))
    hash(FloatDistribution(0, 1))
    assert len(hashed) == 1
    read(study)
    assert len(hashed) <= 1 + 10
