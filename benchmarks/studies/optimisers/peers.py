"""What people use, run on the same cases: Optuna's samplers, Hyperopt and SMAC."""

import math
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import jax
import numpy as np

import parzax as px
from benchmarks.studies.optimisers import suites
from benchmarks.studies.optimisers.problems import Case, Group, run
from benchmarks.studies.papers.runs import Arrays

# Native values by name, of active parameters; categories and ordinals as numbers of their values.
Suggestion = dict[str, float]
# Objectives and constraints.
Evaluate = Callable[[Suggestion], tuple[list[float], list[float]]]
# Seconds after which no other run is begun; what was not run is then a cell that says so.
LIMIT = 1200.0


def search(peer: str, group: str, case: str, n_seeds: int, n_evaluations: int) -> Arrays:
    """A unit: CASE -> gap (s, n) after each evaluation; "seconds". Fewer runs after `LIMIT`."""
    return searched(PEERS[peer], group, case, n_seeds, n_evaluations)


def searched(peer: "Peer", group: str, case: str, n_seeds: int, n_evaluations: int) -> Arrays:
    """The same of a peer that need not have a name."""
    own = suites.build(group, n_seeds)
    at = next(one for one in own.cases if one.name == case)
    start = time.perf_counter()
    (evaluate, gaps), found = _compiled(own.evaluate, own.gaps), []
    for seed in range(min(n_seeds, peer.most or n_seeds)):
        if time.perf_counter() - start > LIMIT:
            break
        log = _Log(own, at, evaluate, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peer.optimise(own.space, log, n_evaluations, seed, own.n_objectives)
        rows = np.array(log.x), np.array(log.losses), np.array(log.constraints)
        found.append(np.asarray(gaps(at.shared, log.own, *rows), np.float32))
    return {case: np.array(found), "seconds": np.array(time.perf_counter() - start)}


@lru_cache(maxsize=2)
def _compiled(evaluate: Callable, gaps: Callable) -> tuple[Callable, Callable]:
    """The two of a group, compiled once for all its cases."""

    def of_key(shared: Any, own: Any, key: jax.Array, i: int, x: np.ndarray) -> Any:
        return evaluate(shared, own, jax.random.fold_in(key, i), x)

    return jax.jit(of_key), jax.jit(gaps)


class _Log:
    """Evaluates, and remembers what was."""

    def __init__(self, group: Group, case: Case, evaluate: Callable, seed: int) -> None:
        self.shared, self.own, self.evaluate = case.shared, run(case.own, seed), evaluate
        self.domains = _domains(group.space)
        self.key = jax.random.key(zlib.crc32(f"{case.name}/{seed}".encode()))
        self.x: list[np.ndarray] = []
        self.losses: list[np.ndarray] = []
        self.constraints: list[np.ndarray] = []

    def __call__(self, at: Suggestion) -> tuple[list[float], list[float]]:
        row = np.array([self._native(domain, at.get(name, math.nan)) for name, domain in self.domains])
        told = self.evaluate(self.shared, self.own, self.key, len(self.x), row)
        objectives, constraints = (np.asarray(part, float) for part in told)
        self.x.append(row)
        self.losses.append(objectives)
        self.constraints.append(constraints)
        # A failed training is the worst so far, which every peer can be told.
        worst = np.nan_to_num(np.nan_to_num(self.losses, nan=-np.inf).max(axis=0), neginf=0.0)
        return np.where(np.isnan(objectives), worst, objectives).tolist(), np.nan_to_num(constraints).tolist()

    def _native(self, domain: Any, value: float) -> float:
        if isinstance(domain, px.Ordinal) and not math.isnan(value):
            return float(domain.values[int(value)])
        return value


def _domains(space: px.Space) -> list[tuple[str, Any]]:
    """Name and only domain of each parameter."""
    return [(name, domain) for name, (domain,) in zip(space.names, space.domains, strict=True)]


def is_active(space: px.Space, at: Suggestion, domain: Any) -> bool:
    """Whether its conditions hold; all are on labels of a parent that comes before."""
    for condition in domain.conditions:
        parent = dict(_domains(space))[condition.parent]
        code = at.get(condition.parent)
        if code is None or parent.choices[int(code)] not in condition.values:
            return False
    return True


def in_study(
    make: Callable[[Any, int], Any],
    space: px.Space,
    evaluate: Evaluate,
    n: int,
    seed: int,
    n_objectives: int,
    at_once: int = 1,
    told_by: str = "set_constraint",
) -> None:
    """Optuna's samplers, or one of ours for it; ``at_once`` trials are asked before the first is told.

    ``told_by``: the method of a trial that takes a constraint's name and value.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    directions = ["minimize"] * n_objectives
    study = optuna.create_study(sampler=make(optuna.samplers, seed), directions=directions)
    ask_and_tell(study, space, evaluate, n, at_once, told_by)


def ask_and_tell(
    study: Any, space: px.Space, evaluate: Evaluate, n: int, at_once: int = 1, told_by: str = "set_constraint"
) -> None:
    """The trials of a study of Optuna or of Rustuna."""

    def suggested(trial: Any) -> Iterator[tuple[str, float]]:
        at: Suggestion = {}
        for name, domain in _domains(space):
            if is_active(space, at, domain):
                at[name] = _suggest(trial, name, domain)
                yield name, at[name]

    for _ in range(n // at_once):
        trials = [study.ask() for _ in range(at_once)]
        for trial, values in zip(trials, [dict(suggested(trial)) for trial in trials], strict=True):
            objectives, constraints = evaluate(values)
            for i, value in enumerate(constraints):
                getattr(trial, told_by)(f"c{i}", value)
            study.tell(trial.number, objectives)


def _suggest(trial: Any, name: str, domain: Any) -> float:
    if isinstance(domain, px.Categorical):
        return trial.suggest_categorical(name, list(range(domain.n_values)))
    if isinstance(domain, px.Ordinal):
        return trial.suggest_int(name, 0, domain.n_values - 1)
    if isinstance(domain, px.Int):
        return trial.suggest_int(name, domain.low, domain.high, log=domain.log)
    return trial.suggest_float(name, domain.low, domain.high, log=domain.log)


def _hyperopt(space: px.Space, evaluate: Evaluate, n: int, seed: int, _: int) -> None:
    from hyperopt import fmin, hp, tpe

    def flat(at: Mapping[str, Any]) -> Suggestion:
        found: Suggestion = {}
        for name, value in at.items():
            if isinstance(value, dict):
                found |= {name: value["code"]} | flat({k: v for k, v in value.items() if k != "code"})
            else:
                found[name] = value
        return found

    pairs = dict(_domains(space))

    @cache
    def node(name: str) -> Any:
        """With the children of a label in its branch; branches share a node, as its name must be unique."""
        domain = pairs[name]
        if isinstance(domain, px.Categorical):
            branches = []
            for code, label in enumerate(domain.choices):
                below = [
                    child for child, own in pairs.items()
                    if any(c.parent == name and label in c.values for c in own.conditions)
                ]  # fmt: skip
                branches.append({"code": code, **{child: node(child) for child in below}} if below else code)
            return hp.choice(name, branches)
        if isinstance(domain, px.Ordinal):
            return hp.uniformint(name, 0, domain.n_values - 1)
        if isinstance(domain, px.Int) and not domain.log:
            return hp.uniformint(name, domain.low, domain.high)
        low, high = float(domain.low), float(domain.high)
        if isinstance(domain, px.Int):
            return hp.qloguniform(name, math.log(low), math.log(high), 1)
        return (
            hp.loguniform(name, math.log(low), math.log(high)) if domain.log else hp.uniform(name, low, high)
        )

    roots = {name: node(name) for name, domain in pairs.items() if not domain.conditions}
    fmin(
        lambda at: evaluate(flat(at))[0][0], roots, algo=tpe.suggest, max_evals=n,
        rstate=np.random.default_rng(seed), show_progressbar=False, verbose=False,
    )  # fmt: skip


def _smac(space: px.Space, evaluate: Evaluate, n: int, seed: int, _: int) -> None:
    import tempfile
    from pathlib import Path

    import ConfigSpace as cs
    from smac import HyperparameterOptimizationFacade, Scenario

    own = cs.ConfigurationSpace(seed=seed)
    for name, domain in _domains(space):
        if isinstance(domain, px.Categorical):
            own.add(cs.CategoricalHyperparameter(name, list(range(domain.n_values))))
        elif isinstance(domain, px.Ordinal):
            own.add(cs.UniformIntegerHyperparameter(name, 0, domain.n_values - 1))
        elif isinstance(domain, px.Int):
            own.add(cs.UniformIntegerHyperparameter(name, domain.low, domain.high, log=domain.log))
        else:
            own.add(cs.UniformFloatHyperparameter(name, domain.low, domain.high, log=domain.log))
        for condition in domain.conditions:
            parent = dict(_domains(space))[condition.parent]
            codes = [parent.choices.index(label) for label in condition.values]
            own.add(cs.InCondition(own[name], own[condition.parent], codes))

    def loss(config: Any, seed: int) -> float:
        del seed  # SMAC asks for the argument
        return evaluate(dict(config))[0][0]

    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(own, n_trials=n, seed=seed, deterministic=True, output_directory=Path(folder))
        facade = HyperparameterOptimizationFacade(scenario, loss, overwrite=True, logging_level=False)
        facade.optimize()


def _sampler(name: str, **settings: Any) -> Callable[[Any, int], Any]:
    return lambda samplers, seed: getattr(samplers, name)(seed=seed, **settings)


@dataclass(frozen=True)
class Peer:
    """What optimises, and where.

    Attributes:
        optimise: ``optimise(space, evaluate, n, seed, n_objectives)``.
        needs: packages.
        kinds: of problems, see `suites.KINDS`.
        groups: of problems, all if empty; of those that take a minute for a run, a few.
        most: so many runs at most.
        cost: seconds for a problem, about.
    """

    optimise: Callable[[px.Space, Evaluate, int, int, int], None]
    needs: tuple[str, ...]
    kinds: tuple[str, ...] = ("one objective",)
    groups: tuple[str, ...] = ()
    most: int | None = None
    cost: float = 60.0


FEW = {"groups": ("bbob-02d", "conditional"), "most": 3, "cost": 250.0}
# Of 200 evaluations; Optuna's 50 leave four generations.
POPULATION = 20
QUIET = {"warn_independent_sampling": False}
ALL = ("one objective", "constraints", "two objectives")
PEERS: Mapping[str, Peer] = {
    "Optuna TPE": Peer(partial(in_study, _sampler("TPESampler")), ("optuna",), ALL),
    # Multivariate since Optuna 5; groups make a difference only where parameters are conditional.
    "Optuna TPE, in groups": Peer(
        partial(in_study, _sampler("TPESampler", multivariate=True, group=True, **QUIET)),
        ("optuna",),
        groups=("conditional",),
    ),
    "Optuna TPE, independent": Peer(
        partial(in_study, _sampler("TPESampler", multivariate=False)), ("optuna",)
    ),
    "Hyperopt": Peer(_hyperopt, ("hyperopt",), cost=100.0),
    "Optuna CMA-ES": Peer(
        partial(in_study, _sampler("CmaEsSampler", **QUIET)),
        ("optuna", "cmaes"),
        cost=20.0,
    ),
    "Optuna NSGA-II": Peer(
        partial(in_study, _sampler("NSGAIISampler", population_size=POPULATION)),
        ("optuna",),
        ALL[1:],
        cost=20.0,
    ),
    "Optuna GP": Peer(partial(in_study, _sampler("GPSampler")), ("optuna", "torch"), **FEW),
    "SMAC": Peer(_smac, ("smac",), **FEW),
}


def optuna_at_once(n: int) -> Peer:
    """Optuna's TPE with n trials running at a time."""
    return Peer(partial(in_study, _sampler("TPESampler"), at_once=n), ("optuna",))
