"""Real images with real defects, split as for AUC_qlt: realistic, indistinguishable and far."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import conformal_clip_data  # type: ignore[import-untyped]
import numpy as np
from PIL import Image

from eap_core.features.base import ImageSource

SHARED = Path(__file__).parents[2] / "shared" / "data" / "images"
ANOMALIES, EACH = 10, 40  # real anomalies in training; candidates of each of the three kinds


@dataclass(frozen=True)
class DataSet:
    name: str
    normals: Sequence[ImageSource]
    anomalies: Sequence[ImageSource]


@dataclass(frozen=True)
class Split:
    """Training normals and anomalies, and candidates of which the first ``EACH`` are real."""

    normals: Sequence[ImageSource]
    anomalies: Sequence[ImageSource]
    candidates: Sequence[ImageSource]


def data_sets() -> list[DataSet]:
    textile = conformal_clip_data.textile_simulated_root()
    wanted = {
        "elpv": (SHARED / "elpv" / "normal", ["defect_p067", "defect_p100"], 120, 160),
        "magnetic tile": (SHARED / "magnetic_tile" / "normal", ["*"], 150, 200),
        "textile": (textile / "nominal", ["local", "global"], 160, 160),
    }
    found = []
    for name, (normals, kinds, most_normals, most_anomalies) in wanted.items():
        beside = normals.parent if name == "textile" else normals.parent / "anomaly"
        defects = [path for kind in kinds for path in sorted(beside.glob(f"{kind}/*.*"))]
        if normals.is_dir():
            found.append(
                DataSet(
                    name,
                    _sources(sorted(normals.glob("*.*")), most_normals),
                    _sources(defects, most_anomalies),
                )
            )
    return found


def _sources(paths: Sequence[Path], most: int) -> list[ImageSource]:
    chosen = np.random.default_rng(0).permutation(len(paths))[:most]
    return [_source(paths[i]) for i in chosen]


def _source(path: Path) -> ImageSource:
    return ImageSource(hashlib.sha256(path.read_bytes()).hexdigest(), partial(_opened, path))


def _opened(path: Path) -> Image.Image:
    with Image.open(path) as image:
        return image.convert("RGB")


def _spoiled(source: ImageSource, way: int) -> ImageSource:
    """Covered by noise, cut into pieces and shuffled, or turned into its negative."""

    def picture() -> Image.Image:
        pixels = np.asarray(source.open().resize((256, 256))).astype(np.float64)
        rng = np.random.default_rng(way)
        if way % 3 == 0:
            pixels = pixels + rng.normal(0, 80, pixels.shape)
        elif way % 3 == 1:
            tiles = pixels.reshape(8, 32, 8, 32, 3)
            pixels = tiles[rng.permutation(8)][:, :, rng.permutation(8)].reshape(256, 256, 3)
        else:
            pixels = 255 - pixels
        return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))

    return ImageSource(f"{source.sha256} spoiled {way}", picture)


def split_of(data: DataSet, others: Sequence[DataSet], seed: int) -> Split:
    rng = np.random.default_rng(seed)
    normals = [data.normals[i] for i in rng.permutation(len(data.normals))]
    anomalies = [data.anomalies[i] for i in rng.permutation(len(data.anomalies))]
    foreign = [source for other in others for source in (*other.normals, *other.anomalies)]
    far = [_spoiled(source, way) for way, source in enumerate(normals[-EACH // 2 :])]
    room = EACH - len(far) if foreign else 0
    far += [foreign[i] for i in rng.permutation(len(foreign))[:room]]
    real = anomalies[ANOMALIES : ANOMALIES + EACH]
    return Split(normals[:-EACH], anomalies[:ANOMALIES], [*real, *normals[-EACH:], *far])
