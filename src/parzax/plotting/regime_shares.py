"""How much of each parameter's importance every one of its regimes brings."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.offsetbox import AnnotationBbox, DrawingArea, HPacker, TextArea, VPacker
from matplotlib.patches import Rectangle

from parzax.importance import ImportanceResult
from parzax.importance.seeds import mean_and_error
from parzax.plotting import _arguments as args
from parzax.plotting import _text
from parzax.plotting._bars import finish, names_with_signs, thickness, value_text
from parzax.plotting._matplotlib import axes_or_new, font_points, plain, shorten

_MOST_REGIMES = 6
# Characters of one line of the caption above a bar.
_CAPTION = 64
_INCH_PER_LINE = 0.19


def regimes(
    result: ImportanceResult,
    *,
    level: int | float = 0,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Each regime's part of a parameter's importance: one bar per parameter, stacked, the largest on top.

    A bar is as long as the importance (mean over the seeds that have one); above it stand its regimes, in the
    order of the stack, each with its domain, the conditions under which it applies, and its part.

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
    args.check_count("max_parameters", max_parameters)
    importance = np.asarray(result.over_seeds()[0][q], dtype=np.float64)
    parts = args.by_seed(result, result.regime_importance, 3)[:, q]
    mean, _ = mean_and_error(parts, args.with_importance(result)[:, q])
    chosen = list(result.names) if parameters is None else args.parameter_names(result, parameters)
    chosen.sort(key=lambda name: -importance[result.names.index(name)])
    chosen = chosen if parameters is not None else chosen[:max_parameters]
    captions = [_caption(result, name, mean[result.names.index(name)]) for name in chosen]

    heights = [_INCH_PER_LINE * len(caption) + 0.3 for caption in captions]
    own_figure = ax is None
    ax = axes_or_new(ax, 6.4, 0.8 + sum(heights))
    colours = args.colours(result)
    thick = thickness(ax, 0.17, sum(heights))
    top = 0.0
    centres = []
    for name, caption, height in zip(chosen, captions, heights, strict=True):
        j = result.names.index(name)
        centre = top + height - 0.14
        centres.append(centre)
        _bar(ax, centre, thick, mean[j][: len(result.space[name])], importance[j], colours[name])
        _write(ax, centre - thick / 2 - 0.025, caption, colours[name], len(result.space[name]))
        top += height
    ax.set_yticks(centres, names_with_signs(result, q, chosen))
    ax.set_ylim(top + 0.06, 0)
    shown = importance[[result.names.index(name) for name in chosen]]
    of_seeds = f" (mean of {args.seeds_text(result, q)})" if len(parts) > 1 else ""
    return finish(
        ax,
        result,
        q,
        chosen,
        at=centres,
        values=shown,
        ends=shown,
        label=f"importance at γ′ = {result.target_quantile[q]:g}, by regime{of_seeds}",
        lay_out=own_figure,
    )


def _bar(ax: Axes, y: float, thick: float, parts: np.ndarray, importance: float, colour: str) -> None:
    left = 0.0
    for i, part in enumerate(parts):
        if part > 0:
            # The edge keeps neighbouring shades apart.
            ax.barh(
                y, part, thick, left, color=_shade(colour, i, len(parts)), edgecolor="white", linewidth=0.6
            )
            left += part
    if importance > left + 1e-6:
        # The parity estimator gives 1/d where nothing is known: no regime has earned that.
        ax.barh(
            y, importance - left, thick, left, color="none", edgecolor=colour, hatch="////", linewidth=0.6
        )


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
