"""Why rows differ, by key; a row that is not here says that it is not known."""

_TIES = (
    "c < 0.5, x < 0 and y < 0 divide the rows alike, so that rounding decides which of them a tree splits "
    "by, and one log says little (standard deviation of y - x 0.25)"
)
_MOVING, _OVERLAP = "regime-dependent-domain-expansion", "activation-overlap-imputation"
_LOGS = "x and y change places from log to log, so that ten logs do not tell; one takes {} s"
REASONS = {
    f"peer-MDI-{_MOVING}": f"{_TIES}; over a thousand logs x is above y, as it should be",
    f"peer-f-ANOVA-{_MOVING}": f"{_TIES}; a log takes 15 s, so that enough of them take four hours",
    f"peer-SHAP-{_MOVING}": f"{_TIES}; a log takes 5 s, so that enough of them take an hour",
    f"peer-f-ANOVA-{_OVERLAP}": _LOGS.format(15),
    f"peer-SHAP-{_OVERLAP}": _LOGS.format(5),
    "f1-asymmetry": (
        "an indicator and its complement have the same variance, so that the importances of the population "
        "are symmetric here; the reference's are not, because it smooths"
    ),
    "algorithm-imputation-middle": "half of the rows move from one cell to the next",
    "f1-x-exact": (
        "in a fresh seed 550 or more of 1000 rows have c < 0.5, so that the target at 0.55 has only such rows"
    ),
}
