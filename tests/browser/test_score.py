"""The first screen in a real browser, on a desk and on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (390, 844)])
def test_the_demo_is_there_and_fits_the_screen(
    browser: Browser, server: str, width: int, height: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": height})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(server)
    expect(page.get_by_text("Why this score")).to_be_visible(timeout=60_000)
    expect(page.locator("[data-testid=stPlotlyChart] svg.main-svg").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("[data-testid=stException]").count() == 0
    assert errors == []
    page.close()


def test_the_scores_can_be_downloaded(browser: Browser, server: str) -> None:
    page = browser.new_page()
    page.goto(server)
    button = page.get_by_role("button", name="Download all scores")
    expect(button).to_be_visible(timeout=60_000)
    with page.expect_download() as started:
        button.click()
    lines = started.value.path().read_text().splitlines()
    assert lines[0].startswith("id,eap,rank,percentile,category,p_x,p_y,weight,prior")
    assert len(lines) == 161
    page.close()
