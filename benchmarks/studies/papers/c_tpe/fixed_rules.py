"""Four statements by rules that were fixed from the text alone, before their reader had seen any result.

A loss is the absolute percentage loss of Figure 1, infinite while a run has no feasible row: it ranks last,
and two such losses are equal. "Superiority" of a over b is the chance that a run of a has a lower loss than
one of b, equal losses counted half. Resamplings draw the runs of each arm with replacement, with all budgets
of a run together; intervals have 95 %.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import scipy.stats

from benchmarks.studies.papers import power
from benchmarks.studies.papers.c_tpe import settings, unconstrained
from benchmarks.studies.papers.c_tpe.levels import FEW, FEWER, HM2, LOOSE, NEEDS, NEEDS_HM2, chosen
from benchmarks.studies.papers.c_tpe.printed import Count, table_1
from benchmarks.studies.papers.c_tpe.results import Results, gap_ratio
from benchmarks.studies.papers.c_tpe.settings import CNSGA, NAIVE, OURS, RANDOM, VANILLA, Setting
from benchmarks.studies.papers.rows import Row, Verdict, missing, ratio_in_words

FIXED = "the rule was fixed from the text by a reader who had seen no result"
# Settings of HyperMapper, which the limits of its rule are for.
N_SETTINGS = 9
# Resamplings of medians, and of superiorities.
N_MEDIANS, N_SUPERIORITIES = 10_000, 2000
# Below this a superiority is negligible, and from this on an effect is medium (Vargha and Delaney 2000).
NEGLIGIBLE, MEDIUM = 0.56, 0.64


def rows(results: Results, unconstrained_runs: Mapping[str, Mapping[str, np.ndarray]]) -> Iterator[Row]:
    """All rows, of constrained runs and of method -> table -> losses without constraints, ours first."""
    yield against_released(unconstrained_runs)
    yield varies(results)
    yield two_constraints(results)
    yield hypermapper(results)


def _row(key: str, where: str, printed: str, ours: str, verdict: Verdict, note: str) -> Row:
    reason = "more runs would tell" if verdict is Verdict.NOT_TOLD_APART else ""
    return Row(key, where, printed, ours, verdict, f"{FIXED}; {note}", reason)


# --- Table 1 -----------------------------------------------------------------------------------------------


def hypermapper(results: Results) -> Row:
    """c-TPE wins where its median is lower. Our settings are a sample of the paper's 27, of which it wins
    72 of 81.

    Agrees with at least 7 wins of 9, an interval of wins that begins at 5 or later, and no decided loss at
    0.9; differs with an interval that ends at 5 or earlier, or with a decided loss at 0.9, where the paper
    has none. A loss is decided by the rank-sum test, p < 0.05 by Holm's method.
    """
    key, where, cells = "t1-HM2", "Table 1, HM2", table_1().get(HM2, {})
    printed = f"wins/losses/ties of c-TPE in 27 settings after {FEW}, at "
    printed += ", ".join(f"{q:g}: {cells.get((q, FEW), '–')}" for q in settings.PRINTED_QUANTILES)
    printed += f" [at least 7 wins of {N_SETTINGS}, interval from 5 on, no decided loss at {LOOSE:g}]"
    own = [s for q in settings.PRINTED_QUANTILES for s in chosen(results, (OURS, HM2), q)]
    if len(own) < N_SETTINGS:
        return missing(key, where, printed, NEEDS_HM2)
    pairs = [[_loss(results, name, s)[:, FEW - 1] for name in (OURS, HM2)] for s in own]
    medians = np.array([[np.median(losses) for losses in pair] for pair in pairs])
    lower, higher = medians[:, 0] < medians[:, 1], medians[:, 0] > medians[:, 1]
    rng, wins = np.random.default_rng(0), np.zeros(N_MEDIANS, int)
    for pair in pairs:
        ours, theirs = (np.median(rng.choice(losses, (N_MEDIANS, len(losses))), axis=1) for losses in pair)
        wins += ours < theirs
    low, high = np.percentile(wins, [2.5, 97.5])
    p = holm([float(scipy.stats.mannwhitneyu(ours, theirs).pvalue) for ours, theirs in pairs])
    quantiles = np.array([s.quantile for s in own])
    lost = bool((higher & (p < 0.05) & (quantiles == LOOSE)).any())
    if lost or high <= 5:
        verdict = Verdict.DIFFERS
    else:
        verdict = Verdict.AGREES if lower.sum() >= 7 and low >= 5 else Verdict.NOT_TOLD_APART
    outcomes = lower, higher, ~lower & ~higher
    counts = {
        q: Count(*(int(one[quantiles == q].sum()) for one in outcomes)) for q in settings.PRINTED_QUANTILES
    }
    text = ", ".join(f"{q:g}: {count}" for q, count in counts.items())
    each = "; ".join(
        f"{' '.join(map(str, s))} {ratio_in_words(*gap_ratio(results, OURS, HM2, [s], FEW))}" for s in own
    )
    text += f"; {lower.sum()} wins ({low:g}, {high:g}) of {len(own)}; losses over HM2's: {each}"
    note = f"wins by medians, interval by resampling the runs; {FEWER}"
    return _row(key, where, printed, text, verdict, note)


def holm(p_values: Sequence[float]) -> np.ndarray:
    """Adjusted p values by Holm's method."""
    p = np.asarray(p_values)
    order = np.argsort(p)
    adjusted = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    found = np.empty(len(p))
    found[order] = np.minimum(adjusted, 1)
    return found


# --- Appendix G.1, Figure 9 --------------------------------------------------------------------------------


def two_constraints(results: Results) -> Row:
    """CNSGA-II with one constraint over itself with both, at the same table and quantile of HPOlib.

    By the mean superiority over tables, quantiles, single constraints and budgets. Agrees where its interval
    lies above 0.5 and two thirds of the tables, and of the quantiles, have a mean above 0.5; differs where
    the interval lies below 0.5, or reaches 0.5 and ends below `NEGLIGIBLE`.
    """
    key, where = "cnsga-two", "Appendix G.1, Figure 9"
    printed = "CNSGA-II converges more slowly with two constraints than with one "
    printed += "[chance that one has the lower loss: interval above 0.5, in 2 of 3 tables and quantiles]"
    own = [s for q in settings.PRINTED_QUANTILES for s in chosen(results, (CNSGA, OURS), q, "hpolib")]
    if not own:
        return missing(key, where, printed, NEEDS)
    rng, found = np.random.default_rng(0), {}
    for name in (CNSGA, RANDOM, OURS):
        losses = {s: _loss(results, name, s)[:, _at_budgets()] for s in own}
        drawn = {s: _draws(rng, len(x), N_SUPERIORITIES) for s, x in losses.items()}
        found[name] = {}
        for s in own:
            one, both = s, s._replace(constraints="both")
            if one != both:
                better = superiority(losses[one], losses[both]).mean(axis=-1)
                found[name][s] = better, drawn[one], drawn[both]
    means = {s: float(better.mean()) for s, (better, *_) in found[CNSGA].items()}
    mean, low, high = _mean_and_interval(list(found[CNSGA].values()))
    by_table, by_quantile = (
        {name: np.mean([x for s, x in means.items() if s[place] == name]) for name in {s[place] for s in own}}
        for place in (0, 2)
    )
    most = all(np.mean([x > 0.5 for x in group.values()]) >= 2 / 3 for group in (by_table, by_quantile))
    if high < 0.5 or (low <= 0.5 and high < NEGLIGIBLE):
        verdict = Verdict.DIFFERS
    else:
        verdict = Verdict.AGREES if low > 0.5 and most else Verdict.NOT_TOLD_APART
    groups = [f"{q:g}: {by_quantile[q]:.2f}" for q in sorted(by_quantile)]
    groups += [f"{table}: {by_table[table]:.2f}" for table in sorted(by_table)]
    beside = "; ".join(
        f"{name} {m:.2f} ({a:.2f}, {b:.2f})"
        for name in (RANDOM, OURS)
        for m, a, b in [_mean_and_interval(list(found[name].values()))]
    )
    text = f"{mean:.2f} ({low:.2f}, {high:.2f}); at {', '.join(groups)}; beside it {beside}"
    note = f"absolute percentage losses, mean of {len(means)} pairs of settings and of the budgets"
    return _row(key, where, printed, text, verdict, note)


# --- Section 3.2 -------------------------------------------------------------------------------------------


def varies(results: Results) -> Row:
    """CNSGA-II's range of losses over the levels beside c-TPE's, on the same tables and constraints.

    A loss is the mean over budgets of log10 (median + 0.001), where a run without a feasible row has the
    largest loss of all methods and budgets in its setting. Agrees where the range is wider by a signed-rank
    test over settings, p < 0.05, and half of the settings have a factor of at least 1.5; differs where it is
    narrower by the same test, or half of the settings have a factor below 1.1.
    """
    key, where = "levels-cnsga", "Section 3.2"
    printed = "CNSGA-II's performance varies with the constraint level, c-TPE's is stable "
    printed += "[wider range, p < 0.05, of a factor of at least 1.5]"
    methods = CNSGA, OURS, RANDOM, NAIVE, VANILLA
    by_quantile = [
        {(s.table, s.constraints) for s in results.settings(methods, q)} for q in settings.PRINTED_QUANTILES
    ]
    pairs = sorted(set.intersection(*by_quantile))
    if not pairs:
        return missing(key, where, printed, NEEDS)
    ranges = {name: np.zeros(len(pairs)) for name in methods}
    for i, (table, kind) in enumerate(pairs):
        logs = {name: [] for name in methods}
        for q in settings.PRINTED_QUANTILES:
            at = Setting(table, kind, q)
            losses = {name: _loss(results, name, at)[:, _at_budgets()] for name in methods}
            largest = max(x[np.isfinite(x)].max(initial=0.0) for x in losses.values())
            for name, x in losses.items():
                medians = np.median(np.minimum(x, largest), axis=0)
                logs[name].append(float(np.log10(medians + 0.001).mean()))
        for name in methods:
            ranges[name][i] = np.ptp(logs[name])
    wider = ranges[CNSGA] - ranges[OURS]
    p, factor = power.signed_rank(wider, "two-sided"), np.median(ranges[CNSGA])
    side = np.sign(np.median(wider)) if p < 0.05 else 0
    if side < 0 or factor < np.log10(1.1):
        verdict = Verdict.DIFFERS
    else:
        verdict = Verdict.AGREES if side > 0 and factor >= np.log10(1.5) else Verdict.NOT_TOLD_APART
    each = ", ".join(f"{name} {10 ** np.median(own):.2f}" for name, own in ranges.items())
    text = (
        f"largest over smallest loss of the levels, median of {len(pairs)} settings: {each}; CNSGA-II's is "
    )
    text += f"wider than c-TPE's in {(wider > 0).sum()} (p = {p:.2g})"
    note = "absolute percentage losses by medians, mean of the logs of the budgets"
    return _row(key, where, printed, text, verdict, note)


# --- Appendix I, Figure 19 ---------------------------------------------------------------------------------


def against_released(runs: Mapping[str, Mapping[str, np.ndarray]]) -> Row:
    """`px.papers.tpe` against each released method after each budget: the 16 entries of Table 3.

    An entry is better where the stratified rank-sum test has one-sided p < 0.01 and our median is above the
    other's on at most one table; worse likewise; open where it is neither, and the interval of the mean
    superiority reaches `MEDIUM`. Agrees with more than half better; differs where those and the open ones are
    at most half.
    """
    key, where = "ctpe-f19", "Figure 19, Appendix I"
    printed = "our TPE is significantly better than other methods in most settings [at least 9 of 16]"
    if not runs:
        return missing(key, where, printed, "tables and the released runs in PARZAX_DATA")
    ours, budgets = runs[unconstrained.PRESET], settings.BUDGETS
    others = {method: own for method, own in runs.items() if method not in (unconstrained.PRESET, "our TPE")}
    rng, entries, n_open = np.random.default_rng(0), {}, 0
    for (method, theirs), budget in product(others.items(), budgets):
        pairs = [
            # In single precision, as our runs are stored: equal entries of a table are equal.
            [own[table][:, :budget].min(axis=1).astype(np.float32) for own in (ours, theirs)]
            for table in theirs
        ]
        better = [superiority(a[:, None], b[:, None])[..., 0] for a, b in pairs]
        drawn = [
            (x, _draws(rng, len(x), N_SUPERIORITIES), _draws(rng, x.shape[1], N_SUPERIORITIES))
            for x in better
        ]
        mean, _, high = _mean_and_interval(drawn)
        letter = entry(pairs)
        n_open += letter == "N" and high >= MEDIUM
        entries[method, budget] = letter, mean
    letters = [letter for letter, _ in entries.values()]
    n_better, half = letters.count("B"), len(letters) / 2
    if n_better > half:
        verdict = Verdict.AGREES
    else:
        verdict = Verdict.DIFFERS if n_better + n_open <= half else Verdict.NOT_TOLD_APART
    each = "; ".join(
        f"{method} "
        + ", ".join(f"{letter} {mean:.2f}" for letter, mean in (entries[method, b] for b in budgets))
        for method in others
    )
    text = f"better in {n_better} of {len(letters)}, worse in {letters.count('W')}, open {n_open}; our TPE "
    text += f"against each after {', '.join(map(str, budgets))}: {each}"
    note = (
        "`px.papers.tpe` in the place of the paper's TPE; a setting is an entry of Table 3, a "
        "method after a budget; B better, W worse, N neither, and the chance that ours has the lower loss; "
        f"{len(ours)} of {settings.N_TABLES} tables"
    )
    return _row(key, where, printed, text, verdict, note)


def entry(pairs: Sequence[Sequence[np.ndarray]]) -> str:
    """B better, W worse, N neither, of the losses of both methods by table."""
    z = standard_score(pairs)
    higher, lower = (
        sum(bool(sign * (np.median(a) - np.median(b)) > 0) for a, b in pairs) for sign in (1, -1)
    )
    if scipy.stats.norm.sf(z) < unconstrained.LEVEL and higher <= 1:
        return "B"
    return "W" if scipy.stats.norm.sf(-z) < unconstrained.LEVEL and lower <= 1 else "N"


def standard_score(pairs: Sequence[Sequence[np.ndarray]]) -> float:
    """z of the mean superiority over tables, with the variance where both are alike; positive where ours is
    better.
    """
    total = variance = 0.0
    for a, b in pairs:
        n, m = len(a), len(b)
        ties = np.unique(np.concatenate([a, b]), return_counts=True)[1].astype(float)
        total += float(superiority(a[:, None], b[:, None]).mean()) - 0.5
        spread = n + m + 1 - (ties**3 - ties).sum() / ((n + m) * (n + m - 1))
        variance += spread / (12 * n * m)
    return total / np.sqrt(variance) if variance > 0 else 0.0


# --- superiority -------------------------------------------------------------------------------------------


def superiority(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    """(s, t, b) whether a run of ours (s, b) has a lower loss than one of theirs (t, b); half if equal."""
    a, b = ours[:, None], theirs[None]
    return (a < b) + 0.5 * (a == b)


def _draws(rng: np.random.Generator, n: int, times: int) -> np.ndarray:
    """(times, n) shares of the runs that are drawn with replacement."""
    return rng.multinomial(n, np.full(n, 1 / n), size=times) / n


def _mean_and_interval(found: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> tuple[float, ...]:
    """Mean of superiorities (s, t), and its interval by the draws of both."""
    mean = np.mean([better.mean() for better, *_ in found])
    drawn = np.mean([np.einsum("ri,ij,rj->r", a, x, b, optimize=True) for x, a, b in found], axis=0)
    return float(mean), *np.percentile(drawn, [2.5, 97.5]).tolist()


def _loss(results: Results, method: str, setting: Setting) -> np.ndarray:
    """(s, n) absolute percentage loss, infinite while there is no feasible row."""
    low, _ = results.oracle[setting]
    return (results.best(method, setting) - low) / abs(low)


def _at_budgets() -> list[int]:
    return [budget - 1 for budget in settings.BUDGETS]
