"""The data page, run as Streamlit runs it: empty, filled, with bad files and bad links."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.store import projects
from eap_core.store.items import items_of
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.eap_core.project.conftest import archive, picture, table_text
from tests.pages.conftest import until, visit


def button(app: AppTest, label: str) -> object:
    return next(b for b in app.button if b.label == label)


def press(app: AppTest, label: str) -> AppTest:
    button(app, label).click()  # type: ignore[attr-defined]
    return app.run()


def upload(app: AppTest, name: str, content: bytes) -> AppTest:
    app.file_uploader[0].set_value([(name, content, "application/octet-stream")])
    return press(app, "Add")


def test_an_empty_store_offers_the_demos_and_a_new_project(store: Store) -> None:
    app = visit()
    assert not app.exception
    labels = [b.label for b in app.button]
    assert any(label == "Try machined parts" for label in labels)
    assert "Create" in labels
    assert not projects.list_bin(store)


def test_a_project_is_made_filled_checked_and_scored(store: Store) -> None:
    app = visit()
    app.text_input[0].set_value("Line 3")
    app.segmented_control[0].set_value("Table")
    press(app, "Create")
    project = projects.find(store, "Line 3")
    assert app.query_params["project"] == project.id
    for role, text in (
        ("Normals", table_text(40, 1)),
        ("Real anomalies", table_text(4, 2, 3.0)),
        ("Candidates", table_text(12, 3, 2.0, generator="gan")),
    ):
        app.segmented_control[0].set_value(role).run()
        upload(app, f"{role}.csv", text.encode())
        until(app, lambda a, role=role: any(role.lower() in s.value for s in a.success))  # type: ignore[misc]
    assert len(items_of(store, project.id)) == 56
    until(app, lambda a: any(b.label == "Score the candidates" for b in a.button))
    press(app, "Score the candidates")
    until(app, lambda a: any(b.label == "Score again" for b in a.button))
    assert projects.by_id(store, project.id).current_run is not None
    assert not app.exception


def test_a_bad_file_is_one_sentence_and_the_next_one_works(store: Store) -> None:
    project = projects.create(store, "rows", "table")
    app = visit(project=project.id)
    upload(app, "bad.csv", b"id,a,b\nx,1\n")
    until(app, lambda a: bool(a.error))
    assert "bad" in app.error[0].value
    assert "Traceback" not in app.error[0].value
    assert not items_of(store, project.id)
    upload(app, "good.csv", table_text(5, 1).encode())
    until(app, lambda a: bool(a.success))
    assert len(items_of(store, project.id)) == 5


def test_no_file_chosen_is_said(store: Store) -> None:
    app = visit(project=projects.create(store, "rows", "table").id)
    press(app, "Add")
    assert "no file is chosen" in app.error[0].value


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("name", ["", "   "])
def test_a_project_needs_a_name(name: str) -> None:
    app = visit()
    app.text_input[0].set_value(name)
    press(app, "Create")
    assert "name of a project" in app.error[0].value


def test_names_are_shown_as_they_are(store: Store) -> None:
    name = "**bold** <img src=x> $x$ :red[y] [l](http://x)"
    project = projects.create(store, name, "table")
    app = visit(project=project.id)
    shown = r"\*\*bold\*\* \<img src=x\> \$x\$ \:red\[y\] \[l\]\(http\://x\)"
    # An invisible sign keeps an address from becoming a link.
    assert app.title[0].value.replace("\u2060", "") == shown


def test_a_link_to_a_project_that_is_gone_leads_home(store: Store) -> None:
    project = projects.create(store, "rows", "table")
    projects.to_bin(store, project.id)
    for gone in (project.id, "never-was"):
        app = visit(project=gone)
        assert not app.exception
        assert "not here any more" in app.info[0].value
        assert any(b.label == "Create" for b in app.button)


def test_a_scored_project_shows_its_health_and_leads_on(demo: Project) -> None:
    app = visit(project=demo.id)
    until(app, lambda a: any(b.label == "Score again" for b in a.button))
    assert any("Nothing stands in the way" in s.value for s in app.success)
    press(app, "All projects")
    assert any(demo.name.split(":")[1].strip() in b.label for b in app.button)


def test_an_upload_can_be_removed_and_put_back(demo: Project, store: Store) -> None:
    app = visit(project=demo.id)
    press(app, "Remove")
    assert len(items_of(store, demo.id)) == 160
    press(app, "Put back")
    assert len(items_of(store, demo.id)) == 470


def test_images_report_what_could_not_be_used(store: Store, tmp_path: object) -> None:
    project = projects.create(store, "pictures", "images")
    members = {f"normal/{i}.png": picture(i) for i in range(8)}
    members |= {"generated/g/c.png": picture(3), "generated/g/bad.png": b"no image"}
    path = archive(tmp_path / "all.zip", members)  # type: ignore[operator]
    take(store, project.id, [InputFile.at(path)])
    app = visit(project=project.id)
    until(app, lambda a: any(b.label == "Score the candidates" for b in a.button))
    said = " ".join(w.value for w in app.warning)
    assert "could not be used" in said
    assert "exact copies of a normal" in said.replace("\\", "")
    assert any("bad.png" in t.value for t in app.text)


def test_a_project_is_renamed_deleted_and_taken_back(store: Store) -> None:
    project = projects.create(store, "Line 3", "table")
    projects.create(store, "Line 4", "table")
    app = visit(project=project.id)
    app.text_input[0].set_value("Line 4")
    press(app, "Rename")
    assert "there is a project 'Line 4' already" in app.error[0].value.replace("\\", "")
    app.text_input[0].set_value("Line 5")
    press(app, "Rename")
    assert projects.by_id(store, project.id).name == "Line 5"
    press(app, "Delete this project")
    assert projects.by_id(store, project.id).binned_at is not None
    press(app, "Take back Line 5")
    assert [one.label for one in app.button if one.label.startswith("Line")] == ["Line 4", "Line 5"]
    assert not app.exception


def test_a_demo_that_is_there_opens_its_review_at_once(demo: Project) -> None:
    app = press(visit(), "Try tumour measurements")
    assert not app.exception
    assert app.query_params["project"] == demo.id
    assert any("reviewed 0 of 160" in caption.value for caption in app.caption)


@pytest.mark.parametrize("project", [None, "any"])
def test_a_store_that_cannot_be_opened_is_told_in_one_sentence(
    store: Store, project: str | None
) -> None:
    with store.writing() as connection:
        connection.execute(sa.text("ALTER TABLE jobs RENAME COLUMN token TO sign"))
    app = visit(project=project)
    assert not app.exception
    (said,) = app.error
    assert "made by an unfinished version of this program and lacks 'jobs\\.token'" in said.value
