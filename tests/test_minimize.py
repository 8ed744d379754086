"""A search over a Python function: its oracle, what counts as failed, files of killed runs, executors."""

import json
import math
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest
from worker_functions import bowl, dies_once

import parzax as px

# One space for all tests, so that they share two compiled programs.
SPACE = px.Space(
    {
        "x": px.Float(-1, 1),
        "kind": px.Categorical(["fast", "slow", True]),
        "units": px.Int(1, 64, log=True, when=px.In("kind", ["slow"])),
    }
)
KEY = jax.random.key(3)
minimize = partial(px.minimize, space=SPACE, key=KEY)
TWO = {"directions": {"accuracy": "maximize", "seconds": "minimize"}, "constraints": ["size"]}


def both(params):
    return {"accuracy": -bowl(params), "seconds": params.get("units", 0), "size": params["x"], "note": "kept"}


def lines(folder):
    """The evaluations of a folder, without what is searched."""
    return [json.loads(line) for line in (folder / "evaluations.jsonl").read_text().splitlines()[1:]]


def assert_same(one, other):
    for name in ("values", "losses"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.report == other.report


@pytest.fixture(scope="module")
def whole():
    """An uninterrupted search."""
    return minimize(bowl, n=24)


def test_a_search_is_that_of_the_sampler(whole):
    """One at a time, against ask and tell; the function gets names and choices as they were written."""
    sampler = px.tpe(SPACE)
    state, seen = sampler.init(64), []
    for number in range(24):
        x = np.asarray(sampler.ask(jax.random.fold_in(KEY, number), state)[0])
        np.testing.assert_allclose(whole.values[number], x, rtol=1e-5)
        seen.append(SPACE.as_dict(whole.values[number]))
        state = sampler.tell(state, whole.values[number], bowl(seen[-1]))
    assert {params["kind"] for params in seen} == {"fast", "slow", True}
    assert all(isinstance(params["units"], int) for params in seen if params["kind"] == "slow")
    np.testing.assert_array_equal(whole.losses[:, 0], [*map(bowl, seen)])
    assert whole.best_params() == min(seen, key=bowl)
    assert whole.best_rows().tolist() == [int(whole.losses.argmin())]
    assert (whole.report.objectives, whole.report.errors) == (("loss",), {})
    assert whole.encode(0.3).level.shape[-1] == 24


def test_objectives_and_constraints_by_name(whole):
    """Signs, order of names, the front; a number is the single objective whether it is named or not."""
    log = minimize(both, n=10, **TWO)
    named = [both(SPACE.as_dict(x)) for x in log.values]
    np.testing.assert_array_equal(log.losses, [[-row["accuracy"], row["seconds"]] for row in named])
    np.testing.assert_array_equal(log.constraints[:, 0], [row["size"] for row in named])
    feasible = [i for i, row in enumerate(named) if row["size"] <= 0]
    others = {i: [j for j in feasible if j != i] for i in feasible}
    front = [i for i in feasible if not any((log.losses[j] <= log.losses[i]).all() for j in others[i])]
    assert log.best_rows().tolist() == front
    with pytest.raises(ValueError, match="best_rows gives the front"):
        log.best_params()
    for returns in (lambda p: -bowl(p), lambda p: {"score": np.array([-bowl(p)]), "epochs": [3]}):
        log = minimize(returns, n=24, directions="maximize")
        np.testing.assert_array_equal(log.values, whole.values)
        np.testing.assert_array_equal(log.losses, whole.losses)
        assert (log.report.directions, log.report.objectives) == (("maximize",), ("score",))


def test_failed_rows(capsys):
    """Exceptions and NaN count as bad; row and message are kept; the bar shows the best."""

    def fails(params):
        kind = params.pop("kind")  # what the function does to its argument does not matter
        if kind == "slow":
            raise ValueError("no memory")
        return math.nan if kind is True else params["x"]

    with pytest.warns(UserWarning, match=r"of 20 evaluations raised, such as ValueError: no memory; log.rep"):
        log = minimize(fails, n=20, key=jax.random.key(11), progress=True)
    assert "20/20 " in (bar := capsys.readouterr().err)
    assert f"best loss {log.losses[~np.isnan(log.losses)].min():.4g}]" in bar
    kinds = [SPACE.as_dict(x)["kind"] for x in log.values]
    assert log.report.errors == {
        i: "ValueError: no memory" if kind == "slow" else "loss is NaN"
        for i, kind in enumerate(kinds)
        if kind != "fast"
    }
    assert np.isnan(log.losses[:, 0]).tolist() == [kind != "fast" for kind in kinds]
    assert kinds[10:].count("fast") >= 6
    assert f"{kinds.count('slow')} of them failed: ValueError: no memory" in log.report.lines()
    assert log.best_params()["kind"] == "fast"


def test_a_function_that_always_raises_ends_the_search(whole, tmp_path):
    """After ten evaluations, or all; the same call with a mended function starts anew."""

    def wrong(params):
        return params["lr"]

    for n, seen in ((30, 10), (3, 3)):
        with pytest.raises(
            RuntimeError,
            match=rf"^the first {seen} evaluations raised, such as KeyError: 'lr'; mend function\.",
        ) as error:
            minimize(wrong, n=n, folder=tmp_path / str(n))
        assert repr(error.value.__cause__) == "KeyError('lr')"
        assert not hasattr(error.value, "__notes__")
        assert len(lines(tmp_path / str(n))) == seen
    log = minimize(bowl, n=12, folder=tmp_path / "30")
    np.testing.assert_array_equal(log.values, whole.values[:12])
    assert log.report.errors == {}
    assert len(lines(tmp_path / "30")) == 12


@pytest.mark.parametrize(
    ("returned", "options"),
    [
        (None, {}),
        ((1.0, 2.0), {}),
        ([1.0, 2.0], {}),
        ("high", {}),
        ({"accuracy": 1.0}, {}),
        ({"accuracy": 1.0, "seconds": 2.0}, TWO),
        (1.0, TWO),
        ((1.0, 2.0, 3.0), TWO),
    ],
)
def test_other_results_are_refused(returned, options, tmp_path):
    """At once, with all names; nothing is written, so the mended function is called for this row too."""
    with pytest.raises(TypeError, match=r"^function must return .*a dict with a number for") as error:
        minimize(lambda _: returned, n=3, folder=tmp_path, **options)
    assert f"got {returned!r}; arguments such as directions=" in str(error.value)
    assert lines(tmp_path) == []


def test_arguments():
    def of(sampler_space=SPACE, **options):
        return {"sampler": px.tpe(sampler_space, **options)}

    for error, message, options in [
        (TypeError, "function must be a function of a dict", {"function": 3}),
        (TypeError, "a space must be a parzax.Space or a dict", {"space": 3}),
        (ValueError, "n must be a whole number of at least 1", {"n": 0}),
        (ValueError, "n_parallel must be a whole number of at least 1", {"n_parallel": 0}),
        (TypeError, "key must be a typed key", {"key": 0}),
        (TypeError, "sampler must be a parzax sampler such as px.tpe", {"sampler": px.tpe}),
        (ValueError, "sampler has space=Space", of(px.Space({"x": px.Float(-1, 1)}))),
        (ValueError, "sampler has n_constraints=1, but .* minimize say 0", of(n_constraints=1)),
        (ValueError, "sampler has directions=.'maximize',., but .*say", of(directions="maximize")),
        (TypeError, "directions must be .* a dict of objectives by name", {"directions": ["minimize"] * 2}),
        (
            ValueError,
            "direction must be one of 'minimize', 'maximize', got 'up'",
            {"directions": {"a": "up"}},
        ),
        (TypeError, "constraints must be a list of names", {"constraints": 1}),
        (
            TypeError,
            "executor must be an executor of concurrent.futures, or a function that makes one, got 4",
            {"executor": 4},
        ),
        (TypeError, "no argument 'n_jobs'; use n_parallel", {"n_jobs": 4}),
        (TypeError, "no argument 'state'; use folder=.*sampler.ask and sampler.tell", {"state": None}),
        (TypeError, "no argument 'stop'; use sampler.ask and sampler.tell", {"stop": None}),
        (TypeError, r"no argument 'valid'; use px.Space\(domains, valid=", {"valid": []}),
        (TypeError, "no argument 'direction'; did you mean 'directions'", {"direction": "maximize"}),
    ]:
        with pytest.raises(error, match=message):
            px.minimize(**({"function": bowl, "space": SPACE, "n": 3} | options))


# --- files ---------------------------------------------------------------------------------------


def test_interrupted(whole, tmp_path):
    """Ctrl-C ends the search, and says how to go on; what finished is kept, with and without a folder."""
    for folder in (tmp_path / "new" / "folder", None):
        called = []

        def interrupted(params, called=called):
            called.append(params)
            if len(called) == 14:
                raise KeyboardInterrupt
            return bowl(params)

        with pytest.raises(KeyboardInterrupt) as stopped:
            minimize(interrupted, n=24, folder=folder)
        (note,) = stopped.value.__notes__
        assert note.startswith("13 finished evaluations kept; the same call with folder='")
        kept = Path(note.split("'")[1])
        assert len(lines(kept)) == 13
        assert_same(minimize(interrupted, n=24, folder=kept), whole)
        assert len(called) == 25
        assert_same(minimize(None.__ne__, n=24, folder=kept), whole)  # nothing is left to evaluate


def test_truncated_at_50_places(whole, tmp_path):
    """A file that ends anywhere, as after a kill: written rows are not repeated, the next one is the same."""
    minimize(bowl, n=24, folder=tmp_path)
    path, calls = tmp_path / "evaluations.jsonl", []
    content = path.read_bytes()
    ends = [i + 1 for i, byte in enumerate(content) if byte == ord("\n")]
    for size in np.random.default_rng(0).integers(0, ends[-2], 50):
        path.write_bytes(content[:size])
        n = sum(end <= size for end in ends[1:]) + 1
        log = minimize(lambda params: calls.append(params) or bowl(params), n=n, folder=tmp_path)
        np.testing.assert_array_equal(log.values, whole.values[:n])
        np.testing.assert_array_equal(log.losses, whole.losses[:n])
        assert path.read_bytes() == content[: ends[n]]
    assert len(calls) == 50


@pytest.mark.parametrize("in_this_process", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_two_searches_in_one_folder(in_this_process, tmp_path):
    """The second one is refused while the first one runs; afterwards the folder is free."""
    other = f"import parzax as px; px.minimize(abs, {{'x': px.Float(0, 1)}}, 2, folder={str(tmp_path)!r})"

    def starts_another(params):
        if in_this_process:
            with pytest.raises(ValueError, match=r"^another search runs in .*; wait for it, or give"):
                minimize(bowl, n=2, folder=tmp_path)
        else:
            process = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True)
            assert "ValueError: another search runs in" in process.stderr
        return bowl(params)

    minimize(starts_another, n=1, folder=tmp_path)
    assert len(minimize(bowl, n=2, folder=tmp_path)) == len(lines(tmp_path)) == 2


def test_folders_of_other_searches(tmp_path):
    minimize(both, n=2, folder=tmp_path, **TWO)
    wider = px.Space({name: SPACE[name] for name in ("kind", "units")} | {"x": px.Float(-1, 2)})
    fewer = px.Space({"x": px.Float(-1, 1)})
    for message, options in [
        ("parameter x is {.*'low': -1.0, .* there, and {.*'high': 2.0", {"space": wider}),
        ("parameter kind is {.*} there, and None here", {"space": fewer}),
        ("directions is {'accuracy': .* there, and {'loss': .* here", {"directions": "minimize"}),
        (r"constraints is \['size'\] there, and \[\] here", {"constraints": []}),
    ]:
        with pytest.raises(ValueError, match=message + ".*; give another folder"):
            px.minimize(both, **({"space": SPACE, "n": 3, "folder": tmp_path, **TWO} | options))
    path = tmp_path / "evaluations.jsonl"
    path.write_text(path.read_text() + "{]\n")
    with pytest.raises(ValueError, match=r"^line 4 of .*evaluations.jsonl is damaged; delete it: "):
        minimize(both, n=3, folder=tmp_path, **TWO)


KILLED = """
    import os, signal, sys
    import jax
    import parzax as px
    from test_minimize import SPACE, bowl

    def killed(params):
        with open(sys.argv[1] + "/calls", "a") as file:
            file.write("x")
        if os.path.getsize(sys.argv[1] + "/calls") in map(int, sys.argv[3:]):
            os.kill(os.getpid(), signal.SIGKILL)
        return bowl(params)

    px.minimize(killed, SPACE, int(sys.argv[2]), key=jax.random.key(3), folder=sys.argv[1])
"""


@pytest.mark.parametrize(
    ("n", "calls"),
    [(9, (5,)), pytest.param(24, (1, 4, 9, 10, 11, 15, 22), marks=pytest.mark.slow)],
)
def test_killed_processes(n, calls, whole, tmp_path):
    """A process killed in these calls of the function: the same log, and one more call for each kill."""
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path), str(n), *map(str, calls)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in calls:
        assert subprocess.run(command, env=environment).returncode == -signal.SIGKILL
    assert (tmp_path / "calls").stat().st_size == len(lines(tmp_path)) + len(calls)
    np.testing.assert_array_equal(minimize(bowl, n=n, folder=tmp_path).values, whole.values[:n])


# --- executors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [False, True])
def test_threads(given):
    """Three at a time, as asked: calls wait for each other in threes, and there are never more."""
    running, most, three = set(), [], threading.Barrier(3, timeout=60)

    def waits(params):
        running.add(threading.get_ident())
        most.append(len(running))
        three.wait()
        running.remove(threading.get_ident())
        return bowl(params)

    with ThreadPoolExecutor(8) as pool:
        log = minimize(waits, n=24, n_parallel=3, executor=pool if given else None)
    assert max(most) <= 3
    assert len(np.unique(log.values[:, 0])) >= 23  # one repeat looks for noise
    np.testing.assert_array_equal(log.losses[:, 0], [bowl(SPACE.as_dict(x)) for x in log.values])


class OneByOne(Executor):
    """Ends a random call as soon as three are in flight, and all of them after the last of n calls."""

    def __init__(self, n):
        self.n, self.rng, self.running, self.ended = n, np.random.default_rng(0), [], []

    def submit(self, function, params):
        future, self.n = Future(), self.n - 1
        self.running.append((future, function(params), params))
        while len(self.running) == 3 or (self.running and not self.n):
            future_, value, _ = self.running.pop(self.rng.integers(len(self.running)))
            self.ended.append(value)
            future_.set_result(value)
        return future


def test_what_runs_is_pending():
    """Each suggestion against a state with the rows in the order in which they ended, and then what runs."""
    sampler = px.tpe(SPACE)
    pool, told = OneByOne(20), []

    def tells(params):
        told.append(([*pool.ended], [one for _, _, one in pool.running]))
        return bowl(params)

    log = minimize(tells, n=20, n_parallel=3, executor=pool)
    by_loss = dict(zip(log.losses[:, 0], log.values, strict=True))
    for number in (0, 1, 2, 7, 11, 15, 19):
        ended, running = told[number]
        state = sampler.init(64)
        if ended:
            state = sampler.tell(state, np.array([by_loss[loss] for loss in ended]), ended)
        if running:
            pending = np.array([SPACE.as_row(params) for params in running])
            state = sampler.tell(state, pending, np.full(len(running), np.nan))
        x = sampler.ask(jax.random.fold_in(KEY, number), state)[0]
        np.testing.assert_allclose(log.values[number], x, rtol=1e-5)


def test_a_process_that_dies(tmp_path):
    """What ran in the broken pool failed; a new pool goes on."""
    function = partial(dies_once, marker=tmp_path / "dead")
    raised = pytest.warns(UserWarning, match="of 16 evaluations raised, such as BrokenProcessPool: A process")
    make = partial(ProcessPoolExecutor, 2, multiprocessing.get_context("spawn"))
    with raised:
        log = minimize(function, n=16, n_parallel=2, executor=make, folder=tmp_path)
    assert (tmp_path / "dead").exists()
    assert len(log) == len(lines(tmp_path)) == 16
    assert 1 <= log.report.n_failed == len(log.report.errors) <= 2


class Broken(ThreadPoolExecutor):
    """Breaks after six calls, and nobody can say how to make another one."""

    n_calls = 0

    def submit(self, *call):
        self.n_calls += 1
        if self.n_calls > 6:
            raise BrokenExecutor("the cluster is gone")
        return super().submit(*call)


def test_a_broken_executor_ends_the_search(whole, tmp_path):
    """What finished, or runs in other threads, is kept."""
    with Broken(1) as pool, pytest.raises(BrokenExecutor, match="the cluster is gone") as error:
        minimize(bowl, n=24, executor=pool, folder=tmp_path)
    assert error.value.__notes__[0].startswith("If executor is a function that makes one")
    assert error.value.__notes__[1].startswith("6 finished evaluations kept")
    assert_same(minimize(bowl, n=24, folder=tmp_path), whole)


@pytest.mark.slow
@pytest.mark.parametrize("most_deaths", [3, 0])
def test_dask(most_deaths, tmp_path):
    """Two workers, one killed in mid-run: what ran there is repeated, or failed; all other rows stay."""
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    function = partial(dies_once, marker=tmp_path / "dead")
    raised = nullcontext() if most_deaths else pytest.warns(UserWarning, match="1 of 16 .* KilledWorker")
    options = {"threads_per_worker": 1, "dashboard_address": None, "local_directory": tmp_path}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": most_deaths}),
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
        raised,
    ):
        log = minimize(function, n=16, n_parallel=2, executor=client.get_executor(), folder=tmp_path)
    assert (tmp_path / "dead").exists()
    assert len(log.report.errors) == (most_deaths == 0)
    assert sorted(line["row"] for line in lines(tmp_path)) == [*range(16)]


def test_a_folder_of_a_search_with_other_rules(tmp_path):
    """Rules belong to what is searched."""
    domains = {"a": px.Int(0, 5), "b": px.Int(0, 5)}
    space = px.Space(domains, valid=px.valid.Ordered("a", "b"))
    log = px.minimize(lambda params: params["b"] - params["a"], space, 4, folder=tmp_path)
    assert (log.values[:, 0] <= log.values[:, 1]).all()
    with pytest.raises(ValueError, match="valid is"):
        px.minimize(lambda params: params["b"] - params["a"], domains, 4, folder=tmp_path)
