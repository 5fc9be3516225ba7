"""Projects are made, listed, binned and emptied without losing anything else."""

from __future__ import annotations

from uuid import uuid4

import pytest

from eap_core.errors import DataError
from eap_core.review import Decision
from eap_core.store import projects, runs
from eap_core.store.bin import empty_bin
from eap_core.store.decisions import append, log
from eap_core.store.items import Item, NewItem, NewUpload, add_upload, items_of, remove_upload
from eap_core.store.overview import overviews
from eap_core.store.store import Store


def decide(store: Store, project: str, item: Item, verdict: str, **more: object) -> Decision:
    made = Decision(str(uuid4()), item.id, verdict, "anna", **more)  # type: ignore[arg-type]
    append(store, project, [made])
    return made


def test_a_project_is_found_by_name_and_by_id(store: Store) -> None:
    made = projects.create(store, "  Stahl Nº 1 🔩 ", "images")
    assert made.name == "Stahl Nº 1 🔩"
    assert projects.find(store, made.name) == made == projects.find(store, made.id)


def test_a_name_that_is_another_projects_id_does_not_hide_it(store: Store) -> None:
    first = projects.create(store, "first", "table")
    projects.create(store, first.id, "table")
    assert projects.find(store, first.id) == first


@pytest.mark.parametrize("name", ["", "   ", "x" * 121, "a\0b", "\ud800"])
def test_a_bad_name_is_refused(store: Store, name: str) -> None:
    with pytest.raises(DataError, match="the name of a project"):
        projects.create(store, name, "table")
    assert overviews(store) == []


def test_a_bad_kind_is_refused(store: Store) -> None:
    with pytest.raises(DataError, match="no kind of project"):
        projects.create(store, "x", "video")  # type: ignore[arg-type]


def test_a_name_is_given_once(store: Store, project: str) -> None:
    with pytest.raises(DataError, match="there is a project 'steel' already"):
        projects.create(store, "steel", "table")
    other = projects.create(store, "glass", "table")
    with pytest.raises(DataError, match="already"):
        projects.rename(store, other.id, "steel")
    assert projects.rename(store, project, "steel").name == "steel"
    assert projects.rename(store, project, "iron").name == "iron"


def test_an_unknown_project_is_told(store: Store) -> None:
    for act in (projects.find, projects.by_id, projects.to_bin):
        with pytest.raises(DataError, match="there is no project 'nobody'"):
            act(store, "nobody")


def test_overviews_count_what_stands(store: Store, project: str, items: list[Item]) -> None:
    decide(store, project, items[0], "accept")
    decide(store, project, items[0], "reject")
    decide(store, project, items[1], "accept")
    undone = decide(store, project, items[2], "accept")
    decide(store, project, items[2], "undo", undo_of=undone.uuid)
    redone = decide(store, project, items[3], "accept")
    undo = decide(store, project, items[3], "undo", undo_of=redone.uuid)
    decide(store, project, items[3], "undo", undo_of=undo.uuid)
    decide(store, project, items[4], "skip")
    decide(store, project, items[10], "accept")  # a normal, not a candidate
    projects.create(store, "empty", "table")
    empty, full = overviews(store)
    assert (empty.project.name, dict(empty.items), empty.reviewed) == ("empty", {}, 0)
    assert empty.last_decision is None
    assert dict(full.items) == {"candidate": 10, "normal": 2}
    assert (full.candidates, full.reviewed, full.accepted) == (10, 3, 2)
    assert full.last_decision == log(store, project)[-1].at


def test_removed_candidates_are_not_counted(store: Store, project: str, items: list[Item]) -> None:
    decide(store, project, items[0], "accept")
    remove_upload(store, project, items[0].upload)
    (found,) = overviews(store)
    assert (found.candidates, found.reviewed, found.accepted) == (0, 0, 0)
    assert found.last_decision is not None


def test_the_bin_keeps_everything(store: Store, project: str, items: list[Item]) -> None:
    decide(store, project, items[0], "accept")
    projects.to_bin(store, project)
    assert overviews(store) == []
    assert [binned.id for binned in projects.in_bin(store)] == [project]
    with pytest.raises(DataError, match="is in the bin"):
        decide(store, project, items[0], "reject")
    with pytest.raises(DataError, match="there is no project 'steel'"):
        projects.find(store, "steel")
    assert projects.from_bin(store, project).binned_at is None
    assert items_of(store, project) == items
    assert len(log(store, project)) == 1
    with pytest.raises(DataError, match="is not in the bin"):
        projects.from_bin(store, project)


def test_a_project_comes_back_under_another_name_if_need_be(store: Store, project: str) -> None:
    projects.to_bin(store, project)
    projects.create(store, "steel", "table")
    with pytest.raises(DataError, match="already"):
        projects.from_bin(store, project)
    assert projects.from_bin(store, project, "old steel").name == "old steel"


def with_files(store: Store, name: str, *contents: bytes) -> str:
    project = projects.create(store, name, "images").id
    hashes = [store.blobs.put(content) for content in contents]
    upload = NewUpload("z.zip", "zip", sha256=hashes[0])
    new = [NewItem(0, "candidate", "a", sha256=hashes[1], mask=hashes[2])]
    add_upload(store, project, upload, new)
    return project


def test_emptying_the_bin_deletes_only_what_nobody_else_uses(store: Store) -> None:
    kept = with_files(store, "kept", b"1", b"2", b"3")
    gone = with_files(store, "gone", b"3", b"1", b"own")
    also = with_files(store, "in the bin, too", b"2", b"4", b"5")
    (item,) = items_of(store, gone)
    decide(store, gone, item, "accept")
    runs.start(store, gone, [item.id], {}, {}, "f")
    projects.to_bin(store, gone)
    projects.to_bin(store, also)
    assert empty_bin(store, gone) == 1
    found = {path.read_bytes() for path in (store.blobs.folder / "originals").rglob("*/*")}
    assert found == {b"1", b"2", b"3", b"4", b"5"}
    assert [binned.id for binned in projects.in_bin(store)] == [also]
    with pytest.raises(DataError, match="there is no project"):
        projects.by_id(store, gone)
    assert len(items_of(store, kept)) == 1
    assert log(store, gone) == []
    assert empty_bin(store) == 1
    found = {path.read_bytes() for path in (store.blobs.folder / "originals").rglob("*/*")}
    assert found == {b"1", b"2", b"3"}


def test_only_a_binned_project_can_be_deleted(store: Store, project: str) -> None:
    with pytest.raises(DataError, match="is not in the bin"):
        empty_bin(store, project)
    assert projects.by_id(store, project)
