"""The page in Chromium: it draws, the slider moves everything, nothing fails, nothing is asked for."""

import itertools
import json

import numpy as np
import pytest

import parzax as px
from page import browser, logs

pytestmark = [pytest.mark.browser, pytest.mark.skipif(browser.MISSING, reason=browser.WHY)]


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with browser.chromium(tmp_path_factory.mktemp("profile")) as own:
        yield own


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page with uncertainty and interactions, one with hostile names, one of seeds and one level."""
    folder = tmp_path_factory.mktemp("pages")
    own, nasty = (logs.with_uncertainty(x) for x in (logs.result(), logs.nasty()))
    px.report(own, folder / "plain.html", interactions=logs.fake_interactions(own))
    px.report(nasty, folder / "nasty.html", title=logs.NASTY[0], interactions=logs.fake_interactions(nasty))
    px.report(logs.analyse(logs.activation(4), 0.3), folder / "one.html")
    px.report(nasty, folder / "pairs.html", interactions=logs.tested_interactions(nasty))
    return folder


@pytest.fixture(autouse=True)
def _quiet(driver):
    """After each test: no message on the console, and no request but the page's own file."""
    yield
    errors = [entry["message"] for entry in driver.get_log("browser")]
    asked = browser.requests(driver)
    assert not errors
    assert asked
    assert all(url.startswith("file:///") and url.endswith(".html") for url in asked), asked


def move(driver, index: int) -> None:
    """As a hand does: the value, then the event."""
    driver.execute_script(
        "const s = document.getElementById('slider'); s.value = arguments[0];"
        "s.dispatchEvent(new Event('input', {bubbles: true}));",
        index,
    )


def shown(driver) -> dict:
    """What the pictures and the table show now."""
    return driver.execute_script(
        "const bars = document.getElementById('bars'), curves = document.getElementById('curves');"
        "const rows = Array.from(document.getElementById('table').tBodies[0].rows);"
        "return {x: Array.from(bars.data[0].x), plus: Array.from(bars.data[0].error_x.array),"
        "minus: Array.from(bars.data[0].error_x.arrayminus), cursor: curves.layout.shapes[0].x0,"
        "cells: rows.map(row => Array.from(row.cells).slice(1).map(cell => cell.textContent)),"
        "pale: rows.map(row => row.classList.contains('pale')),"
        "sentences: Array.from(document.querySelectorAll('#sentences li')).map(x => x.textContent),"
        "value: document.getElementById('value-0').textContent,"
        "density: document.querySelector('#density-0 .best').getAttribute('d'),"
        "heat: JSON.stringify(document.getElementById('heat').data.map(trace => [trace.z, trace.x])),"
        "spoken: document.getElementById('slider').getAttribute('aria-valuetext')};"
    )


# In the fast run plain and narrow pages are drawn by the tests below.
FAST = {("nasty", 375), ("one", 375), ("plain", 1440)}


@pytest.mark.parametrize(
    ("name", "width"),
    [
        pytest.param(name, width, marks=[] if (name, width) in FAST else pytest.mark.slow)
        for name in ("plain", "nasty", "one")
        for width in (375, 768, 1440)
    ],
)
def test_draws_at_three_widths(driver, pages, name, width):
    """Pictures are there, none is wider than the window, and text is not cut off at its edge."""
    browser.open_page(driver, pages / f"{name}.html", width)
    sizes = driver.execute_script(
        "const drawn = Array.from(document.querySelectorAll('.picture .main-svg'));"
        "return drawn.map(svg => svg.getBoundingClientRect().right);"
    )
    assert sizes
    assert max(sizes) <= width
    inner, outer = driver.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert inner <= outer
    assert driver.execute_script("return document.querySelectorAll('#bars .bars .point path').length") > 0


def test_slider_moves_everything(driver, pages):
    """Bars, intervals, cursor, table, words, values, densities and the map, to the numbers of that level.

    Without scripts a reader sees the level that the script opens at.
    """
    browser.open_page(driver, pages / "plain.html")
    data = json.loads(driver.execute_script("return document.getElementById('data').textContent"))
    before, text = shown(driver), (pages / "plain.html").read_text(encoding="utf-8")
    for cell in filter(None, itertools.chain(*before["cells"])):
        assert f">{cell.replace('<', '&lt;')}</td>" in text
    for i in (3, 1):
        move(driver, i)
        now = shown(driver)
        mean, low, high = (np.array(data[key][i], float) for key in ("mean", "low", "high"))
        np.testing.assert_allclose(now["x"], mean)
        np.testing.assert_allclose(now["plus"], high - mean, atol=1e-9)
        np.testing.assert_allclose(now["minus"], mean - low, atol=1e-9)
        assert now["cursor"] == data["levels"][i]
        assert now["cells"] == data["cells"][i]
        assert now["pale"] == [bool(x) for x in data["pale"][i]]
        assert now["sentences"] == data["sentences"][i]
        assert now["spoken"] == data["level_labels"][i]
        assert now["value"] == data["values"][0][i]
        for key in ("x", "cursor", "cells", "sentences", "density", "heat"):
            assert now[key] != before[key], key


@pytest.mark.slow
def test_interactions_are_bright_only_above_chance(driver, pages):
    """Others have one grey, crosses stand where nothing is known, and the table is in order.

    At a level without interactions above chance the table stands alone.
    """
    browser.open_page(driver, pages / "pairs.html")
    data = json.loads(driver.execute_script("return document.getElementById('data').textContent"))
    own = data["pairs"]
    for i, above in ((0, 0), (3, 4)):
        move(driver, i)
        q = own["level"][i]
        assert sum(own["above"][q]) == above
        hidden = driver.execute_script("return document.getElementById('pair-pictures').hidden")
        assert hidden == (not above)
        traces = [] if hidden else driver.execute_script("return document.getElementById('heat').data")
        for trace, wanted in zip(traces[:2], (1, 0), strict=False):
            cells = {
                frozenset((own["map"][a], own["map"][b]))
                for a, row in enumerate(trace["z"]) for b, z in enumerate(row) if z is not None
            }  # fmt: skip
            assert cells == {
                frozenset(pair)
                for pair, z, sure in zip(own["pairs"], own["importance"][q], own["above"][q], strict=True)
                if z is not None and sure == wanted
            }
        if traces:
            assert len({colour for _, colour in traces[1]["colorscale"]}) == 1
            assert len(traces[2]["x"]) == 2 * own["importance"][q].count(None) > 0
        rows = driver.execute_script(
            "return Array.from(document.getElementById('pair-table').tBodies[0].rows)"
            ".map(row => [row.className, ...Array.from(row.cells).map(cell => cell.textContent)])"
        )
        assert [row[0] for row in rows] == [""] * above + ["pale"] * (10 - above)
        for row, (k, *texts) in zip(rows, own["table"][q], strict=True):
            assert row[1:] == [" × ".join(data["labels"][j] for j in own["pairs"][k]), *texts]
        words = driver.execute_script("return document.getElementById('pair-words').textContent")
        assert words == "".join(own["words"][q])


def test_curves_are_coloured_only_where_a_parameter_matters(driver, pages):
    """Grey and thin elsewhere, without a ribbon; catches one drawn across levels at which it is not."""
    browser.open_page(driver, pages / "plain.html", 375)
    data = json.loads(driver.execute_script("return document.getElementById('data').textContent"))
    traces = driver.execute_script("return document.getElementById('curves').data")
    chance, levels = np.array(data["pale"]), np.array(data["levels"])
    seen = 0
    assert chance.any()
    for j in data["lines"]:
        own = [t for t in traces if t.get("name") == data["short"][j] and t["meta"] == "sure"]
        assert bool(own) == (not chance[:, j].all())
        for trace in own:
            assert [y is None for y in trace["y"]] == chance[:, j].astype(bool).tolist()
            assert trace["line"]["color"] == data["colours"][j]
        areas = [t for t in traces if t.get("fillcolor") == f"{data['colours'][j]}30"]
        seen += len(areas)
        for area in areas:
            inside = [x for x in area["x"] if x is not None]
            for level in levels[chance[:, j].astype(bool)]:
                assert min(abs(level - x) for x in inside) > 0.005
    assert seen
    grey = [t for t in traces if t.get("meta") == "unsure"]
    assert grey
    assert all(t["line"]["width"] == 1 and not t.get("fill") for t in grey)
    assert len({t["line"]["color"] for t in grey}) == 1
    *_, entry = (t["name"] for t in traces if t.get("showlegend") is not False)
    assert entry == "does not matter, or cannot tell yet"


@pytest.mark.parametrize("width", [375, pytest.param(600, marks=pytest.mark.slow)])
def test_narrow_table_shows_every_column(driver, pages, width):
    """Nothing is outside the window; remarks stand below, and take no room where there are none."""
    browser.open_page(driver, pages / "plain.html", width)
    rows = driver.execute_script(
        "return Array.from(document.getElementById('table').tBodies[0].rows).map(row => Array.from(row.cells)"
        ".map(c => [c.textContent, c.getBoundingClientRect().right, c.getBoundingClientRect().top,"
        "c.getBoundingClientRect().height, getComputedStyle(c, '::before').content]))"
    )
    for name, *numbers, remark in rows:
        for text, right, top, height, label in numbers:
            assert right <= width
            assert height > 0
            assert top > name[2]
            assert len(label) > 2, text
        assert bool(remark[3]) == bool(remark[0])
        assert not remark[0] or remark[2] > numbers[-1][2]
    assert any(row[-1][0] for row in rows)
    assert not all(row[-1][0] for row in rows)


def test_keyboard(driver, pages):
    """Tab reaches the slider, after the links, and arrows move it; its focus can be seen."""
    from selenium.webdriver.common.keys import Keys

    browser.open_page(driver, pages / "plain.html")
    order = []
    for _ in range(20):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        own = driver.switch_to.active_element
        order.append(own.get_attribute("id") or own.get_attribute("href"))
        if order[-1] == "slider":
            break
    assert order[0].endswith("#table")
    assert order[-1] == "slider"
    before = shown(driver)
    driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    now = shown(driver)
    assert now["cursor"] > before["cursor"]
    assert now["cells"] != before["cells"]
    assert driver.execute_script("return getComputedStyle(document.activeElement).outlineStyle") != "none"


def test_names_in_pictures_are_text(driver, pages):
    """Plotly draws them as they are: no markup of its own, and no script has run."""
    browser.open_page(driver, pages / "nasty.html")
    labels = driver.execute_script(
        "return Array.from(document.querySelectorAll('#bars .ytick text')).map(t => t.textContent)"
    )
    assert "<script>alert(1)</script>" in labels
    assert any(label.startswith("<b>bold</b>&lt;i&g") for label in labels)
    assert not driver.execute_script("return document.querySelectorAll('.picture a, .picture b').length")
    assert driver.execute_script("return document.querySelectorAll('script').length") == 3
    names = driver.execute_script(
        "return Array.from(document.querySelectorAll('#table tbody th')).map(t => t.textContent)"
    )
    assert len(set(names)) == len(logs.NASTY) + 1


def test_print_and_dark(driver, pages):
    """In print the slider goes, pictures fit the sheet, and all is dark on white, also of a dark screen."""
    from selenium.webdriver.support.ui import WebDriverWait

    browser.open_page(driver, pages / "plain.html")
    dark = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    colours = (
        "return [getComputedStyle(document.body).backgroundColor,"
        "document.getElementById('bars').layout.font.color];"
    )

    def turns(*wanted: str) -> bool:
        """Whether it does soon: a change of the medium is told to the page with its next frame."""
        wait = WebDriverWait(driver, 20)
        return wait.until(lambda d: d.execute_script(colours) == list(wanted))

    assert turns("rgb(255, 255, 255)", "#1c1e21")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", dark)
    assert turns("rgb(22, 24, 28)", "#e8eaed")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", **dark})
    assert turns("rgb(255, 255, 255)", "#000000")
    assert driver.execute_script("return document.getElementById('bars').layout.width") == 660
    assert not driver.find_element("id", "slider").is_displayed()
    assert len(driver.print_page()) > 10_000
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    assert turns("rgb(255, 255, 255)", "#1c1e21")


def test_policy_holds(driver, pages, tmp_path):
    """A script that gets into the page does not run: catches a policy that is not in force."""
    path = tmp_path / "changed.html"
    text = (pages / "plain.html").read_text(encoding="utf-8")
    path.write_text(text.replace("</main>", "<script>window.ran = 1</script></main>"), encoding="utf-8")
    browser.open_page(driver, path)
    assert driver.execute_script("return window.ran === undefined")
    (refusal,) = [entry["message"] for entry in driver.get_log("browser")]
    assert "Content Security Policy" in refusal
