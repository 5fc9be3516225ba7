"""The study's report in a browser: nothing is cut off, on any screen and in either scheme."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from eap_core.study.report import write_report
from tests.eap_core.study.made_up import made_up


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "report.html"
    sets = {"tables": ["<b>bold</b>", "x" * 120, "wbc"], "images": ["bottle"]}
    made = made_up(sets, seeds=2)
    path.write_text(
        write_report(made, {"Command": "y" * 400, "Failed": ["z" * 400]}), encoding="utf-8"
    )
    return path


@pytest.mark.parametrize("width", [1440, 768, 390, 320])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_as_wide_as_the_screen(
    browser: Browser, page_file: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(page_file.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") is (scheme == "light")
    # Each figure is drawn for both widths, and one of them is seen.
    for kind, seen in (("wide", width > 760), ("narrow", width <= 760)):
        expect(page.locator(f"svg.{kind}").first).to_be_visible(visible=seen)
    assert said == []


@pytest.mark.parametrize("width", [1440, 390])
def test_no_letters_are_too_small_or_off_the_drawing(
    browser: Browser, page_file: Path, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    page.goto(page_file.as_uri())
    found = page.evaluate(
        """() => [...document.querySelectorAll('svg text')]
          .map(each => [each, each.ownerSVGElement, each.getBoundingClientRect()])
          .filter(([, , box]) => box.width > 0)
          .map(([each, drawing, box]) => {
            const paper = drawing.getBoundingClientRect()
            const scale = paper.width / drawing.viewBox.baseVal.width
            return {
              words: each.textContent,
              size: parseFloat(getComputedStyle(each).fontSize) * scale,
              off: Math.max(paper.left - box.left, box.right - paper.right,
                            paper.top - box.top, box.bottom - paper.bottom),
            }
          })"""
    )
    assert len(found) > 100
    assert min(each["size"] for each in found) >= 9
    assert [each for each in found if each["off"] > 2] == []
