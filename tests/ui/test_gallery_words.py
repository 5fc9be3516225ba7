"""What the page of the gallery says, and what it takes from a browser."""

from __future__ import annotations

import pytest

from eap_core.project.review import Outcome
from eap_core.review import Decision
from eap_core.review.queue import AboveLine, Mixture
from ui.batches import batch_words, entries
from ui.map_pane import threshold_words


def test_a_threshold_in_one_sentence() -> None:
    found = AboveLine(tuple("abc"), tuple("a"), Mixture(2, 1, 0), 1, 0, 2, "defect_type", 4, 6)
    assert threshold_words(80, found, twins_known=True) == (
        "Accept from percentile 80: **3** candidates, of which 2 realistic, 1 looks normal, 0 too "
        "far from the data, 1 near-duplicate, 2 already rejected, 0 already accepted; "
        "4 of 6 defect types covered."
    )
    alone = AboveLine(("a",), (), Mixture(0, 0, 1), 0, 1, 0, None, 0, 0)
    assert threshold_words(99.0, alone, twins_known=False) == (
        "Accept from percentile 99: **1** candidate, of which 0 realistic, 0 look normal, 1 too "
        "far from the data, 0 already rejected, 1 already accepted."
    )


@pytest.mark.parametrize(
    ("mixture", "doubtful"),
    [
        (Mixture(0, 0, 0), False),
        (Mixture(1, 1, 0), False),
        (Mixture(1, 1, 1), True),
        (Mixture(0, 6, 0), True),
    ],
)
def test_fewer_than_half_realistic_is_doubtful(mixture: Mixture, doubtful: bool) -> None:
    assert mixture.doubtful == doubtful


def test_a_batch_says_whose_decisions_it_goes_against() -> None:
    assert batch_words(Outcome("reject", 40), "Ada") == "40 rejected. Undo takes it back."
    before = [Decision(str(i), str(i), "accept", who) for i, who in enumerate(["Bo", "Cy", "Ada"])]
    assert batch_words(Outcome("reject", 1_040, (), tuple(before)), "Ada") == (
        "1,040 rejected, of which 2 had been accepted by others and 1 had been accepted by you. "
        "Undo takes it back."
    )


GOOD = {
    "uuid": "u",
    "verdict": "accept",
    "items": ["i"],
    "reviewer": "Ada",
    "seen": 3,
    "picked": False,
}


def test_decisions_of_a_browser_are_taken() -> None:
    assert entries({"decided": {"number": 1, "entries": [GOOD]}}) == [GOOD]


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        {"decided": None},
        {"decided": []},
        {"decided": {"entries": "x"}},
        {"decided": {"entries": ["x", None, 3]}},
        *(
            {"decided": {"entries": [GOOD | {name: value}]}}
            for name, value in (
                ("uuid", ""),
                ("uuid", "u" * 65),
                ("uuid", 3),
                ("verdict", "undo"),
                ("items", []),
                ("items", [3]),
                ("items", "i"),
                ("reviewer", None),
                ("reviewer", ""),
                ("reviewer", "a" * 81),
                ("reviewer", "a\nb"),
                ("seen", "3"),
                ("picked", None),
            )
        ),
    ],
)
def test_what_is_no_decision_is_passed_over(bad: object) -> None:
    assert entries(bad) == []
