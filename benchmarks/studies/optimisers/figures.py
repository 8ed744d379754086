"""Pictures: gaps over evaluations, and mean ranks with the difference that would be seen."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.studies.optimisers import scores
from benchmarks.studies.optimisers.methods import RANDOM
from benchmarks.studies.optimisers.scores import Curves
from benchmarks.studies.papers.drawing import legend, save, short
from parzax.lens._palette import PALETTE

EVERY = 5  # evaluations between two rows of a table of numbers
STYLES = ("-", "--", ":")


def anytime(
    found: Mapping[str, Curves], scale: Mapping[str, float], groups: Mapping[str, Sequence[str]], path: Path
) -> None:
    """A panel for each suite: geometric mean over its cases of the normalised gap."""
    figure, axes = plt.subplots(
        1, len(groups), figsize=(3.6 * len(groups), 3.8), layout="constrained", squeeze=False
    )
    lines = []
    for ax, (name, cases) in zip(axes[0], groups.items(), strict=True):
        for i, (method, own) in enumerate(found.items()):
            mean = np.exp(np.log(scores.normalised(own, scale, cases)).mean(axis=0))
            x = np.arange(1, len(mean) + 1)
            ax.plot(
                x, mean, color=PALETTE[i % len(PALETTE)], ls=STYLES[i // len(PALETTE)], lw=1.4, label=method,
            )  # fmt: skip
            lines += [
                (name, method, int(n), short(y)) for n, y in zip(x, mean, strict=True) if n % EVERY == 0
            ]
        ax.set(yscale="log", title=f"{name}, {len(cases)} problems")
    figure.supxlabel("evaluations", fontsize=9)
    figure.supylabel("normalised gap", fontsize=9)
    legend(figure, axes[0][0])
    save(figure, path, ("suite", "method", "evaluations", "normalised_gap"), lines)


def worth(
    found: Mapping[str, Curves],
    scale: Mapping[str, float],
    groups: Mapping[str, Sequence[str]],
    reference: str,
    budget: int,
    path: Path,
) -> None:
    """A panel for each suite: gaps over those of the reference, geometric means over its cases."""
    names = [name for name in found if name not in (reference, RANDOM)]
    figure, axes = plt.subplots(
        1, len(groups), figsize=(2.4 + 2.6 * len(groups), 0.9 + 0.22 * len(names)), layout="constrained",
        sharey=True, squeeze=False,
    )  # fmt: skip
    lines = []
    for ax, (suite, cases) in zip(axes[0], groups.items(), strict=True):
        own = scores.normalised(found[reference], scale, cases)[:, budget - 1]
        for row, name in enumerate(names):
            ratio = scores.normalised(found[name], scale, cases)[:, budget - 1] / own
            mean, (low, high) = float(np.exp(np.log(ratio).mean())), scores.interval(ratio)
            ax.plot([low, high], [row, row], color="0.6", lw=1.2)
            ax.plot([mean], [row], "o", color=PALETTE[0], ms=4)
            lines.append((suite, name, short(mean), short(low), short(high)))
        ax.axvline(1, color="0.3", lw=0.8, ls=":")
        ax.set(xscale="log", title=f"{suite}, {len(cases)} problems")
        low, high = ax.get_xlim()
        ax.xaxis.set_major_locator(LogLocator(subs=(1,) if high > 100 * low else (1, 2, 5)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
    short_names = [name.removeprefix(f"{reference}, ") for name in names]
    axes[0][0].set(yticks=range(len(names)), yticklabels=short_names, ylim=(len(names) - 0.5, -0.5))
    axes[0][0].tick_params(axis="y", labelsize=8)
    figure.supxlabel(f"gap over that of {reference} after {budget} evaluations", fontsize=9)
    save(figure, path, ("suite", "method", "ratio", "low", "high"), lines)


def critical(
    mean_ranks: Mapping[str, float], difference: float, n_cases: int, title: str, path: Path
) -> None:
    """Mean ranks on an axis; bars join what the critical difference does not tell apart."""
    order = sorted(mean_ranks, key=lambda name: mean_ranks[name])
    values = [mean_ranks[name] for name in order]
    figure, ax = plt.subplots(figsize=(7, 0.6 + 0.34 * len(order)), layout="constrained")
    for row, (name, value) in enumerate(zip(order, values, strict=True)):
        ax.plot([value], [row], "o", color=PALETTE[0], ms=5)
        ax.annotate(f"{name}, {value:.2f}", (value, row), xytext=(8, 0), textcoords="offset points",
                    va="center", fontsize=8)  # fmt: skip
    for first, value in enumerate(values):
        last = max(i for i, other in enumerate(values) if other - value <= difference)
        joined = first and max(i for i, other in enumerate(values) if other - values[first - 1] <= difference)
        if last > first and last != joined:
            ax.plot([value, values[last]], [first - 0.3] * 2, color="0.6", lw=3, solid_capstyle="butt")
    low, high = min(values), max(values)
    ax.set(yticks=[], ylim=(len(order) - 0.4, -0.7), xlim=(low - 0.1, high + 0.45 * (high - low) + 0.6))
    ax.set_xlabel(f"mean rank on {n_cases} problems; critical difference {difference:.2f}", fontsize=9)
    ax.set_title(title, fontsize=10)
    ax.spines[["left", "top", "right"]].set_visible(False)
    lines = [(name, short(value), short(difference)) for name, value in zip(order, values, strict=True)]
    save(figure, path, ("method", "mean_rank", "critical_difference"), lines)
