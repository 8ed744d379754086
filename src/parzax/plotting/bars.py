"""Importances at one level as sorted bars."""

import numpy as np
from matplotlib.axes import Axes

from parzax.importance import ImportanceResult
from parzax.importance.seeds import mean_and_error
from parzax.plotting import _arguments as args
from parzax.plotting._bars import finish, names_with_signs, thickness
from parzax.plotting._matplotlib import axes_or_new


def importance_bars(
    result: ImportanceResult, *, level: int | float = 0, max_parameters: int = 20, ax: Axes | None = None
) -> Axes:
    """Importances at one level: horizontal bars, the largest on top, with their values.

    With several seeds a bar is the mean over those that have an importance at the level, and its whisker one
    standard error to either side. A sign after a
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
    order = np.argsort(-result.over_seeds()[0][q], kind="stable")
    shown, rest = order[:max_parameters], order[max_parameters:]
    colours = args.colours(result)
    names = [result.names[j] for j in shown]
    labels = names_with_signs(result, q, names)
    fill = [colours[name] for name in names]
    columns = [seeds[:, j] for j in shown]
    if len(rest):
        columns.append(seeds[:, rest].sum(axis=1))
        one = [result.names[rest[0]]]
        labels += [f"{len(rest)} others"] if len(rest) > 1 else names_with_signs(result, q, one)
        names += [] if len(rest) > 1 else one
        fill.append(args.OTHERS)
    mean, error = mean_and_error(np.stack(columns, axis=1), args.with_importance(result)[:, q])

    own_figure = ax is None
    ax = axes_or_new(ax, 6.4, 1.0 + 0.28 * len(labels))
    y = np.arange(len(labels))
    ax.barh(y, mean, color=fill, height=thickness(ax, 0.72, len(labels) + 0.2))
    if len(seeds) > 1:
        ax.errorbar(mean, y, xerr=error, fmt="none", ecolor="0.25", elinewidth=1, capsize=2)
    ax.set_yticks(y, labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    of_seeds = f" (mean ± standard error, {args.seeds_text(result, q)})" if len(seeds) > 1 else ""
    return finish(
        ax,
        result,
        q,
        names,
        at=y.tolist(),
        values=mean,
        ends=mean + np.nan_to_num(error),
        label=f"importance at γ′ = {result.target_quantile[q]:g}{of_seeds}",
        lay_out=own_figure,
    )
