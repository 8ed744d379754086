"""Bad inputs to ranks and hypervolume, as one table.

Every case is tried under jit, under vmap and eagerly, in float32 and in float64, padded by rows that are not
there.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parzax.pareto import (
    ABSENT,
    crowding_distance,
    greedy_hypervolume_order,
    hypervolume,
    non_domination_rank,
)

NAN, INF = math.nan, math.inf
ROWS = 5


@dataclass
class Case:
    """Losses, and what has to come out; None is not looked at."""

    name: str
    losses: Any
    rank: Any = None
    reference: Any = None
    volume: Any = None
    only64: bool = False


CASES = [
    # Ranks: a NaN row is last.
    Case("a NaN row", [[NAN, NAN], [1, 1], [2, 2]], rank=[2, 0, 1]),
    Case("[0, NaN]", [[0, NAN], [1, 1], [2, 2]], rank=[2, 0, 1]),
    Case("[-inf, NaN]", [[-INF, NAN], [1, 1]], rank=[1, 0]),
    Case("NaN rows alone", [[0, NAN], [NAN, 1]], rank=[0, 0]),
    Case("NaN rows share a rank", [[0, NAN], [NAN, 9], [1, 1]], rank=[1, 1, 0]),
    Case("duplicates", [[1, 1], [1, 1], [2, 2], [2, 2], [0, 3]], rank=[0, 0, 1, 1, 0]),
    Case("all equal", [[1, 1]] * 4, rank=[0] * 4),
    Case("all +inf", [[INF, INF]] * 3, rank=[0] * 3),
    Case("one row", [[1, 1]], rank=[0]),
    Case("none", np.zeros((0, 2)), rank=[]),
    Case("infinities", [[-INF, INF], [INF, -INF], [INF, INF], [0, 0]], rank=[0, 0, 1, 0]),
    Case("signed zeros are equal", [[0.0, -0.0], [-0.0, 0.0]], rank=[0, 0]),
    Case("subnormals differ", [[1e-320, 0], [2e-320, 0]], rank=[0, 1], only64=True),
    Case("1e200 and 1e-200", [[1e200, 1e-200], [1e-200, 1e200], [1e200, 1e200]], rank=[0, 0, 1], only64=True),
    Case("three objectives, a NaN", [[0, 0, NAN], [1, 1, 1], [1, 1, 1]], rank=[1, 0, 0]),
    Case("four objectives, a NaN", [[0, 0, 0, NAN], [1, 1, 1, 1], [1, 1, 1, 2]], rank=[2, 0, 1]),
    # Hypervolume: one rule.
    Case("NaN reference", [[1, 1]], reference=[NAN, 2], volume=NAN),
    Case("NaN reference, no rows", np.zeros((0, 2)), reference=[NAN, 2], volume=NAN),
    Case("beyond in one", [[1, 5], [1, 1]], reference=[2, 2], volume=1),
    Case("on the reference", [[1, 2]], reference=[2, 2], volume=0),
    Case("beyond at +inf", [[-1, INF]], reference=[2, 2], volume=0),
    Case("a NaN point", [[NAN, 0], [1, 1]], reference=[2, 2], volume=1),
    Case("a NaN point of three", [[0, NAN, 0], [1, 1, 1]], reference=[2, 2, 2], volume=1),
    Case("no points", np.zeros((0, 3)), reference=[2, 2, 2], volume=0),
    Case("equal points", [[1, 1, 1]] * 3, reference=[2, 2, 3], volume=2),
    Case("-inf in one", [[-INF, 1]], reference=[2, 2], volume=INF),
    Case("reference at +inf", [[1, 1]], reference=[INF, 2], volume=INF),
    Case("boxes of 1e200", [[-1e200, -1e200]], reference=[0, 0], volume=INF, only64=True),
    Case("boxes of 1e-200", [[-1e-200, -1e-200]], reference=[0, 0], volume=0, only64=True),
    Case("1e200 by 1e-200", [[-1e200, -1e-200]], reference=[0, 0], volume=1, only64=True),
    Case("1e200 twice, 1e-300", [[-1e200, -1e200, -1e-300]], reference=[0, 0, 0], volume=1e100, only64=True),
    Case(
        "1e-200 twice, 1e300",
        [[-1e-200, -1e-200, -1e300]],
        reference=[0, 0, 0],
        volume=1e-100,
        only64=True,
    ),
    Case("boxes of 1e30", [[-1e30, -1e30]], reference=[0, 0]),
    Case("a width beyond the dtype", [[-1.7e308, 0]], reference=[1.7e308, 1], volume=INF, only64=True),
    Case(
        "two scales that no unit holds", [[-1e200, -1e-200], [-1e-200, -1e200]], reference=[0, 0], only64=True
    ),
    Case("a subnormal width", [[-1e-310, -1]], reference=[0, 0], only64=True),
    Case("one objective", [[-1], [-3]], reference=[0], volume=3),
]


# Kept, so that cases of one shape share what is compiled.
_compiled = functools.cache(jax.jit)


@functools.cache
def _mapped(f: Callable) -> Callable:
    mapped = jax.jit(jax.vmap(f))
    return lambda *arguments: mapped(*(jnp.stack([a, a]) for a in arguments))[1]


def _two(losses: jax.Array, reference: jax.Array, mask: jax.Array) -> jax.Array:
    return greedy_hypervolume_order(losses, reference, 2, mask)


OF_TWO = [case for case in CASES if np.shape(case.losses)[1] == 2]
OTHERS = [case for case in CASES if np.shape(case.losses)[1] != 2]
SLOW = [
    ("vmap, two objectives", OF_TWO, _mapped, True),
    ("jit, other numbers", OTHERS, _compiled, True),
    ("vmap, other numbers", OTHERS, _mapped, True),
    ("float32", [case for case in CASES if not case.only64], _compiled, False),
    # Every operation is dispatched on its own, which takes seconds: every fourth case.
    ("eagerly", CASES[1::4], lambda f: f, True),
]


@pytest.mark.parametrize(
    ("how", "cases", "way", "wide"),
    [
        ("jit, two objectives", OF_TWO, _compiled, True),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW),
    ],
)
def test_table(how, cases, way, wide):
    """Cases that share what is compiled are one test."""
    with jax.enable_x64(wide), jax.disable_jit(how == "eagerly"):
        _try(cases, way)


def _try(cases: list[Case], way: Callable) -> None:
    for case in cases:
        given = np.asarray(case.losses, dtype=float)
        n, m = given.shape
        losses = np.full((ROWS, m), -INF)
        losses[:n] = given
        losses, mask = jnp.asarray(losses), jnp.arange(ROWS) < n
        if case.rank is not None:
            _ranks(case, way, given, losses, mask)
        if case.reference is not None:
            _volumes(case, way, losses, jnp.asarray(np.asarray(case.reference, dtype=float)), mask)


def _ranks(case, way, given, losses, mask):
    rank = way(non_domination_rank)(losses, mask)
    assert rank.tolist() == [*case.rank, *[ABSENT] * (ROWS - len(given))], case.name
    if losses.shape[1] == 2:
        distance = np.asarray(way(crowding_distance)(losses, rank, mask))
        assert (distance >= 0).all(), case.name
        assert not distance[~np.asarray(mask)].any(), case.name


def _volumes(case, way, losses, reference, mask):
    tolerance = 1e-13 if losses.dtype == jnp.float64 else 1e-6
    if case.volume is not None:
        found = float(way(hypervolume)(losses, reference, mask))
        assert found == pytest.approx(case.volume, rel=tolerance, abs=1e-12, nan_ok=True), case.name
    if losses.shape[1] == 1:
        return
    order = way(_two)(losses, reference, mask)
    there = int(mask.sum())
    assert sorted(order.tolist())[: min(2, there)] == list(range(min(2, there))), case.name
    assert (np.asarray(order)[there:] == ABSENT).all(), case.name
