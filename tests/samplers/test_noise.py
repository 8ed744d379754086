"""Repeated evaluations: means and the best configuration against loops, and the plan of repeats."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.settings import adjusted

import parzax as px
from parzax.samplers import repeats

SPACE = px.Space(
    {
        "z": px.Categorical(["a", "b"]),
        "k": px.Int(0, 2),
        "u": px.Float(0, 1, when=px.In("z", ["a"])),
    }
)
N, CAPACITY = 24, 32
SAMPLER = px.tpe(SPACE, n_constraints=1, directions="maximize")


def _rows(seed: int, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Configurations that repeat, with inactive values, failures and constraints near 0."""
    rng = np.random.default_rng(seed)
    x = np.stack([rng.integers(0, 2, N), rng.integers(0, 3, N), rng.choice([0.25, 0.5], N)], axis=1)
    x[x[:, 0] == 1, 2] = np.nan
    objectives = rng.normal(size=(N, 1)) + 3 * x[:, 1:2]
    objectives[rng.random(N) < 0.2] = np.nan
    constraints = rng.normal(-0.3, 0.5, (N, 1))
    return x, objectives.astype(dtype).astype(float), constraints.astype(dtype).astype(float)


def _configurations(x, losses) -> dict[tuple, list[int]]:
    """Configuration -> its evaluated rows, in the order of the first ones."""
    found: dict[tuple, list[int]] = {}
    for i, row in enumerate(x):
        if not np.isnan(losses[i]).any():
            found.setdefault(tuple("inactive" if np.isnan(v) else v for v in row), []).append(i)
    return found


def _noise(groups: dict[tuple, list[int]], losses) -> float:
    """Standard deviation of an evaluation, pooled."""
    squares = [((losses[i] - np.mean(losses[i])) ** 2).sum() for i in groups.values()]
    return float(np.sqrt(sum(squares) / max(sum(len(i) - 1 for i in groups.values()), 1)))


def _best(x, losses, constraints) -> tuple[int, float, np.ndarray] | None:
    """First row, mean loss and mean constraints of the configuration with the smallest upper bound."""
    groups, best = _configurations(x, losses), None
    noise = _noise(groups, losses)
    for rows in groups.values():
        mean, limits = np.mean(losses[rows]), np.mean(constraints[rows], axis=0)
        bound = mean + repeats.N_ERRORS * noise / np.sqrt(len(rows))
        if (limits <= 0).all() and (best is None or bound < best[0]):
            best = bound, rows[0], mean, limits
    return None if best is None else best[1:]


def _told(x, objectives, constraints, sampler=SAMPLER):
    constraints = np.where(np.isnan(objectives), np.nan, constraints)
    return sampler.tell(sampler.init(CAPACITY), x, objectives, constraints)


@pytest.mark.parametrize("x64", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_the_best_is_the_loops(x64):
    """Of one state and of a batch; and of a run after each evaluation."""
    with jax.enable_x64(x64):
        cases = [_rows(seed, np.float64 if x64 else np.float32) for seed in range(12)]
        states = [_told(*case) for case in cases]
        batch = jax.jit(jax.vmap(SAMPLER.best))(jax.tree.map(lambda *a: jnp.stack(a), *states))
        runs = px.samplers.Trace(*map(np.stack, zip(*cases, strict=True)), directions=("maximize",))
        rows = np.asarray(runs.incumbent())
        for i, (x, objectives, constraints) in enumerate(cases):
            losses = -objectives[:, 0]
            for best in (SAMPLER.best(states[i]), jax.tree.map(lambda a, i=i: a[i], batch)):
                wanted = _best(x, losses, constraints)
                assert wanted is not None
                mask = np.asarray(best.mask)
                assert np.flatnonzero(mask).tolist() == [wanted[0]]
                np.testing.assert_array_equal(best.x[mask][0], x[wanted[0]])
                np.testing.assert_allclose(best.losses[mask], -wanted[1], rtol=1e-5)
                np.testing.assert_allclose(best.constraints[mask][0], wanted[2], rtol=1e-4)
                assert np.isnan(best.losses[~mask]).all()
            for n in range(1, N + 1):
                wanted = _best(x[:n], losses[:n], constraints[:n])
                assert rows[i, n - 1] == (-1 if wanted is None else wanted[0])
    assert (rows == -1).any()


def test_the_order_of_rows_does_not_matter():
    """Shuffled rows have the same best configuration, and the same mean."""
    for seed in range(6):
        x, objectives, constraints = _rows(seed)
        wanted = SAMPLER.best(_told(x, objectives, constraints))
        order = np.random.default_rng(seed).permutation(N)
        best = SAMPLER.best(_told(x[order], objectives[order], constraints[order]))
        np.testing.assert_array_equal(best.x[best.mask], wanted.x[wanted.mask])
        np.testing.assert_allclose(best.losses[best.mask], wanted.losses[wanted.mask], rtol=1e-5)


def test_without_repeats_the_best_is_the_best_row():
    """And equal evaluations of a configuration change nothing: their mean is exact, in both directions."""
    rng = np.random.default_rng(0)
    x = np.stack([np.zeros(N), rng.integers(0, 3, N), rng.permutation(N) / N], axis=1)
    # The losses of a hair's breadth would be merged by an added bound.
    objectives = 1 + np.float32(2.0**-20) * rng.permutation(N)[:, None]
    state = _told(x, objectives, -np.ones((N, 1)))
    assert np.flatnonzero(SAMPLER.best(state).mask).tolist() == [objectives.argmax()]
    again = SAMPLER.tell(state, np.repeat(x[:2], 3, axis=0), np.repeat(objectives[:2], 3), -np.ones(6))
    best = SAMPLER.best(again)
    assert np.flatnonzero(best.mask).tolist() == [objectives.argmax()]
    assert best.losses[best.mask][0, 0] == objectives.max()


def test_infinite_and_huge_losses():
    """A configuration with an infinite loss has an infinite mean; squares of large ones do not overflow."""
    sampler = px.tpe(px.Space({"k": px.Int(0, 5)}))
    x = np.array([0, 0, 1, 1, 2, 2, 3])[:, None]
    losses = np.array([-1.0, np.inf, 1e30, 3e30, 1.5e30, 1.6e30, 2e30])
    best = sampler.best(sampler.tell(sampler.init(8), x, losses))
    assert best.x[best.mask].tolist() == [[2]]
    np.testing.assert_allclose(best.losses[best.mask], 1.55e30, rtol=1e-5)


def test_the_front_is_of_means():
    """With several objectives."""
    sampler = px.tpe(px.Space({"k": px.Int(0, 5)}), 2)
    x, y = [[0], [1], [0], [2]], [[0.0, 4.0], [3.0, 1.0], [4.0, 4.0], [2.0, 2.0]]
    best = sampler.best(sampler.tell(sampler.init(8), x, y))
    assert best.x[best.mask].tolist() == [[1], [2]]
    best = sampler.best(sampler.tell(sampler.init(8), x[:2], y[:2]))
    assert best.x[best.mask].tolist() == [[0], [1]]


# --- the plan of repeats --------------------------------------------------------------------------

LINE = px.Space({"x": px.Float(0, 1)})
NOISY = adjusted(px.tpe, n_startup=5, repeats=False)(LINE)


def _noisy(scale, key, x):
    return x + scale * jax.random.normal(key, (1,)), jnp.zeros(0)


def _run(scale: float, n: int = 60, n_confirm: int = 20) -> px.samplers.Trace:
    problem = jax.tree_util.Partial(_noisy, jnp.asarray(scale))
    return px.optimize(jax.random.key(1), NOISY, problem, n, n_confirm=n_confirm)


def test_a_run_repeats_its_best():
    """Its last evaluations, and no others, repeat the configuration with the smallest lower bound."""
    trace = _run(0.1)
    x, losses = np.asarray(trace.x), np.asarray(trace.losses)[:, 0]
    repeated = [float(x[i, 0]) in x[:i, 0] for i in range(60)]
    assert repeated == [i >= 40 for i in range(60)]
    for i in range(40, 60):
        groups = _configurations(x[:i], losses[:i])
        error = repeats.N_ERRORS * _noise(groups, losses)
        best = min(groups.values(), key=lambda rows: np.mean(losses[rows]) - error / np.sqrt(len(rows)))
        assert x[i, 0] == x[best[0], 0]
    before = _run(0.1, n_confirm=0)
    assert x[:40].tolist() == before.x[:40].tolist()


@pytest.mark.slow
def test_a_run_of_repeats_alone():
    """The first evaluation cannot be a repeat."""
    assert len(np.unique(np.asarray(_run(0.1, 5, 5).x))) == 1


@pytest.mark.slow
def test_many_runs_repeat_too():
    """As each run alone, but for rounding."""
    problem = jax.tree_util.Partial(_noisy, jnp.asarray(0.1))
    keys = jax.random.split(jax.random.key(1), 2)
    many = px.optimize_many(keys, NOISY, problem, 20, n_confirm=6, lanes=2)
    alone = px.optimize(keys[1], NOISY, problem, 20, n_confirm=6)
    np.testing.assert_allclose(many.x[1], alone.x, rtol=1e-4)


def test_without_noise_it_stops():
    """After a few repeats that are all equal."""
    assert 60 - len(np.unique(np.asarray(_run(0.0).x))) == 3


def test_ask_and_tell_repeat_to_the_last_bit():
    """Told rows come back as they are; in batches they are different; only feasible ones are repeated."""
    space = px.Space({"lr": px.Float(1e-5, 1.0, log=True), "u": px.Float(0, 0.3)})
    sampler = adjusted(px.tpe, n_startup=2)(space, n_constraints=1)
    x = np.random.default_rng(0).uniform(1e-5, 0.3, (14, 2))

    def ask(state):
        """Which rows the suggestions are; those that are not told are left out."""
        asked = np.asarray(sampler.ask(jax.random.key(0), state, 2, confirm=True))
        return [i for one in asked for i in np.flatnonzero((x.astype(np.float32) == one).all(axis=1))]

    excess = np.where(np.arange(14) == 10, 1.0, -1.0)
    state = sampler.tell(sampler.init(), x, np.arange(14.0) % 5, excess)
    assert ask(state) == [0, 5]
    # With noise, a pending evaluation raises the lower bound of its configuration.
    noisy = sampler.tell(state, x[:2], [0.1, 1.2], [-1.0, -1.0])
    assert ask(noisy) == [5, 0]
    assert ask(sampler.tell(noisy, x[[5] * 20], [np.nan] * 20, [-1.0] * 20)) == [0, 5]
    assert ask(replace(state, constraints=jnp.ones_like(state.constraints))) == []
    key = jax.random.key(0)
    traced = jax.jit(lambda state: sampler.ask(key, state, confirm=True))(noisy)
    assert traced.tolist() == sampler.ask(key, noisy, confirm=True).tolist()


@pytest.mark.slow
def test_repeats_and_new_suggestions_differ():
    """Three of six choices were told: a batch of five has each of them once, and two others."""
    sampler = adjusted(px.tpe, n_startup=2)(px.Space({"c": px.Categorical(range(6))}))
    state = sampler.tell(sampler.init(), [[0], [1], [2], [0]], [0.0, 1.0, 2.0, 0.5])
    asked = np.asarray(sampler.ask(jax.random.key(0), state, 5, confirm=True))[:, 0]
    assert len(set(asked)) == 5
    assert {0, 1, 2} <= set(asked)


@pytest.mark.slow
def test_pending_repeats_are_few():
    """Workers that ask one by one get the best three, then new ones; so does a search whose repeats fail."""
    state = NOISY.tell(NOISY.init(), [[0.1], [0.2], [0.3], [0.4]], [1.0, 2.0, 3.0, 4.0])
    asked = []
    for i in range(5):
        x = NOISY.ask(jax.random.key(i), state, confirm=True)
        state = NOISY.tell(state, x, [np.nan])
        asked.append(float(x[0, 0]))
    np.testing.assert_allclose(asked[:3], [0.1, 0.2, 0.3], rtol=1e-6)
    assert min(abs(a - b) for a in asked[3:] for b in (0.1, 0.2, 0.3, 0.4)) > 0


def test_off_it_adds_nothing():
    """No branch beside that of the start."""

    def branches(n_confirm):
        problem = jax.tree_util.Partial(_noisy, jnp.asarray(0.1))
        run = partial(px.optimize, sampler=NOISY, problem=problem, n_evaluations=9, n_confirm=n_confirm)
        return str(jax.make_jaxpr(run)(jax.random.key(0))).count("cond[")

    assert branches(1) == branches(0) + 1


# --- repeats that nobody asked for ----------------------------------------------------------------


def _stepped(scale, key, x):
    return jnp.round(8 * x[0]) + scale * jax.random.normal(key)


@jax.jit
def _handed_on(key):
    return key


def _on_host(key, x):
    return jax.pure_callback(np.asarray, jax.ShapeDtypeStruct((), x.dtype), x[0], vmap_method="sequential")


CURIOUS = px.tpe(LINE)


def _repeated(x) -> list[int]:
    """Rows that are evaluations of an earlier row's configuration."""
    return [i for i in range(len(x)) if x[i, 0] in x[:i, 0]]


@pytest.mark.slow
def test_without_noise_two_repeats_at_most():
    """After 20 rows; so too for noise in the last digits. If losses tie, after 40 rows too."""
    keys = jax.random.split(jax.random.key(1), 2)
    for scale in (0.0, 1e-7):
        problem = jax.tree_util.Partial(_noisy, jnp.asarray(scale))
        for x in np.asarray(px.optimize_many(keys, CURIOUS, problem, 64).x):
            assert _repeated(x) == [20]
    problem = jax.tree_util.Partial(_stepped, jnp.asarray(0.0))
    trace = px.optimize(keys[0], CURIOUS, problem, 64)
    assert _repeated(np.asarray(trace.x)) == [20, 40]


@pytest.mark.slow
def test_without_noise_one_repeat_in_batches():
    problem = jax.tree_util.Partial(_noisy, jnp.asarray(1e-7))
    x = np.asarray(px.optimize(jax.random.key(1), CURIOUS, problem, 64, n_parallel=8).x)
    assert _repeated(x) == [16]


@pytest.mark.parametrize(
    ("problem", "n_repeats"),
    [
        (lambda key, x: x[0], 0),
        (jax.jit(lambda key, x: x[0]), 0),
        pytest.param(lambda key, x: _stepped(0.0, _handed_on(key), x), 1, marks=pytest.mark.slow),
        pytest.param(jax.jit(partial(_stepped, 0.0)), 1, marks=pytest.mark.slow),
        pytest.param(_on_host, 1, marks=pytest.mark.slow),
    ],
)
def test_a_problem_without_key_has_no_repeats(problem, n_repeats):
    """Nor without functions of the host: alone, in compiled code and in lanes, also as its own sequel."""
    key = jax.random.key(0)
    trace = px.optimize(key, CURIOUS, problem, 24)
    assert len(_repeated(np.asarray(trace.x))) == n_repeats
    if n_repeats:
        return
    sequel = px.optimize(key, CURIOUS, problem, 12, state=px.optimize(key, CURIOUS, problem, 12).state)
    np.testing.assert_array_equal(trace.x[12:], sequel.x)
    for x in (
        jax.jit(lambda key: px.optimize(key, CURIOUS, problem, 24).x)(key),
        px.optimize_many(key[None], CURIOUS, problem, 24, lanes=1).x[0],
    ):
        np.testing.assert_allclose(trace.x, x, rtol=1e-4)


@pytest.mark.slow
def test_what_was_told_does_not_change_that():
    """A problem without a key has no repeats after rows that differ, so that all ways give the same rows."""
    key = jax.random.key(0)
    told = px.optimize(key, CURIOUS, jax.tree_util.Partial(_noisy, jnp.asarray(0.1)), 30).state

    def goes_on(state):
        return px.optimize(key, CURIOUS, lambda key, x: x[0], 12, state=state).x

    x = np.asarray(goes_on(told))
    assert _repeated(x) == []
    closed_over = jax.jit(lambda key: px.optimize(key, CURIOUS, lambda key, x: x[0], 12, state=told).x)
    for other in (jax.jit(goes_on)(told), closed_over(key)):
        np.testing.assert_allclose(x, other, rtol=1e-4)


@pytest.mark.slow
def test_keys_of_another_kind_and_axes_of_a_mesh():
    """A problem is traced with its kind of key; one that uses the axis of a mesh may have noise."""

    def of_rbg(key, x):
        return x[0] * jax.random.key_data(key)[3].astype(x.dtype)

    assert px.optimize(jax.random.key(0, impl="rbg"), CURIOUS, of_rbg, 3).x.shape == (3, 1)

    def of_axis(key, x):
        return x[0] + jax.lax.axis_index("d").astype(x.dtype)

    mesh = jax.make_mesh((1,), ("d",))
    assert px.optimize(jax.random.key(0), CURIOUS, of_axis, 4, n_parallel=2, mesh=mesh).x.shape == (4, 1)


@pytest.mark.slow
def test_a_key_of_no_mesh_where_axes_are_explicit():
    """In `jax.set_mesh`, with a key made before; the same rows as without."""
    key, problem = jax.random.key(0), jax.tree_util.Partial(_stepped, jnp.asarray(0.1))
    wanted = px.optimize(key, CURIOUS, problem, 4).x
    with jax.set_mesh(jax.make_mesh((1,), ("e",), axis_types=(jax.sharding.AxisType.Explicit,))):
        found = px.optimize(key, CURIOUS, problem, 4).x
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_a_told_state_in_compiled_code():
    """Closed over, with as many rows as before a repeat, and with repeated rows."""
    x = np.random.default_rng(0).uniform(size=(20, 1))
    for rows in (x, np.concatenate([x[:10], x[:10]])):
        state = CURIOUS.tell(CURIOUS.init(), rows, rows[:, 0])
        asked = jax.jit(lambda key, state=state: CURIOUS.ask(key, state))(jax.random.key(0))
        np.testing.assert_allclose(asked, CURIOUS.ask(jax.random.key(0), state), rtol=1e-5)


def test_with_noise_every_fifth_repeats_the_lower_bound():
    """From the first repeat on. Failed evaluations say nothing."""

    def noisy(key, x):
        return jnp.where(x[0] > 0.9, jnp.nan, x[0] + 0.1 * jax.random.normal(key))

    trace = px.optimize(jax.random.key(2), CURIOUS, noisy, 60)
    x, losses = np.asarray(trace.x), np.asarray(trace.losses)[:, 0]
    assert _repeated(x) == list(range(20, 60, 5))
    for i in _repeated(x):
        groups = _configurations(x[:i], losses[:i, None])
        error = repeats.N_ERRORS * _noise(groups, losses)
        best = min(groups.values(), key=lambda rows: np.mean(losses[rows]) - error / np.sqrt(len(rows)))
        assert x[i, 0] == x[best[0], 0]


def test_with_noise_rows_are_split_by_means():
    """Against a loop; constraint-only, failed and absent rows stay as they are."""
    for seed in range(4):
        x, objectives, constraints = _rows(seed)
        state = _told(x, objectives, constraints)
        state = SAMPLER.augment(state, x[:2], [-1.0, 1.0])
        wanted = np.asarray(state.losses).copy()
        for rows in _configurations(x, objectives).values():
            wanted[rows] = -np.mean(objectives[rows])
        averaged, noise = jax.jit(repeats.as_configurations)(state)
        assert bool(noise)
        np.testing.assert_allclose(averaged.losses, wanted, rtol=1e-5)
        order = np.asarray(averaged.loss_order[0])[: np.isfinite(wanted).sum()]
        assert (np.diff(np.asarray(averaged.losses)[order, 0]) >= 0).all()


def test_without_noise_copies_change_no_score():
    """Scores with a row told twice more are those without, to the last bit."""
    x = np.random.default_rng(0).uniform(size=(20, 1))
    state = CURIOUS.tell(CURIOUS.init(32), x, x[:, 0])
    again = CURIOUS.tell(state, x[[3, 3]], x[[3, 3], 0])
    points = np.linspace(0, 1, 9)[:, None]
    assert CURIOUS.score_of(again, points).tolist() == CURIOUS.score_of(state, points).tolist()


def test_with_noise_the_same_may_be_suggested_again():
    """Four of four choices were told: it is the best by the mean, not the one that was lucky once."""
    space = px.Space({"c": px.Categorical(range(4))})
    told = [[0], [1], [2], [3], [1], [1], [1]]
    sampler = px.tpe(space, start=px.samplers.RandomStart(2))
    state = sampler.tell(sampler.init(8), told, [3.0, 0.0, 1.0, 4.0, 5.0, 5.0, 6.0])
    for i in range(3):
        assert sampler.ask(jax.random.key(i), state).tolist() == [[2]]


def test_what_is_refused():
    """Several objectives, pools, and more repeats than evaluations."""
    state, key = NOISY.init(), jax.random.key(0)
    with pytest.raises(ValueError, match="candidates must be None"):
        NOISY.ask(key, state, candidates=np.zeros((3, 1)), confirm=True)
    with pytest.raises(TypeError, match="confirm must be True or False"):
        NOISY.ask(key, state, confirm=1)
    several = px.tpe(LINE, 2)
    with pytest.raises(ValueError, match="confirm is for one objective: of 2 objectives"):
        several.ask(key, several.init(), confirm=True)
    with pytest.raises(ValueError, match="n_confirm is for one objective"):
        px.optimize(key, several, lambda key, x: (jnp.zeros(2), jnp.zeros(0)), 9, n_confirm=1)
    with pytest.raises(ValueError, match="n_confirm must be"):
        _run(0.1, 5, 6)
