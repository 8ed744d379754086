"""Meta-learning TPE as loops, from arXiv 2212.06751: mixtures over tasks, given their similarities."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from reference import mixture, tpe


def kernel(similarities: Sequence[float]) -> list[float]:
    """k(1, m): the target first."""
    shares = [s / (len(similarities) + 1) for s in similarities]
    return [1 - sum(shares), *shares]


def scores(
    settings: tpe.Settings,
    space: Any,
    tables: Sequence[Any],
    similarities: Sequence[Sequence[float]],
    candidates: Any,
) -> np.ndarray:
    """What the sampler maximises, (j,).

    Args:
        settings: of the sampler.
        space: of all tasks.
        tables: rows of the target, then of every source.
        similarities: of every group, to each source.
        candidates: (j, d).
    """
    parameters = mixture.parameters_of(space)
    groups = [tpe.groups(settings, t.objectives, t.constraints, t.extra) for t in tables]
    total = np.zeros(len(candidates))
    for i in range(len(groups[0])):
        weight = kernel(similarities[i])
        sizes = {
            name: [k * len(getattr(own[i], name)) for k, own in zip(weight, groups, strict=True)]
            for name in ("below", "above")
        }
        logs = {}
        for name, own_sizes in sizes.items():
            if sum(own_sizes) == 0:
                own_sizes = [1.0] + [0.0] * (len(tables) - 1)
            fitted = [
                tpe.fit(settings, parameters, np.asarray(t.x)[getattr(own[i], name)])
                for t, own in zip(tables, groups, strict=True)
            ]
            logs[name] = [
                mixed([tpe.log_density(parameters, f, c) for f in fitted], own_sizes) for c in candidates
            ]
        # Pending rows are bad, but are not known.
        pending = [
            sum(any(map(math.isnan, row)) for row, e in zip(t.objectives, t.extra, strict=True) if not e)
            for t in tables
        ]
        known = sum(
            k * (len(own[i].below) + len(own[i].above) - n)
            for k, own, n in zip(weight, groups, pending, strict=True)
        )
        gamma = sum(sizes["below"]) / known if known else groups[0][i].gamma
        for j, (low, high) in enumerate(zip(logs["below"], logs["above"], strict=True)):
            total[j] += low - high if settings.score == "ratio" else tpe.relative(low - high, gamma)
    return total


def mixed(logs: Sequence[float], weights: Sequence[float]) -> float:
    """log of the weighted mean of exp."""
    terms = [log + math.log(w / sum(weights)) for log, w in zip(logs, weights, strict=True) if w > 0]
    top = max(terms)
    return top + math.log(math.fsum(math.exp(t - top) for t in terms))
