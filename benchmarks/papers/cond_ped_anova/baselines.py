"""Figures 2, 9 and 10: PED-ANOVA on logs made unconditional by filtering, imputation and expansion."""

from collections.abc import Iterator, Mapping

import jax
import numpy as np
import optuna

import parzax as px
from benchmarks.optuna_peer import end_to_end, study_of
from benchmarks.papers.cond_ped_anova.curves import (
    ESTIMATORS,
    LEVELS,
    PROBLEMS,
    Curves,
    log,
    of_unit,
    sources,
    spread,
)
from benchmarks.papers.cond_ped_anova.statements import DISJOINT, MOVING, OVERLAP
from benchmarks.papers.rows import Range, Row, Verdict, judged, together
from benchmarks.papers.runs import Arrays, Unit
from parzax import naive

COMPARED, SAME = (0.1, 0.5), Range(0, 1e-10)
ALGORITHMS = {"filtering": "Algorithm 2", "imputation": "Algorithm 3", "expansion": "Algorithm 4"}
VARIANTS = {DISJOINT: "filtering", OVERLAP: "imputation", MOVING: "expansion"}


def units() -> list[Unit]:
    """One for each problem and source of logs."""
    function = "benchmarks.papers.cond_ped_anova.baselines:plain"
    return [
        Unit(_name(source, problem), function, own | {"source": source}, cost=6)
        for source in sources()
        for problem, variant in VARIANTS.items()
        for own in ({"problem": problem, "variant": variant},)
    ]


def plain(problem: str, variant: str, source: str) -> Arrays:
    """A unit: raw variance and importance by PED-ANOVA, "ESTIMATOR/MEASURE" -> (s, q, d).

    And the largest relative "difference" of the reference's estimator from Optuna's evaluator on a plain
    study of the first seed, at two levels.
    """
    found = {}
    with jax.enable_x64(True):
        logs = unconditional(problem, variant, source)
        for name, estimator in ESTIMATORS.items():
            results = [px.ped_anova(own, LEVELS, estimator=estimator()) for own in logs]
            variance = np.concatenate([np.asarray(own.variance) for own in results], axis=-1)
            positive = np.maximum(variance, 0)
            whole = positive.sum(axis=-1, keepdims=True)
            found[f"{name}/variance"] = variance
            found[f"{name}/importance"] = positive / np.where(whole > 0, whole, 1)
    theirs = np.array([_optunas(logs, level) for level in COMPARED])
    ours = found["parity/variance"][0, [int(np.abs(LEVELS - level).argmin()) for level in COMPARED]]
    found["difference"] = np.abs(ours / theirs - 1).max()
    return found


def unconditional(problem: str, variant: str, source: str) -> list[px.Observations]:
    """The log of a problem, made unconditional: for filtering one log for each parameter."""
    obs = log(problem, source)
    if variant == "filtering":
        return [naive.filtering(obs, name) for name in obs.space.names]
    return [naive.imputation(obs) if variant == "imputation" else naive.expansion(obs)]


def first_study(obs: px.Observations, seed: int) -> optuna.Study:
    """Optuna's study of the rows of one seed that count."""
    kept = np.ones(obs.values.shape[1], bool) if obs.weight is None else obs.weight[seed] > 0
    values, losses = obs.values[seed, kept], obs.losses[seed, kept, 0]
    return study_of(px.Observations.from_arrays(obs.space, values[None], losses[None]), 0)


def _optunas(logs: list[px.Observations], level: float) -> list[float]:
    found = []
    for obs in logs:
        by_name = end_to_end(first_study(obs, 0), level)
        found += [by_name[name] for name in obs.space.names]
    return found


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """By the reference's estimator, as in the paper; by ours in the note where that differs."""
    for problem, variant in VARIANTS.items():
        largest = max(float(found[_name(source, problem)]["difference"]) for source in sources())
        yield Row(
            f"algorithm-{variant}", ALGORITHMS[variant], f"PED-ANOVA with {variant} [{SAME}]",
            f"{largest:.1e}, the largest relative difference from Optuna's evaluator on the plain study of a "
            f"seed of {problem}, levels {COMPARED[0]:g} and {COMPARED[1]:g}", judged(largest, 0, SAME),
        )  # fmt: skip
    figures = {DISJOINT: "Figure 2", OVERLAP: "Figure 9", MOVING: "Figure 10"}
    for problem, variant in VARIANTS.items():
        for key, printed, measure, wanted in _statements(problem):
            verdicts: dict[str, list[Verdict]] = {name: [] for name in ESTIMATORS}
            texts: dict[str, list[str]] = {name: [] for name in ESTIMATORS}
            for source in sources():
                ours = of_unit(found[f"curves/{source}/{problem}"], problem)
                for name, curves in curves_of(found, source, problem).items():
                    number, error = spread(measure, curves, ours[name])
                    verdicts[name].append(judged(number, error, wanted))
                    texts[name].append(f"{source} {number:.3g} ± {error:.2g}")
            verdict, other = (together(verdicts[name]) for name in ("parity", "default"))
            note = "" if other is verdict else f"with our estimator: {other}"
            where = f"{figures[problem]}, PED-ANOVA with {variant}"
            text = "; ".join(f"{name}: {', '.join(texts[name])}" for name in ("parity", "default"))
            yield Row(f"f2-{variant}-{key}", where, f"{printed} [{wanted}]", text, verdict, note)


def curves_of(found: Mapping[str, Arrays], source: str, problem: str) -> dict[str, Curves]:
    """Of the log that was made unconditional, by estimator."""
    arrays, names = found[_name(source, problem)], PROBLEMS[problem].space.names
    return {
        name: Curves(names, LEVELS, {m: arrays[f"{name}/{m}"] for m in ("variance", "importance")})
        for name in ESTIMATORS
    }


def _name(source: str, problem: str) -> str:
    return f"baselines/{source}/{problem}"


def _statements(problem: str) -> list[tuple]:
    """(key, printed, measure of the baseline's curves and ours, range)."""

    def at(own: Curves, name: str, level: float) -> float:
        return float(own.mean(name)[own.at(level)])

    def below_both(own: Curves, _: Curves) -> float:
        return min(at(own, "x", 0.5), at(own, "y", 0.5)) - at(own, "c", 0.5)

    if problem == DISJOINT:
        return [
            ("xy", "x and y cannot be told apart: largest difference over the levels",
             lambda own, _: float(np.abs(own.mean("x") - own.mean("y")).max()), Range(high=0.05)),
            ("third", "all three share alike at 0.5: largest distance from 1/3",
             lambda own, _: max(abs(at(own, name, 0.5) - 1 / 3) for name in "cxy"), Range(high=0.02)),
        ]  # fmt: skip
    below = ("c", "c is below x and y at 0.5: by", below_both, Range(0))
    if problem == MOVING:
        return [below]

    def errors(own: Curves, ours: Curves) -> float:
        upper = own.between(0.51, 0.99)
        means = [np.mean([one.error(name)[upper].mean() for name in "cxy"]) for one in (own, ours)]
        return float(means[0] / means[1])

    return [
        below,
        ("y", "y, which cannot be active in the target, is at least c at 0.1: y - c",
         lambda own, _: at(own, "y", 0.1) - at(own, "c", 0.1), Range(0)),
        ("errors", "standard errors above 0.5 are larger than ours: times", errors, Range(3)),
    ]  # fmt: skip
