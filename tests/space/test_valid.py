"""Valid configurations: rules against loops, shares of draws against enumeration, JSON, what is refused."""

import pickle
import re

import jax
import numpy as np
import pytest
from scipy.stats import chisquare

import parzax as px
from parzax.samplers.candidates import enumerate_space

DOMAINS = {
    "a": px.Int(1, 4),
    "b": px.Ordinal([1, 2, 4]),
    "kind": px.Categorical(["x", "y", "z"]),
    "c": px.Int(1, 4, when=px.In("kind", ["x", "y"])),
    "step": (px.Float(0.1, 0.3, step=0.1, when=px.In("kind", ["x"])), px.Float(1, 3, step=1)),
}


def is_even(params):
    return (params["a"] + params["kind"].code) % 2 == 0


def has_small_product(params):
    return params["a"] * params["c"] < 9


# Each rule, and the same for a dict of values in which inactive parameters are absent.
RULES = [
    (px.valid.Ordered("a", "b"), lambda p: p["a"] <= p["b"]),
    (px.valid.Ordered("c", "a", strict=True), lambda p: "c" not in p or p["c"] < p["a"]),
    (px.valid.Sum(["a", "b"], high=5), lambda p: p["a"] + p["b"] <= 5),
    (px.valid.Sum(["a", "c"], low=4, high=4), lambda p: "c" not in p or p["a"] + p["c"] == 4),
    (px.valid.Sum(["step", "b"], low=1.2), lambda p: p["step"] + p["b"] > 1.2 - 1e-9),
    (px.valid.Forbidden(px.In("kind", ["y"])), lambda p: p["kind"] != "y"),
    (
        px.valid.Forbidden([px.In("kind", ["x", "z"]), px.Between("step", 0.2, 2), px.In("a", [1, 3])]),
        lambda p: not (p["kind"] != "y" and 0.2 <= p["step"] < 2 and p["a"] in (1, 3)),
    ),
    (px.valid.Forbidden([px.In("c", [2])]), lambda p: p.get("c") != 2),
    (is_even, lambda p: (p["a"] + "xyz".index(p["kind"])) % 2 == 0),
    # An inactive parameter has the lowest value of its first domain.
    (has_small_product, lambda p: p["a"] * p.get("c", 1) < 9),
]
TOGETHER = [rule for rule, _ in RULES if not isinstance(rule, px.valid.Ordered)][1:]
SPACE = px.Space(DOMAINS)
ROWS = enumerate_space(SPACE, 1000)
NAMED = [SPACE.as_dict(row) for row in ROWS]


@pytest.mark.parametrize("x64", [False, True])
@pytest.mark.parametrize(("rule", "loop"), RULES, ids=lambda r: getattr(r, "__name__", repr(r)))
def test_a_rule_is_what_a_loop_says(rule, loop, x64):
    """On every row, in NumPy and in compiled JAX."""
    space, wanted = px.Space(DOMAINS, rule), [loop(p) for p in NAMED]
    assert 0 < sum(wanted) < len(wanted)
    np.testing.assert_array_equal(space.allows(ROWS), wanted)
    with jax.enable_x64(x64):
        np.testing.assert_array_equal(jax.jit(space.allows)(jax.numpy.asarray(ROWS, float)), wanted)


def test_a_bound_of_zero_is_a_bound():
    space = px.Space({"a": px.Int(-2, 2), "b": px.Int(-2, 2)}, px.valid.Sum(["a", "b"], low=0, high=0))
    np.testing.assert_array_equal(space.allows([[1, -1], [1, 0], [0, -1]]), [True, False, False])


def test_rows_outside_their_domains_are_not_valid():
    assert SPACE.allows(ROWS).all()
    assert not SPACE.allows([[1.5, 1, 2, np.nan, 1], [1, 1, 2, 1, 1]]).any()


def counted(space, x):
    """Share of the valid rows, and for each of them how often it is drawn, and how often it should be."""
    which = np.argmax(np.isclose(np.asarray(x)[:, None], ROWS[None], equal_nan=True).all(axis=-1), axis=1)
    share = np.exp(SPACE.frame().log_uniform(SPACE.frame().encode(ROWS)))[space.allows(ROWS)]
    counts = np.bincount(which, minlength=len(ROWS))[space.allows(ROWS)]
    assert counts.sum() == len(x)
    return share.sum(), counts, len(x) * share / share.sum()


@pytest.mark.parametrize("valid", [RULES[0][0], TOGETHER], ids=["one", "together"])
def test_shares_of_draws_are_those_of_the_valid_rows(valid):
    """Chi-square against the shares of all rows, divided by that of the valid ones."""
    space = px.Space(DOMAINS, valid)
    total, observed, expected = counted(space, space.sample(jax.random.key(3), 4096))
    assert chisquare(observed, expected).pvalue > 1e-3
    assert space.valid_share == pytest.approx(total, abs=0.01)


@pytest.mark.slow
def test_batches_of_draws():
    """Of few rows each, which take what other draws have beyond."""
    space, keys = px.Space(DOMAINS, TOGETHER), jax.random.split(jax.random.key(0), 500)
    few = jax.vmap(lambda key: space.sample(key, 5))(keys).reshape(-1, 5)
    assert space.allows(few).all()
    np.testing.assert_array_equal(few[5:10], space.sample(keys[1], 5))
    _, observed, share = counted(space, few)
    assert chisquare(observed, share).pvalue > 1e-3
    assert space.sample(keys[0], 0).shape == (0, 5)


def test_what_is_always_valid_changes_no_bit():
    always = px.Space(DOMAINS, [lambda p: p["a"] < 9, px.valid.Sum(["a", "b"], high=99)])
    for key in jax.random.split(jax.random.key(1), 5):
        np.testing.assert_array_equal(always.sample(key, 50), SPACE.sample(key, 50))
    assert SPACE.valid_share == always.valid_share == 1


def test_spaces_with_other_numbers_share_the_programs_of_draws():
    from parzax.space.space import _sample

    for high in (5, 6):
        px.Space(DOMAINS, px.valid.Sum(["a", "b"], high=high)).sample(jax.random.key(0), 7)
    size = _sample._cache_size()
    px.Space(DOMAINS, px.valid.Sum(["b", "a"], high=4.5)).sample(jax.random.key(1), 7)
    assert _sample._cache_size() == size


def test_json_equality_and_copies():
    rules = [rule for rule, _ in RULES if not callable(rule)]
    space = px.Space(DOMAINS, rules)
    read = px.Space.from_json(space.to_json())
    assert (read, hash(read), read.valid) == (space, hash(space), tuple(rules))
    assert space.agrees_with(SPACE)
    assert space not in (SPACE, px.Space(DOMAINS, rules[1:]))
    assert "valid" not in SPACE.to_json()
    numpys = [px.valid.Sum(np.array(["a"]), high=np.float32(2)), px.valid.Ordered("a", "b", strict=np.True_)]
    assert px.Space.from_json(px.Space(DOMAINS, numpys).to_json()) == px.Space(DOMAINS, numpys)
    assert eval(repr(space), {**vars(px.valid), **vars(px)}) == space
    named = px.Space(DOMAINS, is_even)
    assert named == px.Space(DOMAINS, is_even) != px.Space(DOMAINS, has_small_product)
    assert named.valid == (is_even,)
    assert pickle.loads(pickle.dumps(named)) == named
    with pytest.raises(ValueError, match=r"function has no JSON form.*rules of parzax.valid"):
        named.to_json()


def test_a_function_gets_the_tree_of_the_domains():
    tree = {"net": {"a": px.Int(1, 9)}, "b": px.Int(1, 9)}
    space = px.Space.from_tree(tree, lambda p: p["net"]["a"] == p["b"])
    assert (lambda x: x[:, 0] == x[:, 1])(space.sample(jax.random.key(0), 50)).all()
    assert px.Space.from_tree(tree).structure is not None


@pytest.mark.slow
def test_importances_of_a_function_are_those_of_the_valid_part():
    """Where a + b <= 1 is all there is, b matters for the best of a loss of a alone."""
    domains = {"a": px.Float(0, 1), "b": px.Float(0, 1)}
    space = px.Space(domains, px.valid.Sum(["a", "b"], high=1.0))
    args = lambda x: -x[0], 0.1
    shares = [
        px.importance.of_function(jax.random.key(0), s, *args).importance[0]
        for s in (px.Space(domains), space)
    ]
    assert shares[0][1] < 0.01 < 0.1 < shares[1][1]


@pytest.mark.parametrize(
    ("valid", "error", "message"),
    [
        ("a", TypeError, "valid must be a rule such as px.valid.Ordered('a', 'b'), a function of named"),
        (lambda p: p["a"] < 2 and p["b"] < 2, TypeError, "TracerBoolConversionError.*write & for and"),
        (lambda p: p["d"] < 2, TypeError, "KeyError: 'd'. It gets the values of a, b, kind"),
        (lambda p: p["a"] - p["b"], TypeError, "must return a bool, got int32 of shape ()"),
        (
            px.valid.Ordered("a", "kind"),
            ValueError,
            "'kind' has choices, not numbers; use In (in a rule, Forbidden)",
        ),
        (px.valid.Ordered("a", "bb"), ValueError, "'bb', which is not in the space; did you mean 'b'?"),
        (px.valid.Forbidden(px.In("kin", ["x"])), ValueError, "'kin', which is not in the space; did"),
        (px.valid.Forbidden(px.In("kind", ["w"])), ValueError, "'kind' never has the value 'w'"),
    ],
)
def test_refused(valid, error, message):
    with pytest.raises(error, match=re.escape(message).replace(r"\.\*", ".*")):
        px.Space(DOMAINS, valid)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: px.valid.Sum(["a", "b"]), "needs low or high or both"),
        (lambda: px.valid.Sum(["a", "b"], low=2, high=1), "low must not exceed high"),
        (lambda: px.valid.Sum("ab", high=1), "names must be a sequence"),
        (lambda: px.valid.Forbidden([]), "must be conditions In or Between"),
        (lambda: px.valid.Forbidden(px.Recorded()), "must be conditions In or Between"),
        (lambda: px.valid.Forbidden({"a": 1}), "when must be a condition"),
    ],
)
def test_rules_refused(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"kind": "order"}, 'unknown kind \'order\'; one of "ordered", "sum", "forbidden"'),
        ({"kind": "ordered", "lower": "a"}, "key 'upper' is missing"),
        ({"kind": "sum", "names": ["a"], "hihg": 1}, "a sum rule has no key 'hihg'; did you mean 'high'?"),
        ({"kind": "forbidden"}, "key 'conditions' is missing"),
        ("ordered", "a rule must be an object"),
    ],
)
def test_json_refused(rule, message):
    parameters = [{"name": "a", "kind": "float", "low": 0, "high": 1}]
    with pytest.raises(ValueError, match=re.escape(message)):
        px.Space.from_json({"parameters": parameters, "valid": [rule]})


def test_if_hardly_anything_is_valid_the_error_says_how_little():
    space = px.Space({"a": px.Float(0, 1), "b": px.Float(0, 1)}, px.valid.Sum(["a", "b"], high=0.005))
    message = r"valid allows \d of 65,536 random configurations, too few"
    for draw in (lambda key: space.sample(key, 3), lambda key: px.tpe(space).ask(key, px.tpe(space).init())):
        for call in (draw, jax.jit(draw)):
            with pytest.raises(ValueError, match=message):
                call(jax.random.key(0))
