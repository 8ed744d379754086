"""What Section 5.2 and Appendix D say of Somali to English, the table whose sources are dissimilar."""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

import parzax as px
from benchmarks.studies.papers.meta_learn_tpe.two_metrics import (
    DISSIMILAR,
    MIXED_UP,
    MO,
    NOTE,
    OURS,
    Found,
    gap,
    log_ratio,
    problem,
)
from benchmarks.studies.papers.rows import (
    OURS_ALONE,
    Range,
    Row,
    Verdict,
    judged,
    judged_ratio,
    ratio_in_words,
    standard_error,
    together,
)
from benchmarks.studies.papers.tables import Table

# Share of entries that counts as the best where tables are compared.
BEST = 0.05


def rows(own: Found, mixed_up: Found, tables: Mapping[str, Table]) -> Iterator[Row]:
    """From the runs on it, from those with permuted losses of the sources, and the tables by name."""
    where = f"Figures 8, 9, Appendix D, {DISSIMILAR}"
    nearer = (
        "the source at hand shares more of its best entries with it than chance gives (row of overlaps); "
    )
    nearer += "with the source's losses permuted "
    mean, error = _worse(own, OURS, own)
    permuted, its_error = _worse(mixed_up, MIXED_UP, own)
    yield Row(
        "f8-bleu", where, "ours explores BLEU too little",
        f"best BLEU of 100 evaluations, less that of MO-TPE: {-mean:+.3f} ± {error:.2g}",
        judged(mean, error, Range(0)), "read as: below that of MO-TPE",
        f"{nearer}it is {-permuted:+.3f} ± {its_error:.2g}",
    )  # fmt: skip
    early, without = (
        {b: log_ratio(gap(runs, method, b), gap(own, MO, b)) for b in (10, 20, 50)}
        for runs, method in ((own, OURS), (mixed_up, MIXED_UP))
    )
    yield Row(
        "f5-struggles", f"Figure 5, Section 5.2, {DISSIMILAR}", "ours struggles, and recovers later",
        "over MO-TPE after 10, 20, 50: " + ", ".join(ratio_in_words(*ratio) for ratio in early.values()),
        together([judged_ratio(*ratio, Range(1.0)) for ratio in early.values()]),
        f"read as: behind MO-TPE at first; {NOTE}",
        nearer + ", ".join(ratio_in_words(*ratio) for ratio in without.values()),
    )  # fmt: skip
    of_family = {name: table for name, table in tables.items() if table.family == "nmt_bench"}
    means = {name: _bpe_symbols(table) for name, table in of_family.items()}
    overlaps = {
        tuple(pair): _overlap(*(tables[name] for name in pair))
        for pair in combinations(tables, 2)
        if len({tables[name].family for name in pair}) == 1
    }
    own_pair = max((x for pair, x in overlaps.items() if DISSIMILAR in pair), default=math.nan)
    others = [x for pair, x in overlaps.items() if DISSIMILAR not in pair]
    text = ", ".join(f"{' and '.join(pair)} {x:.2f}" for pair, x in overlaps.items())
    printed = f"{DISSIMILAR}: the best entries are further from those of its benchmark than on HPOlib"
    yield Row(
        "f9-overlap", OURS_ALONE, printed,
        f"overlap of the best {100 * BEST:g} % over their union: {text}; by chance {BEST / (2 - BEST):.2f}",
        judged(min(others) - own_pair, 0, Range(0)) if others else Verdict.CANNOT_BE_RUN,
        "by fronts of both metrics; of the table beside it as much",
    )  # fmt: skip
    lead = means[DISSIMILAR] - max(mean for name, mean in means.items() if name != DISSIMILAR)
    yield Row(
        "f9-bpe", where, "it alone requires a high number of BPE symbols",
        "mean place of the top 5 % among its values, 0 to 1: "
        + ", ".join(f"{name} {mean:.2f}" for name, mean in means.items()),
        judged(lead, 0, Range(0)), "read as: higher than of the other table at hand",
    )  # fmt: skip


def _worse(found: Found, method: str, beside: Found) -> tuple[float, float]:
    """Best first objective of the runs, less MO-TPE's, and its standard error; the objective is minimised."""
    ours, theirs = (
        own.objectives[name][..., 0].min(axis=1).astype(float)
        for own, name in ((found, method), (beside, MO))
    )
    error = np.hypot(standard_error(ours), standard_error(theirs))
    return float(ours.mean() - theirs.mean()), float(error)


def _overlap(*pair: Table) -> float:
    """Of the best entries of two tables of one benchmark, over their union (Eq. 28)."""
    best = []
    for table in pair:
        losses = np.asarray(problem(table).losses, np.float64).mean(axis=1)
        order = np.argsort(px.pareto.non_domination_rank(losses), kind="stable")
        best.append(np.isin(np.arange(len(order)), order[: round(BEST * len(order))]))
    return float((best[0] & best[1]).sum() / (best[0] | best[1]).sum())


def _bpe_symbols(table: Table) -> float:
    """Mean place of the best twentieth, by the first metric, among the values of the parameter."""
    own = problem(table)
    losses = np.asarray(own.losses, np.float64)[..., 0].mean(axis=1)
    best = np.argsort(losses)[: len(losses) // 20]
    column = next(i for i, name in enumerate(own.space.names) if "bpe" in name.lower())
    values = np.array([np.asarray(own.decode(int(row)))[column] for row in best])
    every = np.unique([np.asarray(own.decode(row))[column] for row in range(len(losses))])
    return float(np.searchsorted(every, values).mean() / (len(every) - 1))
