"""Importance against the weights of two objectives."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from parzax.plotting import _arguments, _axes, _text
from parzax.results import ImportanceOverWeights
from parzax.results.arrays import mean_and_error

_FEW_WEIGHTS = 12  # so few weights are marked one by one


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
    if not isinstance(sweep, ImportanceOverWeights):
        wanted = "a parzax.importance.ImportanceOverWeights (from importance_over_weights)"
        raise TypeError(f"sweep must be {wanted}, got {type(sweep).__name__}.")
    if len(sweep.objectives) != 2:
        raise ValueError(f"sweep must have two objectives to be drawn, got {len(sweep.objectives)}.")
    # All results have the same levels and names.
    number = _arguments.find_level(sweep.results[0], level).number
    asked, most = _arguments.check_choice(sweep.results[0], parameters, max_parameters)
    levels = [_arguments.Level(result, number) for result in sweep.results]
    overall = np.mean([own.mean_and_error(own.of(own.result.importance))[0] for own in levels], axis=0)
    ranking = [sweep.names[j] for j in np.argsort(-overall, kind="stable")]
    names = asked or ranking
    most += len(names) == most + 1
    parts = [(name, [sweep.names.index(name)], *_arguments.line_look(ranking.index(name))) for name in names]
    if rest := [part[1][0] for part in parts[most:]]:
        parts[most:] = [(f"{len(rest)} others", rest, _arguments.OTHERS, "solid")]
    order = np.argsort(sweep.weights[:, 1], kind="stable")
    at, short, entries = sweep.weights[order, 1], _text.names(sweep.names, 22), []
    ax = _axes.axes_or_new(ax, 6.4, 3.8)
    for name, columns, colour, dash in parts:
        found = [_share(levels[i], columns) for i in order]
        mean, error = (np.array([pair[k] for pair in found]) for k in (0, 1))
        look = {"color": colour, "linestyle": dash, "linewidth": 1.8}
        marks = {"marker": "o", "markersize": 4} if len(at) <= _FEW_WEIGHTS else {}
        ax.plot(at, mean, label=_text.plain(name), **look, **marks)
        _axes.ribbon(ax, at, mean, error, colour)
        entries.append((Line2D([], [], **look), short.get(name, name)))
    first, second = (_text.name(name, 22) for name in sweep.objectives)
    ax.set(
        xlabel=f"weight of {second} (the rest: {first})",
        ylabel=levels[0].label("", "mean ± standard error, {}"),
        ylim=(0, None),
    )
    _axes.tidy(ax)
    _axes.key_below(ax, entries)
    return ax


def _share(own: _arguments.Level, columns: list[int]) -> tuple[float, float]:
    """Mean and standard error of the sum of some parameters, over the seeds that have an importance."""
    defined = np.asarray(own.of(own.result.is_defined)[:, columns].any(axis=-1))
    if not defined.any():
        return np.nan, np.nan
    mean, error = mean_and_error(own.of(own.result.importance)[:, columns].sum(axis=-1), defined)
    return float(mean), float(error)
