"""Estimators of importance against integrals: ``python -m benchmarks.studies.estimators``.

Root mean square errors of normalised importances over seeds and parameters, on problems whose importances are
known by integration, for growing numbers of rows. Exits with status 1 where the default's errors do not fall,
or are not as much smaller than the others' as is promised.
"""

import json
import sys

import numpy as np

import parzax as px
from benchmarks import command
from benchmarks.studies.estimator_problems import POINTS, PROBLEMS, Problem

LEVELS = (0.02, 0.1, 0.5, 0.9)
ESTIMATORS = {
    "default": {},
    "reference": {"divergence": px.divergence.Pearson(), "grid": px.Grid.optuna()},
}
# Of the shares of all three: whether mixing them would help with few rows.
AVERAGE = "average"


def errors(problem: Problem, n: int, n_seeds: int, truth: np.ndarray) -> dict[str, list[float]]:
    """Estimator -> root mean square error of the shares at every level; undefined ones are equal shares.

    The estimators' average is one of them.
    """
    rows = [problem.drawn((seed, n), n) for seed in range(n_seeds)]
    x, losses = (np.stack(arrays) for arrays in zip(*rows, strict=True))
    obs, found = px.Observations.from_arrays(problem.space, x, losses), {}
    for name, estimator in ESTIMATORS.items():
        shares = np.asarray(px.cond_ped_anova(obs, LEVELS, **estimator, n_resamples=0).importance)
        found[name] = np.nan_to_num(shares.reshape(n_seeds, *truth.shape), nan=1 / truth.shape[-1])
    found[AVERAGE] = np.mean(list(found.values()), axis=0)
    return {name: np.sqrt(((own - truth) ** 2).mean(axis=(0, 2))).tolist() for name, own in found.items()}


def broken(figures: dict[str, dict[str, list[float]]], sizes: tuple[int, ...]) -> list[str]:
    """Print how the default compares with the others, and return what does not hold of the promises."""
    of_size = {
        n: {
            name: np.array([figures[f"{problem}, {n}"][name] for problem in PROBLEMS])
            for name in (*ESTIMATORS, AVERAGE)
        }
        for n in sizes
    }
    failed, ratios = [], []
    for n, found in of_size.items():
        own, reference = (found[name] for name in ESTIMATORS)
        ratios.append(np.log(own / reference).mean())
        worse = own / reference
        print(
            f"{n} rows: {np.exp(ratios[-1]):.2f} of the reference's errors (geometric mean), above 1.3 in"
            f" {(worse > 1.3).sum()} of {worse.size} cells, at most {worse.max():.1f}; largest error "
            f"{own.max():.3f}"
        )
        if n >= 10_000 and own.max() > 0.05:
            failed.append(f"{n} rows: an error of {own.max():.3f}, 0.05 is promised")
    for problem, means in zip(
        PROBLEMS, np.stack([of["default"].mean(axis=1) for of in of_size.values()], axis=1), strict=True
    ):
        if (np.diff(means) > 0).any():
            failed.append(f"{problem}: the mean over levels does not fall: {np.round(means, 3).tolist()}")
    if np.exp(np.mean(ratios, axis=0)).max() > 0.6:
        failed.append("0.6 of the errors of the others is promised")
    return failed


def main(argv: list[str] | None = None) -> int:
    """Print the table, its levels one beside the other."""
    options = command.begin(__doc__, "fewer seeds and rows", argv)
    sizes, n_seeds = ((100, 1000), 5) if options.quick else ((30, 100, 1000, 10_000, 100_000), 20)
    points = 2**11 if options.quick else POINTS
    truths = {name: problem.shares(LEVELS, points) for name, problem in PROBLEMS.items()}
    print(
        f"root mean square error of shares, {n_seeds} seeds, gamma' = " + " ".join(f"{x:g}" for x in LEVELS)
    )
    head = "  ".join(f"{name:>{6 * len(LEVELS) - 1}s}" for name in (*ESTIMATORS, AVERAGE))
    print(f"{'':26s} {'rows':>6s}  {head}")
    figures = {}
    for name, problem in PROBLEMS.items():
        for n in sizes:
            figures[f"{name}, {n}"] = found = errors(problem, n, n_seeds, truths[name])
            cells = "  ".join(" ".join(f"{x:5.3f}" for x in own) for own in found.values())
            print(f"{name:26s} {n:6d}  {cells}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    return command.verdict(broken(figures, sizes))


if __name__ == "__main__":
    sys.exit(main())
