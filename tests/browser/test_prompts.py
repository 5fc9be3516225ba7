"""Prompts in a browser: a real model at work, none to be had, keys alone, pairs of one's own."""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    expect,
)
from playwright.sync_api import (
    TimeoutError as Late,
)

from eap_core.store.store import open_store
from tests.browser.app_server import AppServer
from tests.browser.tabs import at_rest, fits, tab
from tests.eap_core.features import tiny_clip
from tests.eap_core.project.prompt_pictures import scored_project

MODEL = "ViT-S-32-alt"  # the smallest that open_clip knows by itself: a worker is another process
PHONE = {"width": 390, "height": 844}
# Streamlit asks below the page's own path first, and then where the answer is.
EXPECTED = re.compile("/_stcore/(health|host-config)")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Where a model file may lie; gone at once, for it is large."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture(scope="module")
def weights(folder: Path) -> Path:
    from safetensors.torch import save_file

    save_file(tiny_clip.state(MODEL), folder / "model.safetensors")
    return folder / "model.safetensors"


@pytest.fixture(scope="module")
def app(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """A server that may open files of the folder, and has no connection."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("EAP_ROOTS", str(folder))
        environment.setenv("HF_HOME", str(folder / "hub"))
        environment.setenv("HF_HUB_OFFLINE", "1")
        environment.setenv("OMP_NUM_THREADS", "1")  # or threads wait for each other if it is busy
        started = AppServer(tmp_path_factory.mktemp("prompts"))
    yield started
    started.stop()


@pytest.fixture
def page(
    app: AppServer, browser: Browser, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Page]:
    """The page of a project of its own, which must not fail in silence."""
    store = open_store(app.home)
    project = scored_project(store, tmp_path, request.node.name)
    store.close()
    opened, failures = tab(browser), list[str]()

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error" and not EXPECTED.search(message.location["url"]):
            failures.append(message.text)

    opened.on("console", listen)
    opened.on("pageerror", lambda error: failures.append(str(error)))
    opened.goto(f"{app.address}/prompts?project={project.id}")
    expect(named(opened)).to_be_visible()
    yield opened
    assert failures == []


def named(page: Page) -> Locator:
    return page.get_by_role("textbox", name="What do the images show?")


def type_in(page: Page, label: str, text: str) -> None:
    field = page.get_by_role("textbox", name=label)
    field.fill(text)
    field.press("Enter")
    at_rest(page)


def fits_everywhere(page: Page) -> None:
    fits(page)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    fits(page)


def downloaded(page: Page, name: str) -> str:
    with page.expect_download() as started:
        page.get_by_role("link", name=name).click()
    return started.value.path().read_text()


def editing(page: Page) -> Locator:
    """A cell of the second row, opened: a table is a drawing, which does not say when it is made
    and hears no click before."""
    cell = page.locator("textarea.gdg-input")
    for _ in range(30):
        page.locator(".dvn-scroller").first.click(position={"x": 120, "y": 90})
        page.keyboard.press("Enter")
        with suppress(Late):
            cell.wait_for(timeout=4000)
            break
    return cell


def test_a_model_looks_at_the_images_and_what_it_found_is_shown(page: Page, weights: Path) -> None:
    type_in(page, "What do the images show?", "weave")
    page.get_by_text("The model", exact=True).click()
    type_in(page, "CLIP model", MODEL)
    type_in(page, "Model file on this server", str(weights))
    page.get_by_role("button", name="Look at the images").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_role("heading", name="The best of 27 pairs")).to_be_visible()
    expect(page.get_by_text("Told apart, test images")).to_be_visible()
    expect(page.locator("[data-testid=stPlotlyChart] .main-svg").first).to_be_visible()
    pairs = list(csv.DictReader(downloaded(page, "Download all pairs").splitlines()))
    assert [row["place"] for row in pairs if row["selection"] == "eap"] == [
        str(place) for place in range(1, 28)
    ]
    fits_everywhere(page)


def test_without_a_model_there_is_a_sentence_and_a_way(page: Page, folder: Path) -> None:
    type_in(page, "What do the images show?", "weave")
    page.get_by_role("button", name="Look at the images").click()
    alert = page.get_by_role("alert")
    expect(alert).to_have_text(
        re.compile(r"model 'ViT-B-16-SigLIP' are not here and cannot be fetched .+ below$")
    )
    expect(page.get_by_text("hf download timm/ViT-B-16-SigLIP")).to_be_visible()
    expect(page.get_by_text(f"below {folder}.")).to_be_visible()
    expect(page.get_by_role("textbox", name="Model file on this server")).to_be_visible()
    fits_everywhere(page)
    page.reload()
    expect(named(page)).to_have_value("weave")
    page.get_by_role("link", name="Compare").click()  # the rest of the app works
    expect(page.get_by_text("Rarity").first).to_be_attached()
    fits(page)


def test_keys_alone_reach_everything_in_the_order_of_the_page(page: Page) -> None:
    named(page).click()
    page.keyboard.type("weave")
    expect(page.get_by_role("textbox", name="CLIP model")).not_to_be_visible()
    reached = []
    for _ in range(6):
        page.keyboard.press("Tab")
        here = page.locator(":focus")
        reached.append(" ".join(here.inner_text().split()[1:]))
        if reached[-1] == "The model":
            page.keyboard.press("Enter")
            expect(page.get_by_role("textbox", name="CLIP model")).to_be_visible()
            break
    assert reached[-2:] == ["Pairs of descriptions", "The model"]
    names = page.get_by_role("button").evaluate_all(
        "all => all.map(one => one.ariaLabel || one.innerText)"
    )
    assert len(set(names)) == len(names)
    for _ in range(6):
        page.keyboard.press("Tab")
        if "Look at the images" in page.locator(":focus").inner_text():
            break
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Cancel").press("Enter")
    expect(page.get_by_text("Looking at the images was cancelled")).to_be_visible()
    expect(named(page)).to_have_value("weave")  # and all else as it was typed


def test_pairs_of_ones_own_are_uploaded_changed_and_downloaded(page: Page, tmp_path: Path) -> None:
    page.get_by_text("Pairs of descriptions", exact=True).click()
    file = tmp_path / "own.csv"
    file.write_text('normal,anomalous\n"a ""fine"", new {}",=torn {}\nneat {},ripped {}\n')
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("27 images, 2 pairs,")).to_be_visible()
    at_rest(page)
    table = page.locator("[data-testid=stDataFrame]").first
    table.evaluate("one => { one.dataset.mark = 'the same' }")
    cell = editing(page)
    cell.fill("whole {}")
    cell.press("Enter")
    expect(cell).to_have_count(0)
    page.wait_for_timeout(500)  # a table waits a moment for further changes
    at_rest(page)
    expect(table).to_have_attribute("data-mark", "the same")  # or a cell would lose its cursor
    changed = 'normal,anomalous\n"a ""fine"", new {}",\'=torn {}\nwhole {},ripped {}\n'
    assert downloaded(page, "Download these pairs") == changed
    page.get_by_role("link", name="Compare").click()
    expect(page.get_by_text("Rarity").first).to_be_attached()
    page.get_by_role("link", name="Prompts").click()
    page.get_by_text("Pairs of descriptions", exact=True).click()
    expect(page.get_by_text("27 images, 2 pairs,")).to_be_visible()
    assert downloaded(page, "Download these pairs") == changed  # as it was left
    file.write_text(changed)
    page.locator("input[type=file]").set_input_files(file)
    at_rest(page)
    assert downloaded(page, "Download these pairs") == changed
    fits_everywhere(page)
