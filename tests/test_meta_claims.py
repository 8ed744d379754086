"""Claims of the experiments on meta-learning: they hold on results made to order, and each can break."""

import dataclasses

import numpy as np
import pytest
from benchmarks import meta_claims
from benchmarks.meta_claims import CENTERS, CHECKED, FEW, LAST, MANY, N_TASKS, Results

N_RUNS = 12


def falling(start: float, end: float) -> np.ndarray:
    """(s, LAST) best losses of runs that fall from start to end, a few per cent apart."""
    spread = np.random.default_rng(0).uniform(0.97, 1.03, (N_RUNS, 1))
    return spread * np.geomspace(start, end, LAST)


def good() -> Results:
    """As the paper has it: similar sources are ahead at the beginning, all meet at the end."""
    results = Results()
    for dim in (FEW, MANY):
        results.alone[dim] = falling(100, 1)
        for n in N_TASKS if dim == MANY else (1,):
            for center in CENTERS[dim]:
                results.best[dim, n, center] = falling(50 * 1.8**center, 1)
    for center in CENTERS[FEW]:
        results.similarity[center] = np.full((N_RUNS, len(CHECKED)), 0.8 / (1 + center))
    spread = np.random.default_rng(1).uniform(-0.01, 0.01, (N_RUNS, 1))
    for name in ("a", "b"):
        results.share["MO-TPE"][name] = spread + np.linspace(0.5, 0.9, 100)
        results.share["meta"][name] = spread + np.linspace(0.7, 0.9, 100)
    return results


def broken(results: Results) -> list[str]:
    return [claim.what for claim in meta_claims.claims(results) if not claim.holds]


def test_claims_hold_where_they_should():
    """Catches a claim with the wrong sign, which would refuse everything."""
    results = good()
    assert broken(results) == []
    found = meta_claims.claims(results)
    assert {claim.experiment for claim in found} == {"Figure 2", "Figure 12", "tables"}
    table = meta_claims.claims_table(found)
    assert "BROKEN" not in table
    assert table.count("\n") == len(found)


def slow_start(results: Results) -> None:
    results.best[FEW, 1, 1] = falling(400, 1)


def no_recovery(results: Results) -> None:
    results.best[FEW, 1, 4] = falling(900, 3)


def similarity_rises(results: Results) -> None:
    results.similarity[3] = results.similarity[3] + 0.5


def many_slow(results: Results) -> None:
    results.best[MANY, 4, 0] = falling(400, 1)


def many_do_harm(results: Results) -> None:
    results.best[MANY, 8, 1] = falling(50 * 1.8, 1.5)


def many_no_recovery(results: Results) -> None:
    results.best[MANY, 2, 3] = falling(300, 3)


def lower_early(results: Results) -> None:
    for name in results.share["meta"]:
        results.share["meta"][name] = results.share["MO-TPE"][name] - 0.001


def lower_at_the_end(results: Results) -> None:
    results.share["meta"]["b"] = results.share["meta"]["b"] - 0.05 * (np.arange(1, 101) > 60)


BREAKS = {
    slow_start: "source 1 over TPE after 10",
    no_recovery: "source 4 and TPE, gap of the quartiles after 200",
    similarity_rises: "similarity, rise from one centre to the next after 100",
    many_slow: "4 sources 0 over TPE after 20",
    many_do_harm: "8 sources 1 worse than one after 20, 1 - p",
    many_no_recovery: "2 sources 3 over twice TPE after 200, 1 - p",
    lower_early: "hypervolume below MO-TPE's on average, after 20",
    lower_at_the_end: "hypervolume below MO-TPE's on b after 100, in standard errors",
}


@pytest.mark.parametrize(("change", "what"), BREAKS.items(), ids=lambda part: getattr(part, "__name__", ""))
def test_each_claim_can_break(change, what):
    """Catches a claim that is always true."""
    results = good()
    change(results)
    assert what in broken(results)


def test_what_was_not_run_is_not_claimed():
    """Catches --quick failing for want of Figure 12, or claiming it unseen."""
    results = good()
    del results.alone[MANY]
    quick = dataclasses.replace(
        results, best={key: runs for key, runs in results.best.items() if key[0] == FEW}
    )
    assert {claim.experiment for claim in meta_claims.claims(quick)} == {"Figure 2", "tables"}


def test_nan_does_not_hold():
    """Catches a comparison that takes a missing figure for a good one."""
    assert not meta_claims.Claim("", "", float("nan"), 1.0).holds


def test_printed_tables():
    """Catches an index off by one: medians, mean similarity and hypervolume of flat runs are themselves."""
    results = good()
    results.alone[FEW] = np.tile(np.arange(1.0, LAST + 1), (N_RUNS, 1))
    assert meta_claims.medians_table(results, FEW).splitlines()[-1].split() == [
        "TPE",
        "10",
        "20",
        "30",
        "50",
        "100",
        "200",
    ]
    results.share["meta"]["a"] = np.tile(np.arange(1, 101) / 100, (N_RUNS, 1))
    line = meta_claims.share_table(results).splitlines()[1]
    assert [cell for cell in line.split() if "." in cell][::2] == ["0.2000", "0.5000", "1.0000"]
    assert "0.800 ± 0.000" in meta_claims.similarity_table(results).splitlines()[1]


def test_candidates_are_shown():
    """Catches medians of another evaluation than the last."""
    results = Results(by_candidates={(4, 2, 100): falling(50, 1)})
    shown = meta_claims.candidates_table(results).split()
    assert shown[-1] == f"{np.median(results.by_candidates[4, 2, 100][:, -1]):.3g}"
