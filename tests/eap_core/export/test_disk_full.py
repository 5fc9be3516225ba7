"""A full disk is told in a sentence, and no half bundle stays."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from eap_core.export.bundle import list_bundles, make_bundle
from eap_core.export.request import ExportRequest
from eap_core.store.projects import Project
from eap_core.store.store import Store

LIMITED = """
import resource, sys
from pathlib import Path
from eap_core.base.errors import DataError
from eap_core.export.bundle import gather_files, make_bundle
from eap_core.export.request import ExportRequest
from eap_core.export.files import write_folder
from eap_core.store.store import open_store

store = open_store(Path(sys.argv[1]))
request = ExportRequest("anomalib", 50)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
for limit in map(int, sys.argv[4:]):
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        make_bundle(store, sys.argv[2], request)
    except DataError as error:
        print(error)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
found = gather_files(store, sys.argv[2], request)
try:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    write_folder(found.members, Path(sys.argv[3]))
except DataError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
print(make_bundle(store, sys.argv[2], request).name)
"""


def test_a_limit_on_files_is_told_and_leaves_nothing(
    store: Store, images: Project, tmp_path: Path
) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    whole = make_bundle(store, images.id, ExportRequest("anomalib", 50)).size
    target = tmp_path / "out"
    limits = [str(limit) for limit in (0, 1_000, whole // 2, whole - 100)]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(store.home), images.id, str(target), *limits],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    *messages, name = done.stdout.splitlines()
    assert len(messages) == len(limits) + 1
    assert all(each.startswith("not saved: the disk refused the write") for each in messages)
    assert not target.exists()
    assert not list(tmp_path.glob(".partial-*"))
    assert name in {each.name for each in list_bundles(store, images.id)}
    left = [path.name for path in (store.home / "exports" / images.id).iterdir()]
    assert not [name for name in left if name.startswith(".partial-")]
    assert len([name for name in left if name.endswith(".zip")]) == 2


def test_a_full_disk_is_told(store: Store, images: Project, tmp_path: Path) -> None:
    folder = store.home / "exports"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]
    try:
        allowed = subprocess.run(mount, capture_output=True).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("needs the right to mount a small disk")
    try:
        with pytest.raises(Exception, match="not saved: the disk is full — free some room"):
            make_bundle(store, images.id, ExportRequest("anomalib", 50))
        assert not list(folder.rglob("*.*"))
    finally:
        subprocess.run(["umount", str(folder)], check=True)
    assert make_bundle(store, images.id, ExportRequest("anomalib", 50)).path.is_file()
    assert tmp_path.is_dir()
