"""The fold of a log is what its rows say, one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eap_core.review import (
    UNTOUCHED,
    VERDICTS,
    Agreement,
    Decision,
    ReviewChoice,
    Verdict,
    choose_best,
    count_states,
    fold,
    last_undoable,
    make_undo,
    measure_agreement,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def numbered(rows: list[Decision]) -> list[Decision]:
    """Rows as the store would save them."""
    return [
        row._replace(seq=seq, at=NOON + timedelta(seconds=seq)) for seq, row in enumerate(rows, 1)
    ]


def row(uuid: str, item: str, verdict: Verdict, reviewer: str = "one", **more: object) -> Decision:
    return Decision(uuid, item, verdict, reviewer, **more)  # type: ignore[arg-type]


@st.composite
def logs(draw: st.DrawFn) -> list[Decision]:
    """Logs as they can arise: an undo takes back any earlier row of its item not undone yet."""
    rows: list[Decision] = []
    for number in range(draw(st.integers(0, 25))):
        item, reviewer = draw(st.sampled_from("xyz")), draw(st.sampled_from("abc"))
        undone = {r.undo_of for r in rows}
        open_rows = [r.uuid for r in rows if r.item == item and r.uuid not in undone]
        verdict: Verdict = draw(st.sampled_from(VERDICTS))
        target = None
        if verdict == "undo":
            if not open_rows:
                continue
            target = draw(st.sampled_from(open_rows))
        seen = draw(st.integers(0, len(rows)))
        batch = draw(st.sampled_from([None, None, "p", "q"]))
        rows.append(
            Decision(str(number), item, verdict, reviewer, batch=batch, undo_of=target, seen=seen)
        )
    return numbered(rows)


def holds(log: list[Decision], uuid: str) -> bool:
    """Slow and obvious: a row holds unless some row that holds undoes it."""
    return not any(other.undo_of == uuid and holds(log, other.uuid) for other in log)


def slow_fold(log: list[Decision]) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for item in {r.item for r in log}:
        rows = [r for r in log if r.item == item and r.verdict != "undo" and holds(log, r.uuid)]
        verdicts = [r for r in rows if r.verdict in ("accept", "reject")]
        skips = [r for r in rows if r.verdict == "skip"]
        flags = [r.verdict for r in rows if r.verdict in ("flag", "unflag")]
        conflicts = [
            (a.uuid, b.uuid)
            for a, b in pairwise(verdicts)
            if a.reviewer != b.reviewer and not a.seq <= b.seen
        ]
        final = next(reversed(verdicts or skips), None)
        found[item] = (final, flags[-1:] == ["flag"], conflicts)
    return found


@given(logs())
def test_the_fold_is_the_slow_one(log: list[Decision]) -> None:
    fast = {
        item: (s.decision, s.flagged, [(c.earlier.uuid, c.later.uuid) for c in s.conflicts])
        for item, s in fold(log).items()
    }
    assert fast == slow_fold(log)


def view(log: list[Decision]) -> dict[str, tuple[object, ...]]:
    return {item: (s.decision, s.flagged) for item, s in fold(log).items()}


@given(logs(), st.sampled_from("abc"))
def test_undo_restores_what_was_before_and_its_own_undo_what_was_undone(
    log: list[Decision], reviewer: str
) -> None:
    rows = last_undoable(log, reviewer)
    undone = numbered([*log, *make_undo(rows, reviewer, len(log))])
    without = [r for r in count_states(log) if r not in rows]
    assert count_states(undone) == without
    redone = numbered([*undone, *make_undo(undone[len(log) :], reviewer, len(undone))])
    assert view(redone) == view(log)


@given(logs(), st.sampled_from("abc"))
def test_undoing_again_and_again_leaves_nothing_of_a_reviewer(
    log: list[Decision], reviewer: str
) -> None:
    while rows := last_undoable(log, reviewer):
        assert all(r.reviewer == reviewer for r in rows)
        log = numbered([*log, *make_undo(rows, reviewer, len(log))])
    assert not [r for r in count_states(log) if r.reviewer == reviewer]


def test_a_state_says_who_decided_what_why_and_when() -> None:
    log = numbered(
        [
            row("1", "x", "accept"),
            row("2", "x", "reject", "two", reason="artefact", note="halo", seen=1),
            row("3", "x", "flag"),
            row("4", "x", "skip"),
            row("5", "y", "skip"),
        ]
    )
    x, y = fold(log)["x"], fold(log)["y"]
    assert (x.verdict, x.reason, x.note, x.reviewer) == ("reject", "artefact", "halo", "two")
    assert (x.at, x.flagged, x.decided, x.conflicts) == (log[1].at, True, True, ())
    assert (y.verdict, y.decided, y.flagged) == ("skip", False, False)
    assert (UNTOUCHED.verdict, UNTOUCHED.reviewer, UNTOUCHED.at) == (None, None, None)
    assert (UNTOUCHED.reason, UNTOUCHED.note) == (None, "")


def test_a_conflict_is_a_decision_made_without_having_seen_the_other() -> None:
    log = numbered([row("1", "x", "accept"), row("2", "x", "reject", "two", seen=0)])
    (conflict,) = fold(log)["x"].conflicts
    assert (conflict.earlier, conflict.later) == (log[0], log[1])
    assert conflict.disagree
    same = numbered([row("1", "x", "accept"), row("2", "x", "accept", "two", seen=0)])
    assert not fold(same)["x"].conflicts[0].disagree


def test_a_batch_is_undone_in_one_step() -> None:
    log = numbered(
        [row("0", "x", "reject"), *(row(f"{i}", f"i{i}", "accept", batch="b") for i in (1, 2, 3))]
    )
    rows = last_undoable(log, "one")
    assert [r.uuid for r in rows] == ["1", "2", "3"]
    undone = numbered([*log, *make_undo(rows, "one", 4)])
    assert len({r.batch for r in undone[4:]}) == 1
    assert [r.uuid for r in last_undoable(undone, "one")] == ["0"]
    redone = numbered([*undone, *make_undo(undone[4:], "one", 7)])
    assert view(redone) == view(log)


def test_agreement_beyond_chance() -> None:
    pairs = [("accept", "accept")] * 20 + [("accept", "reject")] * 5
    pairs += [("reject", "accept")] * 10 + [("reject", "reject")] * 15
    rows = []
    for i, (one, other) in enumerate(pairs):
        rows.append(row(f"a{i}", f"i{i}", one))  # type: ignore[arg-type]
        rows.append(row(f"b{i}", f"i{i}", other, "two"))  # type: ignore[arg-type]
    rows.append(row("c", "alone", "accept", "cy"))
    (found,) = measure_agreement(numbered(rows))
    assert (found.first, found.second, found.items, found.share) == ("one", "two", 50, 0.7)
    assert found.kappa == pytest.approx(0.4)


def test_kappa_is_undefined_when_both_always_say_the_same() -> None:
    log = numbered([row("1", "x", "accept"), row("2", "x", "accept", "two")])
    assert measure_agreement(log) == [Agreement("one", "two", 1, 1.0, None)]


def test_a_rule_accepts_the_best_and_a_reviewer_overrides_it() -> None:
    log = numbered([row("1", "b", "reject"), row("2", "e", "accept"), row("3", "a", "skip")])
    found = choose_best(["a", "b", "c", "d", "e"], 40, fold(log))
    assert found == {
        "a": ReviewChoice(True, "rule"),
        "b": ReviewChoice(False, "reviewer"),
        "c": ReviewChoice(False, "rule"),
        "d": ReviewChoice(False, "rule"),
        "e": ReviewChoice(True, "reviewer"),
    }


@given(st.integers(0, 60), st.floats(0, 100))
def test_a_rule_takes_the_stated_share_to_the_nearest_whole(count: int, top: float) -> None:
    found = choose_best([str(i) for i in range(count)], top, {})
    accepted = sum(choice.accepted for choice in found.values())
    assert abs(accepted - count * top / 100) <= 0.5
    assert [choice.accepted for choice in found.values()] == sorted(
        (choice.accepted for choice in found.values()), reverse=True
    )
