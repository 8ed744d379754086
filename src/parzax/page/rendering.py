"""From content to HTML: everything in one file, every text escaped, and nothing that may be loaded."""

import base64
import hashlib
from importlib.metadata import version
from importlib.resources import files
from typing import Any

try:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs
except ModuleNotFoundError as error:
    message = f"parzax.report needs {error.name}; install it with pip install 'parzax[report]'."
    raise ModuleNotFoundError(message) from error

_environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
# The filter `tojson` escapes what could end a script, or begin markup, within HTML.
_environment.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}


def render(content: dict[str, Any]) -> str:
    """The whole page. The only scripts that may run are plotly's and ours, known by their hashes."""
    folder = files("parzax.page") / "assets"
    template, style, ours = (
        (folder / name).read_text(encoding="utf-8") for name in ("page.html.jinja", "page.css", "page.js")
    )
    # A browser reads all line ends as \n, and hashes what it has read.
    scripts = [text.replace("\r\n", "\n").replace("\r", "\n") for text in (get_plotlyjs(), ours)]
    if any("</script" in script.lower() for script in scripts):
        raise ValueError("this version of plotly.js cannot stand within a page; install another plotly.")
    return _environment.from_string(template).render(
        content | {"versions": content["versions"] | {"plotly": version("plotly")}},
        policy=_policy(scripts),
        style=Markup(style),
        plotly=Markup(scripts[0]),
        script=Markup(scripts[1]),
    )


def _policy(scripts: list[str]) -> str:
    """Nothing is fetched, sent or framed; pictures may be made within the page."""
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
