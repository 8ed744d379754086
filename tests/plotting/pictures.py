"""Every picture of the package on small data, with names that a test may choose."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np
from matplotlib.axes import Axes

import parzax as px
from parzax.lens.similarity import TaskSimilarity
from parzax.samplers import Trace

from .conftest import ESTIMATOR, analyse

Picture = Callable[..., Axes]
# What logs may hold: formulae, markup, line breaks, control characters, half of a character, no end.
HOSTILE = "_{}$\\frac{{$ <b>\n\t\x1b[31m\x00\u200b\ud800" + 50 * " and so on"


def log(pattern: str) -> px.Observations:
    """A small log with the names put into ``pattern``."""
    a, b, c, first, second = map(pattern.format, ("a", "b", "c", "first", "second"))
    space = px.Space(
        {
            a: px.Float(0, 1),
            b: px.Categorical([first, second]),
            c: px.Float(1e-3, 1, log=True, when=px.In(b, [first])),
        }
    )
    code = np.arange(40) % 2
    x = np.stack([np.random.default_rng(0).uniform(size=40), code, np.where(code == 0, 0.1, np.nan)], axis=-1)
    return px.Observations.from_arrays(space, x, x[:, 0])


@cache
def answered() -> px.ImportanceResult:
    """The answer of a surrogate, whose programs are compiled for the names of a space."""
    return px.cond_ped_anova(log("{}"), 0.3, surrogate=px.surrogate.GaussianProcess(), **ESTIMATOR)


def pictures(pattern: str = "{}") -> dict[str, Picture]:
    """Public name -> the picture with all names, choices included, put into ``pattern``; takes ``ax``."""
    obs, rng = log(pattern), np.random.default_rng(1)
    (a, b, c), space, x = obs.space.names, obs.space, obs.values
    first, second = map(pattern.format, ("first", "second"))
    result, found = analyse(obs, [0.3, 0.6]), px.interactions(obs, 0.3, n_draws=20)
    losses = rng.uniform(size=(3, 40, 2))
    trace = Trace(np.stack([x, x, x]), losses, rng.uniform(-1, 1, (3, 40, 1)), ("minimize",) * 2)
    sampler = px.c_tpe(space)
    one = Trace(x, losses[0, :, :1], np.asarray(trace.constraints)[0], ("minimize",))
    names, d = tuple(map(pattern.format, "xyz")), np.array([[0, 0.3, 1], [0.3, 0, 1], [1, 1, 0]])
    error, report = np.zeros((3, 3)), ("", "", "")
    tasks = TaskSimilarity(names, (1 - d) / (1 + d), d, error, np.array([4, 4, 0]), (a, b, c), report)
    two = px.Observations.from_arrays(space, x, losses[0])
    two = replace(two, report=replace(two.report, objectives=(first, second)))
    weights = {
        w: px.cond_ped_anova(two, 0.3, objective=[1 - w, w], **ESTIMATOR, n_resamples=0) for w in (0, 0.5, 1)
    }
    runs = {pattern.format("one"): trace, pattern.format("two"): trace}

    def renamed() -> px.ImportanceResult:  # later: few pictures need a surrogate
        return replace(answered(), space=space)

    return {
        "acquisition": partial(px.plotting.acquisition, sampler, one, [a, b], size=9),
        "attainment": partial(px.plotting.attainment, runs),
        "convergence": partial(px.plotting.convergence, runs),
        "effect_map": lambda **place: px.plotting.effect_map(renamed(), parameters=[a, c], **place),
        "effects": lambda **place: px.plotting.effects(renamed(), **place),
        "history": partial(px.plotting.history, two),
        "importance_bars": partial(px.plotting.importance_bars, result),
        "importance_over_weights": partial(px.plotting.importance_over_weights, weights),
        "importance_sweep": partial(px.plotting.importance_sweep, result),
        "interactions": partial(px.plotting.interactions, found),
        "observations": partial(px.plotting.observations, one, space, [b, c]),
        "parallel": partial(px.plotting.parallel, obs),
        "regimes": partial(px.plotting.regimes, result),
        "slices": partial(px.plotting.slices, obs),
        "task_similarity": partial(px.plotting.task_similarity, tasks),
        "values": partial(px.plotting.values, result, c),
    }
