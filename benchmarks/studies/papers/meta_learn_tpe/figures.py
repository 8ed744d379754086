"""The paper's pictures from our runs, and the numbers of each as a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter

from benchmarks.studies.papers.drawing import legend, save, short
from benchmarks.studies.papers.meta_learn_tpe import ellipsoids, two_metrics
from benchmarks.studies.papers.meta_learn_tpe.rows import tables_found
from benchmarks.studies.papers.meta_learn_tpe.searches import EVERY
from benchmarks.studies.papers.runs import Arrays
from parzax.lens._palette import PALETTE
from parzax.lens.plotting.runs import attained_corners

FOLDER, STEP = "meta_learn_tpe", 5


def figures(found: Mapping[str, Arrays], out: Path) -> None:
    """Ellipsoids; on tables the curves, attainment surfaces, counts of the top, and settings of eta."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    _figure_2(found, folder)
    _figure_12(found, folder)
    own = tables_found(found)
    if own:
        _curves(own, (*two_metrics.METHODS, two_metrics.ALONE), folder / "figures_4_5")
        _curves(own, [f"eta/{eta:g}" for eta in two_metrics.ETAS], folder / "figures_10_11")
        _attained(own, folder)
        _tops(own, folder)


def _figure_2(found: Mapping[str, Arrays], folder: Path) -> None:
    """Means with one standard error, medians below, and the weights of the sources."""
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained")
    lines = []
    for row, method in zip(axes, (ellipsoids.OURS, ellipsoids.NAIVE), strict=True):
        shown = {f"c* = {c}": found[f"one/{c}"][f"{method}/best"] for c in ellipsoids.CENTERS}
        shown["TPE"] = found[f"alone/{ellipsoids.FEW}"]["best"]
        for ax, statistic in zip(row, ("mean", "median"), strict=True):
            for (label, each), colour in zip(shown.items(), PALETTE, strict=False):
                lines += _line(ax, each, statistic, colour, label, (method,))
            ax.set(yscale="log", title=f"{method}: {statistic}")
    legend(figure, axes[0, 0])
    figure.supxlabel("evaluations", fontsize=9)
    figure.supylabel("best loss", fontsize=9)
    save(
        figure, folder / "figure_2", ("method", "source", "statistic", "evaluation", "value", "error"), lines
    )
    figure, ax = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
    lines = []
    for c, colour in zip(ellipsoids.CENTERS, PALETTE, strict=False):
        weight = found[f"one/{c}"][f"{ellipsoids.OURS}/similarity"] / 2
        at = EVERY * np.arange(1, weight.shape[1] + 1)
        ax.plot(at, weight.mean(axis=0), color=colour, label=f"c* = {c}", linewidth=1.4)
        lines += [(c, int(n), f"{w:.4f}") for n, w in zip(at, weight.mean(axis=0), strict=True)]
    ax.set(xlabel="evaluations", ylabel="weight of the source, s / 2")
    ax.legend(fontsize=7, frameon=False)
    _plain(ax)
    save(figure, folder / "figure_2_weights", ("center", "evaluation", "weight"), lines)


def _figure_12(found: Mapping[str, Arrays], folder: Path) -> None:
    names = sorted(name for name in found if name.startswith("several/"))
    across = min(len(names), 4)
    down = -(-len(names) // across)
    figure, axes = plt.subplots(
        down, across, figsize=(2.7 * across, 2.5 * down), sharex=True, sharey=True, squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    lines = []
    for ax, name in zip(axes.flat, names, strict=False):
        _, kind, n = name.split("/")
        shown = {f"c* = {c}": found[name][f"{c}"] for c in ellipsoids.MANY_CENTERS}
        shown["TPE"] = found[f"alone/{ellipsoids.MANY}"]["best"]
        for (label, each), colour in zip(shown.items(), PALETTE, strict=False):
            lines += _line(ax, each, "median", colour, label, (kind, n))
        sources = f"{n} source" + "s" * (n != "1")
        ax.set_yscale("log")
        ax.set_title(f"{sources}, {'one log' if kind == 'same' else 'own logs'}", fontsize=8)
    legend(figure, axes[0, 0])
    figure.supxlabel("evaluations", fontsize=9)
    figure.supylabel("median best loss", fontsize=9)
    header = ("logs", "sources", "center", "statistic", "evaluation", "value", "error")
    save(figure, folder / "figure_12", header, lines)


def _curves(own: Mapping[str, two_metrics.Found], methods: Sequence[str], path: Path) -> None:
    """How far each is from the true front, which a log axis shows."""
    figure, axes = plt.subplots(1, len(own), figsize=(3 * len(own), 3), squeeze=False, layout="constrained")
    lines = []
    for ax, (table, each) in zip(axes[0], own.items(), strict=True):
        for method, colour in zip(methods, PALETTE, strict=False):
            lines += _line(ax, 1 - each.share[method], "mean", colour, method, (table,))
        ax.set_yscale("log")
        ax.set_title(table, fontsize=8)
    legend(figure, axes[0, 0])
    figure.supxlabel("evaluations", fontsize=9)
    figure.supylabel("1 - hypervolume over that of the true front", fontsize=9)
    save(figure, path, ("table", "method", "statistic", "evaluation", "value", "error"), lines)


def _attained(own: Mapping[str, two_metrics.Found], folder: Path) -> None:
    """Figures 7, 8: what half of the runs attain, and the true front."""
    figure, axes = plt.subplots(1, len(own), figsize=(3 * len(own), 3), squeeze=False, layout="constrained")
    lines = []
    for ax, (table, each) in zip(axes[0], own.items(), strict=True):
        for method, colour in zip((two_metrics.OURS, two_metrics.MO), PALETTE, strict=False):
            objectives = each.objectives[method]
            x, y = attained_corners(objectives, len(objectives) // 2).T
            ax.step(x, y, where="post", color=colour, label=method, linewidth=1.4)
            lines += [(table, method, short(a), short(b)) for a, b in zip(x, y, strict=True)]
        ax.plot(
            *each.front[np.argsort(each.front[:, 0])].T, ".", color="0.4", markersize=3, label="true front"
        )
        if (each.front[:, 0] > 0).all():
            ax.set_xscale("log")
            ax.xaxis.set_minor_formatter(NullFormatter())
        ax.set_title(table, fontsize=8)
        _plain(ax)
    legend(figure, axes[0, 0])
    figure.supxlabel("first metric, as a loss", fontsize=9)
    figure.supylabel("second metric", fontsize=9)
    save(figure, folder / "figures_7_8", ("table", "method", "x", "y"), lines)


def _tops(own: Mapping[str, two_metrics.Found], folder: Path) -> None:
    figure, axes = plt.subplots(
        len(two_metrics.TOPS), len(own), figsize=(3 * len(own), 5), squeeze=False, sharex=True,
        layout="constrained",
    )  # fmt: skip
    lines = []
    for row, top in zip(axes, two_metrics.TOPS, strict=True):
        for ax, (table, each) in zip(row, own.items(), strict=True):
            for method, colour in zip(two_metrics.METHODS, PALETTE, strict=False):
                lines += _line(ax, each.tops[top][method].astype(float), "mean", colour, method, (top, table))
            ax.set_title(f"{table}, top {100 * top:g} %", fontsize=8)
    legend(figure, axes[0, 0])
    figure.supxlabel("evaluations", fontsize=9)
    figure.supylabel("evaluations so far that are of the top", fontsize=9)
    save(
        figure,
        folder / "figure_9",
        ("top", "table", "method", "statistic", "evaluation", "value", "error"),
        lines,
    )


def _line(ax: Axes, each: np.ndarray, statistic: str, colour: str, label: str, names: tuple) -> list[tuple]:
    """Mean with one standard error or median with quartiles; the numbers at every fifth evaluation."""
    at = np.arange(1, each.shape[1] + 1)
    if statistic == "mean":
        middle, error = each.mean(axis=0), each.std(axis=0, ddof=1) / np.sqrt(len(each))
        low, high = middle - error, middle + error
    else:
        low, middle, high = np.quantile(each, (0.25, 0.5, 0.75), axis=0)
        error = (high - low) / 2
    ax.plot(at, middle, color=colour, label=label, linewidth=1.4)
    ax.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
    _plain(ax)
    chosen = range(STEP - 1, len(at), STEP)
    return [(*names, label, statistic, int(at[i]), short(middle[i]), short(error[i])) for i in chosen]


def _plain(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
