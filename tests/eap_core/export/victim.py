"""Processes to be killed: ``python -m tests.eap_core.export.victim`` forks one for each order.

An order is a line "home project folder". The fork makes the same bundle over and over, in the
store and in the folder, says each one it is told is there, and never ends by itself; when it was
killed the parent says "ended". Imports are paid for once.
"""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

from eap_core.export.bundle import gather_files, make_bundle
from eap_core.export.files import write_folder, write_zip
from eap_core.export.request import ExportRequest
from eap_core.store.store import open_store

REQUEST = ExportRequest("imagefolder", 50)


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())  # short enough to be written whole


def export(home: str, project: str, folder: str) -> None:
    store = open_store(Path(home))
    for number in count():
        say(make_bundle(store, project, REQUEST).name)
        found = gather_files(store, project, REQUEST)
        with write_zip(found.members, Path(folder) / "same.zip"):
            pass
        write_folder(found.members, Path(folder) / f"folder-{os.getpid()}-{number}")


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            say(str(os.getpid()))
            export(*line.split())
        os.waitpid(child, 0)
        say("ended")


if __name__ == "__main__":
    main()
