"""HTML tables that notebooks display."""

from collections.abc import Sequence
from html import escape

from parzax._words import visible


def table(
    title: str, rows: Sequence[Sequence[str]], left: Sequence[int] = (), notes: Sequence[str] = ()
) -> str:
    """A table whose first row is its header; the columns ``left`` are flush left, the others flush right."""

    def line(cells: Sequence[str], tag: str) -> str:
        sides = ("left" if i in left else "right" for i in range(len(cells)))
        pairs = zip(cells, sides, strict=True)
        return "".join(
            f'<{tag} style="text-align: {side}">{escape(visible(cell))}</{tag}>' for cell, side in pairs
        )

    header, *body = rows
    lines = [f"<tr>{line(row, 'td')}</tr>" for row in body]
    below = [f"<div>{escape(visible(note))}</div>" for note in notes]
    return "\n".join([
        f"<div><strong>{escape(visible(title))}</strong></div>",
        f"<table><thead><tr>{line(header, 'th')}</tr></thead><tbody>", *lines, "</tbody></table>", *below,
    ])  # fmt: skip
