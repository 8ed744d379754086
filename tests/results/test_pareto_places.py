"""One order of rows with several objectives: against loops, and the laws of level sets."""

import numpy as np
import pytest
from reference import pareto as loops

import parzax as px
from parzax.lens.results.targets import pareto_places, places_within

HYPERVOLUME, CROWDING = px.pareto.Hypervolume(), px.pareto.Crowding()


def draw(n, m, digits, seed=0):
    """Objectives that trade off, rounded so that rows repeat."""
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(size=(n, m)), digits)


def reference(front):
    worst = front.max(axis=0)
    point = np.maximum(1.1 * worst, 0.9 * worst)
    return np.where(point == 0, 1e-12, point)


def chosen_by_loops(losses, k):
    """The best k rows: whole fronts, then distinct rows greedily by hypervolume, then repeated ones."""
    rank = loops.ranks(losses, np.ones(len(losses)))
    best = []
    for front in range(rank.max() + 1):
        rows = np.flatnonzero(rank == front)
        if len(best) + len(rows) <= k:
            best += rows.tolist()
            continue
        distinct, first = np.unique(losses[rows], axis=0, return_index=True)
        greedy = loops.greedy(distinct, reference(distinct), len(distinct))
        order = [rows[first[i]] for i in greedy]
        order += [i for i in rows if i not in order]
        return sorted(best + order[: k - len(best)])
    return sorted(best)


@pytest.mark.parametrize("digits", [0, 1, 9])
def test_sets_are_those_of_a_loop(digits):
    """Catches a wrong front, a wrong reference, repeated rows chosen early, levels that are not nested."""
    losses = draw(24, 2, digits, seed=digits)
    for k in range(1, 24):
        places = pareto_places(losses, np.ones(24), [k], HYPERVOLUME, exact=True)
        assert sorted(np.argsort(places)[:k].tolist()) == chosen_by_loops(losses, k), k
    every = pareto_places(losses, np.ones(24), range(1, 24), HYPERVOLUME, exact=True)
    for k in range(1, 24):
        assert sorted(np.argsort(every)[:k].tolist()) == chosen_by_loops(losses, k), k


@pytest.mark.parametrize("m", [3, 4])
def test_more_objectives(m):
    """Three are chosen by the compiled loop and four by moocore: catches another order of the same rows."""
    losses = draw(16, m, 9, seed=m)
    places = pareto_places(losses, np.ones(16), range(1, 16), HYPERVOLUME, exact=True)
    for k in range(1, 16):
        assert sorted(np.argsort(places)[:k].tolist()) == chosen_by_loops(losses, k), k


def test_crowding_within_fronts():
    """Less crowded rows first, rows with the same losses in one place: against Deb's loop."""
    losses = draw(40, 2, 1, seed=3)
    places = pareto_places(losses, np.ones(40), range(1, 40), CROWDING)
    distinct, own = np.unique(losses, axis=0, return_inverse=True)
    rank = loops.ranks(distinct, np.ones(len(distinct)))
    distance = loops.crowding(distinct, rank, np.ones(len(distinct)))
    keys = [(rank[i], -distance[i]) for i in own.reshape(-1)]
    for i in range(40):
        for j in range(40):
            assert (places[i] < places[j]) == (keys[i] < keys[j])


def test_a_front_of_equal_gaps_is_tied_but_for_its_ends():
    """Catches ties broken by the order of rows, which has no meaning."""
    front = np.stack([np.arange(6.0), 5 - np.arange(6.0)], axis=1)
    assert places_within(CROWDING, front).tolist() == [0, 1, 1, 1, 1, 0]
    assert sorted(places_within(HYPERVOLUME, front).tolist()) == list(range(6))


@pytest.mark.parametrize("ties", [HYPERVOLUME, CROWDING])
def test_order_of_rows_does_not_matter(ties):
    losses, shuffled = draw(50, 2, 1), np.random.default_rng(1).permutation(50)
    places = pareto_places(losses, np.ones(50), [5, 20], ties)
    turned = pareto_places(losses[shuffled], np.ones(50), [5, 20], ties)
    np.testing.assert_array_equal(turned, places[shuffled])


@pytest.mark.parametrize("ties", [HYPERVOLUME, CROWDING])
@pytest.mark.parametrize("m", [2, 3])
def test_units_of_an_objective_do_not_matter(ties, m):
    """Powers of two, which round nothing, and with signs that no reference point changes."""
    losses = draw(40, m, 9)
    places = pareto_places(losses, np.ones(40), [3, 11, 30], ties)
    scaled = pareto_places(losses * [2.0**40, 0.25, 1.0][:m], np.ones(40), [3, 11, 30], ties)
    np.testing.assert_array_equal(scaled, places)


def test_rows_without_a_place():
    losses = np.array([[0.0, 1.0], [np.nan, 0.0], [1.0, 0.0], [-1.0, -1.0]])
    places = pareto_places(losses, np.array([1.0, 1.0, 1.0, 0.0]), [1], HYPERVOLUME)
    assert np.isnan(places).tolist() == [False, True, False, True]
    assert sorted(places[[0, 2]].tolist()) == [0, 1]
    assert np.isnan(pareto_places(losses, np.zeros(4), [1], HYPERVOLUME)).all()
    assert pareto_places(np.zeros((0, 2)), np.zeros(0), [], HYPERVOLUME).shape == (0,)


def test_extremes():
    """Areas that would overflow or vanish, signed zeros, and infinities."""
    losses = np.array([[0.0, 3.0], [1.0, 1.0], [1.1, 0.9], [3.0, 0.0]])
    plain = places_within(HYPERVOLUME, losses)
    for scale in (1e-200, 1e200):
        assert places_within(HYPERVOLUME, losses * scale).tolist() == plain.tolist()
    signed = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    places = pareto_places(signed, np.ones(3), [1], HYPERVOLUME)
    assert places[0] == places[1] != places[2]
    endless = np.array([[-np.inf, 5.0], [0.0, 1.0], [1.0, 0.0]])
    assert pareto_places(endless, np.ones(3), [1], HYPERVOLUME)[0] == 0


class ByFirst(px.pareto.AbstractTies):
    """A tie-break of one's own, as samplers take it: the larger first objective first."""

    def order(self, losses, rank, evaluated, counted, count, most):
        import jax.numpy as jnp

        return jnp.lexsort((-losses[:, 0], rank))

    def check(self, n_objectives):
        pass


def test_a_tie_break_of_ones_own():
    front = np.stack([np.arange(5.0), 4 - np.arange(5.0)], axis=1)
    assert places_within(ByFirst(), front).tolist() == [4, 3, 2, 1, 0]
