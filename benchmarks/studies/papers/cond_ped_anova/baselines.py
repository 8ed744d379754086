"""Figures 2, 9 and 10: PED-ANOVA on logs made unconditional by filtering, imputation and expansion."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import numpy as np
import optuna

import parzax as px
from benchmarks.optuna_peer import end_to_end, study_of
from benchmarks.studies.papers.cond_ped_anova import naive
from benchmarks.studies.papers.cond_ped_anova.curves import (
    ESTIMATORS,
    LEVELS,
    PROBLEMS,
    Curves,
    log,
    of_unit,
    sources,
    spread,
)
from benchmarks.studies.papers.cond_ped_anova.statements import DISJOINT, MOVING, OVERLAP
from benchmarks.studies.papers.rows import OURS_ALONE, Range, Row, Verdict, by_the_larger, judged
from benchmarks.studies.papers.runs import Arrays, Unit

COMPARED, SAME, NEGLIGIBLE = (0.1, 0.5), Range(0, 1e-10), Range(0, 0.01)
# By variant, and the problem on which it is compared with Optuna.
ALGORITHMS = {
    "filtering": ("Algorithm 2", DISJOINT),
    "imputation": ("Algorithm 3", OVERLAP),
    "expansion": ("Algorithm 4", MOVING),
}
FIGURES = {DISJOINT: "Figure 2", OVERLAP: "Figure 9", MOVING: "Figure 10"}
VARIANTS = {
    DISJOINT: ("filtering", "imputation"), OVERLAP: ("filtering", "imputation"), MOVING: ("expansion",),
}  # fmt: skip


def units() -> list[Unit]:
    """One for each problem, variant and source of logs; and one on the middle that is imputed."""
    module = "benchmarks.studies.papers.cond_ped_anova.baselines"
    found = [
        Unit(
            _name(source, problem, variant), f"{module}:plain",
            {"problem": problem, "variant": variant, "source": source}, cost=6,
        )
        for source in sources()
        for problem, variants in VARIANTS.items()
        for variant in variants
    ]  # fmt: skip
    return [*found, Unit("baselines/middle", f"{module}:middle", cost=6)]


def plain(problem: str, variant: str, source: str) -> Arrays:
    """A unit: raw variance and importance by PED-ANOVA, "ESTIMATOR/MEASURE" -> (s, q, d).

    And the largest relative "difference" of the reference's estimator from Optuna's evaluator on a plain
    study of the first seed, at two levels.
    """
    found = {}
    with jax.enable_x64(True):
        logs = unconditional(problem, variant, source)
        for name, estimator in ESTIMATORS.items():
            variance = _variances(logs, estimator)
            found[f"{name}/variance"], found[f"{name}/importance"] = variance, _shares(variance)
    theirs = np.array([_optunas(logs, level) for level in COMPARED])
    ours = found["parity/variance"][0, [int(np.abs(LEVELS - level).argmin()) for level in COMPARED]]
    found["difference"] = np.abs(ours / theirs - 1).max()
    return found


def _variances(logs: list[px.Observations], estimator: dict[str, Any]) -> np.ndarray:
    """Raw variances (s, q, d)."""
    return np.concatenate(
        [np.asarray(px.cond_ped_anova(own, LEVELS, **estimator, n_resamples=0).variance) for own in logs],
        axis=-1,
    )


def _shares(variance: np.ndarray) -> np.ndarray:
    positive = np.maximum(variance, 0)
    whole = positive.sum(axis=-1, keepdims=True)
    return positive / np.where(whole > 0, whole, 1)


def middle() -> Arrays:
    """A unit: importances "below" and "above", where each imputed middle is moved by a billionth.

    The middle of a domain is the edge between two cells of the reference's grid, of 50 points, so that
    rounding decides which of them has the imputed rows.
    """
    found, middles = {}, {"x": -3.5, "y": 3.5}
    with jax.enable_x64(True):
        (obs,) = unconditional(DISJOINT, "imputation", "fresh")
        for name, sign in (("below", -1), ("above", 1)):
            values = obs.values.copy()
            for parameter, value in middles.items():
                column = values[..., obs.space.names.index(parameter)]
                column[column == value] += sign * 1e-9
            moved = dataclasses.replace(obs, values=values)
            found[name] = _shares(_variances([moved], ESTIMATORS["parity"]))
    return found


def unconditional(problem: str, variant: str, source: str, first: int = 0) -> list[px.Observations]:
    """The log of a problem, made unconditional: for filtering one log for each parameter."""
    obs = log(problem, source, first=first)
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
    for variant, (where, problem) in ALGORITHMS.items():
        largest = max(float(found[_name(source, problem, variant)]["difference"]) for source in sources())
        yield Row(
            f"algorithm-{variant}", where, f"PED-ANOVA with {variant} [{SAME}]",
            f"{largest:.1e}, the largest relative difference from Optuna's evaluator on the plain study of a "
            f"seed of {problem}, levels {COMPARED[0]:g} and {COMPARED[1]:g}", judged(largest, 0, SAME),
        )  # fmt: skip
    yield from _unconditional_rows(found)
    below, above = (found["baselines/middle"][name].mean(axis=0) for name in ("below", "above"))
    apart = float(np.abs(below - above).max())
    yield Row(
        "algorithm-imputation-middle", OURS_ALONE,
        f"Algorithm 3: the middle of a domain is imputed: what rounding changes [{NEGLIGIBLE}]",
        f"a mean importance by up to {apart:.3g}, where the middle of x and y is a billionth higher or lower",
        judged(apart, 0, NEGLIGIBLE),
        "parity, 99 levels; the middle is the edge between cells 24 and 25 of the reference's grid",
    )  # fmt: skip
    for problem, variants in VARIANTS.items():
        for variant in variants:
            for key, printed, measure, wanted in _statements(problem, variant):
                yield _row(found, problem, variant, key, printed, measure, wanted)


def _unconditional_rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """Of c, which is always active, the conditional variance beside that of PED-ANOVA on the same log."""
    apart, inter = 0.0, 0.0
    for source in sources():
        ours = of_unit(found[f"curves/{source}/{DISJOINT}"], DISJOINT)
        for name, plain_curves in curves_of(found, source, DISJOINT, "filtering").items():
            conditional = ours[name].each("c", "variance")
            apart = max(apart, float(np.abs(plain_curves.each("c", "variance") - conditional).max()))
            inter = max(inter, float(np.abs(ours[name].each("c", "inter")).max()))
    where = "Eq. 11, Sections 4.2, 4.3"
    yield Row(
        "unconditional-same", where,
        f"of a parameter that is not conditional it is PED-ANOVA, Eq. 5 [{SAME}]",
        f"{apart:.1e}, the largest difference of the variances of c, by both estimators, "
        f"{' and '.join(sources())} logs of {DISJOINT}, {len(LEVELS)} levels", judged(apart, 0, SAME),
    )  # fmt: skip
    yield Row(
        "unconditional-inter", where,
        f"of a parameter that is not conditional the inter-regime variance vanishes [{Range(0, 0)}]",
        f"{inter:g}, the largest of c, the same logs", judged(inter, 0, Range(0, 0)),
    )  # fmt: skip


def _row(
    found: Mapping[str, Arrays],
    problem: str,
    variant: str,
    key: str,
    printed: str,
    measure: Any,
    wanted: Range,
) -> Row:
    verdicts: dict[str, dict[str, Verdict]] = {name: {} for name in ESTIMATORS}
    texts: dict[str, list[str]] = {name: [] for name in ESTIMATORS}
    for source in sources():
        ours = of_unit(found[f"curves/{source}/{problem}"], problem)
        for name, curves in curves_of(found, source, problem, variant).items():
            number, error = spread(measure, curves, ours[name])
            verdicts[name][source] = judged(number, error, wanted)
            texts[name].append(f"{source} {number:.3g} ± {error:.2g}")
    verdict, other = (
        by_the_larger(verdicts[name].get("stored"), verdicts[name]["fresh"]) for name in ("parity", "default")
    )
    note = "" if other is verdict else f"with our estimator: {other}"
    where = f"{FIGURES[problem]}, PED-ANOVA with {variant}"
    text = "; ".join(f"{name}: {', '.join(texts[name])}" for name in ("parity", "default"))
    return Row(f"f2-{problem}-{variant}-{key}", where, f"{printed} [{wanted}]", text, verdict, note)


def curves_of(found: Mapping[str, Arrays], source: str, problem: str, variant: str) -> dict[str, Curves]:
    """Of the log that was made unconditional, by estimator."""
    arrays, names = found[_name(source, problem, variant)], PROBLEMS[problem].space.names
    return {
        name: Curves(names, LEVELS, {m: arrays[f"{name}/{m}"] for m in ("variance", "importance")})
        for name in ESTIMATORS
    }


def _name(source: str, problem: str, variant: str) -> str:
    return f"baselines/{source}/{problem}-{variant}"


def _statements(problem: str, variant: str) -> list[tuple]:
    """(key, printed, measure of the baseline's curves and ours, range)."""

    def at(own: Curves, name: str, level: float) -> float:
        return float(own.mean(name)[own.at(level)])

    def below_both(own: Curves, _: Curves) -> float:
        return min(at(own, "x", 0.5), at(own, "y", 0.5)) - at(own, "c", 0.5)

    alike = (
        "xy", "x and y are almost identical: largest difference over the levels",
        lambda own, _: float(np.abs(own.mean("x") - own.mean("y")).max()), Range(high=0.05),
    )  # fmt: skip
    if variant == "filtering" and problem == OVERLAP:
        return [alike]
    third = (
        "third", "all three are almost identical at 0.5: largest distance from 1/3",
        lambda own, _: max(abs(at(own, name, 0.5) - 1 / 3) for name in "cxy"), Range(high=0.05),
    )  # fmt: skip
    if variant == "filtering":
        return [alike, third]
    if variant == "expansion":
        return [("c", "c is below x and y at 0.5: by", below_both, Range(0))]

    def errors(own: Curves, ours: Curves) -> float:
        upper = own.between(0.51, 0.99)
        means = [np.mean([one.error(name)[upper].mean() for name in "xy"]) for one in (own, ours)]
        return float(means[0] / means[1])

    unstable = (
        "errors", "x and y are unstable above 0.5: their standard errors, as a multiple of ours", errors,
        Range(3),
    )  # fmt: skip
    if problem == DISJOINT:
        return [third, unstable]
    return [
        unstable,
        ("y", "y, which is inactive in the target, has an importance comparable to that of c at 0.1: y / c",
         lambda own, _: at(own, "y", 0.1) / at(own, "c", 0.1), Range(0.5, 2)),
    ]  # fmt: skip
