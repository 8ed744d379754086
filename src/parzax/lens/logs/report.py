"""The report on how a log was read: rows read, rows dropped and why, direction, and what was inferred."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field

from parzax import _checks
from parzax._words import plural

# Plain words for those reasons in ``dropped`` that are states.
_STATES = {f"state {name.upper()}": name for name in ("pruned", "running", "waiting")}
_STATES["state FAIL"] = "failed"
_SMALLER = "Smaller is taken as better, as no direction was given; if more is better: --direction maximize"
# A warning shows this many sentences; the report has all of them.
_SHOWN = 30

# The numbers in this text come from docs/studies/adaptive_logs.md.
LEARNED = (
    "Later rows lie closer to the best ones, as in a search that learns (TPE, CMA-ES). Such a log says what "
    "separates the best of the rows tried, not what matters in the whole space. On problems whose truth is "
    "known, its importances were off by 0.07 to 0.32 after 300 trials (random search: 0.03 to 0.10). In 7 to "
    "100 % of the logs, depending on problem and sampler, a parameter without any effect was above chance. "
    "Intervals, p-values and verdicts do not take this into account."
)


@dataclass(frozen=True)
class ImportReport:
    """How a log became observations.

    Attributes:
        n_rows: number of rows of each seed in the source.
        dropped: reason -> number of rows left out when reading (over all seeds).
        n_failed: rows (over all seeds) whose loss is NaN or the worst infinity; see ``failed``.
        failed: what happens to failed rows: "drop" leaves them out, "worst" ranks them last.
        directions: one of "minimize", "maximize" per objective, as in the source.
        inferred: sentences about everything that was inferred because it was not given.
        n_total: rows of all seeds together, if the seeds differ in their number of rows; None otherwise.
        moving: name of a parameter whose bounds move from row to row -> a sentence about its bounds. In a
            result the sentence lists the pools of rows with similar bounds, within which values are compared.
        objectives: names of the objectives; () if they have no names.
        left_out: sentences on columns of a table that are not read as parameters, and why.
        learned: whether the order of the rows shows a search that learns; set in results only.
        steps: a sentence if the rows that count have different steps or budgets; "" otherwise.
        order: a sentence if the rows of a table are sorted by a result, which hides whether the search
            learned; "" otherwise.
        chosen: a sentence on the objective of a table if none was named and its format has one result only.
    """

    n_rows: int
    directions: tuple[str, ...]
    failed: str = "drop"
    n_failed: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    inferred: tuple[str, ...] = ()
    n_total: int | None = None
    moving: dict[str, str] = field(default_factory=dict)
    objectives: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    learned: bool = False
    steps: str = ""
    order: str = ""
    chosen: str = ""

    def lines(self, n_seeds: int = 1) -> list[str]:
        """The report as short lines of text; with several seeds they say whether a number is per seed or not.

        >>> ImportReport(100, ("minimize",), n_failed=7).lines(n_seeds=5)
        ['100 rows in each of 5 seeds, minimize', '7 of all 500 without a usable objective value, left out']
        """
        n_total = self._count_all(n_seeds)
        of_all = f" of all {n_total}" if n_seeds > 1 else ""
        rows = plural(self.n_rows, "row") + f" in each of {n_seeds} seeds" * (n_seeds > 1)
        rows = rows if self.n_total is None else f"{n_total} rows in {n_seeds} seeds"
        out = [*filter(None, [self.chosen]), f"{rows}, {' and '.join(self.directions)}"]
        out += [f"left out: {count}{of_all} ({reason})" for reason, count in self._lost.items()]
        if self.n_failed:
            fate = "left out" if self.failed == "drop" else "ranked last"
            out.append(f"{self.n_failed}{of_all} without a usable objective value, {fate}")
        out += [*filter(None, [self.steps, self.order]), *[LEARNED] * self.learned]
        out += [f"{name}: {text}" for name, text in self.moving.items()]
        out += [f"left out, not parameters: {text}" for text in self.left_out]
        return out + [f"inferred: {text}" for text in self.inferred]

    def doubts(self) -> list[str]:
        """A sentence if an objective is minimised because nothing says its direction."""
        line = _SMALLER + ", with one word for each objective" * (len(self.directions) > 1)
        return [line] * any("--direction" in sentence for sentence in self.inferred)

    def say_lost(self, n_seeds: int = 1) -> str:
        """How many rows count, why the others do not, and how pruned ones would; "" if all rows count.

        >>> ImportReport(80, ("maximize",), dropped={"state FAIL": 8, "filter": 2}).say_lost()
        '70 of 80 rows count; left out are 8 (failed), 2 (filter).'
        """
        lost = self._lost
        if self.failed == "drop" and self.n_failed:
            lost["without a usable objective value"] = self.n_failed
        if not lost:
            return ""
        n_total, reasons = self._count_all(n_seeds), ", ".join(f"{n} ({why})" for why, n in lost.items())
        text = f"{n_total - sum(lost.values())} of {plural(n_total, 'row')} count; left out are {reasons}."
        remedy = " To rank pruned rows last instead: pruned='worst' (--pruned worst)."
        return text + remedy * ("pruned" in lost)

    @property
    def _lost(self) -> dict[str, int]:
        """Reason in plain words -> number of rows left out when reading."""
        return {_STATES.get(reason, reason): count for reason, count in self.dropped.items() if count}

    def _count_all(self, n_seeds: int) -> int:
        """The number of rows of all seeds together."""
        return n_seeds * self.n_rows if self.n_total is None else self.n_total

    def __str__(self) -> str:
        return "\n".join(self.lines())


def warn_of_inferred(inferred: Sequence[str]) -> None:
    """Give one warning that says what was inferred, if anything was."""
    if inferred:
        lines = ["parzax inferred from the table:", *inferred[:_SHOWN]]
        if len(inferred) > _SHOWN:
            lines.append(f"... and {len(inferred) - _SHOWN} more in report.inferred")
        warnings.warn("\n  ".join(lines), UserWarning, stacklevel=_checks.outside())
