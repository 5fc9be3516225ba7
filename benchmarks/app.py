"""The app as a person at a browser feels it: the first page, a large project, a key."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.big_project import big_project
from benchmarks.measure import Figure
from eap_core.store.decisions import read_log
from eap_core.store.store import open_store
from tests.browser.app_server import AppServer

FEW, THOUSAND, MANY, KEYS = 50, 1_000, 10_000, 40
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TITLE = "The app in Chromium"
NOTE = (
    "Image projects. A key counts from its event until the next candidate's picture is complete "
    f"(median of {KEYS}); what is decided meanwhile is saved, and checked at the end. A project is "
    "opened by its link, in a browser that must load the app itself first, until its candidate or "
    f"its gallery is seen. The reference is the same with {FEW} candidates; that of the first page "
    "is the same page again."
)
# Ends when the stage shows another candidate and its picture is complete.
_NEXT = """async (before) => {
  const root = [...document.querySelectorAll('*')].map(e => e.shadowRoot).filter(Boolean)
    .find(r => r.querySelector('.stage'));
  const image = root.querySelector('.candidate img'), name = root.querySelector('aside h3');
  const start = performance.now();
  document.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', cancelable: true}));
  while (name.textContent === before || !image.complete) await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        store = open_store(home)
        ids = {count: big_project(store, count).id for count in (FEW, THOUSAND, MANY)}
        store.close()
        server = AppServer(home)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=next(filter(None, map(shutil.which, BROWSERS)), None),
                    args=["--no-sandbox", "--disable-gpu"],
                )
                figures = _figures(browser, server.address, ids, home)
                browser.close()
        finally:
            server.stop()
        return figures


def _figures(browser: Browser, address: str, ids: dict[int, str], home: Path) -> list[Figure]:
    first, again = (_until(browser, address, "text=New project") for _ in range(2))
    found = [
        Figure("first page of a new server", f"{first:.2f} s", f"{again:.2f} s", "", "< 3 s"),
    ]
    for step, seen in (("review", ".candidate img"), ("map", ".card img")):
        links = (f"{address}/{step}?project={ids[count]}" for count in (FEW, MANY))
        few, many = (_until(browser, link, seen) for link in links)
        what = f"open {MANY:,} images: {step}"
        found.append(Figure(what, f"{many:.2f} s", f"{few:.2f} s", f"{many / few:.1f}×", "< 3 s"))
    few, many = (_key(browser, address, ids[count], home) for count in (FEW, THOUSAND))
    what = f"key to next picture, {THOUSAND:,} candidates"
    return [
        *found,
        Figure(what, f"{many:.0f} ms", f"{few:.0f} ms", f"{many / few:.1f}×", "< 100 ms"),
    ]


def _until(browser: Browser, address: str, seen: str) -> float:
    page = browser.new_page()
    page.set_viewport_size({"width": 1440, "height": 900})
    start = time.perf_counter()
    page.goto(address)
    page.locator(seen).first.wait_for(timeout=60_000)
    took = time.perf_counter() - start
    page.close()
    return took


def _key(browser: Browser, address: str, project: str, home: Path) -> float:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{address}/review?project={project}")
    page.locator(".candidate img").first.wait_for(timeout=60_000)
    page.wait_for_timeout(1500)
    took = []
    for _ in range(KEYS):
        took.append(float(page.evaluate(_NEXT, _name(page))))
        page.wait_for_timeout(150)
    page.get_by_text("Saved").first.wait_for(timeout=60_000)
    page.close()
    store = open_store(home)
    saved = len(read_log(store, project))
    store.close()
    if saved != KEYS:
        raise RuntimeError(f"{saved} of {KEYS} decisions are saved")
    return statistics.median(took)


def _name(page: Page) -> str:
    return page.locator("aside h3").inner_text()
