"""Rows of Figures 4, 5 and 7 to 11: tables with two metrics."""

from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks.studies.papers.meta_learn_tpe.searches import N_ROWS
from benchmarks.studies.papers.meta_learn_tpe.two_metrics import (
    ALONE,
    COLD,
    DISSIMILAR,
    ETAS,
    FRESH,
    METHODS,
    MO,
    N_EVALUATIONS,
    N_STARTUP,
    NOTE,
    OURS,
    RANDOM,
    Found,
    gap,
    log_ratio,
)
from benchmarks.studies.papers.rows import (
    OURS_ALONE,
    Range,
    Row,
    Verdict,
    judged,
    judged_ratio,
    missing,
    ratio_in_words,
    standard_error,
    together,
)
from benchmarks.studies.papers.tables import Table

# The table, and the setting, that the ablation of eta names.
OTHER, OTHER_ETA = "parkinsons_telemonitoring", 1.5
# The table of HPOlib on which the paper's method is not the best.
EXCEPTION = "protein_structure"
# Share of different entries below which repeats cost a run something.
MOST_DIFFERENT = 0.8
# Runs of the paper, and draws of so many of ours.
N_PRINTED, N_DRAWS = 20, 2000
# "Slightly worse", "indistinguishable": our ranges, of the distances from the true front.
SLIGHTLY, SAME = Range(1.0, 1.5), Range(0.8, 1.25)
# "Still improves": our range, of the distance after all evaluations over that after three quarters of them.
IMPROVES = Range(high=0.95)


def rows(
    found: Mapping[str, Found],
    more: Mapping[str, Found],
    cold: Mapping[str, Found],
    tables: Mapping[str, Table],
) -> Iterator[Row]:
    """Rows of all these figures, from `search`, `without_repeats` and `without_start` by table."""
    yield from _not_at_hand()
    if not found:
        for figure, what in (
            ("Figures 4, 5", "hypervolume on tables"), ("Figures 7, 8", "attainment surfaces"),
            ("Figure 9", "configurations of the top"), ("Figures 10, 11", "eta from 1.5 to 5"),
        ):  # fmt: skip
            yield missing(f"{figure}-tables", figure, what, "tables in PARZAX_DATA")
        return
    for table, own in found.items():
        yield from _curves(table, own, tables[table])
        if table in more:
            yield _fresh(table, more[table])
    yield _exception(found.get(EXCEPTION))
    yield missing(
        "f9-index", "Figure 9, Appendix D", "the top of Protein Structure lies elsewhere than the others'",
        "the table of Protein Structure, and the paper's order of configurations",
    )  # fmt: skip
    yield _same(found)
    yield _warm_start(found, cold)
    for table, own in found.items():
        yield _eta(table, own, found)
    yield _distinct(found, more)


def _not_at_hand() -> Iterator[Row]:
    """What no folder provides."""
    yield missing(
        "tagalog", "Figures 5, 8, 11, Tagalog to English", "ours has the best curve",
        "that table, which is not in PARZAX_DATA",
    )  # fmt: skip
    yield missing(
        "competition", "Abstract, Section 6", "won the AutoML 2022 competition on transformers",
        "its tasks and its server",
    )  # fmt: skip


def _curves(table: str, own: Found, about: Table) -> Iterator[Row]:
    where = f"{'Figure 5' if about.family == 'nmt_bench' else 'Figure 4'}, Section 5.2, {table}"
    ours, n = gap(own, OURS), len(own.share[OURS])
    ratios = {name: log_ratio(ours, gap(own, name)) for name in (MO, RANDOM, ALONE)}
    text = ", ".join(f"{name} {ratio_in_words(*ratio)}" for name, ratio in ratios.items())
    if table != EXCEPTION:
        last = ", after all" if table == DISSIMILAR else ""
        yield Row(
            f"f4-best-{table}", where, f"ours has the best curve of these baselines{last}",
            f"over them after {N_EVALUATIONS}: {text}", together([judged_ratio(*r) for r in ratios.values()]),
            f"{NOTE}; {n} runs",
        )  # fmt: skip
    if about.family != "nmt_bench" and table != EXCEPTION:
        early = {b: log_ratio(gap(own, OURS, b), gap(own, MO, b)) for b in (20, 50)}
        yield Row(
            f"f4-mo-{table}", where, "ours has the best curve: ahead of MO-TPE earlier too",
            "over MO-TPE after 20, 50: " + ", ".join(ratio_in_words(*ratio) for ratio in early.values()),
            together([judged_ratio(*ratio) for ratio in early.values()]), NOTE,
        )  # fmt: skip
    ratio = log_ratio(gap(own, ALONE), gap(own, RANDOM))
    verdict = judged_ratio(*ratio, SLIGHTLY)
    yield Row(
        f"f4-warm-{table}", where,
        f"only warm start is slightly worse than 100 random evaluations [{SLIGHTLY}]",
        f"over them: {ratio_in_words(*ratio)}; {own.share[ALONE].shape[1]} rows, the best tenth of sources",
        verdict, f"{NOTE}; our range", _about_start(own) if verdict is Verdict.DIFFERS else "",
    )  # fmt: skip
    if about.family == "nmt_bench":
        earlier = 3 * N_EVALUATIONS // 4
        ratio = log_ratio(ours, gap(own, OURS, earlier), paired=True)
        yield Row(
            f"f5-improving-{table}", where, f"ours still improves until the end [{IMPROVES}]",
            f"after {N_EVALUATIONS} over after {earlier}: {ratio_in_words(*ratio)}",
            judged(*ratio, Range(high=float(np.log(IMPROVES.high)))), f"{NOTE}; our range",
        )  # fmt: skip


def _about_start(own: Found) -> str:
    """How good the rows of the warm start are, and what fewer of them reach; more cannot be tried."""
    top = max(own.tops)
    good, others = (own.tops[top][name][:, -1] / own.share[name].shape[1] for name in (ALONE, RANDOM))
    n, of_source = own.share[ALONE].shape[1], N_ROWS // 10
    fewer = (
        f"its first {k} are at {ratio_in_words(*log_ratio(gap(own, ALONE, k), gap(own, RANDOM)))}"
        for k in (N_STARTUP, of_source)
        if k < n
    )
    return (
        f"more rows are better: over them {', '.join(fewer)} ({N_STARTUP} is the paper's N_init, {of_source} "
        f"the best tenth of one source, of which the paper has one more); of the {n} rows "
        f"{100 * good.mean():.0f} % are of the best {100 * top:g} %, of random ones "
        f"{100 * others.mean():.0f} %"
    )


def _fresh(table: str, own: Found) -> Row:
    ratio = log_ratio(gap(own, FRESH[OURS]), gap(own, FRESH[MO]))
    return Row(
        f"f4-no-repeats-{table}", OURS_ALONE, f"{table}: without repeats ours is ahead of MO-TPE",
        f"over MO-TPE after {N_EVALUATIONS}: {ratio_in_words(*ratio)}", judged_ratio(*ratio),
        f"no configuration is suggested again; {NOTE}; {len(own.share[FRESH[OURS]])} runs",
    )  # fmt: skip


def _exception(own: Found | None) -> Row:
    key, where = "f4-protein", f"Figure 4, Section 5.2, {EXCEPTION}"
    printed = "the one table of HPOlib on which ours is not the best, though ahead of MO-TPE"
    if own is None:
        return missing(key, where, printed, "that table, which is not in PARZAX_DATA")
    ratio = log_ratio(gap(own, OURS), gap(own, MO))
    return Row(key, where, printed, f"over MO-TPE {ratio_in_words(*ratio)}", judged_ratio(*ratio), NOTE)


def _same(found: Mapping[str, Found]) -> Row:
    ratios = {table: log_ratio(gap(own, OURS), gap(own, MO)) for table, own in found.items()}
    text = ", ".join(f"{table} {ratio_in_words(*ratio)}" for table, ratio in ratios.items())
    wanted = Range(high=SAME.high)
    return Row(
        "same", "Appendix D", f"at least indistinguishable from MO-TPE in our settings [{wanted}]",
        f"over MO-TPE after {N_EVALUATIONS}: {text}",
        together([judged_ratio(*ratio, wanted) for ratio in ratios.values()]), f"{NOTE}; our range",
    )  # fmt: skip


def _warm_start(found: Mapping[str, Found], cold: Mapping[str, Found]) -> Row:
    """Ours over ours with random first configurations."""
    each = {
        table: [log_ratio(gap(found[table], OURS, b), gap(own, COLD, b)) for b in (10, N_EVALUATIONS)]
        for table, own in cold.items()
    }
    text = "; ".join(f"{name} {', '.join(ratio_in_words(*r) for r in own)}" for name, own in each.items())
    return Row(
        "warm-start", "Section 4.4", "the warm start further speeds up optimisations",
        f"over ours with a random start, after 10 and {N_EVALUATIONS}: {text}",
        together([judged_ratio(*own[0]) for own in each.values()]),
        f"read as: ahead after 10 evaluations; {NOTE}",
    )  # fmt: skip


def _eta(table: str, own: Found, every: Mapping[str, Found]) -> Row:
    """Figures 10, 11: every setting beside 2.5."""
    base = gap(own, "eta/2.5")
    ratios = {eta: log_ratio(gap(own, f"eta/{eta:g}"), base, paired=True) for eta in ETAS if eta != 2.5}
    text = "; ".join(f"{eta:g}: {ratio_in_words(*ratio)}" for eta, ratio in ratios.items())
    printed = f"eta from 1.5 to 5 is almost indistinguishable [{SAME}]"
    verdicts = [judged_ratio(*r, SAME) for eta, r in ratios.items() if (table, eta) != (OTHER, OTHER_ETA)]
    if table == OTHER:
        printed += " but for 1.5"
        verdicts.append(_outside(*ratios[OTHER_ETA]))
    where = f"Figures 10, 11, C.2.3, {table}"
    reason = _by_chance(every) if table == OTHER else ""
    return Row(f"f10-{table}", where, printed, f"over 2.5: {text}", together(verdicts), NOTE, reason)


def _by_chance(every: Mapping[str, Found]) -> str:
    """How often as many runs as the paper has would show a ratio outside the range."""
    rng, outside = np.random.default_rng(0), {}

    def drawn(found: Found, eta: float) -> np.ndarray:
        gaps = gap(found, f"eta/{eta:g}")
        return gaps[rng.integers(0, len(gaps), (N_DRAWS, N_PRINTED))].mean(axis=1)

    for table, found in every.items():
        base = drawn(found, 2.5)
        for eta in set(ETAS) - {2.5}:
            ratios = drawn(found, eta) / base
            outside[table, eta] = (ratios < SAME.low) | (ratios > SAME.high)
    some = np.any([*outside.values()], axis=0).mean()
    return (
        f"with {N_PRINTED} runs of each, as in the paper, chance puts "
        f"{OTHER_ETA:g} outside the range on this table in {100 * outside[OTHER, OTHER_ETA].mean():.0f} % of "
        f"draws, and some setting on some of {len(every)} tables in {100 * some:.0f} %"
    )


def _outside(log: float, error: float) -> Verdict:
    """Of a setting that is said to differ."""
    inside = judged_ratio(log, error, SAME)
    if inside is Verdict.NOT_TOLD_APART:
        return inside
    return Verdict.AGREES if inside is Verdict.DIFFERS else Verdict.DIFFERS


def _distinct(found: Mapping[str, Found], more: Mapping[str, Found]) -> Row:
    """Not of the paper: a reason why a sampler falls behind on a small table."""
    texts, verdicts = [], []
    for table, own in found.items():
        each = {name: distinct(own, name) for name in METHODS}
        wanted = Range(MOST_DIFFERENT * N_EVALUATIONS)
        verdicts.append(judged(float(each[OURS].mean()), standard_error(each[OURS]), wanted))
        texts.append(f"{table} {', '.join(f'{name} {x.mean():.0f}' for name, x in each.items())}")
    printed = f"of {N_EVALUATIONS} evaluations at least {100 * MOST_DIFFERENT:g} % are of different entries"
    note = "entries are single trainings, of which HPOlib has four for each configuration and NMT-Bench one"
    without = ", ".join(f"{table} {distinct(own, FRESH[OURS]).mean():.0f}" for table, own in more.items())
    reason = f"densities of few choices suggest the same again; of ours without repeats {without} differ"
    return Row("distinct", OURS_ALONE, printed, "; ".join(texts), together(verdicts), note, reason)


def distinct(own: Found, method: str) -> np.ndarray:
    """(s,) how many different entries of the table a run evaluated."""
    return np.array([len(np.unique(run, axis=0)) for run in own.objectives[method]], float)
