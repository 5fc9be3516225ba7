"""Pictures of every step for the documents: both demos on a desk, the image demo on a phone."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from uuid import uuid4

from playwright.sync_api import Browser, Page, expect, sync_playwright

from eap_core.project.demos import Demo, make_demo
from eap_core.project.prompts import PromptPlan, run_prompts
from eap_core.project.results import choose_score, run_frame
from eap_core.review import Decision
from eap_core.store.decisions import append
from eap_core.store.store import open_store
from tests.browser.app_server import AppServer
from tools.small_clip import OBJECT, taught

FOLDER = Path(__file__).parents[1] / "docs" / "screenshots"
SIZES = {"": (1440, 900), "-phone": (390, 844)}
WAIT = 120_000
# What is on the page when it is complete.
STEPS = {
    "data": "Health of the data",
    "score": "Quality",
    "review": "Accept",
    "map": "Near and far on this map",
    "compare": "Compare",
    "priors": "prior",
    "prompts": "The best of",
    "export": "Make the bundle",
}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        home = Path(name) / "home"
        kinds: tuple[Demo, ...] = ("images", "table")
        projects = {kind: _demo(home, kind) for kind in kinds}
        _look(home, projects["images"], Path(name))
        server = AppServer(home)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
                )
                _pictures(browser, server.address, projects)
                browser.close()
        finally:
            server.stop()


def _demo(home: Path, kind: Demo) -> str:
    """A demo in the midst of its review."""
    store = open_store(home)
    project = make_demo(store, kind)
    assert project.current_run is not None
    if kind == "images":
        choose_score(store, project.current_run, "reach")
    rows = run_frame(store, project.current_run)
    verdicts = ["accept", "accept", "reject", "accept", "skip"]
    append(
        store,
        project.id,
        [
            Decision(
                str(uuid4()),
                item,
                verdicts[i % len(verdicts)],  # type: ignore[arg-type]
                "Reviewer 1",
                reason="too_subtle" if verdicts[i % len(verdicts)] == "reject" else None,
            )
            for i, item in enumerate(rows["item"][1:26])  # the best one is shown
        ],
    )
    store.close()
    return project.id


def _look(home: Path, project: str, folder: Path) -> None:
    """Let a model look at the demo's images, which the app itself would have to fetch."""
    store, model = open_store(home), taught(folder)
    run_prompts(store, project, PromptPlan(OBJECT, model=model.model, weights=model.weights))
    store.close()


def _pictures(browser: Browser, address: str, projects: dict[Demo, str]) -> None:
    for ending, (width, height) in SIZES.items():
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(address)
        expect(page.get_by_text("New project")).to_be_visible(timeout=WAIT)
        _take(page, f"home{ending}")
        for kind, project in projects.items():
            if kind == "images" or not ending:
                _steps(page, address, project, ("" if kind == "images" else "-table") + ending)
        page.close()


def _steps(page: Page, address: str, project: str, ending: str) -> None:
    for step, words in STEPS.items():
        if step == "prompts" and "table" in ending:
            continue  # they are for images
        path = "" if step == "data" else step
        page.goto(f"{address}/{path}?project={project}&reviewer=Reviewer+1")
        expect(page.get_by_text(words).first).to_be_attached(timeout=WAIT)
        if step == "data":
            page.get_by_text("Score again").scroll_into_view_if_needed(timeout=WAIT)
        _take(page, f"{step}{ending}")
    page.goto(f"{address}/score?project={project}")
    page.get_by_text("Why this score").first.scroll_into_view_if_needed(timeout=WAIT)
    _take(page, f"why{ending}")


def _take(page: Page, name: str) -> None:
    page.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')", timeout=WAIT)
    page.wait_for_timeout(2500)  # charts fade in
    page.screenshot(path=FOLDER / f"{name}.png")


if __name__ == "__main__":
    main()
