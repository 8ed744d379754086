"""Count the statements of src: lines without docstrings, comments and blanks.

python .ci/statements.py             # the total, and each package of src/parzax
python .ci/statements.py FOLDER      # of another folder
"""

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path

SRC = Path(__file__).parents[1] / "src/parzax"
_NO_CODE = {
    tokenize.ENCODING,
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}
_WITH_DOCSTRING = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def docstring_lines(tree: ast.Module) -> set[int]:
    """Lines that docstrings take."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, _WITH_DOCSTRING) and ast.get_docstring(node, clean=False) is not None:
            docstring = node.body[0]
            lines.update(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return lines


def code_lines(path: Path) -> set[int]:
    """Lines of a file that hold code."""
    lines: set[int] = set()
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type not in _NO_CODE:
                lines.update(range(token.start[0], token.end[0] + 1))
    return lines - docstring_lines(ast.parse(path.read_bytes()))


def main() -> None:
    """Print a line for each package, and the total."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SRC
    counts: Counter[str] = Counter()
    for path in folder.rglob("*.py"):
        counts[path.relative_to(folder).parts[0]] += len(code_lines(path))
    for package, count in sorted(counts.items()):
        print(f"{package:<16} {count:>7,}")
    print(f"{'total':<16} {counts.total():>7,}")


if __name__ == "__main__":
    main()
