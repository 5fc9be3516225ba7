"""The gallery and map of a large project: the server's part, a large batch, a large lasso."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen
from uuid import uuid4

from playwright.sync_api import Page, sync_playwright
from streamlit.testing.v1 import AppTest

from benchmarks.big_project import big_project
from benchmarks.measure import Figure, seconds
from eap_core.project.review import decide
from eap_core.store.decisions import Ledger
from eap_core.store.items import items_of
from eap_core.store.store import Store, open_store

MANY, FEW, BATCH = 10_000, 500, 5_000
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ROOT = Path(__file__).parents[1]
TITLE = f"Gallery and map: {MANY:,} candidates"
NOTE = (
    "The page is run whole, with the map and 48 cards, by Streamlit's AppTest and warm caches. "
    "The lasso is drawn by a mouse in Chromium; time runs from letting go of the button until the "
    "number of candidates stands on the page, and a page of the gallery from the click to its "
    f"cards. The reference of these is the same with {FEW} candidates. The batch is saved in one "
    "transaction and folded; its reference is a bare insert of the same rows with fsync."
)


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        store = open_store(Path(name))
        try:
            ids = {count: big_project(store, count).id for count in (FEW, MANY)}
            figures = [_page(store, ids)]
            figures += _in_a_browser(store, ids)
            figures.append(_batch(store, ids[MANY], Path(name)))
        finally:
            store.close()
        return figures


def _page(store: Store, ids: dict[int, str]) -> Figure:
    os.environ["EAP_HOME"] = str(store.home)
    few, many = (_page_seconds(ids[count]) for count in (FEW, MANY))
    return Figure(
        "server's part of the page, 48 cards and the map",
        f"{1000 * many:.0f} ms",
        f"{1000 * few:.0f} ms",
        f"{many / few:.1f}×",
        "< 300 ms",
    )


def _page_seconds(project: str) -> float:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.query_params["project"] = project
    app.run()
    app.switch_page("pages/map.py").run()
    assert not app.exception
    return seconds(lambda: app.run(), repeat=7)


def _batch(store: Store, project: str, folder: Path) -> Figure:
    items = [item.id for item in items_of(store, project, "candidate")][:BATCH]
    ledger = Ledger(store, project)

    def saved() -> None:
        seen = ledger.now().seq
        decide(store, project, str(uuid4()), items, "reject", "reviewer", seen, "artefact")
        assert ledger.now().seq == seen + BATCH

    ours, bare = seconds(saved), seconds(lambda: _bare_insert(folder / "bare.sqlite3", items))
    return Figure(
        f"{BATCH:,} decided in one batch",
        f"{ours:.2f} s",
        f"{bare:.2f} s",
        f"{ours / bare:.0f}× bare insert",
        "< 1.5 s",
    )


def _bare_insert(database: Path, items: list[str]) -> None:
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS rows (uuid, item, verdict, reviewer)")
        rows = [(str(uuid4()), item, "reject", "reviewer") for item in items]
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", rows)


def _in_a_browser(store: Store, ids: dict[int, str]) -> list[Figure]:
    with _server(store.home) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, BROWSERS)), None),
            args=["--no-sandbox", "--disable-gpu"],
        )
        found = {count: _timed(browser.new_page(), address, ids[count]) for count in (FEW, MANY)}
        browser.close()
    (few_paged, few, _), (paged, lassoed, around) = found[FEW], found[MANY]
    return [
        Figure(
            "click on the next page of cards until they are there",
            f"{1000 * paged:.0f} ms",
            f"{1000 * few_paged:.0f} ms",
            f"{paged / few_paged:.1f}×",
            "< 1 s",
        ),
        Figure(
            f"lasso around {around:,} points until their number is there",
            f"{lassoed:.2f} s",
            f"{few:.2f} s",
            f"{lassoed / few:.1f}×",
            "< 1.5 s",
        ),
    ]


def _timed(page: Page, address: str, project: str) -> tuple[float, float, int]:
    """The next page, a lasso around about half of all, and how many were inside."""
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{address}/map?project={project}&reviewer=reviewer")
    plot = page.locator("[data-testid=stPlotlyChart] .nsewdrag").first
    plot.wait_for(timeout=120_000)
    page.get_by_role("option").first.wait_for()
    page.wait_for_timeout(3_000)
    first = page.get_by_role("option").first.get_attribute("data-id")
    next_page = page.get_by_role("button", name="Next page")
    next_page.scroll_into_view_if_needed()
    start = time.perf_counter()
    next_page.click()
    page.locator(f"[data-id='{first}']").wait_for(state="detached")
    paged = time.perf_counter() - start
    plot.scroll_into_view_if_needed()
    times = []
    for right in (0.55, 0.57, 0.56):
        _draw_around(page, right)
        start = time.perf_counter()
        text = page.get_by_text("drawn around on the map")
        text.wait_for(timeout=60_000)
        times.append(time.perf_counter() - start)
        around = int(text.inner_text().split()[0].replace(",", ""))
        page.get_by_role("button", name="Show all").click()
        text.wait_for(state="detached")
        page.wait_for_timeout(2_000)
    return paged, min(times), around


def _draw_around(page: Page, right: float) -> None:
    box = page.locator("[data-testid=stPlotlyChart] .nsewdrag").first.bounding_box()
    assert box is not None
    corners = [(0.01, 0.01), (right, 0.01), (right, 0.99), (0.01, 0.99), (0.01, 0.02)]
    for i, (x, y) in enumerate(corners):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
        if i == 0:
            page.mouse.down()
    page.mouse.up()


@contextmanager
def _server(home: Path) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless", "true"]
    process = subprocess.Popen(
        [*command, "--server.port", str(port)],
        cwd=ROOT,
        env={**os.environ, "EAP_HOME": str(home), "EAP_STORE": ""},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait(address: str) -> None:
    for _ in range(240):
        try:
            with urlopen(f"{address}/_stcore/health", timeout=2):
                return
        except (URLError, OSError):
            time.sleep(0.25)
