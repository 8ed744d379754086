"""Differences between the stored outputs of a notebook and those of a fresh run."""

import base64
import difflib
import io
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib.image
import numpy as np

Cell = dict[str, Any]
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
# By how much numbers may differ, relative to the larger one, beside one unit of the last digit: processors
# round differently. In cells with the tag "runs" a sampler compares rounded scores, so its runs may diverge.
TOLERANCE, TOLERANCE_OF_RUNS = 0.002, 0.2
# The same for pictures: mean difference of pixels between 0 and 1.
PIXELS, PIXELS_OF_RUNS = 0.001, 0.02


def differences(stored: Sequence[Cell], fresh: Sequence[Cell]) -> Iterator[str]:
    """Yield a text for each stored output of a cell of code that is not that of the fresh run.

    Cells that read reference logs are left out where PARZAX_DATA is not set.
    """
    stored, fresh = ([cell for cell in cells if cell["cell_type"] == "code"] for cells in (stored, fresh))
    for number, (old, new) in enumerate(zip(stored, fresh, strict=True), start=1):
        if "PARZAX_DATA" in "".join(new["source"]) and not os.environ.get("PARZAX_DATA"):
            continue
        diverging = "runs" in new["metadata"].get("tags", ())
        before, after = outputs(old), outputs(new)
        kinds = [kind for kind, _ in before], [kind for kind, _ in after]
        if kinds[0] != kinds[1]:
            yield f"cell of code {number} stores {kinds[0]}, a fresh run gives {kinds[1]}"
            continue
        for (kind, left), (_, right) in zip(before, after, strict=True):
            if kind == "image/png":
                apart = picture_difference(left, right)
                if apart > (PIXELS_OF_RUNS if diverging else PIXELS):
                    yield f"cell of code {number} stores another picture: pixels differ by {apart:.4f}"
            elif not texts_agree(left, right, TOLERANCE_OF_RUNS if diverging else TOLERANCE):
                lines = list(difflib.unified_diff(left.splitlines(), right.splitlines(), n=0, lineterm=""))
                yield "\n".join((f"cell of code {number} stores (-), and a fresh run gives (+):", *lines[3:]))


def outputs(cell: Cell) -> list[tuple[str, str]]:
    """The printed text of a cell as one output, and every form of its other outputs."""
    printed = "".join("".join(x["text"]) for x in cell["outputs"] if x["output_type"] == "stream")
    return [("printed", printed)] + [
        (kind, "".join(content))
        for output in cell["outputs"]
        for kind, content in sorted(output.get("data", {}).items())
    ]


def texts_agree(left: str, right: str, tolerance: float) -> bool:
    """Whether texts are the same but for spaces, and numbers within the tolerance."""
    words = ["".join(NUMBER.sub("0", text).split()) for text in (left, right)]
    if words[0] != words[1]:
        return False
    pairs = zip(NUMBER.findall(left), NUMBER.findall(right), strict=True)
    return all(abs(float(x) - float(y)) <= allowance(x, y, tolerance) for x, y in pairs)


def allowance(x: str, y: str, tolerance: float) -> float:
    """The difference that two printed numbers may have: whole numbers none, unless runs may diverge."""
    digits, power = re.fullmatch(r"[^.e]*(\.\d*)?(?:e([-+]?\d+))?", x).groups()  # pyright: ignore
    if digits is None and tolerance == TOLERANCE:
        return 0.0
    unit = 10.0 ** (int(power or 0) - len((digits or ".")[1:]))
    return 1.001 * unit + tolerance * max(abs(float(x)), abs(float(y)))


def picture_difference(left: str, right: str) -> float:
    """Mean absolute difference of the pixels of two PNG pictures; 1 if their sizes differ by over 2 %."""
    one, other = (matplotlib.image.imread(io.BytesIO(base64.b64decode(png))) for png in (left, right))
    height, width = np.minimum(one.shape, other.shape)[:2]
    if height < 0.98 * max(len(one), len(other)) or width < 0.98 * max(one.shape[1], other.shape[1]):
        return 1.0
    return float(np.abs(one[:height, :width] - other[:height, :width]).mean())
