"""From nothing to scores in a real browser: a demo, and own files with a bad one among them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.tabs import fits, tab
from tests.eap_core.project.conftest import archive, picture, table_text

HELP = {
    "Normals": "Good examples",
    "Candidates": "The generated anomalies",
    "Everything in one ZIP": "Folders tell what each image is",
}


@pytest.fixture
def page(browser: Browser) -> Page:
    return tab(browser)


@pytest.mark.parametrize(
    ("demo", "candidates"), [("Try machined parts", 120), ("Try tumour measurements", 160)]
)
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_a_demo_is_one_click_from_its_review(
    browser: Browser, server: str, demo: str, candidates: int, width: int, height: int
) -> None:
    page = tab(browser, width, height)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server)
    page.get_by_role("button", name=demo).click()
    expect(page.locator(".stage .place")).to_contain_text(f"of {candidates}")
    expect(page).to_have_url(re.compile("/review"))
    fits(page)
    page.reload()
    expect(page.locator(".stage .place")).to_contain_text(f"of {candidates}")
    page.locator("[data-testid=stPageLink]").get_by_text("Score", exact=True).click()
    expect(page.get_by_text("Why this score")).to_be_visible()
    fits(page)
    with page.expect_download() as started:  # also while methods arrive and the page is redrawn
        page.get_by_role("link", name="Download all scores").click()
    lines = started.value.path().read_text().splitlines()
    assert lines[0].startswith("id,eap,percentile,")
    assert len(lines) == candidates + 1
    assert errors == []


def create(page: Page, server: str, name: str, kind: str) -> None:
    page.goto(server)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("radio", name=kind).click()
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def add(page: Page, role: str, file: Path) -> None:
    page.get_by_role("radio", name=role, exact=True).click()
    expect(page.get_by_text(HELP[role])).to_be_visible()  # the page has followed
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text(file.name).first).to_be_visible()
    page.get_by_role("button", name="Add", exact=True).click()


def test_own_files_are_added_reported_on_and_scored(
    page: Page, server: str, tmp_path: Path
) -> None:
    create(page, server, "Line 3", "Table")
    bad = tmp_path / "broken.csv"
    bad.write_text("id,a,b\nx,1\n")
    add(page, "Normals", bad)
    said = "broken.csv has lines that do not fit its header"
    expect(page.get_by_text(said)).to_be_visible()
    for role, rows, shift in (("Normals", 60, 0.0), ("Candidates", 9, 2.0)):
        file = tmp_path / f"{role}.csv"
        file.write_text(table_text(rows, rows, shift))
        add(page, role, file)
        expect(page.get_by_text(f"Added: {rows} {role.lower()}")).to_be_visible()
    expect(page.get_by_text("There are no real anomalies")).to_be_visible()
    page.reload()  # everything needed to come back is in the URL
    page.get_by_role("button", name="Score the candidates").click()
    expect(page.get_by_role("link", name="See the scores")).to_be_visible()


def test_hostile_names_are_shown_as_text(page: Page, server: str, tmp_path: Path) -> None:
    create(page, server, "<b>x</b>", "Images")
    members = {f"good/{i}.png": picture(i) for i in range(8)}
    members |= {'generated/<img src=x onerror="alert(1)">/=cmd.png': picture(3)}
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    add(page, "Everything in one ZIP", archive(tmp_path / "all.zip", members))
    expect(page.get_by_text("exact copies of a normal")).to_be_visible()
    page.get_by_text("Which ones (1)").first.click()
    expect(page.get_by_text("<img src=x", exact=False).first).to_be_visible()
    assert dialogs == []
    fits(page)
