"""Methods, settings and names in words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eap_core import detectors
from eap_core.evaluators import EVALUATORS, THIRTEEN
from eap_core.projects.plan import Plan
from eap_core.scoring import column_name
from eap_core.settings import AUTHORS
from ui import methods
from ui.names import short
from ui.settings_words import DETECTORS, in_words


def test_every_evaluator_has_words() -> None:
    assert set(methods.WORDS) == set(EVALUATORS)
    assert len(set(methods.WORDS.values())) == len(EVALUATORS)
    for name in EVALUATORS:
        assert methods.words(column_name(name)) == methods.WORDS[name]
        assert EVALUATORS[name].summary in methods.explained(name)
    assert len(methods.OTHERS) == 12


def test_every_detector_offered_exists() -> None:
    assert set(DETECTORS) <= set(detectors.names())
    assert AUTHORS.detector in DETECTORS


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (Plan(evaluators=THIRTEEN), "usual settings"),
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
    assert in_words(plan) == words


def test_names_are_as_short_as_they_can_be_told_apart() -> None:
    assert short(["a/b/c.png", "a/d/e.png"], "images") == ["c.png", "e.png"]
    assert short(["a/b/c.png", "a/d/c.png"], "images") == ["c.png (b)", "c.png (d)"]
    assert short(["a/b/c", "a/b/d/c"], "images") == ["c", "c (d)"]
    assert short(["a/b", "b"], "images") == ["b (a)", "b"]
    assert short(["x", "x"], "images") == ["x", "x"]
    assert short([], "images") == []
    assert short(["a/b", "a/c"], "table") == ["a/b", "a/c"]
