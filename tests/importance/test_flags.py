"""Every status has a log that sets it, and one that does not."""

import numpy as np
import pytest
from conftest import COARSE, coarse_method, zoo, zoo_sweep

import parzax as px
from parzax.status import describe

S = px.Status


def _two(values, losses, levels=(0.1, 0.25, 0.5), space=None, **options):
    space = px.Space({"x": px.Float(0, 1), "z": px.Float(0, 1)}) if space is None else space
    obs = px.Observations.from_arrays(space, values, losses, **options)
    return px.cond_ped_anova(obs, list(levels), **coarse_method(False), n_resamples=0)


def _uniform(n=60, seed=0):
    return np.random.default_rng(seed).uniform(size=(n, 2))


def test_a_healthy_log_is_ok():
    """Nothing set where nothing is unusual: catches a status that is always there."""
    x = _uniform()
    status = _two(x, (x[:, 0] - 0.3) ** 2 + (x[:, 1] - 0.6) ** 2).status
    assert (status[1:] == 0).all()
    assert not (status & ~S.LOW_DATA).any()
    assert S(0).advice == "Nothing unusual."


def test_same_sets_of_one_level():
    """Ties that reach to the end of the region at one level only."""
    x = _uniform()
    x = x[np.argsort(x[:, 0])]
    result = _two(x, np.where(np.arange(60) < 20, np.arange(60.0), 50.0))
    np.testing.assert_array_equal((result.status & S.SAME_SETS)[:, 0] > 0, [False, False, True])
    assert (result.importance[2] == 0).all()
    assert (result.importance[0].sum()) == pytest.approx(1, abs=1e-6)
    assert not (result.status & S.ALL_EQUAL).any()


def test_tied_cutoff():
    """45 of 50 rows tied at the cut-off: the realised size is reported and flagged."""
    x = _uniform(50)
    result = _two(x, np.where(np.arange(50) < 45, 1.0, 2.0))
    assert result.n_target.tolist() == [45, 45, 45]
    assert (result.status & S.TIED_CUTOFF).all()
    clean = _two(x, np.arange(50.0))
    assert not (clean.status & S.TIED_CUTOFF).any()


def test_ties_above_the_cutoff_are_no_ties_at_it():
    """Ties elsewhere, or ties that end exactly at the cut-off, are not flagged."""
    x = _uniform(50)
    losses = np.arange(50.0)
    losses[3:5] = 3.0  # the fifth smallest closes the tie exactly
    losses[40:] = 40.0
    assert not (_two(x, losses).status & S.TIED_CUTOFF).any()


def test_low_data():
    """Ten target rows or fewer."""
    x = _uniform()
    result = _two(x, np.arange(60.0), levels=(10 / 60, 11 / 60, 0.5))
    np.testing.assert_array_equal((result.status & S.LOW_DATA)[:, 0] > 0, [True, False, False])
    for n in (2, 3):
        assert (_two(x[:n], np.arange(float(n))).status & S.LOW_DATA).all()
    tiny = _two(x, np.arange(60.0), levels=(1e-9, 11 / 60, 0.5))
    assert tiny.n_target[0] == 1
    assert (tiny.status[0] & S.LOW_DATA).all()


def test_constant():
    """One value everywhere, and one value per regime; not where a regime has two."""
    x = _uniform()
    x[:, 1] = 0.25
    result = _two(x, x[:, 0])
    assert not (result.status[:, 0] & S.CONSTANT).any()
    assert (result.status[:, 1] & S.CONSTANT).all()
    values, losses = zoo()
    assert not (zoo_sweep(values, losses).status & S.CONSTANT).any()


def test_single_value_and_never_active():
    """A domain of one value, and a parameter that no row has."""
    space = px.Space(
        {
            "c": px.Float(0, 1),
            "one": px.Categorical(["only"]),
            "never": px.Float(0, 1, when=px.Between("c", high=1e-6)),
            "fixed": px.Int(3, 3),
        }
    )
    c = _uniform()[:, :1]
    values = np.concatenate([c, np.zeros((60, 1)), np.full((60, 1), np.nan), np.full((60, 1), 3.0)], axis=1)
    result = _two(values, c[:, 0], space=space)
    assert (result.status[:, 1] & S.SINGLE_VALUE).all()
    assert (result.status[:, 3] & S.SINGLE_VALUE).all()
    assert (result.status[:, 2] & S.NEVER_ACTIVE).all()
    assert (result.variance[:, 1:] == 0).all()
    np.testing.assert_allclose(result.importance[:, 0], 1, rtol=1e-6)
    assert not (result.status[:, 0] & (S.SINGLE_VALUE | S.NEVER_ACTIVE)).any()


def test_sparse_regime():
    """A regime with one row in the region is left out, and this is said."""
    values, losses = zoo()
    keep = np.ones(60, bool)
    low = np.flatnonzero(values[:, 0] < 0.4)
    keep[low[1:]] = False
    result = zoo_sweep(values[keep], losses[keep])
    assert (result.status[:, 4] & S.SPARSE_REGIME).all()
    assert not (result.status[:, :4] & S.SPARSE_REGIME).any()
    assert (result.divergence[:, 4, 0] == 0).all()


def test_low_regime_data():
    """Two regimes: at level 0.2 the level has rows enough, and no regime has; at 0.5 both have."""
    domains = tuple(px.Float(0, 1, when=px.In("kind", [label])) for label in "ab")
    space = px.Space({"kind": px.Categorical(["a", "b"]), "x": domains, "z": px.Float(0, 1)})
    x = np.repeat(np.arange(30.0) / 30, 2)
    values = np.stack([np.arange(60.0) % 2, x, _uniform()[:, 0]], axis=-1)
    result = _two(values, x, levels=(0.2, 0.5), space=space)
    assert result.n_target.tolist() == [12, 30]
    assert not (result.status & S.LOW_DATA).any()
    flagged = (result.status & S.LOW_REGIME_DATA) > 0
    np.testing.assert_array_equal(flagged, [[False, True, False], [False, False, False]])


def test_unique_labels():
    """A column of ids: nothing to say, and no noise is normalised to an importance."""
    space = px.Space({"id": px.Categorical([f"id {i}" for i in range(40)]), "x": px.Float(0, 1)})
    rng = np.random.default_rng(0)
    ids, x = rng.permutation(40).astype(float), rng.uniform(size=40)
    result = _two(np.stack([ids, np.full(40, 0.5)], axis=-1), rng.normal(size=40), levels=(0.3,), space=space)
    assert (result.status[:, 0] & S.UNIQUE_LABELS).all()
    assert (result.status & S.ALL_ZERO).all()
    assert (result.variance == 0).all()
    assert (result.importance == 0).all()
    # Beside a parameter that matters they have none of its importance.
    result = _two(np.stack([ids, x], axis=-1), x, levels=(0.3,), space=space)
    np.testing.assert_allclose(result.importance, [[0, 1]], rtol=1e-6)
    # One label that occurs twice, and it is no id.
    ids[0] = ids[1]
    result = _two(np.stack([ids, x], axis=-1), x, levels=(0.3,), space=space)
    assert not (result.status[:, 0] & S.UNIQUE_LABELS).any()


def test_not_above_chance():
    """Exactly where the signed variance is negative; the importance is then 0."""
    x = _uniform(seed=3)
    result = _two(x, x[:, 0])
    flagged = (result.status & S.NOT_ABOVE_CHANCE) > 0
    np.testing.assert_array_equal(flagged, result.variance < 0)
    assert flagged.any()
    assert (result.importance[flagged] == 0).all()


def test_all_zero_row():
    """No parameter above 0: zeros and a status at that level (parity: 1/d, with the same status)."""
    x = _uniform()
    x[:] = 0.5
    result = _two(x, np.arange(60.0))
    assert (result.status & S.ALL_ZERO).all()
    assert (result.importance == 0).all()
    values, _ = zoo()
    parity = zoo_sweep(values, np.zeros(60), parity=True)
    assert (parity.status & S.ALL_ZERO).all()
    np.testing.assert_allclose(parity.importance, 0.2, rtol=1e-6)


def test_minus_infinity_is_the_best():
    """-inf is a legal loss, in front of all others, in both estimators."""
    values, losses = zoo()
    base = zoo_sweep(values, losses)
    best = losses.argmin()
    losses[best] = -np.inf
    for parity in (False, True):
        result = zoo_sweep(values, losses, parity=parity)
        assert result.n_region == 60
        assert result.report.n_failed == 0
    np.testing.assert_array_equal(zoo_sweep(values, losses).counts, base.counts)


def test_failed_rows_are_dropped_or_worst():
    """NaN and +inf: counted in the report; "drop" leaves them out, "worst" ranks them last."""
    values, losses = zoo()
    losses[:4] = [np.nan, np.inf, np.nan, np.inf]
    dropped, worst = zoo_sweep(values, losses), zoo_sweep(values, losses, failed="worst")
    assert dropped.report.n_failed == worst.report.n_failed == 4
    assert dropped.n_region == 56
    assert worst.n_region == 60
    assert worst.n_target.tolist() == [6, 15, 30]


def test_advice():
    """Each bit has its sentence, and a result collects those of its bits."""
    for bit in S:
        assert bit.advice.endswith(".")
        assert len(bit.advice) > 30
    assert describe(np.array([], dtype=np.int32)) == []
    x = _uniform()
    x[:, 1] = 0.5
    advice = _two(x, x[:, 0]).advice()
    assert any(line.startswith("CONSTANT (z): ") for line in advice)
    both = S.CONSTANT | S.LOW_DATA
    assert both.advice.count(".") >= 2
    assert COARSE.max_cells == 12


def test_a_fact_is_how_the_advice_begins():
    """Catches words of pictures that are not those of the advice, or that stop within a sentence."""
    for bit in S:
        if bit:
            assert bit.advice.lower().startswith(bit.fact.lower())
            assert bit.advice[len(bit.fact) :].lstrip()[0] in ",:;.("
            assert len(bit.fact) <= 60 or bit > S.ALL_ZERO


def test_values_of_a_log_axis_on_a_linear_one_are_crowded():
    rng = np.random.default_rng(0)
    x = np.column_stack([10 ** rng.uniform(-5, 0, 400), rng.uniform(size=400), np.full(400, 1e-9)])
    loss = (np.log10(x[:, 0]) + 3) ** 2

    def flagged(**axes):
        space = px.Space(
            {name: px.Float(1e-9, 1, log=axes.get(name, False)) for name in ("lr", "u", "constant")}
        )
        status = px.cond_ped_anova(
            px.Observations.from_arrays(space, x, loss), [0.1, 0.5], n_resamples=0
        ).status
        return ((status & int(px.Status.CROWDED)) != 0).tolist()

    assert flagged() == [[True, False, False]] * 2
    assert flagged(lr=True) == [[False, False, False]] * 2


def _branch(n, share, seed):
    """The better losses are those of the branch c < share, in which x matters a little."""
    rng = np.random.default_rng(seed)
    c, x = rng.uniform(size=n), rng.uniform(size=n)
    space = px.Space({"c": px.Float(0, 1), "x": px.Float(0, 1, when=px.Between("c", high=share))})
    loss = np.where(c < share, 0.2 * x, 1 + rng.uniform(size=n))
    values = np.column_stack([c, np.where(c < share, x, np.nan)])
    return px.Observations.from_arrays(space, values, loss)


@pytest.mark.parametrize("n", [60, *(pytest.param(n, marks=pytest.mark.slow) for n in (100, 1000))])
def test_a_cutoff_between_regimes(n):
    """Where the level is the branch's share, in nearly every log; not further away, nor of one regime."""
    levels, estimator = [0.1, 0.4, 0.7], coarse_method(False) | {"n_resamples": 0}
    flagged = np.mean([
        px.cond_ped_anova(_branch(n, 0.4, seed), levels, **estimator).status & S.REGIME_BOUNDARY != 0
        for seed in range(20)
    ], axis=0)  # fmt: skip
    assert flagged[1, 1] >= 0.9
    assert (flagged[[0, 2], 1] == 0).all()
    assert (flagged[:, 0] == 0).all()
    # Few rows: LOW_DATA says enough.
    few = px.cond_ped_anova(_branch(10, 0.4, 0), levels, **estimator).status
    assert (few & S.LOW_DATA != 0).all()
    assert not (few & S.REGIME_BOUNDARY).any()
