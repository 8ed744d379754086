"""Losses on which ranks, crowding and volumes are tried, all of one shape per number of objectives."""

import numpy as np

N = 40


def tables(m: int, dtype: type = np.float64) -> dict[str, np.ndarray]:
    """Name -> (N, m) losses without NaN."""
    rng = np.random.default_rng(m)
    normal, grid = rng.normal(size=(N, m)), rng.integers(0, 4, (N, m)).astype(float)
    tiny = float(np.finfo(dtype).smallest_subnormal)
    front = rng.uniform(0.1, 1, (N, m))
    found = {
        "random": normal,
        "grid": grid,
        "each row twice": np.repeat(normal[: N // 2], 2, axis=0),
        "all equal": np.ones((N, m)),
        "a chain": np.arange(N)[:, None] * np.ones(m),
        "one front": np.column_stack([np.arange(N), *[-np.arange(N)] * (m - 1)]).astype(float),
        "near a front": front / np.linalg.norm(front, axis=1, keepdims=True),
        "infinities": np.where(grid == 0, -np.inf, np.where(grid == 3, np.inf, normal)),
        "signed zeros": np.where(rng.uniform(size=(N, m)) < 0.5, 0.0, -0.0) + (grid > 2),
        "subnormal": grid * tiny,
        "huge": np.tanh(normal) * float(np.finfo(dtype).max),
        "wide": np.sign(normal) * 10.0 ** (grid * (9 if dtype == np.float32 else 90)),
    }
    return {name: table.astype(dtype) for name, table in found.items()}


def holed(losses: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The losses with NaN in some entries, and a mask under which some rows are absent."""
    rng = np.random.default_rng(seed)
    losses = losses.copy()
    losses[rng.uniform(size=losses.shape) < 0.1] = np.nan
    return losses, rng.uniform(size=len(losses)) < 0.8
