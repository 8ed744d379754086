"""What the documentation says of Optuna, checked on the version that is installed."""

import inspect
import warnings

import optuna
import pytest


def test_conditional_ped_anova_is_the_default_and_takes_one_level():
    """docs/index.md: catches a release in which Optuna computes several levels, or another default."""
    source = inspect.getsource(optuna.importance.get_param_importances)
    assert "evaluator = PedAnovaImportanceEvaluator()" in source
    arguments = inspect.signature(optuna.importance.PedAnovaImportanceEvaluator).parameters
    assert arguments["target_quantile"].default == 0.1


@pytest.mark.parametrize(
    "options",
    [{"gamma": lambda n: 1}, {"weights": lambda n: [1.0] * n}, {"prior_weight": 1.0}],
    ids=["gamma", "weights", "prior_weight"],
)
def test_settings_of_optunas_tpe_are_deprecated(options):
    """docs/index.md: catches a release that keeps or has removed them."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        optuna.samplers.TPESampler(**options)
    assert any("deprecated" in str(warning.message) for warning in raised)
