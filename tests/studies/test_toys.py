"""The toy functions: formulas as loops, optima, fronts, batches."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks import toys

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)

# problem, formula of (objectives, constraints), a best point
CASES = {
    "ellipsoid": (
        toys.ellipsoid(4, 1.5),
        lambda x: ([sum(5**i * (x[i] - 1.5) ** 2 for i in range(4))], []),
        [1.5] * 4,
    ),
    "ellipsoid centres": (
        toys.ellipsoid(3, [1.0, -2.0, 0.5]),
        lambda x: ([(x[0] - 1) ** 2 + 5 * (x[1] + 2) ** 2 + 25 * (x[2] - 0.5) ** 2], []),
        [1.0, -2.0, 0.5],
    ),
    "ellipsoid outside": (
        toys.ellipsoid(2, 6.0),
        lambda x: ([(x[0] - 6) ** 2 + 5 * (x[1] - 6) ** 2], []),
        [5.0, 5.0],
    ),
    "sphere": (toys.sphere(3), lambda x: ([sum(v**2 for v in x)], []), [0.0] * 3),
    "sphere constrained": (
        toys.sphere(3, 0.5, lower=[1.0, -1.0]),
        lambda x: ([sum((v - 0.5) ** 2 for v in x)], [1 - x[0], -1 - x[1]]),
        [1.0, 0.5, 0.5],
    ),
    "discs": (
        toys.discs(),
        lambda x: ([(x[0] + 2) ** 2 + (x[1] + 2) ** 2], [(x[0] - 1) ** 2 + (x[1] - 1) ** 2 - 4]),
        [1 - 2**0.5, 1 - 2**0.5],
    ),
    "discs overlapping": (
        toys.discs(0.0, 0.5, 3**0.5),
        lambda x: ([x[0] ** 2 + x[1] ** 2], [(x[0] - 0.5) ** 2 + (x[1] - 0.5) ** 2 - 3]),
        [0.0, 0.0],
    ),
    "ellipsoids": (
        toys.ellipsoids(3),
        lambda x: ([sum(5**i * (x[i] - c) ** 2 for i in range(3)) for c in (-1, 1)], []),
        None,
    ),
    "spheres": (
        toys.ellipsoids(2, [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]], base=1.0),
        lambda x: ([(x[0] - a) ** 2 + (x[1] - b) ** 2 for a, b in ((0, 1), (1, 0), (0, 0))], []),
        None,
    ),
    "zdt1": (
        toys.zdt1(5),
        lambda x: (lambda g: ([x[0], g * (1 - (x[0] / g) ** 0.5)], []))(1 + 9 * sum(x[1:]) / 4),
        None,
    ),
}  # fmt: skip
each = pytest.mark.parametrize(("problem", "formula", "best"), CASES.values(), ids=CASES.keys())


@jax.jit
def evaluate(problem, x):
    return jax.vmap(problem, in_axes=(None, 0))(KEY, x)


def uniform(space, n):
    bounds = np.array([(d.low, d.high) for (d,) in space.domains])
    return RNG.uniform(bounds[:, 0], bounds[:, 1], (n, len(space)))


@each
def test_formula(problem, formula, best):
    """Catches a weight, a sign, an axis; float32 against loops in float64."""
    x = uniform(problem.space, 1000)
    values, constraints = map(np.asarray, evaluate(problem, x.astype(np.float32)))
    assert values.shape == (len(x), problem.n_objectives)
    assert constraints.shape == (len(x), problem.n_constraints)
    for row, f, c in list(zip(x, values, constraints, strict=True))[:100]:
        objective, constraint = formula(row.tolist())
        # float32: a few roundings of numbers up to 100 in each term.
        np.testing.assert_allclose(f, objective, rtol=1e-5, atol=2e-5)
        np.testing.assert_allclose(c, constraint, rtol=1e-5, atol=2e-5)


@each
def test_optimum(problem, formula, best):
    """The optimum is reached where it is said to be, and nothing feasible lies below it."""
    x = uniform(problem.space, 1000)
    values, constraints = map(np.asarray, evaluate(problem, x.astype(np.float32)))
    feasible = (constraints <= 0).all(axis=1)
    assert feasible.any()
    optimum = np.asarray(problem.feasible_optimum)
    assert (values[feasible] >= optimum - 1e-6).all()
    if best is not None:
        at, excess = problem(KEY, jnp.array(best))
        np.testing.assert_allclose(at, optimum, rtol=1e-5, atol=1e-10)
        assert (np.asarray(excess) <= 1e-5).all()


@pytest.mark.parametrize(
    ("problem", "point", "front"),
    [
        (
            toys.ellipsoids(3),
            lambda t: np.full(3, 2 * t - 1),
            lambda f: np.sqrt(f[..., 0]) + np.sqrt(f[..., 1]) - np.sqrt(4 * 31),
        ),
        (
            toys.zdt1(6),
            lambda t: np.array([t, 0, 0, 0, 0, 0]),
            lambda f: f[..., 1] - 1 + np.sqrt(f[..., 0]),
        ),
    ],
    ids=["ellipsoids", "zdt1"],
)
def test_fronts(problem, point, front):
    """The Pareto set maps to the front, and every other point lies above it."""
    t = np.linspace(0, 1, 21)
    on = evaluate(problem, np.stack([point(v) for v in t]).astype(np.float32))[0]
    np.testing.assert_allclose(front(np.asarray(on, dtype=np.float64)), 0, atol=1e-5)
    off = evaluate(problem, uniform(problem.space, 1000).astype(np.float32))[0]
    assert (front(np.asarray(off, dtype=np.float64)) > -1e-5).all()
