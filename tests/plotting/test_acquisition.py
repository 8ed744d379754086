"""Maps of the acquisition score: equal to `score_of` cell by cell, on native axes, with the right others."""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
from benchmarks import toys

import parzax as px
from parzax.lens.plotting import acquisition
from parzax.lens.plotting._parameters import parameter_axis
from parzax.samplers import Trace

from .reading import below

SPACE = px.Space(
    {
        "lr": px.Float(1e-4, 1.0, log=True),
        "opt": px.Categorical(["sgd", "adam", "$x$"]),
        "momentum": px.Float(0, 1, when=px.In("opt", ["sgd"])),
        "units": px.Float(1, 500, log=True),
    }
)
SAMPLER = px.c_tpe(SPACE)
N = 7  # cells of a side
PROBLEM = px.Problem(lambda _, x: (x[0], x[3] - 20), SPACE, n_constraints=1, name="small nets")


@pytest.fixture(scope="module")
def rows():
    """Twelve rows; the best feasible one is row 4, with opt = sgd."""
    rng = np.random.default_rng(0)
    opt = rng.integers(0, 3, 12)
    opt[4] = 0
    x = [
        10 ** rng.uniform(-4, 0, 12),
        opt,
        np.where(opt == 0, rng.uniform(size=12), np.nan),
        np.arange(1, 13),
    ]
    loss, limit = np.arange(12.0) + 5, np.where(np.arange(12) < 4, 1.0, -1.0)
    return Trace(np.stack(x, axis=-1), loss[:, None], limit[:, None], ("minimize",))


@pytest.fixture(scope="module")
def state(rows):
    return SAMPLER.tell(SAMPLER.init(64), rows.x, rows.losses, rows.constraints)


def drawn(ax):
    """The values of the map."""
    return np.ma.asarray(ax.collections[0].get_array()).reshape(-1)


def sentence(ax):
    return " ".join(below(ax))


def centres(low, high, n):
    return low + (high - low) * (np.arange(n) + 0.5) / n


def test_the_map_is_the_score_with_the_others_as_in_the_best_row(state, rows):
    # Catches swapped axes, cells that are off by a half, another row's values, an axis that is not native.
    ax = acquisition(SAMPLER, state, ["lr", "momentum"], size=N)
    lr, momentum = np.meshgrid(10 ** centres(-4, 0, N), centres(0, 1, N))
    x = np.stack([lr.ravel(), np.zeros(N * N), momentum.ravel(), np.full(N * N, rows.x[4, 3])], axis=-1)
    np.testing.assert_allclose(
        drawn(ax), SAMPLER.score_of(state, jnp.asarray(x, jnp.float32)), rtol=1e-4, atol=1e-4
    )
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "linear")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("lr", "momentum")
    assert "opt = sgd, units = 5 as in the best row" in sentence(ax)
    missing = int(np.isnan(rows.x[:, 2]).sum())
    assert f"{missing} rows without momentum left out" in sentence(ax)


def test_what_is_inactive_has_no_part_in_the_score(state):
    # Catches a map over a conditional parameter that is nonsense (or white) where it is inactive.
    ax = acquisition(SAMPLER, state, ["opt", "momentum"], given={"lr": 0.01, "units": 7}, size=N)
    values = drawn(ax).reshape(N, 3)
    for column in (1, 2):
        np.testing.assert_allclose(values[:, column], values[0, column], rtol=1e-6)
    x = np.tile([0.01, 1, np.nan, 7], (N * N, 1))
    np.testing.assert_allclose(
        values[0, 1], SAMPLER.score_of(state, jnp.asarray(x, jnp.float32))[0], rtol=1e-4, atol=1e-4
    )
    assert "lr = 0.01, units = 7" in sentence(ax)
    assert "best row" not in sentence(ax)


def test_discrete_values_stand_side_by_side(state):
    ax = acquisition(SAMPLER, state, ["opt", "units"], given={"momentum": 0.5}, size=N)
    assert drawn(ax).shape == (N * 3,)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["sgd", "adam", r"\$x\$"]
    assert ax.get_yscale() == "log"
    assert np.isfinite(drawn(ax)).all()


def test_many_discrete_values_get_cells_with_a_value_in_each():
    # Catches a configuration between two integers, which has no score.
    for domain in (px.Int(1, 500, log=True), px.Int(-30, 40, step=5), px.Ordinal([1, 2, 4, 8, 99])):
        axis = parameter_axis(px.Space({"u": domain}), "u", 4)
        assert len(axis.values) == 4 == len(axis.edges) - 1
        assert not domain.outside(axis.values).any()
        if not isinstance(domain, px.Ordinal):  # whose values may leave a cell empty
            assert (axis.edges[:-1] < axis.values).all()
            assert (axis.values < axis.edges[1:]).all()


def test_cells_that_need_a_value_nobody_has_stay_white(state):
    # Catches -inf painted as if it were a low score.
    ax = acquisition(SAMPLER, state, ["opt", "lr"], given={"momentum": None}, size=N)
    values = drawn(ax).reshape(N, 3)
    assert values.mask[:, 0].all()
    assert not values.mask[:, 1:].any()
    assert "white: outside the space" in sentence(ax)


def test_rows_are_marked(state, rows):
    ax = acquisition(SAMPLER, state, ["lr", "units"], size=N)
    _, violating, feasible, best = ax.collections
    assert [len(c.get_offsets()) for c in (violating, feasible, best)] == [4, 7, 1]
    np.testing.assert_allclose(best.get_offsets()[0], rows.x[4, [0, 3]], rtol=1e-6)


def test_the_edge_of_the_feasible_region(state):
    # Catches a contour of one constraint's sign turned round, or at another level.
    problem = PROBLEM
    ax = acquisition(SAMPLER, state, ["lr", "units"], problem=problem, size=N)
    edge = np.concatenate([path.vertices for path in ax.collections[-1].get_paths()])
    cell = 500 ** (1 / N)
    assert (edge[:, 1] > 20 / cell).all()
    assert (edge[:, 1] < 20 * cell).all()
    assert "edge of the feasible region" in sentence(ax)
    given = {"units": 400}
    assert "nothing here is feasible" in sentence(
        acquisition(SAMPLER, state, ["lr", "opt"], given=given, problem=problem, size=N)
    )


def test_no_rows_and_nothing_feasible(rows):
    # Catches a picture that fails before the first row, or has no base where nothing is feasible.
    empty = SAMPLER.init(64)
    given = {"opt": "sgd", "momentum": 0.5}
    flat = drawn(acquisition(SAMPLER, empty, ["lr", "units"], given=given, size=N))
    np.testing.assert_allclose(flat, flat[0], atol=1e-5)
    with pytest.raises(ValueError, match="given: there are no rows to take momentum from"):
        acquisition(SAMPLER, empty, ["lr", "units"], given={"opt": "sgd"}, size=N)
    none = Trace(rows.x, rows.losses, np.ones((12, 1)), ("minimize",))
    assert "as in a row (none is feasible)" in sentence(acquisition(SAMPLER, none, ["lr", "units"], size=N))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"sampler": 3}, TypeError, "sampler must be a parzax sampler"),
        ({"state": np.zeros(3)}, TypeError, "rows must be a sampler's State or"),
        ({"parameters": ["beta"]}, ValueError, "parameters: no parameter 'beta'"),
        ({"given": {"beta": 1}}, ValueError, "given: .*no parameter 'beta'"),
        ({"given": {"units": 9999}}, ValueError, "given: .*outside its domain"),
        ({"given": {"lr": 0.1}}, ValueError, "given: 'lr' is an axis"),
        ({"given": 3}, TypeError, "given: values must be a mapping of names"),
        ({"size": 0}, ValueError, "size must be"),
        ({"problem": toys.discs()}, ValueError, "problem must be a parzax.Problem on"),
    ],
)
def test_refusals(state, arguments, error, message):
    with pytest.raises(error, match=message):
        acquisition(**{"sampler": SAMPLER, "state": state, "size": N, **arguments})
    assert not plt.get_fignums()
