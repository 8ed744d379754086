"""The command that prepares a release, on a copy of the files that it changes."""

import datetime
import runpy
import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_version_date_and_address_are_written(tmp_path):
    """Catches a line that moved: each file must have exactly one of the kind that is changed."""
    command = runpy.run_path(str(ROOT / ".ci" / "release.py"))
    files = [*command["VERSION_LINES"], "CHANGELOG.md"]
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    address, date = "https://example.org/parzax", datetime.date(2027, 1, 2)
    assert command["release"](tmp_path, "0.2.0", address, date) == [tmp_path / name for name in files]
    text = {name: (tmp_path / name).read_text(encoding="utf-8") for name in files}
    project = tomllib.loads(text["pyproject.toml"])["project"]
    assert (project["version"], project["urls"]["Repository"]) == ("0.2.0", address)
    assert project["optional-dependencies"]
    assert '\n__version__ = "0.2.0"\n' in text["src/parzax/__init__.py"]
    assert f"\nversion: 0.2.0\nrepository-code: {address}\n" in text["CITATION.cff"]
    assert "\n## [Unreleased]\n\n## [0.2.0] - 2027-01-02\n" in text["CHANGELOG.md"]
    with pytest.raises(SystemExit, match="'next' is no version"):
        command["release"](tmp_path, "next", address, date)
