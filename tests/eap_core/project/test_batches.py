"""A batch is saved whole, sent again without harm, and taken back in one step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from eap_core.base.errors import DataError
from eap_core.project.review import Outcome, decide, undo
from eap_core.review import Decision, fold
from eap_core.store import projects
from eap_core.store.decisions import append, read_log
from eap_core.store.items import NewItem, NewUpload, add_upload, items_of
from eap_core.store.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "home")
    yield opened
    opened.close()


@pytest.fixture
def project(store: Store) -> str:
    return projects.create(store, "rows", "table").id


@pytest.fixture
def items(store: Store, project: str) -> list[str]:
    new = [NewItem(i, "candidate", f"c{i}") for i in range(8)]
    add_upload(store, project, NewUpload("all.csv", "csv"), new)
    return [item.id for item in items_of(store, project)]


def verdicts(store: Store, project: str) -> dict[str, str | None]:
    return {item: state.verdict for item, state in fold(read_log(store, project)).items()}


def test_a_batch_is_one_step_forth_and_back(store: Store, project: str, items: list[str]) -> None:
    append(store, project, [Decision(str(uuid4()), items[0], "accept", "one")])
    before = verdicts(store, project)
    batch = str(uuid4())
    done = decide(store, project, batch, [*items, items[0]], "reject", "one", 1, "artefact")
    assert done == Outcome("reject", 8)
    rows = read_log(store, project)[1:]
    assert {(row.verdict, row.reason, row.batch, row.seen) for row in rows} == {
        ("reject", "artefact", batch, 1)
    }
    assert undo(store, project, read_log(store, project), "one") == Outcome("reject", 8)
    after = verdicts(store, project)
    assert {item: after[item] for item in before} == before
    assert {after[item] for item in items[1:]} == {None}
    assert undo(store, project, read_log(store, project), "two") == Outcome(None, 0)


def test_a_batch_sent_again_changes_nothing(store: Store, project: str, items: list[str]) -> None:
    batch = str(uuid4())
    for seen in (0, 5):
        assert decide(store, project, batch, items[:5], "accept", "one", seen).count == 5
    assert len(read_log(store, project)) == 5
    undo(store, project, read_log(store, project), "one")
    decide(store, project, batch, items[:5], "accept", "one", 0)
    assert set(verdicts(store, project).values()) == {None}


def test_what_others_decided_unseen_is_told(store: Store, project: str, items: list[str]) -> None:
    decide(store, project, str(uuid4()), items[:3], "accept", "two", 0)
    unseen = decide(store, project, str(uuid4()), items, "reject", "one", 0)
    assert [(row.reviewer, row.item) for row in unseen.conflicts] == [
        ("two", item) for item in items[:3]
    ]
    seen = decide(store, project, str(uuid4()), items, "accept", "three", 11)
    assert seen.conflicts == ()


def test_what_was_known_to_be_decided_otherwise_is_told(
    store: Store, project: str, items: list[str]
) -> None:
    decide(store, project, str(uuid4()), items[:3], "accept", "two", 0)
    decide(store, project, str(uuid4()), items[3:5], "reject", "two", 3)
    states = fold(read_log(store, project))
    unseen = decide(store, project, str(uuid4()), items[:1], "reject", "three", 0, states=states)
    assert (len(unseen.conflicts), unseen.overturned) == (1, ())  # not told twice
    done = decide(store, project, str(uuid4()), items[1:], "reject", "one", 5, states=states)
    assert [(row.reviewer, row.item) for row in done.overturned] == [
        ("two", item) for item in items[1:3]
    ]
    assert done.conflicts == ()


def test_one_bad_item_and_nothing_is_saved(store: Store, project: str, items: list[str]) -> None:
    with pytest.raises(DataError, match="no item"):
        decide(store, project, str(uuid4()), [*items, "x"], "accept", "one", 0)
    assert read_log(store, project) == []
