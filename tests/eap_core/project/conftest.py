"""Small files to put into a project."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

from eap_core.project import InputFile
from eap_core.project.intake import take
from eap_core.store import projects
from eap_core.store.store import Store


def picture(seed: int, side: int = 48) -> bytes:
    """A small PNG with a texture of its own."""
    pixels = np.random.default_rng(seed).integers(60, 190, (6, 6, 3)).astype(np.uint8)
    image = Image.fromarray(pixels).resize((side, side), Image.Resampling.BICUBIC)
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def archive(path: Path, members: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, data in members.items():
            made.writestr(name, data)
    return path


def table_text(rows: int, seed: int, shift: float = 0.0, **columns: object) -> str:
    """CSV with three features, an id, and constant further columns."""
    values = np.random.default_rng(seed).normal(shift, 1, (rows, 3))
    head = ["id", "a", "b", "c", *columns]
    lines = [
        ",".join([f"r{seed}-{i}", *(f"{v:.17g}" for v in row), *map(str, columns.values())])
        for i, row in enumerate(values)
    ]
    return "\n".join([",".join(head), *lines]) + "\n"


def make_rows_project(store: Store, folder: Path) -> str:
    """A table project that is not scored: 40 normals, 4 real anomalies and 20 candidates."""
    made = projects.create(store, "rows", "table").id
    for name, role, rows, shift in (
        ("good", "normal", 40, 0.0),
        ("bad", "anomaly", 4, 2.0),
        ("made", "candidate", 20, 2.0),
    ):
        path = folder / f"{name}.csv"
        path.write_text(table_text(rows, len(name) + rows, shift))
        take(store, made, [InputFile.at(path)], role)  # type: ignore[arg-type]
    return made
