"""One parameter as an axis of a picture: its cells, where values stand, ticks."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes

from parzax.kernels import kernel_axis
from parzax.plotting import _text
from parzax.plotting._matplotlib import plain
from parzax.space import Categorical, Domain, Float, Int, Numeric, Ordinal, Space

# More values than this are not named one by one.
_MOST_LABELS = 12


class ParameterAxis(NamedTuple):
    """The values of one parameter in a picture.

    Attributes:
        values: native values (codes of categories), one per cell.
        places: where they are drawn.
        edges: ends of the cells around them.
        log: whether the axis is logarithmic.
        discrete: whether every value has a cell of width 1, side by side.
        decades: what turns a density per native unit, or the mass of a value on a logarithmic axis, into a
            density per decade; 1 where nothing is.
        labels: names of discrete values, where there are few.
    """

    values: np.ndarray
    places: np.ndarray
    edges: np.ndarray
    log: bool
    discrete: bool
    decades: np.ndarray
    labels: list[str]

    def place(self, values: np.ndarray) -> np.ndarray:
        """Where native ``values`` are drawn; NaN stays NaN."""
        if not self.discrete:
            return values
        known = np.where(np.isnan(values), self.values[0], values)
        nearest = np.abs(known[..., None] - self.values).argmin(axis=-1)
        return np.where(np.isnan(values), np.nan, self.places[nearest])


def parameter_axis(space: Space, name: str, size: int, most_discrete: int | None = None) -> ParameterAxis:
    """The axis of ``name``, over all its domains.

    Args:
        space: that has the parameter.
        name: of the parameter.
        size: cells of a continuous one.
        most_discrete: with more values than this a discrete parameter gets ``size`` cells too, each with
            the value nearest to its middle.
    """
    domain = _union(space[name])
    axis = kernel_axis(domain)
    if axis.kind == "continuous" or (most_discrete is not None and axis.n_values > most_discrete):
        ends, middles = (
            axis.low + axis.length * u for u in (np.linspace(0, 1, size + 1), (np.arange(size) + 0.5) / size)
        )
        ends, middles = (np.exp(u) if axis.log else u for u in (ends, middles))
        if axis.kind == "continuous":
            middles, ends = np.clip(middles, *axis.ends), np.clip(ends, *axis.ends)
            decades = middles * np.log(10) if axis.log else np.ones(size)
            return ParameterAxis(middles, middles, ends, axis.log, False, decades, [])
        values = axis.native(axis.index_at((np.arange(size) + 0.5) / size, np), np.float64, np)
        # A cell has one of its values only, so there is no mass of it to speak of.
        return ParameterAxis(values, middles, ends, axis.log, False, np.ones(size), [])
    index = np.arange(max(axis.n_values, 1), dtype=np.int32)
    values = axis.native(index, np.float64, np)
    if isinstance(domain, Int) and domain.log and len(values) > _MOST_LABELS:
        # Side by side most of them would fill the lower end of the axis.
        edges = np.append(values - 0.5, values[-1] + 0.5)
        return ParameterAxis(values, values, edges, True, False, 1 / np.diff(np.log10(edges)), [])
    labels = _choices(space[name]) if isinstance(domain, Categorical) else [_text.number(v) for v in values]
    # Discrete values stand side by side, so that no cell is too thin to see.
    places = index.astype(np.float64)
    few = labels if len(labels) <= _MOST_LABELS else []
    edges = np.append(places - 0.5, places[-1] + 0.5)
    return ParameterAxis(values, places, edges, False, True, np.ones(len(values)), few)


def label_axes(ax: Axes, axes: Sequence[ParameterAxis], names: Sequence[str]) -> None:
    """Scales, ticks and names of the first axis, or of both."""
    for which, axis, name in zip("xy", axes, names, strict=False):
        if axis.log:
            ax.set(**{f"{which}scale": "log"})
        if axis.discrete and axis.labels:
            long = sum(map(len, axis.labels)) > 28 and which == "x"
            ax.set(**{f"{which}ticks": axis.places, f"{which}ticklabels": axis.labels})
            if long:
                ax.tick_params(axis="x", labelrotation=40)
        elif axis.discrete:
            at = np.unique(np.linspace(0, len(axis.places) - 1, 6).round().astype(int))
            ax.set(
                **{
                    f"{which}ticks": axis.places[at],
                    f"{which}ticklabels": [_text.number(v) for v in axis.values[at]],
                }
            )
        ax.set(**{f"{which}label": plain(name)})


def two_parameters(space: Space, x: Any, y: Any) -> tuple[str, str]:
    """The two names asked for, the first ones of the space by default; checked."""
    for argument, name in (("x", x), ("y", y)):
        if name is not None and name not in space.names:
            raise ValueError(
                f"{argument} must be a parameter of the space ({', '.join(space.names)}), got {name!r}."
            )
    if len(space) < 2:
        raise ValueError(f"space has one parameter, {space.names[0]!r}; this picture needs two.")
    x = x if x is not None else next(name for name in space.names if name != y)
    y = y if y is not None else next(name for name in space.names if name != x)
    if x == y:
        raise ValueError(f"x and y must be different parameters, got {x!r} twice.")
    return x, y


def _union(domains: Sequence[Domain]) -> Domain:
    """One domain that holds the values of all."""
    if len(domains) == 1:
        return domains[0]
    if isinstance(domains[0], Categorical):
        return max(domains, key=lambda own: own.n_values or 0)
    if all(domain.n_values for domain in domains):
        axes = [kernel_axis(domain) for domain in domains]
        values = [axis.native(np.arange(axis.n_values), np.float64, np) for axis in axes]
        return Ordinal(np.unique(np.concatenate(values)).tolist())
    ends = np.array([_ends(domain) for domain in domains])
    log = all(getattr(domain, "log", False) for domain in domains)
    return Float(float(ends.min()), float(ends.max()), log=log)


def _ends(domain: Domain) -> tuple[float, float]:
    if isinstance(domain, Ordinal):
        return float(domain.values[0]), float(domain.values[-1])
    assert isinstance(domain, Numeric)
    return float(domain.low), float(domain.high)


def _choices(domains: Sequence[Domain]) -> list[str]:
    """Name of every code; several where the domains differ."""
    lists = [domain.choices for domain in domains if isinstance(domain, Categorical)]
    codes = range(max(map(len, lists)))
    named = [dict.fromkeys(_text.choice(own[i], 14) for own in lists if i < len(own)) for i in codes]
    return [plain(" / ".join(names)) for names in named]
