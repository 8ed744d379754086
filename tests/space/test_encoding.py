"""Which rows are configurations of a space: on the host and on devices against a walk row by row."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from densities import SPACES, draw
from reference import mixture

import parzax as px

NAN, INF = np.nan, np.inf
OWN = {
    "steps": px.Space(
        {
            "c": px.Float(-1.0, 1.0),
            "k": px.Int(0, 3),
            "z": px.Ordinal([0.5, 1.0, 3.0], when=px.In("k", [1, 2])),
            "y": px.Float(0.0, 1.0, step=0.25, when=px.Between("c", low=0.0)),
            "one": px.Int(3, 3),
            "w": px.Categorical(["a", "b"], when=(px.In("z", [0.5]), px.Between("c", high=0.5))),
            "u": (px.Float(1e-3, 1.0, log=True, when=px.In("w", ["a"])), px.Int(4, 9)),
        }
    )
}
# Values of the parameters of "steps" that are often right together.
LIKELY = ([-0.5, 0.25], [0, 1, 3], [NAN, 0.5, 3], [NAN, 0.25, 1], [3], [NAN, 0, 1], [0.5, 1e-3, 4, 9])
# Rounding may have made them of a value.
NEARLY_INSIDE = [1.0 + 1e-9, 1.0 + 1e-7, 1.001]
JUNK = [*NEARLY_INSIDE, NAN, INF, -INF, *(-1.0, 0.0, 0.25, 0.3, 0.5, 1.0, 2.0, 3.0, 3.5, 9.0, 1e30)]


def _is_configuration(parameters, row):
    """The definition, for values that are clearly in a domain or clearly outside."""
    for parameter, value in zip(parameters, row, strict=True):
        codes = range(len(parameter["choices"])) if parameter.get("kind") == "categorical" else ()
        if codes and not math.isnan(value) and value not in codes:
            return False
    for parameter, regime, value in zip(parameters, mixture.regimes(parameters, row), row, strict=True):
        if regime is None:
            if not math.isnan(value):
                return False
            continue
        domain = mixture.domains(parameter)[regime]
        kind = parameter.get("kind", domain.get("kind"))
        values = mixture.listed(kind, domain)
        inside = domain["low"] <= value <= domain["high"] if values is None else value in values
        if not inside:
            return False
    return True


@pytest.mark.parametrize("name", [*OWN, *(pytest.param(s, marks=pytest.mark.slow) for s in SPACES)])
def test_valid_points_are_configurations(name):
    """Catches a condition that is not looked at, a parent read too early, a slack of its own."""
    space, rng = (OWN | SPACES)[name], np.random.default_rng(0)
    x = rng.choice(JUNK, (4000, len(space)))
    good = draw(name, 4000, 1) if name in SPACES else np.stack([rng.choice(v, 4000) for v in LIKELY], axis=1)
    x = np.concatenate([good, np.where(rng.uniform(size=good.shape) < 0.8, good, x)])
    for double in (True, False):
        with jax.enable_x64(double):
            rows = x.astype(np.float64 if double else np.float32)
            device = eqx.filter_jit(space.frame(rows.dtype).encode)(jnp.asarray(rows))
            host = space.frame().encode(rows)
        found = np.asarray(device.valid.all(axis=-1))
        np.testing.assert_array_equal(found, host.valid.all(axis=-1))
        np.testing.assert_array_equal(np.asarray(device.regime)[found], host.regime[found])
        np.testing.assert_array_equal(np.asarray(device.index)[found], host.index[found])
        assert found.any()
        assert not found.all()
    parameters = mixture.parameters_of(space)
    clear = ~np.isin(x, NEARLY_INSIDE).any(axis=1)
    some = rng.choice(np.flatnonzero(clear), 400, replace=False)
    wanted = [_is_configuration(parameters, x[i]) for i in some]
    np.testing.assert_array_equal(space.frame().encode(x[some]).valid.all(axis=-1), wanted)
    assert space.frame().encode(x[:0]).valid.shape == (0, len(space))


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.some(12)
def test_ordinals_in_float32(seed):
    """Every list is refused, or each value is told apart; relative distances above 1e-3 are never refused."""
    rng = np.random.default_rng(seed)
    decades, n = rng.choice([1.0, 10, 30, 100, 600]), rng.integers(2, 9)
    values = np.unique(10 ** rng.uniform(-decades / 2, min(decades / 2, 300), n) * rng.choice([1, -1, 0], n))
    if seed % 3 == 0:
        values = np.unique(np.append(values, values * (1 + 10.0 ** -rng.integers(2, 8))))
    if len(values) == 1:
        return  # nothing to tell apart
    log = bool((values > 0).all())
    space = px.Space({"x": px.Ordinal(values.tolist(), log=log)})
    held = ((values == 0) | ((np.abs(values) > 1.18e-38) & (np.abs(values) < 3.4e38))).all()
    gaps = np.diff(values) / np.maximum(np.abs(values[1:]), np.abs(values[:-1]))
    if not space.domains[0][0].axis.resolved(np.float32, True):
        with pytest.raises(ValueError, match="cannot tell the values of 'x' apart"):
            px.tpe(space).init()
        assert not held or gaps.min() < 1e-3 or (not log and _narrow(values))
        return
    points = space.frame(np.float32).encode(values.astype(np.float32)[:, None])
    assert held
    assert points.valid.all()
    np.testing.assert_array_equal(points.index[:, 0], np.arange(len(values)))


def _narrow(values):
    """Whether places in [0, 1] run together in float32."""
    return np.diff(values).min() < 1e-6 * (values[-1] - values[0])
