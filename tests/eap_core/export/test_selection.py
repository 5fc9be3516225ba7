"""Who is accepted: reviewers first, then the rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eap_core.base.errors import SettingsError
from eap_core.export.request import ExportRequest, SettledItem, Tie, select, tie_at_cut
from eap_core.review import Decision, fold

ITEMS = [f"c{i}" for i in range(10)]


def decided(**verdicts: str) -> dict[str, object]:
    rows = [
        Decision(f"u{item}", item, verdict, "one", seq=i)  # type: ignore[arg-type]
        for i, (item, verdict) in enumerate(verdicts.items(), 1)
    ]
    return fold(rows)  # type: ignore[return-value]


def test_without_a_rule_only_reviewers_accept() -> None:
    states = decided(c0="reject", c5="accept", c6="skip")
    found = select(ITEMS, states)  # type: ignore[arg-type]
    assert found.accepted == ["c5"]
    assert found.settled["c6"] == SettledItem("undecided", "")
    assert (found.counts.rejected, found.counts.undecided) == (1, 8)
    assert (found.counts.overruled, found.counts.added) == (0, 0)


def test_the_rule_accepts_the_best_and_reviewers_override_it_both_ways() -> None:
    found = select(ITEMS, decided(c0="reject", c1="accept", c9="accept"), 30)  # type: ignore[arg-type]
    assert found.accepted == ["c1", "c2", "c9"]
    assert found.settled["c2"] == SettledItem("accepted", "rule")
    assert found.settled["c1"] == SettledItem("accepted", "reviewer")
    assert found.settled["c3"] == SettledItem("undecided", "")  # the rule never rejects
    counts = found.counts
    assert (counts.accepted_by_reviewers, counts.accepted_by_rule) == (2, 1)
    assert (counts.overruled, counts.added) == (1, 1)


def test_candidates_without_a_score_are_never_taken_by_the_rule() -> None:
    found = select(ITEMS[:5], decided(c7="accept"), 100, ITEMS[5:])  # type: ignore[arg-type]
    assert found.accepted == ["c0", "c1", "c2", "c3", "c4", "c7"]
    assert found.counts.unscored == 5
    assert found.counts.added == 0  # the rule had no say


def test_picked_candidates_narrow_the_set_and_not_the_rule() -> None:
    found = select(ITEMS, {}, 20, among={"c1", "c2"})
    assert found.accepted == ["c1"]
    assert found.counts.candidates == 2


@pytest.mark.parametrize(
    ("scores", "top", "tie"),
    [
        ([0.9, 0.5, 0.5, 0.5, 0.1], 40, Tie(1, 3)),
        ([0.9, 0.5, 0.5, 0.5, 0.1], 60, Tie(2, 3)),
        ([0.9, 0.5, 0.5, 0.5, 0.1], 80, None),
        ([0.9, 0.5, 0.5, 0.5, 0.1], 20, None),
        ([0.5, 0.5], 50, Tie(1, 2)),
        ([0.5, 0.5], 100, None),
        ([0.5, 0.5], 1, None),
        ([0.5, 0.5], None, None),
        ([float("nan")] * 2, 50, None),
        ([], 50, None),
    ],
)
def test_a_cut_among_equal_scores_is_found(
    scores: list[float], top: float | None, tie: Tie | None
) -> None:
    assert tie_at_cut(scores, top) == tie


@given(
    st.integers(0, 40),
    st.one_of(st.none(), st.floats(0.1, 100)),
    st.dictionaries(st.integers(0, 39), st.sampled_from(["accept", "reject", "skip", "flag"])),
)
def test_every_candidate_is_counted_once(
    count: int, top: float | None, verdicts: dict[int, str]
) -> None:
    items = [f"c{i}" for i in range(count)]
    states = decided(**{f"c{i}": verdict for i, verdict in verdicts.items()})
    found = select(items, states, top)  # type: ignore[arg-type]
    counts = found.counts
    assert list(found.settled) == items
    assert counts.accepted + counts.rejected + counts.undecided == counts.candidates == count
    assert counts.accepted == counts.accepted_by_reviewers + counts.accepted_by_rule
    for item, settled in found.settled.items():
        verdict = verdicts.get(int(item[1:]))
        if verdict in ("accept", "reject"):
            assert settled == SettledItem(f"{verdict}ed", "reviewer")  # type: ignore[arg-type]
        else:
            assert settled.by != "reviewer"


@pytest.mark.parametrize("top", [0, -1, 100.1, float("nan")])
def test_a_rule_that_makes_no_sense_is_refused(top: float) -> None:
    with pytest.raises(SettingsError, match="cannot be taken"):
        ExportRequest(top=top)
