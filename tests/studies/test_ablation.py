"""The ablation: ratios of pairs of runs, verdicts, and options that change something."""

import numpy as np
import pytest
from benchmarks.settings import adjusted
from benchmarks.studies import ablation
from benchmarks.studies.source_tasks import ball

import parzax as px


def found(factor, n_runs=200):
    """Two problems of one paper, whose runs vary together by a factor of 10, and an option's by 5 % more."""
    rng, out = np.random.default_rng(0), {}
    for name in ("a", "b"):
        base = np.exp(rng.normal(0, 2.3, (n_runs, 1))) * np.ones(1 + len(ablation.BUDGETS))
        changed = base * factor * np.exp(rng.normal(0, 0.05, base.shape))
        out[f"c_tpe/{name}/0"] = {ablation.BASE: base, "changed": changed}
    return out


@pytest.mark.parametrize(
    ("factor", "verdict"),
    [(1.0, "equal within 1.15"), (1.1, "equal within 1.15"), (0.5, "better"), (2.0, "worse")],
)
def test_pairs_tell_more_than_their_spread(factor, verdict):
    # Catches runs that are not paired: then an interval of 1.0 reaches from 0.7 to 1.4.
    logs = ablation.logs_of(found(factor), "c_tpe")
    middle, low, high = ablation.ratio(logs, "changed", 100)
    assert low < middle < high
    assert factor == pytest.approx(middle, rel=0.02)
    assert ablation.verdict(low, high) == verdict


def test_verdicts_of_wide_intervals():
    assert ablation.verdict(0.5, 1.5) == "not told apart"
    assert ablation.verdict(0.9, 1.2) == "not told apart"


def test_parts_are_put_together():
    parts = found(1.0)
    parts |= {name.replace("/0", "/1"): arrays for name, arrays in found(1.0).items()}
    assert {len(own[ablation.BASE]) for own in ablation.logs_of(parts, "c_tpe").values()} == {400}


def test_every_option_is_another_setting():
    # Catches an option that equals the preset, whose ratio would be 1 for ever.
    target = ball(4, 0.0)
    base = px.c_tpe(target.space, n_constraints=1)
    for name, options in ablation.OPTIONS["c_tpe"].items():
        assert adjusted(px.c_tpe, **options)(target.space, n_constraints=1) != base, name
