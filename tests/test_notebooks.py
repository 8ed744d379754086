"""The notebooks with outputs, beside their text form."""

import base64
import copy
import io
import json
import re
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.py"))
sys.path.append(str(ROOT / ".ci"))
from outputs import PIXELS, differences, texts_agree  # noqa: E402


def code_of(text: str) -> list[str]:
    """Code cells of the text form, without their tags."""
    cells = text.split("\n# %%")[1:]
    return [cell.partition("\n")[2].strip() for cell in cells if not cell.startswith(" [markdown]")]


def stored_cells(path: Path) -> list[dict]:
    """Code cells of the notebook with outputs."""
    cells = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_outputs_are_those_of_the_text(path):
    """Catches a notebook that was edited and not run again (.ci/notebooks.py --out notebooks)."""
    code = stored_cells(path)
    assert ["".join(cell["source"]).strip() for cell in code] == code_of(path.read_text(encoding="utf-8"))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_outputs_hold_nothing_that_changes_from_run_to_run(path):
    """Catches addresses of objects and times of the machine in a stored output."""
    for cell in stored_cells(path):
        for output in cell["outputs"]:
            text = "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
            assert not re.search(r" at 0x[0-9a-f]+|\d (s|ms|us|seconds)\b", text), text
    assert not list(differences(stored_cells(path), stored_cells(path)))


def test_there_are_notebooks():
    assert len(PATHS) == len(list(NOTEBOOKS.glob("*.ipynb"))) >= 3


@pytest.mark.parametrize(
    ("stored", "fresh", "agree"),
    [
        ("{'c': '0.191', 'x': '0.802'}", "{'c': '0.179', 'x': '0.812'}", False),
        ("c: 0.941 ± 0.012", "c: 0.942 ± 0.012", True),  # the last digit
        ("c: 0.941 ± 0.012", "c: 0.946 ± 0.012", False),
        ("shape (10, 99, 3)", "shape (10, 98, 3)", False),  # whole numbers are counts
        ("[0.14500001 0.21000001]", "[0.145 0.21 ]", True),
        ("[-4.0]", "[4.0]", False),
        ("loss 1.2e-08", "loss 1.3e-08", True),
        ("loss 1.2e-08", "loss 1.2e-06", False),
        ("most important: x", "most important: y", False),
        ("a 1.0, b 2.0", "a 1.0", False),
    ],
)
def test_texts_that_agree(stored, fresh, agree):
    """Catches a stale number, a changed word, and a failure where a processor rounds otherwise."""
    assert texts_agree(stored, fresh, 0.002) is agree


def png(pixels: np.ndarray) -> str:
    file = io.BytesIO()
    matplotlib.image.imsave(file, pixels)
    return base64.b64encode(file.getvalue()).decode()


def cell(*outputs: dict, tags: tuple[str, ...] = (), source: str = "show()") -> dict:
    return {"cell_type": "code", "source": source, "metadata": {"tags": tags}, "outputs": list(outputs)}


def printed(text: str) -> dict:
    return {"output_type": "stream", "name": "stdout", "text": text}


def shown(**data: str) -> dict:
    kinds = {"png": "image/png", "plain": "text/plain"}
    return {"output_type": "display_data", "data": {kinds[name]: content for name, content in data.items()}}


def test_stale_outputs_are_found(monkeypatch):
    """Catches a changed, missing or additional output that passes, and a failure where runs may diverge."""
    pixels = np.random.default_rng(0).uniform(size=(60, 80, 3))
    redrawn = pixels.copy()
    redrawn[:10, :10] = 1 - redrawn[:10, :10]
    assert np.abs(redrawn - pixels).mean() > 2 * PIXELS
    text, picture = printed("regret 0.502\n"), shown(png=png(pixels), plain="<Figure size 80x60 with 1 Axes>")
    stored = [cell(text, picture)]
    assert not list(differences(stored, copy.deepcopy(stored)))
    # A printed text may be cut anywhere.
    assert not list(differences(stored, [cell(printed("regret "), printed("0.502\n"), picture)]))
    another = printed("regret 0.55\n")
    stale = [
        [cell(picture)],
        [cell(text)],
        [cell(text, picture, picture)],
        [cell(printed("regret 0.51\n"), picture)],
        [cell(text, shown(png=png(redrawn), plain="<Figure size 80x60 with 1 Axes>"))],
        [cell(text, shown(png=png(pixels), plain="<Figure size 80x60 with 2 Axes>"))],
        [cell(text, shown(png=png(pixels[:50]), plain="<Figure size 80x60 with 1 Axes>"))],
    ]
    for fresh in stale:
        (found,) = differences(stored, fresh)
        assert found.startswith("cell of code 1 stores ")
    # Runs that diverge move by more, but not to another result.
    assert not list(differences(stored, [cell(another, picture, tags=("runs",))]))
    assert list(differences(stored, [cell(printed("regret 4.287\n"), picture, tags=("runs",))]))
    # What reads the reference logs cannot be compared without them.
    monkeypatch.delenv("PARZAX_DATA", raising=False)
    logs = "os.environ.get('PARZAX_DATA')"
    assert not list(differences([cell(text, source=logs)], [cell(another, source=logs)]))
