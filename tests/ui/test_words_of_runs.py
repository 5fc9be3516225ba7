"""Methods, settings and names in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eap_core.analysis import Plan
from eap_core.analysis.score import column_name
from eap_core.evaluators import EVALUATORS, PAPER_EVALUATORS
from eap_core.scoring import detectors
from eap_core.scoring.settings import AUTHORS
from ui import text
from ui.text import DETECTORS, settings_words, shorten


def test_every_evaluator_has_words() -> None:
    assert len({each.title for each in EVALUATORS.values()}) == len(EVALUATORS)
    for name, evaluator in EVALUATORS.items():
        assert text.method_words(column_name(name)) == evaluator.title
        assert evaluator.summary in text.explain_method(name)
    assert text.list_methods(("loo", "p_x")) == "Leave one out, Support alone"
    assert len(text.OTHERS) == 12


def test_every_detector_offered_exists() -> None:
    assert set(DETECTORS) <= set(detectors.names())
    assert AUTHORS.detector in DETECTORS


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(evaluators=PAPER_EVALUATORS), "usual settings"),
        (Plan(evaluators=("all",)), "usual settings"),
        (Plan(), "EAP alone"),
        (
            Plan(("all",), replace(AUTHORS, subsets=25, k=1234, detector="abod"), prior=0.125),
            "detector: abod, 1,234 neighbours, normal, expected share of anomalies 12.5 %",
        ),
        (Plan(("all",), replace(AUTHORS, k_min=3)), "k_min 3"),
        (Plan(("eap", "lava"), seed=7, features="fast"), "seed 7, fast image features, "
         "1 further method"),
        (Plan(("all",), features="clip", clip_model="ViT-B-32"), "image features by ViT-B-32"),
    ],
)  # fmt: skip
def test_what_differs_from_the_usual_is_said(plan: Plan, words: str) -> None:
    assert settings_words(plan) == words


def test_names_are_as_short_as_they_can_be_told_apart() -> None:
    assert shorten(["a/b/c.png", "a/d/e.png"], "images") == ["c.png", "e.png"]
    assert shorten(["a/b/c.png", "a/d/c.png"], "images") == ["c.png (b)", "c.png (d)"]
    assert shorten(["a/b/c", "a/b/d/c"], "images") == ["c", "c (d)"]
    assert shorten(["a/b", "b"], "images") == ["b (a)", "b"]
    assert shorten(["x", "x"], "images") == ["x", "x"]
    assert shorten([], "images") == []
    assert shorten(["a/b", "a/c"], "table") == ["a/b", "a/c"]
