"""Held-out likelihood of densities: ``python -m benchmarks.studies.densities``.

Ten real tables (`benchmarks.studies.density_data`), five of them mixed, and each continuous column alone.
Rows are predicted by five-fold cross validation; every method sees the same folds. Options: --quick, --out
FILE, --resume. Writes docs/studies/densities.md for a full run without --out. Exits with status 1 if the rule
that the page advises is worse than the best peer on more than two tables, or `tuned` alone on more than one.
It takes 20 minutes of one core.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks.studies import density_peers as peers
from benchmarks.studies import pages
from benchmarks.studies.density_data import MOST_ROWS, TABLES, Sample, load
from benchmarks.studies.density_peers import Fit, LogDensity, Rows
from benchmarks.studies.optimisers.page import table
from benchmarks.studies.pages import Page
from benchmarks.studies.papers.runs import Arrays, Unit

N_FOLDS, N_REPEATS = 5, 2
# Half-width of a 95 % interval, in standard errors.
NORMAL = 1.96
DEFAULT = "Scott, the default"
TUNED, ADVISED = "Scott, tuned", "Scott, adapted, tuned"
# On so many of ten tables a rule should be as good as the best peer.
LEAST = {ADVISED: 8, TUNED: 9}


def ours(built: Callable[[px.Space, Rows], px.ParzenEstimator]) -> Fit:
    """A method of the study, of a function that fits an estimator."""

    def fit(space: px.Space, x: Rows) -> LogDensity:
        estimator = built(space, x)
        return lambda at: np.asarray(estimator.log_prob(at))

    return fit


def fitted(space: px.Space, x: Rows, **options: Any) -> px.ParzenEstimator:
    """The estimator with some options."""
    return px.ParzenEstimator.fit(space, x, **options)


OPTUNA = {"bandwidth": px.bandwidth.Neighbours(), "top": px.bandwidth.OptunaTop()}
OURS: dict[str, Fit] = {
    DEFAULT: ours(fitted),
    "`Neighbours`, `OptunaTop`": ours(partial(fitted, **OPTUNA)),
    "Scott, adapted": ours(lambda space, x: fitted(space, x).adapted()),
    TUNED: ours(lambda space, x: fitted(space, x).tuned()),
    ADVISED: ours(lambda space, x: fitted(space, x).adapted().tuned()),
}
# The number of columns that a peer takes, and the package that it needs beside those of the tests.
ONE_NUMBER: dict[str, Fit] = {
    "KDEpy, ISJ": partial(peers.kdepy_kde, "ISJ"),
    "KDEpy, Silverman": partial(peers.kdepy_kde, "silverman"),
    "fastKDE": peers.fast_kde,
}
NEEDS = ("sklearn", "statsmodels", "KDEpy", "fastkde")


def units(quick: bool) -> list[Unit]:
    """One for each table, and one for each column of the continuous tables."""
    function, needs = "benchmarks.studies.densities:predicted", NEEDS
    n_repeats, n_rows = (1, 100) if quick else (N_REPEATS, MOST_ROWS)
    chosen = list(TABLES)[4:7] if quick else list(TABLES)
    common = {"n_repeats": n_repeats, "n_rows": n_rows}
    units = [Unit(f"tables/{name}", function, {"name": name, **common}, needs, 30.0) for name in chosen]
    for name in chosen:
        if TABLES[name].is_continuous:
            for column in TABLES[name].columns:
                arguments = {"name": name, "column": column, "n_repeats": 1, "n_rows": n_rows}
                units.append(Unit(f"columns/{name}-{column}", function, arguments, needs, 10.0))
    return units


def methods(sample: Sample) -> dict[str, Fit]:
    """All that can take the columns."""
    domains = [domain for (domain,) in sample.space.domains]
    chosen = {**OURS, **peers.MIXED}
    if all(isinstance(domain, px.Float) for domain in domains):
        chosen |= peers.CONTINUOUS
    return chosen | (ONE_NUMBER if len(domains) == 1 else {})


def predicted(name: str, n_repeats: int, n_rows: int, column: str | None = None) -> Arrays:
    """Method -> (repeats, rows) log density of each row, of the fit to the folds without it."""
    sample = load(name)
    if column is not None:
        j = sample.space.index(column)
        sample = Sample(px.Space({column: sample.space[column][0]}), sample.x[:, j : j + 1])
    x = sample.x[:n_rows]
    out: Arrays = {}
    with jax.enable_x64(True), np.errstate(divide="ignore"):
        for method, fit in methods(sample).items():
            out[method] = np.zeros((n_repeats, len(x)))
            for repeat in range(n_repeats):
                order = np.random.default_rng(repeat + 1).permutation(len(x))
                for fold in np.array_split(order, N_FOLDS):
                    log_prob = fit(sample.space, np.delete(x, fold, axis=0))
                    out[method][repeat, fold] = log_prob(x[fold])
    return out


def differences(arrays: Arrays) -> dict[str, tuple[float, float]]:
    """Method -> mean log density above that of the best peer, and half of the 95 % interval."""
    mean = {name: logs.mean(axis=0) for name, logs in arrays.items()}
    best = mean[max((name for name in mean if name not in OURS), key=lambda name: mean[name].mean())]
    out = {}
    for name, logs in mean.items():
        difference = logs - best
        out[name] = (
            float(difference.mean()),
            NORMAL * float(np.std(difference, ddof=1)) / np.sqrt(len(difference)),
        )
    return out


def holds(difference: tuple[float, float]) -> bool:
    """Whether a method is the best, or the best peer lies in its interval."""
    return sum(difference) >= 0


def written(found: Mapping[str, Arrays]) -> Page:
    """The tables."""
    of_tables, of_columns = (
        {
            name.removeprefix(part): differences(arrays)
            for name, arrays in found.items()
            if name.startswith(part)
        }
        for part in ("tables/", "columns/")
    )
    blocks = [ABOUT.format(n_folds=N_FOLDS, n_repeats=N_REPEATS, n_rows=MOST_ROWS), READING]
    for title, is_continuous in (("Continuous tables", True), ("Mixed tables", False)):
        part = {name: of for name, of in of_tables.items() if TABLES[name].is_continuous == is_continuous}
        if part:
            blocks += [f"## {title}", compared(part)]
    counts = {method: (sum(holds(of[method]) for of in of_tables.values())) for method in OURS}
    n = len(of_tables)
    verdict = [[method, f"{count} of {n}"] for method, count in counts.items()]
    blocks += [VERDICT, table(["", "best, or within its interval of the best peer"], verdict)]
    if of_columns:
        blocks += [COLUMNS, of_one_number(of_columns)]
    failed = [
        f"{rule} holds on {counts[rule]} tables" for rule, least in LEAST.items() if counts[rule] < least
    ]
    return Page(blocks, (n, MOST_ROWS), [] if n < len(TABLES) else failed, words=("tables", "rows at most"))


def compared(part: Mapping[str, Mapping[str, tuple[float, float]]]) -> str:
    """A line for each method, a column for each table."""
    names = list(dict.fromkeys(method for of in part.values() for method in of))

    def cell(of: Mapping[str, tuple[float, float]], method: str) -> str:
        if method not in of:
            return ""
        value, half = of[method]
        text = "best peer" if method not in OURS and value == 0 == half else f"{value:+.2f} ± {half:.2f}"
        return f"**{text}**" if holds(of[method]) else text

    return table(["", *part], [[method, *(cell(of, method) for of in part.values())] for method in names])


def of_one_number(columns: Mapping[str, Mapping[str, tuple[float, float]]]) -> str:
    """How often each method holds, and how far it is from the best peer."""
    lines = []
    for method in next(iter(columns.values())):
        values = np.array([of[method][0] for of in columns.values()])
        count = sum(holds(of[method]) for of in columns.values())
        lines.append(
            [method, f"{count} of {len(values)}", f"{np.median(values):+.3f}", f"{values.min():+.2f}"]
        )
    return table(["", "best, or within its interval of the best peer", "median", "worst"], lines)


ABOUT = """How well does a density predict rows that it has not seen? The measure is the mean log density of
held-out rows, in nats, over {n_repeats} times {n_folds} folds of up to {n_rows} rows of tables that
scikit-learn and statsmodels ship. Numbers are differences from the best peer of the table: +0.10 is 10 % more
probability per row. Intervals (95 %) are those of paired differences over rows. Bold: better than the best
peer, or the interval includes it.

Bounds of a continuous column lie half of its range beyond its values, within what it can be. Peers know no
bounds, so each is divided by its mass between them. All see log columns as logarithms. Rounded values are
spread over the step of rounding. On mixed tables the peers are those that take discrete columns.

* `jax.scipy.stats.gaussian_kde` is SciPy's estimator, and torch-kde is scikit-learn's: the same numbers.
* scikit-learn: standardised columns, and one bandwidth by a grid search.
* statsmodels `cv_ml`: its product kernels with the bandwidths of the highest leave-one-out likelihood. The
  study searches by gradients: both find the same on continuous tables, but statsmodels' search ends at
  bandwidths of 1 for ordered columns, whose kernels are then 0.
* Optuna: its Parzen estimator with the settings of its multivariate TPE."""
VERDICT = "## How often each rule is as good as the best peer"
COLUMNS = """## One column at a time

The same for each column of the continuous tables alone, where KDEpy and fastKDE can take part. Densities of
fastKDE can be zero between rows; they are raised to 1e-6 of its highest."""
READING = """## Which rule to take

* **The advised rule is `px.ParzenEstimator.fit(space, x).adapted().tuned()`.** It predicts new rows as well
  as the best peer wherever the default does, and where the default does not. `tuned` has a factor for the
  width of each parameter, categories too, by the likelihood of the joint density, as `cv_ml` of statsmodels
  has. `adapted` has wider kernels where rows are sparse. Of counts, as in randhie, most are small and a few
  large: there `tuned` alone is not enough, since `cv_ml` has kernels with longer tails.
* **Scott's rule, the default, is for densities that are fitted often**: it looks at one column at a time, and
  takes no evaluation of the density. Where columns depend on each other its kernels are too wide: in iris the
  petals of a species vary much less than those of all species. A `top` of 0.8 gives a fifth of each row to
  other categories, which is too much in iris and randhie.
* `Neighbours` is for searches. As a density it is narrow wherever rows are close, and predicts badly."""


if __name__ == "__main__":
    sys.exit(pages.main(None, "densities", __doc__, "Held-out likelihood of densities", units, written))
