"""The papers, statement by statement: ``python -m benchmarks.studies.papers NAME``.

NAME is a paper (cond_ped_anova, c_tpe or meta_learn_tpe), or further or audit, for statements of all three.
Writes a page with a row for every statement (what is printed, ours, a verdict), its rows as a table, and
figures with their numbers; without --out a full run writes docs/studies/papers, and a quick one nothing.
Exits with status 1 if a row that agreed in docs/studies/papers does not any more. --resume goes on with the
parts that a run which was killed left behind. PARZAX_DATA names the folder of stored logs, tables and printed
numbers, and PARZAX_PEERS Pythons, separated by ":", whose environments have HyperMapper; without them the
rows that need them say so.
"""

import argparse
import os
import platform
import shutil
import sys
import tempfile
import time
from datetime import date
from importlib import import_module
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

import jax
import numpy as np

import parzax as px
from benchmarks.studies.papers import data, runs
from benchmarks.studies.papers.rows import counts, lost, page_table, pictures, read_verdicts, write_verdicts

PAPERS = ("cond_ped_anova", "c_tpe", "meta_learn_tpe", "further", "audit")
PAGES = Path(__file__).parents[3] / "docs" / "studies" / "papers"


def main(argv: list[str] | None = None) -> int:
    """Run the parts, write the page, and return 1 if a row is lost."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.papers", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("paper", choices=PAPERS)
    parser.add_argument("--quick", action="store_true", help="fewer seeds, sizes and peers")
    parser.add_argument("--out", type=Path, help="where the page goes")
    parser.add_argument("--resume", action="store_true", help="go on with what a killed run left behind")
    options = parser.parse_args(argv)
    paper = import_module(f"benchmarks.studies.papers.{options.paper}")
    before = read_verdicts(PAGES / f"{options.paper}.csv")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        out = options.out or (Path(scratch) if options.quick else PAGES)
        out.mkdir(parents=True, exist_ok=True)
        parts = out / f".{options.paper}{'-quick' * options.quick}"
        found = runs.run(paper.units(options.quick), parts, resume=options.resume, say=runs.progress)
        runs.progress("")
        rows = paper.rows(found)
        shutil.rmtree(out / options.paper, ignore_errors=True)  # no picture of a run before this one
        paper.figures(found, out)
        write_verdicts(out / f"{options.paper}.csv", rows)
        table = page_table(rows)
        device = jax.devices()[0].device_kind
        versions = f"parzax {px.__version__}, jax {jax.__version__}, numpy {np.__version__}, "
        seconds = runs.clock(parts, time.perf_counter() - start, resume=options.resume)
        versions += f"Python {platform.python_version()}, {device}, {seconds:.0f} s, {date.today()}"
        parts_of_page = [
            f"# {paper.TITLE}",
            f"```bash\npython -m benchmarks.studies.papers {options.paper}{' --quick' * options.quick}\n```",
            paper.ABOUT,
            "[How to read this page](index.md).",
            f"{counts(rows)}.",
            table,
            pictures(out / options.paper, paper.CAPTIONS),
            f"{versions}.",
        ]
        (out / f"{options.paper}.md").write_text(
            "\n\n".join(filter(None, parts_of_page)) + "\n", encoding="utf-8"
        )
    print(f"{table}\n\n{counts(rows)}; {versions}")
    gone = lost(rows, before, quick=options.quick, data=data.folder() is not None)
    for text in gone:
        print(f"agreed before: {text}")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
