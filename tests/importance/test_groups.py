"""Rows that belong together: samples and shuffles take whole groups of rows."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from conftest import COARSE, OPTUNA, QUICK

import parzax as px
from parzax.importance.counts import configuration_share
from parzax.importance.resample import _number_groups, sample_counter, shuffle_counter
from parzax.lens.results.replicates import shuffled_counts
from parzax.lens.results.result import holm

LEVELS = (0.2, 0.5)
SPACE = px.Space({"x": px.Float(0, 1), "y": px.Categorical(["a", "b", "c"]), "z": px.Float(0, 1)})
KEY = jax.random.key(0)
PEARSON = px.divergence.Pearson()
SHELL = {"grid": COARSE, "divergence": PEARSON}
# 40 configurations: half-samples hold 20, and the levels 4 and 10 of these.
N, REPEATS = 40, 5


def configurations(seed: int, n: int = N) -> tuple[np.ndarray, np.ndarray]:
    """Configurations and a loss, without ties."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, 3))
    x[:, 1] = rng.integers(3, size=n)
    return x, x[:, 0] + 0.1 * rng.permutation(n)


def repeated(seed: int, n: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows in a random order, of which each configuration has five with one loss; and their groups."""
    x, loss = configurations(seed, n)
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(n), REPEATS))
    # The number of a group is the place of its loss, as in logs without groups.
    return x[rows], loss[rows], np.argsort(np.argsort(loss))[rows]


def test_groups_are_numbered_by_their_usable_rows() -> None:
    groups, usable = jnp.array([7, -3, 7, 4, 9], jnp.int32), jnp.array([True, True, True, False, True])
    numbered = jax.jit(_number_groups)
    number, n_groups = numbered(groups, usable)
    assert number[jnp.array([0, 1, 2, 4])].tolist() == [1, 0, 1, 2]
    assert n_groups == 3
    assert numbered(groups, jnp.zeros(5, bool))[1] == 0


def test_samples_of_groups_are_those_of_single_rows_repeated() -> None:
    """Five rows of each configuration give the counts of one row, for the same draws."""
    keys = jax.random.split(KEY, 7)
    five = px.encode(SPACE, *repeated(1)[:2], LEVELS, grid=COARSE, groups=repeated(1)[2])
    size = N // 2
    needed = jnp.array([0.2 * size, 0.5 * size, size], jnp.int32)
    # As many rows as five times the log has, for the same random numbers.
    one = px.encode(SPACE, *pad(configurations(1), five.codes.shape[1] - N), LEVELS, grid=COARSE)
    one, five = jax.device_put((one, five))
    expected = np.asarray(jax.jit(sample_counter(one, needed))(keys))
    np.testing.assert_array_equal(np.asarray(jax.jit(sample_counter(one))(keys)), expected)
    found = jax.jit(sample_counter(five))(keys)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-6)


def pad(log: tuple[np.ndarray, np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """The log with n more rows, which have no loss."""
    x, loss = log
    return np.concatenate([x, np.full((n, 3), x[0])]), np.concatenate([loss, np.full(n, np.nan)])


def test_shuffled_groups_keep_their_rows_together() -> None:
    """Equal groups exchange cells: all counts are multiples of five, and those of the region stay."""
    five = px.encode(SPACE, *repeated(2)[:2], LEVELS, grid=COARSE, groups=repeated(2)[2])
    on_device = jax.jit(shuffle_counter(jax.device_put(five)))(jax.random.split(KEY, 200))
    on_host = shuffled_counts([0], None, five, 200)
    for shuffled in (np.rint(on_device * REPEATS), on_host):
        check_equal_groups(shuffled)


def check_equal_groups(shuffled: np.ndarray) -> None:
    """200 shuffles of 40 groups of five rows."""
    assert (shuffled % REPEATS == 0).all()
    np.testing.assert_array_equal(shuffled[:, -1], np.broadcast_to(shuffled[0, -1], shuffled[:, -1].shape))
    region, sizes = shuffled[0, -1] / REPEATS, np.array([8, 20])
    # The number of groups per cell is hypergeometric.
    mean = sizes[:, None] * region / N
    sd = np.sqrt(mean * (1 - region / N) * (N - sizes[:, None]) / (N - 1) / 200)
    assert (np.abs(shuffled[:, :-1].mean(axis=0) / REPEATS - mean) <= 4.5 * sd + 1e-9).all()


def test_groups_of_different_sizes_keep_rows_of_one_level_together() -> None:
    """Each parameter has all rows of each set, however large the groups are."""
    x, loss = configurations(3)
    rows = np.repeat(np.arange(N), np.random.default_rng(0).integers(1, 9, size=N))
    log = px.encode(SPACE, x[rows], loss[rows], LEVELS, grid=COARSE, groups=rows)
    placed = jax.device_put(log)
    share = jax.jit(configuration_share)(placed)
    on_device = np.rint(jax.jit(shuffle_counter(placed))(jax.random.split(KEY, 20)) / share)
    on_host = shuffled_counts([0], None, log, 20)
    n_inactive = on_device[..., np.array(log.layout.inactive)]
    assert not n_inactive.any()
    ends = (*log.layout.offsets, log.layout.n_columns)
    sets = [(log.level <= level).sum() for level in range(len(LEVELS) + 1)]
    for first, end in itertools.pairwise(ends):
        for counts in (on_device, on_host):
            np.testing.assert_array_equal(counts[:, :, first:end].sum(axis=2), np.broadcast_to(sets, (20, 3)))


def noise(key: jax.Array, n: int, repeats: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Epochs of n configurations whose three parameters do nothing."""
    keys = jax.random.split(key, 3)
    x, groups = jax.random.uniform(keys[0], (n, 3)), jnp.repeat(jnp.arange(n), repeats)
    loss = jax.random.normal(keys[1], (n,))[groups] + 0.1 * jax.random.normal(keys[2], groups.shape)
    return x[groups], loss, groups


@pytest.mark.slow
def test_noise_is_above_chance_in_a_twentieth_of_logs_on_a_device() -> None:
    space = px.Space({name: px.Float(0, 1) for name in "abc"})

    def p_values(key: jax.Array) -> jax.Array:
        x, loss, groups = noise(key, 20, 8)
        log = px.encode(space, x, loss, 0.1, grid=COARSE, groups=groups)
        variance = px.importance.estimate(log, PEARSON).variance
        shuffled = px.importance.shuffle(key, log, 79, PEARSON)
        return (1 + (shuffled.variance >= variance[None]).sum(axis=0)) / 80

    p = jax.jit(jax.vmap(p_values))(jax.random.split(jax.random.key(5), 100))[:, 0]
    assert (holm(np.asarray(p)) <= 0.05).any(axis=-1).sum() <= 9


@pytest.mark.slow
def test_one_rule_for_numpy_and_jax_arrays() -> None:
    x, loss, groups = (np.asarray(a) for a in noise(KEY, 25, 4))
    space = px.Space({name: px.Float(0, 1) for name in "abc"})
    with jax.enable_x64(True):
        host = px.encode(space, x, loss, 0.2, grid=COARSE, groups=groups)
        device = px.encode(
            space, jnp.asarray(x), jnp.asarray(loss), 0.2, grid=COARSE, groups=jnp.asarray(groups)
        )
        obs = px.Observations.from_arrays(space, x, loss, groups=groups)
        result = px.cond_ped_anova(obs, 0.2, **SHELL, n_resamples=20, key=KEY)
        for log in (host, device):
            sampled = px.importance.resample(KEY, log, 20, PEARSON)
            assert isinstance(sampled.variance, jax.Array if log is device else np.ndarray)
            np.testing.assert_allclose(result.sampled, sampled.variance, rtol=1e-9, atol=1e-12)
    assert "100 rows make 25 groups" in str(result)


@pytest.mark.slow
@pytest.mark.parametrize(
    "repeats", [np.full(N, 4), pytest.param(1 + np.arange(N) % 4, marks=pytest.mark.slow)]
)
def test_repeated_rows_count_once(repeats: np.ndarray) -> None:
    """However often rows are repeated, the number of configurations is that of the log without repeats."""
    x, loss = configurations(5)
    rows, divergence = np.repeat(np.arange(N), repeats), QUICK["divergence"]
    one = px.Observations.from_arrays(SPACE, x, loss)
    several = px.Observations.from_arrays(SPACE, x[rows], loss[rows], groups=rows)
    with jax.enable_x64(True):
        variances = []
        for analyse in (
            partial(px.cond_ped_anova, n_resamples=0, divergence=divergence),
            partial(px.interactions, n_draws=0),
        ):
            expected, result = (analyse(obs, LEVELS) for obs in (one, several))
            variances.append(result.variance)
            assert f"{len(rows)} rows make {N} groups" in str(result)
            np.testing.assert_allclose(result.n_region, N, rtol=1e-12)
            if (repeats == 4).all():
                np.testing.assert_allclose(result.variance, expected.variance, rtol=1e-9, atol=1e-12)
        device = px.encode(
            SPACE, jnp.asarray(x[rows]), jnp.asarray(loss[rows]), LEVELS, groups=jnp.asarray(rows)
        )
        for estimates, variance in zip(
            (px.importance.estimate(device, divergence), px.importance.interactions(device)),
            variances,
            strict=True,
        ):
            np.testing.assert_allclose(estimates.variance, variance, rtol=1e-9)


def test_parity_counts_every_row() -> None:
    """Optuna knows no groups."""
    x, loss, groups = repeated(6)
    alone = px.Observations.from_arrays(SPACE, x, loss, groups=np.arange(len(loss)))
    together = px.Observations.from_arrays(SPACE, x, loss, groups=groups)
    parity = OPTUNA
    expected, result = (px.cond_ped_anova(obs, LEVELS, **parity, n_resamples=0) for obs in (alone, together))
    np.testing.assert_array_equal(result.variance, expected.variance)


@pytest.mark.slow
def test_an_effect_is_found_through_repeats() -> None:
    """20 repeats of 100 rows say as much as the rows: an interval holds the share of the rows alone."""
    x, rng = np.random.default_rng(0).uniform(size=(100, 3)), np.random.default_rng(1)
    loss, rows = 4 * x[:, 0] + rng.normal(size=100), np.repeat(np.arange(100), 20)
    space = px.Space({name: px.Float(0, 1) for name in "abc"})
    obs = px.Observations.from_arrays(space, x[rows], loss[rows] + 0.01 * rng.normal(size=2000), groups=rows)
    result = px.cond_ped_anova(obs, n_resamples=50, n_shuffles=99)
    assert result.levels == 0.12  # twelve configurations
    assert result.importance[0, 0] > 0.8
    assert result.above_chance[0].tolist() == [True, False, False]
    low, high = result.importance_interval[0, 0]
    assert low < 0.95 < high


@pytest.mark.slow
def test_noise_that_varies_within_groups_is_not_above_chance_more_often() -> None:
    """Configurations of a group differ a little, as where learning rates fall from epoch to epoch."""
    rng, space = np.random.default_rng(0), px.Space({name: px.Float(-1, 2) for name in "abc"})
    count = 0
    for _ in range(50):
        rows = np.repeat(np.arange(40), 8)
        x = rng.uniform(size=(40, 3))[rows] + rng.uniform(-0.2, 0.2, size=(320, 3))
        loss = rng.normal(size=40)[rows] + 0.1 * rng.normal(size=320)
        obs = px.Observations.from_arrays(space, x, loss, groups=rows)
        result = px.cond_ped_anova(obs, 0.2, n_resamples=0, n_shuffles=79)
        count += result.above_chance.any()
    assert count <= 5


def test_interactions_are_not_tested_where_rows_belong_together() -> None:
    """Draws from the null take rows as independent."""
    x, loss, groups = repeated(4)
    obs = px.Observations.from_arrays(SPACE, x, loss, groups=groups)
    assert np.isnan(px.interactions(obs, 0.2).p_value).all()
    assert np.isnan(px.importance.interactions(obs.encode(0.2), n_draws=0).p_value).all()
    with pytest.raises(ValueError, match="n_draws must be 0"):
        px.interactions(obs, 0.2, n_draws=10)


@pytest.mark.parametrize("convert", [np.asarray, jnp.asarray, lambda labels: labels.astype(str)])
def test_labels_of_64_bits_stay_apart(convert) -> None:
    with jax.enable_x64(True):
        x, loss, labels = jnp.ones((6, 3)), jnp.arange(6.0), np.array([0, 0, 1, 1, 2, 2]) * 2**32
        encoded = px.encode(SPACE, x.at[:, 1].set(0), loss, 0.5, groups=convert(labels))
    assert np.asarray(encoded.groups).tolist() == [0, 0, 1, 1, 2, 2]


def test_refused_groups() -> None:
    x, loss = configurations(0)
    with pytest.raises(ValueError, match=r"groups must have shape \(40,\)"):
        px.Observations.from_arrays(SPACE, x, loss, groups=np.arange(39))
    with pytest.raises(TypeError, match="whole numbers or text"):
        px.Observations.from_arrays(SPACE, x, loss, groups=np.linspace(0, 1, 40))
    with pytest.raises(TypeError, match="groups must be integers, got dtype float"):
        px.encode(SPACE, jnp.asarray(x), jnp.asarray(loss), 0.2, groups=jnp.zeros(40))
