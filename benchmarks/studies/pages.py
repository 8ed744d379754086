"""Commands that write one page from units of work: what they have in common."""

import argparse
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import jax

import parzax as px
from benchmarks.studies.papers import runs
from benchmarks.studies.papers.runs import Arrays, Unit

DOCS = Path(__file__).parents[2] / "docs" / "studies"


@dataclass(frozen=True)
class Page:
    """What there is to say of the arrays.

    Attributes:
        blocks: Markdown, after the title and the command.
        shape: number of runs, and of evaluations of each, or of what ``words`` says.
        failed: the claims that do not hold.
        draw: draws a picture next to the page, with the page's file name.
        words: what ``shape`` counts.
    """

    blocks: Sequence[str]
    shape: tuple[int, ...]
    failed: Sequence[str]
    draw: Callable[[Path], None] | None = None
    words: tuple[str, str] = ("runs", "evaluations")


def main(
    argv: list[str] | None,
    name: str,
    about: str | None,
    title: str,
    units: Callable[[bool], list[Unit]],
    written: Callable[[Mapping[str, Arrays]], Page],
) -> int:
    """Run the units, write docs/studies/NAME.md (nothing with --quick alone); 1 if a claim does not hold."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks.studies.{name}", description=(about or "").splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="few runs of few problems")
    parser.add_argument("--out", type=Path, help="the page")
    parser.add_argument("--resume", action="store_true", help="go on with what a killed run left behind")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="parts whose names contain one of these texts"
    )
    options = parser.parse_args(argv)
    start, quick = time.perf_counter(), " --quick" * options.quick
    with tempfile.TemporaryDirectory() as scratch:
        path = options.out or (Path(scratch) if options.quick else DOCS) / f"{name}.md"
        parts = path.parent / f".{name}{'-quick' * options.quick}"
        found = runs.run(
            units(options.quick), parts, resume=options.resume, say=runs.progress, only=options.only
        )
        runs.progress("")
        page = written({name: arrays for name, arrays in found.items() if arrays})
        took = runs.clock(parts, time.perf_counter() - start, resume=options.resume)
        versions = f"parzax {px.__version__}, jax {jax.__version__}, Python {platform.python_version()}, "
        (n_runs, n), (run, evaluation) = page.shape, page.words
        versions += f"{jax.devices()[0].device_kind}, {took:.0f} s, {date.today()}, "
        versions += f"{n_runs} {run} of {n} {evaluation}."
        command = f"```bash\npython -m benchmarks.studies.{name}{quick}\n```"
        text = "\n\n".join([f"# {title}", command, *page.blocks, versions]) + "\n"
        path.write_text(text, encoding="utf-8")
        if page.draw:
            page.draw(path)
    print(text)
    return 1 if page.failed else 0
