"""The export page, run as Streamlit runs it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from uuid import uuid4
from zipfile import ZipFile

import pandas as pd
import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

from eap_core.cli import app as commands
from eap_core.export.bundle import Bundle, list_bundles
from eap_core.export.request import SettledItem
from eap_core.project.results import run_frame
from eap_core.review import Decision, Verdict
from eap_core.store import projects
from eap_core.store.decisions import append
from eap_core.store.items import NewUpload, add_upload
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.eap_core.export.conftest import image_items, scored
from tests.pages.conftest import links, until, visit
from ui import export, files

PAGE = "pages/export.py"


@pytest.fixture
def pictures(store: Store) -> Project:
    made = projects.create(store, "bottles", "images")
    add_upload(store, made.id, NewUpload("all.zip", "images"), image_items(store))
    scored(store, made.id)
    return projects.by_id(store, made.id)


def decide(
    store: Store, project: Project, verdict: Verdict, ranks: range, reviewer: str = "one"
) -> None:
    best = list(run_frame(store, str(project.current_run))["item"])
    rows = [Decision(str(uuid4()), best[rank], verdict, reviewer) for rank in ranks]
    append(store, project.id, rows)


def shown(app: AppTest) -> str:
    """All that the page says."""
    kinds = (app.markdown, app.info, app.warning, app.success, app.error, app.caption)
    return "\n".join(str(each.value) for kind in kinds for each in kind)


def made_on(app: AppTest, store: Store, project: Project) -> Bundle:
    """Make a bundle by the button, and wait for it as a person would."""
    before = {each.name for each in list_bundles(store, project.id)}
    app.button(key="export.make").click().run()
    assert not app.exception
    until(app, lambda page: any("The bundle is ready" in each.value for each in page.success))
    (new,) = [each for each in list_bundles(store, project.id) if each.name not in before]
    return new


def test_without_a_project_or_scores_it_says_where_to_go(store: Store) -> None:
    app = visit(PAGE)
    assert not app.exception
    assert "Choose a project" in shown(app)
    app = visit(PAGE, projects.create(store, "rows", "table").id)
    assert not app.exception
    assert "There are no scores yet" in shown(app)


def test_nothing_decided_offers_review_and_rule(store: Store, pictures: Project) -> None:
    app = visit(PAGE, pictures.id)
    assert not app.exception
    assert "Nothing is decided yet" in shown(app)
    assert not app.toggle(key="export.rule").value
    assert "a table of 14 candidates" in shown(app)
    app.radio(key="export.form").set_value("anomalib").run()
    assert app.button(key="export.make").disabled
    assert "needs at least one accepted candidate" in shown(app)
    app.toggle(key="export.rule").set_value(True).run()
    assert not app.button(key="export.make").disabled
    assert "3 accepted synthetic images, in the training data" in shown(app)  # 20 % of 14
    app.slider(key="export.top").set_value(50).run()
    assert "7 accepted synthetic images" in shown(app)
    assert list_bundles(store, pictures.id) == []


def test_reviewers_override_the_rule_and_counts_follow(store: Store, pictures: Project) -> None:
    decide(store, pictures, "reject", range(2))
    decide(store, pictures, "accept", range(12, 14))
    app = visit(PAGE, pictures.id)
    assert "Undecided: 10 candidates" in shown(app)
    app.toggle(key="export.rule").set_value(True).run()
    app.slider(key="export.top").set_value(50).run()
    assert not app.exception
    assert "5 more candidates accepted by score" in shown(app)
    assert "Undecided: 5 candidates" in shown(app)


def test_conflicts_are_said(store: Store, pictures: Project) -> None:
    decide(store, pictures, "accept", range(1))
    decide(store, pictures, "reject", range(1), "two")
    app = visit(PAGE, pictures.id)
    assert "Reviewers disagree on 1 candidate" in shown(app)


def test_a_table_offers_tables_alone(demo: Project) -> None:
    app = visit(PAGE, demo.id)
    assert not app.exception
    assert app.radio(key="export.form").options == ["Spreadsheet (CSV)", "Parquet"]


def test_a_bundle_is_made_listed_and_deleted(store: Store, pictures: Project) -> None:
    decide(store, pictures, "accept", range(3))
    app = visit(PAGE, pictures.id)
    first = made_on(app, store, pictures)
    frame = pd.read_csv(io.BytesIO(first.read_table()))
    assert list(frame["decision"][:4]) == ["accepted"] * 3 + ["undecided"]
    assert first.sha256 in shown(app)
    whole, alone = links(app)
    assert whole.startswith("Download everything (ZIP, ")
    assert alone == "Download the table alone"
    client = TestClient(Starlette(routes=files.download_routes()))
    assert client.get(links(app)[whole] or "").content == first.path.read_bytes()
    assert client.get(links(app)[alone] or "").content == first.read_table()
    app.radio(key="export.form").set_value("mvtec").run()
    second = made_on(app, store, pictures)
    with ZipFile(second.path) as archive:
        assert "bottles/train/good/000_0.jpg" in archive.namelist()
    table = app.dataframe[0].value
    assert list(table["sha256"]) == [second.sha256, first.sha256]
    assert list(table["accepted"]) == [3, 3]
    app.button(key="export.delete").click().run()
    assert not app.exception
    assert [each.name for each in list_bundles(store, pictures.id)] == [first.name]


def test_the_page_and_the_command_line_make_the_same_bytes(
    store: Store, pictures: Project, tmp_path: Path
) -> None:
    decide(store, pictures, "accept", range(4, 6))
    app = visit(PAGE, pictures.id)
    app.toggle(key="export.rule").set_value(True).run()
    app.radio(key="export.form").set_value("imagefolder").run()
    app.segmented_control(key="export.rows").set_value("Accepted only").run()
    made = made_on(app, store, pictures)
    target = tmp_path / "cli.zip"
    words = ["export", "bottles", "--format", "imagefolder", "--top", "20", "--only", "accepted"]
    assert CliRunner().invoke(commands, [*words, "--out", str(target)]).exit_code == 0
    with ZipFile(target) as ours, ZipFile(made.path) as theirs:
        assert ours.namelist() == theirs.namelist()
        for name in set(ours.namelist()) - {"manifest.json"}:
            assert ours.read(name) == theirs.read(name)
        one, other = (json.loads(each.read("manifest.json")) for each in (ours, theirs))
    assert {**one, "created": ""} == {**other, "created": ""}


def test_the_picture_counts_everything_once_and_takes_names_literally() -> None:
    settled = {f"c{i}": SettledItem("accepted", "rule") for i in range(30)}
    settled["x"] = SettledItem("undecided", "")
    groups = {item: f"<b>{item}</b>" for item in settled}
    figure = export.shares_chart(settled, groups)
    names = list(figure.data[0].y)
    assert names[0] == "all candidates"
    assert len(names) == 14  # all, the twelve largest, and the others
    assert "others" in names
    assert not any("<" in name for name in names)
    assert sum(bar.x[0] for bar in figure.data) == pytest.approx(100)
    assert export.shares_words(settled).startswith("Of 31 candidates: 0 accepted by reviewers, 30")
