"""One first answer in a process of its own; see `benchmarks.first`."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

start = time.process_time()
import jax  # noqa: E402  # isort: skip

JAX = time.process_time() - start

import numpy as np  # noqa: E402

from benchmarks.stages import again, stages  # noqa: E402

Task = Callable[[], Callable[[], Any]]
WAIT = 0.2


def import_parzax() -> Callable[[], Any]:
    """The package alone; tasks below import it before they are timed."""
    return lambda: __import__("parzax")


def importance(d: int, q: int) -> Callable[[], Any]:
    """One log of 1000 rows of floats."""
    import parzax as px
    import parzax.lens.results

    x = np.random.default_rng(0).uniform(size=(1000, d))
    obs = px.Observations.from_arrays(
        px.Space({f"x{j}": px.Float(0, 1) for j in range(d)}), x, ((x - 0.3) ** 2).sum(axis=1)
    )
    return lambda: px.cond_ped_anova(obs, np.arange(1, q + 1) / (q + 1), n_resamples=0)


def mixed_space() -> Any:
    """15 parameters of every kind, some of them conditional."""
    import parzax as px

    plain = {
        "c": px.Categorical(["a", "b", "c"]), "x0": px.Float(-1, 1), "x1": px.Float(1e-5, 1, log=True),
        "x2": px.Float(0, 1, step=0.05), "k0": px.Int(1, 9), "k1": px.Int(1, 1000, log=True),
        "o": px.Ordinal([1, 2, 8, 64]), "d": px.Categorical(["u", "v"]), "x3": px.Float(0, 10),
    }  # fmt: skip
    branches = {
        "a0": px.Float(0, 1, when=px.In("c", ["a"])), "a1": px.Int(0, 9, when=px.In("c", ["a"])),
        "b0": px.Float(1e-3, 1, log=True, when=px.In("c", ["b"])),
        "b1": px.Categorical(["p", "q", "r"], when=px.In("c", ["b"])),
        "c0": px.Float(-5, 5, when=px.In("c", ["c"])), "d0": px.Int(1, 50, when=px.In("d", ["u"])),
    }  # fmt: skip
    return px.Space(plain | branches)


def six_floats() -> Any:
    """Six parameters on [0, 1]."""
    import parzax as px

    return px.Space({f"x{j}": px.Float(0, 1) for j in range(6)})


def tpe(mixed: bool) -> Callable[[], Any]:
    """`init`, the first `ask` and the first `tell`."""
    import parzax as px
    import parzax.samplers

    space = mixed_space() if mixed else six_floats()

    def answer() -> Any:
        sampler = px.tpe(space)
        state = sampler.init()
        x = sampler.ask(jax.random.key(0), state)
        return jax.block_until_ready(sampler.tell(state, x, np.array([1.0])))

    return answer


def first_ask(space: Callable[[], Any]) -> Callable[[], Any]:
    """Of a sampler that knows 50 rows."""
    import parzax as px
    import parzax.samplers

    domains = space()
    sampler = px.tpe(domains)
    frame = domains.frame()
    x = frame.decode(frame.drawn(np.random.default_rng(0).uniform(size=(50, len(domains)))))
    state = sampler.tell(sampler.init(), x, np.arange(50.0))
    return lambda: jax.block_until_ready(sampler.ask(jax.random.key(0), state))


def of_six_kinds(n: int) -> Callable[[], Any]:
    """n parameters, one kind after the other."""

    def space() -> Any:
        import parzax as px

        kinds = (
            px.Float(0, 1), px.Float(1e-4, 1, log=True), px.Int(1, 20), px.Float(0, 1, step=0.125),
            px.Categorical(["a", "b", "c"]), px.Ordinal([1, 2, 4]),
        )  # fmt: skip
        return px.Space({f"p{j}": kinds[j % 6] for j in range(n)})

    return space


def of_branches(n: int) -> Callable[[], Any]:
    """A choice of n branches with a parameter each."""

    def space() -> Any:
        import parzax as px

        names = [f"b{j}" for j in range(n)]
        branches = {f"x_{name}": px.Float(0, 1, when=px.In("choice", [name])) for name in names}
        return px.Space({"choice": px.Categorical(names)} | branches)

    return space


def estimator() -> Callable[[], Any]:
    """A density of 100 rows."""
    import parzax as px
    import parzax.density

    space, x = (
        px.Space({f"x{j}": px.Float(0, 1) for j in range(6)}),
        np.random.default_rng(0).uniform(size=(100, 6)),
    )

    def answer() -> Any:
        density = px.ParzenEstimator.fit(space, x)
        return np.asarray(density.log_prob(x)), np.asarray(density.sample(jax.random.key(0), 10))

    return answer


def optimize() -> Callable[[], Any]:
    """One run of a constrained problem of four parameters."""
    import parzax as px
    from benchmarks.toys import sphere

    problem = sphere(dim=4, lower=(0.2, 0.1))
    sampler = px.c_tpe(problem.space, n_constraints=problem.n_constraints)
    return lambda: np.asarray(px.optimize(jax.random.key(0), sampler, problem, 200).x)


def meta(preset: str) -> Callable[[], Any]:
    """A sampler that learns from 100 tasks of 30 rows, made and asked."""
    import parzax as px
    import parzax.samplers

    rng, space = np.random.default_rng(0), px.Space({f"x{j}": px.Float(0, 1) for j in range(4)})

    def log(centre: float) -> px.Observations:
        x = rng.uniform(size=(30, 4))
        return px.Observations.from_arrays(space, x, ((x - centre) ** 2).sum(axis=1))

    logs = [log(centre) for centre in np.linspace(0, 1, 100)]

    def answer() -> Any:
        sampler = getattr(px, preset)(space, logs)
        return np.asarray(sampler.ask(jax.random.key(0), sampler.init()))

    return answer


def optuna_wait() -> float:
    """The longest time between two calls of an objective of 0.2 s, that apart; clock time."""
    import optuna

    import parzax as px

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    ends, waits = [time.perf_counter()], []

    def objective(trial: Any) -> float:
        loss = sum((trial.suggest_float(f"x{i}", -1, 1) - 0.1 * i) ** 2 for i in range(6))
        waits.append(time.perf_counter() - ends[-1])
        time.sleep(WAIT)
        ends.append(time.perf_counter())
        return loss

    study = optuna.create_study(sampler=px.adapters.optuna.TPESampler(seed=0))
    study.optimize(objective, n_trials=14)
    return max(waits)


def study_seconds(sampler: str, space: str) -> list[float]:
    """Processor seconds up to the end of every trial of a study of 1000, imports included."""
    import optuna

    import parzax as px

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    conditional = space == "conditional"

    def objective(trial: Any) -> float:
        if not conditional:
            return sum((trial.suggest_float(f"x{i}", -1, 1) - 0.1 * i) ** 2 for i in range(6))
        model, rate = (
            trial.suggest_categorical("model", ["a", "b", "c"]),
            trial.suggest_float("rate", 1e-5, 1),
        )
        if model == "a":
            return (trial.suggest_float("a0", 0, 1) - 0.3) ** 2 + trial.suggest_int("a1", 1, 9) / 100 + rate
        if model == "b":
            return trial.suggest_float("b0", 1e-3, 1, log=True) + trial.suggest_int("b1", 1, 100) / 1000
        return trial.suggest_float("c0", -5, 5) ** 2 + trial.suggest_int("c1", 1, 50) / 100

    own = {
        "parzax": lambda: px.adapters.optuna.TPESampler(seed=0),
        "optuna": lambda: optuna.samplers.TPESampler(seed=0, multivariate=True, group=conditional),
    }[sampler]()
    ends = []
    study = optuna.create_study(sampler=own)
    study.optimize(objective, 1000, callbacks=[lambda *_: ends.append(time.process_time())])
    return ends


def stored_study(n_trials: int = 300, n_parameters: int = 13) -> Path:
    """A random search, written by a process of its own: this one has imported nothing."""
    folder = Path(tempfile.mkdtemp())
    code = f"""
import numpy as np, optuna
study = optuna.create_study(study_name="s", storage="sqlite:///{folder / "study.db"}")
names = [f"x{{i}}" for i in range({n_parameters})]
domains = dict.fromkeys(names, optuna.distributions.FloatDistribution(0, 1))
x = np.random.default_rng(0).uniform(size=({n_trials}, len(names)))
study.add_trials([
    optuna.trial.create_trial(
        params=dict(zip(names, row)), distributions=domains, value=row @ np.arange(1, len(row) + 1)
    )
    for row in x.tolist()
])
"""
    subprocess.run([sys.executable, "-c", code], check=True, stderr=subprocess.DEVNULL)
    return folder


def command_line(command: str, option: str, file: str, folder: Path) -> Callable[[], Any]:
    """A command about the study in a folder, as a process that has no other purpose."""
    from parzax.lens.cli import main

    def answer() -> Any:
        sys.argv = ["parzax", command, str(folder / "study.db"), option, str(folder / file)]
        with contextlib.redirect_stdout(io.StringIO()):
            if main():
                raise RuntimeError("the command failed")

    return answer


def packages_alone() -> Callable[[], Any]:
    """What the command line needs of others: Optuna reads the study, matplotlib draws 13 bars."""
    folder = stored_study()

    def answer() -> Any:
        import optuna
        from matplotlib.figure import Figure

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        study = optuna.load_study(study_name=None, storage=f"sqlite:///{folder / 'study.db'}")
        trials = study.get_trials(deepcopy=False)
        figure = Figure(layout="constrained")
        figure.subplots().barh([f"x{i}" for i in range(13)], [trials[i].number for i in range(13)])
        figure.savefig(folder / "bars.png")

    return answer


def import_all() -> Callable[[], Any]:
    """The package and all of its names that need no optional package."""

    def answer() -> Any:
        import parzax

        return [getattr(parzax, name) for name in dir(parzax) if name not in ("adapters", "plotting")]

    return answer


TASKS: dict[str, Task] = {
    "import parzax": import_parzax,
    "import parzax, and use every name": import_all,
    "importance, 3 parameters, 1 level": lambda: importance(3, 1),
    "importance, 20 parameters, 20 levels": lambda: importance(20, 20),
    "importance, 1000 parameters": lambda: importance(1000, 1),
    "tpe, 6 floats": lambda: tpe(False),
    "tpe, 15 mixed and conditional": lambda: tpe(True),
    "estimator: fit, log_prob, sample": estimator,
    "optimize, 200 evaluations, c-TPE": optimize,
    "meta_learn_tpe, 100 sources": lambda: meta("meta_learn_tpe"),
    "paper_meta_learn_tpe, 100 sources": lambda: meta("paper_meta_learn_tpe"),
    "command line, a study": lambda: command_line("importance", "--plot", "out.png", stored_study()),
    "command line, a page": lambda: command_line("report", "-o", "out.html", stored_study(1000, 20)),
    "its packages without parzax": packages_alone,
    "first ask after 50 rows, 6 floats": lambda: first_ask(six_floats),
    "first ask after 50 rows, 15 mixed": lambda: first_ask(mixed_space),
    "first ask, 15 of six kinds": lambda: first_ask(of_six_kinds(15)),
    "first ask, 500 of six kinds": lambda: first_ask(of_six_kinds(500)),
    "first ask, 15 branches": lambda: first_ask(of_branches(15)),
    "first ask, 50 branches": lambda: first_ask(of_branches(50)),
}


def main(task: str, profiled: bool = False) -> None:
    """Print the seconds of ``import jax`` and of the task, and if wanted where these went."""
    found: dict[str, Any] = {"jax": JAX}
    if task.startswith("study"):
        _, sampler, space = task.split(", ")
        found["task"] = study_seconds(sampler, space)
    elif task == "Optuna sampler, longest wait":
        found["task"] = optuna_wait()
    else:
        answer = TASKS[task]()
        with stages() if profiled else contextlib.nullcontext({}) as spent:
            begun = time.process_time()
            answer()
            found["task"] = time.process_time() - begun
        if profiled:
            found |= {"stages": spent, "again": again(answer)}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], "--profile" in sys.argv[2:])
