"""Traces written by hand, so that pictures of runs need no sampler and nothing to compile."""

import numpy as np

from parzax.samplers import Trace


def trace(objectives, constraints=None, x=None, direction="minimize") -> Trace:
    """A trace from lists: objectives (..., n) or (..., n, m), constraints (..., n) or (..., n, c)."""
    losses = np.asarray(objectives, float)
    losses = losses[..., None] if losses.ndim < 3 else losses
    none = np.zeros((*losses.shape[:-1], 0))
    limits = none if constraints is None else np.asarray(constraints, float).reshape(*losses.shape[:-1], -1)
    x = np.zeros((*losses.shape[:-1], 2)) if x is None else np.asarray(x, float)
    return Trace(x, losses, limits, (direction,) * losses.shape[-1])


def two_objectives(points, constraints=None) -> Trace:
    """A trace of runs (s, n, 2)."""
    points = np.asarray(points, float)
    limits = np.zeros((*points.shape[:2], 0)) if constraints is None else np.asarray(constraints)[..., None]
    return Trace(np.zeros((*points.shape[:2], 2)), points, limits, ("minimize",) * 2)
