"""The gallery and map, run as Streamlit runs it; what its cards do is tested in a browser."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from streamlit.testing.v1 import AppTest

from eap_core.base.errors import DataError
from eap_core.review import Decision, fold
from eap_core.store import projects, runs
from eap_core.store.decisions import append, read_log
from eap_core.store.items import remove_upload, uploads_of
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.pages.conftest import visit
from ui.map_selection import View

PAGE = "pages/map.py"


def cards(app: AppTest) -> dict[str, Any]:
    """What the page gives to the browser."""
    found = [one.proto for one in app.main if one.type == "bidi_component"]
    (gallery,) = [one for one in found if one.component_name == "gallery"]
    data: dict[str, Any] = json.loads(gallery.json)
    return data


def says(app: AppTest, text: str) -> bool:
    return any(text in one.value for one in (*app.markdown, *app.caption, *app.info))


def verdicts(store: Store, project: str) -> list[str]:
    return sorted(str(state.verdict) for state in fold(read_log(store, project)).values())


def test_without_scores_it_says_where_to_go(store: Store) -> None:
    for project in (None, projects.create(store, "rows", "table").id):
        app = visit(PAGE, project)
        assert not app.exception
        assert any("first" in info.value for info in app.info)


def test_the_demo_is_a_gallery_of_48_best_first_beside_a_map(demo: Project) -> None:
    app = visit(PAGE, demo.id)
    assert not app.exception
    data = cards(app)
    assert len(data["cards"]) == 48
    figures = [card["percentile"] for card in data["cards"]]
    assert figures == sorted(figures, reverse=True)
    first = data["cards"][0]
    assert (first["state"], first["picture"], len(first["features"])) == ("undecided", None, 3)
    assert len([one for one in app.main if one.type == "plotly_chart"]) == 1
    assert says(app, "Near and far on this map are not quality")
    assert says(app, "160 candidates")


def test_filters_sorts_and_pages_from_a_link(demo: Project) -> None:
    app = visit(PAGE, demo.id, category="Looks normal", sort="By name", cards="24")
    assert not app.exception
    data = cards(app)
    assert {card["category"] for card in data["cards"]} == {"looks normal"}
    names = [card["name"] for card in data["cards"]]
    assert (len(names), names) == (24, sorted(names, key=str.casefold))
    app.text_input(key="find").set_value(names[0]).run()
    assert [card["name"] for card in cards(app)["cards"]] == [names[0]]
    app.text_input(key="find").set_value("nothing is called so").run()
    assert says(app, "No candidate matches")
    app.button(key="map.clear_filter_here").click().run()
    assert not app.exception
    assert says(app, "160 candidates")
    assert app.text_input(key="find").value == ""


def test_the_threshold_accepts_what_is_undecided_and_undo_takes_all_back(
    demo: Project, store: Store
) -> None:
    best = cards(visit(PAGE, demo.id))["cards"][0]["id"]
    append(store, demo.id, [Decision(str(uuid4()), best, "reject", "Ada")])
    app = visit(PAGE, demo.id, reviewer="Bo", threshold="75")
    assert says(app, "Accept from percentile 75: **40** candidates, of which ")
    assert says(app, " too far from the data, 0 near-duplicates, ")
    assert says(app, "1 already rejected, 0 already accepted; ")
    assert app.button(key="map.accept_above").label == "Accept these 39"
    app.button(key="map.accept_above").click().run()
    assert not app.exception
    assert verdicts(store, demo.id) == ["accept"] * 39 + ["reject"]
    assert len({row.batch for row in read_log(store, demo.id)[1:]}) == 1
    assert says(app, "reviewed 40 of 160 · accepted 39")
    assert app.button(key="map.accept_above").disabled
    app.button(key="map.undo").click().run()
    assert verdicts(store, demo.id) == ["None"] * 39 + ["reject"]
    assert says(app, "reviewed 1 of 160 · accepted 0")
    assert app.button(key="map.undo").disabled  # what somebody else decided is theirs to undo


def test_all_that_match_are_picked_and_rejected_with_a_reason(demo: Project, store: Store) -> None:
    app = visit(PAGE, demo.id, reviewer="Bo", category="Too far from the data")
    assert app.button(key="map.accept").disabled
    app.button(key="map.pick_all").click().run()
    data = cards(app)
    matching = len(data["picked"]) + len(data["elsewhere"])
    assert 0 < matching < 160
    assert says(app, f"**{matching} picked**")
    app.menu_button(key="map.reject").click("artefact").run()
    assert not app.exception
    rows = read_log(store, demo.id)
    assert {(row.verdict, row.reason, row.reviewer) for row in rows} == {
        ("reject", "artefact", "Bo")
    }
    assert len(rows) == matching
    assert cards(app)["picked"] == []
    assert {card["state"] for card in cards(app)["cards"]} == {"rejected"}
    assert [toast.value for toast in app.toast] == [f"{matching} rejected\\. Undo takes it back\\."]


def test_a_batch_says_that_it_goes_against_what_others_decided(demo: Project, store: Store) -> None:
    ids = [card["id"] for card in cards(visit(PAGE, demo.id))["cards"][:3]]
    append(store, demo.id, [Decision(str(uuid4()), item, "accept", "Ada") for item in ids])
    app = visit(PAGE, demo.id, reviewer="Bo")
    app.button(key="map.pick_all").click().run()
    app.menu_button(key="map.reject").click("").run()
    (toast,) = app.toast
    assert "160 rejected, of which 3 had been accepted by others" in toast.value


def test_mostly_unrealistic_best_are_said_with_a_warning(demo: Project) -> None:
    app = visit(PAGE, demo.id, threshold="0")
    said = [one.value for one in app.warning if "Accept from percentile 0" in one.value]
    realistic = len(cards(visit(PAGE, demo.id, category="Realistic", cards="96"))["cards"])
    assert realistic < 80
    assert len(said) == 1
    assert f"of which {realistic} realistic, " in said[0]
    assert "Fewer than half" in said[0]


def test_opening_from_the_map_forgets_where_the_review_was(demo: Project) -> None:
    app = visit(PAGE, demo.id)
    app.session_state["kept.review.at"] = ("chosen", 7)
    app.session_state["kept.review.queue"] = None
    app.button(key="map.pick_all").click().run()
    app.button(key="map.review").click().run()
    assert "kept.review.at" not in app.session_state


def test_an_error_within_a_fragment_is_one_sentence(
    demo: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> object:
        raise DataError("the table is gone")

    for broken in ("drawn", "rows"):
        with monkeypatch.context() as patch:
            patch.setattr(View, broken, fails)
            app = visit(PAGE, demo.id)
            assert not app.exception
            assert [one.value for one in app.error] == ["the table is gone"]


def test_a_project_gone_meanwhile_is_said_and_nothing_is_saved(demo: Project, store: Store) -> None:
    app = visit(PAGE, demo.id)
    projects.to_bin(store, demo.id)
    app.button(key="map.accept_above").click().run()
    assert not app.exception
    assert len(app.error) == 1
    projects.from_bin(store, demo.id)
    assert read_log(store, demo.id) == []
    app.button(key="map.accept_above").click().run()
    assert not app.error
    assert len(read_log(store, demo.id)) == 32


def test_an_older_run_without_insight_offers_to_make_the_map(demo: Project, store: Store) -> None:
    for file in (store.home / "cache").rglob("*.npz"):
        file.unlink()
    app = visit(PAGE, demo.id)
    assert not app.exception
    assert says(app, "This scoring has no map")
    assert app.button(key="map.make").label == "Make the map"
    assert cards(app)["cards"][0]["features"] == []


def test_without_its_candidates_the_page_still_stands(demo: Project, store: Store) -> None:
    for upload in uploads_of(store, demo.id):
        remove_upload(store, demo.id, upload.id)
    app = visit(PAGE, demo.id)
    assert not app.exception
    assert says(app, "No candidate matches")
    assert len(runs.runs_of(store, demo.id)) == 1


def test_a_link_with_nonsense_shows_everything(demo: Project) -> None:
    app = visit(
        PAGE, demo.id, category="x", stands="<b>", sort="7", percentile="9,z", threshold="a"
    )
    assert not app.exception
    assert says(app, "160 candidates")


def test_what_somebody_else_decided_meanwhile_is_told_and_both_stay(
    demo: Project, store: Store
) -> None:
    app = visit(PAGE, demo.id, reviewer="Bo")
    best = cards(app)["cards"][0]["id"]
    append(store, demo.id, [Decision(str(uuid4()), best, "reject", "Ada")])
    app.button(key="map.accept_above").click().run()
    assert not app.exception
    assert len(app.warning) == 1
    assert "1 of them had just been decided otherwise by Ada" in app.warning[0].value
    assert len(read_log(store, demo.id)) == 33
    assert cards(app)["cards"][0]["conflict"]
    app = visit(PAGE, demo.id, stands="Conflicting")
    assert [card["id"] for card in cards(app)["cards"]] == [best]
