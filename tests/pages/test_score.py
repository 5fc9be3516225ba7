"""The score page, run as Streamlit runs it."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

APP = str(Path(__file__).parents[2] / "app.py")


def test_the_demo_is_scored_on_the_first_visit() -> None:
    page = AppTest.from_file(APP, default_timeout=60).run()
    assert not page.exception
    counts = {metric.label: metric.value for metric in page.metric}
    assert set(counts) == {"Realistic", "Looks normal", "Too far from the data"}
    assert sum(int(value.split()[0]) for value in counts.values()) == 160
    table = page.dataframe[0].value
    assert len(table) == 160
    assert table["percentile"].is_monotonic_decreasing


def test_the_best_candidate_is_explained() -> None:
    page = AppTest.from_file(APP, default_timeout=60).run()
    best = page.dataframe[0].value["id"].iloc[0]
    assert any(best in text.value for text in page.text)
    assert any("It ranks 1 of 160" in text.value for text in page.markdown)


def test_a_cold_deep_link_still_arrives() -> None:
    page = AppTest.from_file(APP, default_timeout=60)
    page.switch_page("pages/score.py").run()
    assert not page.exception
    assert page.title[0].value == "Which synthetic anomalies are worth keeping?"
