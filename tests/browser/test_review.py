"""The review stage in a real browser: keys, undo, two reviewers, a dying server, a full disk."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from eap_core.analysis import Plan
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.project.run import score_project
from eap_core.review import Decision, make_undo
from eap_core.store import projects
from eap_core.store.decisions import append, read_log
from eap_core.store.items import items_of
from eap_core.store.store import Store
from tests.browser.app_server import AppServer
from tests.browser.scored import CANDIDATES, states
from tests.browser.tabs import fits, tab
from tests.eap_core.project.conftest import archive, picture


def opened(browser: Browser, server: str, project: str, who: str = "Ada", more: str = "") -> Page:
    page = tab(browser)
    page.goto(f"{server}/review?project={project}&reviewer={who}{more}")
    expect(page.locator(".stage h3").first).not_to_have_text("")
    expect(place(page)).not_to_have_text("")
    return page


def place(page: Page) -> Locator:
    return page.locator(".stage .place")


def name(page: Page) -> str:
    return page.locator(".stage aside h3").inner_text()


def saved(page: Page) -> Locator:
    return page.locator(".stage .saved")


def all_saved(page: Page) -> None:
    expect(saved(page)).to_contain_text("Saved")


@pytest.mark.parametrize("pause", [30, 120])
def test_twenty_keys_are_twenty_right_decisions_and_a_reload_comes_back_to_the_same_place(
    browser: Browser, server: str, project: str, behind: Store, pause: int
) -> None:
    page = opened(browser, server, project)
    wanted = {}
    for i in range(20):
        wanted[name(page)] = "accept" if i % 3 else "reject"
        page.keyboard.press("a" if i % 3 else "x")
        page.wait_for_timeout(pause)
    all_saved(page)
    found = {item: state.verdict for item, state in states(behind, project).items()}
    assert found == wanted
    assert len(found) == 20
    here = name(page)
    expect(place(page)).to_have_text(f"21 of {CANDIDATES}")
    page.reload()
    expect(place(page)).to_have_text(f"21 of {CANDIDATES}")
    assert name(page) == here
    expect(page.get_by_text("reviewed 20 of 40")).to_be_visible()


def test_a_key_is_heard_once_however_often_the_page_was_drawn(
    browser: Browser, server: str, project: str, behind: Store
) -> None:
    """By an event that cannot be marked as dealt with, which every listener would take for new."""
    page = opened(browser, server, project)
    for i in range(6):
        page.evaluate("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'a'}))")
        expect(place(page)).to_have_text(f"{i + 2} of {CANDIDATES}")
        all_saved(page)
    assert len(read_log(behind, project)) == 6


def test_reason_note_flag_and_undo_are_saved_as_they_were_meant(
    browser: Browser, server: str, project: str, behind: Store
) -> None:
    page = opened(browser, server, project)
    first = name(page)
    page.keyboard.press("f")
    page.keyboard.press("n")
    page.keyboard.type("seam at x = 2 <b>")
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    page.keyboard.press("x")
    second = name(page)
    page.keyboard.press("a")
    all_saved(page)
    page.keyboard.press("z")
    expect(page.locator(".stage .stands")).to_contain_text(f"Took back: {second}")
    all_saved(page)
    found = states(behind, project)
    assert (found[first].verdict, found[first].reason) == ("reject", "impossible")
    assert found[first].note == "seam at x = 2 <b>"
    assert found[first].flagged
    assert found[second].verdict is None
    assert name(page) == second
    # A reload forgets nothing that an undo needs.
    page.reload()
    expect(place(page)).to_have_text(f"2 of {CANDIDATES}")
    page.keyboard.press("Backspace")
    expect(page.locator(".stage aside h3")).to_have_text(first)
    expect(page.locator(".stage .stands")).not_to_contain_text("rejected")
    all_saved(page)
    assert states(behind, project)[first].verdict is None


def test_a_note_waits_for_its_decision_also_over_a_reload(
    browser: Browser, server: str, project: str, behind: Store
) -> None:
    page = opened(browser, server, project)
    first, note = name(page), page.get_by_role("textbox", name="Note")
    page.keyboard.press("n")
    page.keyboard.type("look again")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    expect(note).to_have_value("")
    expect(page).to_have_url(re.compile("item="))  # where a reload comes back to
    page.reload()
    expect(place(page)).to_have_text(f"2 of {CANDIDATES}")
    page.keyboard.press("ArrowLeft")
    expect(note).to_have_value("look again")
    page.keyboard.press("x")
    expect(note).to_have_value("")
    all_saved(page)
    assert states(behind, project)[first].note == "look again"


def test_a_batch_that_was_taken_back_elsewhere_does_not_hold_up_what_follows(
    browser: Browser, server: str, project: str, behind: Store
) -> None:
    items = [item for item in items_of(behind, project) if item.role == "candidate"]
    batch = [Decision(str(uuid4()), one.id, "reject", "Ada", batch="b") for one in items[:3]]
    append(behind, project, batch)
    page = opened(browser, server, project)
    append(behind, project, make_undo(batch, "Ada", 3))
    page.keyboard.press("z")
    expect(page.locator(".stage .notices")).to_contain_text("taken back already")
    page.keyboard.press("a")
    all_saved(page)
    assert [row.verdict for row in read_log(behind, project)][6:] == ["accept"]


def test_what_one_reviewer_has_not_saved_is_never_signed_by_another(
    browser: Browser, running: AppServer, project: str, behind: Store
) -> None:
    page = opened(browser, running.address, project, "Eve")
    with running.full_disk():
        page.keyboard.press("a")
        expect(saved(page)).to_contain_text("not saved")
        page.get_by_text("You: Eve").click()
        page.get_by_label("Your name").fill("Fay")
        page.get_by_role("button", name="Use this name").click()
        expect(page.get_by_text("You: Fay")).to_be_visible()
        page.keyboard.press("Escape")
    page.wait_for_timeout(5_000)  # longer than it takes to try again
    assert read_log(behind, project) == []
    page.goto(f"{running.address}/review?project={project}&reviewer=Eve")
    all_saved(page)
    assert [(row.reviewer, row.verdict) for row in read_log(behind, project)] == [("Eve", "accept")]


def test_the_name_is_remembered_by_the_browser(browser: Browser, server: str, project: str) -> None:
    page = tab(browser)
    page.goto(f"{server}/review?project={project}&reviewer=Ada%20L%C3%B6w")
    expect(place(page)).to_have_text(f"1 of {CANDIDATES}")
    other = page.context.new_page()
    other.goto(f"{server}/review?project={project}")
    expect(other.get_by_text("You: Ada Löw")).to_be_visible()


@pytest.mark.parametrize("blank", ["%20", "%00", "%0A"])
def test_a_link_without_a_name_in_it_gets_one(
    browser: Browser, server: str, project: str, behind: Store, blank: str
) -> None:
    page = opened(browser, server, project, blank)
    page.keyboard.press("a")
    all_saved(page)
    assert read_log(behind, project)[0].reviewer.startswith("Reviewer ")


def test_keys_do_nothing_while_text_is_written_or_when_they_are_switched_off(
    browser: Browser, server: str, project: str, behind: Store
) -> None:
    page = opened(browser, server, project)
    page.keyboard.press("n")
    page.keyboard.type("a x z")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Keys").click()
    page.keyboard.press("a")
    page.get_by_role("button", name="Keys").click()
    page.locator(".stage").click(position={"x": 2, "y": 2})
    assert place(page).inner_text() == f"1 of {CANDIDATES}"
    assert read_log(behind, project) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("a")
    assert read_log(behind, project) == []
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_hidden()


def test_the_second_of_two_reviewers_is_told_what_the_first_decided(
    browser: Browser, server: str, project: str, behind: Store
) -> None:
    one, two = (opened(browser, server, project, who) for who in ("Ada", "Bo"))
    item = name(one)
    assert name(two) == item
    one.keyboard.press("a")
    all_saved(one)
    two.keyboard.press("x")
    told = two.locator(".stage .notices")
    expect(told).to_contain_text("Ada accepted it at")
    expect(told).to_contain_text("Both are kept")
    assert [row.verdict for row in read_log(behind, project)] == ["accept", "reject"]
    assert states(behind, project)[item].conflicts
    two.get_by_role("button", name="Understood").click()
    expect(told).to_be_empty()


def test_scores_are_hidden_until_decided_in_blind_mode(
    browser: Browser, server: str, project: str
) -> None:
    page = opened(browser, server, project, more="&blind=true")
    why = page.locator(".stage .why")
    expect(why).to_contain_text("hidden until you decide")
    expect(page.locator(".stage .about")).not_to_contain_text("generator")
    page.keyboard.press("a")
    expect(place(page)).to_have_text(f"2 of {CANDIDATES}")
    page.keyboard.press("ArrowLeft")
    expect(why).to_contain_text("quality percentile")


def test_a_phone_has_everything_within_reach_of_a_thumb(
    browser: Browser, server: str, project: str, behind: Store
) -> None:
    page = tab(browser, 390, 844, touch=True)
    page.goto(f"{server}/review?project={project}")
    accept = page.get_by_role("button", name="Accept")
    expect(accept).to_be_in_viewport()
    accept.tap()
    expect(place(page)).to_have_text(f"2 of {CANDIDATES}")
    all_saved(page)
    fits(page)
    box = accept.bounding_box()
    assert box is not None
    assert box["height"] >= 44
    assert len(read_log(behind, project)) == 1


def test_a_full_disk_is_said_and_nothing_is_lost_when_there_is_room_again(
    browser: Browser, running: AppServer, project: str, behind: Store
) -> None:
    page = opened(browser, running.address, project)
    with running.full_disk():
        for _ in range(3):
            page.keyboard.press("a")
        expect(saved(page)).to_contain_text("not saved: the disk")
        assert read_log(behind, project) == []
    all_saved(page)
    assert [row.verdict for row in read_log(behind, project)] == ["accept"] * 3


def test_a_server_killed_in_the_midst_of_keys_loses_nothing_and_the_page_goes_on(
    browser: Browser, running: AppServer, project: str, behind: Store
) -> None:
    page = opened(browser, running.address, project)
    names = []
    for i in range(24):
        names.append(name(page))
        page.keyboard.press("a")
        page.wait_for_timeout(30)
        if i == 11:
            running.kill()
    assert saved(page).inner_text() != ""
    acknowledged = len(read_log(behind, project))
    running.start()
    all_saved(page)
    found = states(behind, project)
    assert len(found) >= acknowledged
    assert [found[one].verdict for one in names] == ["accept"] * 24
    page.keyboard.press("x")
    all_saved(page)
    assert len(read_log(behind, project)) == 25


def test_what_was_not_saved_when_the_page_closed_is_saved_when_it_opens(
    browser: Browser, running: AppServer, project: str, behind: Store
) -> None:
    page = tab(browser)
    page.goto(f"{running.address}/review?project={project}&reviewer=Ada")
    expect(place(page)).to_have_text(f"1 of {CANDIDATES}")
    item = name(page)
    running.kill()
    page.keyboard.press("x")
    again = page.context.new_page()
    page.close()
    running.start()
    assert read_log(behind, project) == []
    again.goto(f"{running.address}/review?project={project}&reviewer=Ada")
    all_saved(again)
    assert states(behind, project)[item].verdict == "reject"


def test_pictures_are_shown_compared_and_zoomed_in_step(
    browser: Browser, server: str, behind: Store, tmp_path: Path
) -> None:
    members = {f"good/{i}.png": picture(i) for i in range(9)}
    members |= {f"generated/g/{i}.png": picture(20 + i) for i in range(3)}
    made = projects.create(behind, "parts", "images").id
    take(behind, made, [InputFile.at(archive(tmp_path / "all.zip", members))], None)
    score_project(behind, made, Plan(features="fast"))
    page = opened(browser, server, made)
    image = page.get_by_role("img", name="Candidate generated/g")
    expect(image).to_be_visible()
    expect(image).to_have_js_property("naturalWidth", 48)
    expect(page.locator(".stage .near figure")).to_have_count(3)  # normals; no real anomaly
    page.keyboard.press("d")
    expect(page.locator(".stage .candidate figcaption")).to_contain_text("Difference to good/")
    page.keyboard.press("d")
    page.keyboard.press("+")
    images = page.locator(".stage .view img:visible")
    expect(images).to_have_count(4)
    scale = "each => each.map((e) => new DOMMatrix(getComputedStyle(e).transform).a)"
    assert images.evaluate_all(scale) == [1.5] * 4
