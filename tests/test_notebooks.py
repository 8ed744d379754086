"""The notebooks with outputs, beside their text form."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def code_of(text: str) -> list[str]:
    """Code cells of the text form."""
    cells = text.split("\n# %%")[1:]
    return [cell.strip() for cell in cells if not cell.startswith(" [markdown]")]


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.py")), ids=lambda path: path.stem)
def test_outputs_are_those_of_the_text(path):
    """Catches a notebook that was edited and not run again (.ci/notebooks.py --out notebooks)."""
    cells = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert ["".join(cell["source"]).strip() for cell in code] == code_of(path.read_text(encoding="utf-8"))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert any("image/png" in output.get("data", {}) for output in outputs)


def test_there_are_notebooks():
    assert len(list(NOTEBOOKS.glob("*.py"))) == len(list(NOTEBOOKS.glob("*.ipynb"))) >= 3
