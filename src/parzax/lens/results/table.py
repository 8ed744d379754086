"""Importances as tables for reading."""

from functools import partial
from itertools import groupby
from operator import itemgetter
from textwrap import shorten
from typing import Any

import numpy as np

from parzax._words import plural
from parzax.lens.results.arrays import ResultArrays, seeds_with_data
from parzax.lens.results.base import ReadTable, mean_and_error, mean_text, size_text
from parzax.lens.results.labels import short_labels
from parzax.lens.results.phrases import DEPENDENT, INTERVAL_AND_P, SIGNIFICANCE, p_text
from parzax.lens.results.uncertainty import TOLERANCE, shuffles_for
from parzax.status import OF_LEVELS, Status, describe, status_names

# Sizes that fit a screen.
_MAX_LEVELS = 12
_LEVELS_SHOWN = 11
_COLUMNS_SHOWN = 7  # as many as `parzax.lens.plotting.importance_sweep` has lines
_ROWS_SHOWN = 30
_INFERRED_SHOWN = 8
_WHERE_SHOWN = 60


def importance_table(result: ResultArrays, inferred: bool = True) -> ReadTable:
    """A table with a row per level and a column per parameter; for a single level, a row per parameter.

    An importance that is not defined is "-" (`ResultArrays.is_defined`). With several seeds an entry is mean
    ± standard error over the seeds that have an importance; a note says how many if not all do. For a single
    log with an uncertainty an entry has its interval, and ° marks parameters not above chance. The notes
    below give the sizes of the sets, how the log was read (without ``inferred`` only the number of inferred
    things), and advice for each status, with the levels or parameters that it concerns.
    """
    title, columns = (_by_level if len(result.target_quantile) > 1 else _by_parameter)(result)
    left = ("parameter", "status") if columns[0][0] == "parameter" else ()
    return ReadTable(title, columns, left, [*_report(result, inferred), *advice_lines(result)])


def advice_lines(result: ResultArrays) -> list[str]:
    """A sentence for each status: its name, the levels or parameters that have it, and advice."""
    if len(result.target_quantile) == 1:
        return result.advice()
    return describe(result.status, partial(_where, result))


def _by_level(result: ResultArrays) -> tuple[str, list[list[str]]]:
    levels, counted, usual = _table_levels(result), result.seeds_counted, result.usual_level
    title = f"importance{_over_seeds(result, counted)}"
    title += f"; in the order of level {result.target_quantile[usual]:g}"
    if len(levels) < len(result.target_quantile):
        title += f"; {len(levels)} of {len(result.target_quantile)} levels shown"
    columns = [["level", *(f"{result.target_quantile[i]:g}" for i in levels)]]
    overall = np.argsort(-result.over_seeds()[0].mean(axis=0), kind="stable").tolist()
    for label, parameters in _shown(result, overall, _COLUMNS_SHOWN, 18):
        columns.append([label, *(_share(result, i, parameters) for i in levels)])
    if result.n_seeds > 1 and (counted < result.n_seeds).any():
        columns.append(["seeds", *(str(counted[i]) for i in levels)])
    return title, [*columns, ["n_target", *(size_text(result.n_target[..., i]) for i in levels)]]


def _by_parameter(result: ResultArrays) -> tuple[str, list[list[str]]]:
    d = len(result.names)
    variance, _ = mean_and_error(result.variance.reshape(-1, d), seeds_with_data(result.status)[:, 0])
    active = result.regime_region[..., :-1].sum(axis=-1).reshape(-1, d)
    bits = np.bitwise_or.reduce(result.status.reshape(-1, d), axis=0)
    # A status that all parameters have is mentioned in the advice alone.
    bits &= ~np.bitwise_and.reduce(bits)
    labels, groups = zip(*_shown(result, result.order(), _ROWS_SHOWN, 40), strict=True)
    single = [int(group[0]) for group in groups if len(group) == 1]
    columns = [
        ["parameter", *labels],
        ["importance", *(_share(result, 0, group) for group in groups)],
        ["p", *(_p_value(result, j) for j in single)],
        ["variance", *(f"{variance[group].sum():.3g}" for group in groups)],
        ["n active", *(size_text(active[:, j]) for j in single)],
        ["status", *(_statuses(result, j, int(bits[j])) for j in single)],
    ]
    # The row that sums several parameters has no p-value, number of rows or status.
    columns = [column + [""] * (1 + len(labels) - len(column)) for column in columns if any(column[1:])]
    over_seeds = _over_seeds(result, result.seeds_counted[:1])
    return f"importance{over_seeds} at level {result.target_quantile[0]:g}", columns


def _statuses(result: ResultArrays, parameter: int, bits: int) -> str:
    """Names of the statuses of a parameter, and how many seeds have each if not all do."""
    status = result.status.reshape(-1, len(result.names))[:, parameter]
    words = []
    for bit in Status:
        if bits & bit:
            n, name = int((status & bit != 0).sum()), status_names(int(bit))
            words.append(name if n == len(status) else f"{name} ({n} of {len(status)} seeds)")
    return "|".join(words)


def _shown(result: ResultArrays, ranked: list[int], most: int, length: int) -> list[tuple[str, np.ndarray]]:
    """Labels and parameter indices of the rows: the first parameters of ``ranked``, and one row for the rest.

    ``ranked`` is the order at the usual level.
    """
    labels, n = short_labels(result.names, length), len(ranked) if len(ranked) <= most + 1 else most
    shown = [(labels[j], np.array([j])) for j in result.order() if j in ranked[:n]]
    return [*shown, (f"{len(ranked) - n} others", np.array(ranked[n:]))] if ranked[n:] else shown


def _table_levels(result: ResultArrays) -> np.ndarray:
    """Indices of the levels that a table shows, ascending.

    If there are many levels, these are about eleven with the usual one: tenths if the levels span most of (0,
    1).
    """
    order, tenths = np.argsort(result.target_quantile, kind="stable"), np.arange(1, 10) / 10
    if len(order) <= _MAX_LEVELS:
        return order
    levels, usual = result.target_quantile[order], result.target_quantile[result.usual_level]
    wanted = np.array([levels[0], *tenths[(tenths > levels[0]) & (tenths < levels[-1])], levels[-1]])
    if len(wanted) < _LEVELS_SHOWN - 2:
        wanted = levels[np.linspace(0, len(levels) - 1, _LEVELS_SHOWN).round().astype(int)]
    return order[np.unique(np.abs(levels[:, None] - [*wanted, usual]).argmin(axis=0))]


def _share(result: ResultArrays, level: int, parameters: Any) -> str:
    if not result.by_seed(result.is_defined)[:, level, parameters].any():
        return "-"
    per_seed = result.by_seed(result.importance)[:, level, parameters].sum(axis=-1)
    mean, error = mean_and_error(per_seed, result.by_seed(result.has_importance)[:, level])
    if (sampled := result.uncertainty) is not None and result.n_seeds == 1:
        low, high = sampled.interval_of(level, parameters)
        mark = "" if sampled.any_above_chance(level, parameters) else "°"
        # Three decimals, as for the importance: so the printed interval always contains it.
        return f"{mean:.3f}{mark}" if np.isnan(low) else f"{mean:.3f}{mark} ({low:.3f}-{high:.3f})"
    return mean_text(mean, error)


def _p_value(result: ResultArrays, parameter: int) -> str:
    """The adjusted p-value of one parameter as text; "" if it was not tested."""
    if (sampled := result.uncertainty) is None or result.n_seeds > 1:
        return ""
    p_value, p_adjusted = (x.reshape(-1)[parameter] for x in (sampled.p_value, sampled.p_adjusted))
    return p_text(p_value, p_adjusted, sampled.n_shuffles)


def _over_seeds(result: ResultArrays, counted: np.ndarray) -> str:
    """End of a title: the number of seeds of the mean, if there are several."""
    n = result.n_seeds
    seeds = f"{n} seeds" if (counted == n).all() else f"the {size_text(counted)} of {n} seeds that have one"
    return f", mean ± standard error of {seeds}" if n > 1 else ""


def _report(result: ResultArrays, inferred: bool) -> list[str]:
    sizes = f"region: {plural(size_text(result.n_region), 'row')} (level {result.region_quantile:g})"
    if len(result.target_quantile) == 1:
        sizes = f"target: {plural(size_text(result.n_target), 'row')}, {sizes}"
    sureness = _sureness(result) if result.n_seeds == 1 and result.is_defined.any() else []
    if len(result.names) == 1 and sureness:
        sureness.insert(0, "a single parameter has an importance of 1, whether it matters or not")
    lines = [sizes, *sureness, *result.report.lines(result.n_seeds)]
    rest = len(result.report.inferred) - _INFERRED_SHOWN * inferred
    if rest > 0:  # the parameters without a separate row come last
        more, notes = f"{rest} more, in report.inferred", f"see the {plural(rest, 'note')} on stderr"
        lines[-rest:] = [f"inferred: {more if inferred else notes}"]
    return lines


def _sureness(result: ResultArrays) -> list[str]:
    """Notes on uncertainty: what the intervals are, what ° means, and whether there are enough rows."""
    if (sampled := result.uncertainty) is None:
        return ["one run: no intervals (they need several seeds, or samples: n_resamples, --resamples)"]
    lines, n, n_shuffles = [], sampled.n_resamples, sampled.n_shuffles
    if n:
        samples = "half-samples" if sampled.method == "half-sampling" else sampled.method
        intervals = f"{100 * sampled.level:g} % intervals of one log"
        units = "groups" if result.report.groups else "rows"
        lines.append(f"in brackets: {intervals}, from {n} {samples} of its {units}")
    if n and n_shuffles:
        lines.append(INTERVAL_AND_P)
    if n_shuffles:
        shuffles = plural(n_shuffles, "shuffle")
        text = f"p: by {shuffles}, adjusted for all parameters (Holm)"
        text += ", but not for the levels" * (len(result.target_quantile) > 1)
        if (sampled.p_adjusted > SIGNIFICANCE).any():
            text += "; ° where it is above 0.05"
        if n_shuffles < (least := shuffles_for(len(result.names))):
            text += f"; too few shuffles, {least} are enough"
        lines.append(text)
    lines += [] if result.report.learned else [DEPENDENT]
    verdicts = sampled.verdicts() if n else []
    if len(verdicts) == 1:
        return [*lines, verdicts[0]]
    enough = np.array([verdict.startswith("enough") for verdict in verdicts])
    if enough.any():
        levels = _levels(result.target_quantile, enough)
        lines.append(f"enough rows (no interval of a parameter wider than {2 * TOLERANCE:g}): {levels}")
    if not enough.all():
        # The worst level of the table, or of all levels if those in the table have enough rows.
        short = ~enough & np.isin(np.arange(len(enough)), _table_levels(result))
        short = short if short.any() else ~enough
        worst = int(np.argmax(np.where(short, np.nan_to_num(sampled.margin.reshape(-1)), -1)))
        lines.append(f"at level {result.target_quantile[worst]:g}: {verdicts[worst]}")
    return lines


def _where(result: ResultArrays, bit: Status) -> str:
    """The levels or the parameters at which ``bit`` is set, in about 60 characters; "" for all of them."""
    per_seed = result.by_seed(result.status) & int(bit) != 0
    is_set = per_seed.any(axis=0)
    some = "" if (per_seed == is_set).all() else ", some seeds"
    if bit & OF_LEVELS:
        return _levels(result.target_quantile, is_set.any(axis=1)) + some
    return _parameters(result, is_set) + some


def _levels(levels: np.ndarray, is_set: np.ndarray) -> str:
    """Text such as "levels 0.01-0.05, 0.9": consecutive levels become ranges."""
    if is_set.all():
        return "all levels"
    ascending = sorted(zip(levels.tolist(), is_set.tolist(), strict=True))
    runs = [[level for level, _ in run] for here, run in groupby(ascending, itemgetter(1)) if here]
    text = ", ".join(f"{run[0]:g}-{run[-1]:g}" if len(run) > 1 else f"{run[0]:g}" for run in runs)
    text = f"level{'s' * int(is_set.sum() > 1)} {text}"
    return text if len(text) <= _WHERE_SHOWN else f"{is_set.sum()} of {len(levels)} levels"


def _parameters(result: ResultArrays, is_set: np.ndarray) -> str:
    """Text such as "y at 45 of 99 levels": names, and the number of levels unless it is all of them."""
    q, d = is_set.shape
    chosen = np.flatnonzero(is_set.any(axis=0))
    counts = is_set.sum(axis=0)[chosen]
    at = "" if (counts == q).all() else f" at {size_text(counts)} of {q} levels"
    if len(chosen) == d > 1:
        return "all parameters" + at
    labels = short_labels(result.names, 18)
    return shorten(", ".join(labels[j] for j in chosen), _WHERE_SHOWN - len(at), placeholder=" …") + at
