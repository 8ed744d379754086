"""A split of one's own: rows fall below where their loss is under a fixed level, however many those are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from extending.runs import gain_of_compiled_runs, loss, rows, told, with_part


class UnderLevel(px.split.AbstractSplit):
    """Below are the evaluated rows with a loss of at most ``level``, or the best one while there is none."""

    level: float

    def __call__(self, state):
        known = state.evaluated
        value = jnp.where(known, state.losses[:, 0], jnp.inf)
        below = known & (value <= jnp.maximum(self.level, value.min()))
        n_measured = known.sum()
        gamma = below.sum().astype(value.dtype) / jnp.maximum(n_measured, 1).astype(value.dtype)
        groups = below[None], (state.usable & ~below)[None]
        return px.split.SplitRows(*groups, gamma[None], n_measured[None], state.capacity)

    def status(self, state):
        return jnp.zeros((), jnp.int32)


def test_groups_are_those_of_a_loop():
    """Catches rows in the wrong group, and a share that does not belong to them."""
    split = UnderLevel(2.0)
    groups, values = jax.jit(split)(told(with_part(split=split))), loss(rows(40))
    expected = [i for i, value in enumerate(values) if value <= 2.0]
    assert np.flatnonzero(groups.below[0]).tolist() == expected
    assert np.flatnonzero(groups.above[0]).tolist() == [i for i in range(40) if i not in expected]
    np.testing.assert_allclose(groups.gamma, [len(expected) / 40], rtol=1e-6)


@pytest.mark.slow
def test_a_compiled_run_improves():
    assert gain_of_compiled_runs(with_part(split=UnderLevel(2.0))) > 2
