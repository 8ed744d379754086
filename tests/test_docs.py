"""The pages of docs: links lead somewhere, pages and navigation are short, and every page is found."""

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FENCED = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "CONTRIBUTING.md"])


@cache
def prose(page: Path) -> str:
    """The text of a page without blocks of code."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def links(page: Path) -> list[tuple[Path, str]]:
    """File and heading of every link that stays in the repository."""
    own = [match.groups() for match in LINK.finditer(prose(page)) if not match[1].startswith("http")]
    return [(page if not path else page.parent / path, mark or "") for path, mark in own]


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    plain = [re.sub(r"\]\([^)]*\)", "", heading).lower() for heading in headings]
    return {re.sub(r"[^\w -]", "", heading).strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files_and_headings(page):
    # Catches a page that moved, and a section that was renamed.
    for path, mark in links(page):
        assert path.exists(), path
        assert not mark or path.suffix != ".md" or mark in anchors(path), f"{path}#{mark}"


def navigation() -> list[str]:
    """The pages of the navigation; the hook adds the reference."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").split("\nnav:\n")[1]
    return re.findall(r"^ +- .+: (\S+\.md)$", text, re.MULTILINE)


def test_the_navigation_is_short():
    # Catches an entry for every page: twenty with the reference.
    assert len(navigation()) <= 19
    assert all((ROOT / "docs" / name).is_file() for name in navigation())


def test_every_page_can_be_reached_from_the_navigation():
    # Catches a page that nothing links to.
    reached, waiting = set(), [(ROOT / "docs" / name).resolve() for name in navigation()]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        waiting += [path.resolve() for path, _ in links(page)]
    missing = {page for page in PAGES if "docs" in page.parts} - reached
    assert not missing


def test_the_pages_outside_of_the_studies_are_short():
    # Catches pages that grow: what benchmarks measure belongs into docs/studies.
    pages = [page for page in (ROOT / "docs").rglob("*.md") if "studies" not in page.parts]
    assert sum(len(page.read_text(encoding="utf-8").split()) for page in pages) <= 25_000


def test_every_study_has_a_day():
    # Catches a page of measurements that the list of studies has without the day of its numbers.
    studies = ROOT / "docs" / "studies"
    dated = set()
    for row in (studies / "index.md").read_text(encoding="utf-8").splitlines():
        if re.search(r"\d \|$", row):
            dated |= {(studies / path).resolve() for path, _ in LINK.findall(row)}
    assert {page for page in PAGES if studies in page.parents} - {studies / "index.md"} == dated
