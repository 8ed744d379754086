"""Render the page as one HTML file that escapes every text and loads nothing from elsewhere."""

import base64
import hashlib
import re
from importlib.resources import files
from typing import Any

from parzax import _checks
from parzax._words import visible

jinja2, markupsafe = (_checks.optional(name, "parzax.report", "report") for name in ("jinja2", "markupsafe"))
_environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
_environment.trim_blocks = _environment.lstrip_blocks = True
# The filter `tojson` escapes what could end a script, or begin markup, within HTML.
_environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}


def render(content: dict[str, Any]) -> str:
    """The page as HTML. Only the scripts of plotly and of the page may run; both are allowed by hash."""
    folder = files("parzax.lens.page") / "assets"
    template, style, *scripts = (
        (folder / name).read_text(encoding="utf-8")
        for name in ("page.html.jinja", "page.css", "plotly-cartesian.min.js", "page.js")
    )
    # A browser reads all line ends as \n, and hashes what it has read.
    plotly, ours = (text.replace("\r\n", "\n").replace("\r", "\n") for text in scripts)
    plotly_version = re.findall(r"plotly\.js \(.*?\) v([\d.]+)", plotly[:200])[0]
    return _environment.from_string(template).render(
        _write_out(content) | {"versions": content["versions"] | {"plotly.js": plotly_version}},
        policy=_policy([plotly, ours]),
        style=markupsafe.Markup(style),
        plotly=markupsafe.Markup(plotly),
        script=markupsafe.Markup(ours),
    )


def _write_out(value: Any) -> Any:
    """The value with all its texts as by `visible`."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {name: _write_out(item) for name, item in value.items()}
    return [_write_out(item) for item in value] if isinstance(value, list | tuple) else value


def _policy(scripts: list[str]) -> str:
    """Content security policy: nothing is fetched, sent or framed; pictures may be made within the page."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
