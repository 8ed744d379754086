"""The map of task similarities: the values drawn, names, few and many tasks, what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from parzax.lens.plotting import task_similarity
from parzax.lens.similarity import TaskSimilarity

from .reading import below


def table(t: int, names=None, parameters=("x", "y"), lost=()) -> TaskSimilarity:
    """Distances of points on a line; the tasks of ``lost`` have no rows below."""
    at = np.random.default_rng(t).uniform(0, 1, t)
    d = np.abs(at[:, None] - at)
    n_below = np.full(t, 10)
    n_below[list(lost)] = 0
    d[list(lost)] = d[:, list(lost)] = 1.0
    np.fill_diagonal(d, 0.0)
    names = tuple(names or (f"task {i + 1}" for i in range(t)))
    return TaskSimilarity(names, (1 - d) / (1 + d), d, np.full((t, t), 0.01), n_below, parameters, ())


@pytest.mark.parametrize("t", [1, 2, 5, 12, 40, 120])
@pytest.mark.some(2)
def test_cells_have_the_values_of_the_table(t):
    # Catches a transposed or flipped map, colours stretched to the data, and a diagonal with a colour.
    result = table(t)
    ax = task_similarity(result)
    (mesh,) = (own for own in ax.collections if own.get_array() is not None)
    shown = mesh.get_array()
    own = np.eye(t, dtype=bool)
    np.testing.assert_array_equal(np.ma.getmaskarray(shown), own)
    np.testing.assert_array_equal(shown.data[~own], result.similarity[~own])
    assert mesh.get_clim() == (0, 1)
    assert ax.yaxis_inverted()
    ax.figure.canvas.draw()
    bar = ax.figure.axes[1]
    assert bar.get_ylabel() == "similarity s = (1 - d) / (1 + d)"
    assert ax.get_title() == "compared by x, y"


def test_numbers_stand_in_their_cells():
    # Catches numbers of another pair, and numbers nobody can read.
    result = table(12)
    written = {text.get_position(): text.get_text() for text in task_similarity(result).texts}
    assert len(written) == 132
    for (j, i), text in written.items():
        assert text == f"{result.similarity[i, j]:.2f}"
    assert not task_similarity(table(17)).texts


def test_what_cannot_be_compared_is_said():
    # Catches a 0 by convention that looks like a measured one.
    assert not below(task_similarity(table(4)))
    lost = below(task_similarity(table(4, lost=[1, 3])))
    assert " ".join(lost) == "no rows below the split, so similarity 0 to all others: task 2, task 4"
    assert below(task_similarity(table(1))) == ["a single task: nothing to compare with"]


def test_only_tables_of_similarities_are_drawn():
    with pytest.raises(TypeError, match=r"result must be a parzax\.meta\.TaskSimilarity"):
        task_similarity(np.eye(3))
    assert not plt.get_fignums()
