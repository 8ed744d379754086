"""Hooks of the site: a page of reference for every public name, and links that leave the site.

MkDocs finds it in ``mkdocs.yml``. A public name without a docstring ends the build.
"""

import importlib
import inspect
import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

import parzax

# Packages whose members are used by name, beyond what stands in `parzax` itself.
PACKAGES = (
    "acquisition", "ages", "bandwidth", "divergence", "gamma", "kernels", "meta", "naive", "pareto",
    "plotting", "problems", "samplers", "split", "ties", "adapters.optuna", "adapters.configspace",
)  # fmt: skip


def own_members(module: Any) -> list[str]:
    """Public functions and classes of a package that come from parzax."""
    return [
        name
        for name, member in vars(module).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or inspect.isclass(member))
        and (member.__module__ or "").startswith("parzax")
    ]


def pages() -> dict[str, tuple[str, str]]:
    """Title and text of the page of every part of the reference."""
    names = [name for name in sorted(parzax._NAMES) if name != "parzax"]
    top = []
    for home in names:
        for name in parzax._NAMES[home]:
            member = getattr(parzax, name)
            if not inspect.ismodule(member):
                top.append((name, f"{home}.{name}"))
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
    return about + "\n\n" + "\n\n".join(f"::: {where}" for _, where in names) + "\n"


def _found(where: str) -> Any:
    home, name = where.rsplit(".", 1)
    return getattr(importlib.import_module(home), name)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the reference at the end of the navigation."""
    entries = [{title: f"reference/{name}.md"} for name, (title, _) in pages().items()]
    assert config.nav is not None
    config.nav.append({"Reference": entries})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the reference."""
    for name, (title, text) in pages().items():
        content = f"# {title}\n\n{text}"
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Files of the repository that are no pages are named, not linked."""
    return re.sub(r"\[([^\]]*)\]\(\.\./[^)]*\)", r"\1", markdown)
