"""The table of docs/papers.md: from the papers' symbols to the code."""

import inspect
import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_SECTION = "## Notation"


def _names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _entries() -> list[tuple[str, str]]:
    text = (ROOT / "docs/papers.md").read_text(encoding="utf-8").split(_SECTION)[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    entries = []
    for *_, files, names in rows:
        files, names = _names(files), _names(names)
        if not files:  # a paper's name
            continue
        assert len(files) in (1, len(names)), (files, names)
        entries += zip(files * (len(names) if len(files) == 1 else 1), names, strict=True)
    return entries


@pytest.mark.parametrize(("file", "name"), _entries())
def test_each_name_is_in_its_file(file, name):
    """Catches a table that a change has left behind."""
    module = import_module("parzax." + file.removesuffix(".py").replace("/", "."))
    value = reduce(getattr, name.split("."), module)
    value = inspect.unwrap(value.fget if isinstance(value, property) else value)
    assert Path(inspect.getsourcefile(value)) == Path(module.__file__)


def test_what_a_reader_looks_for_is_there():
    """Catches a row that is lost."""
    found = {name for _, name in _entries()}
    assert found >= {
        "within_regime_variance",
        "constrained_score",
        "Sqrt",
        "task_kernel",
        "Scott",
        "Neighbours",
    }
    assert len(_entries()) > 30


def test_recipes_exist():
    """Catches a recipe that has moved."""
    recipes = re.findall(
        r"`(tests/extending/\w+\.py)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    )
    assert len(recipes) == 8
    for recipe in recipes:
        assert (ROOT / recipe).is_file(), recipe
