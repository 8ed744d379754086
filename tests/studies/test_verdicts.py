"""What answers to short logs say of parameters, where the truth is known."""

import jax
import numpy as np
import pytest
from benchmarks.studies.adaptive_problems import PROBLEMS, true_shares
from benchmarks.studies.adaptive_searches import RANDOM, search

import parzax as px
from parzax.lens.results.result import MATTERS, NEGLIGIBLE

N_LOGS, N = 25, 40


@pytest.mark.slow
def test_200_logs_of_40_trials():
    """Four problems, random search and TPE: nobody is told that something useless matters, or the reverse."""
    verdicts, shares, idle = [], [], []
    for problem in ("quadratic", "gated", "interacting", "branching"):
        for searcher in (RANDOM, "px.optuna_tpe"):
            runs = search(searcher, problem, N_LOGS, N)
            for x, loss in zip(runs["x"], runs["loss"], strict=True):
                obs = px.Observations.from_arrays(PROBLEMS[problem].space, x, loss)
                with jax.enable_x64(True):
                    result = px.cond_ped_anova(obs)
                verdicts += result.verdicts[0].tolist()
                shares += true_shares(problem, (float(result.levels[0]),), 1 << 17)[0].tolist()
                idle += [name == "idle" for name in result.names]
    verdict, share, is_idle = map(np.array, (verdicts, shares, idle))
    assert is_idle.sum() == 200
    assert np.mean(verdict[is_idle] == MATTERS) <= 0.05
    assert np.mean(verdict[share > 0.3] == NEGLIGIBLE) <= 0.02
    assert np.mean(share[verdict == NEGLIGIBLE] < 0.1) >= 0.95
    assert np.mean(verdict[share > 0.3] == MATTERS) > 0.4, "answers say something"
