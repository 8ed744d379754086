"""In float32 a space is refused by `optimize`, `init`, `ask` and `tell` alike, or accepted by all of them."""

import jax
import numpy as np
import pytest

import parzax as px
from parzax.adapters import Row, Session
from parzax.samplers.loop import check_run
from parzax.space import Domain


def drawn_domain(rng: np.random.Generator) -> Domain:
    """Of any kind, near and far from what float32 can hold."""
    size = 10.0 ** rng.integers(-40, 40)
    low = float(rng.choice([0.0, 1.0, -3.0, 1e7, -1e12]) * rng.choice([1.0, size]))
    kind = rng.choice(["float", "log float", "int", "log int", "stepped", "ordinal", "log ordinal", "label"])
    if kind == "float":
        return px.Float(low, low + float(rng.choice([size, abs(low) * 1e-6 or 1.0])))
    if kind == "log float":
        return px.Float(size, size * 10.0 ** rng.integers(1, 9), log=True)
    if kind in ("int", "stepped"):
        low = int(rng.choice([0, -7, 10**6, 2**24, -(2**31)]))
        step = 1 if kind == "int" else int(rng.choice([2, 10, 1000]))
        return px.Int(low, low + step * int(rng.choice([1, 40, 2**18, 2**23])), step=step)
    if kind == "log int":
        return px.Int(int(rng.choice([1, 3, 10**5])), int(rng.choice([10**6, 2**21])), log=True)
    if kind == "label":
        return px.Categorical(list("abcdef"[: rng.integers(1, 6)]))
    logarithms = np.unique(rng.uniform(-1, 1, rng.integers(2, 9))) * rng.choice([1e-6, 1.0, 6.0, 30.0, 50.0])
    values = np.unique(10**logarithms).tolist()
    return px.Ordinal(values, log=kind == "log ordinal") if len(values) > 1 else px.Float(0, 1)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.some(4)
def test_all_accept_the_same_spaces(seed):
    """Catches a space that `optimize` takes and `tell` refuses, and rows that are not what was suggested."""
    rng = np.random.default_rng(seed)
    domain = drawn_domain(rng)
    # A single parameter, so that a refused one does not hide the others; with a parent in every third space.
    parts = {"k": px.Categorical(["a", "b"])} if seed % 3 == 0 else {}
    space = px.Space(parts | {"x": domain})
    sampler, key = px.tpe(space), jax.random.key(seed)
    problem = px.Problem(lambda key, x: x.sum(), space)

    if not all(slot.domain.axis.resolved(np.float32, True) for slot in space.slots):
        for refused in (lambda: sampler.init(4), lambda: px.optimize(key, sampler, problem, 1)):
            with pytest.raises(ValueError, match="cannot tell the values of 'x' apart"):
                refused()
        return
    state = sampler.init(4)
    x = np.asarray(sampler.ask(key, state, 3))
    assert x.dtype == np.float32
    inside = space.frame().encode(x.astype(np.float64)).valid.all()
    assert inside or np.isin(x[:, -1], _ends(domain)).any()
    state = sampler.tell(state, x, np.arange(3.0))
    assert int(sampler.status(state)) == 0
    assert np.array_equal(np.asarray(state.x)[:3], x)
    session = Session(sampler)
    session.tell([Row(row, (float(i),)) for i, row in enumerate(x)])
    assert space.frame().encode(session.ask(seed)[None]).valid.all()
    assert check_run(sampler, problem, 1).sampler.space is space


def _ends(domain: Domain) -> list[np.float32]:
    """Bounds as float32 rounds them, which may be just outside."""
    values = domain.values if isinstance(domain, px.Ordinal) else [domain.low, domain.high]
    return [np.float32(value) for value in values]
