"""kill −9 while bundles are made: each that has a name is whole, and the old one stays until then.

``EAP_KILL_ROUNDS=200`` runs more rounds.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from eap_core.export.bundle import list_bundles, make_bundle
from eap_core.store.projects import Project
from eap_core.store.store import Store
from tests.eap_core.export.victim import REQUEST

ROUNDS = int(os.environ.get("EAP_KILL_ROUNDS", "20"))
ROOT = Path(__file__).parents[3]


def whole_zip(path: Path) -> None:
    """Every file that the manifest lists is there with its hash, and no other."""
    with ZipFile(path) as archive:
        assert archive.testzip() is None
        listed = json.loads(archive.read("manifest.json"))["files"]
        assert set(archive.namelist()) == {*listed, "manifest.json"}
        for name, each in listed.items():
            assert hashlib.sha256(archive.read(name)).hexdigest() == each["sha256"]


def whole_folder(folder: Path) -> None:
    listed = json.loads((folder / "manifest.json").read_bytes())["files"]
    for name, each in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == each["sha256"]


@pytest.fixture
def victims() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.eap_core.export.victim"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    yield process
    process.communicate()


def killed(victims: subprocess.Popen[str], order: str) -> list[str]:
    """Let a process work, kill it at a random moment, return the bundles it was told of."""
    assert victims.stdin
    assert victims.stdout
    victims.stdin.write(f"{order}\n")
    victims.stdin.flush()
    victim = int(victims.stdout.readline())
    told = [victims.stdout.readline() for _ in range(random.choice([0, 0, 1, 2]))]
    time.sleep(random.uniform(0, 0.4))
    os.kill(victim, signal.SIGKILL)
    told += iter(victims.stdout.readline, "ended\n")
    return [line.strip() for line in told]


def test_a_bundle_is_whole_or_absent(
    victims: subprocess.Popen[str], store: Store, images: Project, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    acknowledged: set[str] = set()
    for _ in range(ROUNDS):
        acknowledged |= set(killed(victims, f"{store.home} {images.id} {out}"))
        found = list_bundles(store, images.id)
        assert acknowledged <= {each.name for each in found}
        for each in found[:3]:
            whole_zip(each.path)
            assert hashlib.sha256(each.path.read_bytes()).hexdigest() == each.sha256
        if (out / "same.zip").exists():
            whole_zip(out / "same.zip")
        for folder in sorted(out.glob("folder-*"), key=lambda each: each.stat().st_mtime)[-2:]:
            whole_folder(folder)
    assert acknowledged
    assert (out / "same.zip").exists()
    assert list(out.glob("folder-*"))
    torn = [*out.glob(".partial-*"), *(store.home / "exports" / images.id).glob(".partial-*")]
    assert torn, "no victim was killed while it wrote"


def test_what_a_killed_process_left_is_swept_after_a_day(store: Store, images: Project) -> None:
    folder = make_bundle(store, images.id, REQUEST).path.parent
    old, new, lone = folder / ".partial-old", folder / ".partial-new", folder / "lone.json"
    for path in (old, new, lone):
        path.write_bytes(b"half")
    for path in (old, lone):
        os.utime(path, (0, 0))
    make_bundle(store, images.id, REQUEST)
    assert not old.exists()
    assert not lone.exists()
    assert new.exists()
