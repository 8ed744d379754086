"""The report on how a log was read: rows read, rows dropped and why, direction, and what was inferred."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from parzax._words import plural, visible

# Plain words for those reasons in ``dropped`` that are states.
_STATES = {f"state {name.upper()}": name for name in ("pruned", "running", "waiting")}
_STATES["state FAIL"] = "failed"


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
        objectives: names of the objectives; () if they have no names.
        left_out: sentences on columns of a table that are not read as parameters, and why.
        unread: parameters left out because nearly every row has another label; they may matter.
        steps: a sentence if the rows that count have different steps or budgets; "" otherwise.
        chosen: a sentence on the objective of a table if none was named and its format has one result only.
        errors: row -> why its evaluation failed, of a log of `parzax.minimize`.
        numbers: (n,) number of each row of the log in the source: in a table counted from 1, in a study of
            Optuna the number of the trial; None if the log has all rows of the source.
    """

    n_rows: int
    directions: tuple[str, ...]
    failed: str = "drop"
    n_failed: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    inferred: tuple[str, ...] = ()
    n_total: int | None = None
    objectives: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    steps: str = ""
    chosen: str = ""
    errors: dict[int, str] = field(default_factory=dict)
    numbers: Any = field(default=None, compare=False, repr=False)

    def lines(self, n_seeds: int = 1) -> list[str]:
        """The report as short lines of text; with several seeds they say whether a number is per seed or not.

        >>> ImportReport(100, ("minimize",), n_failed=7).lines(n_seeds=5)
        ['100 rows in each of 5 seeds, minimize', '7 of all 500 without a usable objective value, left out']
        """
        n_total = n_seeds * self.n_rows if self.n_total is None else self.n_total
        of_all = f" of all {n_total}" if n_seeds > 1 else " of them"
        rows = plural(self.n_rows, "row") + f" in each of {n_seeds} seeds" * (n_seeds > 1)
        rows = rows if self.n_total is None else f"{n_total} rows in {n_seeds} seeds"
        goals = list(self.directions)
        if len(goals) == len(self.objectives) > 1:
            goals = [f"{goal} {name}" for goal, name in zip(goals, self.objectives, strict=True)]
        out = [*filter(None, [self.chosen]), f"{rows}, {' and '.join(goals)}"]
        lost = {_STATES.get(reason, reason): count for reason, count in self.dropped.items() if count}
        if lost:
            out.append("left out: " + ", ".join(f"{n}{of_all} ({reason})" for reason, n in lost.items()))
        if self.n_failed:
            fate = "left out" if self.failed == "drop" else "ranked last"
            out.append(f"{self.n_failed}{of_all} without a usable objective value, {fate}")
        counts = Counter(self.errors.values()).most_common()
        out += [f"{n} of them failed: {visible(error)}" for error, n in counts]
        out += filter(None, [self.steps])
        out += [f"left out, not parameters: {text}" for text in self.left_out]
        # An objective that is minimised by default is said in any case.
        unsaid = [text for text in self.inferred if "--direction" in text]
        return out + unsaid + [f"inferred: {text}" for text in self.inferred if text not in unsaid]

    def __str__(self) -> str:
        return "\n".join(self.lines())
