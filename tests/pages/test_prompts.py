"""The prompts page: empty, tables, no weights, own pairs, results, no test set, removed images."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import TextInput

from eap_core import jobs
from eap_core.analysis import Plan
from eap_core.project import InputFile, Target
from eap_core.project.intake import take
from eap_core.project.problem import state_of
from eap_core.project.prompts import PromptViews, keep_views, read_prompts
from eap_core.project.results import run_frame
from eap_core.project.run import score_project
from eap_core.prompts import SHIPPED
from eap_core.review import Decision
from eap_core.scoring.settings import Settings
from eap_core.store import decisions, projects
from eap_core.store import jobs as rows
from eap_core.store.items import remove_upload, uploads_of
from eap_core.store.jobs import Job
from eap_core.store.projects import Project
from eap_core.store.store import Store, open_store
from tests.eap_core.project.conftest import table_text
from tests.eap_core.project.prompt_pictures import PLAN, look, scored_project
from tests.pages.conftest import links, until, visit
from ui.clip_form import recall_weights
from ui.text import clip_command

PAGE = "pages/prompts.py"


@pytest.fixture(scope="module")
def weaves_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weaves")
    opened = open_store(folder / "home")
    scored_project(opened, folder)
    opened.close()
    return folder / "home"


@pytest.fixture
def home(weaves_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("EAP_ROOTS", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # for the worker, which is another process
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    return Path(shutil.copytree(weaves_home, tmp_path / "home"))


@pytest.fixture
def project(store: Store) -> Project:
    return projects.find(store, "weaves")


def said(app: AppTest) -> str:
    everything = (*app.markdown, *app.caption, *app.info, *app.success, *app.error, *app.warning)
    return " ".join(element.value for element in everything).replace("\\", "")


def tables(app: AppTest) -> list[list[list[object]]]:
    """The pairs, and the selections; the templates are a table, too, and come last."""
    return [one.value.to_numpy().tolist() for one in app.dataframe][:2]


def field(app: AppTest, label: str) -> TextInput:
    return next(one for one in app.text_input if one.label.startswith(label))


def started(store: Store, project: Project) -> list[Job]:
    return [job for job in rows.recent_jobs(store, project.id) if job.kind == "prompts"]


def failed(store: Store, project: Project, app: AppTest) -> AppTest:
    """The page as soon as its work has failed."""
    return until(app, lambda _: started(store, project)[0].status == "failed").run()


def test_without_scores_it_says_what_is_missing(store: Store) -> None:
    for project in (None, projects.create(store, "new", "images").id):
        app = visit(PAGE, project)
        assert not app.exception
        assert "first" in app.info[0].value


def test_a_table_is_told_in_one_sentence(store: Store, tmp_path: Path) -> None:
    project = projects.create(store, "rows", "table").id
    roles: tuple[tuple[Target, int], ...] = (("normal", 30), ("anomaly", 3), ("candidate", 6))
    for i, (role, count) in enumerate(roles):
        (tmp_path / f"{role}.csv").write_text(table_text(count, i))
        take(store, project, [InputFile.at(tmp_path / f"{role}.csv")], role)
    score_project(store, project, Plan(settings=Settings(subsets=2)))
    app = visit(PAGE, project)
    assert not app.exception
    assert "This project is a table: prompts are for images" in said(app)
    assert not any(one.key == "prompts.start" for one in app.button)


def test_nothing_looked_at_yet(project: Project) -> None:
    app = visit(PAGE, project.id)
    assert not app.exception
    assert field(app, "What do the images show?").value == ""
    assert len(app.data_editor[0].value) == 27
    assert not app.selectbox
    assert "--weights FILE" in app.code[0].value
    assert "Download these pairs (CSV)" in links(app)


def test_without_a_name_it_says_so_and_starts_nothing(store: Store, project: Project) -> None:
    app = visit(PAGE, project.id)
    app.button(key="prompts.start").click().run()
    assert "the object has no name" in said(app)
    assert not started(store, project)


def test_without_weights_it_says_so_and_shows_the_way(store: Store, project: Project) -> None:
    app = visit(PAGE, project.id)
    field(app, "What").set_value('glass "b{}ttle"').run()
    app.button(key="prompts.start").click().run()
    failed(store, project, app)
    assert not app.exception
    (error,) = app.error
    assert error.value.replace("\\", "") == (
        "The weights of the model 'ViT-B-16-SigLIP' are not here and cannot be fetched "
        "(HF_HUB_OFFLINE is set) — see “The model” below"
    )
    fetching, looking = [block.value for block in app.code]
    assert fetching.startswith("hf download timm/ViT-B-16-SigLIP ")
    assert looking == clip_command(
        "prompts", "weaves", "--object", 'glass "b{}ttle"', "--model", "ViT-B-16-SigLIP",
        "--weights", "FILE",
    )  # fmt: skip
    again = visit(PAGE, project.id)  # in another tab nothing has to be typed again
    assert field(again, "What").value == 'glass "b{}ttle"'
    other = visit("pages/compare.py", project.id)  # the rest of the app works
    assert not other.exception
    assert not other.error


def test_a_file_of_weights_must_lie_below_an_opened_folder(
    store: Store, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "w.safetensors").write_bytes(b"no weights")
    (tmp_path / "secret").write_bytes(b"")
    monkeypatch.setenv("EAP_ROOTS", str(tmp_path / "open"))
    app = visit(PAGE, project.id)
    field(app, "What").set_value("weave")
    field(app, "Model file").set_value(str(tmp_path / "secret")).run()
    app.button(key="prompts.start").click().run()
    assert "is not below a folder opened for import" in said(app)
    assert not started(store, project)
    field(app, "Model file").set_value(str(tmp_path / "open" / "w.safetensors"))
    field(app, "CLIP model").set_value("ViT-S-32-alt")
    app.run()
    app.button(key="prompts.start").click().run()
    failed(store, project, app)
    (error,) = app.error
    assert error.value.replace("\\", "") == (
        "The weights 'w.safetensors' are damaged, or are none — give another file of the model's "
        "weights as the model file"
    )
    assert not app.code  # nothing is to be fetched: the file is to be mended


def test_own_pairs_come_from_a_file(store: Store, project: Project) -> None:
    app = visit(PAGE, project.id)
    app.file_uploader[0].set_value(
        ("own.csv", b"normal,anomalous\nfine {},torn {}\ngood,bad\n", "text/csv")
    ).run()
    assert "pairs in 'own.csv' cannot be used: line 3 has no {} where" in said(app)
    assert len(app.data_editor[0].value) == 27
    app.file_uploader[0].set_value(
        ("own.csv", b"normal,anomalous\nfine {},torn {}\n", "text/csv")
    ).run()
    assert not app.exception
    assert app.file_uploader[0].value is None  # the table is what counts from now on
    assert app.data_editor[0].value.to_numpy().tolist() == [["fine {}", "torn {}"]]
    field(app, "What").set_value("weave").run()
    app.button(key="prompts.start").click().run()
    assert started(store, project)[0].arguments["templates"] == [["fine {}", "torn {}"]]
    failed(store, project, app)
    next(b for b in app.button if b.label == "Back to the paper's 27").click().run()
    assert app.data_editor[0].value.to_numpy().tolist() == [list(pair) for pair in SHIPPED]


def test_what_was_found(store: Store, project: Project) -> None:
    look(store, project)
    assert project.current_run is not None
    item = run_frame(store, project.current_run)["item"].iloc[-1]
    decisions.append(store, project.id, [Decision("u1", item, "accept", "Ada")])
    app = visit(PAGE, project.id)
    assert not app.exception
    assert field(app, "What").value == "weave"
    words = said(app)
    assert "The best of 4 pairs" in [one.value for one in app.subheader]
    assert [block.value for block in app.code][:2] == ["weave", "damaged weave"]
    assert [(one.label, one.value) for one in app.metric] == [
        ("Told apart, images that chose it (3)", "100.0 %"),
        ("Told apart, test images", "100.0 %"),
    ]
    assert not app.warning
    assert app.selectbox(key="prompts.by").options == [
        "Best third by EAP",
        "Accepted in the review",
        "Best third by Rarity",
        "A third at random",
        "Known real anomalies",
        "All real anomalies, test included",
    ]
    pairs, chosen = tables(app)
    assert pairs[0] == [100.0, 100.0, "weave", "damaged weave"]
    assert len(pairs) == 4
    assert [row[0] for row in chosen][:2] == ["Best third by EAP (3)", "Accepted in the review (1)"]
    assert all(row[2] == 100.0 for row in chosen)
    assert "None of the 8 test images." in words
    assert "Download all pairs of all selections (CSV)" in links(app)
    app.selectbox(key="prompts.by").set_value("known").run()
    assert not app.exception
    assert app.metric[0].label == "Told apart, images that chose it (2)"


def test_another_look_that_failed_leaves_what_was_found(store: Store, project: Project) -> None:
    look(store, project)
    arguments = replace(PLAN, model="no-such-model").record
    jobs.work_on(store, rows.create(store, "prompts", arguments, project.id).id)
    app = visit(PAGE, project.id)
    assert not app.exception
    assert "Another look failed: see the end of this page." in said(app)
    (error,) = app.error
    assert "There is no model 'no-such-model'" in error.value.replace("\\", "")
    assert error.value.endswith("as the CLIP model")
    assert [block.value for block in app.code][:2] == ["weave", "damaged weave"]
    assert field(app, "CLIP model").value == "no-such-model"
    field(app, "What").set_value(" ").run()
    app.button(key="prompts.start").click().run()
    assert [one.value.partition(" — ")[0] for one in app.error] == ["the object has no name"]


def test_mistakes_are_shown_worst_first(store: Store, project: Project) -> None:
    views = look(store, project)
    wrong = views.differences.copy()
    row = {item: i for i, item in enumerate(views.items)}
    tests = [item for item, role in zip(views.items, views.roles, strict=True)
             if role == "test_anomaly"]  # fmt: skip
    wrong[0, row[tests[1]]], wrong[0, row[tests[2]]] = -0.4, -0.9
    before = read_prompts(store, project.id)
    assert before is not None
    keep_views(store, project.id, replace(before, views=replace(views, differences=wrong)))
    app = visit(PAGE, project.id)
    assert not app.exception
    assert "2 of the 8 test images, the worst first (missed anomalies: 2, false alarms: 0)" in said(
        app
    )
    captions = [picture.proto.imgs[0].caption for picture in app.image]
    assert [caption.partition(":")[0] for caption in captions] == [
        "Missed anomaly, 0.0 %",
        "Missed anomaly, 1.8 %",
    ]


def test_a_pair_that_only_guesses_on_the_test_images_is_no_good(
    store: Store, project: Project
) -> None:
    views = look(store, project)
    turned = views.differences.copy()
    tests = np.concatenate([views.at("test_normal"), views.at("test_anomaly")])
    turned[0, tests[:2]], turned[0, tests[-2:]] = 1.0, -1.0
    kept = PromptViews(PLAN, replace(views, differences=turned), state_of(store, project.id), cut=2)
    keep_views(store, project.id, kept)
    app = visit(PAGE, project.id)
    assert app.metric[1].value == "25.0 %"
    guesses, cut = app.warning
    assert "no better than guessing" in guesses.value
    assert cut.value.startswith("2 of the descriptions are longer than the model reads")


def test_without_a_test_set_it_says_so(store: Store, project: Project) -> None:
    look(store, project)
    for upload in uploads_of(store, project.id):
        if upload.name.startswith("test_"):
            remove_upload(store, project.id, upload.id)
    app = visit(PAGE, project.id)
    assert not app.exception
    assert "There are no test images of both kinds" in said(app)
    assert "Files were added or removed" in said(app)
    assert "training normals and images that chose it" in said(app)
    assert "They cannot be compared without test images" in said(app)
    assert [len(rows[0]) for rows in tables(app)] == [3, 3]  # no column of the test


def test_candidates_that_are_all_gone(store: Store, project: Project) -> None:
    look(store, project)
    (upload,) = [u for u in uploads_of(store, project.id) if u.name == "candidate.zip"]
    remove_upload(store, project.id, upload.id)
    app = visit(PAGE, project.id)
    assert not app.exception
    assert "None of the scored candidates" in said(app)


def test_another_look_and_further_decisions_are_shown_at_once(
    store: Store, project: Project
) -> None:
    views = look(store, project)
    app = visit(PAGE, project.id)
    assert "Accepted in the review" not in app.selectbox(key="prompts.by").options
    assert project.current_run is not None
    item = run_frame(store, project.current_run)["item"].iloc[0]
    decisions.append(store, project.id, [Decision("u1", item, "accept", "Ada")])
    app.run()
    assert "Accepted in the review" in app.selectbox(key="prompts.by").options
    assert [block.value for block in app.code][:2] == ["weave", "damaged weave"]
    turned = replace(views, differences=views.differences[::-1].copy())
    keep_views(store, project.id, PromptViews(PLAN, turned, state_of(store, project.id)))
    app.run()
    last = PLAN.templates[-1].filled("weave")
    assert tuple(block.value for block in app.code[:2]) == last


def test_a_press_in_a_tab_that_did_not_know_is_answered(store: Store, project: Project) -> None:
    app = visit(PAGE, project.id)
    field(app, "What").set_value("weave").run()
    rows.create(store, "prompts", PLAN.record, project.id)  # in another tab
    app.button(key="prompts.start").click().run()
    assert not app.exception
    assert "yours was not begun" in said(app)
    assert len(started(store, project)) == 1
    app.run()
    assert "yours was not begun" not in said(app)


def test_a_file_that_was_named_before_can_be_left_out(
    store: Store, project: Project, tmp_path: Path
) -> None:
    views = look(store, project)
    plan = replace(PLAN, weights=tmp_path / "w.safetensors")
    keep_views(store, project.id, PromptViews(plan, views, state_of(store, project.id)))
    app = visit(PAGE, project.id)
    (with_file,) = app.toggle
    assert with_file.label.replace("\\", "") == "With the model file w.safetensors"
    with_file.set_value(False).run()
    app.button(key="prompts.start").click().run()
    assert started(store, project)[0].arguments["weights"] is None
    assert recall_weights("w.safetensors") is None  # of another machine: only its name came along
    assert recall_weights(str(plan.weights)) == plan.weights
