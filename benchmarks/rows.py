"""Rows of a comparison and their table."""

from dataclasses import dataclass

# Machines are noisy: a row fails below this share of what it promises.
SLACK = 0.7
# Largest difference of raw variances, relative to the largest one at the level.
TOLERANCE = {64: 1e-10, 32: 1e-4}


@dataclass
class Row:
    """One line of the table; times in seconds.

    ``goal`` is what we mean to reach, ``promised`` what is kept (the goal where not given otherwise).
    """

    work: str
    bits: int
    peer: str
    ours: float
    theirs: float
    first_call: float
    difference: float
    goal: float
    promised: float | None = None

    @property
    def ratio(self) -> float:
        """How many times faster we are."""
        return self.theirs / self.ours

    @property
    def holds(self) -> bool:
        """Whether the promise is kept within the slack and the results agree."""
        promised = self.goal if self.promised is None else self.promised
        return self.difference <= TOLERANCE[self.bits] and self.ratio >= SLACK * promised


_COLUMNS = ("work", "bits", "peer", "ours", "theirs", "ratio", "goal", "first call", "difference", "")


def table(rows: list[Row]) -> str:
    """The rows as text, one line each."""
    lines = [_COLUMNS]
    for row in rows:
        note = "" if row.holds else "BELOW"
        if row.holds and row.ratio < row.goal:
            note = "below the goal"
        lines.append(
            (row.work, str(row.bits), row.peer, _time(row.ours), _time(row.theirs), f"{row.ratio:.1f}x",
             f"{row.goal:g}x", _time(row.first_call), f"{row.difference:.1e}", note)
        )  # fmt: skip
    widths = [max(len(line[i]) for line in lines) for i in range(len(_COLUMNS))]
    left = {0, 2, len(_COLUMNS) - 1}
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
