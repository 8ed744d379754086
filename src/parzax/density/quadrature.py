"""Nodes and weights for integrals over a space of one or two parameters."""

from typing import Any

import numpy as np
from jaxtyping import Float

from parzax.space import Points, Space

# Panels of a continuous axis, with so many Gauss-Legendre nodes in each, by the number of parameters.
_PANELS, _NODES = {1: 64, 2: 32}, 10
# Largest number of points of a quadrature.
_MOST_POINTS = 1 << 18


def quadrature(space: Space, dtype: Any) -> tuple[Points, Float[np.ndarray, " j"]] | None:
    """Nodes and log weights in unit coordinates; None for open domains, conditions and many parameters."""
    domains = [domain for of_parameter in space.domains for domain in of_parameter]
    if (
        len(space) > 2
        or len(domains) > len(space)
        or any(domain.conditions or domain.axis.is_open for domain in domains)
    ):
        return None
    node, weight = np.polynomial.legendre.leggauss(_NODES)
    panels = _PANELS[len(space)]
    unit = ((np.arange(panels)[:, None] + (node + 1) / 2) / panels).ravel()
    by_parameter = []
    for domain in domains:
        if domain.n_values is None:
            nodes = unit, np.zeros(len(unit), int), np.log(np.tile(weight / 2 / panels, panels))
        else:
            number = np.arange(min(domain.n_values, _MOST_POINTS + 1))
            place = domain.axis.place(np.zeros(len(number)), number)
            nodes = place, number, np.zeros(len(number))
        by_parameter.append(nodes)
    if np.prod([len(number) for _, number, _ in by_parameter]) > _MOST_POINTS:
        return None
    places, numbers, log_weights = (
        np.stack([part.ravel() for part in np.meshgrid(*parts, indexing="ij")], axis=-1)
        for parts in zip(*by_parameter, strict=True)
    )
    regime, valid = np.zeros(numbers.shape, np.int32), np.ones(numbers.shape, bool)
    at = Points(regime, places.astype(dtype), numbers.astype(np.int32), valid)
    return at, log_weights.sum(axis=-1).astype(dtype)
