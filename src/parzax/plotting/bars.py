"""Importances at one level as sorted bars."""

import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from parzax.importance import ImportanceResult
from parzax.importance.labels import short_names
from parzax.plotting import _arguments as args
from parzax.plotting._matplotlib import (
    GREY,
    axes_or_new,
    font_points,
    note,
    plain,
    size_in_points,
    text_width,
    tidy,
)
from parzax.status import Status

# What is marked at a parameter, with the sign that stands for it and the words of the footnote.
_MARKS = {
    Status.CONSTANT: ("*", "one value per regime"),
    Status.SINGLE_VALUE: ("*", "one value per regime"),
    Status.NEVER_ACTIVE: ("†", "never active"),
    Status.NOT_IN_TARGET: ("¶", "inactive in the target, counts as 0"),
    Status.UNIDENTIFIABLE: ("‡", "domain moves from row to row, not comparable"),
    Status.SPARSE_REGIME: ("§", "a regime with one row left out"),
    Status.NOT_ABOVE_CHANCE: ("°", "not above chance, counts as 0"),
}
NOTHING = "No parameter has a positive variance\nat this level."
# What concerns the level as a whole.
_LEVEL_NOTES = {
    Status.LOW_DATA: "ten rows or fewer in the target or outside it: rough",
    Status.TIED_CUTOFF: "ties at the cut-off: the target is larger than asked",
    Status.SAME_SETS: "target and region are the same rows",
    Status.ALL_EQUAL: "all losses are equal",
    Status.NO_DATA: "fewer than two usable rows",
}


def importance_bars(
    result: ImportanceResult, *, level: int | float = 0, max_parameters: int = 20, ax: Axes | None = None
) -> Axes:
    """Importances at one level: horizontal bars, the largest on top, with their values.

    With several seeds a bar is the mean and its whisker one standard error to either side. A sign after a
    name refers to the footnote: parameters that are constant, never active, not comparable or not above
    chance (in at least half of the seeds). What concerns the level as a whole stands there too.

    Args:
        result: from `parzax.cond_ped_anova`.
        level: index of the level, or a float for the nearest target quantile (a warning says where that is
            more than 0.05 away).
        max_parameters: how many bars at most; the others are summed in one more.
        ax: where to draw (give its figure ``layout="constrained"``, so that the footnote fits); a new figure
            by default.

    Returns:
        The Axes. Values have two decimals; positive ones below 0.01 read "<0.01", and "0"
        is exactly 0.

    Raises:
        TypeError: ``result``, ``level`` or ``ax`` of the wrong type.
        ValueError: a level out of range, or ``max_parameters`` below 1.
    """
    args.check_result(result)
    q = args.level_index(result, level)
    args.check_count("max_parameters", max_parameters)
    seeds = args.by_seed(result, result.importance, 2)[:, q]
    order = np.argsort(-seeds.mean(axis=0), kind="stable")
    shown, rest = order[:max_parameters], order[max_parameters:]
    colours, marks = args.colours(result), signs(result, q)
    names = [result.names[j] for j in shown]
    short = short_names(result.names, 28)
    labels = [plain(short[name]) + marks.get(name, "") for name in names]
    fill = [colours[name] for name in names]
    columns = [seeds[:, j] for j in shown]
    if len(rest):
        columns.append(seeds[:, rest].sum(axis=1))
        labels.append(f"{len(rest)} others" if len(rest) > 1 else plain(short[result.names[rest[0]]]))
        fill.append(args.OTHERS)
    mean, error = args.mean_and_error(np.stack(columns, axis=1))

    own_figure = ax is None
    ax = axes_or_new(ax, 6.4, 1.0 + 0.28 * len(labels))
    y = np.arange(len(labels))
    ax.barh(y, mean, color=fill, height=0.72)
    ends = mean
    if len(seeds) > 1:
        ax.errorbar(mean, y, xerr=error, fmt="none", ecolor="0.25", elinewidth=1, capsize=2)
        ends = mean + error
    ax.set_yticks(y, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    if own_figure:
        # Lay the figure out now: long names take width from the bars, their labels and the footnote.
        ax.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]
    label_bars(ax, y.tolist(), mean, ends)
    if not mean.any():
        note(ax, NOTHING, 0.58, 0.5)
    of_seeds = f" (mean ± standard error, {len(seeds)} seeds)" if len(seeds) > 1 else ""
    ax.set_xlabel(f"importance at γ′ = {result.target_quantile[q]:g}{of_seeds}")
    footnote(ax, result, q, names)
    tidy(ax)
    ax.tick_params(axis="y", length=0)
    return ax


def value_text(x: float) -> str:
    """An importance with two decimals, "<0.01" below that, "0" only for exactly nothing."""
    if x == 0:
        return "0"
    return f"{x:.2f}" if x >= 0.01 else "<0.01"


def label_bars(ax: Axes, y: Sequence[float], values: np.ndarray, ends: np.ndarray) -> None:
    """Write ``values`` to the right of ``ends``, and make room for the longest bar's label."""
    size = font_points(ax, 0.9)
    for at, value, end in zip(y, values, ends, strict=True):
        text = value_text(float(value))
        ax.annotate(text, (end, at), (4, 0), textcoords="offset points", va="center", fontsize=size)
    share = min((text_width(ax, "<0.01", size) + 8) / size_in_points(ax)[0], 0.5)
    ax.set_xlim(0, (float(ends.max()) if values.any() else 1.0) / (1 - share))


def signs(result: ImportanceResult, q: int) -> dict[str, str]:
    """Signs after the names of the parameters that have a status of their own."""
    out: dict[str, str] = {}
    for bit, (sign, _) in _MARKS.items():
        for name, is_set in zip(result.names, args.most_seeds(result, bit)[q], strict=True):
            if is_set and sign not in out.get(name, ""):
                out[name] = out.get(name, " ") + sign
    return out


def footnote(ax: Axes, result: ImportanceResult, q: int, names: list[str]) -> None:
    """What the signs of ``names`` mean, and what concerns the level as a whole, below the axis."""
    shown = [result.names.index(name) for name in names]
    parts = [text for bit, text in _LEVEL_NOTES.items() if args.any_seed(result, bit)[q].any()]
    for bit, (sign, text) in _MARKS.items():
        entry = f"{sign} {text}"
        if args.most_seeds(result, bit)[q, shown].any() and entry not in parts:
            parts.append(entry)
    if not parts:
        return
    size = font_points(ax, 0.8)
    width = max(int(size_in_points(ax)[0] / (0.52 * size)), 20)
    lines = textwrap.wrap(";  ".join(parts), width, break_long_words=False)
    # Below the label of the axis, wherever the layout puts that.
    ax.annotate(
        "\n".join(lines),
        (0, 0),
        (0, -3),
        xycoords=("axes fraction", ax.xaxis.label),
        textcoords="offset points",
        va="top",
        fontsize=size,
        color=GREY,
        annotation_clip=False,
    )
