"""What pictures of the papers share: a legend above all panels, and a table of the numbers beside each."""

import csv
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure


def legend(figure: Figure, ax: Axes) -> None:
    """One for all panels, above them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8, frameon=False)


def save(figure: Figure, path: Path, header: Sequence[str], lines: Sequence[tuple]) -> None:
    """The picture as PNG and its numbers as CSV; closes it."""
    figure.savefig(path.with_suffix(".png"), dpi=110)
    plt.close(figure)
    with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


def short(x: float) -> str:
    """A number of such a table."""
    return f"{x:.5g}"
