"""Files offered by a page: the address stays however often it is drawn, and goes with the tab."""

from __future__ import annotations

import gc
import io

import pandas as pd
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from eap_core.store.projects import Project
from tests.pages.conftest import links, visit
from ui import files


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=files.download_routes()))


@pytest.mark.parametrize(
    ("page", "label", "name"),
    [
        ("pages/score.py", "Download all scores (CSV)", "scores.csv"),
        ("pages/compare.py", "Download this table (CSV)", "methods.csv"),
    ],
)
def test_an_address_answers_however_often_the_page_is_drawn(
    demo: Project, client: TestClient, page: str, label: str, name: str
) -> None:
    app = visit(page, demo.id)
    address = links(app)[label]
    assert address
    for _ in range(3):
        app.run()
        assert links(app)[label] == address
        found = client.get(address)
        assert found.headers["content-disposition"] == f"attachment; filename*=utf-8''{name}"
        assert found.headers["content-type"] == "text/csv; charset=utf-8"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert len(pd.read_csv(io.BytesIO(found.content))) == 160


def test_what_is_downloaded_is_what_the_page_shows_last(demo: Project, client: TestClient) -> None:
    app = visit("pages/compare.py", demo.id)
    address = links(app)["Download this table (CSV)"] or ""
    percentiles = pd.read_csv(io.BytesIO(client.get(address).content))
    app.toggle(key="compare.raw").set_value(True).run()
    raw = pd.read_csv(io.BytesIO(client.get(address).content))
    assert percentiles["eap"].max() > 99
    assert raw["eap"].max() <= 1
    assert list(raw["id"]) == list(percentiles["id"])


def test_nothing_picked_is_nothing_to_export(demo: Project, client: TestClient) -> None:
    app = visit("pages/map.py", demo.id)
    assert links(app) == {"Export these": None}
    app.button(key="map.pick_all").click().run()
    found = client.get(links(app)["Export these"] or "")
    assert len(pd.read_csv(io.BytesIO(found.content))) == 160


def test_tabs_have_addresses_of_their_own_that_go_with_them(
    demo: Project, client: TestClient
) -> None:
    one, two = visit("pages/score.py", demo.id), visit("pages/score.py", demo.id)
    first, second = (links(app)["Download all scores (CSV)"] or "" for app in (one, two))
    assert first != second
    del one
    gc.collect()
    assert client.get(first).status_code == 404
    assert client.get(second).status_code == 200
    assert links(two)  # which has lived until here


@pytest.mark.usefixtures("store")
def test_what_nobody_offers_is_not_there(client: TestClient) -> None:
    for path in ("/offer/x", "/offer/..%2fx", "/bundle/x/y.zip"):
        assert client.get(path).status_code == 404
