"""A backup from anywhere costs little memory, and what it brings can be used by the program."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from sqlalchemy import text

from eap_core.analysis import Plan
from eap_core.base.errors import DataError
from eap_core.health import Finding
from eap_core.images.decode import decode
from eap_core.project import InputFile
from eap_core.project.intake import image_item, take
from eap_core.project.run import score_project
from eap_core.store import projects, runs
from eap_core.store.backup import MOST_IN_PROJECT, MOST_IN_THUMBNAIL, backup
from eap_core.store.cleanup import empty_bin
from eap_core.store.items import NewItem, NewUpload, add_upload, items_of, uploads_of
from eap_core.store.projects import list_overviews
from eap_core.store.restore import restore
from eap_core.store.store import Store, open_store
from tests.eap_core.project.conftest import table_text
from tests.eap_core.store.test_backup import (
    PLAN,
    SMALL,
    TAKEN,
    Members,
    about,
    edited,
    full_project,
    repacked,
)


def picture(kind: str, width: int = 9) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (width, 7), (200, 30, 40)).save(stream, kind)
    return stream.getvalue()


def thumbnail_is(data: bytes) -> Callable[[Members], None]:
    def change(members: Members) -> None:
        (name,) = (name for name in members if name.startswith("thumbnails/"))
        members[name] = data

    return change


@pytest.fixture
def file(tmp_path: Path) -> Path:
    source = open_store(tmp_path / "source")
    made = backup(source, full_project(source), tmp_path / "b.zip").file
    source.close()
    return made


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        (SMALL, True),
        (picture("PNG"), True),
        (picture("JPEG"), False),
        (picture("PNG", 2_000), False),
        (SMALL[:-9], False),
        (b"<svg onload='alert(1)'/>", False),
        (b"", False),
    ],
)
def test_only_a_small_picture_is_kept_as_a_thumbnail(
    store: Store, file: Path, data: bytes, kept: bool
) -> None:
    restore(store, repacked(file, thumbnail_is(data), honest=True))
    found = [path.read_bytes() for path in store.blobs.folder.glob("thumbnails/*/*")]
    assert found == ([data] if kept else [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (thumbnail_is(bytes(MOST_IN_THUMBNAIL + 1)), "is too large"),
        (about(more="x" * MOST_IN_PROJECT), "'project.json' is too large"),
        (edited("items", 0, facts=[[] for _ in range(2_000_000)]), "more values than any"),
    ],
)
def test_what_is_too_large_is_refused(
    store: Store, file: Path, change: Callable[[Members], None], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        restore(store, repacked(file, change, honest=True))
    assert list_overviews(store) == []


BOMB = """
import hashlib, json, resource, sys, zipfile
from pathlib import Path
from eap_core.base.errors import DataError
from eap_core.store.store import open_store
from eap_core.store.restore import restore

source, kind = sys.argv[2:4]
stated, chunk, number = {}, bytes(2**20), 300
with zipfile.ZipFile(source) as old, zipfile.ZipFile("bomb.zip", "w", 8, compresslevel=1) as new:
    for name in old.namelist():
        digest, size = hashlib.sha256(), 0
        with new.open(name, "w", force_zip64=True) as member:
            if name.startswith(kind):
                kind = "done"
                parts = (chunk for _ in range(number))
            elif name == "manifest.json":
                parts = [json.dumps(stated).encode()]
            else:
                parts = [old.read(name)]
            for part in parts:
                digest.update(part)
                size += len(part)
                member.write(part)
        stated[name] = {"sha256": digest.hexdigest(), "size": size}
store = open_store(Path(sys.argv[1]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    restore(store, Path("bomb.zip"))
except DataError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
print(Path("bomb.zip").stat().st_size // 2**20)
"""


@pytest.mark.parametrize("kind", ["thumbnails/", "originals/", "rows/items", "project.json"])
def test_a_bomb_is_refused_in_little_memory(tmp_path: Path, file: Path, kind: str) -> None:
    """300 MB of zeros in a file of 1 or 2 MB."""
    done = subprocess.run(
        [sys.executable, "-c", BOMB, str(tmp_path / "home"), str(file), kind],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert done.returncode == 0, done.stderr
    message, grown, packed = done.stdout.splitlines()
    assert message.startswith("not restored: the file is no sound backup")
    assert int(packed) < 4
    assert int(grown) < 100


def without(record: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != key}


# Of another type than the program writes; an older program did not write them at all.
OF_CLIP: dict[str, Any] = {"clip_model": None, "weights": 1, "int8": "yes"}
FINDING = Finding("copies", "note", "two are alike").record
BROKEN: list[tuple[str, dict[str, Any], str]] = [
    *(("uploads", {"details": without(TAKEN, key)}, f"uploads.details.{key}") for key in TAKEN),
    ("uploads", {"details": []}, "uploads.details"),
    ("uploads", {"details": {**TAKEN, "skipped": ["name"]}}, "uploads.details.skipped"),
    ("uploads", {"kind": "features"}, "uploads.details.reading"),
    ("uploads", {"kind": "images"}, "items.facts"),
    ("items", {"metadata": []}, "items.metadata"),
    ("items", {"facts": []}, "items.facts"),
    *(
        ("runs", {"settings": without(PLAN, key)}, f"runs.settings.{key}")
        for key in PLAN
        if key not in OF_CLIP
    ),
    *(
        ("runs", {"settings": {**PLAN, key: wrong}}, f"runs.settings.{key}")
        for key, wrong in OF_CLIP.items()
    ),
    ("runs", {"settings": {**PLAN, "clip_model": "a\ud800"}}, "runs.settings.clip_model"),
    ("runs", {"settings": {**PLAN, "weights": "w\n.pt"}}, "runs.settings.weights"),
    ("runs", {"settings": {**PLAN, "settings": {"nobody": 1}}}, "runs.settings.settings"),
    ("runs", {"candidates": {}}, "runs.candidates"),
    *(("runs", {"findings": [without(FINDING, key)]}, "runs.findings") for key in FINDING),
    ("runs", {"findings": [{**FINDING, "more": 1}]}, "runs.findings"),
    ("runs", {"findings": [{**FINDING, "severity": "end of the world"}]}, "runs.findings"),
    ("runs", {"findings": ["x"]}, "runs.findings"),
]


def test_a_run_from_before_clip_is_restored(store: Store, file: Path) -> None:
    older = {key: value for key, value in PLAN.items() if key not in OF_CLIP}
    copy = restore(store, repacked(file, edited("runs", 0, settings=older), honest=True))
    assert Plan() in [Plan.from_record(dict(run.settings)) for run in runs.runs_of(store, copy.id)]


@pytest.mark.parametrize("named", ["/etc/passwd", "../../etc/passwd"])
def test_no_backup_says_which_files_are_read_here(store: Store, file: Path, named: str) -> None:
    changed = edited("runs", 0, settings={**PLAN, "features": "clip", "weights": named})
    copy = restore(store, repacked(file, changed, honest=True))
    assert {run.settings["weights"] for run in runs.runs_of(store, copy.id)} == {None, "passwd"}


@pytest.mark.parametrize(("table", "values", "named"), BROKEN)
def test_rows_that_the_program_could_not_use_are_refused(
    tmp_path: Path, file: Path, table: str, values: dict[str, Any], named: str
) -> None:
    target = open_store(tmp_path / "target")
    changed = repacked(file, edited(table, 0, **values), honest=True)
    with pytest.raises(DataError, match=f"{named}.*is not what this program writes"):
        restore(target, changed)
    assert list_overviews(target) == []
    target.close()


@pytest.fixture
def scored(store: Store, tmp_path: Path) -> str:
    project = projects.create(store, "rows", "table").id
    for name, rows, shift in (("normal", 60, 0.0), ("candidate", 12, 2.0)):
        path = tmp_path / f"{name}.csv"
        path.write_text(table_text(rows, len(name), shift))
        take(store, project, [InputFile.at(path)], name)  # type: ignore[arg-type]
    score_project(store, project, Plan())
    return project


def test_what_the_program_wrote_is_restored(store: Store, scored: str, tmp_path: Path) -> None:
    made = backup(store, scored, tmp_path / "b.zip").file
    again = restore(store, made)
    run = score_project(store, again.id, Plan())
    assert run.status == "finished"


@pytest.mark.parametrize(
    "key",
    ["reading", "source", "columns", "texts", "categorical", "missing", "digest"],
)
def test_a_table_that_could_not_be_read_again_is_refused(
    store: Store, scored: str, tmp_path: Path, key: str
) -> None:
    made = backup(store, scored, tmp_path / "b.zip").file
    for wrong in (None, {"nobody": 1}):
        details = {**table_details(store, scored), key: wrong}
        changed = repacked(made, edited("uploads", 0, details=details), honest=True)
        with pytest.raises(DataError, match=f"uploads.details.{key}"):
            restore(store, changed)
    assert len(list_overviews(store)) == 1


def table_details(store: Store, project: str) -> dict[str, Any]:
    return dict(uploads_of(store, project)[0].details)


def test_an_image_needs_its_facts_and_its_original(store: Store, tmp_path: Path) -> None:
    data = picture("PNG")
    sha256 = store.blobs.put(data)
    facts = asdict(decode(data, "a.png").facts)
    project = projects.create(store, "images", "images").id
    new = [NewItem(0, "normal", "a.png", sha256, None, {}, facts)]
    add_upload(store, project, NewUpload("a.png", "images", details=TAKEN), new)
    made = backup(store, project, tmp_path / "b.zip").file
    assert len(items_of(store, restore(store, made).id)) == 1
    broken: list[dict[str, Any]] = [{"facts": without(facts, key)} for key in facts]
    broken += [{"facts": {**facts, "perceptual": 7}}, {"facts": {**facts, "other": "x"}}]
    for values in [{"sha256": None}, *broken]:
        changed = repacked(made, edited("items", 0, **values), honest=True)
        with pytest.raises(DataError, match=r"items\.(facts|sha256)"):
            restore(store, changed)
    assert len(list_overviews(store)) == 2
    # An earlier version also kept a hash of how an image looks.
    earlier = repacked(
        made, edited("items", 0, facts={**facts, "perceptual": "8" * 16}), honest=True
    )
    [item] = items_of(store, restore(store, earlier).id)
    assert asdict(image_item(item).facts) == {**facts, "notes": tuple(facts["notes"])}


def test_a_folder_is_no_backup_and_no_place_for_one(
    store: Store, project: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="not restored: a folder is there, not a file"):
        restore(store, tmp_path)
    with pytest.raises(DataError, match="no backup was made: a folder is there, not a file"):
        backup(store, project, tmp_path)


def with_id(table: str, old: str, new: str) -> Callable[[Members], None]:
    """The backup with one id, wherever it stands, replaced by another."""

    def change(members: Members) -> None:
        names = ["project.json"] if table == "projects" else []
        names += [name for name in members if name.startswith("rows/")]
        for name in names:
            members[name] = members[name].replace(
                json.dumps(old).encode(), json.dumps(new).encode()
            )

    return change


def id_in(file: Path, table: str) -> str:
    with zipfile.ZipFile(file) as archive:
        name = "project.json" if table == "projects" else f"rows/{table}.jsonl"
        lines = archive.read(name).splitlines() if table != "projects" else [archive.read(name)]
    return str(json.loads(lines[0])["id"])


@pytest.mark.parametrize("table", ["projects", "uploads", "items", "runs"])
@pytest.mark.parametrize("wrong", ["..", "../..", "ABSOLUTE", "a", "*", "", "{id}\n", "{ID}"])
def test_an_id_that_would_lead_somewhere_else_is_refused(
    tmp_path: Path, file: Path, table: str, wrong: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    mine = outside / "mine.txt"
    mine.write_text("mine")
    own = id_in(file, table)
    new = wrong.replace("ABSOLUTE", str(outside)).format(id=own, ID="A" + own.upper()[1:])
    target = open_store(tmp_path / "target")
    with pytest.raises(DataError, match="is no id"):
        restore(target, repacked(file, with_id(table, own, new), honest=True))
    assert list_overviews(target) == []
    assert not list(target.blobs.folder.rglob("originals/*/*"))
    assert mine.read_text() == "mine"
    target.close()


@pytest.mark.parametrize("hostile", ["..", "../..", "ABSOLUTE"])
def test_emptying_the_bin_deletes_nothing_outside_whatever_the_ids_are(
    tmp_path: Path, hostile: str
) -> None:
    """As a store may be that took in such a backup before they were refused."""
    store = open_store(tmp_path / "a" / "home")
    outside = tmp_path / "outside"
    for folder in (outside, store.home, store.home / "exports", tmp_path / "a"):
        folder.mkdir(exist_ok=True)
        (folder / "mine.npz").write_text("mine")
    bad = hostile.replace("ABSOLUTE", str(outside))
    project = projects.create(store, "x", "table").id
    run = runs.start(store, project, [], PLAN, {}, f"{bad}/mine")
    with store.writing() as connection:
        connection.execute(text("PRAGMA defer_foreign_keys = ON"))
        for table, column, old, new in (
            ("projects", "id", project, bad),
            ("runs", "project", project, bad),
            ("runs", "id", run.id, f"{bad}/mine"),
        ):
            statement = text(f"UPDATE {table} SET {column} = :new WHERE {column} = :old")
            connection.execute(statement, {"new": new, "old": old})
    projects.to_bin(store, bad)
    assert empty_bin(store) == 1
    assert list_overviews(store) == []
    kept = [outside, store.home, store.home / "exports", tmp_path / "a"]
    assert all((folder / "mine.npz").read_text() == "mine" for folder in kept)
    store.close()


@pytest.mark.parametrize("linked", ["folder", "file"])
def test_emptying_the_bin_follows_no_link(tmp_path: Path, store: Store, linked: str) -> None:
    project = projects.create(store, "x", "table").id
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.zip").write_text("mine")
    folder = store.home / "exports" / project
    folder.parent.mkdir()
    if linked == "folder":
        folder.symlink_to(outside, target_is_directory=True)
    else:
        (folder / "below").mkdir(parents=True)
        (folder / "b.zip").write_text("a bundle")
        (folder / "link.zip").symlink_to(outside / "mine.zip")
    projects.to_bin(store, project)
    assert empty_bin(store) == 1
    assert (outside / "mine.zip").read_text() == "mine"
    assert not (folder / "b.zip").exists()
