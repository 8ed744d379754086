"""Further statements of the text: about the curves, about the printed tables, and what cannot be tried."""

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from benchmarks.studies.papers.cond_ped_anova import learners
from benchmarks.studies.papers.cond_ped_anova.curves import Curves, of_unit, sources, spread
from benchmarks.studies.papers.cond_ped_anova.statements import (
    DISJOINT,
    MOVING,
    NESTED,
    OVERLAP,
    Measure,
    Statement,
    highest,
    levels_above,
    mirrored_c,
    raw_jump,
    share,
    unweighted_mirror,
)
from benchmarks.studies.papers.rows import Range, Row, by_the_larger, judged, missing
from benchmarks.studies.papers.runs import Arrays

# Levels at which the target gets or loses a regime: y is first active, and x last.
BOUNDARIES = {DISJOINT: (0.5,), OVERLAP: (3 / 14, 11 / 14), MOVING: (0.5,)}
AT_BOUNDARY = Range(high=0.03)
REPOSITORY = "github.com/kAIto47802/condPED-ANOVA"
# The instances whose gaps the text compares, the widest first; the top ones; "large", of accuracies.
GAP_INSTANCES, AMONG_TOP = ("1457", "1063", "1468"), 3
SORTED, POSITIVE, SPREAD = Range(high=0.0), Range(0), Range(0.05)
NETWORK = "the network of the released rbv2_super (a model in ONNX) is not in the folder of data"
NOT_RUN = {
    "gaps-importance": "on 1063 and 1468 learner_id is slightly below parameters of the top learners",
    "1468-importance": "on 1468 svm and ranger have higher importances than aknn",
}


def rise(*pairs: tuple[str, float, float]) -> Measure:
    """The smallest of mean importances of a parameter at one level less at another."""
    return lambda own: min(share(name, high)(own) - share(name, low)(own) for name, high, low in pairs)


def standard_share(name: str, level: float) -> Measure:
    """Share of the standard variance."""
    return lambda own: float(own.shares("standard").mean(axis=0)[own.at(level), own.names.index(name)])


def jump_to_boundary(problem: str) -> Measure:
    """How far the largest jump of shares without weights is from the nearest boundary between regimes."""

    def distance(own: Curves) -> float:
        jumps = np.abs(np.diff(own.shares("unweighted").mean(axis=0), axis=0)).max(axis=-1)
        level = (own.levels[1:] + own.levels[:-1])[jumps.argmax()] / 2
        return float(min(abs(level - boundary) for boundary in BOUNDARIES[problem]))

    return distance


def unweighted_lead(name: str, low: float, high: float) -> Measure:
    """The largest lead of a parameter's mean share without weights, over levels."""

    def lead(own: Curves) -> float:
        shares = own.shares("unweighted").mean(axis=0)[own.between(low, high)]
        at = own.names.index(name)
        return float((shares[:, at] - np.delete(shares, at, axis=1).max(axis=1)).max())

    return lead


def unweighted_mirror_alone(own: Curves) -> float:
    """The largest |x(q) - x(1 - q)| of shares without weights; of y too."""
    shares = own.shares("unweighted").mean(axis=0)
    each = (shares[:, own.names.index(name)] for name in "xy")
    return max(float(np.abs(x - x[::-1]).max()) for x in each)


def _section_5() -> list[Statement]:
    first, overlap = "Figures 1, 11, disjoint", "Figures 1, 11, overlap"
    moving = "Figure 7, region 0.5, regime-dependent domains"
    return [
        Statement("f1-x-grows", first, "x grows as the level falls: at 0.1 less at 0.4", DISJOINT,
                  rise(("x", 0.1, 0.4)), Range(0)),
        Statement("f1-overlap-c-099", overlap, "c is not 0 near 1: at 0.99", OVERLAP, share("c", 0.99),
                  Range(0.005)),
        Statement("f1-overlap-asymmetry", overlap, "a slight asymmetry: c at 0.99 less c at 0.01", OVERLAP,
                  lambda own: share("c", 0.99)(own) - share("c", 0.01)(own), Range(0.01)),
        Statement("f1-overlap-mirror-c", overlap, "c is symmetric: |c(q) - c(1 - q)|", OVERLAP, mirrored_c,
                  Range(high=0.12)),
        Statement("f7-moving-c", moving, "c matters little up to 0.4", MOVING, highest("c", 0, 0.4),
                  Range(high=0.1), region=0.5),
        Statement("f7-moving-xy", moving, "x is above y at all 49 levels", MOVING,
                  levels_above("x", "y", "variance"), Range(49), region=0.5),
        Statement("f12-grow", "Figure 12, nested",
                  "x, y and z grow away from the boundaries of their regimes: the smallest rise", NESTED,
                  rise(("x", 0.1, 0.35), ("y", 0.55, 0.4), ("y", 0.55, 0.72), ("z", 0.95, 0.78)), Range(0)),
    ]  # fmt: skip


def _section_5_5() -> list[Statement]:
    found = [
        Statement(f"f3-inactive-{name}-{problem}", f"Figure 3, Section 5.5.1, {problem}",
                  f"{name} has a standard share where it is inactive, at {level:g}", problem,
                  standard_share(name, level), Range(0.05))
        for name, level, problem in (("x", 0.9, DISJOINT), ("y", 0.1, OVERLAP), ("x", 0.9, OVERLAP))
    ]  # fmt: skip
    found += [
        Statement(f"f4-boundary-{problem}", f"Figure 4, Section 5.5.2, {problem}",
                  "without weights shares jump where regimes switch: distance of the largest jump from there",
                  problem, jump_to_boundary(problem), AT_BOUNDARY)
        for problem in BOUNDARIES
    ]  # fmt: skip
    found += [
        Statement(f"f4-raw-{problem}", f"Figure 4, Section 5.5.2, {problem}",
                  "without weights those of x and y jump: largest over the largest value", problem,
                  raw_jump("unweighted"), Range(0.1))
        for problem in (DISJOINT, MOVING)
    ]  # fmt: skip
    return [
        *found,
        Statement("f4-y-dominates", "Figure 4, Section 5.5.2, overlap",
                  "without weights y dominates x and c as it becomes active: its largest lead at 0.21 to 0.3",
                  OVERLAP, unweighted_lead("y", 0.21, 0.3), Range(0.3)),
        Statement("f4-symmetry-disjoint", "Figure 4, Section 5.5.2, disjoint",
                  "without weights the symmetry breaks: largest |x(q) - y(1 - q)|", DISJOINT,
                  unweighted_mirror, Range(0.3)),
        Statement("f4-symmetry-moving", "Figure 4, Section 5.5.2, regime-dependent domains",
                  "without weights the symmetry breaks: largest |x(q) - x(1 - q)|, or of y", MOVING,
                  unweighted_mirror_alone, Range(0.3)),
    ]  # fmt: skip


STATEMENTS = [*_section_5(), *_section_5_5()]


def _zoom(region: Curves, whole: Curves) -> float:
    """The largest difference of the curves of c in the better half and of all rows, at the same levels."""
    return float(np.abs(region.mean("c") - whole.mean("c")[: len(region.levels)]).max())


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """What compares two regions, and what cannot be tried."""
    wanted, verdicts, texts = Range(0.3), {}, []
    for source in sources():
        region, whole = (
            of_unit(found[f"curves/{source}/{DISJOINT}{end}"], DISJOINT, own)["default"]
            for end, own in (("-0.5", 0.5), ("", 1.0))
        )
        number, error = spread(_zoom, region, whole)
        verdicts[source] = judged(number, error, wanted)
        texts.append(f"{source} {number:.3g} ± {error:.2g}")
    yield Row(
        "f7-zoom", "Figure 7, D.2, disjoint",
        f"a region of 0.5 is not a zoom into Figure 1: largest difference of c at the same levels [{wanted}]",
        f"default: {', '.join(texts)}", by_the_larger(verdicts.get("stored"), verdicts["fresh"]),
    )  # fmt: skip
    printed = learners.printed()
    if printed:
        yield from _printed_alone(printed)
    without = [own for own in GAP_INSTANCES if f"learners/{own}" not in found]
    for key, printed_text in NOT_RUN.items():
        if without:
            logs = f"logs of the instances {', '.join(without)}: {NETWORK}"
            yield missing(f"learners-{key}", "Figure 14, Appendix G", printed_text, logs)
    yield missing(
        "figures-values", "Figures 1 to 14", "the curves and bars themselves",
        f"their numbers: none are printed, and {REPOSITORY} has the programs and no results",
    )  # fmt: skip
    yield missing(
        "b2-intervals", "Appendix B.2",
        "where domains vary continuously with other parameters, it is better to pool them in fixed intervals",
        "such a problem: the paper has none, and says neither how many intervals nor how much better",
    )  # fmt: skip


def _printed_alone(rows_of: list[learners.Printed]) -> Iterator[Row]:
    """What the text says of Tables 1 and 2, by the printed numbers alone."""
    tables = {row.instance: [own for own in rows_of if own.instance == row.instance] for row in rows_of}
    falls = {
        instance: max((b.numbers["max"][0] - a.numbers["max"][0], f"{a.learner} above {b.learner}")
                      for a, b in pairwise(own))
        for instance, own in tables.items()
    }  # fmt: skip
    instance, (rise, which) = max(falls.items(), key=lambda item: item[1])
    yield Row(
        "tables-sorted", "Tables 1 and 2, captions",
        f"learners are sorted by their largest accuracy: largest rise to the next line [{SORTED}]",
        f"{rise:.3f} ({which} on {instance}); by the printed numbers", judged(rise, 0, SORTED),
        reason=f"the printed table of {instance} has {which}, whose largest is {rise:.3f} higher",
    )  # fmt: skip
    if set(GAP_INSTANCES) <= tables.keys():
        gaps = {
            own: [max(x) - min(x) for x in ([row.numbers[kind][0] for row in tables[own][:AMONG_TOP]]
                                            for kind in ("mean", "max"))]
            for own in GAP_INSTANCES
        }  # fmt: skip
        least, others = gaps[GAP_INSTANCES[0]], [gaps[own] for own in GAP_INSTANCES[1:]]
        ahead = min(a - b for own in others for a, b in zip(least, own, strict=True))
        text = "; ".join(f"{own}: {x[0]:.3f}, {x[1]:.3f}" for own, x in gaps.items())
        two = [tables[own][0].numbers["max"][0] - tables[own][1].numbers["max"][0] for own in GAP_INSTANCES]
        yield Row(
            "table-2-gaps", "Appendix G, Table 2",
            f"the top {AMONG_TOP} learners are closer on 1063 and 1468 than on 1457, by mean and largest "
            f"[{POSITIVE}]",
            f"by at least {ahead:.3f} ({text}); by the printed numbers", judged(ahead, 0, POSITIVE),
            f"read as: of the first {AMONG_TOP}; the largest of the first two alone are {two[1]:.3f} and "
            f"{two[2]:.3f} apart there, and {two[0]:.3f} on 1457",
        )  # fmt: skip
        by_name = {row.learner: row.numbers for row in tables["1468"]}
        first = max(by_name, key=lambda name: by_name[name]["mean"][0])
        ahead = min(by_name[name]["max"][0] for name in ("svm", "ranger")) - by_name["aknn"]["max"][0]
        yield Row(
            "table-2-1468", "Appendix G, Table 2",
            f"on 1468 aknn has the highest mean, and svm and ranger have higher largest values [{POSITIVE}]",
            f"{first}; by at least {ahead:.3f}; by the printed numbers",
            judged(ahead if first == "aknn" else -1.0, 0, POSITIVE),
        )  # fmt: skip
    if learners.FIRST in tables:
        best = [row.numbers["max"][0] for row in tables[learners.FIRST]]
        yield Row(
            "table-1-spread", "Section 6.2, Table 1",
            "attainable accuracies differ much between learners: highest less lowest of the largest "
            f"[{SPREAD}]",
            f"{max(best) - min(best):.3f}; by the printed numbers", judged(max(best) - min(best), 0, SPREAD),
        )  # fmt: skip
