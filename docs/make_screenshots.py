"""Pictures of the running app for the README, on a desk and on a phone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parent / "screenshots"
ADDRESS = "http://127.0.0.1:8597"
SIZES = {"": (1440, 900), "-phone": (390, 844)}
WAIT = 300_000


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        port = ADDRESS.rsplit(":", 1)[1]
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
        server = subprocess.Popen(
            [*command, "--server.port", port],
            cwd=Path(__file__).parents[1],
            env={**os.environ, "EAP_HOME": home, "EAP_STORE": ""},
            stdout=subprocess.DEVNULL,
        )
        try:
            _wait()
            _pictures()
        finally:
            server.terminate()
            server.wait()


def _pictures() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_context(viewport={"width": 1440, "height": 900}).new_page()
        page.goto(ADDRESS)
        page.get_by_role("button", name="Demo with images").click()
        page.get_by_role("link", name="See the scores").wait_for(timeout=WAIT)
        project = page.url.rsplit("?", 1)[1]
        for ending, (width, height) in SIZES.items():
            page.set_viewport_size({"width": width, "height": height})
            _home(page, ending)
            _data(page, project, ending)
            _score(page, project, ending)
        browser.close()


def _home(page: Page, ending: str) -> None:
    fresh = page.context.new_page()
    fresh.set_viewport_size(page.viewport_size or {"width": 1440, "height": 900})
    fresh.goto(ADDRESS)
    fresh.get_by_role("button", name="Open").wait_for(timeout=WAIT)
    _take(fresh, f"home{ending}")
    fresh.close()


def _data(page: Page, project: str, ending: str) -> None:
    page.goto(f"{ADDRESS}/?{project}")
    heading = page.get_by_text("Health of the data")
    page.get_by_role("link", name="See the scores").wait_for(timeout=WAIT)
    heading.scroll_into_view_if_needed()
    page.get_by_text("Score again").scroll_into_view_if_needed()
    _take(page, f"data{ending}")


def _score(page: Page, project: str, ending: str) -> None:
    page.goto(f"{ADDRESS}/score?{project}")
    page.get_by_text("Why this score").wait_for(timeout=WAIT)
    page.locator("[data-testid=stPlotlyChart] svg.main-svg").first.wait_for()
    _take(page, f"score{ending}")
    page.get_by_text("Why this score").scroll_into_view_if_needed()
    page.get_by_role("img", name="Candidate").first.scroll_into_view_if_needed()
    _take(page, f"why{ending}")


def _take(page: Page, name: str) -> None:
    page.wait_for_timeout(1500)  # charts fade in
    page.screenshot(path=FOLDER / f"{name}.png")


def _wait() -> None:
    for _ in range(120):
        try:
            with urlopen(f"{ADDRESS}/_stcore/health"):
                return
        except (URLError, OSError):
            time.sleep(0.5)


if __name__ == "__main__":
    main()
