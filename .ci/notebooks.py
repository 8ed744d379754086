"""Execute every notebook (text form) in a scratch folder; the first error ends it.

``--out FOLDER`` keeps them with their outputs, as ``.ipynb``: in ``notebooks`` they are what a browser shows.
With any other folder, or none, the outputs are compared with those in ``notebooks`` (see outputs.py), and the
exit status is 1 if these are stale. ``--at-once N`` runs N of them at the same time.
"""

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from outputs import differences

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
# Tracing makes objects by the million, most of which stay: looking through them less often saves a twentieth.
SETTINGS = ["--IPKernelApp.exec_lines=import gc; gc.set_threshold(100_000, 50, 100)"]


def main() -> None:
    """Convert and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--at-once", type=int, default=1)
    options = parser.parse_args()
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"  # pictures are outputs
    os.environ["PYTHONPATH"] = str(ROOT)  # a notebook reads a table with the benchmarks' function
    paths = sorted(NOTEBOOKS.glob("*.py"))
    if not paths:
        sys.exit("there are no notebooks.")
    stale = []
    with ThreadPoolExecutor(options.at_once) as pool:
        for line, found in pool.map(lambda path: execute(path, options.out), paths):
            print(line, flush=True)
            stale += found
    if stale:
        sys.exit("\n\n".join((*stale, "stale outputs; run: python .ci/notebooks.py --out notebooks")))


def execute(path: Path, out: Path | None) -> tuple[str, list[str]]:
    """Run a notebook, keep it with its outputs if that is wanted; say how long it took, and what is stale."""
    start = time.perf_counter()
    notebook = jupytext.read(path)
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=900, kernel_name="python3", record_timing=False, extra_arguments=[*SETTINGS],
            resources={"metadata": {"path": folder}},
        )  # fmt: skip
        try:
            client.execute()
        except CellExecutionError as error:
            sys.exit(f"{path.name}: {error}")
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook = plain(notebook)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, out / f"{path.stem}.ipynb")
    stored = nbformat.read(path.with_suffix(".ipynb"), as_version=4)
    stale = [f"{path.stem}.ipynb: {text}" for text in differences(stored.cells, notebook.cells)]
    return f"{path.name}: {len(cells)} cells ran in {time.perf_counter() - start:.0f} s", stale


def plain(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Without what differs from one run to the next: names of cells, and progress on the standard error."""
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i}"
        if cell.cell_type == "code":
            cell.outputs = joined([output for output in cell.outputs if not is_progress(output)])
    return notebook


def is_progress(output: nbformat.NotebookNode) -> bool:
    """Whether an output is on the standard error, or the widget of a progress bar."""
    widget = "application/vnd.jupyter.widget-view+json"
    return output.get("name") == "stderr" or widget in output.get("data", {})


def joined(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    """Printed texts that follow each other as one: where they are cut depends on the time that they took."""
    kept: list[nbformat.NotebookNode] = []
    for output in outputs:
        if kept and output.output_type == kept[-1].output_type == "stream":
            kept[-1].text += output.text
        else:
            kept.append(output)
    return kept


if __name__ == "__main__":
    main()
