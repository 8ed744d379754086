"""The paper's pictures from our runs, and the numbers of each as a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from benchmarks.studies.papers import data
from benchmarks.studies.papers.cond_ped_anova import baselines, sizes, times
from benchmarks.studies.papers.cond_ped_anova.curves import (
    ESTIMATORS,
    LEVELS,
    N_ROWS,
    PROBLEMS,
    Curves,
    of_unit,
)
from benchmarks.studies.papers.cond_ped_anova.statements import DISJOINT
from benchmarks.studies.papers.drawing import legend, save, short
from benchmarks.studies.papers.runs import Arrays
from parzax.lens._palette import PALETTE

FOLDER = "cond_ped_anova"
# What each picture shows of every problem.
PICTURES = {
    "importance": "importance",
    "variance": "within-regime variance",
    "standard": "share of the standard variance (Eq. 17)",
    "unweighted": "share without weights (Eq. 18)",
}
REGIONS = (0.75, 0.5)
# Of the learners' figures: how many parameters.
N_FIRST = 5
# What a panel shows, by estimator.
Panel = Mapping[str, Curves]


def figures(found: Mapping[str, Arrays], out: Path) -> None:
    """Curves over the levels, problems across, estimators down; times; learners where there are logs."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    source = "fresh" if data.folder() is None else "stored"
    whole = {name: of_unit(found[f"curves/{source}/{name}"], name) for name in PROBLEMS}
    for quantity, label in PICTURES.items():
        _sweeps(whole, quantity, label, folder / quantity)
    _sweeps(_baselines(found, source), "importance", "importance", folder / "baselines")
    units = {region: found[f"curves/{source}/{DISJOINT}-{region:g}"] for region in REGIONS}
    regions = {f"{DISJOINT}, γ = {x:g}": of_unit(unit, DISJOINT, x) for x, unit in units.items()}
    _sweeps(regions, "importance", "importance", folder / "regions")
    by_rows = {n: found[f"sizes/{DISJOINT}-{n}"] for n in sizes.FEWER}
    by_rows[N_ROWS] = found[f"curves/fresh/{DISJOINT}"]
    panels = {f"{DISJOINT}, N = {n}": of_unit(unit, DISJOINT) for n, unit in by_rows.items()}
    _sweeps(panels, "importance", "importance", folder / "sizes")
    _times(found, folder)
    for kind, scenario in (("learners", "rbv2_super, instance "), ("more", "")):
        logs = {name: own for name, own in found.items() if name.startswith(f"{kind}/") and own}
        if logs:
            _first(logs, scenario, folder / kind)


def _baselines(found: Mapping[str, Arrays], source: str) -> dict[str, Panel]:
    return {
        f"{problem}, {variant}": baselines.curves_of(found, source, problem, variant)
        for problem, variants in baselines.VARIANTS.items()
        for variant in variants
    }


def _sweeps(panels: Mapping[str, Panel], quantity: str, label: str, path: Path) -> None:
    """Means with one standard error."""
    figure, axes = plt.subplots(
        len(ESTIMATORS), len(panels), figsize=(max(3 * len(panels), 6), 2.3 * len(ESTIMATORS)),
        sharex=True, sharey="row", layout="constrained", squeeze=False,
    )  # fmt: skip
    lines = []
    for column, (problem, own) in enumerate(panels.items()):
        for row, estimator in enumerate(ESTIMATORS):
            ax, curves = axes[row, column], own[estimator]
            plain = quantity in ("importance", "variance")
            each = curves.arrays[quantity] if plain else curves.shares(quantity)
            lines += _draw(ax, (problem, estimator), curves.names, curves.levels, each)
            ax.set_title(f"{problem}, {estimator}", fontsize=8)
    figure.supxlabel("target quantile γ′", fontsize=9)
    figure.supylabel(f"{label}, mean ± standard error over the seeds", fontsize=9)
    save(figure, path, ("problem", "estimator", "parameter", "level", "mean", "standard_error"), lines)


def _draw(
    ax: Axes, where: tuple[str, ...], names: Sequence[str], levels: np.ndarray, each: np.ndarray
) -> list[tuple]:
    """Curves of (s, q, d), and the lines of their table."""
    lines = []
    for j, (name, colour) in enumerate(zip(names, PALETTE, strict=False)):
        mean, error = each[..., j].mean(axis=0), each[..., j].std(axis=0, ddof=1) / np.sqrt(len(each))
        ax.plot(levels, mean, color=colour, label=name, linewidth=1.4)
        ax.fill_between(levels, mean - error, mean + error, color=colour, alpha=0.25, linewidth=0)
        lines += [
            (*where, name, f"{level:g}", f"{m:.5f}", f"{e:.5f}")
            for level, m, e in zip(levels, mean, error, strict=True)
        ]
    ax.legend(fontsize=7, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return lines


def _times(found: Mapping[str, Arrays], folder: Path) -> None:
    """Figure 6: seconds by the number of rows."""
    figure, axes = plt.subplots(1, len(times.SHOWN), figsize=(8, 3.4), sharey=True, layout="constrained")
    lines = []
    for ax, problem in zip(axes, times.SHOWN, strict=True):
        for (method, own), colour in zip(times.seconds_of(found, problem).items(), PALETTE, strict=False):
            ax.loglog(own["sizes"], own[method], "o-", color=colour, label=method, markersize=3)
            lines += [
                (problem, method, int(n), short(x))
                for n, x in zip(own["sizes"], own[method], strict=True)
                if np.isfinite(x)
            ]
        ax.set_title(problem, fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    legend(figure, axes[0])
    figure.supxlabel("rows", fontsize=9)
    figure.supylabel("seconds", fontsize=9)
    save(figure, folder / "times", ("problem", "method", "rows", "seconds"), lines)


def _first(logs: Mapping[str, Arrays], scenario: str, path: Path) -> None:
    """The first parameters of real logs, by the largest importance at any level."""
    figure, axes = plt.subplots(
        1, len(logs), figsize=(4.2 * len(logs), 3.2), sharey=True, layout="constrained", squeeze=False
    )
    lines = []
    for ax, (unit, own) in zip(axes.flat, logs.items(), strict=True):
        instance = unit.split("/")[1]
        first = np.argsort(-np.nanmax(own["default"].mean(axis=0), axis=0))[:N_FIRST]
        names = [str(own["names"][j]) for j in first]
        lines += _draw(ax, (instance, "default"), names, LEVELS, own["default"][..., first])
        ax.set_title(f"{scenario}{instance}", fontsize=8)
    figure.supxlabel("target quantile γ′", fontsize=9)
    figure.supylabel("importance", fontsize=9)
    save(figure, path, ("instance", "estimator", "parameter", "level", "mean", "standard_error"), lines)
