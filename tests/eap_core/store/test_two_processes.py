"""Two processes write at once: nobody is turned away, and everything is there in order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from eap_core.store.decisions import read_log
from eap_core.store.items import Item
from eap_core.store.store import Store

WRITER = """
import sys
from pathlib import Path
from uuid import uuid4
from threading import Thread
from eap_core.review import Decision
from eap_core.store.decisions import append, read_log
from eap_core.store.items import items_of
from eap_core.store.store import open_store

home, url, project, name = sys.argv[1:]
store = open_store(Path(home), url or None)
items = items_of(store, project)

def send(thread):
    for i in range(12):
        item = items[i % len(items)].id
        append(store, project, [Decision(str(uuid4()), item, "accept", f"{name}{thread}")])
        read_log(store, project)

threads = [Thread(target=send, args=(number,)) for number in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_two_processes_of_four_threads(
    store: Store, url: str | None, project: str, items: list[Item]
) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(store.home), url or "", project, name],
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        for name in "ab"
    ]
    errors = [writer.communicate()[1] for writer in writers]
    assert errors == ["", ""]
    found = read_log(store, project)
    assert [row.seq for row in found] == list(range(1, 97))
    assert {row.item for row in found} == {item.id for item in items}
    names = [f"{name}{number}" for name in "ab" for number in range(4)]
    assert sorted(row.reviewer for row in found) == sorted(names * 12)


def test_two_processes_open_a_new_store_at_once(tmp_path: Path, url: str | None) -> None:
    code = "import sys; from pathlib import Path; from eap_core.store.store import open_store; "
    code += "open_store(Path(sys.argv[1]), sys.argv[2] or None)"
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "home"), url or ""],
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        for _ in range(2)
    ]
    assert [opener.communicate()[1] for opener in openers] == ["", ""]
