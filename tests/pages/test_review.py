"""The review page, run as Streamlit runs it; what its stage does is tested in a browser."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from streamlit.testing.v1 import AppTest

from eap_core.review import Decision
from eap_core.store import projects
from eap_core.store.decisions import append
from eap_core.store.items import items_of
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.pages.conftest import until, visit
from ui.review import facts_shown


def stage(app: AppTest) -> dict[str, Any]:
    """What the page gives to the browser."""
    found = [one for one in app.main if one.type == "bidi_component"]
    assert len(found) == 1
    data: dict[str, Any] = json.loads(found[0].proto.json)
    data["items"] = [data["cards"][key] for key in sorted(data["cards"], key=int)]
    return data


def test_without_scores_it_says_where_to_go(store: Store) -> None:
    for project in (None, projects.create(store, "rows", "table").id):
        app = visit("pages/review.py", project)
        assert not app.exception
        assert any("first" in info.value for info in app.info)


def test_the_stage_gets_the_queue_best_first_with_neighbours_features_and_why(
    demo: Project,
) -> None:
    app = visit("pages/review.py", demo.id)
    assert not app.exception
    data = stage(app)
    assert (data["total"], data["at"], data["marks"]) == (160, 0, "." * 160)
    first = data["items"][0]
    assert first["why"]["percentile"] > 99
    assert len(first["features"]) == 8
    assert [one["role"] for one in first["near"]] == [
        "Nearest normal",
        "Near normal",
        "Near normal",
        "Nearest real anomaly",
    ]
    scores = [item["why"]["score"] for item in data["items"]]
    assert scores == sorted(scores, reverse=True)
    # what is known of a candidate's quality is for Compare, not for whoever judges it
    assert first["about"] == [["generator", "interpolate"]]
    said = {"generator": "gan", "Truth": "realistic", "good": "1", "category": "screw", "note": ""}
    assert facts_shown(said) == [["generator", "gan"], ["category", "screw"]]


def test_it_opens_at_the_first_undecided_candidate_and_knows_what_can_be_undone(
    demo: Project, store: Store
) -> None:
    best = stage(visit("pages/review.py", demo.id))["items"][0]
    made = Decision(str(uuid4()), best["id"], "reject", "Ada", reason="artefact")
    append(store, demo.id, [made])
    app = visit("pages/review.py", demo.id, reviewer="Ada")
    data = stage(app)
    assert data["at"] == 1
    assert data["marks"].startswith("x.")
    assert [row["uuid"] for row in data["undo"]] == [made.uuid]
    assert data["states"]["0"]["reason"] == "artefact"
    assert any("reviewed 1 of 160" in caption.value for caption in app.caption)


def test_other_orders_and_filters_are_permutations_and_subsets(demo: Project, store: Store) -> None:
    items = items_of(store, demo.id, "candidate")
    append(store, demo.id, [Decision(str(uuid4()), items[5].id, "flag", "Ada")])
    app = visit("pages/review.py", demo.id)
    best_first = [item["id"] for item in stage(app)["items"]]
    app.selectbox(key="order").set_value("random").run()
    assert [item["id"] for item in stage(app)["items"]] != best_first
    assert stage(app)["total"] == 160
    app.selectbox(key="show").set_value("flagged").run()
    assert [item["id"] for item in stage(app)["items"]] == [items[5].id]
    app.selectbox(key="show").set_value("conflicts").run()
    assert any("none of this kind" in info.value for info in app.info)
    assert not app.exception


def test_a_link_to_a_candidate_that_is_gone_opens_the_first(demo: Project) -> None:
    app = visit("pages/review.py", demo.id, item="no such item")
    assert not app.exception
    assert stage(app)["at"] == 0


def test_a_scoring_without_neighbours_is_reviewed_all_the_same_and_they_are_found(
    demo: Project, store: Store
) -> None:
    for file in (store.home / "cache" / "runs").iterdir():
        file.unlink()
    app = visit("pages/review.py", demo.id)
    assert not app.exception
    assert stage(app)["items"][0]["near"] == []
    next(button for button in app.button if button.label == "Find what is near").click()
    app.run()
    until(app, lambda a: bool(stage(a)["items"][0]["near"]))
