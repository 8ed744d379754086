"""One row for every statement of a paper: what is printed, what we found, and a verdict."""

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import ModuleType

import numpy as np

# What stands in place of a figure where a row is not a statement of the paper.
OURS_ALONE = "not in the paper"
# Two samplers are equal where the 95 % interval of the ratio of their losses lies within this factor.
EQUAL_WITHIN = 1.15


class Verdict(StrEnum):
    """What a row says."""

    AGREES = "agrees"
    EQUAL = "equal within 1.15"
    DIFFERS = "differs"
    NOT_TOLD_APART = "not told apart"
    CANNOT_BE_RUN = "cannot be run"


@dataclass(frozen=True)
class Row:
    """A statement of a paper beside a number of ours.

    Attributes:
        key: names the row from one run to the next.
        where: figure, table, equation or section.
        printed: what stands there, in our words.
        ours: the number, with its spread.
        verdict: see `Verdict`.
        note: what is missing; in what weaker form it was tested; the smallest effect that a test would have
            seen in 80 % of cases.
        reason: why it differs, or what would tell it apart.
        code: the file that computes it, from the root of the repository.
        loop: the verdict of a loop that was written before the row was read, where there is one.
    """

    key: str
    where: str
    printed: str
    ours: str
    verdict: Verdict
    note: str = ""
    reason: str = ""
    code: str = ""
    loop: str = ""

    @property
    def remarks(self) -> str:
        """The note, and why a row differs (or that it is not known), or what it lacks to be told apart."""
        unknown = "not known" if self.verdict is Verdict.DIFFERS else ""
        decided = self.verdict in (Verdict.AGREES, Verdict.EQUAL)
        why = "" if decided else self.reason or unknown
        return "; ".join(text for text in (self.note, why) if text)


@dataclass(frozen=True)
class Range:
    """Where a number lies if the statement holds; ends included."""

    low: float = -math.inf
    high: float = math.inf

    def __contains__(self, x: float) -> bool:
        return bool(self.low <= x <= self.high)

    def __str__(self) -> str:
        if self.low == self.high:
            return f"exactly {self.low:g}"
        if math.isinf(self.low):
            return f"at most {self.high:g}"
        if math.isinf(self.high):
            return f"at least {self.low:g}"
        return f"{self.low:g} to {self.high:g}"


def judged(number: float, error: float, wanted: Range) -> Verdict:
    """Agrees inside the range and differs outside; within two standard errors of an end it is not told apart.

    NaN differs.
    """
    inside = number in wanted
    near = min(abs(number - wanted.low), abs(number - wanted.high)) < 2 * error
    if near:
        return Verdict.NOT_TOLD_APART
    return Verdict.AGREES if inside else Verdict.DIFFERS


def standard_error(x: np.ndarray) -> float:
    """Of the mean of independent numbers."""
    return float(x.std(ddof=1) / np.sqrt(len(x)))


def computed_by(module: ModuleType, rows: Iterable[Row]) -> list[Row]:
    """The rows, which say where they come from."""
    return [replace(row, code=f"{module.__name__.replace('.', '/')}.py") for row in rows]


def equal(log: float, error: float) -> bool:
    """Whether the 95 % interval of a ratio, given by its log and standard error, is within `EQUAL_WITHIN`."""
    return bool(abs(log) + 1.96 * error <= math.log(EQUAL_WITHIN))


def judged_ratio(log: float, error: float, wanted: Range = Range(high=1.0)) -> Verdict:
    """Of a ratio of losses, given by its log and standard error; the range is of the ratio itself.

    What does not hold but is within `EQUAL_WITHIN` is equal.
    """
    low = math.log(wanted.low) if wanted.low > 0 else -math.inf
    verdict = judged(log, error, Range(low, math.log(wanted.high)))
    return Verdict.EQUAL if verdict is not Verdict.AGREES and equal(log, error) else verdict


def ratio_in_words(log: float, error: float) -> str:
    """The ratio with its 95 % interval."""
    ratio, low, high = (math.exp(log + k * error) for k in (0.0, -1.96, 1.96))
    digits = ".2f" if low >= 0.1 else ".2g"
    return f"{ratio:{digits}} ({low:{digits}}, {high:{digits}})"


def together(verdicts: Sequence[Verdict]) -> Verdict:
    """Of a statement that was tried on several logs: the worst."""
    order = (Verdict.DIFFERS, Verdict.NOT_TOLD_APART, Verdict.EQUAL, Verdict.AGREES)
    return next(verdict for verdict in order if verdict in verdicts)


def by_the_larger(few: Verdict | None, many: Verdict) -> Verdict:
    """Of a statement tried on a few stored logs and on many fresh ones: the latter decide.

    But a difference on the former is one.
    """
    return few if few is Verdict.DIFFERS else many


def missing(key: str, where: str, printed: str, what: str) -> Row:
    """A row that cannot be run."""
    return Row(key, where, printed, "–", Verdict.CANNOT_BE_RUN, f"needs {what}")


def counts(rows: Sequence[Row]) -> str:
    """How many statements of the paper have which verdict."""
    found = [row.verdict for row in rows if row.where != OURS_ALONE]
    return ", ".join(f"{found.count(verdict)} {verdict}" for verdict in Verdict)


def page_table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""

    def cell(text: str) -> str:
        return text.replace("|", "\\|").replace("\n", " ")

    names = ["where", "printed", "ours", "verdict", *_of_loop(rows), "note", "code"]
    lines = [f"| {' | '.join(names)} |", f"| {' | '.join(['---'] * len(names))} |"]
    for row in rows:
        code = f"[`{Path(row.code).name}`](../../../{row.code})" if row.code else ""
        loop = [row.loop for _ in _of_loop(rows)]
        cells = (row.where, row.printed, row.ours, f"**{row.verdict}**", *loop, row.remarks, code)
        lines.append("| " + " | ".join(map(cell, cells)) + " |")
    return "\n".join(lines)


def _of_loop(rows: Sequence[Row]) -> list[str]:
    """The column of the loops' verdicts, where a row has one."""
    return ["loop"] if any(row.loop for row in rows) else []


def pictures(folder: Path, captions: Mapping[str, str]) -> str:
    """The pictures of a page in Markdown, each with the table of its numbers; empty where there is none."""
    paths = sorted(folder.glob("*.png"))
    blocks = ["## Figures"] if paths else []
    for path in paths:
        about = captions[path.stem]
        blocks.append(f"![{about}]({folder.name}/{path.name})")
        blocks.append(f"{about} ([numbers]({folder.name}/{path.stem}.csv))")
    return "\n\n".join(blocks)


def write_verdicts(path: Path, rows: Sequence[Row]) -> None:
    """The rows as a table that the next run is compared with."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        loop = _of_loop(rows)
        writer.writerow(["key", "where", "printed", "ours", "verdict", "note", "code", *loop])
        for r in rows:
            remarks = (r.remarks, r.code, *(r.loop for _ in loop))
            writer.writerow((r.key, r.where, r.printed, r.ours, r.verdict.value, *remarks))


def read_verdicts(path: Path, *, of_paper: bool = False) -> dict[str, Verdict]:
    """Verdict by key, of all rows or of the paper's statements; empty where there is no such table."""
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if not (of_paper and row["where"] == OURS_ALONE)]
    return {row["key"]: Verdict(row["verdict"]) for row in rows}


def lost(rows: Sequence[Row], before: dict[str, Verdict], *, quick: bool, data: bool = True) -> list[str]:
    """Rows that agreed before and do not now, in words.

    A quick run has fewer seeds, tables and peers, and where there is no folder of data nothing of its tables
    can be run; so there only rows that differ count.
    """
    fine = {Verdict.AGREES, Verdict.EQUAL}
    if quick:
        fine.add(Verdict.NOT_TOLD_APART)
    if quick or not data:
        fine.add(Verdict.CANNOT_BE_RUN)
    found = [
        f"{row.where}: {row.printed}: {row.ours} ({row.verdict})"
        for row in rows
        if before.get(row.key) in (Verdict.AGREES, Verdict.EQUAL) and row.verdict not in fine
    ]
    if quick or not data:
        return found
    gone = before.keys() - {row.key for row in rows}
    return found + [f"no row {key!r} any more" for key in sorted(gone)]
