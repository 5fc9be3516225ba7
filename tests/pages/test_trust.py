"""The card on the score page that says how far its scores can be trusted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from eap_core.analysis import Plan
from eap_core.analysis.trust import Estimate, Rehearsal
from eap_core.base.files import CheckedFile
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.project.rehearsal import read_rehearsal
from eap_core.project.results import choose_score
from eap_core.project.run import score_project
from eap_core.store import jobs, projects, runs
from eap_core.store.cleanup import rehearsal_file
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.eap_core.project.conftest import table_text
from tests.pages.conftest import visit
from tests.pages.test_score import QUICK, filled, press, said


def current(store: Store, project: str) -> str:
    run = projects.by_id(store, project).current_run
    assert run is not None
    return run


def forget(store: Store, project: str) -> str:
    """The rehearsal of the current run, as a run of an earlier version lacks it."""
    run = current(store, project)
    rehearsal_file(store.home, run).unlink()
    st.cache_resource.clear()
    return run


def buttons(app: AppTest) -> list[str]:
    return [button.label for button in app.button]


def test_the_demo_says_how_far_its_scores_can_be_trusted(demo: Project, store: Store) -> None:
    app = visit("pages/score.py", demo.id)
    assert not app.exception
    assert "Can I trust this here?" in [each.value for each in app.subheader]
    kept = read_rehearsal(store, current(store, demo.id))
    assert kept is not None
    assert f"of your {kept.m} real anomalies rank above 90 % of unseen normals" in said(app)
    table = app.table[0].value
    assert list(table.index) == ["EAP", "EAP-Reach", "Nearness to a real anomaly"]
    own = kept.trial("eap")
    assert str(table.iloc[0, 0]).startswith(f"{own.found} of {kept.m} (")
    assert table.iloc[2, 2] == "–"
    assert list(app.table[1].value.index) == [
        "EAP, lines that your data draw",
        "EAP, lines that are fixed (in use)",
        "EAP-Reach, lines that your data draw",
        "EAP-Reach, lines that are fixed (in use)",
    ]
    assert "Rehearse" not in buttons(app)


def test_a_run_without_a_rehearsal_offers_one(demo: Project, store: Store) -> None:
    run = forget(store, demo.id)
    app = visit("pages/score.py", demo.id)
    assert not app.exception
    press(app, "Rehearse")
    assert not app.exception
    assert read_rehearsal(store, run) is not None
    assert "Rehearse" not in buttons(app)
    assert "real anomalies rank above 90 %" in said(app)
    (job,) = (job for job in jobs.recent_jobs(store, demo.id) if job.kind == "rehearse")
    assert job.status == "finished"


def test_a_rehearsal_under_way_is_shown(demo: Project, store: Store) -> None:
    run = forget(store, demo.id)
    jobs.create(store, "rehearse", {"run": run}, demo.id)
    app = visit("pages/score.py", demo.id)
    assert not app.exception
    assert "Rehearse" not in buttons(app)
    assert "Cancel" in buttons(app)


def test_while_scores_are_computed_it_is_still_to_come(demo: Project, store: Store) -> None:
    run = forget(store, demo.id)
    jobs.create(store, "complete", {"run": run, "evaluators": []}, demo.id)
    app = visit("pages/score.py", demo.id)
    assert not app.exception
    assert "The last step of the work under way finds out." in said(app)
    assert "Rehearse" not in buttons(app)


def test_other_data_must_be_scored_first(store: Store, tmp_path: Path) -> None:
    project = filled(store, tmp_path)
    score_project(store, project.id, Plan(settings=QUICK))
    forget(store, project.id)
    (tmp_path / "more.csv").write_text(table_text(5, 99))
    take(store, project.id, [InputFile.at(tmp_path / "more.csv")], "normal")
    app = visit("pages/score.py", project.id)
    assert not app.exception
    assert "score again to find out" in said(app)
    assert "Rehearse" not in buttons(app)


@pytest.mark.parametrize("anomalies", [0, 1, 3])
def test_few_real_anomalies_are_said(store: Store, tmp_path: Path, anomalies: int) -> None:
    project = filled(store, tmp_path, anomalies)
    score_project(store, project.id, Plan(settings=QUICK))
    app = visit("pages/score.py", project.id)
    assert not app.exception
    assert "Rehearse" not in buttons(app)
    if anomalies:
        assert "chance decides: add some" in said(app)
    else:
        assert "Nobody can tell without a real anomaly" in said(app)


def test_a_score_that_serves_better_is_named(demo: Project, store: Store) -> None:
    run = current(store, demo.id)
    kept = read_rehearsal(store, run)
    assert kept is not None
    usual = replace(kept.trial("eap"), quality=Estimate(0.6, 0.5, 0.7))
    better = replace(kept.trial("reach"), quality=Estimate(0.9, 0.8, 0.95))
    _keep(store, run, replace(kept, trials=(usual, better)))
    app = visit("pages/score.py", demo.id)
    assert not app.exception
    assert [one.value for one in app.info if "EAP-Reach serves better here" in one.value]
    if "Compute EAP-Reach" in buttons(app):  # the demo may not have it yet
        press(app, "Compute EAP-Reach")
        app = visit("pages/score.py", demo.id)
    press(app, "Rank by EAP-Reach")
    assert not app.exception
    app = visit("pages/score.py", demo.id)  # and it stays so
    assert runs.by_id(store, run).settings["chosen"] == "reach"
    assert "serves better" not in said(app)
    choose_score(store, run, "eap")
    _keep(store, run, replace(kept, trials=(usual, replace(better, quality=usual.quality))))
    assert "serves better" not in said(visit("pages/score.py", demo.id))


def _keep(store: Store, run: str, made: Rehearsal) -> None:
    file = CheckedFile(rehearsal_file(store.home, run))
    file.keep_json({"version": 2, "rehearsal": made.record})
    st.cache_resource.clear()
