"""The score page, run as Streamlit runs it."""

from __future__ import annotations

from eap_core.store import projects
from eap_core.store.items import remove_upload, uploads_of
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.pages.conftest import visit


def test_without_scores_it_says_where_to_go(store: Store) -> None:
    for project in (None, projects.create(store, "rows", "table").id):
        app = visit("pages/score.py", project)
        assert not app.exception
        assert "There are no scores yet" in app.info[0].value


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
    assert any("It ranks 1 of 160" in text.value for text in app.markdown)


def test_scores_of_data_that_have_changed_are_kept_and_said(demo: Project, store: Store) -> None:
    remove_upload(store, demo.id, uploads_of(store, demo.id)[0].id)
    app = visit("pages/score.py", demo.id)
    assert not app.exception
    assert len(app.dataframe[0].value) == 160
    assert any("have changed since" in warning.value for warning in app.warning)
