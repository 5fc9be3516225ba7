"""What a bundle costs: hashes, names and a manifest, beside a bare ZIP of the same files."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import numpy as np
from PIL import Image

from benchmarks.measure import Figure, seconds
from eap_core.export.bundle import gather_files, make_bundle
from eap_core.export.request import ExportRequest
from eap_core.project.problem import state_of
from eap_core.scoring import percentiles, ranks
from eap_core.store import projects, runs
from eap_core.store.items import NewItem, NewUpload, add_upload, items_of
from eap_core.store.store import Store, open_store

IMAGES, SIDE = 2_000, 400
TITLE = f"Export: a bundle of {IMAGES:,} images of {SIDE} × {SIDE}"
NOTE = (
    "Half normals, half accepted candidates, as an anomalib folder in one ZIP. Ours checks the "
    "hash of every original, writes table, manifest and card, hashes the ZIP and waits for the "
    "disk; the reference is Python's zipfile on the same files, also waiting for the disk."
)
_REQUEST = ExportRequest("anomalib", 100)


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        store = open_store(Path(name))
        try:
            return _figures(store, Path(name))
        finally:
            store.close()


def _figures(store: Store, folder: Path) -> list[Figure]:
    project = _filled(store)
    paths = [member.source for member in gather_files(store, project, _REQUEST).members]
    images = [path for path in paths if path is not None]
    size = sum(path.stat().st_size for path in images) / 2**20
    bare = seconds(lambda: _bare(images, folder / "bare.zip"))
    ours = seconds(lambda: make_bundle(store, project, _REQUEST))
    looked = seconds(lambda: gather_files(store, project, ExportRequest("csv")))
    return [
        Figure(
            f"ZIP of {size:,.0f} MB",
            f"{ours:.2f} s",
            f"{bare:.2f} s",
            f"{ours / bare:.1f}× bare zipfile",
            "≤ 4×",
        ),
        Figure(
            f"table of {IMAGES // 2:,} candidates, with its papers",
            f"{looked:.2f} s",
            f"{bare:.2f} s",
            f"{looked / bare:.1f}× that bare ZIP",
            "< 1 s",
        ),
    ]


def _filled(store: Store) -> str:
    project = projects.create(store, "parts", "images").id
    rng = np.random.default_rng(0)
    new = []
    for i in range(IMAGES):
        role = "normal" if i % 2 else "candidate"
        sha256 = store.blobs.put(_picture(rng))
        metadata = {} if i % 2 else {"defect_type": f"kind {i % 6}", "generator": "gan"}
        new.append(NewItem(i, role, f"{i}.jpg", sha256, metadata=metadata))  # type: ignore[arg-type]
    add_upload(store, project, NewUpload("parts.zip", "images"), new)
    _scored(store, project)
    return project


def _picture(rng: np.random.Generator) -> bytes:
    """A JPEG with the grain of a photograph."""
    coarse = Image.fromarray(rng.integers(60, 190, (8, 8, 3)).astype(np.uint8))
    smooth = np.asarray(coarse.resize((SIDE, SIDE), Image.Resampling.BICUBIC), dtype=float)
    grain = rng.normal(0, 6, (SIDE, SIDE, 1))
    out = io.BytesIO()
    Image.fromarray((smooth + grain).clip(0, 255).astype(np.uint8)).save(out, "JPEG", quality=92)
    return out.getvalue()


def _scored(store: Store, project: str) -> None:
    items = items_of(store, project, "candidate")
    eap = np.linspace(1, 0, len(items))
    columns = {"eap": eap, "rank": ranks(eap, [i.name for i in items]), "p_y": eap}
    columns |= {"percentile": percentiles(eap), "covered": eap}
    settings = {"state": state_of(store, project)}
    made = runs.start(store, project, [item.id for item in items], settings, {}, "benchmark")
    for name, values in columns.items():
        runs.add_scores(store, made.id, name, np.asarray(values, dtype=float))
    runs.finish(store, made.id)


def _bare(paths: list[Path], target: Path) -> None:
    with target.open("wb") as file:
        with ZipFile(file, "w", ZIP_STORED) as archive:
            for path in paths:
                archive.write(path, f"{path.name}.jpg")
        file.flush()
        os.fsync(file.fileno())
