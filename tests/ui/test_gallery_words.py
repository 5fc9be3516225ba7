"""What the page of the gallery says, and what it takes from a browser."""

from __future__ import annotations

import pytest

from eap_core.selection import Above
from ui.deciding import entries
from ui.threshold import sentence


def test_a_threshold_in_one_sentence() -> None:
    found = Above(tuple("abc"), tuple("a"), 1, 0, 2, "defect_type", 4, 6)
    assert sentence(80, found, twins_known=True) == (
        "Accept from percentile 80: **3** candidates, of which 1 near-duplicate, 2 already "
        "rejected, 0 already accepted; 4 of 6 defect types covered."
    )
    alone = Above(("a",), (), 0, 1, 0, None, 0, 0)
    assert sentence(99.0, alone, twins_known=False) == (
        "Accept from percentile 99: **1** candidate, of which 0 already rejected, "
        "1 already accepted."
    )


GOOD = {
    "uuid": "u",
    "verdict": "accept",
    "items": ["i"],
    "shown": ["i"],
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
                ("shown", None),
                ("seen", "3"),
                ("picked", None),
            )
        ),
    ],
)
def test_what_is_no_decision_is_passed_over(bad: object) -> None:
    assert entries(bad) == []
