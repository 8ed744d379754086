"""The tables of docs/papers.md: from the papers' equations and symbols to the code."""

import ast
import inspect
import re
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def _rows(section: str) -> list[list[str]]:
    """The cells of the table of a section, without its head."""
    page = (ROOT / "docs/papers.md").read_text(encoding="utf-8")
    text = page.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]


def _names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def _equations() -> list[tuple[str, str]]:
    """Function and test of every equation."""
    return [(*_names(function), *_names(test)) for _, function, test in _rows("Equations")]


def _symbols() -> list[tuple[str, str]]:
    """File and name of every symbol."""
    entries = []
    for *_, files, names in _rows("Notation"):
        files, names = _names(files), _names(names)
        if not files:  # a paper's name
            continue
        assert len(files) in (1, len(names)), (files, names)
        entries += zip(files * (len(names) if len(files) == 1 else 1), names, strict=True)
    return entries


def _resolve(name: str) -> Any:
    """The object of a dotted name in parzax: the longest module, then its attributes."""
    parts = ["parzax", *name.split(".")]
    n = 1
    while n < len(parts) and find_spec(".".join(parts[: n + 1])):
        n += 1
        if not hasattr(import_module(".".join(parts[:n])), "__path__"):
            break
    return reduce(getattr, parts[n:], import_module(".".join(parts[:n])))


@pytest.mark.parametrize(("function", "test"), _equations())
def test_each_equation_has_a_function_and_a_test(function, test):
    """Catches an equation whose function or test was renamed."""
    assert callable(_resolve(function))
    file, name = test.split("::")
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("file", "name"), _symbols())
def test_each_name_is_in_its_file(file, name):
    """Catches a table that a change has left behind."""
    module = import_module("parzax." + file.removesuffix(".py").replace("/", "."))
    value = reduce(getattr, name.split("."), module)
    value = inspect.unwrap(value.fget if isinstance(value, property) else value)
    assert Path(inspect.getsourcefile(value)) == Path(module.__file__)


def test_what_a_reader_looks_for_is_there():
    """Catches a row that is lost."""
    assert {name for _, name in _symbols()} >= {
        "level_sets",
        "Sqrt",
        "AitchisonAitken",
        "non_domination_rank",
    }
    assert len(_symbols()) > 25
    equations = " ".join(cell for cell, *_ in _rows("Equations"))
    words = ("Eq. 6", "Eq. 8", "Eq. 11", "c-TPE's score", "Scott", "sort of the split", "log density", "loop")
    assert [word for word in words if word not in equations] == []


def test_folders_exist():
    """Catches a table of folders that a change has left behind."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## Folders\n")[1]
    cells = re.findall(r"^\| (`[^|]*) \|", page.split("\n## ")[0], re.MULTILINE)
    folders = {f"parzax.{name}" for cell in cells for name in _names(cell) if "/" not in name}
    assert {name for name in folders if find_spec(name) is None} == set()
    paths = {p for p in (ROOT / "src/parzax").iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
    assert {f"parzax.{p.stem}" for p in paths if not p.stem.startswith("__")} == folders


def test_recipes_exist():
    """Catches a recipe that has moved."""
    recipes = re.findall(
        r"`(tests/extending/\w+\.py)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    )
    assert len(recipes) == 8
    for recipe in recipes:
        assert (ROOT / recipe).is_file(), recipe
