"""What parameters do to the objective, in its units: curves and maps of means by a surrogate."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from parzax.lens.plotting import _arguments, _axes
from parzax.lens.plotting._parameters import ParameterAxis, check_pair, choose_axis
from parzax.lens.results import ImportanceResult
from parzax.lens.results.surrogates import N_VALUES
from parzax.space import Domain, Numeric, Ordinal

_PANEL = 2.4, 3.0  # size of a panel in inches


def effects(
    result: ImportanceResult, *, parameters: int | str | list[str] = 4, ax: Axes | None = None
) -> Axes:
    """The mean objective along each parameter, one panel for each domain, by ``result.effects``.

    The other parameters are as in the space. Lines are means over draws from the posterior of the
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
        colour = looks[effect.parameter]["color"]
        axis = _axis_of(result.space[effect.parameter][effect.regime], effect.values)
        if axis.discrete:
            errors = np.stack([effect.mean - effect.low, effect.high - effect.mean])
            _axes.draw_whiskers(panel, axis.places, effect.mean, yerr=np.maximum(errors, 0))
            panel.plot(axis.places, effect.mean, "o", color=colour)
        else:
            places, mean, low, high = axis.curves(effect.mean, effect.low, effect.high)
            panel.plot(places, mean, color=colour)
            _axes.draw_ribbon(panel, places, low, high, colour)
        axis.label(panel.xaxis, effect.parameter)
        panel.set_title(_arguments.escape(effect.worth_text), fontsize="small")
        panel.label_outer()
    ax.set_ylabel(_arguments.shorten_name(f"mean {result.objective}"))
    return ax


def effect_map(
    result: ImportanceResult, *, parameters: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """The mean objective over two parameters, with the others as in the space.

    The map is a mean over draws from the posterior of the surrogate, `parzax.surrogate.surface`. It is white
    where the two parameters are not active together. Of a parameter with several domains it shows the first.

    Args:
        result: an answer of a surrogate (else AttributeError).
        parameters: names of two parameters; by default those that are worth most.
        ax: where to draw; give its figure ``layout="constrained"``, so that names fit.
    """
    from parzax.surrogate import surface

    answer: Any = _arguments.check_result(result)
    first = {effect.parameter: effect.values for effect in answer.effects if effect.regime == 0}
    names = check_pair([*first][:2] if parameters is None else parameters, result.space)
    x, y = (_axis_of(result.space[name][0], first[name]) for name in names)
    owners = [slot.parameter for slot in result.space.slots]
    slots = owners.index(result.space.index(names[0])), owners.index(result.space.index(names[1]))
    ax = _axes.get_axes(ax, 5.0, 3.8)
    losses = surface(answer.key, answer.posterior, slots, n_values=N_VALUES).mean(axis=0)
    means = (-losses if answer.maximised else losses)[: len(x.values), : len(y.values)]
    label = {"label": _arguments.shorten_name(f"mean {result.objective}")}
    _axes.draw_map(ax, [x.edges, y.edges], np.ma.masked_invalid(means.T), label, cmap="viridis")
    x.label(ax.xaxis, names[0])
    y.label(ax.yaxis, names[1])
    return ax


def _axis_of(domain: Domain, values: Sequence[Any]) -> ParameterAxis:
    # A category has all of its choices.
    codes = values if isinstance(domain, Numeric | Ordinal) else range(len(values))
    return choose_axis(domain, np.array(codes, float))
