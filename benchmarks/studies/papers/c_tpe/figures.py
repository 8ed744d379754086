"""The paper's pictures from our runs, and the numbers of each as a table."""

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.patches import Circle

from benchmarks.studies.papers.c_tpe import feasible, settings, toy, trajectories, unconstrained
from benchmarks.studies.papers.c_tpe.results import Results, percentage_loss
from benchmarks.studies.papers.c_tpe.rows import results, unconstrained_runs
from benchmarks.studies.papers.drawing import legend, save, short
from benchmarks.studies.papers.runs import Arrays
from parzax.lens._palette import PALETTE

FOLDER = "c_tpe"
EVERY = 5  # evaluations between two rows of a table of numbers


def figures(found: Mapping[str, Arrays], out: Path) -> None:
    """Maps of both scores and runs on the toy; losses, ranks and feasible shares where there are tables."""
    folder = out / FOLDER
    folder.mkdir(exist_ok=True)
    _maps(found["toy/maps"], folder)
    _overlaps(found["toy/overlaps"], folder)
    own = results(found)
    if own.oracle:
        for kind in settings.CONSTRAINTS:
            _losses(own, kind, folder)
            _ranks(own, kind, folder)
        _beyond(own, folder)
        _shares(own, folder)
        _without_constraints(unconstrained_runs(found), folder)


def _maps(found: Arrays, folder: Path) -> None:
    """Figure 2: the scores of the first draw, the disc and the best point."""
    figure, axes = plt.subplots(2, 2, figsize=(7, 6.4), sharex=True, sharey=True, layout="constrained")
    lines = []
    for row, (name, (radius, *_)) in zip(axes, toy.MAPS.items(), strict=True):
        for ax, method in zip(row, toy.METHODS, strict=True):
            score = found[f"score/{name}/{method}"][0]
            square = score.reshape(toy.N_GRID, toy.N_GRID).T
            ax.imshow(square, origin="lower", extent=(-5, 5, -5, 5), cmap="viridis", aspect="equal")
            ax.add_patch(Circle((1, 1), radius, fill=False, color="white", linewidth=1.2))
            x, y = toy.grid()[score.argmax()]
            ax.plot(x, y, "x", color=PALETTE[1], markersize=9, markeredgewidth=2)
            ax.set_title(f"{method}, c* = {radius**2:g}", fontsize=9)
            lines += [(name, method, i, *map(short, toy.grid()[own.argmax()])) for i, own in
                      enumerate(found[f"score/{name}/{method}"])]  # fmt: skip
    figure.supxlabel(
        "x₁: log score of 200 rows; the circle is the feasible disc, the cross the best point", fontsize=8
    )
    save(figure, folder / "figure_2", ("constraint", "method", "draw", "best_x1", "best_x2"), lines)


def _overlaps(found: Arrays, folder: Path) -> None:
    """Figure 3: evaluations of the first run."""
    figure, axes = plt.subplots(2, 2, figsize=(6.6, 6.6), sharex=True, sharey=True, layout="constrained")
    lines = []
    colours = ScalarMappable(Normalize(1, toy.N_EVALUATIONS), "viridis")
    for row, (name, middle) in zip(axes, toy.OVERLAPS.items(), strict=True):
        for ax, method in zip(row, toy.METHODS, strict=True):
            x = found[f"x/{name}/{method}"][0]
            for at, colour in ((0.0, PALETTE[0]), (middle, PALETTE[2])):
                ax.add_patch(Circle((at, at), toy.RADIUS, fill=False, color=colour))
            ax.scatter(*x.T, c=np.arange(len(x)), s=12, cmap="viridis")
            ax.set(xlim=(-5, 5), ylim=(-5, 5), aspect="equal")
            ax.set_title(f"{method}, {name} overlap", fontsize=9)
            lines += [(name, method, i, *map(short, own)) for i, own in enumerate(x)]
    figure.colorbar(colours, ax=axes, label="evaluation", shrink=0.6)
    save(figure, folder / "figure_3", ("overlap", "method", "evaluation", "x1", "x2"), lines)


def _losses(own: Results, kind: str, folder: Path) -> None:
    """Figures 1, 7-9, 13-15: absolute percentage loss."""
    methods = [*trajectories.RANKED, settings.CNSGA]
    tables = own.tables()
    figure, axes = plt.subplots(
        len(settings.PRINTED_QUANTILES), len(tables), squeeze=False, sharex=True, layout="constrained",
        figsize=(2.6 * len(tables), 2.1 * len(settings.PRINTED_QUANTILES)),
    )  # fmt: skip
    lines = []
    for setting in sorted(own.oracle):
        if setting.constraints != kind:
            continue
        ax = None
        if setting.quantile in settings.PRINTED_QUANTILES:
            ax = axes[settings.PRINTED_QUANTILES.index(setting.quantile), tables.index(setting.table)]
            ax.set_title(f"{setting.table}, {setting.quantile:g}", fontsize=8)
            ax.set_yscale("log")
        for method, colour in zip(methods, PALETTE, strict=False):
            if setting not in own.losses.get(method, {}):
                continue
            loss = percentage_loss(own, method, setting)
            mean, error = loss.mean(axis=0), loss.std(axis=0, ddof=1) / np.sqrt(len(loss))
            chosen = np.arange(EVERY - 1, loss.shape[1], EVERY)
            lines += [(*setting, method, i + 1, short(mean[i]), short(error[i])) for i in chosen]
            if ax is not None:
                _band(ax, mean, error, colour, method)
    legend(figure, axes[0, 0])
    figure.supxlabel("evaluations", fontsize=9)
    figure.supylabel(f"absolute percentage loss, {kind} constrained, mean ± standard error", fontsize=9)
    header = ("table", "constraints", "quantile", "method", "evaluation", "mean", "standard_error")
    save(figure, folder / f"losses_{kind}", header, lines)


def _ranks(own: Results, kind: str, folder: Path) -> None:
    """Figures 16-18: average rank over tables, a panel for each quantile."""
    quantiles = sorted({setting.quantile for setting in own.oracle})
    n = int(np.ceil(np.sqrt(len(quantiles))))
    figure, axes = plt.subplots(
        -(-len(quantiles) // n), n, figsize=(2.7 * n, 2.2 * -(-len(quantiles) // n)), squeeze=False,
        sharex=True, sharey=True, layout="constrained",
    )  # fmt: skip
    lines = []
    for ax, quantile in zip(axes.flat, quantiles, strict=False):
        ranks = trajectories.average_ranks(own, kind, quantile, None)
        methods = trajectories.methods_at(own, kind, quantile)
        for method, rank, colour in zip(methods, ranks, PALETTE, strict=False):
            ax.plot(np.arange(1, len(rank) + 1), rank, color=colour, label=method, linewidth=1.4)
            lines += [(quantile, method, i + 1, short(rank[i])) for i in range(EVERY - 1, len(rank), EVERY)]
        ax.set_title(f"{quantile:g}", fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    legend(figure, axes.flat[0])
    figure.supxlabel("evaluations", fontsize=9)
    figure.supylabel(f"average rank, {kind} constrained", fontsize=9)
    save(figure, folder / f"ranks_{kind}", ("quantile", "method", "evaluation", "rank"), lines)


def _beyond(own: Results, folder: Path) -> None:
    """Figure 5, counted: evaluations that are better than the oracle and infeasible."""
    quantiles = settings.PRINTED_QUANTILES
    figure, axes = plt.subplots(
        1, len(quantiles), figsize=(3 * len(quantiles), 3), sharey=True, squeeze=False, layout="constrained"
    )
    lines, methods = [], (settings.OURS, settings.NAIVE, settings.VANILLA)
    for ax, quantile in zip(axes.flat, quantiles, strict=True):
        chosen = own.settings(methods, quantile)
        for method, colour in zip(methods, PALETTE, strict=False):
            each = [np.cumsum(feasible.beyond_oracle(own, method, at).mean(axis=0)) for at in chosen]
            count = np.mean(each, axis=0)
            ax.plot(np.arange(1, len(count) + 1), count, color=colour, label=method, linewidth=1.4)
            lines += [(quantile, method, i + 1, short(count[i])) for i in range(EVERY - 1, len(count), EVERY)]
        ax.set_title(f"{quantile:g}", fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    legend(figure, axes[0, 0])
    figure.supxlabel("evaluations; quantile of the constraints above each panel", fontsize=9)
    figure.supylabel("better than the oracle, infeasible", fontsize=9)
    save(figure, folder / "figure_5", ("quantile", "method", "evaluation", "number"), lines)


def _shares(own: Results, folder: Path) -> None:
    """Figure 6: what augmentation adds to the share of feasible suggestions."""
    figure, ax = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    quantiles = sorted({setting.quantile for setting in own.oracle})
    colours, lines = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(quantiles))), []
    for quantile, colour in zip(quantiles, colours, strict=True):
        chosen = own.settings((settings.AUGMENTED, settings.OURS), quantile)
        gain = np.mean(
            [
                feasible.feasible_share(own, settings.AUGMENTED, setting).mean(axis=0)
                - feasible.feasible_share(own, settings.OURS, setting).mean(axis=0)
                for setting in chosen
            ],
            axis=0,
        )
        ax.plot(np.arange(1, len(gain) + 1), gain, color=colour, label=f"{quantile:g}", linewidth=1.4)
        lines += [(quantile, i + 1, short(gain[i])) for i in range(EVERY - 1, len(gain), EVERY)]
    ax.axhline(0, color="0.6", linewidth=0.8)
    ax.set(xlabel="evaluations", ylabel="share of feasible suggestions,\nwith augmentation less without")
    ax.legend(fontsize=7, frameon=False, title="quantile", ncols=3)
    ax.spines[["top", "right"]].set_visible(False)
    save(figure, folder / "figure_6", ("quantile", "evaluation", "gain"), lines)


def _without_constraints(own: Mapping[str, Mapping[str, np.ndarray]], folder: Path) -> None:
    """Best loss so far by table, beside the released runs of the paper's TPE."""
    tables = list(own[unconstrained.PRESET])
    theirs = unconstrained.released(tables).get("our TPE", {})
    methods = dict(own) | ({"the paper's TPE, released": theirs} if theirs else {})
    width = max(2.6 * len(tables), 8)
    figure, axes = plt.subplots(1, len(tables), figsize=(width, 2.8), squeeze=False, layout="constrained")
    lines = []
    for ax, table in zip(axes.flat, tables, strict=True):
        for (method, runs), colour in zip(methods.items(), PALETTE, strict=False):
            if table not in runs:
                continue
            best = np.minimum.accumulate(runs[table].astype(float), axis=1)
            mean, error = best.mean(axis=0), best.std(axis=0, ddof=1) / np.sqrt(len(best))
            _band(ax, mean, error, colour, method)
            chosen = range(EVERY - 1, len(mean), EVERY)
            lines += [(table, method, i + 1, short(mean[i]), short(error[i])) for i in chosen]
        ax.set_yscale("log")
        ax.set_title(table, fontsize=8)
    legend(figure, axes[0, 0])
    figure.supxlabel("evaluations", fontsize=9)
    figure.supylabel("best loss", fontsize=9)
    save(figure, folder / "unconstrained", ("table", "method", "evaluation", "mean", "standard_error"), lines)


def _band(ax: Axes, mean: np.ndarray, error: np.ndarray, colour: str, label: str) -> None:
    at = np.arange(1, len(mean) + 1)
    ax.plot(at, mean, color=colour, label=label, linewidth=1.4)
    ax.fill_between(at, np.maximum(mean - error, 1e-12), mean + error, color=colour, alpha=0.25, linewidth=0)
    ax.spines[["top", "right"]].set_visible(False)
