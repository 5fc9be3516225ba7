"""Many people reviewing at once, as a server sees them: websocket sessions that decide and wait."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.measure import Figure
from eap_core.analysis import Plan
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.project.run import score_project
from eap_core.store import projects
from eap_core.store.decisions import read_log
from eap_core.store.store import open_store
from tests.browser.app_server import AppServer

CANDIDATES, SECONDS, THINK = 1_000, 30.0, 3.0
GOALS = {1: "", 20: "p95 < 500 ms", 50: "p95 < 1,500 ms"}
TITLE = "Reviewers at once"
NOTE = (
    f"{CANDIDATES:,} candidates; each reviewer decides every {THINK:g} s on average, for "
    f"{SECONDS:g} s. A decision counts from sending it to the server's word that the store has it. "
    "The reference is one reviewer alone on the same server. Nothing may be lost: every "
    "acknowledged decision is looked up in the store."
)


@dataclass
class Reviewer:
    """One browser: a websocket, the stage it was sent, and how long its decisions took."""

    address: str
    project: str
    name: str
    took: list[float] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    stage: dict[str, Any] = field(default_factory=dict)
    known: dict[int, dict[str, Any]] = field(default_factory=dict)
    start: int = 0
    widget: str = ""
    fragment: str = ""
    page: str = ""

    async def work(self, until: float) -> None:
        await asyncio.sleep(random.random() * 3)
        stream = self.address.replace("http", "ws") + "/_stcore/stream"
        async with connect(
            stream, subprotocols=["streamlit"], origin=self.address, max_size=None  # type: ignore[arg-type, list-item]
        ) as socket:  # fmt: skip
            await self._run(socket, None)
            self.start = int(self.stage["at"])
            number = 0
            while time.monotonic() < until:
                await asyncio.sleep(random.expovariate(1 / THINK))
                number += 1
                await self._decide(socket, number)

    async def _decide(self, socket: ClientConnection, number: int) -> None:
        uuid, at = str(uuid4()), (self.start + number) % CANDIDATES
        item = self.known[at]["id"] if at in self.known else self.known[self.start]["id"]
        entry = {"uuid": uuid, "item": item, "verdict": "accept", "seen": self.stage["seq"]}
        has = [place for place in self.known if abs(place - at - 1) <= 40]
        message = {"number": number, "at": at + 1, "item": item, "has": has, "entries": [entry]}
        start = time.perf_counter()
        await self._run(socket, json.dumps({"sent": json.dumps(message)}))
        if uuid in (self.stage["answer"] or {}).get("saved", {}):
            self.took.append(time.perf_counter() - start)
            self.acknowledged.append(uuid)
        else:
            self.errors.append("no acknowledgement")

    async def _run(self, socket: ClientConnection, state: str | None) -> None:
        asked = BackMsg()
        run = asked.rerun_script
        run.query_string = f"project={self.project}&reviewer={self.name}"
        run.page_name = "review"
        run.context_info.url = f"{self.address}/review"
        if state is not None:
            run.fragment_id, run.page_script_hash = self.fragment, self.page
            widget = run.widget_states.widgets.add()
            widget.id, widget.json_value = self.widget, state
        await socket.send(asked.SerializeToString())
        while True:
            told = ForwardMsg()
            told.ParseFromString(await asyncio.wait_for(socket.recv(decode=False), 90))
            self._hear(told)
            if told.WhichOneof("type") == "script_finished" and self.stage:
                return

    def _hear(self, told: ForwardMsg) -> None:
        if told.WhichOneof("type") == "new_session":
            self.page = told.new_session.page_script_hash
        element = told.delta.new_element
        if element.WhichOneof("type") == "bidi_component":
            self.stage = json.loads(element.bidi_component.json)
            self.known |= {int(place): card for place, card in self.stage["cards"].items()}
            self.widget, self.fragment = element.bidi_component.id, told.delta.fragment_id
        elif element.WhichOneof("type") == "exception":
            self.errors.append(element.exception.message[:80])


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        project = _project(Path(folder))
        server = AppServer(Path(folder) / "home")
        try:
            found = {
                count: asyncio.run(_reviewed(server.address, project, count)) for count in GOALS
            }
        finally:
            server.stop()
        _check(Path(folder) / "home", project, [one for all_ in found.values() for one in all_])
    alone = _percentile(found[1], 50)
    return [
        Figure(
            f"{count} reviewer{'s' if count > 1 else ''}, {_sum(reviewers)} decisions",
            f"median {_percentile(reviewers, 50):.0f} ms, p95 {_percentile(reviewers, 95):.0f} ms",
            f"{alone:.0f} ms alone",
            f"{_percentile(reviewers, 95) / alone:.1f}×, "
            f"{sum(len(one.errors) for one in reviewers)} errors",
            GOALS[count],
        )
        for count, reviewers in found.items()
    ]


async def _reviewed(address: str, project: str, count: int) -> list[Reviewer]:
    reviewers = [Reviewer(address, project, f"R{i}") for i in range(count)]
    until = time.monotonic() + SECONDS
    await asyncio.gather(*(one.work(until) for one in reviewers))
    return reviewers


def _project(folder: Path) -> str:
    store = open_store(folder / "home")
    made = projects.create(store, "many", "table").id
    rng = np.random.default_rng(0)
    for target, rows, shift in (
        ("normal", 500, 0.0),
        ("anomaly", 20, 3.0),
        ("candidate", CANDIDATES, 2.0),
    ):
        file = folder / f"{target}.csv"
        lines = [",".join(f"{v:.6f}" for v in row) for row in rng.normal(shift, 1, (rows, 8))]
        file.write_text("\n".join(["a,b,c,d,e,f,g,h", *lines]) + "\n")
        take(store, made, [InputFile.at(file)], target)  # type: ignore[arg-type]
    score_project(store, made, Plan())
    store.close()
    return made


def _check(home: Path, project: str, reviewers: list[Reviewer]) -> None:
    store = open_store(home)
    saved = {row.uuid for row in read_log(store, project)}
    store.close()
    lost = {uuid for one in reviewers for uuid in one.acknowledged} - saved
    if lost:
        raise RuntimeError(f"{len(lost)} acknowledged decisions are not in the store")


def _percentile(reviewers: list[Reviewer], share: float) -> float:
    return 1000 * float(np.percentile([t for one in reviewers for t in one.took], share))


def _sum(reviewers: list[Reviewer]) -> int:
    return sum(len(one.acknowledged) for one in reviewers)
