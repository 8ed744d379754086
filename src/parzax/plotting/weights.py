"""Importance against the weights of two objectives."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from parzax import _checks
from parzax.plotting import _arguments, _axes, _text
from parzax.plotting.sweep import draw_line
from parzax.results import ImportanceOverWeights
from parzax.results.base import mean_and_error


def importance_over_weights(
    sweep: ImportanceOverWeights,
    *,
    level: int | float = 0,
    parameters: str | Sequence[str] | None = None,
    max_parameters: int = 7,
    ax: Axes | None = None,
) -> Axes:
    """Importance against the weight of the second of two objectives, one line per parameter.

    At the left end the first objective alone counts, at the right end the second one. A line is a parameter's
    importance for the weighted combinations; with several seeds its mean over those that have one, and its
    ribbon one standard error to either side. Where nothing is defined (`ImportanceResult.is_defined`) lines
    have a gap.

    Args:
        sweep: from `parzax.importance_over_weights`, with two objectives.
        level, ax: as in all pictures.
        parameters: which to draw, and nothing else; by default the ``max_parameters`` most important (mean
            over the weights), and the sum of the others in grey.
        max_parameters: how many lines at most, without that of the others.

    Raises:
        TypeError, ValueError: another ``sweep``, one of other than two objectives, parameters or levels that
            are not there.
    """
    wanted = "a parzax.importance.ImportanceOverWeights (from importance_over_weights)"
    _checks.instance("sweep", sweep, ImportanceOverWeights, wanted)
    if len(sweep.objectives) != 2:
        raise ValueError(f"sweep must have two objectives to be drawn, got {len(sweep.objectives)}.")
    # All results have the same levels and names.
    number = _arguments.find_level(sweep.results[0], level).number
    asked, most = _arguments.check_choice(sweep.results[0], parameters, max_parameters)
    overall = np.mean([result.over_seeds()[0][number] for result in sweep.results], axis=0)
    ranking = [sweep.names[j] for j in np.argsort(-overall, kind="stable")]
    order = np.argsort(sweep.weights[:, 1], kind="stable")
    at, short, entries = sweep.weights[order, 1], _text.names(sweep.names, 22), []
    levels = [_arguments.Level(sweep.results[i], number) for i in order]
    importance = np.stack([of_weight.of(of_weight.result.importance) for of_weight in levels], axis=1)
    defined = np.stack([of_weight.of(of_weight.result.is_defined) for of_weight in levels], axis=1) > 0
    ax = _axes.axes_or_new(ax, 6.4, 3.8)
    for name, columns, colour, dash in _arguments.contributions(sweep, asked or ranking, most, ranking):
        counts = np.asarray(defined[..., columns].any(axis=-1))
        mean, error = mean_and_error(importance[..., columns].sum(axis=-1), counts)
        mean = np.where(counts.any(axis=0), mean, np.nan)
        look = {"color": colour, "linestyle": dash}
        ends, sure = (mean - error, mean + error), np.ones(len(at), bool)
        draw_line(ax, at, mean, ends, sure, label=_text.plain(name), **look)
        entries.append((Line2D([], [], linewidth=1.8, **look), short.get(name, name)))
    first, second = (_text.name(name, 22) for name in sweep.objectives)
    ax.set(
        xlabel=f"weight of {second} (the rest: {first})",
        ylabel=levels[0].label("", "mean ± standard error, {}"),
        ylim=(0, None),
    )
    _axes.tidy(ax)
    _axes.key_below(ax, entries)
    return ax
