"""A backup is the project, wherever it is restored; a bad one changes nothing."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from PIL import Image

from eap_core.analysis import Plan
from eap_core.base.errors import DataError
from eap_core.base.progress import Cancelled
from eap_core.health import Finding
from eap_core.images.decode import thumbnail as make_thumbnail
from eap_core.project import IntakeReport
from eap_core.project.problem import state_of
from eap_core.review import Decision, fold
from eap_core.store import projects, runs
from eap_core.store.backup import backup
from eap_core.store.decisions import append, read_log
from eap_core.store.items import NewItem, NewUpload, add_upload, items_of, remove_upload, uploads_of
from eap_core.store.projects import list_overviews
from eap_core.store.restore import restore
from eap_core.store.store import Store, open_store

SMALL = make_thumbnail(Image.new("RGB", (9, 7), (200, 30, 40)))
TAKEN = IntakeReport({"candidate": 2}, (("x.txt", "is no image"),), ("a note",), ()).record
PLAN: dict[str, Any] = {**Plan().record, "notes": [], "warnings": ["a warning"]}


@pytest.fixture
def full(store: Store) -> str:
    return full_project(store)


def full_project(store: Store) -> str:
    """A project with files, a removed upload, a run that ended and one that did not, and a log."""
    project = projects.create(store, "Stahl", "images").id
    contents = [b"zip", b"one", b"two", b"mask"]
    packed, one, two, mask = (store.blobs.put(content) for content in contents)
    store.blobs.put_thumbnail(one, SMALL)
    new = [
        NewItem(0, "candidate", "a", one, mask, {"prompt": "ä 😀"}, {"w": 1}),
        NewItem(1, "candidate", "b", two),
        NewItem(2, "normal", "n"),
    ]
    add_upload(store, project, NewUpload("z.zip", "zip", None, packed, {**TAKEN, "x": 2.5}), new)
    given = NewUpload("c", "csv", details=TAKEN)
    gone = add_upload(store, project, given, [NewItem(0, "candidate", "gone")])
    items = items_of(store, project)
    ids = [item.id for item in items if item.role == "candidate"]
    for finished in (True, False):
        run = runs.start(store, project, ids, PLAN, {"numpy": "2"}, "abc")
        runs.add_scores(store, run.id, "eap", np.array([0.1, np.nan, -0.0]))
        if finished:
            runs.finish(store, run.id, [Finding("copies", "note", "two are alike").record])
    first = Decision(str(uuid4()), ids[0], "accept", "one")
    undo = Decision(str(uuid4()), ids[0], "undo", "one", undo_of=first.uuid)
    redo = Decision(str(uuid4()), ids[0], "undo", "one", undo_of=undo.uuid)
    last = Decision(str(uuid4()), ids[1], "reject", "two", "artefact", "π", "batch", seen=3)
    append(store, project, [first, undo, redo, last])
    remove_upload(store, project, gone.id)
    return project


def view(store: Store, project: str) -> list[object]:
    """Everything about a project, with names in place of ids."""
    items = items_of(store, project, removed=True)
    name = {item.id: item.name for item in items}
    found = runs.runs_of(store, project)
    return [
        projects.by_id(store, project).created,
        [replace(upload, id="", project="") for upload in uploads_of(store, project)],
        [replace(item, id="", project="", upload="") for item in items],
        [row._replace(item=name[row.item]) for row in read_log(store, project)],
        [replace(run, id="", project="", job=None) for run in found],
        [[name[item] for item in runs.candidates_of(store, run.id)] for run in found],
        [{k: v.tobytes() for k, v in runs.scores_of(store, run.id).items()} for run in found],
        [run.id == projects.by_id(store, project).current_run for run in found],
        {name[item]: state.verdict for item, state in fold(read_log(store, project)).items()},
        [
            (each.reviewed, each.accepted)
            for each in list_overviews(store)
            if each.project.id == project
        ],
    ]


@pytest.fixture(params=["sqlite", "postgresql"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """Another, empty store, on either database."""
    sqlite = request.param == "sqlite"
    url = None if sqlite else request.getfixturevalue("server").new_database()
    opened = open_store(tmp_path / "other", url)
    yield opened
    opened.close()


def test_a_project_moves_between_databases(
    store: Store, other: Store, full: str, tmp_path: Path
) -> None:
    made = backup(store, full, tmp_path / "b.zip")
    assert (made.files, made.missing) == (4, ())
    restored = restore(other, made.file)
    assert (restored.id, restored.name) == (full, "Stahl")
    assert view(other, full) == view(store, full)
    for item in items_of(other, full):
        if item.sha256:
            assert other.blobs.read(item.sha256) == store.blobs.read(item.sha256)
    (thumbnail,) = other.blobs.folder.glob("thumbnails/*/*")
    assert thumbnail.read_bytes() == SMALL


def test_restoring_twice_makes_a_second_project(store: Store, full: str, tmp_path: Path) -> None:
    file = backup(store, full, tmp_path / "b.zip", thumbnails=False).file
    before = view(store, full)
    second, third = restore(store, file), restore(store, file, "Kopie")
    assert len({full, second.id, third.id}) == 3
    assert (second.name, third.name) == ("Stahl (2)", "Kopie")
    assert view(store, full) == view(store, second.id) == view(store, third.id) == before
    row = read_log(store, second.id)[-1]
    append(store, second.id, [row._replace(uuid=str(uuid4()))])
    assert view(store, full) == before


def test_a_project_in_the_bin_can_be_saved_and_comes_back_out_of_it(
    store: Store, full: str, tmp_path: Path
) -> None:
    projects.to_bin(store, full)
    restored = restore(store, backup(store, full, tmp_path / "b.zip").file)
    assert restored.id != full
    assert (restored.name, restored.binned_at) == ("Stahl", None)


def test_what_the_store_has_lost_is_said_and_the_rest_is_saved(
    store: Store, full: str, tmp_path: Path
) -> None:
    lost = store.blobs.put(b"one")
    store.blobs.path(lost).write_bytes(b"rotten")
    made = backup(store, full, tmp_path / "b.zip")
    assert (made.files, made.missing) == (3, (lost,))
    with pytest.raises(DataError, match="altered"):
        store.blobs.read(lost)
    restored = restore(store, made.file)
    assert len(items_of(store, restored.id)) == 3


def test_an_unknown_project_is_told_and_leaves_no_file(store: Store, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such project"):
        backup(store, "x", tmp_path / "b.zip")
    assert not list(tmp_path.glob("*.zip"))
    assert not list(tmp_path.glob(".partial*"))


Members = dict[str, bytes]


def repacked(file: Path, change: Callable[[Members], None], *, honest: bool) -> Path:
    """The backup with changed members; an honest manifest states them as they are then."""
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    if honest:
        members.pop("manifest.json", None)
        stated = {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
            for name, data in members.items()
        }
        members["manifest.json"] = json.dumps(stated).encode()
    changed = file.with_name("changed.zip")
    with zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return changed


def edited(table: str, number: int, **values: Any) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        lines = members[f"rows/{table}.jsonl"].splitlines()
        lines[number] = json.dumps(json.loads(lines[number]) | values).encode()
        members[f"rows/{table}.jsonl"] = b"".join(line + b"\n" for line in lines)

    return change


def about(**values: Any) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        members["project.json"] = json.dumps(json.loads(members["project.json"]) | values).encode()

    return change


def with_member(name: str, data: bytes) -> Callable[[Members], None]:
    return lambda members: members.update({name: data})


def without(ending: str) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        for name in [name for name in members if name.endswith(ending)]:
            del members[name]

    return change


def flipped_original(members: Members) -> None:
    name = next(name for name in members if name.startswith("originals/"))
    members[name] = bytes([members[name][0] ^ 1]) + members[name][1:]


def undo_swapped(members: Members) -> None:
    lines = members["rows/decisions.jsonl"].splitlines()
    members["rows/decisions.jsonl"] = b"\n".join([lines[1], lines[0], *lines[2:], b""])


LIES: list[tuple[Callable[[Members], None], str]] = [
    (flipped_original, "does not match its hash|was altered"),
    (edited("items", 0, name="x"), "was altered"),
    (with_member("rows/items.jsonl", b"\n" * 10_000_000), "is larger than stated"),
    (with_member("rows/items.jsonl", b""), "was altered"),
    (without("manifest.json"), "it has no manifest"),
    (with_member("manifest.json", b"[]"), "manifest.json cannot be read"),
    (with_member("manifest.json", b'{"x": 3}'), "the manifest holds"),
    (with_member("manifest.json", b"[" * 5_000), "manifest.json cannot be read"),
    (with_member("originals/" + "0" * 64, b"x"), "missing or too many"),
]
HONEST: list[tuple[Callable[[Members], None], str]] = [
    (flipped_original, "does not match its hash"),
    (with_member("../../evil", b"x"), "does not belong into it"),
    (with_member("originals/../x", b"x"), "does not belong into it"),
    (without("items.jsonl"), "missing or too many"),
    (with_member("rows/items.jsonl", b"{}"), "the last line is cut off"),
    (with_member("rows/items.jsonl", b"{}\n"), "is no row"),
    (with_member("rows/items.jsonl", b"\xff\n"), "is no row"),
    (with_member("rows/uploads.jsonl", b""), "is named, but not in uploads"),
    (edited("items", 0, position="0"), "items.position is '0'"),
    (edited("items", 0, position=2**63), "items.position is"),
    (edited("items", 0, position=True), "items.position is 'True'"),
    (edited("items", 0, name="a\0b"), "items.name is"),
    (edited("items", 0, name="\ud800"), "items.name is"),
    (edited("items", 0, role="king"), "'king' is no role"),
    (edited("items", 0, metadata={"x": float("nan")}), "cannot be stored"),
    (edited("items", 0, sha256="0" * 64), "is not in it"),
    (edited("items", 1, name="a"), "contradict one another"),
    (edited("uploads", 0, added="yesterday"), "uploads.added is 'yesterday'"),
    (edited("uploads", 0, added="2026-01-01"), "uploads.added is"),
    (edited("uploads", 0, added="0001-01-01T00:00:00+14:00"), "damaged: uploads.added is"),
    (edited("runs", 0, candidates=["nobody"]), "'nobody' is named, but not in items"),
    (edited("runs", 0, candidates=[["x"]]), "is named, but not in items"),
    (edited("runs", 0, status="great"), "'great' is no state"),
    (edited("scores", 0, values="AAAA"), "are cut off"),
    (edited("scores", 0, values="not base64!"), "scores.values is"),
    (edited("decisions", 0, verdict="maybe"), "'maybe' is no verdict"),
    (edited("decisions", 0, reviewer=""), "the reviewer's name is empty"),
    (edited("decisions", 1, undo_of="x"), "undoes what is not there"),
    (edited("decisions", 1, seq=1), "contradict one another"),
    (undo_swapped, "undoes what is not there"),
    (about(format="other"), "it is of another kind"),
    (about(schema_version=99), "the format '99', known is 1"),
    (about(kind="video"), "'video' is no kind of project"),
    (about(name=7), "projects.name is '7'"),
    (about(current_run="nobody"), "'nobody' is named, but not in runs"),
    (with_member("project.json", b"no"), "project.json cannot be read"),
]


@pytest.mark.parametrize(
    ("change", "message", "honest"),
    [(*case, False) for case in LIES] + [(*case, True) for case in HONEST],
)
def test_a_bad_backup_changes_nothing(
    tmp_path: Path, change: Callable[[Members], None], message: str, honest: bool
) -> None:
    source = open_store(tmp_path / "source")
    file = backup(source, full_project(source), tmp_path / "b.zip").file
    source.close()
    target = open_store(tmp_path / "target")
    with pytest.raises(DataError, match=message):
        restore(target, repacked(file, change, honest=honest))
    assert list_overviews(target) == []
    assert not list(target.blobs.folder.rglob("originals/*/*"))
    assert restore(target, file).name == "Stahl"
    target.close()


@pytest.mark.parametrize("data", [b"", b"no zip", b"PK\x03\x04" + bytes(100)])
def test_what_is_no_zip_is_told(store: Store, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "b.zip").write_bytes(data)
    with pytest.raises(DataError, match="no whole ZIP file"):
        restore(store, tmp_path / "b.zip")


def test_a_backup_cut_off_anywhere_is_told(tmp_path: Path) -> None:
    store = open_store(tmp_path / "home")
    file = backup(store, full_project(store), tmp_path / "b.zip").file
    data = file.read_bytes()
    for size in range(0, len(data), 97):
        file.write_bytes(data[:size])
        with pytest.raises(DataError, match="not restored"):
            restore(store, file)
    assert len(list_overviews(store)) == 1
    store.close()


def test_ids_of_another_project_are_refused(store: Store, full: str, tmp_path: Path) -> None:
    """A backup with a free project id but the item ids of a project here takes nothing over."""
    file = backup(store, full, tmp_path / "b.zip").file
    before = view(store, full)
    with pytest.raises(DataError, match="ids that other projects use"):
        restore(store, repacked(file, about(id=str(uuid4())), honest=True))
    assert view(store, full) == before
    assert len(list_overviews(store)) == 1


def test_a_cancelled_restore_leaves_nothing(tmp_path: Path) -> None:
    source, target = open_store(tmp_path / "source"), open_store(tmp_path / "target")
    file = backup(source, full_project(source), tmp_path / "b.zip").file

    def stop(share: float, step: str) -> None:
        if share > 0.6:
            raise Cancelled(step)

    with pytest.raises(Cancelled):
        restore(target, file, progress=stop)
    assert list_overviews(target) == []
    assert not list(target.blobs.folder.rglob("originals/*/*"))
    source.close()
    target.close()


def test_a_copy_beside_its_original_knows_whether_its_data_changed(
    store: Store, full: str, tmp_path: Path
) -> None:
    ids = [item.id for item in items_of(store, full, "candidate")]
    for number in range(3):
        given = NewUpload(f"more {number}", "csv", details=TAKEN)
        add_upload(store, full, given, [NewItem(0, "normal", f"more {number}")])
    for state in ("of another time", state_of(store, full)):
        run = runs.start(store, full, ids, {**PLAN, "state": state}, {}, "abc")
        runs.finish(store, run.id)
    file = backup(store, full, tmp_path / "b.zip").file
    copy = restore(store, file).id
    assert state_of(store, copy) != state_of(store, full)
    latest, older = runs.runs_of(store, copy)[:2]
    assert latest.settings["state"] == state_of(store, copy)
    assert older.settings["state"] == "of another time"
    uploads = {upload.name: upload.id for upload in uploads_of(store, copy)}
    remove_upload(store, copy, uploads["more 1"])
    assert latest.settings["state"] != state_of(store, copy)
