"""Logs for pages, with made-up uncertainty and interactions."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
from conftest import COARSE

import parzax as px
from parzax.lens.results.replicates import Replicates

LEVELS = np.array([0.1, 0.3, 0.5, 0.7])
# Rows alone on a coarse grid, whose programs compile fast.
analyse = partial(px.cond_ped_anova, n_resamples=0, grid=COARSE)
# What would be markup, code or layout in HTML, JSON, JavaScript or plotly's labels.
NASTY = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "line\N{LINE SEPARATOR}end \x1b[2J\N{RIGHT-TO-LEFT OVERRIDE}",
    "<b>bold</b>&lt;i&gt;<br>%{y} $x^2$ {{ 7 * 7 }}",
    "model.encoder.layers.0.attention.projection.weight.initializer.scale.of.the.first.block.of.the.network",
    "model.encoder.layers.1.attention.projection.weight.initializer.scale.of.the.first.block.of.the.network",
    "学習率",
    "معدل التعلم",
    "W" * 400,
)


def activation(n_seeds: int | None = None, n: int = 200) -> px.Observations:
    """x has two regimes and decides; noise does not."""
    shape = (n,) if n_seeds is None else (n_seeds, n)
    rng = np.random.default_rng(1)
    c, noise = rng.uniform(size=shape), rng.uniform(size=shape)
    x = np.where(c < 0.5, rng.uniform(-5, -2, shape), rng.uniform(2, 5, shape))
    space = px.Space(
        {
            "c": px.Float(0, 1),
            "x": (
                px.Float(-5, -2, when=px.Between("c", high=0.5)),
                px.Float(2, 5, when=px.Between("c", low=0.5)),
            ),
            "noise": px.Float(0, 1),
        }
    )
    return px.Observations.from_arrays(space, np.stack([c, x, noise], axis=-1), x)


@cache
def result(n_seeds: int | None = None) -> px.ImportanceResult:
    return analyse(activation(n_seeds), LEVELS)


@cache
def nasty() -> px.ImportanceResult:
    """Names and choices that must stay text."""
    rng = np.random.default_rng(0)
    space = {name: px.Float(0, 1) for name in NASTY}
    space["kind"] = px.Categorical([*NASTY, "plain"])
    x = np.append(rng.uniform(size=(200, len(NASTY))), rng.integers(0, len(NASTY) + 1, (200, 1)), axis=1)
    loss = x[:, :-1] @ (1 / np.arange(1, len(NASTY) + 1)) + 0.1 * x[:, -1]
    return analyse(px.Observations.from_arrays(px.Space(space), x, loss), LEVELS)


def with_uncertainty(result: px.ImportanceResult) -> px.ImportanceResult:
    """A copy of the result, with made-up intervals and p-values that differ by level and parameter."""
    mean = np.asarray(result.importance, float)
    p_value = np.linspace(0.0001, 0.2, mean.size).reshape(mean.shape)
    ones = np.ones(mean.shape[:-2])
    replicates = Replicates(np.tile(mean, (100, *[1] * mean.ndim)), p_value, ones, 200 * ones, 999)
    copy = replace(result, replicates=replicates)
    interval = np.stack([0.5 * mean, np.minimum(mean + 0.1, 1)], axis=-1)
    vars(copy).update(importance_interval=interval, variance_interval=interval)
    vars(copy).update(p_adjusted=np.minimum(3 * p_value, 1), margin=np.full(mean.shape[:-1], 0.25))
    return copy


def fake_interactions(
    own: px.ImportanceResult, levels: np.ndarray = LEVELS
) -> px.lens.results.InteractionResult:
    """All pairs, numbers that differ by level and pair; the last pair is above chance."""
    n = len(own.names)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    importance = np.linspace(-0.01, 0.3, len(levels) * len(pairs)).reshape(len(levels), len(pairs))
    p_value, importance = 0.3 - importance, np.maximum(importance, 0)
    p_adjusted = p_value + 0.1
    p_adjusted[:, -1] = 0.01
    return _interactions(own, pairs, levels, importance, p_value, p_adjusted)


def tested_interactions(own: px.ImportanceResult) -> px.lens.results.InteractionResult:
    """Of the first five parameters at the first and the last level: by level 0 and 4 of 10 above chance.

    What is not is the most important. Two pairs are never together at any level, with 0 for an importance.
    """
    pairs = [(a, b) for a in range(5) for b in range(a + 1, 5)]
    importance = np.tile(np.linspace(0.1, 0.28, 10), (2, 1))
    p = np.full((2, 10), 0.9)
    p[1, :4] = [0.01, 1 / 501, 0.03, 0.04]
    importance[:, 6:8], p[:, 6:8] = 0, np.nan
    found = _interactions(own, pairs, LEVELS[[0, -1]], importance, p, p.copy())
    found.status[:, 6:8] = int(px.Status.NEVER_TOGETHER)
    return found


def _interactions(
    own: px.ImportanceResult,
    pairs: list[tuple[int, int]],
    levels: np.ndarray,
    importance: np.ndarray,
    p_value: np.ndarray,
    p_adjusted: np.ndarray,
) -> px.lens.results.InteractionResult:
    """A result with made-up numbers, adjusted p-values included."""
    none = np.zeros(importance.shape)
    estimates = px.importance.Interactions(
        variance=importance / 10,
        importance=importance,
        joint=none,
        main=np.stack([none, none], axis=-1),
        p_value=p_value,
        status=np.zeros(importance.shape, np.int32),
        n_active=np.zeros(len(pairs)),
        n_target=np.zeros(len(levels)),
        n_region=np.zeros(()),
        regime_variance=none[..., None, None],
        pairs=tuple(pairs),
        n_draws=500,
    )
    result = px.lens.results.InteractionResult(estimates, own.space, levels, 1.0, own.report)
    vars(result)["p_adjusted"] = p_adjusted
    return result
