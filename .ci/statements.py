"""Count the statements of src: lines without docstrings, comments and blanks.

python .ci/statements.py             # the core and the rest, each folder of src/parzax
python .ci/statements.py FOLDER      # of another folder

Beside the statements of a folder stand its classes and the names that its `__init__.py` re-exports.
"""

import ast
import sys
import tokenize
from collections import Counter
from pathlib import Path

SRC = Path(__file__).parents[1] / "src/parzax"
# Folders and files outside the core.
OUTSIDE = {"lens", "adapters", "__main__.py", "__init__.py"}
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


def classes(tree: ast.Module) -> int:
    """How many classes a file defines."""
    return sum(isinstance(node, ast.ClassDef) for node in ast.walk(tree))


def exported(tree: ast.Module) -> int:
    """How many public names a file imports from elsewhere in the package."""
    return sum(
        not (alias.asname or alias.name).startswith("_")
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("parzax")
        for alias in node.names
    )


def main() -> None:
    """Print a line for each folder, the totals of the core and of the rest, and the total."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SRC
    counts: dict[str, Counter[str]] = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).parts
        name = "/".join(parts[: 2 if parts[0] in OUTSIDE and len(parts) > 2 else 1])
        tree = ast.parse(path.read_bytes())
        exports = exported(tree) if path.name == "__init__.py" and len(parts) > 1 else 0
        counts.setdefault(name, Counter()).update(
            statements=len(code_lines(path)), classes=classes(tree), exported=exports
        )
    print(f"{'':<18} {'statements':>10} {'classes':>8} {'exported':>9}")

    def show(title: str, names: list[str]) -> None:
        total = sum((counts[name] for name in names), Counter())
        print(f"{title:<18} {total['statements']:>10,} {total['classes']:>8,} {total['exported']:>9,}")

    outside = [name for name in counts if name.split("/")[0] in OUTSIDE]
    core = [name for name in counts if name not in outside]
    for title, names in (("core", core), ("outside", outside)):
        for name in names:
            show(name, [name])
        show(title.upper(), names)
        print()
    show("TOTAL", [*counts])


if __name__ == "__main__":
    main()
