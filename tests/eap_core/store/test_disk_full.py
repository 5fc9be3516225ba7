"""A full disk is told, nothing half-saved stays, and work goes on when there is room again."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from eap_core.base.errors import DataError
from eap_core.review import Decision
from eap_core.store import explain_db_errors, projects
from eap_core.store.backup import backup
from eap_core.store.decisions import append, read_log
from eap_core.store.items import Item, NewItem, NewUpload, add_upload, items_of
from eap_core.store.store import DATABASE, Store, open_store


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    try:
        allowed = subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("needs the right to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def filled(store: Store) -> tuple[str, Item]:
    project = projects.create(store, "steel", "table").id
    add_upload(store, project, NewUpload("a", "csv"), [NewItem(0, "candidate", "x")])
    return project, items_of(store, project)[0]


def decided(item: Item, note: str = "") -> Decision:
    return Decision(str(uuid4()), item.id, "accept", "one", note=note)


def test_a_full_disk_is_told_and_forgotten_when_there_is_room(small_disk: Path) -> None:
    store = open_store(small_disk)
    project, item = filled(store)
    ballast = small_disk / "ballast"
    with ballast.open("wb") as file:
        free = os.statvfs(small_disk)
        file.write(bytes(free.f_bavail * free.f_frsize - 100_000))
    many = [decided(item, "x" * 2000) for _ in range(100)]
    saved: list[str] = []
    with pytest.raises(DataError, match="not saved: the disk is full — free some room"):
        saved.extend(append(store, project, [decision])[0].uuid for decision in many)
    decision = many[len(saved)]
    assert [row.uuid for row in read_log(store, project)] == saved  # reading works all the while
    with pytest.raises(DataError, match="the disk is full"):
        append(store, project, [decision])
    with pytest.raises(DataError, match="not saved: the disk is full"):
        store.blobs.put(bytes(200_000))
    with pytest.raises(DataError, match="no backup was made: the disk is full"):
        backup(store, project, small_disk / "b.zip")
    ballast.unlink()
    append(store, project, [decision])
    assert [row.uuid for row in read_log(store, project)] == [*saved, decision.uuid]
    assert store.blobs.read(store.blobs.put(bytes(200_000))) == bytes(200_000)
    backup(store, project, small_disk / "b.zip")
    left = {path.name for path in small_disk.rglob("*") if ".partial" in path.name}
    assert left == set()
    store.close()


LIMITED = """
import resource, sys
from pathlib import Path
from eap_core.base.errors import DataError
from eap_core.store.decisions import append, read_log
from eap_core.store.store import open_store
from tests.eap_core.store.test_disk_full import decided, filled

store = open_store(Path(sys.argv[1]))
project, item = filled(store)
size = (store.home / "store.sqlite3-wal").stat().st_size
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40_000, hard))
saved = []
try:
    while True:
        decision = decided(item)
        append(store, project, [decision])
        saved.append(decision.uuid)
except DataError as error:
    print(error)
assert [row.uuid for row in read_log(store, project)] == saved
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
append(store, project, [decision])
assert [row.uuid for row in read_log(store, project)] == [*saved, decision.uuid]
print(len(saved))
"""


def test_a_limit_on_files_is_told_and_forgotten_when_lifted(tmp_path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    message, saved = done.stdout.splitlines()
    assert message.startswith("not saved: the disk refused the write")
    assert int(saved) > 0


def test_a_read_only_store_is_told(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    project, item = filled(store)
    with store.writing() as connection:
        connection.exec_driver_sql("PRAGMA query_only = 1")
        with (
            pytest.raises(DataError, match="not saved: the store is read-only"),
            explain_db_errors(),
        ):
            connection.exec_driver_sql("UPDATE projects SET name = 'x'")
    append(store, project, [decided(item)])
    assert len(read_log(store, project)) == 1
    store.close()


def test_a_damaged_database_is_told(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    filled(store)
    store.close()  # which moves everything into the main file
    file = tmp_path / DATABASE
    file.write_bytes(file.read_bytes()[:4096] + os.urandom(200_000))
    with pytest.raises(DataError, match="the store's database file is damaged — restore a backup"):
        open_store(tmp_path)


def test_a_store_kept_busy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eap_core.store.store.BUSY_SECONDS", 0.1)
    one, other = open_store(tmp_path), open_store(tmp_path)
    with one.writing(), pytest.raises(DataError, match="not saved: another program kept the store"):
        projects.create(other, "x", "table")
    assert projects.create(other, "x", "table").name == "x"
    one.close()
    other.close()
