"""The README is a first page: short, with three short examples; and CITATION.cff names this version."""

import re
from pathlib import Path

import parzax

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def prose(text: str) -> str:
    """The text without code blocks, comments, images, tables, and targets of links."""
    text = FENCED.sub("", text)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return "\n".join(line for line in text.splitlines() if not line.startswith("|"))


def words(text: str) -> list[str]:
    """What stands between spaces and has a letter or a digit."""
    return [word for word in text.split() if re.search(r"\w", word)]


def section(heading: str) -> str:
    """The text between a heading of the second level and the next one."""
    (_, text) = README.split(f"\n## {heading}\n")
    return text.split("\n## ")[0]


def test_words_are_counted_without_code_tables_pictures_and_targets():
    # Catches a count that passes because it strips the sentences too.
    text = "One `two`\n[three\nfour](a b.md) - five.\n\n![not this](x.png)\n<!-- nor this -->\n"
    text += '| nor | that |\n```python\nprint("no")\n```\n'
    assert len(words(prose(text))) == 5


def test_the_readme_is_read_once():
    # Catches a first page that grows; what it lacks belongs below "More", or into docs.
    first_page, _ = README.split("\n## More\n")
    assert 100 < len(words(prose(first_page))) <= 350


def test_each_reader_has_a_short_example_and_its_output():
    # Catches an example that nobody types, and one without what it prints.
    for heading in ("I have a log", "I write JAX", "I run thousands of searches"):
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", section(heading), re.DOTALL | re.MULTILINE)
        assert [kind for kind, _ in blocks] == ["python", "text"], heading
        lines = [line for line in blocks[0][1].splitlines() if line.strip()]
        assert 1 <= len(lines) <= 8, heading


def test_relative_links_lead_to_files():
    # Catches a link to a page that moved, or to a heading that it does not have.
    for target in re.findall(r"\]\(([^)\s]+)\)", FENCED.sub("", README)):
        if not target.startswith("http"):
            path, _, anchor = target.partition("#")
            assert (ROOT / path).is_file(), target
            if anchor:
                headings = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
                anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
                assert anchor in anchors, target


def test_the_citation_names_this_version():
    # Catches a release whose citation still names the one before.
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [parzax.__version__]
