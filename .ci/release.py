"""Write version, date and address of a release: ``python .ci/release.py 0.2.0 --address URL``."""

import argparse
import datetime
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
# File -> pattern of the line that holds the version.
VERSION_LINES = {
    "pyproject.toml": r'^version = ".*"$',
    "src/parzax/__init__.py": r'^__version__ = ".*"$',
    "CITATION.cff": r"^version: .*$",
}


def replaced(pattern: str, line: str, text: str) -> str:
    """The text with the one line of a pattern exchanged."""
    text, n = re.subn(pattern, lambda _: line, text, flags=re.MULTILINE)
    if n != 1:
        raise SystemExit(f"{n} lines match {pattern}, not one")
    return text


def release(root: Path, version: str, address: str, date: datetime.date) -> list[Path]:
    """Change the files below a root, and return them."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise SystemExit(f"{version!r} is no version such as 0.2.0")
    texts = {name: (root / name).read_text(encoding="utf-8") for name in (*VERSION_LINES, "CHANGELOG.md")}
    for name, pattern in VERSION_LINES.items():
        line = re.search(pattern, texts[name], re.MULTILINE)
        before = re.sub(r"[\d.]+(?=\"?$)", version, line[0]) if line else ""
        texts[name] = replaced(pattern, before, texts[name])
    heading = f"## [Unreleased]\n\n## [{version}] - {date.isoformat()}"
    texts["CHANGELOG.md"] = replaced(r"^## \[Unreleased\]$", heading, texts["CHANGELOG.md"])
    if "[project.urls]" not in texts["pyproject.toml"]:
        urls = f'[project.urls]\nRepository = "{address}"\n\n[project.optional-dependencies]'
        texts["pyproject.toml"] = replaced(
            r"^\[project\.optional-dependencies\]$", urls, texts["pyproject.toml"]
        )
    if "\nrepository-code:" not in texts["CITATION.cff"]:
        texts["CITATION.cff"] = replaced(
            r"^version: .*$", f"version: {version}\nrepository-code: {address}", texts["CITATION.cff"]
        )
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")
    return [root / name for name in texts]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("version", help="such as 0.2.0")
    parser.add_argument(
        "--address", required=True, help="of the repository, such as https://github.com/OWNER/parzax"
    )
    options = parser.parse_args()
    for path in release(ROOT, options.version, options.address, datetime.date.today()):
        print(path.relative_to(ROOT))
