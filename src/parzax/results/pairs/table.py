"""Interactions as tables: a long-form DataFrame, and plain text for ``print``."""

from typing import Any

import numpy as np

from parzax._html import table
from parzax._words import visible
from parzax.results.arrays import mean_and_error
from parzax.results.labels import short_names
from parzax.results.table import aligned, size_text, status_names
from parzax.status import Status

_ROWS_SHOWN, _LEVELS_SHOWN, _NAME = 15, 6, 20


def long_columns(result: Any) -> dict[str, np.ndarray]:
    """Columns of the long form, each of length s * q * p; ``seed`` only if the result has a seed axis."""
    s, q, p = result.n_seeds, *result.importance.shape[-2:]
    columns = {
        "seed": np.arange(s)[:, None, None],
        "target_quantile": result.target_quantile[:, None],
        "first": np.array([a for a, _ in result.pairs], dtype=object),
        "second": np.array([b for _, b in result.pairs], dtype=object),
        "importance": result.importance,
        "variance": result.variance,
        "joint": result.joint,
        "main_first": result.main[..., 0],
        "main_second": result.main[..., 1],
        "p_value": result.p_value,
        "p_adjusted": result.p_adjusted,
        "n_active": result.n_active.reshape(s, 1, p),
        "n_target": result.n_target.reshape(s, q, 1),
        "n_region": result.n_region.reshape(s, 1, 1),
        "status": result.status,
    }
    if result.importance.ndim == 2:
        del columns["seed"]
    for name, x in columns.items():
        columns[name] = x.reshape(-1) if x.size == s * q * p else np.broadcast_to(x, (s, q, p)).reshape(-1)
    columns["status_names"] = np.array([status_names(int(x)) for x in columns["status"]], dtype=object)
    return columns


def to_text(result: Any) -> str:
    """A table for reading: the most important pairs down, and levels across if there are several.

    Importances of pairs that are not above chance are in brackets, "-" is where nothing is known. With
    several seeds entries are mean ± standard error, above chance where most seeds are.
    """
    title, rows, left = _entries(result)
    return "\n".join(map(visible, [title, *aligned(rows, left), "", *_notes(result)]))


def to_html(result: Any) -> str:
    """The same table for a notebook."""
    return table(*_entries(result), _notes(result))


def _entries(result: Any) -> tuple[str, list[list[str]], tuple[int, ...]]:
    """A title, rows with their header first, and which columns are text."""
    levels = np.argsort(result.target_quantile, kind="stable")
    order = result.order(result.over_seeds()[0].mean(axis=0))
    shown = order[:_ROWS_SHOWN] if len(order) > _ROWS_SHOWN + 1 else order
    names = short_names([visible(name) for name in result.names], _NAME)
    labels = [" × ".join(names[visible(name)] for name in result.pairs[i]) for i in shown]
    seeds = f", mean ± standard error of {result.n_seeds} seeds" if result.n_seeds > 1 else ""
    if len(levels) > 1:
        kept = levels[np.unique(np.linspace(0, len(levels) - 1, _LEVELS_SHOWN).round().astype(int))]
        title = f"interactions{seeds}, by level"
        title += f"; {len(kept)} of {len(levels)} levels shown" if len(kept) < len(levels) else ""
        rows = [["pair", *(f"{result.target_quantile[level]:g}" for level in kept)]]
        rows += [
            [label, *(_share(result, level, i) for level in kept)]
            for label, i in zip(labels, shown, strict=True)
        ]
        return title, rows, (0,)
    rows = [["pair", "importance", "variance", "p (Holm)", "n active"]]
    for label, i in zip(labels, shown, strict=True):
        variance = result.variance.reshape(result.n_seeds, -1)[:, i].mean()
        p = result.p_adjusted.reshape(result.n_seeds, -1)[:, i]
        known = p[~np.isnan(p)]
        active = result.n_active.reshape(result.n_seeds, -1)[:, i]
        p_text = f"{np.median(known):.2g}" if known.size else "-"
        rows.append([label, _share(result, 0, i), f"{variance:.3g}", p_text, size_text(active)])
    return f"interactions{seeds} at level {result.target_quantile[0]:g}", rows, (0,)


def _share(result: Any, level: int, pair: int) -> str:
    defined = result.by_seed(result.is_defined)[:, level, pair]
    if not defined.any():
        return "-"
    mean, error = mean_and_error(result.by_seed(result.importance)[:, level, pair], defined)
    if mean == 0:
        return "0"
    text = f"{mean:.3f}" if np.isnan(error) else f"{mean:.3f} ± {error:.3f}"
    above = result.by_seed(result.above_chance)[:, level, pair].mean() > 0.5
    return text if above or not result.n_draws else f"({text})"


def _notes(result: Any) -> list[str]:
    p = len(result.pairs)
    if not p:
        return ["no pairs: the space has a single parameter"]
    lines = ["importance: interaction's share of the variance of membership in the target"]
    if p > _ROWS_SHOWN + 1:
        lines.append(f"{p - _ROWS_SHOWN} more pairs, in to_dataframe()")
    if result.n_draws:
        n = f"{result.n_draws} draws from the null"
        lines.append(f"in brackets: not above chance (p > 0.05, adjusted for {p} pair{'s' * (p > 1)}; {n})")
    if len(result.target_quantile) == 1:
        lines.append(f"target: {size_text(result.n_target)} rows")
    lines.append(f"region: {size_text(result.n_region)} rows (level {result.region_quantile:g})")
    return [*lines, *result.report.lines(result.n_seeds), *_advice(result)]


def _advice(result: Any) -> list[str]:
    """A sentence for each status, and of how many of the pairs (and levels) it holds."""
    lines = []
    seen = result.by_seed(result.status)
    for sentence in result.advice():
        name, text = sentence.split(": ", 1)
        bit = int(Status[name])
        n = int(((seen & bit) != 0).any(axis=(0, 1)).sum())
        lines.append(f"{name} ({n} of {len(result.pairs)} pairs): {text}")
    return lines
