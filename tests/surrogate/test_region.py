"""The region of the best configurations, and the space within it."""

import itertools

import jax
import numpy as np
import pytest

import parzax as px
from parzax import surrogate

KEY = jax.random.key(0)
SPACE = px.Space(
    {
        "lr": px.Float(1e-4, 1, log=True),
        "model": px.Categorical(["tree", "line", "net"]),
        "depth": px.Int(1, 99, when=px.In("model", ["tree"])),
        "units": px.Ordinal([8, 16, 32, 64], when=px.In("model", ["line", "net"])),
        "high": px.Float(0, 1),
        "idle": px.Float(0, 1, step=0.25),
    }
)


def loss(x, center=-2):
    """Least for trees of depth 20 at lr = 0.01 and the upper bound of "high"."""
    model = np.where(x[:, 1] == 0, 0.1 * np.abs(np.nan_to_num(x[:, 2]) - 20), 9 + x[:, 1])
    return 2 * (np.log10(x[:, 0]) - center) ** 2 + model + 6 * (1 - x[:, 4])


@pytest.fixture(scope="module")
def posterior():
    x = np.asarray(SPACE.sample(KEY, 120), np.float64)
    return surrogate.GaussianProcess().fit(SPACE, x, loss(x))


@pytest.fixture(scope="module")
def narrowed(posterior):
    return surrogate.region(KEY, posterior, n_draws=16).narrowed()


@pytest.mark.slow
def test_the_narrowed_space_holds_the_optimum_and_little_else(narrowed):
    assert narrowed.names == ("lr", "model", "depth", "high", "idle")
    (lr,), (model,), (depth,), (high,), (idle,) = narrowed.domains
    assert lr.log
    assert 1e-3 < lr.low < 0.01 < lr.high < 0.1
    assert model.choices == ("tree",)
    assert depth == px.Int(depth.low, depth.high, when=px.In("model", ["tree"]))
    assert 1 <= depth.low < 20 < depth.high < 70
    assert 0.5 < high.low < 0.9 < 0.99 < high.high <= 1
    assert idle == px.Float(0, 1, step=0.25)
    assert px.Space.from_json(narrowed.to_json()) == narrowed


@pytest.mark.slow
def test_a_sampler_starts_on_it(narrowed):
    at = px.tpe(narrowed).ask(KEY, px.tpe(narrowed).init(), 4)
    assert at.shape == (4, 5)


@pytest.mark.slow
def test_a_larger_share_has_a_larger_box(posterior):
    boxes = [surrogate.region(KEY, posterior, share, n_draws=16) for share in (0.5, 0.9, 1.0)]
    for smaller, larger in itertools.pairwise(boxes):
        assert (np.nan_to_num(larger.low - smaller.low) <= 0).all()
        assert (np.nan_to_num(larger.high - smaller.high) >= 0).all()


def test_conditions_on_what_is_left_of_a_parent():
    space = px.Space(
        {
            "c": px.Float(0, 1),
            "gate": px.Categorical(["a", "b", "c"]),
            "x": (
                px.Float(-7, -2, when=px.Between("c", high=0.5)),
                px.Float(2, 7, when=px.Between("c", 0.5)),
            ),
            "y": px.Float(0, 1, when=px.In("gate", ["b"])),
            "z": px.Float(0, 1, when=px.In("gate", ["a", "b"])),
            "bound": px.Varying(0, 1),
        }
    )
    low = np.array([0.6, 0, -3, 4, 0, 0.5, 0.3])
    choices = np.zeros((7, 3), bool)
    choices[1] = [True, False, True]
    narrowed = surrogate.Region(low, low + 0.1, choices, space).narrowed()
    wanted = {
        "c": px.Float(0.6, 0.7),
        "gate": px.Categorical(["a", "c"]),
        "x": px.Float(4, 4.1, when=px.Between("c", 0.5)),
        "z": px.Float(0.5, 0.6, when=px.In("gate", ["a"])),
        "bound": px.Varying(0, 1),
    }
    assert narrowed == px.Space(wanted)


RULED = {
    "gate": px.Categorical(["a", "b", "c"]),
    "least": px.Float(0, 1, when=px.In("gate", ["a"])),
    "most": px.Float(0, 1),
    "size": px.Int(1, 9),
}
RULES = [
    px.valid.Ordered("least", "most"),
    px.valid.Sum(["most", "size"], high=9),
    px.valid.Forbidden([px.In("gate", ["a", "b"]), px.Between("size", 3)]),
    px.valid.Forbidden(px.In("size", [9])),
]


@pytest.mark.parametrize("function", [(), (lambda p: (p["gate"] != "a") | (p["least"] < p["most"]),)])
def test_rules_of_the_narrowed_space(function):
    """Those that are about what is left; a function keeps choices and parameters."""
    low = np.array([1, np.nan, 0.5, 2])
    choices = np.zeros((4, 3), bool)
    choices[0, 1:] = True
    narrowed = surrogate.Region(low, low + 2, choices, px.Space(RULED, [*RULES, *function])).narrowed()
    left = {"gate": px.Categorical(["b", "c"]), "most": px.Float(0.5, 1), "size": px.Int(2, 4)}
    forbidden = px.valid.Forbidden([px.In("gate", ["b"]), px.Between("size", 3)])
    rules = [RULES[1], forbidden]
    if function:
        left = {**RULED, **left, "gate": RULED["gate"]}
        rules = [*RULES[:3], *function]
    assert narrowed == px.Space(left, rules)


@pytest.mark.slow
def test_in_a_batch_under_jit(posterior):
    x = np.asarray(SPACE.sample(KEY, 120), np.float64)
    other = surrogate.GaussianProcess().fit(SPACE, x, loss(x, -1))
    both = jax.tree.map(lambda *a: np.stack(a), posterior, other)
    with jax.enable_x64(True):
        of_one = jax.jit(jax.vmap(lambda key, fit: surrogate.region(key, fit, n_draws=4, n_points=256)))
        found = of_one(jax.random.split(KEY, 2), both)
    low, high = np.log10(found.low[:, 0]), np.log10(found.high[:, 0])
    assert (low < [-2, -1]).all()
    assert (high > [-2, -1]).all()
    assert (high - low < 1.7).all()
