"""Tables of trainings: rows found by their values, and regrets of reports by hand."""

import jax
import numpy as np
import pytest
from benchmarks.studies.trainings import searches, tables
from benchmarks.studies.trainings.searches import Runs, Task

import parzax as px

DOMAINS = {
    "model": px.Categorical(["tree", "line"]),
    "depth": px.Ordinal([1, 2, 8], log=True, when=px.In("model", ["tree"])),
}
# Trees of depths 1, 2 and 8, then the line, in the order of the space.
LOSSES = np.array([[6.0, 8.0], [4.0, 4.0], [1.0, 5.0], [2.0, 6.0]])


@pytest.fixture
def task(monkeypatch):
    """A table of four configurations and two splits; the line is the smallest."""
    training = tables.Training(tables.CHOICE, tuple, DOMAINS, lambda *_: None, (0, 0), lambda *_: 0.0)
    x = tables.enumerate_space(training.space, 9)
    order = np.lexsort((np.nan_to_num(x[:, 1]), x[:, 0]))
    table = tables.Table(x[order], LOSSES, np.array([20.0, 30.0, 40.0, 10.0]), np.ones(4))
    monkeypatch.setitem(tables.TRAININGS, "toy", training)
    monkeypatch.setattr(searches, "load", lambda name: table)
    return Task("toy", searches.PLAIN)


def test_rows_are_found_and_splits_drawn(task):
    """Each configuration is its own row; over keys the losses are those of its splits."""
    find = searches.look_up(task.space, task.table.x)
    assert [int(find(jax.numpy.asarray(row))) for row in task.table.x] == [0, 1, 2, 3]
    problem, keys = searches.problem(task), jax.random.split(jax.random.key(0), 32)
    for row, losses in zip(task.table.x, LOSSES, strict=True):
        drawn = np.asarray(jax.vmap(lambda key, row=row: problem(key, jax.numpy.asarray(row))[0])(keys))
        assert set(drawn.ravel()) == set(losses)


def test_reports_by_hand(task):
    """The lucky row 2 has a mean of 3, the smallest; three evaluations of row 3 have a mean of 4."""
    runs = Runs(np.array([[0, 2, 1], [3, 3, 1]]), np.array([[6.0, 5.0, 4.0], [2.0, 6.0, 4.0]]))
    unit = 4.0 - 3.0  # the median mean less the smallest
    lucky = searches.reported(task, runs, (2, 3), lucky=True)
    np.testing.assert_allclose(lucky, np.array([[0.0, 1.0], [1.0, 1.0]]) / unit)
    # Row 3 has a mean of 4 as row 1, and half of its variance.
    np.testing.assert_allclose(
        searches.reported(task, runs, (2, 3)), np.array([[0.0, 1.0], [1.0, 1.0]]) / unit
    )
    limited = Task("toy", searches.KINDS[1])  # the line alone is allowed, whose regret is then 0
    np.testing.assert_allclose(limited.limit, 13.0)
    np.testing.assert_array_equal(searches._dominated(np.array([1, 2]), np.array([[1, 2], [1, 1]])), True)
