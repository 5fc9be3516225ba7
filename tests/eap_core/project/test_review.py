"""Messages of the review's browser, as they come and as they should never come."""

from __future__ import annotations

import json
import resource
from typing import Any
from uuid import uuid4

import pytest

from eap_core.project.review import Answer, receive_decisions
from eap_core.review import Decision, fold
from eap_core.store import projects
from eap_core.store.decisions import append, read_log
from eap_core.store.items import Item, NewItem, NewUpload, add_upload, items_of
from eap_core.store.store import Store


@pytest.fixture
def project(store: Store) -> str:
    made = projects.create(store, "steel", "table").id
    new = [NewItem(i, "candidate", f"c{i}") for i in range(5)]
    add_upload(store, made, NewUpload("all.csv", "table"), new)
    return made


@pytest.fixture
def items(store: Store, project: str) -> list[Item]:
    return items_of(store, project)


def entry(item: Item, verdict: str, **more: Any) -> dict[str, Any]:
    return {"uuid": str(uuid4()), "item": item.id, "verdict": verdict, "seen": 0, **more}


def sent(store: Store, project: str, *entries: dict[str, Any], by: str = "one") -> Answer:
    message = json.dumps({"number": 1, "at": 0, "entries": entries})
    return receive_decisions(store, project, by, message, read_log(store, project))


def test_all_entries_are_saved_and_a_repeated_message_changes_nothing(
    store: Store, project: str, items: list[Item]
) -> None:
    entries = [
        entry(items[0], "accept"),
        entry(items[1], "reject", reason="artefact", note=" seam "),
        entry(items[2], "flag"),
    ]
    first = sent(store, project, *entries)
    again = sent(store, project, *entries, entry(items[3], "skip"))
    assert set(first.saved) == {one["uuid"] for one in entries}
    assert not first.refused
    assert first.trouble is None
    assert [again.saved[one["uuid"]].repeated for one in entries] == [True] * 3
    rows = read_log(store, project)
    assert [row.verdict for row in rows] == ["accept", "reject", "flag", "skip"]
    assert (rows[1].reason, rows[1].note, rows[1].reviewer) == ("artefact", " seam ", "one")


def test_a_decision_and_its_undo_may_come_in_one_message(
    store: Store, project: str, items: list[Item]
) -> None:
    made = entry(items[0], "accept")
    answer = sent(store, project, made, entry(items[0], "undo", undo_of=made["uuid"]))
    assert len(answer.saved) == 2
    assert fold(read_log(store, project))[items[0].id].verdict is None


def test_the_undo_of_a_batch_takes_back_what_still_holds_and_may_be_repeated(
    store: Store, project: str, items: list[Item]
) -> None:
    batch = [
        Decision(str(uuid4()), item.id, "reject", "one", batch="b", seen=0) for item in items[:4]
    ]
    append(store, project, batch)
    sent(store, project, entry(items[0], "undo", undo_of=batch[0].uuid))
    undo = entry(items[3], "undo", undo_batch="b")
    first, second = sent(store, project, undo), sent(store, project, undo)
    assert undo["uuid"] in first.saved
    assert second.saved[undo["uuid"]].repeated
    assert all(state.verdict is None for state in fold(read_log(store, project)).values())
    assert len(read_log(store, project)) == 4 + 1 + 3


def test_one_entry_that_cannot_be_saved_does_not_hold_up_the_others(
    store: Store, project: str, items: list[Item]
) -> None:
    good = [entry(items[0], "accept"), entry(items[1], "accept")]
    bad = {**entry(items[2], "accept"), "item": "gone"}
    answer = sent(store, project, good[0], bad, good[1])
    assert set(answer.saved) == {good[0]["uuid"], good[1]["uuid"]}
    assert "the project has no item 'gone'" in str(answer.refused[bad["uuid"]])


@pytest.mark.parametrize(
    "message",
    [
        "",
        "[]",
        "{}",
        '{"entries": 3}',
        '{"entries": [{}]}',
        '{"entries": [3]}',
    ],
)
def test_a_message_that_is_none_is_said_and_saves_nothing(
    store: Store, project: str, message: str
) -> None:
    answer = receive_decisions(store, project, "one", message, [])
    assert answer.trouble is not None
    assert "cannot be read" in str(answer.trouble)
    assert read_log(store, project) == []


@pytest.mark.parametrize(
    "bad",
    [
        {"undo_batch": "no such batch"},
        {"seen": "x"},
        {"reviewer": "somebody else"},
    ],
)
def test_an_entry_that_makes_no_sense_is_refused_and_the_others_are_saved(
    store: Store, project: str, items: list[Item], bad: dict[str, str]
) -> None:
    """Were the message refused as a whole, the browser would send it for ever."""
    wrong, right = {**entry(items[0], "accept"), **bad}, entry(items[1], "accept", reviewer="one")
    answer = sent(store, project, wrong, right)
    assert answer.trouble is None
    assert set(answer.refused) == {wrong["uuid"]}
    assert set(answer.saved) == {right["uuid"]}
    assert [row.item for row in read_log(store, project)] == [items[1].id]


def test_a_verdict_that_does_not_exist_is_refused(
    store: Store, project: str, items: list[Item]
) -> None:
    made = entry(items[0], "maybe")
    assert "'maybe' is no verdict" in str(sent(store, project, made).refused[made["uuid"]])


def test_a_full_disk_is_trouble_and_the_same_message_is_saved_later(
    store: Store, project: str, items: list[Item]
) -> None:
    made = entry(items[0], "accept")
    largest = max(file.stat().st_size for file in store.home.iterdir() if file.is_file())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (min(largest, 4096), hard))
    try:
        answer = sent(store, project, made)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert answer.trouble is not None
    assert str(answer.trouble).startswith("not saved:")
    assert not answer.saved
    assert made["uuid"] in sent(store, project, made).saved


def test_somebody_elses_decision_that_was_not_seen_is_told(
    store: Store, project: str, items: list[Item]
) -> None:
    sent(store, project, entry(items[0], "accept"), by="one")
    made = entry(items[0], "reject")
    found = sent(store, project, made, by="two").saved[made["uuid"]].conflict
    assert found is not None
    assert (found.reviewer, found.verdict) == ("one", "accept")
