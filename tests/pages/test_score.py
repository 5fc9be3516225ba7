"""The score page, run as Streamlit runs it: starting, results, why, runs and bad settings."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest
from typer.testing import CliRunner

from eap_core.analysis import Plan
from eap_core.base.errors import DataError
from eap_core.cli import app as command_line
from eap_core.health import Finding
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.project.run import score_project
from eap_core.scoring.settings import AUTHORS
from eap_core.store import jobs as work
from eap_core.store import projects, runs
from eap_core.store.items import remove_upload, uploads_of
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.eap_core.project.conftest import table_text
from tests.pages.conftest import until, visit
from ui.text import list_options

QUICK = replace(AUTHORS, subsets=0)


def press(app: AppTest, label: str) -> AppTest:
    next(b for b in app.button if b.label == label).click()
    return app.run()


def said(app: AppTest) -> str:
    everything = (*app.markdown, *app.caption, *app.info, *app.warning, *app.error, *app.text)
    return " ".join(element.value for element in everything).replace("\\", "")


def filled(store: Store, tmp_path: object, anomalies: int = 4) -> Project:
    """A small project that has never been scored."""
    project = projects.create(store, "rows *bold*", "table")
    parts = [("normal", 40, 0.0), ("candidate", 9, 2.0)]
    parts += [("anomaly", anomalies, 3.0)] if anomalies else []
    for role, rows, shift in parts:
        path = tmp_path / f"{role}.csv"  # type: ignore[operator]
        path.write_text(table_text(rows, rows, shift))
        take(store, project.id, [InputFile.at(path)], role)  # type: ignore[arg-type]
    return project


@pytest.mark.usefixtures("store")
def test_without_a_project_it_says_where_to_go() -> None:
    app = visit("pages/score.py")
    assert not app.exception
    assert "There are no scores yet" in app.info[0].value


def test_an_empty_project_cannot_be_scored(store: Store) -> None:
    app = visit("pages/score.py", projects.create(store, "rows", "table").id)
    assert not app.exception
    assert "no normals yet" in said(app)
    assert not [b for b in app.button if b.label == "Score the candidates"]


@pytest.mark.usefixtures("real_worker")
def test_a_project_is_scored_from_here_and_its_run_is_listed(
    store: Store, tmp_path: object
) -> None:
    project = filled(store, tmp_path)
    app = visit("pages/score.py", project.id)
    assert not app.exception
    app.multiselect[0].set_value(["rarity", "random"])
    next(c for c in app.segmented_control if c.label == "Thoroughness").set_value(0)
    press(app.run(), "Score the candidates")
    until(app, lambda a: any(b.label == "Score again" for b in a.button))
    run = runs.by_id(store, projects.by_id(store, project.id).current_run or "")
    assert run.settings["settings"]["subsets"] == 0
    assert set(runs.score_names(store, run.id)) >= {"eap", "rarity", "random"}
    assert not app.exception
    assert "Run 1" in said(app)
    assert "quick, 2 further methods" in said(app)


def test_impossible_settings_are_one_sentence_and_nothing_is_lost(
    store: Store, tmp_path: object
) -> None:
    project = filled(store, tmp_path)
    app = visit("pages/score.py", project.id)
    next(c for c in app.segmented_control if c.label.startswith("Expected")).set_value(
        "Set by hand"
    )
    next(c for c in app.segmented_control if c.label.startswith("How far")).set_value("Set by hand")
    app.multiselect[0].set_value(["lava"])
    app.run()
    next(n for n in app.number_input if "percent" in n.label).set_value(60.0)
    next(n for n in app.number_input if "n is" in n.label).set_value(40)
    app.run()
    assert not app.exception
    assert len(app.error) == 1
    assert "60 % is not possible" in said(app)
    assert "from 1 to 39" in said(app)
    assert not [b for b in app.button if b.label == "Score the candidates"]
    next(n for n in app.number_input if "percent" in n.label).set_value(20.0)
    next(n for n in app.number_input if "n is" in n.label).set_value(7)
    app.run()
    assert not app.error
    assert "7 neighbours, expected share of anomalies 20 %, 1 further method" in said(app)
    assert app.multiselect[0].value == ["lava"]


def test_without_real_anomalies_the_share_is_an_assumption(store: Store, tmp_path: object) -> None:
    project = filled(store, tmp_path, anomalies=0)
    app = visit("pages/score.py", project.id)
    share = next(c for c in app.segmented_control if c.label.startswith("Expected"))
    assert share.options[0] == "5 %, assumed"


def test_the_demo_is_scored_and_the_best_candidate_explained(demo: Project) -> None:
    app = visit("pages/score.py", demo.id)
    assert not app.exception
    counts = {metric.label: metric.value for metric in app.metric}
    assert set(counts) == {"Realistic", "Looks normal", "Too far from the data"}
    assert sum(int(value.split()[0]) for value in counts.values()) == 160
    table = app.dataframe[0].value
    assert len(table) == 160
    assert table["percentile"].is_monotonic_decreasing
    assert any(table["id"].iloc[0] in text.value for text in app.text)
    assert "It ranks 1 of 160" in said(app)
    assert "What is unusual about it" in said(app)


def test_scores_of_data_that_have_changed_are_kept_and_said(demo: Project, store: Store) -> None:
    remove_upload(store, demo.id, uploads_of(store, demo.id)[0].id)
    app = visit("pages/score.py", demo.id)
    assert not app.exception
    assert len(app.dataframe[0].value) == 160
    assert any("have changed since" in warning.value for warning in app.warning)


def test_scores_whose_candidates_are_all_gone(demo: Project, store: Store) -> None:
    for upload in uploads_of(store, demo.id):
        remove_upload(store, demo.id, upload.id)
    app = visit("pages/score.py", demo.id)
    assert not app.exception
    assert "None of the scored candidates" in said(app)


def test_an_earlier_run_is_made_current_and_compared(store: Store, tmp_path: object) -> None:
    project = filled(store, tmp_path)
    first = score_project(store, project.id, Plan(settings=QUICK))
    second = score_project(store, project.id, Plan(settings=replace(QUICK, k=3), prior=0.3))
    broken = runs.start(store, project.id, [], Plan().record, {}, "")
    runs.fail(store, broken.id, "the *disk* is full")
    app = visit("pages/score.py", project.id)
    assert not app.exception
    assert "the *disk* is full" in said(app)
    assert "3 neighbours, quick, expected share of anomalies 30 %" in said(app).replace(",  ", ", ")
    app.selectbox(key="runs.compared").set_value(app.selectbox(key="runs.compared").options[0])
    app.run()
    assert {"Same order", "Best third shared"} <= {metric.label for metric in app.metric}
    press(app, "Make run 1 current")
    assert projects.by_id(store, project.id).current_run == first.id != second.id
    assert not app.exception


def test_a_method_that_failed_is_told_once_and_can_be_tried_again(
    store: Store, tmp_path: object
) -> None:
    project = filled(store, tmp_path)
    run = score_project(store, project.id, Plan(settings=QUICK))
    failed = Finding("evaluator-failed-rarity", "warning", "Rarity could not be computed: too few")
    runs.replace_finding(store, run.id, failed.code, failed.record)
    app = visit("pages/score.py", project.id)
    assert not app.exception
    told = [one.value for one in (*app.warning, *app.info) if "Rarity" in one.value]
    assert len(told) == 1
    assert "Compute 1 further method" in [button.label for button in app.button]


def test_an_error_while_work_is_under_way_is_one_sentence(
    store: Store, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> object:
        raise DataError("the store is gone")

    project = filled(store, tmp_path)
    score_project(store, project.id, Plan(settings=QUICK))
    work.create(store, "complete", {"run": "x", "evaluators": []}, project.id)
    for module, broken in (("ui.jobs.jobs", "time_left"), ("ui.score_form.projects", "by_id")):
        with monkeypatch.context() as patch:
            patch.setattr(f"{module}.{broken}", fails)
            app = visit("pages/score.py", project.id)
            assert not app.exception
            assert "the store is gone" in [one.value for one in app.error]


@pytest.mark.parametrize(
    "plan",
    [
        Plan(settings=QUICK, assumed_rate=0.07),
        Plan(("eap", "rarity", "sum"), replace(QUICK, k=7, detector="knn"), prior=0.1, seed=3),
    ],
)
def test_a_command_that_is_offered_asks_for_the_same(
    store: Store, demo: Project, plan: Plan
) -> None:
    done = CliRunner().invoke(command_line, ["run", demo.name, *list_options(plan)])
    assert done.exit_code in (0, 1), done.output  # 1: there are warnings
    assert Plan.from_record(dict(runs.runs_of(store, demo.id)[0].settings)) == plan


def test_the_candidates_can_be_ranked_by_another_score(store: Store, tmp_path: object) -> None:
    project = filled(store, tmp_path)
    plan = Plan(evaluators=("eap", "reach"), settings=QUICK)
    run = score_project(store, project.id, plan)
    app = visit("pages/score.py", project.id)
    assert "as far out as" not in said(app)
    ranked = next(box for box in app.selectbox if box.label == "Ranked by")
    ranked.set_value("reach").run()
    assert not app.exception
    assert runs.by_id(store, run.id).settings["chosen"] == "reach"
    assert "as far out as" in said(app)
    shown = app.dataframe[0].value
    assert shown["percentile"].is_monotonic_decreasing


def test_a_run_with_eap_alone_has_nothing_to_choose(store: Store, tmp_path: object) -> None:
    project = filled(store, tmp_path)
    score_project(store, project.id, Plan(settings=QUICK))
    app = visit("pages/score.py", project.id)
    assert not [box for box in app.selectbox if box.label == "Ranked by"]
