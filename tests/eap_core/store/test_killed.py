"""kill −9 at any moment: what was acknowledged is there, what was not is whole or absent.

``EAP_KILL_ROUNDS=200`` runs more rounds of each kind.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from eap_core.base.errors import DataError
from eap_core.review import Decision
from eap_core.store import projects, runs
from eap_core.store.decisions import append, read_log
from eap_core.store.items import Item, NewItem, NewUpload, add_upload, items_of, uploads_of
from eap_core.store.restore import open_archive
from eap_core.store.store import DATABASE, Store, open_store
from tests.eap_core.store.postgres import Server, new_server
from tests.eap_core.store.victim import EVALUATORS, UPLOAD_ROWS

ROUNDS = int(os.environ.get("EAP_KILL_ROUNDS", "20"))
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server that waits for the disk, unlike that of the other tests."""
    running = new_server(fsync=True)
    yield running
    running.remove()


@dataclass(frozen=True)
class Victims:
    process: subprocess.Popen[str]
    rng: random.Random

    def killed(self, act: str, store: Store, url: str | None, project: str) -> list[str]:
        """Let a process act, kill it at a random moment, return what it was told is saved."""
        assert self.process.stdin
        assert self.process.stdout
        order = {"home": str(store.home), "url": url, "act": act, "project": project}
        self.process.stdin.write(json.dumps({**order, "folder": str(store.home)}) + "\n")
        self.process.stdin.flush()
        victim = int(self.process.stdout.readline())
        wait_for = self.rng.choice([0, 1, 1, 2, 4])
        told = [self.process.stdout.readline() for _ in range(wait_for)]
        assert "ended\n" not in told, "it died of itself"
        time.sleep(self.rng.uniform(0, 0.05 if wait_for else 0.3))
        os.kill(victim, signal.SIGKILL)
        told += iter(self.process.stdout.readline, "ended\n")
        return [line.strip() for line in told]


@pytest.fixture(scope="module")
def victims() -> Iterator[Victims]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.eap_core.store.victim"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    seed = random.randrange(2**32)
    yield Victims(process, random.Random(seed))
    assert process.stdin
    process.stdin.close()
    process.wait()
    assert process.stdout
    process.stdout.close()


def sound(store: Store, url: str | None) -> None:
    """The database opens again and finds nothing wrong with itself."""
    open_store(store.home, url).close()
    if url is None:
        connection = sqlite3.connect(store.home / DATABASE)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.close()


@pytest.mark.usefixtures("items")
def test_no_acknowledged_decision_is_lost(
    victims: Victims, store: Store, url: str | None, project: str
) -> None:
    acknowledged: list[str] = []
    for _ in range(ROUNDS):
        acknowledged += victims.killed("decide", store, url, project)
        sound(store, url)
        found = read_log(store, project)
        assert set(acknowledged) <= {row.uuid for row in found}
        assert [row.seq for row in found] == list(range(1, len(found) + 1))
    assert acknowledged


@pytest.mark.usefixtures("items")
def test_an_upload_is_whole_or_absent(
    victims: Victims, store: Store, url: str | None, project: str
) -> None:
    acknowledged: set[str] = set()
    for _ in range(ROUNDS // 4):
        acknowledged |= set(victims.killed("upload", store, url, project))
        sound(store, url)
        found = {each.id: each for each in uploads_of(store, project) if each.kind == "zip"}
        assert acknowledged <= found.keys()
        assert {each.items for each in found.values()} <= {UPLOAD_ROWS}
        for each in found.values():
            assert each.sha256
            store.blobs.verified(each.sha256)
    originals = [path for path in (store.blobs.folder / "originals").rglob("*/*") if path.is_file()]
    for path in originals:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    assert acknowledged


@pytest.mark.usefixtures("items")
def test_a_run_is_finished_or_reads_not_finished(
    victims: Victims, store: Store, url: str | None, project: str
) -> None:
    acknowledged: set[str] = set()
    for _ in range(ROUNDS // 4):
        acknowledged |= set(victims.killed("score", store, url, project))
        sound(store, url)
        found = {run.id: run.status for run in runs.runs_of(store, project)}
        assert set(found.values()) <= {"finished", "not finished"}
        finished = {run for run, status in found.items() if status == "finished"}
        assert acknowledged <= finished
        current = projects.by_id(store, project).current_run
        assert (current in finished) if finished else (current is None)
        for run in finished:
            assert sorted(runs.scores_of(store, run)) == sorted(EVALUATORS)
    assert acknowledged


@pytest.mark.usefixtures("items")
def test_a_backup_is_whole_or_absent(
    victims: Victims, store: Store, url: str | None, project: str
) -> None:
    acknowledged: set[str] = set()
    for _ in range(ROUNDS // 4):
        acknowledged |= set(victims.killed("save", store, url, project))
        files = {path.name: path for path in store.home.glob("*.zip")}
        assert acknowledged <= files.keys()
        for path in files.values():
            with open_archive(path) as archive:
                archive.verify_rows()
    assert acknowledged


def persistent(store: Store, project: str, decision: Decision) -> int:
    """Send a decision until it is acknowledged, as a browser would."""
    while True:
        try:
            return append(store, project, [decision])[0].seq
        except DataError:
            time.sleep(0.05)


def test_a_killed_server_loses_no_acknowledged_decision(tmp_path: Path, server: Server) -> None:
    store = open_store(tmp_path, server.new_database())
    project = projects.create(store, "steel", "table").id
    item = added(store, project)
    acknowledged: dict[str, int] = {}
    done = threading.Event()

    def send() -> None:
        while not done.is_set():
            decision = Decision(str(uuid4()), item.id, "accept", "one")
            acknowledged[decision.uuid] = persistent(store, project, decision)

    sender = threading.Thread(target=send)
    sender.start()
    for _ in range(max(1, ROUNDS // 10)):
        before = len(acknowledged)
        while len(acknowledged) < before + 5:
            time.sleep(0.01)
        time.sleep(random.uniform(0, 0.05))
        server.kill()
        server.start()
    done.set()
    sender.join()
    found = {row.uuid: row.seq for row in read_log(store, project)}
    assert acknowledged.items() <= found.items()
    assert sorted(found.values()) == list(range(1, len(found) + 1))
    store.close()


def added(store: Store, project: str) -> Item:
    add_upload(store, project, NewUpload("a", "csv"), [NewItem(0, "candidate", "x")])
    return items_of(store, project)[0]
