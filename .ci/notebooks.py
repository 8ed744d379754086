"""Execute every notebook (text form) in a scratch folder; the first error ends it.

``--out FOLDER`` keeps them with their outputs, as ``.ipynb``: in ``notebooks`` they are what a browser shows.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
# Tracing makes objects by the million, most of which stay: looking through them less often saves a twentieth.
SETTINGS = ["--IPKernelApp.exec_lines=import gc; gc.set_threshold(100_000, 50, 100)"]


def main() -> None:
    """Convert and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # pictures are outputs
    paths = sorted(NOTEBOOKS.glob("*.py"))
    if not paths:
        sys.exit("there are no notebooks.")
    for path in paths:
        start = time.perf_counter()
        notebook = jupytext.read(path)
        with tempfile.TemporaryDirectory() as folder:
            NotebookClient(
                notebook, timeout=900, kernel_name="python3", record_timing=False, extra_arguments=SETTINGS,
                resources={"metadata": {"path": folder}},
            ).execute()  # fmt: skip
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            nbformat.write(plain(notebook), out / f"{path.stem}.ipynb")
        print(f"{path.name}: {len(cells)} cells ran in {time.perf_counter() - start:.0f} s")


def plain(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what differs from one run to the next: names of cells, and progress on the standard error."""
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i}"
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


if __name__ == "__main__":
    main()
