"""Pictures of the running app for the README, on a desk and on a phone."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent / "screenshots"
ADDRESS = "http://127.0.0.1:8597"
SCREENS = {"score": (1440, 900), "score-phone": (390, 844)}


def main() -> None:
    port = ADDRESS.rsplit(":", 1)[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    server = subprocess.Popen(
        [*command, "--server.port", port],
        cwd=Path(__file__).parents[1],
        stdout=subprocess.DEVNULL,
    )
    try:
        _wait()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for name, (width, height) in SCREENS.items():
                page = browser.new_page(viewport={"width": width, "height": height})
                page.goto(ADDRESS)
                page.get_by_text("Why this score").wait_for()
                page.locator("[data-testid=stPlotlyChart] svg.main-svg").first.wait_for()
                page.wait_for_timeout(1500)  # charts fade in
                page.screenshot(path=FOLDER / f"{name}.png")
    finally:
        server.terminate()
        server.wait()


def _wait() -> None:
    for _ in range(120):
        try:
            with urlopen(f"{ADDRESS}/_stcore/health"):
                return
        except (URLError, OSError):
            time.sleep(0.5)


if __name__ == "__main__":
    main()
