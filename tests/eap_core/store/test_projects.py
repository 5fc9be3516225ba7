"""Projects are made, listed, binned and emptied without losing anything else."""

from __future__ import annotations

import hashlib
from uuid import uuid4

import pytest

from eap_core.base.errors import DataError, EapError
from eap_core.review import Decision
from eap_core.store import jobs, projects, runs
from eap_core.store.cleanup import empty_bin, remove_unused
from eap_core.store.decisions import append, read_log
from eap_core.store.items import Item, NewItem, NewUpload, add_upload, items_of, remove_upload
from eap_core.store.projects import list_overviews
from eap_core.store.store import Store


def decide(store: Store, project: str, item: Item, verdict: str, **more: object) -> Decision:
    made = Decision(str(uuid4()), item.id, verdict, "one", **more)  # type: ignore[arg-type]
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
    assert list_overviews(store) == []


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
    empty, full = list_overviews(store)
    assert (empty.project.name, dict(empty.items), empty.reviewed) == ("empty", {}, 0)
    assert dict(full.items) == {"candidate": 10, "normal": 2}
    assert (full.candidates, full.reviewed, full.accepted) == (10, 3, 2)


def test_removed_candidates_are_not_counted(store: Store, project: str, items: list[Item]) -> None:
    decide(store, project, items[0], "accept")
    remove_upload(store, project, items[0].upload)
    (found,) = list_overviews(store)
    assert (found.candidates, found.reviewed, found.accepted) == (0, 0, 0)


def test_the_bin_keeps_everything(store: Store, project: str, items: list[Item]) -> None:
    decide(store, project, items[0], "accept")
    projects.to_bin(store, project)
    assert list_overviews(store) == []
    assert [binned.id for binned in projects.list_bin(store)] == [project]
    with pytest.raises(DataError, match="is in the bin"):
        decide(store, project, items[0], "reject")
    with pytest.raises(DataError, match="there is no project 'steel'"):
        projects.find(store, "steel")
    assert projects.from_bin(store, project).binned_at is None
    assert items_of(store, project) == items
    assert len(read_log(store, project)) == 1
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
    assert [binned.id for binned in projects.list_bin(store)] == [also]
    with pytest.raises(DataError, match="there is no project"):
        projects.by_id(store, gone)
    assert len(items_of(store, kept)) == 1
    assert read_log(store, gone) == []
    assert empty_bin(store) == 1
    found = {path.read_bytes() for path in (store.blobs.folder / "originals").rglob("*/*")}
    assert found == {b"1", b"2", b"3"}


def test_only_a_binned_project_can_be_deleted(store: Store, project: str) -> None:
    with pytest.raises(DataError, match="is not in the bin"):
        empty_bin(store, project)
    assert projects.by_id(store, project)


def digest_of(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def test_emptying_the_bin_deletes_what_was_derived(store: Store) -> None:
    gone, kept = (projects.create(store, name, "table").id for name in ("gone", "kept"))
    files = {}
    for project, name in ((gone, "gone"), (kept, "kept")):
        sha256 = store.blobs.put(name.encode())
        job = jobs.create(store, "add", {"files": [[sha256, "a.zip"]]}, project)
        token = jobs.start(store, job.id)
        assert token is not None
        jobs.fail(store, job.id, token, EapError("bad"))
        details = {"digest": digest_of(name)}
        add_upload(store, project, NewUpload("a.csv", "table", details=details), ())
        files[name] = [
            store.blobs.path(sha256),
            store.home / "logs" / f"job-{job.id}.log",
            store.home / "cache" / "tables" / f"{digest_of(name)}.npy",
        ]
    report = store.home / "cache" / "health" / "1-abc.json"
    outside = store.home / "cache" / "outside.npy"
    for path in (report, outside, *files["gone"], *files["kept"]):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    add_upload(store, gone, NewUpload("b", "table", details={"digest": "../outside"}), ())
    projects.to_bin(store, gone)
    empty_bin(store)
    assert not any(path.exists() for path in (report, *files["gone"]))
    assert all(path.exists() for path in (outside, *files["kept"]))


def test_what_a_job_still_needs_is_used(store: Store, project: str) -> None:
    waiting, running, ended, nobody = (store.blobs.put(name) for name in (b"w", b"r", b"e", b"n"))
    made = [
        jobs.create(store, "add", {"files": [[sha256, "a.zip"]]}, project)
        for sha256 in (waiting, running, ended)
    ]
    jobs.start(store, made[1].id)
    jobs.cancel(store, made[2].id)
    jobs.create(store, "score", {"evaluators": []}, project)
    remove_unused(store, [waiting, running, ended, nobody])
    found = [store.blobs.has(sha256) for sha256 in (waiting, running, ended, nobody)]
    assert found == [True, True, False, False]
