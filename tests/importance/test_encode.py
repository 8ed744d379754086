"""The encoder of device arrays against that of logs, bit by bit: cells, regimes, validity."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import parzax as px
from importance.test_borders import DOMAINS, GRIDS, adversarial, around
from parzax.importance.encode import compute_codes, host_codes


def one_by_one(domains: dict[str, px.space.Domain], grid: px.Grid, dtype=np.float64):
    """A space of all domains; rows in which one value is adversarial and all others are inside; and which."""
    columns = [adversarial(domain, grid, dtype) for domain in domains.values()]
    inside = [column[~d.outside(column)][0] for d, column in zip(domains.values(), columns, strict=True)]
    varied = np.repeat(np.arange(len(columns)), [len(column) for column in columns])
    x = np.tile(inside, (len(varied), 1))
    x[np.arange(len(varied)), varied] = np.concatenate(columns)
    return px.Space(domains), x, varied


def on_host(space: px.Space, x: np.ndarray, grid: px.Grid) -> tuple[np.ndarray, np.ndarray]:
    """Codes by NumPy, and which values are valid, of a space of always active parameters."""
    with np.errstate(over="ignore", invalid="ignore"):
        codes = host_codes(space, x[None], np.zeros((1, *x.shape), np.int16), grid)[0]
    outside = [domains[0].outside(x[:, j]) for j, domains in enumerate(space.domains)]
    return codes, ~np.stack(outside, axis=1)


def assert_cells_are_the_hosts(domains: dict[str, px.space.Domain], grid: px.Grid) -> None:
    """In float64: cells and validity of `one_by_one`, in one compiled function for all domains."""
    space, x, varied = one_by_one(domains, grid)
    codes, valid = on_host(space, x, grid)
    device_codes, device_valid = map(
        np.asarray, jax.jit(lambda x: compute_codes(x, space, grid))(jnp.asarray(x))
    )
    for wrong in (device_valid != valid, valid & (device_codes != codes).T):
        wrong = wrong.any(axis=1)
        rows = np.flatnonzero(wrong)[:5]
        assert not len(rows), [(space.names[varied[i]], repr(x[i, varied[i]]), valid[i]) for i in rows]
    assert device_codes.dtype == codes.dtype


@pytest.mark.parametrize("grid", ["default", pytest.param("parity", marks=pytest.mark.slow)])
def test_cells_are_the_hosts(grid, double):
    """float64: cells and validity at every border, bound, step and slack, six units around each."""
    assert_cells_are_the_hosts(DOMAINS, GRIDS[grid])


def test_cells_in_float32():
    """float32: the host's cells of all values of the domains that float32 holds."""
    grid = GRIDS["default"]
    space, x, _ = one_by_one(DOMAINS, grid, np.float32)
    codes, valid = on_host(space, x, grid)
    found = jax.jit(lambda x: compute_codes(x, space, grid))(jnp.asarray(x, jnp.float32))
    codes_32, valid_32 = map(np.asarray, found)
    assert valid.mean() > 0.3
    assert valid_32[valid].all()  # a wider slack may let more pass
    np.testing.assert_array_equal(codes_32.T[valid], codes.T[valid])


CONDITIONAL = px.Space(
    {
        "c": px.Float(0, 1),
        "x": (
            px.Float(-5, -2, when=px.Between("c", high=0.3)),
            px.Int(1, 9, when=px.Between("c", 0.3, 0.7)),
            px.Float(1e-3, 1, log=True, when=px.Between("c", low=0.7)),
        ),
        "booster": px.Categorical(["tree", "linear", "dart"]),
        "depth": px.Int(1, 20, when=px.In("booster", ["tree", "dart"])),
        "units": px.Ordinal([16, 32, 64], when=(px.In("booster", ["tree"]), px.Between("depth", 4, 9))),
        "k": px.Int(1, 200, log=True),
        "rate": px.Float(0, 1, when=px.Between("k", low=17)),
        "late": px.Float(0, 1, when=px.In("units", [32, 64])),
        "given": px.Float(0, 1, when=px.Recorded()),
        "dropped": px.Float(0, 1, step=0.25),
        "only": px.Float(0, 1, when=px.In("dropped", [0.25, 0.75])),
        "exact": px.Float(0, 1, when=px.In("c", [0.5])),
    }
)


def conditional_rows(n: int, seed: int = 0, dtype=np.float64) -> np.ndarray:
    """Rows of `CONDITIONAL` with parents at and around their thresholds; inactive values are NaN."""
    rng = np.random.default_rng(seed)
    drawn = np.empty((n, len(CONDITIONAL)))
    for j, domains in enumerate(CONDITIONAL.domains):
        axis = domains[0].axis
        drawn[:, j] = axis.native(rng.uniform(size=n), rng.integers(0, max(int(axis.n_values), 1), n))
    # In float32 one value on a continuum is that value within 64 units of float32.
    edges = around(np.array([0.3, 0.7] if dtype == np.float32 else [0.3, 0.7, 0.5]), dtype)
    drawn[: len(edges), 0] = edges
    drawn = drawn.astype(dtype).astype(np.float64)
    for _ in range(4):  # one generation after the other
        regime = CONDITIONAL.derive_regimes(drawn)
        for j, domains in enumerate(CONDITIONAL.domains):
            for i, domain in enumerate(domains):
                here = (regime[:, j] == i) & domain.outside(drawn[:, j])
                axis, m = domain.axis, int(here.sum())
                new = axis.native(rng.uniform(size=m), rng.integers(0, max(int(axis.n_values), 1), m))
                drawn[here, j] = np.asarray(new).astype(dtype)
            drawn[regime[:, j] < 0, j] = np.nan
            if any(isinstance(c, px.Recorded) for c in domains[0].conditions):
                drawn[rng.uniform(size=n) < 0.3, j] = np.nan
    return drawn


@pytest.mark.parametrize("dtype", [pytest.param(np.float64, marks=pytest.mark.slow), np.float32])
def test_regimes_are_the_hosts(dtype):
    """Nested conditions, several domains, parents at their thresholds; in both precisions."""
    with jax.enable_x64(dtype == np.float64):
        x = conditional_rows(3000, dtype=dtype)
        obs = px.Observations.from_arrays(CONDITIONAL, x, np.arange(3000.0))
        host = obs.encode([0.1, 0.5])
        device = px.encode(CONDITIONAL, jnp.asarray(x, dtype), jnp.arange(3000, dtype=dtype), [0.1, 0.5])
    active = (obs.regime >= 0).mean(axis=0)
    assert (active > 0)[: 11 if dtype == np.float32 else 12].all()
    assert (active[[3, 4, 6, 7, 8, 10, 11]] < 1).all()
    for name in ("codes", "level", "rank", "status"):
        np.testing.assert_array_equal(np.asarray(getattr(device, name)), getattr(host, name), err_msg=name)


def test_invalid_rows_are_left_out(double):
    """Outside the domain, active without a value, inactive with one: weight 0 and INVALID_ROWS, no more.

    So under jit; arrays that are not traced are refused, JAX's like NumPy's.
    """
    x = conditional_rows(500)
    bad = x.copy()
    bad[0, 0], bad[1, 2], bad[2, 2] = 1.5, np.nan, 7
    inactive = np.flatnonzero(np.isnan(x[:, 3]))[0]
    bad[inactive, 3] = 2.0
    rows = np.array([0, 1, 2, inactive])
    losses = np.arange(500.0)

    def encode(x, weight=None, transform=jax.jit):
        arrays = [a if a is None else jnp.asarray(a) for a in (x, losses, weight)]
        function = transform(lambda x, losses, weight: px.encode(CONDITIONAL, x, losses, 0.2, weight=weight))
        return jax.device_get(function(*arrays))

    for values, weight, message in (
        (bad, None, "^x: row 0 is not a configuration of the space"),
        (x, np.where(np.arange(500) == 3, -1.0, 1.0), "^weight: row 3 is -1.0"),
    ):
        with pytest.raises(ValueError, match=message):
            encode(values, weight, transform=lambda function: function)
    found = encode(bad)
    keep = np.ones(500)
    keep[rows] = 0
    host = px.Observations.from_arrays(CONDITIONAL, x, losses, weight=keep).encode(0.2)
    np.testing.assert_array_equal(found.level, host.level)
    assert (found.level[rows] == 2).all()
    assert (found.status & px.Status.INVALID_ROWS > 0).all()
    assert not encode(x).status.any()
    for weight in (np.nan, -1.0, np.inf):
        weighted = encode(x, np.where(np.arange(500) == 3, weight, 1.0))
        assert (weighted.status & px.Status.INVALID_ROWS > 0).all()
        assert weighted.weight[3] == 0
        assert weighted.level[3] == 2


@pytest.mark.parametrize("n", [4, pytest.param(30, marks=pytest.mark.slow)])
def test_random_spaces(n, double):
    """Random floats and integers of random bounds: codes of random values and of all borders."""
    rng, domains = np.random.default_rng(5), {}
    for i in range(n):
        low = rng.normal() * 10.0 ** rng.integers(-6, 7)
        width = abs(rng.normal()) * 10.0 ** rng.integers(-6, 7) + 1e-9
        start = int(abs(low)) + 1
        end = start + int(width) + 3
        positive = px.Float(abs(low) + 1e-9, abs(low) + width + 1e-3, log=True)
        domains |= {
            f"float {i}": px.Float(low, low + width),
            f"log float {i}": positive,
            f"int {i}": px.Int(start, end),
            f"log int {i}": px.Int(start, end, log=True),
        }
    names = list(domains)
    for first in range(0, len(names), 20):
        assert_cells_are_the_hosts({name: domains[name] for name in names[first : first + 20]}, px.Grid())


def test_refused_with_the_remedy():
    """What only the host can decide is refused by name, and the message says what to do."""
    x, loss = jnp.ones((3, 1)), jnp.arange(3.0)
    moving, recorded = (
        px.Space({"x": px.Varying(0, 2)}),
        px.Space({"x": (px.Float(0, 1, when=px.Recorded()), px.Float(0, 2, when=px.Recorded()))}),
    )
    for space, what in ((moving, "'x' move"), (recorded, "domain of 'x'")):
        with pytest.raises(ValueError, match=what) as error:
            px.encode(space, x, loss, 0.5)
        assert "Observations.from_arrays(...).encode(levels)" in str(error.value)
    space = px.Space({"x": px.Float(0, 1)})
    with pytest.raises(ValueError, match=r"x must have shape \(n, 1\)"):
        px.encode(space, jnp.ones((2, 3, 1)), jnp.ones((2, 3)), 0.5)
    with pytest.raises(ValueError, match="weight must have shape"):
        px.encode(space, x, loss, 0.5, weight=jnp.ones(2))
    with pytest.raises(ValueError, match="below region"):
        px.encode(space, x, loss, 0.5, 0.4)
    with pytest.raises(TypeError, match="space must be"):
        px.encode({"x": 1}, x, loss, 0.5)
