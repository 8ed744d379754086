"""A real browser for the tests of the page: Chromium without a window, driven by selenium."""

import base64
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
# With PARZAX_BROWSER set its absence is a failure, not a reason to skip.
MISSING = not (CHROMIUM and DRIVER) and not os.environ.get("PARZAX_BROWSER")
WHY = "no chromium with chromedriver (Debian: apt-get install chromium chromium-driver)"
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """A driver with an empty profile, which keeps a log of the console and of all requests."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        # What the browser loads for its own first page is not the file's.
        driver.get("about:blank")
        requests(driver)
        yield driver
    finally:
        driver.quit()


def open_page(driver: Any, path: Path, width: int = 1440, height: int = 900) -> None:
    """Open a file in a window of that width, and wait until its pictures are drawn."""
    from selenium.webdriver.support.ui import WebDriverWait

    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get(path.resolve().as_uri())
    WebDriverWait(driver, 60).until(
        lambda d: d.execute_script("return document.documentElement.dataset.ready") == "yes"
    )


def requests(driver: Any) -> list[str]:
    """What has been asked for since the last call, without what is within the page."""
    messages = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [url for url in urls if not url.startswith(("data:", "blob:"))]


def screenshot(driver: Any, path: Path) -> None:
    """The whole page from top to bottom."""
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(shot["data"]))
