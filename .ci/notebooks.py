"""Execute every notebook (text form) in a scratch folder; the first error ends it."""

import sys
import tempfile
import time
from pathlib import Path

import jupytext
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"


def main() -> None:
    """Convert and run; nothing is written beside the notebooks."""
    paths = sorted(NOTEBOOKS.glob("*.py"))
    if not paths:
        sys.exit("there are no notebooks.")
    for path in paths:
        start = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            notebook = jupytext.read(path)
            NotebookClient(
                notebook, timeout=900, kernel_name="python3", resources={"metadata": {"path": folder}}
            ).execute()
        cells = sum(cell.cell_type == "code" for cell in notebook.cells)
        print(f"{path.name}: {cells} cells ran in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
