"""Few, identical or blank normal images, and grey ones: weak features, said so, and never NaN."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eap_core.base.files import FeatureCache
from eap_core.features.base import Embedding, square
from eap_core.features.lite0 import Lite0
from tests.eap_core.features.pictures import SMALL, SMALL_FAST, Shelf, first, texture

BOTH = pytest.mark.parametrize("embedder", [SMALL, SMALL_FAST], ids=lambda e: e.name)


def blank(level: int, side: int = 30) -> Image.Image:
    return Image.new("RGB", (side, side), (level, level, level))


NORMALS: dict[str, Callable[[], list[Image.Image]]] = {
    "five": lambda: [texture(i) for i in range(5)],
    "two": lambda: [texture(i) for i in range(2)],
    "one": lambda: [texture(0)],
    "the same in other files": lambda: [blank(100, side) for side in (30, 40, 50)],
    "blank": lambda: [blank(100 + i) for i in range(6)],
    "blank and not": lambda: [blank(0), blank(255), texture(1), texture(2)],
    "tiny": lambda: [texture(i).resize((1 + i, 1)) for i in range(4)],
}


@BOTH
@pytest.mark.parametrize("normals", NORMALS.values(), ids=NORMALS)
def test_small_sets_give_finite_features_and_a_note(
    embedder: Lite0, normals: Callable[[], list[Image.Image]], tmp_path: Path
) -> None:
    shelf = Shelf()
    known = shelf.sources(normals())
    images = [*known, *shelf.defects(2), *shelf.sources([blank(0), blank(200, 1)])]
    found = embedder.embed(images, first(len(known), len(images)), FeatureCache(tmp_path))
    places = embedder.patches.components if embedder.patches else 0
    assert np.isfinite(found.values).all()
    assert found.values.shape[1] == len(found.columns) <= max(1, len(known) - 1) + places
    assert len(np.unique(found.values[len(known) :], axis=0)) > 1
    assert any("normal images" in note and "—" in note for note in found.notes)
    assert found.heat is None or np.isfinite(found.heat).all()


def test_eighty_normals_are_no_reason_for_a_note(tmp_path: Path) -> None:
    images = Shelf().normals(80, colour=True)
    found = SMALL_FAST.embed(images, first(80, 80), FeatureCache(tmp_path))
    assert found.values.shape == (80, 64)
    assert found.notes == ()


def two_candidates(normals_in_colour: bool, folder: Path) -> Embedding:
    """Two candidates that differ in nothing but colour."""
    shelf = Shelf()
    grey = texture(70)
    tinted = Image.merge(
        "RGB", [grey.getchannel(0).point(lambda v, f=f: int(v * f)) for f in (1, 0.8, 0.5)]
    )
    tinted_as_grey = tinted.convert("L").convert("RGB")
    images = [
        *shelf.normals(8, colour=normals_in_colour),
        *shelf.sources([tinted, tinted_as_grey]),
    ]
    return SMALL.embed(images, first(8, 10), FeatureCache(folder))


def test_colour_is_looked_at_when_some_normal_has_it(tmp_path: Path) -> None:
    found = two_candidates(True, tmp_path)
    assert np.abs(found.values[8] - found.values[9]).max() > 0.1
    assert not any("grey" in note for note in found.notes)


def test_colour_is_not_looked_at_when_all_normals_are_grey(tmp_path: Path) -> None:
    found = two_candidates(False, tmp_path)
    assert np.abs(found.values[8] - found.values[9]).max() < 0.1  # rounding of grey levels
    assert any("grey" in note for note in found.notes)


@BOTH
def test_a_first_normal_in_colour_changes_how_others_are_seen(
    embedder: Lite0, tmp_path: Path
) -> None:
    """The same candidates from a cache that knows them grey, and from an empty one."""
    shelf = Shelf()
    normals, others = shelf.normals(8), shelf.defects(3, colour=True)
    embedder.embed([*normals, *others], first(8, 11), FeatureCache(tmp_path / "used"))
    images = [*normals, *shelf.normals(1, colour=True), *others]
    used = embedder.embed(images, first(9, 12), FeatureCache(tmp_path / "used"))
    fresh = embedder.embed(images, first(9, 12), FeatureCache(tmp_path / "fresh"))
    back = embedder.embed([*normals, *others], first(8, 11), FeatureCache(tmp_path / "used"))
    np.testing.assert_array_equal(used.values, fresh.values)
    again = embedder.embed([*normals, *others], first(8, 11), FeatureCache(tmp_path / "third"))
    np.testing.assert_array_equal(back.values, again.values)


def test_the_tint_of_a_jpeg_is_no_colour(tmp_path: Path) -> None:
    tint = np.array([3, 0, -2])
    tinted = [np.clip(np.asarray(texture(i)).astype(int) + tint, 0, 255) for i in range(6)]
    images = Shelf().sources(Image.fromarray(t.astype(np.uint8)) for t in tinted)
    found = SMALL_FAST.embed(images, first(6, 6), FeatureCache(tmp_path))
    assert any("grey" in note for note in found.notes)
    seen = square(images[0], 64, without_colour=False)
    assert seen.grey
    assert not np.ptp(seen.pixels, axis=2).any()
