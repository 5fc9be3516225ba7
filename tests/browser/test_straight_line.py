"""The whole way in one browser: upload, score, review, map, export; and links to every step."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from eap_core.review import fold
from eap_core.store import projects
from eap_core.store.decisions import read_log
from eap_core.store.items import items_of
from eap_core.store.store import open_store
from tests.browser.app_server import ROOT, AppServer
from tests.browser.tabs import at_rest, fits, tab
from tests.browser.test_first_minutes import add, create
from tests.browser.test_map import draw_around, said
from tests.eap_core.project.conftest import table_text

CANDIDATES = 60
NAME = "=Line 3 <b>"
STEPS = ("score", "review", "map", "compare", "priors", "prompts", "export")


def go(page: Page, step: str) -> None:
    page.locator("[data-testid=stPageLink]").get_by_text(step, exact=True).click()
    expect(page).to_have_url(re.compile(f"/{step.lower()}"))


def fill_and_score(page: Page, running: AppServer, folder: Path) -> None:
    create(page, running.address, NAME, "Table")
    for role, rows, seed, shift in (("Normals", 80, 1, 0.0), ("Candidates", CANDIDATES, 3, 2.0)):
        file = folder / f"{role}.csv"
        file.write_text(table_text(rows, seed, shift, generator="drawn"))
        add(page, role, file)
        said(page, f"Added: {rows} {role.lower()}")
    page.get_by_role("button", name="Score the candidates").click()
    expect(page.get_by_role("link", name="See the scores")).to_be_visible()


def review_twenty(page: Page) -> dict[str, str]:
    """Twenty keys, each once its candidate is shown, and a reload; what was meant for which."""
    place, name = page.locator(".stage .place"), page.locator(".stage aside h3")
    wanted = {}
    for i in range(20):
        verdict = "reject" if i % 4 == 3 else "accept"
        expect(place).to_have_text(f"{i + 1} of {CANDIDATES}")
        expect(name).not_to_have_text("")
        wanted[name.inner_text()] = verdict
        page.keyboard.press("x" if verdict == "reject" else "a")
    expect(page.locator(".stage .saved")).to_contain_text("Saved")
    at_rest(page)  # the address, by which a reload finds the place, follows the decision
    here = name.inner_text()
    page.reload()
    expect(place).to_have_text(f"21 of {CANDIDATES}")
    assert name.inner_text() == here
    return wanted


def reject_a_part_of_the_map_and_undo(page: Page) -> None:
    expect(page.get_by_role("option").first).to_be_visible()
    draw_around(page, 0.02, 0.02, 0.98, 0.6)
    # the sentence counts them all; the gallery shows a page of them, and follows a little later
    found = page.get_by_text("drawn around on the map")
    expect(found).to_be_visible()
    inside = int(found.inner_text().split()[0])
    page.get_by_role("button", name=f"Reject {inside}").click()
    page.get_by_text("Too subtle").click()
    said(page, f"{inside} rejected")
    expect(page.get_by_text(f"reviewed 20 of {CANDIDATES}")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    said(page, f"reviewed 20 of {CANDIDATES}")


def downloaded(page: Page) -> bytes:
    page.get_by_role("button", name="Make the bundle").click()
    button = page.get_by_role("link", name="Download the table alone")
    expect(button).to_be_visible()
    with page.expect_download() as started:
        button.click()
    return started.value.path().read_bytes()


def test_from_files_to_a_curated_table_that_equals_the_command_lines(
    browser: Browser, running: AppServer, tmp_path: Path
) -> None:
    page = tab(browser)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    fill_and_score(page, running, tmp_path)
    go(page, "Review")
    wanted = review_twenty(page)
    go(page, "Map")
    reject_a_part_of_the_map_and_undo(page)
    go(page, "Export")
    clicked = downloaded(page)
    page.close()
    store = open_store(running.home)
    project = projects.find(store, NAME).id
    known = {item.id: item.name for item in items_of(store, project)}
    states = fold(read_log(store, project))
    found = {known[item]: state.verdict for item, state in states.items() if state.decided}
    store.close()
    assert found == wanted
    subprocess.run(
        [sys.executable, "-m", "eap_core", "export", project, "--out", str(tmp_path / "cli.csv")],
        cwd=ROOT,
        env={**os.environ, "EAP_HOME": str(running.home), "EAP_STORE": ""},
        check=True,
        capture_output=True,
    )
    assert clicked == (tmp_path / "cli.csv").read_bytes()
    assert clicked.count(b",accepted,") == 15
    assert errors == []


@pytest.mark.parametrize("step", STEPS)
def test_a_link_to_any_step_opens_it_cold(browser: Browser, tmp_path: Path, step: str) -> None:
    """On a server that nobody has visited yet, where Streamlit would leave app.py out."""
    server = AppServer(tmp_path)
    page = tab(browser)
    try:
        page.goto(f"{server.address}/{step}")
        said(page, "Choose a project")
        expect(page).to_have_url(re.compile(f"/{step}"))
        fits(page)
        at_rest(page)
        page.get_by_role("link", name="Go to the data").first.click()
        expect(page.get_by_role("button", name="Create")).to_be_visible()
    finally:
        page.close()
        server.stop()
