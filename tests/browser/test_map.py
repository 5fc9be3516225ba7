"""The gallery and the map in a real browser: lasso, keys, batches, undo, a full disk."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from eap_core.analysis import Plan
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.project.run import score_project
from eap_core.store import projects
from eap_core.store.decisions import read_log
from eap_core.store.store import Store
from tests.browser.app_server import AppServer
from tests.browser.scored import CANDIDATES, states
from tests.browser.tabs import at_rest, fits, tab
from tests.eap_core.project.conftest import archive, picture

HOSTILE = '<img src=x onerror="alert(1)">'


# As react-plotly leaves it when it is done: the mouse is heard, and so is what was drawn.
LISTENING = """() => {
    const plot = document.querySelector(".js-plotly-plot");
    const area = plot?.querySelector(".nsewdrag");
    return area?.onmousedown && plot._ev?.listenerCount("plotly_selected") > 0;
}"""


def opened(browser: Browser, server: str, project: str, on_a_page: int = CANDIDATES) -> Page:
    page = tab(browser)
    more = f"&cards={on_a_page}" if on_a_page < CANDIDATES else ""
    page.goto(f"{server}/map?project={project}&reviewer=Ada{more}")
    expect(cards(page)).to_have_count(on_a_page)
    expect(plot(page)).to_be_visible()
    at_rest(page)
    return page


def cards(page: Page) -> Locator:
    return page.get_by_role("option")


def plot(page: Page) -> Locator:
    return page.locator("[data-testid=stPlotlyChart] .nsewdrag").first


def draw_around(page: Page, left: float, top: float, right: float, bottom: float) -> None:
    """With the mouse, as shares of the map."""
    box = still(page)
    for i, (x, y) in enumerate(
        [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
    ):
        at = box["x"] + x * box["width"], box["y"] + y * box["height"]
        page.mouse.move(*at, steps=1 if i == 0 else 6)
        if i == 0:
            page.mouse.down()
    page.mouse.up()


def still(page: Page) -> FloatRect:
    """Where the map is, as soon as it listens and stays where it is."""
    at_rest(page)
    page.wait_for_function(LISTENING)
    before = None
    while (box := plot(page).bounding_box()) is None or box != before:
        before = box
        page.wait_for_timeout(300)
    return box


def names(page: Page) -> list[str]:
    return page.locator(".card .name").all_inner_texts()


def said(page: Page, text: str) -> None:
    expect(page.get_by_text(text).first).to_be_visible()


def inside(page: Page) -> list[str]:
    """The names of those drawn around, once the gallery shows them and no others."""
    text = page.get_by_text("drawn around on the map")
    expect(text).to_be_visible()
    expect(cards(page)).to_have_count(int(text.inner_text().split()[0]))
    return names(page)


def test_what_is_drawn_around_is_shown_rejected_and_taken_back_in_one_step(
    browser: Browser, server: str, project: str, behind: Store
) -> None:
    page = opened(browser, server, project)
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    all_names = names(page)
    assert len(all_names) == CANDIDATES
    draw_around(page, 0.02, 0.02, 0.98, 0.5)
    around = inside(page)
    assert 0 < len(around) < CANDIDATES
    page.get_by_role("button", name=f"Reject {len(around)}").click()
    page.get_by_text("Too subtle").click()
    said(page, f"{len(around)} rejected")
    said(page, f"reviewed {len(around)} of {CANDIDATES}")
    found = states(behind, project)
    assert sorted(found) == sorted(around)
    assert {(state.verdict, state.reason) for state in found.values()} == {("reject", "too_subtle")}
    assert len({row.batch for row in read_log(behind, project)}) == 1
    expect(page.locator(".badge.rejected")).to_have_count(len(around))
    page.get_by_role("button", name="Undo").click()
    said(page, f"reviewed 0 of {CANDIDATES}")
    assert {state.verdict for state in states(behind, project).values()} == {None}
    page.get_by_role("button", name="Show all").click()
    expect(cards(page)).to_have_count(CANDIDATES)
    assert names(page) == all_names
    assert errors == []


def test_picked_cards_are_ringed_and_what_was_drawn_around_stays(
    browser: Browser, server: str, project: str
) -> None:
    page = opened(browser, server, project)
    draw_around(page, 0.02, 0.02, 0.98, 0.5)
    around = inside(page)
    cards(page).first.click()
    said(page, f"1 picked of {len(around)}")
    said(page, "picked in the gallery")
    expect(page.locator(".selectionlayer path").first).to_be_attached()
    draw_around(page, 0.005, 0.005, 0.995, 0.995)  # beside the old outline, or it would be moved
    said(page, f"{CANDIDATES} drawn around on the map")
    expect(page.get_by_text("picked of")).to_have_count(0)


def test_everything_in_the_gallery_is_done_with_keys(
    browser: Browser, server: str, project: str, behind: Store
) -> None:
    page = opened(browser, server, project)
    shown = names(page)
    page.keyboard.press("a")  # not in the gallery: nothing
    cards(page).first.focus()
    for key in ("ArrowRight", "Space", "Shift+ArrowRight", "Shift+ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator('[aria-selected="true"]')).to_have_count(3)
    said(page, f"3 picked of {CANDIDATES}")
    assert read_log(behind, project) == []
    page.keyboard.press("x")
    said(page, f"reviewed 3 of {CANDIDATES}")
    expect(page.locator('[aria-selected="true"]')).to_have_count(0)
    page.keyboard.press("Home")
    for _ in range(4):
        page.keyboard.press("a")  # the focused one, and on to the next
        page.wait_for_timeout(40)
    said(page, f"reviewed 4 of {CANDIDATES} · accepted 4")  # three were rejected before
    found = states(behind, project)
    assert [found[name].verdict for name in shown[:4]] == ["accept"] * 4
    page.keyboard.press("End")
    expect(cards(page).last).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".stage h3").first).not_to_have_text("")
    expect(page).to_have_url(re.compile("/review"))
    said(page, shown[-1])


def test_a_range_is_picked_with_the_mouse_and_reviewed(
    browser: Browser, server: str, project: str
) -> None:
    page = opened(browser, server, project)
    cards(page).nth(1).click()
    cards(page).nth(5).click(modifiers=["Shift"])
    expect(page.locator('[aria-selected="true"]')).to_have_count(5)
    said(page, "5 picked")
    with page.expect_download() as started:
        page.get_by_role("link", name="Export these").click()
    lines = started.value.path().read_text().splitlines()
    assert len(lines) == 6
    assert lines[0].endswith("decision,reason,reviewer")
    page.get_by_role("button", name="Review these").click()
    expect(page.locator(".stage .place")).to_have_text("1 of 5")


def test_a_full_disk_is_said_and_what_was_decided_is_saved_when_there_is_room(
    browser: Browser, running: AppServer, project: str, behind: Store
) -> None:
    page = opened(browser, running.address, project)
    with running.full_disk():
        cards(page).first.focus()
        page.keyboard.press("a")
        page.keyboard.press("x")
        said(page, "not saved")
        expect(page.locator(".badge.saving")).to_have_count(2)
        assert read_log(behind, project) == []
    said(page, f"reviewed 2 of {CANDIDATES}")
    expect(page.get_by_text("not saved")).to_have_count(0)
    assert [row.verdict for row in read_log(behind, project)] == ["accept", "reject"]


def test_what_is_picked_after_the_key_is_not_decided(
    browser: Browser, running: AppServer, project: str, behind: Store
) -> None:
    page = opened(browser, running.address, project, 24)
    meant = names(page)[:2]
    with running.full_disk():
        cards(page).nth(0).click()
        cards(page).nth(1).click()
        said(page, f"2 picked of {CANDIDATES}")
        page.keyboard.press("a")
        page.keyboard.press("a")  # once too often: they are on their way
        said(page, "not saved")
        said(page, "none picked")
        page.get_by_role("button", name="Page 2").click()
        expect(cards(page)).to_have_count(CANDIDATES - 24)
        cards(page).nth(3).click()
        said(page, f"1 picked of {CANDIDATES}")
    said(page, f"reviewed 2 of {CANDIDATES}")
    assert sorted(states(behind, project)) == sorted(meant)
    assert len({row.batch for row in read_log(behind, project)}) == 1
    said(page, f"1 picked of {CANDIDATES}")


def test_what_is_picked_on_other_pages_is_decided_too(
    browser: Browser, server: str, project: str, behind: Store
) -> None:
    page = opened(browser, server, project, 24)
    first = names(page)[0]
    cards(page).first.click()
    said(page, f"1 picked of {CANDIDATES}")
    page.get_by_role("button", name="Page 2").click()
    expect(cards(page)).to_have_count(CANDIDATES - 24)
    second = names(page)[0]
    cards(page).first.click()
    said(page, f"2 picked of {CANDIDATES}")
    page.keyboard.press("x")
    said(page, f"reviewed 2 of {CANDIDATES}")
    assert sorted(states(behind, project)) == sorted([first, second])


def test_what_was_not_saved_is_sent_on_the_next_visit_in_the_name_of_who_decided(
    browser: Browser, running: AppServer, project: str, behind: Store
) -> None:
    page = opened(browser, running.address, project)
    with running.full_disk():
        cards(page).first.focus()
        page.keyboard.press("a")
        said(page, "not saved")
        page.goto("about:blank")
    for reviewer, reviewed in (("Bo", 0), ("Ada", 1)):
        page.goto(f"{running.address}/map?project={project}&reviewer={reviewer}")
        expect(cards(page).first).to_be_visible()
        page.wait_for_timeout(1500)  # time enough to send what must not be sent
        said(page, f"reviewed {reviewed} of {CANDIDATES}")
    assert [row.reviewer for row in read_log(behind, project)] == ["Ada"]
    page.wait_for_function("Object.keys(localStorage).every((k) => !k.includes('gallery'))")


def test_a_renamed_reviewer_does_not_sign_what_was_decided_before(
    browser: Browser, running: AppServer, project: str, behind: Store
) -> None:
    page = opened(browser, running.address, project)
    with running.full_disk():
        cards(page).first.focus()
        page.keyboard.press("a")
        said(page, "not saved")
        page.get_by_role("button", name="You: Ada").click()
        page.get_by_label("Your name").fill("Bo")
        page.get_by_role("button", name="Use this name").click()
        expect(page.get_by_role("button", name="You: Bo")).to_be_visible()
    said(page, f"reviewed 1 of {CANDIDATES}")
    assert [row.reviewer for row in read_log(behind, project)] == ["Ada"]


def test_a_double_click_opens_one_and_then_another(
    browser: Browser, server: str, project: str
) -> None:
    page = opened(browser, server, project)
    shown = names(page)
    for place in (2, 5):
        cards(page).nth(place).dblclick()
        expect(page.locator(".stage h3").first).to_have_text(shown[place])
        expect(page.get_by_text("No fragment found")).to_have_count(0)
        page.keyboard.press("ArrowRight")
        expect(page.locator(".stage h3").first).to_have_text(shown[place + 1])
        page.get_by_role("link", name="Map").click()
        expect(cards(page)).to_have_count(CANDIDATES)
        at_rest(page)  # a card that moves between two clicks is another one


def test_hostile_names_are_shown_as_text(
    browser: Browser, server: str, behind: Store, tmp_path: Path
) -> None:
    made = projects.create(behind, f"images {time.monotonic_ns()}", "images").id
    members = {f"good/{i}.png": picture(i) for i in range(8)}
    members |= {f"generated/{HOSTILE}/{i} {HOSTILE}.png": picture(20 + i) for i in range(3)}
    take(behind, made, [InputFile.at(archive(tmp_path / "all.zip", members))])
    score_project(behind, made, Plan())
    page = tab(browser)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.goto(f"{server}/map?project={made}&reviewer={HOSTILE}")
    expect(cards(page)).to_have_count(3)
    expect(page.locator(".card img")).to_have_count(3)
    expect(page.locator(".card img").first).to_have_js_property("complete", True)
    assert all(HOSTILE in (card.get_attribute("aria-label") or "") for card in cards(page).all())
    expect(plot(page)).to_be_visible()
    box = still(page)
    for i in range(12):  # over the points, so that their names are shown
        at = box["x"] + box["width"] * (i + 0.5) / 12, box["y"] + box["height"] / 2
        page.mouse.move(*at, steps=4)
    assert dialogs == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_has_everything_within_reach_of_a_thumb(
    browser: Browser, server: str, project: str, scheme: Literal["light", "dark"]
) -> None:
    page = tab(browser, 390, 844, scheme=scheme)
    page.goto(f"{server}/map?project={project}&reviewer=Ada")
    expect(cards(page)).to_have_count(CANDIDATES)
    at_rest(page)
    fits(page)
    cards(page).nth(2).click()
    said(page, "1 picked")
    box = cards(page).nth(2).bounding_box()
    assert box is not None
    assert min(box["width"], box["height"]) >= 44
    page.get_by_role("button", name="Filter").click()
    page.get_by_text("Accepted", exact=True).click()
    said(page, "No candidate matches")
