"""A ZIP of images to a project one can browse: originals, thumbnails and facts on the disk."""

from __future__ import annotations

import io
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.measure import Figure
from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.store import projects
from eap_core.store.items import items_of
from eap_core.store.store import open_store

IMAGES = 2_000
SIDE = 400
TITLE = f"A ZIP of {IMAGES:,} images ({SIDE} × {SIDE}, PNG and JPEG) to a project"
NOTE = (
    "Each image is checked, decoded, hashed, fingerprinted, stored with fsync and given a "
    "thumbnail. The reference opens each with Pillow and makes the thumbnail, on one core, and "
    "keeps nothing."
)


def run() -> list[Figure]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = _archive(folder / "images.zip")
        store = open_store(folder / "home")
        try:
            project = projects.create(store, "many", "images")
            start = time.perf_counter()
            take(store, project.id, [InputFile.at(path)], "candidate")
            ours = time.perf_counter() - start
            assert len(items_of(store, project.id)) == IMAGES
        finally:
            store.close()
        plain = _plain(path)
    return [
        Figure(
            "images a second",
            f"{IMAGES / ours:.0f}",
            f"{IMAGES / plain:.0f}",
            f"{plain / ours:.2f}× the reference's speed",
            "≥ 60 a second",
        )
    ]


def _archive(path: Path) -> Path:
    """Textured pictures, no two alike, half of them PNG."""
    rng = np.random.default_rng(0)
    texture = rng.normal(0, 6, (SIDE, SIDE, 1))
    with zipfile.ZipFile(path, "w") as archive:
        for i in range(IMAGES):
            coarse = rng.integers(40, 200, (9, 9, 3)).astype(np.uint8)
            smooth = Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC)
            grainy = np.clip(np.asarray(smooth) + np.roll(texture, i, axis=0), 0, 255)
            kind = "PNG" if i % 2 else "JPEG"
            out = io.BytesIO()
            Image.fromarray(grainy.astype(np.uint8)).save(out, kind)
            archive.writestr(f"{i:04d}.{kind.lower()}", out.getvalue())
    return path


def _plain(path: Path) -> float:
    start = time.perf_counter()
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with Image.open(io.BytesIO(archive.read(name))) as image:
                small = image.convert("RGB")
                small.thumbnail((256, 256))
                small.save(io.BytesIO(), "WEBP")
    return time.perf_counter() - start
