"""scikit-learn's ``cv_results_``."""

from parzax.tables.formats.format import Format

SKLEARN = Format(
    "scikit-learn",
    needs=("param_*", "params|param_*|mean_fit_time|mean_test_*|rank_test_*"),
    prefix="param_",
    step="n_resources",
    # A score is better if it is larger: losses have a minus sign there, as in neg_log_loss.
    directions={"mean_te*_*": "maximize", "mean_tr*_*": "maximize", "split*_*": "maximize"},
)
