"""A conditional space, rows of it and a comparison, shared by the laws of densities and what they compile."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

import parzax as px

LAW = settings(deadline=None, max_examples=6, derandomize=True)
SEEDS = st.integers(0, 10**6)
N = 8
SPACE = px.Space(
    {
        "c": px.Float(0.0, 1.0),
        "kind": px.Categorical(["a", "b"]),
        "x": (
            px.Float(-7.0, -2.0, when=px.Between("c", high=0.4)),
            px.Float(2.0, 7.0, when=px.Between("c", low=0.6)),
        ),
        "lr": px.Float(1e-3, 1.0, log=True, when=px.In("kind", ["a"])),
        "k": px.Int(1, 4, when=px.In("kind", ["b"])),
    }
)
# Wide enough for 16 Gauss-Legendre nodes to integrate a kernel to 1e-8.
SMOOTH = px.bandwidth.Scott(0.15, 0.5)


def draw(seed: int, n: int = N) -> np.ndarray:
    """Configurations of SPACE."""
    rng = np.random.default_rng(seed)
    c, kind = rng.uniform(size=n), rng.integers(0, 2, n)
    x = np.where(
        c < 0.4, -7 + 5 * rng.uniform(size=n), np.where(c >= 0.6, 2 + 5 * rng.uniform(size=n), np.nan)
    )
    lr = np.where(kind == 0, 10 ** rng.uniform(-3, 0, n), np.nan)
    return np.stack([c, kind, x, lr, np.where(kind == 1, rng.integers(1, 5, n), np.nan)], axis=-1)


POINTS = draw(999, 16)


def fit(rows, weight=None, **options):
    return px.ParzenEstimator.fit(SPACE, rows, weight, **{"bandwidth": SMOOTH, **options})


def close(found, wanted, tolerance=1e-12):
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
