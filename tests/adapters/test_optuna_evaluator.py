"""The evaluator against Optuna's own, on studies made on the spot."""

import math
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import optuna
import pytest
from conftest import OPTUNA
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.importance import PedAnovaImportanceEvaluator
from optuna.trial import create_trial

import parzax as px
from parzax.adapters.optuna import CondPedAnovaImportanceEvaluator

optuna.logging.set_verbosity(optuna.logging.WARNING)

FEW = "only 6 of 60 trials are among the best; this evaluator reads all trials, and nothing else"
pytestmark = pytest.mark.filterwarnings("ignore:.*this evaluator reads all trials")


def objective(trial):
    x = trial.suggest_float("x", -3, 3)
    rate = trial.suggest_float("rate", 1e-5, 1, log=True)
    width = trial.suggest_int("width", 1, 300, log=True)
    share = trial.suggest_float("share", 0, 0.98, step=0.07)
    depth = trial.suggest_int("depth", 3, 198, step=3)
    kind = trial.suggest_categorical("kind", ["a", "bb", "c"])
    mixed = trial.suggest_categorical("mixed", [1, "1", None, 2.5])
    trial.suggest_float("fixed", 1, 1)
    value = x**2 + 0.1 * math.log(rate) ** 2 + 0.01 * width + share + 0.01 * depth + (mixed == "1")
    if kind == "a":
        value += abs(trial.suggest_float("only_a", 0, 2) - 1)
    elif kind == "bb":
        value += trial.suggest_int("only_b", 0, 5)
    value += trial.suggest_float("regime", -7, -2) if x < 0 else trial.suggest_float("regime", 2, 7)
    # Rounded, so that there are ties at the cut-offs.
    return round(value, 0)


@pytest.fixture(scope="module", params=["minimize", "maximize"])
def study(request):
    study = optuna.create_study(direction=request.param, sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(objective, n_trials=300)
    return study


def two(trial):
    return trial.suggest_float("x", 0, 1) + 0.1 * trial.suggest_float("y", 0, 1)


def simple_study(n=60, directions=("minimize",)):
    study = optuna.create_study(directions=directions, sampler=optuna.samplers.RandomSampler(seed=0))

    def conflicting(t):
        return t.suggest_float("x", 0, 1), 1 - t.suggest_float("y", 0, 1)

    study.optimize(two if len(directions) == 1 else conflicting, n_trials=n)
    return study


def many_objectives(directions, digits, n=80):
    study = optuna.create_study(directions=directions, sampler=optuna.samplers.RandomSampler(seed=2))

    def objectives(t):
        x, y = t.suggest_float("x", 0, 1), t.suggest_float("y", 0, 1)
        kind, z = t.suggest_categorical("kind", ["a", "b"]), t.suggest_int("z", 1, 9)
        values = (x + 0.3 * y, 1 - x * y + 0.05 * z, y - 0.1 * z + (kind == "b"), (x - 0.5) ** 2 + 0.01 * z)
        return tuple(round(value, digits) for value in values[: len(directions)])

    study.optimize(objectives, n_trials=n)
    return study


def assert_agrees(study, *, params=None, target=None, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = PedAnovaImportanceEvaluator(**options).evaluate(study, params, target=target)
        ours = CondPedAnovaImportanceEvaluator(**options).evaluate(study, params, target=target)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        if value == 0.0:
            assert ours[name] == 0.0, name
        else:
            assert ours[name] == pytest.approx(value, rel=1e-12, abs=0), name
    return ours


DEFAULT = {"divergence": px.divergence.Explained(), "grid": px.Grid()}


class TestParity:
    @pytest.mark.parametrize("local", [True, False])
    @pytest.mark.parametrize("levels", [(0.1, 1.0), (0.05, 0.5), (0.15, 0.75), (0.07, 1.0), (0.5, 0.9)])
    @pytest.mark.some(4)
    def test_raw_values(self, study, local, levels):
        # Catches any detail of the estimator: grid, bandwidth, prior, floor, ties, level counts, regimes.
        ours = assert_agrees(
            study, target_quantile=levels[0], region_quantile=levels[1], evaluate_on_local=local
        )
        assert list(ours.values()) == sorted(ours.values(), reverse=True)
        assert ours["fixed"] == 0.0
        assert sum(value > 0 for value in ours.values()) >= 9

    def test_a_sampler_that_learns_is_told_once(self):
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0, multivariate=True))
        study.optimize(lambda t: (t.suggest_float("x", 0, 1) - 0.3) ** 2 + t.suggest_float("y", 0, 1), 150)
        evaluator = CondPedAnovaImportanceEvaluator()
        with pytest.warns(
            UserWarning, match="a sampler that learns chose the trials; .*cond_ped_anova.*allows for that"
        ):
            first = evaluator.evaluate(study)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert evaluator.evaluate(study) == first
        assert_agrees(study)

    def test_few_trials_are_told_once(self):
        evaluator = CondPedAnovaImportanceEvaluator()
        with pytest.warns(UserWarning, match=f"{FEW}.*cond_ped_anova.*allows for that"):
            evaluator.evaluate(simple_study())
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            evaluator.evaluate(simple_study())

    def test_trials_that_violate_a_constraint_are_told(self):
        # Catches two rankings of one study, of which neither says that other trials count there.
        study, d = optuna.create_study(), {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
        for x, y in np.random.default_rng(0).random((200, 2)).tolist():
            excess = {"constraints": [x - 0.7]}
            params = {"x": x, "y": y}
            study.add_trial(create_trial(params=params, distributions=d, value=-x, system_attrs=excess))
        n = sum(trial.params["x"] > 0.7 for trial in study.trials)
        with pytest.warns(UserWarning, match=f"^{n} of 200 trials violate a constraint; this evaluator"):
            CondPedAnovaImportanceEvaluator().evaluate(study)

    def test_target(self, study):
        assert_agrees(study, target=lambda t: -t.params["x"], target_quantile=0.2)

    def test_params(self, study):
        ours = assert_agrees(study, params=["only_a", "x"])
        everything = CondPedAnovaImportanceEvaluator().evaluate(study)
        assert ours == {name: everything[name] for name in ours}

    @pytest.mark.parametrize(
        ("directions", "digits"),
        [
            (("maximize", "maximize"), 9),
            (("minimize", "minimize"), 1),
            # With digits=1 Optuna's rounding would decide between rows of three objectives that add the same.
            (("maximize", "minimize", "minimize"), 9),
        ],
    )
    @pytest.mark.some(1)
    def test_several_objectives(self, directions, digits):
        # Catches other ranks, another reference point, ties in another order, repeated rows chosen early.
        study = many_objectives(directions, digits)
        for levels in ((0.1, 1.0), (0.07, 0.5), (0.33, 0.8), (0.5, 1.0), (0.9, 0.95)):
            ours = assert_agrees(study, target_quantile=levels[0], region_quantile=levels[1])
            assert len(ours) == 4
        first = assert_agrees(study, target=lambda t: t.values[0])
        assert first != CondPedAnovaImportanceEvaluator().evaluate(study)

    @pytest.mark.slow
    def test_four_objectives(self):
        study = many_objectives(("minimize",) * 4, 9, n=40)
        for local in (True, False):
            assert_agrees(study, target_quantile=0.3, evaluate_on_local=local)

    def test_several_objectives_of_which_one_is_infinite(self):
        study = simple_study(directions=("minimize", "minimize"))
        d = {"x": FloatDistribution(0, 1), "z": FloatDistribution(0, 1)}
        study.add_trial(create_trial(params={"x": 0.5, "z": 0.5}, distributions=d, values=[0.0, math.inf]))
        assert assert_agrees(study)["z"] == 0.0

    def test_a_domain_that_moves_from_row_to_row(self):
        # Optuna drops every such regime, so 0; catches the pooled regime adding something.
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(lambda t: t.suggest_float("x", 0, t.suggest_float("c", 0.1, 1)), n_trials=100)
        assert assert_agrees(study)["x"] == 0.0

    def test_regimes_with_a_single_trial_in_the_region(self):
        # Catches the least number of trials counted in the whole log instead of the region.
        wide, narrow = FloatDistribution(0, 2), FloatDistribution(0, 1)
        study = optuna.create_study()
        for i in range(40):
            d = wide if i in (3, 38, 39) else narrow
            study.add_trial(
                create_trial(params={"x": (i * 0.37) % 1}, distributions={"x": d}, value=float(i))
            )
        for region in (0.5, 1.0):
            assert_agrees(study, target_quantile=0.2, region_quantile=region)

    def test_values_enqueued_outside_the_domain(self):
        # Optuna counts them in the edge cell.
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.enqueue_trial({"x": 5.0})
        with pytest.warns(UserWarning, match="out of range"):
            study.optimize(two, n_trials=1)
        study.optimize(two, n_trials=50)
        assert_agrees(study)

    def test_float64_whatever_the_caller_has_set(self, study):
        # Catches float32 results under JAX's default settings, and a setting that leaks out.
        assert jnp.zeros(()).dtype == jnp.float32
        reference = CondPedAnovaImportanceEvaluator().evaluate(study)
        assert jnp.zeros(()).dtype == jnp.float32
        with jax.enable_x64(True):
            assert CondPedAnovaImportanceEvaluator().evaluate(study) == reference


class TestBetter:
    def test_infinite_losses_are_left_out(self):
        # As Optuna's evaluators do; elsewhere in parzax -inf is a legal best loss.
        study = simple_study(40)
        d = {name: FloatDistribution(0, 1) for name in "xy"}
        for x, y in ((0.1, 0.91), (0.3, 0.93), (0.5, 0.95), (0.7, 0.97), (0.9, 0.99)):
            study.add_trial(create_trial(params={"x": x, "y": y}, distributions=d, value=-math.inf))
        assert next(iter(PedAnovaImportanceEvaluator().evaluate(study))) == "x"
        assert_agrees(study)
        obs = px.adapters.optuna.observations(study)
        result = px.cond_ped_anova(obs, 0.1, **OPTUNA)
        assert result.ranking()[0] == "y"

    def test_choices_of_different_types_are_not_merged(self):
        # Optuna sees one choice twice, and finds nothing.
        study = optuna.create_study()
        d = {"c": CategoricalDistribution([True, 1])}
        for i in range(40):
            choice = True if i < 4 or i % 2 else 1
            study.add_trial(create_trial(params={"c": choice}, distributions=d, value=float(i)))
        assert (
            PedAnovaImportanceEvaluator().evaluate(study)["c"]
            < CondPedAnovaImportanceEvaluator().evaluate(study)["c"]
        )

    def test_equal_importances_keep_the_order_of_appearance(self):
        # Optuna's order depends on the hash seed.
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        names = [f"p{i}" for i in (3, 1, 4, 15, 9, 2, 6)]
        study.optimize(
            lambda t: t.suggest_float("x", 0, 1) + sum(t.suggest_int(n, 1, 1) for n in names), n_trials=50
        )
        assert list(CondPedAnovaImportanceEvaluator().evaluate(study)) == ["x", *names]
        assert list(CondPedAnovaImportanceEvaluator().evaluate(study, names[::-1])) == names[::-1]

    def test_the_default_estimator_gives_a_constant_parameter_0(self):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.enqueue_trial({"still": 0.3})
        for _ in range(60):
            study.enqueue_trial({"still": 0.3}, skip_if_exists=False)
        study.optimize(lambda t: t.suggest_float("x", 0, 1) + 0 * t.suggest_float("still", 0, 1), n_trials=61)
        assert CondPedAnovaImportanceEvaluator().evaluate(study)["still"] > 0
        ours = CondPedAnovaImportanceEvaluator(**DEFAULT).evaluate(study)
        assert ours["still"] == 0.0
        assert ours["x"] > 0

    def test_debiased_variances_are_never_negative(self):
        # Catches negative importances reaching Optuna's normalisation.
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
        rng = np.random.default_rng(0)

        def noise(t):
            return rng.normal() + 0 * sum(t.suggest_float(f"n{i}", 0, 1) for i in range(8))

        study.optimize(noise, n_trials=60)
        assert min(CondPedAnovaImportanceEvaluator(**DEFAULT).evaluate(study).values()) == 0.0


class TestInOptuna:
    def test_plot_of_several_objectives(self):
        # Optuna passes one target per objective.
        study = simple_study(directions=("minimize", "minimize"))
        with pytest.warns(UserWarning, match="low values of target"):
            figure = optuna.visualization.plot_param_importances(
                study, evaluator=CondPedAnovaImportanceEvaluator()
            )
        assert len(figure.data) == 2


class TestBadInput:
    @pytest.mark.parametrize(
        "levels",
        [
            {"target_quantile": 0.0},
            {"target_quantile": 1.0},
            {"target_quantile": -0.1},
            {"target_quantile": math.nan},
            {"target_quantile": 0.5, "region_quantile": 0.5},
            {"region_quantile": 1.5},
            {"region_quantile": 0.0},
        ],
    )
    def test_levels(self, levels):
        with pytest.raises(ValueError, match="_quantile must"):
            CondPedAnovaImportanceEvaluator(**levels)

    def test_estimator(self):
        with pytest.raises(TypeError, match="divergence"):
            CondPedAnovaImportanceEvaluator(divergence="optuna")

    def test_region_with_global_importance_warns_like_optuna(self):
        with pytest.warns(UserWarning, match="region_quantile has no effect"):
            CondPedAnovaImportanceEvaluator(region_quantile=0.5, evaluate_on_local=False)

    def test_params(self):
        study, evaluator = simple_study(), CondPedAnovaImportanceEvaluator()
        for wrong in ("x", [1]):
            with pytest.raises(TypeError, match="list of names"):
                evaluator.evaluate(study, wrong)
        with pytest.raises(ValueError, match="'q'"):
            evaluator.evaluate(study, ["x", "q"])
        assert evaluator.evaluate(study, []) == {}

    @pytest.mark.parametrize("n", [0, 1])
    def test_too_few_trials(self, n):
        # Catches a crash, or numbers out of nothing.
        study = simple_study(n)
        with pytest.warns(UserWarning, match="needs two rows"):
            assert set(CondPedAnovaImportanceEvaluator().evaluate(study).values()) <= {0.0}

    def test_all_losses_equal(self):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.optimize(lambda t: 0 * t.suggest_float("x", 0, 1), n_trials=20)
        with pytest.warns(UserWarning, match="All losses are equal"):
            assert CondPedAnovaImportanceEvaluator().evaluate(study) == {"x": 0.0}

    def test_same_sets(self):
        study = simple_study(4)
        with pytest.warns(UserWarning, match="are the same rows"):
            ours = CondPedAnovaImportanceEvaluator(target_quantile=0.9).evaluate(study)
        assert ours == {"x": 0.0, "y": 0.0}
