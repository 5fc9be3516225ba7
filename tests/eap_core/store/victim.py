"""Processes to be killed: ``python -m tests.eap_core.store.victim`` forks one for each order.

An order is a line of JSON. The fork writes a line for whatever it was told is saved, and never
ends by itself; when it was killed the parent writes "ended". Imports are paid for once.
"""

from __future__ import annotations

import json
import os
import sys
from itertools import count
from pathlib import Path
from uuid import uuid4

import numpy as np

from eap_core.review import Decision
from eap_core.store import jobs, runs
from eap_core.store.backup import backup
from eap_core.store.decisions import append
from eap_core.store.items import NewItem, NewUpload, add_upload, items_of
from eap_core.store.store import Store, open_store

UPLOAD_ROWS = 400
EVALUATORS = ("eap", "rarity")


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # short enough to be written whole


def decide(store: Store, project: str, _folder: Path) -> None:
    items = items_of(store, project)
    for number in count():
        item = items[number % len(items)].id
        (ack,) = append(store, project, [Decision(str(uuid4()), item, "accept", "one")])
        say(ack.uuid)


def upload(store: Store, project: str, _folder: Path) -> None:
    for number in count():
        name = f"{os.getpid()}-{number}"
        sha256 = store.blobs.put(name.encode() * 5000)
        new = [NewItem(i, "normal", f"{name}-{i}", sha256) for i in range(UPLOAD_ROWS)]
        say(add_upload(store, project, NewUpload(name, "zip", sha256=sha256), new).id)


def score(store: Store, project: str, _folder: Path) -> None:
    candidates = [item.id for item in items_of(store, project, "candidate")]
    for number in count():
        job = jobs.create(store, "score", {}, project)
        token = jobs.start(store, job.id)
        assert token is not None
        run = runs.start(store, project, candidates, {}, {}, "f", token)
        for name in EVALUATORS:
            runs.add_scores(store, run.id, name, np.full(len(candidates), float(number)))
        runs.finish(store, run.id)
        jobs.finish(store, job.id, token)
        say(run.id)


def save(store: Store, project: str, folder: Path) -> None:
    for number in count():
        file = folder / f"{os.getpid()}-{number}.zip"
        backup(store, project, file)
        say(file.name)


ACTS = {"decide": decide, "upload": upload, "score": score, "save": save}


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            say(str(os.getpid()))
            store = open_store(Path(order["home"]), order["url"])
            ACTS[order["act"]](store, order["project"], Path(order["folder"]))
        os.waitpid(child, 0)
        say("ended")


if __name__ == "__main__":
    main()
