"""Our numbers beside those that Optuna 5 computed from the same logs, where a level is stored."""

import json
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np

from benchmarks.studies.papers import data
from benchmarks.studies.papers.cond_ped_anova.curves import PROBLEMS, of_unit
from benchmarks.studies.papers.rows import Range, Row, judged, missing
from benchmarks.studies.papers.runs import Arrays

SAME, REGIONS = Range(0, 1e-10), (1.0, 0.75, 0.5)


def rows(found: Mapping[str, Arrays]) -> Iterator[Row]:
    """The largest relative difference of a raw variance, over seeds, stored levels and parameters."""
    key, where = "reference", "Section 4, the estimator"
    printed = f"the curves are those of the reference [{SAME}]"
    folder = data.folder()
    if folder is None:
        yield missing(key, where, printed, "PARZAX_DATA")
        return
    stored = json.loads((folder / "synthetic" / "reference_optuna5.json").read_text())["datasets"]
    largest, n = 0.0, 0
    for problem, region in product(PROBLEMS, REGIONS):
        unit = f"curves/stored/{problem}" + f"-{region:g}" * (region < 1)
        if unit not in found:
            continue
        own = of_unit(found[unit], problem, region)["parity"]
        assert stored[problem]["parameters"] == list(own.names)
        for seed, run in enumerate(stored[problem]["runs"]):
            for record in run["results"]:
                level = own.at(record["gamma_target"])
                if (
                    record["gamma_region"] != region
                    or abs(own.levels[level] - record["gamma_target"]) > 1e-12
                ):
                    continue
                raw, ours = np.array(record["raw"]), own.arrays["variance"][seed, level]
                largest = max(largest, float(np.abs(ours / np.where(raw == 0, 1, raw) - (raw != 0)).max()))
                n += 1
    yield Row(key, where, printed, f"{largest:.1e}, {n} analyses by Optuna 5.0.0", judged(largest, 0, SAME))
