"""The file: nothing in it is loaded from elsewhere, and no name is anything but text."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import parzax as px
from page import logs
from parzax.lens.page.rendering import _environment

LIMIT = 5 << 19


class Elements(HTMLParser):
    """All elements with their attributes, and the contents of scripts."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found, self.scripts, self.text, self._script = [], [], [], False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._script = tag == "script"
        if self._script:
            self.scripts.append("")

    def handle_data(self, data):
        if self._script:
            self.scripts[-1] += data
        else:
            self.text.append(data)

    def handle_endtag(self, tag):
        self._script = False


@pytest.fixture(scope="module")
def html(tmp_path_factory) -> str:
    """Every text that a user gives is hostile."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    own = logs.with_uncertainty(logs.nasty())
    px.report(
        own, path, title=logs.NASTY[0], command=logs.NASTY[1], date=logs.NASTY[3],
        interactions=logs.fake_interactions(own),
    )  # fmt: skip
    return path.read_text(encoding="utf-8")


def test_names_are_text(html):
    """The elements are those of the page with harmless names; catches any text that is not escaped."""
    page = Elements(html)
    assert len(page.scripts) == 3
    assert not {"img", "b", "i", "br", "iframe", "object"} & ({tag for tag, _ in page.found} - {"b"})
    # The b that there are say where a status holds.
    text = "".join(page.text)
    for name in logs.NASTY[:2]:
        assert name in text
    assert "{{ 7 * 7 }}" in text
    assert "\N{LINE SEPARATOR}" not in html
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in html
    assert not any(key.startswith("on") for _, attrs in page.found for key in attrs)


def test_data_is_json(html):
    """It holds no character that HTML reads, and parses to the names as they are."""
    page = Elements(html)
    (attrs,) = [attrs for tag, attrs in page.found if tag == "script" and attrs.get("id") == "data"]
    assert attrs["type"] == "application/json"
    assert not set("<>&") & set(page.scripts[0])
    data = json.loads(page.scripts[0])
    assert logs.NASTY[0] in data["labels"]
    assert data["labels"].count(data["labels"][0]) == 1


def test_json_of_any_names():
    """Round trip, also of lone surrogates; NaN is no JSON."""
    template = _environment.from_string("{{ data|tojson }}")
    names = [*logs.NASTY, "\ud800", "\N{PARAGRAPH SEPARATOR}"]
    text = template.render(data=names)
    assert json.loads(text) == names
    assert text.isascii()
    assert not set("<>&") & set(text)
    with pytest.raises(ValueError, match="not JSON compliant"):
        template.render(data=[float("nan")])


def test_self_contained(html):
    """No element and no style loads anything, and the policy forbids what scripts might; under 2 MB."""
    page = Elements(html)
    assert len(html) < 2e6
    for tag, attrs in page.found:
        assert "src" not in attrs, tag
        assert "srcset" not in attrs
        assert attrs.get("href", "#").startswith(("#", "data:,")), attrs
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    (policy,) = [
        attrs["content"]
        for tag, attrs in page.found
        if tag == "meta" and attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "http" not in policy
    # Scripts run by their content alone.
    digests = {
        f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in page.scripts[1:]
    }
    assert set(rules["script-src"].split()) == digests


@pytest.mark.slow
def test_size(tmp_path):
    """Under 2.5 MiB for 20 parameters at 99 levels, with uncertainty and all pairs."""
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(200, 20))
    space = px.Space({f"parameter {j}": px.Float(0, 1) for j in range(20)})
    obs = px.Observations.from_arrays(space, x, x[:, 0] + x[:, 1])
    own = logs.with_uncertainty(px.cond_ped_anova(obs, np.arange(1, 100) / 100, n_resamples=0))
    path = tmp_path / "page.html"
    px.report(own, path, interactions=logs.fake_interactions(own, own.levels))
    assert path.stat().st_size < LIMIT


def test_reproducible(tmp_path, html):
    """Equal arguments, equal bytes; at most 2 MB, plotly.js with its licence included."""
    path, own = tmp_path / "page.html", logs.with_uncertainty(logs.nasty())
    px.report(
        own, path, title=logs.NASTY[0], command=logs.NASTY[1], date=logs.NASTY[3],
        interactions=logs.fake_interactions(own),
    )  # fmt: skip
    assert path.read_text(encoding="utf-8") == html
    assert path.stat().st_size < 2_000_000


def test_says_what_to_install(monkeypatch, tmp_path):
    """The extra is named, before any work."""
    for name in [n for n in sys.modules if n == "parzax.lens.page.rendering" or n.split(".")[0] == "jinja2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"needs jinja2; install it with pip install 'parzax\[report\]'"):
        px.report(None, tmp_path / "page.html")  # pyright: ignore
