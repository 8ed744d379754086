"""Analysis of variance of one slot, against loops over rows."""

import jax
import jax.numpy as jnp
import numpy as np
from reference import interactions as reference

from parzax.importance.interactions import SlotRows, explained, interaction


def slot(rng, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells along either axis and membership of n rows; the last row and column of cells stay empty."""
    first, second = rng.integers(0, 3, n), rng.integers(0, 3, n)
    return first, second, (rng.uniform(size=n) < 0.2 + 0.5 * ((first + second) % 2)).astype(float)


def test_explained_variance_against_a_loop(double):
    """[SSB - (C - 1) SSW / (n - C)] / n_R of cells, rows and columns, and I from them."""
    first, second, member = slot(np.random.default_rng(0), 80)
    cells, hits = np.zeros((4, 4)), np.zeros((4, 4))
    np.add.at(cells, (first, second), 1)
    np.add.at(hits, (first, second), member)
    share = member.mean()
    squares = jnp.asarray([80 * share * (1 - share)])

    @jax.jit
    def analyse(cells, deviations):
        found = explained(SlotRows.from_counts(cells, jnp.asarray(100.0)), deviations, squares)
        return found, interaction(found)

    found, shared = map(np.asarray, analyse(cells, (hits - share * cells)[..., None]))
    groups = list(zip(first, second, strict=True)), first.tolist(), second.tolist()
    expected = [reference.explained(g, member, np.ones(80)) / 100 for g in groups]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-10)
    np.testing.assert_allclose(shared[0], expected[0] - expected[1] - expected[2], rtol=1e-10)


def test_nothing_to_compare(double):
    """0 where one axis has a single occupied cell, and where each row has a cell of its own."""

    @jax.jit
    def analyse(cells):
        rows = SlotRows.from_counts(cells, jnp.asarray(10.0))
        return explained(rows, cells[..., None] * 0.3, jnp.asarray([1.0]))

    for cells in (np.array([[3.0, 4.0], [0.0, 0.0]]), np.eye(2)):
        found = analyse(cells)
        assert found.tolist() == [[0.0]] * 3
