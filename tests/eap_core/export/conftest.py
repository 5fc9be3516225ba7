"""Small scored projects, made directly in the store: scoring is tested elsewhere."""

from __future__ import annotations

import io
from collections.abc import Sequence
from uuid import uuid4

import numpy as np
import pytest
from PIL import Image

from eap_core.base.table import Role
from eap_core.project.problem import state_of
from eap_core.review import Decision, Verdict
from eap_core.scoring import percentiles, ranks
from eap_core.store import projects, runs
from eap_core.store.decisions import append
from eap_core.store.items import NewItem, NewUpload, add_upload, items_of
from eap_core.store.projects import Project
from eap_core.store.store import Store

HOSTILE = (
    "=cmd|' /C calc'!A0",
    'quote"d',
    "line\nbreak",
    "carriage\rreturn",
    "../../etc/passwd.png",
    "ünï🙂",
    "a,b;c",
    "007",
    "NA",
    "# head **bold** <b>",
    "'=once",
    " space ",
)


def picture(seed: int, kind: str = "PNG", side: int = 12) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 255, (side, side, 3)).astype(np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind)
    return out.getvalue()


def scored(
    store: Store,
    project: str,
    also: Sequence[str] = ("rarity",),
    given: Sequence[float] | None = None,
) -> str:
    """A finished run over the project's candidates: the first is the best, unless scores are
    given."""
    items = items_of(store, project, "candidate")
    count = len(items)
    eap = np.linspace(0.9, 0.1, count) if given is None else np.array(given)
    values = {
        "eap": eap,
        "rank": ranks(eap, [item.name for item in items]),
        "percentile": percentiles(eap),
        "p_y": np.linspace(1, 0, count),
        "covered": np.ones(count),
        "weight": np.full(count, 0.5),
        "observations": np.full(count, 3.0),
        "prior": np.full(count, 0.1),
        **{name: np.arange(count) / 7 for name in also},
    }
    settings = {"seed": 3, "state": state_of(store, project)}
    run = runs.start(store, project, [i.id for i in items], settings, {"numpy": "2"}, "f00d")
    for name, column in values.items():
        runs.add_scores(store, run.id, name, np.asarray(column, dtype=float))
    runs.finish(store, run.id)
    return run.id


def decide(
    store: Store,
    project: str,
    decisions: dict[str, Verdict],
    reviewer: str = "one",
    seen: int = 10**6,
    reason: str | None = None,
    note: str = "",
) -> None:
    """Decisions by the names of candidates."""
    by_name = {item.name: item.id for item in items_of(store, project, "candidate")}
    append(
        store,
        project,
        [
            Decision(str(uuid4()), by_name[name], verdict, reviewer, reason, note, seen=seen)
            for name, verdict in decisions.items()
        ],
    )


def image_items(store: Store, masks: bool = True) -> list[NewItem]:
    """Normals, real anomalies and candidates with defect types, and test data; a JPEG among them
    is called .png, and two images of one folder have one name."""
    found: list[NewItem] = []

    def add(role: Role, name: str, kind: str | None = None, form: str = "PNG") -> None:
        seed = len(found)
        metadata = {"defect_type": kind} if kind is not None else {}
        if role == "candidate":
            metadata |= {"generator": "gan" if seed % 2 else "diffusion", "prompt": f"=p {seed}"}
        mask = store.blobs.put(picture(1000 + seed)) if kind is not None and masks else None
        sha256 = store.blobs.put(picture(seed, form))
        found.append(NewItem(seed, role, name, sha256, mask, metadata))

    for i in range(12):
        add("normal", f"n/{i}.png", form="JPEG" if i == 0 else "PNG")
    for i in range(3):
        add("anomaly", f"real/{i}.png", "scratch")
    for i in range(14):
        add("candidate", f"made/{i % 7}/x{'_1' * (i // 7)}.png", ["scratch", "good", ""][i % 3])
    for i in range(4):
        add("test_normal", f"t/{i}.png")
    for i in range(11):
        add("test_anomaly", f"td/x{'_1' * (i % 3)}-{i}.png", ["scratch", "Loch/../x"][i % 2])
    return found


@pytest.fixture
def images(store: Store) -> Project:
    """A scored project of images; nothing is decided."""
    made = projects.create(store, "Bottle *line* 3", "images")
    add_upload(store, made.id, NewUpload("all.zip", "images"), image_items(store))
    scored(store, made.id)
    return projects.by_id(store, made.id)


@pytest.fixture
def rows(store: Store) -> Project:
    """A scored project of a table whose candidates have hostile names and metadata."""
    made = projects.create(store, "fraud", "table")
    new = [
        NewItem(i, "candidate", name, metadata={"generator": name, "decision": "given", "n": i})
        for i, name in enumerate(HOSTILE)
    ]
    add_upload(store, made.id, NewUpload("c.csv", "csv", sha256=store.blobs.put(b"id\n")), new)
    scored(store, made.id)
    return projects.by_id(store, made.id)
