"""Tables 1 and 2: c-TPE against each other method, counted by medians over settings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.studies.papers import power
from benchmarks.studies.papers.c_tpe import settings
from benchmarks.studies.papers.c_tpe.printed import Count, table_1, table_2
from benchmarks.studies.papers.c_tpe.results import Results, gap_ratio
from benchmarks.studies.papers.c_tpe.settings import Setting
from benchmarks.studies.papers.rows import (
    OURS_ALONE,
    Range,
    Row,
    Verdict,
    judged,
    judged_ratio,
    missing,
    ratio_in_words,
    together,
)

# A cell in which the paper wins so many of 27 is held to more than half of ours and to the level.
MANY_WINS, LEVEL, WORSE_LEVEL = 20, 0.01, 0.05
# As printed in Table 1, and ours.
METHODS = {
    "Naïve c-TPE": settings.NAIVE,
    "Vanilla TPE": settings.VANILLA,
    "Random": settings.RANDOM,
    "CNSGA-II": settings.CNSGA,
}
# "Not worse", of the distances from the oracle: our range.
NOT_WORSE = Range(high=1.25)
PEER = "tables in PARZAX_DATA, Optuna, and ten minutes for each kind of constraint"


@dataclass(frozen=True)
class Comparison:
    """One method against another over some settings after a budget.

    Attributes:
        count: by medians.
        error: standard error of wins less losses, by resampling the seeds.
        ratio: geometric mean of ours over theirs.
        p_better, p_worse: one-sided signed-rank tests on logs of medians.
        effect: the smallest relative difference that the test at `LEVEL` would have seen in 80 % of cases.
    """

    count: Count
    error: float
    ratio: float
    p_better: float
    p_worse: float
    effect: float


def compare(
    results: Results, method: str, other: str, own: Sequence[Setting], budget: int, level: float = LEVEL
) -> Comparison:
    """Method against the other."""
    ours, theirs = (results.medians(name, own, budget) for name in (method, other))
    logs = power.differences(np.log(ours), np.log(theirs))
    first, again = (results.resampled(method, own, budget, copy) for copy in (0, 1))
    second = results.resampled(other, own, budget, 0)
    net = (first < second).sum(axis=0) - (first > second).sum(axis=0)
    return Comparison(
        Count(int((logs < 0).sum()), int((logs > 0).sum()), int((logs == 0).sum())),
        float(np.std(net)),
        float(np.exp(logs[np.isfinite(ours) & np.isfinite(theirs)].mean())),
        power.signed_rank(logs, "less"),
        power.signed_rank(logs, "greater"),
        power.of_settings(first, again, level),
    )


def judge(found: Comparison, printed: Count) -> Verdict:
    """Of one cell of Table 1."""
    n = sum(found.count)
    if printed.wins < MANY_WINS:
        return judged(found.count.wins - found.count.losses, found.error, Range(1))
    if found.p_worse < WORSE_LEVEL:
        return Verdict.DIFFERS
    if found.effect > power.MATTERS:
        return Verdict.NOT_TOLD_APART
    seen = found.count.wins > n / 2 and found.p_better < LEVEL
    return Verdict.AGREES if seen else Verdict.DIFFERS


def rows(results: Results, most: Results) -> Iterator[Row]:
    """Table 1, then Table 2; beside the latter, with the most seeds there are, how large a difference is."""
    printed_cells = table_1()
    if not printed_cells:
        words = "wins/losses/ties of c-TPE against each other method, by quantile"
        yield missing("t1", "Table 1", words, "papers/ctpe_table1.csv in PARZAX_DATA")
    for printed, cells in printed_cells.items():
        if printed not in METHODS:  # `nei` and `levels` compare NEI and HM2, on two tables
            continue
        for quantile in settings.PRINTED_QUANTILES:
            yield _row(results, printed, quantile, cells)
    for quantile in settings.PRINTED_QUANTILES:
        yield _other_top(results, quantile)
    for quantile in settings.PRINTED_QUANTILES:
        yield from _augmented(results, most, quantile)


def _row(results: Results, printed: str, quantile: float, cells: dict[tuple[float, int], Count]) -> Row:
    numbers = ", ".join(str(cells[quantile, budget]) for budget in settings.BUDGETS)
    key, where = f"t1-{printed}-{quantile:g}", f"Table 1, {printed} at {quantile:g}"
    text = f"wins/losses/ties of c-TPE in 27 settings after 50, 100, 150, 200: {numbers}"
    method = METHODS[printed]
    own = results.settings((settings.OURS, method), quantile)
    if not own:
        return missing(key, where, text, PEER)
    found = [compare(results, settings.OURS, method, own, budget) for budget in settings.BUDGETS]
    verdict = together(
        [judge(one, cells[quantile, budget]) for one, budget in zip(found, settings.BUDGETS, strict=True)]
    )
    ours = ", ".join(f"{one.count} (p = {one.p_better:.1g})" for one in found)
    note = power.in_words(max(one.effect for one in found))
    if any(cells[quantile, budget].wins < MANY_WINS for budget in settings.BUDGETS):
        errors = ", ".join(f"{one.error:.1f}" for one in found)
        note += (
            f"; with fewer than {MANY_WINS} printed wins: more wins than losses (standard errors {errors})"
        )
    return Row(key, where, text, f"{ours}, of {len(own)}", verdict, note)


def _other_top(results: Results, quantile: float) -> Row:
    """Not of the paper: Optuna's rule for categories, which depends on n, in c-TPE."""
    key, where = f"top-{quantile:g}", OURS_ALONE
    printed = f"c-TPE at {quantile:g}: a fixed top for categories is no worse than Optuna's"
    own = results.settings((settings.TOP, settings.OURS), quantile)
    if not own:
        return missing(key, where, printed, "tables in PARZAX_DATA")
    found = [compare(results, settings.TOP, settings.OURS, own, budget) for budget in settings.BUDGETS]
    ours = ", ".join(f"{c.count} (p = {c.p_better:.1g})" for c in found)
    seen = min(c.p_better for c in found) < LEVEL
    effect = max(c.effect for c in found)
    same = Verdict.AGREES if effect <= power.MATTERS else Verdict.NOT_TOLD_APART
    text = f"wins/losses/ties of Optuna's top after 50, 100, 150, 200: {ours}, of {len(own)}"
    return Row(key, where, printed, text, Verdict.DIFFERS if seen else same, power.in_words(effect))


def _augmented(results: Results, most: Results, quantile: float) -> Iterator[Row]:
    """By the paper's test, with as many seeds as it has; then by how much, with more."""
    cells, early = table_2(), quantile == settings.PRINTED_QUANTILES[0]
    numbers = ", ".join(str(cells[quantile, b]) for b in settings.BUDGETS) if cells else "–"
    key, where = f"t2-{quantile:g}", f"Table 2, Appendix E.3, knowledge augmentation at {quantile:g}"
    claim = "better after 50 and 100" if early else "not significantly worse after any budget"
    text = f"{claim}; wins/losses/ties in 18 settings after 50, 100, 150, 200: {numbers}"
    both = settings.AUGMENTED, settings.OURS
    own = results.settings(both, quantile)
    if not own:
        yield missing(key, where, text, "tables in PARZAX_DATA")
        return
    found = [compare(results, *both, own, budget, WORSE_LEVEL) for budget in settings.BUDGETS]
    each = (f"{one.count} (p better {one.p_better:.2g}, worse {one.p_worse:.2g})" for one in found)
    n_seeds = len(results.losses[settings.AUGMENTED][own[0]])
    note = f"signed-rank test at p < {WORSE_LEVEL:g} on medians of {n_seeds} seeds, {len(own)} settings; "
    note += power.in_words(max(one.effect for one in found))
    yield Row(key, where, text, "; ".join(each), _of_test(found[:2] if early else found, better=early), note)
    ratios = [gap_ratio(most, *both, own, budget) for budget in settings.BUDGETS]
    verdicts = (
        [judged_ratio(*r) for r in ratios[:2]] if early else [judged_ratio(*r, NOT_WORSE) for r in ratios]
    )
    wanted = Range(high=1.0) if early else NOT_WORSE
    n_seeds = len(most.losses[settings.AUGMENTED][own[0]])
    yield Row(
        f"t2-ratio-{quantile:g}", OURS_ALONE,
        f"by how much, at {quantile:g} after 50, 100, 150, 200 [{'first two ' * early}{wanted}]",
        ", ".join(ratio_in_words(*ratio) for ratio in ratios), together(verdicts),
        f"absolute percentage losses over those without augmentation, geometric mean; {n_seeds} seeds",
    )  # fmt: skip


def _of_test(found: Sequence[Comparison], *, better: bool) -> Verdict:
    """The paper's: significant where a speedup is claimed, and not where no loss is."""
    if min(one.p_worse for one in found) < WORSE_LEVEL:
        return Verdict.DIFFERS
    if better:
        seen = max(one.p_better for one in found) < WORSE_LEVEL
        return Verdict.AGREES if seen else Verdict.NOT_TOLD_APART
    blind = max(one.effect for one in found) > power.MATTERS
    return Verdict.NOT_TOLD_APART if blind else Verdict.AGREES
