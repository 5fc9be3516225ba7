"""The priors page: empty, the demo, another share, a new run, bad states."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from eap_core.store import projects, runs
from eap_core.store.items import remove_upload, uploads_of
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.pages.conftest import until, visit


def said(app: AppTest) -> str:
    everything = (*app.markdown, *app.caption, *app.info, *app.success)
    return " ".join(element.value for element in everything).replace("\\", "")


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def test_without_scores_it_says_what_is_missing(store: Store) -> None:
    for project in (None, projects.create(store, "rows", "table").id):
        app = visit("pages/priors.py", project)
        assert not app.exception
        assert "first" in app.info[0].value


def test_at_the_runs_own_share_nothing_changes(demo: Project) -> None:
    app = visit("pages/priors.py", demo.id)
    assert not app.exception
    assert "**3.2%** in this run" in said(app)
    assert "Between 1 % and 49 % the order" in said(app)
    assert metrics(app)["Best that stay"] == "53 of 53"
    assert metrics(app)["Same order"] == "1.00"
    assert "candidates that change sides. The dotted upright line is this run's share, 3.2%." in (
        said(app)
    )
    use = next(b for b in app.button if b.label == "Use this share for a new run")
    assert use.disabled


def test_another_share_moves_candidates_that_can_be_reviewed(demo: Project) -> None:
    app = visit("pages/priors.py", demo.id)
    app.slider[0].set_value(45.0).run()
    assert not app.exception
    stay = int(metrics(app)["Best that stay"].split()[0])
    assert stay < 53
    assert "this run's share, 3.2%, the solid one the slider's, 45.0%." in said(app)
    assert f"At 45.0%, {53 - stay} enter the best and {53 - stay} leave them" in said(app)
    table = app.dataframe[0].value
    assert len(table) == 2 * (53 - stay)
    next(b for b in app.button if b.label.startswith("Review these")).click()
    app.run()
    assert not app.exception
    assert len(app.session_state["session"].chosen) == len(table)


@pytest.mark.parametrize(("share", "best"), [("tenth", 16), ("half", 80)])
def test_the_best_may_be_more_or_fewer(demo: Project, share: str, best: int) -> None:
    app = visit("pages/priors.py", demo.id)
    app.segmented_control(key="priors.best").set_value(share).run()
    assert not app.exception
    assert metrics(app)["Best that stay"] == f"{best} of {best}"
    app.segmented_control(key="priors.lines").set_value("Score").run()
    assert not app.exception


def test_the_share_is_used_for_a_new_run(demo: Project, store: Store) -> None:
    app = visit("pages/priors.py", demo.id)
    app.slider[0].set_value(20.0).run()
    next(b for b in app.button if b.label == "Use this share for a new run").click()
    app.run()
    assert not app.exception

    def current() -> str:
        return projects.by_id(store, demo.id).current_run or ""

    until(app, lambda _: current() != demo.current_run)
    assert runs.by_id(store, current()).settings["prior"] == 0.2
    app = visit("pages/priors.py", demo.id)
    assert "**20.0%** in this run, as was set by hand" in said(app)


def test_candidates_that_are_all_gone(demo: Project, store: Store) -> None:
    for upload in uploads_of(store, demo.id):
        remove_upload(store, demo.id, upload.id)
    app = visit("pages/priors.py", demo.id)
    assert not app.exception
    assert "None of the scored candidates" in said(app)
