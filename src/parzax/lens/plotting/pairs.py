"""Maps with one cell per pair: interactions of parameters, similarities of tasks."""

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from parzax import _checks
from parzax._words import plural
from parzax.lens._words import join_names
from parzax.lens.plotting import _arguments, _axes
from parzax.lens.plotting._arguments import choose_names, find_level
from parzax.lens.results import InteractionResult
from parzax.lens.results.texts import value_text
from parzax.lens.similarity import TaskSimilarity

_MOST_NUMBERS = 16  # with more parameters or tasks than this, no numbers are written in the cells
_MOST_NAMES = 50  # with more than this, not every name is written beside the cells
_NUMBER = 0.3  # font size of numbers, as a share of a cell's shorter side
_FONTS = 4.0, 8.5  # smallest and largest font of numbers, in points; if they would be smaller, there are none
_BRIGHT = 0.6  # cells above this share of the range are bright, so their numbers are dark
_CELL_GREY = "0.87"  # colour of cells whose value means nothing


def interactions(
    result: InteractionResult,
    *,
    level: float | None = None,
    parameters: int | str | Sequence[str] = 12,
    ax: Axes | None = None,
) -> Axes:
    """Which parameters interact: a map with one cell per pair, the strongest parameters first.

    The colour is the pair's importance, its share of the variance of membership in the target (mean over
    seeds). Pairs that are not above chance are grey: their adjusted p is above 5 % in half of the seeds or
    more, or, if the result has no p-values (``n_draws=0``), their importance is 0. Undefined pairs, such as
    those that are never active together, have a cross. Pairs that were not requested are blank. With up to
    16 parameters the cells of pairs above chance show their values.

    Args:
        result: from `parzax.interactions`.
        level: as in all pictures.
        parameters: the parameters to draw, in this order, or the number of those with the largest
            interactions.
        ax: where to draw; give its figure ``layout="constrained"``, so that names fit.
    """
    wanted = "a parzax.lens.results.InteractionResult (px.interactions)"
    _checks.instance("result", result, InteractionResult, wanted)
    index = find_level(result, level)
    importance, above = result.matrix(index), result.to_matrix(result.above[index]) == 1
    asked, defined = ~np.isnan(result.to_matrix(np.zeros(len(result.pairs)))), ~np.isnan(importance)
    importance = np.nan_to_num(importance)
    strength = np.where(above, importance, 1e-6 * importance).max(axis=1, initial=0)
    strongest = np.argsort(-strength, kind="stable")
    ranking = [result.names[j] for j in strongest if asked[j].any()] or list(result.names)
    chosen = choose_names(parameters, ranking)
    order, m = [result.names.index(name) for name in chosen], len(chosen)
    pick, lower = np.ix_(order, order), np.tri(m, k=-1, dtype=bool)
    masks = above, defined & ~above, asked & ~defined
    above, chance, undefined = (mask[pick] & lower for mask in masks)
    shown = np.ma.masked_array(importance[pick], ~above)

    names = list(_arguments.shorten_names(chosen).values())
    top = float(shown.max()) if above.any() else 1.0
    ax = _draw_matrix(ax, names, shown, top, value_text, "share of the variance of membership")
    ax.set_title(f"interactions at γ′ = {result.levels[index]:g}", fontsize="medium")
    if m > 1:
        ax.set(xlim=(-0.5, m - 1.5), ylim=(m - 0.5, 0.5))
    else:
        _axes.write_note(ax, "A single parameter has no pairs.", y=0.5)
    entries: list[Artist] = []
    for i, j in np.argwhere(chance):
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=_CELL_GREY, edgecolor="white"))
    if chance.any():
        how = f" (p > 0.05, adjusted for {plural(len(result.pairs), 'pair')})" if result.n_draws else ""
        look = {"marker": "s", "markersize": 6.5, "color": _CELL_GREY}
        entries.append(_axes.make_handle(label=f"not above chance{how}", **look))
    if undefined.any():
        rows, columns = np.nonzero(undefined)
        ax.scatter(columns, rows, 22.0, marker="x", color=_axes.GREY, linewidths=0.9)
        look = {"marker": "x", "markersize": 5, "color": _axes.GREY}
        entries.append(_axes.make_handle(label="never active together, or not comparable", **look))
    rest = len(result.names) - m
    left_out = f"{plural(rest, 'parameter')} not shown" if rest else ""
    _axes.add_key(ax, entries, f"mean of {result.n_seeds} seeds" if result.n_seeds > 1 else "", left_out)
    return ax


def task_similarity(result: TaskSimilarity, *, ax: Axes | None = None) -> Axes:
    """How similar tasks are, pair by pair: one row and one column per task, in the order of ``result``.

    Colours go from 0 (the good rows of two tasks do not overlap) to 1 (the same density). The diagonal is
    grey, since a task is always fully similar to itself. Up to 16 tasks have numbers in their cells. The
    title names the parameters by which the tasks were compared. If there are more than 50 tasks, only every
    second or third name is written, and so on. A sentence below the map lists the tasks without rows below
    the split.

    Args:
        result: from `parzax.lens.similarity.task_similarity`.
        ax: where to draw; give its figure ``layout="constrained"``, so that names fit.
    """
    wanted = "a parzax.meta.TaskSimilarity (px.lens.similarity.task_similarity)"
    _checks.instance("result", result, TaskSimilarity, wanted)
    t, names = len(result.names), list(_arguments.shorten_names(result.names).values())
    similarity = np.ma.masked_array(np.asarray(result.similarity, np.float64), np.eye(t, dtype=bool))
    label = "similarity s = (1 - d) / (1 + d)"
    ax = _draw_matrix(ax, names, similarity, 1.0, "{:.2f}".format, label)
    parameters = join_names(list(_arguments.shorten_names(result.parameters).values()), 4)
    ax.set_title(_axes.wrap_text(ax, f"compared by {parameters}"), fontsize="medium")
    ax.set_facecolor(_CELL_GREY)
    lost = join_names([name for name, n in zip(names, result.n_below, strict=True) if n == 0], 4)
    sentence = f"no rows below the split, so similarity 0 to all others: {lost}" if lost else ""
    _axes.add_key(ax, [], "a single task: nothing to compare with" if t == 1 else sentence)
    return ax


def _draw_matrix(
    ax: Axes | None,
    names: Sequence[str],
    values: np.ma.MaskedArray,
    top: float,
    write: Callable[..., str],
    label: str,
) -> Axes:
    """Draw (n, n) values from 0 to ``top`` as colours, and as texts if there are few; write the n names."""
    n, longest = len(names), max(map(len, names))
    side = float(np.clip(2.2 + 0.42 * n, 3.0, 8.0)) + max(0.06 * longest - 0.5, 0.0)
    ax = _axes.get_axes(ax, side + 1.0, side + 0.3)
    edges = np.arange(n + 1) - 0.5
    _axes.draw_map(ax, [edges, edges], values, {"label": label}, cmap="viridis", vmin=0, vmax=top)
    ax.invert_yaxis()
    ax.spines[:].set_visible(False)
    width, height = _axes.get_size(ax)
    size = min(_NUMBER * min(width, height) / n, _FONTS[1])
    if n <= _MOST_NUMBERS and size >= _FONTS[0]:
        for i, j in np.argwhere(~np.ma.getmaskarray(values)):
            colour = "0.1" if values[i, j] > _BRIGHT * top else "white"
            ax.text(j, i, write(values[i, j]), ha="center", va="center", fontsize=size, color=colour)
    every = -(-n // _MOST_NAMES)
    overlap = _axes.CHARACTER * longest > 0.8 * every * width / n
    ax.set_xticks(range(0, n, every), names[::every], rotation=90 if overlap else 0)
    ax.set_yticks(range(0, n, every), names[::every])
    ax.tick_params(length=0, labelsize="medium" if n <= _MOST_NUMBERS else "small")
    return ax
