"""What the paper says of the curves of its five problems, each as a number and where that must lie."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.studies.papers.cond_ped_anova.curves import Curves
from benchmarks.studies.papers.rows import OURS_ALONE, Range

Measure = Callable[[Curves], float]


@dataclass(frozen=True)
class Statement:
    """A number of the curves of one problem.

    Attributes:
        key, where, printed: as in a row.
        problem: whose curves.
        measure: the number, of curves over some seeds.
        wanted: where it lies if the statement holds.
        region: level of the region.
    """

    key: str
    where: str
    printed: str
    problem: str
    measure: Measure
    wanted: Range
    region: float = 1.0


DISJOINT, OVERLAP, MOVING = "activation-disjoint", "activation-overlap", "regime-dependent-domain"
NESTED, THREE_WAY = "nested-conditions", "three-way-branching"


def share(name: str, level: float) -> Measure:
    """Mean importance of a parameter at a level."""
    return lambda own: float(own.mean(name)[own.at(level)])


def peak(name: str, low: float = 0.0, high: float = 1.0) -> Measure:
    """The level at which the mean importance is highest."""
    return lambda own: float(own.levels[np.where(own.between(low, high), own.mean(name), -1).argmax()])


def highest(name: str, low: float = 0.0, high: float = 1.0) -> Measure:
    """The highest mean importance over levels."""
    return lambda own: float(own.mean(name)[own.between(low, high)].max())


def largest_variance(names: Sequence[str], low: float, high: float) -> Measure:
    """The largest raw variance of some parameters on any seed, over levels: exactly 0 is what is printed."""

    def measure(own: Curves) -> float:
        chosen = own.between(low, high)
        return float(max(np.abs(own.each(name, "variance")[:, chosen]).max() for name in names))

    return measure


def mirrored(own: Curves) -> float:
    """The largest |x(q) - y(1 - q)| for 0.05 <= q <= 0.95."""
    chosen = own.between(0.05, 0.95)
    return float(np.abs(own.mean("x") - own.mean("y")[::-1])[chosen].max())


def mirrored_c(own: Curves) -> float:
    """The largest |c(q) - c(1 - q)|."""
    return float(np.abs(own.mean("c") - own.mean("c")[::-1]).max())


def lead(first: str, others: Sequence[str], low: float, high: float) -> Measure:
    """By how much the mean importance of one is above those of others, at least, over levels."""

    def measure(own: Curves) -> float:
        rest = np.max([own.mean(name) for name in others], axis=0)
        return float((own.mean(first) - rest)[own.between(low, high)].min())

    return measure


def levels_above(first: str, others: Sequence[str], measure: str) -> Measure:
    """At how many levels the mean share by a measure is above those of all others."""

    def count(own: Curves) -> float:
        shares = own.shares(measure).mean(axis=0)
        at = own.names.index
        bar = np.max([shares[:, at(n)] for n in others], axis=0)
        return float((shares[:, at(first)] > bar).sum())

    return count


def largest_excess(first: str, others: Sequence[str], measure: str) -> Measure:
    """By how much the mean share by a measure is above the lowest of others, at most, over levels."""

    def excess(own: Curves) -> float:
        shares = own.shares(measure).mean(axis=0)
        at = own.names.index
        lowest = np.min([shares[:, at(n)] for n in others], axis=0)
        return float((shares[:, at(first)] - lowest).max())

    return excess


def growth(own: Curves) -> float:
    """The smallest rise of x and y from the level 0.5 to 0.1 and to 0.9."""
    return min(share(name, q)(own) - share(name, 0.5)(own) for name in "xy" for q in (0.1, 0.9))


def standard_share_of_y(own: Curves) -> float:
    """Share of y by the standard variance at 0.1, where y is inactive."""
    return float(own.shares("standard").mean(axis=0)[own.at(0.1), own.names.index("y")])


def underestimated(own: Curves) -> float:
    """By how much the share of c at 0.5 by the standard variance is below its importance."""
    standard = own.shares("standard").mean(axis=0)[own.at(0.5), own.names.index("c")]
    return float(own.mean("c")[own.at(0.5)] - standard)


def inactive_like_c(up_to: float) -> Measure:
    """The largest difference of standard shares of y and c below a level, and of x and c above 1 less it."""

    def measure(own: Curves) -> float:
        shares = own.shares("standard").mean(axis=0)
        at = own.names.index
        low, high = own.between(0, up_to), own.between(1 - up_to, 1)
        y, x = (np.abs(shares[:, at(name)] - shares[:, at("c")]) for name in "yx")
        return float(max(y[low].max(), x[high].max()))

    return measure


def raw_jump(measure: str) -> Measure:
    """Largest jump of a mean raw variance between neighbouring levels, over the largest value."""

    def ratio(own: Curves) -> float:
        mean = own.arrays[measure].mean(axis=0)
        return float(np.abs(np.diff(mean, axis=0)).max() / mean.max())

    return ratio


def spike(own: Curves) -> float:
    """Share of y at 0.25 without weights, over that with weights."""
    at = own.at(0.25), own.names.index("y")
    return float(own.shares("unweighted").mean(axis=0)[at] / own.shares("variance").mean(axis=0)[at])


def unweighted_mirror(own: Curves) -> float:
    """The largest |x(q) - y(1 - q)| of shares without weights."""
    shares = own.shares("unweighted").mean(axis=0)
    x, y = (shares[:, own.names.index(name)] for name in "xy")
    return float(np.abs(x - y[::-1]).max())


def jump_ratio(own: Curves) -> float:
    """Largest jump of a mean share between neighbouring levels, unweighted over weighted."""
    jumps = [np.abs(np.diff(own.shares(m).mean(axis=0), axis=0)).max() for m in ("unweighted", "variance")]
    return float(jumps[0] / jumps[1])


def _figure_1() -> list[Statement]:
    own, where = DISJOINT, "Figures 1, 11, disjoint"
    return [
        Statement("f1-c-peak", where, "c peaks where the cut-off divides the branches, at 0.5", own,
                  peak("c"), Range(0.48, 0.52)),
        Statement("f1-c-height", where, "c has nearly all of the importance there", own, highest("c"),
                  Range(0.95)),
        Statement("f1-y-zero", where, "y is near 0 below 0.5: up to 0.45", own,
                  highest("y", 0, 0.45), Range(high=0.01)),
        Statement("f1-y-exact", OURS_ALONE, "y is exactly 0 up to 0.45, on every seed", own,
                  largest_variance("y", 0, 0.45), Range(0, 0)),
        Statement("f1-x-zero", where, "x is near 0 above 0.5: from 0.55 on", own, highest("x", 0.55, 1),
                  Range(high=0.01)),
        Statement("f1-x-exact", OURS_ALONE, "x is exactly 0 from 0.55 on, on every seed", own,
                  largest_variance("x", 0.55, 1), Range(0, 0)),
        Statement("f1-x-low", where, "x matters most at 0.1", own, share("x", 0.1), Range(0.85)),
        Statement("f1-y-high", where, "y matters most at 0.9", own, share("y", 0.9), Range(0.85)),
        Statement("f1-mirror", where, "x and y are mirror images: |x(q) - y(1 - q)|", own, mirrored,
                  Range(high=0.12)),
        Statement("f1-c-099", where, "c is not 0 near 1: at 0.99", own, share("c", 0.99), Range(0.005)),
        Statement("f1-asymmetry", where, "a slight asymmetry: c at 0.99 less c at 0.01", own,
                  lambda curves: share("c", 0.99)(curves) - share("c", 0.01)(curves), Range(0.01)),
        Statement("f1-c-001", where, "c is near 0 at 0.01", own, share("c", 0.01), Range(high=0.03)),
        Statement("f1-mirror-c", where, "c is symmetric: |c(q) - c(1 - q)|", own, mirrored_c,
                  Range(high=0.12)),
        Statement("f1-overlap-c", "Figures 1, 11, overlap", "c matters little at 0.5", OVERLAP,
                  share("c", 0.5), Range(high=0.25)),
        Statement("f1-overlap-y", "Figures 1, 11, overlap", "y is near 0 up to 0.2", OVERLAP,
                  highest("y", 0, 0.2), Range(high=0.01)),
        Statement("f1-overlap-xy", "Figures 1, 11, overlap", "x and y matter at 0.5: the smaller", OVERLAP,
                  lambda curves: min(share("x", 0.5)(curves), share("y", 0.5)(curves)), Range(0.1)),
        Statement("f1-overlap-persists", "Figures 1, 11, overlap", "y matters until about 0.2: at 0.25",
                  OVERLAP, share("y", 0.25), Range(0.01)),
        Statement("f1-overlap-x", "Figures 1, 11, overlap", "x grows as the level falls: at 0.05 less at 0.2",
                  OVERLAP, lambda curves: share("x", 0.05)(curves) - share("x", 0.2)(curves), Range(0)),
        Statement("f1-overlap-mirror", "Figures 1, 11, overlap",
                  "x and y are mirror images: |x(q) - y(1 - q)|", OVERLAP, mirrored, Range(high=0.12)),
        Statement("f1-moving-c", "Figures 1, 11, regime-dependent domains",
                  "c takes nearly all importance at 0.5", MOVING, share("c", 0.5), Range(0.95)),
        Statement("f1-moving-xy", "Figures 1, 11, regime-dependent domains", "x is above y at all 99 levels",
                  MOVING, levels_above("x", "y", "variance"), Range(99)),
        Statement("f1-moving-grow", "Figures 1, 11, regime-dependent domains",
                  "x and y grow toward extreme levels: at 0.1 and 0.9 less at 0.5, the smallest", MOVING,
                  growth, Range(0)),
    ]  # fmt: skip


def _figures_12_13() -> list[Statement]:
    nested, three = "Figure 12, nested", "Figure 13, three-way"
    return [
        Statement("f12-c0-peak", nested, "c0 peaks where its branches part, at 0.75", NESTED, peak("c0"),
                  Range(0.73, 0.77)),
        Statement("f12-c0-height", nested, "the importance of c0 there", NESTED, highest("c0"), Range(0.9)),
        Statement("f12-c1-peak", nested, "c1 peaks at 0.375", NESTED, peak("c1"), Range(0.36, 0.39)),
        Statement("f12-c1-height", nested, "the importance of c1 there", NESTED, highest("c1"), Range(0.7)),
        Statement("f12-c1-lower", nested, "the peak of c1 is lower than that of c0: by", NESTED,
                  lambda curves: highest("c0")(curves) - highest("c1")(curves), Range(0)),
        Statement("f12-x", nested, "x is the largest at 0.05 to 0.2: its lead", NESTED,
                  lead("x", ("c0", "c1", "y", "z"), 0.05, 0.2), Range(0)),
        Statement("f12-y", nested, "y is the largest of x, y, z at 0.45 to 0.65: its lead", NESTED,
                  lead("y", ("x", "z"), 0.45, 0.65), Range(0)),
        Statement("f12-z", nested, "z is the largest at 0.9 to 0.97: its lead", NESTED,
                  lead("z", ("c0", "c1", "x", "y"), 0.9, 0.97), Range(0)),
        Statement("f13-first", three, "c peaks at 1/3", THREE_WAY, peak("c", 0.2, 0.5),
                  Range(1 / 3 - 0.02, 1 / 3 + 0.02)),
        Statement("f13-second", three, "c peaks at 2/3 too", THREE_WAY, peak("c", 0.5, 0.8),
                  Range(2 / 3 - 0.02, 2 / 3 + 0.02)),
        Statement("f13-first-height", three, "the importance of c at 1/3", THREE_WAY, highest("c", 0.2, 0.5),
                  Range(0.9)),
        Statement("f13-second-height", three, "the importance of c at 2/3", THREE_WAY, highest("c", 0.5, 0.8),
                  Range(0.9)),
        Statement("f13-x", three, "x is near 0 above 0.68", THREE_WAY, highest("x", 0.69, 1),
                  Range(high=0.03)),
        Statement("f13-x-large", three, "x is large below 1/3 and between: the smaller of 0.15 and 0.5",
                  THREE_WAY,
                  lambda curves: min(share("x", 0.15)(curves), share("x", 0.5)(curves)), Range(0.2)),
        Statement("f13-y-grows", three, "y grows above 0.66: at 0.95 less at 0.7", THREE_WAY,
                  lambda curves: share("y", 0.95)(curves) - share("y", 0.7)(curves), Range(0)),
        Statement("f13-y", three, "y is near 0 below 0.65", THREE_WAY, highest("y", 0, 0.64),
                  Range(high=0.01)),
    ]  # fmt: skip


def _figure_7() -> list[Statement]:
    where = "Figure 7, region 0.5, disjoint"
    return [
        Statement("f7-c", where, "c matters little up to 0.4", DISJOINT, highest("c", 0, 0.4),
                  Range(high=0.1), region=0.5),
        Statement("f7-y", where, "y is exactly 0 up to 0.4, on every seed", DISJOINT,
                  largest_variance("y", 0, 0.4), Range(0, 0), region=0.5),
        Statement("f7-075", "Figure 7, region 0.75, disjoint", "c still peaks at 0.5", DISJOINT, peak("c"),
                  Range(0.47, 0.53), region=0.75),
    ]  # fmt: skip


def _ablations() -> list[Statement]:
    found = []
    for problem in (DISJOINT, OVERLAP, MOVING):
        found.append(
            Statement(f"f3-{problem}", f"Figure 3, Appendix F.1, {problem}",
                      "by the standard variance c is never above x or y: share less the smaller of theirs",
                      problem, largest_excess("c", "xy", "standard"), Range(high=0.001))
        )  # fmt: skip
        if problem != OVERLAP:
            found.append(
                Statement(f"f3-c-{problem}", f"Figure 3, Section 5.5.1, {problem}",
                          "c is underestimated at 0.5: importance less share of the standard variance",
                          problem, underestimated, Range(0.2))
            )  # fmt: skip
        if problem != MOVING:
            found.append(
                Statement(f"f3-inactive-{problem}", f"Figure 3, Appendix F.1, {problem}",
                          "where y or x is inactive its standard share is almost that of c: difference",
                          problem, inactive_like_c(0.15 if problem == OVERLAP else 0.4), Range(high=0.05))
            )  # fmt: skip
    found.append(
        Statement("f3-y", "Figure 3, Appendix F.1, disjoint",
                  "the standard variance gives y importance where it is inactive: share at 0.1", DISJOINT,
                  standard_share_of_y, Range(0.08))
    )  # fmt: skip
    for problem in (DISJOINT, OVERLAP, MOVING):
        found.append(
            Statement(f"f4-{problem}", f"Figure 4, Eq. 18, {problem}",
                      "without weights shares jump: largest jump of neighbouring levels, over the weighted",
                      problem, jump_ratio, Range(4))
        )  # fmt: skip
        found.append(
            Statement(f"f11-{problem}", f"Figures 4, 11, D.5, {problem}",
                      "with weights raw variances have no large jumps: largest over the largest value",
                      problem, raw_jump("variance"), Range(high=0.1))
        )  # fmt: skip
    found += [
        Statement("f4-raw", "Figure 4, Section 5.5.2, overlap",
                  "without weights those of x and y jump: largest over the largest value", OVERLAP,
                  raw_jump("unweighted"), Range(0.2)),
        Statement("f4-y-spikes", "Figure 4, Section 5.5.2, overlap",
                  "without weights y spikes when it becomes active: share at 0.25 over that with weights",
                  OVERLAP, spike, Range(2)),
        Statement("f4-symmetry", "Figure 4, Section 5.5.2, overlap",
                  "without weights the symmetry breaks: largest |x(q) - y(1 - q)|", OVERLAP,
                  unweighted_mirror, Range(0.3)),
    ]  # fmt: skip
    return found


STATEMENTS = [*_figure_1(), *_figures_12_13(), *_figure_7(), *_ablations()]
