"""How much of each parameter's importance every one of its regimes brings."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.offsetbox import AnnotationBbox, DrawingArea, HPacker, TextArea, VPacker
from matplotlib.patches import Rectangle

from parzax.importance import ImportanceResult
from parzax.importance.labels import short_names
from parzax.plotting import _arguments as args
from parzax.plotting import _text
from parzax.plotting._matplotlib import (
    axes_or_new,
    font_points,
    note,
    plain,
    shorten,
    tidy,
)
from parzax.plotting.bars import NOTHING, footnote, label_bars, signs, value_text

_MOST_REGIMES = 6
# Characters of one line of the caption above a bar.
_CAPTION = 64
_INCH_PER_LINE = 0.19


def regime_importance(result: ImportanceResult, level: int | float = 0) -> np.ndarray:
    """Each regime's part of the importance of each parameter.

    Regime i adds (n_T/n_R)^2 alpha_i^2 / beta_i D_i to the variance (Eq. 11, arXiv 2601.20800). Its part of
    the importance is in proportion to that; debiased divergences below 0 count as 0.

    Args:
        result: from `parzax.cond_ped_anova`.
        level: index of the level, or a float for the nearest target quantile.

    Returns:
        (s, d, k) parts, "inactive" last (always 0). They sum over k to the importance, except where that is
        positive by convention alone (1/d of the parity estimator).
    """
    q = args.level_index(args.check_result(result), level)
    alpha, beta, divergence = (
        args.by_seed(result, x, 3)[:, q] for x in (result.alpha, result.beta, result.divergence)
    )
    importance = args.by_seed(result, result.importance, 2)[:, q]
    n_target = args.by_seed(result, result.n_target, 1)[:, q, None, None]
    n_region = args.by_seed(result, result.n_region, 0)[:, None, None]
    weight = np.where(beta > 0, np.square(alpha) / np.where(beta > 0, beta, 1), 0)
    term = np.square(n_target / np.maximum(n_region, 1)) * weight * np.maximum(divergence, 0)
    total = term.sum(axis=-1, keepdims=True)
    return importance[..., None] * term / np.where(total > 0, total, 1)


def regimes(
    result: ImportanceResult,
    *,
    level: int | float = 0,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Each regime's part of a parameter's importance: one bar per parameter, stacked, the largest on top.

    A bar is as long as the importance (mean over seeds); above it stand its regimes, in the order of the
    stack, each with its domain, the conditions under which it applies, and its part.

    Args:
        result: from `parzax.cond_ped_anova`.
        level: index of the level, or a float for the nearest target quantile.
        parameters: which to draw; by default the ``max_parameters`` most important at that level.
        max_parameters: how many bars at most.
        ax: where to draw; a new figure by default.

    Returns:
        The Axes.

    Raises:
        TypeError: ``result``, ``level`` or ``ax`` of the wrong type.
        KeyError: an unknown parameter.
        ValueError: a level out of range, an empty or repeated list of parameters.
    """
    q = args.level_index(args.check_result(result), level)
    parts = regime_importance(result, q)
    args.check_count("max_parameters", max_parameters)
    importance = args.by_seed(result, result.importance, 2)[:, q].mean(axis=0)
    chosen = list(result.names) if parameters is None else args.parameter_names(result, parameters)
    chosen.sort(key=lambda name: -importance[result.names.index(name)])
    chosen = chosen if parameters is not None else chosen[:max_parameters]
    mean = parts.mean(axis=0)
    captions = [_caption(result, name, mean[result.names.index(name)]) for name in chosen]

    heights = [_INCH_PER_LINE * len(caption) + 0.3 for caption in captions]
    own_figure = ax is None
    ax = axes_or_new(ax, 6.4, 0.8 + sum(heights))
    colours = args.colours(result)
    top = 0.0
    centres = []
    for name, caption, height in zip(chosen, captions, heights, strict=True):
        j = result.names.index(name)
        centre = top + height - 0.14
        centres.append(centre)
        _bar(ax, centre, mean[j][: len(result.space[name])], importance[j], colours[name])
        _write(ax, centre - 0.11, caption, colours[name], len(result.space[name]))
        top += height
    marks, short = signs(result, q), short_names(result.names, 28)
    ax.set_yticks(centres, [plain(short[name]) + marks.get(name, "") for name in chosen])
    ax.set_ylim(top + 0.06, 0)
    shown = importance[[result.names.index(name) for name in chosen]]
    if own_figure:
        # Lay the figure out now: long names take width from the footnote and the labels of the bars.
        ax.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]
    label_bars(ax, centres, shown, shown)
    if not importance.any():
        note(ax, NOTHING, 0.62, 0.5)
    of_seeds = f" (mean of {len(parts)} seeds)" if len(parts) > 1 else ""
    ax.set_xlabel(f"importance at γ′ = {result.target_quantile[q]:g}, by regime{of_seeds}")
    footnote(ax, result, q, chosen)
    tidy(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def _bar(ax: Axes, y: float, parts: np.ndarray, importance: float, colour: str) -> None:
    left = 0.0
    for i, part in enumerate(parts):
        if part > 0:
            # The edge keeps neighbouring shades apart.
            ax.barh(
                y, part, 0.17, left, color=_shade(colour, i, len(parts)), edgecolor="white", linewidth=0.6
            )
            left += part
    if importance > left + 1e-6:
        # The parity estimator gives 1/d where nothing is known: no regime has earned that.
        ax.barh(y, importance - left, 0.17, left, color="none", edgecolor=colour, hatch="////", linewidth=0.6)


def _shade(colour: str, i: int, n: int) -> tuple[float, float, float]:
    """The i-th of n shades from the colour itself towards white."""
    share = 0.0 if n == 1 else 0.68 * i / (n - 1)
    red, green, blue = (c + (1 - c) * share for c in to_rgb(colour))
    return red, green, blue


def _caption(result: ImportanceResult, name: str, parts: np.ndarray) -> list[list[tuple[int, str]]]:
    """Lines of (regime, text); the smallest regimes are left out where there are many."""
    domains = result.space[name]
    by_size = np.argsort(-parts[: len(domains)], kind="stable")
    kept = sorted(int(i) for i in by_size[:_MOST_REGIMES])
    entries = []
    for i in kept:
        text = shorten(_text.regime(domains[i]), _CAPTION)
        entries.append((i, f"{text}: {value_text(float(parts[i]))}" if len(domains) > 1 else text))
    if len(kept) < len(domains):
        entries.append((-1, f"{len(domains) - len(kept)} smaller ones"))
    lines: list[list[tuple[int, str]]] = [[]]
    for entry in entries:
        if lines[-1] and sum(len(text) + 5 for _, text in [*lines[-1], entry]) > _CAPTION:
            lines.append([])
        lines[-1].append(entry)
    return lines


def _write(ax: Axes, y: float, lines: list[list[tuple[int, str]]], colour: str, n: int) -> None:
    """The caption above a bar: a square of the regime's shade and its text."""
    size = font_points(ax, 0.8)
    rows = []
    for line in lines:
        boxes = []
        for regime, text in line:
            square = DrawingArea(0.8 * size, 0.8 * size)
            if regime >= 0 and n > 1:
                square.add_artist(Rectangle((0, 0), 0.8 * size, 0.8 * size, color=_shade(colour, regime, n)))
            words = TextArea(plain(text), textprops={"fontsize": size})
            boxes.append(
                HPacker(children=[square, words] if n > 1 else [words], pad=0, sep=3, align="center")
            )
        rows.append(HPacker(children=boxes, pad=0, sep=10, align="center"))
    box = VPacker(children=rows, pad=0, sep=1.5, align="left")
    ax.add_artist(
        AnnotationBbox(
            box,
            (0, y),
            (3, 0),
            xycoords=("axes fraction", "data"),
            boxcoords="offset points",
            box_alignment=(0, 0),
            frameon=False,
            pad=0,
        )
    )
