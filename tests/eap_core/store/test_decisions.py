"""A decision that was acknowledged is in the log, once, in order, and stays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eap_core.base.errors import DataError
from eap_core.review import REASONS, Decision, Verdict, fold, last_undoable, make_undo
from eap_core.store import projects
from eap_core.store.decisions import append, read_log
from eap_core.store.items import Item, NewItem, NewUpload, add_upload, items_of
from eap_core.store.projects import list_overviews
from eap_core.store.store import Store, decisions, now


def made(
    item: Item, verdict: Verdict = "accept", reviewer: str = "one", **more: object
) -> Decision:
    return Decision(str(uuid4()), item.id, verdict, reviewer, **more)  # type: ignore[arg-type]


def test_the_log_holds_what_was_decided(store: Store, project: str, items: list[Item]) -> None:
    given = [
        made(items[0], "reject", reason="impossible", note="zu groß 🙂\n\tsehr", seen=0),
        made(items[1], "flag", batch="b"),
    ]
    acks = append(store, project, given)
    assert [(ack.uuid, ack.seq, ack.repeated) for ack in acks] == [
        (given[0].uuid, 1, False),
        (given[1].uuid, 2, False),
    ]
    found = read_log(store, project)
    assert [row._replace(seq=0, at=None) for row in found] == given
    assert [(row.seq, row.at) for row in found] == [(ack.seq, ack.at) for ack in acks]
    assert read_log(store, project, since=1) == found[1:]
    assert read_log(store, project, since=2) == []
    assert append(store, project, []) == []


def test_sending_again_changes_nothing(store: Store, project: str, items: list[Item]) -> None:
    decision = made(items[0])
    (first,) = append(store, project, [decision])
    append(store, project, [made(items[1])])
    later = [decision._replace(seen=2), made(items[2]), decision._replace(seen=2)]
    again = append(store, project, later)
    assert again[0] == replace(first, repeated=True) == again[2]
    assert (again[1].seq, again[1].repeated) == (3, False)
    assert len(read_log(store, project)) == 3


def test_a_uuid_with_another_content_is_refused(
    store: Store, project: str, items: list[Item]
) -> None:
    decision = made(items[0])
    append(store, project, [decision])
    for other in (
        decision._replace(verdict="reject"),
        decision._replace(item=items[1].id),
        decision._replace(reviewer="two"),
        decision._replace(note="x"),
    ):
        with pytest.raises(DataError, match="saved with another content"):
            append(store, project, [made(items[5]), other])
    twice = made(items[1])
    with pytest.raises(DataError, match="saved with another content"):
        append(store, project, [twice, twice._replace(verdict="reject")])
    assert len(read_log(store, project)) == 1


def test_the_same_uuid_may_be_in_two_projects(
    store: Store, project: str, items: list[Item]
) -> None:
    other = projects.create(store, "copy", "table").id
    add_upload(store, other, NewUpload("a", "csv"), [NewItem(0, "candidate", "x")])
    decision = made(items[0])
    append(store, project, [decision])
    (copy,) = items_of(store, other)
    assert append(store, other, [decision._replace(item=copy.id)])[0].seq == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "maybe"}, "'maybe' is no verdict — choose one of accept, reject"),
        ({"reason": "ugly"}, "'ugly' is no reason — choose one of too_subtle, impossible"),
        ({"item": "nothing"}, "the project has no item 'nothing'"),
        ({"reviewer": " \t"}, "the reviewer's name is empty"),
        ({"reviewer": "x" * 101}, "the reviewer's name has 101 characters"),
        ({"note": "x" * 2001}, "the note has 2,001 characters — at most 2,000"),
        ({"note": "\0"}, "holds a character that is no text"),
        ({"uuid": ""}, "an id is empty"),
        ({"undo_of": "x"}, "only an undo may"),
        ({"verdict": "undo"}, "an undo must name"),
        ({"verdict": "undo", "undo_of": "x"}, "there is no decision 'x' on this item"),
    ],
)
def test_what_is_no_decision_is_refused_with_all_that_came_with_it(
    store: Store, project: str, items: list[Item], change: dict[str, str], message: str
) -> None:
    bad = made(items[0])._replace(**change)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=message):
        append(store, project, [made(items[1]), bad])
    assert read_log(store, project) == []


def test_an_item_of_another_project_is_refused(store: Store, items: list[Item]) -> None:
    other = projects.create(store, "other", "table").id
    with pytest.raises(DataError, match="the project has no item"):
        append(store, other, [made(items[0])])


def test_every_reason_is_accepted(store: Store, project: str, items: list[Item]) -> None:
    append(store, project, [made(items[0], "reject", reason=reason) for reason in REASONS])
    assert [row.reason for row in read_log(store, project)] == list(REASONS)


def test_the_second_of_two_reviewers_is_told(store: Store, project: str, items: list[Item]) -> None:
    item = items[0]
    (first,) = append(store, project, [made(item, "accept", "one")])
    late = made(item, "reject", "two", seen=0)
    (told,) = append(store, project, [late])
    assert told.conflict is not None
    assert (told.conflict.reviewer, told.conflict.verdict) == ("one", "accept")
    assert told.conflict.at == first.at
    assert [row.reviewer for row in read_log(store, project)] == ["one", "two"]
    (knowing,) = append(store, project, [made(item, "reject", "one", seen=told.seq)])
    assert knowing.conflict is None
    append(store, project, [made(item, "undo", "one", undo_of=first.uuid)])
    (again,) = append(store, project, [late])
    assert again == replace(told, repeated=True)  # whatever happened since


def test_no_conflict_with_oneself_with_what_was_undone_or_another_item(
    store: Store, project: str, items: list[Item]
) -> None:
    first = made(items[0])
    append(store, project, [first])
    assert append(store, project, [made(items[0], "reject")])[0].conflict is None
    other = made(items[1], "accept", "two")
    append(store, project, [other])
    append(store, project, [made(items[1], "undo", "two", undo_of=other.uuid)])
    assert append(store, project, [made(items[1])])[0].conflict is None
    append(store, project, [made(items[2], "flag", "two")])
    assert append(store, project, [made(items[2])])[0].conflict is None


def test_a_batch_is_undone_in_one_step(store: Store, project: str, items: list[Item]) -> None:
    append(store, project, [made(item, batch="b") for item in items])
    rows = last_undoable(read_log(store, project), "one")
    append(store, project, make_undo(rows, "one", 12))
    states = fold(read_log(store, project))
    assert len(rows) == 12
    assert {state.verdict for state in states.values()} == {None}


def test_a_decision_and_its_undo_may_come_together(
    store: Store, project: str, items: list[Item]
) -> None:
    first = made(items[0])
    undo = made(items[0], "undo", undo_of=first.uuid)
    redo = made(items[0], "undo", undo_of=undo.uuid)
    append(store, project, [first, undo, redo])
    assert fold(read_log(store, project))[items[0].id].verdict == "accept"
    assert list_overviews(store)[0].accepted == 1


def test_a_row_is_undone_once_and_on_its_own_item(
    store: Store, project: str, items: list[Item]
) -> None:
    first = made(items[0])
    append(store, project, [first, made(items[0], "undo", undo_of=first.uuid)])
    with pytest.raises(DataError, match="already undone by 'one'"):
        append(store, project, [made(items[0], "undo", "two", undo_of=first.uuid)])
    with pytest.raises(DataError, match="on this item to undo"):
        append(store, project, [made(items[1], "undo", undo_of=first.uuid)])


verdicts = st.sampled_from(["accept", "reject", "skip", "flag", "undo", "undo"])


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(st.tuples(st.integers(0, 2), verdicts, st.integers(0, 9)), max_size=14))
def test_the_counts_in_sql_are_those_of_the_fold(
    store: Store, steps: list[tuple[int, Verdict, int]]
) -> None:
    project = projects.create(store, str(uuid4()), "table").id
    new = [NewItem(i, "candidate", str(i)) for i in range(3)]
    add_upload(store, project, NewUpload("a", "csv"), new)
    items = items_of(store, project)
    rows: list[Decision] = []
    for number, verdict, pick in steps:
        undone = {row.undo_of for row in rows}
        mine = [r for r in rows if r.item == items[number].id and r.uuid not in undone]
        if verdict != "undo":
            rows.append(made(items[number], verdict))
        elif mine:
            target = mine[pick % len(mine)].uuid
            rows.append(made(items[number], "undo", undo_of=target))
    for start in range(0, len(rows), 3):
        append(store, project, rows[start : start + 3])
    states = fold(read_log(store, project)).values()
    (found,) = (each for each in list_overviews(store) if each.project.id == project)
    assert found.reviewed == sum(state.decided for state in states)
    assert found.accepted == sum(state.verdict == "accept" for state in states)


def at_once(acts: list[Callable[[], object]]) -> None:
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], object]) -> None:
        start.wait()
        act()

    with ThreadPoolExecutor(len(acts)) as pool:
        for done in [pool.submit(run, act) for act in acts]:
            done.result()


def test_many_threads_append_at_once(store: Store, project: str, items: list[Item]) -> None:
    sent = [[made(items[i % 12], "accept", f"r{t}") for i in range(15)] for t in range(8)]

    def send(mine: list[Decision]) -> None:
        for decision in mine:
            append(store, project, [decision])

    at_once([lambda mine=mine: send(mine) for mine in sent])  # type: ignore[misc]
    found = read_log(store, project)
    assert [row.seq for row in found] == list(range(1, 121))
    assert {row.uuid for row in found} == {d.uuid for mine in sent for d in mine}
    times = [row.at for row in found]
    assert times == sorted(times)  # type: ignore[type-var]


def test_the_same_decision_sent_by_many_at_once_is_saved_once(
    store: Store, project: str, items: list[Item]
) -> None:
    decision = made(items[0])
    at_once([lambda: append(store, project, [decision])] * 6)
    assert len(read_log(store, project)) == 1


def test_a_reader_never_misses_a_row(store: Store, project: str, items: list[Item]) -> None:
    """Polling "since the last seq" while many write finds every row: none appears below it."""
    done = threading.Event()
    polled: list[Decision] = []

    def poll() -> None:
        while True:
            last = done.is_set()
            polled.extend(read_log(store, project, since=polled[-1].seq if polled else 0))
            if last:
                return

    def send(name: str) -> None:
        for _ in range(15):
            append(store, project, [made(items[0], "accept", name), made(items[1], "skip", name)])

    reader = threading.Thread(target=poll)
    reader.start()
    at_once([lambda name=name: send(name) for name in "abcd"])  # type: ignore[misc]
    done.set()
    reader.join()
    assert polled == read_log(store, project)
    assert len(polled) == 120


def test_a_slow_transaction_holds_later_ones_back(
    store: Store, project: str, items: list[Item], url: str | None
) -> None:
    """Where two may write at once, the second gets its seq after the first has committed."""
    if url is None:
        pytest.skip("SQLite has one writer")
    second = threading.Thread(target=append, args=(store, project, [made(items[1])]))
    with store.writing() as connection:
        projects.lock_project(connection, project)
        second.start()
        second.join(0.5)
        assert second.is_alive()
        assert read_log(store, project) == []
        row = vars_of(made(items[0])) | {"project": project, "seq": 1, "root": None}
        connection.execute(decisions.insert().values(row))
    second.join()
    assert [(r.seq, r.item) for r in read_log(store, project)] == [
        (1, items[0].id),
        (2, items[1].id),
    ]


def vars_of(decision: Decision) -> dict[str, object]:
    names = ("uuid", "item", "verdict", "reviewer", "reason", "note", "batch", "undo_of", "seen")
    return {name: getattr(decision, name) for name in names} | {"at": now()}
