"""Copies of a picture are twins however they were saved; another defect makes another picture."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from eap_core.projects.given import Given
from eap_core.projects.intake import take
from eap_core.projects.look_alikes import look_alikes
from eap_core.store import projects
from eap_core.store.items import items_of
from eap_core.store.store import Store
from tests.eap_core.projects.conftest import archive, picture


def saved(image: Image.Image, kind: str, quality: int = 75) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, quality=quality)
    return out.getvalue()


def scratched(image: Image.Image, where: int) -> Image.Image:
    copy = image.copy()
    ImageDraw.Draw(copy).line([(where, 40), (where + 90, 60)], fill=(30, 30, 30), width=3)
    return copy


@pytest.fixture
def pictures() -> dict[str, bytes]:
    part = Image.open(io.BytesIO(picture(1, side=320))).convert("RGB")
    other = Image.open(io.BytesIO(picture(2, side=320))).convert("RGB")
    noise = np.random.default_rng(0).integers(-3, 4, (320, 320, 3))
    noisy = Image.fromarray(
        np.clip(np.asarray(scratched(part, 50), dtype=int) + noise, 0, 255).astype(np.uint8)
    )
    return {
        "a.png": saved(scratched(part, 50), "PNG"),
        "b-same.png": saved(scratched(part, 50), "PNG"),
        "c-jpeg.jpg": saved(scratched(part, 50), "JPEG"),
        "d-webp.webp": saved(scratched(part, 50), "WEBP"),
        "e-noisy.png": saved(noisy, "PNG"),
        "f-elsewhere.png": saved(scratched(part, 150), "PNG"),
        "g-bare.png": saved(part, "PNG"),
        "h-other.png": saved(scratched(other, 50), "PNG"),
    }


def test_copies_are_found_and_other_defects_are_not(
    store: Store, tmp_path: Path, pictures: dict[str, bytes]
) -> None:
    made = projects.create(store, "pictures", "images").id
    take(store, made, [Given.at(archive(tmp_path / "a.zip", pictures))], "candidate")
    items = items_of(store, made, "candidate")
    assert [item.name.rsplit("/")[-1] for item in items] == list(pictures)
    ranks = np.arange(1, 9)
    assert look_alikes(store, items, ranks).tolist() == [-1, 0, 0, 0, 0, -1, -1, -1]
    # the best of them is the one that is kept, whichever that is
    assert look_alikes(store, items, ranks[::-1]).tolist() == [4, 4, 4, 4, -1, -1, -1, -1]


def test_lost_thumbnails_do_not_matter(
    store: Store, tmp_path: Path, pictures: dict[str, bytes]
) -> None:
    made = projects.create(store, "pictures", "images").id
    few = {name: pictures[name] for name in ("a.png", "c-jpeg.jpg", "g-bare.png")}
    take(store, made, [Given.at(archive(tmp_path / "a.zip", few))], "candidate")
    items = items_of(store, made, "candidate")
    for item in items:
        assert item.sha256 is not None
        store.blobs.thumbnail_path(item.sha256).unlink()
    assert look_alikes(store, items, np.arange(1, 4)).tolist() == [-1, 0, -1]
