"""The page: what was compared, ranks, gaps, who is ahead where, times."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.studies.optimisers import figures, scores
from benchmarks.studies.optimisers.methods import RANDOM
from benchmarks.studies.optimisers.scores import FLOOR, Curves

SECONDS = """Seconds per run are the time of all runs over their number, on one core while another was
busy. Our runs are all in one call, with compilation. Those of the others follow each other, with
evaluations in Python."""
COMPARED = f"""A cell such as "9/3, 0.75, p = 0.01" means: the first sampler has the smaller median gap on 9
problems and the larger one on 3; the geometric mean of its gaps is 0.75 times the other's; p is from
Wilcoxon's test over problems (Holm, for the methods of a part). Gaps below {FLOOR:g} times that of a random
configuration are raised to this value."""

# A problem on which others are ahead.
LEVEL = 0.01
# What a case is called in tables of all: its suite is what stands before the number of dimensions.
Groups = Mapping[str, Sequence[str]]


def tables(
    found: Mapping[str, Curves],
    groups: Groups,
    budgets: Sequence[int],
    reference: str,
    seconds: Mapping[str, float],
) -> str:
    """All tables in Markdown, ``reference`` being compared with each of the others."""
    cases = [case for own in groups.values() for case in own]
    scale = scores.typical(found[RANDOM])
    parts = {"all": cases} | (dict(groups) if len(groups) > 1 else {})
    blocks = [
        "### Mean rank",
        _ranks(found, cases, budgets, seconds),
        SECONDS,
        "### Normalised gap",
        _gaps(found, scale, groups, budgets),
        f"### {reference} beside each of the others",
        COMPARED,
        _comparisons(found, scale, parts, budgets, reference),
    ]
    return "\n\n".join(blocks)


def pictures(
    found: Mapping[str, Curves], groups: Groups, budget: int, folder: Path, reference: str | None = None
) -> str:
    """Draws them; Markdown that shows them. With a reference, of many settings, ratios in place of lines."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = [case for own in groups.values() for case in own]
    scale = scores.typical(found[RANDOM])
    if reference is None:
        first = "anytime", "Normalised gap over evaluations, geometric mean over the problems of a suite"
        figures.anytime(found, scale, groups, folder / first[0])
    else:
        first = (
            "worth",
            f"Gaps over those of {reference} {{}}, geometric means with 95 % intervals over problems",
        )
        figures.worth(found, scale, groups, reference, budget, folder / first[0])
    means = dict(zip(found, scores.ranks(found, cases, budget).mean(axis=1), strict=True))
    difference = scores.critical_difference(len(found), len(cases))
    title = f"after {budget} evaluations"
    figures.critical(means, difference, len(cases), title, folder / "critical_difference")
    about = {
        first[0]: first[1].format(title),
        "critical_difference": f"Mean ranks {title}; a bar joins what Nemenyi's test does not tell apart",
    }
    where = f"{folder.parent.name}/{folder.name}"
    return "\n\n".join(
        f"![{text}]({where}/{name}.png)\n\n{text} ([numbers]({where}/{name}.csv))"
        for name, text in about.items()
    )


def of_few(own: Mapping[str, Curves], names: Sequence[str], budgets: Sequence[int], reference: str) -> str:
    """``reference`` beside methods that have not run on all problems, on those that they have."""
    scale, some = scores.typical(own[RANDOM]), {name: own[name] for name in names}
    by_budget = [scores.compare(own[reference], some, scale, budget) for budget in budgets]
    heads = ["", "problems", "runs", *(f"after {budget}" for budget in budgets)]
    return table(heads, [
        [name, str(len(own[name])), str(n_runs(own[name])), *(str(found[name]) for found in by_budget)]
        for name in names
    ])  # fmt: skip


def n_runs(curves: Curves) -> int:
    """The fewest runs of a problem."""
    return min(map(len, curves.values()))


def ahead(own: Mapping[str, Curves], reference: str, budgets: Sequence[int]) -> str:
    """Problems on which some other is ahead of the reference at p < 0.01, adjusted over problems; how far."""
    heads, lines = ["", *(f"after {budget}" for budget in budgets)], []
    for name, theirs in own.items():
        if name in (reference, RANDOM):
            continue
        # Where every run of one problem was ahead.
        if 0.5 ** n_runs(theirs) * len(theirs) >= LEVEL:
            lines.append([f"{name}, of {len(theirs)} problems", *["too few runs to tell"] * len(budgets)])
            continue
        cells = []
        for budget in budgets:
            bad = [case for case, p in scores.worse(own[reference], theirs, budget).items() if p < LEVEL]
            cells.append("; ".join(_how_far(case, own[reference], theirs, budget) for case in bad) or "none")
        lines.append([f"{name}, of {len(theirs)} problems", *cells])
    return table(heads, lines)


def _how_far(case: str, ours: Curves, theirs: Curves, budget: int) -> str:
    """By what factor the median gap is larger."""
    medians = [np.median(curves[case][:, budget - 1]) for curves in (ours, theirs)]
    return f"{case}, {medians[0] / medians[1]:.2g}x" if medians[1] > 0 else f"{case}, which it has solved"


def _ranks(
    found: Mapping[str, Curves], cases: Sequence[str], budgets: Sequence[int], seconds: Mapping[str, float]
) -> str:
    columns = [scores.ranks(found, cases, budget).mean(axis=1) for budget in budgets]
    order = np.argsort(columns[-2 if len(columns) > 1 else -1])
    names = list(found)
    lines = [[names[i], *(f"{own[i]:.2f}" for own in columns), f"{seconds[names[i]]:.2f}"] for i in order]
    heads = ["", *(f"after {budget}" for budget in budgets), "seconds per run"]
    return table(heads, lines)


def _gaps(
    found: Mapping[str, Curves], scale: Mapping[str, float], groups: Groups, budgets: Sequence[int]
) -> str:
    lines = []
    for suite, cases in groups.items():
        for method, own in found.items():
            values = scores.normalised(own, scale, cases)
            texts = []
            for budget in budgets:
                at = values[:, budget - 1]
                low, high = scores.interval(at)
                texts.append(f"{np.exp(np.log(at).mean()):.2g} ({low:.2g}, {high:.2g})")
            lines.append([f"{suite}, {len(cases)} problems", method, *texts])
    return table(["", "", *(f"after {budget}" for budget in budgets)], lines)


def _comparisons(
    found: Mapping[str, Curves],
    scale: Mapping[str, float],
    parts: Groups,
    budgets: Sequence[int],
    reference: str,
) -> str:
    lines = []
    for part, cases in parts.items():
        own = {name: {case: curves[case] for case in cases} for name, curves in found.items()}
        others = {name: curves for name, curves in own.items() if name != reference}
        by_budget = [scores.compare(own[reference], others, scale, budget) for budget in budgets]
        lines += [[part, name, *(str(compared[name]) for compared in by_budget)] for name in others]
    return table(["", "", *(f"after {budget}" for budget in budgets)], lines)


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """In Markdown."""
    rows = [heads, ["---"] * len(heads), *lines]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
