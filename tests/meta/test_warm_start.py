"""`meta_learn_tpe` by default: `tpe` that begins with the best rows of other tasks."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from benchmarks.settings import adjusted

import parzax as px
from parzax.samplers import RandomStart

SPACE = px.Space({"x": px.Float(0, 1), "k": px.Categorical(["a", "b", "c"])})
KINDS = [*(pytest.param(m, c, marks=pytest.mark.slow) for m, c in ((1, 0), (2, 0), (2, 1))), (1, 1)]


def log(seed: int, m: int = 1, c: int = 0, space: px.Space = SPACE, n: int = 40) -> px.Observations:
    rng = np.random.default_rng(seed)
    x = np.stack([rng.uniform(size=n), rng.integers(0, 3, n)][: len(space)], axis=-1)
    objectives = np.stack([(x[:, 0] - 0.3) ** 2, (x[:, 0] - 0.6) ** 2][:m], axis=-1)
    constraints = np.repeat(0.4 - x[:, :1], c, axis=1) if c else None
    return px.Observations.from_arrays(space, x, objectives, constraints=constraints)


@pytest.mark.parametrize(("m", "c"), KINDS)
@pytest.mark.parametrize("options", [{}, {"share_power": 2.5}])
def test_all_but_the_start_are_those_of_tpe(m, c, options):
    """Catches a default that is written twice and differs; the paper's are those of `mo_tpe`."""
    space, source = px.Space({"k": SPACE["k"]}), log(0, m, c)
    sampler = adjusted(px.meta_learn_tpe, **options)(space, [source], m, c)
    own = {"n_startup": 7 if c else 5, "share_power": 1.0, "infeasible": "better"} | options
    assert sampler.start.n_startup == own["n_startup"]
    assert replace(sampler, start=RandomStart(own["n_startup"])) == adjusted(px.tpe, **own)(space, m, c)
    own = {"n_samples": 50, "start": RandomStart()}
    published = adjusted(px.papers.authors_meta_learn_tpe, **own, **options)(space, [source], m, c)
    plain = adjusted(px.mo_tpe, epsilon=0.05, **options)(space, m, c)
    assert replace(published, smoothing=published.smoothing.target) == plain
    assert published.smoothing.by_task
    assert repr(published.smoothing.weights) == repr(px.meta.BySimilarity())


@pytest.mark.parametrize(("m", "c"), KINDS)
def test_first_suggestions(m, c):
    """The best rows of every source, feasible ones, once; then others."""
    logs = [log(0, m, c), log(1, m, c)]
    start = px.meta_learn_tpe(SPACE, logs, n_constraints=c).start
    # The other parts do not matter; these are compiled fastest.
    sampler = replace(adjusted(px.mo_tpe, n_startup=5, n_candidates=3)(SPACE, m, c), start=start)
    wanted = set()
    for own in logs:
        feasible = np.ones(own.n, bool) if not c else own.constraints[:, 0] <= 0
        losses = own.losses[feasible]
        order = np.argsort(losses[:, 0]) if m == 1 else [
            i for i, row in enumerate(losses) if not ((losses <= row).all(1) & (losses < row).any(1)).any()
        ]  # fmt: skip
        wanted |= {
            tuple(row) for row in own.values[feasible][order][: 3 if m == 1 else None].astype(np.float32)
        }
    state, found = sampler.init(), []
    for key in jax.random.split(jax.random.key(0), 5):
        x = np.asarray(sampler.ask(key, state))
        found.append(tuple(x[0]))
        state = sampler.tell(state, x, np.zeros((1, m)), np.zeros((1, c)) if c else None)
    assert len(set(found)) == 5
    near = [min(np.abs(np.subtract(row, other)).max() for other in wanted) for row in found]
    assert max(near) < 1e-6


def test_sources_without_feasible_rows_come_last():
    """Of two tasks the one that has feasible rows gives all first suggestions."""
    bad = px.Observations.from_arrays(SPACE, [[0.9, 0], [0.8, 1]], [0.0, 0.1], constraints=[1.0, 1.0])
    sampler = px.meta_learn_tpe(SPACE, {"bad": bad, "good": log(0, 1, 1)}, 1, 1)
    assert sampler.start.report == (
        "bad: 2 rows; 0 to begin with",
        "good: 40 rows; 7 to begin with",
    )
    alone = px.meta_learn_tpe(SPACE, {"bad": bad}, 1, 1)
    assert len(alone.start.rows) == 2


def test_the_report_says_what_is_suggested():
    """A source that lacks a parameter has no row to begin with, and one of its rows is no mixture's."""
    other = log(1, space=px.Space({"x": px.Float(0, 1)}))
    sampler = px.meta_learn_tpe(SPACE, {"whole": log(0), "part": other})
    assert sampler.start.report == (
        "whole: 40 rows; 5 to begin with",
        "part: 40 rows; no k; 0 to begin with",
    )


@pytest.mark.usefixtures("as_installed")
def test_refused():
    """What would leave the sources no part."""
    with pytest.raises(ValueError, match=r"^start must be a whole number of at least 1"):
        px.meta_learn_tpe(SPACE, [log(0)], start=0)
    with pytest.raises(ValueError, match="without task_weights this start leaves the sources out"):
        px.meta_learn_tpe(SPACE, [log(0)], start=RandomStart())
    for options in ({"comparison": px.meta.Comparison()}, {"max_candidates": 9}):
        with pytest.raises(ValueError, match=f"^{next(iter(options))} has no effect without task_weights"):
            adjusted(px.meta_learn_tpe, **options)(SPACE, [log(0)])
