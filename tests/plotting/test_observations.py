"""Observations in two parameters: which mark stands where, in which colour, and what is left out."""

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from benchmarks import toys

import parzax as px
from parzax.lens.plotting import observations

from .reading import below, places
from .runs import trace

SPACE = px.Space(
    {
        "lr": px.Float(1e-4, 1.0, log=True),
        "opt": px.Categorical(["sgd", "adam", "$x$"]),
        "momentum": px.Float(0, 1, when=px.In("opt", ["sgd"])),
    }
)
X = np.array([[1e-3, 0, 0.9], [1e-2, 1, np.nan], [1e-1, 2, np.nan], [1e-2, 0, 0.1], [1.0, 0, 0.5]])
LOSS = np.array([3.0, 2.0, 1.0, np.nan, 2.5])
LIMIT = np.array([-1.0, 0.0, 1.0, -1.0, np.nan])
RUN = trace(LOSS, LIMIT, X)


def marks(ax):
    """Places and numbers of every kind of mark, by the number of corners that its path has."""
    out = {}
    for found, words in zip(ax.collections, below(ax), strict=False):
        out[words] = (np.asarray(found.get_offsets()), np.asarray(found.get_array()).tolist())
    return out


def test_marks_say_feasibility_and_colours_the_order():
    # Catches a NaN constraint that counts as satisfied, a pending row as feasible, a wrong star.
    ax = observations(RUN, SPACE, ["lr", "opt"])
    found = marks(ax)
    assert {words: numbers for words, (_, numbers) in found.items()} == {
        "pending or failed": [4],
        "violates a constraint": [3, 5],
        "feasible": [1],
        "best feasible": [2],
    }
    for words, row in (("pending or failed", 3), ("feasible", 0), ("best feasible", 1)):
        place = found[words][0][0]
        assert place[0] == pytest.approx(X[row, 0])
        assert abs(place[1] - X[row, 1]) <= 0.3
    sizes = [c.get_paths()[0].vertices.shape for c in ax.collections]
    assert len(set(sizes)) == 4, "four kinds of marks"
    assert ax.collections[0].norm.vmin == 1
    assert ax.collections[0].norm.vmax == len(X)


def test_rows_without_a_parameter_are_counted_below():
    # Catches rows that are lost without a word.
    ax = observations(RUN, SPACE, ["lr", "momentum"])
    assert sum(len(c.get_offsets()) for c in ax.collections) == 3
    assert below(ax)[0] == "2 rows without momentum left out"


def test_constraint_only_rows_are_neither_pending_nor_failed():
    # Catches rows of `augment` that look like failed evaluations, and pending rows that look like them.
    sampler = px.c_tpe(SPACE)
    state = sampler.tell(sampler.init(64), X, LOSS, np.nan_to_num(LIMIT, nan=np.inf))
    state = sampler.augment(state, X[:2], [1.0, -1.0])
    ax = observations(state, sampler, ["lr", "opt"])
    assert {words: numbers for words, (_, numbers) in marks(ax).items()} == {
        "constraints only": [6, 7],
        "pending or failed": [4],
        "violates a constraint": [3, 5],
        "feasible": [1],
        "best feasible": [2],
    }


def test_the_best_is_the_largest_where_that_is_asked_for():
    # Catches a star on the worst row.
    ax = observations(trace(-LOSS, LIMIT, X, direction="maximize"), SPACE, ["lr", "opt"])
    assert marks(ax)["best feasible"][1] == marks(observations(RUN, SPACE, ["lr", "opt"]))["best feasible"][1]


def test_without_constraints_nothing_is_called_feasible():
    ax = observations(trace(LOSS[::-1], None, X), SPACE)
    assert marks(ax)["best"][1] == [3]
    assert "evaluated" in marks(ax)


def test_domains_of_two_regimes_share_an_axis():
    space = px.Space(
        {
            "c": px.Float(0, 1),
            "x": (
                px.Float(-7, -2, when=px.Between("c", high=0.5)),
                px.Float(2, 7, when=px.Between("c", low=0.5)),
            ),
            "k": (
                px.Int(1, 3, when=px.Between("c", high=0.5)),
                px.Ordinal([8, 16], when=px.Between("c", low=0.5)),
            ),
        }
    )
    rows = trace(np.ones(2), None, [[0.1, -3, 3], [0.9, 3, 16]])
    ax = observations(rows, space, ["x", "k"])
    assert ax.get_xlim()[0] < -7 < 7 < ax.get_xlim()[1]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["1", "2", "3", "8", "16"]
    assert sorted(np.round(places(ax)[:, 1])) == [2, 4]


def test_several_runs_are_refused():
    for one in (px.c_tpe(SPACE).init(64), RUN):
        with pytest.raises(ValueError, match=r"rows must be one run, got a batch of shape \(2,\)"):
            observations(jax.tree.map(lambda a: np.stack([a, a]), one), SPACE)


@pytest.mark.parametrize(
    ("x", "words"),
    [(np.zeros((0, 3)), "There are no rows."), ([[0.1, 1, np.nan]], "No row has both parameters.")],
)
def test_nothing_to_draw_is_said(x, words):
    ax = observations(trace(np.ones(len(x)), None, x), SPACE, ["lr", "momentum"])
    assert words in [text.get_text() for text in ax.texts]


def test_all_infeasible_has_no_star():
    ax = observations(trace(LOSS, np.ones(5), X), SPACE)
    assert set(marks(ax)) == {"pending or failed", "violates a constraint"}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"rows": X}, TypeError, "rows must be a sampler's State or"),
        ({"space": 3}, TypeError, "space must be a parzax.Space"),
        ({"parameters": ["beta", "lr"]}, ValueError, "parameters: no parameter 'beta'"),
        ({"parameters": ["lr", "lr"]}, ValueError, "parameters must be different names"),
        ({"space": px.Space({"a": px.Float(0, 1)})}, ValueError, "the space has one parameter"),
        ({"space": toys.discs()}, ValueError, "space has 2 parameters, but the rows have 3"),
    ],
)
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        observations(**{"rows": RUN, "space": SPACE, **arguments})
    assert not plt.get_fignums()
