"""scikit-learn's ``cv_results_``."""

from parzax.lens.tables.formats.format import Format

SKLEARN = Format(
    "scikit-learn",
    needs=("param_*", "params|param_*|mean_fit_time|mean_test_*|rank_test_*"),
    prefix="param_",
    others=r"params(/.*)?|(mean|std)_(fit|score)_time|split\d+_t.*|std_t.*|rank_test_.*",
    results="mean_test_.*",
    step="n_resources",
    # scikit-learn negates losses, so all its scores are maximised.
    directions={"mean_t*_*": "maximize", "split*_t*_*": "maximize"},
)
