"""What `benchmarks.studies.gp` says of made-up runs."""

import numpy as np
from benchmarks.studies import gp


def test_page():
    """Catches ratios upside down, cases that are left out, and the one claim."""
    rng = np.random.default_rng(0)
    factor = {gp.OURS: 1.0, gp.RANDOM: 3.0, gp.TPE: 2.0, gp.GP: 0.5}
    cases = [f"mixed/{i}" for i in range(3)] + [f"bbob-02d/{i}" for i in range(4)]

    def found(better: str) -> dict[str, dict[str, np.ndarray]]:
        factors = {**factor, **({gp.OURS: 4.0} if better == gp.RANDOM else {})}
        return {
            f"{method}/{case}": {
                case: times * np.exp(0.01 * rng.normal(size=(10, 1))) * np.linspace(2, 1, 100),
                "seconds": np.array(20.0),
            }
            for method, times in factors.items()
            for case in cases
        }

    page = gp.written(found(gp.OURS))
    assert page.shape == (10, 100)
    assert not page.failed
    assert "A run took 2.0 s for Optuna GP, 2.0 s for Optuna TPE" in page.blocks[2]
    lines = page.blocks[1].splitlines()
    assert [line.split(" | ")[:2] for line in lines[2:]] == [
        [f"| {kind}", peer]
        for kind in ("all, 7", "BBOB, 4", "mixed, conditional, 3")
        for peer in (gp.GP, gp.TPE)
    ]
    assert all("0/7, 2.0" in cell or "0/7, 1.9" in cell for cell in lines[2].split(" | ")[2:])
    assert all("7/0, 0.5" in cell or "7/0, 0.4" in cell for cell in lines[3].split(" | ")[2:])
    assert page.blocks[4].count("(0/10)") == 7 * len(gp.BUDGETS)
    assert gp.written(found(gp.RANDOM)).failed
