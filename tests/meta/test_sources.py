"""Rows of sources on the host: values, ranks, states, the best of them; hardly anything is compiled."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations
from densities import SPACES, draw
from reference import pareto
from samplers.tables import SPACE_OF, Table, table, told

import parzax as px
from parzax.meta.sources import Tasks, named_sources, place
from parzax.pareto import non_domination_rank
from parzax.split.state import resolved

NAN = np.nan
MOVING = px.Space(
    {
        "c": px.Float(0, 1),
        "o": (
            px.Categorical(["a", "b"], when=px.Between("c", high=0.5)),
            px.Categorical(["b", "z"], when=px.Between("c", low=0.5)),
        ),
    }
)
UNIT = px.Space({"x": px.Float(0, 1)})


def log(x, y, space: px.Space = UNIT, **options) -> px.Observations:
    return px.Observations.from_arrays(space, np.asarray(x, float), np.asarray(y, float), **options)


def rows_of(space: px.Space, *logs: px.Observations, m: int = 1, c: int = 0):
    return [log.to_source(name, space, m, c) for name, log in named_sources(logs).items()]


def values_of(space: px.Space, rows) -> np.ndarray:
    """Native values, NaN where inactive or missing."""
    return np.where(rows.at.regime < 0, NAN, space.frame().decode(rows.at))


def assert_same(found, space: px.Space, x) -> None:
    """Points are those of these values, to the last bit."""
    wanted = space.frame().encode(np.asarray(x, float))
    assert wanted.valid.all()
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(one, other)


# --- values ------------------------------------------------------------------------------------


def test_choices_of_a_domain_that_moves():
    """Catches codes of another regime's choices: 1 is "b" where c is small, "z" where it is large."""
    x = [[0.2, 0], [0.2, 1], [0.8, 0], [0.8, 1]]
    own = log(x, range(4), MOVING)
    (same,) = rows_of(MOVING, own)
    assert_same(same.at, MOVING, x)
    # By label in a space in which the order and the bound differ; z is only where c is 0.9 or more.
    small, large = px.Between("c", high=0.9), px.Between("c", low=0.9)
    other = px.Space(
        {
            "o": (px.Categorical(["b", "a"], when=small), px.Categorical(["z", "b"], when=large)),
            "c": px.Float(0, 1),
        }
    )
    (found,) = rows_of(other, log([*x, [0.95, 1], [0.95, 0]], range(6), MOVING))
    np.testing.assert_array_equal(values_of(other, found)[:, 0], [1, 0, 0, NAN, 0, 1])
    assert found.summary == "task 1: 6 rows; 1 value of o outside its domain"


@pytest.mark.parametrize("name", [*SPACES, "mixed", "categories", "moving"])
def test_own_space(name):
    """A source in the target's space comes as it is, in a larger one with its values by name."""
    space = MOVING if name == "moving" else {**SPACES, **SPACE_OF}[name]
    if name in SPACES:
        x = draw(name, 40, 3)
    else:
        frame = space.frame()
        x = frame.decode(frame.drawn(np.random.default_rng(0).random((40, len(space.slots)))))
    own = log(x, np.arange(40), space)
    (found,) = rows_of(space, own)
    assert_same(found.at, space, own.values)
    assert not found.absent.any()
    assert not found.lacking.any()
    names = [*reversed(space.names)]
    larger = px.Space({"more": px.Float(0, 1)} | {name: space[name] for name in names})
    (found,) = rows_of(larger, own)
    columns = [larger.index(name) for name in space.names]
    assert_same(jax.tree.map(lambda a: a[:, columns], found.at), space, own.values)
    assert found.lacking.tolist() == [name == "more" for name in larger.names]


def test_values_that_are_not_used():
    """Where a parameter is inactive its value is left out, and no row is the worse for it."""
    space = px.Space({"k": px.Categorical(["a", "b"]), "z": px.Float(0, 1, when=px.In("k", ["a"]))})
    flat = px.Space({"k": px.Categorical(["a", "b", "q"]), "z": px.Float(0, 2)})
    (found,) = rows_of(space, log([[0, 0.5], [1, 0.5], [0, 1.5], [2, 0.5], [2, 2]], range(5), flat))
    np.testing.assert_array_equal(values_of(space, found), [[0, 0.5], [1, NAN], [0, NAN]])
    assert found.absent.any(axis=1).tolist() == [False, False, True]
    assert found.summary == (
        "task 1: 3 rows; 1 value of z outside its domain; 1 value of z where it is inactive; "
        "2 rows without a value that can be used left out"
    )


def test_constraints_that_are_not_known():
    """A row without objectives may know some constraints; one with objectives knows all."""
    own = log([[0.1], [0.2], [0.3]], [1, NAN, NAN], constraints=[[0.0, 1.0], [NAN, -1.0], [NAN, NAN]])
    (found,) = rows_of(UNIT, own, c=2)
    np.testing.assert_array_equal(found.constraints, [[0, 1], [NAN, -1]])
    state = states([found])
    assert state.constraint_only[0, :2].tolist() == [False, True]
    np.testing.assert_array_equal(state.constraints[0, :2], found.constraints)
    for failed in ("drop", "worst"):
        with pytest.raises(ValueError, match="constraint 0 is NaN"):
            log([[0.1]], [1.0 if failed == "drop" else NAN], constraints=[NAN], failed=failed)


def test_what_float32_does_not_hold():
    """An integer of 25 bits: giving NumPy arrays would not help."""
    space = px.Space({"n": px.Int(16777217, 16777301)})
    own = log([[16777218]], [1.0], space)
    for make in (lambda: px.meta_learn_tpe(space, [own]), lambda: px.mo_tpe(space).init(4)):
        with pytest.raises(ValueError, match=r"float32 cannot tell.*use Float or jax.enable_x64"):
            make()


def states(rows) -> px.samplers.State:
    """Of tasks, whatever their groups are."""
    return Tasks.of(rows, px.split.Split(px.gamma.Linear(0.1))).states


# --- ranks -------------------------------------------------------------------------------------


def test_small_differences_of_losses():
    """Catches losses that are rounded before they are ordered; an overflow, too."""
    x = np.random.default_rng(0).uniform(size=(100, 1))
    gap = (x[:, 0] - 0.7) ** 2
    wanted = np.argsort(np.argsort(gap))
    for loss in (1e6 + 1e-2 * gap, 1e300 * (1 + gap), np.where(gap == gap.min(), -np.inf, gap)):
        state = states(rows_of(UNIT, log(x, loss)))
        np.testing.assert_array_equal(np.argsort(np.argsort(state.losses[0, :100, 0])), wanted)
        assert np.isfinite(state.losses[0, :100]).all()


def test_ranks_of_several_objectives():
    rng = np.random.default_rng(0)
    losses = np.round(rng.uniform(size=(40, 3)), 1)
    losses[0, 1] = np.inf
    scaled, there = resolved(losses * [1e-9, 1e100, 1] + [1, 0, 0], np.float32), np.ones(40, bool)
    found = non_domination_rank(jnp.asarray(scaled, jnp.float32))
    np.testing.assert_array_equal(found, pareto.ranks(losses, there))
    np.testing.assert_array_equal(scaled[:, 2], losses[:, 2])
    assert scaled[0, 1] == np.inf
    np.testing.assert_array_equal(resolved(np.full((2, 2), 1e300), np.float32), 0)


def test_a_violation_however_small():
    """Catches one that becomes 0 in float32, and so satisfied."""
    own = log([[0.1], [0.2], [0.3]], range(3), constraints=[1e-60, -1e-60, 0.0])
    state = states(rows_of(UNIT, own, c=1))
    assert jax.vmap(lambda one: one.feasible)(state)[0, :3].tolist() == [False, True, True]


# --- states ------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["random", "few values", "extra", "infinite"])
def test_states_are_those_of_told_rows(data):
    """Catches a wrong count before a row, order, padding or mask."""
    own, sampler = table("mixed", data, 1, 2), px.c_tpe(SPACE_OF["mixed"], n_constraints=2)
    # A row of which nothing is known is left out.
    says = ~(np.isnan(own.losses).all(axis=1) & np.isnan(own.constraints).all(axis=1))
    assert says.all() == (data != "extra")
    own = Table(*(part[says] for part in own))
    (rows,) = rows_of(sampler.space, log(own.x, own.losses, sampler.space, constraints=own.constraints), c=2)
    # A log has no infinite losses, which the states hold nevertheless.
    rows = dataclasses.replace(rows, losses=own.losses)
    found = jax.tree.map(lambda a: a[0], states([rows]))
    # One objective counts by its order.
    ranked = own._replace(losses=resolved(own.losses, np.float32))
    wanted = told(sampler, ranked, found.capacity)
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    # What absent rows have on the axes does not matter, and no source has native values.
    wanted, found = (eqx.tree_at(lambda s: s.points, s, s.points[: len(own.x)]) for s in (wanted, found))
    assert np.isnan(found.x).all()
    for field in dataclasses.fields(wanted):
        if field.name in ("x", "first"):  # without native values no rows are equal
            continue
        pairs = zip(*(jax.tree.leaves(getattr(s, field.name)) for s in (found, wanted)), strict=True)
        for one, other in pairs:
            assert one.dtype == other.dtype, field.name
            np.testing.assert_allclose(one, other, rtol=2e-6, atol=1e-6, err_msg=field.name)


def test_states_of_long_sources():
    """All pairs of rows are not compared: 200000 of them would be 40 GB."""
    x = np.random.default_rng(0).uniform(size=(200_000, 1))
    rows = rows_of(UNIT, log(x, x[:, 0]), log(x[:9], x[:9, 0]))
    state = states(rows)
    assert state.count.tolist() == [200_000, 9]
    np.testing.assert_array_equal(x[np.argsort(state.losses[0, : len(x), 0]), 0], np.sort(x[:, 0]))


# --- the best ----------------------------------------------------------------------------------


def test_places_are_compiled_once():
    """Whatever the number of rows, up to 64, with several objectives."""
    losses = np.random.default_rng(0).uniform(size=(64, 2))
    counts = []
    for n in (64, 1, 20, 33):
        with compilations() as seen:
            order = place(losses[:n])
        counts.append(len(seen))
        rank = pareto.ranks(losses[:n], np.ones(n, bool))
        assert (np.diff(np.asarray(rank)[np.argsort(order)]) >= 0).all()
    assert counts[1:] == [0, 0, 0]
