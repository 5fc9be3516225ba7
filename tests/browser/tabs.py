"""Tabs of the browser that wait as long as a busy machine needs, and when a page is at rest."""

from __future__ import annotations

from typing import Literal

from playwright.sync_api import Browser, Page, expect

WAIT = 120_000  # of everything: a slow machine is no failure
_FITS = "([most]) => document.documentElement.scrollWidth <= most"


def tab(
    browser: Browser,
    width: int = 1440,
    height: int = 900,
    touch: bool = False,
    scheme: Literal["light", "dark"] = "light",
) -> Page:
    """A tab that shares nothing with others; its context ends with the test."""
    context = browser.new_context(
        viewport={"width": width, "height": height}, has_touch=touch, color_scheme=scheme
    )
    context.set_default_timeout(WAIT)
    return context.new_page()


def at_rest(page: Page) -> None:
    """Nothing runs on the server for this page, so that nothing is about to be drawn."""
    app = page.get_by_test_id("stApp")
    expect(app).to_have_attribute("data-test-connection-state", "CONNECTED")
    expect(app).to_have_attribute("data-test-script-state", "notRunning")


def fits(page: Page) -> None:
    """Nothing stands out of the window, and nothing failed."""
    size = page.viewport_size
    assert size is not None
    page.wait_for_function(_FITS, arg=[size["width"]])
    expect(page.get_by_test_id("stException")).to_have_count(0)
