"""What `benchmarks.studies.optuna_studies` says of made-up studies, and that both samplers are run."""

import numpy as np
import pytest
from benchmarks.studies import optuna_studies

KINDS = ("floats", "conditional")


def found(factor: float) -> dict[str, dict[str, np.ndarray]]:
    """10 problems of two kinds: ours have so many times Optuna's gaps, and other times."""
    rng, arrays = np.random.default_rng(0), {}
    for i in range(10):
        gaps = np.exp(0.01 * rng.normal(size=(20, 1))) * np.linspace(2, 1, 50)
        for sampler, times, seconds in (
            (optuna_studies.OURS, factor, [3.0, 1, 1]),
            (optuna_studies.THEIRS, 1, [2.0, 2, 2]),
        ):
            noise = np.exp(0.01 * rng.normal(size=gaps.shape))
            arrays[f"{sampler}/{KINDS[i % 2]}/case|{i}"] = {
                "gaps": gaps * times * noise, "seconds": np.array(seconds)
            }  # fmt: skip
    return arrays


def test_verdict():
    """Catches a sampler that is behind and passes, and times of the wrong one."""
    assert optuna_studies.behind(found(0.7), [25, 50]) == []
    lost = optuna_studies.behind(found(1.3), [25, 50])
    assert [text.split(",")[0] for text in lost] == ["after 25", "after 50"]
    assert optuna_studies.seconds(found(1.0), KINDS) == {"parzax": (3.0, 1.0), "Optuna": (2.0, 2.0)}
    rows = optuna_studies.table(found(0.7), [25]).splitlines()
    assert [row.split(" | ")[:2] for row in rows[2:]] == [
        ["| floats", "5"],
        ["| conditional", "5"],
        ["| all", "10"],
    ]
    assert "10/0, 0.7" in rows[-1]
    page = optuna_studies.written(found(1.3))
    assert page.failed == lost
    assert page.shape == (20, 50)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", optuna_studies.SAMPLERS)
def test_search(sampler, monkeypatch):
    """Catches gaps that rise, and a study too few."""
    monkeypatch.setenv("PARZAX_NO_CACHE", "1")  # set by the unit; put back here
    case = optuna_studies.units(True)[0].arguments["case"]
    arrays = optuna_studies.search(sampler, "conditional", case, 2, 12)
    assert arrays["gaps"].shape == (2, 12)
    assert (np.diff(arrays["gaps"], axis=1) <= 0).all()
    assert (arrays["seconds"] > 0).all()
    assert len(arrays["seconds"]) == 2
