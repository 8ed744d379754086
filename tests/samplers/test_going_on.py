"""Runs that start from rows, stop, are watched and kept: the same bits as without, wherever they run."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compilations import compilations
from devices import run_on_devices

import parzax as px

SPACE = px.Space(
    {
        "kind": px.Categorical(["a", "b"]),
        "x": px.Float(0, 1),
        "n": px.Int(1, 9, when=px.In("kind", ["a"])),
    }
)
SAMPLER = px.tpe(SPACE, n_constraints=1, directions="maximize")
KEY = jax.random.key(0)
KEYS = jax.random.split(KEY, 3)
N = 24  # twice this many rows have another capacity


def score(key, x):
    """Noisy, so that the keys of evaluations count; feasible where x <= 0.8."""
    gain = 0.1 * jnp.where(jnp.isnan(x[2]), 5.0, x[2]) + 0.01 * jax.random.normal(key)
    return gain - (x[1] - 0.3) ** 2, x[1] - 0.8


class Never(eqx.Module):
    """A rule that fires for no state, which the compiler cannot know."""

    def __call__(self, sampler, state):
        return state.count < 0


def alone(n=N, sampler=SAMPLER, **arguments):
    return px.optimize(KEY, sampler, score, n, **arguments)


def in_rounds(n=N, **arguments):
    return px.optimize(KEY, SAMPLER, score, n, n_parallel=4, **arguments)


def in_jit(n=N, state=None, **arguments):
    return jax.jit(lambda state: px.optimize(KEY, SAMPLER, score, n, state=state, **arguments))(state)


def in_vmap(n=N, state=None, **arguments):
    def one(key, state):
        return px.optimize(key, SAMPLER, score, n, state=state, **arguments)

    return jax.jit(jax.vmap(one, in_axes=(0, None if state is None else 0)))(KEYS, state)


def in_lanes(n=N, sampler=SAMPLER, **arguments):
    return px.optimize_many(KEYS, sampler, score, n, lanes=2, **arguments)


WAYS = [alone, *(pytest.param(way, marks=pytest.mark.slow) for way in (in_rounds, in_jit, in_vmap, in_lanes))]


def assert_equal(one, other):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert (np.asarray(a).dtype, np.asarray(a).tobytes()) == (
            np.asarray(b).dtype,
            np.asarray(b).tobytes(),
        )


def rows_of(trace, rows=slice(None)):
    return [np.asarray(part)[..., rows, :] for part in (trace.x, trace.losses, trace.constraints)]


def assert_resumes(way, n):
    both, first = way(2 * n), way(n)
    second = way(n, state=first.state)
    assert_equal(rows_of(both, slice(n)), rows_of(first))
    assert_equal(rows_of(both, slice(n, None)), rows_of(second))
    assert_equal(both.state, second.state)
    assert both.state.capacity == int(np.max(both.state.count)) == 2 * n


@pytest.mark.parametrize("way", WAYS)
def test_resumed_is_uninterrupted(way):
    """To the last bit, rows and final states; the rows of a call are those that it evaluated."""
    assert_resumes(way, N)


@pytest.mark.slow
@pytest.mark.parametrize(("way", "n"), [(alone, 150), (in_lanes, 90)])
def test_resumed_where_the_state_grows(way, n):
    """The second half has another capacity, which begins within it."""
    assert_resumes(way, n)


@pytest.mark.parametrize("way", WAYS)
def test_a_stop_that_never_fires_changes_nothing(way):
    assert_equal(way(), way(stop=Never()))


def test_a_stop_ends_a_run():
    """The rows before are those of a run without it, a lane keeps its rows, and masked rows count nowhere."""
    straight, best = alone(), float(alone().best_losses()[11])
    rule = px.stop.Target(best)
    stopped = alone(stop=[px.stop.Patience(100), rule])
    n = int(np.argmax(np.asarray(straight.best_losses()) >= best)) + 1
    assert 1 < int(stopped.n_evaluations) == int(stopped.state.count) == n < N
    assert_equal(rows_of(stopped, slice(n)), rows_of(straight, slice(n)))
    assert all(np.isnan(part).all() for part in rows_of(stopped, slice(n, None)))
    assert not stopped.feasible[n:].any()
    assert stopped.best_params() == SPACE.as_dict(straight.x[n - 1])
    assert stopped.best_losses()[-1] == best
    assert px.Observations.from_trace(stopped).n == n
    assert int(alone(stop=rule, state=stopped.state).n_evaluations) == 0
    # Another value is the same program.
    with compilations() as seen:
        alone(stop=[px.stop.Patience(90), px.stop.Target(best / 2)])
    assert not seen


@pytest.mark.slow
def test_lanes_that_stop():
    """Each run stops by itself; so do those of a user's vmap, and their logs have the rows that were run."""
    rule = px.stop.Patience(6)
    single = [px.optimize(key, SAMPLER, score, N, stop=rule) for key in KEYS]
    for many in (in_lanes(stop=rule), in_vmap(stop=rule)):
        assert len(set(many.n_evaluations.tolist())) > 1
        for one, run in zip(single, many.runs(), strict=True):
            np.testing.assert_array_equal(one.n_evaluations, run.n_evaluations)
            np.testing.assert_allclose(one.x, run.x, rtol=1e-5)
        log, pooled = (px.Observations.from_trace(many, pooled=pooled) for pooled in (False, True))
        assert np.isfinite(log.losses).sum(axis=(1, 2)).tolist() == many.n_evaluations.tolist()
        assert pooled.n == int(many.n_evaluations.sum())
    # Runs of several lengths go on, each from its own row.
    more = in_lanes(state=in_lanes(stop=rule).state)
    assert (np.asarray(more.state.count) == np.asarray([int(run.n_evaluations) + N for run in single])).all()


# --- rules, against loops ------------------------------------------------------------------------


def told(losses, feasible, sampler):
    losses = np.asarray(losses, float).reshape(len(losses), sampler.n_objectives)
    rng = np.random.default_rng(0)
    x = np.stack([np.ones(len(losses)), rng.uniform(size=len(losses)), np.full(len(losses), np.nan)], axis=1)
    return sampler.tell(sampler.init(32), x, losses, np.where(feasible, -1.0, 1.0))


@pytest.mark.parametrize("m", [1, 2])
def test_patience_by_a_loop(m):
    sampler, rng = px.tpe(SPACE, m, 1), np.random.default_rng(m)
    fires = jax.jit(lambda state, n: px.stop.Patience(n)(sampler, state))
    for n_rows in (0, 1, 5, 20):
        for _ in range(8):
            losses, feasible = rng.integers(0, 5, (n_rows, m)) * 1.0, rng.uniform(size=n_rows) < 0.7
            since = None
            for i in range(n_rows):
                earlier = losses[:i][feasible[:i]]
                improved = feasible[i] and not (earlier <= losses[i]).all(axis=1).any()
                since = 0 if improved else None if since is None else since + 1
            state = told(losses, feasible, sampler)
            for n in (1, 3, 9):
                assert bool(fires(state, jnp.asarray(n))) == (since is not None and since >= n)


def test_targets():
    sampler = px.tpe(SPACE, n_constraints=1, directions="maximize")
    state = told([1.0, 3.0, np.nan], [True, False, True], sampler)
    assert [bool(px.stop.Target(value)(sampler, state)) for value in (1.0, 1.5, 3.0)] == [True, False, False]
    both = px.tpe(SPACE, 2, 1, directions=("minimize", "maximize"))
    state = told([[1.0, 5.0], [0.0, 2.0]], [True, True], both)
    reached = [px.stop.Target(value)(both, state) for value in ([1, 5], [0, 5], [0, 2], [np.inf, 5])]
    assert [bool(fires) for fires in reached] == [True, False, True, True]
    with pytest.raises(
        ValueError, match=r"value of Target must have shape \(2,\), got \(\); give a number for each of 2"
    ):
        px.stop.Target(1.0)(both, state)


def test_gain_by_hand():
    """Ten of 50 rows are below; it is not asked while the start lasts."""
    sampler = px.tpe(SPACE)
    losses = np.random.default_rng(0).normal(size=50)
    ranked = np.sort(losses)
    excess = (ranked[10] - ranked[:10]).mean()
    x = np.stack([np.ones(50), losses % 1, np.full(50, np.nan)], axis=1)
    state = sampler.tell(sampler.init(64), x, losses)
    for bound, fires in ((excess * 1.01, True), (excess * 0.99, False)):
        assert bool(eqx.filter_jit(px.stop.Gain(bound))(sampler, state)) == fires
    few = sampler.tell(sampler.init(64), x[:9], losses[:9])
    assert not eqx.filter_jit(px.stop.Gain(1e9))(sampler, few)
    with pytest.raises(ValueError, match="Gain is for one objective, the sampler has 2"):
        px.stop.Gain(0.1)(px.tpe(SPACE, 2), state)


@pytest.mark.slow
@pytest.mark.parametrize("power", [1, 2])
def test_what_gain_claims(power):
    """Where it stops, the next evaluation gains less than the bound on average."""
    space = px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)})

    def loss(key, x):
        return (jnp.abs(x - 0.3) ** power).sum()

    keys, bound = jax.random.split(KEY, 64), 0.03
    stopped = px.optimize_many(keys, px.tpe(space), loss, 80, stop=px.stop.Gain(bound))
    assert (stopped.n_evaluations < 80).mean() > 0.9
    more = px.optimize_many(keys, px.tpe(space), loss, 1, state=stopped.state)
    best = np.asarray(stopped.best_losses())[:, -1]
    assert np.maximum(best - np.asarray(more.losses)[:, 0, 0], 0).mean() < bound


@pytest.mark.parametrize("stop", [0.1, px.stop.Patience, [px.stop.Patience(3), None]])
def test_what_is_no_rule(stop):
    with pytest.raises(TypeError, match=r"stop must be a rule such as px\.stop\.Patience\(20\)"):
        alone(stop=stop)


def test_a_rule_that_answers_for_each_row():
    with pytest.raises(ValueError, match=r"the answer of stop must have shape \(\), got \(32, 1\)"):
        alone(stop=lambda sampler, state: state.losses < 0)
    with pytest.raises(TypeError, match="the answer of stop must be numbers, got NoneType"):
        alone(stop=lambda sampler, state: None)


@pytest.mark.parametrize(
    ("stop", "remedy"),
    [
        (
            lambda sampler, state: state.count > 3 and state.count < 9,
            r"Instead of if, and, max write jnp\.where",
        ),
        (lambda state: state.count > 3, r"Write def stop\(sampler, state\)"),
    ],
)
def test_a_rule_that_jax_cannot_trace(stop, remedy):
    with pytest.raises(TypeError, match=rf"\n{remedy}"):
        alone(stop=stop)


# --- watching ------------------------------------------------------------------------------------


def test_a_function_on_each_round(capsys):
    """In order, with the best so far; neither it nor the bar changes a bit or compiles a run."""
    straight, seen = alone(), []
    assert_equal(alone(on_round=lambda *of_round: seen.append(of_round), progress=True), straight)
    assert [number for number, _, _ in seen] == list(range(1, N + 1))
    assert [best for _, best, _ in seen] == straight.best_losses().tolist()
    assert [int(state.count) for _, _, state in seen] == list(range(1, N + 1))
    lines = capsys.readouterr().err.replace("\n", "\r").split("\r")
    assert "compiling:   0%" in lines[1]
    assert f"evaluations: 100%|██████████| {N}/{N}" in lines[-2]
    assert lines[-2].endswith(f"best {straight.best_losses()[-1]:.4g}]")

    def end(number, best, state):
        if number == 3:
            raise KeyboardInterrupt

    with compilations() as compiled, pytest.raises(KeyboardInterrupt):
        alone(on_round=end)
    assert not compiled
    assert_equal(alone(), straight)
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
def test_callbacks_of_compiled_code():
    """Every round of every run once, in any order, and none after a stop."""
    rule, seen = px.stop.Patience(6), []
    trace = in_vmap(stop=rule, on_round=lambda number, best, state: seen.append((number, float(best))))
    jax.effects_barrier()
    best = np.asarray(trace.best_losses())
    wanted = [(i + 1, best[run, i]) for run in range(3) for i in range(int(trace.n_evaluations[run]))]
    assert sorted(seen) == sorted(wanted)
    with pytest.raises(ValueError, match="progress"):
        jax.jit(lambda key: px.optimize(key, SAMPLER, score, N, progress=True))(KEY)


@pytest.mark.slow
def test_a_function_on_each_chunk():
    seen = []
    many = in_lanes(on_round=lambda *of_chunk: seen.append(of_chunk))
    assert [number for number, _, _ in seen] == [2, 3]
    np.testing.assert_array_equal(np.concatenate([best for _, best, _ in seen]), many.best_losses()[:, -1])
    assert [len(state.count) for _, _, state in seen] == [2, 1]


# --- keeping -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def state():
    return told([3.0, np.nan, 1.0], [True, False, True], SAMPLER)


def test_a_file_of_a_state(state, tmp_path):
    """The same bits back, of several states too; a new file replaces the old one, and no other is left."""
    path = tmp_path / "run.state"
    for kept in (SAMPLER.init(4), state, jax.tree.map(lambda a: jnp.stack([a, a]), state)):
        SAMPLER.save(path, kept)
        assert_equal(SAMPLER.load(path), kept)
    assert list(tmp_path.iterdir()) == [path]
    ruled = px.tpe(px.Space({"x": px.Float(0, 1), "y": px.Float(0, 1)}, valid=lambda p: p["x"] < p["y"]))
    ruled.save(tmp_path / "ruled.state", ruled.init(2))
    assert_equal(ruled.load(tmp_path / "ruled.state"), ruled.init(2))
    wider = px.Space({**{name: SPACE[name] for name in SPACE.names}, "x": px.Float(0, 2)})
    for sampler, differs in (
        (px.tpe(SPACE, n_constraints=1), r"directions is \['maximize'\] there, and \['mini"),
        (px.tpe(SPACE, directions="maximize"), "n_constraints is 1 there, and 0 here; load"),
        (
            px.tpe(wider, 1, 1, directions="maximize"),
            r"parameter x is {[^}]*'high': 1[^}]*} there, and {[^}]*'high': 2[^}]*} here; load",
        ),
    ):
        with pytest.raises(ValueError, match=differs):
            sampler.load(path)
    whole = path.read_bytes()
    for damaged in (
        whole[:-1],
        whole[:50],
        whole[:-1] + b"\1",
        b"",
        b"{}\n",
        b"[]\n",
        b"\xff\n",
        b'{"parzax": 1}',
    ):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"run\.state is no file of Sampler\.save, or is damaged"):
            SAMPLER.load(path)


def test_a_log_as_a_state():
    """Parameters and choices by name; failed rows are bad ones, and rows of weight 0 are left out."""
    space = px.Space({"x": px.Float(0, 1), "kind": px.Categorical(["b", "a"])})
    x, weight = np.array([[0.5, 0], [0.25, 0], [0.1, 0]]), np.array([1.0, 0, 1])
    log = px.Observations.from_arrays(
        space, x, [1.0, 2.0, np.nan], "maximize", constraints=[-1.0, 1, np.nan], weight=weight
    )
    state = log.to_state(SAMPLER)
    np.testing.assert_array_equal(state.x[:2], np.float32([[1, 0.5, np.nan], [1, 0.1, np.nan]]))
    np.testing.assert_array_equal(state.losses[:2, 0], [-1, np.nan])
    assert int(state.count) == 2
    with pytest.raises(
        ValueError, match=r"the log's objectives are \('maximize',\), the sampler's \('minimize'"
    ):
        log.to_state(px.tpe(SPACE))
    with pytest.warns(UserWarning, match="the log has 1 constraint, but the sampler ignores"):
        log.to_state(px.tpe(SPACE, directions="maximize"))
    for wrong, message in (
        (
            px.Observations.from_arrays(SPACE, np.array([[[1, 0.5, np.nan]]] * 2), np.ones((2, 1))),
            "of one log",
        ),
        (
            px.Observations.from_arrays(SPACE, np.array([[1, 0.5, np.nan]]), [1.0], weight=[2.0]),
            "other than 0",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            wrong.to_state(px.tpe(SPACE))


@pytest.mark.parametrize("way", [alone, in_lanes])
def test_states_that_do_not_fit(way, state):
    trace = px.samplers.Trace(*np.zeros((3, 1, 1)), ("minimize",))
    with pytest.raises(TypeError, match=r"state must be a State .*, got Trace; give trace\.state"):
        way(state=trace)
    with pytest.raises(TypeError, match="on_round must be a function of"):
        way(on_round=5)
    with pytest.raises(ValueError, match="the state has 0 constraints, the sampler 1"):
        way(state=px.tpe(SPACE).init())
    several = jax.tree.map(lambda a: jnp.stack([a, a]), state)
    with pytest.raises(ValueError, match=r"state must be that of one run, got 2|one state for each key"):
        way(state=several)
    domains = {name: SPACE[name] for name in SPACE} | {"x": px.Float(0, 2)}
    longer = px.tpe(px.Space(domains), n_constraints=1, directions="maximize")
    of_way = jax.tree.map(lambda a: jnp.stack([a] * 3), state) if way is in_lanes else state
    with pytest.raises(ValueError, match=r"rows are of a space with other domains; use sampler\.move"):
        way(state=of_way, sampler=longer)


ON_DEVICES = """
import json, jax, numpy as np, parzax as px
space = px.Space({"x": px.Float(0, 1), "n": px.Int(1, 9)})
sampler, mesh = px.tpe(space), jax.make_mesh((4,), ("s",))
loss = lambda key, x: (x[0] - 0.3) ** 2 + 0.1 * x[1]
keys, rule, same = jax.random.split(jax.random.key(0), 6), px.stop.Patience(8), {}

def equal(one, other):
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)

def close(one, other):
    # Two programs, which the suite compiles without optimisation, may round differently.
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return all(np.allclose(a, b, 1e-5, 1e-6, equal_nan=True) for a, b in pairs)

def halves(run, n, **arguments):
    return run(n, state=run(n, **arguments).state, **arguments)

one = lambda n, **arguments: px.optimize(keys[0], sampler, loss, n, n_parallel=4, **arguments)
many = lambda n, **arguments: px.optimize_many(keys, sampler, loss, n, lanes=2, **arguments)
seen = []
same["rounds"] = equal(one(16, mesh=mesh, on_round=lambda n, best, state: seen.append(n)), one(16))
same["order"] = seen == [1, 2, 3, 4]
for name, run in {"one": one, "many": many}.items():
    same[name] = equal(halves(run, 16, mesh=mesh).state, run(32).state)
    same[name + ", stop"] = close(run(24, stop=rule, mesh=mesh), run(24, stop=rule))
print(json.dumps(same))
"""


@pytest.mark.slow
def test_four_devices():
    same = run_on_devices(ON_DEVICES)
    assert len(same) == 6
    assert all(same.values()), same


@pytest.mark.slow
def test_repeats_are_at_the_end_of_a_call():
    """A run and then repeats from its state are a run with repeats."""
    both, first = alone(N + 6, n_confirm=6), alone()
    second = alone(6, state=first.state, n_confirm=6)
    np.testing.assert_allclose(both.x[:N], first.x, rtol=1e-5)
    np.testing.assert_allclose(both.x[N:], second.x, rtol=1e-5)
    assert {row.tobytes() for row in np.asarray(second.x)} <= {row.tobytes() for row in np.asarray(first.x)}


@pytest.mark.slow
def test_runs_can_be_differentiated():
    """In reverse mode, by what the problem refers to: the derivative of the best loss."""
    space = px.Space({"x": px.Float(0, 1)})

    def best(target):
        problem = px.Problem(jax.tree_util.Partial(lambda t, key, x: (x[0] - t) ** 2, target), space)
        trace = px.optimize(KEY, px.tpe(space), problem, 12)
        return trace.losses.min()

    value, slope = jax.value_and_grad(best)(jnp.asarray(0.3))
    assert np.isfinite(slope)
    assert abs(slope) == pytest.approx(2 * float(value) ** 0.5, rel=1e-3)
