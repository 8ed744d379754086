"""The null of an interaction: the additive fit, random signs, and draws without bias."""

import jax
import jax.numpy as jnp
import numpy as np

from parzax.importance.interactions import (
    SlotRows,
    additive_fit,
    null_interactions,
    random_words,
    sign_sums,
)


def test_fit_is_least_squares(double):
    """a_x + b_y of weighted cells, against NumPy's least squares."""
    rng = np.random.default_rng(0)
    cells = rng.integers(1, 30, (4, 5)).astype(float)
    means = rng.normal(size=(4, 5))
    padded, sums = (np.pad(table, [(0, 1), (0, 0)]) for table in (cells, cells * means))
    found = jax.jit(lambda cells, n, sums: additive_fit(SlotRows.from_counts(cells, n), sums))(
        padded, cells.sum(), sums
    )
    design = np.concatenate([np.repeat(np.eye(4), 5, axis=0), np.tile(np.eye(5), (4, 1))], axis=1)
    root = np.sqrt(cells.reshape(-1))
    solution = np.linalg.lstsq(design * root[:, None], means.reshape(-1) * root, rcond=None)[0]
    np.testing.assert_allclose(found[:4], (design @ solution).reshape(4, 5), atol=1e-9)


def test_words_of_a_cell_are_the_same_for_every_width():
    narrow, wide = jax.jit(lambda key: [random_words(key, w, 5) for w in (3, 6)])(jax.random.key(0))
    np.testing.assert_array_equal(narrow, wide[:3, :3])


def test_sums_of_signs(double):
    """Of k signs: mean 0, variance k, of the parity of k up to 32; no rows give 0."""
    k = np.array([[0.0, 1.0, 5.0], [32.0, 100.0, 2.5], [2.0, 40.0, 0.5]])
    draw = jax.jit(lambda key: sign_sums(jnp.asarray(k), jax.random.bits(key, (3, 3, 20_000), jnp.uint32)))
    found = np.asarray(draw(jax.random.key(0)))
    assert (found[0, 0] == 0).all()
    assert set(found[0, 1]) == {-1.0, 1.0}
    assert set(found[0, 2] % 2) == {1.0}
    np.testing.assert_allclose(found.mean(axis=-1), 0, atol=0.25)
    np.testing.assert_allclose(found.var(axis=-1), k, rtol=0.06)


def test_draws_have_no_interaction_on_average(double):
    """Of a strong additive effect: the mean of the draws is within five standard errors of 0."""
    cells = np.full((4, 4), 50.0)
    share = 0.2 + 0.15 * np.arange(4)[:, None] + 0.05 * np.arange(4)[None]
    target = np.round(cells * share)

    @jax.jit
    def draw(key, cells, target):
        rows = SlotRows.from_counts(cells, cells.sum())
        fit = additive_fit(rows, target - cells * target.sum() / cells.sum())
        return null_interactions(rows, target, fit, random_words(key, 4, 4000))

    found = np.asarray(draw(jax.random.key(1), cells, target))
    assert found.std() > 0
    assert abs(found.mean()) < 5 * found.std() / np.sqrt(len(found))
