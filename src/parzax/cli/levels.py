"""Levels as written on the command line: numbers, lists and ranges, in exact decimals."""

from decimal import Decimal, InvalidOperation

MAX_LEVELS = 10_000


def parse_levels(option: str, text: str) -> list[float]:
    """Levels from "0.1", "0.1,0.5" or "first:last:step"; a range includes its end where the steps reach it.

    Raises:
        ValueError: naming ``option``, for anything that is no such list, or outside (0, 1].

    >>> parse_levels("--target-quantile", "0.1:0.3:0.1,0.5")
    [0.1, 0.2, 0.3, 0.5]
    """
    levels: list[float] = []
    for part in text.split(","):
        pieces = [_decimal(option, piece, text) for piece in part.split(":")]
        if len(pieces) == 1:
            levels.append(float(pieces[0]))
        elif len(pieces) == 3:
            first, last, step = pieces
            if step <= 0 or last < first:
                raise ValueError(f"{option}: the range {part!r} needs first <= last and a step above 0.")
            # The size of the quotient first: its digits may be too many to write out.
            if (last - first) / step >= MAX_LEVELS:
                raise ValueError(f"{option}: the range {part!r} has more than {MAX_LEVELS} levels.")
            levels += [float(first + i * step) for i in range(int((last - first) / step) + 1)]
        else:
            raise ValueError(f"{option} must look like 0.1, 0.1,0.5 or 0.01:0.99:0.01, got {text!r}.")
    for level in levels:
        if not 0 < level <= 1:
            raise ValueError(f"{option} must lie in (0, 1], got {level!r}.")
    return levels


def _decimal(option: str, piece: str, text: str) -> Decimal:
    try:
        number = Decimal(piece.strip())
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite():
        raise ValueError(f"{option} must look like 0.1, 0.1,0.5 or 0.01:0.99:0.01, got {text!r}.")
    return number
