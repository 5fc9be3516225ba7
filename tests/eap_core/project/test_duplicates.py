"""Copies of a picture are twins however they were saved; another defect makes another picture."""

from __future__ import annotations

import io
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw

from eap_core.base.progress import Cancelled
from eap_core.health.images import SEEN, measure_change
from eap_core.project import InputFile
from eap_core.project import results as module
from eap_core.project.intake import take
from eap_core.project.results import Thumbprints, find_duplicates, make_thumbprint
from eap_core.store import projects
from eap_core.store.items import Item, items_of
from eap_core.store.store import Store
from tests.eap_core.project.conftest import archive, picture


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
    take(store, made, [InputFile.at(archive(tmp_path / "a.zip", pictures))], "candidate")
    items = items_of(store, made, "candidate")
    assert [item.name.rsplit("/")[-1] for item in items] == list(pictures)
    ranks = np.arange(1, 9)
    assert find_duplicates(store, items, ranks).tolist() == [-1, 0, 0, 0, 0, -1, -1, -1]
    # the best of them is the one that is kept, whichever that is
    assert find_duplicates(store, items, ranks[::-1]).tolist() == [4, 4, 4, 4, -1, -1, -1, -1]


def test_lost_thumbnails_do_not_matter(
    store: Store, tmp_path: Path, pictures: dict[str, bytes]
) -> None:
    made = projects.create(store, "pictures", "images").id
    few = {name: pictures[name] for name in ("a.png", "c-jpeg.jpg", "g-bare.png")}
    take(store, made, [InputFile.at(archive(tmp_path / "a.zip", few))], "candidate")
    items = items_of(store, made, "candidate")
    for item in items:
        assert item.sha256 is not None
        store.blobs.thumbnail_path(item.sha256).unlink()
    assert find_duplicates(store, items, np.arange(1, 4)).tolist() == [-1, 0, -1]


@pytest.fixture
def spotted(store: Store, tmp_path: Path) -> tuple[Item, ...]:
    """Thirty small defects on one background, and a copy of the first with camera noise."""
    part = np.asarray(Image.open(io.BytesIO(picture(1, side=320))).convert("RGB"))
    rng = np.random.default_rng(0)
    files = {}
    for i in range(31):
        one = part.astype(int)
        x, y = 10 + 50 * (i % 30 % 6), 10 + 60 * (i % 30 // 6)
        one[y : y + 5, x : x + 5] -= 70
        noisy = np.clip(one + rng.integers(-2, 3, one.shape), 0, 255).astype(np.uint8)
        files[f"{i:02d}.png"] = saved(Image.fromarray(noisy), "PNG")
    made = projects.create(store, "spots", "images").id
    take(store, made, [InputFile.at(archive(tmp_path / "a.zip", files))], "candidate")
    return tuple(items_of(store, made, "candidate"))


def counted(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seen: list[float] = []

    def change(one: Image.Image, other: Image.Image) -> float:
        seen.append(measure_change(one, other))
        return seen[-1]

    monkeypatch.setattr(module, "measure_change", change)
    return seen


def test_defects_on_one_background_are_told_apart_by_sketches(
    store: Store, spotted: tuple[Item, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = counted(monkeypatch)
    assert find_duplicates(store, spotted, np.arange(1, 32)).tolist() == [-1] * 30 + [0]
    assert len(seen) <= 3  # of 465 pairs


def test_pictures_are_compared_only_so_often(
    store: Store, tmp_path: Path, pictures: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = projects.create(store, "pictures", "images").id
    take(store, made, [InputFile.at(archive(tmp_path / "a.zip", pictures))], "candidate")
    items = items_of(store, made, "candidate")
    seen = counted(monkeypatch)
    monkeypatch.setattr(module, "MOST_CONFIRMED", 2)
    assert find_duplicates(store, items, np.arange(1, 9)).tolist() == [-1, 0, 0] + [-1] * 5
    assert len(seen) == 2
    monkeypatch.setattr(module, "MOST_COMPARED", 2)
    assert find_duplicates(store, items, np.arange(1, 9)).tolist() == [-1, 0] + [-1] * 6


def test_it_can_be_cancelled_at_any_time(store: Store, spotted: tuple[Item, ...]) -> None:
    def stop(limit: float, done: float, _: str) -> None:
        if done >= limit:
            raise Cancelled

    for share in (0.1, 0.35, 0.5, 0.9):
        with pytest.raises(Cancelled):
            find_duplicates(store, spotted, np.arange(1, 32), partial(stop, share))


@given(st.integers(0, 10**6), st.sampled_from([(3, 5), (70, 64), (70, 130)]), st.floats(0, 40))
def test_no_sketch_tells_apart_what_looks_alike(
    seed: int, size: tuple[int, int], strength: float
) -> None:
    rng = np.random.default_rng(seed)
    one = rng.integers(0, 256, (*size, 3))
    other = np.clip(one + rng.normal(scale=strength, size=one.shape), 0, 255)
    both = [Image.fromarray(each.astype(np.uint8)) for each in (one, other)]
    alike = Thumbprints.of([make_thumbprint(each) for each in both]).alike(0, np.array([1]), SEEN)
    assert len(alike) == 1 or measure_change(*both) >= SEEN
