"""The paper's pictures from our runs, and the numbers of each as a table."""

import csv
from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmarks.papers import data
from benchmarks.papers.cond_ped_anova.curves import ESTIMATORS, PROBLEMS, Curves, of_unit
from benchmarks.papers.runs import Arrays
from parzax._palette import PALETTE

FOLDER = "cond_ped_anova"
# What each picture shows of every problem.
PICTURES = {
    "importance": "importance",
    "variance": "within-regime variance",
    "standard": "share of the standard variance (Eq. 17)",
    "unweighted": "share without weights (Eq. 18)",
}


def figures(found: Mapping[str, Arrays], out: Path) -> None:
    """One picture per quantity: problems across, estimators down; means with one standard error."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    source = "fresh" if data.folder() is None else "stored"
    curves = {name: of_unit(found[f"curves/{source}/{name}"], name) for name in PROBLEMS}
    for quantity, label in PICTURES.items():
        figure, axes = plt.subplots(
            len(ESTIMATORS), len(PROBLEMS), figsize=(3 * len(PROBLEMS), 2.3 * len(ESTIMATORS)),
            sharex=True, sharey="row", layout="constrained",
        )  # fmt: skip
        rows = []
        for column, (problem, own) in enumerate(curves.items()):
            for row, estimator in enumerate(ESTIMATORS):
                ax = axes[row, column]
                rows += _draw(ax, problem, estimator, own[estimator], quantity)
                ax.set_title(f"{problem}, {estimator}", fontsize=8)
        figure.supxlabel("target quantile γ′", fontsize=9)
        figure.supylabel(f"{label}, mean ± standard error of ten seeds", fontsize=9)
        figure.savefig(folder / f"{quantity}.png", dpi=110)
        plt.close(figure)
        with (folder / f"{quantity}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["problem", "estimator", "parameter", "level", "mean", "standard_error"])
            writer.writerows(rows)


def _draw(ax: Axes, problem: str, estimator: str, own: Curves, quantity: str) -> list[tuple]:
    rows = []
    shares = own.arrays[quantity] if quantity in ("importance", "variance") else own.shares(quantity)
    for j, (name, colour) in enumerate(zip(own.names, PALETTE, strict=False)):
        each = shares[..., j]
        mean, error = each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(len(each))
        ax.plot(own.levels, mean, color=colour, label=name, linewidth=1.4)
        ax.fill_between(own.levels, mean - error, mean + error, color=colour, alpha=0.25, linewidth=0)
        rows += [
            (problem, estimator, name, f"{level:g}", f"{m:.5f}", f"{e:.5f}")
            for level, m, e in zip(own.levels, mean, error, strict=True)
        ]
    ax.legend(fontsize=7, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return rows
