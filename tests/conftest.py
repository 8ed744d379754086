"""Fixtures shared by all tests, and the oracles on the import path."""

import ctypes
import functools
import gc
import os
import resource
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from compilation import quick_flags

# The suite compiles hundreds of functions and runs each for microseconds, so compilation is most of its
# time. Set XLA_FLAGS yourself (empty for JAX's defaults) to test other code generation.
os.environ.setdefault("XLA_FLAGS", quick_flags())
# Processes share an accelerator's memory.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# Nor does anybody read from which lines of Python an operation came: 5 % of the time.
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
# What a test has put in the place of something must not be found by the next one, or by a user.
os.environ.setdefault("PARZAX_NO_CACHE", "1")

import jax
import jaxtyping
import numpy as np
import pytest
from reference import logs

if os.environ.get("PARZAX_CHECKED"):
    # Every shape in an annotation is verified, for a sixth more of the time.
    jaxtyping.install_import_hook("parzax", "shapes.checked")
if not os.environ.get("PARZAX_UNCHECKED"):
    # Nothing is promoted or broadcast by itself.
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")

import parzax as px
from parzax.lens.results import surrogates

# Tracing makes objects by the million, most of which stay; to look through them as often as Python does by
# default takes a sixth of the time of a test.
gc.set_threshold(100_000, 50, 100)


@functools.cache
def observations(name: str) -> px.Observations:
    log = logs.load(name)
    return px.Observations.from_arrays(
        px.Space.from_json(log.space), log.values, log.objective, log.direction
    )


@functools.cache
def synthetic_observations(problem: str) -> px.Observations:
    space, values, objective = logs.synthetic(problem)
    return px.Observations.from_arrays(
        px.Space.from_json({"parameters": space["parameters"]}), values, objective
    )


# The settings that give Optuna 5's numbers.
OPTUNA: dict[str, Any] = {"divergence": px.divergence.Pearson(), "grid": px.Grid.optuna()}
# The 19 levels of the stored references; every sweep over synthetic data uses them, so that one
# compiled function serves all tests.
TWENTIETHS = np.round(np.arange(1, 20) * 0.05, 10)


@functools.cache
def synthetic_sweep(problem: str, parity: bool) -> px.ImportanceResult:
    """19 levels of 10 seeds of a synthetic problem, parity in float64 and the default in float32."""
    method = OPTUNA if parity else {}
    with jax.enable_x64(parity):
        return px.cond_ped_anova(synthetic_observations(problem), TWENTIETHS, **method)


# One look at every layer, for `pytest -m accelerator`: a program takes seconds to compile there.
ACCELERATOR = {
    "acquisition/test_ratios.py",
    "divergence/test_pearson.py",
    "importance/pairs/test_interactions.py",
    "importance/test_counts.py",
    "importance/test_encode.py",
    "importance/test_estimate.py",
    "importance/test_resample.py",
    "kernels/test_truncated_normal.py",
    "meta/test_overlap.py",
    "numerics/test_tails.py",
    "pareto/test_ranks.py",
    "density/test_mixture.py",
    "samplers/test_scores.py",
    "split/test_splits.py",
    "test_parity.py",
}


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """Of a test with the mark ``some(n)`` all cases but n are slow, the same ones in every run."""
    cases, accelerator = {}, {Path(__file__).parent / name for name in ACCELERATOR}
    for item in items:
        if item.path in accelerator:
            item.add_marker("accelerator")
        for mark in item.iter_markers("some"):
            cases.setdefault((item.nodeid.split("[")[0], *mark.args), []).append(item)
    for (_, n), own in cases.items():
        own = [item for item in own if not item.get_closest_marker("slow")]
        for i in np.random.default_rng(0).permutation(len(own))[n:]:
            own[i].add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="module")
def _room_for_programs():
    """Forget compiled programs before they fill the memory, or the kernel's memory maps (65530 by default).

    Each program keeps several maps; a process that has run out of them crashes while it compiles.
    """
    yield
    process = Path("/proc/self")
    if not process.exists():
        return
    resident = int((process / "statm").read_text().split()[1]) * resource.getpagesize()
    if resident > 3 << 30 or (process / "maps").read_bytes().count(b"\n") > 45_000:
        jax.clear_caches()
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)


@pytest.fixture
def as_installed():
    """Without the checks of annotations: what a user sees who passes a wrong shape."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(params=[False, True], ids=["float32", "float64"])
def x64(request):
    with jax.enable_x64(request.param):
        yield request.param


@pytest.fixture
def double():
    """Run the test in float64, where an oracle is compared tightly."""
    with jax.enable_x64(True):
        yield


@pytest.fixture
def in_tmp_path(monkeypatch, tmp_path):
    """Run the test in a folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def few_draws(monkeypatch):
    """Answers of a surrogate from few draws, where a test does not ask how near they are to the truth."""
    for name, number in (("_DRAWS", 4), ("_POINTS", 256)):
        monkeypatch.setattr(surrogates, name, number)
    for module, name, n_points in (
        (surrogates, "effects", 16),
        (surrogates, "region", 512),
        (px.surrogate, "surface", 8),
    ):
        fewer = functools.partial(getattr(px.surrogate, name), n_draws=4, n_points=n_points)
        monkeypatch.setattr(module, name, fewer)


# --- a small log with every kind of parameter, for laws ---------------------------------------

# A coarse grid compiles in a fraction of the time of one with 50 cells.
COARSE = px.Grid(max_cells=12)
# Where a test does not ask how a parameter is compared: one partition, which compiles twice as fast again.
QUICK: dict[str, Any] = {"grid": px.Grid(max_cells=4), "divergence": px.divergence.Explained((4,), ())}
COARSE_PARITY_GRID = replace(px.Grid.optuna(), max_cells=12)
ZOO = {
    "parameters": [
        {"name": "c", "kind": "float", "low": 0.0, "high": 1.0},
        {"name": "kind", "kind": "categorical", "choices": ["a", "b", "c", "d"]},
        {"name": "k", "kind": "int", "low": 0, "high": 11},
        {"name": "eta", "kind": "float", "low": 1e-4, "high": 1.0, "log": True},
        {
            "name": "x",
            "kind": "float",
            "regimes": [
                {"low": -7.0, "high": -2.0, "conditions": [{"parent": "c", "lt": 0.4}]},
                {"low": 2.0, "high": 7.0, "conditions": [{"parent": "c", "ge": 0.6}]},
            ],
        },
    ]
}
ZOO_LEVELS = [0.1, 0.25, 0.5]


def coarse_method(parity: bool) -> dict[str, Any]:
    return OPTUNA | {"grid": COARSE_PARITY_GRID} if parity else {"grid": COARSE}


def zoo(n: int = 60, seed: int = 0, n_seeds: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Values (n, 5) and losses (n,) of the zoo space, with a seed axis if ``n_seeds`` is given.

    Values keep away from the edges of the coarse grid's cells, so that rounding cannot move one.
    """
    rng = np.random.default_rng(seed)
    shape = (n,) if n_seeds is None else (n_seeds, n)
    # (cell + offset) / 11 with |offset| <= 0.3 for 12 cells on [0, 1].
    unit = (rng.integers(1, 11, (*shape, 3)) + rng.uniform(-0.3, 0.3, (*shape, 3))) / 11
    c, eta, x = unit[..., 0], 10 ** (-4 + 4 * unit[..., 1]), unit[..., 2]
    kind, k = rng.integers(0, 4, shape), rng.integers(0, 12, shape)
    domain = np.where(c < 0.4, -7 + 5 * x, np.where(c >= 0.6, 2 + 5 * x, np.nan))
    values = np.stack([c, kind, k, eta, domain], axis=-1)
    losses = (
        np.nan_to_num(domain, nan=0.0)
        + 0.3 * kind
        + 0.1 * k
        + (np.log10(eta) + 2) ** 2
        + rng.normal(size=shape)
    )
    return values, losses


def zoo_observations(values, losses, **options) -> px.Observations:
    return px.Observations.from_arrays(px.Space.from_json(ZOO), values, losses, **options)


def zoo_sweep(values, losses, *, parity: bool = False, **options) -> px.ImportanceResult:
    obs = zoo_observations(values, losses, **options)
    return px.cond_ped_anova(obs, ZOO_LEVELS, n_resamples=0, **coarse_method(parity))


def pytest_terminal_summary(terminalreporter):
    """Print what table-driven tests say they tried; a worker's own output would be lost."""
    for report in terminalreporter.stats.get("passed", []):
        for name, text in report.user_properties:
            if name == "tried":
                terminalreporter.write_line(text)
