"""CNSGA-II by Optuna and Hyperopt's TPE, on the same tables."""

import time
import warnings
from collections.abc import Sequence
from functools import partial

import numpy as np

import parzax as px
from benchmarks.load_table import load_table
from benchmarks.studies.papers.c_tpe import settings
from benchmarks.studies.papers.runs import Arrays
from benchmarks.studies.papers.tables import Table

POPULATION = 8
# Seconds of a unit after which no other table is begun; what was not run is then a cell that says so.
LIMIT = 600.0


def cnsga(
    kinds: Sequence[str], tables: Sequence[Table], quantiles: Sequence[float], n_seeds: int, first: int = 0
) -> Arrays:
    """A unit: as `searches.search`, by Optuna's NSGAIISampler, population 8; seeds from ``first`` on."""
    found, start = {"quantiles": np.array(quantiles)}, time.perf_counter()
    for table in tables:
        if time.perf_counter() - start > LIMIT:
            break
        for kind in kinds:
            losses, feasible = [], []
            for quantile in quantiles:
                names = settings.CONSTRAINTS[kind]
                problem = load_table(
                    table.path, [table.objectives[0]], constraint_quantiles=dict.fromkeys(names, quantile)
                )
                lookup = Lookup(problem)
                runs = [_nsga_run(lookup, seed) for seed in range(first, first + n_seeds)]
                losses.append([own[0] for own in runs])
                feasible.append([own[1] for own in runs])
            found[f"{table.name}/{kind}/losses"] = np.array(losses, np.float32)
            found[f"{table.name}/{kind}/feasible"] = np.array(feasible)
    return found


def hyperopt(tables: Sequence[Table], n_seeds: int) -> Arrays:
    """A unit: TABLE -> losses (s, n) without constraints; ordinal parameters by their index."""
    from hyperopt import fmin, hp, tpe

    found, start = {}, time.perf_counter()
    for table in tables:
        if time.perf_counter() - start > LIMIT:
            break
        lookup = Lookup(load_table(table.path, [table.objectives[0]]))
        space = {
            name: hp.choice(name, range(size)) if category else hp.quniform(name, 0, size - 1, 1)
            for name, size, category in zip(lookup.names, lookup.sizes, lookup.categories, strict=True)
        }
        runs = []
        for seed in range(n_seeds):
            losses: list[float] = []
            draw = np.random.default_rng(seed)

            def evaluate(
                at: dict, losses: list[float] = losses, draw: np.random.Generator = draw, own: Lookup = lookup
            ) -> float:
                losses.append(own(draw, [int(at[name]) for name in own.names])[0])
                return losses[-1]

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fmin(
                    evaluate, space, algo=partial(tpe.suggest), max_evals=settings.N_EVALUATIONS,
                    rstate=np.random.default_rng(seed), show_progressbar=False, verbose=False,
                )  # fmt: skip
            runs.append(losses)
        found[table.name] = np.array(runs, np.float32)
    return found


class Lookup:
    """A table on the host, by indices of the choices."""

    def __init__(self, problem: px.samplers.Tabular) -> None:
        self.names = problem.space.names
        self.sizes = [int(domain.n_values or 0) for (domain,) in problem.space.domains]
        self.categories = [isinstance(domain, px.Categorical) for (domain,) in problem.space.domains]
        self.losses, self.excess = np.asarray(problem.losses)[..., 0], np.asarray(problem.excess)
        self.n_seeds = np.asarray(problem.n_seeds)

    def __call__(self, draw: np.random.Generator, choices: Sequence[int]) -> tuple[float, np.ndarray]:
        """Loss and constraints of one configuration, by a training seed drawn at random."""
        row = int(np.ravel_multi_index(tuple(choices), self.sizes))
        seed = int(draw.integers(self.n_seeds[row]))
        return float(self.losses[row, seed]), self.excess[row, seed]


def _nsga_run(lookup: Lookup, seed: int) -> tuple[list[float], list[bool]]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kinds = optuna.distributions
    space: dict[str, optuna.distributions.BaseDistribution] = {
        name: kinds.CategoricalDistribution(range(size)) if category else kinds.IntDistribution(0, size - 1)
        for name, size, category in zip(lookup.names, lookup.sizes, lookup.categories, strict=True)
    }
    excess: dict[int, tuple[float, ...]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # constraints_func is deprecated in Optuna 5, and only there
        sampler = optuna.samplers.NSGAIISampler(
            population_size=POPULATION, seed=seed, constraints_func=lambda trial: excess[trial.number]
        )
    study, draw = optuna.create_study(sampler=sampler), np.random.default_rng(seed)
    losses, feasible = [], []
    for _ in range(settings.N_EVALUATIONS):
        trial = study.ask(space)
        loss, own = lookup(draw, [trial.params[name] for name in lookup.names])
        excess[trial.number] = tuple(float(x) for x in own)
        study.tell(trial, loss)
        losses.append(loss)
        feasible.append(bool((own <= 0).all()))
    return losses, feasible
