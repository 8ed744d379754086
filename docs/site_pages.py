"""Hooks of the site: a page of reference for every public name, the notebooks, and links that leave the site.

MkDocs finds it in ``mkdocs.yml``. A public name without a docstring ends the build. PARZAX_NOTEBOOKS names
the folder of notebooks with outputs; without it those of the repository are shown.
"""

import html
import importlib
import inspect
import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import latex2mathml.converter
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter

import parzax

MATHS = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
LINK = re.compile(r"\[([^\]]*)\]\((\.\.?/[^)#]*)(#[^)]*)?\)")
# Packages whose members are used by name, beyond what stands in `parzax` itself.
PACKAGES = (
    "acquisition", "ages", "bandwidth", "density", "divergence", "gamma", "importance", "kernels", "merits",
    "meta", "papers", "pareto", "plotting", "results", "samplers", "split", "surrogate",
    "adapters.optuna", "adapters.configspace",
)  # fmt: skip


def own_members(module: Any) -> list[str]:
    """Public functions and classes of a package that come from parzax, by the last of their names."""
    names = {
        id(member): name
        for name, member in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or inspect.isclass(member))
        and (member.__module__ or "").startswith("parzax")
    }
    return list(names.values())


def pages() -> dict[str, tuple[str, str]]:
    """Title and text of the page of every part of the reference."""
    top = [
        (name, f"{home}.{name}")
        for name, home in parzax._HOMES.items()
        if not inspect.ismodule(getattr(parzax, name))
    ]
    found = {"parzax": ("parzax", _text("What `import parzax as px` has.", sorted(top)))}
    for package in PACKAGES:
        module = (
            getattr(parzax, package) if "." not in package else importlib.import_module(f"parzax.{package}")
        )
        own = [(name, f"{module.__name__}.{name}") for name in own_members(module)]
        found[package] = (f"parzax.{package}", _text(inspect.getdoc(module) or "", sorted(own)))
    return found


def _text(about: str, names: list[tuple[str, str]]) -> str:
    missing = [where for _, where in names if not inspect.getdoc(_found(where))]
    if missing:
        raise PluginError(f"no docstring: {', '.join(missing)}")
    return about + "\n\n" + "\n\n".join(_entry(name, where) for name, where in names) + "\n"


def _entry(name: str, where: str) -> str:
    """The directive for one name; a class with another name than its own is found under the latter."""
    member = _found(where)
    if not inspect.isclass(member) or member.__name__ == name:
        return f"::: {where}"
    return f"::: {member.__module__}.{member.__qualname__}\n    options:\n      heading: {name}"


def _found(where: str) -> Any:
    home, name = where.rsplit(".", 1)
    return getattr(importlib.import_module(home), name)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the reference at the end of the navigation."""
    assert config.nav is not None
    config.nav.append({"Reference": "reference/index.md"})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference with their table, and the notebooks."""
    reference = pages()
    table = "\n".join(f"* [`{title}`]({name}.md)" for name, (title, _) in reference.items())
    files.append(File.generated(config, "reference/index.md", content=f"# Reference\n\n{table}\n"))
    for name, (title, text) in reference.items():
        content = f"# {title}\n\n{text}"
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    for where, content in notebooks(Path(config.docs_dir).parent / "notebooks"):
        files.append(File.generated(config, where, content=content))
    return files


def notebooks(folder: Path) -> Iterator[tuple[str, str | bytes]]:
    """Each as a page, the pictures of its outputs, and the notebook itself."""
    own = Path(os.environ.get("PARZAX_NOTEBOOKS") or folder)
    paths = sorted(folder.glob("*.py"))
    for path in (own / f"{path.stem}.ipynb" for path in paths):
        if not path.is_file():
            raise PluginError(f"there is no notebook {path}; run: python .ci/notebooks.py --out {own}")
        about = {"unique_key": path.stem, "output_files_dir": path.stem}
        text, found = MarkdownExporter().from_filename(str(path), resources=about)
        link = f"[The notebook]({path.name}), to run it yourself.\n"
        title, rest = text.split("\n\n", 1)
        yield f"notebooks/{path.stem}.md", f"{title.strip()}\n\n{link}\n{rest}"
        yield f"notebooks/{path.name}", path.read_text(encoding="utf-8")
        for name, content in found["outputs"].items():
            yield f"notebooks/{name}", content


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links as in the repository: to notebooks become those to their pages, to what is no page only names."""
    folder = posixpath.dirname(page.file.src_uri)
    # A notebook's own folder is beside docs, and its page one below.
    home = posixpath.join("..", "notebooks") if folder == "notebooks" else folder

    def link(match: re.Match[str]) -> str:
        text, target, mark = match[1], match[2], match[3] or ""
        at = posixpath.normpath(posixpath.join(home, target))
        if at.startswith("../docs/"):
            at = at.removeprefix("../docs/")
        elif at.startswith("../notebooks/"):
            at = posixpath.splitext(at.removeprefix("../"))[0] + ".md"
        if at.startswith("../"):
            return text
        return f"[{text}]({posixpath.relpath(at, folder or '.')}{mark})"

    return LINK.sub(link, markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw themselves: no script, no network."""

    def formula(match: re.Match[str]) -> str:
        source = html.unescape(match[3]).strip()
        if match[2] == "(":
            return latex2mathml.converter.convert(source)
        # On a phone one scrolls in it.
        block = latex2mathml.converter.convert(source, display="block")
        return f'<div style="overflow-x: auto; overflow-y: hidden">{block}</div>'

    return MATHS.sub(formula, content)
