"""Which rows of the sources are suggested first, against an independent loop."""

import math

import numpy as np
import pytest

from parzax.meta.sources import best_of

NAN = np.nan


def chosen_by_hand(tasks, n):
    """The best ceil(n / t) rows of each task, one after the other."""
    of_task = []
    for losses, feasible, eligible in tasks:
        rows = [
            (not feasible[i], losses[i, 0], i) for i in range(len(losses)) if eligible[i]
        ]  # feasible rows first, then by loss, then the earlier one
        of_task.append(sorted(rows))
    if any(rows and not rows[0][0] for rows in of_task):
        of_task = [rows if rows and not rows[0][0] else [] for rows in of_task]
    counted = sum(1 for rows in of_task if rows)
    each = math.ceil(n / counted) if counted else 0
    return [[i for _, _, i in rows[:each]] for rows in of_task]


def random_tasks(rng, n_tasks):
    tasks = []
    for _ in range(n_tasks):
        n = rng.integers(1, 9)
        losses = rng.integers(0, 4, (n, 1)).astype(float)  # many ties
        tasks.append((losses, rng.random(n) < rng.choice([0.0, 0.5, 1.0]), rng.random(n) < 0.7))
    return tasks


@pytest.mark.parametrize("n_tasks", [1, 2, 7, 30, 100])
def test_rows_of_each_task(n_tasks):
    """Catches a lost tie, a wrong share, and an infeasible row before a feasible one."""
    rng = np.random.default_rng(n_tasks)
    for n in (1, 5, 10):
        for _ in range(20):
            tasks = random_tasks(rng, n_tasks)
            assert [index.tolist() for index in best_of(tasks, n)] == chosen_by_hand(tasks, n)


def task(losses, feasible=None, eligible=None):
    losses = np.asarray(losses, float)[:, None]
    everything = np.ones(len(losses), bool)
    return losses, *(everything if mask is None else np.asarray(mask, bool) for mask in (feasible, eligible))


CASES = {
    "one source": ([task([3, 1, 2, 0, 5, 4])], 5, [[3, 1, 2, 0, 5]]),
    "fewer rows than suggestions": ([task([1, 0])], 5, [[1, 0]]),
    "no usable row in one source": ([task([1, 0, 2]), task([0], eligible=[0])], 2, [[1, 0], []]),
    "no usable row at all": ([task([1, 0], eligible=[0, 0])], 5, [[]]),
    "more tasks than suggestions": ([task([1, 0]), task([0, 1]), task([2, 2])], 2, [[1], [0], [0]]),
    "ties": ([task([1, 1, 1, 0])], 3, [[3, 0, 1]]),
    "feasible first": ([task([0, 1, 2], feasible=[0, 1, 0])], 2, [[1, 0]]),
    "one source without feasible rows": ([task([0, 0], feasible=[0, 0]), task([9, 8])], 2, [[], [1, 0]]),
}


@pytest.mark.parametrize("case", CASES)
def test_edges(case):
    tasks, n, wanted = CASES[case]
    assert [index.tolist() for index in best_of(tasks, n)] == wanted
    assert chosen_by_hand(tasks, n) == wanted
