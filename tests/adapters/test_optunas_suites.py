"""Optuna's own tests of evaluators and samplers, on ours."""

from functools import partial

import pytest
from optuna.testing import pytest_importance, pytest_samplers

from parzax.adapters.optuna import CondPedAnovaImportanceEvaluator, TPESampler

pytestmark = pytest.mark.filterwarnings("ignore")


class TestEvaluator(
    pytest_importance.BasicImportanceEvaluatorTestCase,
    pytest_importance.ConditionalImportanceEvaluatorTestCase,
    pytest_importance.MultiObjectiveImportanceEvaluatorTestCase,
):
    @pytest.fixture
    def evaluator(self):
        return CondPedAnovaImportanceEvaluator


# Each case compiles programs for a space of its own; test_optuna_sampler.py is the fast look at the sampler.
@pytest.mark.slow
class TestSampler(
    pytest_samplers.BasicSamplerTestCase,
    pytest_samplers.RelativeSamplerTestCase,
    pytest_samplers.MultiObjectiveSamplerTestCase,
):
    @pytest.fixture
    def sampler(self):
        return partial(TPESampler, n_startup_trials=0, seed=0)
