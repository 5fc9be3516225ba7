"""The compare page: empty, EAP alone, methods being added, known quality, bad states."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from eap_core.analysis import Plan
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.project.run import complete_run, score_project
from eap_core.readers.files import Reading
from eap_core.review import Decision
from eap_core.scoring.settings import Settings
from eap_core.store import projects, runs
from eap_core.store.decisions import append
from eap_core.store.items import items_of, remove_upload, uploads_of
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.eap_core.project.conftest import table_text
from tests.pages.conftest import until, visit

SOME = ("rarity", "random", "p_x")


def said(app: AppTest) -> str:
    everything = (*app.markdown, *app.caption, *app.info, *app.warning, *app.success)
    return " ".join(element.value for element in everything).replace("\\", "")


def labels(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


@pytest.fixture
def alone(demo: Project, store: Store) -> Project:
    """The demo with EAP and nothing else."""
    score_project(store, demo.id, Plan(settings=Settings(subsets=0)))
    return projects.by_id(store, demo.id)


@pytest.fixture
def compared(alone: Project, store: Store) -> Project:
    complete_run(store, str(alone.current_run), evaluators=SOME)
    return alone


def test_without_scores_it_says_what_is_missing(store: Store) -> None:
    for project in (None, projects.create(store, "rows", "table").id):
        app = visit("pages/compare.py", project)
        assert not app.exception
        assert "first" in app.info[0].value


def test_eap_alone_offers_the_others_and_they_are_added(alone: Project, store: Store) -> None:
    app = visit("pages/compare.py", alone.id)
    assert not app.exception
    assert "Only EAP is there" in said(app)
    next(b for b in app.button if b.label == "Compute 12 further methods").click()
    app.run()
    until(app, lambda a: not a.exception and "How alike" in str([h.value for h in a.subheader]))
    until(app, lambda a: not any(label.startswith("Cancel") for label in labels(a)))
    names = runs.score_names(store, str(alone.current_run))
    assert {"rarity", "lava", "data_banzhaf", "p_x_one_pass"} <= set(names)
    assert not app.exception
    assert "Not computed" not in said(app)


def test_methods_are_compared_and_the_disputed_can_be_reviewed(compared: Project) -> None:
    app = visit("pages/compare.py", compared.id)
    assert not app.exception
    assert "ranks most like EAP" in said(app)
    assert "accept some candidates and reject some" in said(app)
    assert "others average" in said(app)
    app.selectbox(key="compare.with").set_value("rarity").run()
    assert re.search(r"EAP \d+, Rarity \d+", said(app))
    table = app.dataframe[0].value
    assert list(table.columns) == ["id", "eap", "rarity", "random", "p_x_one_pass"]
    assert table["rarity"].between(0, 100).all()
    app.toggle[0].set_value(True).run()
    assert not app.dataframe[0].value["eap"].gt(1).any()
    next(b for b in app.button if b.label == "Review these 6").click()
    app.run()
    assert not app.exception
    assert len(app.session_state["session"].chosen) == 6


def test_a_random_number_disputes_nothing(alone: Project, store: Store) -> None:
    complete_run(store, str(alone.current_run), evaluators=("random",))
    app = visit("pages/compare.py", alone.id)
    assert not app.exception
    assert "not random are needed" in said(app)


def test_decisions_say_how_good_each_method_is(compared: Project, store: Store) -> None:
    candidates = items_of(store, compared.id, "candidate")
    rows = [
        Decision(f"d{i}", item.id, "accept" if i % 2 else "reject", "A")
        for i, item in enumerate(candidates[:6])
    ]
    append(store, compared.id, rows)
    app = visit("pages/compare.py", compared.id)
    assert not app.exception
    assert "By the decisions: 3 good and 3 others" in said(app)
    assert "may well be chance" in said(app)


def test_a_column_of_the_data_says_which_are_good(store: Store, tmp_path: Path) -> None:
    project = projects.create(store, "rows", "table")
    for role, rows, shift, good in (
        ("normal", 40, 0.0, {}),
        ("anomaly", 4, 3.0, {}),
        ("candidate", 12, 2.0, {"good": "yes"}),
        ("candidate", 13, 2.0, {"good": "no"}),
    ):
        path = tmp_path / f"{role}-{rows}.csv"
        path.write_text(table_text(rows, rows, shift, **good))
        take(store, project.id, [InputFile.at(path)], role, Reading(metadata=("good",)))  # type: ignore[arg-type]
    score_project(store, project.id, Plan(("eap", "rarity"), Settings(subsets=0)))
    app = visit("pages/compare.py", project.id)
    assert not app.exception
    assert "By your data: 12 good and 13 others" in said(app)
    assert "may well be chance" not in said(app)


def test_data_that_have_changed_send_to_a_new_scoring(compared: Project, store: Store) -> None:
    remove_upload(store, compared.id, uploads_of(store, compared.id)[0].id)
    app = visit("pages/compare.py", compared.id)
    assert not app.exception
    assert "score again to have them all" in said(app)
    assert not [label for label in labels(app) if label.startswith("Compute")]


def test_candidates_that_are_all_gone(compared: Project, store: Store) -> None:
    for upload in uploads_of(store, compared.id):
        remove_upload(store, compared.id, upload.id)
    app = visit("pages/compare.py", compared.id)
    assert not app.exception
    assert "At least two candidates" in said(app)
