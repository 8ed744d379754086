"""Bad inputs, as one table: the right value, a named status, or an error that names what to do.

Every case about a log is tried as one log and, in the common spaces, with a seed axis (the batched form of
the same call); some also with compilation disabled (eagerly). Every case about an array function is tried
eagerly, under jit and under vmap. A silent wrong number is the one thing that is not allowed: a case that
neither raises what it should, nor sets its status, nor gives the expected value, fails.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import coarse_method

import parzax as px
from parzax.kernels import AitchisonAitken

S = px.Status
N = 40
_rng = np.random.default_rng(0)
X = np.sort(_rng.uniform(size=(N, 2)), axis=0)[:, [0, 1]]
X[:, 1] = _rng.permutation(X[:, 1])
LOSS = X[:, 0].copy()
XZ = px.Space({"x": px.Float(0, 1), "z": px.Float(0, 1)})
GATED = px.Space({"c": px.Float(0, 1), "x": px.Float(0, 1, when=px.Between("c", high=0.5))})
# The three levels of `test_flags`, which has spaces of the same shape.
LEVELS = [0.1, 0.25, 0.5]
CASES: list["Case"] = []


@dataclass
class Case:
    """One row of the table: exactly one of ``error``, ``status`` and ``check`` says what must come out."""

    name: str
    space: Any = XZ
    values: Any = None
    losses: Any = None
    levels: Any = field(default_factory=lambda: LEVELS)
    region: Any = 1.0
    options: dict = field(default_factory=dict)
    call: dict = field(default_factory=dict)
    error: str | None = None
    status: px.Status | None = None
    check: Any = None

    def __post_init__(self):
        CASES.append(self)
        if self.values is None:
            self.values = X
        if self.losses is None:
            self.losses = LOSS[: len(np.atleast_1d(self.values))]


def changed(row: int, column: int, value: float, base=X) -> np.ndarray:
    out = np.array(base, dtype=float)
    out[row, column] = value
    return out


def gated() -> np.ndarray:
    return np.stack([X[:, 0], np.where(X[:, 0] < 0.5, X[:, 1], np.nan)], axis=-1)


def zeros(result):
    assert (result.importance == 0).all()
    assert (result.variance == 0).all()


def x_matters(result):
    """The losses are x itself, so x has nearly all of the importance at every level."""
    assert (result.importance[..., 0] > 0.8).all()
    np.testing.assert_allclose(result.importance.sum(axis=-1), 1, rtol=1e-5)


def equals_plain(result):
    """The same as for the log as it is: catches information lost on the way."""
    plain = px.cond_ped_anova(
        px.Observations.from_arrays(XZ, X, LOSS), LEVELS, **coarse_method(False), n_resamples=0
    )
    np.testing.assert_array_equal(np.broadcast_to(plain.counts, result.counts.shape), result.counts)
    scale = np.abs(plain.variance).max()
    np.testing.assert_allclose(result.variance - plain.variance, 0, atol=1e-5 * scale)


# --- nothing to see --------------------------------------------------------------------------
Case(
    "a parameter that never varies",
    values=np.stack([X[:, 0], np.full(N, 0.3)], -1),
    status=S.CONSTANT,
    check=lambda r: np.testing.assert_array_equal(r.importance[..., 1], 0),
)
Case("nothing varies", values=np.full((N, 2), 0.3), status=S.CONSTANT | S.ALL_ZERO, check=zeros)
Case("all losses -inf", losses=np.full(N, -np.inf), status=S.ALL_EQUAL, check=zeros)
Case("n = 0", values=np.zeros((0, 2)), losses=np.zeros(0), status=S.NO_DATA, check=zeros)
Case("n = 1", values=X[:1], losses=LOSS[:1], status=S.NO_DATA, check=zeros)
Case("all losses +inf", losses=np.full(N, np.inf), status=S.NO_DATA, check=zeros)
Case("all losses NaN", losses=np.full(N, np.nan), status=S.NO_DATA, check=zeros)
Case("all but one NaN", losses=np.r_[1.0, np.full(N - 1, np.nan)], status=S.NO_DATA, check=zeros)
Case("all weights 0", options={"weight": np.zeros(N)}, status=S.NO_DATA, check=zeros)
Case("one row of weight 1", options={"weight": np.eye(N)[3]}, status=S.NO_DATA, check=zeros)
Case(
    "a domain that moves in every row",
    space=px.Space({"x": px.Float(0, 1), "z": px.Varying(0, 1)}),
    call={"column": 1},
    status=S.UNIDENTIFIABLE,
)
Case(
    "a parameter active in one row",
    space=px.Space({"c": px.Float(0, 1), "x": px.Float(0, 1, when=px.Between("c", high=float(X[1, 0])))}),
    values=np.stack([X[:, 0], np.r_[0.5, np.full(N - 1, np.nan)]], -1),
    call={"column": 1},
    status=S.SPARSE_REGIME,
)

# --- infinities and failures -----------------------------------------------------------------
Case(
    "NaN and +inf are counted",
    values=np.r_[X, X[:2]],
    losses=np.r_[LOSS, np.nan, np.inf],
    check=lambda r: (equals_plain(r), np.testing.assert_array_equal(r.report.n_failed % 2, 0)),
)
Case(
    "failed rows may hold anything",
    values=np.r_[X, [[9.0, np.nan]]],
    losses=np.r_[LOSS, np.nan],
    check=equals_plain,
)
Case(
    "a row of weight 0, which could come back, outside its domain",
    values=np.r_[X, [[9.0, 0.5]]],
    losses=np.r_[LOSS, -5.0],
    options={"weight": np.r_[np.ones(N), 0]},
    error="outside",
)

# --- extremes that are legal -----------------------------------------------------------------
Case(
    "a domain up to 1e300",
    space=px.Space({"x": px.Float(-1e300, 1e300), "z": px.Float(0, 1)}),
    values=np.stack([(2 * X[:, 0] - 1) * 1e300, X[:, 1]], -1),
    check=x_matters,
)
Case(
    "integers near 2**53",
    space=px.Space({"x": px.Int(2**53 - 100, 2**53), "z": px.Float(0, 1)}),
    values=np.stack([2.0**53 - 100 + np.round(100 * X[:, 0]), X[:, 1]], -1),
    check=x_matters,
)
Case(
    "equal importances keep the order",
    values=np.stack([X[:, 0], X[:, 0]], -1),
    check=lambda r: np.testing.assert_array_equal(r.ranking(), ["x", "z"]),
)

# --- levels ----------------------------------------------------------------------------------
for _name, _levels, _region in (
    ("level 0", 0.0, 1.0),
    ("level NaN", math.nan, 1.0),
    ("level 1.5", 1.5, 1.0),
    ("level -0.1", -0.1, 1.0),
    ("level inf", math.inf, 1.0),
    ("target = region", 0.5, 0.5),
    ("target = region = 1", 1.0, 1.0),
    ("target above region", 0.6, 0.5),
    ("one of a sweep above", [0.1, 0.7], 0.5),
    ("equal levels", [0.1, 0.1], 1.0),
    ("nearly equal levels", [0.3, 0.1 + 0.2], 1.0),
    ("no levels", [], 1.0),
    ("a table of levels", [[0.1]], 1.0),
    ("levels as text", "0.1", 1.0),
):
    Case(_name, levels=_levels, region=_region, error="levels")
for _name, _region in (
    ("region 0", 0.0),
    ("region NaN", math.nan),
    ("region 1.5", 1.5),
    ("region text", "1"),
    ("region True", True),
    ("region None", None),
):
    Case(_name, region=_region, error="region")
Case("objective 1 of 1", call={"objective": 1}, error="objective")
Case("objective -1", call={"objective": -1}, error="objective")
Case("objective text", call={"objective": "a"}, error="objective")
Case("a mode string as divergence", call={"divergence": "pearson"}, error="divergence")
Case("unknown reference", call={"reference": "global"}, error="reference")

# --- values and their space ------------------------------------------------------------------
Case("value above its domain", values=changed(3, 1, 1.5), error=r"row 3, column 1 \('z'\) = 1.5")
Case("value below its domain", values=changed(3, 0, -1e-3), error=r"row 3, column 0 \('x'\)")
Case("value infinite", values=changed(3, 0, np.inf), error=r"row 3, column 0 \('x'\) = inf")
Case("value missing", values=changed(3, 1, np.nan), error=r"row 3, column 1 \('z'\) = nan is missing")
Case(
    "inactive value present",
    space=GATED,
    values=changed(N - 1, 1, 0.2, gated()),
    error=rf"row {N - 1}, column 1 \('x'\) = 0.2 is given but",
)
Case(
    "active value missing",
    space=GATED,
    values=changed(0, 1, np.nan, gated()),
    error=r"row 0, column 1 \('x'\) = nan is missing",
)
for _code in (-1.0, 3.0, 1.9, math.nan):
    Case(
        f"category {_code} of 3",
        space=px.Space({"x": px.Float(0, 1), "z": px.Categorical(["a", "b", "c"])}),
        values=changed(2, 1, _code, np.stack([X[:, 0], np.arange(N) % 3], -1)),
        error=r"row 2, column 1 \('z'\)",
    )
Case(
    "an integer of 0.5",
    space=px.Space({"x": px.Float(0, 1), "z": px.Int(0, 3)}),
    values=changed(2, 1, 0.5, np.stack([X[:, 0], np.arange(N) % 4], -1)),
    error=r"row 2, column 1 \('z'\) = 0.5",
)
Case(
    "a value between steps",
    space=px.Space({"x": px.Float(0, 1), "z": px.Float(0, 1, step=0.25)}),
    values=changed(2, 1, 0.3, np.stack([X[:, 0], np.arange(N) % 5 / 4], -1)),
    error=r"row 2, column 1 \('z'\) = 0.3",
)
Case(
    "a value that is no ordinal",
    space=px.Space({"x": px.Float(0, 1), "z": px.Ordinal([1, 2, 4])}),
    values=changed(2, 1, 3.0, np.stack([X[:, 0], np.tile([1, 2, 4, 1], 10)], -1)),
    error=r"row 2, column 1 \('z'\) = 3.0",
)
Case(
    "log value 0",
    space=px.Space({"x": px.Float(0, 1), "z": px.Float(1e-3, 1, log=True)}),
    values=changed(2, 1, 0.0, X * [1, 0] + [0, 0.5]),
    error=r"row 2, column 1 \('z'\) = 0.0",
)

# --- shapes and types ------------------------------------------------------------------------
Case("too few columns", values=X[:, :1], error="values must have shape")
Case("too few losses", losses=LOSS[:-1], error="objectives must have shape")
Case("values of text", values=np.full((N, 2), "a"), error="values must hold numbers")
Case("values of objects", values=np.full((N, 2), None), error="values must hold numbers")
Case("complex losses", losses=LOSS.astype(complex), error="objectives must hold numbers")
Case(
    "NaN weight", options={"weight": changed(1, 0, np.nan, np.ones((N, 1)))[:, 0]}, error="weight: .*row 1 is"
)
Case(
    "negative weight",
    options={"weight": changed(1, 0, -1, np.ones((N, 1)))[:, 0]},
    error="weight: .*row 1 is",
)
Case(
    "infinite weight",
    options={"weight": changed(1, 0, np.inf, np.ones((N, 1)))[:, 0]},
    error="weight: .*row 1 is",
)
Case("too few weights", options={"weight": np.ones(N - 1)}, error="weight must have shape")
Case("direction text", options={"directions": "min"}, error="direction must be one of")
Case(
    "two directions for one loss",
    options={"directions": ["minimize", "maximize"]},
    error="directions: 2 for 1 objective",
)
Case("failed text", options={"failed": "ignore"}, error="failed must be one of")
Case(
    "regime out of range", options={"regime": np.ones((N, 2), int)}, error="regime: .*row 0, column 'x' is 1"
)
Case("regime of floats", options={"regime": np.zeros((N, 2))}, error="regime must be integers")
Case("regime of another shape", options={"regime": np.zeros((N, 3), int)}, error="regime must be integers")
Case(
    "regime inactive, value present",
    options={"regime": np.full((N, 2), -1)},
    error="is -1, but by the conditions of the space it is 0; leave regime out",
)
Case(
    "regime active, value missing",
    space=GATED,
    values=gated(),
    options={"regime": np.zeros((N, 2), int)},
    error="is 0, but by the conditions of the space it is -1; leave regime out",
)
Case(
    "regime against the conditions",
    space=GATED,
    values=changed(N - 1, 1, 0.2, gated()),
    options={"regime": np.where(np.isnan(changed(N - 1, 1, 0.2, gated())), -1, 0)},
    error=rf"regime: .*row {N - 1}, column 'x'",
)
Case(
    "constraints NaN",
    options={"constraints": changed(1, 0, np.nan, np.ones((N, 1)))[:, 0]},
    error="constraints: ",
)
Case("constraints ragged", options={"constraints": np.ones(N - 1)}, error="constraints must have shape")


def _seeded(x):
    if x is None or np.ndim(x) == 0:
        return x
    return np.stack([np.asarray(x)] * 2)


def _result(case: Case, seeds: bool):
    options = dict(case.options)
    values, losses = case.values, case.losses
    if seeds:
        values, losses = _seeded(values), _seeded(losses)
        for key in ("weight", "regime", "constraints"):
            if key in options:
                options[key] = _seeded(options[key])
    obs = px.Observations.from_arrays(case.space, values, losses, **options)
    given = {k: v for k, v in case.call.items() if k in ("objective", "divergence", "reference")}
    return px.cond_ped_anova(obs, case.levels, region=case.region, **coarse_method(False) | given)


def _try(case: Case, seeds: bool):
    if case.error is not None:
        with pytest.raises((ValueError, TypeError), match=case.error) as raised:
            _result(case, seeds)
        # The remedy: more than the name of the argument.
        assert len(str(raised.value)) > 25
        return
    result = _result(case, seeds)
    for name in ("importance", "variance", "inter", "unweighted", "divergence", "alpha", "beta"):
        assert np.isfinite(getattr(result, name)).all(), name
    assert (result.importance >= 0).all()
    if case.status is not None:
        status = result.status
        if "column" in case.call:
            status = status[..., [case.call["column"]]]
            assert (result.variance[..., case.call["column"]] == 0).all()
        if case.call.get("first_only"):
            status = status[..., :1, :]
        for bit in case.status:
            assert ((status & bit) > 0).any(axis=-1).all(), bit
    if case.check is not None:
        case.check(result)


# Each compiles a space of its own, and other fast tests have large counts, many choices, these levels, single
# values and bounds that move.
SLOW = (
    "integers near 2**53",
    "a domain that moves in every row",
)


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c.name, marks=[pytest.mark.slow] if c.name in SLOW else []) for c in CASES],
)
def test_case(case):
    _try(case, seeds=False)
    _tried.append(1)
    # A seed axis is one more compiled function per space; errors come before that.
    if case.error is not None or case.space is XZ:
        _try(case, seeds=True)
        _tried.append(1)


# Eagerly every operation is dispatched on its own, which takes seconds: the cases that reach numbers.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["n = 0", "n = 1", "all weights 0", "a parameter that never varies"])
def test_eagerly(name):
    case = next(c for c in CASES if c.name == name)
    with jax.disable_jit():
        _try(case, seeds=False)
    _tried.append(1)


_tried: list[int] = []


# --- spaces ----------------------------------------------------------------------------------
SPACES = {
    "log domain from 0": (lambda: px.Float(0, 1, log=True), "log needs low > 0"),
    "log domain from below 0": (lambda: px.Int(-1, 5, log=True), "log needs low > 0"),
    "log that is no flag": (lambda: px.Float(1, 1000, log="no"), "log must be True or False"),
    "a bound beyond the parent's": (
        lambda: px.Space({"c": px.Float(0, 1), "x": px.Float(0, 1, when=px.Between("c", low=5))}),
        "never holds",
    ),
    "conditions that never hold together": (
        lambda: px.Space(
            {
                "c": px.Float(0, 1),
                "x": px.Float(0, 1, when=[px.Between("c", high=0.3), px.Between("c", low=0.5)]),
            }
        ),
        "never hold together",
    ),
    "labels that never hold together": (
        lambda: px.Space(
            {
                "c": px.Categorical(["a", "b"]),
                "x": px.Float(0, 1, when=[px.In("c", ["a"]), px.In("c", ["b"])]),
            }
        ),
        "never hold together",
    ),
    "step that does not divide": (lambda: px.Float(0, 1, step=0.3), "does not divide"),
    "integer step that does not divide": (lambda: px.Int(0, 10, step=3), "the last value it reaches is 9"),
    "step 0": (lambda: px.Int(0, 10, step=0), "step must be positive"),
    "low above high": (lambda: px.Float(1, 0), "low must not exceed high"),
    "NaN bound": (lambda: px.Float(0, math.nan), "high must be finite"),
    "infinite bound of a stepped number": (
        lambda: px.Float(-math.inf, 0, step=1),
        "steps and circles need bounds",
    ),
    "width that overflows": (lambda: px.Float(-1.7e308, 1.7e308), "overflows"),
    "integers past 2**53": (lambda: px.Int(0, 2**62), "2\\*\\*53"),
    "integer bound 0.5": (lambda: px.Int(0.5, 3), "whole number"),
    "bound of text": (lambda: px.Float("0", 1), "low must be a number"),
    "lists as choices": (lambda: px.Categorical([[1], [2]]), "use None, bool, int, float or str"),
    "a choice twice": (lambda: px.Categorical(["a", "b", "a"]), "appears twice"),
    "no choices": (lambda: px.Categorical([]), "must not be empty"),
    "text as choices": (lambda: px.Categorical("abc"), "must be a sequence"),
    "ordinal that descends": (lambda: px.Ordinal([3, 2]), "must ascend"),
    "ordinal log from 0": (lambda: px.Ordinal([0, 2], log=True), "above 0"),
    "unknown parent": (lambda: px.Space({"x": px.Float(0, 1, when=px.In("b", [1]))}), "'b', which is not"),
    "cycle": (
        lambda: px.Space(
            {"a": px.Float(0, 1, when=px.Between("b", 0)), "b": px.Float(0, 1, when=px.Between("a", 0))}
        ),
        "cycle",
    ),
    "choice that the parent lacks": (
        lambda: px.Space({"a": px.Categorical([1, 2]), "b": px.Int(0, 1, when=px.In("a", [True]))}),
        "never has the value True",
    ),
}


@pytest.mark.parametrize("name", SPACES)
def test_space(name):
    build, message = SPACES[name]
    with pytest.raises((ValueError, TypeError), match=message):
        build()
    _tried.append(1)


@pytest.mark.parametrize(
    "choices", [[True, 1], [0, False], [1, 1.0], [None, "None"], ["1", 1], [0.0, -0.0]], ids=str
)
def test_choices_that_compare_equal_stay_apart(choices):
    """One kernel each, in counts, names and JSON: catches a dictionary keyed by value."""
    domain = px.Categorical(choices)
    space = px.Space({"x": px.Float(0, 1), "z": domain})
    values = np.stack([X[:, 0], np.arange(N) % 2], -1)
    obs = px.Observations.from_arrays(space, values, LOSS)
    result = px.cond_ped_anova(obs, LEVELS, **coarse_method(False), n_resamples=0)
    assert result.counts[-1, 13:15].tolist() == [N // 2, N // 2]
    back = px.Space.from_json(space.to_json())
    assert back == space
    for code in (0, 1):
        assert repr(back.as_dict([0.5, code])["z"]) == repr(choices[code])
    assert px.Categorical(choices) != px.Categorical(choices[::-1])
    _tried.append(1)


# --- host functions -----------------------------------------------------------------------------
def _importance(x=X, level=0.1, region=1.0):
    obs = px.Observations.from_arrays(XZ, x, LOSS)
    return px.cond_ped_anova(obs, level, region=region, **coarse_method(False), n_resamples=0).importance


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: jax.jit(lambda x: _importance(x=x))(X),
        lambda: jax.jit(lambda level: _importance(level=level))(0.1),
        lambda: jax.jit(lambda region: _importance(region=region))(0.9),
        lambda: jax.jit(lambda scale: scale * _importance())(2.0),
        lambda: jax.vmap(lambda level: _importance(level=level))(jnp.array([0.1, 0.2])),
        lambda: jax.grad(lambda level: _importance(level=level).sum())(0.1),
    ],
    ids=["values", "level", "region", "nothing", "vmap", "grad"],
)
def test_a_host_function_is_not_traced(attempt):
    """Said in plain words: catches an error from the middle of NumPy's conversion."""
    with pytest.raises(TypeError, match="is traced, but its values are needed"):
        attempt()
    _tried.append(1)


# --- array functions -------------------------------------------------------------------------
ARRAY_ERRORS = {
    "density of a table": (px.divergence.grid_density, [jnp.ones((5, 5))], "counts must be vectors"),
    "density of a number": (px.divergence.grid_density, [jnp.ones(())], "counts must be vectors"),
    "density of no cells": (px.divergence.grid_density, [jnp.ones(0)], "at least one cell"),
    "divergence of two sizes": (
        px.divergence.pearson_divergence,
        [jnp.ones(1), jnp.ones(3) / 3],
        "p and q must be vectors",
    ),
    "variance of two sizes": (
        px.importance.within_regime_variance,
        [jnp.ones(1), jnp.ones(2), jnp.ones(2), jnp.ones(())],
        "must be vectors of one length",
    ),
}


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("name", ARRAY_ERRORS)
def test_array_function_refuses(name):
    """Shapes and types are known while tracing, so they raise under jit and vmap as well."""
    function, args, message = ARRAY_ERRORS[name]
    batched = [jnp.stack([x, x]) for x in args]
    for attempt in (
        lambda: function(*args),
        lambda: jax.jit(function)(*args),
        lambda: jax.vmap(function)(*batched),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            attempt()
        _tried.append(1)


nan = math.nan
ARRAY_VALUES = {
    "density of no rows is the prior": (
        lambda c: px.divergence.grid_density(c, kernel=AitchisonAitken),
        [jnp.zeros(4)],
        [0.25] * 4,
    ),
    "density of one cell": (px.divergence.grid_density, [jnp.array([7.0])], [1.0]),
    "variance of an empty region": (
        px.importance.within_regime_variance,
        [jnp.array([2.0]), jnp.array([0]), jnp.array([0]), jnp.array(0)],
        0.0,
    ),
}


# Each compiles anew, for seconds.
SLOW = ("density of one cell", "density of no rows is the prior")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in ARRAY_VALUES]
)
def test_array_function_value(name):
    function, args, expected = ARRAY_VALUES[name]
    batched = [jnp.stack([x, x]) for x in args]
    for value in (function(*args), jax.jit(function)(*args), jax.jit(jax.vmap(function))(*batched)[1]):
        np.testing.assert_allclose(value, expected, rtol=1e-6)
        _tried.append(1)


def test_report(record_property):
    """Last in the file: says how often a case was tried, each time counted where it came out right."""
    record_property("tried", f"bad inputs to importances: {sum(_tried)} tries, {len(CASES)} cases of logs")
    assert _tried
    assert len(CASES) > 70
