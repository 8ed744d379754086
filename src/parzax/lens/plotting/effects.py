"""What parameters do to the objective, in its units: mean curves of a surrogate with their bands."""

import numpy as np
from matplotlib.axes import Axes

from parzax.lens.plotting import _arguments, _axes
from parzax.lens.plotting._parameters import choose_axis
from parzax.lens.results import ImportanceResult
from parzax.space import Numeric, Ordinal

_PANEL = 2.4, 3.0  # size of a panel in inches


def effects(
    result: ImportanceResult, *, parameters: int | str | list[str] = 4, ax: Axes | None = None
) -> Axes:
    """The mean objective along each parameter, one panel for each domain, by ``result.effects``.

    The other parameters are as in the whole space. Lines are means over draws from the posterior of the
    surrogate, ribbons (whiskers on dots) their 90 % intervals. All panels share the axis of the objective;
    their titles say what choosing the parameter well is worth.

    Args:
        result: an answer of a surrogate (else AttributeError).
        parameters: names of parameters, or the number of those that are worth most.
        ax: where to draw; it must be a subplot (else ValueError), and all panels share its place.
    """
    listed = _arguments.check_result(result).effects
    ranking = list(dict.fromkeys(effect.parameter for effect in listed))
    names = _arguments.choose_names(parameters, ranking)
    shown = [effect for name in names for effect in listed if effect.parameter == name]
    ax = _axes.get_axes(ax, _PANEL[0] * len(shown) + 0.6, _PANEL[1])
    labels = [f"{effect.parameter} {effect.regime}" for effect in shown]
    looks = _arguments.choose_looks(result)
    for panel, effect in zip(_axes.split_axes(ax, [labels])[0], shown, strict=True):
        domain, colour = result.space[effect.parameter][effect.regime], looks[effect.parameter]["color"]
        # A category has all of its choices.
        codes = effect.values if isinstance(domain, Numeric | Ordinal) else range(len(effect.values))
        axis = choose_axis(domain, np.array(codes, float))
        if axis.discrete:
            errors = np.stack([effect.mean - effect.low, effect.high - effect.mean])
            _axes.draw_whiskers(panel, axis.places, effect.mean, yerr=np.maximum(errors, 0))
            panel.plot(axis.places, effect.mean, "o", color=colour)
        else:
            panel.plot(axis.places, effect.mean, color=colour)
            _axes.draw_ribbon(panel, axis.places, effect.low, effect.high, colour)
        axis.label(panel.xaxis, effect.parameter)
        panel.set_title(f"worth about {effect.worth[0]:.2g}", fontsize="small")
        panel.label_outer()
    unnamed = result.report.objectives[0] if len(result.report.objectives) == 1 else "objective"
    ax.set_ylabel(_arguments.shorten_name(f"mean {unnamed}"))
    return ax
